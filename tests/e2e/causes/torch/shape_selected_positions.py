"""Masked language model: the loss covers only the masked positions, whose number differs between batches."""

import torch
import torch_xla
from torch import nn

CASE = {
    "causes": [{"cause": "shape", "times": "many", "kind": {"shape"}}],
    "may": ["shape_family"],
    "compiles": {"SyncTensors": 4},
    "questions": {"input_shapes_changed": True, "profile_or_sharding_changed": False},
}


def main():
    torch.manual_seed(2)
    device = torch_xla.device()
    model = nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 20)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    for masked in (3, 5, 4, 3, 7, 5):
        tokens = torch.randint(20, (2, 12))
        positions = torch.randperm(24)[:masked]
        tokens, labels = tokens.to(device), tokens.flatten()[positions].to(device)  # PLANTED
        logits = model(tokens).flatten(0, 1)[positions.to(device)]  # PLANTED
        loss = nn.functional.cross_entropy(logits, labels)  # USED
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    print(loss.item())


main()
