"""Writes decks: the pieces of a chapter in the order of its file, with notes, and all that a browser needs, offline."""

from __future__ import annotations

import re
import shutil
import sys
from html import escape
from importlib.util import find_spec
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from tqdm import tqdm

from course_lib.lessons.shared import quiz
from course_lib.lessons.shared.widgets import bundle
from tools import toc
from tools.slides import deck as decks
from tools.slides import pieces
from tools.slides.pages import Chapter, Missing

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
OUT = ROOT / "_build" / "slides"
HERE = Path(__file__).parent
REVEAL = ("dist/reveal.js", "dist/reveal.css", "plugin/notes/notes.js", "LICENSE")
STYLES = ("course.css", "course-fonts.css", "course-fonts-more.css", "pygments.css", "course-widgets.css")
MATHJAX = "mathjax"
# Of slides without a headline of their own
HEADS = {"question": "Guess first", "remember": "What to remember", "assignment": "At home"}


def slide_html(chapter: Chapter, slide: decks.Slide) -> str:
    """One slide: headline, body, notes."""
    shown = slide.pieces
    head = quiz.html(slide.title) or HEADS.get(shown[0].kind, "")
    made = [_piece_html(chapter, one) for one in shown]
    body = made[0] + f'<div class="column">{"".join(made[1:])}</div>' if slide.beside else "".join(made)
    kinds = " ".join(dict.fromkeys(f"with-{one.kind}" for one in shown))
    return _for_the_deck(
        f'<section class="{kinds}" data-timing="{60 * slide.minutes}">{f"<h2>{head}</h2>" if head else ""}'
        f'<div class="body{" beside" if slide.beside else ""}">{body}</div>'
        f'<aside class="notes">{pieces.notes(chapter, slide)}</aside></section>'
    )


def _piece_html(chapter: Chapter, piece: decks.Piece) -> str:
    """One piece; a section inside a slide would be a slide of its own."""
    html = re.sub(r"<(/?)section\b", r"<\1div", pieces.MAKERS[piece.kind](chapter, *piece.names))
    return f'<div class="piece-{piece.kind}">{html}</div>'


def deck_html(deck: decks.Deck, chapter: Chapter) -> str:
    """A whole deck. Raises Missing, with deck and slide, for what the pages, the guide or the quiz lack."""
    environment = Environment(loader=FileSystemLoader(HERE), undefined=StrictUndefined, autoescape=False)
    made = []
    for session, slides in (("first", deck.first), ("second", deck.second)):
        for number, slide in enumerate(slides, start=1):
            try:
                made.append(slide_html(chapter, slide))
            except Missing as missing:
                raise Missing(f"{deck.name}.yml: {session}, slide {number}: {missing}") from None
    body = "\n".join(made)
    widgets = [name for name in bundle.names_for(body) if name.endswith(".js")]
    return environment.get_template("deck.html.jinja").render(
        title=escape(chapter.heading[1]), slides=body, styles=STYLES, widgets=widgets, logo=pieces.logo()
    )


def _for_the_deck(html: str) -> str:
    """Links become their words, for a click must not lead away; a label becomes a name that may stand twice."""
    html = re.sub(r"<a\b[^>]*>|</a>", "", html)
    return re.sub(r'(<(?!svg|path|g|defs)\w+[^>]*?) id="([^"]*)"', r'\1 data-label="\2"', html)


def write(names: list[str], site: Path = SITE, out: Path = OUT) -> list[Path]:
    """Write the decks of some chapters and what they load; returns the decks."""
    if not (site / "_static").is_dir():
        raise FileNotFoundError(f"no built book lies in {site}: run `make book` first")
    written, theirs = [], reveal()
    assets = out / "assets"
    assets.mkdir(parents=True, exist_ok=True)
    for name in tqdm(names, desc="decks", unit="deck"):
        html = deck_html(decks.read(name), Chapter(toc.page_of(name), site))
        written.append(out / f"{name}.html")
        written[-1].write_text(html, encoding="utf-8")
        for image in re.findall(r'src="images/([^"]+)"', html):
            _copy(site / "_images" / image, out / "images" / image)
        for script in re.findall(r'src="assets/(course-widget[^"]+)"', html):
            _copy(site / "_static" / script, assets / script)
    for style in STYLES:
        _copy(site / "_static" / style, assets / style)
    for part in REVEAL:
        _copy(theirs / part, assets / "reveal" / Path(part).name)
    for part in ("deck.css", "deck.js"):
        _copy(HERE / part, assets / part)
    shutil.copytree(site / "_static" / MATHJAX, assets / MATHJAX, dirs_exist_ok=True)
    return written


def reveal() -> Path:
    """The folder of reveal.js inside the installed package sphinx-revealjs."""
    found = find_spec("sphinx_revealjs")
    if found is None or found.origin is None:
        raise FileNotFoundError("sphinx-revealjs, which carries reveal.js, is not installed: run `make setup`")
    return Path(found.origin).parent / "_static" / "revealjs"


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def main(names: list[str]) -> int:
    """Write the decks of some chapters, or of all."""
    if wrong := sorted(set(names) - set(decks.names())):
        print(f"CHAPTER={wrong[0]!r} has no deck; expected one of {', '.join(decks.names())}", file=sys.stderr)
        return 2
    try:
        written = write(names or decks.names())
    except (decks.DeckError, Missing, quiz.QuizError, FileNotFoundError, KeyError) as problem:
        print("slides:", " ".join(str(problem).strip("'\"").split()), file=sys.stderr)
        return 1
    for path in written:
        print(path.relative_to(ROOT))
    return 0
