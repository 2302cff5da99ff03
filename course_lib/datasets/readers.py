"""One reader for each original format: from its files to a `Log`, the rows as they stand, under their original ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import IO
from urllib.parse import unquote

import numpy as np

from course_lib.datasets import formats
from course_lib.datasets.entries import AnyArray, Log, Table
from course_lib.datasets.errors import BadRow
from course_lib.datasets.formats import MAX_ID, Column
from course_lib.datasets.sources import Archive, Folder
from course_lib.interactions import Interactions

Container = Folder | Archive
Rows = Sequence[Sequence[str]]
FilmReader = Callable[[IO[bytes], str], Rows]

ML_100K_GENRES = (
    *("unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama"),
    *("Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western"),
)
ML_100K_ITEM_FIELDS = ("movie id", "title", "release date", "video release date", "IMDb URL", *ML_100K_GENRES)
SPLIT_PARTS = ("train", "valid", "test")


# ----------------------------------------------------------------------------------------------------------- MovieLens
def _rating_columns(user: str, item: str, dtype: str, lowest: float, time: str = "timestamp") -> tuple[Column, ...]:
    ids = Column(user, "i8", 1, MAX_ID), Column(item, "i8", 1, MAX_ID)
    return *ids, Column("rating", dtype, lowest, 5), Column(time, "i8", 0, 2**33)


def _film_table(ids: list[int], titles: list[str], genres: list[str], n_items: int) -> dict[str, AnyArray]:
    """Columns `name` and `genres` of length n_items, placed by id; films without a row have empty text."""
    table = {"name": np.full(n_items, "", dtype=object), "genres": np.full(n_items, "", dtype=object)}
    known = [position for position, film in enumerate(ids) if film < n_items]
    where = [ids[position] for position in known]
    table["name"][where] = [titles[position] for position in known]
    table["genres"][where] = [genres[position] for position in known]
    return table


def _film_id(word: str, label: str) -> int:
    if not word.isascii() or not word.isdigit():
        raise BadRow(f"{label}: expected a film id (a whole number), got {word!r}")
    return int(word)


def _with_films(columns: Table, container: Container, name: str, read_films: FilmReader) -> Log:
    users, items, ratings, times = columns.values()
    n_items = int(items.max()) + 1
    films: dict[str, AnyArray] = {}
    if container.has(name):
        with container.open(name) as (stream, label):
            rows = read_films(stream, label)
        ids = [_film_id(row[0], label) for row in rows]
        films = _film_table(ids, [row[1] for row in rows], [row[2] for row in rows], n_items)
    return Log(users, items, times=times, ratings=ratings, n_items=n_items, item_table=films)


def _films_dat(encoding: str) -> FilmReader:
    fields = ("MovieID", "Title", "Genres")
    return lambda stream, label: formats.read_separated_text(
        stream, label, separator="::", fields=fields, encoding=encoding
    )


def _films_csv(stream: IO[bytes], label: str) -> Rows:
    return formats.read_csv_text(stream, label, ("movieId", "title", "genres"))


def _films_item(stream: IO[bytes], label: str) -> Rows:
    rows = formats.read_separated_text(stream, label, separator="|", fields=ML_100K_ITEM_FIELDS, encoding="latin-1")
    return [(r[0], r[1], "|".join(g for g, on in zip(ML_100K_GENRES, r[5:], strict=True) if on == "1")) for r in rows]


def _films_recbole(stream: IO[bytes], label: str) -> Rows:
    fields = ("item_id:token", "movie_title:token_seq", "release_year:token", "class:token_seq")
    rows = formats.read_separated_text(stream, label, separator="\t", fields=fields)[1:]
    return [
        (film, f"{title} ({year})" if year else title, genres.replace(" ", "|")) for film, title, year, genres in rows
    ]


def read_ml_100k(container: Container, form: tuple[str, ...]) -> Log:
    r"""Read MovieLens 100K: ``u.data``, with user, item, rating and timestamp between tabs.

    Parameters
    ----------
    container : Folder or Archive
        Where the files are.
    form : tuple of str
        The names of the files that make the set complete.

    Returns
    -------
    Log
        The ratings, with films from ``u.item``, or from ``ml-100k.item`` in RecBole's form, where one is there.

    Raises
    ------
    BadRow
        For a row that has another form, with file, line number and content.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from course_lib.datasets import readers, sources
    >>> with tempfile.TemporaryDirectory() as name:
    ...     _ = (pathlib.Path(name) / "u.data").write_text("1\t3\t5\t874965758\n")
    ...     log = readers.read_ml_100k(sources.Folder(pathlib.Path(name)), ("u.data",))
    >>> log.users.tolist(), log.items.tolist(), log.ratings.tolist()
    ([1], [3], [5.0])
    """
    with container.open("u.data") as (stream, label):
        columns = formats.read_table(stream, label, separator=b"\t", columns=_rating_columns("user", "item", "f4", 1))
    if container.has("u.item"):
        return _with_films(columns, container, "u.item", _films_item)
    return _with_films(columns, container, "ml-100k.item", _films_recbole)


def read_ml_1m(container: Container, form: tuple[str, ...]) -> Log:
    r"""Read MovieLens 1M: ``ratings.dat``, or the pairs with known stars from the course's data folder.

    Parameters
    ----------
    container : Folder or Archive
        Where the files are.
    form : tuple of str
        The names of the files that make the set complete.

    Returns
    -------
    Log
        The ratings, with films from ``movies.dat`` where it is there.

    Raises
    ------
    BadRow
        For a row that has another form, with file, line number and content.

    Notes
    -----
    The other form, ``ml1m_pairs_order.npz``, knows which pairs were rated, but the stars only of those from 4 up.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from course_lib.datasets import readers, sources
    >>> with tempfile.TemporaryDirectory() as name:
    ...     _ = (pathlib.Path(name) / "ratings.dat").write_text("1::3::5::978300760\n")
    ...     log = readers.read_ml_1m(sources.Folder(pathlib.Path(name)), ("ratings.dat",))
    >>> log.users.tolist(), log.items.tolist(), log.ratings.tolist()
    ([1], [3], [5.0])
    """
    if form == ("ratings.dat",):
        with container.open("ratings.dat") as (stream, label):
            columns = formats.read_table(
                stream, label, separator=b"::", columns=_rating_columns("UserID", "MovieID", "f4", 1)
            )
        return _with_films(columns, container, "movies.dat", _films_dat("latin-1"))
    with container.open("ml1m_pairs_order.npz") as (stream, label):
        try:
            with np.load(stream, allow_pickle=False) as arrays:
                types = {"user": None, "item": None, "rating": np.float32, "timestamp": np.int64}
                columns = {key: np.asarray(arrays[key], dtype) for key, dtype in types.items()}
        except (KeyError, ValueError) as error:
            raise BadRow(f"{label}: expected user, item, rating, timestamp of one length, got {error}") from error
    log = _with_films(columns, container, "movies.dat", _films_dat("latin-1"))
    return replace(log, ratings_known_above=3)


def read_ml_10m(container: Container, form: tuple[str, ...]) -> Log:
    r"""Read MovieLens 10M: ``ratings.dat`` with half stars, and ``movies.dat`` in UTF-8.

    Parameters
    ----------
    container : Folder or Archive
        Where the files are.
    form : tuple of str
        The names of the files that make the set complete.

    Returns
    -------
    Log
        The ratings, with films from ``movies.dat`` where it is there.

    Raises
    ------
    BadRow
        For a row that has another form, with file, line number and content.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from course_lib.datasets import readers, sources
    >>> with tempfile.TemporaryDirectory() as name:
    ...     _ = (pathlib.Path(name) / "ratings.dat").write_text("1::3::4.5::838985046\n")
    ...     _ = (pathlib.Path(name) / "movies.dat").write_text("3::Alien (1979)::Horror\n")
    ...     log = readers.read_ml_10m(sources.Folder(pathlib.Path(name)), ("ratings.dat",))
    >>> log.ratings.tolist(), log.item_table["name"].tolist()
    ([4.5], ['', '', '', 'Alien (1979)'])
    """
    with container.open("ratings.dat") as (stream, label):
        columns = formats.read_table(
            stream, label, separator=b"::", columns=_rating_columns("UserID", "MovieID", "f4", 0.5)
        )
    return _with_films(columns, container, "movies.dat", _films_dat("utf-8"))


def read_ml_csv(container: Container, form: tuple[str, ...]) -> Log:
    r"""Read a MovieLens set with headers (latest-small, 20M, 25M, 32M): ``ratings.csv`` and ``movies.csv``.

    Parameters
    ----------
    container : Folder or Archive
        Where the files are.
    form : tuple of str
        The names of the files that make the set complete.

    Returns
    -------
    Log
        The ratings, with films from ``movies.csv`` where it is there.

    Raises
    ------
    BadRow
        For a row that has another form, with file, line number and content.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from course_lib.datasets import readers, sources
    >>> with tempfile.TemporaryDirectory() as name:
    ...     path = pathlib.Path(name) / "ratings.csv"
    ...     _ = path.write_text("userId,movieId,rating,timestamp\n1,3,4.5,964982703\n")
    ...     log = readers.read_ml_csv(sources.Folder(pathlib.Path(name)), ("ratings.csv",))
    >>> log.users.tolist(), log.items.tolist(), log.ratings.tolist()
    ([1], [3], [4.5])
    """
    with container.open("ratings.csv") as (stream, label):
        columns = _rating_columns("userId", "movieId", "f4", 0.5)
        header = b"userId,movieId,rating,timestamp"
        numbers = formats.read_table(stream, label, separator=b",", columns=columns, header=header)
    return _with_films(numbers, container, "movies.csv", _films_csv)


# -------------------------------------------------------------------------------------------------------- implicit sets
def _joined(
    parts: list[tuple[AnyArray, AnyArray]], names: tuple[str, ...], ratings: list[AnyArray] | None = None
) -> Log:
    lengths = [len(users) for users, _ in parts]
    return Log(
        np.concatenate([users for users, _ in parts]),
        np.concatenate([items for _, items in parts]),
        ratings=None if ratings is None else np.concatenate(ratings),
        parts=np.repeat(np.arange(len(parts)), lengths),
        part_names=names,
    )


def _part_names(form: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(next(part for part in SPLIT_PARTS if part in name or name == "data1.txt") for name in form)


def read_lightgcn(container: Container, form: tuple[str, ...]) -> Log:
    r"""Read train, valid and test in the LightGCN text format.

    Parameters
    ----------
    container : Folder or Archive
        Where the files are.
    form : tuple of str
        The names of the files that make the set complete.

    Returns
    -------
    Log
        The pairs, with the part of each.

    Raises
    ------
    BadRow
        For a row that has another form, with file, line number and content.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from course_lib.datasets import readers, sources
    >>> with tempfile.TemporaryDirectory() as name:
    ...     for part, text in (("train", "0 5 7\n"), ("test", "0 6\n")):
    ...         _ = (pathlib.Path(name) / f"{part}.txt").write_text(text)
    ...     log = readers.read_lightgcn(sources.Folder(pathlib.Path(name)), ("train.txt", "test.txt"))
    >>> log.items.tolist(), log.parts.tolist(), log.part_names
    ([5, 7, 6], [0, 0, 1], ('train', 'test'))
    """
    parts = []
    for name in form:
        with container.open(name) as (stream, label):
            parts.append(formats.read_adjacency(stream, label))
    return _joined(parts, _part_names(form))


def read_triples(container: Container, form: tuple[str, ...]) -> Log:
    r"""Read train, valid and test with rows "user item 1", ids from 0.

    Parameters
    ----------
    container : Folder or Archive
        Where the files are.
    form : tuple of str
        The names of the files that make the set complete.

    Returns
    -------
    Log
        The pairs, with the part of each.

    Raises
    ------
    BadRow
        For a row that has another form, with file, line number and content.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from course_lib.datasets import readers, sources
    >>> with tempfile.TemporaryDirectory() as name:
    ...     for part, text in (("train", "0 5 1\n0 7 1\n"), ("test", "0 6 1\n")):
    ...         _ = (pathlib.Path(name) / f"{part}.txt").write_text(text)
    ...     log = readers.read_triples(sources.Folder(pathlib.Path(name)), ("train.txt", "test.txt"))
    >>> log.items.tolist(), log.parts.tolist(), log.part_names
    ([5, 7, 6], [0, 0, 1], ('train', 'test'))
    """
    columns = Column("user", "i8", 0, MAX_ID), Column("item", "i8", 0, MAX_ID), Column("1", "i8", 1, 1)
    parts = []
    for name in form:
        with container.open(name) as (stream, label):
            users, items, _ = formats.read_table(stream, label, separator=b" ", columns=columns).values()
        parts.append((users, items))
    return _joined(parts, _part_names(form))


def read_lastfm(container: Container, form: tuple[str, ...]) -> Log:
    r"""Read Last.fm: ``data1.txt`` (train) and ``test1.txt``, with user, artist and play count between tabs.

    Parameters
    ----------
    container : Folder or Archive
        Where the files are.
    form : tuple of str
        The names of the files that make the set complete.

    Returns
    -------
    Log
        The pairs, under ids from 1, with the part of each. The play count is the rating.

    Raises
    ------
    BadRow
        For a row that has another form, with file, line number and content.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from course_lib.datasets import readers, sources
    >>> with tempfile.TemporaryDirectory() as name:
    ...     for part, text in (("data1", "1\t5\t20\n"), ("test1", "1\t6\t3\n")):
    ...         _ = (pathlib.Path(name) / f"{part}.txt").write_text(text)
    ...     log = readers.read_lastfm(sources.Folder(pathlib.Path(name)), ("data1.txt", "test1.txt"))
    >>> log.items.tolist(), log.ratings.tolist(), log.parts.tolist()
    ([5, 6], [20.0, 3.0], [0, 1])
    """
    ids = Column("user", "i8", 1, MAX_ID), Column("artist", "i8", 1, MAX_ID)
    columns = *ids, Column("weight", "f8", 1, 1e9)
    parts, weights = [], []
    for name in form:
        with container.open(name) as (stream, label):
            users, items, weight = formats.read_table(stream, label, separator=b"\t", columns=columns).values()
        parts.append((users, items))
        weights.append(weight)
    return _joined(parts, ("train", "test"), weights)


def read_wikispeedia(container: Container, form: tuple[str, ...]) -> Log:
    r"""Read Wikispeedia: ``links.tsv``, with the URL-encoded names of source and target article.

    Parameters
    ----------
    container : Folder or Archive
        Where the files are.
    form : tuple of str
        The names of the files that make the set complete.

    Returns
    -------
    Log
        The links. Both sides share one numbering, by encoded name. Where ``categories.tsv`` is there too, the tables
        have "categories": the categories of an article joined by ``"|"``, an empty text for none.

    Raises
    ------
    BadRow
        For a row that has another form, with file, line number and content.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from course_lib.datasets import readers, sources
    >>> with tempfile.TemporaryDirectory() as name:
    ...     _ = (pathlib.Path(name) / "links.tsv").write_text("Bee\tHoney\nHoney\tBee\nBee\tAnt\n")
    ...     log = readers.read_wikispeedia(sources.Folder(pathlib.Path(name)), ("links.tsv",))
    >>> log.item_table["name"].tolist(), log.users.tolist(), log.items.tolist()
    (['Ant', 'Bee', 'Honey'], [1, 2, 1], [2, 1, 0])
    """
    with container.open("links.tsv") as (stream, label):
        rows = formats.read_separated_text(stream, label, separator="\t", fields=("source", "target"), comment="#")
    if not rows:
        raise BadRow(f"{label}: expected rows source<TAB>target, got none")
    articles = sorted({article for row in rows for article in row})
    number = {article: index for index, article in enumerate(articles)}
    sources, targets = np.array([[number[source], number[target]] for source, target in rows]).T
    table = {"name": np.array([unquote(article) for article in articles], dtype=object)}
    if container.has("categories.tsv"):
        table["categories"] = _categories(container, number)
    n = len(articles)
    return Log(sources, targets, n_users=n, n_items=n, user_table=table, item_table=table)


def _categories(container: Container, number: dict[str, int]) -> AnyArray:
    """The categories of each numbered article, sorted and joined by "|"; articles without a link are left out."""
    with container.open("categories.tsv") as (stream, label):
        rows = formats.read_separated_text(stream, label, separator="\t", fields=("article", "category"), comment="#")
    found: dict[int, set[str]] = {}
    for article, category in rows:
        if article in number:
            found.setdefault(number[article], set()).add(category)
    return np.array(["|".join(sorted(found.get(index, ()))) for index in range(len(number))], dtype=object)


def read_eurlex(container: Container, form: tuple[str, ...]) -> Log:
    r"""Read EUR-Lex, with documents as users and labels as items.

    Parameters
    ----------
    container : Folder or Archive
        Where the files are.
    form : tuple of str
        The names of the files that make the set complete.

    Returns
    -------
    Log
        The pairs. Where the test file is there too, its documents follow the training ones.

    Raises
    ------
    BadRow
        For a row that has another form, with file, line number and content.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from course_lib.datasets import readers, sources
    >>> with tempfile.TemporaryDirectory() as name:
    ...     path = pathlib.Path(name) / "eurlex_tfidf_train.svm"
    ...     _ = path.write_text("3,8 1:0.5\n4 2:0.25\n")
    ...     log = readers.read_eurlex(sources.Folder(pathlib.Path(name)), (path.name,))
    >>> log.users.tolist(), log.items.tolist()
    ([0, 0, 1], [3, 8, 4])
    """
    parts, start = [], 0
    names = [form[0], *(name for name in (form[0].replace("train", "test"),) if container.has(name))]
    for name in names:
        with container.open(name) as (stream, label):
            documents, labels, features = formats.read_libsvm(stream, label)
        parts.append((documents + start, labels))
        start += features.shape[0]
    log = _joined(parts, SPLIT_PARTS[::2][: len(names)])
    return Log(log.users, log.items, parts=log.parts, part_names=log.part_names, n_users=start)


# ----------------------------------------------------------------------------------------------------- to Interactions
def to_interactions(log: Log, *, name: str, min_rating: float | None, merge: bool) -> Interactions:
    """Return the pairs of a log with a rating from ``min_rating`` on, under the log's ids.

    Parameters
    ----------
    log : Log
        The rows of a data set.
    name : str
        The name of the result.
    min_rating : float or None
        The lowest rating of a positive pair. None takes all pairs.
    merge : bool
        Whether equal pairs are merged; the first stays.

    Returns
    -------
    Interactions
        The pairs. Times and ratings are left out where ``min_rating`` is None and only some ratings are known.

    Raises
    ------
    ValueError
        For a ``min_rating`` on a set without ratings, or one at which not all ratings are known, and for equal pairs
        without ``merge``.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.datasets import entries, readers
    >>> log = entries.Log(np.array([0, 0, 1]), np.array([0, 1, 1]), ratings=np.array([5.0, 2.0, 4.0]))
    >>> data = readers.to_interactions(log, name="mine", min_rating=4, merge=False)
    >>> data.pairs.tolist()
    [[0, 0], [1, 1]]
    """
    kept = np.ones(len(log.users), dtype=bool)
    if min_rating is not None:
        if log.ratings is None:
            raise ValueError(f"min_rating must be left out for {name}, which has no ratings, got {min_rating!r}")
        if log.ratings_known_above is not None and min_rating <= log.ratings_known_above:
            raise ValueError(
                f"min_rating must be above {log.ratings_known_above:g} or None (all pairs) for this copy of {name}, "
                f"got {min_rating!r}: it knows which pairs were rated, but the value only of those with more than "
                f"{log.ratings_known_above:g} stars. The original ratings.dat has them all"
            )
        kept = log.ratings >= min_rating
    partly_known = min_rating is None and log.ratings_known_above is not None
    m, n = log.shape
    make = partial(Interactions.merged, keep="first") if merge else Interactions
    return make(
        log.users[kept],
        log.items[kept],
        n_users=m,
        n_items=n,
        times=None if log.times is None or partly_known else log.times[kept],
        ratings=None if log.ratings is None or partly_known else log.ratings[kept],
        name=name,
        user_table={"id": np.arange(m), **log.user_table},
        item_table={"id": np.arange(n), **log.item_table},
    )
