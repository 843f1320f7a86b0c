"""The suite of injected causes: scripts with one planted cause each, and a judge of what `rekindle explain` reports.

case.py reads a script and its declaration, play.py runs the script as its user would, judge.py compares.
"""
