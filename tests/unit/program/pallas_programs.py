"""Writes the programs with Pallas kernels of data/, for TPUs and GPUs. Needs neither a TPU nor a GPU.

    pallas_programs.py FOLDER

Writes each kernel unchanged, moved to other lines of another file, and with another constant. Reports and skips kernels
that this JAX cannot lower on this machine. (Mosaic for GPUs needs the package absl-py.)
"""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
from jax import export

SOURCE = """
import jax
from jax.experimental import pallas as pl

def kernel(x_ref, o_ref):
    @pl.when(pl.program_id(0) == 0)
    def _():
        o_ref[...] = jax.numpy.zeros_like(o_ref)
    o_ref[...] += x_ref[...] * 2.0

def program(x):
    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return pl.pallas_call(
        kernel, out_shape=shape, grid=(4,), in_specs=[block], out_specs=block, compiler_params=PARAMS
    )(x)
"""

VARIANTS = {
    "": ("/job/kernels.py", SOURCE),
    "_moved": ("/elsewhere/other.py", SOURCE.replace("\ndef ", "\n\n# Moved.\ndef ")),
    "_changed": ("/job/kernels.py", SOURCE.replace("* 2.0", "* 3.0")),
}

TARGETS = ("tpu_custom_call", "mosaic_gpu_v2", "__gpu$xla.gpu.triton")


def params_of(kind):
    if kind == "pallas_tpu":
        from jax.experimental.pallas import tpu

        return tpu.CompilerParams(dimension_semantics=("arbitrary",), vmem_limit_bytes=1 << 24)
    if kind == "pallas_mosaic_gpu":
        from jax.experimental.pallas import mosaic_gpu

        return mosaic_gpu.CompilerParams()
    from jax.experimental.pallas import triton

    return triton.CompilerParams(num_warps=4)


def write(folder, kind, platform):
    version = ".".join(jax.__version__.split(".")[:3])
    argument = jax.ShapeDtypeStruct((32, 128), jnp.float32)
    checks = [export.DisabledSafetyCheck.custom_call(target) for target in TARGETS]
    for suffix, (path, source) in VARIANTS.items():
        names = {"PARAMS": params_of(kind)}
        exec(compile(source, path, "exec"), names)
        program = jax.jit(names["program"])
        exported = export.export(program, platforms=[platform], disabled_checks=checks)(argument)
        name = f"jax-{version}-{kind}{suffix}"
        (folder / f"{name}.mlir").write_bytes(exported.mlir_module_serialized)
        if kind == "pallas_tpu":
            module = program.trace(argument).lower(lowering_platforms=(platform,)).compiler_ir("hlo")
            (folder / f"{name}.hlo").write_bytes(module.as_serialized_hlo_module_proto())


def main():
    for kind, platform in (("pallas_tpu", "tpu"), ("pallas_mosaic_gpu", "cuda"), ("pallas_triton", "cuda")):
        try:
            write(Path(sys.argv[1]), kind, platform)
        except Exception as error:  # a GPU or package is missing; each JAX release raises another error
            print(f"{kind}: {type(error).__name__}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
