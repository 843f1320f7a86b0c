"""Learning rate and weight decay are equal at first; then the schedule changes the rate. Equal scalars share one
program input, so there is now one more input."""

import torch
import torch_xla

CASE = {
    "causes": [{"cause": "parameters", "kind": {"parameter_added"}}],
    "compiles": {"SyncTensors": 2},
    "questions": {"input_shapes_changed": False},
}


def main():
    torch.manual_seed(16)
    device = torch_xla.device()
    w, x = torch.randn(6).to(device), torch.randn(8, 6).to(device)
    decay = 0.03
    for rate in (0.03, 0.03, 0.02, 0.01):
        gradient = x.T @ torch.tanh(x @ w)
        w = w - rate * (gradient + decay * w)  # PLANTED
        torch_xla.sync()
    print(w.cpu().sum())


main()
