#loc = loc(unknown)
#loc1 = loc("i")
#loc2 = loc("x")
#loc7 = loc("reduce_window_sum")
#loc12 = loc("reduce_window_sum:"(#loc7))
"builtin.module"() <{sym_name = "jit_switch"}> ({
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<i32>, tensor<3xf32>) -> tensor<3xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg4: tensor<i32> loc("i"), %arg5: tensor<3xf32> loc("x")):
    %5 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f32>}> : () -> tensor<f32> loc(#loc)
    %6 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32> loc(#loc13)
    %7 = "stablehlo.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32> loc(#loc13)
    %8 = "stablehlo.clamp"(%6, %arg4, %7) : (tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<i32> loc(#loc16)
    %9 = "stablehlo.case"(%8) ({
      %14 = "stablehlo.sine"(%arg5) : (tensor<3xf32>) -> tensor<3xf32> loc(#loc18)
      "stablehlo.return"(%14) : (tensor<3xf32>) -> () loc(#loc17)
    }, {
      %13 = "stablehlo.cosine"(%arg5) : (tensor<3xf32>) -> tensor<3xf32> loc(#loc19)
      "stablehlo.return"(%13) : (tensor<3xf32>) -> () loc(#loc17)
    }, {
      %11 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32> loc(#loc23)
      %12 = "stablehlo.multiply"(%arg5, %11) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32> loc(#loc23)
      "stablehlo.return"(%12) : (tensor<3xf32>) -> () loc(#loc17)
    }, {
      %10 = "func.call"(%arg5) <{callee = @cumsum}> : (tensor<3xf32>) -> tensor<3xf32> loc(#loc24)
      "stablehlo.return"(%10) : (tensor<3xf32>) -> () loc(#loc17)
    }) : (tensor<i32>) -> tensor<3xf32> loc(#loc17)
    "func.return"(%9) : (tensor<3xf32>) -> () loc(#loc13)
  }) : () -> () loc(#loc)
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<3xf32>) -> tensor<3xf32>, res_attrs = [{}], sym_name = "cumsum", sym_visibility = "private"}> ({
  ^bb0(%arg3: tensor<3xf32> loc(unknown)):
    %4 = "func.call"(%arg3) <{callee = @cumsum_0}> : (tensor<3xf32>) -> tensor<3xf32> loc(#loc)
    "func.return"(%4) : (tensor<3xf32>) -> () loc(#loc)
  }) : () -> () loc(#loc22)
  "func.func"() <{function_type = (tensor<3xf32>) -> tensor<3xf32>, sym_name = "cumsum_0", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<3xf32> loc(unknown)):
    %0 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32> loc(#loc7)
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<f32> loc(#loc7)
    %2 = "stablehlo.reduce_window"(%arg0, %1) <{padding = dense<[[2, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 3>}> ({
    ^bb0(%arg1: tensor<f32> loc("reduce_window_sum:"(#loc7)), %arg2: tensor<f32> loc("reduce_window_sum:"(#loc7))):
      %3 = "stablehlo.add"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32> loc(#loc7)
      "stablehlo.return"(%3) : (tensor<f32>) -> () loc(#loc7)
    }) : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32> loc(#loc7)
    "func.return"(%2) : (tensor<3xf32>) -> () loc(#loc)
  }) : () -> () loc(#loc)
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> () loc(#loc)
#loc3 = loc("gen_programs.py":9:60 to :71)
#loc4 = loc("hlo_programs.py":198:11 to :86)
#loc5 = loc("hlo_programs.py":198:54 to :59)
#loc6 = loc("hlo_programs.py":198:71 to :81)
#loc8 = loc("<module>"(#loc3))
#loc9 = loc("switch"(#loc4))
#loc10 = loc("switch.<locals>.<lambda>"(#loc5))
#loc11 = loc("switch.<locals>.<lambda>"(#loc6))
#loc13 = loc("jit(switch)"(#loc8))
#loc14 = loc(callsite(#loc9 at #loc8))
#loc15 = loc("cond/branch_3_fun/jit"(#loc11))
#loc16 = loc("jit(switch)/clamp"(#loc14))
#loc17 = loc("jit(switch)/cond"(#loc14))
#loc18 = loc("jit(switch)/cond/branch_0_fun/sin"(#loc14))
#loc19 = loc("jit(switch)/cond/branch_1_fun/cos"(#loc14))
#loc20 = loc(callsite(#loc10 at #loc14))
#loc21 = loc(callsite(#loc11 at #loc14))
#loc22 = loc("jit:"(#loc15))
#loc23 = loc("jit(switch)/cond/branch_2_fun/mul"(#loc20))
#loc24 = loc("jit(switch)/cond/branch_3_fun/jit(cumsum)"(#loc21))
