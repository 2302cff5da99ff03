"""What the checks of every assignment are made of: the form of an answer, and the comparison with the right one."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import wraps
from inspect import signature
from numbers import Number
from typing import Any

import numpy as np

from . import plain

PASSED = "public checks passed; this is not full marks: your answer is graded on other inputs"
CLOSE = 1e-5
"""Floats may differ by this much, relative to the right value: single precision, as torch has it, is enough."""
SMALL = 0.01
"""Right values nearer to zero than this are compared as if they were this large."""

OTHER_VERSION = "this answers another version of the assignment: read the numbers and the words of this one"
"""For the public answer, where a private variant asks for another."""

Answer = Callable[..., Any]
Misconceptions = Mapping[Any, str] | Iterable[tuple[Any, str]]


class NotYet(AssertionError):
    """An answer that is not right yet; the message says what was expected and which misconception fits."""


def public(check: Callable[..., None], *cases: Any, **options: Any) -> Callable[..., None]:
    """The public check of a task: `check` on these cases, and then the line that says what passing means.

    A private variant of the assignment gives its own numbers by name.
    """

    def passes(answer: Answer, **numbers: Any) -> None:
        check(plainly(answer), *copy.deepcopy(cases), **options, **numbers)  # an answer may change what it is given
        print(PASSED)

    passes.__doc__ = check.__doc__
    return passes


def plainly(answer: Answer) -> Answer:
    """The answer as the grader sees it: what it is given, and what it returns, are plain values (`plain`)."""

    def call(*arguments: Any) -> Any:
        given = plain.from_plain(plain.to_plain(list(arguments)))
        try:
            return plain.from_plain(plain.to_plain(answer(*given)))
        except plain.NotPlain as error:
            raise NotYet(f"{error}") from None

    return call


def plain_check(check: Callable[..., None]) -> Callable[..., None]:
    """A public check that meets plain values only, as the hidden checks do."""

    @wraps(check)
    def passes(answer: Answer, **numbers: Any) -> None:
        check(plainly(answer), **numbers)

    return passes


def each_case(check: Callable[..., None]) -> Callable[..., None]:
    """A check of one case as a check of several: `cases` holds what it takes beside the answer, as tuples.

    Where it takes one thing only, `cases` holds that itself.
    """
    alone = len(signature(check).parameters) - len(check.__kwdefaults__ or {}) == 2

    @wraps(check)
    def checks(answer: Answer, cases: Iterable[Any], **options: Any) -> None:
        for case in cases:
            check(answer, *([case] if alone else case), **options)

    return checks


def expect(condition: bool, message: str) -> None:
    """NotYet with the message where the condition fails."""
    if not condition:
        raise NotYet(message)


def compare(
    got: Any, right: Any, where: str, misconceptions: Misconceptions, *, exact: bool, tolerance: float | None = None
) -> None:
    """NotYet unless `got` is `right`; the message names the misconception whose value it is.

    Floats may be off by `_within(right)`, or by `tolerance` relative to the larger of 1 and the right value.
    """
    value = fraction(got, where) if exact and is_number(got) else number(got, where)
    size = abs(float(right))
    within = _within(size) if tolerance is None else tolerance * max(1.0, size)

    def same(x: Any) -> bool:
        return bool(value == x if exact else abs(value - x) <= within)

    if not same(right):
        raise NotYet(f"{where}: {short(got)} is not right. {_hint(same, misconceptions)}")


def _within(size: float) -> float:
    """By how much a float may be off whose right value, or the largest entry of it, has this size."""
    return CLOSE * max(SMALL, size)


def compare_arrays(got: Any, right: Any, where: str, misconceptions: Misconceptions) -> np.ndarray:
    """`compare` for arrays of floats: no entry may be off by more than the largest right one may be."""
    right = np.asarray(right, dtype=float)
    value = floats(got, right.shape, where)
    within = _within(float(np.abs(right).max(initial=0.0)))

    def same(x: Any) -> bool:
        return float(np.abs(value - np.asarray(x, dtype=float)).max(initial=0.0)) <= within

    if not same(right):
        raise NotYet(f"{where}: {short(shown(value))} is not right. {_hint(same, misconceptions)}")
    return value


def compare_exact(got: Any, right: Any, where: str, misconceptions: Misconceptions) -> None:
    """`compare` for matrices of Fractions, entry by entry."""
    rows, width = len(right), len(right[0])
    expect(is_table(got, rows, width), f"{where}: a {rows} x {width} matrix (a list of lists) is expected{_none(got)}")
    value = [[fraction(entry, where) for entry in row] for row in got]

    def same(x: Any) -> bool:
        return value == [list(row) for row in x]

    if not same(right):
        raise NotYet(
            f"{where}: {short([[str(x) for x in row] for row in value])} is not right. {_hint(same, misconceptions)}"
        )


def compare_list(got: Any, right: Sequence[Any], where: str, misconceptions: Iterable[tuple[Any, str]]) -> None:
    """`compare` for a list of Fractions."""
    expect(is_list(got, len(right)), f"{where}: a list of {len(right)} numbers is expected{_none(got)}")
    as_rows = [(None if slip is None else [slip], hint) for slip, hint in misconceptions]
    compare_exact([got], [right], where, as_rows)


def _hint(same: Any, misconceptions: Misconceptions) -> str:
    pairs = misconceptions.items() if isinstance(misconceptions, Mapping) else misconceptions
    hints = [hint for value, hint in pairs if value is not None and same(value)]
    return f"Perhaps: {hints[0]}." if hints else "No usual slip gives this number."


# ---- forms ----


def is_list(value: Any, length: int | None = None) -> bool:
    """A list, a tuple or an array, of this length if one is given."""
    return isinstance(value, (list, tuple, np.ndarray)) and (length is None or len(value) == length)


def is_table(value: Any, rows: int, width: int) -> bool:
    """So many lists, all of this length."""
    return is_list(value, rows) and all(is_list(row, width) for row in value)


def is_number(value: Any) -> bool:
    return isinstance(value, Number) and not isinstance(value, (bool, np.bool_, complex))


def is_whole(value: Any) -> bool:
    """2, 2.0 and Fraction(2) are whole numbers, True is none."""
    if isinstance(value, Fraction):
        return value.denominator == 1
    return _is_int(value) or (isinstance(value, (float, np.floating)) and float(value).is_integer())


def _is_int(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _none(value: Any) -> str:
    """What a message adds where a function returned nothing."""
    return ", not None: does the function print its answer and return nothing?" if value is None else ""


def number(value: Any, what: str) -> Any:
    """A finite real number as it is (int, float or Fraction)."""
    expect(is_number(value), f"{what}: a number is expected{', not a list' if is_list(value) else _none(value)}")
    try:
        finite = abs(float(value)) != float("inf") and value == value
    except OverflowError:
        finite = False
    expect(finite, f"{what}: the number must be finite")
    return value


def whole(value: Any, what: str) -> Any:
    """A whole number in whatever form it comes, 3.0 as 3; anything else as it is, for `compare` to refuse."""
    return int(value) if is_whole(number(value, what)) else value


def fraction(value: Any, what: str) -> Fraction:
    """An exact number: whole, or a Fraction."""
    number(value, what)
    if _is_int(value):
        return Fraction(int(value))
    expect(
        isinstance(value, Fraction),
        f"{what}: an exact value is asked for, so use whole numbers and Fractions, no floats",
    )
    found: Fraction = value
    return found


def floats(value: Any, shape: tuple[int | None, ...], what: str) -> np.ndarray:
    """A float64 array of the shape asked for; None stands for any length."""
    kinds = {0: "a number", 1: "a list of numbers", 2: "a matrix (a list of lists of numbers)"}
    size = " x ".join("any" if length is None else str(length) for length in shape)
    form = f"{what}: {kinds[len(shape)]}{f' ({size})' if shape else ''} is expected{_none(value)}"
    array = np.array(_numbers(value, len(shape), what, form), dtype=float)
    expect(array.ndim == len(shape) and all(n in (None, m) for n, m in zip(shape, array.shape, strict=True)), form)
    return array


def _numbers(value: Any, depth: int, what: str, form: str) -> Any:
    if depth == 0:
        return float(number(value, what))
    expect(is_list(value) and len(value) > 0, form)
    entries = [_numbers(entry, depth - 1, what, form) for entry in value]
    expect(depth == 1 or len({len(entry) for entry in entries}) == 1, f"{form}, all rows of the same length")
    return entries


def unit(vector: np.ndarray) -> np.ndarray:
    """The vector at length 1; zero stays zero."""
    length = float(np.linalg.norm(vector))
    return vector / length if length else vector


def shown(value: np.ndarray) -> list[Any]:
    """An array as a short list, for a message."""
    return list(np.vectorize(lambda x: float(f"{x:.6g}"), otypes=[float])(value).tolist())


def short(value: Any) -> str:
    """A value as text of at most 60 characters."""
    try:
        text = str(value)
    except ValueError:  # Python writes no whole number of more than 4,300 digits
        return f"a {type(value).__name__} of thousands of digits"
    return text if len(text) < 60 else text[:57] + "..."
