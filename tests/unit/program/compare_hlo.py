#!/usr/bin/env python3
"""Compares rekindle's reading of HLO programs with the text that an installed jaxlib prints for the same bytes.

    compare_hlo.py [--models] [--least N] [--model-dump MODEL_DUMP] HLO_DUMP [PROGRAM.hlo...]

Needs a Python with JAX; HLO_DUMP is the built hlo_dump. Without PROGRAM it makes the programs of hlo_programs.py; with
--models also those of Flax and Equinox. With --model-dump it also compares the text that rekindle prints with the
model. Exits with 1 if anything differs, was not understood or took more memory than promised, or if there are fewer
than N programs.

For every instruction it compares opcode, result type with layout, operands, literals bit by bit, and every attribute
in both directions: each printed attribute was read, and each read attribute is printed. For computations it compares
root, order (schedule) and thread; for modules aliasing, donation and attributes. It also compares the location of
every instruction, frame by frame.
"""

import argparse
import json
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import expected_text

MEMORY_TIMES, MEMORY_LEAST_BYTES = 64, 1 << 18  # relative to the program's bytes: the promise of the readers
SHOWN_DIFFERENCES = 200

# --- The model, as hlo_dump writes it -------------------------------------------------------------------


def field(node, name):
    return next((value for key, value in node["fields"] if key == name), None)


def number(node, name, default=0):
    value = field(node, name)
    return default if value is None else plain(value)


def ints(node, name):
    value = field(node, name)
    return value["ints"] if value else []


def plain(node):
    """Returns a scalar as a Python value."""
    if node is None:
        return None
    if node["kind"] in ("string", "symbol", "enum"):
        return node.get("text", "")
    if node["kind"] == "bool":
        return bool(node["value"])
    if node["kind"] == "int":
        value, width = node["value"], node["width"]
        return value - (1 << width) if value >> (width - 1) else value
    if node["kind"] == "float":
        return struct.unpack("<f", struct.pack("<I", node["value"]))[0]
    raise ValueError(node["kind"])


def braces(values):
    return "{" + ",".join(map(str, values)) + "}"


def items(node):
    return [value for _, value in node["fields"]] if node else []


def layout_text(layout):
    rest = "".join("(" + ",".join(tile_dim(d) for d in ints(t, "dimensions")) + ")" for t in items(field(layout, "tiles")))
    rest = rest and "T" + rest
    if number(layout, "tail_padding_alignment_in_elements", 1) != 1:
        rest += f"L({number(layout, 'tail_padding_alignment_in_elements')})"
    if number(layout, "element_size_in_bits"):
        rest += f"E({number(layout, 'element_size_in_bits')})"
    if number(layout, "memory_space"):
        rest += f"S({number(layout, 'memory_space')})"
    known = {"minor_to_major", "tiles", "tail_padding_alignment_in_elements", "element_size_in_bits", "memory_space"}
    assert {key for key, _ in layout["fields"]} <= known, layout
    order = ",".join(map(str, ints(layout, "minor_to_major")))
    return "{" + order + (":" + rest if rest else "") + "}" if order or rest else ""


def tile_dim(dimension):
    return "*" if dimension == -(1 << 63) else str(dimension)


def type_text(node, with_layout=True):
    if node["name"] == "tuple":
        return "(" + ", ".join(type_text(part, with_layout) for part in items(node)) + ")"
    if node["name"] != "tensor":
        return node["name"] + "[]"
    dynamic = set(ints(node, "dynamic_dimensions"))
    dims = []
    for i, size in enumerate(node["ints"]):
        dims.append("?" if size == -(1 << 63) else f"<={size}" if i in dynamic else str(size))
    layout = field(node, "layout")
    text = node["fields"][0][1]["name"] + "[" + ",".join(dims) + "]"
    return text + (layout_text(layout) if layout and with_layout else "")


# --- Attributes, as XLA prints them ---------------------------------------------------------------------


def window_text(window):
    dims = items(field(window, "dimensions"))

    def each(name, default, form=str):
        values = [number(d, name, 0) for d in dims]
        return "x".join(form(v) for v in values) if any(v != default for v in values) else None

    parts = ["size=" + "x".join(str(number(d, "size")) for d in dims)]
    if text := each("stride", 1):
        parts.append("stride=" + text)
    pads = [(number(d, "padding_low"), number(d, "padding_high")) for d in dims]
    if any(p != (0, 0) for p in pads):
        parts.append("pad=" + "x".join(f"{a}_{b}" for a, b in pads))
    for name, label in (("base_dilation", "lhs_dilate"), ("window_dilation", "rhs_dilate")):
        if text := each(name, 1):
            parts.append(f"{label}={text}")
    if any(field(d, "window_reversal") for d in dims):
        parts.append("rhs_reversal=" + "x".join("01"[number(d, "window_reversal", False)] for d in dims))
    return "{" + " ".join(parts) + "}" if dims else None


