"""Trains small PyTorch models on an XLA device; prints every loss and a digest of the final state, exact to the bit.

    torch_train.py [--steps N] [MODEL…]      of transformer, gpt, convnet, lstm; without MODEL all of them

Contains no rekindle code. Also prints torch_xla's own counters.
"""

import argparse
import time

import torch
import torch_xla
from torch import nn

import torch_report


class Transformer(nn.Module):
    """Four encoder layers over sequences of vectors; classifies each sequence."""

    def __init__(self, width=32):
        super().__init__()
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        return self.head(self.encoder(x).mean(1))

    @staticmethod
    def batch():
        return torch.randn(8, 12, 32), torch.randint(10, (8,))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.project, self.merge = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        parts = self.project(self.before(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.merge(mixed.transpose(1, 2).flatten(2))
        return x + self.feed(self.after(x))


class Gpt(nn.Module):
    """Predicts the next of 64 tokens; input and output share their embedding."""

    def __init__(self, tokens=64, width=32, length=24):
        super().__init__()
        self.tokens, self.places = nn.Embedding(tokens, width), nn.Parameter(torch.randn(length, width) * 0.02)
        self.blocks = nn.Sequential(Block(width, 4), Block(width, 4))
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        hidden = self.norm(self.blocks(self.tokens(x) + self.places))
        return (hidden @ self.tokens.weight.T).flatten(0, 1)

    @staticmethod
    def batch():
        text = torch.randint(64, (4, 25))
        return text[:, :-1], text[:, 1:].flatten()


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AvgPool2d(2),
            nn.Flatten(), nn.Dropout(0.1), nn.Linear(16 * 4 * 4, 10),
        )  # fmt: skip

    def forward(self, x):
        return self.layers(x)

    @staticmethod
    def batch():
        return torch.randn(8, 3, 16, 16), torch.randint(10, (8,))


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.lstm, self.head = nn.Embedding(32, 16), nn.LSTM(16, 24, batch_first=True), nn.Linear(24, 10)

    def forward(self, x):
        return self.head(self.lstm(self.tokens(x))[0][:, -1])

    @staticmethod
    def batch():
        return torch.randint(32, (8, 6)), torch.randint(10, (8,))


MODELS = {"transformer": Transformer, "gpt": Gpt, "convnet": ConvNet, "lstm": Lstm}


def train(name, steps):
    """Returns the losses and a digest of the state of model and optimizer."""
    torch.manual_seed(7)
    device = torch_xla.device()
    model = MODELS[name]().to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, capturable=True)
    inputs, wanted = (tensor.to(device) for tensor in MODELS[name].batch())
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), wanted)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        losses.append(loss.item())
    assert losses[-1] < losses[0], (name, losses)
    return {"losses": [loss.hex() for loss in losses], "state": torch_report.digest([model, optimizer])}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("models", nargs="*")
    args = parser.parse_args()
    results, seconds = {}, {}
    for name in args.models or MODELS:
        began = time.perf_counter()
        results[name] = train(name, args.steps)
        seconds[name] = time.perf_counter() - began
    torch_report.finish(results, seconds=seconds, compile_seconds=torch_report.compile_seconds())


if __name__ == "__main__":
    main()
