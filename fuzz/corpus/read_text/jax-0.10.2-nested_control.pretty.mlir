module @jit_nested_control attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<i32>, %arg1: tensor<4x4xf32>) -> (tensor<4x4xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<2> : tensor<i32>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %0:3 = stablehlo.while(%iterArg = %c_1, %iterArg_2 = %arg0, %iterArg_3 = %arg1) : tensor<i32>, tensor<i32>, tensor<4x4xf32>
    cond {
      %1 = stablehlo.compare LT, %iterArg, %iterArg_2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.add %iterArg, %c_0 : tensor<i32>
      %2 = func.call @remainder(%iterArg, %c) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %3 = stablehlo.compare EQ, %2, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %4 = stablehlo.convert %3 : (tensor<i1>) -> tensor<i32>
      %5 = "stablehlo.case"(%4) ({
        %6:3 = stablehlo.while(%iterArg_4 = %c_1, %iterArg_5 = %iterArg, %iterArg_6 = %iterArg_3) : tensor<i32>, tensor<i32>, tensor<4x4xf32>
        cond {
          %7 = stablehlo.compare LT, %iterArg_4, %iterArg_5, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %7 : tensor<i1>
        } do {
          %7 = stablehlo.add %iterArg_4, %c_0 : tensor<i32>
          %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
          %9 = stablehlo.add %iterArg_6, %8 : tensor<4x4xf32>
          stablehlo.return %7, %iterArg_5, %9 : tensor<i32>, tensor<i32>, tensor<4x4xf32>
        }
        stablehlo.return %6#2 : tensor<4x4xf32>
      }, {
        %6 = stablehlo.dot_general %iterArg_3, %iterArg_3, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
        stablehlo.return %6 : tensor<4x4xf32>
      }) : (tensor<i32>) -> tensor<4x4xf32>
      stablehlo.return %1, %iterArg_2, %5 : tensor<i32>, tensor<i32>, tensor<4x4xf32>
    }
    return %0#2 : tensor<4x4xf32>
  }
  func.func private @remainder(%arg0: tensor<i32>, %arg1: tensor<i32>) -> tensor<i32> {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.compare EQ, %arg1, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %1 = call @_where(%0, %c, %arg1) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %2 = stablehlo.remainder %arg0, %1 : tensor<i32>
    %3 = stablehlo.compare NE, %2, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %4 = stablehlo.compare LT, %2, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %5 = stablehlo.compare LT, %1, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6 = stablehlo.compare NE, %4, %5, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %7 = stablehlo.and %6, %3 : tensor<i1>
    %8 = stablehlo.add %2, %1 : tensor<i32>
    %9 = stablehlo.select %7, %8, %2 : tensor<i1>, tensor<i32>
    return %9 : tensor<i32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>
    return %0 : tensor<i32>
  }
}
