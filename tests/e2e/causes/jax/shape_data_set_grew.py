"""Full-batch optimization; the second start has more samples than the first."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax

CASE = {
    "runs": [{"args": ["24"]}, {"args": ["29"]}],
    "causes": [{"cause": "shape", "name": "step", "values": [([24, 3], [29, 3])], "kind": {"shape"}}],
    "may": ["shape_family"],
    "compiles": {"jit_step": 1},
    "questions": {"input_shapes_changed": True, "profile_or_sharding_changed": False, "hidden_branch_active": False},
}

optimizer = optax.adam(0.05)


@jax.jit
def step(params, state, x, y):
    def loss_of(params):
        hidden = jax.nn.sigmoid(x @ params["slope"] + params["offset"])  # USED
        return jnp.mean((hidden - y) ** 2)

    grads = jax.grad(loss_of)(params)
    updates, state = optimizer.update(grads, state)
    return optax.apply_updates(params, updates), state


def main():
    rng = np.random.default_rng(102)
    x = rng.normal(size=(int(sys.argv[1]), 3)).astype(np.float32)
    params = {"slope": np.zeros(3, np.float32), "offset": np.zeros((), np.float32)}
    state = jax.tree.map(np.asarray, optimizer.init(params))
    for _ in range(5):
        params, state = step(params, state, x, (x[:, 0] > 0).astype(np.float32))  # PLANTED
    print(params)


main()
