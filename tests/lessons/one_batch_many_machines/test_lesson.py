"""What tests/lessons does not ask of every lesson: wrong formulas are found out, page and Python say the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from course_lib.lessons.one_batch_many_machines import broken, proofs
from course_lib.lessons.one_batch_many_machines.one_batch_many_machines_play import OneBatchManyMachines


def test_the_theorem() -> None:
    residuals = proofs.thm_one_batch_many_machines()
    assert residuals and all(residual == 0 for residual in residuals)


def test_the_counterexample_refutes_by_what_its_formula_says() -> None:
    example = broken.absolute_distances()
    assert example.gap != 0 and example.unexplained == 0


@pytest.mark.parametrize("t", [0.0, 3.0, 7.5])
def test_the_page_says_what_python_says(site_page: Callable[..., Any], t: float) -> None:
    one = OneBatchManyMachines(t=t)
    assert site_page(one.static_html()).locator(".cw-summary").inner_text() == one.summary()


@pytest.mark.parametrize("t", [0.0, 3.0, 7.5])
def test_its_lines_of_python_compute_the_number_that_it_shows(t: float) -> None:
    one = OneBatchManyMachines(t=t)
    assert f"is {eval(one.python()):g}. The least" in one.summary()


def test_nonsense_is_refused() -> None:
    with pytest.raises(Exception, match="t is 9.0; expected 0.0 to 8.0"):
        OneBatchManyMachines(t=9)
