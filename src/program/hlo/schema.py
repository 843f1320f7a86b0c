#!/usr/bin/env python3
"""Writes schema.c from the protobuf descriptors inside libjax_common.so.

    schema.py LIBJAX_COMMON_SO... > schema.c

The libjax_common.so of each jaxlib contains the serialized FileDescriptorProto of each .proto file (this table
needs xla/service/hlo.proto, xla/xla_data.proto, xla/xla.proto). The script finds them and takes the messages
reachable from the roots in PUBLIC. It merges the fields of all given libraries and prints the tables. It fails if
a field number changes its type. If a field's name changes, the last name wins: give the newest library last.
"""
import re
import sys

MODULE, COMPUTATION, INSTRUCTION = (
    ".xla.HloModuleProto", ".xla.HloComputationProto", ".xla.HloInstructionProto")
SHAPE, CONFIG, PRIMITIVE_TYPE = ".xla.ShapeProto", ".xla.HloModuleConfigProto", ".xla.PrimitiveType"
METADATA, ATTRIBUTES = ".xla.OpMetadata", ".xla.FrontendAttributes"
PUBLIC = {MODULE: "rk_hlo_module_fields", COMPUTATION: "rk_hlo_computation_fields",
          INSTRUCTION: "rk_hlo_instruction_fields", SHAPE: "rk_hlo_shape_fields", CONFIG: "rk_hlo_config_fields",
          METADATA: "rk_hlo_metadata_fields"}
# Fields that are only for people: names and origins.
DROP = {
    MODULE: {"name", "entry_computation_name", "id", "profile_info", "stack_frame_index",
             "original_value_recovery_table", "pjrt_id", "debug_attributes"},
    COMPUTATION: {"name", "id"},
    INSTRUCTION: {"name", "id", "metadata", "statistics_viz", "original_value"},
    ".xla.ProgramShapeProto": {"parameter_names"},
    # The origin of an operation, and names that profilers show. Other fields stay: the compiler may use profiles,
    # and new fields are unknown.
    METADATA: {"op_type", "op_name", "source_file", "source_line", "source_end_line", "source_column",
               "source_end_column", "stack_frame_id", "deduplicated_name"},
    # XLA ignores metadata when it compares shardings.
    ".xla.OpSharding": {"metadata"},
    ".xla.NamedShardingProto": {"metadata"},
}
# Fields that the reader of the message reads itself.
OWN = {
    MODULE: {"name", "computations", "entry_computation_id", "schedule"},
    COMPUTATION: {"name", "instructions", "id", "root_id"},
    INSTRUCTION: {"opcode", "shape", "metadata", "literal", "id", "operand_ids",
                  "control_predecessor_ids", "called_computation_ids"},
    SHAPE: {"element_type", "dimensions", "tuple_shapes", "is_dynamic_dimension"},
}
# XLA writes these messages even if they are empty.
OMIT_EMPTY = {".xla.HloInputOutputAliasProto", ".xla.HloBufferDonorProto", ".xla.SparsityConfig",
              ".xla.BlockScalingConfig"}
KINDS = {1: ("FLOAT", 64), 2: ("FLOAT", 32), 3: ("INT", 64), 4: ("UINT", 64), 5: ("INT", 32),
         8: ("BOOL", 1), 9: ("STRING", 0), 11: ("MESSAGE", 0), 12: ("STRING", 0), 13: ("UINT", 32),
         14: ("ENUM", 32)}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
        if shift > 63:
            raise ValueError("varint too long")


def fields(data, at=0):
    """Yields (number, value) up to the end, or up to bytes that are not a field."""
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            size, at = varint(data, at)
            if at + size > len(data):
                return
            value = data[at:at + size]
            at += size
        else:
            return
        yield tag >> 3, value


def read_field(data):
    field = {"repeated": False, "presence": False, "target": None}
    for number, value in fields(data):
        if number == 1:
            field["name"] = value.decode()
        elif number == 3:
            field["number"] = value
        elif number == 4:
            field["repeated"] = value == 3
        elif number == 5:
            field["type"] = value
        elif number == 6:
            field["target"] = value.decode()
        elif number == 9 or number == 17 and value:  # in a oneof; proto3's optional
            field["presence"] = True
    return field


def read_enum(data, prefix, out):
    values = {}
    for number, value in fields(data):
        if number == 1:
            name = prefix + "." + value.decode()
        elif number == 2:
            parts = dict(fields(value))
            values[parts.get(2, 0)] = parts[1].decode()
    out[name] = values


def read_message(data, prefix, messages, enums):
    parts = list(fields(data))
    name = prefix + "." + next(value for number, value in parts if number == 1).decode()
    is_map = any(number == 7 and any(n == 7 and v for n, v in fields(value)) for number, value in parts)
    messages[name] = (is_map, {f["number"]: f for f in (read_field(v) for n, v in parts if n == 2)})
    for number, value in parts:
        if number == 3:
            read_message(value, name, messages, enums)
        elif number == 4:
            read_enum(value, name, enums)


def read_library(path, messages, enums):
    data = open(path, "rb").read()
    for match in re.finditer(rb"\x0a([\x05-\x7f])((?:xla|google)/[\w/]+\.proto)", data):
        if match.group(1)[0] != len(match.group(2)):
            continue
        package, found, seen_name = "", [], False
        for number, value in fields(data, match.start()):
            # The name may also occur in another message (a list of dependencies).
            if number == 1 and seen_name or number > 14 or isinstance(value, int) and number in (2, 4):
                break
            seen_name = True
            if number == 2:
                package = "." + value.decode()
            elif number in (4, 5):
                found.append((number, value))
            elif number == 12:  # syntax comes last
                break
        for number, value in found:
            if number == 4:
                read_message(value, package, messages, enums)
            else:
                read_enum(value, package, enums)


