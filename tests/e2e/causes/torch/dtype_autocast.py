"""Mixed precision is enabled after two warm-up steps."""

import torch
import torch_xla

CASE = {
    "causes": [{"cause": ["dtype", "structure"], "times": 1}],
    "compiles": {"SyncTensors": 2},
    "questions": {"input_shapes_changed": False},
}


def main():
    torch.manual_seed(3)
    device = torch_xla.device()
    a, b = torch.randn(6, 12).to(device), torch.randn(12, 2).to(device)
    for step in range(5):
        x = torch.randn(4, 6).to(device)
        with torch.autocast("xla", dtype=torch.bfloat16, enabled=step >= 2):
            hidden = torch.tanh(x @ a)  # PLANTED
            y = hidden @ b  # PLANTED
        torch_xla.sync()
    print(y.cpu().float().sum())


main()
