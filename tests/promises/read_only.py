#!/usr/bin/env python3
"""A store that is not writable: hits are served, and after one refused write no other is tried."""

import errno
import os
import re
import subprocess

from promiselib import FAULTY_LIBC, WAYS, Job, finish, mount_wrapper, need, skip, tell, unprivileged

WARM = [f"compile=name=p{i}" for i in range(6)]
COLD = [f"compile=name=q{i}" for i in range(6)]
BEGIN, END = ["client"], ["execute", "tohost", "destroy-client"]
RUN = re.compile(r"\d{8}T\d{6}Z-")  # the name of a run's folder
REFUSALS = (errno.EROFS, errno.EACCES, errno.EPERM)


def fill(job, wrapper=()):
    job.run("preload", [*BEGIN, *WARM, *END], wrapper=wrapper)
    need(len(job.entries()) == len(WARM), "the store could not be filled")


def after_refusal(changes):
    """Returns the changes tried after a refusal. A refusal by a read-only file system counts for everything. A refusal
    for lack of permission counts for one place: the journal, the loads, the manifest and the entries may each be tried
    once."""
    refused, after = set(), []
    for change in changes:
        _, name, error = change
        places = {"runs": "journal", "loads": "loads", "pjrt_host": "manifest"}
        place = "journal" if RUN.match(name) else places.get(name.split("-")[0], "entries")
        if place in refused or "all" in refused:
            after.append(change)
        if error in REFUSALS:
            refused.add("all" if error == errno.EROFS else place)
    return after


def check(row, job, bare, wrapper=()):
    """Known programs are loaded, new ones compiled, and nothing is written."""
    before = job.files("")
    for way in WAYS:
        if os.path.exists(job.log):
            os.unlink(job.log)
        outcome = job.run(way, [*BEGIN, *WARM, *COLD, *END], wrapper=wrapper,
                          environment={"FAULTY_LIBC_LOG": job.log})
        changes = [change for change in job.changes() if change[2] != errno.EEXIST]
        need(changes, "no write was seen: the calls of the library are not watched")
        after = after_refusal(changes)
        hits, compiled = len(outcome.real_loads()), len(outcome.real_compiles())
        delivered = outcome.status == 0 and outcome.plain() == bare.plain()
        kept = (delivered and hits == len(WARM) and compiled == len(COLD) and not after
                and len(outcome.told()) <= 1 and job.files("") == before)  # fmt: skip
        tell(f"{row} ({way})", "hits served, no write tried after the first refusal", kept,
             f"{hits} of {len(WARM)} hits, {compiled} of {len(COLD)} others compiled, {len(after)} writes after the "
             f"first refusal, {len(outcome.told())} warning(s)")
        if not kept:
            print(outcome.story(), *changes, sep="\n")


def without_write_permission(bare):
    """Mode 0555 does not stop root, so root's jobs run without the capabilities that override permissions."""
    wrapper = unprivileged()
    if wrapper is None:
        skip("read-only, 0555", "root cannot give up its privileges here")
        return
    with Job([FAULTY_LIBC]) as job:
        fill(job, wrapper)
        subprocess.run(["chmod", "-R", "a-w", job.store], check=True)
        check("read-only, 0555", job, bare, wrapper)


def read_only_mount(bare):
    with Job([FAULTY_LIBC]) as job:
        fill(job)
        wrapper = mount_wrapper(f"mount --bind {job.store} {job.store}\nmount -o remount,ro,bind {job.store}")
        if wrapper:
            check("read-only, EROFS", job, bare, wrapper)
        else:
            skip("read-only, EROFS", "mounting is not permitted here")


def main():
    with Job() as job:
        bare = job.run("bare", [*BEGIN, *WARM, *COLD, *END])
    read_only_mount(bare)
    without_write_permission(bare)
    finish()


main()
