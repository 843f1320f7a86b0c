"""Names of the programs in topology.py, for tests that cannot import topology.py."""

ON_ONE_DEVICE = (
    "linen_transformer_adamw", "linen_transformer_bfloat16", "linen_convolution_net", "linen_lstm",
    "linen_scanned_layers", "linen_decode", "nnx_transformer", "sampling", "pallas_matmul",
)  # fmt: skip
ON_TPU = (*ON_ONE_DEVICE, "sharded_transformer", "ring")
# Only libtpu can compile Pallas kernels for TPUs.
ANYWHERE = tuple(name for name in ON_TPU if name != "pallas_matmul")
