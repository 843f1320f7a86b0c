"""Two causes: the last batch is smaller, and a final report needs more candidates."""

import torch
import torch_xla

CASE = {
    "causes": [
        {"cause": "shape", "values": [([8, 6], [4, 6])], "kind": {"shape"}, "place": "batch"},
        {"cause": "constant", "place": "candidates"},
    ],
    "may": ["structure"],
    "compiles": {"SyncTensors": 4},
    "questions": {"input_shapes_changed": True},
}


def main():
    torch.manual_seed(30)
    device = torch_xla.device()
    weight = torch.randn(6, 24).to(device)
    for batch in torch.randn(20, 6).split(8):
        x = batch.to(device)  # PLANTED: batch
        y = (x @ weight).relu().amax(1)  # USED: batch
        torch_xla.sync()
    query = torch.randn(6).to(device)
    for k in (3, 6):
        values, tokens = torch.topk(query @ weight.tanh(), k)  # PLANTED: candidates
        torch_xla.sync()
    print(y.cpu().sum(), values.cpu().sum(), tokens.cpu().max() > 0)


main()
