#!/usr/bin/env python3
"""Bundles by docs/format.md alone: writes the golden files, and reads bundles. Shares no code with rekindle.

usage: bundle_format.py write FOLDER         writes the golden files; once, they are never rewritten
       bundle_format.py read FILE            checks a bundle and prints what it holds as JSON
       bundle_format.py check WRITER FOLDER  runs `WRITER FILE`, reads the file, and compares it with the golden ones

Exits with 0 if everything is as the page says, 77 if libzstd is missing.
"""

import ctypes
import ctypes.util
import hashlib
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

MAGIC = bytes.fromhex("89 52 4B 42 0D 0A 1A 0A")
MEDIA_TYPE = "application/vnd.rekindle.bundle.v1"
CREATED = 1700000000123456789


def digest(data):
    return hashlib.blake2b(data, digest_size=32).digest()


def padded(data):
    return data + bytes(-len(data) % 64)


# Ed25519 (RFC 8032), in as few lines as possible; slow, and not for secrets.
P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def x_of(y, odd):
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P)
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - square) % P:
        raise ValueError("no point")
    return P - x if x & 1 != odd else x


BASE = (x_of(4 * pow(5, P - 2, P) % P, 0), 4 * pow(5, P - 2, P) % P)


def add(a, b):
    product = D * a[0] * b[0] * a[1] * b[1]
    x = (a[0] * b[1] + b[0] * a[1]) * pow(1 + product, P - 2, P)
    y = (a[1] * b[1] + a[0] * b[0]) * pow(1 - product, P - 2, P)
    return x % P, y % P


def multiply(point, number):
    result = (0, 1)
    while number:
        if number & 1:
            result = add(result, point)
        point = add(point, point)
        number >>= 1
    return result


def encode_point(point):
    return (point[1] | (point[0] & 1) << 255).to_bytes(32, "little")


def decode_point(data):
    number = int.from_bytes(data, "little")
    y = number & (2**255 - 1)
    return x_of(y, number >> 255), y


def hash_number(*parts):
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little")


def sign(seed, message):
    hashed = hashlib.sha512(seed).digest()
    secret = int.from_bytes(hashed[:32], "little") & ~7 & (2**255 - 1) & ~(1 << 255) | 1 << 254
    key = encode_point(multiply(BASE, secret))
    nonce = hash_number(hashed[32:], message) % ORDER
    point = encode_point(multiply(BASE, nonce))
    number = (nonce + hash_number(point, key, message) * secret) % ORDER
    return key, point + number.to_bytes(32, "little")


def verify(key, message, signature):
    number = int.from_bytes(signature[32:], "little")
    challenge = hash_number(signature[:32], key, message) % ORDER
    left = multiply(BASE, number)
    right = add(decode_point(signature[:32]), multiply(decode_point(key), challenge))
    return number < ORDER and left == right


def unpack(frame, raw_bytes):
    name = ctypes.util.find_library("zstd")
    if not name:
        sys.exit(77)
    library = ctypes.CDLL(name)
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    out = ctypes.create_string_buffer(max(raw_bytes, 1))
    assert library.ZSTD_decompress(out, raw_bytes, frame, len(frame)) == raw_bytes
    return out.raw[:raw_bytes]


def rle_frame(byte, count):
    """A zstd frame (RFC 8878) of one RLE block: magic, single segment with a content size of 4 bytes, the block."""
    assert count <= 128 << 10
    header = struct.pack("<IBI", 0xFD2FB528, 0xA0, count)
    return header + struct.pack("<I", 1 | 1 << 1 | count << 3)[:3] + byte


# The writer.


def text(value):
    data = value.encode()
    return struct.pack("<I", len(data)) + data


def attributes(values):
    return struct.pack("<I", len(values)) + b"".join(text(name) + text(values[name]) for name in sorted(values))


