"""What the fault tests share: running pjrt_host against the fake plugin, bare and through both ways in, and
looking at what it left: its answers, the plugin's trace, rekindle's journal and store.

Where things were built comes from the environment that ctest sets (CMakeLists.txt).
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
SANITIZER = os.environ.get("FAULT_SANITIZER", "")  # address, thread or nothing

WAYS = ("preload", "plugin")
TIMEOUT_SECONDS = 120  # of one host process: nothing here takes longer than a few, sanitized or not


class Outcome:
    """What one host process did."""

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
        """Lines of rekindle on stderr."""
        return [line for line in self.stderr.splitlines() if line.startswith("rekindle")]

    def story(self):
        """What to show of it when a test fails: its last answers, its errors, its misuse."""
        answers = [{key: value for key, value in answer.items() if key != "replaced"} for answer in self.answers[-8:]]
        return "\n".join([*map(str, answers), self.stderr, *self.traced("MISUSE")])

    def plain(self):
        """The answers without what differs between any two processes."""
        plain = []
        for answer in self.answers:
            answer = dict(answer)
            for key in ("pid", "child"):
                answer.pop(key, None)
            plain.append(answer)
        return plain


def unprivileged():
    """A command prefix for a process to which the permissions of files apply; None where there is no way to that.

    Root keeps its uid and gives up the capabilities that pass over permissions. Another uid may be unable to reach
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
    """A directory of its own: a store, a trace, copies of plugins."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="rekindle-fault-")
        self.store = os.path.join(self.path, "store")
        self.count = 0

    def close(self):
        shutil.rmtree(self.path, ignore_errors=True)

    def command(self, way, words, *, fake=None, wrapper=(), environment=None, **settings):
        """(argv, environment, trace) of a host process. `wrapper` is a command that ends in "$@"."""
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
        # LD_PRELOAD is for the host alone: under a sanitizer no wrapper could load the library.
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

    # ---- what rekindle left -------------------------------------------------------------------------

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
        """{key: "suspect" or "aside"} of what deaths during a load said."""
        found = {}
        for path in self.files("loads"):
            if not os.path.basename(path).startswith((".", "note-")):
                with open(path, encoding="ascii") as line:
                    found[os.path.basename(path)] = line.read().split()[3]
        return found

    def events(self, kind=None):
        """Journal events of all runs: process by process, in the order in which they began."""
        journals = [read_json_lines(path) for path in self.files("runs", ".jsonl")]
        journals.sort(key=lambda events: events[0]["t"] if events else 0)
        return [event for events in journals for event in events if kind is None or event.get("ev") == kind]

    def forget_runs(self):
        shutil.rmtree(os.path.join(self.store, "runs"), ignore_errors=True)


def finish(process, trace, timeout=TIMEOUT_SECONDS):
    """Waits; a process that hangs is killed with its children, and fails the test."""
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        stdout, stderr = process.communicate()
        raise AssertionError(f"hung for {timeout} s: {process.args}\n{stdout}\n{stderr}") from None
    return Outcome(process.returncode, stdout, stderr, trace)


SANITIZER_REPORT = re.compile(r"(Address|Thread|Leak|UndefinedBehavior)Sanitizer|runtime error:|FATAL: ")


class FaultCase(unittest.TestCase):
    """A test with a place of its own."""

    maxDiff = None

    def setUp(self):
        self.place = Place()
        self.addCleanup(self.place.close)

    def fresh(self):
        """Another place, for the next round of a loop."""
        self.place = Place()
        self.addCleanup(self.place.close)
        return self.place

    def check_sound(self, outcome, status=0):
        """No misuse of the plugin, no sanitizer report, the expected end."""
        story = outcome.story()
        self.assertEqual(outcome.traced("MISUSE"), [], story)
        self.assertIsNone(SANITIZER_REPORT.search(outcome.stderr), outcome.stderr)
        if status is not None:
            self.assertEqual(outcome.status, status, story)
        # Whatever is printed by rekindle goes to stderr.
        self.assertEqual(outcome.other_output, [], story)
        return outcome

    def run_sound(self, way, words, status=0, place=None, **options):
        return self.check_sound((place or self.place).run(way, words, **options), status)

    def check_nothing_left(self, outcome, **expected):
        """The plugin's objects at its teardown: what the host left itself, and nothing of ours."""
        census = dict(pair.split("=") for pair in outcome.traced("teardown")[-1].split())
        ours = {kind: int(census[kind]) for kind in ("error", "event", "executable", "serialized")}
        wanted = dict.fromkeys(ours, 0)
        wanted.update(expected)
        self.assertEqual(ours, wanted)

    def check_warm(self, way, words, place=None, **options):
        """A further start of the same words compiles nothing."""
        outcome = self.run_sound(way, words, place=place, **options)
        self.assertEqual(outcome.real_compiles(), [])
        return outcome


def each_way(test):
    """Runs a test once for each way in, in a place of its own."""

    def run(self):
        for way in WAYS:
            with self.subTest(way=way):
                self.fresh()
                test(self, way)

    run.__doc__ = test.__doc__
    run.__name__ = test.__name__
    return run
