#t = dense<1> : tensor<2xi64>
!u = tensor<2xf32>
module @m attributes {a.b = #t, "c d", e = [1 : i8, -2, 3.5 : bf16, array<i64: 1, 2>]} {
  func.func private @f(tensor<?x2xf32, #stablehlo.bounds<4, ?>>) -> !u
  func.func @main() -> (tensor<2xf32> {jax.result_info = "x"}, tensor<4xi1>) { // comment
    %0 = stablehlo.constant dense_resource<k> : tensor<2xf32>
    %c = stablehlo.constant dense<[true, false, true, true]> : tensor<4xi1>
    return %0, %c : tensor<2xf32>, tensor<4xi1>
  }
}
{-# dialect_resources: { builtin: { k: "0x040000000000803F00000040" } } #-}
