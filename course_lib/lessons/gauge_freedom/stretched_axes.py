"""The interactive of the chapter on gauges: stretch the axes, keep every score, and watch the neighbours change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import traitlets

from course_lib import gauge, geometry
from course_lib.lessons.shared.widgets.base import Checked, Count, Number, Word
from course_lib.lessons.shared.widgets.paper import WrittenOnce

# Six films and three people on two axes of taste, made up for the picture.
FILMS = {
    "Heat": (1.2, 0.1),
    "Alien": (0.75, 0.5),
    "Up": (0.5, 0.85),
    "Amélie": (-0.15, 0.9),
    "Psycho": (-0.65, 0.25),
    "Jaws": (0.85, -0.5),
}
PEOPLE = {"Ann": (1.0, -0.15), "Ben": (0.25, 1.15), "Cleo": (-0.5, 0.55)}
SPHERES = ("free", "items", "both")
MOST_ITEMS, MOST_USERS = 12, 6
LEAST_STRETCH, MOST_STRETCH = 0.05, 20
SHORTEST = 1e-6


class StretchedAxes(WrittenOnce):
    """Items and users in the plane, and the same model in another gauge: items A R, users B R^-T, scores unchanged.

    items, users        {name: (x, y)}, or (n, 2) numbers with item_names, user_names; 2 to 12 items, 1 to 6 users
    stretch             the two factors of D, negative to mirror an axis
    shear               how much of axis 1 is added to axis 2, after the stretch
    turn                angle of a rotation after both, in degrees
    sphere              "free"; "items": item rows have length 1; "both": user rows too. They are then shown so.
    selected            the item whose neighbours are listed

    All are traits. R = diag(stretch) [[1, shear], [0, 1]] rotation(turn), acting on rows. Raises ValueError for tables
    and values that do not fit.
    """

    module_name: ClassVar[str] = "stretched_axes"
    caption: ClassVar[str] = (
        "Left: items (dots) and users (squares) as they were trained. Right: the same model in another gauge. All "
        "scores are the same, cosines between items are not. Ring: the item that is looked at; dashed circle: length "
        "1. A cross marks a row that should have length 1 and has not. With JavaScript this picture is interactive."
    )

    items = Checked((), lambda given, name, _: _rows(name, given, (2, MOST_ITEMS)))
    users = Checked((), lambda given, name, _: _rows(name, given, (1, MOST_USERS)))
    item_names = traitlets.List(traitlets.Unicode()).tag(sync=True, state=True)
    user_names = traitlets.List(traitlets.Unicode()).tag(sync=True, state=True)
    stretch = Checked((), lambda given, _, __: _stretch(given))
    shear = Number(0.0, -5, 5)
    turn = Number(0.0, -180, 180)
    sphere = Word("free", SPHERES)
    selected = Count(1, 0, MOST_ITEMS - 1)

    def __init__(
        self,
        items: Any = FILMS,
        users: Any = PEOPLE,
        *,
        item_names: Sequence[str] | None = None,
        user_names: Sequence[str] | None = None,
        stretch: Sequence[float] = (1.6, 0.6),
        selected: int = 1,
        **state: Any,
    ) -> None:
        items, item_names = _named_rows("items", items, item_names, (2, MOST_ITEMS), "item")
        users, user_names = _named_rows("users", users, user_names, (1, MOST_USERS), "user")
        if not 0 <= selected < len(items):
            raise ValueError(f"selected is {selected}; expected 0 to {len(items) - 1}")
        super().__init__(
            items=items,
            users=users,
            item_names=item_names,
            user_names=user_names,
            stretch=[float(d) for d in stretch],
            selected=selected,
            **state,
        )

    @property
    def gauge_matrix(self) -> np.ndarray:
        """R (2, 2): a row a becomes a R."""
        angle = math.radians(self.turn)
        rotation = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
        return np.asarray(np.diag(self.stretch) @ np.array([[1.0, self.shear], [0.0, 1.0]]) @ rotation)

    @property
    def trained(self) -> tuple[np.ndarray, np.ndarray]:
        """Items (n, 2) and users (m, 2) before the gauge, with length 1 where `sphere` says so."""
        items, users = np.array(self.items), np.array(self.users)
        return (
            items if self.sphere == "free" else geometry.normalise(items),
            geometry.normalise(users) if self.sphere == "both" else users,
        )

    @property
    def moved(self) -> tuple[np.ndarray, np.ndarray]:
        """Items A R and users B R^-T."""
        return gauge.apply_linear_gauge(*self.trained, self.gauge_matrix)


def _stretch(given: Sequence[float]) -> list[float]:
    if len(given) != 2 or not all(LEAST_STRETCH <= abs(d) <= MOST_STRETCH for d in given):
        raise ValueError(f"stretch is {list(given)}; expected two factors of size {LEAST_STRETCH} to {MOST_STRETCH}")
    return list(given)


def _named_rows(
    kind: str, given: Any, names: Sequence[str] | None, sizes: tuple[int, int], word: str
) -> tuple[list[list[float]], list[str]]:
    """Rows and names from a dictionary, or from numbers and names (by default "item 1", "item 2", ...)."""
    if isinstance(given, dict):
        given, names = list(given.values()), list(given) if names is None else names
    rows = _rows(kind, given, sizes)
    names = [f"{word} {k + 1}" for k in range(len(rows))] if names is None else [str(name) for name in names]
    if len(names) != len(rows) or len(set(names)) != len(names) or not all(names):
        raise ValueError(f"{word}_names is {names}; expected {len(rows)} different names, one for each row of {kind}")
    return rows, names


def _rows(kind: str, values: Any, sizes: tuple[int, int]) -> list[list[float]]:
    """Rows of two finite numbers, none of length zero."""
    try:
        rows = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{kind} is {values!r}; expected rows of two numbers") from None
    if rows.ndim != 2 or rows.shape[1] != 2 or not sizes[0] <= len(rows) <= sizes[1]:
        raise ValueError(f"{kind} has shape {rows.shape}; expected (n, 2) with n from {sizes[0]} to {sizes[1]}")
    if not np.isfinite(rows).all() or (geometry.norm(rows) < SHORTEST).any():
        raise ValueError(
            f"{kind} holds {rows.tolist()}; expected finite rows that are not zero: a zero vector has no direction"
        )
    return list(rows.tolist())
