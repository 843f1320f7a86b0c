"""torch_compiled.py DEVICE: trains a small model under torch.compile; prints losses and weights, exact to the bit.

On a CPU the run only shows that this program works. Inductor would need a C++ compiler and Python's headers there, so
torch.compile captures the graphs and their gradients and runs them without Inductor.
"""

import hashlib
import json
import sys

import torch
from torch import nn

device = sys.argv[1]
torch.manual_seed(7)
torch.use_deterministic_algorithms(True)
model = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 4)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(32, 16).to(device), torch.randn(32, 4).to(device)


@torch.compile(backend="aot_eager" if device == "cpu" else "inductor")
def loss_of(x, y):
    return nn.functional.mse_loss(model(x), y)


losses = []
for _ in range(4):
    optimizer.zero_grad()
    loss = loss_of(x, y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0], losses
state = hashlib.sha256(b"".join(p.detach().cpu().numpy().tobytes() for p in model.parameters())).hexdigest()
graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
print(json.dumps({"graphs": graphs, "losses": [loss.hex() for loss in losses], "state": state}))
