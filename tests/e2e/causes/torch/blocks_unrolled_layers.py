"""Six equal transformer blocks in an nn.Sequential."""

import torch
import torch_xla
from torch import nn

CASE = {
    "patterns": [("repeated_blocks", None)],
    "compiles": {"SyncTensors": 1},
    "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False, "hidden_branch_active": False},
}


class Block(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.project, self.merge = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        q, k, v = self.project(self.before(x)).chunk(3, -1)
        x = x + self.merge((q @ k.transpose(-1, -2) * 0.35).softmax(-1) @ v)
        return x + self.feed(self.after(x))


def main():
    torch.manual_seed(23)
    device = torch_xla.device()
    model = nn.Sequential(*(Block() for _ in range(6))).to(device)
    x = torch.randn(2, 5, 8).to(device)
    with torch.no_grad():
        for _ in range(3):
            y = model(x)
            torch_xla.sync()
    print(y.cpu().sum())


main()
