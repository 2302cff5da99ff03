"""Stored results beside the numbers that the papers print: each cell judged by the one rule of `papers.agreement`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from course_lib.experiments.core.summary import Row
from course_lib.papers.agreement import Judged, Spread, judge, shared, weigh

if TYPE_CHECKING:  # a result shows itself with these verdicts
    from course_lib.experiments.core.results import Result

# Where our data are the paper's. Everywhere else a printed number is compared with ours on other data.
SAME_DATA = {
    "P1-F1": {"ml-1m-10core"},
    "P3-T3": {"ml-1m"},
    "P3-T4": {"ml-1m"},
    "P3-T5": {"ml-1m"},
    "P3-T6": {"ml-1m"},
    "P3-X3": {"ml-1m"},
}
# What our runs of an experiment vary, and the printed number does not know: a paper prints it once for all of them.
OURS_ALONE: dict[str, set[str]] = {
    **{f"P0-E{number}": {"d"} for number in range(1, 8)},  # its toy has one width, which it does not print
    "P0-E8": {"data", "setting", "lists"},
    "P1-F1": {"data"},
    "P1-T4": {"data"},
    "P3-T3": {"law"},
    "P3-T6": {"method"},
}
NOT_OF_THE_CELL = {"value", "paper", "seed", "metric", "stopped", "seconds", "epochs", "steps", "summary", "splits"}
Key = tuple[str, str, tuple[tuple[str, Any], ...]]  # data, metric, and the other coordinates, sorted by name
Cells = dict[Key, list[Row]]
OF_A_RUN = ("data", "pointwise", "loss", "ratio", "seed")  # what names a run of a result that says how each one stopped
CONVERGED = {None, "gradient norm reached"}  # what `stopped` says of a run that did, or that has nothing to converge


@dataclass(frozen=True)
class Compared:
    """One printed number beside ours: where it belongs, whether the data are the same, and the verdict."""

    experiment: str
    data: str
    metric: str
    cell: tuple[tuple[str, Any], ...]  # the other coordinates, sorted by name
    same_data: bool
    judged: Judged

    @property
    def key(self) -> Key:
        """The cell, as `key_of` names it."""
        return self.data, self.metric, self.cell

    @property
    def number(self) -> tuple[object, ...]:
        """What names the printed number, the same for all cells of ours beside it: where it stands, and as what.

        P0 prints one share for its experiments 4 and 5. P3's Table 4 repeats numbers of Unbiased from its Table 5.
        """
        if self.metric == "share within 10":
            return "P0, Section 4.1", self.metric
        again = self.experiment == "P3-T4" and ("loss", "unbiased") in self.cell
        left_out = OURS_ALONE.get(self.experiment, set())
        kept = [(name, value) for name, value in (("data", self.data), *self.cell) if name not in left_out]
        return "P3-T5" if again else self.table, self.metric, *kept

    @property
    def table(self) -> str:
        """The experiment that is named as the paper's table: P3-X3 are the runs of P3-T5 with our cap lifted."""
        return "P3-T5" if self.experiment == "P3-X3" else self.experiment


def key_of(row: Row) -> Key:
    """The cell of a table that a row belongs to, whatever its seed."""
    rest = tuple(sorted((k, v) for k, v in row.items() if k not in NOT_OF_THE_CELL | {"data"} and v is not None))
    return str(row.get("data")), row["metric"], rest


def compare(result: Result) -> list[Compared]:
    """Every cell of a result whose rows carry the paper's number, in order of appearance.

    The spread of a run is pooled over the cells with the same metric, data set and seeds whose mean is within a factor
    of two; they share their splits, and have the freedom that this leaves (`agreement.shared`).
    """
    cells: Cells = {}
    for row in result.rows:
        if row.get("paper") is not None:
            cells.setdefault(key_of(row), []).append(row)
    return [
        Compared(
            result.id,
            data,
            metric,
            rest,
            data in SAME_DATA.get(result.id, set()),
            _summarised(result, rows[0])
            if "summary" in rows[0]
            else _judged(
                rows, _spread(rows, _beside(cells, data, metric)), cut=any(_was_cut_off(result, row) for row in rows)
            ),
        )
        for (data, metric, rest), rows in cells.items()
    ]


def _was_cut_off(result: Result, row: Row) -> bool:
    """Whether the run of a row went on to its last epoch without meeting its stopping rule."""
    ends = (other for other in result.rows if other.get("stopped") == "epoch cap")
    return any(all(end.get(key) == row.get(key) for key in OF_A_RUN) for end in ends)


def _judged(rows: list[Row], spread: Spread | None, *, cut: bool) -> Judged:
    """The verdict on the rows of one cell: one row for each run."""
    converged = not cut and all(row.get("stopped") in CONVERGED for row in rows)
    values = [row["value"] for row in rows]
    return judge(values, rows[0]["paper"], converged=converged, spread=spread if len(values) > 1 else None)


def _summarised(result: Result, row: Row) -> Judged:
    """The verdict on a row that holds the mean over many splits, beside another that holds their deviation."""
    [other] = [one for one in result.rows if one.get("summary") == "sd" and key_of(one) == key_of(row)]
    return weigh(row["value"], row["splits"], Spread(other["value"], row["splits"] - 1), row["paper"])


def _beside(cells: Cells, data: str, metric: str) -> list[list[Row]]:
    """The rows of every cell with this data set and metric that has several runs, all of them converged."""
    found = [rows for (d, m, _), rows in cells.items() if (d, m) == (data, metric) and len(rows) > 1]
    return [rows for rows in found if all(row.get("stopped") in CONVERGED for row in rows)]


def _spread(rows: list[Row], others: list[list[Row]]) -> Spread | None:
    """Pooled over the cells of the same seeds whose mean is within a factor of two of this one's; None for none."""
    mean, seeds = abs(np.mean([row["value"] for row in rows])), _seeds(rows)
    groups = [[row["value"] for row in _in_order(other)] for other in others if _seeds(other) == seeds]
    near = [values for values in groups if mean / 2 <= abs(np.mean(values)) <= 2 * mean]
    return shared(near) if near else None


def _seeds(rows: list[Row]) -> list[Any]:
    return [row.get("seed") for row in _in_order(rows)]


def _in_order(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row.get("seed", 0))
