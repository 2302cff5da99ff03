"""What the chapter says of data, on PRACTICE-1: people and seeds are repetitions, protocols and data sets are cases."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from course_lib.lessons.shared.findings import Difference, finding, holm

SAMPLES = (1, 2, 5, 10, 20, 50, 100, 200)  # of the paths of the sampled hit; then all films


class Board(NamedTuple):
    """The rows of one data set, protocol and judged window of the stored result; window 0 pools several."""

    stored: Any
    data: str = "movietweetings-10core"
    protocol: str = "core of all"
    window: int = 1

    @property
    def where(self) -> dict[str, Any]:
        return {"data": self.data, "protocol": self.protocol, "window": self.window}

    def rows(self) -> list[dict[str, Any]]:
        """The tidy rows, for `shared.scoreboard`."""
        found: list[dict[str, Any]] = self.stored.select(**self.where)
        return found

    def mean(self, row: str, metric: str) -> float:
        """The mean over seeds, where the number has seeds."""
        return float(self.stored.mean(metric, row=row, **self.where))

    def by_seed(self, row: str, metric: str = "recall@10") -> np.ndarray:
        """The numbers of the seeds, in their order."""
        return np.array(self.stored.values(metric, row=row, **self.where))

    def sampled(self, row: str, m: int | None) -> np.ndarray:
        """The expected hit@10 among m sampled films, or among all, by seed."""
        place = -1 if m is None else SAMPLES.index(m)
        found = self.stored.select(metric="sampled hit", row=row, **self.where)
        return np.array([one["path"][place] for one in sorted(found, key=lambda one: one["seed"])])

    def over_people(self, row: str, name: str = "gain") -> Difference:
        """The stored difference, from each person's mean over the seeds, with Student's interval over people."""
        counted = "beyond people" if name.startswith("beyond") else "people"
        people = self.stored.values(counted, **{**self.where, "window": self.window or 1})
        half = self.mean(row, f"{name} half")
        over = "mean of 5 seeds, interval over people"
        return Difference(self.mean(row, name), half, over=over, df=int(people[0]) - 1)


BOARDS: dict[str, dict[str, Any]] = {
    "MovieTweetings, core of all": {},
    "MovieTweetings, core of the past": {"data": "movietweetings", "protocol": "core of the past"},
    "MovieTweetings, five windows": {"data": "movietweetings", "protocol": "five windows", "window": 0},
    "ML-1M": {"data": "ml-1m"},
}
WITH_SAMPLES = {name: BOARDS[name] for name in ("MovieTweetings, core of all", "ML-1M")}
FILMS, WINDOWS = "MovieTweetings, core of all", "MovieTweetings, five windows"
on_boards = partial(finding, rests_on=["PRACTICE-1-laptop"], case="board", family="recall")
on_sets = partial(finding, rests_on=["PRACTICE-1-laptop"], case="data set", family="sampled hit")


def board(stored: Any, name: str = FILMS) -> Board:
    """The board of this name."""
    return Board(stored, **BOARDS[name])


def there(stored: Any, row: str, names: Iterable[str] = BOARDS) -> dict[str, Board]:
    """The boards that have this row: not every run has to be there."""
    found = {name: board(stored, name) for name in names}
    return {name: one for name, one in found.items() if stored.select(row=row, **one.where)}


@on_sets("Among 20 sampled films the corrected towers are first of all rows", claimed=[FILMS])
def sampled_winner(stored: Any) -> dict[str, Difference]:
    """Expected hit@10 among 20 sampled films of the corrected towers minus that of the best other row, over seeds."""
    others = ("plain + hits", "last tenth")
    return {
        name: Difference.above(one.sampled("logQ", 20) - max(one.sampled(row, 20).mean() for row in others))
        for name, one in there(stored, "logQ", WITH_SAMPLES).items()
    }


@on_sets("Among all films the corrected towers hit fewer than the list of the last tenth does", claimed=[FILMS])
def sampled_winner_loses_among_all(stored: Any) -> dict[str, Difference]:
    """Hit@10 among all films of the list minus that of the corrected towers, over seeds."""
    return {
        name: Difference.above(one.sampled("last tenth", None)[0] - one.sampled("logQ", None))
        for name, one in there(stored, "logQ", WITH_SAMPLES).items()
    }


@on_boards("The list that was chosen in the window before finds more than the corrected towers alone")
def list_beats_the_towers(stored: Any) -> dict[str, Difference]:
    """Recall@10 of the chosen list minus that of the corrected towers, over people."""
    return {name: -one.over_people("logQ") for name, one in there(stored, "logQ").items()}


@on_boards(
    "With hits added at serving, the plain towers find more than the list that was chosen in the window before",
    claimed=[FILMS, "ML-1M"],
)
def hits_beat_the_chosen_list(stored: Any) -> dict[str, Difference]:
    """Recall@10 of the plain towers with hits minus that of the chosen list, over people."""
    return {name: one.over_people("plain + hits") for name, one in there(stored, "plain + hits").items()}


@on_boards(
    "With hits added at serving, the towers trained in order of time find more than the chosen list",
    claimed=[FILMS, WINDOWS],
)
def in_time_beats_the_chosen_list(stored: Any) -> dict[str, Difference]:
    """Recall@10 of the towers trained in order of time, with hits, minus that of the chosen list, over people."""
    row = "plain in time + hits"
    return {name: one.over_people(row) for name, one in there(stored, row).items()}


@on_boards(
    "Of films outside the hundred hottest, the corrected towers alone find more than the list chosen for these",
    claimed=[FILMS],
)
def towers_find_more_beyond_the_hottest(stored: Any) -> dict[str, Difference]:
    """Recall@10 on the shelf without the hundred hottest films, of the towers minus that of the list, over people."""
    found = there(stored, "logQ", [name for name in BOARDS if BOARDS[name].get("window") != 0])
    return {name: one.over_people("logQ", "beyond gain") for name, one in found.items()}


# ---- numbers that are no sentence of their own
KEYS = dict(zip(BOARDS, ("all", "past", "windows", "ml"), strict=True))  # in the names of the page's numbers


class Thirteen(NamedTuple):
    """Twelve trainings against a thirteenth: the least p with its change, how many are below 5 %, and Holm's p."""

    least: float
    change: float
    below: int
    corrected: float


def thirteen(stored: Any) -> Thirteen:
    """The twelve comparisons of the protocol "thirteen seeds"."""
    where = {"protocol": "thirteen seeds", "row": "logQ"}
    ps, changes = (np.array(stored.values(metric, **where)) for metric in ("p", "change"))
    at = int(ps.argmin())
    return Thirteen(float(ps[at]), float(changes[at]), int((ps < 0.05).sum()), min(holm(ps.tolist())))
