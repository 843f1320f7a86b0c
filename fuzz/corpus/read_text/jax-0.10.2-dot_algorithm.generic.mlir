#loc1 = loc("x")
#loc2 = loc("y")
"builtin.module"() <{sym_name = "jit_dot_algorithm"}> ({
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<4x8xbf16>, tensor<8x4xbf16>) -> tensor<4x4xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<4x8xbf16> loc("x"), %arg1: tensor<8x4xbf16> loc("y")):
    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{algorithm = #stablehlo.dot_algorithm<lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<4x8xbf16>, tensor<8x4xbf16>) -> tensor<4x4xf32> loc(#loc9)
    "func.return"(%0) : (tensor<4x4xf32>) -> () loc(#loc8)
  }) : () -> () loc(#loc)
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> () loc(#loc)
#loc = loc(unknown)
#loc3 = loc("hlo_programs.py":335:11 to :108)
#loc4 = loc("gen_programs.py":9:60 to :71)
#loc5 = loc("dot_algorithm"(#loc3))
#loc6 = loc("<module>"(#loc4))
#loc7 = loc(callsite(#loc5 at #loc6))
#loc8 = loc("jit(dot_algorithm)"(#loc6))
#loc9 = loc("jit(dot_algorithm)/dot_general"(#loc7))