def write(header, modules, seed=None):
    """modules: [(name, attributes, [(name, content, frame or None, mode, attributes)])]"""
    encoded = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    head = struct.pack("<8sIIQ40x", MAGIC, 1, len(encoded), CREATED) + encoded
    out = padded(head)
    rows, numbers, parts, count = b"", {}, b"", 0
    for name, values, items in modules:
        parts += text(name) + attributes(values) + struct.pack("<I", len(items))
        for item, content, frame, mode, item_attributes in items:
            if content not in numbers:
                numbers[content] = len(numbers)
                stored = content if frame is None else frame
                rows += struct.pack("<QQQII", len(out), len(stored), len(content), frame is not None, 0)
                rows += digest(content) + digest(stored)
                out += padded(stored)
            parts += text(item) + struct.pack("<II", numbers[content], mode) + attributes(item_attributes)
            count += 1
    index = struct.pack("<IIII", len(numbers), len(modules), count, 0) + rows + parts
    footer = struct.pack("<8sIIQQ", MAGIC, 1, 256, len(out), len(index)) + digest(head) + digest(index)
    footer += struct.pack("<Q", len(out) + len(index) + 256)
    if seed:
        key = sign(seed, b"")[0]
        footer += struct.pack("<II", 1, 0) + key
        footer += sign(seed, b"rekindle bundle signature 1\n" + footer)[1]
    footer = footer.ljust(208, b"\0")
    return out + index + footer + digest(footer) + bytes(8) + MAGIC


def golden_files():
    header = {
        "media_type": MEDIA_TYPE,
        "made_with": {"jax": "0.10.2", "plugin": "xla_cpu_pjrt.so 0.0.1"},
        "annotations": {"org.opencontainers.image.title": "größer \"1\""},
    }
    noise = b"".join(hashlib.blake2b(b"golden %d" % i).digest() for i in range(8))
    repeated = b"a" * 5000
    stored = [
        ("pjrt", {"jobs": "1"}, [
            ("objects/ab/one.rkx", noise, None, 0, {"kind": "executable", "created": "1700000000"}),
            ("jobs/train/manifest", b"rekindle manifest 2\n", None, 0, {}),
        ]),
        ("inductor", {}, [
            ("c/kernel.so", b"\x7fELF, or so", None, 1, {}),
            ("c/empty", b"", None, 0, {}),
            ("c/höher", noise, None, 0, {"kind": "copy"}),
        ]),
    ]  # fmt: skip
    compressed = [("pjrt", {}, [("one", repeated, rle_frame(b"a", len(repeated)), 0, {})])]
    empty = {"media_type": MEDIA_TYPE, "made_with": {}, "annotations": {}}
    seed = digest(b"rekindle golden signing key")
    return {
        "bundle-v1.rkb": write(header, stored),
        "bundle-v1-signed.rkb": write(header, stored, seed),
        "bundle-v1-compressed.rkb": write(header, compressed),
        "bundle-v1-empty.rkb": write(empty, []),
    }


# The reader.


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        assert self.at + count <= len(self.data)
        self.at += count
        return self.data[self.at - count : self.at]

    def unpack(self, layout):
        return struct.unpack(layout, self.take(struct.calcsize(layout)))

    def text(self):
        return self.take(self.unpack("<I")[0]).decode()

    def attributes(self):
        (count,) = self.unpack("<I")
        values = [(self.text(), self.text()) for _ in range(count)]
        assert values == sorted(dict(values).items())
        return dict(values)


def read_footer(data):
    footer = data[-256:]
    magic, version, footer_bytes, index_offset, index_bytes = struct.unpack("<8sIIQQ", footer[:32])
    file_bytes, signature_type, reserved = struct.unpack("<QII", footer[96:112])
    key, signature = footer[112:144], footer[144:208]
    assert (magic, footer[248:], version, footer_bytes, reserved) == (MAGIC, MAGIC, 1, 256, 0)
    assert footer[208:240] == digest(footer[:208]) and footer[240:248] == bytes(8)
    assert file_bytes == len(data) and index_offset + index_bytes + 256 == len(data)
    index = data[index_offset : index_offset + index_bytes]
    assert digest(index) == footer[64:96]
    if signature_type == 0:
        assert key + signature == bytes(96)
        return footer, index_offset, index, None
    assert signature_type == 1
    assert verify(key, b"rekindle bundle signature 1\n" + footer[:144], signature)
    return footer, index_offset, index, key.hex()


