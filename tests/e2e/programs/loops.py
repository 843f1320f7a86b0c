"""Training loops as people write them. Prints the true number of steps: the updates of the (first) model.

usage: loops.py LOOP [STEPS]
"""

import json
import sys

import jax
import jax.numpy as jnp
import numpy as np

WIDTHS = (12, 16, 16, 3)
RANDOM = np.random.default_rng(0)


def batch(size=8):
    return (
        RANDOM.normal(size=(size, WIDTHS[0])).astype(np.float32),
        RANDOM.normal(size=(size, WIDTHS[-1])).astype(np.float32),
    )


def init_eagerly(seed=0):
    """Initializes parameters operation by operation, without any jit."""
    key, params = jax.random.PRNGKey(seed), []
    for inputs, outputs in zip(WIDTHS[:-1], WIDTHS[1:]):
        key, one = jax.random.split(key)
        weights = jax.random.normal(one, (inputs, outputs)) * jnp.sqrt(2.0 / inputs)
        params.append({"w": weights, "b": jnp.zeros(outputs), "scale": jnp.ones(outputs)})
    return params


def forward(params, x):
    for layer in params[:-1]:
        x = jax.nn.relu((x @ layer["w"] + layer["b"]) * layer["scale"])
    return x @ params[-1]["w"] + params[-1]["b"]


def loss_of(params, x, y):
    return ((forward(params, x) - y) ** 2).mean()


def init_adam(params):
    return jax.tree.map(jnp.zeros_like, params), jax.tree.map(jnp.zeros_like, params)


def adam(params, state, grads):
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state[0], grads)
    second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, state[1], grads)
    params = jax.tree.map(lambda p, m, v: p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), params, first, second)
    return params, (first, second)


@jax.jit
def train_step(params, state, x, y):
    loss, grads = jax.value_and_grad(loss_of)(params, x, y)
    params, state = adam(params, state, grads)
    return params, state, loss


@jax.jit
def eval_step(params, x, y):
    return loss_of(params, x, y), jnp.abs(forward(params, x) - y).max()


@jax.jit
def grad_step(params, x, y):
    return jax.value_and_grad(loss_of)(params, x, y)


@jax.jit
def update(params, state, grads):
    return adam(params, state, grads)


def plain(steps):
    params = init_eagerly()
    state = init_adam(params)
    for _ in range(steps):
        params, state, loss = train_step(params, state, *batch())
    return steps


def many_parameters(steps):
    """The optimizer's zeros are created one after the other, more often than there are steps."""
    params = [p for seed in range(12) for p in init_eagerly(seed)]
    params = {f"layer{i}": p["b"] for i, p in enumerate(params)} | {"net": init_eagerly()}
    state = init_adam(params)

    @jax.jit
    def train_step(params, state, x, y):
        def loss_of_all(params):
            return loss_of(params["net"], x, y) + sum((p**2).sum() for k, p in params.items() if k != "net")

        loss, grads = jax.value_and_grad(loss_of_all)(params)
        return *adam(params, state, grads), loss

    for _ in range(steps):
        params, state, loss = train_step(params, state, *batch())
    return steps


def logging(steps):
    """Reads each loss, and prints a mean every ten steps."""
    params, losses = init_eagerly(), []
    state = init_adam(params)
    for step in range(steps):
        params, state, loss = train_step(params, state, *batch())
        losses.append(loss)
        if (step + 1) % 10 == 0:
            print(step, float(jnp.stack(losses).mean()), float(jnp.std(jnp.stack(losses))), file=sys.stderr)
            losses = []
    return steps


def eval_many(steps):
    """Evaluates seven batches every ten steps, and before the first one."""
    params = init_eagerly()
    state = init_adam(params)

    def evaluate():
        metrics = [eval_step(params, *batch()) for _ in range(7)]
        return float(jnp.stack([loss for loss, _ in metrics]).mean())

    evaluate()
    for step in range(steps):
        params, state, loss = train_step(params, state, *batch())
        if (step + 1) % 10 == 0:
            evaluate()
    return steps


