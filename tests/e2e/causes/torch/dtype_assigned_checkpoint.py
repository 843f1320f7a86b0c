"""A half-precision checkpoint is loaded with assign=True, which replaces parameters and does not convert them."""

import torch
import torch_xla

CASE = {
    "causes": [{"cause": "dtype", "values": [("f32", "f16")], "kind": {"dtype"}}],
    "compiles": {"SyncTensors": 2},
}


class Scorer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(6, 3))

    def forward(self, x):
        return (x.to(self.weight.dtype) @ self.weight).float().softmax(-1)  # USED


def main():
    torch.manual_seed(5)
    device = torch_xla.device()
    model = Scorer().to(device)
    x = torch.randn(4, 6).to(device)
    checkpoint = {name: value.cpu().half().to(device) for name, value in model.state_dict().items()}  # PLANTED
    with torch.no_grad():
        for step in range(4):
            if step == 2:
                model.load_state_dict(checkpoint, assign=True)
            y = model(x)
            torch_xla.sync()
    print(y.cpu().sum())


main()
