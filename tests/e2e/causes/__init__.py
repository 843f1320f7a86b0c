"""The suite of injected causes: scripts with one planted cause each, and the judge of what `rekindle explain` says.

case.py reads a script and what it declares, play.py runs it as its user would, judge.py compares.
"""
