"""Gradients accumulate over two micro-batches and are None after each step: first created, then added to."""

import torch
import torch_xla
from torch import nn

CASE = {
    "causes": [{"cause": ["parameters", "structure"], "times": "many", "place": None}],
    "patterns": [("alternation", None)],
    "may": ["optional_inputs", "fragments"],
    "questions": {"input_shapes_changed": False},
}


def main():
    torch.manual_seed(18)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for number in range(8):
        x = torch.randn(4, 6).to(device)
        loss = model(x).square().mean() / 2
        loss.backward()
        torch_xla.sync()
        if number % 2 == 1:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            torch_xla.sync()
    print(loss.item())


main()
