"""The look of the site: two accents for everything, type that was chosen, figures in the reader's colours and width."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drafts import one_quickly
from PIL import Image

from course_lib.lessons.shared import house
from course_lib.lessons.shared.widgets import bundle
from tests.colours import LUMINANCE, contrast, linear
from tests.site.html_pages import CHAPTERS, ONE_QUICKLY, WITH_INTERACTIVES, read_page
from tests.site.opening import open_without_mathematics
from tests.tabs import Tabs
from tools import figures
from tools.offline_site import ASSETS, FONTS, fonts

PAGES = ["book/index.html", *sorted(CHAPTERS)]
WITH_FIGURES = one_quickly(PAGES[1:])
SHEET = (ASSETS / "course.css").read_text(encoding="utf-8")
ACCENTS = ("pull", "push", "wrong", "ink", "soft")
# How a person without the receptor for green sees linear light: Machado, Oliveira & Fernandes (2009), severity 1.
WITHOUT_GREEN = np.array(
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
)
READ = """(image) => [image.currentSrc.split("/").pop(), image.getBoundingClientRect().width, image.naturalWidth,
  image.closest("figure, .cell_output").scrollWidth - image.closest("figure, .cell_output").clientWidth]"""
SHOWN = "article img[src*='_images/']"


def scheme(theme: str) -> dict[str, str]:
    """The course's colours in the style sheet of the site, for one theme."""
    start = "html {" if theme == "light" else 'html[data-theme="dark"] {'
    block = SHEET[SHEET.index(f"\n{start}") :].split("}")[0]
    return dict(re.findall(r"--course-([a-z-]+): (#[0-9a-f]{6});", block))


@pytest.mark.parametrize("name", ACCENTS)
def test_page_interactives_and_figures_have_one_palette(name: str) -> None:
    light, dark = scheme("light"), scheme("dark")
    assert figures.pairs()[light[name]] == dark[name]
    assert light[name] == getattr(house, name.upper())


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ACCENTS)
def test_words_in_an_accent_can_be_read(name: str, theme: str) -> None:
    page = "#ffffff" if theme == "light" else figures.pairs()["#ffffff"]
    colors = scheme(theme)
    assert min(contrast(colors[name], page), contrast(colors[name], colors["card"])) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_accents_differ_for_a_person_who_is_blind_to_green(theme: str) -> None:
    seen = [np.clip(WITHOUT_GREEN @ linear(figures.rgb(scheme(theme)[name])), 0, 1) for name in ("pull", "push")]
    one, other = (np.cbrt(light @ figures.TO_CONES.T) @ figures.TO_LAB.T for light in seen)
    assert np.linalg.norm(one - other) > 0.15  # 0.02 is about the least that can be seen


def test_the_logo_has_the_two_accents() -> None:
    for name, theme in (("logo", "light"), ("logo-dark", "dark")):
        drawn = (ASSETS / f"{name}.svg").read_text(encoding="utf-8")
        assert {scheme(theme)["pull"], scheme(theme)["push"], scheme(theme)["ink"]} <= set(figures.HEX.findall(drawn))


def test_every_font_stands_in_one_of_the_two_sheets() -> None:
    rules = "".join(map(fonts, FONTS.values()))
    found = re.findall(r'font-family:"([^"]*)";font-weight:(\d+);font-style:(\w+)', rules)
    assert len(set(found)) == len(list((ASSETS / "fonts").glob("*.woff2"))) == 5
    assert {family for family, _, _ in found} == {"Source Sans 3", "Source Serif 4"}


def of(pages: list[Any]) -> Callable[[Callable], Callable]:
    """A test that looks at pages in the browser, one after the other."""
    return lambda test: pytest.mark.slow(pytest.mark.parametrize("page", pages)(test))


@pytest.fixture
def opened(tabs: Tabs, site: str) -> Iterator[Callable]:
    """Opens a page in a window of a width and in a theme."""
    taken = []

    def open_page(page: str, width: int, theme: str, **options):
        taken.append(tabs.take(width, color_scheme=theme, **options))
        open_without_mathematics(taken[-1].page, f"{site}/{page}")
        return taken[-1].page

    yield open_page
    for tab in taken:
        tabs.give_back(tab)


