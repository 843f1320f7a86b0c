"""Focal loss; the epoch anneals its exponent."""

import torch
import torch_xla

CASE = {
    "causes": [{"cause": "constant", "times": 3, "values": [({3.0, 2.5}, 2.0)], "kind": {"constant"}}],
    "may": ["counter"],
    "compiles": {"SyncTensors": 4},
    "questions": {"input_shapes_changed": False},
}


def main():
    torch.manual_seed(10)
    device = torch_xla.device()
    head = torch.randn(6, 3).to(device)
    for gamma in (3.0, 2.5, 2.0, 1.5):
        for _ in range(2):
            x, labels = torch.randn(8, 6).to(device), torch.randint(3, (8,)).to(device)
            log_p = (x @ head).log_softmax(-1).gather(1, labels[:, None])
            loss = -((1 - log_p.exp()) ** gamma * log_p).mean()  # PLANTED
            torch_xla.sync()
        print(gamma, loss.item())


main()
