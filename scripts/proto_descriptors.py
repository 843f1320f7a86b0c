"""Reads the protobuf descriptors inside a jaxlib's libjax_common.so. For the scripts that write tables of fields.

Every libjax_common.so contains the serialized FileDescriptorProto of each of its .proto files. The numbers below are
those of google/protobuf/descriptor.proto. Names of messages and enums start with a dot, like ".xla.HloModuleProto".
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

TYPE_STRING, TYPE_MESSAGE = 9, 11  # FieldDescriptorProto.Type
LABEL_REPEATED = 3  # FieldDescriptorProto.Label


@dataclass
class Field:
    name: str = ""
    number: int = 0
    type: int = 0  # FieldDescriptorProto.Type
    repeated: bool = False
    presence: bool = False  # in a oneof, or proto3's optional
    target: str | None = None  # the name of its message or enum


@dataclass
class Message:
    is_map: bool  # an entry of a map
    fields: dict[int, Field] = field(default_factory=dict)  # by number

    def sorted_fields(self):
        return [self.fields[number] for number in sorted(self.fields)]


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


def wire_fields(data, at=0):
    """Yields (number, value) pairs until the data ends or a field is not valid."""
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            size, at = varint(data, at)
            if at + size > len(data):
                return
            value = data[at : at + size]
            at += size
        else:
            return
        yield tag >> 3, value


def read_field(data):
    result = Field()
    for number, value in wire_fields(data):
        if number == 1:
            result.name = value.decode()
        elif number == 3:
            result.number = value
        elif number == 4:
            result.repeated = value == LABEL_REPEATED
        elif number == 5:
            result.type = value
        elif number == 6:
            result.target = value.decode()
        elif number == 9 or number == 17 and value:  # oneof_index, proto3_optional
            result.presence = True
    return result


def read_enum(data, prefix, enums):
    name, values = "", {}
    for number, value in wire_fields(data):
        if number == 1:
            name = prefix + "." + value.decode()
        elif number == 2:
            parts = dict(wire_fields(value))
            values[parts.get(2, 0)] = parts[1].decode()
    enums[name] = values


def read_message(data, prefix, messages, enums):
    parts = list(wire_fields(data))
    name = prefix + "." + next(value for number, value in parts if number == 1).decode()
    is_map = any(number == 7 and any(n == 7 and v for n, v in wire_fields(value)) for number, value in parts)
    fields = [read_field(value) for number, value in parts if number == 2]
    messages[name] = Message(is_map, {each.number: each for each in fields})
    for number, value in parts:
        if number == 3:
            read_message(value, name, messages, enums)
        elif number == 4:
            read_enum(value, name, enums)


def read_library(path):
    """Returns the messages of a libjax_common.so, {name: Message}, and its enums, {name: {number: text}}."""
    data = Path(path).read_bytes()
    messages, enums = {}, {}
    for match in re.finditer(rb"\x0a([\x05-\x7f])((?:xla|google)/[\w/]+\.proto)", data):
        if match.group(1)[0] != len(match.group(2)):
            continue
        package, found, seen_name = "", [], False
        for number, value in wire_fields(data, match.start()):
            # The file name may also be in another message (a list of dependencies).
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
    return messages, enums


def merge(into, new, kind):
    """Adds the messages of `new`. A field's newer name wins. Exits if kind(field), "repeated" or the target changed."""
    for name, message in new.items():
        fields = into.setdefault(name, Message(message.is_map)).fields
        for number, newer in message.fields.items():
            old = fields.get(number)
            if old and (kind(old), old.repeated, old.target) != (kind(newer), newer.repeated, newer.target):
                sys.exit(f"{name} field {number} changed: {old} {newer}")
            fields[number] = newer


def reachable(messages, roots, follow):
    """Returns the names of the roots and of all messages below them, depth first; follow(name, field) selects fields."""
    order = []

    def visit(name):
        if name in order:
            return
        order.append(name)
        for each in messages[name].sorted_fields():
            if follow(name, each):
                visit(each.target)

    for root in roots:
        visit(root)
    return order
