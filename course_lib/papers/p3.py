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
    """Return the pairs of cells in which the loss that is called better has the smaller number.

    Cells are compared for equal data set, pointwise loss, metric and batch ratio. A loss without a ratio is compared at
    every ratio of the other.

    Parameters
    ----------
    name : {"T4", "T5", "T6"}
        The table of P3.
    better, worse : str
        The two losses.
    where : object
        Fields that keep only some columns, as keyword arguments, such as ``metric="P@5"``.

    Returns
    -------
    list of tuple of dict
        The cells of the better and of the worse loss.

    Raises
    ------
    ValueError
        Where there is no pair to compare.

    Examples
    --------
    At three of five ratios, the in-batch loss beats the unbiased one on EUR-Lex with the square loss:

    >>> from course_lib.papers import p3
    >>> column = {"dataset": "eurlex", "pointwise": "square", "metric": "P@1"}
    >>> found = p3.violations(name="T5", better="unbiased", worse="in_batch", **column)
    >>> [(better["value"], worse["value"]) for better, worse in found]
    [(59.38, 60.93), (59.92, 67.68), (60.31, 63.65)]
    """
    return [(a, b) for a, b in compared(name=name, better=better, worse=worse, **where) if a["value"] < b["value"]]


def compared(*, name: str, better: str, worse: str, **where: Any) -> list[tuple[Cell, Cell]]:
    """Return the pairs of cells that ``violations`` compares.

    Parameters
    ----------
    name : {"T4", "T5", "T6"}
        The table of P3.
    better, worse : str
        The two losses.
    where : object
        Fields that keep only some columns, as keyword arguments.

    Returns
    -------
    list of tuple of dict
        The cells of the better and of the worse loss.

    Raises
    ------
    ValueError
        Where there is no pair.

    Examples
    --------
    One column has five ratios:

    >>> from course_lib.papers import p3
    >>> column = {"dataset": "eurlex", "pointwise": "square", "metric": "P@1"}
    >>> len(p3.compared(name="T5", better="unbiased", worse="in_batch", **column))
    5
    """
    cells = select(table("P3", name), **where)
    pairs = [(a, b) for a in select(cells, loss=better) for b in select(cells, loss=worse) if _comparable(a, b)]
    if not pairs:
        raise ValueError(f"compared: table {name} has no cells of {better!r} and {worse!r} with {where}")
    return pairs


def count_violations(**which: Any) -> int:
    """Return how many pairs of cells contradict "better is at least as good as worse".

    Parameters
    ----------
    which : object
        The arguments of ``violations``.

    Returns
    -------
    int
        The number of pairs.

    Examples
    --------
    >>> from course_lib.papers import p3
    >>> column = {"dataset": "eurlex", "pointwise": "square", "metric": "P@1"}
    >>> p3.count_violations(name="T5", better="unbiased", worse="in_batch", **column)
    3
    """
    return len(violations(**which))


def count_ties(**which: Any) -> int:
    """Return how many pairs of cells hold the same number.

    Parameters
    ----------
    which : object
        The arguments of ``compared``.

    Returns
    -------
    int
        The number of pairs.

    Examples
    --------
    Two losses that fail on ML-1M print the same 0.28 % at three ratios:

    >>> from course_lib.papers import p3
    >>> column = {"dataset": "ml-1m", "pointwise": "square", "metric": "P@1"}
    >>> p3.count_ties(name="T5", better="in_batch", worse="popularity", **column)
    3
    """
    return sum(a["value"] == b["value"] for a, b in compared(**which))


def count_compared(**which: Any) -> int:
    """Return how many pairs of cells are compared.

    Parameters
    ----------
    which : object
        The arguments of ``compared``.

    Returns
    -------
    int
        The number of pairs.

    Examples
    --------
    Five ratios, two data sets, two pointwise losses and six metrics:

    >>> from course_lib.papers import p3
    >>> p3.count_compared(name="T5", better="unbiased", worse="in_batch")
    120
    """
    return len(compared(**which))


