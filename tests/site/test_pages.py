"""The built pages in a real browser that can reach no other host: they open, they are typeset, they can be read.

One page of each kind is opened wide and light, one main page narrow and dark too, and in both views what git says was
edited. Among the pipelines every page is opened in both views, and axe looks at its colours in both themes.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from drafts import FIRST, is_draft, main_pages

from tests.site.html_pages import CHAPTERS, find_pages, read_page
from tools.normalise import edited

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
PAGES = [path.relative_to(SITE).as_posix() for path in find_pages(SITE) if path.relative_to(SITE) != Path("index.html")]
OPENS_EARLY = [
    path.relative_to(ROOT).with_suffix(".html").as_posix() for path in (FIRST, *main_pages()) if not is_draft(path)
]
ONE = Path(OPENS_EARLY[-1])
OF_EACH_KIND = [  # the first model, a chapter's pages, pages from templates
    OPENS_EARLY[0],
    *(str(ONE.with_stem(ONE.stem + end)) for end in ("", "-further", "-lab")),
    *("book/reference/api/ground.html", f"book/reference/claims/{ONE.name}"),
]
SOURCES = [
    path for page in PAGES for path in (ROOT / page).parent.glob(f"{Path(page).stem}.*") if path.suffix != ".html"
]
EDITED = {path.relative_to(ROOT).with_suffix(".html").as_posix() for path in edited(SOURCES)}
QUICKLY = {"1280-light": EDITED | {*OF_EACH_KIND}, "360-dark": EDITED | {str(ONE)}}  # view -> without the pipelines
MOST_SCREENS = 1.5  # above the first interactive of a main page
VIEWS = {"1280-light": (1280, "light"), "360-dark": (360, "dark")}
AT_REST = """async () => {
  await (window.MathJax?.startup?.promise ?? null);
  await document.fonts.ready;
  await new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)));
}"""
START = """if (location.protocol !== "about:") {  // as in a new window: nothing of the page before
  sessionStorage.clear();
  for (const key of ["mode", "theme"]) localStorage.setItem(key, "THEME");
}"""
STILL_MOUNTING = "document.querySelectorAll('[data-course-widget]:not([data-course-widget-ready])').length"
IN_THEME = """(theme) => {  // and no colour is half-way any more
  document.documentElement.dataset.theme = theme;
  document.getAnimations().filter((one) => one instanceof CSSTransition).forEach((one) => one.finish());
}"""
AXE = {"preload": False, "resultTypes": ["violations"]}  # the rest would be gathered only to be dropped
OF_COLOURS = ("color-contrast", "link-in-text-block")  # take longer than the other rules together
COLOURS = {**AXE, "runOnly": list(OF_COLOURS)}
WEIGHT_GOAL = 300_000  # bytes, gzipped, beyond the theme and MathJax

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@dataclass
class Opened:
    """A page in the browser, and what it asked for and complained about while it opened."""

    name: str
    width: int
    theme: str
    page: object
    outside: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    bodies: dict[str, bytes] = field(default_factory=dict)  # by path on the site
    first_view: tuple[str, ...] = ()
    pending: set[object] = field(default_factory=set)

    def weigh(self, request: object, site: str) -> None:
        """Keep what came, of the theme and of MathJax excepted."""
        path = request.url.split("?")[0].split("#")[0].removeprefix(site).lstrip("/")
        if path not in self.bodies and (not path.startswith("_static/") or path.startswith("_static/course")):
            self.bodies[path] = request.response().body()

    def asked(self, request: object) -> None:
        self.pending.add(request)

    def answered(self, request: object) -> None:
        self.pending.discard(request)

    def listeners(self, site: str) -> list[tuple[str, Callable[..., object]]]:
        """What to note of the page's events."""
        return [
            ("request", lambda r: None if r.url.startswith((site, "data:", "blob:")) else self.outside.append(r.url)),
            ("request", self.asked),
            ("requestfinished", lambda r: self.weigh(r, site)),
            ("requestfinished", self.answered),
            ("requestfailed", lambda r: self.failed.append(r.url)),
            ("requestfailed", self.answered),
            ("response", lambda r: self.failed.append(f"{r.status} {r.url}") if r.status >= 400 else None),
            ("console", lambda message: self.errors.append(message.text) if message.type == "error" else None),
            ("pageerror", lambda error: self.errors.append(str(error))),
        ]


