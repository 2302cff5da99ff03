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
    """List the seven rivals, in the order of P1's Table 3.

    Returns
    -------
    tuple of str
        The names that ``make`` knows.

    Examples
    --------
    >>> from course_lib import debiasing
    >>> debiasing.names()
    ('IPS', 'DICE', 'MACR', 'PC', 'PAAC', 'DCCL', 'TPAB')
    """
    return tuple(RIVALS)


def make(
    name: str, backbone: Backbone, interactions: Interactions, *, generator: torch.Generator, **options: Any
) -> Rival:
    """Make the rival of this name around a backbone.

    Parameters
    ----------
    name : str
        One of ``names()``.
    backbone : Backbone
        The model inside, trained or not.
    interactions : Interactions
        The training pairs.
    generator : torch.Generator
        Draws what the method adds to the parameters.
    **options
        The own arguments of the rival's class.

    Returns
    -------
    Rival
        The model.

    Raises
    ------
    ValueError
        For another name, and as the class does.

    Examples
    --------
    >>> import torch
    >>> from course_lib import backbones, debiasing
    >>> from course_lib.interactions import Interactions
    >>> data, generator = Interactions([0, 1, 1], [0, 0, 1], n_users=2, n_items=2), torch.Generator().manual_seed(0)
    >>> model = debiasing.make("PC", backbones.MF(2, 2, 4, generator=generator), data, alpha=0.5, generator=generator)
    >>> type(model).__name__, model.alpha
    ('PC', 0.5)
    """
    return RIVALS[checking.choice(name, "name", names())](backbone, interactions, generator=generator, **options)
