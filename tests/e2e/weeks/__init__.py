"""Weeks: real jobs, each started ten times or more with one known change at a time."""
