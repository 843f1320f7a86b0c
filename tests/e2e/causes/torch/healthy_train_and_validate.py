"""A training step and a validation step, each its own program, over three epochs."""

import torch
import torch_xla

CASE = {"healthy": True, "compiles": {"SyncTensors": 2}}


def main():
    torch.manual_seed(43)
    device = torch_xla.device()
    w = torch.randn(6).to(device).requires_grad_()
    optimizer = torch.optim.SGD([w], lr=0.05)
    held_back = torch.randn(16, 6).to(device)
    for epoch in range(3):
        for _ in range(4):
            x = torch.randn(8, 6).to(device)
            loss = torch.nn.functional.softplus(-x @ w).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            torch_xla.sync()
        with torch.no_grad():
            ranking = torch.sort(held_back @ w, descending=True).indices
            torch_xla.sync()
        print(epoch, ranking.cpu()[0])


main()
