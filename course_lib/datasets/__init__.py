"""Data sets by name: ``load("movietweetings")`` works everywhere and at once, the others are found or downloaded."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from ..interactions import Interactions
from .embedded import read_movietweetings

__all__ = ["load", "names"]


def names() -> tuple[str, ...]:
    return ("movietweetings", "ml-1m")


def load(name: str = "movietweetings", *, min_rating="default", core: int | None = None, seed: int = 0) -> Interactions:
    """First version: the two sets that other parts need now; replaced by the full loader."""
    if name == "movietweetings":
        data, default = read_movietweetings(), 7
    elif name == "ml-1m":
        with np.load(Path(os.environ["COURSE_DATA"]) / "ml-1m" / "ml1m_pairs_order.npz") as z:
            u, i, r, t = (z[k].astype(np.int64) for k in ("user", "item", "rating", "timestamp"))
        data, default = Interactions(u, i, n_users=6041, n_items=3953, ratings=r, times=t, name=name), 4
    else:
        raise ValueError(f"name must be one of {names()}, got {name!r}")
    threshold = default if min_rating == "default" else min_rating
    data = data if threshold is None else data.select(data.ratings >= threshold)
    return (data if core is None else data.k_core(core)).compact()
