"""A barrier follows every part of the step: forward, backward and update become three programs."""

import torch
import torch_xla
from torch import nn

CASE = {
    "patterns": [("fragments", None)],
    "may": ["structure", "parameters"],
    "questions": {"input_shapes_changed": False},
}


def main():
    torch.manual_seed(20)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 3)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(10):
        x = torch.randn(8, 6).to(device)
        torch_xla.sync()
        hidden = model[1](model[0](x))
        torch_xla.sync()
        loss = model[2](hidden).square().mean()
        torch_xla.sync()
        optimizer.zero_grad()
        loss.backward()
        torch_xla.sync()
        optimizer.step()
        torch_xla.sync()
        print(loss.item())


main()
