"""A small convolutional network in Flax NNX with batch normalisation, dropout and optax.adamw.

The learning rate is a traced hyperparameter (optax.inject_hyperparams). The model is built outside of jit, as in the
examples of NNX. Evaluation counts hits among the best k classes; k is a static argument.
"""

WEEK = {
    "library": "flax nnx",
    "python": "jax-models",
    "starts": [
        {
            "what": "the first start: the model is built outside of jit, one operation after the other",
            "args": "--lr 3e-3 --steps 24",
            "expect": {
                "compiled": "some",
                "findings": [{"kind": {"eager_startup"}, "line": ["model", "init"]}],
                "steps": 24,
                "questions": {"input_shapes_changed": False, "hidden_branch_active": False},
            },
        },
        {"what": "nothing changed", "args": "--lr 3e-3 --steps 24", "expect": {"compiled": "none", "steps": 24}},
        {
            "what": "the learning rate 1e-3 instead of 3e-3: a traced hyperparameter",
            "args": "--lr 1e-3 --steps 24",
            "expect": {"compiled": "none", "steps": 24},
        },
        {
            "what": "evaluation every 5 steps instead of 8, and 40 steps",
            "args": "--lr 1e-3 --steps 40 --eval-every 5",
            "expect": {"compiled": "none", "steps": 40},
        },
        {
            "what": "evaluation counts the best 3 classes instead of the best one (a static argument)",
            "args": "--lr 1e-3 --steps 40 --eval-every 5 --top-k 3",
            "expect": {
                "compiled": 1,
                "findings": [
                    {"kind": {"constant"}, "program": "jit_eval_step", "line": ["top_k", "hits"], "values": (1, 3)}
                ],
                "steps": 40,
                "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False},
            },
        },
        {
            "what": "a new JAX and a new Flax",
            "args": "--lr 1e-3 --steps 40 --eval-every 5 --top-k 3",
            "python": "jax-newest-models",
            "expect": {
                "compiled": "some",
                "findings": [{"kind": {"toolchain", "toolchain_drift"}, "line": None, "values": ("0.10.2", "0.12.0")}],
                "may": {"toolchain", "toolchain_drift", "eager_startup"},
                "steps": 40,
                "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": True},
            },
        },
        {
            "what": "back to the old JAX: every program is in the store",
            "args": "--lr 1e-3 --steps 40 --eval-every 5 --top-k 3",
            "expect": {
                "compiled": "none",
                "may": {"toolchain_drift"},
                "steps": 40,
                "questions": {"input_shapes_changed": False, "hidden_branch_active": False},
            },
        },
        {
            "what": "gradients are accumulated over 4 parts of each batch: two new functions replace the step",
            "args": "--lr 1e-3 --steps 24 --eval-every 5 --top-k 3 --accumulate 4",
            "expect": {"compiled": 2, "steps": 24, "questions": {"profile_or_sharding_changed": False}},
        },
        {
            "what": "no accumulation again",
            "args": "--lr 1e-3 --steps 40 --eval-every 5 --top-k 3",
            "expect": {"compiled": "none", "steps": 40},
        },
        {
            "what": "all entries were evicted",
            "args": "--lr 1e-3 --steps 40 --eval-every 5 --top-k 3",
            "evict": True,
            "expect": {
                "compiled": "some",
                "findings": [{"kind": {"evicted"}, "line": None}],
                "may": {"evicted", "eager_startup"},
                "steps": 40,
                "advice": [{"max-size", "REKINDLE_MAX", "size", "larger", "limit"}],
            },
        },
        {
            "what": "two changes at once: dropout 0.2 instead of 0.1, and the best 5 classes instead of 3",
            "args": "--lr 1e-3 --steps 40 --eval-every 5 --top-k 5 --dropout 0.2",
            "expect": {
                "compiled": 2,
                "findings": [
                    {"kind": {"constant"}, "program": "jit_train_step", "line": "dropout", "values": (0.9, 0.8)},
                    {"kind": {"constant"}, "program": "jit_eval_step", "line": ["top_k", "hits"], "values": (3, 5)},
                ],
                "steps": 40,
                "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False},
            },
        },
        {
            "what": "the jitted function train_step is now called update_step; its operations are the same",
            "args": "--lr 1e-3 --steps 40 --eval-every 5 --top-k 5 --dropout 0.2",
            "edit": [
                ("def train_step(model, optimizer,", "def update_step(model, optimizer,"),
                ("            train_step(model, optimizer,", "            update_step(model, optimizer,"),
            ],
            "expect": {"steps": 40},
        },
        {
            "what": "24 channels instead of 16",
            "args": "--lr 1e-3 --steps 40 --eval-every 5 --top-k 5 --dropout 0.2 --width 24",
            "expect": {
                "compiled": "some",
                "findings": [
                    {
                        "kind": {"shape"},
                        "program": "jit_update_step",
                        "line": "train",
                        "values": ({16, 32, 288}, {24, 48, 432}),
                    },
                    {"kind": {"eager_startup"}, "line": ["model", "init"]},
                    {
                        "kind": {"shape"},
                        "program": "jit_eval_step",
                        "line": "eval",
                        "values": ({16, 32, 288}, {24, 48, 432}),
                    },
                ],
                "steps": 40,
                "questions": {"input_shapes_changed": True, "profile_or_sharding_changed": False},
            },
        },
    ],
}
