"""The stored results of the experiments: the page "What reproduced", and all numbers as CSV.

results/P3-T5-laptop.csv has one line for each number: the coordinates of its cell, metric, seed, value, and the paper's
number where it prints one. On a page

    <!-- results: picture -->    becomes a dot for each printed number (tools/printed_picture.py)
    <!-- results: number -->     becomes how many printed numbers have a counterpart in our runs, without the ticks
    <!-- results: agreeing -->   how many of them agree
    <!-- results: ticks -->      how many ticks there are, which say yes or no to a question that a theorem answers
    <!-- results: beyond -->     how many printed numbers have no counterpart
    <!-- results: cells -->      how many cells of ours stand beside printed numbers, in all ways
    <!-- results: cut -->        how many of these were cut off by a cap of our own, and
    <!-- results: pathless -->   how many of these have no stored path
    <!-- results: margins -->    a sentence: how many would agree with half and with twice the margin
    <!-- results: verdicts -->   a table: for each table how many of them agree, by the rule of papers.agreement
    <!-- results: list -->       a table of the files
    <!-- results: rules -->      a table: which rules of comparing each of them keeps
"""

import csv
import html
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import get_args

from course_lib import papers
from course_lib.experiments.core import registry
from course_lib.experiments.core.display import in_words, text_of
from course_lib.experiments.core.printed import Compared, compare
from course_lib.experiments.core.results import Result, load_result
from course_lib.lessons.shared.scalars import Table
from course_lib.papers import agreement
from course_lib.papers.agreement import Verdict
from tools import printed_picture

ROOT = Path(__file__).resolve().parents[1]
FOLDER = "results"
LAST = ("metric", "seed", "value", "paper")
COMMENT = re.compile(r"<!-- results: (\w+) -->")
STRICTEST_FIRST: tuple[Verdict, ...] = ("differs", "undecided", "agrees", "not converged")
PLAIN = {"e_pop": "the popularity direction", "(1 - cos)^2": "the loss (1 − cos)²"}  # in titles of results
TICK = "tangent"  # of P0's Table 1: a theorem gives the answer before any run, on data that we made
NOT_HERE = {"P1": {"amazon-book", "yelp", "tmall"}, "P3": {"eurlex"}, "P4": {"simple", "fr", "en"}}  # data we lack
SIZES = ("m", "n", "positives", "mean_pair_popularity")  # of P3's Table 3
ON_PATHS = {"P3-T6": ("P3-X2", "full"), "P3-T5": ("P3-X3", "laptop")}  # where the way of a table's runs is stored


def stored() -> list[Result]:
    """Every stored result, by name; experiment 2 before experiment 10."""
    names = (path.stem.rpartition("-") for path in (ROOT / "book" / "results").glob("*.json"))
    return [load_result(name, scale) for name, _, scale in sorted(names, key=_in_order)]


def _in_order(name: tuple[str, str, str]) -> list[tuple[int, str]]:
    """Numbers inside a name by their size."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", "-".join(name))]


def columns(result: Result) -> list[str]:
    """The columns of a file: the coordinates of a cell, then metric, seed, value and the paper's number."""
    found = result.columns()
    return [name for name in found if name not in LAST] + [name for name in LAST if name in found]


def write(result: Result, folder: Path) -> Path:
    """Writes the rows of one result."""
    path = folder / f"{result.id}-{result.scale}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns(result), lineterminator="\n")
        writer.writeheader()
        writer.writerows(result.rows)
    return path


def write_all(folder: Path) -> None:
    """Write the files of all results that have changed."""
    folder.mkdir(exist_ok=True)
    for source in (ROOT / "book" / "results").glob("*.json"):
        written = folder / f"{source.stem}.csv"
        if not written.is_file() or written.stat().st_mtime < source.stat().st_mtime:
            name, _, scale = source.stem.rpartition("-")
            write(load_result(name, scale), folder)


def spoken(experiment: str) -> str:
    """ "P3, Table 6" for P3-T6, "P0, experiment 8" for P0-E8."""
    paper, name = experiment.split("-")
    kinds = {"T": "Table", "F": "Figure", "E": "experiment", "X": "ours, no."}
    return f"{paper}, {kinds[name[0]]} {name[1:]}" if name[0] in kinds and name[1:] else experiment


def titled(title: str) -> str:
    """The title of a result, its short names spelt out."""
    for short, words in PLAIN.items():
        title = title.replace(short, words)
    return in_words(title)


def listed() -> str:
    """HTML: a table of the files, each with what it holds."""
    rows = "".join(
        f'<tr><th scope="row"><a href="../../{FOLDER}/{r.id}-{r.scale}.csv" download>{r.id}, {r.scale}</a></th>'
        f"<td>{html.escape(titled(r.title))}</td><td>{len(r.rows):,}</td></tr>"
        for r in stored()
    )
    head = '<tr><th scope="col">file</th><th scope="col">what</th><th scope="col">numbers</th></tr>'
    return in_a_box(f'<table class="course-table"><thead>{head}</thead><tbody>{rows}</tbody></table>')


