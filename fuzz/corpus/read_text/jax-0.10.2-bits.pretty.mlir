module @jit_bits attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5xi32>, %arg1: tensor<5xui8>) -> (tensor<5xi32> {jax.result_info = "result[0]"}, tensor<5xi32> {jax.result_info = "result[1]"}, tensor<5xi32> {jax.result_info = "result[2]"}, tensor<5xui8> {jax.result_info = "result[3]"}, tensor<5xui8> {jax.result_info = "result[4]"}, tensor<5xi32> {jax.result_info = "result[5]"}, tensor<5xi32> {jax.result_info = "result[6]"}) {
    %c = stablehlo.constant dense<7> : tensor<i32>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %c_1 = stablehlo.constant dense<2> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<5xi32>
    %1 = stablehlo.shift_left %arg0, %0 : tensor<5xi32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<5xi32>
    %3 = stablehlo.shift_right_arithmetic %arg0, %2 : tensor<5xi32>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<5xi32>
    %5 = stablehlo.xor %arg0, %4 : tensor<5xi32>
    %6 = stablehlo.not %arg1 : tensor<5xui8>
    %7 = stablehlo.popcnt %arg1 : tensor<5xui8>
    %8 = stablehlo.count_leading_zeros %arg0 : tensor<5xi32>
    %9 = stablehlo.shift_right_logical %arg0, %arg0 : tensor<5xi32>
    return %1, %3, %5, %6, %7, %8, %9 : tensor<5xi32>, tensor<5xi32>, tensor<5xi32>, tensor<5xui8>, tensor<5xui8>, tensor<5xi32>, tensor<5xi32>
  }
}
