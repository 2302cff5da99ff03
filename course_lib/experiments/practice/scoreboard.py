"""What the experiments of this part have in common: windows of time, lists of hits, and what a list finds and shows.

A model is two tables whose inner product is its score; a list of hits is the tables of ones and of counts. A setting
(the half life of the hits, their weight) is chosen in the window before the one that it is judged in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats
from torch import Tensor
from torch.nn import functional as F

from course_lib import hits, metrics, popularity
from course_lib.experiments.core.summary import Row, half_width, means, tidy
from course_lib.interactions import Interactions
from course_lib.intervals import bootstrap_interval
from course_lib.training import resumable
from course_lib.training.on_pairs import new_tables, train_on_pairs

Float = NDArray[np.float64]
Tables = tuple[Any, Any]  # (m, d) and (n, d), scored by inner product
Kind = float | str  # of a list: see `list_tables`
Rate = Callable[[Tables, "Window"], Float]  # one number a person

LENGTH = 10  # of a list
HALF_LIVES = (2.0, 3.0, 5.0, 7.0, 10.0, 20.0)  # days
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
LATELY = 0.1  # of the training pairs: the last tenth
SAMPLES = (1, 2, 5, 10, 20, 50, 100, 200)  # films that a hidden film is compared with; then all
WIDTH, BATCH, RATE = 32, 512, 0.01


class Window(NamedTuple):
    """The pairs before a moment, and those of known people from then until the next moment.

    people (m,), films (n,): their numbers in the whole data set. now: the time of the latest earlier pair.
    """

    train: Interactions
    later: Interactions
    people: NDArray[np.int64]
    films: NDArray[np.int64]
    now: float


def windows(data: Interactions, cuts: Sequence[float], core: int | None = None) -> list[Window]:
    """One window for each cut: it begins with pair number cut * |O| in order of time and ends where the next begins.

    core: only people and films with so many pairs before the cut, among each other. None: all rows of the data.
    """
    if data.times is None:
        raise ValueError("data has no times; expected a time for each pair, to cut windows")
    times = np.sort(data.times)
    starts = [times[round(cut * len(data))] for cut in cuts] + [np.inf]
    return [_window(data, start, end, core) for start, end in pairwise(starts)]


def _window(data: Interactions, start: float, end: float, core: int | None) -> Window:
    assert data.times is not None
    earlier = data.select(data.times < start)
    later = data.select((data.times >= start) & (data.times < end))
    now = float(earlier.times.max())  # type: ignore[union-attr]
    earlier = earlier if core is None else earlier.k_core(core)
    films = earlier.col_counts > 0 if core else np.ones(data.n_items, dtype=bool)
    people = earlier.row_counts > 0 if core else np.ones(data.n_users, dtype=bool)
    known = later.select(earlier.row_counts[later.users] > 0)
    return Window(
        _relabelled(earlier, people, films),
        _relabelled(known, people, films),
        np.flatnonzero(people),
        np.flatnonzero(films),
        now,
    )


def without(window: Window, films: NDArray[np.int64]) -> Window:
    """The same window on the other films only: what a shelf without these films finds of what is not among them."""
    kept = np.ones(window.train.n_items, dtype=bool)
    kept[films] = False
    everybody = np.ones(window.train.n_users, dtype=bool)
    train, later = (_relabelled(part, everybody, kept) for part in (window.train, window.later))
    return Window(train, later, window.people, window.films[kept], window.now)


def _relabelled(pairs: Interactions, rows: NDArray[np.bool_], cols: NDArray[np.bool_]) -> Interactions:
    """The pairs of these rows and columns, numbered from 0 on."""
    kept = rows[pairs.users] & cols[pairs.items]
    return Interactions(
        (np.cumsum(rows) - 1)[pairs.users[kept]],
        (np.cumsum(cols) - 1)[pairs.items[kept]],
        n_users=int(rows.sum()),
        n_items=int(cols.sum()),
        times=None if pairs.times is None else pairs.times[kept],
        name=pairs.name,
    )


# ------------------------------------------------------------------------------------------------------- lists of hits
def as_tables(counts: Float, people: int) -> Tables:
    """A list of hits as two tables: the same list for everybody."""
    return np.ones((people, 1)), np.asarray(counts, dtype=np.float64)[:, None]


def list_tables(window: Window, half_life: Kind) -> Tables:
    """The tables of a list: "popular" counts all pairs, "last tenth" the latest, a number the decayed ones."""
    train = window.train
    if half_life == "popular":
        counts = train.col_counts.astype(np.float64)
    elif half_life == "last tenth":
        counts = metrics.popularity_scores(train, lately=LATELY)
    else:
        counts = hits.decayed_counts(train, float(half_life), now=window.now)
    return as_tables(counts, train.n_users)


def chosen_list(before: Window, rate: Rate, among: Sequence[Kind]) -> Kind:
    """The list that finds most in the window before; of equal ones the first."""
    return max(among, key=lambda kind: float(rate(list_tables(before, kind), before).mean()))


# ------------------------------------------------------------------------------------------------------------- training
@contextmanager
def one_thread() -> Iterator[None]:
    """torch on one thread: its sums are then made in one order, and the last digits are the same on every machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@resumable.once
