"""Decoding with a static key-value cache; the write position is a Python integer."""

import torch
import torch_xla

CASE = {
    "causes": [{"cause": "constant", "times": 5}],
    "patterns": [("counter", "")],
    "compiles": {"SyncTensors": 6},
    "questions": {"input_shapes_changed": False},
}


class Decoder:
    def __init__(self, device):
        self.cache = torch.zeros(1, 16, 8).to(device)
        self.query, self.key = torch.randn(8, 8).to(device), torch.randn(8, 8).to(device)
        self.position = 2

    def step(self, hidden):
        self.cache[:, self.position] = hidden @ self.key  # PLANTED
        scores = (hidden @ self.query) @ self.cache[0].T
        self.position += 1
        return scores.softmax(-1) @ self.cache[0]


def main():
    torch.manual_seed(7)
    device = torch_xla.device()
    decoder = Decoder(device)
    hidden = torch.randn(1, 8).to(device)
    for _ in range(6):
        hidden = decoder.step(hidden)
        torch_xla.sync()
    print(hidden.cpu().sum())


main()
