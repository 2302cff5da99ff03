"""Hidden checks of the assignment one-batch-many-machines. They run in the judge's process, with a pristine course_lib.

Each takes the student's function as an object that asks the student's process; what it returns is always plain.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from course_lib.lessons.one_batch_many_machines import checks as public
from exercises.engine.inputs import Answer, generator


def _tables(
    seed: int, pairs: int, width: int, *, scale: int = 1, accepted: Callable[[np.ndarray], bool] = lambda scores: True
) -> tuple[list[Any], list[Any]]:
    """Queries, scaled, and items; drawn again until their scores are accepted."""
    rng = generator(seed)
    while True:
        q, k = scale * rng.normal(size=(pairs, width)), rng.normal(size=(pairs, width))
        if accepted(q @ k.T):
            return q.tolist(), k.tolist()


def _gradient_cases() -> list[Any]:
    """One process, one pair in each, four processes of three, a small temperature, and large scores.

    Single precision must be enough: it has few digits for the gradient of a row whose answer is nearly certain, and for
    a small difference of two large scores.
    """

    def uncertain(scores: np.ndarray) -> bool:
        return bool(scores[2, 2] - scores[2, :2].max() < 2)

    def far_apart(scores: np.ndarray) -> bool:
        best = np.sort(scores, axis=1)
        return bool((best[:, -1] - best[:, -2]).min() > 20)

    return [
        (*_tables(51, 5, 2), 0, 1, 0.7),
        (*_tables(52, 3, 3, accepted=uncertain), 2, 3, 1.0),
        (*_tables(53, 12, 4), 1, 4, 0.2),
        (*_tables(54, 6, 3, scale=300, accepted=far_apart), 1, 2, 0.5),
    ]


def queries(answer: Answer, **numbers: Any) -> None:
    """Task 1a."""
    public.check_queries(answer, _gradient_cases(), **numbers)


def items(answer: Answer, **numbers: Any) -> None:
    """Task 1b."""
    public.check_items(answer, _gradient_cases(), **numbers)


def _recipes(rows: str) -> list[Any]:
    words = itertools.product((1, 3, 8), (rows,), ("constant", "gradients"), ("mean", "sum"), (False, True))
    return list(words)


def factors_own(answer: Answer, **numbers: Any) -> None:
    """Task 2: every recipe with own rows, on one, three and eight processes."""
    public.check_factors(answer, _recipes("own"), **numbers)


def factors_all(answer: Answer, **numbers: Any) -> None:
    """Task 2: every recipe with all rows."""
    public.check_factors(answer, _recipes("all"), **numbers)


def _parts(seed: int, size: int, batch: int, width: int) -> list[Any]:
    rng = generator(seed)

    def table(rows: int) -> list[Any]:
        return [[Fraction(int(x), 6) for x in row] for row in rng.integers(-9, 10, size=(rows, width))]

    return [(table(batch), table(size * batch)) for _ in range(size)]


def assemble(answer: Answer) -> None:
    """Task 3a: one process, three, and four of one pair."""
    public.check_assemble(answer, [_parts(61, 1, 3, 2), _parts(62, 3, 2, 3), _parts(63, 4, 1, 1)])


def constants(answer: Answer) -> None:
    """Task 3b: the same."""
    public.check_constants(answer, [_parts(64, 1, 3, 2), _parts(65, 3, 2, 3), _parts(66, 4, 1, 1)])


SAMPLINGS = [
    ([[1, 0, 1, 1], [1, 1, 0, 0], [0, 1, 1, 0]], 2, 3),
    ([[1, 1], [1, 1]], 4, 1),
    ([[1, 1, 1], [0, 0, 1], [1, 0, 1]], 3, 2),
    ([[1, 0], [0, 1], [1, 0]], 1, 2),
]


def weights_local(answer: Answer, **numbers: Any) -> None:
    """Task 4: batches that take all positives or some, of one pair and of more."""
    public.check_weights(answer, SAMPLINGS, gathered=False, **numbers)


def weights_gathered(answer: Answer, **numbers: Any) -> None:
    """Task 4: the same."""
    public.check_weights(answer, SAMPLINGS, gathered=True, **numbers)


def _gramians(seed: int, size: int, width: int) -> list[Any]:
    rng = generator(seed)
    tables = [rng.integers(-3, 4, size=(4, width)) for _ in range(size)]
    return [[[Fraction(int(x), 4) for x in row] for row in table.T @ table] for table in tables]


def gramians_equal(answer: Answer) -> None:
    """Task 5: three and five processes with as many rows."""
    public.check_gramians(answer, [(_gramians(71, 3, 2), [7, 7, 7]), (_gramians(72, 5, 3), [1] * 5)])


def gramians_uneven(answer: Answer, **numbers: Any) -> None:
    """Task 5: other numbers of rows, none among them."""
    empty = [[[0, 0], [0, 0]], *_gramians(74, 2, 2)]
    public.check_gramians(answer, [(_gramians(73, 3, 2), [1, 2, 9]), (empty, [0, 3, 5])])


def step_bytes(answer: Answer, **numbers: Any) -> None:
    """Task 6a: all recipes, on two processes and on many."""
    words = itertools.product((2, 7, 64), (3, 1024), (8, 130), ("own", "all"), ("constant", "gradients"))
    public.check_bytes(answer, list(words), **numbers)


def crossing(answer: Answer, **numbers: Any) -> None:
    """Task 6b: all recipes, where the two are as dear at some batch, and where they are not."""
    words = itertools.product((2, 3, 8, 100), (64, 100, 7), ("own", "all"), ("constant", "gradients"))
    public.check_crossing(answer, list(words), **numbers)
