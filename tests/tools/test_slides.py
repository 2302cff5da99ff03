"""Decks: what their files may hold, and how pieces are found on a page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from tools import guide, toc
from tools.slides import deck as decks
from tools.slides import pieces, write
from tools.slides.pages import Chapter, Missing, bare

PAGE = """<html><body><article class="bd-article"><h1>4. A topic<a class="headerlink">#</a></h1>
<p class="on-paper">The course</p>
<div class="at-a-glance"><p>At a glance</p><ul><li>You will learn much.</li></ul></div>
<div class="question"><p class="admonition-title">Guess first</p><p>How many?</p></div>
<div data-course-widget="x"><figure><svg viewBox="0 0 9 9"></svg></figure></div>
<section id="why">
<p>If <span class="math">\\(a\\)</span> grows, so does b. <em>This</em> ends, says <em>Li et al.</em> [2026].
"Why?" It is <a href="x.html">known</a>.</p>
<div class="math" id="equation-eq-one">\\[\\begin{split}a=b\\end{split}\\]</div>
<div class="proof theorem" id="thm-one"><p class="admonition-title">Theorem 4.1</p>
<section><p>All is well.
<button class="evidence machine-badge"></button><span class="machine-badge">Checked</span></p></section>
</div><p><em>Proof.</em> Look. Then look again. ∎</p>
<p>After it.</p></section>
<section id="break"><details><table><tr><td>hidden</td></tr></table></details>
<table><tbody><tr><td>momentum</td><td>no</td><td>7</td></tr><tr><td>decay</td><td>no</td><td>9</td></tr></tbody></table></section>
<div class="cell"><div class="cell_input"><pre>def f(x):
    return x


lengths = [1]
for n in range(2):
    lengths.append(f(n))
    last = n
