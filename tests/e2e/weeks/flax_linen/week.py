"""A small transformer classifier in Flax linen, trained with TrainState and optax.adam.

The learning rate is closed over: optax makes it a constant of jit_train_step. The initialisation runs under jit. Test
data is evaluated every few steps, in three batches of its own size.
"""

WEEK = {
    "library": "flax linen",
    "python": "jax-models",
    "starts": [
        {
            "what": "the first start",
            "args": "--lr 1e-3 --batch 16 --steps 24",
            "expect": {
                "compiled": "some",
                "steps": 24,
                "questions": {"input_shapes_changed": False, "hidden_branch_active": False},
            },
        },
        {
            "what": "nothing changed",
            "args": "--lr 1e-3 --batch 16 --steps 24",
            "expect": {"compiled": "none", "steps": 24},
        },
        {
            "what": "a longer run: 40 steps instead of 24",
            "args": "--lr 1e-3 --batch 16 --steps 40",
            "expect": {"compiled": "none", "steps": 40},
        },
        {
            "what": "a comment above the step and a renamed local variable: lines moved, no operation changed",
            "args": "--lr 1e-3 --batch 16 --steps 40",
            "edit": [
                (
                    "@jax.jit\ndef train_step(state, batch, dropout_key):\n    def loss_of(params):\n        key =",
                    "# One update of all parameters.\n# The key of the dropout depends on the step.\n\n\n"
                    "@jax.jit\ndef train_step(state, batch, dropout_key):\n    def loss_of(params):\n        own_key =",
                ),
                ('train=True, rngs={"dropout": key})', 'train=True, rngs={"dropout": own_key})'),
            ],
            "expect": {"compiled": "none", "steps": 40},
        },
        {
            "what": "the learning rate 5e-4 instead of 1e-3 (a Python number, closed over)",
            "args": "--lr 5e-4 --batch 16 --steps 40",
            "expect": {
                "compiled": 1,
                "findings": [
                    {"kind": {"constant"}, "program": "jit_train_step", "line": "update", "values": (1e-3, 5e-4)}
                ],
                "steps": 40,
                "advice": [{"argument", "array", "input", "pass", "traced", "inject_hyperparams"}],
            },
        },
        {
            "what": "batches of 32 instead of 16",
            "args": "--lr 5e-4 --batch 32 --steps 40",
            "expect": {
                "compiled": 1,
                "findings": [{"kind": {"shape"}, "program": "jit_train_step", "line": "train", "values": ("16", "32")}],
                "steps": 40,
                "questions": {
                    "input_shapes_changed": True,
                    "profile_or_sharding_changed": False,
                    "hidden_branch_active": False,
                },
            },
        },
        {
            "what": "XLA_FLAGS=--xla_cpu_enable_fast_math=true",
            "args": "--lr 5e-4 --batch 32 --steps 40",
            "env": {"XLA_FLAGS": "--xla_cpu_enable_fast_math=true"},
            "expect": {
                "compiled": "some",
                "findings": [
                    {"kind": {"environment", "flag_drift"}, "line": None, "values": (None, "xla_cpu_enable_fast_math")}
                ],
                "may": {"environment", "flag_drift"},
                "steps": 40,
                "questions": {
                    "input_shapes_changed": False,
                    "profile_or_sharding_changed": True,
                    "hidden_branch_active": False,
                },
            },
        },
        {
            "what": "the flag is taken back: every program is in the store",
            "args": "--lr 5e-4 --batch 32 --steps 40",
            "expect": {
                "compiled": "none",
                "may": {"flag_drift"},
                "steps": 40,
                "questions": {"input_shapes_changed": False, "hidden_branch_active": False},
            },
        },
        {
            "what": "another version of optax, which makes the same programs",
            "args": "--lr 5e-4 --batch 32 --steps 40",
            "shadow": {"optax": "0.2.9"},
            "expect": {
                "compiled": "none",
                "steps": 40,
                "questions": {"input_shapes_changed": False, "hidden_branch_active": False},
            },
        },
        {
            "what": "the layers compute in bfloat16; the parameters stay float32",
            "args": "--lr 5e-4 --batch 32 --steps 40 --dtype bfloat16",
            "expect": {
                "compiled": 2,
                "findings": [
                    {
                        "kind": {"dtype"},
                        "program": "jit_train_step",
                        "line": ["embed", "block", "dropout", "head"],
                        "values": ("f32", "bf16"),
                    },
                    {
                        "kind": {"dtype"},
                        "program": "jit_eval_step",
                        "line": ["embed", "block", "dropout", "head"],
                        "values": ("f32", "bf16"),
                    },
                ],
                "steps": 40,
            },
        },
        {
            "what": "the entries of jit_train_step were removed by hand",
            "args": "--lr 5e-4 --batch 32 --steps 40 --dtype bfloat16",
            "rm": "jit_train_step",
            "expect": {
                "compiled": 1,
                "findings": [{"kind": {"removed"}, "program": "jit_train_step", "line": None}],
                "steps": 40,
            },
        },
        {
            "what": "the norm of the gradients is logged too: a new output of the step",
            "args": "--lr 5e-4 --batch 32 --steps 40 --dtype bfloat16",
            "edit": [
                (
                    '    metrics = {"loss": loss, "accuracy": accuracy}  # LINE: metrics\n',
                    '    metrics = {"loss": loss, "accuracy": accuracy}  # LINE: metrics\n'
                    '    metrics["norm"] = optax.global_norm(grads)  # LINE: norm\n',
                ),
                ("loss {metrics['loss']:.4f}, ", "loss {metrics['loss']:.4f}, gradient {metrics['norm']:.3f}, "),
            ],
            "expect": {
                "compiled": 1,
                "findings": [{"kind": {"structure", "parameters"}, "program": "jit_train_step", "line": "norm"}],
                "steps": 40,
                "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False},
            },
        },
        {
            "what": "three layers instead of two",
            "args": "--lr 5e-4 --batch 32 --steps 40 --dtype bfloat16 --layers 3",
            "expect": {
                "compiled": 3,
                "findings": [
                    {
                        "kind": {"structure", "parameters"},
                        "program": "jit_train_step",
                        "line": ["block", "dropout", "head", "train", "update"],
                    },
                    {
                        "kind": {"structure", "parameters"},
                        "program": "jit_create_state",
                        "line": ["block", "head", "init"],
                    },
                    {
                        "kind": {"structure", "parameters"},
                        "program": "jit_eval_step",
                        "line": ["block", "dropout", "head", "eval"],
                    },
                ],
                "steps": 40,
                "questions": {"profile_or_sharding_changed": False},
            },
        },
    ],
}
