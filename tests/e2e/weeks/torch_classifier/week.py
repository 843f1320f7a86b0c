"""A PyTorch/XLA job: a residual MLP classifies tabular data. An ordinary nn.Module, AdamW with a learning rate that
changes at each step, `torch_xla.sync()` after each step, an evaluation of three batches every n steps, a log line
every k steps.

What is true of it: PyTorch/XLA passes Python numbers (rates, the factors of AdamW, the rate of dropout) as inputs of
the program. So the rate compiles nothing. The first update creates the state of the optimizer inside of the program,
the second one takes it as inputs: these are two programs. The evaluation is the third.
"""

WEEK = {
    "library": "PyTorch/XLA, torch.nn",
    "python": "torch",
    "env": {"XLA_HLO_DEBUG": "1"},
    "starts": [
        {
            "what": "The first start. The first step creates the state of AdamW: steps one and two are two programs.",
            "expect": {
                "compiled": 3,
                "findings": [{"kind": {"parameters"}, "line": "optimizer"}],
                "steps": 24,
                "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False},
            },
        },
        {"what": "Nothing is changed.", "expect": {"compiled": "none", "steps": 24}},
        {
            "what": "Another learning rate and warm-up. Both reach the program as inputs.",
            "args": "--lr 0.004 --warmup 8",
            "expect": {"compiled": "none", "steps": 24},
        },
        {
            "what": "Batches of 24 instead of 16. The evaluation has its own batch size.",
            "args": "--lr 0.004 --warmup 8 --batch 24",
            "expect": {
                "compiled": 2,
                "findings": [{"kind": {"shape"}, "line": ["stem", "loss"], "values": (16, 24)}],
                "may": {"parameters"},
                "steps": 24,
                "questions": {"input_shapes_changed": True, "profile_or_sharding_changed": False},
                "advice": [{"pad", "bucket", "buckets", "size"}],
            },
        },
        {
            "what": "Batches of 16 again, but the last batch of an epoch is no longer dropped: it has 8 rows.",
            "args": "--lr 0.004 --warmup 8",
            "edit": [("drop_last=True, generator", "generator")],
            "expect": {
                "compiled": 1,
                "findings": [{"kind": {"shape", "shape_family"}, "line": ["stem", "loss"], "values": (16, 8)}],
                "steps": 24,
                "questions": {
                    "input_shapes_changed": True,
                    "profile_or_sharding_changed": False,
                    "hidden_branch_active": False,
                },
                "advice": [{"drop", "pad", "remainder"}],
            },
        },
        {
            "what": "The last batch is dropped again, the run is longer, and it evaluates and logs more often.",
            "args": "--lr 0.004 --warmup 8 --steps 40 --eval-every 8 --log-every 2",
            "edit": [("shuffle=True, generator", "shuffle=True, drop_last=True, generator")],
            "expect": {"compiled": "none", "steps": 40},
        },
        {
            "what": "An XLA flag is tried: fast math on the CPU.",
            "args": "--lr 0.004 --warmup 8",
            "env": {"XLA_FLAGS": "--xla_cpu_enable_fast_math=true"},
            "expect": {
                "compiled": 3,
                "findings": [
                    {
                        "kind": {"environment", "flag_drift"},
                        "line": None,
                        "values": ("", "xla_cpu_enable_fast_math=true"),
                    }
                ],
                "may": {"environment", "flag_drift"},
                "steps": 24,
                "questions": {
                    "input_shapes_changed": False,
                    "profile_or_sharding_changed": True,
                    "hidden_branch_active": False,
                },
            },
        },
        {
            "what": "The flag is taken back. numpy was upgraded, which no program depends on.",
            "args": "--lr 0.004 --warmup 8",
            "shadow": {"numpy": "2.4.99"},
            "expect": {
                "compiled": "none",
                "may": {"flag_drift"},
                "steps": 24,
                "questions": {"input_shapes_changed": False, "hidden_branch_active": False},
            },
        },
        {
            "what": "Dropout of 0.2 instead of 0.1 (an input too). Lines move, and a function has another name.",
            "args": "--lr 0.004 --warmup 8 --dropout 0.2",
            "edit": [
                (
                    "def train_step(model, optimizer, scheduler, x, y):\n",
                    'def update(model, optimizer, scheduler, x, y):\n    """Makes one step."""\n',
                ),
                ("loss = train_step(model", "loss = update(model"),
                ("FEATURES = 24\n", "# The data has this many columns.\nFEATURES = 24\n"),
            ],
            "expect": {"compiled": "none", "steps": 24},
        },
        {
            "what": "Three blocks instead of two.",
            "args": "--lr 0.004 --warmup 8 --dropout 0.2 --depth 3",
            "expect": {
                "compiled": 3,
                "findings": [{"kind": {"parameters", "structure"}, "line": ["block", "head", "optimizer", "backward"]}],
                "may": {"parameters", "structure"},
                "steps": 24,
                "questions": {"profile_or_sharding_changed": False},
            },
        },
        {
            "what": "The log shows a mean, summed up on the device and reset after each line, also before evaluations.",
            "args": "--lr 0.004 --warmup 8 --dropout 0.2 --depth 3",
            "edit": [
                (
                    "    step, last = 0, None\n",
                    "    step, last = 0, None\n    running = torch.zeros((), device=device)\n",
                ),
                (
                    "            torch_xla.sync()\n            step += 1\n",
                    "            running += loss.detach()  # LINE: running\n"
                    "            torch_xla.sync()\n            step += 1\n",
                ),
                (
                    "last = loss.item()\n",
                    "last = running.item() / args.log_every\n"
                    "                running = torch.zeros((), device=device)  # LINE: reset\n",
                ),
            ],
            "expect": {
                "compiled": 4,
                "findings": [{"kind": {"alternation", "parameters", "structure"}, "line": ["running", "reset"]}],
                "may": {"parameters", "structure"},
                "steps": 24,
                "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False},
            },
        },
        {
            "what": "The mean is taken back, and SGD with momentum replaces AdamW. The evaluation stays.",
            "args": "--lr 0.05 --warmup 8 --dropout 0.2 --depth 3 --optimizer sgd",
            "edit": [
                ("\n    running = torch.zeros((), device=device)\n", "\n"),
                ("            running += loss.detach()  # LINE: running\n", ""),
                (
                    "last = running.item() / args.log_every\n"
                    "                running = torch.zeros((), device=device)  # LINE: reset\n",
                    "last = loss.item()\n",
                ),
            ],
            "expect": {
                "compiled": 2,
                "findings": [{"kind": {"structure", "parameters"}, "line": "optimizer"}],
                "may": {"parameters", "structure"},
                "steps": 24,
                "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False},
            },
        },
        {
            "what": "Two changes at once: the model and the data are bfloat16, and batches have 32 rows.",
            "args": "--lr 0.05 --warmup 8 --dropout 0.2 --depth 3 --optimizer sgd --batch 32",
            "edit": [
                ("dropout).to(device)\n", "dropout).to(device, torch.bfloat16)\n"),
                (
                    "            x, y = x.to(device), y.to(device)\n            loss = update",
                    "            x, y = x.to(device, torch.bfloat16), y.to(device)\n            loss = update",
                ),
                (
                    "            x, y = x.to(device), y.to(device)\n            hits",
                    "            x, y = x.to(device, torch.bfloat16), y.to(device)\n            hits",
                ),
            ],
            "expect": {
                "compiled": 3,
                "findings": [{"kind": {"dtype", "shape"}, "line": None, "values": ("f32", "bf16")}],
                "may": {"dtype", "shape", "shape_family", "parameters", "structure"},
                "steps": 24,
                "questions": {"input_shapes_changed": True, "profile_or_sharding_changed": False},
            },
        },
    ],
}
