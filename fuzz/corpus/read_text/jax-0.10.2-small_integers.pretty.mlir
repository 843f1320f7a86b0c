module @jit_small_integers attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4xf32>) -> (tensor<4xi8> {jax.result_info = "result[0]"}, tensor<4xf32> {jax.result_info = "result[1]"}, tensor<3xi4> {jax.result_info = "result[2]"}) {
    %c = stablehlo.constant dense<2> : tensor<ui4>
    %c_0 = stablehlo.constant dense<[1, -2, 3]> : tensor<3xi4>
    %0 = stablehlo.convert %arg0 : (tensor<4xf32>) -> tensor<4xi4>
    %1 = stablehlo.convert %0 : (tensor<4xi4>) -> tensor<4xi8>
    %2 = stablehlo.convert %arg0 : (tensor<4xf32>) -> tensor<4xui4>
    %3 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<ui4>) -> tensor<4xui4>
    %4 = stablehlo.multiply %2, %3 : tensor<4xui4>
    %5 = stablehlo.convert %4 : (tensor<4xui4>) -> tensor<4xf32>
    return %1, %5, %c_0 : tensor<4xi8>, tensor<4xf32>, tensor<3xi4>
  }
}
