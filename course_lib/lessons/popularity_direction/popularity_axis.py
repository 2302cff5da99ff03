"""The interactive of the chapter: a cloud of embeddings, its axis of popularity, and what chance gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import traitlets

from course_lib.lessons.shared.widgets import tables
from course_lib.lessons.shared.widgets.base import MOST_SEED, Count, Number, Word, read
from course_lib.lessons.shared.widgets.chance import BELL, bells, uniforms
from course_lib.lessons.shared.widgets.paper import WrittenOnce

STORED = Path(__file__).with_name("popularity_axis.json")  # made by make_popularity_axis.py
SHOWS = ("embeddings", "shuffled", "random")
FEWEST, MOST_ITEMS, MOST_WIDTH = 20, 400, 64
SPLITS, SPLIT_SEED = 3, 1  # of the cross-fitted correlation


class PopularityAxis(WrittenOnce):
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
        "First: item embeddings on their two main axes; the arrow leads from the mean of the tail (rings) to the mean"
        " of the head (diamonds). Second: the projection of each item on that axis, against its count. Third: r of "
        "projection and count, with an axis from the same items (diamond), from other items (dot), and with shuffled "
        "counts (heaps). With JavaScript this picture is interactive."
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
        data = read(STORED) if stored else packed_data(items, counts, names)
        first = {"model": next(iter(data["items"])), "shown": len(data["counts"])}
        super().__init__(**data, stored=stored, **first | state)

    # ---- what Python can ask

    @property
    def embeddings(self) -> np.ndarray:
        """(n, d) what is shown: the rounded table on its principal axes, or normal numbers in its place."""
        packed = self.items[self.model]
        if self.show == "random":
            chance = uniforms(self.seed, self.shown * packed["width"] * BELL)
            return bells(chance).reshape(self.shown, packed["width"])
        return tables.unpack(packed)[: self.shown]

    @property
    def popularity(self) -> np.ndarray:
        """(n,) the counts as they are shown: dealt out anew, if so wished."""
        counts = np.array(self.counts[: self.shown])
        return counts[_shuffles(1, self.shown, self.seed)[0]] if self.show == "shuffled" else counts

    @property
    def halves(self) -> np.ndarray:
        """(3, n) three random splits of the items into halves 0 and 1, for the repair of claim X13."""
        return _shuffles(SPLITS, self.shown, SPLIT_SEED) % 2

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


def _shuffles(many: int, n: int, seed: int) -> np.ndarray:
    """(many, n) random orders of n items: the order of random numbers."""
    return np.argsort(uniforms(seed, many * n).reshape(many, n), axis=1, kind="stable")
