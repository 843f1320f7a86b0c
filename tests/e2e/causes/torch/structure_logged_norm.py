"""Every third step also computes the gradient norm for the log."""

import torch
import torch_xla
from torch import nn

CASE = {
    "causes": [{"cause": ["structure", "parameters"]}],
    "may": ["alternation"],
    "compiles": {"SyncTensors": 2},
    "questions": {"input_shapes_changed": False, "hidden_branch_active": True},
}


def main():
    torch.manual_seed(14)
    device = torch_xla.device()
    model = nn.Linear(6, 2).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    for step in range(6):
        loss = model(torch.randn(8, 6).to(device)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        norm = None
        if step % 3 == 2:
            norm = sum(p.grad.square().sum() for p in model.parameters()).sqrt()  # PLANTED
        optimizer.step()
        torch_xla.sync()
        if norm is not None:
            print(step, norm.item())


main()
