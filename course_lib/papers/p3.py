"""What P3's printed tables say about P3's sentences: each function recounts from the data of the tables.

Losses, data sets and metrics are named as in `course_lib.papers.table`. Percentages stay percentages.
"""

from collections.abc import Sequence
from math import sqrt
from statistics import median
from typing import Any

from course_lib.papers import Cell, select, table

SAME_MODEL = ("loss", "ratio", "dataset", "pointwise")
SAME_COLUMN = ("dataset", "pointwise", "metric")


def violations(*, name: str, better: str, worse: str, **where: Any) -> list[tuple[Cell, Cell]]:
    """Pairs of cells (better, worse) of P3's table `name` where the loss called better has the smaller number.

    Cells are compared for equal data set, pointwise loss, metric and batch ratio; a loss without a ratio is compared
    at every ratio of the other. `where` keeps only some columns: `metric="P@5"`.
    """
    return [(a, b) for a, b in compared(name=name, better=better, worse=worse, **where) if a["value"] < b["value"]]


def compared(*, name: str, better: str, worse: str, **where: Any) -> list[tuple[Cell, Cell]]:
    """The pairs of cells (better, worse) that `violations` compares. Raises ValueError when there is none."""
    cells = select(table("P3", name), **where)
    pairs = [(a, b) for a in select(cells, loss=better) for b in select(cells, loss=worse) if _comparable(a, b)]
    if not pairs:
        raise ValueError(f"compared: table {name} has no cells of {better!r} and {worse!r} with {where}")
    return pairs


def count_violations(**which: Any) -> int:
    """How many pairs of cells contradict "better is at least as good as worse"; arguments as in `violations`."""
    return len(violations(**which))


def count_ties(**which: Any) -> int:
    """How many pairs of cells hold the same number; arguments as in `compared`."""
    return sum(a["value"] == b["value"] for a, b in compared(**which))


def count_compared(**which: Any) -> int:
    """How many pairs of cells are compared; arguments as in `compared`."""
    return len(compared(**which))


def average_popularity(dataset: str) -> float:
    """|O|^2/(mn), the mean of |O_i,:||O_:,j| over all cells, from m, n and |O| of Table 3."""
    row = _statistics(dataset)
    return float(row["positives"] ** 2 / (row["m"] * row["n"]))


def batch_size(dataset: str, ratio: float) -> float:
    """sqrt(ratio) |O|: the batch size |batch| at a batch ratio |batch|^2/|O|^2 (not rounded)."""
    return float(sqrt(ratio) * _statistics(dataset)["positives"])


def batch_cells_per_label_cell(dataset: str, ratio: float) -> float:
    """|batch|^2/(mn): how many cells a batch has for each cell of the whole label matrix."""
    row = _statistics(dataset)
    return float(batch_size(dataset, ratio) ** 2 / (row["m"] * row["n"]))


def expected_positives_of_naive_batch(dataset: str, ratio: float) -> float:
    """ratio |O|^2 times |O|/(mn): the expected number of positives among as many uniformly drawn pairs."""
    return float(batch_cells_per_label_cell(dataset, ratio) * _statistics(dataset)["positives"])


def probability_of_no_positive(dataset: str, ratio: float) -> float:
    """Chance that a naive batch with as many pairs as the grid of a batch ratio holds no positive."""
    from course_lib import in_batch

    row = _statistics(dataset)
    pairs = round(batch_size(dataset, ratio) ** 2)
    shape = (row["m"], row["n"])
    return in_batch.probability_of_no_positive(pairs, n_positives=row["positives"], shape=shape)


def encodings_of_naive_batch(dataset: str, ratio: float) -> float:
    """2|B|/(m+n) with |B| = |batch|^2: how often (9) would encode each entity, were all of them counted as distinct."""
    row = _statistics(dataset)
    return float(2 * batch_size(dataset, ratio) ** 2 / (row["m"] + row["n"]))


def misclassification_margin(dataset: str, ratio: float) -> float:
    """Mean popularity of Table 3 over the threshold 1 + (|O|-1)/(|batch|-1), where logistic scores change sign."""
    from course_lib.in_batch import misclassification_threshold

    size = round(batch_size(dataset, ratio))
    positives = _statistics(dataset)["positives"]
    return average_popularity(dataset) / float(misclassification_threshold(size, positives))


