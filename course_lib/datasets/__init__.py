"""Data sets by name.

``load()`` gives MovieTweetings, which comes with the course and works everywhere at once. The others are looked for in
the folder that the environment variable COURSE_DATA names, then in the user's cache, and only then downloaded: with a
checksum, a progress bar, and a note on the licence before the first byte. ``catalogue()`` lists them, ``synthetic()``
makes a set whose whole truth is known.
"""

from __future__ import annotations

import dataclasses
import difflib

import numpy as np

from course_lib import checking
from course_lib.datasets.catalogue import ENTRIES
from course_lib.datasets.embedded import read_movietweetings
from course_lib.datasets.entries import Entry, Log
from course_lib.datasets.errors import (
    BadRow,
    ChecksumMismatch,
    DataMissing,
    DownloadFailed,
    TruncatedFile,
    UnknownDataset,
    UnsafeArchive,
)
from course_lib.datasets.planted import PlantedTaste, synthetic, synthetic_large
from course_lib.datasets.readers import to_interactions
from course_lib.datasets.sources import cache_folder, course_data_folder, locate
from course_lib.interactions import Interactions

__all__ = [
    "BadRow",
    "ChecksumMismatch",
    "DataMissing",
    "DownloadFailed",
    "PlantedTaste",
    "TruncatedFile",
    "UnknownDataset",
    "UnsafeArchive",
    "cache_folder",
    "catalogue",
    "load",
    "load_entry",
    "load_split",
    "names",
    "synthetic",
    "synthetic_large",
]

SYNTHETIC = "synthetic"
COLUMNS = (
    "name title pairs users items default_min_rating rating_scale licence licence_note citation obtained may_ship "
    "homepage note"
)


def names() -> tuple[str, ...]:
    """Return the names that ``load`` knows.

    Returns
    -------
    tuple of str
        The real data sets, then "synthetic".

    Examples
    --------
    >>> from course_lib import datasets
    >>> "movietweetings" in datasets.names(), datasets.names()[-1]
    (True, 'synthetic')
    """
    return (*ENTRIES, SYNTHETIC)


def catalogue() -> list[dict[str, object]]:
    """Return one row for each real data set, from the table that drives the loaders.

    Returns
    -------
    list of dict
        The columns are name, title, pairs, users, items, default_min_rating, rating_scale, licence, licence_note,
        citation, obtained (how), may_ship, homepage and note.

    Examples
    --------
    >>> from course_lib import datasets
    >>> row = datasets.catalogue()[0]
    >>> row["name"], row["pairs"], row["licence"], row["obtained"]
    ('movietweetings', 100000, 'MIT', 'comes with the course')
    """
    return [{column: getattr(entry, column) for column in COLUMNS.split()} for entry in ENTRIES.values()]


def load(
    name: str = "movietweetings", *, min_rating: float | str | None = "default", core: int | None = None, seed: int = 0
) -> Interactions:
    """Load the positive pairs of a data set, filtered and relabelled so that no user and no item is empty.

    Parameters
    ----------
    name : str, optional
        One of ``names()``.
    min_rating : float, None or "default", optional
        A pair is a positive from this rating on. "default" is what ``catalogue`` says (7 of 10 for movietweetings, 4 of
        5 stars for MovieLens, none for implicit sets); None takes every rated pair.
    core : int, optional
        Keep the largest part in which every user and every item has at least this many pairs (``Interactions.k_core``).
    seed : int, optional
        Only for "synthetic". All other sets are the same every time.

    Returns
    -------
    Interactions
        The pairs. Original ids stay in ``user_table["id"]`` and ``item_table["id"]`` (for movietweetings, the number of
        the IMDb page; its users have none), titles in ``item_names``.

    Raises
    ------
    UnknownDataset
        For a name that is none of ``names()``.
    DataMissing, DownloadFailed, ChecksumMismatch
        Where the files cannot be had.
    BadRow, TruncatedFile, UnsafeArchive
        Where a file is not of the documented form, is damaged, or is an archive that points outside its folder.
    ValueError
        For a ``min_rating`` that the set cannot have, and where no pair is left.

    Examples
    --------
    >>> from course_lib import datasets
    >>> datasets.load(core=5)
    Interactions(movietweetings: 44,036 pairs of 3,452 users x 1,714 items, with times and ratings)
    """
    checking.whole(seed, "seed", 0)
    if name == SYNTHETIC:
        if min_rating not in ("default", None):
            raise ValueError(f"min_rating must be left out for {SYNTHETIC}, which has no ratings, got {min_rating!r}")
        return _cored(synthetic(rng=np.random.default_rng(seed)).interactions, core)
    return load_entry(_entry(name), min_rating=min_rating, core=core)


