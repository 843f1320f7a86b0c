"""A worker of torchrun. torch_workers.py wait: sums numbers across workers with gloo, writes its process ID and its
launcher's into the folder WHERE, and waits. torch_workers.py train: a few steps on its own XLA device; digest in
WHERE."""

import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

what, where = sys.argv[1], Path(sys.argv[2])
rank, count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])

dist.init_process_group("gloo")
total = torch.ones(1) * (rank + 1)
dist.all_reduce(total)
assert total.item() == count * (count + 1) / 2, total


def say(text):
    (where / f".{rank}").write_text(text)
    (where / f".{rank}").rename(where / f"worker-{rank}")


if what == "wait":
    say(f"{os.getpid()} {os.getppid()}")
    time.sleep(120)
else:
    import torch_xla

    import torch_report

    torch.manual_seed(rank)
    device = torch_xla.device()
    model = torch.nn.Linear(8 + rank, 4).to(device)  # some programs are the worker's own, some are shared
    for _ in range(3):
        loss = model(torch.ones(2, 8 + rank, device=device)).square().mean()
        loss.backward()
        torch_xla.sync()
    say(torch_report.digest(model))
    dist.barrier()
