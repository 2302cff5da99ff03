"""The interactive of the chapter: the two scalars of one user, the loss that learns them, and the ranks they give."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import traitlets

from course_lib.data.interactions import Interactions
from course_lib.lessons.shared.widgets import tables
from course_lib.lessons.shared.widgets.base import Count, CourseWidget, Number, Word
from course_lib.lessons.shared.widgets.drawing import sheet, text_at
from course_lib.lessons.shared.widgets.words import number
from course_lib.maths import correction, popularity

STORED = Path(__file__).with_name("two_scalars.json")  # made by make_two_scalars.py
VIEWS = ("ddc", "served")
WINDOW = {"alpha": (-3.0, 3.0), "beta": (-1.0, 5.0)}  # of the picture
POINTS = 25  # of the grid, in each direction
RATIO, TOP, LIST = 0.05, 0.3, 10
PEOPLE = ("Ann", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gwen", "Hugo")
FEWEST, MOST_ITEMS, MOST_WIDTH = 20, 1000, 64
MOST_HISTORY, MOST_TEST = 40, 6


@dataclass(frozen=True, eq=False)
class User:
    """One user in front of frozen items, all moved along the axis of popularity by `shift`."""

    history: np.ndarray  # positives
    others: np.ndarray  # negatives: everything else
    candidates: np.ndarray  # what may be recommended
    test: np.ndarray
    scores: np.ndarray  # (n,) s_i = <e_u, e_i>
    a: np.ndarray  # (n,) <e_pref, e_i>
    b: np.ndarray  # (n,) <e_pop, e_i>
    counts: np.ndarray
    tilt: float  # <e_pref, e_pop>
    gap: float  # length of head mean minus tail mean
    _surfaces: dict[str, np.ndarray] = field(default_factory=dict)  # kept once computed

    def final(self, alpha: float, beta: float) -> np.ndarray:
        """(n,) scores of the embedding that is served: (14)."""
        return np.asarray(self.scores + beta * self.a + alpha * self.b)

    def loss(self, alpha: float, beta: float, view: str = "ddc") -> float:
        """(13) over all pairs of this user; "served": BPR's loss of what is served, which (13) does not minimise."""
        scores = self.scores
        if view == "served":
            scores, alpha, beta = self.final(alpha, beta), 0, 0
        own, others = self.history, self.others
        return correction.user_loss(scores[own], scores[others], self.a[own], self.b[others], alpha, beta)

    @functools.cached_property
    def optimum(self) -> tuple[float, float] | None:
        """(alpha, beta) with the least DDC loss; None where there is none (claim X12)."""
        return correction.solve_user(
            self.scores[self.history], self.scores[self.others], self.a[self.history], self.b[self.others]
        )

    def ranks(self, alpha: float, beta: float) -> np.ndarray:
        """(t,) of the test items among the candidates, 1 for the best."""
        final = self.final(alpha, beta)
        return np.asarray(1 + (final[self.candidates] > final[self.test][:, None]).sum(1))

    def shown(self, alpha: float, beta: float) -> np.ndarray:
        """(10,) the list."""
        final = self.final(alpha, beta)[self.candidates]
        return self.candidates[np.argsort(-final, kind="stable")[:LIST]]

    @functools.cached_property
    def best(self) -> tuple[float, float]:
        """The point of the grid where the first test item stands highest, of several the one nearest to the model."""
        return min(grid_points(), key=lambda point: (self.ranks(*point).min(), round(point[0] ** 2 + point[1] ** 2, 9)))

    def surface(self, view: str) -> np.ndarray:
        """(25, 25) losses on the grid: a row for each beta, a column for each alpha."""
        if view not in self._surfaces:
            losses = [self.loss(alpha, beta, view) for alpha, beta in grid_points()]
            self._surfaces[view] = np.array(losses).reshape(POINTS, POINTS)
        return self._surfaces[view]


