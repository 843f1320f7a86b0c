"""Runs the programs of kinds.py some time after a client exists, as after a long import.

    patient.py SECONDS [NAME…]
"""

import sys
import time

import jax

jax.devices()
time.sleep(float(sys.argv.pop(1)))

import runpy  # noqa: E402
from pathlib import Path  # noqa: E402

runpy.run_path(str(Path(__file__).with_name("kinds.py")), run_name="__main__")
