"""Trains a classifier of tabular data with PyTorch/XLA: residual MLP, AdamW, cosine schedule, evaluation."""

import argparse
import json
import math

import numpy as np
import torch
import torch.nn.functional as F
import torch_xla
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FEATURES = 24
CLASSES = 5


class Block(nn.Module):
    def __init__(self, width, dropout):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.fc1 = nn.Linear(width, 2 * width)
        self.fc2 = nn.Linear(2 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        h = self.norm(x)  # LINE: block
        h = F.gelu(self.fc1(h))  # LINE: block
        h = self.dropout(self.fc2(h))  # LINE: block
        return x + h  # LINE: block


class Classifier(nn.Module):
    def __init__(self, width, depth, dropout):
        super().__init__()
        self.stem = nn.Linear(FEATURES, width)
        self.blocks = nn.ModuleList(Block(width, dropout) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, CLASSES)

    def forward(self, x):
        h = self.stem(x)  # LINE: stem
        for block in self.blocks:
            h = block(h)
        return self.head(self.norm(h))  # LINE: head


def make_data(samples, seed):
    """Gaussian clusters, two for each class."""
    random = np.random.default_rng(seed)
    centers = np.random.default_rng(0).normal(size=(2 * CLASSES, FEATURES)) * 1.2
    cluster = random.integers(0, 2 * CLASSES, samples)
    x = centers[cluster] + random.normal(size=(samples, FEATURES))
    return TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(cluster % CLASSES))


def evaluate(model, loader, device):
    model.eval()
    hits = []
    with torch.no_grad():
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            hits.append((model(x).argmax(-1) == y).sum())
            torch_xla.sync()
    model.train()
    return sum(hit.item() for hit in hits) / len(loader.dataset)


def make_optimizer(model, args):
    if args.optimizer == "sgd":
        return torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    return torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.05)


def make_schedule(optimizer, args):
    def factor(step):
        warmup = min(1.0, (step + 1) / args.warmup)
        return warmup * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * step / args.steps)))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def train_step(model, optimizer, scheduler, x, y):
    optimizer.zero_grad()
    logits = model(x)
    loss = F.cross_entropy(logits, y, label_smoothing=0.05)  # LINE: loss
    loss.backward()  # LINE: backward
    optimizer.step()  # LINE: optimizer
    scheduler.step()
    return loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--width", type=int, default=48)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--optimizer", choices=("adamw", "sgd"), default="adamw")
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--eval-every", type=int, default=12)
    parser.add_argument("--log-every", type=int, default=4)
    args = parser.parse_args()

    torch.manual_seed(0)
    torch_xla.manual_seed(0)
    device = torch_xla.device()
    train_loader = DataLoader(
        make_data(248, seed=1), args.batch, shuffle=True, drop_last=True, generator=torch.Generator().manual_seed(0)
    )
    test_loader = DataLoader(make_data(96, seed=2), 32)
    model = Classifier(args.width, args.depth, args.dropout).to(device)
    optimizer = make_optimizer(model, args)
    scheduler = make_schedule(optimizer, args)

    step, last = 0, None
    while step < args.steps:
        for x, y in train_loader:
            x, y = x.to(device), y.to(device)
            loss = train_step(model, optimizer, scheduler, x, y)
            torch_xla.sync()
            step += 1
            if step % args.log_every == 0:
                last = loss.item()
                print(f"step {step}: loss {last:.4f}, lr {scheduler.get_last_lr()[0]:.2e}")
            if step % args.eval_every == 0:
                print(f"step {step}: accuracy {evaluate(model, test_loader, device):.3f}")
            if step == args.steps:
                break
    print(json.dumps({"steps": step, "loss": last}))


if __name__ == "__main__":
    main()
