"""What a data set is: where it comes from, on which terms, how it is read (`Entry`), and its rows as read (`Log`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from course_lib import checking

AnyArray = NDArray[Any]
Table = Mapping[str, AnyArray]


@dataclass(frozen=True)
class Log:
    """The rows of a data set: users and items under their original, non-negative integer ids.

    Parameters
    ----------
    users, items : array of int, shape (rows,)
        The ids.
    times, ratings : array, shape (rows,), optional
        The times and the ratings, where the set has them.
    ratings_known_above : float, optional
        Ratings of at most this value are unknown, and then stored as 0. None: all are known.
    parts : array of int, shape (rows,), optional
        For a set with a published split, the index into ``part_names`` of each row.
    part_names : tuple of str, optional
        The names of the parts.
    n_users, n_items : int, optional
        The numbers of users and items, by default one more than the largest id.
    user_table, item_table : mapping of str to array, optional
        Columns with one entry for each user and for each item.

    Raises
    ------
    ValueError
        For users that are no array of one axis, and for another column of another length.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.datasets.entries import Log
    >>> Log(np.array([0, 2]), np.array([1, 1])).shape
    (3, 2)
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

    def __post_init__(self) -> None:
        rows = getattr(self.users, "shape", None)
        if rows is None or len(rows) != 1:
            raise checking.refuse(self.users, "users", "an array of ids, of shape (rows,)")
        for name in ("items", "times", "ratings", "parts"):
            column = getattr(self, name)
            if (column is not None or name == "items") and getattr(column, "shape", None) != rows:
                found = getattr(column, "shape", type(column).__name__)
                raise ValueError(f"{name} is {found}; expected an array of shape {rows}, one entry for each of users")

    @property
    def shape(self) -> tuple[int, int]:
        """(m, n) as stated, or one more than the largest id."""
        m = int(self.users.max(initial=0)) + 1 if self.n_users is None else self.n_users
        n = int(self.items.max(initial=0)) + 1 if self.n_items is None else self.n_items
        return m, n


@dataclass(frozen=True)
class Remote:
    """A file to download.

    Parameters
    ----------
    url : str
        The address of the file.
    file : str
        Its place in the cache.
    algorithm : str
        The hash function, such as "sha256"; "git" for the name that git gives the content of a file.
    expected : str
        The hash that the file must have.

    Examples
    --------
    >>> from course_lib.datasets.entries import Remote
    >>> Remote("https://example.org/train.txt", "mine/train.txt", "sha256", "9f86d0").file
    'mine/train.txt'
    """

    url: str
    file: str
    algorithm: str
    expected: str


@dataclass(frozen=True)
class Entry:
    """A data set: where it comes from, on which terms, and how it is read.

    Parameters
    ----------
    name, title : str
        The name that ``load`` knows, and the title to show.
    pairs, users, items : int
        The sizes of the whole set before any filter. For ml-10m, 20m, 25m, 32m, eurlex, yelp2018 and amazon-book as
        published (their README, P3's Table 3, Table 2 of LightGCN), for all others as counted by the loader; tests
        count again.
    default_min_rating : float or None
        A pair is a positive from this rating on. None: the set is implicit.
    rating_scale : str
        The scale of the ratings, in words.
    licence, licence_note, citation, homepage : str
        The terms, the citation asked for, and the address.
    may_ship : bool, optional
        Whether the licence allows the course to ship the set.
    read : callable, optional
        The reader. None for the set that comes with the course.
    forms : tuple of tuple of str, optional
        Groups of files that each make the set complete, the original first.
    archives : tuple of str, optional
        The names of published archives.
    remotes : tuple of Remote, optional
        What is downloaded. Empty for sets that come with the course or must be placed by hand.
    merge : bool, optional
        Whether the set is known to hold equal pairs, which become one.
    note : str, optional
        A remark for the catalogue.

    Examples
    --------
    >>> from course_lib.datasets.catalogue import ENTRIES
    >>> entry = ENTRIES["movietweetings"]
    >>> entry.pairs, entry.default_min_rating, entry.obtained
    (100000, 7, 'comes with the course')
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
