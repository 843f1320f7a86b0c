"""A warm-up factor ends at exactly 1.0; torch_xla bakes in 1.0 but passes other numbers as inputs."""

import torch
import torch_xla
from torch import nn

CASE = {
    "causes": [{"cause": ["parameters", "constant", "structure"]}],
    "compiles": {"SyncTensors": 2},
    "questions": {"input_shapes_changed": False},
}


def main():
    torch.manual_seed(17)
    device = torch_xla.device()
    model = nn.Linear(6, 1).to(device)
    x = torch.randn(8, 6).to(device)
    with torch.no_grad():
        for step in range(5):
            factor = min(1.0, (step + 1) / 4)
            y = torch.sigmoid(model(x) * factor)  # PLANTED
            torch_xla.sync()
    print(y.cpu().sum())


main()
