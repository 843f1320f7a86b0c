"""The job of pytorch/xla issue 9094, written from its description: uses torch_xla's own cache and is started twice.

    torch_9094.py CACHE

Trains a small classifier for a few epochs; prints the duration and torch_xla's counters.
"""

import sys
import time

import torch
import torch_xla
import torch_xla.runtime as runtime
from torch import nn

import torch_report


def batches(count, size, generator):
    for _ in range(count):
        inputs = torch.randn(size, 32, generator=generator)
        yield inputs, inputs[:, :5].argmax(1)


def main():
    runtime.initialize_cache(sys.argv[1], readonly=False)
    torch.manual_seed(1)
    device = torch_xla.device()
    began = time.perf_counter()
    model = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 5)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for epoch in range(3):
        for inputs, wanted in batches(10, 64, torch.Generator().manual_seed(epoch)):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs.to(device)), wanted.to(device))
            loss.backward()
            optimizer.step()
            torch_xla.sync()
        losses.append(loss.item().hex())
    torch_report.finish({"losses": losses}, seconds=time.perf_counter() - began)


if __name__ == "__main__":
    main()
