"""Shared code of the fault tests: runs pjrt_host on the fake plugin, with and without rekindle, and reads the results:
the host's answers, the plugin's trace, rekindle's journal and store.

The paths of the binaries come from environment variables that ctest sets (CMakeLists.txt).
"""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

HOST = os.environ["FAULT_HOST"]
FAKE = os.environ["FAULT_FAKE"]
NO_API = os.environ["FAULT_NO_API"]
PRELOAD = os.environ["FAULT_PRELOAD"]
PLUGIN_WAY = os.environ["FAULT_PLUGIN_WAY"]
SANITIZER = os.environ.get("FAULT_SANITIZER", "")  # address, thread or empty

WAYS = ("preload", "plugin")
TIMEOUT_SECONDS = 120  # for one host process, which takes a few seconds at most, sanitized or not


class Outcome:
    """The results of one host process."""

    def __init__(self, status, stdout, stderr, trace_path):
        self.status = status
        self.stderr = stderr
        self.answers = [json.loads(line) for line in stdout.splitlines() if line.startswith("{")]
        self.other_output = [line for line in stdout.splitlines() if not line.startswith("{")]
        self.trace = read_json_lines(trace_path)

    def real_compiles(self):
        return self.traced("compiled")

    def real_loads(self):
        return self.traced("loaded")

    def traced(self, call):
        return [line["detail"] for line in self.trace if line["call"] == call]

    def of(self, action):
        return [answer for answer in self.answers if answer["action"] == action]

    def told(self):
        """Returns rekindle's lines on stderr."""
        return [line for line in self.stderr.splitlines() if line.startswith("rekindle")]

    def story(self):
        """Returns details for a failure message: last answers, stderr, misuse."""
        answers = [{key: value for key, value in answer.items() if key != "replaced"} for answer in self.answers[-8:]]
        return "\n".join([*map(str, answers), self.stderr, *self.traced("MISUSE")])

    def plain(self):
        """Returns the answers without values that differ between any two processes."""
        plain = []
        for answer in self.answers:
            answer = dict(answer)
            for key in ("pid", "child"):
                answer.pop(key, None)
            plain.append(answer)
        return plain


def unprivileged():
    """Returns a command prefix for a process that obeys file permissions; None if that is impossible.

    Root keeps its user ID and drops the capabilities that override permissions. Another user might be unable to reach
    the build, the temporary directory or the root directory itself.
    """
    if os.geteuid() != 0:
        return []
    prefix = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    try:
        done = subprocess.run([*prefix, "true"], capture_output=True, check=False)
    except FileNotFoundError:
        return None
    return prefix if done.returncode == 0 else None


