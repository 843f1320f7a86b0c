"""A PyTorch/XLA job: a small mixture-of-experts language model, as users write it. Two micro-batches are accumulated,
with `torch_xla.sync()` after each of them and after the update. Some starts have optional keys in the batch,
`.item()` in the forward pass, or a capacity that Python computes. The week adds and removes these causes one at a
time.

What is true of it: `optimizer.zero_grad()` sets gradients to None. So the first micro-batch creates the gradients and
the second one adds to them: two programs that alternate. The first update creates the state of AdamW, the later ones
take it as inputs. Python numbers (rates, the number of micro-batches as a divisor) are inputs and compile nothing.
"""

WEEK = {
    "library": "PyTorch/XLA, torch.nn",
    "python": "torch",
    "env": {"XLA_HLO_DEBUG": "1"},
    "starts": [
        {
            "what": "The first start: two programs of a micro-batch alternate; two of the update, one validates.",
            "expect": {
                "compiled": 5,
                "findings": [{"kind": {"alternation"}, "line": None}, {"kind": {"parameters"}, "line": "optimizer"}],
                "may": {"fragments"},
                "steps": 12,
                "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False},
                "advice": [{"set_to_none", "zero_grad", "zero"}],
            },
        },
        {"what": "Nothing is changed.", "expect": {"compiled": "none", "steps": 12}},
        {
            "what": "Gradients are set to zero instead of None. The two programs of the update now return zeros.",
            "edit": [("optimizer.zero_grad()", "optimizer.zero_grad(set_to_none=False)")],
            "expect": {
                "compiled": 2,
                "findings": [{"kind": {"parameters", "structure"}, "line": ["zero", "optimizer"]}],
                "may": {"parameters", "structure"},
                "steps": 12,
                "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False},
            },
        },
        {
            "what": "The forward pass logs with .item() how many tokens are dropped: each layer ends a program.",
            "edit": [
                (
                    "        dispatch = torch.einsum(",
                    "        self.dropped = (place >= capacity).float().mean().item()  # LINE: item\n"
                    "        dispatch = torch.einsum(",
                ),
                (
                    '            print(f"step {step + 1}: loss {loss.item():.4f}")\n',
                    "            dropped = [round(layer.experts.dropped, 3) for layer in model.layers]\n"
                    '            print(f"step {step + 1}: loss {loss.item():.4f}, dropped {dropped}")\n',
                ),
            ],
            "expect": {
                "compiled": 2,
                "findings": [{"kind": {"fragments"}, "line": "item"}],
                "may": {"parameters", "structure"},
                "steps": 12,
                "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False},
                "advice": [{"item", ".item()"}],
            },
        },
        {
            "what": "The .item() is taken back, and three micro-batches are accumulated instead of two.",
            "args": "--accumulate 3",
            "edit": [
                ("        self.dropped = (place >= capacity).float().mean().item()  # LINE: item\n", ""),
                (
                    "            dropped = [round(layer.experts.dropped, 3) for layer in model.layers]\n"
                    '            print(f"step {step + 1}: loss {loss.item():.4f}, dropped {dropped}")\n',
                    '            print(f"step {step + 1}: loss {loss.item():.4f}")\n',
                ),
            ],
            "expect": {"compiled": "none", "steps": 12},
        },
        {
            "what": "A capacity factor of 1.5 instead of 1.25: each expert takes 48 tokens instead of 40.",
            "args": "--accumulate 3 --capacity-factor 1.5",
            "expect": {
                "compiled": 3,
                "findings": [{"kind": {"constant"}, "line": "capacity", "values": (40, 48)}],
                "may": {"parameters"},
                "steps": 12,
                "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False},
            },
        },
        {
            "what": "The capacity is annealed in Python: it is 64, 62, 60 and 58 in the course of the run.",
            "edit": [
                (
                    "    for step in range(args.steps):\n",
                    "    for step in range(args.steps):\n"
                    "        for layer in model.layers:\n"
                    "            layer.experts.capacity_factor = 2.0 - 0.0625 * (4 * step // args.steps)\n",
                )
            ],
            "expect": {
                "compiled": 6,
                "findings": [
                    {
                        "kind": {"counter", "constant"},
                        "line": "capacity",
                        "values": ({40, 48, 64, 62, 60, 58}, {64, 62, 60, 58}),
                    }
                ],
                "may": {"parameters", "constant", "counter"},
                "steps": 12,
                "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False},
            },
        },
        {
            "what": "The capacity is fixed again. The data is a mix: some batches have a mask, some also positions.",
            "args": "--capacity-factor 1.5 --keys mixed",
            "edit": [
                (
                    "        for layer in model.layers:\n"
                    "            layer.experts.capacity_factor = 2.0 - 0.0625 * (4 * step // args.steps)\n",
                    "",
                )
            ],
            "expect": {
                "compiled": 3,
                "findings": [{"kind": {"optional_inputs", "parameters"}, "line": ["mask", "positions"]}],
                "may": {"parameters", "structure", "constant"},
                "steps": 12,
                "questions": {"profile_or_sharding_changed": False},
            },
        },
        {
            # The very first micro-batch makes the gradients, some of them transposed. The second one adds to these.
            "what": "The data loader fills in all keys. Only the programs of the first two micro-batches are new.",
            "args": "--capacity-factor 1.5 --keys all",
            "expect": {
                "compiled": 2,
                "findings": [{"kind": {"parameters", "structure"}, "line": None}],
                "steps": 12,
                "questions": {"profile_or_sharding_changed": False},
            },
        },
        {
            "what": "All entries were removed from the store by hand.",
            "args": "--capacity-factor 1.5 --keys all",
            "rm": "*",
            "expect": {
                "compiled": 5,
                "findings": [{"kind": {"removed"}, "line": None}],
                "may": {"removed"},
                "steps": 12,
            },
        },
        {
            "what": "The model is bfloat16.",
            "args": "--capacity-factor 1.5 --keys all",
            "edit": [("LanguageModel(args).to(device)", "LanguageModel(args).to(device, torch.bfloat16)")],
            "expect": {
                "compiled": 5,
                "findings": [{"kind": {"dtype"}, "line": None, "values": ("f32", "bf16")}],
                "may": {"dtype", "structure", "parameters"},
                "steps": 12,
                "questions": {"profile_or_sharding_changed": False},
            },
        },
        {
            "what": "One sync for each step: micro-batches and update are one program, in the first step another one.",
            "args": "--capacity-factor 1.5 --keys all",
            "edit": [("            torch_xla.sync()  # LINE: micro\n", "")],
            "expect": {
                "compiled": 2,
                "findings": [{"kind": {"parameters", "structure"}, "line": None}],
                "may": {"parameters", "structure", "repeated_blocks"},
                "steps": 12,
                "questions": {"profile_or_sharding_changed": False},
            },
        },
        {
            "what": "The store ran out of space and evicted all entries. The run is twice as long.",
            "args": "--capacity-factor 1.5 --keys all --steps 24",
            "evict": True,
            "expect": {
                "compiled": 3,
                "findings": [{"kind": {"evicted"}, "line": None}],
                "may": {"evicted"},
                "steps": 24,
            },
        },
    ],
}
