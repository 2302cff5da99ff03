"""The rivals of P1's Table 3 by name."""

from __future__ import annotations

from typing import Any

import torch

from course_lib import checking
from course_lib.data.interactions import Interactions
from course_lib.models.backbones.base import Backbone
from course_lib.models.debiasing.dccl import DCCL
from course_lib.models.debiasing.dice import DICE
from course_lib.models.debiasing.ips import IPS
from course_lib.models.debiasing.macr import MACR
from course_lib.models.debiasing.paac import PAAC
from course_lib.models.debiasing.pc import PC
from course_lib.models.debiasing.rival import Rival
from course_lib.models.debiasing.tpab import TPAB

RIVALS: dict[str, type[Rival]] = {rival.__name__: rival for rival in (IPS, DICE, MACR, PC, PAAC, DCCL, TPAB)}


def names() -> tuple[str, ...]:
    """The seven rivals, in the order of P1's Table 3."""
    return tuple(RIVALS)


def make(
    name: str, backbone: Backbone, interactions: Interactions, *, generator: torch.Generator, **options: Any
) -> Rival:
    """The rival of that name around a backbone; options go to its class. Raises ValueError for another name."""
    return RIVALS[checking.choice(name, "name", names())](backbone, interactions, generator=generator, **options)
