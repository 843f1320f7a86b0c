"""A small regression; the loader's last batch is smaller (drop_last is not set)."""

import torch
import torch_xla
from torch import nn

CASE = {
    "causes": [{"cause": "shape", "values": [([8, 4], [4, 4])], "kind": {"shape"}}],
    "compiles": {"SyncTensors": 2},
    "questions": {"input_shapes_changed": True, "profile_or_sharding_changed": False},
}


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.randn(20, 4)
    for batch in torch.utils.data.DataLoader(data, batch_size=8):
        x = batch.to(device)  # PLANTED
        loss = (model(x).sum(1) ** 2).mean()  # USED
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    print(loss.item())


main()
