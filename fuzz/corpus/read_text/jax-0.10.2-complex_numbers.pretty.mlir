module @jit_complex_numbers attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3xcomplex<f32>>, %arg1: tensor<3xcomplex<f64>>) -> (tensor<3xcomplex<f32>> {jax.result_info = "result[0]"}, tensor<3xf64> {jax.result_info = "result[1]"}, tensor<3xcomplex<f32>> {jax.result_info = "result[2]"}, tensor<2xcomplex<f64>> {jax.result_info = "result[3]"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<3xf32>
    %cst_0 = stablehlo.constant dense<5.000000e-01> : tensor<3xf32>
    %cst_1 = stablehlo.constant dense<0x7F800000> : tensor<3xf32>
    %cst_2 = stablehlo.constant dense<[(1.000000e+00,2.000000e+00), (3.000000e+00,-4.000000e+00)]> : tensor<2xcomplex<f64>>
    %cst_3 = stablehlo.constant dense<(2.000000e+00,-3.000000e+00)> : tensor<complex<f32>>
    %0 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<complex<f32>>) -> tensor<3xcomplex<f32>>
    %1 = stablehlo.multiply %arg0, %0 : tensor<3xcomplex<f32>>
    %2 = stablehlo.real %arg0 : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
    %3 = stablehlo.imag %arg0 : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
    %4 = stablehlo.negate %3 : tensor<3xf32>
    %5 = stablehlo.complex %2, %4 : tensor<3xcomplex<f32>>
    %6 = stablehlo.add %1, %5 : tensor<3xcomplex<f32>>
    %7 = stablehlo.abs %arg1 : (tensor<3xcomplex<f64>>) -> tensor<3xf64>
    %8 = stablehlo.real %arg0 : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
    %9 = stablehlo.exponential %8 : tensor<3xf32>
    %10 = stablehlo.compare EQ, %9, %cst_1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
    %11 = stablehlo.multiply %8, %cst_0 : tensor<3xf32>
    %12 = stablehlo.exponential %11 : tensor<3xf32>
    %13 = stablehlo.imag %arg0 : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
    %14 = stablehlo.cosine %13 : tensor<3xf32>
    %15 = stablehlo.multiply %12, %14 : tensor<3xf32>
    %16 = stablehlo.multiply %15, %12 : tensor<3xf32>
    %17 = stablehlo.multiply %9, %14 : tensor<3xf32>
    %18 = stablehlo.select %10, %16, %17 : tensor<3xi1>, tensor<3xf32>
    %19 = stablehlo.compare EQ, %13, %cst : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
    %20 = stablehlo.sine %13 : tensor<3xf32>
    %21 = stablehlo.multiply %12, %20 : tensor<3xf32>
    %22 = stablehlo.multiply %21, %12 : tensor<3xf32>
    %23 = stablehlo.multiply %9, %20 : tensor<3xf32>
    %24 = stablehlo.select %10, %22, %23 : tensor<3xi1>, tensor<3xf32>
    %25 = stablehlo.select %19, %cst, %24 : tensor<3xi1>, tensor<3xf32>
    %26 = stablehlo.complex %18, %25 : tensor<3xcomplex<f32>>
    return %6, %7, %26, %cst_2 : tensor<3xcomplex<f32>>, tensor<3xf64>, tensor<3xcomplex<f32>>, tensor<2xcomplex<f64>>
  }
}