def cosine_training(
    window: Window,
    rate: Rate,
    *,
    tau: float,
    corrected: bool = False,
    in_time: bool = False,
    passes: int,
    seed: int,
) -> tuple[Tables, list[float], list[float]]:
    """The tables of `training.on_pairs.cosine_tables`, with the mean loss of each pass and the recall after it.

    corrected: the logQ correction by the films' shares of all training pairs. rate: of the model alone, in `window`.
    """
    train = window.train
    generator = torch.Generator().manual_seed(seed)
    users, items = new_tables(train, WIDTH, generator)
    shares = torch.tensor(np.log(np.maximum(train.col_counts, 1) / len(train)), dtype=torch.float32)
    log_q = shares if corrected else torch.zeros(train.n_items)
    of_batches: list[float] = []
    losses, rates = [], []

    def loss(u: Tensor, i: Tensor) -> Tensor:
        cosines = F.normalize(users[u], dim=1) @ F.normalize(items[i], dim=1).T  # (B, d) @ (d, B)
        value = F.cross_entropy(cosines / tau - log_q[i], torch.arange(len(u)))
        of_batches.append(float(value.detach()))
        return value

    def look(done: int) -> None:
        if done:
            losses.append(float(np.mean(of_batches)))
            rates.append(float(rate(alone((users.detach(), items.detach()), tau), window).mean()))
        of_batches.clear()

    train_on_pairs(
        train,
        loss,
        (users, items),
        generator,
        passes=passes,
        batch=BATCH,
        rate=RATE,
        in_time=in_time,
        after_pass=look,
    )
    return (users.detach().numpy(), items.detach().numpy()), losses, rates


def alone(tables: Tables, tau: float) -> Tables:
    """Tables whose inner product is the cosine divided by the temperature."""
    users, items = (F.normalize(torch.as_tensor(table), dim=1).double().numpy() for table in tables)
    return users / tau, items


def with_hits(tables: Tables, window: Window, tau: float, half_life: float, weight: float) -> Tables:
    """`hits.with_hits` with the decayed counts of a window."""
    if not weight:
        return alone(tables, tau)
    counts = hits.decayed_counts(window.train, half_life, now=window.now)
    return hits.with_hits(*tables, counts, tau=tau, weight=weight)


def chosen_hits(
    before: Window, trainings: Sequence[Tables], tau: float, rate: Rate, films: NDArray[np.int64] | None = None
) -> tuple[float, float]:
    """(half life, weight) that find most in the window before, as a mean over the trainings; of equal ones the first.

    films: the films of `before` that these tables are cut to, where it is a shelf.
    """

    def found(setting: tuple[float, float]) -> float:
        served = (with_hits(_cut(tables, films), before, tau, *setting) for tables in trainings)
        return float(np.mean([rate(one, before).mean() for one in served]))

    return max(product(HALF_LIVES, WEIGHTS), key=found)


def _cut(tables: Tables, films: NDArray[np.int64] | None) -> Tables:
    return tables if films is None else (tables[0], tables[1][films])


# ------------------------------------------------------------------------------------------------------------ measuring
def recall(tables: Tables, window: Window) -> Float:
    """Recall@10 of each person with a later pair: the share of their later films that stands in their ten."""
    return _found(tables, window)[0]


def capped_recall(tables: Tables, window: Window) -> Float:
    """The same where many people have more than ten later films: as a share of the films that ten places can hold."""
    values, counts = _found(tables, window)
    return values * counts / np.minimum(counts, LENGTH)


