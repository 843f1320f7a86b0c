"""A neural ODE in equinox and diffrax, trained with optax, after diffrax's own example. eqx.filter_jit, diffeqsolve,
adabelief.

What is true of it: the rate of `optax.adabelief(lr)` and the step size `dt` are Python numbers and constants of the
program. The parameters are made outside of jit. `EQX_ON_ERROR=nan` keeps equinox's runtime checks free of callbacks,
which this plugin does not have.
"""

WEEK = {
    "library": "diffrax, equinox, optax",
    "python": "conformance",
    "env": {"EQX_ON_ERROR": "nan"},
    "starts": [
        {"what": "The first start.", "expect": {"compiled": "some", "may": {"eager_startup"}, "steps": 24}},
        {"what": "Nothing is changed.", "expect": {"compiled": "none", "steps": 24}},
        {
            "what": "A learning rate of 0.005 instead of 0.003, which is a constant of the step.",
            "args": "--lr 0.005",
            "expect": {
                "compiled": 1,
                "findings": [
                    {"kind": {"constant"}, "program": "make_step", "line": "update", "values": (0.003, 0.005)}
                ],
                "steps": 24,
                "advice": [{"argument", "input", "pass", "traced", "inject_hyperparams"}],
            },
        },
        {
            "what": "A step size of 0.08 instead of 0.1, a constant of the step and of the evaluation.",
            "args": "--lr 0.005 --dt 0.08",
            "expect": {
                "compiled": 2,
                "findings": [
                    {"kind": {"constant"}, "program": "make_step", "line": "solve", "values": (0.1, 0.08)},
                    {"kind": {"constant"}, "program": "evaluate", "line": "solve", "values": (0.1, 0.08)},
                ],
                "may": {"constant"},
                "steps": 24,
            },
        },
        {
            "what": "The source is tidied: a function has another name, all lines move. More steps, fewer evaluations.",
            "args": "--lr 0.005 --dt 0.08 --steps 40 --eval-every 20",
            "edit": [
                (
                    "import argparse\nimport json\n",
                    "from __future__ import annotations\n\nimport argparse\nimport json\n",
                ),
                (
                    "def grad_loss(model, ts, ys):\n",
                    'def loss_and_grads(model, ts, ys):\n    """Mean squared error."""\n',
                ),
                ("= grad_loss(model, ts, ys)", "= loss_and_grads(model, ts, ys)"),
            ],
            "expect": {"compiled": "none", "steps": 40},
        },
        {
            "what": "A learnable scale, jnp.array(1.0): its type is weak in the first step, and not in the others.",
            "args": "--lr 0.005 --dt 0.08",
            "edit": [
                ("class Func(eqx.Module):\n", "class Func(eqx.Module):\n    scale: jax.Array\n"),
                (
                    "        self.mlp = eqx.nn.MLP(",
                    "        self.scale = jnp.array(1.0)  # LINE: scale\n        self.mlp = eqx.nn.MLP(",
                ),
                ("return self.mlp(y)  # LINE: func", "return self.scale * self.mlp(y)  # LINE: func"),
            ],
            "expect": {
                "compiled": "some",
                "findings": [
                    # Two programs of make_step are compiled: with the scale, and with the type that it has from step 2 on.
                    # The one that took longer comes first.
                    {
                        "kind": {"parameters", "structure", "dtype"},
                        "program": "make_step",
                        "line": ["func", "call", "update", "apply"],
                    },
                    {"kind": {"parameters", "structure"}, "program": "evaluate", "line": ["func", "evaluate", "model"]},
                ],
                "may": {"parameters", "structure", "dtype"},
                "steps": 24,
                "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False},
            },
        },
        {
            "what": "The scale has a type from the beginning: one program, which is known, for all steps.",
            "args": "--lr 0.005 --dt 0.08",
            "edit": [("jnp.array(1.0)  # LINE: scale", "jnp.array(1.0, jnp.float32)  # LINE: scale")],
            "expect": {"compiled": "none", "steps": 24},
        },
        {
            "what": "The first half of the training sees 8 observations instead of 24, as in diffrax's example.",
            "args": "--lr 0.005 --dt 0.08 --beginning 8",
            "expect": {
                "compiled": 1,
                "findings": [{"kind": {"shape"}, "program": "make_step", "line": "call", "values": (24, 8)}],
                "steps": 24,
                "questions": {
                    "input_shapes_changed": True,
                    "profile_or_sharding_changed": False,
                    "hidden_branch_active": False,
                },
            },
        },
        {
            "what": "All entries of the training step were removed by hand.",
            "args": "--lr 0.005 --dt 0.08",
            "rm": "jit_make_step",
            "expect": {
                "compiled": 1,
                "findings": [{"kind": {"removed"}, "program": "make_step", "line": None}],
                "steps": 24,
            },
        },
        {
            "what": "Tsit5 with adaptive steps replaces Heun with fixed ones.",
            "args": "--lr 0.005",
            "edit": [
                ("            diffrax.Heun(),  # LINE: solve\n", "            diffrax.Tsit5(),  # LINE: solve\n"),
                (
                    "            saveat=diffrax.SaveAt(ts=ts),  # LINE: solve\n",
                    "            stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-5),  # LINE: solve\n"
                    "            saveat=diffrax.SaveAt(ts=ts),  # LINE: solve\n",
                ),
            ],
            "expect": {
                "compiled": 2,
                "findings": [
                    {"kind": {"structure"}, "program": "make_step", "line": ["solve", "func", "model", "grad"]},
                    {"kind": {"structure"}, "program": "evaluate", "line": ["solve", "func", "model"]},
                ],
                "may": {"structure"},
                "steps": 24,
                "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False},
            },
        },
        {
            "what": "equinox shall raise errors of the solver. Its callbacks are refused by the plugin's compiler.",
            "args": "--lr 0.005",
            "env": {"EQX_ON_ERROR": "raise"},
            "fails": True,
            "expect": {
                "findings": [{"kind": {"failed"}, "program": "make_step", "line": None}],
                "questions": {"input_shapes_changed": False},
            },
        },
        {
            "what": "Taken back. Hidden layers of 48 units instead of 32. Libraries were upgraded (same code).",
            "args": "--lr 0.005 --width 48",
            "shadow": {"diffrax": "0.7.3", "optax": "0.2.9"},
            "expect": {
                "compiled": "some",
                "findings": [
                    {"kind": {"shape"}, "program": "make_step", "line": "call", "values": (32, 48)},
                    {"kind": {"shape"}, "program": "evaluate", "line": "evaluate", "values": (32, 48)},
                ],
                "may": {"shape"},
                "steps": 24,
                "questions": {"input_shapes_changed": True, "hidden_branch_active": False},
            },
        },
        {
            "what": "The jitted function has another name: the compiler gets the same program under a new name.",
            "args": "--lr 0.005 --width 48",
            "edit": [
                ("    def make_step(model, opt_state, ts, ys):\n", "    def train_step(model, opt_state, ts, ys):\n"),
                ("opt_state = make_step(model", "opt_state = train_step(model"),
            ],
            "expect": {"steps": 24},
        },
    ],
}
