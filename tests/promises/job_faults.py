#!/usr/bin/env python3
"""A disk that fails during a job: every result of the job is delivered, no partial entry is stored or served, and the
user is warned once. With --full on both entry paths, with every kind of failure, and for every n.
"""

import errno
import itertools
import os
import subprocess

from promiselib import FAULTY_LIBC, FULL, WAYS, Job, finish, mount_wrapper, need, skip, tell

WORDS = ["client", "compile=name=a outputs=2 add=2", "compile=name=b", "inspect=0", "execute=0:1", "tohost",
         "destroy-client"]
PROGRAMS = 2
PAYLOAD_BYTES = 30000
STEP = 1 if FULL else 3


class Tally:
    def __init__(self):
        self.runs = self.undelivered = self.partial = self.most_told = self.misused = self.deepest = 0

    def add(self, job, bare, outcome):
        self.runs += 1
        delivered = outcome.status == 0 and outcome.plain() == bare.plain()
        answered = len(outcome.real_compiles()) + len(outcome.real_loads()) >= PROGRAMS
        self.undelivered += not (delivered and answered)
        self.misused += len(outcome.traced("MISUSE"))
        self.most_told = max(self.most_told, len(outcome.told()))
        if not delivered or len(outcome.told()) > 1:
            print(outcome.story())

    def tell(self, row):
        kept = not (self.undelivered or self.partial or self.misused) and self.most_told <= 1 and self.runs > 0
        tell(row, "every result delivered, no partial entry, one warning a process", kept,
             f"{self.undelivered} results lost, {self.partial} partial entries, at most {self.most_told} warning(s), "
             f"in {self.runs} jobs ({'every' if FULL else 'each third'} n up to {self.deepest})")


def check_what_is_left(job, tally):
    """A job on a sound disk loads the whole entries and replaces the others."""
    outcome = job.run("preload", WORDS, environment={"FAKE_PJRT_PAYLOAD_BYTES": str(PAYLOAD_BYTES)})
    tally.partial += len(job.quarantined())
    tally.misused += len(outcome.traced("MISUSE")) + (outcome.status != 0)


def fail_every_call(tally, bare, way, error, lasting, warm):
    """Fails the n-th call for rising n, until the job makes fewer than n calls."""
    for nth in itertools.count(1, STEP):
        with Job([FAULTY_LIBC]) as job:
            environment = {
                "FAKE_PJRT_PAYLOAD_BYTES": str(PAYLOAD_BYTES), "FAULTY_LIBC_NTH": str(nth),
                "FAULTY_LIBC_ERRNO": str(error), "FAULTY_LIBC_LASTING": str(int(lasting)), "FAULTY_LIBC_LOG": job.log,
            }  # fmt: skip
            if warm:
                job.run(way, WORDS, environment={"FAKE_PJRT_PAYLOAD_BYTES": str(PAYLOAD_BYTES)})
            outcome = job.run(way, WORDS, environment=environment)
            tally.add(job, bare, outcome)
            if nth % 4 == 0 or FULL:
                check_what_is_left(job, tally)
            reached = job.counted() >= nth
        tally.deepest = max(tally.deepest, nth - 1)
        if not reached:
            need(nth > 10, "hardly a call was counted")
            return


def errors(bare):
    quick = [("preload", errno.ENOSPC, True, False), ("plugin", errno.EIO, False, True)]
    full = list(itertools.product(
        WAYS, (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EMFILE, errno.ESTALE),
        (False, True), (False, True)))  # fmt: skip
    tally = Tally()
    for way, error, lasting, warm in full if FULL else quick:
        fail_every_call(tally, bare, way, error, lasting, warm)
    tally.tell("ENOSPC, EIO, EDQUOT at the n-th call")


def memory(bare):
    tally = Tally()
    for way in WAYS if FULL else WAYS[:1]:
        for warm in (False, True) if FULL else (False,):
            for lasting in (False, True) if FULL else (True,):
                fail_every_call(tally, bare, way, 0, lasting, warm)
    tally.tell("no memory at the n-th allocation")


def full_disk():
    """On a file system of 1 MiB, some of 12 executables of 200 KB are stored, and every result is delivered."""
    words = ["client", *(f"compile=name=p{i}" for i in range(12)), "execute", "tohost", "destroy-client"]
    settings = {"FAKE_PJRT_PAYLOAD_BYTES": "200000"}
    for way in WAYS:
        with Job() as job:
            os.makedirs(job.store)
            wrapper = mount_wrapper(f"mount -t tmpfs -o size=1m,mode=700 tmpfs {job.store}")
            if not wrapper:
                skip("full disk of 1 MiB", "mounting is not permitted here")
                return
            bare = job.run("bare", words, environment=settings)
            argv, environment, trace = job.command(way, words, environment=settings)
            # Both starts run in the same namespace: the second loads the stored entries, and no other files exist.
            script = f'"$@" && "$@" && cd {job.store} && find objects -type f'
            done = subprocess.run([*wrapper, "sh", "-ec", script, "sh", *argv], env=environment, check=False,
                                  capture_output=True, text=True, timeout=120)
            with open(trace, encoding="utf-8") as lines:
                calls = lines.read()
        left = [line for line in done.stdout.splitlines() if line.startswith("objects/")]
        told = [line for line in done.stderr.splitlines() if line.startswith("rekindle")]
        compiled, loaded = calls.count('"call":"compiled"'), calls.count('"call":"loaded"')
        delivered = done.stdout.count('"ok":true') == 2 * len(bare.answers) and done.returncode == 0
        partial = sum(".tmp-" in path for path in left) + abs(len(left) - loaded)
        kept = delivered and partial == 0 and "MISUSE" not in calls and 1 <= len(told) <= 2 and 0 < loaded < 12
        tell(f"full disk of 1 MiB ({way})", "every result delivered, no partial entry, one warning a process", kept,
             f"{'all' if delivered else 'NOT ALL'} results of 2 starts delivered ({compiled} compiled, {loaded} "
             f"loaded), {partial} partial entries, {len(told)} warnings of 2 processes")


def main():
    with Job() as job:
        bare = job.run("bare", WORDS, environment={"FAKE_PJRT_PAYLOAD_BYTES": str(PAYLOAD_BYTES)})
    full_disk()
    errors(bare)
    memory(bare)
    finish()


main()
