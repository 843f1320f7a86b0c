module @jit_top_k attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @top_k_gt_f32_comparator(%arg0: tensor<f32>, %arg1: tensor<f32>, %arg2: tensor<i32>, %arg3: tensor<i32>) -> tensor<i1> {
    %0 = stablehlo.compare GT, %arg0, %arg1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    return %0 : tensor<i1>
  }
  func.func public @main(%arg0: tensor<4x64xf32>) -> (tensor<4x5xf32> {jax.result_info = "result[0][0]"}, tensor<4x5xi32> {jax.result_info = "result[0][1]"}, tensor<4x3xf32> {jax.result_info = "result[1][0]"}, tensor<4x3xi32> {jax.result_info = "result[1][1]"}) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %c = stablehlo.constant dense<-1> : tensor<i32>
    %0:2 = stablehlo.composite "chlo.top_k" %arg0 {composite_attributes = {is_stable = true, k = 5 : i64}, decomposition = @chlo.top_k.impl, version = 1 : i32} : (tensor<4x64xf32>) -> (tensor<4x5xf32>, tensor<4x5xi32>)
    %1 = stablehlo.iota dim = 1 : tensor<4x64xi32>
    %2:2 = stablehlo.custom_call @ApproxTopK(%arg0, %1, %cst, %c) {called_computations = [@top_k_gt_f32_comparator], mhlo.backend_config = {aggregate_to_topk = true, is_fallback = true, recall_target = 0.949999988 : f32, reduction_dim = 1 : i64, reduction_input_size_override = -1 : i64, top_k = 3 : i64}} : (tensor<4x64xf32>, tensor<4x64xi32>, tensor<f32>, tensor<i32>) -> (tensor<4x3xf32>, tensor<4x3xi32>)
    return %0#0, %0#1, %2#0, %2#1 : tensor<4x5xf32>, tensor<4x5xi32>, tensor<4x3xf32>, tensor<4x3xi32>
  }
  func.func private @chlo.top_k.impl(%arg0: tensor<4x64xf32>) -> (tensor<4x5xf32>, tensor<4x5xi32>) {
    %0 = stablehlo.iota dim = 1 : tensor<4x64xi32>
    %1:2 = "stablehlo.sort"(%arg0, %0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>, %arg3: tensor<i32>, %arg4: tensor<i32>):
      %4 = stablehlo.compare GT, %arg1, %arg2, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    }) : (tensor<4x64xf32>, tensor<4x64xi32>) -> (tensor<4x64xf32>, tensor<4x64xi32>)
    %2 = stablehlo.slice %1#0 [0:4, 0:5] : (tensor<4x64xf32>) -> tensor<4x5xf32>
    %3 = stablehlo.slice %1#1 [0:4, 0:5] : (tensor<4x64xi32>) -> tensor<4x5xi32>
    return %2, %3 : tensor<4x5xf32>, tensor<4x5xi32>
  }
}
