"""What the theme puts into the head of every page is cut down to what the page shows."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont

from tools import page_heads

SITE = Path(__file__).resolve().parents[2] / "_build" / "html"
SHEET = (
    '.fa{font-weight:900}@font-face{font-family:FontAwesome;src:url(x.woff2)}.fa-rocket:before{content:"\\f135"}'
    '.fa-search:before,.fa-magnifying-glass:before{content:"\\f002"}.fa-bell:before{content:"\\f0f3"}'
)


def test_only_the_icons_of_the_pages_are_left() -> None:
    classes = page_heads.used_classes(['<i class="fas fa-rocket"></i>', 'icon("fa-solid fa-magnifying-glass")'])
    assert page_heads.small_sheet(SHEET, classes) == (
        '.fa{font-weight:900}.fa-rocket:before{content:"\\f135"}.fa-magnifying-glass:before{content:"\\f002"}'
    )


def test_glyphs_are_found_written_out_and_as_themselves() -> None:
    assert page_heads.glyphs_of('a{content:"\\f0eb"} b{content:"\uf135"}') == {0xF0EB, 0xF135}


def test_a_page_loads_one_small_sheet_and_starts_in_a_mode() -> None:
    page = (
        '<script>document.documentElement.dataset.mode = localStorage.getItem("mode") || "";</script>\n'
        '<link href="../_static/vendor/fontawesome/6/css/all.min.css?digest=d" rel="stylesheet" />\n'
        '<link rel="preload" as="font" href="../_static/vendor/fontawesome/6/webfonts/a.woff2" />\n'
        '<script src="../_static/vendor/fontawesome/6/js/all.min.js?digest=d"></script>\n<script src="own.js"></script>'
        '<div class="bd-sidebar-primary bd-sidebar">'
    )
    light = page_heads.light_head(page)
    assert light == page_heads.light_head(light)  # a second build changes nothing
    assert re.findall(r'(?:src|href)="([^"]*)"', light) == ["../_static/course-icons.css", "own.js"]
    assert '|| "auto"' in light and '<div role="complementary" aria-label="Course" class="bd-sidebar-primary' in light


@pytest.mark.browser
@pytest.mark.skipif(not (SITE / "_static" / page_heads.SHEET).is_file(), reason="needs the built site: run `make book`")
def test_the_small_fonts_hold_every_icon_of_the_site() -> None:
    sheet = (SITE / "_static" / page_heads.SHEET).read_text(encoding="utf-8")
    fonts = [TTFont(io.BytesIO(base64.b64decode(data))) for data in re.findall(r"base64,([^\")]+)", sheet)]
    held = {point for font in fonts for point in font.getBestCmap()}
    assert len(fonts) == len(page_heads.FONTS) and page_heads.glyphs_of(re.sub(r"url\([^)]*\)", "", sheet)) <= held
    assert not any("fontawesome" in page.read_text(encoding="utf-8") for page in SITE.rglob("*.html"))


@pytest.mark.skipif(not (SITE / "_static" / page_heads.SHEET).is_file(), reason="needs the built site: run `make book`")
def test_every_family_that_the_theme_names_is_there() -> None:
    styles = "".join(path.read_text(encoding="utf-8") for path in (SITE / "_static" / "styles").glob("*.css"))
    named = {
        match.replace("\\", "")
        for match in re.findall(r"font-family:(Font Awesome\\? ?\\? \d (?:Free|Brands))", styles)
    }
    assert named and named <= {f"Font Awesome {family}" for family in page_heads.FONTS}
