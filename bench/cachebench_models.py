"""Compiles one model with torch.compile, makes one training step, and prints how long that took, as JSON.

usage: cachebench_models.py MODEL [--save FILE] [--load FILE]

--save and --load are PyTorch's own Mega-Cache (torch.compiler.save_cache_artifacts).
"""

import argparse
import json
import time
from pathlib import Path

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, layers=3, width=128):
        super().__init__()
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, batch_first=True, dropout=0.0)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def forward(self, x):
        return self.layers(x)


class Decoder(nn.Module):
    """A small language model: embedding, causal attention, a tied head."""

    def __init__(self, words=512, width=64):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.attention = nn.ModuleList(nn.MultiheadAttention(width, 4, batch_first=True) for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.mlps = nn.ModuleList(nn.Sequential(nn.Linear(width, 256), nn.GELU(), nn.Linear(256, width)) for _ in range(2))

    def forward(self, words):
        x = self.embed(words)
        mask = nn.Transformer.generate_square_subsequent_mask(words.shape[1])
        for attention, norm, mlp in zip(self.attention, self.norms, self.mlps):
            y = norm(x)
            x = x + attention(y, y, y, attn_mask=mask, need_weights=False)[0]
            x = x + mlp(x)
        return x @ self.embed.weight.T


class Residual(nn.Module):
    def __init__(self, width=16, blocks=3):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()) for _ in range(blocks)
        )
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = x + block(x)
        return self.head(x.mean((2, 3)))


class Recurrent(nn.Module):
    def __init__(self, width=32, steps=6):
        super().__init__()
        self.cell, self.steps = nn.GRUCell(width, width), steps

    def forward(self, x):
        state = torch.zeros_like(x[:, 0])
        for step in range(self.steps):
            state = self.cell(x[:, step], state)
        return state


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2 = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)
        self.up, self.out = nn.ConvTranspose2d(16, 8, 2, stride=2), nn.Conv2d(16, 1, 3, padding=1)

    def forward(self, x):
        first = torch.relu(self.down1(x))
        second = torch.relu(self.down2(nn.functional.max_pool2d(first, 2)))
        return self.out(torch.cat([first, torch.relu(self.up(second))], 1))


MODELS = {
    "mlp": (
        lambda: nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, 64)),
        lambda: torch.randn(32, 64),
    ),
    "encoder": (Encoder, lambda: torch.randn(4, 16, 128)),
    "decoder": (Decoder, lambda: torch.randint(0, 512, (4, 16))),
    "residual": (Residual, lambda: torch.randn(2, 3, 16, 16)),
    "recurrent": (Recurrent, lambda: torch.randn(8, 6, 32)),
    "unet": (UNet, lambda: torch.randn(2, 1, 16, 16)),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--load", type=Path)
    given = parser.parse_args()
    make_model, make_input = MODELS[given.model]
    torch.manual_seed(0)
    model, x = make_model(), make_input()
    began = time.perf_counter()
    if given.load:
        torch.compiler.load_cache_artifacts(given.load.read_bytes())
    loss = torch.compile(model)(x).square().mean()
    loss.backward()
    seconds = time.perf_counter() - began
    if given.save:
        given.save.write_bytes(torch.compiler.save_cache_artifacts()[0])
    print(json.dumps({"seconds": seconds, "loss": loss.item(), "torch": torch.__version__}))


if __name__ == "__main__":
    main()
