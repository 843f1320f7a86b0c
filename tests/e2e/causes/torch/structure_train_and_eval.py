"""Monte Carlo dropout: some forward passes in training mode, then one in evaluation mode."""

import torch
import torch_xla
from torch import nn

CASE = {
    "causes": [{"cause": ["structure", "parameters"], "place": None}],
    "compiles": {"SyncTensors": 2},
    "questions": {"input_shapes_changed": False, "hidden_branch_active": True},
}


def main():
    torch.manual_seed(13)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.25), nn.Linear(16, 2)).to(device)
    x = torch.randn(4, 6).to(device)
    with torch.no_grad():
        for training in (True, True, True, False):
            model.train(training)
            y = model(x).softmax(-1)
            torch_xla.sync()
    print(y.cpu().sum())


main()
