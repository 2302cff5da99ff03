"""A main page is short, as built: words up to the exercises, with captions, badges and folded text, and statements.

That its first interactive comes early is among the tests of the opened pages (test_pages.py).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag
from drafts import is_draft, main_pages, short_chapters

ROOT = Path(__file__).resolve().parents[2]
PAGES = [path.relative_to(ROOT).with_suffix(".html") for path in main_pages() if not is_draft(path)]
NOT_WORDS = "pre, script, style, .course-widget, .headerlink, .math, table, .on-paper"
NOT_WORDS += ", .support, .machine-badge"  # folded
SHORT = [path.relative_to(ROOT).with_suffix(".html") for path in short_chapters()]
MOST_WORDS, MOST_STATEMENTS, MOST_OF_SHORT, MOST_FOLDS = 2000, 8, 1800, 5


def before_exercises(html: str) -> Tag:
    """The article of a page without its exercises and what follows them."""
    article = BeautifulSoup(html, "html.parser").select_one("article.bd-article")
    assert article is not None, "the page has no article"
    exercises = article.find(id="exercises")
    assert isinstance(exercises, Tag), "the page has no section of exercises"
    for late in [exercises, *exercises.find_all_next()]:
        late.extract()
    return article


def count_words(article: Tag) -> int:
    """Words that are read: no code, no formulas, no tables, no interactives."""
    for left_out in article.select(NOT_WORDS):
        left_out.decompose()
    return len(article.get_text(" ").split())


def count_statements(article: Tag) -> int:
    """Theorems, propositions, definitions and the like, which share one counter."""
    return len(article.select(".proof"))


def test_what_counts_as_a_word() -> None:
    page = """<article class="bd-article"><section><h2>Two words</h2><p>One <span class="math">x</span></p>
        <div class="proof theorem"><p>is true</p></div><pre>code here</pre><table><td>cell</td></table>
        <section id="exercises"><p>late</p></section><section><p>later</p></section></section></article>"""
    assert count_statements(before_exercises(page)) == 1 and count_words(before_exercises(page)) == 5


def folds(article: Tag) -> list[str]:
    """The boxes before the exercises that a reader can unfold, without those inside another."""
    found = article.select("details, .admonition.dropdown")
    return [(one.summary or one).get_text(" ", strip=True)[:60] for one in found if not one.find_parent("details")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_main_page_has_at_most_2000_words_8_statements_and_five_folds_before_its_exercises(
    page: Path, site_folder: Path
) -> None:
    article = before_exercises((site_folder / page).read_text(encoding="utf-8"))
    assert 1 <= count_statements(article) <= MOST_STATEMENTS
    assert len(found := folds(article)) <= MOST_FOLDS, found
    assert count_words(article) <= MOST_WORDS


@pytest.mark.parametrize("page", SHORT, ids=lambda page: page.stem)
def test_a_short_chapter_has_at_most_1800_words_and_four_statements_before_its_exercises(
    page: Path, site_folder: Path
) -> None:
    article = before_exercises((site_folder / page).read_text(encoding="utf-8"))
    assert 1 <= count_statements(article) <= MOST_STATEMENTS // 2
    assert count_words(article) <= MOST_OF_SHORT