class TwoScalars(CourseWidget):
    """One user, two scalars: ranks of the test items, what their scores are made of, the loss and its minimum.

    users, items    tables (m, d), (n, d) of a trained model; by default MF on the embedded films
    train, test     its training and test interactions, with the same users and items
    chosen          ids of the users that are offered, at most 8 of at most 40 training and 6 test items
    names           {item id: what it is called}
    seen            further interactions that are never recommended, for example the validation part
    person          which of the chosen users is shown, counted from 0
    alpha, beta     the user's scalars: along e_pop, along e_pref; 0 and 0 are the model
    shift           how far all items are moved along e_pop, in standard deviations of their projections: no ranking of
                    the model changes
    view            the loss that is drawn: "ddc", (13), or "served", BPR's loss of the embedding that is served

    The last five are traits: read, set and observe them. Head and tail are 5 % of the items each, e_pref is made of a
    user's best 30 %. Item tables are rounded to 8 bits. Raises ValueError for tables and values that do not fit.
    """

    module_name: ClassVar[str] = "two_scalars"
    caption: ClassVar[str] = (
        "The loss of one user as a function of their two scalars: lines of equal loss, thicker where it is lower. "
        "Circle: the model. Diamond: the minimum of the DDC loss. Square: the best rank. Cross: the scalars that are "
        "shown. With JavaScript this picture is interactive."
    )

    items = traitlets.Dict().tag(sync=True, state=True)
    counts = traitlets.List(traitlets.Int()).tag(sync=True, state=True)
    people = traitlets.List(traitlets.Dict()).tag(sync=True, state=True)
    names = traitlets.Dict().tag(sync=True, state=True)
    stored = traitlets.Bool().tag(sync=True, state=True)
    person = Count(0, 0, lambda shown: len(shown.people) - 1)
    alpha = Number(0.0, -50, 50)
    beta = Number(0.0, -50, 50)
    shift = Number(0.0, -5, 5)
    view = Word("ddc", VIEWS)

    def __init__(
        self,
        users: Any = None,
        items: Any = None,
        train: Interactions | None = None,
        test: Interactions | None = None,
        *,
        chosen: Sequence[int] = (0,),
        names: Mapping[int, str] | None = None,
        seen: Interactions | None = None,
        **state: Any,
    ) -> None:
        stored = users is None
        data = (
            json.loads(STORED.read_text(encoding="utf-8"))
            if stored
            else packed_data(users, items, train, test, chosen=chosen, names=names, seen=seen)
        )
        super().__init__(**data, stored=stored, **state)

    # ---- what Python can ask

    @property
    def user(self) -> User:
        """The user that is shown, with scores and projections."""
        return user_of({"items": self.items, "counts": self.counts}, self.people[self.person], self.shift)

    # ---- words, picture, table

    def summary(self) -> str:
        """The text equivalent, word for word what the page says."""
        return " ".join(
            part
            for part in (self._about_losses(), self._about_ranks(), self._about_optimum(), self._about_shift())
            if part
        )

    def _about_losses(self) -> str:
        user = self.user
        ddc, served = (user.loss(self.alpha, self.beta, view) for view in VIEWS)
        model = user.loss(0, 0)
        return (
            f"{PEOPLE[self.person]} has {len(user.history)} items. {point_text((self.alpha, self.beta))}: "
            f"DDC loss {loss_text(ddc)}, loss of the embedding that is served {loss_text(served)}; "
            f"the model has {loss_text(model)} for both."
        )

    def _about_ranks(self) -> str:
        user = self.user
        before, now = user.ranks(0, 0), user.ranks(self.alpha, self.beta)
        ranks = ", ".join(
            f"{self._name(item)} {old} → {new}" for item, old, new in zip(user.test, before, now, strict=True)
        )
        popular = [user.counts[user.shown(*point)].mean() for point in ((0.0, 0.0), (self.alpha, self.beta))]
        counts = f"{number(popular[0])} → {number(popular[1])}"
        return f"Ranks of the test items, model → now: {ranks}. Mean count of the ten items shown: {counts}."

    def _about_optimum(self) -> str:
        user = self.user
        best = f"The best rank on the grid is {user.ranks(*user.best).min()}, at {point_text(user.best)}."
        if user.optimum is None:
            return f"The DDC loss has no minimum: {' and '.join(self._missing())}. {best}"
        rank = user.ranks(*user.optimum).min()
        return f"The DDC loss is least at {point_text(user.optimum)}, where the best test item has rank {rank}. {best}"

    def _missing(self) -> list[str]:
        """Why there is no minimum."""
        user = self.user
        reasons = []
        for values, positive, negative in (
            (
                user.a[user.history],
                "no item of this user has a negative projection on e_pref, so a larger β only gains",
                "all items of this user have a negative projection on e_pref",
            ),
            (
                user.b[user.others],
                "no negative has a negative projection on e_pop, so a smaller α only gains",
                "no negative has a positive projection on e_pop, so a larger α only gains",
            ),
        ):
            if values.min() >= 0:
                reasons.append(positive)
            elif values.max() <= 0:
                reasons.append(negative)
        return reasons

    def _about_shift(self) -> str:
        if self.shift == 0:
            return ""
        moved = f"All items are moved by {deviations(self.shift)} along e_pop"
        return f"{moved}: no margin and no ranking of the model has changed."

    def _name(self, item: int) -> str:
        return str(self.names.get(str(item), f"item {item}"))

    def picture(self) -> str:
        return _picture(self)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """The test items and the list: ranks, and what the scores are made of."""
        user = self.user
        heads = ["Item", "Count", "Rank, model", "Rank now", "Base score", "β a", "α b", "Score"]
        now, rows = user.final(self.alpha, self.beta), []
        for item in dict.fromkeys([*user.test.tolist(), *user.shown(self.alpha, self.beta).tolist()]):
            ranks = [1 + int((scores[user.candidates] > scores[item]).sum()) for scores in (user.scores, now)]
            parts = (user.scores[item], self.beta * user.a[item], self.alpha * user.b[item], now[item])
            name = f"{self._name(item)} (test)" if item in user.test else self._name(item)
            rows.append([name, str(int(user.counts[item])), *map(str, ranks), *(number(float(part)) for part in parts)])
        return heads, rows

    def __repr__(self) -> str:
        state = ", ".join(f"{name}={getattr(self, name)!r}" for name in ("person", "alpha", "beta", "shift", "view"))
        return f"TwoScalars({state}; {len(self.people)} people, {len(self.counts)} items)"