print(lengths)</pre></div><div class="cell_output"><div class="output"><pre>[1, 0, 1]</pre></div></div></div>
<figure id="fig-a"><picture class="drawn-for-light">
<source srcset="p.svg"><img src="../../_images/f.svg" loading="lazy"></picture></figure>
<div class="remember"><ul><li><p>One.</p><ul><li>in it</li></ul></li><li>Two.</li></ul></div></article></body></html>"""


@pytest.fixture
def chapter(tmp_path: Path) -> Chapter:
    (tmp_path / "book" / "part").mkdir(parents=True)
    (tmp_path / "book" / "part" / "topic.html").write_text(PAGE)
    return Chapter("book/part/topic", tmp_path)


def words(html: str) -> list[str]:
    """The text of each step."""
    return [" ".join(one.get_text().split()) for one in BeautifulSoup(html, "html.parser").select(".fragment")]


def test_a_paragraph_comes_apart_at_its_sentences(chapter: Chapter) -> None:
    starts = ("If $a$ grows", "*This* ends", "It is")
    said = ["If \\(a\\) grows, so does b.", "This ends, says Li et al. [2026].", "It is known."]
    assert words(pieces.MAKERS["steps"](chapter, *starts)) == said


def test_a_proof_ends_at_its_end_and_comes_in_steps(chapter: Chapter) -> None:
    assert words(pieces.MAKERS["proof"](chapter, "thm-one")) == ["Proof. Look.", "Then look again. ∎"]


def test_code_is_found_by_what_it_defines(chapter: Chapter) -> None:
    shown = BeautifulSoup(pieces.MAKERS["code"](chapter, "f", "last", "print("), "html.parser").get_text()
    assert shown.split("\n")[:3] == ["def f(x):", "    return x", "for n in range(2):"] and "[1]" not in shown
    assert pieces.MAKERS["output"](chapter, "last") == "<pre>[1, 0, 1]</pre>"


def test_code_that_fills_more_than_a_slide_is_refused(chapter: Chapter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.slides.pages.MOST_LINES", 1)
    with pytest.raises(Missing, match="f take 2 lines; expected at most 1"):
        pieces.MAKERS["code"](chapter, "f")


def test_a_vote_shows_the_first_cell_and_a_row_at_a_time(chapter: Chapter) -> None:
    rows = BeautifulSoup(pieces.vote(chapter, "break"), "html.parser").select("tr")
    assert [row.td.get_text() for row in rows] == ["momentum", "decay"]
    assert [[one["data-fragment-index"] for one in row.select(".fragment")] for row in rows] == [["0"] * 2, ["1"] * 2]


def test_a_tally_leaves_out_the_columns_between(chapter: Chapter) -> None:
    rows = BeautifulSoup(pieces.tally(chapter, "break"), "html.parser").select("tr")
    assert [[cell.get_text() for cell in row.select("td")] for row in rows] == [["momentum", "7"], ["decay", "9"]]


def test_a_page_without_a_list_at_its_head_promises_its_first_sentence(chapter: Chapter) -> None:
    assert chapter.promise().get_text() == "You will learn much."
    chapter.main.select_one(".at-a-glance").decompose()
    assert chapter.promise().get_text().strip() == "If \\(a\\) grows, so does b."
    mark = '<p><b>None gains</b><button class="evidence"></button><span class="support">undecided</span>.</p>'
    chapter.main.p.replace_with(bare(BeautifulSoup(mark, "html.parser")))
    assert chapter.promise().get_text() == "None gains."


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        ("statement", "thm-two", "no label 'thm-two'"),
        ("proof", "fig-a", "no proof behind 'fig-a'"),
        ("words", "Nobody said", "no sentence begins with 'Nobody said'"),
        ("words", "It is known to nobody", "no sentence begins with 'It is known to nobody'"),
        ("table", "why", "no table in the section 'why'"),
        ("code", "g", "no cell defines g"),
    ],
)
def test_what_a_page_lacks_is_named(chapter: Chapter, kind: str, name: str, said: str) -> None:
    with pytest.raises(Missing, match=f"book/part/topic: {said}"):
        pieces.MAKERS[kind](chapter, name)


def test_a_slide_leads_nowhere_and_holds_no_slide(chapter: Chapter) -> None:
    show = [{"statement": "thm-one"}, {"words": ["It is"]}, {"figure": "fig-a"}, "remember"]
    slide = decks.Slide(minutes=3, show=tuple(show), say="Look at *this*.", title="One", wrong=("They look away.",))
    html = write.slide_html(chapter, slide)
    found = BeautifulSoup(html, "html.parser")
    assert len(found.select("section")) == 1 and not found.select("a, [id], source, [loading]")
    assert found.select_one("img")["src"] == "images/f.svg" and found.section["data-timing"] == "180"
    assert found.select_one("[data-label=thm-one]") and len(found.select(".piece-remember li.fragment")) == 2
    assert "3 minutes." in found.aside.get_text() and "They look away." in found.aside.get_text()


GUIDE = """## Chapter by chapter
### A topic
[Chapter](../part/topic.ipynb), [lab](../part/topic-lab.ipynb).
Exercises. Before class: *By hand*. At home: *Two, or three?*, *Four*.
Pitfalls:
- The rate $\\eta$ alone
  means *nothing* ({prf:ref}`thm-one`, {finding}`two`). <!-- a comment --> Ask ([claim](#claim-a)). <!-- a comment -->
- Another one.
## What to assign
- Nothing.
"""
ASSIGNMENT = "# A topic\n\n| | task | points |\n|---|---|---|\n| 1 | The norm $\\|x\\|$ | 4 |\n\nBelow."


def slides_of_topic(folder: Path) -> Path:
    """Where the deck of "topic" lies among the chapters of a folder."""
    (folder / "topic").mkdir(exist_ok=True)
    return folder / "topic" / "slides.yml"


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A guide and an assignment."""
    folder = tmp_path / "exercises" / "topic"
    folder.mkdir(parents=True)
    cells = {"cells": [{"cell_type": "markdown", "source": [ASSIGNMENT]}]}
    (folder / "assignment.ipynb").write_text(json.dumps(cells))
    (tmp_path / "guide.md").write_text(GUIDE)
    monkeypatch.setattr(pieces, "ROOT", tmp_path)
    monkeypatch.setattr(guide, "GUIDE", tmp_path / "guide.md")


def test_a_pitfall_of_the_guide_reads_without_mathjax(house: None, chapter: Chapter) -> None:
    said = pieces.wrong(chapter, "guide: The rate $\\eta$ alone")
    assert "<math" in said and "$" not in said and "<em>nothing</em>. Ask." in said
    with pytest.raises(Missing, match="no pitfall of topic that begins with 'Nobody'"):
        pieces.wrong(chapter, "guide: Nobody")


def test_at_home_comes_from_the_guide_and_the_assignment(house: None, chapter: Chapter) -> None:
    assert guide.homework("topic") == {"Before class": "*By hand*", "At home": "*Two, or three?*, *Four*"}
    assert pieces.tasks("topic") == [["", "task", "points"], ["1", "The norm $\\|x\\|$", "4"]]
    assert pieces.tasks("nothing") == [] and "<td>4</td>" in pieces.assignment(chapter)


SLIDE = "{minutes: 2, show: [cover], say: Go.}"


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ("[{minutes: 51, show: [cover], say: Go.}]", "first takes 51 minutes; expected at most 50"),
        ("[{minutes: 2, show: [film], say: Go.}]", "'film'; expected one of cover, question"),
        ("[{minutes: 2, show: [{figure: [a, b]}], say: Go.}]", r"figure is \['a', 'b'\]; expected a name"),
        ("[{minutes: 2, show: [figure], say: Go.}]", "figure is None; expected a name"),
        ("[{minutes: 2, show: [{cover: x}], say: Go.}]", "cover is 'x'; expected nothing"),
        ("[{minutes: 2, show: [cover], say: The 1714 films.}]", "'The 1714 films.' holds a digit"),
        ("[{minutes: 2, show: [{}], say: Go.}]", r"show holds \{\}; expected one of cover"),
        ("[{minutes: 2, show: [[cover]], say: Go.}]", r"show holds \['cover'\]; expected one of cover"),
        ("[{minutes: 2, show: [{words: [3]}], say: Go.}]", r"words is \[3\]; expected a list of names"),
        ("[{minutes: 2, show: [{words: []}], say: Go.}]", r"words is \[\]; expected a list of names"),
        ("[{minutes: 2, show: [cover], say: An *open mark.}]", r"first, slide 1: \* is opened and not closed"),
    ],
)
def test_what_a_deck_may_not_hold_is_refused(tmp_path: Path, first: str, said: str) -> None:
    slides_of_topic(tmp_path).write_text(f"first: {first}\nsecond: [{SLIDE}]\n")
    with pytest.raises(decks.DeckError, match=said):
        decks.read("topic", tmp_path)