def dim_labels(n):
    def label(batch, feature, spatial, names):
        out = {number(n, batch): names[0], number(n, feature): names[1]}
        for i, at in enumerate(ints(n, spatial)):
            out[at] = str(i)
        return "".join(out[i] for i in sorted(out))

    return "{}_{}->{}".format(
        label("input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions", "bf"),
        label("kernel_output_feature_dimension", "kernel_input_feature_dimension", "kernel_spatial_dimensions", "oi"),
        label("output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions", "bf"),
    )


def slice_text(node):
    parts = []
    with_steps = any(number(one, "stride", 1) != 1 for one in items(node))
    for one in items(node):
        step = f":{number(one, 'stride', 1)}" if with_steps else ""
        parts.append(f"[{number(one, 'start')}:{number(one, 'limit')}{step}]")
    return "{" + ", ".join(parts) + "}"


def padding_text(node):
    parts = []
    dims = items(field(node, "dimensions"))
    interior = any(number(d, "interior_padding") for d in dims)
    for d in dims:
        text = f"{number(d, 'edge_padding_low')}_{number(d, 'edge_padding_high')}"
        parts.append(text + (f"_{number(d, 'interior_padding')}" if interior else ""))
    return "x".join(parts)


def iota_text(dims, reshape, permutation):
    text = "[" + ",".join(map(str, dims)) + "]<=[" + ",".join(map(str, reshape)) + "]"
    return text + ("T(" + ",".join(map(str, permutation)) + ")" if len(permutation) > 1 else "")


def mesh_text(mesh):
    axes = ",".join(f"'{number(a, 'name', '')}'={number(a, 'size')}" for a in items(field(mesh, "axes")))
    assert {key for key, _ in mesh["fields"]} <= {"axes", "device_ids", "iota_transform"}, mesh
    devices = ints(mesh, "device_ids")
    if order := field(mesh, "iota_transform"):
        transform = iota_text([], ints(order, "reshape_dims"), ints(order, "transpose_perm"))
        return f"mesh[{axes}], device_ids=({transform.removeprefix('[]<=')})"
    return f"mesh[{axes}]" + (f", device_ids=({','.join(map(str, devices))})" if devices else "")


def axis_text(mesh, reference):
    axis = items(field(mesh, "axes"))[number(reference, "mesh_axis_index")]
    sub = field(reference, "sub_axis_info")
    text = f"'{number(axis, 'name', '')}'"
    return text + (f":({number(sub, 'pre_size')}){number(sub, 'size')}" if sub else "")


def sharding_text(node):
    kind = plain(field(node, "type")) or "REPLICATED"
    named = field(node, "named_sharding")
    if named:
        mesh, parts = field(named, "mesh"), []
        for dim in items(field(named, "dim_shardings")):
            axes = [axis_text(mesh, a) for a in items(field(dim, "axes"))]
            parts.append(braces_spaced(axes + ([] if number(dim, "is_closed", False) else ["?"])))
        text = f"{{{mesh_text(mesh)}, [{', '.join(parts)}]"
        for name, label in (("replicated_axes", "replicated"), ("unreduced_axes", "unreduced"), ("manual_axes", "manual")):
            axes = items(field(named, name))
            text += f", {label}={braces_spaced(axis_text(mesh, a) for a in axes)}" if axes else ""
        return text + "}"
    if kind == "TUPLE":
        return "{" + ", ".join(map(sharding_text, items(field(node, "tuple_shardings")))) + "}"
    if kind == "MAXIMAL":
        return f"{{maximal device={ints(node, 'tile_assignment_devices')[0]}}}"
    if kind != "OTHER":
        return "{" + kind.lower() + "}"
    dims, reshape = ints(node, "tile_assignment_dimensions"), ints(node, "iota_reshape_dims")
    if reshape:
        text = iota_text(dims, reshape, ints(node, "iota_transpose_perm"))
    else:
        text = "[" + ",".join(map(str, dims)) + "]" + ",".join(map(str, ints(node, "tile_assignment_devices")))
    if number(node, "replicate_on_last_tile_dim", False):
        text += " last_tile_dim_replicate"
    if field(node, "last_tile_dims"):
        text += " last_tile_dims={" + ", ".join(plain(d).lower() for d in items(field(node, "last_tile_dims"))) + "}"
    return "{devices=" + text + "}"


