"""The epsilon of a normalization is edited between two starts."""

import torch
import torch_xla

CASE = {
    "runs": [{}, {"edit": [("eps=1e-5", "eps=1e-3")]}],
    "causes": [{"cause": "constant", "values": [(1e-5, 1e-3)]}],
    "compiles": {"SyncTensors": 1},
    "questions": {"input_shapes_changed": False},
}


def main():
    torch.manual_seed(11)
    device = torch_xla.device()
    weight = torch.randn(8, 8).to(device)
    x = torch.randn(4, 8).to(device)
    for _ in range(2):
        y = torch.nn.functional.layer_norm(x, (8,), eps=1e-5) @ weight  # PLANTED
        torch_xla.sync()
    print(y.cpu().sum())


main()
