"""Two causes on PyTorch/XLA: a position that Python counts, and gradients of None at the first of two micro-batches."""

import argparse

import torch
import torch_xla
from torch import nn

MIXTURE = {
    "python": "torch",
    "causes": {
        "counter": {"kinds": ["counter"], "line": "counter"},
        "none": {"kinds": ["alternation"], "line": None},
    },
    "may": [],
    "steps": 6,
}


class Model(nn.Module):
    """A small network that keeps the norms of its last inputs."""

    def __init__(self, without):
        super().__init__()
        self.without = without
        self.inner, self.outer = nn.Linear(6, 12), nn.Linear(12, 2)
        self.register_buffer("norms", torch.zeros(16))
        self.register_buffer("slot", torch.full((1,), 3))
        self.seen = 0

    def forward(self, x):
        norm = x.square().mean()
        if "counter" in self.without:
            self.norms = torch.where(torch.arange(16, device=x.device) == self.slot, norm, self.norms)
        else:
            self.norms[self.seen] = norm  # PLANTED: counter
        return self.outer(torch.tanh(self.inner(x)) / self.norms.max())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--without", action="append", default=[], choices=MIXTURE["causes"])
    without = parser.parse_args().without
    torch.manual_seed(2)
    device = torch_xla.device()
    model = Model(without).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        for _ in range(2):
            x = torch.randn(8, 6).to(device)
            loss = model(x).square().mean() / 2
            loss.backward()
            torch_xla.sync()
        optimizer.step()
        optimizer.zero_grad(set_to_none="none" not in without)
        model.seen += 1
        model.slot += 1
        torch_xla.sync()
    print(loss.item(), model.norms.cpu().sum())


main()
