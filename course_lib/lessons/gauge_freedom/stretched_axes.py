"""The interactive of the chapter on gauges: stretch the axes, keep every score, and watch the neighbours change."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import traitlets

from course_lib.lessons.gauge_freedom.labels import name_places
from course_lib.lessons.shared.widgets.base import Count, CourseWidget, Number, Word
from course_lib.lessons.shared.widgets.drawing import COLOURS, SIDE, Plane, nice_reach, sheet
from course_lib.lessons.shared.widgets.words import list_of, number
from course_lib.maths import gauge, geometry

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
FEASIBLE = 1e-9  # how far from 1 a length may be
SAME = 1e-9  # how much a score may differ by rounding
SHORTEST = 1e-6


class StretchedAxes(CourseWidget):
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

    items = traitlets.List(traitlets.List(traitlets.Float())).tag(sync=True, state=True)
    users = traitlets.List(traitlets.List(traitlets.Float())).tag(sync=True, state=True)
    item_names = traitlets.List(traitlets.Unicode()).tag(sync=True, state=True)
    user_names = traitlets.List(traitlets.Unicode()).tag(sync=True, state=True)
    stretch = traitlets.List(traitlets.Float()).tag(sync=True, state=True)
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

    # ---- what Python can ask

    @property
    def chosen(self) -> int:
        """The item whose neighbours are listed: `selected`, or the last one where the table has become shorter."""
        return int(min(self.selected, len(self.items) - 1))

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

    @property
    def score_changes(self) -> np.ndarray:
        """(m, n) differences of the scores before and after: rounding, and nothing else."""
        (items, users), (new_items, new_users) = self.trained, self.moved
        return np.asarray(np.abs(new_users @ new_items.T - users @ items.T))

    @property
    def off_sphere(self) -> float:
        """How far the length of a row that should be 1 is from 1, at most; 0 where lengths are free."""
        return max((abs(float(length) - 1) for _, length, held in self._lengths() if held), default=0.0)

    @property
    def feasible(self) -> bool:
        """Whether all rows that should have length 1 have it."""
        return self.off_sphere <= FEASIBLE

    def neighbours(self, items: np.ndarray) -> list[int]:
        """The other items by falling cosine to the selected one."""
        return list(gauge.neighbours(items, len(items) - 1, queries=[self.chosen])[0].tolist())

    def freedom(self) -> str:
        """Which positive stretches keep the circle: "all", "family" (one parameter), "other" (one more) or "none"."""
        items, users = self.trained
        if self.sphere == "free":
            return "all"
        loose = gauge.diagonal_gauge_dimension(items) > 0
        if self.sphere == "items" or not loose:
            return "family" if loose else "none"
        if gauge.diagonal_gauge_dimension(users) == 0:
            return "none"
        if _on_axis(items[0]) or _on_axis(users[0]):  # all rows on one axis: the other axis stretches freely
            return "family" if np.allclose(items[0] ** 2, users[0] ** 2, atol=FEASIBLE) else "none"
        second = gauge.swap_squares(items[0], users[0])
        return "none" if np.allclose(second, 1, atol=FEASIBLE) else "other"

    def _lengths(self) -> list[tuple[str, float, bool]]:
        """(name, length now, should it be 1) of every row."""
        items, users = self.moved
        held = {"free": (False, False), "items": (True, False), "both": (True, True)}[self.sphere]
        return [
            *(
                (name, float(length), held[0])
                for name, length in zip(self.item_names, geometry.norm(items), strict=True)
            ),
            *(
                (name, float(length), held[1])
                for name, length in zip(self.user_names, geometry.norm(users), strict=True)
            ),
        ]

    # ---- words, picture, table

    def summary(self) -> str:
        """The text equivalent, word for word what the page says."""
        return " ".join([self._about_gauge(), self._about_neighbours(), *self._about_sphere()])

    def _about_gauge(self) -> str:
        moves = [f"Axis 1 is stretched by {number(self.stretch[0])}, axis 2 by {number(self.stretch[1])}."]
        if self.shear:
            moves.append(f"Shear {number(self.shear)}.")
        if self.turn:
            moves.append(f"Turned by {number(self.turn)}°.")
        changes = self.score_changes
        return f"{' '.join(moves)} Scores that changed: {int((changes > SAME).sum())} of {changes.size}."

    def _about_neighbours(self) -> str:
        name = self.item_names[self.chosen]
        before, after = (self._ranking(items) for items in (self.trained[0], self.moved[0]))
        changed = sum(self._nearest_changes())
        both = f"as trained and now {after}" if before == after else f"as trained {before}; now {after}"
        return (
            f"Nearest to {name} by cosine: {both}. Items with another nearest neighbour: {changed} of "
            f"{len(self.items)}."
        )

    def _ranking(self, items: np.ndarray, most: int = 3) -> str:
        order = self.neighbours(items)[:most]
        cosines = geometry.cosine(items[self.chosen], items[order])
        return list_of([f"{self.item_names[k]} ({number(c)})" for k, c in zip(order, cosines, strict=True)])

    def _nearest_changes(self) -> list[bool]:
        before, after = (gauge.neighbours(items, 1)[:, 0] for items in (self.trained[0], self.moved[0]))
        return list((before != after).tolist())

    def _about_sphere(self) -> list[str]:
        if self.sphere == "free":
            return []
        held = [(name, length) for name, length, is_held in self._lengths() if is_held]
        low, high = min(length for _, length in held), max(length for _, length in held)
        rows = "Item rows" if self.sphere == "items" else "Item and user rows"
        if self.feasible:
            verdict = f"{rows} must have length 1, and they have: this gauge is feasible."
        else:
            off = list_of([name for name, length in held if abs(length - 1) > FEASIBLE])
            verdict = (
                f"{rows} must have length 1, but now they have {number(low)} to {number(high)} ({off}): "
                "this gauge leaves the circle."
            )
        return [verdict, self._about_freedom()]

    def _about_freedom(self) -> str:
        items, users = self.trained
        stretches = {
            "family": "A family of stretches with one parameter keeps these rows on the circle.",
            "none": "Of all stretches only the identity keeps these rows on the circle (up to mirrors).",
        }
        if self.freedom() == "other":
            second = gauge.swap_squares(items[0], users[0])
            return (
                f"Besides the identity one other stretch keeps these rows on the circle: {number(second[0])} and "
                f"{number(second[1])} (up to mirrors)."
            )
        if self.sphere == "both":
            return stretches[self.freedom()]
        dimension = gauge.linear_gauge_dimension(items)
        linear = {
            0: "Of all linear gauges only turns and mirrors do.",
            1: "Besides turns and mirrors, linear gauges with one parameter do.",
            2: "Besides turns and mirrors, linear gauges with two parameters do.",
        }
        return f"{stretches[self.freedom()]} {linear[dimension]}"

    def picture(self) -> str:
        return _two_planes(self)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Every row: where it was and is, its length now, and its cosine to the selected item."""
        chosen = self.item_names[self.chosen]
        heads = ["Row", "Trained", "Now", "Length now", f"Cosine to {chosen}, trained", f"Cosine to {chosen}, now"]
        (items, users), (new_items, new_users) = self.trained, self.moved
        rows = []
        for k, name in enumerate(self.item_names):
            cosines = [number(float(geometry.cosine(table[self.chosen], table[k]))) for table in (items, new_items)]
            rows.append(
                [name, _point(items[k]), _point(new_items[k]), number(float(geometry.norm(new_items[k]))), *cosines]
            )
        for k, name in enumerate(self.user_names):
            rows.append(
                [
                    name,
                    _point(users[k]),
                    _point(new_users[k]),
                    number(float(geometry.norm(new_users[k]))),
                    "user",
                    "user",
                ]
            )
        return heads, rows

    # ---- values that make sense

    @traitlets.validate("items", "users")
    def _valid_rows(self, proposal: dict[str, Any]) -> list[list[float]]:
        name = proposal["trait"].name
        return _rows(name, proposal["value"], (2, MOST_ITEMS) if name == "items" else (1, MOST_USERS))

    @traitlets.validate("stretch")
    def _valid_stretch(self, proposal: dict[str, Any]) -> list[float]:
        low, high = LEAST_STRETCH, MOST_STRETCH
        value = proposal["value"]
        if len(value) != 2 or not all(low <= abs(d) <= high for d in value):
            raise ValueError(f"stretch is {list(value)}; expected two factors of size {low} to {high}")
        return list(value)


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


