"""Debiasing methods: DDC of P1, and the seven rivals of its Table 3.

Each is a `Recommender` that wraps a backbone or its tables. The mathematics of DDC is in `course_lib.correction`.
"""

from course_lib import extras

try:
    import torch  # noqa: F401
except ImportError as error:
    raise extras.missing(error, "course_lib.debiasing") from error

from course_lib.debiasing.dccl import DCCL
from course_lib.debiasing.ddc import DDC
from course_lib.debiasing.dice import DICE
from course_lib.debiasing.ips import IPS
from course_lib.debiasing.macr import MACR
from course_lib.debiasing.paac import PAAC
from course_lib.debiasing.pc import PC
from course_lib.debiasing.registry import make, names
from course_lib.debiasing.tpab import TPAB

__all__ = ["DCCL", "DDC", "DICE", "IPS", "MACR", "PAAC", "PC", "TPAB", "make", "names"]
