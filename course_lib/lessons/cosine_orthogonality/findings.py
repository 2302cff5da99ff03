"""What the chapter on cosine gradients says of data: over three seeds, on one data set (MovieTweetings).

Each finding is given one `training.free_vectors.TableRun` for each seed, and what it needs to know of the films.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from course_lib import geometry
from course_lib.lessons.shared.findings import Difference, finding
from course_lib.training.free_vectors import TableRun

on_films = partial(finding, case="data set", cases="MovieTweetings")
ROUNDING = 1e-12  # more than float64 loses in one step or in a sum of a hundred, far less than a step moves


def length_ratio(run: TableRun, counts: NDArray[np.int64]) -> float:
    """Mean length of the vectors of the most popular tenth of the films over that of the others.

    counts (n,): ratings of each film; of films with the same count the one with the smaller id counts as more popular.
    """
    order, tenth = np.argsort(-counts, kind="stable"), len(counts) // 10
    lengths = np.asarray(geometry.norm(run.items))
    return float(lengths[order[:tenth]].mean() / lengths[order[tenth:]].mean())


@on_films("Under the cosine no move makes a film's vector shorter, beyond rounding")
def no_move_shortens(cosine_runs: Sequence[TableRun]) -> Difference:
    """1e-12 minus the largest share of its length that a vector loses in a move, over seeds; above 0 in each."""
    lost = [float((1 - run.moves.after / run.moves.before).max()) for run in cosine_runs]
    return Difference.each([ROUNDING - share for share in lost])


@on_films("Under the dot product more than half of the moves make their vector shorter")
def dot_moves_shorten(dot_runs: Sequence[TableRun]) -> Difference:
    """The share of such moves, minus a half, over seeds."""
    return Difference.above([run.moves.shorter / len(run.moves) for run in dot_runs], 1 / 2)


@on_films("The most popular tenth of the films ends at least a quarter longer than the rest", bound_after=True)
def popular_films_end_longer(cosine_runs: Sequence[TableRun], counts: NDArray[np.int64]) -> Difference:
    """Mean length of that tenth over that of the rest, minus 1.25, over seeds."""
    return Difference.above([length_ratio(run, counts) for run in cosine_runs], 1.25)


@on_films("Pythagoras gives the last length of every film from its first length and its steps")
def pythagoras_adds_up(cosine_runs: Sequence[TableRun]) -> Difference:
    """1e-12 minus the largest relative error of sqrt(||q_0||^2 + sum ||dq||^2), over seeds; above 0 in each."""
    errors = []
    for run in cosine_runs:
        last, predicted = run.moves.pythagoras()
        errors.append(float(np.abs(last / predicted - 1).max()))
    return Difference.each([ROUNDING - error for error in errors])
