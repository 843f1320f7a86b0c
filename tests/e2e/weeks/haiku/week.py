"""A dm-haiku job: a small convolutional network classifies scikit-learn's digits. hk.transform, optax, an average of
the parameters, all devices (data-parallel, jax.jit on a mesh).

What is true of it: `network.init` runs outside of jit at first. The rate of `optax.sgd(lr)` is a constant of the
program; with `optax.inject_hyperparams` it is an input.
"""

WEEK = {
    "library": "dm-haiku, optax",
    "python": "conformance",
    "starts": [
        {
            "what": "The first start. The network is initialized outside of jit, which costs more than the step.",
            "expect": {
                "compiled": "some",
                "findings": [{"kind": {"eager_startup"}, "line": ["init", "network"]}],
                "steps": 24,
            },
        },
        {"what": "Nothing is changed.", "expect": {"compiled": "none", "steps": 24}},
        {
            "what": "A learning rate of 0.06 instead of 0.1, which is a constant of the program.",
            "args": "--lr 0.06",
            "expect": {
                "compiled": 1,
                "findings": [{"kind": {"constant"}, "program": "update", "line": "update", "values": (0.1, 0.06)}],
                "steps": 24,
                "advice": [{"argument", "input", "pass", "traced"}],
            },
        },
        {
            "what": "The rate becomes an input: optax.inject_hyperparams.",
            "args": "--lr 0.06",
            "edit": [
                (
                    "    return optax.sgd(lr, momentum=0.9)\n",
                    "    return optax.inject_hyperparams(optax.sgd)(learning_rate=lr, momentum=0.9)\n",
                )
            ],
            "expect": {
                "compiled": "some",
                "findings": [{"kind": {"parameters", "structure"}, "program": "update", "line": ["update", "call"]}],
                "steps": 24,
                "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False},
            },
        },
        {
            "what": "Another rate, now an input, and a longer run. A comment moves the lines.",
            "args": "--lr 0.03 --steps 40",
            "edit": [("CLASSES = 10\n", "# Digits.\nCLASSES = 10\n")],
            "expect": {"compiled": "none", "steps": 40},
        },
        {
            "what": "The network is initialized in one jitted function. An evaluation runs every 12 steps.",
            "args": "--lr 0.03 --eval-every 12",
            "edit": [("    def init_state(rng, image):\n", "    @jax.jit\n    def init_state(rng, image):\n")],
            "expect": {"compiled": 2, "steps": 24},
        },
        {
            "what": "A static argument adds the norm of the gradients to the metrics of each step that is logged.",
            "args": "--lr 0.03 --eval-every 12",
            "edit": [
                ("import argparse\nimport json\n", "import argparse\nimport functools\nimport json\n"),
                (
                    "    @jax.jit\n    def update(state, batch):\n",
                    '    @functools.partial(jax.jit, static_argnames="with_norm")\n'
                    "    def update(state, batch, with_norm):\n",
                ),
                (
                    '        metrics = {"loss": loss}\n',
                    '        metrics = {"loss": loss}\n'
                    "        if with_norm:\n"
                    '            metrics["grad_norm"] = optax.global_norm(grads)  # LINE: norm\n',
                ),
                (
                    "update(state, jax.device_put(batch, split))  # LINE: call",
                    "update(state, jax.device_put(batch, split), step % args.log_every == 0)  # LINE: call",
                ),
            ],
            "expect": {
                "compiled": 1,
                "findings": [{"kind": {"structure", "parameters"}, "program": "update", "line": ["norm", "call"]}],
                "steps": 24,
                "questions": {
                    "input_shapes_changed": False,
                    "profile_or_sharding_changed": False,
                    "hidden_branch_active": True,
                },
            },
        },
        {
            "what": "Batches of 48 instead of 32. Both variants of the step are compiled.",
            "args": "--lr 0.03 --eval-every 12 --batch 48",
            "expect": {
                "compiled": 2,
                "findings": [{"kind": {"shape"}, "program": "update", "line": "call", "values": (32, 48)}],
                "may": {"shape", "structure", "parameters"},
                "steps": 24,
                "questions": {"input_shapes_changed": True, "profile_or_sharding_changed": False},
            },
        },
        {
            "what": "AdamW with clipping replaces SGD. Step and initialization change.",
            "args": "--lr 0.003 --eval-every 12 --batch 48 --optimizer adamw",
            "expect": {
                "compiled": 3,
                "findings": [
                    {"kind": {"parameters", "structure"}, "program": "update", "line": ["update", "call"]},
                    {"kind": {"parameters", "structure"}, "program": "init_state", "line": "init"},
                ],
                "may": {"parameters", "structure"},
                "steps": 24,
                "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False},
            },
        },
        {
            "what": "A compiler option of the TPU is given to the step. The CPU's compiler refuses it.",
            "args": "--lr 0.003 --eval-every 12 --batch 48 --optimizer adamw",
            "edit": [
                (
                    'jax.jit, static_argnames="with_norm")',
                    'jax.jit, static_argnames="with_norm", '
                    'compiler_options={"xla_tpu_scoped_vmem_limit_kib": "65536"})',
                )
            ],
            "fails": True,
            "expect": {
                "findings": [{"kind": {"failed"}, "program": "update", "line": None}],
                "questions": {"input_shapes_changed": False},
            },
        },
        {
            "what": "The option is taken back. The job runs on two devices instead of four.",
            "args": "--lr 0.003 --eval-every 12 --batch 48 --optimizer adamw",
            "edit": [
                (
                    'jax.jit, static_argnames="with_norm", '
                    'compiler_options={"xla_tpu_scoped_vmem_limit_kib": "65536"})',
                    'jax.jit, static_argnames="with_norm")',
                )
            ],
            "devices": 2,
            "expect": {
                "compiled": "some",
                "findings": [{"kind": {"device", "sharding"}, "line": None}],
                "may": {"device", "sharding"},
                "steps": 24,
                "questions": {"profile_or_sharding_changed": True, "hidden_branch_active": False},
            },
        },
        {
            "what": "Four devices again, and a new version of optax that generates the same programs.",
            "args": "--lr 0.003 --eval-every 12 --batch 48 --optimizer adamw",
            "shadow": {"optax": "0.2.9"},
            "expect": {
                "compiled": "none",
                "steps": 24,
                "questions": {"input_shapes_changed": False, "hidden_branch_active": False},
            },
        },
        {
            "what": "The network computes in bfloat16 (hk.mixed_precision); parameters and optimizer stay float32.",
            "args": "--lr 0.003 --eval-every 12 --batch 48 --optimizer adamw",
            "edit": [
                ("import jax.numpy as jnp\n", "import jax.numpy as jnp\nimport jmp\n"),
                (
                    "    network = make_network(args.channels, args.width)\n",
                    '    policy = jmp.get_policy("params=float32,compute=bfloat16,output=float32")\n'
                    "    for module in (hk.Conv2D, hk.nets.MLP):\n"
                    "        hk.mixed_precision.set_policy(module, policy)\n"
                    "    network = make_network(args.channels, args.width)\n",
                ),
            ],
            "expect": {
                "compiled": 3,
                "findings": [
                    {"kind": {"dtype", "structure"}, "program": "update", "line": ["network", "apply", "grad"]},
                ],
                "may": {"dtype", "structure"},
                "steps": 24,
                "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False},
            },
        },
    ],
}
