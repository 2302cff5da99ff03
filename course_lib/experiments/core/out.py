"""A result out of the house: CSV, Parquet, LaTeX for booktabs, a figure as PDF and PNG, BibTeX of what was used."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_lib.datasets.catalogue import ENTRIES
from course_lib.experiments.core import beside, display, own_run
from course_lib.experiments.core.provenance import ROOT, git_state
from course_lib.experiments.core.results import Result
from course_lib.experiments.core.summary import Row, half_width

IN_LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "±": r"$\pm$", "–": "--", "−": "$-$", "°": r"$^\circ$", "≈": r"$\approx$", "×": r"$\times$", "|": r"$|$",
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$",
    "α": r"$\alpha$", "β": r"$\beta$", "λ": r"$\lambda$", "τ": r"$\tau$", "ρ": r"$\rho$", "ω": r"$\omega$",
}  # fmt: skip
WIDTH, LINE = 5.5, 0.24  # inches: of a column of text, of a row of a figure


def write(result: Result, folder: str | Path, compared: pd.DataFrame | None = None, **main: Any) -> list[Path]:
    """Writes a result into a folder and returns the files: FOLDER/<id>-<scale>.json, .csv, .parquet, .tex, .bib ...

    compared: a table of intervals, written as ...-intervals.csv and .tex; main: which rows the figure shows (PDF, PNG).
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    stem = folder / f"{result.id}-{result.scale}"
    files = [result.save(folder, replace=True)]
    frame = result.frame().drop(columns="path", errors="ignore")
    about = {key: value for key, value in main.items() if key != "metric"}
    texts = {".tex": latex(*_shown(result, about)), ".bib": bibtex(result)}
    frame.to_csv(stem.with_suffix(".csv"), index=False)
    files.append(stem.with_suffix(".csv"))
    try:
        frame.astype({name: str for name in frame if frame[name].map(type).nunique() > 1}).to_parquet(
            stem.with_suffix(".parquet"), index=False
        )
        files.append(stem.with_suffix(".parquet"))
    except ImportError:  # pyarrow comes with the extra `tables`
        pass
    if compared is not None and len(compared):
        path = stem.with_name(f"{stem.name}-intervals.csv")
        compared.to_csv(path, index=False)
        files.append(path)
        shown, same = own_run.telling(compared)
        kind = "with simultaneous 95 % intervals" if "low" in compared else "of one seed, without intervals"
        about_all = display.everywhere("In every row", same)
        texts["-intervals.tex"] = latex(_words(shown), f"Differences of pairs {kind}. {about_all}".strip())
    for end, text in texts.items():
        path = stem.with_name(f"{stem.name}{end}")
        path.write_text(text, encoding="utf-8")
        files.append(path)
    if main:
        files += [_saved(figure(result, **main), stem.with_suffix(end)) for end in (".pdf", ".png")]
    return files


def _shown(result: Result, about: dict[str, Any]) -> tuple[pd.DataFrame, str]:
    """The table of some rows of a result as texts, with the names and digits of its page, and its caption."""
    chosen, left, top, digits = result._arranged(None, None, None, dict(about))
    pivot, prefix = display.Pivot.of(chosen, left, top), f"{about.get('selection')} "
    table = pivot.texts(lambda cell: display.said(cell, digits)).rename(columns=lambda head: head.removeprefix(prefix))
    brackets = "In brackets: the paper." if any(row.get("paper") is not None for row in chosen) else ""
    return table, " ".join(filter(None, (result.caption(chosen), pivot.caption(), brackets)))


def _words(table: pd.DataFrame) -> pd.DataFrame:
    """Numbers to four places, coordinates by their names."""

    def one(value: Any, column: str) -> str:
        missing = value is None or (isinstance(value, float) and pd.isna(value))
        return "" if missing else f"{value:.4g}" if isinstance(value, float) else display.text_of(value, column)

    said = {name: [one(value, name) for value in table[name]] for name in table}
    return pd.DataFrame(said).rename(columns=display.name_of)


def latex(table: pd.DataFrame, caption: str) -> str:
    """A table of texts with the rules of booktabs; \\usepackage{booktabs} is all that it needs."""
    numbers = [all(re.match(r"^-?[\d.]+|^$", text) for text in table.iloc[:, at]) for at in range(table.shape[1])]
    columns = "".join("r" if number else "l" for number in numbers)
    plain = table.map(escaped).rename(columns=lambda name: escaped(str(name))).style.hide()
    look: dict[str, Any] = {"hrules": True, "column_format": columns, "position_float": "centering"}
    text: str = plain.to_latex(caption=escaped(caption), **look)
    return text


def escaped(text: str) -> str:
    """A text as LaTeX says it."""
    return "".join(IN_LATEX.get(sign, sign) for sign in text)