def average_popularity(dataset: str) -> float:
    """Return ``|O|^2 / (mn)``, the mean popularity of a cell, from the sizes of Table 3.

    It is the mean of ``|O_i,:| |O_:,j|`` over all cells.

    Parameters
    ----------
    dataset : {"ml-1m", "eurlex"}
        The data set.

    Returns
    -------
    float
        The mean popularity.

    Raises
    ------
    ValueError
        For another data set.

    Examples
    --------
    >>> from course_lib.papers import p3
    >>> round(p3.average_popularity("ml-1m"), 1), round(p3.average_popularity("eurlex"), 1)
    (12640.8, 115.2)
    """
    row = _statistics(dataset)
    return float(row["positives"] ** 2 / (row["m"] * row["n"]))


def batch_size(dataset: str, ratio: float) -> float:
    """Return the batch size ``|batch| = sqrt(ratio) |O|`` at a batch ratio ``|batch|^2 / |O|^2``.

    Parameters
    ----------
    dataset : {"ml-1m", "eurlex"}
        The data set.
    ratio : float
        The batch ratio.

    Returns
    -------
    float
        The batch size, not rounded.

    Raises
    ------
    ValueError
        For another data set.

    Examples
    --------
    >>> from course_lib.papers import p3
    >>> round(p3.batch_size("ml-1m", 0.01), 1)
    51777.0
    """
    return float(sqrt(ratio) * _statistics(dataset)["positives"])


def batch_cells_per_label_cell(dataset: str, ratio: float) -> float:
    """Return ``|batch|^2 / (mn)``: how many cells a batch has for each cell of the whole label matrix.

    Parameters
    ----------
    dataset : {"ml-1m", "eurlex"}
        The data set.
    ratio : float
        The batch ratio.

    Returns
    -------
    float
        The number of cells.

    Raises
    ------
    ValueError
        For another data set.

    Examples
    --------
    The grid of a batch with a tenth of the pairs is larger than the label matrix:

    >>> from course_lib.papers import p3
    >>> round(p3.batch_cells_per_label_cell("ml-1m", 0.01), 1)
    126.4
    """
    row = _statistics(dataset)
    return float(batch_size(dataset, ratio) ** 2 / (row["m"] * row["n"]))


def expected_positives_of_naive_batch(dataset: str, ratio: float) -> float:
    """Return the expected number of positives in a naive batch that is as large as the grid of an in-batch batch.

    ``ratio |O|^2`` uniformly drawn pairs, each of which is positive with probability ``|O| / (mn)``.

    Parameters
    ----------
    dataset : {"ml-1m", "eurlex"}
        The data set.
    ratio : float
        The batch ratio.

    Returns
    -------
    float
        The expected number.

    Raises
    ------
    ValueError
        For another data set.

    Examples
    --------
    A naive batch of the same size holds 95 positives, and an in-batch batch of this ratio holds 260 pairs:

    >>> from course_lib.papers import p3
    >>> round(p3.expected_positives_of_naive_batch("eurlex", 1e-5), 1)
    94.8
    """
    return float(batch_cells_per_label_cell(dataset, ratio) * _statistics(dataset)["positives"])


def probability_of_no_positive(dataset: str, ratio: float) -> float:
    """Return the probability that a naive batch as large as the grid of an in-batch batch holds no positive.

    Parameters
    ----------
    dataset : {"ml-1m", "eurlex"}
        The data set.
    ratio : float
        The batch ratio. The grid must not have more cells than the label matrix.

    Returns
    -------
    float
        The probability.

    Raises
    ------
    ValueError
        For another data set and for a larger grid.

    Examples
    --------
    Even at the smallest ratio of the paper, it does not happen:

    >>> from course_lib.papers import p3
    >>> p3.probability_of_no_positive("eurlex", 1e-5) < 1e-40
    True
    """
    from course_lib import in_batch

    row = _statistics(dataset)
    pairs = round(batch_size(dataset, ratio) ** 2)
    shape = (row["m"], row["n"])
    return in_batch.probability_of_no_positive(pairs, n_positives=row["positives"], shape=shape)