def pictures(tab) -> list:
    """The figures of a page that are displayed, loaded."""
    seen = [one for one in tab.query_selector_all(SHOWN) if one.is_visible()]
    for one in seen:
        one.scroll_into_view_if_needed()
        one.evaluate("(image) => image.decode()")
    return seen


@of(WITH_FIGURES)
def test_no_figure_is_a_white_card_on_a_dark_page(page: str, opened) -> None:
    tab = opened(page, 1280, "dark")
    around = tuple(map(int, re.findall(r"\d+", tab.evaluate("getComputedStyle(document.body).backgroundColor"))[:3]))
    for one in pictures(tab):
        seen = Image.open(io.BytesIO(one.screenshot())).convert("RGB")
        width, height = seen.size
        corners = [seen.getpixel((x, y)) for x in (1, width - 2) for y in (1, height - 2)]
        assert sum(np.abs(np.subtract(corner, around)).max() <= 3 for corner in corners) >= 3, one.get_attribute("src")
        assert np.mean(np.asarray(seen).mean(axis=2) > 200) < 0.25


@of(WITH_FIGURES)
def test_a_phone_shows_whole_figures_whose_words_can_be_read(page: str, opened) -> None:
    tab = opened(page, 360, "light")
    for name, wide, natural, hidden in [one.evaluate(READ) for one in pictures(tab)]:
        assert name.endswith("-phone.svg")
        assert hidden <= 1, f"{name} is cut"
        assert 14 * wide / natural >= 10, f"{name}: letters of 10.5 points are too small"  # 14 px at their own size


LETTERS = """() => [...document.querySelectorAll("article section > p")]
  .filter((p) => !p.querySelector(".math, code") && p.innerText.length > 250)
  .map((p) => {
    const lines = p.getBoundingClientRect().height / parseFloat(getComputedStyle(p).lineHeight);
    return p.innerText.length / (lines - 0.5); // the last line is half full, on average
  })"""
SERIF = "[...document.fonts].some((font) => font.family.includes('Serif') && font.status === 'loaded')"


@of(WITH_FIGURES)
def test_a_line_holds_65_to_78_letters(page: str, opened) -> None:
    tab = opened(page, 1280, "light")
    for width in (1280, 1920):
        tab.set_viewport_size({"width": width, "height": 900})
        letters = tab.evaluate(LETTERS)
        assert tab.evaluate(SERIF)
        assert len(letters) < 3 or 62 <= np.median(letters) <= 78  # some pages have formulas in nearly every paragraph


BARS = """() => [...document.querySelectorAll(".cw :is(.cw-piece, .cw-blind), .cw svg :is(rect, circle)")]
  .filter((one) => one.getBoundingClientRect().width > 3 && one.getBoundingClientRect().height > 3)
  .map((one) => [one, getComputedStyle(one)])
  .filter(([one, look]) => {
    const canvas = getComputedStyle(document.body).backgroundColor;
    const inks = one.ownerSVGElement ? [look.fill, look.stroke] : [look.backgroundColor, look.borderTopColor];
    const drawn = one.ownerSVGElement ? true : look.backgroundImage === "none";
    return drawn && inks.every((ink) => ink === canvas) && look.opacity !== "0";
  }).map(([one]) => one.outerHTML.slice(0, 120))"""


@of(ONE_QUICKLY)
@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.pipeline)])
def test_bars_can_be_seen_in_forced_colours(page: str, theme: str, opened) -> None:
    tab = opened(page, 1280, theme, forced_colors="active")
    for one in tab.query_selector_all("[data-course-widget]"):
        one.scroll_into_view_if_needed()
    tab.wait_for_timeout(200)
    unseen = tab.evaluate(BARS)
    assert unseen == []


def luminance(picture: bytes) -> np.ndarray:
    """The relative luminance of each pixel, as WCAG 2 defines it; shape (height, width)."""
    return linear(np.asarray(Image.open(io.BytesIO(picture)).convert("RGB")) / 255) @ LUMINANCE


