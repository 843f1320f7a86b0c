"""Writes programs of 1 KB to 100 MB for bench/fingerprint, as JAX hands them to a plugin. Compiles none.

    fingerprint_programs.py FOLDER [--small]

Names of files are SERIES.SIZE.FORMAT. The series:

    transformer  train steps of examples/train_transformer.py, with more and more layers
    constants    a small program with more and more constant data
    text_…       the same as MLIR text, which clients other than JAX and PyTorch/XLA send
    copies       a train step whose functions (in HLO: computations) are copied until the program is large
                 enough: many operations, without hours of tracing

--small leaves out programs above 20 MB, and one that takes half a minute to trace.
"""

import argparse
import os
import sys
from pathlib import Path

os.environ["JAX_PLATFORMS"] = "cpu"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))

import jax  # noqa: E402
import numpy as np  # noqa: E402
import train_transformer  # noqa: E402
from jax._src.interpreters.mlir import make_ir_context  # noqa: E402
from jaxlib.mlir import ir  # noqa: E402
from jaxlib.mlir.dialects import stablehlo  # noqa: E402
from jaxlib._jax import mlir as portable  # noqa: E402

LAYERS = (1, 4, 16, 48, 128)
SMALL_LAYERS = 48
COPIED_LAYERS = 4
CONSTANT_BYTES = (1 << 10, 1 << 16, 1 << 20, 10 << 20, 100 << 20)
COPIES_MLIR_BYTES = (2 << 20, 10 << 20)  # jaxlib needs a second per megabyte
COPIES_HLO_BYTES = (2 << 20, 10 << 20, 100 << 20)
SMALL_BYTES = 20 << 20


def bytecode(module):
    return portable.serialize_portable_artifact(module, stablehlo.get_current_version(), True)


def text(code):
    """The program as MLIR text; its constants are hexadecimal."""
    with make_ir_context() as context:
        return stablehlo.deserialize_portable_artifact(context, code).operation.get_asm().encode()


def lowered_hlo(lowered):
    return lowered.compiler_ir("hlo").as_serialized_hlo_module_proto()


def lower_step(layers):
    state = jax.eval_shape(lambda: train_transformer.init(0, layers))
    tokens = jax.ShapeDtypeStruct((8, train_transformer.SEQUENCE + 1), np.int32)
    return jax.jit(train_transformer.train_step.__wrapped__, donate_argnums=0).lower(state, tokens)


