"""Modules of programs: each is started bare, and three times with rekindle in one store."""

import dataclasses
import tempfile
from pathlib import Path

import common
from common import harness

TIMEOUT_S = 1200
# The last three share a store. The second start loads what the first one stored; the third one prefetches it.
WAYS = ("bare", "cold", "warm", "third")
BARE = ("bare", "bare again")


def last_line(stdout):
    return (stdout.splitlines() or [""])[-1]


@dataclasses.dataclass
class Program:
    name: str
    argv: list
    env: dict
    # What of the output must be the same at each start.
    read: object = last_line
    cwd: object = None


class Programs:
    """`make()` returns the versions and the programs, or raises common.Unavailable."""

    counted = "programs"

    def __init__(self, name, make):
        self.name = name
        self.make = make

    def start(self, program, way, folder):
        """The ending, the output, and rekindle's counters."""
        env = program.env | {"XDG_CACHE_HOME": str(folder / "xdg-cache"), "TMPDIR": str(folder / "tmp")}
        begin = []
        if way not in BARE:
            env["REKINDLE_DIR"] = str(folder / "store")
            begin = [harness.REKINDLE, "run", "--"]
        (folder / "tmp").mkdir(exist_ok=True)
        done = harness.run_process([*begin, *program.argv], env, program.cwd, TIMEOUT_S)
        result = {"result": [done.returncode, program.read(done.stdout)], "seconds": round(done.seconds, 1)}
        if done.returncode != 0:
            result["stderr"] = done.stderr[-2000:]
        if way not in BARE:
            result["stats"] = common.stats_of(env) | {"asked_first": asked_first(folder / "store")}
        return result

    def run_program(self, program):
        with tempfile.TemporaryDirectory(prefix="rekindle-conformance-") as name:
            row = {way: self.start(program, way, Path(name)) for way in WAYS}
            # A second bare start shows whether the difference exists without rekindle.
            if any(row[way]["result"] != row["bare"]["result"] for way in WAYS):
                row["bare again"] = self.start(program, "bare again", Path(name))
        return row

    def run(self, record, arguments, save):
        versions, programs = self.make()
        if arguments.sample:
            programs = [program for program in programs if program.name in SAMPLE.get(self.name, ())]
        return common.add_rows(self.name, record, versions, programs, self.run_program, save)

    def is_good(self, record):
        return all(judge(row) in (GOOD, GAIN) for row in record["rows"].values())

    def sum_up(self, record):
        lines = [f"  {name}: {judge(row)}" for name, row in record["rows"].items()]
        return "\n".join([f"{self.name}: {len(lines)} programs", *lines])

    def table(self, record):
        lines = [
            "| program | bare | first start: compiled | second: loaded | third: prefetched | verdict |",
            "| --- | --- | ---: | ---: | ---: | --- |",
        ]
        for name, row in record["rows"].items():
            cold, warm, third = (row[way]["stats"] for way in WAYS[1:])
            ending = row["bare"]["result"][0]
            cells = [
                f"`{name}`",
                "works" if ending == 0 else f"fails ({ending})",
                f"{cold['compiled']}",
                f"{warm['hits']}, {warm['compiled']} compiled",
                f"{third['preloaded']} of {third['hits']}"
                + (f", {third['asked_first']} requested first" if third["asked_first"] else ""),
                judge(row),
            ]
            lines.append(f"| {' | '.join(cells)} |")
        return lines


# What FULL=1 runs: cheap ones of different kinds.
SAMPLE = {"programs": ("orbax", "notebook", "multiprocessing-fork")}


def asked_first(store):
    """Requests of the latest run for programs on the prefetch list whose load had not begun."""
    return sum(event["taken"] for event in common.events_of(store, {max(common.runs_of(store))}, "preload"))


GOOD, GAIN = "as bare", "works only with rekindle"


def judge(row):
    """GOOD or GAIN, or what is not as it should be."""
    (ending, _), watched = row["bare"]["result"], [row[way]["result"] for way in WAYS[1:]]
    if any(result != watched[0] for result in watched):
        unsteady = "bare again" in row and row["bare again"]["result"] != row["bare"]["result"]
        return f"results differ{', as those of two bare runs do' if unsteady else ''}"
    if ending != 0 and watched[0][0] != 0:
        return "fails, as bare"
    if watched[0] != row["bare"]["result"] and ending == 0:
        return "not as bare"
    warm, third = row["warm"]["stats"], row["third"]["stats"]
    if warm["compiled"] or third["compiled"]:
        return f"compiled {warm['compiled']} at the second start, {third['compiled']} at the third"
    if third["preloaded"] + third["asked_first"] < third["hits"]:
        return f"{third['hits'] - third['preloaded']} not prefetched"
    return GOOD if ending == 0 else GAIN


def python_programs():
    """Of programs/: third-party libraries, used as their users do."""
    python, plugin = common.python_env("--print-python", "conformance"), common.python_env("--print-plugin")
    env = harness.jax_environment(plugin) | {"PYTHONHASHSEED": "0"}
    folder = common.HERE / "programs"
    names = {
        "keras": "keras_fit", "numpyro": "numpyro_nuts", "diffrax": "diffrax_solve", "brax": "brax_train",
        "orbax": "orbax_resume", "notebook": "notebook",
    }  # fmt: skip
    programs = [Program(name, [python, folder / f"{file}.py"], env) for name, file in names.items()]
    for method in ("fork", "spawn", "forkserver"):
        programs.append(Program(f"multiprocessing-{method}", [python, folder / "processes.py", method], env))
    packages = ("jax", "keras", "numpyro", "diffrax", "brax", "orbax-checkpoint", "nbclient", "ipykernel")
    versions = common.pinned(packages, "conformance")
    return versions | {"files": common.files_id(*folder.glob("*.py"))}, programs