def figure(result: Result, **main: Any) -> Figure:
    """A panel for each data set, a row for each line of the table: the runs as dots, their mean with its 95 % interval.

    A dashed line stands at the list of hits.
    """
    rows = [row for row in result.rows if all(row.get(key) == value for key, value in main.items())]
    varying, panels = _varying(rows, main), dict[str, dict[str, list[float]]]()
    for row in rows:
        named = [display.text_of(row[key], key) for key in varying if row.get(key) is not None]
        panel = panels.setdefault(display.text_of(row.get("data")), {})
        panel.setdefault(", ".join(named) or result.id, []).append(row["value"])
    heights = [len(panel) for panel in panels.values()]
    several = any(len(values) > 1 for panel in panels.values() for values in panel.values())
    with mpl.rc_context({"font.size": 8, "pdf.fonttype": 42}):
        drawn = Figure(figsize=(WIDTH, 0.7 * len(panels) + LINE * sum(heights)), layout="constrained")
        axes = drawn.subplots(len(panels), 1, height_ratios=heights, squeeze=False)[:, 0]
        for ax, (title, panel) in zip(axes, panels.items(), strict=True):
            _panel(ax, panel)
            ax.set_title(title, loc="left", weight="bold", fontsize=8)
        words = "dots: runs, diamond: mean with 95 % interval" if several else "a single run each"
        axes[-1].set_xlabel(f"{display.name_of(main.get('metric', 'value'))}; {words}")
    return drawn


def _panel(ax: Axes, panel: Mapping[str, list[float]]) -> None:
    for at, (name, values) in enumerate(panel.items()):
        mean = sum(values) / len(values)
        half = half_width(values) if len(values) > 1 else 0.0
        ax.plot(values, [at] * len(values), "o", color="0.6", markersize=2.5)
        ax.errorbar(mean, at, xerr=half, fmt="D", color="black", markersize=4, linewidth=1)
        if name.split(", ")[0] == beside.LISTS[0]:
            ax.axvline(mean, color="0.4", linewidth=0.8, linestyle="dashed")
    ax.set_yticks(range(len(panel)), list(panel))
    ax.set_ylim(len(panel) - 0.4, -0.6)
    ax.spines[["top", "right"]].set_visible(False)


def _varying(rows: Sequence[Row], main: Mapping[str, Any]) -> list[str]:
    """The columns that name lists, or in which the rows of models differ, and that no number measures."""
    models = [row for row in rows if not beside.is_list(row)]
    left_out = {*beside.NOT_WHERE, "omega", "k", "data", "device", *main}
    keys = [key for key in dict.fromkeys(key for row in rows for key in row) if key not in left_out]
    lists = {key for row in rows for key in keys if row.get(key) in beside.LISTS}
    return [key for key in keys if key in lists or len({str(row.get(key)) for row in models}) > 1]


def _saved(drawn: Figure, path: Path) -> Path:
    drawn.savefig(path, dpi=200, metadata={"CreationDate": None} if path.suffix == ".pdf" else None)
    return path


def bibtex(result: Result) -> str:
    """The entries of the papers, methods and sets that a result names, and of the course; what has none is named."""
    words = {str(value) for row in result.rows for value in row.values() if isinstance(value, str)}
    keys = {result.id.split("-")[0].lower()}
    keys |= {key for word, key in display.TOLD["works"].items() if any(_names(word, text) for text in words)}
    entries = _entries(ROOT / "book" / "references.bib")
    sets = [f"% {name}: {ENTRIES[name].citation}" for name in sorted(words & {*ENTRIES})]
    unknown = [f"% own data {entry['name']}: cite where it is from" for entry in result.provenance.get("data", [])
               if "path" in entry.get("recipe", {})]  # fmt: skip
    return "\n\n".join([*(entries[key] for key in sorted(keys) if key in entries), course(), *sets, *unknown]) + "\n"


def _names(word: str, text: str) -> bool:
    """Whether a text of a row names a work: a method as one of its words, a set by how its name begins."""
    return text.startswith(word) or word in text.split()


def _entries(path: Path) -> dict[str, str]:
    """Key -> entry; none where there is no book. Pages tell years apart by letters ("2026a"), which are left out."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    found = re.finditer(r"^@\w+\{(\w+),.*?^\}", re.sub(r"(= \{\d{4})[a-z]\}", r"\1}", text), re.M | re.S)
    return {match[1]: match[0] for match in found}


def course() -> str:
    """The entry of the course, from CITATION.cff."""
    import yaml

    path = ROOT / "CITATION.cff"
    if not path.is_file():
        return "% the course: see its CITATION.cff"
    said = yaml.safe_load(path.read_text(encoding="utf-8"))
    commit = git_state()["commit"] or ""
    fields = {
        "author": "{" + said["authors"][0]["name"] + "}",
        "title": said["title"],
        "year": str(said.get("date-released") or date.today())[:4],
        "version": said.get("version"),
        "doi": said.get("doi"),
        "url": said.get("repository-code"),
        "note": commit and f"commit {commit[:12]}",
    }
    lines = [f"  {name:<7} = {{{value}}}" for name, value in fields.items() if value]
    return "@software{twotowercourse,\n" + ",\n".join(lines) + "\n}"
