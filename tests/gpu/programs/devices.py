"""devices.py FRAMEWORK PLATFORM: prints the devices of the framework (jax, torch) as JSON; fails if it sees no device
of the platform (cuda, cpu)."""

import json
import sys


def of_jax():
    import jax

    devices = jax.devices()
    return {"version": jax.__version__, "count": len(devices), "kind": devices[0].device_kind}


def of_torch():
    import torch

    if sys.argv[2] == "cpu":
        return {"version": torch.__version__, "count": 1, "kind": "cpu"}
    if not torch.cuda.is_available():
        raise SystemExit("torch.cuda.is_available() is False")
    return {"version": torch.__version__, "count": torch.cuda.device_count(), "kind": torch.cuda.get_device_name()}


if __name__ == "__main__":
    print(json.dumps({"jax": of_jax, "torch": of_torch}[sys.argv[1]]()))
