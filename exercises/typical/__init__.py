"""Typical wrong answers, one module per assignment, with the marks that they lose and the message that they get."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Wrong:
    """The reference solution with some answers replaced.

    answers: the whole answer cell, by grade_id. lost: the graded checks that must then give no points; all others give
    full points. message: what the feedback must say.
    """

    answers: dict[str, str] = field(repr=False)
    lost: tuple[str, ...]
    message: str
