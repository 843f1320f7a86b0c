"""The second start uses another flag profile."""

import torch
import torch_xla
from torch import nn

CASE = {
    "runs": [{}, {"env": {"XLA_FLAGS": "--xla_backend_optimization_level=0 --xla_cpu_enable_fast_math=true"}}],
    "causes": [{"cause": "environment", "values": [({None, "false"}, "true")], "kind": {"flag"}, "place": None}],
    "patterns": [("flag_drift", None)],
    "compiles": {"SyncTensors": 1},
    "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": True, "hidden_branch_active": False},
}


def main():
    torch.manual_seed(22)
    device = torch_xla.device()
    model = nn.Linear(6, 2).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(torch.randn(8, 6).to(device)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    print(loss.item())


main()
