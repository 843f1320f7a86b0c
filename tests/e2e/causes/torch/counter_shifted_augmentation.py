"""An augmentation shifts each batch by the step number."""

import torch
import torch_xla
from torch import nn

CASE = {
    "causes": [{"cause": "constant", "times": "many"}],
    "patterns": [("counter", "")],
    "compiles": {"SyncTensors": 5},
    "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False},
}


def main():
    torch.manual_seed(8)
    device = torch_xla.device()
    model = nn.Linear(12, 2).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(1, 6):
        x = torch.randn(4, 12).to(device)
        x = torch.roll(x, step, dims=1)  # PLANTED
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    print(loss.item())


main()
