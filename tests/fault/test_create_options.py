"""Client creation options are part of the key, unless they are known not to change code."""

import unittest

from faultlib import FaultCase, each_way

HARMLESS = ["platform_name=fake", "allocator=default", "preallocate=false", "enable_mock_nccl=false", "num_nodes=2",
            "coordinator_address=10.0.0.7:80", "ml_framework_version=2.9"]


class CreateOptions(FaultCase):
    def key(self, way, *options, words=()):
        """Returns key and outcome of the only request."""
        self.place.forget_runs()
        chosen = [f"option={option}" for option in options]
        self.run_sound(way, [*chosen, *words, "client", "sleep=100", "compile=name=a", "execute"],
                       environment={"REKINDLE_JOB": "job"})
        event, = self.place.events("compile")
        return event.get("key"), event["outcome"]

    @each_way
    def test_harmless_ones_change_nothing(self, way):
        first, _ = self.key(way)
        self.assertEqual(self.key(way, *HARMLESS), (first, "hit"))
        for rank in range(3):
            self.assertEqual(self.key(way, f"node_id={rank}", f"rank={rank}"), (first, "hit"))

    @each_way
    def test_what_may_change_code_parts_the_keys(self, way):
        seen = {}
        for options in ([], ["opt_level=1"], ["opt_level=2"], ["opt_level=high"], ["enable_mock_nccl=true"],
                        ["opt_level=1", "fast=true"], ["fast=true"]):
            key, outcome = self.key(way, *options)
            self.assertEqual(outcome, "miss", options)
            self.assertNotIn(key, seen)
            seen[key] = options
        for key, options in seen.items():
            self.assertEqual(self.key(way, *reversed(options)), (key, "hit"), options)

    def test_the_difference_has_a_name(self):
        self.key("preload", "opt_level=2", "api_token=hidden")
        client, = self.place.events("client")
        parts = [part for part in client["components"] if part["name"].startswith("client.")]
        self.assertEqual(parts, [{"kind": "option", "name": "client.option.opt_level", "value": "2"}])

    @each_way
    def test_an_extension_that_is_not_known(self, way):
        self.assertEqual(self.key(way)[1], "miss")
        self.assertEqual(self.key(way, words=["client-extension=99"])[1], "bypass")
        self.assertEqual(self.key(way, words=["client-extension=1"])[1], "hit")


if __name__ == "__main__":
    unittest.main()
