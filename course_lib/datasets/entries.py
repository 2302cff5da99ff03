"""What a data set is: where it comes from, on which terms, how it is read (`Entry`), and its rows as read (`Log`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

AnyArray = NDArray[Any]
Table = Mapping[str, AnyArray]


@dataclass(frozen=True)
class Log:
    """The rows of a data set: users and items under their original, non-negative integer ids.

    ratings_known_above : ratings of at most this value are unknown, and then stored as 0 (None: all are known).
    parts : for a set with a published split, the index into `part_names` of each row.
    """

    users: AnyArray
    items: AnyArray
    times: AnyArray | None = None
    ratings: AnyArray | None = None
    ratings_known_above: float | None = None
    parts: AnyArray | None = None
    part_names: tuple[str, ...] = ()
    n_users: int | None = None
    n_items: int | None = None
    user_table: Table = field(default_factory=dict)
    item_table: Table = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int]:
        """(m, n) as stated, or one more than the largest id."""
        m = int(self.users.max(initial=0)) + 1 if self.n_users is None else self.n_users
        n = int(self.items.max(initial=0)) + 1 if self.n_items is None else self.n_items
        return m, n


@dataclass(frozen=True)
class Remote:
    """A file to download: its address, its place in the cache, and the hash that it must have."""

    url: str
    file: str
    algorithm: str
    expected: str


@dataclass(frozen=True)
class Entry:
    """A data set.

    pairs, users, items : of the whole set before any filter. For ml-10m, 20m, 25m, 32m and eurlex as published (their
        README and P3's Table 3), for all others as counted by the loader; tests count again.
    default_min_rating : a pair is a positive from this rating on (None: the set is implicit). rating_scale : in words.
    forms : groups of files that each make the set complete, the original first. archives : names of published archives.
    remotes : what is downloaded; empty for sets that come with the course or must be placed by hand.
    merge : the set is known to hold equal pairs, which become one.
    """

    name: str
    title: str
    pairs: int
    users: int
    items: int
    default_min_rating: float | None
    rating_scale: str
    licence: str
    licence_note: str
    citation: str
    homepage: str
    may_ship: bool = False
    read: Callable[..., Log] | None = None
    forms: tuple[tuple[str, ...], ...] = ()
    archives: tuple[str, ...] = ()
    remotes: tuple[Remote, ...] = ()
    merge: bool = False
    note: str = ""

    @property
    def obtained(self) -> str:
        """How a user gets it, in a few words."""
        if self.read is None:
            return "comes with the course"
        return "checked download" if self.remotes else "place by hand"
