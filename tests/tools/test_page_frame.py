"""What stands around a page: its foot, its tags and card, the files at the root, with an address and without one."""

from __future__ import annotations

import base64
import io
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup
from docutils import nodes, utils
from drafts import FIRST, ROOT
from fontTools.ttLib import TTFont
from PIL import Image
from pybtex.database import parse_string

from course_lib import __version__
from tools import address, editions, page_frame, toc

SITE = Path(__file__).resolve().parents[2] / "_build" / "html"
HERE = "https://somebody.github.io/course"
PAGE = "book/debiasing/ddc"
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
    assert page_frame.description(page(f"{first} And more.")) == first
    short = page(r"With $x^2$ in it, it is left out.", "Short.", "Then a longer one follows here, and another.")
    assert page_frame.description(short) == "Short. Then a longer one follows here, and another."
    symbol = page(r"What decides the sign of $\alpha$ and the length of $q$, in words that are long enough.")
    assert page_frame.description(symbol).startswith("What decides the sign of α and the length of q, in")
    assert page_frame.description(page()) == ""
    below = page("You need vectors, gradients, the chain rule · 65 minutes, exercises 150 minutes.", first)
    line = below.children[0]
    line.replace_self(nodes.admonition("", line.deepcopy(), classes=["at-a-glance"]))
    assert page_frame.description(below) == first
    said = page_frame.description(page("word " * 100))
    assert len(said) <= page_frame.LONGEST and said.endswith("word …")


def test_the_map_for_search_engines_has_every_page_with_its_day() -> None:
    text = page_frame.sitemap(["book/a", "book/b"], HERE, {"book/a.ipynb": "2026-11-22"})
    space = f"{{{page_frame.MAP}}}"
    urls = ElementTree.fromstring(text).findall(f"{space}url")
    assert [url.findtext(f"{space}loc") for url in urls] == [f"{HERE}/book/a.html", f"{HERE}/book/b.html"]
    assert [url.findtext(f"{space}lastmod") for url in urls] == ["2026-11-22", None]


def test_an_error_is_reported_to_an_address_that_somebody_set() -> None:
    link = page_frame.report(PAGE, "A & B", "https://github.com/somebody/course")
    assert "somebody/course/issues/new?title=A+%26+B" in link and "book%2Fdebiasing%2Fddc" in link
    assert page_frame.report(PAGE, "A", f"https://github.com/{address.PLACEHOLDER_OWNER}/course") == ""


def test_the_chapters_are_counted_as_the_site_counts_them() -> None:
    places = editions.places()
    assert places[PAGE].number == places[f"{PAGE}-lab"].number > (1,)
    first, cover = (page_frame.edition(page, "")["is_read"] for page in (toc.way()[1], "book/index"))
    assert first and not cover


