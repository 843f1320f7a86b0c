"""Runs another program of this folder, creates FILE.through, and keeps running until FILE exists (at most 100 s).

    linger.py FILE PROGRAM ARGUMENT…
"""

import os
import runpy
import sys
import time

LONGEST_S = 100


def main():
    until, program = sys.argv[1:3]
    sys.argv = sys.argv[2:]
    runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), program), run_name="__main__")
    sys.stdout.flush()
    open(until + ".through", "w").close()
    end = time.monotonic() + LONGEST_S
    while not os.path.exists(until) and time.monotonic() < end:
        time.sleep(0.05)


if __name__ == "__main__":
    main()
