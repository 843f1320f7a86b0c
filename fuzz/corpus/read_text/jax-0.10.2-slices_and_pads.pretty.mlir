module @jit_slices_and_pads attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x6xf32>) -> (tensor<2x2xf32> {jax.result_info = "result[0]"}, tensor<7x9xf32> {jax.result_info = "result[1]"}, tensor<10x11xf32> {jax.result_info = "result[2]"}, tensor<4x6xf32> {jax.result_info = "result[3]"}) {
    %cst = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.slice %arg0 [1:4:2, 0:6:3] : (tensor<4x6xf32>) -> tensor<2x2xf32>
    %1 = call @_pad(%arg0, %c) : (tensor<4x6xf32>, tensor<i32>) -> tensor<7x9xf32>
    %2 = stablehlo.pad %arg0, %cst, low = [1, 0], high = [-1, 0], interior = [2, 1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<10x11xf32>
    %3 = stablehlo.reverse %arg0, dims = [0] : tensor<4x6xf32>
    return %0, %1, %2, %3 : tensor<2x2xf32>, tensor<7x9xf32>, tensor<10x11xf32>, tensor<4x6xf32>
  }
  func.func private @_pad(%arg0: tensor<4x6xf32>, %arg1: tensor<i32>) -> tensor<7x9xf32> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.pad %arg0, %0, low = [1, 0], high = [2, 3], interior = [0, 0] : (tensor<4x6xf32>, tensor<f32>) -> tensor<7x9xf32>
    return %1 : tensor<7x9xf32>
  }
}