@pytest.fixture(scope="module")
def readers(browser) -> Iterator[dict[str, object]]:
    """Of each view one reader, who goes from page to page in one window: MathJax is read and compiled once."""
    windows = {}
    for view, (width, theme) in VIEWS.items():
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
        context.add_init_script(START.replace("THEME", theme))
        windows[view] = context.new_page()
    yield windows
    for window in windows.values():
        window.context.close()


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((name, view), id=f"{name}-{view}", marks=[pytest.mark.pipeline] * (name not in QUICKLY[view]))
        for name in PAGES
        for view in VIEWS
    ],
)
def opened(request, readers: dict[str, object], site: str) -> Iterator[Opened]:
    """One page, opened, at rest, its mathematics typeset."""
    name, (width, theme) = request.param[0], VIEWS[request.param[1]]
    opened = Opened(name, width, theme, readers[request.param[1]])
    opened.page.set_viewport_size({"width": width, "height": 900})  # another test may have failed at another size
    opened.page.goto("about:blank")  # what the page before still asks for or says ends here
    listeners = opened.listeners(site)
    try:
        for event, note in listeners:
            opened.page.on(event, note)
        opened.page.goto(f"{site}/{name}", wait_until="load")
        opened.page.evaluate(AT_REST)
        for _ in range(200):  # "networkidle" would wait for half a second of silence, on 150 pages
            if not opened.pending and not opened.page.evaluate(STILL_MOUNTING):
                break
            opened.page.wait_for_timeout(50)
        opened.first_view = tuple(opened.bodies)  # the tests scroll, and copy the article: more figures come
        yield opened
    finally:
        for event, note in listeners:
            opened.page.remove_listener(event, note)


def test_pages_of_each_kind_are_there(site_folder: Path) -> None:
    assert sum(name.startswith("book/") for name in PAGES) >= 9, f"only {PAGES} were built into {site_folder}"
    assert set(OF_EACH_KIND) <= set(PAGES)


# ---- what may be wrong with a page: each gives what it finds


def hosts_asked(opened: Opened) -> list[str]:
    return opened.outside


def requests_not_answered(opened: Opened) -> list[str]:
    return opened.failed


def errors_in_the_console(opened: Opened) -> list[str]:
    return opened.errors


def another_theme_than_the_reader_chose(opened: Opened) -> list[object]:
    theme, shade = opened.page.evaluate("""() => [document.documentElement.dataset.theme, getComputedStyle(
      document.body).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((sum, one) => sum + Number(one), 0)]""")
    return [] if theme == opened.theme and (shade > 3 * 128) == (theme == "light") else [theme, shade]


TABLES = """() => [...document.querySelectorAll(".text_html > table")]
      .filter((table) => table.offsetParent)
      .map((table) => [table.caption?.innerText, table.parentElement, table.querySelector("tbody td")])
      .map(([name, box, first]) => [name, box.scrollWidth - box.clientWidth,
        first ? first.getBoundingClientRect().left + 24 - box.getBoundingClientRect().right : 0])"""


def tables_of_results_that_are_cut(opened: Opened) -> list[str]:
    """On a desk they are whole; on a phone they begin with a number."""
    wide = opened.width >= 1280
    return [name for name, hidden, beyond in opened.page.evaluate(TABLES) if (hidden if wide else beyond) > 1]


CUT = """() => [
  ...document.querySelectorAll("article :is(mjx-container, table, figure img, .cell_output img, pre)")
].filter((one) => {
  if (!one.offsetParent || one.closest(".course-widget, details:not([open])")) return false;
  const drawn = (one.querySelector("svg, mjx-math") ?? one).getBoundingClientRect();
  const right = one.tagName === "PRE" ? drawn.left + one.scrollWidth : drawn.right;
  for (let box = one; box && box.tagName !== "ARTICLE"; box = box.parentElement) {
    const edges = box.getBoundingClientRect();
    const beyond = right > edges.right + 2 || drawn.left < edges.left - 2;
    const kind = getComputedStyle(box).overflowX;
    if (beyond && kind !== "visible") return ["hidden", "clip"].includes(kind) || !box.dataset.scrolls;
  }
  return drawn.right > document.documentElement.clientWidth + 1;
}).map((one) => one.querySelector("mjx-assistive-mml")?.textContent
  ?? `${one.tagName}: ${one.textContent.slice(0, 60) || one.alt}`)"""


