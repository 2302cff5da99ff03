"""The experiments that the papers report, by id: `run("P3-T6", scale="smoke")` -> Result.

`names()` lists them, `load_result(id, scale)` reads what is stored in book/results, `cli` is the command line. Smoke
runs take at most a minute, laptop runs at most a quarter of an hour per seed unless the list says otherwise.
"""

from course_lib.experiments import p0_motion, p0_popularity, p1, p1_axis, p2, p3, p4
from course_lib.experiments.core.command import cli
from course_lib.experiments.core.registry import SCALES, cells_of, experiment, get, names, run
from course_lib.experiments.core.results import Result, load_result

__all__ = [
    "SCALES",
    "Result",
    "cells_of",
    "cli",
    "experiment",
    "get",
    "load_result",
    "names",
    "p0_motion",
    "p0_popularity",
    "p1",
    "p1_axis",
    "p2",
    "p3",
    "p4",
    "run",
]
