module @jit_ragged_dot attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6x4xf32>, %arg1: tensor<3x4x5xf32>, %arg2: tensor<3xi32>) -> (tensor<6x5xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2] : (tensor<6x4xf32>) -> tensor<3x6x4xf32>
    %1 = stablehlo.iota dim = 1 : tensor<3x6x4xi32>
    %2 = call @cumsum(%arg2) : (tensor<3xi32>) -> tensor<3xi32>
    %3 = stablehlo.subtract %2, %arg2 : tensor<3xi32>
    %4 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<3xi32>) -> tensor<3x6x4xi32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<3xi32>) -> tensor<3x6x4xi32>
    %6 = stablehlo.compare LE, %5, %1, SIGNED : (tensor<3x6x4xi32>, tensor<3x6x4xi32>) -> tensor<3x6x4xi1>
    %7 = stablehlo.compare LT, %1, %4, SIGNED : (tensor<3x6x4xi32>, tensor<3x6x4xi32>) -> tensor<3x6x4xi1>
    %8 = stablehlo.and %6, %7 : tensor<3x6x4xi1>
    %9 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x6x4xf32>
    %10 = stablehlo.select %8, %0, %9 : tensor<3x6x4xi1>, tensor<3x6x4xf32>
    %11 = stablehlo.dot_general %10, %arg1, contracting_dims = [2, 0] x [1, 0] : (tensor<3x6x4xf32>, tensor<3x4x5xf32>) -> tensor<6x5xf32>
    return %11 : tensor<6x5xf32>
  }
  func.func private @cumsum(%arg0: tensor<3xi32>) -> tensor<3xi32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<i32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{padding = dense<[[2, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 3>}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<i32>
      stablehlo.return %2 : tensor<i32>
    }) : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
    return %1 : tensor<3xi32>
  }
}