def braces_spaced(values):
    return "{" + ", ".join(values) + "}"


def device_list(op):
    attrs = op["attrs"]
    if groups := attrs.pop("mesh_axes_replica_group_list", None):
        mesh = field(groups, "mesh")
        return mesh_text(mesh) + " " + "{" + ",".join(axis_text(mesh, a) for a in items(field(groups, "axes"))) + "}"
    if groups := attrs.pop("iota_collective_device_list", None):
        dims = [number(groups, "num_replica_groups"), number(groups, "num_devices_per_group")]
        return iota_text(dims, ints(groups, "iota_reshape_dims"), ints(groups, "iota_transpose_perm"))
    groups = attrs.pop("collective_device_list", None)
    lists = items(field(groups, "replica_groups")) if groups else items(attrs.pop("replica_groups", None))
    attrs.pop("replica_groups", None)
    return braces(braces(ints(g, "replica_ids")) for g in lists)


DIMENSIONS = {
    "dot_dimension_numbers": [
        ("lhs_batch_dims", "lhs_batch_dimensions", False),
        ("lhs_contracting_dims", "lhs_contracting_dimensions", True),
        ("rhs_batch_dims", "rhs_batch_dimensions", False),
        ("rhs_contracting_dims", "rhs_contracting_dimensions", True),
    ],
    "gather_dimension_numbers": [
        ("offset_dims", None, True),
        ("collapsed_slice_dims", None, True),
        ("start_index_map", None, True),
        ("operand_batching_dims", None, False),
        ("start_indices_batching_dims", None, False),
    ],
    "scatter_dimension_numbers": [
        ("update_window_dims", None, True),
        ("inserted_window_dims", None, True),
        ("scatter_dims_to_operand_dims", None, True),
        ("input_batching_dims", None, False),
        ("scatter_indices_batching_dims", None, False),
    ],
}
# XLA prints these under these names, as numbers or words.
SCALARS = {
    "channel_id": "channel_id", "fusion_kind": "kind", "comparison_direction": "direction",
    "batch_group_count": "batch_group_count", "feature_group_count": "feature_group_count",
    "exponent_bits": "exponent_bits", "mantissa_bits": "mantissa_bits", "k": "k", "delta": "delta",
    "feature_index": "feature_index", "custom_call_api_version": "api_version", "fft_type": "fft_type",
    "use_global_device_ids": "use_global_device_ids", "indices_are_sorted": "indices_are_sorted",
    "unique_indices": "unique_indices", "is_stable": "is_stable", "largest": "largest",
    "is_host_transfer": "is_host_transfer", "custom_call_has_side_effect": "custom_call_has_side_effect",
    "is_composite": "is_composite", "constrain_layout": "constrain_layout", "is_reverse": "is_reverse",
    "num_carries": "num_carries", "custom_call_schedule": "schedule",
}  # fmt: skip
DEFAULT_TYPES = {"f": "FLOAT", "b": "FLOAT", "c": "FLOAT", "s": "SIGNED", "u": "UNSIGNED", "p": "UNSIGNED"}
ALWAYS_DIMENSIONS = {
    "broadcast", "transpose", "reduce", "concatenate", "reverse", "sort", "map", "all-gather", "reduce-scatter",
    "set-dimension-size", "get-dimension-size", "all-gather-start",
}  # fmt: skip


def called_text(opcode, names):
    names = ["%" + n for n in names]
    if opcode == "while":
        return {"condition": names[1], "body": names[0]}
    if opcode == "conditional":
        return {"branch_computations": "{" + ", ".join(names) + "}"}
    if opcode == "select-and-scatter":
        return {"select": names[0], "scatter": names[1]}
    if opcode in ("fusion", "async-start"):
        return {"calls": names[0]}
    if opcode == "custom-call":
        return {"called_computations": "{" + ", ".join(names) + "}"}
    assert len(names) == 1, (opcode, names)
    return {"to_apply": names[0]}


