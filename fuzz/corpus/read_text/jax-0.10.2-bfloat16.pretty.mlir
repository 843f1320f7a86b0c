module @jit_bfloat16 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x8xbf16>, %arg1: tensor<8x4xbf16>) -> (tensor<4x4xf32> {jax.result_info = "result[0]"}, tensor<4x8xbf16> {jax.result_info = "result[1]"}) {
    %cst = stablehlo.constant dense<1.500000e+00> : tensor<bf16>
    %cst_0 = stablehlo.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 5.000000e+00, 6.000000e+00, 7.000000e+00, 8.000000e+00]> : tensor<8xbf16>
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<4x8xbf16>, tensor<8x4xbf16>) -> tensor<4x4xf32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<bf16>) -> tensor<4x8xbf16>
    %2 = stablehlo.multiply %arg0, %1 : tensor<4x8xbf16>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [1] : (tensor<8xbf16>) -> tensor<1x8xbf16>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<1x8xbf16>) -> tensor<4x8xbf16>
    %5 = stablehlo.add %2, %4 : tensor<4x8xbf16>
    return %0, %5 : tensor<4x4xf32>, tensor<4x8xbf16>
  }
}
