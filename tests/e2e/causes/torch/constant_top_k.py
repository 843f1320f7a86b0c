"""Each request sets the number of candidates of a sampler."""

import torch
import torch_xla

CASE = {
    "causes": [{"cause": "constant", "times": 2}],
    "may": ["counter"],
    "compiles": {"SyncTensors": 3},
    "questions": {"input_shapes_changed": False},
}


def main():
    torch.manual_seed(9)
    device = torch_xla.device()
    head = torch.randn(6, 40).to(device)
    for k in (5, 10, 20, 10, 5):
        hidden = torch.randn(2, 6).to(device)
        logits = hidden @ head
        values, tokens = torch.topk(logits, k)  # PLANTED
        weights = values.softmax(-1)  # PLANTED
        torch_xla.sync()
        print(k, weights.cpu().shape, tokens.cpu().max() >= 0)


main()
