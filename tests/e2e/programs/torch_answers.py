"""Everything that torch_xla reports about its programs and the placement of its tensors, on one or four devices.

    torch_answers.py single|spmd

Prints for each program a digest of its results and the optimized program that torch_xla gets from the plugin; for
sharded programs also their shardings and the device of each shard. With PT_XLA_DEBUG_LEVEL=1 torch_xla writes memory
statistics into PT_XLA_DEBUG_FILE; with XLA_DUMP_POST_OPTIMIZATIONS=1 it returns optimized programs.
"""

import sys

import numpy as np
import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.distributed.spmd as spmd
import torch_xla.runtime as runtime
from torch import nn

import torch_report

RESULTS = {}


def data(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape))).to(torch_xla.device())


def optimized(tensors):
    """Compiles the pending computation, as torch_xla does to print an optimized program."""
    return torch_xla._XLAC._get_xla_tensors_hlo(list(tensors))


def report(name, *tensors):
    """Reports facts about the tensors before and after their computation."""
    answer = {"optimized": optimized(tensors)}
    torch_xla.sync()
    xm.wait_device_ops()
    answer["shapes"] = [(str(t.dtype), list(t.shape), str(t.device)) for t in tensors]
    answer["digest"] = torch_report.digest(tensors)
    if runtime.is_spmd():
        answer["shardings"] = [torch_xla._XLAC._get_xla_sharding_spec(tensor) for tensor in tensors]
        answer["shards"] = [
            [(shard.shard_device, shard.replica_id, str(shard.indices)) for shard in spmd.XLAShardedTensor(t).local_shards]
            for t in tensors
        ]
    RESULTS[name] = answer


def single():
    report("matmul", torch.tanh(data(512, 256) @ data(256, 512)))
    values = data(64, 64)
    report("several results", values.sort(dim=1).values, values.cumsum(0), values.argmax(1))
    state = data(256, 1024)
    torch_xla.sync()
    state.add_(1)  # its buffer is donated
    report("donated", state)
    report("bfloat16", torch.softmax(data(128, 128).to(torch.bfloat16), -1))
    model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 49, 10))
    report("convolution", model.to(torch_xla.device())(data(4, 3, 16, 16)).sum(0))
    report("dropout", nn.functional.dropout(data(64, 64), 0.5))
    report("empty", data(0, 4) * 2)


def sharded():
    mesh = spmd.Mesh(np.arange(4), (2, 2), ("x", "y"))
    rows, columns = data(128, 256), data(256, 128)
    spmd.mark_sharding(rows, mesh, ("x", None))
    spmd.mark_sharding(columns, mesh, (None, "y"))
    product = torch.tanh(rows @ columns)
    report("product", product, product.sum(0))
    report("of sharded results", product * 2, product.mean())
    replicated = data(16, 16)
    spmd.mark_sharding(replicated, mesh, (None, None))
    report("replicated", replicated @ replicated)
    order = data(64, 8)
    spmd.mark_sharding(order, spmd.Mesh(np.array([3, 1, 2, 0]), (4, 1), ("a", "b")), ("a", "b"))
    report("devices in another order", order.exp())
    layer = nn.Linear(64, 64).to(torch_xla.device())
    spmd.mark_sharding(layer.weight, mesh, ("y", "x"))
    layer(data(32, 64)).square().sum().backward()
    report("gradient", layer.weight.grad, layer.bias.grad)


def main():
    if sys.argv[1] == "spmd":
        runtime.use_spmd()
    torch.manual_seed(3)
    xm.set_rng_state(5)
    {"single": single, "spmd": sharded}[sys.argv[1]]()
    devices = runtime.global_runtime_device_attributes()
    torch_report.finish(RESULTS, devices=devices, default=xm.xla_device_hw(torch_xla.device()))


if __name__ == "__main__":
    main()
