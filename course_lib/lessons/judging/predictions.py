"""What became of the seven predictions of PRACTICE-1, computed from its stored result.

The predictions stand in full in `course_lib.experiments.practice.judging.PREDICTIONS`, as they were before the run.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from course_lib.lessons.judging.findings import WINDOWS, WITH_SAMPLES, Board, board, there, thirteen
from course_lib.lessons.shared.scalars import Table

ALONE = ("first model", "logQ", "plain", "plain in time")
ROWS = ("popular", "last tenth", "decayed", *ALONE, *(f"{model} + hits" for model in ALONE))
WORDS = {True: "held", False: "failed", None: "not all of it was run"}
Verdict = bool | None  # None: what it needs was not run


def order_turns(stored: Any) -> Verdict:
    """Prediction 1."""
    found = there(stored, "logQ", WITH_SAMPLES)

    def order(one: Board, m: int | None) -> list[int]:
        rows = [row for row in ROWS if stored.select(row=row, metric="sampled hit", **one.where)]
        return [int(k) for k in np.argsort([-one.sampled(row, m).mean() for row in rows], kind="stable")]

    return all(order(one, 20) != order(one, None) for one in found.values()) if len(found) == 2 else None


def models_alone_lose(stored: Any) -> Verdict:
    """Prediction 2."""
    gains = [
        row["value"] for row in stored.select(metric="gain", row=ALONE) if row["data"] != "ml-1m" and row["window"]
    ]
    if max(gains) >= 0:
        return False
    run = [there(stored, model, [WINDOWS]) for model in ALONE[1:]]
    return True if all(run) else None


def time_cut_wins(stored: Any) -> Verdict:
    """Prediction 3."""
    if not there(stored, "plain in time + hits", [WINDOWS]):
        return None
    return board(stored, WINDOWS).mean("plain in time + hits", "windows won") >= 3


def hits_win_on_ml(stored: Any) -> Verdict:
    """Prediction 4."""
    found = there(stored, "plain + hits", ["ML-1M"])
    return found["ML-1M"].mean("plain + hits", "gain low") > 0 if found else None


def plain_shows_more(stored: Any) -> Verdict:
    """Prediction 5."""
    first = board(stored)
    return first.mean("plain + hits", "films shown") >= 2 * first.mean("logQ + hits", "films shown")


def towers_win_beyond(stored: Any) -> Verdict:
    """Prediction 6."""
    return board(stored).mean("logQ", "beyond gain low") > 0


def seeds_look_better(stored: Any) -> Verdict:
    """Prediction 7."""
    if not any(row["protocol"] == "thirteen seeds" for row in stored.rows):
        return None
    found = thirteen(stored)
    return found.below > 0 and found.corrected >= 0.05


PREDICTIONS = {
    "On each data set the order among 20 sampled films is another one than that among all": order_turns,
    "On MovieTweetings each model alone finds less than the chosen list, in each judged window": models_alone_lose,
    "In at least three of four windows the model in order of time, with hits, finds more than the list": time_cut_wins,
    "On ML-1M the plain model with hits finds more than the chosen list, the interval above 0": hits_win_on_ml,
    "The plain model with hits shows at least twice as many films as the one with logQ and hits": plain_shows_more,
    "Outside the 100 hottest films the model with logQ finds more than the list, interval above 0": towers_win_beyond,
    "Of twelve trainings against a thirteenth some differ at 5 %, and none after Holm's correction": seeds_look_better,
}


def table(stored: Any) -> Table:
    """Each prediction in short, and whether it held."""
    rows = [[text, WORDS[verdict(stored)]] for text, verdict in PREDICTIONS.items()]
    return Table("What was predicted, and what came of it.", ("prediction", "outcome"), rows)