def expected_attrs(op, opcode, names, operand_types):
    """Returns XLA's text for the attributes of the model; removes the used ones from op["attrs"]."""
    attrs, out = op["attrs"], {}
    take = attrs.pop
    for name, label in SCALARS.items():
        if (node := take(name, None)) is not None:
            value = plain(node)
            out[label] = str(value).lower() if isinstance(value, bool) else str(value)
    if opcode == "get-tuple-element":
        out["index"] = str(plain(take("tuple_index", None)) or 0)
    if opcode == "iota":
        out["iota_dimension"] = str((take("dimensions")["ints"])[0])
    if (node := take("dimensions", None)) or opcode in ALWAYS_DIMENSIONS:
        out["dimensions"] = braces(node["ints"] if node else [])
    if opcode == "rng":
        out["distribution"] = plain(take("distribution")).lower()
    take("distribution", None)
    if opcode == "rng-bit-generator":
        out["algorithm"] = (plain(take("rng_algorithm", None)) or "rng_default").lower()
    if (node := take("comparison_type", None)) is not None:
        if plain(node) != DEFAULT_TYPES[operand_types[0][0]]:
            out["type"] = plain(node)
    if (node := take("comparison_order", None)) is not None:
        if plain(node) != ("PARTIAL" if operand_types[0][0] in "fbc" else "TOTAL"):
            out["order"] = plain(node)
    for name, labels in DIMENSIONS.items():
        if opcode == {"dot_dimension_numbers": "dot", "gather_dimension_numbers": "gather",
                      "scatter_dimension_numbers": "scatter"}[name]:  # fmt: skip
            node = take(name)
            for label, proto_name, always in labels:
                values = ints(node, proto_name or label)
                if values or always:
                    out[label] = braces(values)
            if "dot" not in name:
                out["index_vector_dim"] = str(number(node, "index_vector_dim"))
    if opcode == "gather":
        out["slice_sizes"] = braces(take("gather_slice_sizes", {"ints": []})["ints"])
    if opcode == "dynamic-slice":
        out["dynamic_slice_sizes"] = braces(take("dynamic_slice_sizes", {"ints": []})["ints"])
    if (node := take("window", None)) and (text := window_text(node)):
        out["window"] = text
    if node := take("convolution_dimension_numbers", None):
        out["dim_labels"] = dim_labels(node)
    for label in ("batch_group_count", "feature_group_count"):
        if out.get(label) == "1":
            del out[label]
    if opcode == "slice":
        out["slice"] = slice_text(take("slice_dimensions", None))
    if node := take("padding_config", None):
        out["padding"] = padding_text(node)
    if opcode == "fft":
        out.setdefault("fft_type", "FFT")
        out["fft_length"] = braces(take("fft_length")["ints"])
    if node := take("custom_call_target", None):
        out["custom_call_target"] = json.dumps(plain(node))
    if out.get("api_version") == "API_VERSION_ORIGINAL":
        del out["api_version"]
    if out.pop("constrain_layout", None):
        shapes = items(take("operand_shapes_with_layout", None))
        out["operand_layout_constraints"] = "{" + ", ".join(map(type_text, shapes)) + "}"
    if node := take("output_operand_aliasing", None):
        out["output_to_operand_aliasing"] = "{" + ", ".join(
            f"{{{', '.join(map(str, ints(a, 'output_shape_index')))}}}: ({number(a, 'operand_index')}, "
            f"{{{', '.join(map(str, ints(a, 'operand_shape_index')))}}})" for a in items(node)) + "}"  # fmt: skip
    if node := take("precision_config", None):
        words = [plain(p).lower() for p in items(field(node, "operand_precision"))]
        if any(w != "default" for w in words):
            out["operand_precision"] = braces(words)
        if field(node, "algorithm"):
            out["algorithm"] = plain(field(node, "algorithm")).removeprefix("ALG_").lower()
    if node := take("sharding", None):
        out["sharding"] = sharding_text(node)
    if opcode == "domain":
        # XLA swaps the two when it writes the proto.
        sides = [sharding_text(take(f"domain_{side}_sharding")) for side in ("exit", "entry")]
        out["domain"] = f'{{kind="sharding", entry={sides[0]}, exit={sides[1]}}}'
    if node := take("frontend_attributes", None):
        out["frontend_attributes"] = "{" + ",".join(f"{key}={quoted(plain(v))}" for key, v in node["fields"]) + "}"
    if node := take("backend_config", None):
        text = plain(node)
        out["backend_config"] = text if text.startswith("{") else json.dumps(text)
    for name in ("infeed_config", "outfeed_config"):
        if node := take(name, None):
            out[name] = json.dumps(plain(node))
    if node := take("outfeed_shape", None):
        out["outfeed_shape"] = type_text(node)
    if node := take("source_target_pairs", None):
        out["source_target_pairs"] = braces(braces((number(p, "source"), number(p, "target"))) for p in items(node))
    if opcode.startswith(("all-", "reduce-scatter", "collective-broadcast", "ragged-all-to-all")) and not opcode.endswith("-done"):
        text = device_list(op)
        out["replica_groups"] = text
        if opcode == "all-to-all" and len(out.get("dimensions", "{}")) == 2:
            out.pop("dimensions", None)
    if opcode.startswith("batch-norm-"):
        out["epsilon"] = repr(round(plain(take("epsilon")), 7))
    if node := take("called_computations", None):
        out.update(called_text(opcode, [plain(n) for n in items(node)]))
    if node := take("control_predecessors", None):
        out["control-predecessors"] = "{" + ", ".join("%" + names[i] for i in node["ints"]) + "}"
    if node := take("async_execution_thread", None):
        if plain(node) != "main":
            out["async_execution_thread"] = json.dumps(plain(node))
    if opcode == "triangular-solve":
        solve = take("triangular_solve_options")
        for label in ("left_side", "lower", "unit_diagonal"):
            if number(solve, label, False):
                out[label] = "true"
        out["transpose_a"] = plain(field(solve, "transpose_a"))
    if opcode == "cholesky" and number(take("cholesky_options"), "lower", False):
        out["lower"] = "true"
    if opcode == "parameter":
        take("parameter_number", None)
    return out


