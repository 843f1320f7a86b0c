"""Starts a command as several ranks at once, as torchrun and mpirun do: launch.py N COMMAND…"""

import os
import subprocess
import sys

count = int(sys.argv[1])
ranks = [
    subprocess.Popen(sys.argv[2:], env=os.environ | {"RANK": str(rank), "WORLD_SIZE": str(count)})
    for rank in range(count)
]
sys.exit(max(rank.wait() for rank in ranks))
