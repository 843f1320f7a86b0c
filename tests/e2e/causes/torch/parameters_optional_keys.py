"""Batches that may have sample weights and a mask."""

import torch
import torch_xla

CASE = {
    # The inputs have no names. So it is equally true that other operations consume the mask and the weights.
    "causes": [{"cause": "parameters", "times": "many", "kind": {"parameter_added", "parameter_removed"}}],
    "may": ["structure"],
    "patterns": [("optional_inputs", "")],
    "compiles": {"SyncTensors": 4},
    "questions": {"hidden_branch_active": True, "input_shapes_changed": False},
}


def loss_of(weight, batch):
    error = (batch["x"] @ weight - batch["y"]).square()
    if "mask" in batch:
        error = error * batch["mask"]  # USED
    if "weight" in batch:
        error = error * batch["weight"].softmax(0)  # USED
    return error.mean()


def main():
    torch.manual_seed(15)
    device = torch_xla.device()
    weight = torch.randn(3).to(device)
    for extra in ((), ("mask",), ("weight",), (), ("mask", "weight"), ("mask",)):
        batch = {"x": torch.randn(8, 3), "y": torch.randn(8)} | {key: torch.rand(8) for key in extra}
        batch = {key: value.to(device) for key, value in batch.items()}  # PLANTED
        loss = loss_of(weight, batch)
        torch_xla.sync()
    print(loss.item())


main()
