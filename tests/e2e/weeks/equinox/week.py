"""A score-based diffusion model (an MLP-Mixer) in Equinox, after its own example, data-parallel over all devices.

The model is built outside of jit, one operation after the other. The learning rate is closed over (optax.adabelief).
eqx.filter_jit makes everything static that is not an array, such as the number of steps of the sampler.
"""

WEEK = {
    "library": "equinox",
    "python": "jax-models",
    "starts": [
        {
            "what": "the first start: the model is built outside of jit, which compiles an operation for each shape",
            "args": "--lr 3e-3 --steps 24",
            "expect": {
                "compiled": "some",
                "findings": [{"kind": {"eager_startup"}, "line": "init"}],
                "steps": 24,
                "questions": {"input_shapes_changed": False, "hidden_branch_active": False},
                "advice": [{"jit", "filter_jit"}],
            },
        },
        {"what": "nothing changed", "args": "--lr 3e-3 --steps 24", "expect": {"compiled": "none", "steps": 24}},
        {
            "what": "the loss is ramped up; the epoch is a Python number, so the step is compiled for each epoch",
            "args": "--lr 3e-3 --steps 16",
            "edit": [
                (
                    "def make_step(model, data, key, opt_state, opt_update, replicated):\n"
                    "    loss, grads = eqx.filter_value_and_grad(batch_loss)(model, data, key)\n",
                    "def make_step(model, data, key, opt_state, opt_update, replicated, epoch):\n"
                    "    def ramped_loss(model):\n"
                    "        ramp = jnp.minimum((epoch + 1) / 10, 1.0)  # LINE: ramp\n"
                    "        return ramp * batch_loss(model, data, key)  # LINE: ramp\n\n"
                    "    loss, grads = eqx.filter_value_and_grad(ramped_loss)(model)  # LINE: ramp\n",
                ),
                ("make_step(*inputs)", "make_step(*inputs, step // 4)"),
            ],
            "expect": {
                "compiled": 4,
                "findings": [{"kind": {"counter"}, "program": "jit_make_step", "line": "ramp"}],
                "may": {"structure", "constant"},
                "steps": 16,
                "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False},
                "advice": [{"argument", "array", "input", "traced", "pass"}],
            },
        },
        {
            "what": "the epoch is an array now: one more input",
            "args": "--lr 3e-3 --steps 24",
            "edit": [("make_step(*inputs, step // 4)", "make_step(*inputs, jnp.asarray(step // 4))")],
            "expect": {
                "compiled": 1,
                "findings": [
                    {"kind": {"parameters", "structure"}, "program": "jit_make_step", "line": ["ramp", "train"]}
                ],
                "steps": 24,
                "questions": {"profile_or_sharding_changed": False},
            },
        },
        {
            "what": "the sampler takes 30 steps instead of 20 (a static argument)",
            "args": "--lr 3e-3 --steps 24 --sample-steps 30",
            "expect": {
                "compiled": 1,
                "findings": [
                    {
                        "kind": {"constant"},
                        "program": "jit_sample",
                        "line": "sampler",
                        "values": ({20, 0.2}, {30, 0.133333}),
                    }
                ],
                "steps": 24,
            },
        },
        {
            "what": "2 devices instead of 4",
            "args": "--lr 3e-3 --steps 24 --sample-steps 30",
            "devices": 2,
            "expect": {
                "compiled": "some",
                "findings": [{"kind": {"device", "sharding"}, "program": "jit_make_step", "line": None}],
                "may": {"device", "sharding", "options"},
                "steps": 24,
                "questions": {"profile_or_sharding_changed": True},
            },
        },
        {
            "what": "4 devices again: every program is in the store",
            "args": "--lr 3e-3 --steps 24 --sample-steps 30",
            "expect": {"compiled": "none", "steps": 24, "questions": {"input_shapes_changed": False}},
        },
        {
            "what": "two changes at once: the learning rate 1e-3 instead of 3e-3, and evaluation batches of 24",
            "args": "--lr 1e-3 --steps 24 --sample-steps 30 --eval-batch 24",
            "expect": {
                "compiled": 2,
                "findings": [
                    {"kind": {"constant"}, "program": "jit_make_step", "line": "update", "values": (3e-3, 1e-3)},
                    {"kind": {"shape"}, "program": "jit_eval_loss", "line": "eval", "values": (16, 24)},
                ],
                "steps": 24,
                "questions": {"input_shapes_changed": True, "profile_or_sharding_changed": False},
            },
        },
        {
            "what": "gradients are clipped",
            "args": "--lr 1e-3 --steps 24 --sample-steps 30 --eval-batch 24",
            "edit": [
                ("optax.adabelief(args.lr)", "optax.chain(optax.clip_by_global_norm(1.0), optax.adabelief(args.lr))")
            ],
            "expect": {
                "compiled": 1,
                "findings": [{"kind": {"structure"}, "program": "jit_make_step", "line": "update"}],
                "steps": 24,
                "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False},
            },
        },
        {
            "what": "a compile option with a typing error: the compiler refuses the step",
            "args": "--lr 1e-3 --steps 24 --sample-steps 30 --eval-batch 24",
            "edit": [
                (
                    "@eqx.filter_jit\ndef make_step(",
                    '@functools.partial(eqx.filter_jit, compiler_options={"xla_cpu_enable_fast_mth": True})\n'
                    "def make_step(",
                )
            ],
            "fails": True,
            "expect": {
                "findings": [{"kind": {"failed"}, "program": "jit_make_step", "line": None}],
                "may": {"options"},
                "questions": {"input_shapes_changed": False},
            },
        },
        {
            "what": "the name of the option is right",
            "args": "--lr 1e-3 --steps 24 --sample-steps 30 --eval-batch 24",
            "edit": [("xla_cpu_enable_fast_mth", "xla_cpu_enable_fast_math")],
            "expect": {
                "compiled": 1,
                "findings": [
                    {
                        "kind": {"options"},
                        "program": "jit_make_step",
                        "line": None,
                        "values": (None, "xla_cpu_enable_fast_math"),
                    }
                ],
                "steps": 24,
                "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": True},
            },
        },
        {
            "what": "all entries were removed by hand",
            "args": "--lr 1e-3 --steps 24 --sample-steps 30 --eval-batch 24",
            "rm": "*",
            "expect": {
                "compiled": "some",
                "findings": [{"kind": {"removed"}, "line": None}],
                "may": {"removed", "eager_startup"},
                "steps": 24,
            },
        },
        {
            "what": "batches of 48 instead of 32, but a colleague's job has already stored this program",
            "args": "--lr 1e-3 --steps 24 --sample-steps 30 --eval-batch 24 --batch 48",
            "other": True,
            "expect": {
                "compiled": "none",
                "steps": 24,
                "questions": {"profile_or_sharding_changed": False, "hidden_branch_active": False},
            },
        },
    ],
}