def load_entry(entry: Entry, *, min_rating: float | str | None = "default", core: int | None = None) -> Interactions:
    """Load the positive pairs of a row of the catalogue, or of an entry of your own.

    Parameters
    ----------
    entry : Entry
        The data set.
    min_rating : float, None or "default", optional
        As in ``load``.
    core : int, optional
        As in ``load``.

    Returns
    -------
    Interactions
        The pairs.

    Raises
    ------
    DataMissing, DownloadFailed, ChecksumMismatch
        Where the files cannot be had.
    BadRow, TruncatedFile, UnsafeArchive
        Where a file is not of the documented form, is damaged, or is an archive that points outside its folder.
    ValueError
        For a ``min_rating`` that the set cannot have, and where no pair is left.

    Examples
    --------
    A set of your own is an entry with another name. Here it is a copy of the set that comes with the course:

    >>> import dataclasses
    >>> from course_lib import datasets
    >>> from course_lib.datasets.catalogue import ENTRIES
    >>> datasets.load_entry(dataclasses.replace(ENTRIES["movietweetings"], name="mine"), core=5)
    Interactions(mine: 44,036 pairs of 3,452 users x 1,714 items, with times and ratings)
    """
    threshold = _threshold(checking.instance(entry, "entry", Entry), min_rating)
    if entry.read is None:
        data = dataclasses.replace(read_movietweetings(), name=entry.name)
        if threshold is not None and data.ratings is not None:
            data = data.select(data.ratings >= threshold)
        return _cored(data, core)
    log = _read(entry)
    if entry.name == "eurlex":  # its test documents are other documents: P3 counts the training part alone
        log = _part(log, 0)
    return _cored(to_interactions(log, name=entry.name, min_rating=threshold, merge=entry.merge), core)


def load_split(name: str) -> dict[str, Interactions]:
    """Load the published split of a data set.

    Parameters
    ----------
    name : str
        One of ``names()``.

    Returns
    -------
    dict of str to Interactions
        Such as ``{"train": ..., "valid": ..., "test": ...}``, all of one shape. A pair that is in two parts counts in
        the later one only, so that no test pair was seen in training. For eurlex the parts are different documents.

    Raises
    ------
    UnknownDataset
        For a name that is none of ``names()``.
    DataMissing, DownloadFailed, ChecksumMismatch
        Where the files cannot be had.
    BadRow, TruncatedFile, UnsafeArchive
        Where a file is not of the documented form, is damaged, or is an archive that points outside its folder.
    ValueError
        For a set without a published split.

    Examples
    --------
    >>> from course_lib import datasets
    >>> datasets.load_split("movietweetings")
    Traceback (most recent call last):
        ...
    ValueError: movietweetings has no published split; use the split methods of load('movietweetings')
    """
    entry = None if name == SYNTHETIC else _entry(name)
    log = _read(entry) if entry is not None and entry.read is not None else None
    if log is None or log.parts is None:
        raise ValueError(f"{name} has no published split; use the split methods of load({name!r})")
    whole = Interactions.merged(
        log.users,
        log.items,
        n_users=log.shape[0],
        n_items=log.shape[1],
        ratings=log.parts,
        keep="highest",
        name=name,
        user_table={"id": np.arange(log.shape[0]), **log.user_table},
        item_table={"id": np.arange(log.shape[1]), **log.item_table},
    ).compact()
    return {
        part: dataclasses.replace(whole.select(whole.ratings == index), ratings=None, name=f"{name} {part}")
        for index, part in enumerate(log.part_names)
    }


def _entry(name: str) -> Entry:
    if name not in tuple(ENTRIES):  # a list has no hash
        close = difflib.get_close_matches(str(name).lower(), names(), n=1, cutoff=0.4)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise UnknownDataset(f"name must be one of {', '.join(names())}, got {name!r}{hint}")
    return ENTRIES[name]


def _read(entry: Entry) -> Log:
    cache, own = cache_folder(), course_data_folder()
    container, form = locate(entry, roots=[cache] if own is None else [own, cache], cache=cache)
    if entry.read is None:
        raise ValueError(f"{entry.name} comes with the course: it has no files of its own to read")
    return entry.read(container, form)


def _threshold(entry: Entry, min_rating: float | str | None) -> float | None:
    if isinstance(min_rating, str) and min_rating == "default":
        return entry.default_min_rating
    if min_rating is not None and (
        isinstance(min_rating, bool)
        or not isinstance(min_rating, (int, float, np.integer, np.floating))
        or not np.isfinite(min_rating)
    ):
        raise ValueError(f"min_rating must be a number, None or 'default', got {min_rating!r}")
    return min_rating


def _part(log: Log, index: int) -> Log:
    kept = log.parts == index
    return dataclasses.replace(log, users=log.users[kept], items=log.items[kept], parts=None, part_names=())


def _cored(data: Interactions, core: int | None) -> Interactions:
    cored = data if core is None else data.k_core(checking.whole(core, "core"))
    if not len(cored):
        raise ValueError(f"no pair is left of {data!r} with core={core}; choose a smaller core or min_rating")
    return cored.compact()