def packed_data(
    users: Any,
    items: Any,
    train: Interactions | None,
    test: Interactions | None,
    *,
    chosen: Sequence[int],
    names: Mapping[int, str] | None = None,
    seen: Interactions | None = None,
) -> dict[str, Any]:
    """{"items", "counts", "people", "names"}: what the interactive keeps of a model."""
    items = tables.checked(items, "items", rows=(FEWEST, MOST_ITEMS), width=(2, MOST_WIDTH))
    users = tables.checked(users, "users", rows=(1, 10**9), width=(items.shape[1], items.shape[1]))
    shape = (len(users), len(items))
    train, test = _fitting(train, "train", shape), _fitting(test, "test", shape)
    seen = None if seen is None else _fitting(seen, "seen", shape)
    if not 1 <= len(chosen) <= len(PEOPLE) or not all(0 <= user < len(users) for user in chosen):
        raise ValueError(
            f"chosen is {list(chosen)}; expected 1 to {len(PEOPLE)} users, each from 0 to {len(users) - 1}"
        )
    people = []
    for user in map(int, chosen):
        history, wanted = (data.items_of(user).tolist() for data in (train, test))
        if not 1 <= len(history) <= MOST_HISTORY or not 1 <= len(wanted) <= MOST_TEST:
            raise ValueError(
                f"user {user} has {len(history)} training and {len(wanted)} test items; "
                f"expected 1 to {MOST_HISTORY} and 1 to {MOST_TEST}"
            )
        hidden = [] if seen is None else seen.items_of(user).tolist()
        people.append(
            {
                "vector": [float(f"{value:.4g}") for value in users[user]],
                "history": history,
                "test": wanted,
                "seen": hidden,
            }
        )
    return {
        "items": tables.pack(items),
        "counts": train.col_counts.tolist(),
        "people": people,
        "names": {str(k): str(v) for k, v in (names or {}).items()},
    }


def _fitting(data: Any, name: str, shape: tuple[int, int]) -> Interactions:
    if not isinstance(data, Interactions) or data.shape != shape:
        raise ValueError(f"{name} is {data!r}; expected Interactions of shape {shape}")
    return data


def grid_points() -> list[tuple[float, float]]:
    """(alpha, beta) of the grid, alpha fastest."""
    alphas, betas = (grid_axis(name) for name in WINDOW)
    return [(alpha, beta) for beta in betas for alpha in alphas]


def grid_axis(name: str) -> list[float]:
    """The 25 values of one scalar on the grid."""
    low, high = WINDOW[name]
    return [low + k * (high - low) / (POINTS - 1) for k in range(POINTS)]


def loss_text(loss: float) -> str:
    """Three decimals: losses are small, and small differences count."""
    return f"{loss:.3f}"


def deviations(shift: float) -> str:
    """1 standard deviation, −2 standard deviations."""
    return f"{number(shift)} standard deviation{'' if abs(shift) == 1 else 's'}"


def point_text(point: tuple[float, float]) -> str:
    return f"α = {number(point[0])}, β = {number(point[1])}"


def user_of(data: Mapping[str, Any], person: Mapping[str, Any], shift: float = 0.0) -> User:
    """A user of `packed_data`, with all items moved by `shift` standard deviations along the axis of popularity."""
    return _user(
        json.dumps(data["items"], sort_keys=True), tuple(data["counts"]), json.dumps(person, sort_keys=True), shift
    )