def _on_axis(row: np.ndarray) -> bool:
    return bool((abs(row) < FEASIBLE).any())


def _point(row: np.ndarray) -> str:
    return f"{number(float(row[0]))}, {number(float(row[1]))}"


# ---- the picture for a page without JavaScript


def _two_planes(shown: StretchedAxes) -> str:
    (items, users), (new_items, new_users) = shown.trained, shown.moved
    off = {name for name, length, held in shown._lengths() if held and abs(length - 1) > FEASIBLE}
    left = _plane(shown, items, users, set())
    right = _plane(shown, new_items, new_users, off)
    titles = [_title(200, "as trained"), _title(630, "in the other gauge")]
    return sheet(
        shown.summary(),
        830,
        430,
        *titles,
        f'<g transform="translate(0 28)">{left}</g><g transform="translate(430 28)">{right}</g>',
    )


def _title(x: float, text: str) -> str:
    return (
        f'<text x="{x:g}" y="18" font-size="16" font-weight="600" text-anchor="middle" '
        f'fill="currentColor">{text}</text>'
    )


def _plane(shown: StretchedAxes, items: np.ndarray, users: np.ndarray, off: set[str]) -> str:
    reach = nice_reach(
        1.35 * max(float(geometry.norm(np.concatenate([items, users])).max()), 1.0 if shown.sphere != "free" else 0.1)
    )
    plane = Plane(reach)
    parts = [plane.axes(), plane.circle(1.0, "line", dash="6 4")]
    parts += [plane.path([(0, 0), item], "line", width=1) for item in items]
    x, y = plane.at(items[shown.chosen])
    parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="11" fill="none" stroke="currentColor" stroke-width="2"/>')
    marks = [plane.at(row) for row in (*items, *users)]
    names = [f"{name} ✕" if name in off else name for name in (*shown.item_names, *shown.user_names)]
    for k, (mark, name, place) in enumerate(zip(marks, names, name_places(marks, names, SIDE), strict=True)):
        parts += [plane.dot(items[k], "pull", 6) if k < len(items) else _square(mark), _name(mark, name, place)]
    return "".join(parts)


def _square(at: tuple[float, float]) -> str:
    return f'<rect x="{at[0] - 5:.1f}" y="{at[1] - 5:.1f}" width="10" height="10" fill="{COLOURS["push"]}"/>'


def _name(at: tuple[float, float], name: str, place: tuple[int, int, str]) -> str:
    dx, dy, anchor = place
    return (
        f'<text x="{at[0] + dx:.1f}" y="{at[1] + dy:.1f}" font-size="15" text-anchor="{anchor}" '
        f'fill="currentColor">{html.escape(name)}</text>'
    )
