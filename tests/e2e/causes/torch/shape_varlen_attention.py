"""Attention over sequences of any length, without padding."""

import torch
import torch_xla

CASE = {
    "causes": [{"cause": "shape", "times": 4, "kind": {"shape"}}],
    "patterns": [("shape_family", "")],
    "compiles": {"SyncTensors": 5},
    "questions": {"input_shapes_changed": True},
}


def attend(x, project, merge):
    q, k, v = (x @ project).chunk(3, -1)  # USED
    scores = (q @ k.transpose(-1, -2)) * 0.35
    return (scores.softmax(-1) @ v) @ merge


def main():
    torch.manual_seed(1)
    device = torch_xla.device()
    project, merge = torch.randn(8, 24).to(device), torch.randn(8, 8).to(device)
    for length in (5, 9, 6, 14, 11, 9, 5):
        x = torch.randn(2, length, 8).to(device)  # PLANTED
        y = attend(x, project, merge)
        torch_xla.sync()
        print(length, y.cpu().sum())


main()
