#loc1 = loc("approx_top_k")
#loc2 = loc("x")
#loc4 = loc("gen_programs.py":9:60 to :71)
#loc5 = loc("hlo_programs.py":245:11 to :26)
#loc6 = loc("approx_top_k:"(#loc1))
#loc8 = loc("<module>"(#loc4))
#loc9 = loc("top_k"(#loc5))
#loc11 = loc(callsite(#loc9 at #loc8))
#loc14 = loc("jit(top_k)/top_k"(#loc11))
"builtin.module"() <{sym_name = "jit_top_k"}> ({
  "func.func"() <{function_type = (tensor<f32>, tensor<f32>, tensor<i32>, tensor<i32>) -> tensor<i1>, sym_name = "top_k_gt_f32_comparator"}> ({
  ^bb0(%arg6: tensor<f32> loc("approx_top_k:"(#loc1)), %arg7: tensor<f32> loc("approx_top_k:"(#loc1)), %arg8: tensor<i32> loc("approx_top_k:"(#loc1)), %arg9: tensor<i32> loc("approx_top_k:"(#loc1))):
    %10 = "stablehlo.compare"(%arg6, %arg7) <{comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1> loc(#loc6)
    "func.return"(%10) : (tensor<i1>) -> () loc(#loc6)
  }) : () -> () loc(#loc6)
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<4x64xf32>) -> (tensor<4x5xf32>, tensor<4x5xi32>, tensor<4x3xf32>, tensor<4x3xi32>), res_attrs = [{jax.result_info = "result[0][0]"}, {jax.result_info = "result[0][1]"}, {jax.result_info = "result[1][0]"}, {jax.result_info = "result[1][1]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg5: tensor<4x64xf32> loc("x")):
    %5 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32> loc(#loc13)
    %6 = "stablehlo.constant"() <{value = dense<-1> : tensor<i32>}> : () -> tensor<i32> loc(#loc13)
    %7:2 = "stablehlo.composite"(%arg5) <{composite_attributes = {is_stable = true, k = 5 : i64}, decomposition = @chlo.top_k.impl, name = "chlo.top_k", version = 1 : i32}> : (tensor<4x64xf32>) -> (tensor<4x5xf32>, tensor<4x5xi32>) loc(#loc14)
    %8 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<4x64xi32> loc(#loc13)
    %9:2 = "stablehlo.custom_call"(%arg5, %8, %5, %6) <{call_target_name = "ApproxTopK", called_computations = [@top_k_gt_f32_comparator]}> {mhlo.backend_config = {aggregate_to_topk = true, is_fallback = true, recall_target = 0.949999988 : f32, reduction_dim = 1 : i64, reduction_input_size_override = -1 : i64, top_k = 3 : i64}} : (tensor<4x64xf32>, tensor<4x64xi32>, tensor<f32>, tensor<i32>) -> (tensor<4x3xf32>, tensor<4x3xi32>) loc(#loc13)
    "func.return"(%7#0, %7#1, %9#0, %9#1) : (tensor<4x5xf32>, tensor<4x5xi32>, tensor<4x3xf32>, tensor<4x3xi32>) -> () loc(#loc12)
  }) : () -> () loc(#loc)
  "func.func"() <{function_type = (tensor<4x64xf32>) -> (tensor<4x5xf32>, tensor<4x5xi32>), sym_name = "chlo.top_k.impl", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<4x64xf32> loc("jit(top_k)/top_k"(#loc11))):
    %0 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<4x64xi32> loc(#loc14)
    %1:2 = "stablehlo.sort"(%arg0, %0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f32> loc("jit(top_k)/top_k"(#loc11)), %arg2: tensor<f32> loc("jit(top_k)/top_k"(#loc11)), %arg3: tensor<i32> loc("jit(top_k)/top_k"(#loc11)), %arg4: tensor<i32> loc("jit(top_k)/top_k"(#loc11))):
      %4 = "stablehlo.compare"(%arg1, %arg2) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1> loc(#loc14)
      "stablehlo.return"(%4) : (tensor<i1>) -> () loc(#loc14)
    }) : (tensor<4x64xf32>, tensor<4x64xi32>) -> (tensor<4x64xf32>, tensor<4x64xi32>) loc(#loc14)
    %2 = "stablehlo.slice"(%1#0) <{limit_indices = array<i64: 4, 5>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<4x64xf32>) -> tensor<4x5xf32> loc(#loc14)
    %3 = "stablehlo.slice"(%1#1) <{limit_indices = array<i64: 4, 5>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<4x64xi32>) -> tensor<4x5xi32> loc(#loc14)
    "func.return"(%2, %3) : (tensor<4x5xf32>, tensor<4x5xi32>) -> () loc(#loc14)
  }) : () -> () loc(#loc14)
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> () loc(#loc)
#loc = loc(unknown)
#loc3 = loc("hlo_programs.py":245:28 to :50)
#loc7 = loc("top_k"(#loc3))
#loc10 = loc(callsite(#loc7 at #loc8))
#loc12 = loc("jit(top_k)"(#loc8))
#loc13 = loc("jit(top_k)/approx_top_k"(#loc10))
