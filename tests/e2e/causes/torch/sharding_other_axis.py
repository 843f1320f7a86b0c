"""SPMD over four devices; the second start also shards the weights."""

import sys

import torch
import torch_xla
import torch_xla.distributed.spmd as xs
import torch_xla.runtime as xr

CASE = {
    "runs": [{"args": ["replicated"]}, {"args": ["model"]}],
    "causes": [{"cause": "sharding", "kind": {"sharding", "attribute"}, "place": None}],
    "compiles": {"SyncTensors": 1},
    "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": True},
}


def main():
    xr.use_spmd()
    torch.manual_seed(29)
    device = torch_xla.device()
    mesh = xs.Mesh(list(range(4)), (2, 2), ("data", "model"))
    weight = torch.randn(6, 4).to(device)
    xs.mark_sharding(weight, mesh, (None, "model" if sys.argv[1] == "model" else None))
    for _ in range(3):
        x = torch.randn(8, 6).to(device)
        xs.mark_sharding(x, mesh, ("data", None))
        y = torch.tanh(x @ weight).sum(1)
        torch_xla.sync()
    print(y.cpu().sum())


main()
