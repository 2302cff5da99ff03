"""The stored results of the experiments: the page "What reproduced", and all numbers as CSV.

results/P3-T5-laptop.csv has one line for each number: the coordinates of its cell, metric, seed, value, and the paper's
number where it prints one. On a page

    <!-- results: picture -->    becomes the printed numbers that share an axis against ours, and how many do not
    <!-- results: panels -->     becomes the same without how many
    <!-- results: number -->     becomes how many printed numbers have a counterpart in our runs
    <!-- results: agreeing -->   how many of them agree, and
    <!-- results: ticks -->      how many of these say yes or no to a question that a theorem answers
    <!-- results: verdicts -->   a table: for each experiment how many of them agree, by the rule of papers.agreement
    <!-- results: list -->       a table of the files
"""

import csv
import html
import io
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import get_args

import matplotlib as mpl
import matplotlib.pyplot as plt

from course_lib.experiments.core.display import in_words, text_of
from course_lib.experiments.core.printed import Compared, compare
from course_lib.experiments.core.results import Result, load_result
from course_lib.lessons.shared.plots import paper_against_ours
from course_lib.papers.agreement import Verdict
from tools.figures import HEX, dark_color

ROOT = Path(__file__).resolve().parents[1]
FOLDER = "results"
LAST = ("metric", "seed", "value", "paper")
COMMENT = re.compile(r"<!-- results: (\w+) -->")
STRICTEST_FIRST: tuple[Verdict, ...] = ("differs", "agrees", "not converged", "one run", "not run")
PANELS = ("P3 on ML-1M, %", "P0 and P1, from 0 to 1")
SAID = {
    PANELS[0]: "Printed numbers against ours: precisions and recalls of P3",
    PANELS[1]: "Printed numbers against ours: correlations and shares of P0 and P1",
}
GROUP = re.compile(r'<g id="[^"]*">')  # figure_1, axes_1, ...: the same in every drawing, and nothing refers to them
PLAIN = {"e_pop": "the popularity direction", "(1 - cos)^2": "the loss (1 − cos)²"}  # in titles of results
FROM_0_TO_1 = {"share dot", "share cos", "share within 10", "Pearson"}
NO_AXIS = {  # metrics that share no axis with the others: in the table and not in the picture
    "tangent": "say yes or no (is a movement tangent?)",
    "AvgPop@10 change %": "are changes in per cent, from below zero to above zero",
    **dict.fromkeys(("m", "n", "positives", "mean_pair_popularity"), "describe a data set"),
}


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


@cache
def counterparts() -> list[list[Compared]]:
    """For each printed number our cells beside it, the one that counts first."""
    return beside_ours(stored())


def compared() -> list[Compared]:
    """Every printed number once, beside the cell of ours that counts."""
    return [cells[0] for cells in counterparts()]


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


def sorted_out() -> tuple[dict[str, list[tuple[float, float, str]]], Counter[str]]:
    """The points of each panel (printed, ours, verdict), and how many numbers are not drawn, by the reason."""
    groups: dict[str, list[tuple[float, float, str]]] = {name: [] for name in PANELS}
    left_out: Counter[str] = Counter()
    for cell in compared():
        verdict = cell.judged.verdict if cell.judged.verdict in ("agrees", "differs") else "not judged"
        point = cell.judged.printed, cell.judged.mean, verdict
        if cell.metric[:2] in ("P@", "R@"):
            groups[PANELS[0]].append(point)
        elif cell.metric in FROM_0_TO_1:
            groups[PANELS[1]].append(point)
        else:
            left_out[NO_AXIS[cell.metric]] += 1
    return groups, left_out


def panel(name: str, points: list[tuple[float, float, str]]) -> str:
    """SVG: the printed numbers of one panel against ours."""
    with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):  # each panel has ids of its own
        fig, _ = paper_against_ours({name: points}, logarithmic=PANELS[:1])
        for axis in [axis for ax in fig.axes for axis in (ax.xaxis, ax.yaxis)]:
            axis.set_major_formatter("{x:g}")  # 0.01: a raised -2 would not stand where the page's face puts it
        drawn = io.StringIO()
        fig.savefig(drawn, format="svg", transparent=True, metadata={"Date": None})
        plt.close(fig)
    svg = GROUP.sub("<g>", drawn.getvalue()[drawn.getvalue().index("<svg") :])
    named = svg.replace("<svg", f'<svg role="img" aria-label="{SAID[name]}, equal on the dashed line."', 1)
    return HEX.sub(lambda color: f"light-dark({color[0]}, {dark_color(color[0])})", named)  # as the page's scheme is


def picture() -> str:
    """HTML: the printed numbers against ours, a drawing for each panel, and below them which numbers are not drawn."""
    groups, left_out = sorted_out()
    points, reasons = sum(map(len, groups.values())), ", ".join(f"{n} that {why}" for why, n in left_out.items())
    note = f"{points} of {points + left_out.total()} printed numbers are drawn. Not drawn: {reasons}."
    return f"{panels()}<p>{note}</p>"


@cache
def panels() -> str:
    """HTML: the drawings alone, also for the first page of the book."""
    drawn = "".join(panel(name, points) for name, points in sorted_out()[0].items())
    return f'<div class="results-picture">{drawn}</div>'


def verdicts() -> str:
    """HTML: for each experiment with printed numbers how many agree, differ, or cannot be judged and why."""
    by_experiment: dict[tuple[str, bool], Counter[str]] = {}
    on: dict[tuple[str, bool], dict[str, None]] = {}  # its data sets, in order of appearance
    for cells in counterparts():
        key = (cells[0].experiment, cells[0].same_data)
        by_experiment.setdefault(key, Counter())[cells[0].judged.verdict] += 1
        on.setdefault(key, {}).update(dict.fromkeys(text_of(cell.data) for cell in cells))
    names = get_args(Verdict)[:4]
    head = "".join(
        f'<th scope="col">{name}</th>' for name in ("table or figure", "our data", "the paper's data?", *names)
    )
    rows = "".join(
        f'<tr><th scope="row">{spoken(experiment)}</th><td>{", ".join(on[experiment, same])}</td>'
        f"<td>{'yes' if same else 'no'}</td>"
        + "".join(f'<td class="number">{counts[name] or "–"}</td>' for name in names)
        + "</tr>"
        for (experiment, same), counts in by_experiment.items()
    )
    caption = "Printed numbers, by verdict."
    table = f"<caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody>"
    return in_a_box(f'<table class="course-table">{table}</table>')


def counts() -> dict[str, int]:
    """How many printed numbers stand beside ours, how many of them agree, and how many of these are ticks."""
    agreeing = [cell for cell in compared() if cell.judged.verdict == "agrees"]
    ticks = [cell for cell in agreeing if cell.metric == "tangent"]
    return {"number": len(compared()), "agreeing": len(agreeing), "ticks": len(ticks)}


def in_a_box(table: str) -> str:
    """A table that scrolls inside its own box on a narrow screen."""
    return f'<div class="pst-scrollable-table-container" tabindex="0">{table}</div>'


def fill(text: str) -> str:
    """A page with what stands for its comments. KeyError for a comment of another name."""
    makers: dict[str, Callable[[], str]] = {"picture": picture, "panels": panels, "verdicts": verdicts, "list": listed}

    def made(comment: re.Match[str]) -> str:
        maker = makers.get(comment[1])
        return f"```{{raw}} html\n{maker()}\n```" if maker else str(counts()[comment[1]])

    return COMMENT.sub(made, text)
