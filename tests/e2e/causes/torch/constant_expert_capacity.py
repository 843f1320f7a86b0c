"""Mixture of experts: the buffer length depends on the previous batch."""

import torch
import torch_xla

CASE = {
    "causes": [{"cause": ["constant", "shape"], "times": 3}],
    "may": ["counter", "shape_family"],
    "compiles": {"SyncTensors": 4},
    "questions": {"input_shapes_changed": False},
}


class Router:
    def __init__(self, capacity):
        self.capacity = capacity

    def dispatch(self, tokens, slots):
        buffers = torch.zeros(self.capacity, 4, device=tokens.device)  # PLANTED
        return buffers.index_add(0, slots.clamp(max=self.capacity - 1), tokens)  # PLANTED


def main():
    torch.manual_seed(12)
    device = torch_xla.device()
    router = Router(6)
    for fullest in (7, 4, 9, 7):
        tokens, slots = torch.randn(10, 4).to(device), torch.randint(fullest, (10,)).to(device)
        buffers = router.dispatch(tokens, slots)
        torch_xla.sync()
        router.capacity = fullest + 1
    print(buffers.cpu().shape)


main()
