"""What tests/lessons does not ask of every lesson: wrong formulas are found out, page and Python say the same."""

from __future__ import annotations

from course_lib.lessons.one_batch_many_machines import broken, proofs


def test_the_theorem() -> None:
    residuals = proofs.thm_one_batch_many_machines()
    assert residuals and all(residual == 0 for residual in residuals)


def test_the_counterexample_refutes_by_what_its_formula_says() -> None:
    example = broken.absolute_distances()
    assert example.gap != 0 and example.unexplained == 0
