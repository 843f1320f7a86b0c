#loc1 = loc("x")
#loc2 = loc("y")
"builtin.module"() <{sym_name = "jit_tuples"}> ({
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>), res_attrs = [{jax.result_info = "result[0]['a'][0]"}, {jax.result_info = "result[0]['b'][0]"}, {jax.result_info = "result[0]['b'][1]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<3xf32> loc("x"), %arg1: tensor<3xf32> loc("y")):
    %0 = "stablehlo.add"(%arg0, %arg1) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32> loc(#loc9)
    "func.return"(%0, %arg0, %arg1) : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> () loc(#loc8)
  }) : () -> () loc(#loc)
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> () loc(#loc)
#loc = loc(unknown)
#loc3 = loc("hlo_programs.py":421:31 to :36)
#loc4 = loc("gen_programs.py":9:60 to :71)
#loc5 = loc("tuples"(#loc3))
#loc6 = loc("<module>"(#loc4))
#loc7 = loc(callsite(#loc5 at #loc6))
#loc8 = loc("jit(tuples)"(#loc6))
#loc9 = loc("jit(tuples)/add"(#loc7))
