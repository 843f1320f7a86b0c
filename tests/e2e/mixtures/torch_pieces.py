"""Two causes on PyTorch/XLA in steps of four executions and three reads: .item() in the forward pass, and gradients of None
at the first of two micro-batches. The update is part of the second micro-batch's program."""

import argparse

import torch
import torch_xla
from torch import nn

MIXTURE = {
    "python": "torch",
    "causes": {
        "item": {"kinds": ["fragments"], "line": "item"},
        "none": {"kinds": ["alternation"], "line": None},
    },
    "may": [],
    "steps": 5,
}


class Gated(nn.Module):
    """Counts in Python how often the gates are closed."""

    def __init__(self, without):
        super().__init__()
        self.without, self.closed = without, 0
        self.gate, self.inner, self.outer = nn.Linear(6, 10), nn.Linear(6, 10), nn.Linear(10, 1)

    def forward(self, x):
        gate = torch.sigmoid(self.gate(x))
        if "item" not in self.without and gate.mean().item() < 0.5:  # PLANTED: item
            self.closed += 1
        return self.outer(torch.tanh(self.inner(x)) * gate)[:, 0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--without", action="append", default=[], choices=MIXTURE["causes"])
    without = parser.parse_args().without
    torch.manual_seed(3)
    device = torch_xla.device()
    model = Gated(without).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(5):
        for micro in range(2):
            x, target = torch.randn(8, 6).to(device), torch.randn(8).to(device)
            loss = (model(x) - target).square().mean() / 2
            loss.backward()
            if micro == 1:
                optimizer.step()
                optimizer.zero_grad(set_to_none="none" not in without)
            torch_xla.sync()
        print(f"loss {loss.item():.4f}, closed {model.closed}")


main()
