"""Trains, marks its warm-up as over, and then compiles for another length. Prints the outcome."""

import json
import sys

import rekindle
import torch
import torch_xla

device = torch_xla.device()
torch.manual_seed(0)
model = torch.nn.Linear(8, 4).to(device)
words = sys.argv[1:]


def step(length):
    loss = model(torch.ones(length, 8).to(device)).square().mean()  # LINE step
    loss.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 0.01 * parameter.grad
            parameter.grad = None
    torch_xla.sync(wait=True)
    return loss


for _ in range(30):
    step(16)
rekindle.mark_warm()
result = {"error": None}
if "late" in words:
    try:
        step(12)
    except Exception as error:
        result = {"error": str(error), "type": type(error).__name__}
print(json.dumps(result))
