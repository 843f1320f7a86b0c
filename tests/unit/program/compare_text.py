"""Compares rekindle's reader of MLIR text with its reader of bytecode, on programs that an installed jaxlib prints.

    compare_text.py [--least N] [--mutations N] [--least-mutants N] [--seed S] MODEL_DUMP PATH…

PATH is a program (.mlir, bytecode), a stored program (.rkp), or a folder of such files. jaxlib prints each program in
both forms (pretty, generic), with and without locations, and once more with comments, other blanks and other names of
values. Each text must have the fingerprint of the bytecode, or be known by its bytes (at most 5 % of the texts). The
reason against keeping the executable must be the same too.

With --mutations, N random changes are made to the texts of each program: numbers, words, operands, attributes, lines.
What jaxlib still accepts, it also writes as bytecode: the changed text must have the fingerprint of that bytecode, and
differ from the original exactly if the bytecode does. Needs a Python with jaxlib. Exits with 1 if anything differs, or
if fewer programs or changed texts were compared than the least number.
"""

import argparse
import collections
import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import jaxlib
from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from compare_bytecode import files, program_bytes

MOST_BY_BYTES = 0.05
SHOWN_DIFFERENCES = 20
BATCH = 100


def inspect(model_dump, contents):
    """Returns what rekindle finds in each program: fingerprint, by_bytes, uncacheable."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for start in range(0, len(contents), BATCH):
            paths = []
            for number, content in enumerate(contents[start : start + BATCH]):
                path = Path(folder) / f"{number}.mlir"
                path.write_bytes(content if isinstance(content, bytes) else content.encode())
                paths.append(path)
            done = subprocess.run([model_dump, "--inspect", *paths], capture_output=True, text=True, check=True)
            found += map(json.loads, done.stdout.splitlines())
    return found


def disguised(text):
    """The same program with comments, other blanks, and other names of values."""
    lines = []
    for number, line in enumerate(text.split("\n")):
        if '"' not in line:
            line = re.sub(r"%(\w+)", r"%v.\1-x", line).replace(", ", " ,\t ")
            line += f" // line {number}: \"%0 = stablehlo.add }}"
        else:
            line = re.sub(r"%(\w+)(?=[^\"]*(?:\"[^\"]*\"[^\"]*)*$)", r"%v.\1-x", line)
        lines.append(line)
    return "// a comment\n\n" + "\n".join(lines)


def printed(module):
    """Yields (form, text)."""
    for generic in (False, True):
        for debug in (False, True):
            form = ("generic" if generic else "pretty") + (" with locations" if debug else "")
            yield form, module.operation.get_asm(print_generic_op_form=generic, enable_debug_info=debug)
    yield "pretty, disguised", disguised(module.operation.get_asm())


def serialize(module):
    """Converts to VHLO. (The serializer of jaxlib._jax would also remove and move operations.)"""
    return stablehlo.serialize_portable_artifact(module, stablehlo.get_current_version(), True)


# --- Mutations ------------------------------------------------------------------------------------------

NUMBER = re.compile(r"(?<![\w%#.@])-?\d+(?![\w.#])")
FLOAT = re.compile(r"-?\d+\.\d+(?:[eE][-+]?\d+)?")
WORD = re.compile(
    r"\b(?:LT|GT|LE|GE|EQ|NE|SIGNED|UNSIGNED|FLOAT|DEFAULT|HIGHEST|HIGH|true|false|FFT|IFFT|add|subtract|multiply|divide|"
    r"maximum|minimum|and|or|xor|sine|cosine|tanh|exponential|log|negate|abs|floor|ceil|THREE_FRY|PHILOX|public|private)\b"
)
OTHER_WORDS = {
    "LT": "GT", "GT": "LE", "LE": "LT", "GE": "GT", "EQ": "NE", "NE": "EQ", "SIGNED": "UNSIGNED", "UNSIGNED": "SIGNED",
    "FLOAT": "TOTALORDER", "DEFAULT": "HIGHEST", "HIGHEST": "HIGH", "HIGH": "DEFAULT", "true": "false", "false": "true",
    "FFT": "IFFT", "IFFT": "FFT", "add": "subtract", "subtract": "multiply", "multiply": "divide", "divide": "add",
    "maximum": "minimum", "minimum": "add", "and": "or", "or": "xor", "xor": "and", "sine": "cosine", "cosine": "tanh",
    "tanh": "exponential", "exponential": "log", "log": "negate", "negate": "abs", "abs": "floor", "floor": "ceil",
    "ceil": "sine", "THREE_FRY": "PHILOX", "PHILOX": "DEFAULT", "public": "private", "private": "public",
}  # fmt: skip
VALUE = re.compile(r"%\w+(?:#\d+)?")
ATTRIBUTE = re.compile(r", [\w.]+ = [^,{}\[\]<>()]+(?=[,}])|(?<=\{)[\w.]+ = [^,{}\[\]<>()]+(?=\})")
TYPE = re.compile(r"tensor<[^<> ]*>")
STRING = re.compile(r'"((?:[^"\\\n]|\\.)+)"')
HEX = re.compile(r"0x[0-9A-F]{2,}")


def replace(text, match, other):
    return text[: match.start()] + other + text[match.end() :]


def pick(chance, pattern, text):
    found = list(pattern.finditer(text))
    return chance.choice(found) if found else None


def change_number(chance, text):
    match = pick(chance, NUMBER, text)
    return match and replace(text, match, str(int(match[0]) + chance.choice((1, -1, 2))))


def change_float(chance, text):
    match = pick(chance, FLOAT, text)
    if not match:
        return None
    other = chance.choice(("1.500000e+00", "-0.000000e+00", "0.000000e+00", "3.14159274", "1.0e-40", match[0] + "0"))
    return replace(text, match, other)


def change_word(chance, text):
    match = pick(chance, WORD, text)
    return match and replace(text, match, OTHER_WORDS[match[0]])


def change_operand(chance, text):
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    values = list(VALUE.finditer(lines[at]))
    if len(values) < 2:
        return None
    one, other = chance.sample(values, 2)
    lines[at] = replace(lines[at], one, other[0])
    return "\n".join(lines)


def swap_operands(chance, text):
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    values = list(VALUE.finditer(lines[at]))[-2:]
    if len(values) < 2:
        return None
    line = replace(lines[at], values[1], values[0][0])
    lines[at] = replace(line, values[0], values[1][0])
    return "\n".join(lines)


def drop_attribute(chance, text):
    match = pick(chance, ATTRIBUTE, text)
    return match and replace(text, match, "")


def change_type(chance, text):
    match = pick(chance, TYPE, text)
    pairs = [("f32", "f64"), ("i32", "i64"), ("f32", "bf16"), ("i64", "ui64"), ("xf32", "x1xf32"), ("<4x", "<5x")]
    other = match and match[0].replace(*chance.choice(pairs))
    return match and text.replace(match[0], other)


def change_string(chance, text):
    match = pick(chance, STRING, text)
    return match and replace(text, match, '"' + match[1] + chance.choice(("x", "\\22", "\\0A")) + '"')


def change_hex(chance, text):
    match = pick(chance, HEX, text)
    if not match:
        return None
    at = chance.randrange(match.start() + 2, match.end())
    return text[:at] + chance.choice("0123456789ABCDEF") + text[at + 1 :]


def swap_lines(chance, text):
    lines = text.split("\n")
    at = chance.randrange(max(len(lines) - 1, 1))
    lines[at : at + 2] = reversed(lines[at : at + 2])
    return "\n".join(lines)


def drop_line(chance, text):
    lines = text.split("\n")
    del lines[chance.randrange(len(lines))]
    return "\n".join(lines)


MUTATIONS = [
    change_number, change_number, change_float, change_word, change_operand, swap_operands, drop_attribute, change_type,
    change_string, change_hex, swap_lines, drop_line,
]  # fmt: skip


def mutants(text, count, chance):
    """Yields (mutation, text, bytecode) for changes that jaxlib accepts."""
    for _ in range(count):
        mutation = chance.choice(MUTATIONS)
        changed = mutation(chance, text)
        if not changed or changed == text:
            continue
        try:
            yield mutation.__name__, changed, serialize(ir.Module.parse(changed))
        except Exception:  # noqa: BLE001 (jaxlib refuses most changes)
            continue


# --- Report ---------------------------------------------------------------------------------------------


class Report:
    def __init__(self):
        self.counts = collections.Counter()
        self.reasons = collections.Counter()
        self.differences = []

    def difference(self, name, form, what, text):
        self.counts["different"] += 1
        if len(self.differences) < SHOWN_DIFFERENCES:
            self.differences.append(f"{name}, {form}: {what}")
            keep = Path(tempfile.gettempdir()) / f"compare_text_{len(self.differences)}.mlir"
            keep.write_text(text)
            self.differences.append(f"    {keep}")

    def add(self, name, form, text, ours, theirs):
        self.counts["texts"] += 1
        if (ours["uncacheable"] is None) != (theirs["uncacheable"] is None):
            self.difference(name, form, f"kept: {ours['uncacheable']}; bytecode: {theirs['uncacheable']}", text)
        elif ours["by_bytes"]:
            self.counts["by bytes"] += 1
            self.reasons[ours["by_bytes"].partition(": ")[2]] += 1
        elif ours["fingerprint"] == theirs["fingerprint"]:
            self.counts["equal"] += 1
        else:
            self.difference(name, form, "another fingerprint than the bytecode", text)

    def add_mutant(self, name, form, text, ours, theirs, base):
        self.counts["mutants"] += 1
        if ours["by_bytes"]:
            self.counts["mutants by bytes"] += 1
            self.reasons[ours["by_bytes"].partition(": ")[2]] += 1
            return
        same, same_bytecode = ours["fingerprint"] == base, theirs["fingerprint"] == base
        self.counts["mutants that mean the same"] += same_bytecode
        if same != same_bytecode or (not theirs["by_bytes"] and ours["fingerprint"] != theirs["fingerprint"]):
            self.difference(name, form, f"same as before: {same}; bytecode: {same_bytecode}", text)

    def failed(self, least, least_mutants):
        too_many = self.counts["by bytes"] > MOST_BY_BYTES * self.counts["texts"]
        # A change whose text is known by its bytes alone was not compared.
        mutants = self.counts["mutants"] - self.counts["mutants by bytes"]
        return bool(self.differences or too_many or self.counts["programs"] < least or mutants < least_mutants)


def compare(report, model_dump, name, code, mutations, chance):
    if b"StableHLO_v" not in code[:64]:
        report.counts["not VHLO"] += 1
        return
    try:
        module = stablehlo.deserialize_portable_artifact(ir.Context.current, code)
    except Exception:  # noqa: BLE001 (not a portable artifact)
        report.counts["not for this jaxlib"] += 1
        return
    forms = list(printed(module))
    (original, *found) = inspect(model_dump, [code, *(text for _, text in forms)])
    report.counts["programs"] += 1
    for (form, text), ours in zip(forms, found, strict=True):
        report.add(name, form, text, ours, original)
    if not mutations or original["by_bytes"]:
        return
    changed = [
        (form, *mutant) for form, text in forms[:3:2] for mutant in mutants(text, mutations, chance)
    ]
    again = inspect(model_dump, [serialize(module), *(item for c in changed for item in c[2:])])
    for (form, mutation, text, _), ours, theirs in zip(changed, again[1::2], again[2::2], strict=True):
        report.add_mutant(name, f"{form}, {mutation}", text, ours, theirs, again[0]["fingerprint"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--least", type=int, default=1, metavar="N", help="fewer programs are a failure")
    parser.add_argument("--mutations", type=int, default=0, metavar="N", help="changes per program and form")
    parser.add_argument("--least-mutants", type=int, metavar="N", help="fewer changed texts are a failure (with changes: 1)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("model_dump", type=Path)
    parser.add_argument("paths", nargs="+", type=Path, metavar="path")
    arguments = parser.parse_args()
    report = Report()
    chance = random.Random(arguments.seed)
    with jax_mlir.make_ir_context():
        for path in files(arguments.paths):
            compare(report, arguments.model_dump, path.name, program_bytes(path), arguments.mutations, chance)
    print("\n".join(report.differences))
    counted = ", ".join(f"{n:,} {what}" for what, n in report.counts.items())
    print(f"MLIR text of jaxlib {jaxlib.__version__} against its bytecode: {counted}")
    for reason, count in report.reasons.most_common():
        print(f"  known by bytes: {count} times: {reason}")
    least_mutants = bool(arguments.mutations) if arguments.least_mutants is None else arguments.least_mutants
    return report.failed(arguments.least, least_mutants)


if __name__ == "__main__":
    sys.exit(main())
