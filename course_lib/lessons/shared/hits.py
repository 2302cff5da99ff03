"""Models beside the lists that need none: what was popular, what was popular lately, films at random.

    train, test = hits.in_time(data)                   # the last tenth in time is the test
    hits.beside({"MF": tables_of_seeds}, train, test, caption="...", k=10, metric="mrr")

gives a table: for each model and each list the metric (mean over seeds, lowest to highest), the share of the films that
stand in any list, and the mean count of a film in a list. The line below it says who beats the lists.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_lib import metrics, popularity
from course_lib.interactions import Interactions
from course_lib.lessons.shared.scalars import Table

LATELY = 0.1  # of the training pairs
POPULAR, RECENT, RANDOM = "the most popular films", "popular lately", "films at random"
LISTS = (POPULAR, RECENT, RANDOM)
Tables = tuple[np.ndarray, np.ndarray]


def in_time(data: Interactions, share: float = 0.9, *, core: int = 1) -> tuple[Interactions, Interactions]:
    """(train, test): the last pairs in time are the test; people and films without an earlier pair are left out.

    core: of the earlier pairs, those of people and of films with this many of them, so that the choice of people and
    films knows nothing later.

    >>> from course_lib.interactions import Interactions
    >>> data = Interactions([0, 0, 1, 1, 2], [0, 1, 1, 0, 1], n_users=3, n_items=2, times=[1, 2, 3, 4, 5])
    >>> train, test = in_time(data, 0.6)
    >>> train.pairs.tolist(), test.pairs.tolist()
    ([[0, 0], [0, 1], [1, 1]], [[1, 0]])
    """
    train, test = data.split_by_time(share)
    train = train.k_core(core)
    rows, cols = train.row_counts > 0, train.col_counts > 0
    test = test.select(rows[test.users] & cols[test.items])
    new_row, new_col = np.cumsum(rows) - 1, np.cumsum(cols) - 1
    smaller = train.compact()
    users, items = new_row[test.users], new_col[test.items]
    return smaller, Interactions(users, items, n_users=smaller.n_users, n_items=smaller.n_items, name=test.name)


def without_a_model(train: Interactions, *, seed: int = 0) -> dict[str, Tables]:
    """Tables whose scores are the counts, the counts of the last tenth (where there are times), and random numbers.

    >>> from course_lib.interactions import Interactions
    >>> train = Interactions(range(10), [0] * 9 + [1], n_users=10, n_items=2, times=range(10))
    >>> {name: items.ravel().tolist() for name, (_, items) in without_a_model(train).items() if name != RANDOM}
    {'the most popular films': [9.0, 1.0], 'popular lately': [0.0, 1.0]}
    """
    ones, rng = np.ones((train.n_users, 1)), np.random.default_rng([seed, 1])
    found = {POPULAR: (ones, metrics.popularity_scores(train)[:, None])}
    if train.times is not None:
        found[RECENT] = ones, metrics.popularity_scores(train, lately=LATELY)[:, None]
    found[RANDOM] = rng.normal(size=(train.n_users, 16)), rng.normal(size=(train.n_items, 16))
    return found


@dataclass(frozen=True)
class Beside:
    """The table and the line below it. found: name -> (seeds, 3): the metric, share of films shown, mean count."""

    caption: str
    metric: str
    found: Mapping[str, np.ndarray]
    digits: int = 3

    @property
    def best_list(self) -> str:
        """The list of hits that finds more."""
        there = [name for name in (POPULAR, RECENT) if name in self.found]
        return max(there, key=lambda name: float(self.found[name][:, 0].mean()))

    @property
    def words(self) -> str:
        """Who finds more than the better list of hits, with every seed."""
        bar = float(self.found[self.best_list][:, 0].max())
        models = [name for name in self.found if name not in LISTS]
        over = [name for name in models if self.found[name][:, 0].min() > bar]
        best = f"{self.best_list} ({bar:.{self.digits}f})"
        if not over:
            return f"Who beats the lists? None of the {len(models)} models finds more than {best} with every seed."
        said = "All" if len(over) == len(models) else f"{len(over)} of {len(models)}"
        return f"Who beats the lists? {said}: {'; '.join(over)}, against {best}."

    def table(self) -> Table:
        """The numbers."""
        heads = ["how the list is made", self.metric, "lowest to highest", "films ever shown, %", "mean count"]
        rows = []
        for name, numbers in self.found.items():
            values, shown, count = numbers.T
            spread = f"{values.min():.{self.digits}f} to {values.max():.{self.digits}f}" if len(values) > 1 else "–"
            ends = [f"{100 * shown.mean():.0f}", f"{count.mean():.0f}"]
            rows.append([name, f"{values.mean():.{self.digits}f}", spread, *ends])
        return Table(self.caption, heads, rows)

    def __repr__(self) -> str:
        return f"{self.table()!r}\n{self.words}"

    def _repr_html_(self) -> str:
        return f'{self.table()._repr_html_()}<p class="lists">{html.escape(self.words)}</p>'


def look(tables: Tables, train: Interactions, test: Interactions, *, k: int, metric: str) -> tuple[float, float, float]:
    """(metric, share of films in any list, mean count in a list) of the k best unseen films of each test person."""
    lists, found = metrics.lists_and_metrics(*tables, train, test, k)
    shown = popularity.average_popularity(lists, train.col_counts)
    return float(found[f"{metric}@{k}"]), metrics.coverage(lists, train.n_items), float(shown)


def beside(
    models: Mapping[str, Sequence[Tables]],
    train: Interactions,
    test: Interactions,
    *,
    caption: str,
    k: int,
    metric: str,
    factor: float = 1.0,
    name: str | None = None,
    digits: int = 3,
) -> Beside:
    """The models, each with its tables by seed, and the lists without a model. factor: 100 for percent.

    >>> import numpy as np
    >>> from course_lib.interactions import Interactions
    >>> train = Interactions(range(10), [0] * 7 + [1] * 3, n_users=10, n_items=3, times=range(10))
    >>> test = Interactions([0], [1], n_users=10, n_items=3)
    >>> right = np.ones((10, 1)), np.array([[3.0], [2.0], [1.0]])
    >>> beside({"model": [right]}, train, test, caption="An example.", k=1, metric="recall").words
    'Who beats the lists? None of the 1 models finds more than the most popular films (1.000) with every seed.'
    """
    found: dict[str, Any] = {}
    for title, of_seeds in {**models, **{one: [at] for one, at in without_a_model(train).items()}}.items():
        numbers = np.array([look(tables, train, test, k=k, metric=metric) for tables in of_seeds])
        found[title] = numbers * [factor, 1.0, 1.0]
    said = name or {"recall": "recall", "precision": "P", "map": "MAP", "mrr": "MRR", "ndcg": "NDCG"}[metric] + f"@{k}"
    return Beside(caption, said, found, digits)
