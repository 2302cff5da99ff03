"""The foot of a page: a citation that BibTeX reads, version and day, a report only to an address that exists."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes
from pybtex.database import parse_string

from course_lib import __version__
from tools import address, editions, page_foot
from tools.toc import pages

PAGE = "book/debiasing/ddc"
CHAPTER = [page for page, number in pages() if number and not page.endswith(("-further", "-lab"))].index(PAGE) + 1
GIVEN = {"course": "Two-tower models", "author": "The contributors", "day": "2026-11-22"}


def cited(**more: str) -> dict[str, str]:
    text = page_foot.bibtex(PAGE, "Directional decomposition", **GIVEN, **more)
    [entry] = parse_string(text, "bibtex").entries.values()
    [author] = entry.persons["author"]
    assert author.last_names == ["{The contributors}"]  # one name, not a first and a last one
    return dict(entry.fields.items())


def test_the_citation_names_chapter_version_and_day() -> None:
    fields = cited(site="")
    assert fields["title"] == "{Directional decomposition}" and fields["year"] == "2026"
    assert fields["howpublished"] == f"Chapter {CHAPTER} of Two-tower models"
    assert fields["note"] == f"Version {__version__}, last changed on 2026-11-22" and "url" not in fields
    assert cited(site="https://a.github.io/b")["url"] == "https://a.github.io/b/book/debiasing/ddc.html"


def test_a_page_without_a_day_is_cited_without_one() -> None:
    text = page_foot.bibtex(PAGE, "Title", **{**GIVEN, "day": ""}, site="")
    assert "year" not in text and f"note = {{Version {__version__}}}" in text


def test_an_error_is_reported_to_an_address_that_somebody_set() -> None:
    link = page_foot.report_link(PAGE, "A & B", "https://github.com/somebody/course")
    assert "somebody/course/issues/new?title=A+%26+B" in link and "book%2Fdebiasing%2Fddc" in link
    assert page_foot.report_link(PAGE, "A", f"https://github.com/{address.PLACEHOLDER_OWNER}/course") == ""


def test_only_what_is_read_has_a_mark_and_a_citation() -> None:
    foot = page_foot.foot(PAGE, "Title", **GIVEN)
    assert "Cite this chapter" in foot and f'data-page="{PAGE}" hidden' in foot and "22 November 2026" in foot
    assert '<a href="../../book/reference/changelog.html">What changed</a>' in foot
    assert "Cite this page" in page_foot.foot(f"{PAGE}-lab", "Title", **GIVEN)
    reference = page_foot.foot("book/reference/claims/ddc", "Title", **GIVEN)
    assert "Cite" not in reference and "data-page" not in reference and __version__ in reference
    assert "What changed" not in page_foot.foot(PAGE, "Title", **GIVEN, changes=False)


def test_the_chapters_are_counted_as_the_site_counts_them() -> None:
    places = editions.places()
    assert places[PAGE].chapter == CHAPTER and places[f"{PAGE}-lab"].chapter == CHAPTER > 1
    assert list(places.values())[1].is_read and not places["book/index"].is_read


def test_the_title_of_a_chapter_comes_without_its_number() -> None:
    env = SimpleNamespace(titles={PAGE: nodes.title("", "Directional decomposition")}, found_docs={PAGE})
    app = SimpleNamespace(env=env, config=SimpleNamespace(html_title="Two-tower models", author="The contributors"))
    context = {"title": '<span class="section-number">8. </span>Directional decomposition', "body": "<p>Text</p>"}
    page_foot.add_foot(app, PAGE, "", context, doctree=True)
    assert "title = {{Directional decomposition}}" in context["body"] and context["body"].startswith("<p>Text</p>")


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """A repository with two pages, of which one changed on a later day."""
    (tmp_path / "book").mkdir()

    def commit(day: str, *names: str) -> None:
        for name in names:
            (tmp_path / "book" / name).write_text(day)
        own = {"GIT_COMMITTER_DATE": f"{day}T12:00:00", "GIT_AUTHOR_DATE": f"{day}T12:00:00", "HOME": str(tmp_path)}
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
        for command in (["add", "--all"], ["commit", "--quiet", "--message", day]):
            subprocess.run([*git, *command], cwd=tmp_path, env=own | {"PATH": "/usr/bin:/bin"}, check=True)

    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    commit("2026-01-02", "a.md", "b.md")
    commit("2026-03-04", "b.md")
    return tmp_path


def test_a_page_has_the_day_of_its_last_commit(history: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert editions.last_changes(history) == {"book/a.md": "2026-01-02", "book/b.md": "2026-03-04"}
    shallow = tmp_path_factory.mktemp("shallow")
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", history.as_uri(), str(shallow)], check=True)
    assert editions.last_changes(shallow) == {}  # there, every page would be as old as the clone
    assert editions.last_changes(tmp_path_factory.mktemp("no-repository")) == {}
