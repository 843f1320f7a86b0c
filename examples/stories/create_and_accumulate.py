"""PyTorch/XLA over two micro-batches. With set_to_none=True the first creates the gradients, the second adds to them.

These are two programs, which alternate during the whole training.
"""

import os

import torch
import torch_xla
from torch import nn

CASE = {
    "causes": [{"cause": ["parameters", "structure"], "times": "many", "place": None}],
    "patterns": [("alternation", None)],
    "may": ["optional_inputs", "fragments"],
    "questions": {"input_shapes_changed": False},
    "remedy": [{"set_to_none=False", "set_to_none = False", "one compiled region", "one region"}],
}


LAYERS = int(os.environ.get("STORY_LAYERS", "1"))  # more layers take longer to compile


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    hidden = [layer for _ in range(LAYERS - 1) for layer in (nn.Linear(32, 32), nn.GELU())]
    model = nn.Sequential(nn.Linear(8, 32), nn.GELU(), *hidden, nn.Linear(32, 4)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(4):
        for _ in range(2):
            x, labels = torch.randn(16, 8).to(device), torch.randint(4, (16,)).to(device)
            loss = nn.functional.cross_entropy(model(x), labels) / 2
            loss.backward()
            torch_xla.sync()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch_xla.sync()
        print(step, loss.item())


main()
