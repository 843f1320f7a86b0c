"""On a TPU rekindle stores no executable for a subset of the devices that does not begin at device 0, because loading
one has crashed the process (jax#38004)."""

import hashlib
import os
import unittest

from faultlib import FaultCase, each_way

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "host", "data", "add.mlir")
TPU = {"FAKE_PJRT_PLATFORM": "tpu", "FAKE_PJRT_DEVICES": "4", "REKINDLE_JOB": "job"}


def member(number, payload):
    return bytes([number << 3 | 2, len(payload)]) + payload


def assigned(computations):
    """Returns a CompileOptionsProto with a device assignment: for each computation the IDs of its replicas."""
    devices = b"".join(member(3, member(1, bytes(ids))) for ids in computations)
    assignment = bytes([1 << 3, len(computations[0]), 2 << 3, len(computations)]) + devices
    return member(3, member(9, assignment))


class Subset(FaultCase):
    def start(self, way, options, **environment):
        self.place.forget_runs()
        path = os.path.join(self.place.path, "options.pb")
        with open(path, "wb") as file:
            file.write(options)
        words = ["client", "sleep=100", f"compile=@{PROGRAM}:{path}", "execute"]
        return self.run_sound(way, words, environment={**TPU, **environment})

    def check_bypassed(self, way, options, **environment):
        for _ in range(2):
            outcome = self.start(way, options, **environment)
            self.assertEqual(len(outcome.real_compiles()), 1)
            self.assertEqual(outcome.real_loads(), [])
            event, = self.place.events("compile")
            self.assertEqual(event["outcome"], "bypass")
            self.assertIn("device 0", event["reason"])
        self.assertEqual(self.place.entries(), [])

    def check_kept(self, way, options, **environment):
        self.start(way, options, **environment)
        outcome = self.start(way, options, **environment)
        self.assertEqual(outcome.real_compiles(), [])
        self.assertEqual(len(outcome.real_loads()), 1)

    @each_way
    def test_devices_that_do_not_begin_at_the_first_are_bypassed(self, way):
        for computations in ([[1]], [[2], [3]], [[2, 3]], [[1], [0]], [[1, 3]]):
            with self.subTest(computations=computations):
                self.fresh()
                self.check_bypassed(way, assigned(computations))

    def test_an_ordinal_without_an_assignment_counts_too(self):
        self.check_bypassed("preload", member(3, bytes([1 << 3, 2])))

    def test_others_are_kept(self):
        everything = [[3], [2], [1], [0]]  # all devices, in any order, are no subset
        for options in (b"", member(3, bytes([1 << 3, 0])), assigned([[0]]), assigned([[0], [1]]),
                        assigned([[0, 2]]), assigned(everything)):
            with self.subTest(options=options):
                self.fresh()
                self.check_kept("preload", options)

    def test_other_platforms_are_not_concerned(self):
        self.check_kept("preload", assigned([[2], [3]]), FAKE_PJRT_PLATFORM="fake")

    def test_what_a_manifest_names_is_not_loaded_ahead(self):
        """A manifest from before such subsets were bypassed does not cause a prefetch."""
        options = assigned([[2]])
        self.start("preload", options)
        event, = self.place.events("compile")
        keys = [event[name] for name in ("key", "program", "options", "environment")]
        text = (f"rekindle manifest 1\nrun 1 a\noptions {event['options']} {options.hex()}\n"
                f"use {' '.join(keys)} 0 0 1 10 1000 100\n")
        digest = hashlib.blake2b(text.encode(), digest_size=32).hexdigest()
        folder = os.path.join(self.place.store, "jobs", "job")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with open(os.path.join(folder, "manifest"), "w", encoding="ascii") as manifest:
            manifest.write(f"{text}digest {digest}\n")
        os.chmod(os.path.join(folder, "manifest"), 0o600)
        self.start("preload", options)
        self.assertEqual(self.place.events("preload"), [])


if __name__ == "__main__":
    unittest.main()
