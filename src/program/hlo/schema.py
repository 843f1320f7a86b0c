#!/usr/bin/env python3
"""Writes schema.c from the protobuf descriptors inside libjax_common.so.

    schema.py LIBJAX_COMMON_SO... > schema.c

The script takes the messages reachable from the roots in PUBLIC (scripts/proto_descriptors.py reads them; they are
in xla/service/hlo.proto, xla/xla_data.proto, xla/xla.proto). It merges the fields of all given libraries and prints
the tables. It fails if a field number changes its type. If a field's name changes, the last name wins: give the
newest library last.
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))
import proto_descriptors as descriptors

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


def kind_of(messages, owner, field):
    kind, width = KINDS[field.type]
    if field.name in OWN.get(owner, ()):
        kind = "OWN"
    elif field.name in DROP.get(owner, ()):
        kind = "DROP"
    elif field.target == SHAPE:
        kind = "SHAPE"
    elif field.target == ATTRIBUTES:
        kind = "ATTRIBUTES"
    elif kind == "MESSAGE" and messages[field.target].is_map:
        kind = "MAP"
        if messages[field.target].fields[1].type != descriptors.TYPE_STRING:
            sys.exit(f"{owner}.{field.name}: a map whose keys are not text")
    return kind, width


def reachable(messages):
    def follow(owner, field):
        return kind_of(messages, owner, field)[0] in ("MESSAGE", "MAP", "ATTRIBUTES")

    return descriptors.reachable(messages, PUBLIC, follow)


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
    for field in messages[name].sorted_fields():
        kind, width = kind_of(messages, name, field)
        message = enum = "NULL"
        if kind in ("MESSAGE", "MAP", "ATTRIBUTES"):
            message = "&" + PUBLIC.get(field.target, symbol("M", field.target))
        if kind == "ENUM":
            enum = "&" + ("rk_hlo_primitive_type" if field.target == PRIMITIVE_TYPE
                          else symbol("E", field.target))
        flags = ", ".join(str(bool(flag)).lower() for flag in (field.repeated, field.presence))
        print(f'    {{{field.number}, RK_HLO_{kind}, {width}, {flags}, {names.of(field.name)}, '
              f'"{field.name}", {message}, {enum}}},')
    print("};")
    numbers = sorted(messages[name].fields)
    places = [numbers.index(n) + 1 if n in numbers else 0 for n in range(numbers[-1] + 1)]
    print(f"static const uint16_t {symbol('P', name)}[] = {{{', '.join(map(str, places))}}};")
    head = f"const rk_hlo_message {PUBLIC[name]}" if name in PUBLIC else \
        f"static const rk_hlo_message {symbol('M', name)}"
    print(f'{head} = {{"{short(name)}", {symbol("F", name)}, {symbol("P", name)}, '
          f"{len(numbers)}, {len(places)}, {names.of(short(name))}, {str(name in OMIT_EMPTY).lower()}}};")


def main():
    messages, enums, names = {}, {}, Names()
    for path in sys.argv[1:]:
        library, more_enums = descriptors.read_library(path)
        new = {name: library[name] for name in reachable(library)}
        descriptors.merge(messages, new, lambda field: field.type)
        for name, values in more_enums.items():
            enums.setdefault(name, {}).update(values)
    order = reachable(messages)
    used = sorted({field.target for name in order for field in messages[name].fields.values()
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
