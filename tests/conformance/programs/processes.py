"""JAX in worker processes of multiprocessing. usage: processes.py fork|spawn|forkserver"""

import multiprocessing
import sys

WORKERS = 2


def work(number):
    # Not before: a fork of a process with JAX's threads in it may hang.
    import jax
    import jax.numpy as jnp
    from digest import digest

    def step(x):
        return jnp.tanh(x @ x.T).sum(axis=1), jnp.linalg.norm(x)

    x = jnp.arange(48.0).reshape(8, 6) / 48 + number
    return digest([jax.jit(step)(x), jax.random.uniform(jax.random.key(number), (4,))])


def main():
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(WORKERS) as pool:
        print(pool.map(work, range(4), chunksize=2))


if __name__ == "__main__":
    main()
