"""Packs a recorded sequence of events into a file for test_diagnose_loops.c; README.md describes both forms.

usage: pack.py TRACE STEPS[,STEPS] > FILE
"""

import sys

LONGEST = 400  # events of a repeated block


def pack(events):
    """Returns the events as words, with repeated blocks as "( … )*N"."""
    words, at = [], 0
    while at < len(events):
        best, best_times = 0, 0
        for length in range(1, LONGEST + 1):
            block, times = events[at : at + length], 1
            if events[at + length : at + 2 * length] != block:
                continue
            while events[at + times * length : at + (times + 1) * length] == block:
                times += 1
            if times * length > best * best_times + 8 * length or not best:
                best, best_times = length, times
        if best_times > 1:
            words += ["(", *events[at : at + best], f")*{best_times}"]
            at += best * best_times
        else:
            words.append(events[at])
            at += 1
    return words


def main():
    programs, events = [], []
    for line in open(sys.argv[1]):
        kind, *rest = line.split()
        if kind == "P":
            programs.append(" ".join(["program", *rest]))
        else:
            events.append(rest[0] if kind == "E" else kind.lower() + "".join(rest))
    print("steps", sys.argv[2].replace(",", " "))
    print("\n".join(programs))
    line = "events"
    for word in pack(events):
        if len(line) + len(word) > 110:
            print(line)
            line = "events"
        line += " " + word
    print(line)


main()
