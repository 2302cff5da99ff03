"""The floor of the softmax loss: what is no number of films, no temperature and no probability is refused."""

from __future__ import annotations

from typing import Any

import pytest

from course_lib.losses.floors import largest_tau, loss_floor, most_probable


@pytest.mark.parametrize("n", [1, 2.0, "5", None, float("nan"), 10**400])
def test_what_counts_no_films_is_refused(n: Any) -> None:
    for call in (lambda: loss_floor(n, 0.2), lambda: most_probable(n, 0.2), lambda: largest_tau(n, 0.9)):
        with pytest.raises(ValueError, match=r"n is .*; expected a whole number from 2 to 1000000000000000"):
            call()


def test_the_largest_number_of_films_still_has_an_inverse() -> None:
    assert most_probable(10**15, largest_tau(10**15, 0.5)) == pytest.approx(0.5, rel=1e-9)
