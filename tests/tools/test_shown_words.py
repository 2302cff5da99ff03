"""Captions, quizzes and interactives: true on a dark page, too, and no number of a statement without its paper."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LESSONS = ROOT / "course_lib" / "lessons"
TONE = re.compile(r"\b(dark|light|black|white)(er|est)?\b", re.IGNORECASE)  # a dark page turns them round
NUMBERED = re.compile(
    r"(P\d(?:['’]s|,) |the paper['’]s )?"
    r"\b(?:Theorem|Lemma|Proposition|Corollary|Definition|Assumption|Equations?|Fig\.|Figure) "
    r"\(?(?:[A-Z]\.)?\d+(?:\.\d+)*( of the paper)?",
    re.IGNORECASE,
)


def captions(notebook: Path) -> list[str]:
    """The captions of a page's figures, and the words that stand in for a figure."""
    looks = [cell["metadata"].get("mystnb", {}) for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]]
    return [
        look[kind][key] for look in looks for kind, key in (("figure", "caption"), ("image", "alt")) if kind in look
    ]


def of_no_paper(text: str) -> list[str]:
    """Numbered statements without the paper whose number it is; the book numbers its own anew in every build."""
    return [found[0] for found in NUMBERED.finditer(" ".join(text.split())) if not (found[1] or found[2])]


def test_a_caption_is_true_on_a_dark_page() -> None:
    shown = [caption for notebook in ROOT.glob("book/*/*.ipynb") for caption in captions(notebook)]
    assert shown and [caption for caption in shown if TONE.search(caption)] == []


def test_a_number_of_a_statement_names_its_paper() -> None:
    paths = [*LESSONS.glob("*/quiz.yml"), *LESSONS.glob("*/*.js")]
    found = {str(path): of_no_paper(path.read_text(encoding="utf-8")) for path in paths}
    assert found and {path: numbers for path, numbers in found.items() if numbers} == {}


def test_a_number_without_its_paper_is_found() -> None:
    found = of_no_paper("see why Theorem\n  2.1 excludes it (Equations (13) to (16))")
    assert found == ["Theorem 2.1", "Equations (13"]
    assert of_no_paper("P0's Theorem 2.1, P0, equations (13), and Theorem “Heavy ball”") == []
    assert of_no_paper("Lemma B.1 of the paper and the paper's Theorem 2.1") == []
    assert TONE.search("Darker is higher") and not TONE.search("a highlight")
