module @jit_wide_and_narrow attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4xf16>, %arg1: tensor<4xf64>) -> (tensor<4xf16> {jax.result_info = "result[0]"}, tensor<4xf64> {jax.result_info = "result[1]"}, tensor<4xi64> {jax.result_info = "result[2]"}, tensor<2xui16> {jax.result_info = "result[3]"}) {
    %c = stablehlo.constant dense<12345678901234> : tensor<i64>
    %cst = stablehlo.constant dense<3.1415926535897931> : tensor<f64>
    %c_0 = stablehlo.constant dense<[1, 2]> : tensor<2xui16>
    %cst_1 = stablehlo.constant dense<9.997550e-02> : tensor<f16>
    %0 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f16>) -> tensor<4xf16>
    %1 = stablehlo.add %arg0, %0 : tensor<4xf16>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %3 = stablehlo.multiply %arg1, %2 : tensor<4xf64>
    %4 = stablehlo.convert %arg1 : (tensor<4xf64>) -> tensor<4xi64>
    %5 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %6 = stablehlo.add %4, %5 : tensor<4xi64>
    return %1, %3, %6, %c_0 : tensor<4xf16>, tensor<4xf64>, tensor<4xi64>, tensor<2xui16>
  }
}
