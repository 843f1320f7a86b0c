"""A small convolutional network in Keras 3 on JAX, trained by model.fit on the digits of scikit-learn.

300 pictures in batches of 32 leave a last batch of 12, which is a second program. The learning rate is a variable.
Validation has batches of equal size. Layers are Keras's own, and one of the job.
"""

WEEK = {
    "library": "keras",
    "python": "conformance",
    "env": {"KERAS_BACKEND": "jax"},
    "starts": [
        {
            "what": "the first start: layers are built one operation after the other; the last batch is smaller",
            "args": "--lr 0.05 --epochs 3",
            "expect": {
                "compiled": "some",
                "findings": [
                    {"kind": {"eager_startup"}, "line": "init"},
                    {"kind": {"shape"}, "program": "jit_train_step", "line": "fit", "values": (32, 12)},
                ],
                "steps": 30,
                "questions": {"input_shapes_changed": True, "hidden_branch_active": False},
                "advice": [{"pad", "remainder", "drop"}],
            },
        },
        {"what": "nothing changed", "args": "--lr 0.05 --epochs 3", "expect": {"compiled": "none", "steps": 30}},
        {
            "what": "the learning rate 0.02 instead of 0.05: a variable of the optimizer",
            "args": "--lr 0.02 --epochs 3",
            "expect": {"compiled": "none", "steps": 30},
        },
        {
            "what": "5 epochs instead of 3, and a callback that lowers the learning rate after each epoch",
            "args": "--lr 0.02 --epochs 5",
            "edit": [
                (
                    "    callbacks = [Report()]\n",
                    "    schedule = keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.8)\n"
                    "    callbacks = [Report(), schedule]\n",
                )
            ],
            "expect": {"compiled": "none", "steps": 50},
        },
        {
            "what": "batches of 64 instead of 32, so the last one has 44",
            "args": "--lr 0.02 --epochs 5 --batch 64",
            "expect": {
                "compiled": 2,
                "findings": [{"kind": {"shape", "shape_family"}, "program": "jit_train_step", "line": "fit"}],
                "may": {"shape"},
                "steps": 25,
                "questions": {
                    "input_shapes_changed": True,
                    "profile_or_sharding_changed": False,
                    "hidden_branch_active": False,
                },
            },
        },
        {
            "what": "256 pictures instead of 300: every batch is full",
            "args": "--lr 0.02 --epochs 5 --batch 64 --count 256",
            "expect": {"compiled": "none", "steps": 20},
        },
        {
            "what": "2 steps per execution, which Keras runs as two calls of the same program",
            "args": "--lr 0.02 --epochs 5 --batch 64 --count 256 --steps-per-execution 2",
            "expect": {"compiled": "none", "steps": 20},
        },
        {
            "what": "AdamW instead of SGD, with its own learning rate",
            "args": "--lr 0.002 --epochs 5 --batch 64 --count 256 --optimizer adamw",
            "expect": {
                "compiled": 1,
                "findings": [{"kind": {"parameters", "structure"}, "program": "jit_train_step", "line": "fit"}],
                "steps": 20,
                "questions": {"profile_or_sharding_changed": False},
            },
        },
        {
            "what": "mixed precision: the layers compute in bfloat16",
            "args": "--lr 0.002 --epochs 5 --batch 64 --count 256 --optimizer adamw --policy mixed_bfloat16",
            "expect": {
                "compiled": 2,
                "findings": [
                    {
                        "kind": {"dtype"},
                        "program": "jit_train_step",
                        "line": ["fit", "layer"],
                        "values": ("f32", "bf16"),
                    },
                    {
                        "kind": {"dtype"},
                        "program": "jit_test_step",
                        "line": ["fit", "layer"],
                        "values": ("f32", "bf16"),
                    },
                ],
                "steps": 20,
            },
        },
        {
            "what": "another version of Keras, which makes the same programs",
            "args": "--lr 0.002 --epochs 5 --batch 64 --count 256 --optimizer adamw --policy mixed_bfloat16",
            "shadow": {"keras": "3.16.0"},
            "expect": {
                "compiled": "none",
                "steps": 20,
                "questions": {"input_shapes_changed": False, "hidden_branch_active": False},
            },
        },
        {
            "what": "two dense layers instead of one",
            "args": "--lr 0.002 --epochs 5 --batch 64 --count 256 --optimizer adamw --policy mixed_bfloat16 --dense 2",
            "expect": {
                "compiled": 4,
                "findings": [
                    {"kind": {"parameters", "structure"}, "program": "jit_train_step", "line": ["fit", "layer"]},
                    {"kind": {"parameters", "structure"}, "program": "jit_test_step", "line": ["fit", "layer"]},
                ],
                "may": {"eager_startup"},
                "steps": 20,
                "questions": {"profile_or_sharding_changed": False},
            },
        },
        {
            "what": "a second metric, which counts the best three classes: more inputs, results and operations",
            "args": "--lr 0.002 --epochs 5 --batch 64 --count 256 --optimizer adamw --policy mixed_bfloat16 --dense 2",
            "edit": [
                (
                    '    metrics = ["accuracy"]\n',
                    '    metrics = ["accuracy", keras.metrics.SparseTopKCategoricalAccuracy(k=3)]\n',
                )
            ],
            "expect": {
                "compiled": 2,
                "findings": [
                    {"kind": {"parameters", "structure"}, "program": "jit_train_step", "line": "fit"},
                    {"kind": {"parameters", "structure"}, "program": "jit_test_step", "line": "fit"},
                ],
                "steps": 20,
                "questions": {"profile_or_sharding_changed": False},
            },
        },
        {
            "what": "the entries of jit_test_step were removed by hand",
            "args": "--lr 0.002 --epochs 5 --batch 64 --count 256 --optimizer adamw --policy mixed_bfloat16 --dense 2",
            "rm": "jit_test_step",
            "expect": {
                "compiled": 1,
                "findings": [{"kind": {"removed"}, "program": "jit_test_step", "line": None}],
                "steps": 20,
            },
        },
        {
            "what": "dropout 0.4 instead of 0.2",
            "args": "--lr 0.002 --epochs 5 --batch 64 --count 256 --optimizer adamw --policy mixed_bfloat16 --dense 2 --dropout 0.4",
            "expect": {
                "compiled": 1,
                "findings": [
                    {
                        "kind": {"constant"},
                        "program": "jit_train_step",
                        "line": "fit",
                        "values": ({0.8, 0.80078}, {0.6, 0.60156}),
                    }
                ],
                "steps": 20,
            },
        },
    ],
}
