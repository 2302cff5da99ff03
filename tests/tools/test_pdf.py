"""The whole book as one PDF: in the order of the table of contents, with links that lead inside it."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from bs4 import BeautifulSoup

from tools import pdf

TOC = """
root: book/index
parts:
  - caption: Start
    chapters:
      - file: book/a
        sections:
          - file: book/a-lab
  - chapters:
      - file: book/part/b
"""
PAGE = """<html><head><script defer src="{up}_static/course-widget-x.js"></script></head><body>
<article class="bd-article"><section id="top"><h1>{name}<a class="headerlink" href="#top">#</a></h1>
<a class="one" href="#top">here</a> <a class="two" href="{other}">there</a> <a class="three" href="https://x.org/#a">far</a>
<img src="{up}_images/x.png"><script>1</script></section></article></body></html>"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "book" / "part").mkdir(parents=True)
    (tmp_path / "book" / "a.html").write_text(PAGE.format(up="../", name="A", other="part/b.html#top"))
    (tmp_path / "book" / "part" / "b.html").write_text(PAGE.format(up="../../", name="B", other="../a.html"))
    return tmp_path


def test_pages_come_in_the_order_of_the_contents() -> None:
    assert list(pdf.order(yaml.safe_load(TOC))) == ["book/index", "book/a", "book/a-lab", "book/part/b"]


def test_links_between_pages_lead_inside(site: Path) -> None:
    whole = BeautifulSoup(pdf.merged(["book/a", "book/part/b"], site), "html.parser")
    ids = {node["id"] for node in whole.find_all(id=True)}
    links = {kind: [node["href"] for node in whole.select(f"a.{kind}")] for kind in ("one", "two", "three")}
    assert links["one"] == ["#p0-top", "#p1-top"] and links["two"] == ["#p1-top", "#p0"]
    assert links["three"] == ["https://x.org/#a"] * 2
    assert {link[1:] for kind in ("one", "two") for link in links[kind]} <= ids
    assert [node["src"] for node in whole.select("img")] == ["../_images/x.png"] * 2
    assert [node["src"] for node in whole.select("script")] == ["../_static/course-widget-x.js"]  # once for all pages
    assert not whole.select(".headerlink")


def test_a_page_without_an_article_is_named(site: Path) -> None:
    (site / "search.html").write_text("<html><body></body></html>")
    with pytest.raises(ValueError, match=r"search.html has no article; expected a page of the built book"):
        pdf.merged(["search"], site)


def test_the_first_page_offers_it_once(tmp_path: Path) -> None:
    page = tmp_path / "index.html"
    page.write_text('<p><span class="whole-book"></span></p>')
    pdf.offer(page)
    pdf.offer(page)
    pdf.offer(page, "site.zip", "The site")
    assert page.read_text().count(f'href="../{pdf.NAME}"') == page.read_text().count('href="../site.zip"') == 1
    assert len(pdf.PLACE.findall((pdf.ROOT / "book" / "index.md").read_text(encoding="utf-8"))) == 1


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("chromium") or shutil.which("google-chrome")), reason="needs Chromium")
def test_two_pages_become_one_pdf(site: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as own_thread:  # other tests of this process keep a browser open in theirs
        own_thread.submit(pdf.print_to, tmp_path / "two.pdf", ["book/a", "book/part/b"], site).result()
    made = (tmp_path / "two.pdf").read_bytes()
    assert made.startswith(b"%PDF") and made.count(b"/Type /Page\n") == 2 and b"/Outlines" in made
    assert not (site / "book" / "_whole-book.html").exists()