def apart(one: np.ndarray, other: np.ndarray) -> float:
    """How much of the ink of two marks has a contrast of 3 or more to the other mark, at the place where that is least.

    Marks of a legend stand at fractions of a pixel: one is moved by a pixel to each side.
    """
    height, width = np.minimum(one.shape, other.shape)
    one, paper = one[:height, :width] + 0.05, one[0, 0] + 0.05
    found = []
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            moved = np.roll(other, (down, right), (0, 1))[:height, :width] + 0.05
            low, high = np.minimum(one, moved), np.maximum(one, moved)
            ink = (np.maximum(high, paper) / np.minimum(low, paper)) > 1.5
            found.append(float(((high / low >= 3) & ink).sum() / max(ink.sum(), 1)))
    return min(found)


@pytest.mark.slow
def test_the_pages_of_the_next_test_have_all_interactives(site_folder: Path) -> None:
    there = [name for page in WITH_INTERACTIVES for name in read_page(site_folder / page).widgets if name != "quiz"]
    assert sorted(there) == sorted(set(bundle.interactives()) - {"quiz"})


@of(one_quickly(WITH_INTERACTIVES))
@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.pipeline)])
def test_marks_of_a_legend_can_be_told_apart_in_forced_colours(page: str, theme: str, opened) -> None:
    """Systems have few colours, and often the same for links and for visited ones: shape or lightness must differ."""
    tab = opened(page, 1280, theme, forced_colors="active", device_scale_factor=2)
    for one in tab.query_selector_all("[data-course-widget]"):
        one.scroll_into_view_if_needed()
    tab.evaluate("document.querySelectorAll('.cw details').forEach((one) => { one.open = true; })")
    tab.wait_for_timeout(200)
    alike = []
    for legend in tab.locator("[data-course-widget] .cw-legend:visible").all():
        names = legend.locator("li").all_inner_texts()
        marks = [luminance(mark.screenshot()) for mark in legend.locator("li > :first-child").all()]
        for (name, mark), (other, its) in itertools.combinations(zip(names, marks, strict=True), 2):
            if apart(mark, its) < 0.22:
                alike.append((name, other))
    assert alike == []


# what is drawn over what: a property of an element, and that of one behind it
OVER = {
    "the ring over a push": (".cw-weight .cw-ring", "stroke", ".cw-square rect", "fill"),
    "the hatching of a push": (".cw-hatched .cw-hatch", "stroke", ".cw-square rect", "fill"),
    "the cross of a mistaken label": (".cw-mistaken[aria-pressed=true]", "::after color", "", "background-color"),
}
COLOURS = """([front, ink, back, paper]) => {
  const seen = (element, what) => {
    const [name, pseudo] = what.split(" ").reverse();
    const pen = new OffscreenCanvas(1, 1).getContext("2d");
    for (const fill of [getComputedStyle(document.body).backgroundColor, getComputedStyle(element, pseudo)[name]]) {
      pen.fillStyle = fill;
      pen.fillRect(0, 0, 1, 1);
    }
    return [...pen.getImageData(0, 0, 1, 1).data.slice(0, 3)];
  };
  const above = document.querySelector(front);
  return [seen(above, ink), seen(back ? document.querySelector(back) : above, paper)];
}"""


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_lies_over_a_block_can_be_seen_in_forced_colours(theme: str, opened, site_folder: Path) -> None:
    (page,) = [name for name in CHAPTERS if "in_batch_weights" in read_page(site_folder / name).widgets]
    tab = opened(page, 1280, theme, forced_colors="active")
    for name, places in OVER.items():
        ink, paper = (f"#{bytes(colour).hex()}" for colour in tab.evaluate(COLOURS, list(places)))
        assert contrast(ink, paper) >= 3, name


@pytest.mark.slow
def test_the_face_and_the_interactives_are_there_without_a_server(browser, site_folder: Path) -> None:
    tab = browser.new_context().new_page()
    tab.goto((site_folder / PAGES[1]).as_uri(), wait_until="load")
    tab.evaluate("() => document.fonts.ready.then(() => true)")
    loaded = tab.evaluate("[...document.fonts].filter((font) => font.status === 'loaded').map((font) => font.family)")
    assert {name.strip('"') for name in loaded} >= {"Source Serif 4", "Source Sans 3"}
    assert all(one.evaluate("(image) => image.naturalWidth") > 0 for one in pictures(tab))
    tab.locator('[data-course-widget-ready="true"]').first.wait_for()
    tab.context.close()
