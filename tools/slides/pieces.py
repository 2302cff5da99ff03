"""The HTML of each kind of piece, and of the notes, from the page, the guide, the quiz and the assignment."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from html import escape
from pathlib import Path

import yaml
from bs4 import Tag
from latex2mathml.converter import convert as mathml
from markdown_it import MarkdownIt

from course_lib.lessons.shared import quiz
from course_lib.lessons.shared.widgets import paper
from tools import guide
from tools.slides.deck import Slide
from tools.slides.pages import Chapter, Missing, sentences, soup

ROOT = Path(__file__).resolve().parents[2]
FORMULA = re.compile(r"\$([^$]+)\$")


def cover(chapter: Chapter) -> str:
    """Course, number and title of the chapter, what it says first, its hero as a picture."""
    number, title = chapter.heading
    course = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["title"]
    return (
        f'{logo()}<p class="course">{escape(course)}{f" · chapter {number}" if number else ""}</p>'
        f'<h1>{escape(title)}</h1><p class="promise">{chapter.promise().decode_contents()}</p>{still(chapter)}'
    )


def logo() -> str:
    """The sign of the course, for light and for dark."""
    drawn = {kind: (ROOT / "book" / "assets" / f"logo{end}.svg") for kind, end in (("light", ""), ("dark", "-dark"))}
    return "".join(
        f'<div class="logo drawn-for-{kind}">{path.read_text(encoding="utf-8")}</div>' for kind, path in drawn.items()
    )


def question(chapter: Chapter) -> str:
    """The question of the page, without its heading, which stands over the slide."""
    return "".join(str(one) for one in chapter.question().find_all(recursive=False)[1:])


def still(chapter: Chapter) -> str:
    """The picture of the interactive, as a page without scripts has it."""
    return f'<div class="course-widget"><div class="cw cw-hero">{chapter.still()}</div></div>'


def moment(chapter: Chapter, changes: str) -> str:
    """The picture of the interactive in another state, which is named as its link names it."""
    shown, changed = chapter.interactive(), yaml.safe_load(f"{{{changes}}}")
    state = json.loads(str(shown["data-state"]))
    if strange := sorted(set(changed) - set(state)):
        raise Missing(f"{chapter.page}: the interactive has no {strange[0]!r}; expected some of {', '.join(state)}")
    drawn = paper.drawn(str(shown["data-course-widget"]), json.dumps(state | changed)).pictures[0]
    return f'<div class="piece-still"><div class="course-widget"><div class="cw cw-hero">{drawn}</div></div></div>'


def remember(chapter: Chapter) -> str:
    """What to remember, point by point."""
    points = chapter.remember().find_all("li", recursive=False)
    return f"<ul>{''.join(f'<li class=fragment>{one.decode_contents()}</li>' for one in points)}</ul>"


def assignment(chapter: Chapter) -> str:
    """The exercises that the guide hands out, and the tasks for marks."""
    html = "".join(
        f"<dt>{when}</dt><dd>{markdown(which, tex)}</dd>" for when, which in guide.homework(chapter.name).items()
    )
    html = f"<dl>{html}</dl>"
    if rows := tasks(chapter.name):
        heads, *body = ["".join(f"<td>{markdown(cell, tex)}</td>" for cell in row) for row in rows]
        table = f"<thead><tr>{heads}</tr></thead><tbody>{''.join(f'<tr>{row}</tr>' for row in body)}</tbody>"
        html += f"<p>For marks: the assignment <code>{chapter.name}</code>.</p><table>{table}</table>"
    return html


def figure(chapter: Chapter, name: str) -> str:
    """A figure with the first sentence of its caption, for light and for dark."""
    found = soup(str(chapter.labelled(name)))
    for caption in found.select(".caption-text"):
        if (whole := soup(f"<p>{caption.decode_contents()}</p>").p) is not None:
            caption.clear()
            caption.extend(list(sentences(whole)[0].children))
    for image in found.select("img"):
        image.attrs.pop("loading", None)
        image["src"] = f"images/{Path(str(image['src'])).name}"
    return found.decode_contents()


def vote(chapter: Chapter, section: str) -> str:
    """The table of a section, of which each row shows its first cell, and all others later."""
    found = soup(str(chapter.table(section)))
    for at, row in enumerate(found.select("tbody tr")):
        for cell in row.find_all(["td", "th"])[1:]:
            inside = cell.decode_contents()
            cell.clear()
            cell.append(soup(f'<div class="fragment" data-fragment-index="{at}">{inside}</div>').div or "")
    return found.decode_contents()


def tally(chapter: Chapter, section: str) -> str:
    """The same for a long table: its first and its last column."""
    found = soup(vote(chapter, section))
    for row in found.select("tr"):
        for cell in row.find_all(["td", "th"])[1:-1]:
            cell.decompose()
    return found.decode_contents()


def ask(chapter: Chapter, name: str) -> str:
    """A question of the quiz; which answers are right, and why, comes later."""
    asked = _asked(chapter, name)
    answers = "".join(
        f'<li class="{"right fragment mark" if one.right else ""}" data-fragment-index="0">{quiz.html(one.text)}</li>'
        for one in asked.answers
    )
    why = " ".join(quiz.html(one.why) for one in asked.answers if one.right)
    return (
        f'<p>{quiz.html(asked.ask)}</p><ol type="A">{answers}</ol>'
        f'<p class="why fragment" data-fragment-index="0">{why}</p>'
    )


# What a slide can show (deck.KINDS) -> its HTML, of the chapter and of what is named
MAKERS: Mapping[str, Callable[..., str]] = {
    "cover": cover,
    "question": question,
    "interactive": lambda chapter: str(chapter.interactive()),
    "still": still,
    "moment": moment,
    "remember": remember,
    "assignment": assignment,
    "statement": lambda chapter, label: str(chapter.labelled(label)),
    "proof": lambda chapter, label: _one_by_one(chapter.proof(label)),
    "exercise": lambda chapter, label: str(chapter.labelled(label)),  # without its solution
    "figure": figure,
    "table": lambda chapter, section: str(chapter.table(section)),
    "vote": vote,
    "tally": tally,
    "quiz": ask,
    "output": lambda chapter, name: str(chapter.output(name)),
    "code": lambda chapter, *names: str(chapter.code(names)),
    "words": lambda chapter, *starts: "".join(str(chapter.sentence(start)) for start in starts),
    "steps": lambda chapter, *starts: _one_by_one(chapter.sentence(start) for start in starts),
}


def notes(chapter: Chapter, slide: Slide) -> str:
    """Minutes, what to say, what students get wrong; formulas as MathML, which the speaker's window shows by itself."""
    mistakes = [wrong(chapter, one) for one in slide.wrong]
    for piece in slide.pieces:
        if piece.kind == "quiz":
            answers = _asked(chapter, piece.names[0]).answers
            mistakes += [_misconception(one) for one in answers if not one.right]
    minutes = "1 minute" if slide.minutes == 1 else f"{slide.minutes} minutes"
    listed = f"<p><b>What students get wrong</b></p><ul>{''.join(f'<li>{one}</li>' for one in mistakes)}</ul>"
    return f"<p><b>{minutes}.</b> {quiz.html(slide.say)}</p>{listed if mistakes else ''}"


