"""The public check of a small task: what the answer gives on some cases, and which slip gives a wrong number."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .forms import PASSED, Answer, compare, compare_arrays, plainly, short

Formula = Callable[..., Any]


class Asked:
    """A check that compares an answer with a formula, on its own cases or, by `on`, on a grader's.

    `slips` maps a hint to the formula that gives the wrong number; a number or an array may be asked for.
    """

    def __init__(self, what: str, right: Formula, *cases: tuple[Any, ...], slips: Mapping[str, Formula]) -> None:
        self.what, self.right, self.cases, self.slips = what, right, cases, dict(slips)

    def __call__(self, answer: Answer) -> None:
        """NotYet where the answer is wrong on a public case; prints what passing means."""
        self.on(answer, *self.cases)
        print(PASSED)

    def on(self, answer: Answer, *cases: tuple[Any, ...]) -> None:
        """NotYet where the answer is wrong on one of these cases."""
        asked = plainly(answer)
        for case in cases:
            right = self.right(*case)
            wrong = [(formula(*case), hint) for hint, formula in self.slips.items()]
            got, where = asked(*copy.deepcopy(case)), f"{self.what}, at {short(', '.join(map(repr, case)))}"
            if np.ndim(right):
                compare_arrays(got, right, where, [slip for slip in wrong if np.shape(slip[0]) == np.shape(right)])
            else:
                compare(got, right, where, wrong, exact=False)
