"""Symbols and residuals of the proofs: vectors and matrices whose entries are symbols, and what must be 0."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import wraps
from typing import Any, ParamSpec

import sympy as sp

from course_lib.checking import some

Given = ParamSpec("Given")


def proof(statement: Callable[Given, Iterable[Any]]) -> Callable[Given, list[sp.Expr]]:
    """Makes a proof of a function that yields residuals: it returns them simplified, 0 where the statement holds."""

    @wraps(statement)
    def residuals(*given: Given.args, **named: Given.kwargs) -> list[sp.Expr]:
        return simplified(*statement(*given, **named))

    return residuals


def largest(enumeration: Callable[Given, Iterable[Any]]) -> Callable[Given, Fraction]:
    """Makes an enumeration of a function that yields a discrepancy for each case: it returns the largest, or 0."""

    @wraps(enumeration)
    def discrepancy(*given: Given.args, **named: Given.kwargs) -> Fraction:
        return Fraction(max(0, *some(enumeration(*given, **named))))

    return discrepancy


def simplified(*residuals: Any) -> list[sp.Expr]:
    """The residuals of a proof, each simplified: 0 where the statement holds."""
    return [sp.simplify(sp.sympify(residual)) for residual in residuals]


def vector(name: str, size: int) -> sp.Matrix:
    """A column of real symbols."""
    return sp.Matrix(sp.symbols(f"{name}_1:{size + 1}", real=True))


def matrix(name: str, rows: int, columns: int) -> sp.Matrix:
    """A matrix of real symbols."""
    return sp.Matrix(rows, columns, lambda i, j: sp.Symbol(f"{name}{i}{j}", real=True))


def symmetric(name: str, size: int) -> sp.Matrix:
    """A symmetric matrix of real symbols."""
    return sp.Matrix(size, size, lambda i, j: sp.Symbol(f"{name}{min(i, j)}{max(i, j)}", real=True))


def dot(a: Iterable[Any], b: Iterable[Any]) -> sp.Expr:
    """The sum of the products of the entries, of two vectors or of two matrices."""
    return sum((x * y for x, y in zip(a, b, strict=True)), sp.Integer(0))
