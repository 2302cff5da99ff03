"""Which of the columns or arrays that stand beside a table names its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from course_lib.audit.columns import Candidates, is_rating
from course_lib.audit.ids import numbers_of
from course_lib.audit.sources import refuse_file
from course_lib.audit.tables import AnyArray


@dataclass(frozen=True)
class Beside:
    """What stands beside a table of so many rows.

    ids: from a name to the ids under it; it raises ValueError where they are none. name, path: for messages.
    """

    ids: Callable[[str], AnyArray]
    rows: int
    name: str
    path: Path

    def chosen(self, possible: Iterable[Candidates]) -> str | None:
        """The surest name; of several that are as sure, the only one whose ids differ in all rows.

        Raises ValueError where two could be meant. An id that the table lacks is refused when the pairs are read, so a
        second column is a danger only where both hold whole numbers, which may be other rows' numbers.
        """
        key = None
        for each in possible:
            alone = each.sure and len(each.names) == 1
            fitting = each.names if alone else tuple(at for at in each.names if self._differ(at))
            if not fitting and each.sure:
                raise self._unclear(each.names)
            if key is None and fitting:
                one = all(self._equal(fitting[0], other) for other in fitting[1:])
                if not one and (each.sure or any(self._numbers(at) is not None for at in fitting)):
                    raise self._unclear(fitting)
                key = fitting[0] if one else None
            elif key is not None and each.sure:
                rival = next((at for at in fitting if self._other_numbers(key, at)), None)
                if rival is not None:
                    raise self._unclear((key, rival))
        return key

    def refuse_likely(self, left: Iterable[str]) -> None:
        """Raises ValueError for what numbers all rows in another way than their places, under no name of ids."""
        places = np.arange(self.rows)
        for key in left:
            if not self._differ(key):
                continue
            numbers = self._numbers(key)
            if numbers is None or (is_rating(key) and not np.array_equal(np.sort(numbers), places)):
                continue  # label, value: may be ids all the same
            if not np.array_equal(numbers, places):
                what = f"{key} holds another whole number for each row, and nothing is named as ids are"
                raise refuse_file(
                    self.name, self.path, what, f"{self._option(key)} if these are the ids, or a file without {key}"
                )

    def _differ(self, key: str) -> bool:
        """Whether these are ids, another one for each row."""
        found = self._or_none(key)
        return found is not None and found.shape == (self.rows,) and len(np.unique(found)) == self.rows

    def _equal(self, key: str, other: str) -> bool:
        return bool(np.array_equal(self.ids(key).astype(str), self.ids(other).astype(str)))

    def _numbers(self, key: str) -> AnyArray | None:
        """These ids as whole numbers, where they all are such."""
        found = self._or_none(key)
        numbers, fits = (found, np.False_) if found is None else numbers_of(found)
        return numbers if fits.all() else None

    def _other_numbers(self, key: str, other: str) -> bool:
        """Whether both are whole numbers, and not the same."""
        left, right = self._numbers(key), self._numbers(other)
        return left is not None and right is not None and left.shape == right.shape and bool((left != right).any())

    def _or_none(self, key: str) -> AnyArray | None:
        try:
            return self.ids(key)
        except ValueError:
            return None

    def _unclear(self, names: Iterable[str]) -> ValueError:
        names = tuple(names)
        what = f"which of {', '.join(names)} names the rows as the pairs do is not clear"
        return refuse_file(self.name, self.path, what, f"one of them, or {self._option(names[0])}")

    def _option(self, key: str) -> str:
        return f"--{side_of(self.name) or 'item'}-ids {self.path.name}#{key}"


def side_of(name: str) -> str:
    """Whose rows a table has, by what the argument is called: "item", "user", or "" where that does not tell."""
    return next((side for side in ("item", "user") if side in name), "")
