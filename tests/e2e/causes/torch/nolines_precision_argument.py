"""Without lines: the second start requests the highest precision of matrix products."""

import sys

import torch
import torch_xla
import torch_xla.backends

CASE = {
    "runs": [
        {"env": {"XLA_IR_DEBUG": "0", "XLA_HLO_DEBUG": "0"}, "args": ["default"]},
        {"env": {"XLA_IR_DEBUG": "0", "XLA_HLO_DEBUG": "0"}, "args": ["highest"]},
    ],
    "causes": [
        {"cause": ["structure", "constant", "options"], "values": [("default", "highest")], "kind": {"attribute", "option"},
         "place": None},
    ],
    "compiles": {"SyncTensors": 1},
    "questions": {"input_shapes_changed": False},
}  # fmt: skip


def main():
    torch_xla.backends.set_mat_mul_precision(sys.argv[1])
    torch.manual_seed(28)
    device = torch_xla.device()
    weight = torch.randn(5, 3).to(device)
    for _ in range(3):
        y = (torch.randn(4, 5).to(device) @ weight).square().sum()
        torch_xla.sync()
    print(y.item())


main()