def _one_by_one(parts: Iterable[Tag]) -> str:
    return "".join(f'<div class="fragment">{part}</div>' for part in parts)


def _asked(chapter: Chapter, question: str) -> quiz.Question:
    questions = [one for page in chapter.chapters for one in quiz.load(page.rpartition("/")[2]).questions]
    for one in questions:
        if one.id == question:
            return one
    known = ", ".join(one.id for one in questions)
    raise Missing(f"the quiz of {chapter.name} has no question {question!r}; expected one of {known}")


def _misconception(answer: quiz.Answer) -> str:
    return f"<em>{quiz.html(answer.misconception)}.</em> {quiz.html(answer.why)}"


def wrong(chapter: Chapter, said: str) -> str:
    """What students get wrong: a pitfall of the guide, a misconception of the quiz, or own words."""
    place, _, rest = said.partition(": ")
    if place == "guide":
        return markdown(pitfall(chapter.name, rest), mathml)
    if place == "quiz":
        question, _, answer = rest.partition("/")
        wrong_ones = {one.id: one for one in _asked(chapter, question).answers if not one.right}
        if answer not in wrong_ones:
            known = ", ".join(f"{question}/{one}" for one in wrong_ones)
            raise Missing(f"the quiz of {chapter.name} has no wrong answer {rest!r}; expected one of {known}")
        return _misconception(wrong_ones[answer])
    return quiz.html(said)


# ---- what the guide and the assignment say


def pitfall(name: str, start: str) -> str:
    """The pitfall of a chapter, in the guide, that begins with some words."""
    for one in guide.pitfalls(name):
        if one.startswith(start):
            return one
    known = "; ".join(repr(" ".join(one.split()[:5])) for one in guide.pitfalls(name)) or "none"
    raise Missing(
        f"the guide has no pitfall of {name} that begins with {start!r}; expected the beginning of one: {known}"
    )


def tasks(name: str) -> list[list[str]]:
    """Rows of the table at the head of an assignment: its heads, then a row for each task; none without assignment."""
    path = ROOT / "exercises" / name.replace("-", "_") / "assignment.ipynb"
    if not path.is_file():
        return []
    first = "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])
    rows = [re.split(r"(?<!\\)\|", line.strip())[1:-1] for line in first.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows if not set("".join(row)) <= set("-: ")]


def markdown(text: str, formula: Callable[[str], str]) -> str:
    """A line of Markdown as HTML, its formulas written by a function of their TeX."""
    kept = [formula(found) for found in FORMULA.findall(text)]
    html = MarkdownIt().renderInline(FORMULA.sub("\ue000", text))
    return re.sub("\ue000", lambda _: kept.pop(0), html)


def tex(formula: str) -> str:
    """A formula for MathJax."""
    return f'<span class="math">\\({escape(formula, quote=False)}\\)</span>'
