"""The model of what a step costs: amounts counted on small cases, prices found again."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from refused import refused

from course_lib import step_cost

RECIPES = [("local", "own"), *itertools.product(("constant", "gradients"), ("own", "all"))]


def test_amounts_written_out() -> None:
    """Three processes of 4 pairs, d = 5: the rows of one of them have 80 bytes."""
    where = {"processes": 3, "batch_size": 4, "width": 5}
    assert step_cost.amounts("local", "own", **where).tolist() == [1, 16, 480, 0]
    assert step_cost.amounts("constant", "own", **where).tolist() == [1, 48, 1440, 240]
    assert step_cost.amounts("gradients", "all", **where).tolist() == [1, 144, 4320, 960]


def test_processes_that_share_cores_take_turns() -> None:
    prices, what = [1.0, 0, 0, 0], [[1, 2, 3, 4]] * 2
    for processes, cores, turns in ((4, 2, 2.0), (3, 2, 1.5), (2, 2, 1.0), (1, 8, 1.0)):
        found = step_cost.seconds(prices, what, processes=processes, cores=cores)
        assert found.tolist() == [turns, turns]


def test_prices_are_found_again_and_never_negative() -> None:
    sizes = itertools.product(RECIPES, (128, 512), (32, 64, 128))
    what = [step_cost.amounts(*recipe, processes=2, batch_size=b, width=d) for recipe, b, d in sizes]
    prices = np.array([1e-3, 5e-9, 1e-11, 2e-9])
    took = step_cost.seconds(prices, what, processes=2, cores=2)
    assert step_cost.fitted_prices(what, took) == pytest.approx(prices, rel=1e-6)
    off = took * np.random.default_rng(0).uniform(0.8, 1.2, len(took))
    near = step_cost.fitted_prices(what, off)
    assert (near >= 0).all() and abs(step_cost.seconds(near, what, processes=2, cores=2) / took - 1).max() < 0.2
    assert step_cost.fitted_prices(what[:4], took[:4]).shape == (4,)
    # without bytes in the measurements nothing is known of their price
    alone = [row for row in what if row[3] == 0]
    assert len(alone) == 6 and step_cost.fitted_prices(alone, [row[0] for row in alone])[3] == 0


WHERE = {"processes": 2, "batch_size": 4, "width": 4}
ALONE = {"processes": 1, "cores": 1}
WHAT = [[1, 2, 3, 4]] * 6
test_refused = refused(
    (lambda: step_cost.seconds([-1, 0, 0, 0], [1, 1, 1, 1], processes=1, cores=1), "prices is .* at least 0"),
    (lambda: step_cost.seconds([1, 0, 0, 0], [-1, 1, 1, 1], processes=1, cores=1), "what is .* at least 0"),
    (lambda: step_cost.amounts("none", "own", **WHERE), "gather is 'none'; expected one of local, constant, gradients"),
    (lambda: step_cost.amounts("local", "own", **WHERE | {"batch_size": 0}), "batch_size is 0; expected a whole"),
    (lambda: step_cost.amounts("local", "all", **WHERE), "rows is 'all'; expected one of own"),
    (lambda: step_cost.fitted_prices(WHAT[:3], [1.0] * 3), r"what has shape \(3, 4\); expected \(n, 4\) with n of at"),
    (lambda: step_cost.fitted_prices(WHAT, [1.0] * 5), r"measured has shape \(5,\); expected \(6,\)"),
    (lambda: step_cost.fitted_prices(WHAT, [1, 1, 1, 0, 1, 1]), r"measured is 0.0; expected seconds above 0"),
    (lambda: step_cost.seconds([1, 2, 3, 4], [1, 2, 3], **ALONE), r"what has shape \(3,\); expected \(..., 4\)"),
    (lambda: step_cost.seconds([1, 2, 3, 4], [1, 2, 3, np.nan], **ALONE), r"what\[3\] = nan"),
    (lambda: step_cost.seconds([1, 2, 3], WHAT, **ALONE), r"prices has shape \(3,\); expected \(4,\)"),
    *((lambda name=name: step_cost.turns(**ALONE | {name: 0}), f"{name} is 0") for name in ("processes", "cores")),
)


def test_amounts_that_are_fractions_cost_seconds_in_float64() -> None:
    found = step_cost.seconds([1, 2, 3, 4], [Fraction(1, 2)] * 4, processes=1, cores=1)
    assert found == 5 and found.dtype == np.float64
