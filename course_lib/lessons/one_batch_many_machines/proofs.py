"""The statements of the chapter, repeated by a machine: each function returns residuals that must be exactly zero."""

from __future__ import annotations

import sympy as sp


def thm_one_batch_many_machines() -> list[sp.Expr]:
    """sum_k (x_k - t)^2 = sum_k (x_k - mean)^2 + n (t - mean)^2, for n = 1, 2, 3, 4 symbolic numbers.

    FILL IN: the chapter's own theorem; one function for each label, with `-` written as `_`.
    """
    t = sp.symbols("t", real=True)
    residuals = []
    for n in (1, 2, 3, 4):
        numbers = sp.symbols(f"x1:{n + 1}", real=True)
        mean = sum(numbers) / sp.Integer(n)
        left = sum((x - t) ** 2 for x in numbers)
        right = sum((x - mean) ** 2 for x in numbers) + n * (t - mean) ** 2
        residuals.append(sp.expand(left - right))
    return residuals
