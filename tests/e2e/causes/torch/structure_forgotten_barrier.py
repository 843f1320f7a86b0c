"""The loop has no barrier: all steps between two log lines become one program."""

import torch
import torch_xla

CASE = {
    "causes": [{"cause": ["structure", "parameters"], "times": "many", "place": None}],
    "may": ["repeated_blocks"],
    "compiles": {"SyncTensors": 3},
    "questions": {"profile_or_sharding_changed": False},
}


def main():
    torch.manual_seed(21)
    device = torch_xla.device()
    w, x = torch.randn(6).to(device), torch.randn(8, 6).to(device)
    torch_xla.sync()
    for step in range(1, 12):
        w = w - 0.1 * (x.T @ torch.tanh(x @ w))
        if step in (1, 3, 6, 9, 11):
            print(step, w.cpu().sum())


main()
