"""Modules of cases: a worker runs many of them in one process, and each has a verdict and a digest of its results."""

import dataclasses
import json
import signal
import tempfile
from pathlib import Path

import common
from common import harness

TIMEOUT_S = 3600
SHOWN_DIFFERENCES = 5

# In this order, in one store: whether rekindle is in the process, and whether JAX's own cache is on. That cache is
# empty at "jax-cache", so JAX fills it with what rekindle loaded; "jax-cache alone" reads it without rekindle.
WAYS = {
    "bare": (False, False),
    "cold": (True, False),
    "warm": (True, False),
    "jax-cache": (True, True),
    "jax-cache again": (True, True),
    "jax-cache alone": (False, True),
}
# A verdict that says nothing about the case, only about the time that this machine had for it. A worker gives it, or
# dies of SIGALRM in the case.
TIMED_OUT = "timed out"


@dataclasses.dataclass
class Worker:
    """What lists (with --list) and runs the cases (with a file of their names, and one for the results)."""

    argv: list
    env: dict
    # Of what the worker itself cannot tell.
    versions: dict = dataclasses.field(default_factory=dict)
    cwd: object = None
    # Replaces what is in `env` where rekindle is not in the process.
    bare_env: dict = dataclasses.field(default_factory=dict)


class Cases:
    """`make()` returns the Worker, or raises common.Unavailable if the machine lacks something."""

    def __init__(self, name, make, batch, counted="cases", interleaved=True, has_jax_cache=True):
        self.name, self.make, self.batch, self.counted = name, make, batch, counted
        self.interleaved, self.has_jax_cache = interleaved, has_jax_cache

    def environment(self, worker, folder, way):
        watched, cached = WAYS[way]
        env = worker.env | ({} if watched else worker.bare_env)
        env |= {"XDG_CACHE_HOME": str(folder / "xdg-cache"), "TMPDIR": str(folder / "tmp")}
        if watched:
            env["REKINDLE_DIR"] = str(folder / "store")
        if cached:
            env |= {
                "JAX_COMPILATION_CACHE_DIR": str(folder / "jax-cache"),
                "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
                "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
            }
        return env

    def list(self, worker):
        with tempfile.TemporaryDirectory(prefix="rekindle-conformance-") as name:
            (Path(name) / "tmp").mkdir()
            env = self.environment(worker, Path(name), "bare")
            done = harness.run_process([*worker.argv, "--list"], env, worker.cwd, TIMEOUT_S)
        if done.returncode != 0:
            raise common.Unavailable(f"its cases cannot be listed: {done.stderr[-2000:]}")
        return json.loads(done.stdout.splitlines()[-1])

    def run_way(self, worker, folder, way, cases):
        """The results by case, and what the journals say of compilations. A case in which the process dies gets that
        as its verdict, and a new process goes on behind it."""
        watched, _ = WAYS[way]
        env, results = self.environment(worker, folder, way), {}
        begin = [harness.REKINDLE, "run", "--"] if watched else []
        before = common.runs_of(folder / "store")
        while len(results) < len(cases):
            (folder / "cases").write_text(json.dumps([case for case in cases if case not in results]))
            (folder / "out").unlink(missing_ok=True)
            argv = [*begin, *worker.argv, folder / "cases", folder / "out"]
            done = harness.run_process(argv, env, worker.cwd, TIMEOUT_S)
            open_case = None
            for line in (folder / "out").read_text().splitlines() if (folder / "out").exists() else []:
                row = json.loads(line)
                open_case = row.get("begin")
                if "case" in row:
                    results[row["case"]] = row["result"]
            if open_case is not None:
                # After a signal `rekindle run` exits with 128 plus its number; a bare process has the negative number.
                status = done.returncode if done.returncode >= 0 else 128 - done.returncode
                results[open_case] = [TIMED_OUT if status == 128 + signal.SIGALRM else f"died: {status}", ""]
            elif len(results) < len(cases):
                raise SystemExit(f"{self.name}, {way}: the worker did not go on\n{done.stdout}\n{done.stderr}")
        runs = common.runs_of(folder / "store") - before
        return results, common.events_of(folder / "store", runs, "compile") if watched else []

    def run_batch(self, worker, cases):
        """The verdicts of the bare run, and for each way the cases that differ from it."""
        with tempfile.TemporaryDirectory(prefix="rekindle-conformance-") as name:
            folder = Path(name)
            (folder / "tmp").mkdir()
            results, counts, asked = {}, {}, set()
            for way in self.ways:
                results[way], events = self.run_way(worker, folder, way, cases)
                deadly = any(verdict.startswith("died") for verdict, _ in results["bare"].values())
                counts[way] = count(events, asked if way != "cold" else None, deadly)
                asked |= {event["key"] for event in events if event.get("key")}
            bare = other = results["bare"]
            # A case that differs between two bare processes is compared by its verdict only, if that is the same. The
            # second bare run has all cases, like the first: a case may affect the next one.
            if any(results[way] != bare for way in self.ways):
                other, _ = self.run_way(worker, folder, "bare", cases)
            batch = {"cases": len(cases), "verdicts": {}, "ways": {}, "unsteady": []}
            batch["unsteady"] = [case for case in cases if bare[case] != other[case]]
            for verdict, _ in bare.values():
                batch["verdicts"][verdict] = batch["verdicts"].get(verdict, 0) + 1
            for way in self.ways[1:]:
                differ = [case for case in cases if is_other(bare[case], other[case], results[way][case])]
                batch["ways"][way] = {
                    "equal": len(cases) - len(differ),
                    "differ": {case: {"bare": bare[case], way: results[way][case]} for case in differ},
                    "counts": counts[way],
                }
            return batch

    def run(self, record, arguments, save):
        worker = self.make()
        self.ways = [way for way, (_, cached) in WAYS.items() if not cached or self.has_jax_cache]
        if arguments.no_cache:
            self.ways = [way for way in self.ways if not WAYS[way][1]]
        listing = self.list(worker)
        head = {
            "build": common.build_id(), "versions": worker.versions | listing["versions"], "sample": arguments.sample,
            "ways": self.ways, "all": len(listing["cases"]), "batch": self.batch, "notes": listing.get("notes", []),
        }  # fmt: skip
        if record.get("head") != head:
            record = {"head": head, "batches": {}}
        batches = self.batches_of(listing["cases"], arguments.sample)
        for number in [n for n in order(len(batches)) if str(n) not in record["batches"]][: arguments.batches]:
            record["batches"][str(number)] = self.run_batch(worker, batches[number])
            save(record)
            print(f"{self.name}: batch {number} of {len(batches)} done", flush=True)
        return record

    def batches_of(self, cases, sample):
        if sample:
            cases = cases[:: max(1, len(cases) // sample)][:sample]
        number = -(-len(cases) // self.batch)
        if self.interleaved:
            return [cases[at::number] for at in range(number)]
        return [cases[at : at + self.batch] for at in range(0, len(cases), self.batch)]

    def is_good(self, record):
        ways = [way for batch in record["batches"].values() for way in batch["ways"].values()]
        return not any(way["differ"] or way["counts"]["again"] for way in ways)

    def sum_up(self, record):
        lines = [f"{self.name}: {self.headline(record)}"]
        for way in record["head"]["ways"][1:]:
            ways = [batch["ways"][way] for batch in record["batches"].values()]
            counts = {name: sum(len(one["counts"][name]) if name == "again" else one["counts"][name] for one in ways)
                      for name in ("hits", "compiled", "refused", "bypassed", "again")}  # fmt: skip
            text = ", ".join(f"{name} {value}" for name, value in counts.items()) if WAYS[way][0] else ""
            lines.append(f"  {way:16} {sum(one['equal'] for one in ways)} equal; {text}")
            for case, how in [item for one in ways for item in one["differ"].items()][:SHOWN_DIFFERENCES]:
                lines.append(f"    {case}: {how}")
            for event in [item for one in ways for item in one["counts"]["again"]][:SHOWN_DIFFERENCES]:
                lines.append(f"    compiled again: {event}")
        return "\n".join(lines)

    def headline(self, record):
        batches = record["batches"].values()
        verdicts = {}
        for batch in batches:
            for verdict, number in batch["verdicts"].items():
                verdict = verdict.split(":")[0]
                verdicts[verdict] = verdicts.get(verdict, 0) + number
        total, unsteady = sum(batch["cases"] for batch in batches), sum(len(batch["unsteady"]) for batch in batches)
        shown = ", ".join(f"{number:,} {verdict}" for verdict, number in sorted(verdicts.items()))
        same = f"; {unsteady} not the same in two bare runs" if unsteady else ""
        return f"{total:,} of {record['head']['all']:,} {self.counted}; bare {shown}{same}"

    def table(self, record):
        lines = [
            f"{self.headline(record)}.",
            "",
            "| way | equal | loaded | compiled | of these refused | bypassed | again |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        ]
        total = sum(batch["cases"] for batch in record["batches"].values())
        for way in record["head"]["ways"][1:]:
            ways = [batch["ways"][way] for batch in record["batches"].values()]
            cells = [way, f"{sum(one['equal'] for one in ways):,} of {total:,}"]
            for name in ("hits", "compiled", "refused", "bypassed"):
                cells.append(f"{sum(one['counts'][name] for one in ways):,}" if WAYS[way][0] else "–")
            cells.append(f"{sum(len(one['counts']['again']) for one in ways)}" if WAYS[way][0] else "–")
            lines.append(f"| {' | '.join(cells)} |")
        suspected = sum(way["counts"].get("suspected", 0) for batch in record["batches"].values() for way in batch["ways"].values())
        notes = [f"Cases that kill their process did so during the prefetch of {suspected} programs; these were "
                 "compiled once more, because a load could be the cause."] if suspected else []  # fmt: skip
        return [*lines, *[f"\n{note}" for note in [*notes, *record["head"]["notes"]]]]


def order(number):
    """Of batches: first those far apart, so that a run that is cut short has seen something of all."""
    step = max(1, number // 4)
    return [at for start in range(step) for at in range(start, number, step)]


def is_other(bare, again, result):
    """Whether a result is one that no bare run gave."""
    if TIMED_OUT in (bare[0], again[0], result[0]):
        return False
    if bare[0] != again[0]:
        return result[0] not in (bare[0], again[0])
    return result[0] != bare[0] or (bare == again and result != bare)


def count(events, asked, deadly):
    """Counts the events of one way. "again" lists programs that were compiled although an earlier way requested them and
    they can be cached. With `asked`, programs that no earlier way requested are listed as "new". If a
    case kills its process (`deadly`), what was being loaded at that moment is rightly compiled: "suspected"."""
    counts = {"hits": 0, "compiled": 0, "refused": 0, "bypassed": 0, "suspected": 0, "again": []}
    for event in events:
        refused = bool(event.get("failed"))
        counts["hits"] += event["outcome"] == "hit"
        counts["compiled"] += bool(event["compiled"])
        counts["refused"] += refused
        counts["bypassed"] += event["outcome"] == "bypass"
        suspected = deadly and event.get("reason") == "load_killed"
        counts["suspected"] += suspected
        if suspected:
            continue
        if asked is not None and event["compiled"] and not refused and event["outcome"] != "bypass":
            kind = "" if event["key"] in asked else " (new)"
            counts["again"].append(f"{event['name']} {event['key']}{kind}")
    return counts
