"""The forms of answers."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from course_lib.lessons.shared import forms


def test_forms_say_what_they_expect() -> None:
    with pytest.raises(forms.NotYet, match="3 x any"):
        forms.floats([[1.0]], (3, None), "rows")
    with pytest.raises(forms.NotYet, match="all rows of the same length"):
        forms.floats([[1.0], [1.0, 2.0]], (2, None), "rows")
    assert forms.floats([[1, 2]], (1, 2), "rows").dtype == np.float64


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.float32(0.1), float(np.float32(0.1))),
        (np.float64(0.1), 0.1),
        (np.int64(3), 3),
        (np.array([[1.0, 2.0]], dtype=np.float32), [[1.0, 2.0]]),
        (torch.tensor([1.5, 2.5], requires_grad=True), [1.5, 2.5]),
        ((1, [Fraction(1, 2)]), [1, [Fraction(1, 2)]]),
        (np.array([0.6 + 0j, -0.8 + 0j]), [0.6, -0.8]),  # an eigenvector, where another one is complex
    ],
)
def test_a_public_check_meets_the_values_that_the_grader_meets(value: object, plain: object) -> None:
    found = forms.plainly(lambda: value)()
    assert found == plain and type(found) is type(plain)


def test_a_value_that_is_not_plain_is_told_so() -> None:
    with pytest.raises(forms.NotYet, match="not set"):
        forms.plainly(lambda: {1, 2})()
    with pytest.raises(forms.NotYet, match="not complex"):
        forms.plainly(lambda: [1.0, 1j])()


def test_a_float32_answer_is_compared_as_the_grader_compares_it() -> None:
    """As a plain number: NumPy would compare float32 with a float in float32. Its rounding is no mistake."""
    check = forms.public(lambda answer: forms.compare(answer(), 0.1, "x", {}, exact=False))
    for kind in (np.float32, np.float64, float):
        check(lambda kind=kind: kind(0.1))
        with pytest.raises(forms.NotYet):
            check(lambda kind=kind: kind(0.1 * (1 + 2 * forms.CLOSE)))


@pytest.mark.parametrize(
    ("value", "whole"),
    [(2, True), (-1.0, True), (np.float32(3), True), (0.5, False), (Fraction(5), True), (Fraction(5, 2), False)],
)
def test_a_whole_number_may_be_a_float_or_a_fraction(value: object, whole: bool) -> None:
    assert forms.is_whole(value) is whole
    assert not forms.is_whole(True) and not forms.is_whole(float("inf"))


def test_a_message_speaks_of_the_slip_that_was_made() -> None:
    """A column instead of a list, and a function that prints: neither is a question of exactness."""
    half = Fraction(1, 2)
    with pytest.raises(forms.NotYet, match="x: a number is expected, not a list"):
        forms.compare_list([[half], [half]], [half, half], "x", [])
    with pytest.raises(forms.NotYet, match="so use whole numbers and Fractions, no floats"):
        forms.compare_list([0.5, half], [half, half], "x", [])
    printed = "not None: does the function print its answer and return nothing"
    for exact in (True, False):
        with pytest.raises(forms.NotYet, match=printed):
            forms.compare(None, half, "x", {}, exact=exact)
    with pytest.raises(forms.NotYet, match=printed):
        forms.compare_list(None, [half, half], "x", [])
    with pytest.raises(forms.NotYet, match=printed):
        forms.compare_arrays(None, [0.5], "x", {})


def test_an_answer_of_thousands_of_digits_is_not_right_and_no_error() -> None:
    with pytest.raises(forms.NotYet, match="a Fraction of thousands of digits is not right"):
        forms.compare(Fraction(1, 10**5000), Fraction(1, 2), "p", {}, exact=True)
