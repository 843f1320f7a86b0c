"""Between two starts a flag is set and a function is edited: one program changes, the other has new options only."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "runs": [
        {},
        {
            "env": {"XLA_FLAGS": "--xla_backend_optimization_level=0 --xla_cpu_enable_fast_min_max=true"},
            "edit": [("jnp.square(x @ w - y).mean()", "jnp.abs(x @ w - y).mean()")],
        },
    ],
    "causes": [
        {"cause": "structure", "name": "train_step", "place": "edited"},
        {"cause": "environment", "name": "predict", "values": [(None, "true")], "kind": {"flag"}, "place": None},
    ],
    "may": ["flag_drift"],
    "compiles": {"jit_train_step": 1, "jit_predict": 1},
    "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": True},
}


@jax.jit
def train_step(w, x, y):
    def loss_of(w):
        return jnp.square(x @ w - y).mean()  # PLANTED: edited

    return w - 0.1 * jax.grad(loss_of)(w)


@jax.jit
def predict(w, x):
    return jax.nn.sigmoid(x @ w) > 0.5


rng = np.random.default_rng(72)
w, x = np.zeros(4, np.float32), rng.normal(size=(8, 4)).astype(np.float32)
for _ in range(3):
    w = train_step(w, x, x.sum(1))
print(np.asarray(predict(w, x)))
