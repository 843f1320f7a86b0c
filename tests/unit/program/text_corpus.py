"""Writes MLIR text of programs into fuzz/corpus/read_text: each program in both forms, with locations.

    text_corpus.py OUT PROGRAM…

Needs a Python with jaxlib.
"""

import sys
from pathlib import Path

from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir.dialects import stablehlo

out, *paths = map(Path, sys.argv[1:])
with jax_mlir.make_ir_context() as context:
    for path in paths:
        module = stablehlo.deserialize_portable_artifact(context, path.read_bytes())
        for form, generic in (("pretty", False), ("generic", True)):
            text = module.operation.get_asm(print_generic_op_form=generic, enable_debug_info=generic)
            (out / f"{path.stem}.{form}.mlir").write_text(text)