def read_json_lines(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", errors="replace") as lines:
        return [json.loads(line) for line in lines if line.endswith("\n")]


def sanitizer_settings(fork=False, crash=False):
    # A forked child lacks the stacks on which the parent's threads keep their pointers.
    asan = ["detect_leaks=0" if fork else "detect_leaks=1"]
    tsan = ["exitcode=66"]
    if fork:
        tsan.append("die_after_fork=0")
    if crash:
        asan.append("handle_segv=0")
        tsan.append("handle_segv=0")
    return {"ASAN_OPTIONS": ":".join(asan), "TSAN_OPTIONS": ":".join(tsan), "UBSAN_OPTIONS": "print_stacktrace=1"}


class Place:
    """A temporary directory with a store, traces, and copies of plugins."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="rekindle-fault-")
        self.store = os.path.join(self.path, "store")
        self.count = 0

    def close(self):
        shutil.rmtree(self.path, ignore_errors=True)

    def command(self, way, words, *, fake=None, wrapper=(), environment=None, **settings):
        """Returns (argv, environment, trace) of a host process. `wrapper` is a command that ends in "$@"."""
        self.count += 1
        trace = os.path.join(self.path, f"trace-{self.count}.jsonl")
        fake = fake or FAKE
        env = {k: v for k, v in os.environ.items() if not k.startswith(("REKINDLE_", "FAKE_PJRT_", "FAULT_"))}
        env.pop("LD_PRELOAD", None)
        env.update(FAKE_PJRT_TRACE=trace, REKINDLE_DIR=self.store)
        env.update(sanitizer_settings(**settings))
        env.update(environment or {})
        library = fake
        own = []
        if way == "preload":
            own = ["LD_PRELOAD=" + PRELOAD]
        elif way == "plugin":
            library = PLUGIN_WAY
            env.setdefault("REKINDLE_PLUGIN", fake)
        elif way == "both":
            own = ["LD_PRELOAD=" + PRELOAD]
            library = PLUGIN_WAY
            env.setdefault("REKINDLE_PLUGIN", fake)
        # Only the host gets LD_PRELOAD: a wrapper could not load a sanitized library.
        argv = [*wrapper, "/usr/bin/env", *own, HOST, "--lib", library, *words]
        return argv, env, trace

    def start(self, way, words, **options):
        argv, env, trace = self.command(way, words, **options)
        process = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
        return process, trace

    def run(self, way, words, timeout=TIMEOUT_SECONDS, **options):
        process, trace = self.start(way, words, **options)
        return finish(process, trace, timeout)

    # ---- Files of rekindle --------------------------------------------------------------------------

    def files(self, folder, ending=""):
        found = []
        for where, _, names in os.walk(os.path.join(self.store, folder)):
            found += [os.path.join(where, name) for name in names if name.endswith(ending)]
        return sorted(found)

    def entries(self):
        return [path for path in self.files("objects", ".rkx") if not os.path.basename(path).startswith(".")]

    def entry_keys(self):
        return {os.path.basename(path).split(".")[0] for path in self.entries()}

    def quarantined(self):
        return self.files("quarantine")

    def verdicts(self):
        """Returns {key: "suspect" or "aside"}: the verdicts after deaths during a load."""
        found = {}
        for path in self.files("loads"):
            if not os.path.basename(path).startswith((".", "note-")):
                with open(path, encoding="ascii") as line:
                    found[os.path.basename(path)] = line.read().split()[3]
        return found

    def events(self, kind=None):
        """Returns the journal events of all runs: process by process, in the order of their starts."""
        journals = [read_json_lines(path) for path in self.files("runs", ".jsonl")]
        journals.sort(key=lambda events: events[0]["t"] if events else 0)
        return [event for events in journals for event in events if kind is None or event.get("ev") == kind]

    def forget_runs(self):
        shutil.rmtree(os.path.join(self.store, "runs"), ignore_errors=True)


def finish(process, trace, timeout=TIMEOUT_SECONDS):
    """Waits for the process. If it hangs, kills it with its children and fails the test."""
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        stdout, stderr = process.communicate()
        raise AssertionError(f"hung for {timeout} s: {process.args}\n{stdout}\n{stderr}") from None
    return Outcome(process.returncode, stdout, stderr, trace)


SANITIZER_REPORT = re.compile(r"(Address|Thread|Leak|UndefinedBehavior)Sanitizer|runtime error:|FATAL: ")


class FaultCase(unittest.TestCase):
    """A test with its own Place."""

    maxDiff = None

    def setUp(self):
        self.place = Place()
        self.addCleanup(self.place.close)

    def fresh(self):
        """Replaces the place with a new one, for the next round of a loop."""
        self.place = Place()
        self.addCleanup(self.place.close)
        return self.place

    def check_sound(self, outcome, status=0):
        """The process used the plugin correctly, caused no sanitizer report, and ended as expected."""
        story = outcome.story()
        self.assertEqual(outcome.traced("MISUSE"), [], story)
        self.assertIsNone(SANITIZER_REPORT.search(outcome.stderr), outcome.stderr)
        if status is not None:
            self.assertEqual(outcome.status, status, story)
        # rekindle prints to stderr only.
        self.assertEqual(outcome.other_output, [], story)
        return outcome

    def run_sound(self, way, words, status=0, place=None, **options):
        return self.check_sound((place or self.place).run(way, words, **options), status)

    def check_nothing_left(self, outcome, **expected):
        """At its teardown the plugin has only the host's objects, none of rekindle's."""
        census = dict(pair.split("=") for pair in outcome.traced("teardown")[-1].split())
        ours = {kind: int(census[kind]) for kind in ("error", "event", "executable", "serialized")}
        wanted = dict.fromkeys(ours, 0)
        wanted.update(expected)
        self.assertEqual(ours, wanted)

    def check_warm(self, way, words, place=None, **options):
        """Another start with the same words compiles nothing."""
        outcome = self.run_sound(way, words, place=place, **options)
        self.assertEqual(outcome.real_compiles(), [])
        return outcome


def each_way(test):
    """Runs a test once per entry path, each time with a new Place."""

    def run(self):
        for way in WAYS:
            with self.subTest(way=way):
                self.fresh()
                test(self, way)

    run.__doc__ = test.__doc__
    run.__name__ = test.__name__
    return run
