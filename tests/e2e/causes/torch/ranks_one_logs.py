"""Two ranks of one run; one rank computes an accuracy for its log."""

import os

import torch
import torch_xla
from torch import nn

CASE = {
    "runs": [{"ranks": 2}],
    "patterns": [("rank_divergence", "")],
    "may": ["parameters", "structure"],
    "compiles": {"SyncTensors": 2},
    "questions": {"input_shapes_changed": False},
}

RANK = int(os.environ["RANK"])


def main():
    torch.manual_seed(26 + RANK)
    device = torch_xla.device()
    model = nn.Linear(6, 3).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    for _ in range(3):
        x, labels = torch.randn(8, 6).to(device), torch.randint(3, (8,)).to(device)
        logits = model(x)
        loss = nn.functional.cross_entropy(logits, labels)
        if RANK == 0:
            accuracy = (logits.argmax(1) == labels).float().mean()  # PLANTED
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    if RANK == 0:
        print(accuracy.item())


main()