def eval_one(steps):
    """Evaluates one batch every five steps."""
    params = init_eagerly()
    state = init_adam(params)
    for step in range(steps):
        params, state, loss = train_step(params, state, *batch())
        if (step + 1) % 5 == 0:
            float(eval_step(params, *batch())[0])
    return steps


def eval_first(steps):
    """Evaluates thirty batches before the training."""
    params = init_eagerly()
    state = init_adam(params)
    print(sum(float(eval_step(params, *batch())[0]) for _ in range(30)), file=sys.stderr)
    for _ in range(steps):
        params, state, loss = train_step(params, state, *batch())
    return steps


def eval_more_than_training(steps):
    """Evaluates forty batches after every four steps."""
    params = init_eagerly()
    state = init_adam(params)
    for step in range(steps):
        params, state, loss = train_step(params, state, *batch())
        if (step + 1) % 4 == 0:
            print(sum(float(eval_step(params, *batch())[0]) for _ in range(40)), file=sys.stderr)
    return steps


def accumulation(steps):
    """Four gradients are added operation by operation, then one jitted update."""
    params = init_eagerly()
    state = init_adam(params)
    for _ in range(steps):
        grads = None
        for _ in range(4):
            loss, one = grad_step(params, *batch())
            grads = one if grads is None else jax.tree.map(jnp.add, grads, one)
        params, state = update(params, state, jax.tree.map(lambda g: g / 4, grads))
    return steps


def epochs(steps):
    """Epochs of seven batches, the last one smaller; each epoch shuffles, evaluates and prints."""
    params = init_eagerly()
    state = init_adam(params)
    key, done = jax.random.PRNGKey(1), 0
    while done < steps:
        key, one = jax.random.split(key)
        jax.random.permutation(one, 52)
        for i in range(min(7, steps - done)):
            params, state, loss = train_step(params, state, *batch(4 if i == 6 else 8))
            done += 1
        print(float(loss), [float(eval_step(params, *batch())[0]) for _ in range(3)], file=sys.stderr)
    return done


def gan(steps):
    """Two models with one optimizer each."""
    params, critic = init_eagerly(0), init_eagerly(1)
    state, critic_state = init_adam(params), init_adam(critic)

    @jax.jit
    def critic_step(critic, state, params, x, y):
        grads = jax.grad(lambda c: (forward(c, x) ** 2).mean() - (forward(c, x + y.mean()) ** 2).mean())(critic)
        return adam(critic, state, grads)

    @jax.jit
    def generator_step(params, state, critic, x):
        grads = jax.grad(lambda p: (forward(critic, x + forward(p, x).mean()) ** 2).mean())(params)
        return adam(params, state, grads)

    for step in range(steps):
        x, y = batch()
        critic, critic_state = critic_step(critic, critic_state, params, x, y)
        params, state = generator_step(params, state, critic, x)
        if step % 20 == 19:
            np.asarray(forward(params, x))  # not jitted
    return steps


