"""Equal batches, plain SGD, a barrier after each step; the loss is read now and then."""

import torch
import torch_xla
from torch import nn

CASE = {"healthy": True, "compiles": {"SyncTensors": 1}}


def main():
    torch.manual_seed(40)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.utils.data.TensorDataset(torch.randn(32, 6), torch.randint(3, (32,)))
    for epoch in range(3):
        for x, labels in torch.utils.data.DataLoader(data, batch_size=8, drop_last=True):
            loss = nn.functional.cross_entropy(model(x.to(device)), labels.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            torch_xla.sync()
        print(epoch, loss.item())


main()