def rules() -> str:
    """HTML: a table of the files, each with its seeds and what its experiment keeps of the rules."""
    rows = []
    for result in stored():
        kept = registry.get(result.id).rules
        told = (kept.path, "yes" if kept.lists else None, kept.predictions or None) if kept else (None,) * 3
        rows.append((f"{result.id}, {result.scale}", fewest_seeds(result), *told))
    heads = ("file", "seeds", "path", "judges lists", "predictions at")
    return in_a_box(Table("What each experiment keeps.", heads, rows)._repr_html_())


def fewest_seeds(result: Result) -> int | None:
    """How many seeds the data set with the fewest has, None where nothing is drawn."""
    seeds: dict[object, set[int]] = {}
    for row in result.rows:
        if row.get("seed") is not None:
            seeds.setdefault(row.get("data"), set()).add(row["seed"])
    return min(map(len, seeds.values()), default=None)


@cache
def counterparts() -> list[list[Compared]]:
    """For each printed number our cells beside it, the one that counts first."""
    return beside_ours(stored())


def compared() -> list[Compared]:
    """Every printed number once, beside the cell of ours that counts."""
    return [cells[0] for cells in counterparts()]


def measured() -> list[Compared]:
    """Those of `compared` that are no ticks."""
    return [cell for cell in compared() if cell.metric != TICK]


@cache
def beyond() -> dict[str, Counter[Verdict]]:
    """Of the printed tables of results, the numbers without a counterpart, each once: {"P1-T2": {"not to be had": 90}}.

    P1's Tables 3 to 5 repeat numbers of its Table 2, and P3's Table 4 some of its Table 5; percentages follow from
    other numbers.
    """
    found: dict[str, Counter[Verdict]] = {}
    seen = {place for cell in compared() for place in [_place(cell)] if place is not None}
    for paper, name in [
        *(("P1", f"T{at}") for at in (2, 3, 4, 5)),
        *(("P3", f"T{at}") for at in (3, 5, 4, 6)),
        ("P4", "T2"),
    ]:
        for cell in papers.table(paper, name):
            for place in _places(paper, name, cell):
                if place not in seen:
                    seen.add(place)
                    lacking: Verdict = "not to be had" if cell["dataset"] in NOT_HERE[paper] else "not trained"
                    found.setdefault(f"{paper}-{name}", Counter())[lacking] += 1
    return found


def _places(paper: str, name: str, cell: papers.Cell) -> list[tuple[object, ...]]:
    """What names the numbers of a printed cell, the same wherever a paper repeats one."""
    if (paper, name) == ("P3", "T3"):
        return [("P3-T3", cell["dataset"], metric) for metric in SIZES]
    if paper == "P1":
        method = "DDC" if cell["method"] == "b_a" else cell["method"]
        return [("P1", cell["dataset"], cell["backbone"], method, cell["metric"])]
    if paper == "P4":
        return [("P4", cell["dataset"], cell["method"], cell["alpha"])]
    table = "T5" if name == "T4" and cell["loss"] == "unbiased" else name
    return [(f"P3-{table}", cell["dataset"], cell["pointwise"], cell["loss"], cell["ratio"], cell["metric"])]


def _place(cell: Compared) -> tuple[object, ...] | None:
    """`_places` of the printed number beside a cell of ours; None for one that stands in no table of results."""
    where, table = dict(cell.cell), str(cell.number[0])
    if table == "P3-T3":
        return table, cell.data, cell.metric
    if table.startswith("P3"):
        return table, cell.data, where["pointwise"], where["loss"], where.get("ratio"), cell.metric
    return None


def cut_off() -> dict[str, int]:
    """Of all our cells beside printed numbers, how many a cap of ours cut off, and of these how many have no path.

    A cell has a path where runs of the same model on the same data are stored with looks along their way.
    """
    cells = [cell for group in counterparts() for cell in group]
    cut = [cell for cell in cells if cell.judged.verdict == "not converged"]
    return {"cells": len(cells), "cut": len(cut), "pathless": sum(not _has_path(cell) for cell in cut)}


def _has_path(cell: Compared) -> bool:
    where = dict(cell.cell)
    return (cell.data, where.get("pointwise"), where.get("loss"), where.get("ratio")) in _paths_of(str(cell.number[0]))


@cache
def _paths_of(table: str) -> frozenset[tuple[object, ...]]:
    """(data, point-wise loss, loss, ratio) of every stored path of a table's runs."""
    name, scale = ON_PATHS.get(table, ("", ""))
    if not (ROOT / "book" / "results" / f"{name}-{scale}.json").is_file():
        return frozenset()
    rows = load_result(name, scale).rows
    return frozenset((row["data"], row["pointwise"], row["loss"], row["ratio"]) for row in rows if "path" in row)