def test_digits_in_formulas_and_code_are_no_numbers_typed_by_hand(tmp_path: Path) -> None:
    slides_of_topic(tmp_path).write_text(f"first: [{SLIDE.replace('Go.', 'See $q_0$ and `x1`.')}]\nsecond: [{SLIDE}]\n")
    assert decks.read("topic", tmp_path).first[0].say == "See $q_0$ and `x1`."


def test_what_is_wrong_with_a_deck_is_one_line(
    chapter: Chapter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = SLIDE.replace("cover", "{statement: thm-two}")
    slides_of_topic(tmp_path).write_text(f"first: [{SLIDE}]\nsecond: [{SLIDE}, {missing}]\n")
    (tmp_path / "_static").mkdir()
    monkeypatch.setattr(toc, "page_of", lambda name: chapter.page)
    monkeypatch.setattr(decks, "names", lambda: ["topic"])
    read = decks.read
    monkeypatch.setattr(decks, "read", lambda name: read(name, tmp_path))
    monkeypatch.setattr(write, "reveal", lambda: tmp_path)
    real = write.write
    for site, said in (
        (tmp_path, "slides: topic.yml: second, slide 2: book/part/topic: no label 'thm-two'; expected it on "),
        (tmp_path / "nowhere", "slides: no built book lies in"),
    ):
        monkeypatch.setattr(write, "write", lambda names, site=site: real(names, site, tmp_path / "out"))
        assert write.main(["topic"]) == 1
        assert said in capsys.readouterr().err.splitlines()[-1]


def test_a_chapter_without_deck_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert write.main(["cooking"]) == 2
    assert "CHAPTER='cooking' has no deck; expected one of " in capsys.readouterr().err
