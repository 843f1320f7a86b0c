"""The update runs without jit and reads values on the way: each step has many small programs and many reads."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "patterns": [("fragments", "")],
    "may": ["shape", "structure", "constant", "parameters", "dtype"],
}


@jax.jit
def gradients(params, x, y):
    return jax.value_and_grad(lambda p: jnp.mean((jnp.tanh(x @ p[0]) @ p[1] - y) ** 2))(params)


def update(params, grads, rate):
    norm = jnp.sqrt(sum(jnp.sum(jnp.square(g)) for g in grads))  # PLANTED
    if norm.item() > 1.0:  # PLANTED
        grads = [g / norm for g in grads]  # PLANTED
    if bool(jnp.isnan(norm).any()):  # PLANTED
        return params
    return [p - rate * g for p, g in zip(params, grads, strict=True)]  # PLANTED


def main():
    rng = np.random.default_rng(68)
    params = [jnp.asarray(rng.normal(size=size).astype(np.float32)) for size in ((4, 8), (8, 1))]
    for _ in range(12):
        x = rng.normal(size=(16, 4)).astype(np.float32)
        loss, grads = gradients(params, x, x[:, :1])
        params = update(params, grads, 0.1)  # PLANTED
        print(loss.item())  # PLANTED


main()
