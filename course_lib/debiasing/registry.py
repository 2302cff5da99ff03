"""The rivals of P1's Table 3 by name."""

from __future__ import annotations

from typing import Any

import torch

from course_lib import checking
from course_lib.backbones.base import Backbone
from course_lib.debiasing.dccl import DCCL
from course_lib.debiasing.dice import DICE
from course_lib.debiasing.ips import IPS
from course_lib.debiasing.macr import MACR
from course_lib.debiasing.paac import PAAC
from course_lib.debiasing.pc import PC
from course_lib.debiasing.rival import Rival
from course_lib.debiasing.tpab import TPAB
from course_lib.interactions import Interactions

RIVALS: dict[str, type[Rival]] = {rival.__name__: rival for rival in (IPS, DICE, MACR, PC, PAAC, DCCL, TPAB)}


def names() -> tuple[str, ...]:
    """The seven rivals, in the order of P1's Table 3."""
    return tuple(RIVALS)


def make(
    name: str, backbone: Backbone, interactions: Interactions, *, generator: torch.Generator, **options: Any
) -> Rival:
    """The rival of that name around a backbone; options go to its class. Raises ValueError for another name."""
    return RIVALS[checking.choice(name, "name", names())](backbone, interactions, generator=generator, **options)
