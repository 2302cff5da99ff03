"""The whole book as one PDF: in the order of the table of contents, with links that lead inside it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from bs4 import BeautifulSoup

from course_lib import __version__
from tools import browsing, pdf, toc

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
    found = [("book/a", "Start", 0), ("book/a-lab", "Start", 1), ("book/part/b", "", 0)]
    _, *below = toc.entries(yaml.safe_load(TOC))
    assert [(entry.page, entry.part, entry.depth) for entry in below] == found


def test_the_contents_name_part_chapter_title_and_page() -> None:
    titles = {"book/a": "1. A <b>", "book/part/b": "B"}
    html = BeautifulSoup(pdf.contents(yaml.safe_load(TOC), titles), "html.parser")
    lines = [[one.get_text() for one in line.find_all("span") if one.get_text()] for line in html.select("a")]
    assert lines == [["1", "A <b>", "000"], ["B", "000"]]
    assert [line["href"] for line in html.select("a")] == ["#p0", "#p1"]
    assert html.select_one(".part").get_text() == "Start"


def test_the_title_page_says_what_it_is() -> None:
    said = pdf.title_page("The course", "Its authors")
    assert "The course" in said and "Its authors" in said and f"Version {__version__}" in said and "https://" in said


def test_a_running_head_holds_any_title() -> None:
    css = pdf.running_heads({"book/a": '7. "Quoted" \\ path'})
    assert 'content: "7  \\"Quoted\\" \\\\ path"' in css and "#p0 { page: p0; }" in css


def test_the_numbers_of_pages_are_read_from_the_pdf() -> None:
    printed = (
        b"5 0 obj\n<</Type /Page\n>>\n2 0 obj\n<</Type /Pages\n>>\n9 0 obj\n<</Type /Page\n>>\n"
        b"<</p0 [5 0 R /XYZ 0 842.88 0]\n/p1 [9 0 R /XYZ 3 4 0]\n/p1-ex [5 0 R /XYZ 0 0 0]>>"
    )
    assert pdf.page_numbers(printed) == {"p0": 1, "p1": 2}


def test_a_link_that_leads_out_of_the_book_leads_to_the_site_or_nowhere() -> None:
    places = {"book/a": "p0", "book/part/b": "p1"}
    assert pdf._link("../a.html#x", "book/part/b", places, "") == "#p0-x"
    assert pdf._link("../results/r.csv", "book/a", places, "https://x.org") == "https://x.org/results/r.csv"
    assert pdf._link("../results/r.csv", "book/a", places, "") == ""


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


def test_formulas_are_typeset_though_the_first_page_has_none(site: Path) -> None:
    path = site / "book" / "part" / "b.html"
    mathjax = '<script>window.MathJax = {}</script><script defer src="../../_static/mathjax/x.js"></script></head>'
    path.write_text(path.read_text().replace("</head>", mathjax))
    whole = BeautifulSoup(pdf.merged(["book/a", "book/part/b"], site), "html.parser")
    assert [node.get("src", node.text) for node in whole.select("head script")][1:] == [
        "window.MathJax = {}",
        "../_static/mathjax/x.js",
    ]


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
@pytest.mark.skipif(browsing.find() is None, reason="needs Chromium")
def test_two_pages_become_one_pdf(site: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as own_thread:  # other tests of this process keep a browser open in theirs
        own_thread.submit(pdf.print_to, tmp_path / "two.pdf", ["book/a", "book/part/b"], site).result()
    made = (tmp_path / "two.pdf").read_bytes()
    assert made.startswith(b"%PDF") and made.count(b"/Type /Page\n") == 4  # a title page and the contents before them
    assert pdf.page_numbers(made)["p0"] == 3
    assert b"/Outlines" in made
    assert not (site / "book" / "_whole-book.html").exists()
