"""Which predictions of PRACTICE-2 held: each is one condition on the stored rows."""

from __future__ import annotations

from itertools import pairwise

from course_lib.experiments.core.results import Result
from course_lib.experiments.practice.negatives import PREDICTIONS, TOP

FILMS, LARGE, CLOSE = "movietweetings-10core", "ml-1m", 0.01
RECALL = f"recall@{TOP}"


def verdicts(result: Result) -> dict[str, tuple[str, bool]]:
    """Name of a prediction -> its words, and whether it held.

    Parameters
    ----------
    result : Result
        PRACTICE-2 with both data sets.

    Returns
    -------
    dict
        In the order of `PREDICTIONS`.
    """
    _, films, _ = result.curve("films shown", "tau", data=FILMS, loss="logQ", serving="alone")
    held = {
        "agree": all(abs(value) <= CLOSE for value in result.values("minus plain", data=FILMS, tau=0.2)),
        "films": all(
            result.mean("films shown", data=data, loss="plain", tau=0.5, serving="with hits")
            >= 2 * result.mean("films shown", data=data, loss="logQ", tau=0.5, serving="with hits")
            for data in (FILMS, LARGE)
        ),
        "hard": all(
            abs(
                result.mean(RECALL, data=FILMS, loss="hardest", tau=tau, serving=serving)
                - result.mean(RECALL, data=FILMS, loss="logQ", tau=tau, serving=serving)
            )
            <= CLOSE
            for tau in (0.2, 0.5)
            for serving in ("alone", "with hits")
        ),
        "refined": all(
            abs(value) <= CLOSE for value in result.values("minus logQ", data=FILMS, loss="refined", tau=(0.2, 0.5))
        ),
        "in time": all(
            abs(row["value"]) < row["half"]
            for row in result.select(metric="minus plain", data=FILMS, loss="in time", tau=(0.2, 0.5))
        ),
        "list": all(
            row["value"] > row["half"]
            for row in result.select(metric="minus the list", loss="plain", tau=0.5, serving="with hits")
        ),
        "alone": all(value < 0 for value in result.values("minus the list", serving="alone")),
        "variety": all(later < earlier for earlier, later in pairwise(films)),
    }
    return {name: (words, held[name]) for name, words in PREDICTIONS.items()}
