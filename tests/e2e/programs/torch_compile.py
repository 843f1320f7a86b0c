"""Trains a small model with torch.compile on the CPU, and prints what its caches did.

usage: torch_compile.py [--model NAME] [--sizes N…] [--sleep SECONDS]
"""

import argparse
import json
import os
import time

# Before torch is imported: it sets such variables itself.
NAMES = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TORCH_COMPILE_JOB_ID")
ENVIRONMENT = {name: os.environ.get(name) for name in NAMES}

import torch  # noqa: E402
from torch import nn  # noqa: E402


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(32, 2, 64, batch_first=True, dropout=0.0)
        self.layers = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)

    def forward(self, x):
        return self.layers(x.unsqueeze(0)).squeeze(0)


MODELS = {
    "mlp": lambda: nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32), nn.LayerNorm(32)),
    "encoder": Encoder,
}


def counters():
    from torch._dynamo.utils import counters as all_counters

    inductor, autograd = all_counters["inductor"], all_counters["aot_autograd"]
    return {
        "fx_hits": inductor["fxgraph_cache_hit"],
        "fx_misses": inductor["fxgraph_cache_miss"],
        "autograd_hits": autograd["autograd_cache_hit"],
        "autograd_misses": autograd["autograd_cache_miss"],
        "frames": all_counters["stats"]["unique_graphs"],
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="mlp", choices=MODELS)
    parser.add_argument("--sizes", type=int, nargs="*", default=[16])
    parser.add_argument("--sleep", type=float, default=0)
    given = parser.parse_args()
    torch.manual_seed(0)
    model = torch.compile(MODELS[given.model]())
    began = time.perf_counter()
    results, first = [], None
    for size in given.sizes:
        loss = model(torch.ones(size, 32)).square().mean()
        loss.backward()
        results.append(loss.item())
        first = first or time.perf_counter() - began
    print("compiled", flush=True)
    time.sleep(given.sleep)
    said = {"results": results, "first_step_seconds": first, "torch": torch.__version__, "environment": ENVIRONMENT}
    print(json.dumps(said | counters()))


main()
