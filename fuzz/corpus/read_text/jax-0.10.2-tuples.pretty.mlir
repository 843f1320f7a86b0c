module @jit_tuples attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3xf32>, %arg1: tensor<3xf32>) -> (tensor<3xf32> {jax.result_info = "result[0]['a'][0]"}, tensor<3xf32> {jax.result_info = "result[0]['b'][0]"}, tensor<3xf32> {jax.result_info = "result[0]['b'][1]"}) {
    %0 = stablehlo.add %arg0, %arg1 : tensor<3xf32>
    return %0, %arg0, %arg1 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  }
}
