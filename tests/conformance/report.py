"""Writes docs/conformance.md from the results of the modules."""

import json
import re

from common import fill

HEAD = """# Conformance: third-party programs and tests, with and without rekindle

`make conformance` runs third-party programs and tests bare and in several ways with rekindle, and compares each verdict
and each result with the bare run. `tests/conformance/README.md` in the sources describes the ways. Each section
states how many of its tests ran. `tests/conformance/run` continues where an earlier run ended.

In the tables, "compiled" counts calls of the compiler. The compiler refuses some programs, in the bare run too, and
each start requests them again. "bypassed" counts programs that cannot be cached, for the reasons in [keys.md](keys.md).
"again" counts programs that were compiled although they should have been loaded. "fails (N)" means that the bare run
failed with exit status N."""

LIMITS = """## What this does not show

Distrax, NumPyro and BlackJAX have 30,900 tests. All ways together take some 30 hours of CPU time, estimated from the
samples above, which take tests from the whole of each suite. The source distributions of Equinox and Diffrax contain no
tests. Brax's PPO calls a function that JAX 0.10 removed, so Brax trains by augmented random search. This CPU plugin has
no LAPACK kernels, which Diffrax's implicit solvers need. In torch's `op_db`, at most four samples of each operation
run, in five types. torch_xla's own cache is off: with this plugin it loads nothing that it stored, with or without
rekindle."""

ABOUT = {
    "programs": "Programs that use third-party libraries as their users do (`tests/conformance/programs`).",
    "go": "The tests of `github.com/gomlx/go-xla`, from Go's module proxy; each test binary counts as one program.",
    "rust": "The examples of the crate `pjrt`, from crates.io.",
    "lax": "`jax._src.internal_test_util.test_harnesses` of JAX's wheel, with `JAX_ENABLE_X64=1`; each case is one "
    "program.",
    "op_db": "`torch.testing._internal.common_methods_invocations.op_db` of PyTorch's wheel on the device `xla`. "
    "One case is one operation with one type; it consists of up to four of the operation's samples and their gradients.",
    "weeks": "Real jobs, each started ten times or more with one known change at each start (`tests/e2e/weeks`): what "
    "`explain`, `stats` and `diff` say of each start is compared with what is true of it.",
    "mixtures": "Jobs with two, three or five causes of repeated compilation at once (`tests/e2e/mixtures`), as they are "
    "and with each cause repaired: `explain` finds all causes, and each repair removes exactly one.",
}


def sections_of(document):
    """By module: what an earlier document says of it."""
    parts = re.split(r"^(?=## )", document, flags=re.MULTILINE)
    return {match[1]: part.rstrip() for part in parts if (match := re.match(r"## `(.+)`\n", part))}


def section(module, results):
    about = ABOUT.get(module.name) or f"The tests in {module.name}'s source distribution on PyPI, by pytest."
    path = results / f"{module.name}.json"
    if not path.exists():
        return None
    record = json.loads(path.read_text())
    versions = ", ".join(f"{name} {version}" for name, version in record["head"]["versions"].items() if name != "files")
    ran = f"`tests/conformance/run {module.name}`, {record['date']}, with {versions}."
    begin = fill(f"{about} {ran}")
    return "\n".join([f"## `{module.name}`", "", begin, "", *module.table(record)])


def text(modules, results, earlier):
    """The whole document. A module without results here keeps its section of the earlier document."""
    kept = sections_of(earlier)
    sections = {name: section(module, results) or kept.get(name) for name, module in modules.items()}
    parts = [HEAD, *[one for one in sections.values() if one]]
    parts.append(LIMITS)
    missing = [f"`{name}`" for name, one in sections.items() if not one]
    if missing:
        parts.append(f"Not run: the modules {', '.join(missing)}.")
    return "\n\n".join(parts) + "\n"
