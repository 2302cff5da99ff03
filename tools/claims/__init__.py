"""Every claim of the course: claims.yml of each lesson, its checks, and the pages rendered from it.

A claim is one row. `load()` reads and validates all rows, `lint()` compares them with the book and the tests without
running anything, `check()` runs what the rows name. `python -m course_lib claims check` does all three.
"""

from tools.claims.checks import check_scalars, lint, passes
from tools.claims.command import cli
from tools.claims.rows import STATUSES, Claim, ClaimError, Erratum, Scalar, load

__all__ = ["STATUSES", "Claim", "ClaimError", "Erratum", "Scalar", "check_scalars", "cli", "lint", "load", "passes"]
