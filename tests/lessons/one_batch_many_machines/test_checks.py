"""The checks of the assignment: their numbers are those of autograd and of enumeration, and their messages fit."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from in_process import functions
from sample_essays import printed, unaccounted

from course_lib import processes
from course_lib.checking import some
from course_lib.lessons.one_batch_many_machines import checks
from exercises.engine import simulate


def factors(size: int, rows: str, gather: str, reduction: str, times: bool, **other: Any) -> list[Fraction]:
    """What is right but for `other`."""
    words = {"rows": rows, "gather": gather, "reduction": reduction, **other}
    found = processes.gradient_factors(processes=size, **words).times(size if times else 1)
    return [found.query, found.pull, found.near, found.far, found.direct]


def gradients(times: float = 1.0) -> Any:
    def answer(q: Any, k: Any, rank: int, size: int, tau: float) -> list[Any]:
        return [(times * table).tolist() for table in checks._own_gradient(q, k, rank, size, tau)]

    return answer


MESSAGES = [
    ("queries", lambda *_: [1], "two things are asked for"),
    ("queries", gradients(2.0), "not their sum"),
    ("queries", gradients(0.5), "DDP divides by P later"),
    ("queries", gradients(-1.0), "the sign"),
    ("items", gradients(2.0), "not their sum"),
    ("factors_own", lambda *recipe: [1, 1], "five numbers"),
    ("factors_own", lambda *recipe: [1.0] * 5, "no floats"),
    ("factors_own", lambda *recipe: factors(*recipe[:2], "gradients", *recipe[3:]), "constants send no gradient back"),
    ("factors_own", lambda *recipe: factors(*recipe[:4], False), "multiplied by P"),
    ("factors_all", lambda *recipe: [x * 2 for x in factors(*recipe)], "divides the sum"),
    ("assemble", lambda parts: [[[1]], 2], "each a list of rows"),
    ("assemble", lambda parts: [checks.PARTS[0][0] + checks.PARTS[1][0], [[2, 2], [0, 4], [5, 3], [-3, -1]]], "P B"),
    ("weights_local", lambda labels, p, b: [1], "two tables"),
    ("weights_local", lambda labels, p, b: weights(labels, p, b)[::-1], "changed places"),
    ("weights_gathered", lambda labels, p, b: [0, [[x / 2 for x in row] for row in weights(labels, p, b)[1]]], "cells"),
    ("gramians_equal", lambda grams, sizes: np.sum(grams, axis=0).tolist(), "a mean over rows"),
    ("step_bytes", lambda p, b, d, rows, gather: 3 * 100 * 32, "four bytes"),
    ("step_bytes", lambda p, b, d, rows, gather: 4 * 4 * 100 * 32, "P - 1 times"),
    ("crossing", lambda p, d, rows, gather: 0.5, "whole number"),
    ("crossing", lambda p, d, rows, gather: 64, "cheaper still"),
]


def weights(labels: Any, p: int, b: int) -> Any:
    return functions(simulate.reference("one-batch-many-machines"))["expected_weights"](labels, p, b)


def test_the_gradient_of_task_1_is_that_of_autograd() -> None:
    generator = torch.Generator().manual_seed(0)
    q, k = (torch.randn(6, 3, generator=generator, dtype=torch.float64).requires_grad_() for _ in range(2))
    own = torch.arange(2, 4)
    torch.nn.functional.cross_entropy(q[own] @ k.T / 0.3, own).backward()
    to_queries, to_items = checks._own_gradient(q.tolist(), k.tolist(), 1, 3, 0.3)
    np.testing.assert_allclose(to_queries, q.grad[own], atol=1e-12)
    np.testing.assert_allclose(to_items, k.grad, atol=1e-12)


@pytest.mark.parametrize(("p", "b"), [(2, 2), (1, 3), (4, 1)])
def test_the_weights_of_task_4_are_those_of_all_draws(p: int, b: int) -> None:
    pairs = [(i, j) for i, row in enumerate(checks.LABELS) for j, label in enumerate(row) if label]
    local, gathered = np.zeros((2, 3), dtype=object), np.zeros((2, 3), dtype=object)
    draws = some(list(itertools.permutations(range(len(pairs)), p * b)))
    for draw in draws:
        for (at, e), (other, f) in itertools.permutations(enumerate(draw), 2):
            cell = pairs[e][0], pairs[f][1]
            gathered[cell] += 1
            local[cell] += at // b == other // b
    right = [(table * Fraction(1, len(draws))).tolist() for table in (local, gathered)]
    assert [table.tolist() for table in weights(checks.LABELS, p, b)] == right


def test_the_essay_quotes_numbers_of_the_tasks() -> None:
    """511 of 4,095, and seven eighths."""
    met = processes.meetings("together", processes=8, batch_size=512, n_positives=10**6)
    assert met.near / (met.near + met.far) == Fraction(511, 4095)
    columns = processes.gradient_factors(processes=8, rows="own", gather="constant")
    push = processes.mean_push(columns, processes=8, batch_size=512)
    assert float(1 - push) == pytest.approx(7 / 8, abs=0.001)
    answers, page = functions(simulate.reference("one-batch-many-machines")), printed("one-batch-many-machines")
    constants = [str(factor) for factor in answers["factors"](8, "own", "constant", "mean", False)]
    whole, sums = (
        answers["factors"](8, *recipe, True) for recipe in (("all", "constant", "mean"), ("own", "gradients", "sum"))
    )
    assert (
        whole == [1, 1, 1, 1, 8] and sums == [1] * 5
    )  # "the vectors get 1 and the temperature gets 8", "sums over own rows"
    sent, half = (answers["step_bytes"](8, 512, 128, "own", gather) for gather in ("gradients", "constant"))
    assert sent == 2 * half
    names = ("first-loss-one", "first-loss-eight")
    shares = ("recall-constant", "recall-one", "recall-logq-one", "recall-logq-constant")
    published = [*(page[name] for name in names), *(f"{page[name]} %" for name in shares)]
    ratio = ("511/4095", f"{100 * 511 / 4095:.0f} %", f"{511 / 4095:.3f}", "511", "4,095", "8 times 512")
    factors_said = (", ".join(constants), f"gives {constants[3]} for the far pushes", "the vectors get 1", "gets 8")
    tried = (f"{sent / 1e6:.2f} MB", "vectors of 128 numbers", "float64", "1, 2, 4 and 8 local parts")
    assert not unaccounted("one-batch-many-machines", *published, *ratio, *factors_said, *tried)
