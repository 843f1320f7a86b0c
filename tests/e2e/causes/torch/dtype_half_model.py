"""The second start serves the same model in bfloat16."""

import sys

import torch
import torch_xla

CASE = {
    "runs": [{"args": ["float32"]}, {"args": ["bfloat16"]}],
    "causes": [{"cause": "dtype", "values": [("f32", "bf16")], "kind": {"dtype"}}],
    "compiles": {"SyncTensors": 1},
}


def main():
    torch.manual_seed(4)
    device, dtype = torch_xla.device(), getattr(torch, sys.argv[1])
    weight, bias = torch.randn(6, 3), torch.randn(3)
    weight, bias = weight.to(device, dtype), bias.to(device, dtype)  # PLANTED
    for _ in range(2):
        x = torch.randn(4, 6).to(device, dtype)  # PLANTED
        y = (x @ weight + bias).softmax(-1)  # USED
        torch_xla.sync()
    print(y.cpu().float().sum())


main()
