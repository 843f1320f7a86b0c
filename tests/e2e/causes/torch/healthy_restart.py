"""A job with capturable AdamW is started twice: the second start compiles nothing."""

import torch
import torch_xla
from torch import nn

CASE = {"runs": [{}, {}], "healthy": True, "compiles": {"SyncTensors": 0}}


def main():
    torch.manual_seed(42)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.1), nn.Linear(8, 1)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, capturable=True)
    for _ in range(4):
        loss = model(torch.randn(8, 6).to(device)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    print(loss.item())


main()
