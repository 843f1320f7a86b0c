#!/usr/bin/env python3
"""Effects of other users, other plugins or devices, and other clocks on a store."""

import glob
import os

from promiselib import NOBODY, WAYS, Job, finish, need, skip, tell

PROGRAMS = 3
WORDS = ["client", *(f"compile=name=p{i}" for i in range(PROGRAMS)), "execute", "tohost", "destroy-client"]
YEAR_AWAY = ("-1y", "+1y")


def count(outcome):
    return len(outcome.real_loads()), len(outcome.real_compiles())


def two_users(bare):
    """A store that another user owns or may write to is not used, and one warning names the store and the remedy."""
    cases = [("writable by others", 0o777, None), ("writable by the group", 0o770, None)]
    if os.geteuid() == 0:
        cases.append(("owned by another user", 0o755, NOBODY))
    else:
        skip("two users, owned by another user", "only root can give a directory away")
    for name, mode, owner in cases:
        for way in WAYS:
            with Job() as job:
                job.run(way, WORDS)  # the entries would be hits
                os.chmod(job.store, mode)
                if owner is not None:
                    os.chown(job.store, owner, owner)
                before = job.files("")
                outcome = job.run(way, WORDS)
                told = outcome.told()
                refused = len(told) == 1 and job.store in told[0] and ("chmod" in told[0] or "REKINDLE_DIR" in told[0])
                kept = (refused and count(outcome) == (0, PROGRAMS) and outcome.plain() == bare.plain()
                        and job.files("") == before)  # fmt: skip
                tell(f"two users, {name} ({way})", "refused, with the remedy", kept,
                     f"{'refused' if refused else 'NOT REFUSED'}, {count(outcome)[0]} loaded from it, "
                     f"{len(job.files('')) - len(before)} files written")
                if not kept:
                    print(outcome.story())


def other_plugins(bare):
    """With another version of the plugin, or another device, no entry of the first one is used."""
    wrong = hits = 0
    reasons = set()
    cases = [{"FAKE_PJRT_VERSION": "fake 1.1"}, {"FAKE_PJRT_DEVICE_KIND": "other-device"}, {"FAKE_PJRT_DEVICES": "4"},
             {"FAKE_PJRT_PLATFORM": "fake2"}, {"FAKE_PJRT_API_MINOR": "90"}]  # fmt: skip
    for way in WAYS:
        with Job() as job:
            job.run(way, WORDS)
            for settings in cases:
                job.forget_runs()
                outcome = job.run(way, WORDS, environment=settings)
                wrong += count(outcome)[0] + (outcome.status != 0)
                reasons |= {event["reason"] for event in job.events("compile")}
            hits += count(job.run(way, WORDS))[0]
    kept = wrong == 0 and hits == len(WAYS) * PROGRAMS and reasons == {"absent"}
    tell("version skew, another plugin or device", "0 wrong hits, a miss with its reason", kept,
         f"{wrong} wrong hits in {len(cases) * len(WAYS)} jobs of others, reasons given: {', '.join(sorted(reasons))}")


def clock_skew():
    """With a clock that is a year behind or ahead, entries stored with the right clock are served, and vice versa."""
    libraries = glob.glob("/usr/lib/*/faketime/libfaketime.so.1")
    if not libraries:
        skip("clock skew", "libfaketime is not installed")
        return
    for shift in YEAR_AWAY:
        served = asked = 0
        for way in WAYS:
            for skewed_first in (False, True):
                with Job(libraries) as job:
                    settings = {"FAKETIME": shift}
                    first, second = (settings, {}) if skewed_first else ({}, settings)
                    need(count(job.run(way, WORDS, environment=first))[1] == PROGRAMS, "nothing was compiled")
                    for _ in range(2):
                        served += count(job.run(way, WORDS, environment=second))[0]
                        asked += PROGRAMS
        tell(f"clock skew, {shift}", "every hit served", served == asked, f"{served} of {asked} hits served")


def main():
    with Job() as job:
        bare = job.run("bare", WORDS)
    two_users(bare)
    other_plugins(bare)
    clock_skew()
    finish()


main()
