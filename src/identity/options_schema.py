#!/usr/bin/env python3
"""Writes options_schema.c from the protobuf descriptors inside libjax_common.so.

    options_schema.py LIBJAX_COMMON_SO... > options_schema.c

Every jaxlib's libjax_common.so embeds the serialized FileDescriptorProto of each of its .proto files.
This script finds them, takes the messages reachable from xla.CompileOptionsProto, merges the fields of
all given libraries, and prints the table. A field number that changed its type is an error. If a number
has several names, the name in the last library wins. Give the newest library last.
"""
import re
import sys

ROOT = ".xla.CompileOptionsProto"
# Fields left out of keys. docs/keys.md gives the reason for each group.
DROP = {
    ".xla.CompileOptionsProto": re.compile(r"allow_in_place_mlir_modification"),
    ".xla.ExecutableBuildOptionsProto": re.compile(r"device_memory_size"),
    ".xla.DebugOptions": re.compile(
        r"xla_dump_\w+|xla_gpu_(experimental_)?dump_\w+"
        r"|xla_enable_dumping|xla_detailed_logging|xla_enable_scoped_logging_timers"
        r"|xla_gpu_print_compilation_stats"
        r"|xla_force_host_platform_device_count|xla_gpu_cuda_data_dir"
        r"|xla_gpu_experimental_autotune_cache_mode|xla_gpu_per_fusion_autotune_cache_dir"
        r"|xla_gpu_experimental_autotuner_cache_dir|xla_gpu_kernel_cache_file"
    ),
}
KINDS = {1: "DOUBLE", 2: "FLOAT", 3: "INT", 4: "UINT", 5: "INT", 8: "BOOL", 9: "STRING",
         11: "MESSAGE", 12: "BYTES", 13: "UINT", 14: "ENUM"}


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
    """Yields (number, value) pairs until the data ends or a field is not valid."""
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
    field = {"optional": False, "oneof": False}
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
            field["message"] = value.decode()
        elif number == 9:
            field["oneof"] = True
        elif number == 17:
            field["optional"] = bool(value)
    return field


def read_message(data, prefix, out):
    parts = list(fields(data))
    name = prefix + "." + next(value for number, value in parts if number == 1).decode()
    is_map = any(number == 7 and any(n == 7 and v for n, v in fields(value)) for number, value in parts)
    out[name] = (is_map, {f["number"]: f for f in (read_field(v) for n, v in parts if n == 2)})
    for number, value in parts:
        if number == 3:
            read_message(value, name, out)


def read_library(path):
    data = open(path, "rb").read()
    out = {}
    for match in re.finditer(rb"\x0a([\x05-\x7f])((?:xla|google)/[\w/]+\.proto)", data):
        if match.group(1)[0] != len(match.group(2)):
            continue
        package, messages, seen_name = "", [], False
        for number, value in fields(data, match.start()):
            # The file name may also be in another message (a list of dependencies).
            if number == 1 and seen_name or number > 14 or isinstance(value, int) and number in (2, 4):
                break
            seen_name = True
            if number == 2:
                package = "." + value.decode()
            elif number == 4:
                messages.append(value)
            elif number == 12:  # syntax comes last
                break
        for message in messages:
            read_message(message, package, out)
    return out


def merge(into, new):
    for name, (is_map, new_fields) in new.items():
        old_fields = into.setdefault(name, (is_map, {}))[1]
        for number, field in new_fields.items():
            old = old_fields.get(number)
            if old and (KINDS[old["type"]], old["repeated"], old.get("message")) != (
                    KINDS[field["type"]], field["repeated"], field.get("message")):
                sys.exit(f"{name} field {number} changed: {old} {field}")
            old_fields[number] = field


def reachable(messages):
    order = []

    def visit(name):
        if name in order:
            return
        order.append(name)
        for _, field in sorted(messages[name][1].items()):
            if field["type"] == 11:
                visit(field["message"])

    visit(ROOT)
    return order


def symbol(name):
    return "M_" + re.sub(r"\W", "_", name.strip(".").replace("stream_executor", "se"))


def row(messages, owner, field):
    kind = KINDS[field["type"]]
    target = "NULL"
    flags = []
    if kind == "MESSAGE":
        target = "&rk_schema_debug_options" if field["message"] == ".xla.DebugOptions" else \
            "&" + symbol(field["message"])
    if kind == "MESSAGE" and messages[field["message"]][0]:
        kind = "MAP"
    elif field["repeated"]:
        flags.append("REPEATED")
    elif field["optional"] or field["oneof"] or kind == "MESSAGE":
        flags.append("PRESENCE")
    if messages[owner][0]:
        # protobuf always writes key and value, even if they have their default.
        flags += ["PRESENCE", "ENTRY_KEY" if field["number"] == 1 else "ENTRY_VALUE"]
        flags = sorted(set(flags), reverse=True)
    if owner in DROP and DROP[owner].fullmatch(field["name"]):
        flags.append("DROP")
    if field["name"] == "env_option_overrides":
        flags.append("FLAG_NAMES")
    text = " | ".join("RK_SCHEMA_" + flag for flag in flags) or "0"
    return f'    {{{field["number"]}, RK_SCHEMA_{kind}, {text}, "{field["name"]}", {target}}},'


def main():
    messages = {}
    for path in sys.argv[1:]:
        library = read_library(path)
        merge(messages, {name: library[name] for name in reachable(library)})
    order = reachable(messages)
    print("// Generated by options_schema.py from the descriptors embedded in the libjax_common.so of")
    print("// jaxlib 0.10.2 and 0.12.0.1 (Apache-2.0, https://github.com/openxla/xla,")
    print("// xla/pjrt/proto/compile_options.proto and what it imports). Do not edit: change the script.")
    print("// clang-format off")
    print('#include "identity/options_schema.h"\n')
    print("#include <stddef.h>\n")
    for name in order[1:]:
        if name != ".xla.DebugOptions":
            print(f"static const rk_schema_message {symbol(name)};")
    for name in order:
        print(f"\nstatic const rk_schema_field {symbol(name)}_fields[] = {{")
        for _, field in sorted(messages[name][1].items()):
            print(row(messages, name, field))
        print("};")
        head = {ROOT: "const rk_schema_message rk_schema_compile_options",
                ".xla.DebugOptions": "const rk_schema_message rk_schema_debug_options"}.get(
                    name, f"static const rk_schema_message {symbol(name)}")
        print(f"{head} = {{")
        print(f"    {symbol(name)}_fields, sizeof {symbol(name)}_fields / sizeof {symbol(name)}_fields[0]}};")


main()
