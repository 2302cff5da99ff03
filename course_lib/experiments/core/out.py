"""A result out of the house: CSV, Parquet, LaTeX for booktabs, a figure as PDF and PNG, BibTeX of what was used."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure

from course_lib.datasets.catalogue import ENTRIES
from course_lib.experiments.core import beside, display
from course_lib.experiments.core.provenance import ROOT, git_state
from course_lib.experiments.core.results import Result
from course_lib.experiments.core.summary import half_width

IN_LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "±": r"$\pm$", "–": "--", "−": "$-$", "°": r"$^\circ$", "≈": r"$\approx$", "×": r"$\times$", "|": r"$|$",
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$",
    "α": r"$\alpha$", "β": r"$\beta$", "λ": r"$\lambda$", "τ": r"$\tau$", "ρ": r"$\rho$", "ω": r"$\omega$",
}  # fmt: skip
WORKS = {  # a word in a row, or in the name of a set -> the key in references.bib
    "MF": "rendle2009",
    "LightGCN": "he2020",
    "DGCF": "wang2020",
    "NCL": "lin2022",
    "LightCCF": "zhang2025",
    "IPS": "joachims2017",
    "DICE": "zheng2021",
    "MACR": "wei2021",
    "PC": "zhu2021",
    "PAAC": "cai2024",
    "DCCL": "zhao2023",
    "TPAB": "yoo2025",
    "DDC": "p1",
    "sogram": "p4",
    "sampling": "p4",
    "ml-": "harper2015",
    "movietweetings": "dooms2013",
    "amazon-": "mcauley2015",
    "gowalla": "cho2011",
    "citeulike": "wang2011",
    "lastfm": "cantador2011",
}
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
    texts = {".tex": latex(_shown(result, about), result.caption()), ".bib": bibtex(result)}
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
        texts["-intervals.tex"] = latex(_words(compared), "Differences of pairs with simultaneous 95 % intervals.")
    for end, text in texts.items():
        path = stem.with_name(f"{stem.name}{end}")
        path.write_text(text, encoding="utf-8")
        files.append(path)
    if main:
        files += [_saved(figure(result, **main), stem.with_suffix(end)) for end in (".pdf", ".png")]
    return files


def _shown(result: Result, about: dict[str, Any]) -> pd.DataFrame:
    """The table of some rows of a result as texts, with the names that people read."""
    header, *body = result.table(**about)
    words = [head.removeprefix(f"{about.get('selection')} ") for head in header]
    names = [display.name_of(display.in_words(head)) for head in words]
    table = pd.DataFrame([[display.text_of(_number(cell)) for cell in line] for line in body], columns=names)
    return table.loc[:, (table != table.iloc[0]).any() if len(table) > 1 else slice(None)]


def _number(text: str) -> Any:
    return float(text) if re.fullmatch(r"\d+e-?\d+", text) else text


def _words(table: pd.DataFrame) -> pd.DataFrame:
    """Numbers to four places, coordinates by their names."""

    def one(value: Any) -> str:
        missing = value is None or (isinstance(value, float) and pd.isna(value))
        return "" if missing else f"{value:.4g}" if isinstance(value, float) else display.text_of(value)

    return table.map(one).rename(columns=display.name_of)


def latex(table: pd.DataFrame, caption: str) -> str:
    """A table of texts with the rules of booktabs; \\usepackage{booktabs} is all that it needs."""
    lines = [" & ".join(map(escaped, line)) + r" \\" for line in table.to_numpy().tolist()]
    head = " & ".join(escaped(str(name)) for name in table.columns) + r" \\"
    numbers = [all(re.match(r"^-?[\d.]+|^$", text) for text in table.iloc[:, at]) for at in range(table.shape[1])]
    columns = "".join("r" if number else "l" for number in numbers)
    body = [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        head,
        r"\midrule",
        *lines,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join([r"\begin{table}", rf"\caption{{{escaped(caption)}}}", r"\centering", *body, r"\end{table}", ""])


def escaped(text: str) -> str:
    """A text as LaTeX says it."""
    return "".join(IN_LATEX.get(sign, sign) for sign in text)


def figure(result: Result, **main: Any) -> Figure:
    """A row for each line of the result: the runs as dots, their mean with its 95 % interval; a line at the hits."""
    rows = [row for row in result.rows if all(row.get(key) == value for key, value in main.items())]
    groups: dict[str, list[float]] = {}
    varying = _varying(rows, main)
    for row in rows:
        named = [display.text_of(row[key], key) for key in varying if row.get(key) is not None]
        groups.setdefault(", ".join(named) or result.id, []).append(row["value"])
    with mpl.rc_context({"font.size": 8, "pdf.fonttype": 42}):
        drawn = Figure(figsize=(WIDTH, 0.7 + LINE * len(groups)), layout="constrained")
        ax = drawn.subplots()
        for at, (name, values) in enumerate(groups.items()):
            mean = sum(values) / len(values)
            half = half_width(values) if len(values) > 1 else 0.0
            ax.plot(values, [at] * len(values), "o", color="0.6", markersize=2.5)
            ax.errorbar(mean, at, xerr=half, fmt="D", color="black", markersize=4, linewidth=1)
            if name.split(", ")[0] == beside.LISTS[0] or name == beside.LISTS[0]:
                ax.axvline(mean, color="0.4", linewidth=0.8, linestyle="dashed")
        ax.set_yticks(range(len(groups)), list(groups))
        ax.invert_yaxis()
        ax.set_xlabel(f"{display.name_of(main.get('metric', 'value'))}; dots: runs, diamond: mean with 95 % interval")
        ax.spines[["top", "right"]].set_visible(False)
    return drawn


def _varying(rows: Iterable[Mapping[str, Any]], main: Mapping[str, Any]) -> list[str]:
    """The columns in which the rows differ and that no number measures."""
    rows = list(rows)
    keys = dict.fromkeys(key for row in rows for key in row)
    left_out = {*beside.NOT_WHERE, "omega", "k", *main}
    return [key for key in keys if key not in left_out and len({str(row.get(key)) for row in rows}) > 1]


def _saved(drawn: Figure, path: Path) -> Path:
    drawn.savefig(path, dpi=200, metadata={"CreationDate": None} if path.suffix == ".pdf" else None)
    return path


def bibtex(result: Result) -> str:
    """The entries of the papers, methods and sets that a result names, and of the course; what has none is named."""
    words = {str(value) for row in result.rows for value in row.values() if isinstance(value, str)}
    keys = {result.id.split("-")[0].lower()}
    keys |= {key for word, key in WORKS.items() if any(_names(word, text) for text in words)}
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
