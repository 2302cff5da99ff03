"""The proofs of the chapter find out when a formula of the library, or a statement, is wrong."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
import sympy as sp

from course_lib import in_batch, processes
from course_lib.checking import some
from course_lib.lessons.one_batch_many_machines import broken, proofs
from tests.lessons.every import broken as put_wrong


def residuals(name: str) -> list[Any]:
    found = getattr(proofs, name)()
    return found if isinstance(found, list) else [found]


def times(factor: int) -> Callable[[Any], Any]:
    """A function whose result is multiplied."""
    return lambda right: lambda *args, **kwargs: factor * right(*args, **kwargs)


def other_factors(right: Callable[..., processes.GradientFactors]) -> Callable[..., processes.GradientFactors]:
    """Far pushes also arrive where a machine computes its own rows from constants."""
    return lambda **given: right(**{**given, "gather": "gradients"})


def other_meetings(right: Callable[..., processes.Meetings]) -> Callable[..., processes.Meetings]:
    """Nobody meets a copy."""
    return lambda *args, **given: right(*args, **given)._replace(copies=Fraction(1, 7))


def other_coefficients(right: Callable[..., Any]) -> Callable[..., Any]:
    """The balance of another batch size."""
    return lambda kind, *, a, rho: right(kind, a=a, rho=2 * rho)


@pytest.mark.parametrize(
    ("holder", "target", "wrong", "caught"),
    [
        (processes, "gradient_factors", other_factors, "thm_averaged_gradient"),
        (processes, "negatives_ratio", times(2), "thm_local_softmax"),
        (processes, "meetings", other_meetings, "thm_meetings"),
        (in_batch, "coefficients_from", other_coefficients, "thm_corrected_losses"),
        (in_batch, "inclusion_probability", times(2), "thm_meetings"),
    ],
)
def test_a_wrong_formula_is_found_out(
    monkeypatch: pytest.MonkeyPatch, holder: Any, target: str, wrong: Callable[[Any], Any], caught: str
) -> None:
    assert all(residual == 0 for residual in some(residuals(caught)))
    put_wrong(monkeypatch, holder, target, wrong)
    assert any(residual != 0 for residual in residuals(caught))


def test_a_gather_that_loses_one_machine_is_another_average() -> None:
    """The two ways are not the same by symbols: what constants lose is the far slopes of the items."""
    with_it, without = (proofs.averaged(2, 2, "own", gather, "mean") for gather in ("gradients", "constant"))
    lost = [sp.expand(a - b) for a, b in zip(with_it, without, strict=True)]
    assert lost[:4] == [0, 0, 0, 0] and lost[8] == 0
    assert lost[4] == (sp.Symbol("D2_0") + sp.Symbol("D3_0")) / 4


@pytest.mark.seconds
def test_a_gather_with_gradients_is_a_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the rows of all machines in a film's part both mixed derivatives are there, so the proof of none fails."""

    def whole(p: int, b: int) -> Any:
        q, k, _ = right(p, b)
        loss = sum(sp.log(sum(sp.exp(x * y) for y in k)) - x * k[a] for a, x in enumerate(q)) / (p * b)
        return q, k, [loss.diff(x) for x in (*q, *k)]

    right = proofs.numbers_on
    queries = [field[:2] for *_, field in (right(2, 1), whole(2, 1))]
    assert [sp.simplify(part - other) for part, other in zip(*queries, strict=True)] == [0, 0]
    monkeypatch.setattr(proofs, "numbers_on", whole)
    assert all(residual != 0 for residual in some(residuals("prop_not_a_gradient")[1:]))


def test_functions_of_one_negative_more_escape_the_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    right = proofs.mean_of_local
    monkeypatch.setattr(proofs, "mean_of_local", lambda negatives, count: right(negatives, count + 1))
    assert any(residual != 0 for residual in residuals("prop_no_local_softmax"))


def test_the_local_weights_are_those_of_one_small_batch() -> None:
    """Numbers: two positives of three in each batch, a negative of popularity 2."""
    weights = proofs.expected_in_batch(proofs.B)
    numbers = {proofs.B: 2, proofs.M: 3, proofs.m: 2, proofs.n: 2, proofs.pop: 2}
    assert [weight.subs(numbers) * 4 for weight in weights] == [1, 1, sp.Rational(1, 2)]


def test_a_counterexample_shows_both_sides() -> None:
    lone = broken.parts_of_two_lengths()
    assert (lone.claimed, lone.actual) == (Fraction(1, 4), Fraction(1, 2))
    assert broken.factor_on_own_rows(4).actual == 4 and broken.sums_on_own_rows(4).actual == Fraction(1, 4)
