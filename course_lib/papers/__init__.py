"""The tables that the papers print, as data: `table("P3", "T5")` is a list of cells.

Numbers are facts and are given here with their citation. Each file keeps the layout of the printed table, so that it
can be compared with the paper by eye: a `*` behind a number is the paper's mark for "optimization issues", a `_` its
underline for "best in the column". Nothing is corrected, misprints included; `course_lib.papers.p0`, `p1`, `p3`
and `p4` find them. Numbers that a paper prints in its text and not in a table are in "numbers", with the place of each.
"""

import csv
import re
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import yaml

Cell = dict[str, Any]  # the fields of one printed number: see `table`

_TEXTS = yaml.safe_load(files(__package__).joinpath("captions.yml").read_text(encoding="utf-8"))
CITATIONS: dict[str, str] = _TEXTS["citations"]
CAPTIONS = {(paper, name): text for paper, texts in _TEXTS["captions"].items() for name, text in texts.items()}
_IMPROVED = re.compile(r"(?P<value>\d+\.\d+)(?: \((?P<percent>[+-]\d+\.\d+)%\))?")
_NUMBER = re.compile(r"(?P<value>\d+(?:\.\d+)?)(?P<starred>\*?)(?P<best>_?)")


def table(paper: str, name: str) -> list[Cell]:
    """Return the cells of one printed table, in reading order.

    Parameters
    ----------
    paper : str
        "P0", "P1", "P3" or "P4".
    name : str
        "T1" and so on, or "numbers" for the numbers that a paper prints in its text.

    Returns
    -------
    list of dict
        The cells. See the notes for their fields.

    Raises
    ------
    ValueError
        For a table that is not stored. The message lists those that are.

    Notes
    -----
    P3:

    - T4, T5 and T6 give one dict for each printed number: ``loss`` (a name of ``in_batch.KINDS``, or ``sogram``,
      ``in_batch_omega``, ``pos_neg_omega``), ``ratio`` (``|batch|^2 / |positives|^2``, or None), ``dataset``
      (``eurlex``, ``ml-1m``), ``pointwise`` (``square``, ``logistic``), ``metric`` (``P@5``), ``value`` (in percent),
      ``starred``, ``best``.
    - T3 gives one dict for each data set: ``dataset``, ``m``, ``n``, ``positives``, ``mean_pair_popularity``.

    P0:

    - T1 gives one dict for each experiment: ``experiment`` (a number), ``left_encoder``, ``loss``, and the ticks
      ``condition_1``, ``condition_2``, ``left_orthogonal``, ``item_orthogonal`` (True or False).
    - T2 gives one dict for each printed share: ``experiment``, ``left_encoder``, its ticks, ``quantity``
      (``share_dot``, ``share_cos``), ``value`` (a share, not percent).
    - "numbers" gives one dict for each number in the text: ``experiment``, ``quantity``, ``value``, ``place``.

    P1:

    - T1 gives one dict for each data set: ``dataset``, ``users``, ``items``, ``interactions``, ``sparsity_percent``.
    - T2 to T5 give one dict for each printed number: ``backbone`` (``MF``, ``LightGCN``, ...), ``method`` (None for the
      backbone alone, ``DDC``, ``IPS``, ..., in T5 a rule such as ``b_a`` or ``without popularity``), ``dataset``,
      ``metric`` (``MRR@10``, ...), ``value``, ``percent`` (the printed improvement or change, else None).
    - "numbers" gives one dict for each number in the text: ``dataset`` (None where it is about no one set),
      ``quantity``, ``value``, ``place``.

    P4:

    - T1 and T3 give one dict for each data set with its sizes: ``pages``, ``links``, ``ngrams``, ``categories``, or
      ``users``, ``movies``, ``ratings``.
    - T2 gives one dict for each cell: ``dataset`` (``simple``, ``fr``, ``en``), ``method`` (``sampling``, ``sogram``),
      ``alpha`` (None for sampling), ``value`` (MAP), ``percent`` (the printed improvement, None for sampling).
    - "numbers" gives ``dataset``, ``quantity``, ``value``, ``place``.

    Examples
    --------
    >>> from course_lib import papers
    >>> papers.table("P3", "T3")[0]
    {'dataset': 'ml-1m', 'm': 6037, 'n': 3513, 'positives': 517770, 'mean_pair_popularity': 12640.8}
    """
    if (paper, name) not in CAPTIONS:
        known = ", ".join(f"{p} {t}" for p, t in CAPTIONS)
        raise ValueError(f"table: got paper={paper!r}, name={name!r}; expected one of: {known}")
    with files(__package__).joinpath(f"{paper}-{name}.csv").open(encoding="utf-8") as lines:
        records = list(csv.DictReader(lines))
    if paper == "P0":
        return [cell for record in records for cell in _cells_of_p0(record)]
    if paper == "P1":
        return [cell for record in records for cell in _cells_of_p1(record, name)]
    if paper == "P4":
        return [cell for record in records for cell in _cells_of_p4(record, name)]
    if name == "T3":
        return [_statistics(record) for record in records]
    return [cell for record in records for cell in _cells(record)]


def value(paper: str, name: str, **where: Any) -> float:
    """Return the one number of a table whose cell agrees with every keyword.

    Parameters
    ----------
    paper, name : str
        The table, as in ``table``.
    where : object
        Fields of the cell, as keyword arguments.

    Returns
    -------
    float
        The number.

    Raises
    ------
    ValueError
        Unless exactly one cell agrees.

    Examples
    --------
    >>> from course_lib import papers
    >>> papers.value("P4", "T2", dataset="simple", alpha=0.01)
    0.0325
    """
    found = select(table(paper, name), **where)
    if len(found) != 1:
        raise ValueError(f"value: {where} selects {len(found)} cells of {paper} {name}; expected exactly 1")
    return float(found[0]["value"])


