"""rekindle keeps what XLA compiled: a job that is started again loads its executables instead of compiling them anew.

A job needs nothing of this package: `rekindle run -- python train.py` watches every PJRT plugin that it loads. The
package is for where nothing can be preloaded: `rekindle.torch_xla` is a device of PyTorch/XLA.
"""

__version__ = "0.1.0"
