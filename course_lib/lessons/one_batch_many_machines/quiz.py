"""What is right in the quiz of the chapter: each function gives {answer id: is it right?}."""

from __future__ import annotations

from fractions import Fraction


def nearest() -> dict[str, bool]:
    """The point with the least sum of squared distances to 1, 2 and 6."""
    numbers = [Fraction(1), Fraction(2), Fraction(6)]
    answers = {"mean": Fraction(3), "median": Fraction(2), "middle": Fraction(7, 2)}
    sums = {name: sum((x - at) ** 2 for x in numbers) for name, at in answers.items()}
    return {name: value == min(sums.values()) for name, value in sums.items()}


def excess() -> dict[str, bool]:
    """Four numbers with mean 5, in three ways: how much larger the sum of squared distances to 7 is than to 5."""
    tables = ([5, 5, 5, 5], [0, 0, 10, 10], [1, 2, 3, 14])
    found = {sum((x - 7) ** 2 for x in table) - sum((x - 5) ** 2 for x in table) for table in tables}
    return {"four-squares": found == {16}, "one-square": found == {4}, "unknown": len(found) > 1}
