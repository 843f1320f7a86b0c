"""Shared helpers of the PyTorch programs in this folder: the device, digests of results, and torch_xla's counters."""

import hashlib
import importlib
import json
import os

import torch
import torch_xla
import torch_xla.debug.metrics as metrics

COUNTERS = ("UncachedCompile", "PersistentCacheHit", "PersistentCacheMiss", "PersistentCacheDeserializeFailure")


def _register():
    """If the environment requests it, registers a plugin device as torch_xla documents it, or imports a module."""
    if module := os.environ.get("TEST_IMPORT"):
        importlib.import_module(module)
    library = os.environ.get("TEST_DEVICE_PLUGIN")
    if not library:
        return
    from torch_xla.experimental import plugins

    class Plugin(plugins.DevicePlugin):
        def library_path(self):
            return library

    plugins.register_plugin("XCPU", Plugin())
    plugins.use_dynamic_plugins()


_register()


def tensors(thing):
    """Returns all tensors of models, optimizers, and nested lists and dictionaries of them, in a fixed order."""
    if isinstance(thing, torch.Tensor):
        return [thing]
    if hasattr(thing, "state_dict"):
        thing = thing.state_dict()
    if isinstance(thing, dict):
        thing = list(thing.values())
    if isinstance(thing, (list, tuple)):
        return [tensor for part in thing for tensor in tensors(part)]
    return []


def digest(thing):
    """Digests the bytes, types and shapes of all tensors: equal digests mean bitwise equal results."""
    hasher = hashlib.sha256()
    for tensor in tensors(thing):
        tensor = tensor.detach().cpu().contiguous()
        hasher.update(f"{tensor.dtype} {tuple(tensor.shape)};".encode())
        hasher.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return hasher.hexdigest()[:32]


def compile_requests():
    """Returns how often torch_xla requested an executable from the plugin, by torch_xla's own count."""
    data = metrics.metric_data("CompileTime")
    return data[0] if data else 0


def compile_seconds():
    """Returns the time of those requests by torch_xla's clock, for compiled and for loaded executables."""
    data = metrics.metric_data("CompileTime")
    return data[1] / 1e9 if data else 0.0


def finish(results, **more):
    """Prints the results as the last line of stdout."""
    counters = {name: metrics.counter_value(name) or 0 for name in COUNTERS}
    answer = {
        "torch_xla": torch_xla.__version__, "requests": compile_requests(), "counters": counters, "results": results,
    }  # fmt: skip
    print(json.dumps(answer | more), flush=True)
