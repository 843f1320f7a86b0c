"""Three models take turns, torch_xla's cache holds only one program, and cheap programs are not stored."""

import torch
import torch_xla

CASE = {
    "runs": [{"env": {"XLA_COMPILATION_CACHE_SIZE": "1", "REKINDLE_MIN_COMPILE_SECONDS": "60"}}],
    "causes": [{"cause": "duplicate", "times": 6, "place": None}],
    "may": ["duplicate_storm", "alternation", "structure", "fragments"],
    "compiles": {"SyncTensors": 9},
    "questions": {"input_shapes_changed": False},
}


def main():
    torch.manual_seed(24)
    device = torch_xla.device()
    weight = torch.randn(6, 6).to(device)
    heads = [lambda h: h.relu().sum(1), lambda h: h.softmax(-1).argmax(-1), lambda h: h @ h.T]
    for _ in range(3):
        for head in heads:
            y = head(torch.randn(4, 6).to(device) @ weight)
            torch_xla.sync()
    print(y.cpu().shape)


main()
