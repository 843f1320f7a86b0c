"""Equinox: the evaluation passes half-precision inputs; later the step also gets a teacher's logits."""

import equinox as eqx
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

CASE = {
    "causes": [
        {"cause": "dtype", "name": "evaluate", "values": [("f32", "bf16")], "kind": {"dtype"}, "place": "half"},
        {
            "cause": "parameters", "name": "train_step", "values": [(None, [8, 3])], "kind": {"parameter_added"},
            "place": "teacher",
        },
    ],
    "may": ["optional_inputs"],
    "compiles": {"evaluate": 2, "train_step": 2},
    "questions": {"hidden_branch_active": True},
}  # fmt: skip


class Classifier(eqx.Module):
    weight: jax.Array
    bias: jax.Array

    def __call__(self, x):
        return x @ self.weight + self.bias  # USED: half


@eqx.filter_jit
def evaluate(model, x, labels):
    return jnp.mean(jnp.argmax(model(x), -1) == labels)


@eqx.filter_jit
def train_step(model, x, labels, teacher=None):
    def loss_of(model):
        log_p = jax.nn.log_softmax(model(x))
        loss = -jnp.take_along_axis(log_p, labels[:, None], 1).mean()
        if teacher is not None:
            loss = loss - jnp.mean(jax.nn.softmax(teacher) * log_p)  # USED: teacher
        return loss

    grads = eqx.filter_grad(loss_of)(model)
    return jax.tree.map(lambda p, g: p - 0.1 * g, model, grads)


def main():
    rng = np.random.default_rng(73)
    model = Classifier(rng.normal(size=(5, 3)).astype(np.float32), np.zeros(3, np.float32))
    model = jax.tree.map(jax.device_put, model)
    x, labels = rng.normal(size=(8, 5)).astype(np.float32), rng.integers(3, size=8, dtype=np.int32)
    for _ in range(2):
        model = train_step(model, x, labels)
    print(float(evaluate(model, x, labels)))
    model = train_step(model, x, labels, teacher=rng.normal(size=(8, 3)).astype(np.float32))  # PLANTED: teacher
    print(float(evaluate(model, x.astype(ml_dtypes.bfloat16), labels)))  # PLANTED: half


main()