def merge(into, new):
    for name, (is_map, new_fields) in new.items():
        old_fields = into.setdefault(name, (is_map, {}))[1]
        for number, field in new_fields.items():
            old = old_fields.get(number)
            if old and [old[k] for k in ("type", "repeated", "target")] != [
                    field[k] for k in ("type", "repeated", "target")]:
                sys.exit(f"{name} field {number} changed: {old} {field}")
            old_fields[number] = field


def kind_of(messages, owner, field):
    kind, width = KINDS[field["type"]]
    if field["name"] in OWN.get(owner, ()):
        kind = "OWN"
    elif field["name"] in DROP.get(owner, ()):
        kind = "DROP"
    elif field["target"] == SHAPE:
        kind = "SHAPE"
    elif field["target"] == ATTRIBUTES:
        kind = "ATTRIBUTES"
    elif kind == "MESSAGE" and messages[field["target"]][0]:
        kind = "MAP"
        if messages[field["target"]][1][1]["type"] != 9:
            sys.exit(f"{owner}.{field['name']}: a map whose keys are not text")
    return kind, width


def reachable(messages):
    order = []

    def visit(name):
        if name in order:
            return
        order.append(name)
        for _, field in sorted(messages[name][1].items()):
            if kind_of(messages, name, field)[0] in ("MESSAGE", "MAP", "ATTRIBUTES"):
                visit(field["target"])

    for root in PUBLIC:
        visit(root)
    return order


def symbol(prefix, name):
    return prefix + re.sub(r"\W", "_", name.removeprefix(".xla"))


class Names:
    """Assigns one number to each name."""

    def __init__(self):
        self.ids = {}

    def of(self, name):
        return self.ids.setdefault(name, len(self.ids))


def short(name):
    return name.removeprefix(".xla").removeprefix(".")


def print_enum(name, values, names):
    public = name == PRIMITIVE_TYPE
    print(f"\nstatic const rk_hlo_enum_value {symbol('V', name)}[] = {{")
    for number, text in sorted(values.items()):
        print(f'    {{{number}, "{text}"}},')
    print("};")
    head = "const rk_hlo_enum rk_hlo_primitive_type" if public else \
        f"static const rk_hlo_enum {symbol('E', name)}"
    print(f'{head} = {{"{short(name)}", {symbol("V", name)}, {len(values)}, {names.of(short(name))}}};')


def print_message(messages, name, names):
    print(f"\nstatic const rk_hlo_field {symbol('F', name)}[] = {{")
    for number, field in sorted(messages[name][1].items()):
        kind, width = kind_of(messages, name, field)
        message = enum = "NULL"
        if kind in ("MESSAGE", "MAP", "ATTRIBUTES"):
            message = "&" + PUBLIC.get(field["target"], symbol("M", field["target"]))
        if kind == "ENUM":
            enum = "&" + ("rk_hlo_primitive_type" if field["target"] == PRIMITIVE_TYPE
                          else symbol("E", field["target"]))
        flags = ", ".join(str(bool(flag)).lower() for flag in (field["repeated"], field["presence"]))
        print(f'    {{{number}, RK_HLO_{kind}, {width}, {flags}, {names.of(field["name"])}, '
              f'"{field["name"]}", {message}, {enum}}},')
    print("};")
    numbers = sorted(messages[name][1])
    places = [numbers.index(n) + 1 if n in messages[name][1] else 0 for n in range(numbers[-1] + 1)]
    print(f"static const uint16_t {symbol('P', name)}[] = {{{', '.join(map(str, places))}}};")
    head = f"const rk_hlo_message {PUBLIC[name]}" if name in PUBLIC else \
        f"static const rk_hlo_message {symbol('M', name)}"
    print(f'{head} = {{"{short(name)}", {symbol("F", name)}, {symbol("P", name)}, '
          f"{len(numbers)}, {len(places)}, {names.of(short(name))}, {str(name in OMIT_EMPTY).lower()}}};")


def main():
    messages, enums, names = {}, {}, Names()
    for path in sys.argv[1:]:
        library, more_enums = {}, {}
        read_library(path, library, more_enums)
        merge(messages, {name: library[name] for name in reachable(library)})
        for name, values in more_enums.items():
            enums.setdefault(name, {}).update(values)
    order = reachable(messages)
    used = sorted({field["target"] for name in order for field in messages[name][1].values()
                   if kind_of(messages, name, field)[0] == "ENUM"} | {PRIMITIVE_TYPE})
    print("// Generated by schema.py from the descriptors embedded in the libjax_common.so of")
    print("// jaxlib 0.10.2 and 0.12.0.1 (Apache-2.0, https://github.com/openxla/xla,")
    print("// xla/service/hlo.proto and what it imports). Do not edit: change the script.")
    print("// clang-format off")
    print('#include "program/hlo/schema.h"\n')
    for name in order:
        if name not in PUBLIC:
            print(f"static const rk_hlo_message {symbol('M', name)};")
    for name in used:
        print_enum(name, enums[name], names)
    for name in order:
        print_message(messages, name, names)
    print(f"\n_Static_assert({len(names.ids)} <= RK_HLO_MAX_NAMES, \"an id for every name\");")


main()