def select(cells: list[Cell], **where: Any) -> list[Cell]:
    """Return the cells that agree with every keyword.

    Parameters
    ----------
    cells : list of dict
        Cells of a table.
    where : object
        Fields of a cell, as keyword arguments.

    Returns
    -------
    list of dict
        The cells that agree, in their order.

    Raises
    ------
    ValueError
        For a keyword that the cells do not have.

    Examples
    --------
    Experiments 3 to 5 of P0 do not meet its first condition:

    >>> from course_lib import papers
    >>> cells = papers.select(papers.table("P0", "T1"), condition_1=False)
    >>> [cell["experiment"] for cell in cells]
    [3, 4, 5]
    """
    for key in where:
        if cells and key not in cells[0]:
            raise ValueError(f"select: no field {key!r}; expected one of {sorted(cells[0])}")
    return [cell for cell in cells if all(cell[key] == wanted for key, wanted in where.items())]


def citation(paper: str, name: str) -> str:
    """Return where a stored table is printed: authors, title, table number and a caption in our words.

    Parameters
    ----------
    paper, name : str
        The table, as in ``table``.

    Returns
    -------
    str
        One line.

    Raises
    ------
    KeyError
        For a table that is not stored.

    Examples
    --------
    >>> from course_lib import papers
    >>> "Table 5: " in papers.citation("P3", "T5")
    True
    """
    if (paper, name) not in CAPTIONS:
        known = ", ".join(f"{one} {other}" for one, other in CAPTIONS)
        raise ValueError(f"citation: got {paper!r} and {name!r}, expected one of {known}")
    place = f"Table {name[1:]}: " if name.startswith("T") else ""
    return f"{CITATIONS[paper]}. {place}{CAPTIONS[paper, name]}."


def _statistics(record: dict[str, str]) -> Cell:
    counts = {key: int(record[key]) for key in ("m", "n", "positives")}
    return {"dataset": record["dataset"], **counts, "mean_pair_popularity": float(record["mean_pair_popularity"])}


def _cells_of_p0(record: dict[str, str]) -> list[Cell]:
    """The cells of one line: one for each printed share, or the whole line when it prints ticks or one number."""
    shares = [key for key in record if key.startswith("share_")]
    read: dict[str, Callable[[str], object]] = {"experiment": int, "value": float}
    row = {key: read.get(key, _tick)(text) for key, text in record.items() if key not in shares}
    return [{**row, "quantity": key, "value": float(record[key])} for key in shares] or [row]


def _cells_of_p1(record: dict[str, str], name: str) -> list[Cell]:
    """The cells of one line: one for each metric and data set of T2 to T5, else the whole line."""
    if name == "numbers":
        return [{**record, "dataset": record["dataset"] or None, "value": float(record["value"])}]
    if name == "T1":
        sizes = {key: int(record[key]) for key in ("users", "items", "interactions")}
        return [{"dataset": record["dataset"], **sizes, "sparsity_percent": float(record["sparsity_percent"])}]
    row = {"backbone": record["backbone"], "method": record["method"] or None}
    headings = [(key, *key.split(" ")) for key in record if " " in key]
    places = [(key, {"dataset": dataset, "metric": metric}) for key, metric, dataset in headings]
    return [{**row, **place, **_with_percent(record[key])} for key, place in places]


def _cells_of_p4(record: dict[str, str], name: str) -> list[Cell]:
    """The cells of one line: one for each method of T2, or the whole line when it prints sizes or one number."""
    if name == "numbers":
        return [{**record, "value": float(record["value"])}]
    dataset = record.pop("dataset")
    if name != "T2":
        return [{"dataset": dataset, **{key: int(text) for key, text in record.items()}}]
    return [_improved(dataset, heading, text) for heading, text in record.items()]


def _improved(dataset: str, heading: str, text: str) -> Cell:
    method, *alpha = heading.split(" ")
    return {"dataset": dataset, "method": method, "alpha": float(alpha[0]) if alpha else None, **_with_percent(text)}


def _with_percent(text: str) -> Cell:
    """`0.0306 (-4.0%)` or `0.0319`."""
    match = _IMPROVED.fullmatch(text)
    if match is None:
        raise ValueError(f"paper table: cannot read the cell {text!r}; expected 0.0319 or 0.0306 (-4.0%)")
    percent = None if match["percent"] is None else float(match["percent"])
    return {"value": float(match["value"]), "percent": percent}


def _tick(text: str) -> bool | str:
    return {"yes": True, "no": False}.get(text, text)


def _cells(record: dict[str, str]) -> list[Cell]:
    row = {"loss": record["loss"], "ratio": float(record["ratio"]) if record["ratio"] else None}
    columns = [key for key in record if " " in key]
    return [{**row, **_column(key, record.get("k")), **_number(record[key])} for key in columns]


def _column(heading: str, k: str | None) -> Cell:
    metric, dataset, pointwise = heading.split(" ")
    return {"dataset": dataset, "pointwise": pointwise, "metric": f"{metric}@{k}" if k else metric}


def _number(text: str) -> Cell:
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ValueError(f"paper table: cannot read the cell {text!r}; expected a number like 72.83, 72.83* or 72.83_")
    return {"value": float(match["value"]), "starred": bool(match["starred"]), "best": bool(match["best"])}