def spread(*, name: str, loss: str, dataset: str, pointwise: str, metric: str | None = None) -> float:
    """(max - min)/max over the batch ratios, in percent; the largest over the metrics when none is named."""
    cells = select(table("P3", name), loss=loss, dataset=dataset, pointwise=pointwise)
    metrics = [metric] if metric else sorted({cell["metric"] for cell in cells})
    columns = [[cell["value"] for cell in select(cells, metric=name)] for name in metrics]
    return float(max(100 * (max(column) - min(column)) / max(column) for column in columns))


def precision_over_recall(*, name: str, loss: str, ratio: float | None, dataset: str, pointwise: str, k: int) -> float:
    """P@k / R@k of one model: for a model that is not degenerate it hardly depends on the loss."""
    cells = _model_cells(name, (loss, ratio, dataset, pointwise))
    return cells[f"P@{k}"] / cells[f"R@{k}"]


def usual_precision_over_recall(*, name: str, dataset: str, k: int) -> float:
    """The median of P@k / R@k over all models of one data set in a table."""
    return median(
        precision_over_recall(name=name, k=k, **dict(zip(SAME_MODEL, m, strict=True)))
        for m in _models(name, dataset=dataset)
    )


def count_unusual_ratios(*, name: str, dataset: str, k: int, low: float, high: float) -> int:
    """How many models of one data set in a table have P@k / R@k outside [low, high]."""
    models = _models(name, dataset=dataset)
    ratios = [precision_over_recall(name=name, k=k, **dict(zip(SAME_MODEL, model, strict=True))) for model in models]
    return sum(not low <= ratio <= high for ratio in ratios)


def relevant_per_row(*, name: str, dataset: str, k: int) -> float:
    """k P@k / R@k of the usual model: about how many positives a test row has (exact were all rows alike)."""
    return k * usual_precision_over_recall(name=name, dataset=dataset, k=k)


def impossible_precisions(*, name: str) -> list[tuple[Any, ...]]:
    """Models whose hits within the first k fall as k grows: k P@k must not decrease, whichever checkpoint is best.

    Each metric is reported at its own best checkpoint. 25 P@25 there is at least 25 P@25 where P@5 is best, which is
    at least 5 P@5. The printed numbers may be off by 0.005.
    """
    found = []
    for model in _models(name):
        cells = _model_cells(name, model)
        for k, larger in ((1, 5), (5, 25)):
            if k * (cells[f"P@{k}"] - 0.005) > larger * (cells[f"P@{larger}"] + 0.005):
                found.append((*model, k, larger))
    return found


def count_impossible_precisions(*, name: str) -> int:
    """How many (model, k) pairs `impossible_precisions` finds."""
    return len(impossible_precisions(name=name))


def suspicious_cells() -> list[str]:
    """Printed numbers of Tables 5 and 6 that contradict others, as sentences: precisions, P@5 / R@5, underlines.

    P@5 / R@5 is judged on EUR-Lex only, where it is within 5 % of its median for all other models: the number of
    relevant labels per row hardly varies there. On ML-1M the ratio depends on which users a model serves well.
    """
    found = []
    for name in ("T5", "T6"):
        table_name = f"Table {name[1:]}"
        for *contradicted, k, larger in impossible_precisions(name=name):
            model = tuple(contradicted)
            cells = _model_cells(name, model)
            a, b = cells[f"P@{k}"], cells[f"P@{larger}"]
            found.append(
                f"{table_name}, {_describe(model)}: P@{k} = {a:.2f} and P@{larger} = {b:.2f} cannot both hold, because "
                f"{k} x {a:.2f} = {k * a:.1f} hits exceed {larger} x {b:.2f} = {larger * b:.1f}."
            )
        usual = usual_precision_over_recall(name=name, dataset="eurlex", k=5)
        for model in _models(name, dataset="eurlex"):
            cells = _model_cells(name, model)
            ratio = cells["P@5"] / cells["R@5"]
            if abs(ratio / usual - 1) > 0.05:
                found.append(
                    f"{table_name}, {_describe(model)}: P@5 = {cells['P@5']:.2f} beside R@5 = {cells['R@5']:.2f}, "
                    f"a ratio of {ratio:.3g} where the median model has {usual:.3f}."
                )
        for marked, best in misplaced_underlines(name=name):
            found.append(
                f"{table_name}, {marked['metric']}, {_describe(_model_of(marked))}: {marked['value']:.2f} is "
                f"underlined as best, and {_describe(_model_of(best))} has {best['value']:.2f}."
            )
    return found


