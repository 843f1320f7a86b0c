module @jit_float8 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x4xf32>) -> (tensor<4x4xf32> {jax.result_info = "result[0]"}, tensor<2xf8E4M3FN> {jax.result_info = "result[1]"}) {
    %cst = stablehlo.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf8E4M3FN>
    %0 = stablehlo.convert %arg0 : (tensor<4x4xf32>) -> tensor<4x4xf8E4M3FN>
    %1 = stablehlo.convert %arg0 : (tensor<4x4xf32>) -> tensor<4x4xf8E5M2>
    %2 = stablehlo.convert %0 : (tensor<4x4xf8E4M3FN>) -> tensor<4x4xf32>
    %3 = stablehlo.convert %1 : (tensor<4x4xf8E5M2>) -> tensor<4x4xf32>
    %4 = stablehlo.add %2, %3 : tensor<4x4xf32>
    return %4, %cst : tensor<4x4xf32>, tensor<2xf8E4M3FN>
  }
}
