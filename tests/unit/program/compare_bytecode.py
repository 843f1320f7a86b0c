"""Compares rekindle's reader of MLIR bytecode with the parser of an installed jaxlib, operation by operation.

    compare_bytecode.py [--versions] [--least N] MODEL_DUMP PATH…

PATH is a program (.mlir), a stored program (.rkp), or a folder of such files. For each program both must have the same
operations in the same order and nesting, the same operands, result types and argument types, attributes by name and
value, and, as text, every location. The text that rekindle prints must contain exactly this. With --versions jaxlib
also writes each program in all versions of the encoding, as StableHLO and as VHLO of many releases, and these are
compared, too. Needs a Python with jaxlib. Exits with 1 if anything differs, was kept as bytes or took more memory than
promised, or if there are fewer than N programs.
"""

import argparse
import collections
import ctypes
import ctypes.util
import functools
import io
import json
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import jaxlib
from jax._src.interpreters import mlir as jax_mlir
from jaxlib import _jax
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jax._src.lib import tpu

import expected_text

RKP_HEAD_BYTES = 256
SHOWN_DIFFERENCES = 12
MEMORY_TIMES, MEMORY_LEAST_BYTES = 64, 1 << 18  # relative to the program's bytes: the promise of the readers
ENCODINGS = range(7)
RELEASES = (
    "0.9.0 0.11.0 0.13.0 0.14.0 0.17.0 1.0.0 1.1.0 1.4.0 1.5.0 1.6.0 1.9.0 1.10.0 1.12.0 1.13.0 1.15.0 1.17.0"
).split()

KIND, NAME, WIDTH, VALUE, BYTES, FIELDS = range(6)


# --- Files ----------------------------------------------------------------------------------------------


@functools.cache
def zstd():
    return ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")


def decompress(data, size):
    out = ctypes.create_string_buffer(size)
    zstd().ZSTD_decompress.restype = ctypes.c_size_t
    assert zstd().ZSTD_decompress(out, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data))) == size
    return out.raw


def program_bytes(path):
    """Returns the program of a file; in a stored program it is the payload (docs/format.md)."""
    data = path.read_bytes()
    if path.suffix != ".rkp":
        return data
    sections = [struct.unpack_from("<QQ", data, 168 + 16 * i) for i in range(3)]
    at = RKP_HEAD_BYTES + sections[0][0] + sections[1][0]
    stored, size = sections[2]
    payload = data[at : at + stored]
    return decompress(payload, size) if data[234] else payload


def files(paths):
    for path in map(Path, paths):
        if path.is_dir():
            yield from sorted(p for p in path.rglob("*") if p.suffix in (".mlir", ".rkp", ".bin"))
        else:
            yield path


# --- rekindle's model as MLIR text ----------------------------------------------------------------------


def quoted(raw):
    text = "".join(
        "\\\\" if c == 0x5C else chr(c) if 0x20 <= c < 0x7F and c != 0x22 else f"\\{c:02X}" for c in raw
    )
    return f'"{text}"'


def octets(node):
    return bytes.fromhex(node[BYTES])


def ints(node):
    return [x for (x,) in struct.iter_unpack("<q", octets(node))]


def fields(node):
    return {name: child for name, child in node[FIELDS]}


def children(node):
    return [child for _, child in node[FIELDS]]


DYNAMIC = -(1 << 63)


def shape(dims):
    return "".join("?x" if d == DYNAMIC else f"{d}x" for d in dims)


def type_text(node, is_vhlo=False):
    """Returns a type in the spelling of builtin MLIR, also for VHLO."""
    if node[KIND] == "opaque":
        return octets(node).decode()
    assert node[KIND] == "type", node
    name, inner = node[NAME], node[FIELDS]
    if name == "function":
        parts = fields(node)
        ins, outs = (", ".join(map(type_text, children(parts[k]))) for k in ("inputs", "results"))
        if len(children(parts["results"])) != 1 and not is_vhlo:
            outs = f"({outs})"
        ins = "()" if is_vhlo and not ins else ins
        return f"({ins}) -> {outs}"
    if name == "tensor":
        tail = "".join(f", {builtin_text(child)}" for key, child in inner if key == "encoding")
        return f"tensor<{shape(ints(node))}{type_text(inner[0][1])}{tail}>"
    if name == "vector":
        return f"vector<{shape(ints(node))}{type_text(inner[0][1])}>"
    if name == "memref":
        shown = [f"{shape(ints(node))}{type_text(inner[0][1])}"]
        for key, child in inner[1:]:
            text = builtin_text(child)
            identity = re.fullmatch(r"affine_map<(\(.*\)) -> (\(.*\))>", text)
            shown += [] if key == "layout" and identity and identity[1] == identity[2] else [text]
        return f"memref<{', '.join(shown)}>"
    if name == "tuple":
        return "tuple<" + ", ".join(map(type_text, children(inner[0][1]))) + ">"
    if name == "complex":
        return f"complex<{type_text(inner[0][1])}>"
    if name == "quantized":
        return "quantized"
    assert not inner, node
    return {"token": "!stablehlo.token"}.get(name, name)