def formulas_figures_and_code_cut_without_a_cue_to_scroll(opened: Opened) -> list[str]:
    for width in (1920, 768, 1280) if opened.width == 1280 else (360,):  # last the one where the other checks look
        opened.page.set_viewport_size({"width": width, "height": 900})
        opened.page.evaluate("document.querySelectorAll('details.long-table').forEach((one) => { one.open = true; })")
        for _ in range(20):  # the page marks what scrolls once it has its new shape
            opened.page.evaluate("new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)))")
            if not (cut := opened.page.evaluate(CUT)):
                break
        if cut:
            return [f"at {width} px", *cut]
    return []


CUT_WORDS = """() => {
  const folded = [...document.querySelectorAll("article details:not([open])")];
  folded.forEach((one) => { one.open = true; });
  const cut = [...document.querySelectorAll("article svg[role=img] text")].filter((word) => {
    const [seen, frame] = [word, word.ownerSVGElement].map((one) => one.getBoundingClientRect());
    return seen.width && (seen.left < frame.left - 1 || seen.right > frame.right + 1);
  });
  folded.forEach((one) => { one.open = false; });
  return cut.map((word) => word.textContent);
}"""


def words_of_pictures_that_are_cut(opened: Opened) -> list[str]:
    return opened.page.evaluate(CUT_WORDS)


COVERED = """() => {
  const notes = [...document.querySelectorAll("article :is(details.hide > summary, .margin-caption > figcaption)")]
    .map((one) => [one, one.getBoundingClientRect()]).filter(([, { width, height }]) => width && height);
  return notes.flatMap(([one, a], i) => notes.slice(i + 1)
    .filter(([, b]) => a.left < b.right - 2 && b.left < a.right - 2 && a.top < b.bottom - 2 && b.top < a.bottom - 2)
    .map(([other]) => `${one.innerText} / ${other.innerText}`));
}"""


def notes_in_the_margin_that_cover_each_other(opened: Opened) -> list[str]:
    return opened.page.evaluate(COVERED)


PROSE = """() => {
        const copy = document.querySelector("article").cloneNode(true);
        copy.querySelectorAll("pre, code, mjx-container, script").forEach((element) => element.remove());
        return copy.textContent;
    }"""
RAW = ("\\(", "\\[", "$$", "\\frac", "\\sum", "{glue", "{prf", "{cite", "{term", "{eq}")


def mathematics_that_is_not_typeset(opened: Opened) -> list[object]:
    page = opened.page
    typeset = page.locator("article mjx-container").count()
    errors = page.locator("article mjx-merror, article [data-mjx-error]").count()
    spoken = page.locator("article mjx-assistive-mml").count() == typeset
    enough = typeset >= max(page.locator("article .math").count(), 20 if opened.name in CHAPTERS else 0)
    raw = [mark for mark in RAW if mark in page.evaluate(PROSE)]
    return [] if enough and spoken and not errors and not raw else [typeset, errors, spoken, raw]


def interactives_that_do_not_mount(opened: Opened) -> list[str | None]:
    widgets = opened.page.locator("[data-course-widget]")
    states = [widgets.nth(i).get_attribute("data-course-widget-ready") for i in range(widgets.count())]
    return [] if states == ["true"] * len(read_page(SITE / opened.name).widgets) else states


def a_first_interactive_below_one_screen_and_a_half(opened: Opened) -> list[float]:
    if opened.name not in OPENS_EARLY or opened.width < 1280:
        return []
    box = opened.page.locator("[data-course-widget]:not([data-course-widget=quiz])").first.bounding_box()
    top = box["y"] + opened.page.evaluate("scrollY")
    return [] if top <= MOST_SCREENS * opened.page.viewport_size["height"] else [top]