@pytest.fixture
def small_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Builds a site with one chapter and the page of changes, at an address or without one; returns its folder."""
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace

    def build(site: str) -> Path:
        monkeypatch.setattr(editions, "site_address", lambda: site)
        monkeypatch.setattr(editions, "last_changes", lambda: {f"{PAGE}.ipynb": "2026-11-22"})
        for name, words in ((PAGE, "A & B"), (page_frame.CHANGES, "Changes")):
            path = tmp_path / f"{name}.rst"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{words}\n=======\n\nA first sentence that is long enough to be all of it.\n\n:orphan:\n")
        (tmp_path / "book" / "assets").symlink_to(editions.ROOT / "book" / "assets")
        (tmp_path / "conf.py").write_text(
            "extensions = ['sphinx_book_theme', 'tools.page_frame']\nhtml_theme = 'sphinx_book_theme'\n"
            f"html_title = 'The course'\nauthor = 'The contributors'\nroot_doc = {PAGE!r}\n"
        )  # as Jupyter Book hands on its `title`; it sets no `project`
        out = tmp_path / "out"
        with docutils_namespace():  # what Sphinx registers would warn in the next test that builds
            Sphinx(*map(str, (tmp_path, tmp_path, out, tmp_path / "trees")), "html", status=None, warning=None).build()
        return out

    return build


def tag(text: str, name: str) -> str:
    return "".join(re.findall(rf'<meta (?:name|property)="{name}" content="([^"]*)" />', text))


@pytest.mark.slow
@pytest.mark.parametrize("site", ["", HERE])
def test_a_built_page_has_its_tags_its_card_and_its_foot(
    small_site: Callable[[str], Path], site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_frame, "SHARED", "none/{}.png")  # as for a page without a picture of its own
    out = small_site(site)
    text = (out / f"{PAGE}.html").read_text(encoding="utf-8")
    said = "A first sentence that is long enough to be all of it."
    assert tag(text, "description") == tag(text, "og:description") == said and tag(text, "og:title") == "A & B"
    assert (f'<link rel="canonical" href="{HERE}/{PAGE}.html" />' in text) == bool(site)
    assert (out / "sitemap.xml").is_file() == (out / "robots.txt").is_file() == bool(site)
    cards = [out / tag(text, "og:image").removeprefix(f"{HERE}/")] if site else []
    assert [Image.open(card).size for card in cards] == [(1146, 600)] * bool(site)
    assert bool(tag(text, "og:image")) == bool(tag(text, "twitter:card")) == bool(site)
    start = (out / "index.html").read_text(encoding="utf-8")
    assert f'<a href="{PAGE}.html">The course</a>' in start and ("canonical" in start) == bool(site)
    foot = BeautifulSoup(text, "html.parser").select_one("article .page-foot")
    [entry] = parse_string(foot.select_one(".cite-page pre").get_text(), "bibtex").entries.values()
    assert entry.persons["author"][0].last_names == ["{The contributors}"]  # one name, not a first and a last one
    number = sum(editions.places()[PAGE].number)
    assert dict(entry.fields.items()) == {
        "title": "{A & B}",
        "howpublished": f"Chapter {number} of The course",
        "year": "2026",
        "note": f"Version {__version__}, last changed on 2026-11-22",
        **({"url": f"{HERE}/{PAGE}.html"} if site else {}),
    }
    assert f"Version {__version__}, last changed on 22 November 2026. What changed." in foot.get_text()
    assert foot.select_one(f'.reading[data-page="{PAGE}"][hidden]') and "Cite this chapter" in foot.get_text()
    other = BeautifulSoup((out / f"{page_frame.CHANGES}.html").read_text(encoding="utf-8"), "html.parser")
    assert other.select_one(".page-foot .edition") and not other.select_one(".cite-page, .reading")


@pytest.mark.slow
def test_a_link_to_a_chapter_shows_its_own_picture_and_the_page_for_wrong_addresses_stands_for_itself(
    small_site: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_frame, "SHARED", "card-logo.png")  # a file that lies there for every page
    out = small_site(HERE)
    text = (out / f"{PAGE}.html").read_text(encoding="utf-8")
    assert tag(text, "og:image") == f"{HERE}/_static/card-logo.png" and tag(text, "og:url") == f"{HERE}/{PAGE}.html"
    assert (tag(text, "og:image:width"), tag(text, "twitter:card")) == ("1200", "summary_large_image")
    text = (out / "404.html").read_text(encoding="utf-8")
    found = BeautifulSoup(text, "html.parser")
    assert 'const set = "/course/";' in text and found.select_one("nav h2").text == "Debiasing"
    assert (found.select_one("nav a")["href"], found.select_one("nav a").text) == (f"{PAGE}.html", "A & B")
    assert found.form["action"] == "search.html" and found.input["name"] == "q"
    assert [link["href"] for link in found.select("link")] == ["_static/favicon.svg"] and not found.select("[src]")
    assert found.select_one('meta[name="robots"]')["content"] == "noindex" and len(found.select(".sign svg")) == 2


def test_a_page_has_the_day_of_its_last_commit(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    def git(*arguments: str, day: str = "2026-01-02") -> None:
        own = {"GIT_COMMITTER_DATE": f"{day}T12:00:00", "GIT_AUTHOR_DATE": f"{day}T12:00:00", "HOME": str(tmp_path)}
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        subprocess.run(command, cwd=tmp_path, env=own | {"PATH": "/usr/bin:/bin"}, check=True)

    (tmp_path / "book").mkdir()
    git("init", "--quiet")
    for day, names in (("2026-01-02", "ab"), ("2026-03-04", "b")):
        for name in names:
            (tmp_path / "book" / f"{name}.md").write_text(day)
        git("add", "book")
        git("commit", "--quiet", "--message", day, day=day)
    assert editions.last_changes(tmp_path) == {"book/a.md": "2026-01-02", "book/b.md": "2026-03-04"}
    shallow = tmp_path_factory.mktemp("shallow")
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", tmp_path.as_uri(), str(shallow)], check=True)
    assert editions.last_changes(shallow) == {}  # there, every page would be as old as the clone
    assert editions.last_changes(tmp_path_factory.mktemp("no-repository")) == {}


@built
def test_every_page_of_the_book_has_a_description_and_nothing_heavy() -> None:
    for path in sorted((SITE / "book").rglob("*.html")):
        text = path.read_text(encoding="utf-8")
        assert 20 <= len(tag(text, "description")) <= page_frame.LONGEST + 30, path
        assert bool(tag(text, "og:image")) == bool(editions.site_address()), path
        assert page_frame.WIDGET_STATE not in text and "vendor/fontawesome" not in text, path


@built
def test_the_sheet_of_icons_has_every_icon_that_a_page_or_a_script_names() -> None:
    """Otherwise a page shows an empty box: the head of book/assets/course-icons.css says how to add one."""
    sheet = (SITE / "_static" / "course-icons.css").read_text(encoding="utf-8")
    scripts = [*(SITE / "_static").glob("*.js"), *(SITE / "_static" / "scripts").glob("*.js")]
    texts = [path.read_text(encoding="utf-8") for path in (*(SITE / "book").rglob("*.html"), *scripts)]
    named = {name for text in texts for name in re.findall(r"\bfa-[a-z0-9-]+", text)}
    whole = next((SITE / "_static" / "vendor" / "fontawesome").glob("*/css/all.min.css")).read_text(encoding="utf-8")
    icons = {name for name in named if f".{name}:before" in whole}
    assert len(icons) > 10 and [name for name in icons if f".{name}:before" not in sheet] == []
    fonts = [TTFont(io.BytesIO(base64.b64decode(data))) for data in re.findall(r"base64,([^\")]+)", sheet)]
    glyphs = {int(code, 16) for code in re.findall(r'content:"\\(f[0-9a-f]{3})"', sheet)}
    glyphs |= {ord(sign) for sign in re.findall(r'content:"([\uf000-\uf8ff])"', sheet)}
    assert glyphs and glyphs <= {point for font in fonts for point in font.getBestCmap()}
    styles = "".join(path.read_text(encoding="utf-8") for path in (SITE / "_static" / "styles").glob("*.css"))
    written = re.findall(r"font-family:(Font Awesome[\\ ]+\d (?:Free|Brands))", styles)
    families = {name.replace("\\", "") for name in written}
    assert families and all(f'font-family:"{name}"' in sheet for name in families)


def test_next_goes_from_main_page_to_main_page_to_the_decisions() -> None:
    way = toc.way()
    chapters = [page for page, number in toc.pages() if number and not page.endswith(toc.BESIDE)]
    first = FIRST.relative_to(ROOT).with_suffix("").as_posix()
    assert way == ["book/index", first, *chapters, "book/practice/decisions"]


def test_a_page_beside_a_chapter_leads_back_to_it_and_on(tmp_path: Path) -> None:
    way = toc.way()
    titles = {page: nodes.title("", f"{page} & more") for page in way}
    env = SimpleNamespace(found_docs=set(way), titles=titles)
    app = SimpleNamespace(env=env, builder=SimpleNamespace(get_relative_uri=lambda page, to: f"{to}.html"))

    def links(page: str) -> tuple[str | None, str | None]:
        context: dict[str, Any] = {"prev": "as it was", "next": "as it was"}
        page_frame.lead_on(app, page, "", context, None)
        return tuple(place if place in (None, "as it was") else place["link"] for place in context.values())

    assert links(way[0]) == (None, f"{way[1]}.html")
    assert links(way[3]) == (f"{way[2]}.html", f"{way[4]}.html")
    assert links(f"{way[3]}-lab") == (f"{way[3]}.html", f"{way[4]}.html")
    assert links(way[-1]) == (f"{way[-2]}.html", None)
    assert links("book/start/notation") == ("as it was", "as it was")
