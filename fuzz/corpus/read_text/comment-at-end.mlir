#loc1 = loc("x"×ñ#loc2 = loc(
#loc15 = loc("scatt0r:"(#loc6))
#loc17 = loc("scatter-add:"(#loc8))
#loc19 = loc("scatter-mul:"(#loc10))
#l//oc21 = module @jit_reduced_precision attributes {mhlo.num_paoc("x""fu×