def bools(node, count):
    raw = octets(node)
    if len(raw) == 1 and raw[0] == 0xFF:
        return [True] * count
    if len(raw) == count:
        return [b != 0 for b in raw]
    if len(raw) == (count + 7) // 8:
        return [bool(raw[i // 8] >> (i % 8) & 1) for i in range(count)]
    assert len(raw) == 1, (len(raw), count)
    return [raw[0] != 0] * count


def nested(values, dims):
    if not dims:
        return values[0]
    step = len(values) // dims[0] if dims[0] else 0
    return "[" + ", ".join(nested(values[i * step : (i + 1) * step], dims[1:]) for i in range(dims[0])) + "]"


def printed(source):
    """Returns an attribute as jaxlib prints it. Uses a list, because jaxlib's Python classes do not cover all kinds."""
    return str(ir.Attribute.parse(f"[{source}]"))[1:-1]


def elements_text(node):
    kind = children(node)[0]
    text = type_text(kind)
    dims = ints(kind)
    count = 1
    for d in dims:
        count *= d
    if count == 0 and not node[BYTES]:
        source = f"dense<> : {text}"
    elif type_text(children(kind)[0]) == "i1":
        source = f"dense<{nested(['true' if b else 'false' for b in bools(node, count)], dims)}> : {text}"
    else:
        source = f'dense<"0x{node[BYTES].upper()}"> : {text}'
    return printed(source)


def ints_text(node):
    values = ints(node)
    return printed(f"dense<[{', '.join(map(str, values))}]> : tensor<{len(values)}xi64>")


def number_text(node):
    kind = type_text(children(node)[0])
    if node[KIND] == "float":
        digits = max(2, (node[WIDTH] + 3) // 4)
        return printed(f"0x{node[VALUE]:0{digits}X} : {kind}")
    value = node[VALUE]
    if not kind.startswith("ui") and value >> (node[WIDTH] - 1):
        value -= 1 << node[WIDTH]
    return f"{value} : {kind}"


def axis(node):
    parts = fields(node)
    text = quoted(octets(parts["name"]))
    if "sub_axis_info" in parts:
        sub = fields(parts["sub_axis_info"])
        text += f":({sub['pre_size'][VALUE]}){sub['size'][VALUE]}"
    return text


def dim_sharding(node):
    parts = fields(node)
    axes = [axis(child) for child in children(parts["axes"])]
    if not parts["is_closed"][VALUE]:
        axes.append("?")
    priority = f"p{parts['priority'][VALUE]}" if "priority" in parts else ""
    return "{" + ", ".join(axes) + "}" + priority


def sharding(node):
    parts = fields(node)
    mesh = parts["mesh"]
    text = "@" + octets(mesh).decode() if mesh[KIND] == "symbol" else mesh_text(mesh)
    text += ", [" + ", ".join(map(dim_sharding, children(parts["dims"]))) + "]"
    for name, word in (("replicated_axes", "replicated"), ("unreduced_axes", "unreduced")):
        if name in parts and children(parts[name]):
            text += f", {word}=" + "{" + ", ".join(map(axis, children(parts[name]))) + "}"
    return text


def mesh_text(node):
    parts = fields(node)
    axes = [
        f"{quoted(octets(a['name']))}={a['size'][VALUE]}" for a in map(fields, children(parts["axes"]))
    ]
    text = "mesh<[" + ", ".join(axes) + "]"
    if ints(parts["device_ids"]):
        text += ", device_ids=[" + ", ".join(map(str, ints(parts["device_ids"]))) + "]"
    return text + ">"


def factor(index):
    return chr(ord("i") + index) if index < 18 else f"z_{index - 17}"


def mappings(node):
    tensors = []
    for tensor in children(node):
        dims = ("".join(map(factor, ints(children(dim)[0]))) for dim in children(children(tensor)[0]))
        tensors.append("[" + ", ".join(dims) + "]")
    return "(" + ", ".join(tensors) + ")"


def sharding_rule(node):
    parts = fields(node)
    sizes = (f"{factor(i)}={size}" for i, size in enumerate(ints(parts["factor_sizes"])))
    text = f"{mappings(parts['operand_mappings'])}->{mappings(parts['result_mappings'])} " + "{"
    text += ", ".join(sizes) + "}"
    for word in ("reduction", "need_replication", "permutation", "blocked_propagation"):
        if factors := ints(parts[word + "_factors"]):
            text += f" {word}=" + "{" + ", ".join(map(factor, factors)) + "}"
    return text + (", custom" if parts["is_custom"][VALUE] else "")


def sdy_text(node):
    name = node[NAME]
    if name == "op_sharding_rule":
        return f"#sdy.op_sharding_rule<{sharding_rule(node)}>"
    if name == "mesh":
        return "#sdy." + mesh_text(node)
    if name == "sharding":
        return f"#sdy.sharding<{sharding(node)}>"
    if name == "sharding_per_value":
        return "#sdy.sharding_per_value<[" + ", ".join(
            f"<{sharding(child)}>" for child in children(children(node)[0])
        ) + "]>"
    if name == "manual_axes":
        return "#sdy<manual_axes{" + ", ".join(quoted(octets(c)) for c in children(children(node)[0])) + "}>"
    return None


def convolution(parts):
    def one(batch, feature, spatial, letters):
        names = {parts[batch][VALUE]: letters[0], parts[feature][VALUE]: letters[1]}
        names |= {dim: str(i) for i, dim in enumerate(ints(parts[spatial]))}
        return "[" + ", ".join(names[i] for i in sorted(names)) + "]"

    left = one("input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions", "bf")
    kernel = one(
        "kernel_output_feature_dimension", "kernel_input_feature_dimension", "kernel_spatial_dimensions", "oi"
    )
    right = one("output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions", "bf")
    return f"#stablehlo.conv<{left}x{kernel}->{right}>"


def stablehlo_text(node):
    """Formats structures that VHLO splits. Like jaxlib, omits empty lists and, in scatter and gather, zeros."""
    name, parts = node[NAME], fields(node)
    if name == "conv":
        return convolution(parts)
    if name in ("dot", "gather", "scatter"):
        shown = (
            f"{key} = {ints(part) if part[KIND] == 'ints' else part[VALUE]}"
            for key, part in parts.items()
            if (ints(part) if part[KIND] == "ints" else part[VALUE])
        )
        return f"#stablehlo.{name}<{', '.join(shown)}>"
    if name == "output_operand_alias":
        shown = (f"{key} = {ints(part) if part[KIND] == 'ints' else part[VALUE]}" for key, part in parts.items())
        return f"#stablehlo.output_operand_alias<{', '.join(shown)}>"
    if name == "result_accuracy":
        return f"#stablehlo.result_accuracy<mode = {builtin_text(parts['mode'])}>"
    if name == "channel_handle":
        return f"#stablehlo.channel_handle<handle = {parts['handle'][VALUE]}, type = {parts['type'][VALUE]}>"
    return None


def vhlo_struct_text(node):
    if node[NAME] == "result_accuracy":
        parts = fields(node)
        atol, rtol = (number_text(parts[k]).split(" ")[0] for k in ("atol", "rtol"))
        mode = vhlo_text(parts["mode"])
        return f"#vhlo.result_accuracy<atol = {atol}, rtol = {rtol}, ulps = {parts['ulps'][VALUE]}, mode = {mode}>"
    if node[NAME] == "output_operand_alias":
        parts = fields(node)
        return (
            f"#vhlo.output_operand_alias<outputTupleIndices = {ints(parts['output_tuple_indices'])}, "
            f"operandIndex = {parts['operand_index'][VALUE]}, "
            f"operandTupleIndices = {ints(parts['operand_tuple_indices'])}>"
        )
    return builtin_text(node)


def builtin_text(node):
    kind = node[KIND]
    if kind == "bool":
        return "true" if node[VALUE] else "false"
    if kind in ("int", "float"):
        return number_text(node)
    if kind == "string":
        return quoted(octets(node))
    if kind == "symbol":
        name = octets(node).decode()
        name = name if re.fullmatch(r"[A-Za-z_][\w$.]*", name) else quoted(octets(node))
        return "".join(["@" + name] + ["::" + builtin_text(child) for child in children(node)])
    if kind == "list":
        return "[" + ", ".join(map(builtin_text, children(node))) + "]"
    if kind == "dict":
        items = (
            name if child[KIND] == "unit" else f"{name} = {builtin_text(child)}" for name, child in node[FIELDS]
        )
        return "{" + ", ".join(items) + "}"
    if kind == "unit":
        return "unit"
    if kind == "ints":
        return "array<i64" + (": " + ", ".join(map(str, ints(node))) if ints(node) else "") + ">"
    if kind == "elements":
        return elements_text(node)
    if kind == "type":
        return type_text(node)
    if kind == "enum":
        return f"#stablehlo<{node[NAME]} {octets(node).decode()}>"
    if kind == "opaque":
        return octets(node).decode(errors="replace")
    return sdy_text(node) or stablehlo_text(node) or f"no text for {node}"


def vhlo_text(node):
    kind = node[KIND]
    if kind == "bool":
        return f"#vhlo.bool<{'true' if node[VALUE] else 'false'}>"
    if kind == "int":
        return f"#vhlo.integer<{number_text(node)}>"
    if kind == "float":
        return f"#vhlo.float<{number_text(node)}>"
    if kind in ("string", "symbol"):
        return f"#vhlo.string<{quoted(octets(node))}>"
    if kind == "list":
        return "#vhlo.array<[" + ", ".join(map(vhlo_text, children(node))) + "]>"
    if kind == "dict":
        items = (f"#vhlo.string<{quoted(n.encode())}> = {vhlo_text(child)}" for n, child in node[FIELDS])
        return "#vhlo.dict<{" + ", ".join(items) + "}>"
    if kind == "ints":
        return f"#vhlo.tensor<{ints_text(node)}>"
    if kind == "elements":
        return f"#vhlo.tensor<{elements_text(node)}>"
    if kind == "type":
        return f"#vhlo.type<{type_text(node, is_vhlo=True)}>"
    if kind == "enum":
        return f"#vhlo<{node[NAME]} {octets(node).decode()}>"
    return vhlo_struct_text(node) if kind == "struct" else builtin_text(node)


def like(theirs, node):
    """Formats a node as `theirs`: StableHLO has arrays and 1-D constants, the model one form for both."""
    if node[KIND] == "ints" and theirs.startswith("dense<"):
        return ints_text(node)
    if node[KIND] == "elements" and (array := re.match(r"array<i(\d+)", theirs)):
        size = max(1, int(array[1]) // 8)
        raw = octets(node)
        parts = (raw[at : at + size] for at in range(0, len(raw), size))
        values = [str(int.from_bytes(part, "little", signed=True)) for part in parts]
        if array[1] == "1":
            values = ["true" if value != "0" else "false" for value in values]
        return array[0] + (": " if values else "") + ", ".join(values) + ">"
    return builtin_text(node)


def location_text(node):
    """Returns a location as jaxlib prints it, without the ends of ranges, which the model does not keep."""
    if node is None or node[KIND] == "loc_unknown":
        return "unknown"
    inner = [location_text(child) for name, child in node[FIELDS] if name != "metadata"]
    if node[KIND] == "loc_file":
        return f"{quoted(octets(node))}:{node[VALUE] >> 32}:{node[VALUE] & 0xFFFFFFFF}"
    if node[KIND] == "loc_name":
        return quoted(octets(node)) + ("" if inner[0] == "unknown" else f"({inner[0]})")
    if node[KIND] == "loc_call":
        return f"callsite({inner[0]} at {inner[1]})"
    return f"fused[{', '.join(inner)}]"


# --- jaxlib's side --------------------------------------------------------------------------------------


def plain(text):
    """Returns jaxlib's text of an attribute or type without versions, and with VHLO types in builtin spelling."""
    text = re.sub(r"!vhlo\.bool_v\d+", "i1", text)
    text = re.sub(r"!vhlo\.token_v\d+", "!stablehlo.token", text)
    while found := re.search(r"!vhlo\.func_v\d+<", text):
        depth, end = 1, found.end()
        while depth:
            if text[end] == "<":
                depth += 1
            elif text[end] == ">" and text[end - 1] != "-":
                depth -= 1
            end += 1
        text = text[: found.start()] + text[found.end() : end - 1] + text[end:]
    text = re.sub(r"!vhlo\.(\w+?)_v\d+\b", r"\1", text)
    text = text.replace("tf31", "tf32")
    return re.sub(r"#vhlo([.<]\w+?)_v\d+\b", r"#vhlo\1", text)


def attribute_text(operation, name):
    try:
        return str(operation.attributes[name])
    except TypeError as error:  # jaxlib has no Python class for complex constants, but the error contains the text
        return re.search(r"\(Attribute\((.*)\)\)$", str(error), re.DOTALL)[1]


def their_location(location):
    text = str(location)
    text = text[4:-1] if text.startswith("loc(") else text
    text = re.sub(r'("[^"]*":\d+:\d+) to (\d*:\d+)', r"\1", text)
    return text


RENAMED = {"vhlo.func": "func.func", "vhlo.call": "func.call"}


def their_name(operation):
    name = re.sub(r"_v\d+$", "", operation.name) if operation.name.startswith("vhlo.") else operation.name
    if name == "vhlo.return":
        parent = re.sub(r"_v\d+$", "", operation.parent.operation.name)
        return "func.return" if parent in ("vhlo.func", "func.func") else "stablehlo.return"
    return RENAMED.get(name, name.replace("vhlo.", "stablehlo.", 1))


class Difference(Exception):
    pass


class Comparison:
    def __init__(self):
        self.ours = []  # operations, as model_dump writes them
        self.opaque = self.peak_bytes = 0
        self.counts = collections.Counter()
        self.differences = []
        self.values = {}  # jaxlib's values to the model's
        self.next = 0
        self.pending = []

    def check(self, what, theirs, ours, where):
        self.counts[what] += 1
        if theirs != ours:
            self.differences.append(f"{where}: {what}\n    jaxlib:   {theirs}\n    rekindle: {ours}")

    def define(self, theirs, ours, where):
        self.check("values", len(theirs), len(ours), where)
        for value, (number, kind, location) in zip(theirs, ours):
            self.values[value] = number
            self.check("types", plain(str(value.type)), type_text(kind), where)
            if location is not None:
                self.check("argument locations", their_location(value.location), location_text(location), where)

    def operation(self, theirs, index):
        if index != self.next:
            raise Difference(f"operation {index} where {self.next} was next")
        self.next += 1
        ours = self.ours[index]
        where = f"operation {index}, {ours['op']}"
        self.check("operations", their_name(theirs), ours["op"], where)
        self.define(list(theirs.results), ours["results"], where)
        self.pending.append((list(theirs.operands), ours["operands"], where))
        self.attributes(theirs, ours, where)
        self.check("locations", their_location(theirs.location), location_text(ours["location"]), where)
        self.check("successors", len(list(theirs.successors)), len(ours["successors"]), where)
        if len(theirs.regions) != len(ours["regions"]):
            raise Difference(f"{where}: {len(theirs.regions)} regions, not {len(ours['regions'])}")
        for region, blocks in zip(theirs.regions, ours["regions"]):
            if len(region.blocks) != len(blocks):
                raise Difference(f"{where}: {len(region.blocks)} blocks, not {len(blocks)}")
            for block, mine in zip(region.blocks, blocks):
                self.define(list(block.arguments), mine["args"], where)
                operations = list(block.operations)
                if len(operations) != len(mine["ops"]):
                    raise Difference(f"{where}: {len(operations)} operations, not {len(mine['ops'])}")
                for child, number in zip(operations, mine["ops"]):
                    self.operation(child.operation, number)

    def attributes(self, theirs, ours, where):
        attributes = {}
        for item in theirs.attributes:
            name = item if isinstance(item, str) else item.name
            attributes[name] = plain(attribute_text(theirs, name))
        is_vhlo = theirs.name.startswith("vhlo.")
        mine = {
            name: vhlo_text(node) if is_vhlo else like(attributes.get(name, ""), node)
            for name, node in ours["attrs"]
        }
        self.check("names of attributes", sorted(attributes), list(mine), where)
        for name in attributes.keys() & mine.keys():
            self.check("attributes", attributes[name], mine[name], f"{where}, {name}")

    def operands(self):
        for theirs, ours, where in self.pending:
            self.check("operands", [self.values[value] for value in theirs], ours, where)


def read(model_dump, path):
    done = subprocess.run([model_dump, "--locations", str(path)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Difference(done.stderr.strip())
    *operations, summary = map(json.loads, done.stdout.splitlines())
    return operations, summary


def compare_text(comparison, model_dump, path):
    """The printed text contains exactly the compared operations."""
    command = [model_dump, "--text", str(path)]
    text = subprocess.run(command, capture_output=True, check=True).stdout.decode(errors="surrogateescape")
    comparison.counts["lines of text"] += text.count("\n")
    for wanted, line in expected_text.differences(comparison.ours, text):
        comparison.differences.append(f"text:\n    expected: {wanted}\n    printed:  {line}")


def compare(model_dump, code, scratch):
    scratch.write_bytes(code)
    comparison = Comparison()
    try:
        comparison.ours, summary = read(model_dump, scratch)
        comparison.peak_bytes, comparison.opaque = summary["peak_bytes"], summary["opaque"]
        if comparison.opaque:
            comparison.differences.append(f"kept as bytes: {comparison.opaque}: {summary['reason']}")
        compare_operations(comparison, code)
        compare_text(comparison, model_dump, scratch)
    except Difference as difference:
        comparison.differences.append(str(difference))
    return comparison


def compare_operations(comparison, code):
    with jax_mlir.make_ir_context() as context:
        stablehlo.register_interpreter_dialect(context)
        tpu.register_dialect(context)  # for kernels inside custom calls
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(code, context)
        comparison.operation(module.operation, 0)
        comparison.operands()
        if comparison.next != len(comparison.ours):
            raise Difference(f"{len(comparison.ours)} operations, not {comparison.next}")


def versions(code):
    """Yields the program as jaxlib writes it in other versions; skips versions that cannot express it."""
    with jax_mlir.make_ir_context() as context:
        module = stablehlo.deserialize_portable_artifact(context, code)
        for version in ENCODINGS:
            out = io.BytesIO()
            module.operation.write_bytecode(out, desired_version=version)
            yield f"StableHLO, encoding {version}", out.getvalue()
        for release in [*RELEASES, stablehlo.get_current_version()]:
            try:
                again = _jax.mlir.serialize_portable_artifact(module, release, True)
            except Exception as error:  # noqa: BLE001 (jaxlib's error class has no public name)
                assert "version" in str(error).lower() or "legalize" in str(error), error
                continue
            yield f"VHLO {release}", again


class Report:
    """Collects the results of all programs, and formats the summary."""

    def __init__(self):
        self.programs = self.different = self.as_bytes = 0
        self.counts = collections.Counter()
        self.most_memory = 0.0

    def add(self, name, code, comparison):
        """Adds one comparison and prints its differences."""
        self.programs += 1
        self.counts += comparison.counts
        self.as_bytes += bool(comparison.opaque)
        over = comparison.peak_bytes - MEMORY_TIMES * len(code) - MEMORY_LEAST_BYTES
        if over > 0:
            comparison.differences.append(f"reading took {comparison.peak_bytes} bytes for {len(code)}")
        if len(code) >= MEMORY_LEAST_BYTES // MEMORY_TIMES:
            self.most_memory = max(self.most_memory, comparison.peak_bytes / len(code))
        if comparison.differences:
            self.different += 1
            print(f"{name}: {len(comparison.differences)} differences")
            for text in comparison.differences[:SHOWN_DIFFERENCES]:
                print("  " + text)

    def failed(self, least):
        return bool(self.different or self.as_bytes or self.programs < least)

    def summary(self, least):
        counted = [f"{n:,} {what}" for what, n in sorted(self.counts.items(), key=lambda item: -item[1])]
        return (
            f"MLIR bytecode against jaxlib {jaxlib.__version__}: {self.programs} programs "
            f"(at least {least} wanted), {self.different} differ, {self.as_bytes} kept as bytes\n"
            f"  compared: {', '.join(counted)}\n"
            f"  most memory for reading: {self.most_memory:.1f} times the program ({MEMORY_TIMES} promised)"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--versions", action="store_true", help="each program in all versions of the encoding too")
    parser.add_argument("--least", type=int, default=1, metavar="N", help="fewer programs are a failure")
    parser.add_argument("model_dump", type=Path)
    parser.add_argument("paths", nargs="+", type=Path, metavar="path")
    arguments = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        for path in files(arguments.paths):
            code = program_bytes(path)
            for name, form in [("", code), *(versions(code) if arguments.versions else ())]:
                comparison = compare(arguments.model_dump, form, Path(folder) / "program.mlir")
                report.add(f"{path.name} {name}".rstrip(), form, comparison)
    print(report.summary(arguments.least))
    return report.failed(arguments.least)


if __name__ == "__main__":
    sys.exit(main())
