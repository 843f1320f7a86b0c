"""PyTorch/XLA: in every block of every step, the forward pass reads a value with .item() to choose a fast path.

Each read ends a program, waits for the device and transfers one number.
"""

import os

import torch
import torch_xla
from torch import nn

CASE = {
    "patterns": [("fragments", "")],
    "may": ["structure", "parameters", "shape", "constant", "repeated_blocks"],
    "questions": {"input_shapes_changed": False},
    "remedy": [{"item"}, {"torch.where", "where", "end of the step", "after the step", "mask"}],
}


LAYERS = int(os.environ.get("STORY_LAYERS", "1"))  # more layers take longer to compile


class Block(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        deep = [layer for _ in range(LAYERS - 1) for layer in (nn.Linear(2 * width, 2 * width), nn.ReLU())]
        self.up = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), *deep)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        if x.abs().max().item() < 1e-3:  # PLANTED
            return x
        return x + self.down(self.up(x))


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(Block(), Block(), Block()).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(8):
        loss = model(torch.randn(16, 8).to(device)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    print(loss.item())


main()