# interactives, captions and wide tables reach into the margin, never beyond the window; the theme lets the article
# scroll in a box of its own, which would hide the same fault from the width of the document
WIDE = """() => {
        const box = document.querySelector(".bd-article-container");
        if (!box || box.scrollWidth <= box.clientWidth + 1) return [];
        const right = box.getBoundingClientRect().right + 1;
        const scrolls = (element) => ["auto", "scroll", "hidden"].includes(getComputedStyle(element).overflowX);
        const inside = (element) => {
            for (let up = element.parentElement; up !== box; up = up.parentElement) if (scrolls(up)) return true;
        };
        return [...box.querySelectorAll("*")]
            .filter((element) => element.getBoundingClientRect().right > right && !inside(element))
            .filter((element) => !element.closest(".full-width, .margin-caption > figcaption"))
            .filter((element) => !element.closest("details.hide"))
            .filter((element) => !element.closest(".text_html:has(> table thead th:nth-child(6))"))
            .map((element) => `${element.tagName}.${element.className}: ${element.textContent.trim().slice(0, 60)}`);
    }"""


def what_scrolls_sideways(opened: Opened) -> list[str]:
    width = opened.page.evaluate("document.documentElement.scrollWidth")
    return [*([f"the page is {width} wide"] if width > opened.width else []), *opened.page.evaluate(WIDE)]


UNREACHABLE = """() => [...document.querySelectorAll("article *")]
        .filter((element) => ["auto", "scroll"].includes(getComputedStyle(element).overflowX))
        .filter((element) => element.scrollWidth > element.clientWidth + 1 && element.clientWidth)
        .filter((element) => element.tabIndex < 0 && !element.querySelector("a, button, input, select, [tabindex='0']"))
        .map((element) => `${element.tagName}.${element.className}`)"""


def what_scrolls_and_the_keyboard_does_not_reach(opened: Opened) -> list[str]:
    return opened.page.evaluate(UNREACHABLE)


def too_much_weight_beyond_the_theme_and_mathjax(opened: Opened) -> list[tuple[str, int]]:
    own = {path: len(gzip.compress(opened.bodies[path], 6)) for path in opened.first_view}
    if opened.name in own and sum(own.values()) <= WEIGHT_GOAL:
        return []
    return sorted(own.items(), key=lambda item: -item[1])[:5]


def faults_seen_by_axe(opened: Opened, options: dict[str, object] = AXE) -> list[str]:
    """What axe finds, one line each: neither a fault nor what is only not best practice may be left."""
    from axe_playwright_python.sync_playwright import Axe

    violations = Axe().run(opened.page, options=options).response["violations"]
    return [f"{rule['impact']}: {rule['id']}: {one['html'][:200]}" for rule in violations for one in rule["nodes"]]


OF_ALL = (  # Sphinx's own pages, search and index, too
    hosts_asked,
    requests_not_answered,
    errors_in_the_console,
    another_theme_than_the_reader_chose,
    words_of_pictures_that_are_cut,
    interactives_that_do_not_mount,
    what_scrolls_sideways,
    what_scrolls_and_the_keyboard_does_not_reach,
)
OF_ARTICLES = (
    tables_of_results_that_are_cut,
    formulas_figures_and_code_cut_without_a_cue_to_scroll,
    notes_in_the_margin_that_cover_each_other,
    mathematics_that_is_not_typeset,
    a_first_interactive_below_one_screen_and_a_half,
    too_much_weight_beyond_the_theme_and_mathjax,
    faults_seen_by_axe,
)


def test_a_page_opens_is_typeset_and_can_be_read(opened: Opened) -> None:
    checks = (*OF_ALL, *OF_ARTICLES) if opened.name.startswith("book/") else OF_ALL
    assert {check.__name__: found for check in checks if (found := check(opened))} == {}


@pytest.mark.pipeline
def test_its_colours_can_be_read_in_both_themes(opened: Opened) -> None:
    if not opened.name.startswith("book/") or opened.theme == "dark":
        pytest.skip("no article, or seen by the test above")
    try:
        opened.page.evaluate(IN_THEME, "dark")
        assert faults_seen_by_axe(opened, COLOURS) == []
    finally:
        opened.page.evaluate(IN_THEME, opened.theme)