_NAMES = {"unbiased": "Unbiased", "in_batch": "In-Batch", "popularity": "Popularity", "pos_neg": "Pos-Neg"}
_NAMES |= {"in_batch_omega": "In-Batch-omega", "pos_neg_omega": "Pos-Neg-omega"}
_NAMES |= {"eurlex": "EUR-Lex", "ml-1m": "ML-1M"}


def _describe(model: Sequence[Any]) -> str:
    loss, ratio, dataset, pointwise = model
    at = f" at ratio {ratio:.0e}".replace("e-0", "e-") if ratio else ""
    return f"{_NAMES[loss]}{at} on {_NAMES[dataset]} with the {pointwise} loss"


def _model_of(cell: Cell) -> tuple[Any, ...]:
    return tuple(cell[key] for key in SAME_MODEL)


def _models(name: str, **where: Any) -> list[tuple[Any, ...]]:
    """Every model of a table that agrees with `where`, in the order of the table."""
    return list(dict.fromkeys(_model_of(cell) for cell in select(table("P3", name), **where)))


def _model_cells(name: str, model: Sequence[Any]) -> dict[str, float]:
    """metric -> printed number of one model."""
    where = dict(zip(SAME_MODEL, model, strict=True))
    return {cell["metric"]: cell["value"] for cell in select(table("P3", name), **where)}


def misplaced_underlines(*, name: str) -> list[tuple[Cell, Cell]]:
    """Pairs (underlined cell, larger cell) of one column: the underline is said to mark the best of the column."""
    cells = table("P3", name)
    marked = [cell for cell in cells if cell["best"]]
    columns = [(a, select(cells, **{key: a[key] for key in SAME_COLUMN})) for a in marked]
    return [(a, b) for a, column in columns for b in column if b["value"] > a["value"]]


def count_misplaced_underlines(*, name: str) -> int:
    """How many larger cells stand in a column whose underline is elsewhere."""
    return len(misplaced_underlines(name=name))


def count_columns_led_by(*, name: str, loss: str, rival: str, pointwise: str) -> int:
    """In how many columns (data set x metric) the best cell of `loss` is at least the best cell of `rival`."""
    cells = select(table("P3", name), pointwise=pointwise)
    columns = {tuple(cell[key] for key in SAME_COLUMN) for cell in cells}
    bests = [{one: _best(cells, column, one) for one in (loss, rival)} for column in columns]
    return sum(best[loss] >= best[rival] for best in bests)


def largest_gap(*, name: str, one: str, other: str, metric: str, pointwise: str | None = None) -> float:
    """The largest |difference| in percentage points between two losses in one metric, over data sets and ratios."""
    where = {"metric": metric, **({"pointwise": pointwise} if pointwise else {})}
    return float(max(abs(a["value"] - b["value"]) for a, b in compared(name=name, better=one, worse=other, **where)))


def disagreements_with_table_4() -> int:
    """How many numbers of the Unbiased loss differ between Table 4 and Table 5, which print the same runs."""
    other = select(table("P3", "T5"), loss="unbiased", metric="P@5")
    mine = select(table("P3", "T4"), loss="unbiased")
    keys = (*SAME_MODEL, "metric")
    return sum(a["value"] != b["value"] for a in mine for b in other if all(a[key] == b[key] for key in keys))


def _best(cells: list[Cell], column: tuple[Any, ...], loss: str) -> float:
    where = dict(zip(SAME_COLUMN, column, strict=True))
    return float(max(cell["value"] for cell in select(cells, loss=loss, **where)))


def _comparable(a: Cell, b: Cell) -> bool:
    same = all(a[key] == b[key] for key in SAME_COLUMN)
    return same and (a["ratio"] == b["ratio"] or None in (a["ratio"], b["ratio"]))


def _statistics(dataset: str) -> Cell:
    rows = select(table("P3", "T3"), dataset=dataset)
    if not rows:
        raise ValueError(f"dataset: got {dataset!r}; expected 'ml-1m' or 'eurlex'")
    return rows[0]
