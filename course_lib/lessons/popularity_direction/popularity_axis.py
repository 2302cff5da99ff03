"""The interactive of the chapter: a cloud of embeddings, its axis of popularity, and what chance gives."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import traitlets

from course_lib.lessons.shared.widgets import tables
from course_lib.lessons.shared.widgets.base import MOST_SEED, Count, CourseWidget, Number, Word
from course_lib.lessons.shared.widgets.chance import BELL, bells, uniforms
from course_lib.lessons.shared.widgets.drawing import sheet, text_at
from course_lib.lessons.shared.widgets.words import number
from course_lib.maths import popularity

STORED = Path(__file__).with_name("popularity_axis.json")  # made by make_popularity_axis.py
SHOWS = ("embeddings", "shuffled", "random")
FEWEST, MOST_ITEMS, MOST_WIDTH = 20, 400, 64
SPLITS, SHUFFLES = 3, 99  # of the cross-fitted correlation, and of the counts
SPLIT_SEED, SHUFFLE_SEED = 1, 2


@dataclass(frozen=True)
class Found:
    """What is measured of one cloud."""

    items: np.ndarray  # (n, d)
    counts: np.ndarray  # (n,) as they are shown
    head: np.ndarray
    tail: np.ndarray
    direction: np.ndarray  # (d,) of unit length
    projections: np.ndarray  # (n,)
    naive: float
    crossed: float
    agreement: float  # mean cosine of the directions that two halves find
    shuffled_naive: np.ndarray  # (99,) with the counts dealt out anew
    shuffled_crossed: np.ndarray


class PopularityAxis(CourseWidget):
    """Item embeddings, P1's axis (4) through them, projection against count: on itself, cross-fitted, by chance.

    items       {name of the model: (n, d)}, or one table (n, d); 20 to 400 items of at most 64 numbers; by default 240
                films of the embedded data: MF and LightGCN trained with BPR, and LightGCN before its training
    counts      (n,) how often each item occurs in the training data
    names       (n,) what the items are called; by default "item 1", "item 2", ...
    model       which of the tables is shown
    show        "embeddings": as they are, with their counts; "shuffled": the counts dealt out anew; "random": normal
                numbers in place of the embeddings
    ratio       the part of the items in the head, and as many in the tail
    shown       how many of the items take part, the first ones of the table; all by default
    seed        of the shuffled counts and of the random numbers
    film        the place, by popularity, of the item that is looked at, counted from 1

    The last six are traits: read, set and observe them. The tables are turned on their principal axes and rounded to 8
    bits. Raises ValueError for tables and values that do not fit.
    """

    module_name: ClassVar[str] = "popularity_axis"
    caption: ClassVar[str] = (
        "Left: item embeddings on their two main axes; the arrow leads from the mean of the tail (rings) to the mean "
        "of the head (diamonds). Right: the projection of each item on that axis, against its count. With JavaScript "
        "this picture is interactive."
    )

    items = traitlets.Dict().tag(sync=True, state=True)
    counts = traitlets.List(traitlets.Int()).tag(sync=True, state=True)
    names = traitlets.List(traitlets.Unicode()).tag(sync=True, state=True)
    stored = traitlets.Bool().tag(sync=True, state=True)
    model = Word("", lambda shown: shown.items)
    show = Word("embeddings", SHOWS)
    ratio = Number(0.05, 0.01, 0.4)
    shown = Count(FEWEST, FEWEST, lambda shown: len(shown.counts))
    seed = Count(0, 0, MOST_SEED)
    film = Count(1, 1, lambda shown: len(shown.counts))

    def __init__(
        self, items: Any = None, counts: Any = None, *, names: Sequence[str] | None = None, **state: Any
    ) -> None:
        stored = items is None
        data = json.loads(STORED.read_text(encoding="utf-8")) if stored else packed_data(items, counts, names)
        first = {"model": next(iter(data["items"])), "shown": len(data["counts"])}
        super().__init__(**data, stored=stored, **first | state)

    # ---- what Python can ask

    @property
    def found(self) -> Found:
        """Everything that is measured of what is shown."""
        packed = self.items[self.model]
        return _measured(
            packed["numbers"],
            packed["unit"],
            packed["width"],
            tuple(self.counts),
            self.show,
            self.ratio,
            self.shown,
            self.seed,
        )

    @property
    def naive(self) -> float:
        """Correlation of projection and count over the items that have also chosen the axis."""
        return self.found.naive

    @property
    def crossed(self) -> float:
        """The same with axes found by the other half of the items, over three random halvings: repair of claim X13."""
        return self.found.crossed

    @property
    def chance(self) -> float:
        """The mean of `naive` for normal random vectors of this width and these counts."""
        return popularity.double_dipping_law(self.found.counts, self.found.items.shape[1], self.ratio).mean

    # ---- words, picture, table

    def summary(self) -> str:
        """The text equivalent, word for word what the page says."""
        found = self.found
        what = {
            "embeddings": self.model,
            "shuffled": f"{self.model}, with counts dealt out anew",
            "random": f"Random numbers in place of {self.model}",
        }[self.show]
        ends = "1 item each" if len(found.head) == 1 else f"{len(found.head)} items each"
        return (
            f"{what}: {self.shown} items, head and tail of {ends}. "
            f"Projection against count: r = {number(found.naive)} along the axis that these items have chosen, "
            f"r = {number(found.crossed)} along the axes of items that are not measured. "
            f"By chance alone: with shuffled counts the first is {number(found.shuffled_naive.mean())} on average and "
            f"{number(found.shuffled_naive.max())} at most, the second {number(found.shuffled_crossed.mean())} and "
            f"{number(found.shuffled_crossed.max())}; the law for random vectors says {number(self.chance)} for the "
            f"first. Two halves of the items find axes with a cosine of {number(found.agreement)}."
        )

    def picture(self) -> str:
        return _picture(self)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """The items in ten groups of falling popularity."""
        found = self.found
        heads = ["Items, by popularity", "Count", "Mean projection", "Least", "Most"]
        order = np.argsort(-found.counts, kind="stable")
        rows = []
        for k in range(10):
            low, high = k * self.shown // 10, (k + 1) * self.shown // 10
            group = order[low:high]
            counts, along = found.counts[group], found.projections[group]
            span = (
                f"{counts.min():.0f}" if counts.min() == counts.max() else f"{counts.min():.0f} to {counts.max():.0f}"
            )
            rows.append(
                [
                    f"{low + 1} to {high}",
                    span,
                    *(number(float(value)) for value in (along.mean(), along.min(), along.max())),
                ]
            )
        return heads, rows

    def __repr__(self) -> str:
        state = ", ".join(
            f"{name}={getattr(self, name)!r}" for name in ("model", "show", "ratio", "shown", "seed", "film")
        )
        return f"PopularityAxis({state}; {', '.join(self.items)}: {len(self.counts)} items)"


def packed_data(items: Any, counts: Any, names: Sequence[str] | None = None) -> dict[str, Any]:
    """{"items": {model: packed table}, "counts", "names"}.

    The tables are turned on their principal axes, which changes no inner product.
    """
    models = dict(items) if isinstance(items, Mapping) else {"Your embeddings": items}
    if not models:
        raise ValueError("items is empty; expected at least one table")
    counts = np.asarray([] if counts is None else counts)
    packed = {}
    for name, given in models.items():
        called = f"items[{name!r}]" if isinstance(items, Mapping) else "items"
        table = tables.checked(given, called, rows=(FEWEST, MOST_ITEMS), width=(2, MOST_WIDTH))
        if (
            counts.shape != (len(table),)
            or not (counts >= 0).all()
            or (counts != np.rint(counts)).any()
            or counts.min() == counts.max()
        ):
            raise ValueError(
                f"counts has shape {counts.shape}; expected ({len(table)},), "
                "a whole number for each item, not all the same"
            )
        packed[str(name)] = tables.pack(table @ np.linalg.svd(table - table.mean(0))[2].T)
    names = [f"item {k + 1}" for k in range(len(counts))] if names is None else [str(name) for name in names]
    if len(names) != len(counts):
        raise ValueError(f"names has {len(names)} entries; expected {len(counts)}, one for each item")
    return {"items": packed, "counts": [int(count) for count in counts], "names": names}


@functools.lru_cache(maxsize=32)
def _measured(
    numbers: str, unit: float, width: int, counts: tuple[int, ...], show: str, ratio: float, n: int, seed: int
) -> Found:
    items = tables.unpack({"numbers": numbers, "unit": unit, "width": width})[:n]
    given = np.array(counts[:n], dtype=np.float64)
    if show == "random":
        items = bells(uniforms(seed, n * width * BELL)).reshape(n, width)
    own = given[_shuffles(1, n, seed)[0]] if show == "shuffled" else given
    halves = _shuffles(SPLITS, n, SPLIT_SEED) % 2  # (3, n): which half each item belongs to
    direction = popularity.popularity_direction(items, own, ratio)
    crossed, agreement = _crossed(items, own, ratio, halves)
    dealt = given[_shuffles(SHUFFLES, n, SHUFFLE_SEED)]
    return Found(
        items,
        own,
        popularity.head_items(own, ratio),
        popularity.tail_items(own, ratio),
        direction,
        items @ direction,
        naive=_pearson(items @ direction, own),
        crossed=crossed,
        agreement=agreement,
        shuffled_naive=np.array(
            [_pearson(items @ popularity.popularity_direction(items, one, ratio), one) for one in dealt]
        ),
        shuffled_crossed=np.array([_crossed(items, one, ratio, halves)[0] for one in dealt]),
    )


def _crossed(items: np.ndarray, counts: np.ndarray, ratio: float, halves: np.ndarray) -> tuple[float, float]:
    """Mean correlation of each half along the axis of the other, and the mean cosine of the two axes."""
    correlations, cosines = [], []
    for half in halves:
        parts = [np.flatnonzero(half == k) for k in (0, 1)]
        axes = [popularity.popularity_direction(items[ids], counts[ids], ratio) for ids in parts]
        correlations += [_pearson(items[parts[k]] @ axes[1 - k], counts[parts[k]]) for k in (0, 1)]
        cosines.append(axes[0] @ axes[1])
    return float(np.mean(correlations)), float(np.mean(cosines))


def _pearson(x: np.ndarray, counts: np.ndarray) -> float:
    """Pearson's correlation; 0 where the counts are all alike, so that a half of few items says nothing."""
    return popularity.pearson(x, counts) if counts.min() < counts.max() else 0.0


