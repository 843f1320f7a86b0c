"""rekindle keeps what XLA compiled: a job that is started again loads its executables instead of compiling them anew.

A job needs nothing of this package: `rekindle run -- python train.py` watches every PJRT plugin that it loads. The
package is for where nothing can be preloaded: `rekindle.torch_xla` is a device of PyTorch/XLA. And for programs that
want to say more than can be seen from outside:

    import rekindle

    for batch in batches:
        train(batch)
        rekindle.step()       # a step ends here
        if warm:
            rekindle.mark_warm()  # from now on nothing should be compiled
    print(rekindle.stats())

Where there is no rekindle in the process, step() and mark_warm() do nothing, and stats() and explain() are None.
"""

from rekindle import _inside

__all__ = ["explain", "mark_warm", "stats", "step"]
__version__ = "0.1.0"


def step():
    """Says that a step of the program ends here. From the first call on rekindle no longer looks for steps by itself."""
    _inside.step()


def mark_warm():
    """Says that warm-up is over: what is compiled from now on is late (REKINDLE_STRICT)."""
    _inside.mark_warm()


def stats():
    """The counters of this run so far, as `rekindle stats --json` has them; None without rekindle."""
    return _inside.ask("stats")


def explain():
    """Why programs were compiled in this run so far, as `rekindle explain --json` has it; None without rekindle."""
    return _inside.ask("explain")
