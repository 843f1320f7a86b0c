"""A value read with .item() in the middle of the forward pass selects a fast path."""

import torch
import torch_xla
from torch import nn

CASE = {
    "patterns": [("fragments", "")],
    "may": ["structure", "parameters", "shape", "constant", "dtype"],
    "questions": {"profile_or_sharding_changed": False},
}


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(6, 6), nn.Linear(6, 2)

    def forward(self, x):
        x = torch.tanh(self.inner(x))
        if x.abs().max().item() > 0.999:  # PLANTED
            x = x * 0.9
        spread = (x - x.mean()).abs().mean().item()  # PLANTED
        if spread > 10:
            return self.outer(x) * 0
        return self.outer(x)


def main():
    torch.manual_seed(19)
    device = torch_xla.device()
    model = Gated().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(10):
        loss = model(torch.randn(8, 6).to(device)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        print(loss.item())  # PLANTED


main()