def beside_ours(results: list[Result]) -> list[list[Compared]]:
    """For each printed number our cells beside it, each from the result that has most runs of it, the first of several.

    Cells on the paper's own data leave out the others. The one with the strictest verdict comes first, so a number
    agrees only where no cell differs. Laptop scale counts, and full scale where its data are the paper's: not data
    that were made to be as large.
    """
    found: dict[tuple[object, ...], Compared] = {}
    for cell in (cell for result in results for cell in compare(result) if _counts(result, cell)):
        before = found.setdefault((cell.experiment, *cell.key), cell)
        if cell.judged.n > before.judged.n:
            found[cell.experiment, *cell.key] = cell
    groups: dict[tuple[object, ...], list[Compared]] = {}
    for cell in found.values():
        groups.setdefault(cell.number, []).append(cell)
    return [_strictest_first(cells) for cells in groups.values()]


def _strictest_first(cells: list[Compared]) -> list[Compared]:
    here = [cell for cell in cells if cell.same_data] or cells
    return sorted(here, key=lambda cell: STRICTEST_FIRST.index(cell.judged.verdict))


def _counts(result: Result, cell: Compared) -> bool:
    return result.scale == "laptop" or (result.scale == "full" and cell.same_data)


def picture() -> str:
    """HTML: a dot for each printed number."""
    return printed_picture.picture(measured(), spoken)


def verdicts() -> str:
    """HTML: for each table with printed numbers how many agree, differ, or cannot be judged and why; without ticks."""
    counted: dict[tuple[str, str], Counter[Verdict]] = {}
    on: dict[tuple[str, str], dict[str, None]] = {}  # our data sets, in order of appearance
    for cells in counterparts():
        if cells[0].metric != TICK:
            key = cells[0].table, "yes" if cells[0].same_data else "no"
            counted.setdefault(key, Counter())[cells[0].judged.verdict] += 1
            on.setdefault(key, {}).update(dict.fromkeys(text_of(cell.data) for cell in cells))
    for table, lacking in beyond().items():
        for verdict, count in lacking.items():
            key = table, "yes" if verdict == "not trained" else "no"
            counted.setdefault((table, "yes") if (table, "yes") in counted else key, Counter())[verdict] += count
    names = get_args(Verdict)
    rows = [
        (spoken(table), ", ".join(on.get((table, same), {})) or None, same, *(counts[name] or None for name in names))
        for (table, same), counts in sorted(counted.items(), key=lambda item: _in_order(("", "", item[0][0])))
    ]
    heads = ("table or figure", "our data", "the paper's data?", *names)
    return in_a_box(Table("Printed numbers, by verdict.", heads, rows)._repr_html_())


def counts() -> dict[str, int]:
    """How many printed numbers stand beside ours, how they fare, how many do not; ticks apart; and our own caps."""
    by_verdict = Counter(cell.judged.verdict for cell in measured())
    return {
        "number": len(measured()),
        "agreeing": by_verdict["agrees"],
        "differing": by_verdict["differs"],
        "undecided": by_verdict["undecided"],
        "unconverged": by_verdict["not converged"],
        "ticks": len(compared()) - len(measured()),
        "beyond": sum(lacking.total() for lacking in beyond().values()),
        **cut_off(),
    }


def margins() -> str:
    """A sentence: how many measured numbers agree and are undecided at half the margin of the rule and at twice it."""
    told = []
    for factor in (0.5, 2.0):
        found: Counter[str] = Counter()
        for judged in (cell.judged for cell in measured()):
            off, allowed = abs(judged.printed - judged.mean), factor * judged.allowed
            if judged.verdict in ("agrees", "differs", "undecided"):
                agrees, differs = off + judged.half <= allowed, off - judged.half > allowed
                found["agree" if agrees else "differ" if differs else "undecided"] += 1
        margin = 100 * factor * agreement.MARGIN
        told.append(
            f"with a margin of {margin:g} %, {found['agree']} numbers agree and {found['undecided']} are undecided"
        )
    return "; ".join(told)


def in_a_box(table: str) -> str:
    """A table that scrolls inside its own box on a narrow screen."""
    return f'<div class="pst-scrollable-table-container" tabindex="0">{table}</div>'


def fill(text: str) -> str:
    """A page with what stands for its comments. KeyError for a comment of another name."""
    makers: dict[str, Callable[[], str]] = {
        "picture": picture,
        "verdicts": verdicts,
        "list": listed,
        "rules": rules,
    }

    def made(comment: re.Match[str]) -> str:
        if comment[1] == "margins":
            return margins()
        maker = makers.get(comment[1])
        return f"```{{raw}} html\n{maker()}\n```" if maker else str(counts()[comment[1]])

    return COMMENT.sub(made, text)