def scan(steps):
    """Five steps are one program."""
    params = init_eagerly()
    state = init_adam(params)

    @jax.jit
    def run(params, state, xs, ys):
        def body(carry, xy):
            return train_step(*carry, *xy)[:2], 0.0

        return jax.lax.scan(body, (params, state), (xs, ys))[0]

    for _ in range(steps // 5):
        batches = [batch() for _ in range(5)]
        xs, ys = np.stack([x for x, _ in batches]), np.stack([y for _, y in batches])
        params, state = run(params, state, xs, ys)
    return [steps, steps // 5]


def eager_update(steps):
    """The gradient is jitted, the optimizer is not."""
    params = init_eagerly()
    state = init_adam(params)
    for _ in range(steps):
        loss, grads = grad_step(params, *batch())
        params, state = adam(params, state, grads)
    return steps


def eager_accumulation(steps):
    """The gradient is jitted; four of them are added, and the optimizer updates, operation by operation."""
    params = init_eagerly()
    state = init_adam(params)
    for _ in range(steps):
        grads = None
        for _ in range(4):
            loss, one = grad_step(params, *batch())
            grads = one if grads is None else jax.tree.map(jnp.add, grads, one)
        params, state = adam(params, state, grads)
    return steps


def eager(steps):
    """Nothing is jitted by the user."""
    params = init_eagerly()
    state = init_adam(params)
    for _ in range(steps):
        loss, grads = jax.value_and_grad(loss_of)(params, *batch())
        params, state = adam(params, state, grads)
    return steps


def target_network(steps):
    """A second copy of the parameters follows the first every four steps; actions need the model, too."""
    params = init_eagerly()
    state, target = init_adam(params), params
    act = jax.jit(lambda params, x: forward(params, x).argmax(-1))
    follow = jax.jit(lambda target, params: jax.tree.map(lambda t, p: 0.95 * t + 0.05 * p, target, params))
    for step in range(steps):
        np.asarray(act(params, batch(1)[0])), np.asarray(act(params, batch(1)[0]))
        params, state, loss = train_step(params, state, *batch())
        if (step + 1) % 4 == 0:
            target = follow(target, params)
    return steps


def two_phases(steps):
    """A short first phase with another function, then the training."""
    params = init_eagerly()
    state = init_adam(params)
    warm = jax.jit(lambda params, x, y: jax.tree.map(lambda p, g: p - 0.01 * g, params, jax.grad(loss_of)(params, x, y)))
    for _ in range(steps // 10):
        params = warm(params, *batch())
    for _ in range(steps - steps // 10):
        params, state, loss = train_step(params, state, *batch())
    return steps


def serving(steps):
    """Answers requests of three lengths."""
    params = init_eagerly()
    predict = jax.jit(forward)
    for step in range(steps):
        np.asarray(predict(params, batch((1, 2, 4)[step % 3])[0]))
    return steps


def sweep(steps):
    """Three trainings one after the other, each with a step function of its own."""
    for rate in (1e-2, 1e-3, 1e-4):
        params = init_eagerly()
        state = init_adam(params)

        @jax.jit
        def train_step(params, state, x, y, rate=rate):
            params, state = adam(params, state, jax.grad(loss_of)(params, x, y))
            return jax.tree.map(lambda p: p * (1 - rate), params), state

        for _ in range(steps // 3):
            params, state = train_step(params, state, *batch())
        print(float(loss_of(params, *batch())), file=sys.stderr)
    return steps // 3 * 3


def regression(steps):
    """One vector of parameters, plain gradient descent; prints the loss every ten steps."""
    w = jnp.zeros(12)
    step_of = jax.jit(lambda w, x, y: w - 0.1 * jax.grad(lambda w: ((x @ w - y[:, 0]) ** 2).mean())(w))
    loss_of = jax.jit(lambda w, x, y: ((x @ w - y[:, 0]) ** 2).mean())
    for step in range(steps):
        x, y = batch()
        w = step_of(w, x, y)
        if step % 10 == 0:
            print(float(loss_of(w, x, y)), file=sys.stderr)
    return steps


def grad_and_update(steps):
    """Gradient and update are two jitted functions; the norm of the gradient is printed."""
    params = init_eagerly()
    state = init_adam(params)
    for step in range(steps):
        loss, grads = grad_step(params, *batch())
        params, state = update(params, state, grads)
        if step % 10 == 9:
            norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(grads)))
            print(float(norm), [float(eval_step(params, *batch())[0]) for _ in range(5)], file=sys.stderr)
    return steps


def jitted_accumulation(steps):
    """Three gradients, which a jitted function adds."""
    params = init_eagerly()
    state = init_adam(params)
    add = jax.jit(lambda a, b: jax.tree.map(jnp.add, a, b))
    for _ in range(steps):
        loss, grads = grad_step(params, *batch())
        for _ in range(2):
            grads = add(grads, grad_step(params, *batch())[1])
        params, state = update(params, state, grads)
    return steps


def counter(steps):
    """A number is part of the program, which is compiled again in each step."""
    params = init_eagerly()
    for step in range(steps):
        train = jax.jit(lambda p, x, y, step=step: jax.tree.map(lambda p, g: p - g / (step + 1), p, jax.grad(loss_of)(p, x, y)))
        params = train(params, *batch())
    return steps


def reinforcement(steps):
    """Twenty actions, then eight updates on parts of what happened."""
    params = init_eagerly()
    state = init_adam(params)
    act = jax.jit(lambda params, x, key: (forward(params, x) + jax.random.normal(key, (1, 3))).argmax(-1))
    key = jax.random.PRNGKey(0)
    for _ in range(steps // 8):
        for _ in range(20):
            key, one = jax.random.split(key)
            np.asarray(act(params, batch(1)[0], one))
        for _ in range(8):
            params, state, loss = train_step(params, state, *batch())
    return steps // 8 * 8


def average(steps):
    """An average of the parameters is updated operation by operation, and evaluated sometimes."""
    params = init_eagerly()
    state, mean = init_adam(params), params
    for step in range(steps):
        params, state, loss = train_step(params, state, *batch())
        mean = jax.tree.map(lambda m, p: 0.99 * m + 0.01 * p, mean, params)
        if step % 10 == 9:
            print([float(eval_step(mean, *batch())[0]) for _ in range(5)], file=sys.stderr)
    return steps


def augmentation(steps):
    """A jitted function changes each batch; it also runs on the whole data set at the start."""
    augment = jax.jit(lambda x, y, key: (x + 0.1 * jax.random.normal(key, x.shape), y * 1.0))
    key, params = jax.random.PRNGKey(0), init_eagerly()
    data = [augment(*batch(), key) for _ in range(30)]
    state = init_adam(params)
    for step in range(steps):
        key, one = jax.random.split(key)
        params, state, loss = train_step(params, state, *augment(*data[step % 30], one))
    return steps


def sharded(steps):
    """Data parallel over two devices."""
    mesh = jax.make_mesh((len(jax.devices()),), ("data",))
    over = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    params = jax.device_put(init_eagerly(), jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec()))
    state = init_adam(params)
    for step in range(steps):
        params, state, loss = train_step(params, state, *jax.device_put(batch(), over))
        if step % 10 == 0:
            print(float(loss), file=sys.stderr)
    return steps


def flax_linen(steps):
    import flax.linen as nn
    import optax
    from flax.training.train_state import TrainState

    class Model(nn.Module):
        @nn.compact
        def __call__(self, x, train):
            for width in WIDTHS[1:-1]:
                x = nn.Dropout(0.1, deterministic=not train)(nn.relu(nn.LayerNorm()(nn.Dense(width)(x))))
            return nn.Dense(WIDTHS[-1])(x)

    model = Model()
    params = model.init(jax.random.PRNGKey(0), batch()[0], train=False)["params"]
    state = TrainState.create(apply_fn=model.apply, params=params, tx=optax.adamw(1e-3))

    @jax.jit
    def train_step(state, x, y, key):
        def loss_of(params):
            return ((state.apply_fn({"params": params}, x, train=True, rngs={"dropout": key}) - y) ** 2).mean()

        loss, grads = jax.value_and_grad(loss_of)(state.params)
        return state.apply_gradients(grads=grads), {"loss": loss}

    @jax.jit
    def eval_step(state, x, y):
        return {"loss": ((state.apply_fn({"params": state.params}, x, train=False) - y) ** 2).mean()}

    key = jax.random.PRNGKey(1)
    for step in range(steps):
        key, one = jax.random.split(key)
        state, metrics = train_step(state, *batch(), one)
        if (step + 1) % 10 == 0:
            results = [eval_step(state, *batch()) for _ in range(4)]
            print(float(jnp.mean(jnp.stack([r["loss"] for r in results]))), float(metrics["loss"]), file=sys.stderr)
    return steps


def flax_nnx(steps):
    import optax
    from flax import nnx

    class Model(nnx.Module):
        def __init__(self, rngs):
            self.layers = nnx.List([nnx.Linear(i, o, rngs=rngs) for i, o in zip(WIDTHS[:-1], WIDTHS[1:])])

        def __call__(self, x):
            for layer in self.layers[:-1]:
                x = nnx.relu(layer(x))
            return self.layers[-1](x)

    model = Model(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))

    @nnx.jit
    def train_step(model, optimizer, metrics, x, y):
        loss, grads = nnx.value_and_grad(lambda model: ((model(x) - y) ** 2).mean())(model)
        metrics.update(loss=loss)
        optimizer.update(model, grads)

    @nnx.jit
    def eval_step(model, metrics, x, y):
        metrics.update(loss=((model(x) - y) ** 2).mean())

    for step in range(steps):
        train_step(model, optimizer, metrics, *batch())
        if step > 0 and (step % 10 == 0 or step == steps - 1):
            print({k: float(v) for k, v in metrics.compute().items()}, file=sys.stderr)
            metrics.reset()
            for _ in range(4):
                eval_step(model, metrics, *batch())
            print({k: float(v) for k, v in metrics.compute().items()}, file=sys.stderr)
            metrics.reset()
    return steps


def equinox(steps):
    import equinox as eqx
    import optax

    model = eqx.nn.MLP(WIDTHS[0], WIDTHS[-1], 16, 2, key=jax.random.PRNGKey(0))
    optimizer = optax.adamw(1e-3)
    state = optimizer.init(eqx.filter(model, eqx.is_array))

    def loss_of(model, x, y):
        return ((jax.vmap(model)(x) - y) ** 2).mean()

    @eqx.filter_jit
    def make_step(model, state, x, y):
        loss, grads = eqx.filter_value_and_grad(loss_of)(model, x, y)
        updates, state = optimizer.update(grads, state, eqx.filter(model, eqx.is_array))
        return eqx.apply_updates(model, updates), state, loss

    evaluate = eqx.filter_jit(loss_of)
    for step in range(steps):
        model, state, loss = make_step(model, state, *batch())
        if step % 15 == 0 or step == steps - 1:
            print(step, loss.item(), sum(evaluate(model, *batch()) for _ in range(5)) / 5, file=sys.stderr)
    return steps


def optax_eager(steps):
    """The gradient is jitted; optax runs operation by operation, as in its first examples."""
    import optax

    params, optimizer = init_eagerly(), optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3))
    state = optimizer.init(params)
    for _ in range(steps):
        loss, grads = grad_step(params, *batch())
        updates, state = optimizer.update(grads, state)
        params = optax.apply_updates(params, updates)
    return steps


def optax_multi_steps(steps):
    """Accumulation inside the optimizer: each call is a step of the loop."""
    import optax

    params = init_eagerly()
    optimizer = optax.MultiSteps(optax.multi_transform({"a": optax.adam(1e-3), "b": optax.sgd(0.1)}, ["a", "b", "a"]), 4)
    state = optimizer.init(params)

    @jax.jit
    def train_step(params, state, x, y):
        grads = jax.grad(loss_of)(params, x, y)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    for _ in range(steps):
        params, state = train_step(params, state, *batch())
    return steps


if __name__ == "__main__":
    true = globals()[sys.argv[1]](int(sys.argv[2]) if len(sys.argv) > 2 else 60)
    print(json.dumps({"steps": true}))
