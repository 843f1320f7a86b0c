"""Trains a small mixture-of-experts language model with PyTorch/XLA: Switch routing, AdamW, gradient accumulation."""

import argparse
import json
import math

import numpy as np
import torch
import torch.nn.functional as F
import torch_xla
from torch import nn

VOCABULARY = 48
LENGTH = 16


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.register_buffer("future", torch.triu(torch.ones(LENGTH, LENGTH, dtype=torch.bool), 1), persistent=False)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / math.sqrt(width // self.heads)
        scores = scores.masked_fill(self.future[:length, :length], -1e9)
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width)
        return self.out(y)


class Experts(nn.Module):
    """A Switch layer: each token goes to one expert; what exceeds the capacity of an expert is dropped."""

    def __init__(self, width, experts, capacity_factor):
        super().__init__()
        self.experts, self.capacity_factor = experts, capacity_factor
        self.router = nn.Linear(width, experts, bias=False)
        self.w1 = nn.Parameter(torch.randn(experts, width, 2 * width) / math.sqrt(width))
        self.w2 = nn.Parameter(torch.randn(experts, 2 * width, width) / math.sqrt(2 * width))

    def forward(self, x):
        tokens = x.reshape(-1, x.shape[-1])
        capacity = math.ceil(self.capacity_factor * tokens.shape[0] / self.experts)
        gates = self.router(tokens).float().softmax(-1)
        gate, expert = gates.max(-1)
        chosen = (expert[:, None] == torch.arange(self.experts, device=x.device)).float()
        place = (chosen.cumsum(0) * chosen).sum(-1).long() - 1
        slots = torch.arange(capacity, device=x.device)  # LINE: capacity
        slot = (place[:, None] == slots).float()  # LINE: capacity
        dispatch = torch.einsum("ne,nc->nec", chosen, slot)  # LINE: capacity
        inputs = torch.einsum("nec,nd->ecd", dispatch.to(x.dtype), tokens)
        outputs = torch.bmm(F.gelu(torch.bmm(inputs, self.w1)), self.w2)
        combined = torch.einsum("nec,ecd->nd", (dispatch * gate[:, None, None]).to(x.dtype), outputs)
        balance = (chosen.mean(0) * gates.mean(0)).sum() * self.experts
        return combined.view_as(x), balance


class Layer(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(args.width), nn.LayerNorm(args.width)
        self.attention = Attention(args.width, args.heads)
        self.experts = Experts(args.width, args.experts, args.capacity_factor)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        y, balance = self.experts(self.norm2(x))
        return x + y, balance


class LanguageModel(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, args.width)
        self.positions = nn.Embedding(LENGTH, args.width)
        self.layers = nn.ModuleList(Layer(args) for _ in range(args.layers))
        self.norm = nn.LayerNorm(args.width)
        for embedding in (self.tokens, self.positions):
            nn.init.normal_(embedding.weight, std=0.1)

    def forward(self, tokens, positions=None):
        if positions is None:
            positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.positions(positions)  # LINE: positions
        balance = 0.0
        for layer in self.layers:
            x, extra = layer(x)
            balance = balance + extra
        return self.norm(x) @ self.tokens.weight.T, balance


def loss_of(model, batch):
    logits, balance = model(batch["tokens"], batch.get("positions"))  # LINE: positions
    targets = batch["tokens"][:, 1:]
    losses = F.cross_entropy(logits[:, :-1].float().transpose(1, 2), targets, reduction="none")
    if "loss_mask" in batch:
        mask = batch["loss_mask"][:, 1:]  # LINE: mask
        loss = (losses * mask).sum() / mask.sum()  # LINE: mask
    else:
        loss = losses.mean()
    return loss + 0.01 * balance


def make_batches(args, seed, keys):
    """Sequences of a Markov chain. Some sources have a mask (instructions), some also positions (packed texts)."""
    random = np.random.default_rng(seed)
    chain = np.random.default_rng(0).dirichlet(np.full(VOCABULARY, 0.1), VOCABULARY).cumsum(-1)
    index = 0
    while True:
        tokens = random.integers(0, VOCABULARY, (args.batch, LENGTH))
        for place in range(1, LENGTH):
            drawn = random.random((args.batch, 1))
            tokens[:, place] = np.minimum((chain[tokens[:, place - 1]] < drawn).sum(-1), VOCABULARY - 1)
        batch = {"tokens": tokens}
        if keys == "all" or (keys == "mixed" and index % 3 > 0):
            batch["loss_mask"] = np.where(np.arange(LENGTH) < 3, 0.0, np.ones_like(tokens)).astype(np.float32)
        if keys == "all" or (keys == "mixed" and index % 3 > 1):
            batch["positions"] = np.tile(np.arange(LENGTH) % (LENGTH // 2), (args.batch, 1))
        yield batch
        index += 1


def to_device(batch, device):
    return {name: torch.from_numpy(value).to(device) for name, value in batch.items()}


@torch.no_grad()
def evaluate(model, args, device):
    model.eval()
    batches = make_batches(args, 7, "tokens")
    losses = []
    for _ in range(2):
        losses.append(loss_of(model, to_device(next(batches), device)))
        torch_xla.sync()
    model.train()
    return sum(loss.item() for loss in losses) / len(losses)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--accumulate", type=int, default=2)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--heads", type=int, default=2)
    parser.add_argument("--experts", type=int, default=4)
    parser.add_argument("--capacity-factor", type=float, default=1.25)
    parser.add_argument("--keys", choices=("tokens", "mixed", "all"), default="tokens")
    args = parser.parse_args()

    torch.manual_seed(0)
    device = torch_xla.device()
    model = LanguageModel(args).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.98), weight_decay=0.03)
    batches = make_batches(args, 1, args.keys)

    for step in range(args.steps):
        for _ in range(args.accumulate):
            loss = loss_of(model, to_device(next(batches), device))
            (loss / args.accumulate).backward()  # LINE: backward
            torch_xla.sync()  # LINE: micro
        optimizer.step()  # LINE: optimizer
        optimizer.zero_grad()  # LINE: zero
        torch_xla.sync()
        if (step + 1) % 4 == 0:
            print(f"step {step + 1}: loss {loss.item():.4f}")
    print(f"validation loss {evaluate(model, args, device):.4f}")
    print(json.dumps({"steps": args.steps, "loss": loss.item()}))


if __name__ == "__main__":
    main()
