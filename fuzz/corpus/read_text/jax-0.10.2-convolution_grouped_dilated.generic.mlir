#loc1 = loc("x")
#loc2 = loc("k")
"builtin.module"() <{sym_name = "jit_convolution_grouped_dilated"}> ({
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<1x8x9x9xf32>, tensor<16x4x3x3xf32>) -> tensor<1x16x7x9xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<1x8x9x9xf32> loc("x"), %arg1: tensor<16x4x3x3xf32> loc("k")):
    %0 = "stablehlo.convolution"(%arg0, %arg1) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>, feature_group_count = 2 : i64, lhs_dilation = array<i64: 1, 2>, padding = dense<[[2, 0], [1, 1]]> : tensor<2x2xi64>, rhs_dilation = array<i64: 2, 1>, window_strides = array<i64: 1, 2>}> : (tensor<1x8x9x9xf32>, tensor<16x4x3x3xf32>) -> tensor<1x16x7x9xf32> loc(#loc9)
    "func.return"(%0) : (tensor<1x16x7x9xf32>) -> () loc(#loc8)
  }) : () -> () loc(#loc)
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> () loc(#loc)
#loc = loc(unknown)
#loc3 = loc("hlo_programs.py":132:11 to 134:5)
#loc4 = loc("gen_programs.py":9:60 to :71)
#loc5 = loc("convolution_grouped_dilated"(#loc3))
#loc6 = loc("<module>"(#loc4))
#loc7 = loc(callsite(#loc5 at #loc6))
#loc8 = loc("jit(convolution_grouped_dilated)"(#loc6))
#loc9 = loc("jit(convolution_grouped_dilated)/conv_general_dilated"(#loc7))