def encodings_of_naive_batch(dataset: str, ratio: float) -> float:
    """Return how often P3's equation (9) would encode each entity, were all of them counted as distinct.

    ``2|B| / (m+n)`` with ``|B| = |batch|^2``.

    Parameters
    ----------
    dataset : {"ml-1m", "eurlex"}
        The data set.
    ratio : float
        The batch ratio.

    Returns
    -------
    float
        The number of encodings of an entity.

    Raises
    ------
    ValueError
        For another data set.

    Examples
    --------
    >>> from course_lib.papers import p3
    >>> round(p3.encodings_of_naive_batch("ml-1m", 1e-5), 1)
    561.4
    """
    row = _statistics(dataset)
    return float(2 * batch_size(dataset, ratio) ** 2 / (row["m"] + row["n"]))


def misclassification_margin(dataset: str, ratio: float) -> float:
    """Return the mean popularity of Table 3 divided by the popularity at which logistic scores change sign.

    The threshold is ``1 + (|O|-1) / (|batch|-1)``; see ``in_batch.misclassification_threshold``.

    Parameters
    ----------
    dataset : {"ml-1m", "eurlex"}
        The data set.
    ratio : float
        The batch ratio.

    Returns
    -------
    float
        The margin. Above 1, a pair of mean popularity is classified as negative.

    Raises
    ------
    ValueError
        For another data set.

    Examples
    --------
    The threshold is 11, and the mean popularity 12640.8:

    >>> from course_lib.papers import p3
    >>> round(p3.misclassification_margin("ml-1m", 0.01))
    1149
    """
    from course_lib.in_batch import misclassification_threshold

    size = round(batch_size(dataset, ratio))
    positives = _statistics(dataset)["positives"]
    return average_popularity(dataset) / float(misclassification_threshold(size, positives))


def spread(*, name: str, loss: str, dataset: str, pointwise: str, metric: str | None = None) -> float:
    """Return how much a metric varies over the batch ratios, ``(max - min) / max`` in percent.

    Parameters
    ----------
    name : {"T4", "T5", "T6"}
        The table of P3.
    loss, dataset, pointwise : str
        The rows and the columns.
    metric : str, optional
        The metric. By default the largest value over the metrics is returned.

    Returns
    -------
    float
        The spread in percent.

    Examples
    --------
    From 36.27 to 36.84:

    >>> from course_lib.papers import p3
    >>> round(p3.spread(name="T4", loss="unbiased", dataset="eurlex", pointwise="square"), 2)
    1.55
    """
    cells = select(table("P3", name), loss=loss, dataset=dataset, pointwise=pointwise)
    metrics = [metric] if metric else sorted({cell["metric"] for cell in cells})
    columns = [[cell["value"] for cell in select(cells, metric=name)] for name in metrics]
    return float(max(100 * (max(column) - min(column)) / max(column) for column in columns))


def precision_over_recall(*, name: str, loss: str, ratio: float | None, dataset: str, pointwise: str, k: int) -> float:
    """Return ``P@k / R@k`` of one model.

    For a model that is not degenerate, it hardly depends on the loss.

    Parameters
    ----------
    name : {"T5", "T6"}
        The table of P3.
    loss, dataset, pointwise : str
        The model.
    ratio : float or None
        The batch ratio of the model.
    k : {1, 5, 25}
        The cut-off.

    Returns
    -------
    float
        The ratio.

    Examples
    --------
    36.31 against 34.92:

    >>> from course_lib.papers import p3
    >>> model = {"loss": "unbiased", "ratio": 1e-5, "dataset": "eurlex", "pointwise": "square"}
    >>> round(p3.precision_over_recall(name="T5", k=5, **model), 4)
    1.0398
    """
    cells = _model_cells(name, (loss, ratio, dataset, pointwise))
    return cells[f"P@{k}"] / cells[f"R@{k}"]