def _found(tables: Tables, window: Window) -> tuple[Float, NDArray[np.int64]]:
    """Recall, and the number of later films, of each person who has one."""
    lists = _lists(tables, window)
    ranked = np.full((window.train.n_users, LENGTH), -1, dtype=np.int64)
    people = np.flatnonzero(window.later.row_counts)
    ranked[people] = lists
    found = metrics.metrics_from_ranking(ranked, window.later, (LENGTH,))
    return found["per_user"][f"recall@{LENGTH}"], window.later.row_counts[people]


def _lists(tables: Tables, window: Window) -> NDArray[np.int64]:
    """(u, 10) the lists of the people with a later pair."""
    return metrics.top_k(*tables, window.train, LENGTH, user_ids=np.flatnonzero(window.later.row_counts))


def shown(tables: Tables, window: Window) -> dict[str, float]:
    """How many films stand in any list, and how many pairs a place's film has on average."""
    lists = _lists(tables, window)
    return {
        "films shown": round(metrics.coverage(lists, window.train.n_items) * window.train.n_items),
        "mean count@10": popularity.average_popularity(lists, window.train.col_counts),
    }


def full_ranks(tables: Tables, window: Window) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(rank, number of others) of each later pair, among the films that its person has not rated before.

    Equal scores: the film with the lower number first, as in `metrics.top_k`.
    """
    users, items = (np.asarray(table, dtype=np.float64) for table in tables)
    ranks, others = [], []
    for person in np.flatnonzero(window.later.row_counts).tolist():
        scores = items @ users[person]
        scores[window.train.items_of(person)] = -np.inf
        place = np.empty(len(scores), dtype=np.int64)
        place[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
        ranks.append(place[window.later.items_of(person)])
        others.append(np.full(len(ranks[-1]), len(scores) - 1 - window.train.row_counts[person]))
    return np.concatenate(ranks), np.concatenate(others)


def sampled_hits(ranks: NDArray[np.int64], others: NDArray[np.int64], m: int | None) -> float:
    """The mean over pairs of the expected hit@10 among m sampled films, or all where there are fewer; None: among all.

    The sum of `metrics.sampled_hit`, for pairs of different numbers of others at once.
    """
    if m is None:
        return float((ranks <= LENGTH).mean())
    return float(stats.hypergeom.cdf(LENGTH - 1, others, ranks - 1, np.minimum(m, others)).mean())


def sampled_path(tables: Tables, window: Window) -> list[float]:
    """The expected sampled hit@10 for each number of `SAMPLES`, and at last the hit@10 among all films."""
    ranks, others = full_ranks(tables, window)
    return [sampled_hits(ranks, others, m) for m in (*SAMPLES, None)]


def over_people(values: Float, name: str) -> dict[str, float]:
    """The mean, the bootstrap's interval over people, and what Student's interval is made of, under this name."""
    mean, low, high = bootstrap_interval(values, np.random.default_rng(0))
    return {name: mean, f"{name} low": low, f"{name} high": high, f"{name} half": half_width(values)}


def by_person(values: Sequence[Float], windows_: Sequence[Window]) -> Float:
    """One number for each person over several windows: the mean of their own."""
    people = np.concatenate([one.people[np.flatnonzero(one.later.row_counts)] for one in windows_])
    sums = np.bincount(people, weights=np.concatenate(values))
    counts = np.bincount(people)
    mean: Float = sums[counts > 0] / counts[counts > 0]
    return mean


def path_rows(where: Row, losses: Sequence[float], rates: Sequence[float], seed: int) -> list[Row]:
    """The curve of a training: the loss of each pass and the recall after it; the value is the last."""
    return [
        *tidy({**where, "seed": seed}, {"loss": losses[-1]}, path=[round(value, 4) for value in losses]),
        *tidy({**where, "seed": seed}, {"recall on the way": rates[-1]}, path=[round(value, 4) for value in rates]),
    ]


def path_row(where: Row, name: str, path: Sequence[float]) -> Row:
    """The best number on the way of the training with seed 0, and the way."""
    return {**where, "seed": 0, "metric": name, "value": float(max(path)), "path": [round(one, 4) for one in path]}


def named_by(*keys: str) -> Callable[[list[Row]], dict[str, float]]:
    """What makes the scalars of a result: means over seeds, named by those of these keys that a row has."""

    def scalars(rows: list[Row]) -> dict[str, float]:
        points = (row for row in rows if "path" not in row)
        return means(points, lambda row: "-".join(str(row[key]) for key in keys if row.get(key) is not None))

    return scalars
