"""Debiasing methods: DDC of P1, and the seven rivals of its Table 3.

Each is a `Recommender` that wraps a backbone or its tables. The mathematics of DDC is in `course_lib.maths.correction`.
"""

from course_lib.models.debiasing.dccl import DCCL
from course_lib.models.debiasing.ddc import DDC
from course_lib.models.debiasing.dice import DICE
from course_lib.models.debiasing.ips import IPS
from course_lib.models.debiasing.macr import MACR
from course_lib.models.debiasing.paac import PAAC
from course_lib.models.debiasing.pc import PC
from course_lib.models.debiasing.registry import make, names
from course_lib.models.debiasing.tpab import TPAB

__all__ = ["DCCL", "DDC", "DICE", "IPS", "MACR", "PAAC", "PC", "TPAB", "make", "names"]
