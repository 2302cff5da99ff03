"""A Sphinx extension that makes the head of every page light: of Font Awesome it leaves what the pages show.

The theme loads a script of 1.4 MB, which the first paint waits for, and three fonts, which a browser refuses to a page
that is opened from a folder. Instead every page gets one style sheet with the glyphs that are used,
some thirty of two thousand, within itself.
"""

from __future__ import annotations

import base64
import io
import logging
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fontTools import subset
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx

SHEET = "course-icons.css"
# family: file, weight; the theme still calls one icon by the family's name of version 5
FONTS = {
    "6 Free": ("fa-solid-900", 900),
    "5 Free": ("fa-solid-900", 900),
    "6 Brands": ("fa-brands-400", 400),
}
SCRIPT = re.compile(r'\s*<script src="[^"]*/fontawesome/[^"]*"></script>')
PRELOAD = re.compile(r'\s*<link rel="preload"[^>]*/fontawesome/[^>]*>')
LINK = re.compile(r'<link href="(?P<static>[^"]*_static/)vendor/fontawesome/[^"]*\.css[^"]*" rel="stylesheet" />')
MODE = 'dataset.mode = localStorage.getItem("mode") || ""'  # of which the theme's own script then complains
SIDEBAR = '<div class="bd-sidebar-primary'
LANDMARK = '<div role="complementary" aria-label="Course" class="bd-sidebar-primary'  # what it holds is in no other one
CLASS = re.compile(r"\bfa-[a-z0-9-]+")
GLYPH = re.compile(r"\\(f[0-9a-f]{3})\b|([\uf000-\uf8ff])")
FACE = re.compile(r"@font-face\{[^}]*\}")
RULE = re.compile(r"(?P<names>(?:\.fa-[a-z0-9-]+:{1,2}before,?)+)\{content:\"(?P<glyph>[^\"]*)\"\}")


def used_classes(texts: Iterable[str]) -> set[str]:
    """The classes of icons in pages and scripts, as "fa-rocket"."""
    return {name for text in texts for name in CLASS.findall(text)}


def glyphs_of(text: str) -> set[int]:
    r"""The code points of icons in a style sheet, written out or as `\f0eb`."""
    return {int(code, 16) if code else ord(sign) for code, sign in GLYPH.findall(text)}


def small_sheet(sheet: str, classes: set[str]) -> str:
    """Font Awesome's style sheet without its fonts and without the rules of icons that no page has."""

    def kept(match: re.Match[str]) -> str:
        names = [name for name in match["names"].split(",") if CLASS.findall(name)[0] in classes]
        return f'{",".join(names)}{{content:"{match["glyph"]}"}}' if names else ""

    return RULE.sub(kept, FACE.sub("", sheet))


def small_font(path: Path, glyphs: set[int]) -> bytes:
    """A font as WOFF with some of its glyphs; those that it lacks are another font's."""
    logging.getLogger("fontTools").setLevel(logging.WARNING)  # it tells of every glyph, in the middle of `make book`
    font = TTFont(path, recalcTimestamp=False)  # the same file at every build
    options = subset.Options(flavor="woff", layout_features=[], name_IDs=[], notdef_outline=False)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=glyphs & set(font.getBestCmap()))
    subsetter.subset(font)
    font.flavor = "woff"
    stored = io.BytesIO()
    font.save(stored)
    return stored.getvalue()


def face(family: str, weight: int, font: bytes) -> str:
    """The rule that carries a font within the style sheet."""
    data = base64.b64encode(font).decode()
    return (
        f'@font-face{{font-family:"Font Awesome {family}";font-weight:{weight};font-style:normal;font-display:block;'
        f'src:url("data:font/woff;base64,{data}") format("woff")}}'
    )


def lighten(app: Sphinx, failure: Exception | None) -> None:
    """Write the style sheet, and let every page load it in the place of the script and the fonts."""
    if failure is not None or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    whole = next((static / "vendor" / "fontawesome").glob("*/css/all.min.css"))
    pages = {path: path.read_text(encoding="utf-8") for path in Path(app.outdir).rglob("*.html")}
    scripts = [path.read_text(encoding="utf-8") for path in (*static.glob("*.js"), *(static / "scripts").glob("*.js"))]
    styles = [path.read_text(encoding="utf-8") for path in (*static.glob("*.css"), *(static / "styles").glob("*.css"))]
    sheet = small_sheet(whole.read_text(encoding="utf-8"), used_classes([*pages.values(), *scripts]))
    glyphs = set().union(*map(glyphs_of, [sheet, *styles]))
    fonts = whole.parent.parent / "webfonts"
    faces = [face(name, weight, small_font(fonts / f"{file}.ttf", glyphs)) for name, (file, weight) in FONTS.items()]
    (static / SHEET).write_text("".join([*faces, sheet]), encoding="utf-8")
    for path, text in pages.items():
        light = light_head(text)
        if light != text:
            path.write_text(light, encoding="utf-8")


def light_head(page: str) -> str:
    """A page that loads the small style sheet, no script and no font of Font Awesome, and starts in a mode.

    Its sidebar is a region that screen readers can go to.
    """
    page = page.replace(SIDEBAR, LANDMARK)
    page = PRELOAD.sub("", SCRIPT.sub("", page)).replace(MODE, MODE[:-1] + 'auto"')
    return LINK.sub(lambda match: f'<link href="{match["static"]}{SHEET}" rel="stylesheet" />', page)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("build-finished", lighten, priority=900)  # after the style sheets are in place
    return {"parallel_read_safe": True, "parallel_write_safe": True}
