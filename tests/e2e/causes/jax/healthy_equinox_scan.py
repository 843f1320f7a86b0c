"""An Equinox model scans over stacked layers and trains in one compiled epoch."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

CASE = {"healthy": True, "compiles": {"epoch": 1}}


class Deep(eqx.Module):
    layers: jax.Array
    head: jax.Array

    def __call__(self, x):
        x, _ = jax.lax.scan(lambda x, w: (x + jnp.tanh(w @ x), None), x, self.layers)
        return self.head @ x


@eqx.filter_jit
def epoch(model, batches):
    def step(model, batch):
        loss, grads = eqx.filter_value_and_grad(lambda m: jnp.mean(jax.vmap(m)(batch) ** 2))(model)
        return jax.tree.map(lambda p, g: p - 0.05 * g, model, grads), loss

    return jax.lax.scan(step, model, batches)


def main():
    rng = np.random.default_rng(82)
    model = Deep(rng.normal(size=(6, 4, 4)).astype(np.float32), rng.normal(size=(1, 4)).astype(np.float32))
    for _ in range(3):
        model, losses = epoch(model, rng.normal(size=(5, 8, 4)).astype(np.float32))
    print(np.asarray(losses))


main()
