"""The tables that the papers print, as data: `table("P3", "T5")` is a list of cells.

Numbers are facts and are given here with their citation. Each file keeps the layout of the printed table, so that it
can be compared with the paper by eye: a `*` behind a number is the paper's mark for "optimization issues", a `_` its
underline for "best in the column". Nothing is corrected, misprints included; `course_lib.papers.p0`, `p1`, `p3`
and `p4` find them. Numbers that a paper prints in its text and not in a table are in "numbers", with the place of each.
"""

import csv
import re
from contextlib import suppress
from importlib.resources import files
from itertools import zip_longest
from typing import Any

import yaml

Cell = dict[str, Any]  # the fields of one printed number: see `table`

_TEXTS = yaml.safe_load(files(__package__).joinpath("captions.yml").read_text(encoding="utf-8"))
CITATIONS: dict[str, str] = _TEXTS["citations"]
CAPTIONS = {(paper, name): text for paper, texts in _TEXTS["captions"].items() for name, text in texts.items()}
# Where a line holds several numbers, the words of a heading say what one is: `P@5 eurlex square`, `sogram 0.001`.
_HEADING = re.compile(r"\S+ .+|share_\w+|sampling")
_WORDS: dict[str, tuple[str, ...]] = {
    "P0": ("quantity",),
    "P1": ("metric", "dataset"),
    "P3": ("metric", "dataset", "pointwise"),
    "P4": ("method", "alpha"),
}
_NUMBER = re.compile(r"(?P<value>\d+(?:\.\d+)?)(?P<starred>\*?)(?P<best>_?)(?: \((?P<percent>[+-]\d+\.\d+)%\))?")
_MARKS: dict[str, tuple[str, ...]] = {"P0": (), "P1": ("percent",), "P3": ("starred", "best"), "P4": ("percent",)}


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
        return [cell for record in csv.DictReader(lines) for cell in _cells(paper, record)]


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
    ValueError
        For a table that is not stored. The message lists those that are.

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


def _cells(paper: str, record: dict[str, str]) -> list[Cell]:
    """The cells of one line: one for each number that has a heading of its own, or else the whole line."""
    numbers = {heading: text for heading, text in record.items() if _HEADING.fullmatch(heading)}
    row = {name: _field(name, text) for name, text in record.items() if name not in numbers}
    k = row.pop("k", None)
    cells = []
    for heading, text in numbers.items():
        words = zip_longest(_WORDS[paper], (heading.replace(" ", f"@{k} ", 1) if k else heading).split())
        named = {name: _field(name, word or "") for name, word in words}
        metric = {"metric": named.pop("metric")} if "metric" in named else {}  # beside its value
        cells.append({**row, **named, **metric, **_number(paper, text)})
    return cells or [row]


def _field(name: str, text: str) -> Any:
    """What stands in a field: a tick, a number, a text, or None."""
    if text in ("yes", "no", ""):
        return {"yes": True, "no": False}.get(text)
    for kind in (float,) if name == "value" else (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def _number(paper: str, text: str) -> Cell:
    """A printed number, and the marks that this paper puts behind its numbers: `72.83*`, `0.0306 (-4.0%)`."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ValueError(f"paper table: cannot read the cell {text!r}; expected 72.83, 72.83*, 72.83_ or 0.03 (-4.0%)")
    percent = None if match["percent"] is None else float(match["percent"])
    marks = {"starred": bool(match["starred"]), "best": bool(match["best"]), "percent": percent}
    return {"value": float(match["value"]), **{mark: marks[mark] for mark in _MARKS[paper]}}
