"""Training loops of PyTorch/XLA. Prints the true number of steps: the updates of the (first) optimizer.

usage: loops_torch.py LOOP [STEPS]
"""

import json
import sys

import torch
import torch_xla

device = torch_xla.device()
torch.manual_seed(0)


def network():
    return torch.nn.Sequential(torch.nn.Linear(12, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3)).to(device)


def batch(size=8):
    return torch.randn(size, 12).to(device), torch.randn(size, 3).to(device)


def loss_of(model, size=8):
    x, y = batch(size)
    return torch.nn.functional.mse_loss(model(x), y)


def plain(steps, optimizer=torch.optim.Adam, **options):
    model = network()
    optimizer = optimizer(model.parameters(), lr=1e-3, **options)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    torch_xla.sync(wait=True)
    return steps


def sgd(steps):
    return plain(steps, torch.optim.SGD, momentum=0.9)


def capturable(steps):
    return plain(steps, torch.optim.AdamW, capturable=True)


def item(steps):
    """Reads each loss before the update."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        loss.item()
        optimizer.step()
        torch_xla.sync()
    return steps


def logging(steps):
    """Reads the loss every ten steps, after the step."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    for step in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        if step % 10 == 9:
            print(loss.item(), file=sys.stderr)
    return steps


def accumulation(steps):
    """Four backward passes, each with its barrier, then the update."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    for _ in range(steps):
        optimizer.zero_grad()
        for _ in range(4):
            loss_of(model).div(4).backward()
            torch_xla.sync()
        optimizer.step()
        torch_xla.sync()
    return steps


def evaluation(steps):
    """Epochs of ten batches, the last one smaller, with an evaluation of four."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    for step in range(steps):
        optimizer.zero_grad()
        loss_of(model, 4 if step % 10 == 9 else 8).backward()
        optimizer.step()
        torch_xla.sync()
        if step % 10 == 9:
            with torch.no_grad():
                print(sum(loss_of(model).item() for _ in range(4)), file=sys.stderr)
    return steps


def two_optimizers(steps):
    """A critic and a generator, with a barrier after each."""
    model, critic = network(), torch.nn.Linear(3, 1).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    other = torch.optim.SGD(critic.parameters(), lr=1e-3, momentum=0.9)
    for _ in range(steps):
        other.zero_grad()
        (critic(model(batch()[0]).detach()).mean() - critic(batch()[1]).mean()).backward()
        other.step()
        torch_xla.sync()
        optimizer.zero_grad()
        (-critic(model(batch()[0])).mean()).backward()
        optimizer.step()
        torch_xla.sync()
    return steps


if __name__ == "__main__":
    true = globals()[sys.argv[1]](int(sys.argv[2]) if len(sys.argv) > 2 else 60)
    print(json.dumps({"steps": true}))