def lower_constants(size):
    values = np.random.default_rng(0).standard_normal((4, size // 16)).astype(np.float32)
    return jax.jit(lambda x: [x + row for row in values]).lower(values[0])


def copies_mlir(module, wanted_bytes):
    """Returns the module with enough copies of its main function to fill `wanted_bytes`."""
    with module.context:
        module = ir.Module.parse(str(module))
        main = next(op for op in module.body.operations if op.attributes["sym_name"].value == "main")

        def add(numbers):
            for number in numbers:
                copy = main.operation.clone(ip=ir.InsertionPoint(module.body))
                copy.attributes["sym_name"] = ir.StringAttr.get(f"copy_{number}")

        add([0])
        one = len(bytecode(module))
        add([1])
        two = len(bytecode(module))
        add(range(2, 2 + (wanted_bytes - two) // (two - one)))
        return bytecode(module)


# Encodes HloModuleProto by hand: jaxlib cannot copy computations. Field numbers: xla/service/hlo.proto.
MODULE_COMPUTATIONS = 3
COMPUTATION_NAME, COMPUTATION_INSTRUCTIONS, COMPUTATION_ID, COMPUTATION_ROOT = 1, 2, 5, 6
INSTRUCTION_ID, INSTRUCTION_OPERANDS, INSTRUCTION_CONTROL, INSTRUCTION_CALLED = 35, 36, 37, 38


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def read_varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """Yields (number, value, all bytes of the field) for the fields of a message; value is a number or bytes."""
    at = 0
    while at < len(data):
        start = at
        tag, at = read_varint(data, at)
        if tag & 7 == 0:
            value, at = read_varint(data, at)
        else:
            size, at = read_varint(data, at) if tag & 7 == 2 else ({1: 8, 5: 4}[tag & 7], at)
            value, at = data[at : at + size], at + size
        yield tag >> 3, value, data[start:at]


def with_length(number, body):
    return varint(number << 3 | 2) + varint(len(body)) + body


def identifiers(value):
    """The identifiers in one occurrence of a repeated field, packed or not."""
    if isinstance(value, int):
        return [value]
    found, at = [], 0
    while at < len(value):
        one, at = read_varint(value, at)
        found.append(one)
    return found


class Message:
    """The fields of a message, in order. Fields with identifiers differ from copy to copy."""

    def __init__(self, data, singular, repeated, others=()):
        self.parts, self.others = [], []
        for number, value, whole in fields(data):
            if number in singular:
                self.parts.append((number, [value], False))
            elif number in repeated:
                self.parts.append((number, identifiers(value), True))
            elif number in others:
                self.others.append((number, value))
            else:
                self.parts.append((number, None, whole))

    def shifted(self, offset):
        out = []
        for number, ids, rest in self.parts:
            if ids is None:
                out.append(rest)
            elif rest:
                out.append(with_length(number, b"".join(varint(value + offset) for value in ids)))
            else:
                out.append(varint(number << 3) + varint(ids[0] + offset))
        return b"".join(out)

    def largest(self):
        return max((ids[0] for _, ids, rest in self.parts if ids and rest is False), default=0)


class Computation(Message):
    def __init__(self, data):
        super().__init__(
            data, (COMPUTATION_ID, COMPUTATION_ROOT), (), (COMPUTATION_NAME, COMPUTATION_INSTRUCTIONS)
        )
        self.name = dict(self.others)[COMPUTATION_NAME]
        lists = (INSTRUCTION_OPERANDS, INSTRUCTION_CONTROL, INSTRUCTION_CALLED)
        self.instructions = [
            Message(value, (INSTRUCTION_ID,), lists)
            for number, value in self.others
            if number == COMPUTATION_INSTRUCTIONS
        ]

    def copy(self, number, offset):
        body = with_length(COMPUTATION_NAME, self.name + f".copy{number}".encode())
        body += b"".join(with_length(COMPUTATION_INSTRUCTIONS, i.shifted(offset)) for i in self.instructions)
        return with_length(MODULE_COMPUTATIONS, body + self.shifted(offset))

    def largest(self):
        return max(super().largest(), *(i.largest() for i in self.instructions))


def copies_hlo(module, wanted_bytes):
    """Returns the module with enough copies of all its computations to fill `wanted_bytes`."""
    computations = [Computation(value) for number, value, _ in fields(module) if number == MODULE_COMPUTATIONS]
    stride = max(computation.largest() for computation in computations)
    out, size = [module], len(module)
    while size < wanted_bytes:
        number = len(out)
        out.append(b"".join(c.copy(number, number * stride) for c in computations))
        size += len(out[-1])
    return b"".join(out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--small", action="store_true")
    arguments = parser.parse_args()

    def sizes(wanted):
        return [size for size in wanted if not arguments.small or size <= SMALL_BYTES]

    def write(series, format, data):
        (arguments.folder / f"{series}.{len(data):010}.{format}").write_bytes(data)
        if format == "mlir" and not series.startswith("text_"):
            write(f"text_{series}", format, text(data))

    for layers in LAYERS:
        if arguments.small and layers > SMALL_LAYERS:
            continue
        lowered = lower_step(layers)
        mlir, hlo = lowered.compiler_ir(), lowered_hlo(lowered)
        write("transformer", "mlir", bytecode(mlir))
        write("transformer", "hlo", hlo)
        if layers == COPIED_LAYERS:
            for size in sizes(COPIES_MLIR_BYTES):
                write("copies", "mlir", copies_mlir(mlir, size))
            for size in sizes(COPIES_HLO_BYTES):
                write("copies", "hlo", copies_hlo(hlo, size))
    for size in sizes(CONSTANT_BYTES):
        lowered = lower_constants(size)
        write("constants", "mlir", bytecode(lowered.compiler_ir()))
        write("constants", "hlo", lowered_hlo(lowered))


if __name__ == "__main__":
    main()
