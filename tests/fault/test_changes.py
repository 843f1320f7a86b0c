"""After a process changes flags, rekindle never returns an executable that the plugin would not have made."""

import json
import os
import subprocess
import unittest

from faultlib import SANITIZER, FaultCase

A, B = "--xla_fast=1", "--xla_fast=2"


def flags(value):
    return f"setenv=XLA_FLAGS={value}"


def program(name):
    return [f"compile=name={name}", "inspect"]


# Kinds of processes that share entries. All begin with flags A unless their name says otherwise.
PROCESSES = {
    "one client": ["client", *program("p"), *program("q")],
    "begins with B": ["client", *program("q")],
    "changed between two clients": ["client", *program("p"), flags(B), "client", *program("q")],
    "changed back": ["client", *program("p"), flags(B), flags(A), "client", *program("q")],
    "changed after the client was made": ["client", flags(B), *program("p"), *program("q")],
    "changed between two compilations": ["client", *program("p"), flags(B), *program("q")],
    "changed before the client was made": ["init", flags(B), "client", *program("q")],
    "changed back and forth": ["client", *program("p"), flags(B), *program("q"), flags(A), *program("r")],
    "taken away": ["client", *program("p"), flags(""), "client", *program("q")],
}
if SANITIZER:  # sanitized processes are slow
    PROCESSES = {name: PROCESSES[name] for name in ("begins with B", "changed between two clients", "taken away")}


class Changes(FaultCase):
    def made(self, outcome):
        return [(answer["name"], answer["fingerprint"]) for answer in outcome.of("inspect")]

    def start(self, way, name, when, words=None):
        environment = {"REKINDLE_JOB": name.replace(" ", "-"), "FAKE_PJRT_READ_FLAGS": when, "XLA_FLAGS": B if name == "begins with B" else A}
        return self.run_sound(way, words or PROCESSES[name], environment=environment)

    def all_bare(self, when):
        return {name: self.made(self.start("bare", name, when)) for name in PROCESSES}

    def check_all(self, way, when):
        bare = self.all_bare(when)
        for start in range(3):
            for name in PROCESSES:
                outcome = self.start(way, name, when)
                self.assertEqual(self.made(outcome), bare[name], f"{name}, read: {when}, start {start}")
                if start == 2:
                    self.assertEqual(outcome.real_compiles(), [], f"{name}, read: {when}")

    def test_read_when_the_first_client_is_made(self):
        """Holds for plugins that read the flags when the first client is made, as XLA's CPU plugins do."""
        self.check_all("preload", "client")

    def test_read_at_every_compilation(self):
        self.check_all("plugin", "always")

    def test_read_at_the_first_compilation(self):
        """Holds for cold starts and later processes. A hit is no first compilation, so warm starts are not compared."""
        bare = self.all_bare("compile")
        other = "begins with B"
        for name in PROCESSES:
            self.fresh()
            self.assertEqual(self.made(self.start("preload", name, "compile")), bare[name], name)
            self.assertEqual(self.made(self.start("preload", other, "compile")), bare[other], name)

    def test_flags_that_change_no_code_do_not_matter(self):
        words = ["client", *program("p"), flags(A + " --xla_dump_to=/tmp/x"), "client", *program("q")]
        for expected in (["name=p", "name=q"], []):
            self.assertEqual(self.start("preload", "dump", "client", words).real_compiles(), expected)
        keys = {event["environment"] for event in self.place.events("compile")}
        self.assertEqual(len(keys), 1)

    def test_too_many_changes(self):
        """After too many changes rekindle stores nothing more and compiles everything."""
        words = ["client", "repeat=40{", *program("p"), flags(B), *program("p"), flags(A), "}"]
        outcome = self.start("preload", "toggle", "always", words)
        made = self.made(outcome)
        self.assertEqual(made, made[:2] * 40)
        reasons = [event.get("reason") for event in self.place.events("compile")]
        self.assertEqual(reasons[0], "absent")
        self.assertEqual(reasons[-1], "the environment changed too often")

    def test_the_change_has_a_name(self):
        self.start("preload", "changed between two clients", "client")
        self.start("preload", "begins with B", "client")
        done = subprocess.run([os.environ["FAULT_REKINDLE"], "explain", "--json"], capture_output=True, text=True,
                              env={**os.environ, "REKINDLE_DIR": self.place.store}, check=True)
        text = json.loads(done.stdout)
        difference = [d for c in text["compilations"] for d in c["differences"] if "environment.change" in d["attribute"]]
        self.assertEqual(len(difference), 1, text)
        self.assertIn('after client, compile: XLA_FLAGS:--xla_fast "1" -> "2"', difference[0]["before"])


if __name__ == "__main__":
    unittest.main()
