"""What every lesson's counterexamples are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp


@dataclass(frozen=True)
class Counterexample:
    """One refuted reading of a statement.

    dropped: the assumption or the reading;  claimed, actual: the two sides, numbers or arrays of the same shape;
    formula: our exact expression for actual - claimed (None where no formula is offered).
    """

    dropped: str
    claimed: Any
    actual: Any
    formula: Any = None

    @property
    def gap(self) -> Any:
        """actual - claimed: not zero, or the example refutes nothing."""
        return self.actual - self.claimed

    @property
    def unexplained(self) -> Any:
        """gap - formula: zero."""
        return self.gap - self.formula

    @property
    def refutes(self) -> bool:
        """Whether there is a gap, and the formula, where one is offered, explains all of it."""
        return not all_zero(self.gap) and (self.formula is None or all_zero(self.unexplained))

    @property
    def passes(self) -> bool:
        """Whether it refutes; of a repaired statement, which drops "nothing", whether there is no gap."""
        return all_zero(self.gap) if self.dropped.startswith("nothing") else self.refutes


def all_zero(value: Any) -> bool:
    """Whether a number, an expression or every entry of an array is exactly zero."""
    if isinstance(value, np.ndarray):
        return all(entry == 0 for entry in value.ravel())
    return bool(value == 0 or sp.simplify(value) == 0)