def quoted(text):
    return text if text.startswith("{") else json.dumps(text, ensure_ascii=False)


# --- The text that jaxlib prints ------------------------------------------------------------------------

PAIRS = {"(": ")", "{": "}", "[": "]"}


def split_top(text, separator=","):
    """Splits at separators outside brackets and quotes."""
    parts, depth, start, at = [], 0, 0, 0
    while at < len(text):
        c = text[at]
        if c == '"':
            at += 1
            while text[at] != '"':
                at += 2 if text[at] == "\\" else 1
        elif c in PAIRS:
            depth += 1
        elif c in PAIRS.values():
            depth -= 1
        elif c == separator and not depth:
            parts.append(text[start:at].strip())
            start = at + 1
        at += 1
    if text[start:].strip():
        parts.append(text[start:].strip())
    return parts


def closing(text, at):
    """Returns the position of the bracket that closes the one at `at`."""
    depth = 0
    while True:
        c = text[at]
        if c == '"':
            at += 1
            while text[at] != '"':
                at += 2 if text[at] == "\\" else 1
        elif c in PAIRS:
            depth += 1
        elif c in PAIRS.values():
            depth -= 1
            if not depth:
                return at
        at += 1


def unescaped(text):
    """Returns the content of a quoted string, with C escapes decoded."""
    named = {"n": "\n", "r": "\r", "t": "\t"}

    def one(match):
        code = match.group(1)
        return chr(int(code, 8)) if len(code) == 3 else named.get(code, code)

    return re.sub(r"\\([0-7]{3}|.)", one, text).encode("latin-1", "replace").decode(errors="replace")


def parse_instruction(line):
    is_root = line.startswith("ROOT ")
    name, rest = line.removeprefix("ROOT ").split(" = ", 1)
    end = closing(rest, 0) + 1 if rest[0] == "(" else rest.index(" ")
    shape, rest = rest[:end], rest[end:].strip()
    at = rest.index("(")
    end = closing(rest, at)
    attrs, last = {}, None
    for part in split_top(rest[end + 1 :].lstrip(", ")):
        if part.startswith("device_ids="):  # belongs to replica_groups=mesh[..]
            attrs[last] += ", " + part
        else:
            last, value = part.split("=", 1)
            attrs[last] = value
    return {
        "name": name.removeprefix("%"), "root": is_root, "shape": shape, "opcode": rest[:at],
        "operands": rest[at + 1 : end], "attrs": attrs,
    }  # fmt: skip


def parse_text(text):
    """Returns the module's head, and {computation: {"entry", "thread", "instructions"}}."""
    text = re.sub(r"/\*[^*]*\*/", "", text)
    head, computations, current = "", {}, None
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("HloModule"):
            head = line
        elif line.endswith("{") and (line.startswith(("%", "ENTRY"))):
            name = line.removeprefix("ENTRY ").split(" ")[0].removeprefix("%")
            current = {"entry": line.startswith("ENTRY"), "thread": "main", "instructions": []}
            computations[name] = current
        elif line.startswith("}"):
            match = re.search(r'execution_thread="([^"]*)"', line)
            current["thread"] = match.group(1) if match else "main"
            current = None
        elif line and current is not None:
            current["instructions"].append(parse_instruction(line))
    return head, computations


