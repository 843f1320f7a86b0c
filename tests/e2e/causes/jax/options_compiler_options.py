"""The user compiles one hot function again with other compiler options."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "causes": [
        {
            "cause": "options", "name": "kernel", "values": [({None, False, 0}, True)],
            "kind": {"option", "flag"}, "place": None,
        },
    ],
    "compiles": {"jit_kernel": 2},
    "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": True},
}  # fmt: skip


def kernel(x):
    return jnp.exp(jnp.sin(x)) / (1 + x * x)


def main():
    x = np.linspace(0, 1, 32, dtype=np.float32)
    lowered = jax.jit(kernel).lower(x)
    exact = lowered.compile()
    fast = lowered.compile(compiler_options={"xla_cpu_enable_fast_math": True})
    print(np.abs(np.asarray(exact(x)) - np.asarray(fast(x))).max())


main()
