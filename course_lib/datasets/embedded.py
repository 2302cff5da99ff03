"""The data set that comes with the course: MovieTweetings 100K (MIT licence, Simon Dooms).

tools/make_movietweetings.py packed it, and says how.
"""

from __future__ import annotations

from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from course_lib.interactions import Interactions

__all__ = ["EMBEDDED_FILE", "read_movietweetings"]

EMBEDDED_FILE = files(__package__) / "movietweetings" / "movietweetings-100k.npz"


def _unpack_text(column: NDArray[np.uint8]) -> NDArray[np.object_]:
    return np.array(column.tobytes().decode("utf-8").split("\n"), dtype=object)


def _unpack_genres(masks: NDArray[np.uint32], names: NDArray[np.object_]) -> NDArray[np.object_]:
    words = ("|".join(name for bit, name in enumerate(names) if mask >> bit & 1) for mask in masks.tolist())
    return np.array(list(words), dtype=object)


def read_movietweetings() -> Interactions:
    """Read MovieTweetings 100K, the data set that comes with the course.

    Returns
    -------
    Interactions
        All 100,000 ratings (0 to 10) with their times (seconds since 1970). ``item_table`` has for each film ``id``
        (the number of its IMDb page), ``name`` ("title (year)") and ``genres`` ("Crime|Drama").

    Examples
    --------
    >>> from course_lib.datasets import embedded
    >>> data = embedded.read_movietweetings()
    >>> len(data), data.shape, sorted(data.item_table)
    (100000, (16554, 10506), ['genres', 'id', 'name'])
    """
    with EMBEDDED_FILE.open("rb") as stream, np.load(stream, allow_pickle=False) as columns:
        packed = {key: columns[key] for key in columns.files}
    counts = packed["user_counts"]
    stars = np.stack((packed["ratings"] >> 4, packed["ratings"] & 15), axis=1).ravel()
    return Interactions(
        np.repeat(np.arange(len(counts)), counts),
        packed["items"],
        n_users=len(counts),
        n_items=len(packed["imdb"]),
        times=packed["times"].astype(np.int64) + int(packed["first_time"]),
        ratings=stars[: len(packed["items"])].astype(np.float32),
        item_table={
            "id": packed["imdb"].astype(np.int64),
            "name": _unpack_text(packed["titles"]),
            "genres": _unpack_genres(packed["genres"], _unpack_text(packed["genre_names"])),
        },
    )
