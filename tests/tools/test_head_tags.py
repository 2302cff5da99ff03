"""What search engines and cards of links get to know of a page, with an address and without one."""

from __future__ import annotations

import io
import re
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from docutils import nodes, utils
from fontTools.ttLib import TTFont
from PIL import Image

from tools import address, card_pictures, editions, head_tags

SITE = Path(__file__).resolve().parents[2] / "_build" / "html"
HERE = "https://somebody.github.io/course"
built = pytest.mark.skipif(not (SITE / "404.html").is_file(), reason="needs the built site: run `make book`")


def page(*paragraphs: str) -> nodes.document:
    made = utils.new_document("page")
    for text in paragraphs:
        line = nodes.paragraph()
        for number, part in enumerate(text.split("$")):
            line += nodes.math("", part) if number % 2 else nodes.Text(part)
        made += line
    return made


def test_a_description_is_the_first_sentences_without_formulas() -> None:
    first = "You will learn why popular films end up with longer vectors than other films."
    assert head_tags.description(page(f"{first} And more.")) == first
    assert head_tags.description(
        page(r"With $x^2$ in it, it is left out.", "Short.", "Then a longer one follows here, and another.")
    ) == ("Short. Then a longer one follows here, and another.")
    symbol = page(r"What decides the sign of $\alpha$ and the length of $q$, in words that are long enough.")
    assert head_tags.description(symbol).startswith("What decides the sign of α and the length of q, in")
    assert head_tags.description(page()) == ""


def test_a_long_sentence_is_cut_between_words() -> None:
    said = head_tags.description(page("word " * 100))
    assert len(said) <= head_tags.LONGEST and said.endswith("word …")


def tag(text: str, name: str) -> str:
    [found] = re.findall(rf'<meta (?:name|property)="{name}" content="([^"]*)" />', text) or [""]
    return found


def drawn(title: str, course: str) -> bytes:
    return card_pictures.picture(title, course).convert("RGB").tobytes()


def pixels(card: Path) -> bytes:
    with Image.open(card) as picture:
        return picture.convert("RGB").tobytes()


def test_the_tags_name_the_address_once_there_is_one() -> None:
    given = ("book/debiasing/ddc", 'A "title"', "What it says.")
    with_address, without = head_tags.tags(*given, HERE), head_tags.tags(*given, "")
    assert tag(with_address, "og:url") == f"{HERE}/book/debiasing/ddc.html" and tag(without, "og:url") == ""
    assert tag(with_address, "og:image") == f"{HERE}/_static/cards/debiasing-ddc.png"
    assert not any(tag(without, name) for name in ("og:image", "og:image:alt", "twitter:card"))  # "../" is no address
    assert tag(without, "og:title") == "A &quot;title&quot;" and tag(without, "description") == "What it says."


def test_the_address_that_the_course_comes_with_counts_as_none() -> None:
    assert not address.is_set(f"https://github.com/{address.PLACEHOLDER_OWNER}/course")
    assert address.is_set("https://github.com/somebody/course")


def test_the_address_reaches_sphinx_and_the_site(monkeypatch: pytest.MonkeyPatch) -> None:
    class Config:
        html_baseurl = ""

    for given, wanted in (("", ""), (HERE, f"{HERE}/")):
        monkeypatch.setattr(editions, "site_address", lambda given=given: given)
        config = Config()
        head_tags.set_address(None, config)
        assert config.html_baseurl == wanted


def test_the_map_for_search_engines_has_every_page_with_its_day() -> None:
    text = head_tags.sitemap(["book/a", "book/b"], HERE, {"book/a.ipynb": "2026-11-22"})
    space = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
    urls = ElementTree.fromstring(text.encode()).findall(f"{space}url")
    assert [url.findtext(f"{space}loc") for url in urls] == [f"{HERE}/book/a.html", f"{HERE}/book/b.html"]
    assert [url.findtext(f"{space}lastmod") for url in urls] == ["2026-11-22", None]
    assert f"Sitemap: {HERE}/sitemap.xml" in head_tags.robots(HERE)


def test_the_page_at_the_root_leads_on_and_says_what_it_is() -> None:
    text = head_tags.start_page("Two & more", "What it says.", HERE)
    assert '<a href="book/index.html">Two &amp; more</a>' in text and f'"{HERE}/book/index.html"' in text
    assert "canonical" not in head_tags.start_page("Two & more", "What it says.", "")


@pytest.mark.parametrize("title", ["DDC", "Directional decomposition and correction", "A title of many words " * 6])
def test_a_card_has_the_size_that_is_asked_for_and_its_title_room(title: str) -> None:
    card = np.asarray(card_pictures.picture(title, "Course").convert("RGB"), dtype=int)
    assert card.shape == (630, 1200, 3)
    letters = (card[:, 40:] < 60).all(axis=2)
    assert letters[:490, :735].any() and not letters[:, 735:775].any()  # the logo is to the right of it
    assert not letters[500:, :775].any()  # the name of the course below


def test_a_card_says_the_title_and_the_course_unless_they_are_the_same() -> None:
    said = [
        np.asarray(card_pictures.picture(*words).convert("L"), dtype=int)
        for words in (("Title", "Course"), ("Title", "Another"), ("Another", "Course"), ("Title", "Title"))
    ]
    changed = [np.flatnonzero((np.abs(said[0] - other) > 60).any(axis=1)) for other in said[1:]]
    assert changed[0].min() > 490 and changed[1].max() < 490 and changed[2].min() > 490
    assert (said[3][490:, 40:800] > 250).all()


