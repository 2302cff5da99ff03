"""Grading without trust: a student's code runs behind walls, and only plain values come back (see ../README.md)."""
