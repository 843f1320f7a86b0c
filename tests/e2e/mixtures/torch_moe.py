"""A mixture of experts on PyTorch/XLA with five causes: a counter of overflows, a capacity from Python, an optional key of
the batch, .item() in the forward pass, and gradients of None at the first of two micro-batches."""

import argparse

import torch
import torch_xla
from torch import nn

MIXTURE = {
    "python": "torch",
    "causes": {
        "counter": {"kinds": ["counter"], "line": "counter"},
        "capacity": {"kinds": ["counter", "constant"], "line": "capacity"},
        "key": {"kinds": ["optional_inputs", "parameters"], "line": "key"},
        "item": {"kinds": ["fragments"], "line": "item"},
        "none": {"kinds": ["alternation"], "line": None},
    },
    "may": ["repeated_blocks"],
    "steps": 10,
}

WIDTH, EXPERTS, TOKENS = 8, 4, 24


class Expert(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


class Mixture(nn.Module):
    """Sends each token to one expert. An expert ignores the tokens beyond its capacity."""

    def __init__(self, without):
        super().__init__()
        self.without = without
        self.router = nn.Linear(WIDTH, EXPERTS)
        self.experts = nn.ModuleList(Expert() for _ in range(EXPERTS))
        self.head = nn.Linear(WIDTH, 3)
        self.register_buffer("history", torch.zeros(32))
        self.register_buffer("slot", torch.full((1,), 3))
        self.records, self.capacity, self.worst = 0, 8, 0.0

    def record(self, overflow):
        """Writes the share of tokens that overflowed into the history of the run."""
        if "counter" in self.without:
            place = torch.arange(32, device=overflow.device) == self.slot
            self.history = torch.where(place, overflow, self.history)
        else:
            self.history[self.records] = overflow  # PLANTED: counter

    def forward(self, x, weight=None):
        gates = self.router(x).softmax(-1)
        gate, expert = gates.max(-1)
        chosen = nn.functional.one_hot(expert, EXPERTS).float()
        place = ((chosen.cumsum(0) - 1) * chosen).sum(-1).long()
        overflow = (place * 8 >= x.shape[0]).float().mean()  # USED: item
        if "item" not in self.without:
            self.worst = max(self.worst, overflow.item())  # PLANTED: item
        self.record(overflow)
        slots = torch.arange(self.capacity, device=x.device)  # PLANTED: capacity
        sent = (place[:, None] == slots).float()  # PLANTED: capacity
        y = torch.zeros_like(x)
        for index, module in enumerate(self.experts):
            send = sent * chosen[:, index : index + 1]  # PLANTED: capacity
            y = y + send @ module(send.T @ x)  # PLANTED: capacity
        y = self.head(x + y * gate[:, None]).square().mean(-1)
        if weight is not None:
            y = y * weight  # PLANTED: key
        return y.mean()


def batches(without, device):
    for number in range(20):
        batch = {"x": torch.randn(TOKENS, WIDTH)}
        if "key" in without or number in (3, 14):
            batch["weight"] = torch.rand(TOKENS)
        yield {name: value.to(device) for name, value in batch.items()}  # PLANTED: key


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--without", action="append", default=[], choices=MIXTURE["causes"])
    without = parser.parse_args().without
    torch.manual_seed(1)
    device = torch_xla.device()
    model = Mixture(without).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    source = batches(without, device)
    for step in range(10):
        if "capacity" not in without:
            model.capacity = 8 + 2 * (step // 3 % 3)
        for _ in range(2):
            loss = model(**next(source)) / 2
            loss.backward()
            torch_xla.sync()
        optimizer.step()
        optimizer.zero_grad(set_to_none="none" not in without)
        model.records += 1
        model.slot += 1
        torch_xla.sync()
    print(f"loss {loss.item():.4f}, overflow {model.worst:.2f}, {model.history.sum().item():.2f}")


main()