def parse_frames(text):
    """Returns {stack frame: its frames, innermost first, as "function(file:line:column)"} from the module's tables."""
    tables, rows = {}, {}
    for line in text.splitlines():
        if re.fullmatch(r"FileNames|FunctionNames|FileLocations|StackFrames", line):
            rows = tables.setdefault(line, {})
        elif match := re.fullmatch(r'(\d+) "(.*)"', line):
            rows[int(match.group(1))] = match.group(2)
        elif match := re.fullmatch(r"(\d+) \{(.*)\}", line):
            rows[int(match.group(1))] = {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", match.group(2))}
    chains = {}
    for frame, row in tables.get("StackFrames", {}).items():
        chain, parent = [], frame
        while parent:
            row = tables["StackFrames"][parent]
            place = tables["FileLocations"][row["file_location_id"]]
            function = tables["FunctionNames"][place["function_name_id"]]
            file = tables["FileNames"][place["file_name_id"]]
            chain.append(f"{function}({file}:{place['line']}:{place['column']})")
            parent = row["parent_frame_id"] - 1  # printed as one more than it is
        chains[frame] = chain
    return chains


def location_frames(node):
    """Returns a location's frames, innermost first."""
    if node["kind"] == "loc_call":
        return location_frames(node["fields"][0][1]) + location_frames(node["fields"][1][1])
    if node["kind"] == "loc_name":
        return [f"{node['text']}({frame})" for frame in location_frames(node["fields"][0][1])]
    return [f"{node['text']}:{node['value'] >> 32}:{node['value'] & 0xFFFFFFFF}"] if node["kind"] == "loc_file" else []


# --- The names that the model leaves out, from the bytes ------------------------------------------------


def wire(data):
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        else:
            size = varint() if tag & 7 == 2 else 8 if tag & 7 == 1 else 4
            yield tag >> 3, data[at : at + size]
            at += size


def instruction_names(module):
    """Returns {computation: names of its instructions, in file order}."""
    out = {}
    for key, computation in wire(module):
        if key == 3:
            parts = list(wire(computation))
            name = next(v for k, v in parts if k == 1).decode()
            out[name] = [next(v for k, v in wire(i) if k == 1).decode() for n, i in parts if n == 2]
    return out


# --- Literals -------------------------------------------------------------------------------------------


def dtype_of(name):
    import ml_dtypes
    import numpy as np

    names = {"pred": "bool", "c64": "complex64", "c128": "complex128", "bf16": "bfloat16"}
    if name in names:
        name = names[name]
    elif re.fullmatch(r"[suf]\d+", name):
        name = {"s": "int", "u": "uint", "f": "float"}[name[0]] + name[1:]
    else:
        name = {"f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}[name]
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def literal_values(node):
    """Returns the literal's elements in row-major order, as pairs of type name and value."""
    import numpy as np

    if node["kind"] == "list":
        return [value for part in items(node) for value in literal_values(part)]
    name = node["fields"][0][1]["fields"][0][1]["name"]
    count = int(np.prod(node["fields"][0][1]["ints"]))
    data = bytes.fromhex(node["hex"])
    if name in ("s4", "u4"):  # one per byte
        halves = [byte & 15 for byte in data]
        return [("s32", np.int32(n - 16 if name == "s4" and n > 7 else n)) for n in halves]
    values = np.frombuffer(data, dtype_of(name))
    assert len(values) == count, (len(values), count)
    return [(name, v) for v in values]


def same_literal(node, text):
    import numpy as np

    values = literal_values(node)
    body = text.replace("true", "1").replace("false", "0")
    tokens = re.findall(r"-?(?:nan|inf)(?:\(0x[0-9a-f]+\))?|-?\d[\d.]*(?:e[+-]?\d+)?", re.sub(r"[a-z]+\d*\[[\d,]*\]", "", body))
    at = 0
    for name, value in values:
        if name.startswith("c"):
            half = np.float32 if name == "c64" else np.float64
            if (half(tokens[at]), half(tokens[at + 1])) != (value.real, value.imag):
                return False
            at += 2
            continue
        token = re.sub(r"\(.*", "", tokens[at])
        at += 1
        is_float = not name.startswith(("s", "u", "p"))
        read = dtype_of(name).type(float(token) if is_float else int(token))
        if read != value and not (is_float and np.isnan(float(read)) and np.isnan(float(value))):
            return False
    return at == len(tokens)


# --- Comparing ------------------------------------------------------------------------------------------


class Comparison:
    def __init__(self, name):
        self.name, self.errors, self.instructions, self.checks = name, [], 0, 0
        self.wrapped = set()  # computations that are printed as part of the only operation that calls them

    def check(self, where, read, printed):
        self.checks += 1
        if read != printed:
            self.errors.append(f"{self.name}: {where}:\n    read    {read}\n    printed {printed}")

    def instruction(self, op, names, first_value, types, printed):
        opcode = op["name"].removeprefix("hlo.")
        where = printed["name"]
        self.instructions += 1
        attrs = dict(printed["attrs"])
        self.location(op, where, attrs.pop("metadata", None))
        if opcode.startswith("async-") and not printed["opcode"].startswith("async-"):
            # XLA prints an operation that an async operation wraps alone under the operation's own name.
            self.check(where, opcode.split("-")[1], printed["opcode"].rsplit("-", 1)[1])
            self.wrapped |= {plain(n) for n in items(op["attrs"].pop("called_computations", None))}
        else:
            self.check(where, opcode, printed["opcode"])
        self.check(where + " type", type_text(op["results"][0]), printed["shape"])
        operands = [names[value - first_value] for value in op["operands"]]
        literal = op["attrs"].pop("literal", None)
        if opcode == "constant":
            if not same_literal(literal, printed["operands"]):
                self.check(where + " literal", literal_values(literal)[:20], printed["operands"][:200])
        elif opcode == "parameter":
            self.check(where, str(plain(op["attrs"].get("parameter_number")) or 0), printed["operands"])
        else:
            self.check(where + " operands", ", ".join("%" + n for n in operands), printed["operands"])
        expected = expected_attrs(op, opcode, names, [types[v] for v in op["operands"]])
        if opcode.startswith("async-") and not attrs.get("calls"):
            expected.pop("calls", None)
        for key in sorted(expected.keys() | attrs.keys()):
            self.check(f"{where} {key}", expected.get(key), attrs.get(key))
        self.check(where + " attributes that are not printed", sorted(op["attrs"]), [])

    def location(self, op, where, metadata):
        """Checks a location. `metadata` as printed: {op_name="jit(f)/add" stack_frame_id=4}

        XLA does not print a frame that is missing in the module's table; the source file beside it counts then.
        """
        location, name, frames = op.get("location"), "", []
        if location and location["kind"] == "loc_name":
            name, location = location["text"], location["fields"][0][1]
        if location:
            frames = location_frames(location)
        shown = re.search(r'op_name="((?:[^"\\]|\\.)*)"', metadata or "")
        self.check(where + " op_name", name, unescaped(shown.group(1)) if shown else "")
        shown = re.search(r"stack_frame_id=(\d+)", metadata or "")
        file = re.search(r'source_file="([^"]*)"(?: source_line=(\d+))?', metadata or "")
        beside = [f"{file.group(1)}:{file.group(2) or 0}:0"] if file else []
        self.check(where + " frames", frames, self.frames[int(shown.group(1))] if shown else beside)

    def computation(self, ops, names, printed):
        head = ops[0]
        attrs = head["attrs"]
        where = plain(attrs["sym_name"])
        self.check(where + " is the entry", "entry" in attrs, printed["entry"])
        self.check(where + " thread", plain(attrs.get("execution_thread")) or "main", printed["thread"])
        first = ops[1]["first_result"]
        shown = {i["name"]: i for i in printed["instructions"]}
        self.check(where + " instructions", sorted(names), sorted(shown))
        roots = [i["name"] for i in printed["instructions"] if i["root"]]
        self.check(where + " root", [names[plain(attrs["root"])]], roots)
        if "schedule" in attrs:
            order = [names[i] for i in attrs["schedule"]["ints"]]
            self.check(where + " schedule", order, [i["name"] for i in printed["instructions"]])
        types = {op["first_result"]: type_text(op["results"][0]) for op in ops[1:]}
        for op, name in zip(ops[1:], names, strict=True):
            if name in shown:
                self.instruction(op, names, first, types, shown[name])

    def module(self, module, head):
        attrs = module["attrs"]
        self.check("is_scheduled", "schedule" in attrs, "is_scheduled=true" in head)
        aliases = items(field(attrs["input_output_alias"], "entries")) if "input_output_alias" in attrs else []
        printed = re.search(r"input_output_alias=\{(.*?) \}", head)
        self.check("aliases", len(aliases), printed.group(1).count("-alias)") if printed else 0)
        donors = items(field(attrs["buffer_donor"], "entries")) if "buffer_donor" in attrs else []
        printed = re.search(r"buffer_donor=\{(.*?) \}", head)
        self.check("donors", len(donors), printed.group(1).count("(") if printed else 0)
        if node := attrs.get("frontend_attributes"):
            for key, value in node["fields"]:
                self.check("module's " + key, f"{key}={quoted(plain(value))}" in head, True)

    def run(self, data, model, text):
        head, computations = parse_text(text)
        self.frames = parse_frames(text)
        names = instruction_names(data)
        self.check("things not understood", model["opaque"], 0)
        ops = model["ops"]
        self.module(ops[0], head)
        seen, at = set(), 1
        while at < ops[0]["end"]:
            name = plain(ops[at]["attrs"]["sym_name"])
            seen.add(name)
            if name in computations:
                self.computation(ops[at : ops[at]["end"]], names[name], computations[name])
            at = ops[at]["end"]
        self.check("computations", sorted(seen - self.wrapped), sorted(computations))


def print_module(data):
    from jaxlib import _hlo

    options = _hlo.HloPrintOptions()
    options.print_large_constants = True
    options.print_metadata = True
    options.print_control_dependencies = True
    return _hlo.HloModule.from_serialized_hlo_module_proto(data).to_string(options)


def made_programs(folder, with_models):
    """Writes the programs of hlo_programs.py into the folder. Returns their paths."""
    import hlo_programs

    paths = []
    for name, data in hlo_programs.modules(with_models):
        paths.append(Path(folder) / f"{name}.hlo")
        paths[-1].write_bytes(data)
    return paths


def compare(path, model):
    data = path.read_bytes()
    comparison = Comparison(path.stem)
    try:
        comparison.run(data, model, print_module(data))
    except (AssertionError, LookupError, ValueError) as error:  # too different to compare to the end
        comparison.errors.append(f"{path.stem}: {type(error).__name__}: {error}")
    if model["peak_bytes"] > MEMORY_TIMES * len(data) + MEMORY_LEAST_BYTES:
        comparison.errors.append(f"{path.stem}: reading took {model['peak_bytes']} bytes for {len(data)}")
    comparison.memory_times = 0.0
    if len(data) >= MEMORY_LEAST_BYTES // MEMORY_TIMES:
        comparison.memory_times = model["peak_bytes"] / len(data)
    comparison.as_bytes = bool(model["opaque"])
    return comparison


def compare_text(comparison, path, model_dump):
    """The printed text contains exactly the operations that model_dump also gives as JSON."""
    command = [model_dump, "--format", "hlo", "--locations"]
    as_json, text = (
        subprocess.run([*command, *option, path], capture_output=True, check=True).stdout
        for option in ((), ("--text",))
    )
    *operations, _ = map(json.loads, as_json.splitlines())
    comparison.checks += text.count(b"\n")
    for wanted, line in expected_text.differences(operations, text.decode(errors="surrogateescape")):
        comparison.check("text", line, wanted)


def main():
    import jaxlib

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", action="store_true", help="make those of Flax and Equinox too")
    parser.add_argument("--least", type=int, default=1, metavar="N", help="fewer programs are a failure")
    parser.add_argument("--model-dump", type=Path, metavar="PROGRAM", help="compare the printed text too")
    parser.add_argument("hlo_dump", type=Path)
    parser.add_argument("paths", nargs="*", type=Path, metavar="program")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = arguments.paths or made_programs(folder, arguments.models)
        command = [arguments.hlo_dump, "--locations", *paths]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        models = map(json.loads, done.stdout.splitlines())
        results = [compare(path, model) for path, model in zip(paths, models, strict=True)]
        for path, result in zip(paths, results) if arguments.model_dump else ():
            compare_text(result, path, arguments.model_dump)
    errors = [error for result in results for error in result.errors]
    for error in errors[:SHOWN_DIFFERENCES]:
        print(error)
    print(
        f"HLO against jaxlib {jaxlib.__version__}: {len(results)} programs (at least {arguments.least} wanted), "
        f"{sum(bool(result.errors) for result in results)} differ, "
        f"{sum(result.as_bytes for result in results)} kept as bytes\n"
        f"  compared: {sum(result.checks for result in results):,} properties of "
        f"{sum(result.instructions for result in results):,} instructions\n"
        f"  most memory for reading: {max(result.memory_times for result in results):.1f} times the program "
        f"({MEMORY_TIMES} promised)"
    )
    return 1 if errors or len(results) < arguments.least else 0


if __name__ == "__main__":
    sys.exit(main())
