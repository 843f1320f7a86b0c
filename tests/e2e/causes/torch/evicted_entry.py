"""Between two starts the entry of the job's program is evicted."""

import torch
import torch_xla

CASE = {
    "runs": [{}, {"evict": "SyncTensors"}],
    "causes": [{"cause": "evicted", "place": None}],
    "compiles": {"SyncTensors": 1},
    "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False, "hidden_branch_active": False},
}


def main():
    torch.manual_seed(25)
    device = torch_xla.device()
    a, b = torch.randn(6, 4).to(device), torch.randn(4, 2).to(device)
    for _ in range(3):
        y = torch.tanh(torch.randn(8, 6).to(device) @ a) @ b
        torch_xla.sync()
    print(y.cpu().sum())


main()