def usual_precision_over_recall(*, name: str, dataset: str, k: int) -> float:
    """Return the median of ``P@k / R@k`` over all models of one data set in a table.

    Parameters
    ----------
    name : {"T5", "T6"}
        The table of P3.
    dataset : {"ml-1m", "eurlex"}
        The data set.
    k : {1, 5, 25}
        The cut-off.

    Returns
    -------
    float
        The median.

    Examples
    --------
    A document of EUR-Lex has about five labels, so that both metrics are about the same at 5:

    >>> from course_lib.papers import p3
    >>> round(p3.usual_precision_over_recall(name="T5", dataset="eurlex", k=5), 3)
    1.021
    """
    return median(
        precision_over_recall(name=name, k=k, **dict(zip(SAME_MODEL, m, strict=True)))
        for m in _models(name, dataset=dataset)
    )


def count_unusual_ratios(*, name: str, dataset: str, k: int, low: float, high: float) -> int:
    """Return how many models of one data set in a table have a ``P@k / R@k`` outside an interval.

    Parameters
    ----------
    name : {"T5", "T6"}
        The table of P3.
    dataset : {"ml-1m", "eurlex"}
        The data set.
    k : {1, 5, 25}
        The cut-off.
    low, high : float
        The interval, its ends included.

    Returns
    -------
    int
        The number of models.

    Examples
    --------
    Two models stand out; ``suspicious_cells`` names them:

    >>> from course_lib.papers import p3
    >>> p3.count_unusual_ratios(name="T5", dataset="eurlex", k=5, low=0.95, high=1.1)
    2
    """
    models = _models(name, dataset=dataset)
    ratios = [precision_over_recall(name=name, k=k, **dict(zip(SAME_MODEL, model, strict=True))) for model in models]
    return sum(not low <= ratio <= high for ratio in ratios)


def relevant_per_row(*, name: str, dataset: str, k: int) -> float:
    """Return ``k P@k / R@k`` of the usual model: about how many positives a test row has.

    It would be exact were all rows alike.

    Parameters
    ----------
    name : {"T5", "T6"}
        The table of P3.
    dataset : {"ml-1m", "eurlex"}
        The data set.
    k : {1, 5, 25}
        The cut-off.

    Returns
    -------
    float
        The number of positives.

    Examples
    --------
    A document of EUR-Lex has about five labels:

    >>> from course_lib.papers import p3
    >>> round(p3.relevant_per_row(name="T5", dataset="eurlex", k=5), 1)
    5.1
    """
    return k * usual_precision_over_recall(name=name, dataset=dataset, k=k)


def impossible_precisions(*, name: str) -> list[tuple[Any, ...]]:
    """Return the models whose hits within the first ``k`` fall as ``k`` grows.

    ``k P@k`` must not decrease, whichever checkpoint is best.

    Parameters
    ----------
    name : {"T5", "T6"}
        The table of P3.

    Returns
    -------
    list of tuple
        The loss, the ratio, the data set, the pointwise loss, and the two cut-offs that contradict each other.

    Notes
    -----
    Each metric is reported at its own best checkpoint. ``25 P@25`` there is at least ``25 P@25`` where P@5 is
    best, which is at least ``5 P@5``. The printed numbers may be off by 0.005.

    Examples
    --------
    Of the first 25 labels, fewer would be right than of the first 5:

    >>> from course_lib.papers import p3
    >>> p3.impossible_precisions(name="T5")
    [('popularity', 0.01, 'eurlex', 'logistic', 5, 25)]
    """
    found = []
    for model in _models(name):
        cells = _model_cells(name, model)
        for k, larger in ((1, 5), (5, 25)):
            if k * (cells[f"P@{k}"] - 0.005) > larger * (cells[f"P@{larger}"] + 0.005):
                found.append((*model, k, larger))
    return found


def count_impossible_precisions(*, name: str) -> int:
    """Return how many pairs of a model and a cut-off ``impossible_precisions`` finds.

    Parameters
    ----------
    name : {"T5", "T6"}
        The table of P3.

    Returns
    -------
    int
        The number of pairs.

    Examples
    --------
    >>> from course_lib.papers import p3
    >>> p3.count_impossible_precisions(name="T5")
    1
    """
    return len(impossible_precisions(name=name))


