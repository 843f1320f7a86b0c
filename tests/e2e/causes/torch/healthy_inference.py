"""Serving pads to one length; the mask is always present."""

import torch
import torch_xla
from torch import nn

CASE = {"healthy": True, "compiles": {"SyncTensors": 1}}


def main():
    torch.manual_seed(41)
    device = torch_xla.device()
    table, head = nn.Embedding(30, 8).to(device), nn.Linear(8, 4).to(device)
    with torch.no_grad():
        for length in (3, 7, 5, 12, 9):
            tokens, mask = torch.zeros(1, 16, dtype=torch.long), torch.zeros(1, 16)
            tokens[0, :length], mask[0, :length] = torch.randint(30, (length,)), 1.0
            tokens, mask = tokens.to(device), mask.to(device)
            pooled = (table(tokens) * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
            answer = head(pooled).argmax(-1)
            torch_xla.sync()
            print(length, answer.item())


main()
