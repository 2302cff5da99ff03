"""A result: tidy rows with the paper's number beside ours, and where they come from."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import pandas as pd

from course_lib.experiments.core import display, pictures, printed
from course_lib.experiments.core.code import state
from course_lib.experiments.core.provenance import ROOT, read_json, results_folder, write_json
from course_lib.experiments.core.summary import Row, half_width, spread

# Of a row: not where its number belongs. hits, tests: one digit a person.
NOT_PLACES = ("value", "path", "paper", "seed", "stopped", "seconds", "hits", "tests")


class Layout(TypedDict, total=False):
    """How a result is shown as a table: columns that name its rows, columns across, metrics shown, digits."""

    rows: Sequence[str]
    columns: Sequence[str]
    metrics: Sequence[str]
    digits: int


def shown(*rows: str, columns: Sequence[str] = ("metric",), metrics: Sequence[str] = (), digits: int = 2) -> Layout:
    """The layout with these columns as names of the rows; without `metrics` all are shown."""
    layout: Layout = {"rows": rows, "columns": columns, "digits": digits}
    return {**layout, "metrics": metrics} if metrics else layout


@dataclass(frozen=True)
class Result:
    """The outcome of one experiment at one scale.

    rows: one dict per number, with `metric`, `value`, usually `seed`, the coordinates of the cell that it belongs to
    (`data`, `loss`, `ratio`, `pointwise`, ...) and, where the paper prints it, `paper`; scalars: named numbers for
    the lessons' claims; a number that was followed along a run has "path", its values at the looks, of which the row
    "iteration" says when they were; provenance: see `core.provenance`, and `cells` with those planned and finished.
    """

    id: str
    scale: str
    title: str
    rows: list[Row]
    scalars: dict[str, float] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    layout: Layout = field(default_factory=Layout)

    def select(self, **where: Any) -> list[Row]:
        """Rows that agree with every keyword; a tuple allows several values. ValueError for an unknown key."""
        for key in where:
            if not any(key in row for row in self.rows):
                raise ValueError(f"{key!r} is no column of {self.id}; expected one of {sorted(self.columns())}")
        return [row for row in self.rows if all(agrees(row.get(key), wanted) for key, wanted in where.items())]

    def frame(self, **where: Any) -> pd.DataFrame:
        """The rows of `select` as a table of pandas, one line for each number; what a row does not say is NaN."""
        return pd.DataFrame(self.select(**where)).dropna(axis="columns", how="all")

    def _values(self, where: dict[str, Any]) -> str:
        """What the columns named in `where` hold, for a message."""
        return "; ".join(f"{key}: {', '.join(sorted({_text(row.get(key)) for row in self.rows}))}" for key in where)

    def distinct(self, column: str, **where: Any) -> list[Any]:
        """The values of a column in order of appearance, without None."""
        return list(dict.fromkeys(row[column] for row in self.select(**where) if row.get(column) is not None))

    def values(self, metric: str, **where: Any) -> list[float]:
        """A metric over the seeds, in their order; empty where nothing was run."""
        return [row["value"] for row in sorted(self.select(metric=metric, **where), key=lambda row: row.get("seed", 0))]

    def mean(self, metric: str, **where: Any) -> float:
        """The mean over seeds; ValueError where nothing was run."""
        values = self.values(metric, **where)
        if not values:
            raise ValueError(f"no {metric} of {where} in {self.id} at {self.scale} scale")
        return float(np.mean(values))

    def interval(self, metric: str, *, digits: int = 4, **where: Any) -> str:
        """The mean with its 95 % interval over seeds, "0.0812 ± 0.0010".

        The number alone from one seed, a dash from none.
        """
        values = self.values(metric, **where)
        if not values:
            return "–"
        return f"{np.mean(values):.{digits}f}" + (f" ± {half_width(values):.{digits}f}" if len(values) > 1 else "")

    def curve(self, metric: str, along: str, **where: Any) -> tuple[list[Any], list[float], list[float]]:
        """(values of the column `along`, means over seeds, half-widths of their 95 % intervals) of a metric."""
        groups: dict[Any, list[float]] = {}
        for row in self.select(metric=metric, **where):
            groups.setdefault(row[along], []).append(row["value"])
        at = sorted(groups)
        return at, [float(np.mean(groups[x])) for x in at], [spread(groups[x]) for x in at]

    def columns(self) -> list[str]:
        """The keys of the rows, in order of appearance."""
        return list(dict.fromkeys(key for row in self.rows for key in row))

    def _arranged(
        self, rows: tuple[str, ...] | None, columns: tuple[str, ...] | None, digits: int | None, where: dict[str, Any]
    ) -> tuple[list[Row], tuple[str, ...], tuple[str, ...], int]:
        """The rows that fit, the columns that name them, those that stand across, and the digits.

        A cell is a mean over seeds and nothing else: what else differs in it becomes a column, the first.
        """
        if "metric" not in where and self.layout.get("metrics"):
            where["metric"] = tuple(self.layout["metrics"])
        chosen = self.select(**where)
        if not chosen:
            raise ValueError(f"no row of {self.id} at {self.scale} scale fits {where}; it has {self._values(where)}")
        left = tuple(rows or self.layout.get("rows", ()))
        top = tuple(columns or self.layout.get("columns", ("metric",)))
        left = (*_also_differ(chosen, {*left, *top}), *left)
        return chosen, left, top, self.layout.get("digits", 2) if digits is None else digits

    def table(
        self,
        rows: tuple[str, ...] | None = None,
        columns: tuple[str, ...] | None = None,
        *,
        digits: int | None = None,
        **where: Any,
    ) -> list[list[str]]:
        """A pivot of text cells, header first.

        A cell holds the mean over seeds, "± sd" with two or more, and the paper's number in brackets.

        ValueError when the filters leave no row.
        """
        chosen, left, top, digits = self._arranged(rows, columns, digits, where)
        cells = display.pivoted(chosen, left, top)
        header = [*left, *(" ".join(_text(part) for part in head if part is not None) for head in cells)]
        numbers = cells.map(lambda cell: display.said(cell, digits) if isinstance(cell, list) else "")
        body = zip(cells.index, numbers.to_numpy(), strict=True)
        return [header, *([*map(_text, name), *line] for name, line in body)]

    def to_markdown(self, **arguments: Any) -> str:
        """`table` as a Markdown table, with a line that says where it comes from."""
        header, *body = self.table(**arguments)
        lines = [header, ["---"] * len(header), *body]
        said = self.caption() + (
            " In brackets: the paper." if any("(" in cell for line in body for cell in line) else ""
        )
        return "\n".join("| " + " | ".join(line) + " |" for line in lines) + f"\n\n{said}\n"

    def to_html(
        self,
        rows: tuple[str, ...] | None = None,
        columns: tuple[str, ...] | None = None,
        *,
        digits: int | None = None,
        **where: Any,
    ) -> str:
        """The paper against ours as a chart, where it prints these numbers, and the table.

        Columns that are the same in all rows stand in the caption. ValueError when the filters leave no row.
        """
        chosen, left, top, digits = self._arranged(rows, columns, digits, where)
        pivot = display.Pivot.of(chosen, left, top)
        caption = " ".join(part for part in (self.caption(chosen), pivot.caption()) if part)
        judged = {cell.key: cell for cell in printed.compare(self)}
        return pictures.chart(pivot, judged) + display.table(pivot, digits, caption)

    def _repr_html_(self) -> str:
        return self.to_html()

    def caption(self, rows: list[Row] | None = None) -> str:
        """What was measured, on which data and seeds, by which experiment, and what of the plan was not run.

        rows: those of a table (default: all); only their data and seeds are named.
        """
        rows = self.rows if rows is None else rows
        seeds = sorted({row["seed"] for row in rows if "seed" in row})
        ran = [row["data"] for row in rows if row.get("data")] or [
            entry["name"] for entry in self.provenance.get("data", [])
        ]
        names = list(dict.fromkeys(map(display.text_of, ran)))
        cells = self.provenance.get("cells", {})
        spread = "mean ± standard deviation over seeds" if len(seeds) > 1 else "seed"
        parts = [
            f"{self.id} at {self.scale} scale",
            ", ".join(names) if len(names) < 6 else f"{len(names)} data sets",
            f"{spread} {', '.join(map(str, seeds))}" if seeds else "",
        ]
        if cells and cells["finished"] < cells["planned"]:
            parts.append(f"{cells['planned'] - cells['finished']} of {cells['planned']} planned runs were not made")
        if self.provenance and not (found := state(self.provenance)).holds:
            parts.append(f"stale: {found.words}")
        title = display.in_words(self.title)
        title = title[:1].upper() + title[1:] + ("" if title.endswith("?") else ".")
        return f"{title} {'; '.join(part for part in parts if part)}."

    def save(self, folder: str | Path | None = None, *, replace: bool = False) -> Path:
        """Writes <folder>/<id>-<scale>.json (default book/results) whole or not at all, and returns the path.

        ValueError where this result is empty, or lacks numbers that the file holds and `replace` does not say to drop.
        """
        path = Path(folder or results_folder()) / f"{self.id}-{self.scale}.json"
        if not self.rows:
            raise ValueError(f"{path.name} is not written: no cell of {self.id} has finished")
        if path.is_file() and not replace:
            lost = _places(read_json(path)["rows"]) - _places(self.rows)
            if lost:
                raise ValueError(
                    f"{path.name} is not written: the stored file holds {len(lost):,} numbers that this run lacks, "
                    f"such as {min(lost)}. Finished cells are kept: run again with all seeds and data, or drop what "
                    "is stored (--replace), or only look (--no-write)"
                )
        write_json(path, self.__dict__)
        return path


def load_result(name: str, scale: str, folder: Path | None = None) -> Result:
    """The stored result of an experiment; FileNotFoundError says how to make it."""
    path = (folder or results_folder()) / f"{name}-{scale}.json"
    if not path.is_file():
        command = f"python -m course_lib experiments run {name} --scale {scale}"
        shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path  # the same text on every machine
        raise FileNotFoundError(f"no stored result {shown}: it was not run yet; make it with `{command}`")
    return Result(**read_json(path))


def agrees(value: Any, wanted: Any) -> bool:
    """Whether a value is the wanted one, or one of several that are."""
    return value in wanted if isinstance(wanted, tuple | list | set) else bool(value == wanted)


def _places(rows: Sequence[Row]) -> set[str]:
    """Where the numbers of rows belong, as texts: seeds, data, metrics and the other coordinates."""
    found = [{key: row[key] for key in sorted(row) if key in ("seed", *row.keys() - set(NOT_PLACES))} for row in rows]
    return {", ".join(f"{key} {_text(value)}" for key, value in one.items() if value is not None) for one in found}


def _also_differ(rows: Sequence[Row], names: Set[str]) -> list[str]:
    """The columns beyond `names` in which rows of one seed differ that agree in `names`."""
    found: dict[str, None] = {}
    first: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        one = first.setdefault(_key(row, (*sorted(names), "seed")), row)
        found |= {key: None for key in row if key not in NOT_PLACES and row[key] != one.get(key)}
    return list(found)


def _key(row: Row, names: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in names)


def _text(value: Any) -> str:
    return "–" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