def read_blobs(data, cursor, count, begin, end):
    contents = []
    for _ in range(count):
        offset, stored_bytes, raw_bytes, codec, reserved = cursor.unpack("<QQQII")
        raw_digest, stored_digest = cursor.take(32), cursor.take(32)
        assert offset == begin and codec in (0, 1) and reserved == 0
        stored = data[offset : offset + stored_bytes]
        begin = offset + stored_bytes + -stored_bytes % 64
        assert begin <= end and not any(data[offset + stored_bytes : begin])
        content = unpack(stored, raw_bytes) if codec else stored
        assert len(content) == raw_bytes and digest(content) == raw_digest and digest(stored) == stored_digest
        contents.append(content)
    assert begin == end
    return contents


def read(data):
    magic, version, header_bytes, created = struct.unpack("<8sIIQ", data[:24])
    assert magic == MAGIC and version == 1 and not any(data[24:64])
    head = data[: 64 + header_bytes]
    begin = len(padded(head))
    footer, index_offset, index, signer = read_footer(data)
    assert digest(head) == footer[32:64] and not any(data[len(head) : begin])
    header = json.loads(head[64:])
    assert header["media_type"] == MEDIA_TYPE
    cursor = Cursor(index)
    blob_count, module_count, item_count, reserved = cursor.unpack("<IIII")
    contents = read_blobs(data, cursor, blob_count, begin, index_offset)
    modules, seen, used = [], 0, 0
    for _ in range(module_count):
        module = {"name": cursor.text(), "attributes": cursor.attributes(), "items": []}
        for _ in range(cursor.unpack("<I")[0]):
            name = cursor.text()
            blob, mode = cursor.unpack("<II")
            assert blob <= used and mode in (0, 1)
            used = max(used, blob + 1)
            item = {"name": name, "executable": bool(mode), "attributes": cursor.attributes()}
            module["items"].append(item | {"digest": digest(contents[blob]).hex(), "bytes": len(contents[blob])})
            seen += 1
        modules.append(module)
    assert cursor.at == len(index) and seen == item_count and used == blob_count and reserved == 0
    return {"created": created, "header": header, "signer": signer, "modules": modules}


def check(writer, folder):
    """Reads what rekindle's writer wrote, and the golden files."""
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "written.rkb"
        subprocess.run([writer, path], check=True)
        found = read(path.read_bytes())
    assert found["created"] == CREATED and found["header"]["made_with"] == {"jax": "0.10.2"}
    assert found["signer"] == sign(digest(b"signer"), b"")[0].hex()
    names = [[item["name"] for item in module["items"]] for module in found["modules"]]
    assert names == [["objects/ab/one.rkx", "two", "empty"], ["kernel.so", "again/one"]]
    first, second = (module["items"] for module in found["modules"])
    content = "".join(f"instruction {i}\n" for i in range(40)).encode()
    assert first[0]["digest"] == second[1]["digest"] == digest(content).hex()
    assert first[1]["digest"] == digest(b"a short text").hex() and first[2]["bytes"] == 0
    assert first[0]["attributes"] == {"kind": "executable", "after": ""}
    assert [item["executable"] for item in first + second] == [False, False, False, True, False]
    for name, data in golden_files().items():
        assert (Path(folder) / name).read_bytes() == data, name
        read(data)


def main():
    what, *arguments = sys.argv[1:]
    if what == "write":
        for name, data in golden_files().items():
            with open(Path(arguments[0]) / name, "xb") as file:
                file.write(data)
    elif what == "read":
        print(json.dumps(read(Path(arguments[0]).read_bytes()), indent=2, ensure_ascii=False))
    else:
        check(*arguments)


if __name__ == "__main__":
    main()