@functools.lru_cache(maxsize=32)
def _user(packed: str, counts: tuple[int, ...], person: str, shift: float) -> User:
    items, popular, one = tables.unpack(json.loads(packed)), np.array(counts, dtype=np.float64), json.loads(person)
    vector, history = np.array(one["vector"]), np.array(one["history"])
    direction = popularity.popularity_direction(items, popular, RATIO)
    items = items + shift * (items @ direction).std() * direction
    scores = items @ vector
    alone = Interactions(np.zeros(len(history), int), history, n_users=1, n_items=len(items))
    preference = correction.preference_directions(vector[None], items, alone, TOP)[0]
    ends = [items[ids(popular, RATIO)].mean(0) for ids in (popularity.head_items, popularity.tail_items)]
    return User(
        history=history,
        others=np.setdiff1d(np.arange(len(items)), history),
        candidates=np.setdiff1d(np.arange(len(items)), [*one["history"], *one["seen"]]),
        test=np.array(one["test"]),
        scores=scores,
        a=items @ preference,
        b=items @ direction,
        counts=popular,
        tilt=float(preference @ direction),
        gap=float(np.linalg.norm(ends[0] - ends[1])),
    )


# ---- the picture for a page without JavaScript: middle tones, legible on light and on dark

_SIDE, _LEFT, _TOP, _BOTTOM = 360, 44, 10, 44
_LINES, _AXIS, _DDC, _BEST = "#3b82c4", "#8a94a0", "#d9772b", "#2e9d5d"


def levels(surface: np.ndarray) -> list[float]:
    """Losses of nine lines, evenly spread over the points of the grid: the tenth, two tenths, ... of them lie below."""
    ordered = np.sort(surface.ravel())
    return [float(ordered[k * len(ordered) // 10]) for k in range(1, 10)]


def _picture(shown: TwoScalars) -> str:
    from contourpy import contour_generator

    user = shown.user
    surface = user.surface(shown.view)
    lines = contour_generator(np.array(grid_axis("alpha")), np.array(grid_axis("beta")), surface)

    def at(alpha: float, beta: float) -> tuple[float, float]:
        (low, high), (least, most) = WINDOW.values()
        return _LEFT + (alpha - low) / (high - low) * _SIDE, _TOP + (1 - (beta - least) / (most - least)) * _SIDE

    def inside(point: tuple[float, float]) -> bool:
        return all(low <= value <= high for value, (low, high) in zip(point, WINDOW.values(), strict=True))

    curves = "".join(
        f'<path d="M{"L".join("{:.0f} {:.0f}".format(*at(x, y)) for x, y in np.asarray(line))}" stroke="{_LINES}" '
        f'stroke-width="{2.6 - 0.22 * k:.1f}" fill="none"/>'
        for k, level in enumerate(levels(surface))
        for line in lines.lines(level)
    )
    (x, y), (bx, by), (nx, ny) = at(0, 0), at(*user.best), at(shown.alpha, shown.beta)
    marks = f'<circle cx="{x:.0f}" cy="{y:.0f}" r="6" fill="none" stroke="currentColor" stroke-width="2"/>'
    marks += f'<rect x="{bx - 5:.0f}" y="{by - 5:.0f}" width="10" height="10" fill="{_BEST}"/>'
    if user.optimum is not None and inside(user.optimum):
        ox, oy = at(*user.optimum)
        marks += f'<path d="M{ox:.0f} {oy - 8:.0f}l8 8-8 8-8-8z" fill="{_DDC}"/>'
    if inside((shown.alpha, shown.beta)):
        marks += f'<path d="M{nx - 6:.0f} {ny - 6:.0f}l12 12m0-12l-12 12" stroke="currentColor" stroke-width="2.4"/>'
    ticks = "".join(text_at(at(value, 0)[0], _TOP + _SIDE + 16, number(value)) for value in (-3, -2, -1, 0, 1, 2, 3))
    ticks += "".join(text_at(_LEFT - 14, at(0, value)[1] + 4, number(value)) for value in (-1, 0, 1, 2, 3, 4, 5))
    wide, high = _LEFT + _SIDE + 10, _TOP + _SIDE + _BOTTOM
    return sheet(
        shown.summary(),
        wide,
        high,
        f'<path d="M{_LEFT} {_TOP}h{_SIDE}v{_SIDE}h-{_SIDE}z" fill="none" stroke="{_AXIS}"/>{curves}{marks}{ticks}',
        text_at(_LEFT + _SIDE / 2, high - 8, "α, along e_pop"),
        text_at(_LEFT - 30, _TOP + _SIDE / 2 + 16, "β"),
    )
