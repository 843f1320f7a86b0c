"""rekindle as a device of PyTorch/XLA:

    REKINDLE_PLUGIN=/path/to/plugin.so PJRT_DEVICE=REKINDLE python train.py

Where the package is installed, torch_xla finds the device by itself (entry point `torch_xla.plugins`). Where it is
only importable, `import rekindle.torch_xla` makes it known, before the first device is asked for.

Plugins that torch_xla configures for several processes (TPUs, Neuron) keep their own device, whose path leads to
rekindle: TPU_LIBRARY_PATH=/path/to/librekindle_pjrt.so PJRT_DEVICE=TPU, and REKINDLE_PLUGIN is libtpu.so.
"""

import torch_xla  # noqa: F401 (first: it loads the device itself where the package is installed)
from torch_xla.experimental import plugins

from rekindle._libraries import plugin_library
from rekindle._torch_xla_device import RekindlePlugin

__all__ = ["NAME", "RekindlePlugin", "plugin_library", "register"]

NAME = "REKINDLE"


def register():
    """Makes PJRT_DEVICE=REKINDLE known to torch_xla, if it is not."""
    if NAME not in plugins._plugin_registry:
        plugins.use_dynamic_plugins()
        plugins.register_plugin(NAME, RekindlePlugin())


register()