def suspicious_cells() -> list[str]:
    """Return the printed numbers of Tables 5 and 6 that contradict others, as sentences.

    They are about precisions, ``P@5 / R@5``, and underlines.

    Returns
    -------
    list of str
        The sentences.

    Notes
    -----
    ``P@5 / R@5`` is judged on EUR-Lex only, where it is within 5 % of its median for all other models: the number of
    relevant labels of a row hardly varies there. On ML-1M the ratio depends on which users a model serves well.

    Examples
    --------
    >>> from course_lib.papers import p3
    >>> p3.suspicious_cells()[0].partition(":")[0]
    'Table 5, Popularity at ratio 1e-2 on EUR-Lex with the logistic loss'
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
    """Return the pairs of an underlined cell and a larger cell of the same column.

    The underline is said to mark the best of the column.

    Parameters
    ----------
    name : {"T4", "T5", "T6"}
        The table of P3.

    Returns
    -------
    list of tuple of dict
        The underlined cell and the larger one.

    Examples
    --------
    The underline is at 16.29, beside a cell with 16.30:

    >>> from course_lib.papers import p3
    >>> [(marked["value"], larger["value"]) for marked, larger in p3.misplaced_underlines(name="T6")]
    [(16.29, 16.3)]
    """
    cells = table("P3", name)
    marked = [cell for cell in cells if cell["best"]]
    columns = [(a, select(cells, **{key: a[key] for key in SAME_COLUMN})) for a in marked]
    return [(a, b) for a, column in columns for b in column if b["value"] > a["value"]]


def count_misplaced_underlines(*, name: str) -> int:
    """Return how many larger cells stand in a column whose underline is elsewhere.

    Parameters
    ----------
    name : {"T4", "T5", "T6"}
        The table of P3.

    Returns
    -------
    int
        The number of larger cells.

    Examples
    --------
    >>> from course_lib.papers import p3
    >>> p3.count_misplaced_underlines(name="T6")
    1
    """
    return len(misplaced_underlines(name=name))


def count_columns_led_by(*, name: str, loss: str, rival: str, pointwise: str) -> int:
    """Return in how many columns the best cell of one loss is at least the best cell of a rival.

    A column is a data set and a metric.

    Parameters
    ----------
    name : {"T4", "T5", "T6"}
        The table of P3.
    loss, rival : str
        The two losses.
    pointwise : {"square", "logistic"}
        The pointwise loss.

    Returns
    -------
    int
        The number of columns.

    Examples
    --------
    Out of the twelve columns of Table 5 with the logistic loss:

    >>> from course_lib.papers import p3
    >>> p3.count_columns_led_by(name="T5", loss="unbiased", rival="in_batch", pointwise="logistic")
    12
    """
    cells = select(table("P3", name), pointwise=pointwise)
    columns = {tuple(cell[key] for key in SAME_COLUMN) for cell in cells}
    bests = [{one: _best(cells, column, one) for one in (loss, rival)} for column in columns]
    return sum(best[loss] >= best[rival] for best in bests)


def largest_gap(*, name: str, one: str, other: str, metric: str, pointwise: str | None = None) -> float:
    """Return the largest difference between two losses in one metric, over data sets and ratios.

    Parameters
    ----------
    name : {"T4", "T5", "T6"}
        The table of P3.
    one, other : str
        The two losses.
    metric : str
        The metric.
    pointwise : {"square", "logistic"}, optional
        The pointwise loss, by default both.

    Returns
    -------
    float
        The absolute difference in percentage points.

    Raises
    ------
    ValueError
        Where there is nothing to compare.

    Examples
    --------
    >>> from course_lib.papers import p3
    >>> round(p3.largest_gap(name="T4", one="unbiased", other="sogram", metric="P@5"), 2)
    0.63
    """
    where = {"metric": metric, **({"pointwise": pointwise} if pointwise else {})}
    return float(max(abs(a["value"] - b["value"]) for a, b in compared(name=name, better=one, worse=other, **where)))


def disagreements_with_table_4() -> int:
    """Return how many numbers of the Unbiased loss differ between Table 4 and Table 5, which print the same runs.

    Returns
    -------
    int
        The number of cells that differ, of 20.

    Examples
    --------
    >>> from course_lib.papers import p3
    >>> p3.disagreements_with_table_4()
    0
    """
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
