"""Different functions have the same name: lambdas, wrappers, and two closures called `f`."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

CASE = {"healthy": True, "compiles": {"jit__lambda": 2, "jit_wrapped": 2, "jit_f": 2}}


def logged(function):
    @functools.wraps(function, assigned=())
    def wrapped(*args):
        return function(*args)

    return wrapped


def softplus(x):
    return jnp.log1p(jnp.exp(x))


def center(x):
    return x - x.mean(0, keepdims=True)


def make_projection():
    def f(x, w):
        return x @ w

    return f


def make_similarity():
    def f(x):
        unit = x / jnp.linalg.norm(x, axis=1, keepdims=True)
        return unit @ unit.T

    return f


def main():
    rng = np.random.default_rng(83)
    x = rng.normal(size=(6, 4)).astype(np.float32)
    square, order = jax.jit(lambda x: x * x), jax.jit(lambda x: jnp.argsort(x, axis=0))
    first, second = jax.jit(logged(softplus)), jax.jit(logged(center))
    project, compare = jax.jit(make_projection()), jax.jit(make_similarity())
    for _ in range(2):
        print(float(np.asarray(square(x)).sum()), int(order(x)[0, 0]))
        print(np.asarray(first(x)).sum(), np.asarray(second(x)).sum())
        print(np.asarray(project(x, x.T)).sum(), np.asarray(compare(x)).sum())


main()
