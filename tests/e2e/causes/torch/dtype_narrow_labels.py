"""Two loaders: one gives 64-bit labels; the other reads a cache and gives 32-bit labels."""

import torch
import torch_xla

CASE = {
    "causes": [{"cause": "dtype", "values": [({"s64", "i64"}, {"s32", "i32"})], "kind": {"dtype"}}],
    "compiles": {"SyncTensors": 2},
    "questions": {"hidden_branch_active": False},
}


def main():
    torch.manual_seed(6)
    device = torch_xla.device()
    table = torch.randn(10, 4).to(device)
    for dtype in (torch.int64, torch.int64, torch.int32):
        tokens = torch.randint(10, (3, 5)).to(dtype).to(device)  # PLANTED
        pooled = table[tokens.long()].mean(1)  # USED
        torch_xla.sync()
    print(pooled.cpu().sum())


main()
