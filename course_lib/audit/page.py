"""The report as one page of HTML: no script, no request, dark and light, print, 360 px."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib.audit.cosines import Cosines
from course_lib.audit.drawings import drawing
from course_lib.audit.remedies import Effect
from course_lib.audit.verdicts import ANSWERS, Picture, Verdict

SITE = "https://two-tower-course.github.io/two-tower-course/book"  # tools/address.py
STYLE = Path(__file__).with_name("page.css")
SIGNS = {"fault": "✗", "fine": "✓", "cannot tell": "?"}


@dataclass(frozen=True)
class Contents:
    """What the page shows; facts: {what was looked at: value}, in nested dictionaries; version: of the audit.

    remedies: with the lists that need no tables; cosines: None where there are two snapshots, or the rows do not belong
    to the pairs; rules: {id: when its verdict is a fault}; quality: a sentence on NDCG, "" without it.
    """

    verdicts: Sequence[Verdict]
    remedies: Sequence[Effect]
    cosines: Cosines | None
    facts: Mapping[str, Any]
    notes: Sequence[str]
    source: str
    version: str
    rules: Mapping[str, str]
    quality: str = ""


def page(shown: Contents) -> str:
    """The whole page."""
    title = f"Two-tower audit: {shown.source}"
    body = "\n".join(
        [
            f"<header><h1>{_text(title)}</h1>{_summary(shown)}</header>",
            "<main>",
            *(_section(verdict, shown.rules[verdict.id]) for verdict in shown.verdicts),
            _remedies(shown.remedies, shown.quality),
            _cosines(shown.cosines),
            _facts(shown.facts, shown.notes),
            "</main>",
            f"<footer><p>two-tower-audit {shown.version}. A verdict is about these tables; what a table cannot show, "
            "such as how it was trained, no verdict says.</p></footer>",
        ]
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="color-scheme" '
        f'content="light dark">\n<title>{_text(title)}</title>\n<style>\n{STYLE.read_text(encoding="utf-8")}</style>\n'
        f"</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def framed(shown: Contents) -> str:
    """The page inside a frame that may run no script, for notebooks; the book opens beside it."""
    inside = page(shown).replace('<a href="https://', '<a target="_blank" rel="noopener" href="https://')
    style = "width:100%;height:40em;border:1px solid"
    source = html.escape(inside, quote=True)
    return f'<iframe title="Audit" sandbox="allow-same-origin allow-popups" style="{style}" srcdoc="{source}"></iframe>'


def _summary(shown: Contents) -> str:
    verdicts = shown.verdicts
    answers = [verdict.verdict for verdict in verdicts]
    counted = " · ".join(f"{answers.count(answer)} {answer}" for answer in ANSWERS)
    rows = "".join(
        f'<li><a href="#{verdict.id}">{_badge(verdict)} {_text(verdict.question.title)}</a></li>'
        for verdict in verdicts
    )
    quality = f'<p class="quality">{_text(shown.quality)}</p>' if shown.quality else ""
    return f'<p class="counted">{counted}</p>{quality}<nav aria-label="Verdicts"><ul>{rows}</ul></nav>'


def _section(verdict: Verdict, rule: str) -> str:
    question = verdict.question
    link = f"{SITE}/{question.chapter}.html#{question.theorem}"
    advice = f'<p class="advice"><strong>What to do.</strong> {_text(verdict.advice)}</p>' if verdict.advice else ""
    pictures = "".join(_figure(picture, f"{verdict.id}-{at}") for at, picture in enumerate(verdict.pictures))
    figures: dict[str, list[Any]] = {
        "figure": [_words(name) for name in verdict.figures],
        "value": list(verdict.figures.values()),
    }
    return (
        f'<section id="{verdict.id}" class="{verdict.verdict.replace(" ", "-")}">'
        f"<h2>{_badge(verdict)} {_text(question.title)}</h2>"
        f"<p>{_text(verdict.support)}</p>{advice}{pictures}"
        + (_details("Figures", _table(figures, f"Figures of {verdict.id}")) if verdict.figures else "")
        + f'<p class="source">A fault where {_text(rule)}. '
        f'<a href="{link}">The theorem, in the book</a> ({_text(verdict.id)})</p></section>'
    )


def _figure(picture: Picture, salt: str) -> str:
    numbers = _details("The numbers", _table(picture.columns, picture.title))
    return f"<figure>{drawing(picture, salt)}<figcaption>{_text(picture.title)}</figcaption>{numbers}</figure>"


def _remedies(found: Sequence[Effect], quality: str) -> str:
    if not found:
        return ""
    effects = [effect.to_dict() for effect in found]
    columns = {
        name: [_places(effect[name], 1 if "popularity" in name else 4) for effect in effects] for name in effects[0]
    }
    note = (
        f"{quality} Each row is a change of the finished tables, judged on held-out pairs against the tables as they "
        "are (NDCG; popularity: mean count of what is shown). The shift is the best of several on half of the users, "
        "judged on the others. Several comparisons: an interval that just leaves out 0 is no discovery. The last two "
        "rows are no changes of the tables but lists that need none: the most popular items, and random ones."
    )
    return f'<section id="remedies"><h2>What to try next</h2><p>{note}</p>{_table(columns, "Remedies")}</section>'


def _cosines(cosines: Cosines | None) -> str:
    if cosines is None:
        return ""
    said = "".join(f"<li>{_text(sentence)}</li>" for sentence in cosines.sentences())
    return f'<section id="cosines"><h2>What the cosines mean</h2><ul>{said}</ul></section>'


def _facts(facts: Mapping[str, Any], notes: Sequence[str]) -> str:
    flat = dict(_flat(facts))
    said = "".join(f"<p>{_text(note)}</p>" for note in notes)
    table = _table({"input": [_words(name) for name in flat], "value": list(flat.values())}, "Inputs")
    return f'<section id="inputs"><h2>What was looked at</h2>{said}{table}</section>'


def _flat(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in values.items():
        name = key if prefix == f"{key} " else f"{prefix}{key}"  # no "pairs pairs"
        found += _flat(value, f"{name} ") if isinstance(value, dict) else [(name, value)]
    return found


def _table(columns: Mapping[str, Sequence[Any]], caption: str) -> str:
    head = "".join(f'<th scope="col">{_text(_words(name))}</th>' for name in columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{_text(_shown(value))}</td>" for value in row) + "</tr>"
        for row in zip(*columns.values(), strict=True)
    )
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{_text(caption)}"><table>'
        f"<caption>{_text(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _details(summary: str, inside: str) -> str:
    return f"<details><summary>{summary}</summary>{inside}</details>"


def _badge(verdict: Verdict) -> str:
    kind = verdict.verdict.replace(" ", "-")
    return f'<span class="badge {kind}">{SIGNS[verdict.verdict]} {verdict.verdict}</span>'


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _places(value: Any, digits: int) -> Any:
    """A float with so many digits after its point; anything else as it is."""
    return f"{value:.{digits}f}" if isinstance(value, float) else value


def _text(value: str) -> str:
    return html.escape(str(value), quote=True)
