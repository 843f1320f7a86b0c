"""Brax: training by augmented random search, and steps of an environment with its physics.

Brax's PPO asks for jax.device_put_replicated, which JAX 0.10 no longer has.
"""

import jax
from brax import envs
from brax.training.agents.ars import train as ars
from digest import digest

reported = []


def report(step, metrics):
    # What tells of time differs from run to run.
    reported.append([step, {k: v for k, v in metrics.items() if not k.endswith(("time", "sps"))}])


_, parameters, _ = ars.train(
    environment=envs.get_environment("fast"), num_timesteps=400, episode_length=16, number_of_directions=6,
    top_directions=3, num_eval_envs=4, num_evals=3, seed=3, normalize_observations=True, progress_fn=report,
)  # fmt: skip

pendulum = envs.get_environment("inverted_pendulum", backend="positional")
state = jax.jit(pendulum.reset)(jax.random.key_data(jax.random.key(1)))
step = jax.jit(pendulum.step)
for _ in range(5):
    state = step(state, jax.numpy.ones(pendulum.action_size) * 0.1)
print(digest([parameters, reported, state.pipeline_state, state.reward]))
