"""One small computation, in each way in which torch_xla creates a program.

    torch_modes.py single|spmd|devices|dynamo|eager [CACHE]

With CACHE, torch_xla has its own cache there. Contains no rekindle code.
"""

import sys

import numpy as np
import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.distributed.spmd as spmd
import torch_xla.runtime as runtime

import torch_report


def data(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape))).to(torch_xla.device())


def work(rows, columns):
    return torch.tanh(rows @ columns).sum(0)


def single():
    return torch_report.digest(work(data(8, 16), data(16, 4)))


def sharded():
    runtime.use_spmd()
    mesh = spmd.Mesh(np.arange(4), (4, 1), ("x", "y"))
    rows = data(8, 16)
    spmd.mark_sharding(rows, mesh, ("x", None))
    return torch_report.digest(work(rows, data(16, 4)))


def on_device(index):
    """Runs one replica in its own thread, as torch_xla.launch does for each device.

    The replicas do not communicate: the CPU plugin waits in vain for replicas that are launched one by one.
    """
    del index
    mine = torch_report.digest(work(data(8, 16), data(16, 4)))
    if runtime.global_ordinal() == 0:
        xm.wait_device_ops()
        torch_report.finish({"devices": mine, "replicas": runtime.world_size()})


def dynamo():
    compiled = torch.compile(work, backend="openxla")
    return torch_report.digest([compiled(data(8, 16), data(16, 4)), compiled(data(4, 16), data(16, 4))])


def eager():
    import torch_xla.experimental as experimental

    experimental.eager_mode(True)
    return torch_report.digest(work(data(8, 16), data(16, 4)))


def main():
    mode, folder = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    if mode == "devices":
        torch_xla.launch(on_device)
        return
    if folder:
        runtime.initialize_cache(folder)
    torch_report.finish({mode: {"single": single, "spmd": sharded, "dynamo": dynamo, "eager": eager}[mode]()})


if __name__ == "__main__":
    main()
