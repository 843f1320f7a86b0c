"""Three causes on PyTorch/XLA: .item() in the forward pass, an optional mask, and a smaller last batch of each epoch."""

import argparse

import torch
import torch_xla
from torch import nn

MIXTURE = {
    "python": "torch",
    "causes": {
        "item": {"kinds": ["fragments"], "line": "item"},
        "key": {"kinds": ["optional_inputs", "parameters"], "line": "key"},
        "batch": {"kinds": ["shape", "shape_family"], "line": "batch"},
    },
    "may": [],
    "steps": 12,
}


class Clipped(nn.Module):
    """Scales down activations that grew too large, and counts how often."""

    def __init__(self, without):
        super().__init__()
        self.without, self.clipped = without, 0
        self.inner, self.middle, self.outer = nn.Linear(6, 10), nn.Linear(10, 10), nn.Linear(10, 1)

    def forward(self, x, mask=None):
        x = torch.tanh(self.inner(x))  # USED: batch
        largest = x.abs().max()  # USED: item
        if "item" not in self.without:
            self.clipped += largest.item() > 0.99  # PLANTED: item
        x = torch.relu(self.middle(x / largest.clamp(min=0.5)))
        y = self.outer(x)[:, 0]
        if mask is not None:
            y = y * mask  # USED: key  # USED: batch
        return y


def epochs(without):
    for epoch in range(3):
        for number, rows in enumerate((8, 8, 8, 8 if "batch" in without else 5)):
            batch = {"x": torch.randn(rows, 6), "target": torch.randn(rows)}
            if "key" in without or (epoch, number) == (1, 1):
                batch["mask"] = torch.ones(rows)
            yield batch


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--without", action="append", default=[], choices=MIXTURE["causes"])
    without = parser.parse_args().without
    torch.manual_seed(3)
    device = torch_xla.device()
    model = Clipped(without).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for batch in epochs(without):
        batch = {name: value.to(device) for name, value in batch.items()}  # PLANTED: batch  # PLANTED: key
        y = model(batch["x"], batch.get("mask"))  # PLANTED: key
        loss = (y - batch["target"]).square().mean()  # USED: batch
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    print(f"loss {loss.item():.4f}, clipped {model.clipped}")


main()
