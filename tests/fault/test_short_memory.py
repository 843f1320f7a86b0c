"""Each allocation of the library fails, once or from then on, in a prefetched run. The job gets all its results and
warns at most once; nothing is left over and the next start is not affected."""

import os
import unittest
from concurrent.futures import ThreadPoolExecutor

from faultlib import PLUGIN_WAY, FaultCase, Place

SHIM = os.environ["FAULT_FAILING_MEMORY"]
WORDS = ["client", "sleep=40", "compile=name=a", "execute", "compile=name=b", "tohost", "destroy-client"]
JOB = {"REKINDLE_JOB": "job"}
MOST_CALLS = 2000  # such a run makes about 230
AT_ONCE = 4


class ShortMemory(FaultCase):
    def start(self, place, nth, lasting):
        mark = os.path.join(place.path, "mark")
        environment = {
            "LD_PRELOAD": SHIM,
            "FAILING_MEMORY_LIBRARY": os.path.basename(PLUGIN_WAY),
            "FAILING_MEMORY_AT": str(nth),
            "FAILING_MEMORY_MARK": mark,
            **JOB,
        }
        if lasting:
            environment["FAILING_MEMORY_LASTING"] = "1"
        outcome = place.run("plugin", WORDS, environment=environment)
        return outcome, os.path.exists(mark)

    def check_one(self, bare, nth, lasting):
        place = Place()
        try:
            self.run_sound("plugin", WORDS, place=place, environment=JOB)
            outcome, reached = self.start(place, nth, lasting)
            self.check_sound(outcome)
            self.assertEqual(outcome.plain(), bare.plain())
            self.assertLessEqual(len(outcome.told()), 1, outcome.stderr)
            self.check_nothing_left(outcome)
            self.assertIn("loaded=2", outcome.traced("teardown")[-1].split())  # the host's own
            self.assertEqual(place.quarantined(), [])
            self.check_warm("plugin", WORDS, place=place, environment=JOB)
            return reached
        except AssertionError as error:
            raise AssertionError(f"allocation {nth}: {error}") from error
        finally:
            place.close()

    def fail_each(self, lasting):
        bare = self.run_sound("bare", WORDS)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for first in range(1, MOST_CALLS, AT_ONCE):
                numbers = range(first, first + AT_ONCE)
                reached = list(pool.map(lambda nth: self.check_one(bare, nth, lasting), numbers))
                if not all(reached):
                    self.assertGreater(first, 100)
                    print(f"{'for good' if lasting else 'once'}: at each of {first} allocations, 0 results lost")
                    return
        raise AssertionError("the last allocation is never reached")

    def test_once(self):
        self.fail_each(lasting=False)

    def test_for_good(self):
        self.fail_each(lasting=True)


if __name__ == "__main__":
    unittest.main()