def _shuffles(many: int, n: int, seed: int) -> np.ndarray:
    """(many, n) random orders of n items: the order of random numbers."""
    return np.argsort(uniforms(seed, many * n).reshape(many, n), axis=1, kind="stable")


# ---- the picture for a page without JavaScript: middle tones, legible on light and on dark

_WIDE, _HIGH, _SIDE, _TOP, _LEFT = 640, 330, 280, 12, 340
_DOT, _HEAD, _LINE = "#3b82c4", "#d9772b", "#8a94a0"
_RING = "a4 4 0 1 0 8 0a4 4 0 1 0-8 0"


def frame_of(points: np.ndarray) -> tuple[np.ndarray, float]:
    """(middle, half side) of the square around points of the plane, with a margin."""
    low, high = points.min(0), points.max(0)
    return (low + high) / 2, float((high - low).max()) / 2 * 1.08 or 1.0


def _picture(shown: PopularityAxis) -> str:
    found = shown.found
    special = np.concatenate([found.head, found.tail])
    others = np.setdiff1d(np.arange(shown.shown), special)
    middle, half = frame_of(found.items[:, :2])
    cloud = np.stack(
        [
            _SIDE / 2 * (1 + (found.items[:, 0] - middle[0]) / half),
            _TOP + _SIDE / 2 * (1 - (found.items[:, 1] - middle[1]) / half),
        ],
        1,
    )
    (low, high), most = (found.projections.min(), found.projections.max()), found.counts.max()
    along = np.stack(
        [_LEFT + (found.projections - low) / (high - low) * _SIDE, _TOP + (1 - found.counts / most) * _SIDE], 1
    )
    marks = "".join(
        f'<path d="{"".join(f"M{x:.0f} {y:.0f}h0" for x, y in place[others])}" stroke="{_DOT}" stroke-width="5" '
        'stroke-linecap="round"/>'
        f'<path d="{"".join(f"M{x:.0f} {y - 5:.0f}l5 5-5 5-5-5z" for x, y in place[found.head])}" fill="{_HEAD}"/>'
        f'<path d="{"".join(f"M{x - 4:.0f} {y:.0f}{_RING}" for x, y in place[found.tail])}" fill="none" '
        f'stroke="{_HEAD}" stroke-width="1.5"/>'
        for place in (cloud, along)
    )
    (x, y), (ex, ey) = (cloud[ids].mean(0) for ids in (found.tail, found.head))
    length = math.hypot(ex - x, ey - y) or 1.0
    ux, uy = (ex - x) / length, (ey - y) / length
    barbs = [f"{ex - 9 * ux + k * uy:.1f} {ey - 9 * uy - k * ux:.1f}" for k in (4, -4)]
    tip = f"M{barbs[0]}L{ex:.1f} {ey:.1f}L{barbs[1]}"
    base = _TOP + _SIDE
    texts = (
        (_SIDE / 2, base + 18, "the two main axes of the cloud"),
        (_LEFT + _SIDE / 2, base + 34, "projection on the popularity axis"),
        (_LEFT, base + 16, number(low)),
        (_LEFT + _SIDE - 8, base + 16, number(high)),
        (_LEFT - 18, _TOP + 10, f"{most:.0f}"),
        (_LEFT - 18, base, "0"),
        (_LEFT - 18, _TOP + _SIDE / 2, "count"),
    )
    return sheet(
        shown.summary(),
        _WIDE,
        _HIGH,
        f'<path d="M0 {_TOP}h{_SIDE}v{_SIDE}H0zM{_LEFT} {_TOP}v{_SIDE}h{_SIDE}" fill="none" stroke="{_LINE}"/>{marks}',
        f'<path d="M{x:.1f} {y:.1f}L{ex:.1f} {ey:.1f}{tip}" fill="none" stroke="currentColor" stroke-width="2.5"/>',
        *(text_at(*text) for text in texts),
    )
