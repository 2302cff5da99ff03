"""The experiments that the papers report, by id: `run("P3-T6", scale="smoke")` -> Result.

`names()` lists them, `load_result(id, scale)` reads what is stored in book/results, `cli` is the command line. Smoke
runs take at most a minute, laptop runs at most a quarter of an hour per seed unless the list says otherwise.

`own` registers losses, samplers, estimators, methods and backbones of a reader's own.

core      registry and runner, results and how they are read, provenance, data, the command line
p0 ... p4 one paper each; none imports another, and a paper is imported when an experiment of it is asked for
scale     our own, on one batch that lies on many processes
text      our own, on a text encoder as a tower
practice  our own, on the scoreboard of the part "In practice"
"""

from course_lib import extras

try:
    import pandas  # noqa: F401
    import torch  # noqa: F401
except ImportError as error:
    raise extras.missing(error, "course_lib.experiments") from error

from course_lib.experiments.core import own
from course_lib.experiments.core.command import cli
from course_lib.experiments.core.registry import SCALES, cells_of, experiment, get, names, run
from course_lib.experiments.core.results import Result, load_result

__all__ = ["SCALES", "Result", "cells_of", "cli", "experiment", "get", "load_result", "names", "own", "run"]
