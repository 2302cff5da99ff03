"""Which rules of the page "How we compare" an experiment obeys, and whether its stored result shows it.

An experiment says so where it is registered, `experiment(..., rules=Rules(path="stored", lists=True))`. Those that were
registered before there were rules stand in OLDER: most of their trainings store their end only. No other may.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Path = Literal["stored", "end only", "no training"]
LISTS = "LISTS-X1"  # whose rows stand beside those of the others


@dataclass(frozen=True)
class Rules:
    """What an experiment keeps of the rules.

    path: whether the numbers of a training are stored along its way, at its end, or nothing is trained. lists: its
    table judges lists, so it is read beside those of LISTS-X1. splits: where each seed has another random split of one
    data set, the pairs tested over the pairs trained on. predictions: the commit that says what was to be seen.
    """

    path: Path
    lists: bool = False
    splits: float = 0.0
    predictions: str = ""


_END, _NONE = Rules("end only"), Rules("no training")
_NINE, _EIGHT = Rules("end only", splits=1 / 9), Rules("end only", splits=1 / 8)
_NINE_LISTS, _EIGHT_LISTS = Rules("end only", True, 1 / 9), Rules("end only", True, 1 / 8)
OLDER: Mapping[str, Rules] = {
    **{f"P0-E{number}": _END for number in range(8)},
    **dict.fromkeys(("P0-E8", "P0-E9", "P0-E10", "P0-R", "P0-C"), _NINE_LISTS),
    "P1-T1": _NONE,
    **dict.fromkeys(("P1-F1", "P1-F3", "P1-F4", "P1-X2"), _EIGHT),
    **dict.fromkeys(("P1-T2", "P1-T3", "P1-T4", "P1-T5", "P1-X1"), _EIGHT_LISTS),
    "P2-X1": _NONE,
    **dict.fromkeys(("P2-X2", "P2-X3"), _END),
    "P3-T3": _NONE,
    **dict.fromkeys(("P3-T4", "P3-T5", "P3-T6", "P3-X1"), _NINE_LISTS),
    "P3-X2": Rules("stored", True, 1 / 9, predictions="fd51dc46"),
    "P3-X3": Rules("stored", True, 1 / 9, predictions="c47a7b67"),
    **dict.fromkeys(("P4-F2", "P4-F3", "P4-F7"), _NINE),
    **dict.fromkeys(("P4-F6", "P4-T2"), _NINE_LISTS),
    **dict.fromkeys(("P4-F8", "TEXT-X2"), Rules("end only", True, 1 / 4)),
    "P4-T1": _NONE,
    **dict.fromkeys(("SCALE-X1", "SCALE-X3", "SCALE-X5"), _NONE),
    "SCALE-X2": _NINE_LISTS,
    "SCALE-X4": _END,
    "PRACTICE-1": Rules("stored", True, predictions="131c4228"),
    "PRACTICE-3": Rules("stored", True, predictions="855e55fa"),
    "PRACTICE-4": Rules("stored", True, predictions="0320cfb0"),
    "SCALE-X6": Rules("stored", True, predictions="b3d76dd2"),
    "TEXT-X1": _NONE,
    LISTS: _NONE,
}
