"""AdamW creates its state at the first step: from the second step on, the program takes the moments as inputs."""

import torch
import torch_xla
from torch import nn

CASE = {
    "causes": [{"cause": ["parameters", "structure"], "place": None}],
    "compiles": {"SyncTensors": 2},
    "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False},
}


def main():
    torch.manual_seed(45)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 1)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, capturable=True)
    for step in range(6):
        loss = model(torch.randn(8, 6).to(device)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    print(step, loss.item())


main()