@pytest.mark.parametrize(
    "title", ["The bias of in-batch sampling", "Your first two-tower model", "lessons." + "long" * 30]
)
def test_no_word_of_a_title_is_broken(title: str) -> None:
    _, lines = card_pictures._fitting(title)
    assert " ".join(lines).split() == title.split() and all(lines)


@pytest.mark.slow
def test_the_logo_of_the_cards_is_that_of_the_site(browser) -> None:
    tab = browser.new_context(viewport={"width": 320, "height": 320}).new_page()
    logo = (SITE.parents[1] / "book" / "assets" / "logo.svg").read_text(encoding="utf-8")
    tab.set_content(f"<style>body {{ margin: 0 }} svg {{ display: block; width: 320px; height: 320px }}</style>{logo}")
    site = np.asarray(Image.open(io.BytesIO(tab.screenshot())).convert("RGB"), dtype=int)
    tab.context.close()
    off = np.abs(site - np.asarray(card_pictures.logo(320), dtype=int)).max(axis=2)
    assert (site != 255).any(axis=2).mean() > 0.2 and (off > 64).mean() < 0.005  # but for edges


def test_the_same_titles_give_the_same_bytes_and_old_cards_go(tmp_path: Path, monkeypatch) -> None:
    drawn: list[str] = []
    picture = card_pictures.picture

    def draw(title: str, course: str) -> object:
        drawn.append(title)
        return picture(title, course)

    (tmp_path / "gone.png").write_bytes(b"")
    card_pictures.write_all(tmp_path, {"a": "Title"}, "Course")
    once = (tmp_path / "a.png").read_bytes()
    card_pictures.write_all(tmp_path, {"a": "Title"}, "Course")
    assert (tmp_path / "a.png").read_bytes() == once and len(once) < 20_000
    monkeypatch.setattr(card_pictures, "picture", draw)
    for title, course, count in (("Title", "Course", 0), ("Another", "Course", 1), ("Another", "Its course", 2)):
        card_pictures.write_all(tmp_path, {"a": title}, course)
        assert len(drawn) == count  # only what says something else is drawn again
    (tmp_path / "a.png").write_bytes(b"torn")
    card_pictures.write_all(tmp_path, {"a": "Another"}, "Its course")
    assert len(drawn) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


@built
def test_every_page_of_the_book_has_a_description_and_a_card_with_its_title_and_the_name_of_the_course() -> None:
    course = yaml.safe_load((SITE.parents[1] / "_config.yml").read_text(encoding="utf-8"))["title"]
    letters = set(TTFont(card_pictures.FONTS / "course-sans-700.ttf").getBestCmap())
    wanted = set()
    for path in sorted((SITE / "book").rglob("*.html")):
        head = path.read_text(encoding="utf-8").split("</head>")[0]
        said, title = tag(head, "description"), unescape(tag(head, "og:title"))
        assert 20 <= len(said) <= head_tags.LONGEST + 30, (path, said)
        assert set(map(ord, title)) <= letters, title
        card = head_tags.card_of(path.relative_to(SITE).with_suffix("").as_posix())
        assert pixels(SITE / head_tags.CARDS / f"{card}.png") == drawn(title, course), title
        assert bool(tag(head, "og:image")) == bool(editions.site_address())
        wanted.add(f"{card}.png")
    cards = list((SITE / head_tags.CARDS).iterdir())
    assert {path.name for path in cards} == wanted and len(wanted) > 60
    assert sum(path.stat().st_size for path in cards) < 1_000_000


@built
def test_no_page_carries_the_state_of_jupyters_widgets() -> None:
    heavy = [path.name for path in SITE.rglob("*.html") if head_tags.WIDGET_STATE in path.read_text(encoding="utf-8")]
    assert heavy == []


@built
def test_only_a_site_with_an_address_names_one() -> None:
    text = (SITE / "book" / "debiasing" / "ddc.html").read_text(encoding="utf-8")
    site = editions.site_address()
    assert ('rel="canonical"' in text) == bool(site) == (SITE / "sitemap.xml").is_file()
    assert (SITE / "robots.txt").is_file() == bool(site)


@pytest.mark.slow
@pytest.mark.parametrize("site", ["", HERE])
def test_a_built_page_has_it_in_its_head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: str) -> None:
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace

    monkeypatch.setattr(editions, "site_address", lambda: site)
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "index.rst").write_text(
        "Title\n=====\n\nA first sentence that is long enough to be all of it.\n"
    )
    (tmp_path / "conf.py").write_text(
        "extensions = ['tools.head_tags', 'tools.not_found']\n"
        "html_theme = 'sphinx_book_theme'\n"
        "html_title = 'The course'\n"  # as Jupyter Book hands on its `title`; it sets no `project`
        "root_doc = 'book/index'\n"
    )
    out = tmp_path / "out"
    where = (tmp_path, tmp_path, out, tmp_path / "trees")
    with docutils_namespace():  # what Sphinx registers would warn in the next test that builds
        Sphinx(*map(str, where), "html", status=None, warning=None).build()
    head = (out / "book" / "index.html").read_text(encoding="utf-8").split("</head>")[0]
    assert tag(head, "description") == "A first sentence that is long enough to be all of it."
    assert (f'<link rel="canonical" href="{HERE}/book/index.html" />' in head) == bool(site)
    assert (out / "sitemap.xml").is_file() == (out / "robots.txt").is_file() == bool(site)
    assert (tag(head, "og:image") == f"{HERE}/{head_tags.CARDS}/index.png") == bool(site)
    assert pixels(out / head_tags.CARDS / "index.png") == drawn("Title", "The course")
    assert (out / "404.html").is_file()
    assert '<a href="book/index.html">Title</a>' in (out / "index.html").read_text(encoding="utf-8")
