"""A second implementation of a program's text. It takes operations from model_dump, which compare_bytecode.py and
compare_hlo.py have compared with jaxlib's, and makes the lines that `rekindle show --program` must print.
"""

import struct

KIND, NAME, WIDTH, VALUE, BYTES, FIELDS = range(6)
ELEMENT_BYTES = {"i1": 1, "pred": 1, "f16": 2, "bf16": 2, "f32": 4, "f64": 8} | {
    f"{sign}{bits}": bits // 8 for sign in ("i", "ui", "s", "u") for bits in (8, 16, 32, 64)
}
ENCLOSED = {"list": "[]", "dict": "{}"}


def quoted(raw):
    text = raw.decode(errors="surrogateescape")
    return '"' + "".join("\\" + c if c in '"\\' else f"\\{ord(c):02X}" if c < " " or c == "\x7f" else c for c in text) + '"'


def floating(bits, width, kind):
    if kind == "bf16":
        bits, width = bits << 16, 32
        value, digits = struct.unpack("<f", struct.pack("<I", bits))[0], 9
        bits, width = bits >> 16, 16
    elif width == 32:
        value, digits = struct.unpack("<f", struct.pack("<I", bits))[0], 9
    elif width == 64:
        value, digits = struct.unpack("<d", struct.pack("<Q", bits))[0], 17
    else:
        value = float("nan")
    if value - value != 0:  # not finite, or a width without a decimal form
        return f"0x{bits:0{(width + 3) // 4}X}"
    return f"%.{digits}g" % value


def number(value, width, kind):
    if not kind.startswith("u") and width < 64 and width and value >> (width - 1):
        value -= 1 << width
    elif not kind.startswith("u") and value >> 63:
        value -= 1 << 64
    return str(value)


def elements(raw, kind):
    size = ELEMENT_BYTES.get(kind, 0)
    if not size or len(raw) % size:
        return "0x" + raw.hex()
    parts = (int.from_bytes(raw[at : at + size], "little") for at in range(0, len(raw), size))
    if kind[0] in "fb":
        return ", ".join(floating(part, 8 * size, kind) for part in parts)
    return ", ".join(str(part) if kind in ("i1", "pred") else number(part, 8 * size, kind) for part in parts)


def integers(raw):
    return [value for (value,) in struct.iter_unpack("<q", raw)]


def inner(node):
    return ", ".join((f"{name} = " if name else "") + shown(child) for name, child in node[FIELDS])


def type_of(node):
    return node[FIELDS][0][1] if node[FIELDS] else None


def shown_type(node):
    if not node[FIELDS] and not node[BYTES] and node[NAME] != "tensor":
        return node[NAME]
    dims = "".join("?x" if dim == -(1 << 63) else f"{dim}x" for dim in integers(bytes.fromhex(node[BYTES])))
    return f"{node[NAME]}<{dims}{inner(node)}>"


def shown(node):
    kind, raw = node[KIND], bytes.fromhex(node[BYTES])
    kind_of_number = type_of(node)[NAME] if kind in ("int", "float") and node[FIELDS] else ""
    if kind in ENCLOSED:
        return ENCLOSED[kind][0] + inner(node) + ENCLOSED[kind][1]
    if kind == "bool":
        return "true" if node[VALUE] else "false"
    if kind == "int":
        return "0x" + raw[::-1].hex().upper() if raw else number(node[VALUE], node[WIDTH], kind_of_number)
    if kind == "float":
        return floating(node[VALUE], node[WIDTH], kind_of_number)
    if kind == "string":
        return quoted(raw)
    if kind == "symbol":
        return "@" + raw.decode()
    if kind == "enum":
        return raw.decode()
    if kind == "ints":
        return "[" + ", ".join(map(str, integers(raw))) + "]"
    if kind == "elements":
        return f"dense<{elements(raw, type_of(type_of(node))[NAME])}> : {inner(node)}"
    if kind == "struct":
        return f"#{node[NAME]}<{inner(node)}>"
    if kind == "type":
        return shown_type(node)
    if kind == "opaque" and node[NAME] == "text" and raw and all(byte >= 0x20 and byte != 0x7F for byte in raw):
        return raw.decode()
    return {"unit": "unit", "opaque": f"opaque<{node[NAME]}, {len(raw)} bytes>"}[kind]


class Lines:
    """Makes the lines of operations and blocks, without indentation and locations."""

    def __init__(self, operations):
        self.operations = operations
        self.numbers = {}
        self.types = {value: kind for op in operations for value, kind, _ in self.defined(op)}

    @staticmethod
    def defined(op):
        yield from op["results"]
        for blocks in op["regions"]:
            for block in blocks:
                yield from block["args"]

    def value(self, value):
        return f"%{self.numbers.setdefault(value, len(self.numbers))}"

    def operation(self, op):
        results = ", ".join(self.value(value) for value, _, _ in op["results"])
        operands = ", ".join(map(self.value, op["operands"]))
        successors = "".join(f" ^bb{block}" for block in op["successors"])
        attributes = ", ".join(f"{name} = {shown(node)}" for name, node in op["attrs"])
        ins = ", ".join(shown(self.types[value]) for value in op["operands"])
        outs = ", ".join(shown(kind) for _, kind, _ in op["results"])
        return (
            f"{results}{' = ' * bool(results)}{op['op']}({operands}){successors}"
            f"{' {' * bool(attributes)}{attributes}{'}' * bool(attributes)}"
            f" : ({ins}) -> ({outs}){' {' * bool(op['regions'])}"
        )

    def block(self, block, index):
        args = ", ".join(f"{self.value(value)}: {shown(kind)}" for value, kind, _ in block["args"])
        return f"^bb{index}({args}):"

    def of(self, index=0):
        op = self.operations[index]
        yield self.operation(op)
        for blocks in op["regions"]:
            for at, block in enumerate(blocks):
                if at or block["args"]:
                    yield self.block(block, at)
                for child in block["ops"]:
                    yield from self.of(child)


def differences(operations, text):
    """Yields (expected, printed) for each line that differs, ignoring locations."""
    printed = [line.lstrip(" ") for line in text.splitlines() if line.lstrip(" ")[:1] != "}"]
    expected = list(Lines(operations).of())
    if len(printed) != len(expected):
        yield f"{len(expected)} lines", f"{len(printed)} lines"
    for wanted, line in zip(expected, printed):
        if line != wanted and not line.startswith(wanted + "  // "):
            yield wanted, line
