"""The built pages in a real browser that can reach no other host: they open, they are typeset, they can be read.

Every page is opened wide and light, main pages and one page of each kind narrow and dark too. Axe looks at these: at
main pages wide, and at one page of each kind in both views and with colours, which take twice as long as all else
(interactives and quizzes have such tests of their own). Among the pipelines every page is opened in both views, and axe
looks at all of it, colours in both themes. Of the pages of the library and of the claims, each kind from one template,
one is opened, and the others among the pipelines.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from drafts import FIRST, is_draft, main_pages

from tests.site.html_pages import CHAPTERS, find_pages, read_page

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
    *("book/reference/api/data.html", f"book/reference/claims/{ONE.name}"),
]
TWICE = {*OPENS_EARLY, *OF_EACH_KIND}
TEMPLATED = ("book/reference/api/", "book/reference/claims/")
QUICKLY = {  # view -> the pages that are opened in it without the pipelines
    "1280-light": {name for name in PAGES if name in TWICE or not name.startswith(TEMPLATED)},
    "360-dark": TWICE,
}
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
WITHOUT_COLOURS = {**AXE, "rules": {rule: {"enabled": False} for rule in OF_COLOURS}}
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
        pytest.param(
            (name, view),
            id=f"{name}-{view}",
            marks=[pytest.mark.pipeline] * (name not in QUICKLY[view]),
        )
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


def only_in_the_book(opened: Opened) -> None:
    """Skip what says nothing about the pages that Sphinx adds (search, index)."""
    if not opened.name.startswith("book/"):
        pytest.skip("a page of Sphinx's own, not an article")


def test_there_are_pages(site_folder: Path) -> None:
    assert sum(name.startswith("book/") for name in PAGES) >= 9, f"only {PAGES} were built into {site_folder}"


@pytest.mark.seconds
def test_it_asks_no_other_host(opened: Opened) -> None:
    assert opened.outside == []


def test_every_request_is_answered(opened: Opened) -> None:
    assert opened.failed == []


def test_the_console_holds_no_error(opened: Opened) -> None:
    assert opened.errors == []


def test_it_shows_the_theme_that_the_reader_chose(opened: Opened) -> None:
    assert opened.page.evaluate("document.documentElement.dataset.theme") == opened.theme
    red, green, blue = opened.page.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
    )
    assert (red + green + blue > 3 * 128) == (opened.theme == "light")


def test_a_table_of_results_is_whole_on_a_desk_and_begins_with_a_number_on_a_phone(opened: Opened) -> None:
    only_in_the_book(opened)
    cut = opened.page.evaluate("""() => [...document.querySelectorAll(".text_html > table")]
      .filter((table) => table.offsetParent)
      .map((table) => [table.caption?.innerText, table.parentElement, table.querySelector("tbody td")])
      .map(([name, box, first]) => [name, box.scrollWidth - box.clientWidth,
        first ? first.getBoundingClientRect().left + 24 - box.getBoundingClientRect().right : 0])""")
    if opened.width >= 1280:
        assert [name for name, hidden, _ in cut if hidden > 1] == []
    else:
        assert [name for name, _, beyond in cut if beyond > 1] == []


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


def test_no_formula_table_figure_or_code_is_cut_without_a_cue_to_scroll(opened: Opened) -> None:
    only_in_the_book(opened)
    for width in (1920, 768, 1280) if opened.width == 1280 else (360,):  # last the one where the other tests look
        opened.page.set_viewport_size({"width": width, "height": 900})
        opened.page.evaluate("document.querySelectorAll('details.long-table').forEach((one) => { one.open = true; })")
        for _ in range(20):  # the page marks what scrolls once it has its new shape
            opened.page.evaluate("new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)))")
            if not (cut := opened.page.evaluate(CUT)):
                break
        assert cut == [], f"at {width} px"


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


def test_no_word_of_a_picture_is_cut(opened: Opened) -> None:
    assert opened.page.evaluate(CUT_WORDS) == []


def test_mathematics_is_typeset(opened: Opened) -> None:
    only_in_the_book(opened)
    page = opened.page
    typeset = page.locator("article mjx-container").count()
    assert typeset >= page.locator("article .math").count()
    assert typeset >= 20 or opened.name not in CHAPTERS
    assert page.locator("article mjx-merror, article [data-mjx-error]").count() == 0
    assert page.locator("article mjx-assistive-mml").count() == typeset
    prose = page.evaluate("""() => {
        const copy = document.querySelector("article").cloneNode(true);
        copy.querySelectorAll("pre, code, mjx-container, script").forEach((element) => element.remove());
        return copy.textContent;
    }""")
    raw = [
        mark
        for mark in ("\\(", "\\[", "$$", "\\frac", "\\sum", "{glue", "{prf", "{cite", "{term", "{eq}")
        if mark in prose
    ]
    assert raw == []


def test_every_interactive_mounts(opened: Opened) -> None:
    widgets = opened.page.locator("[data-course-widget]")
    states = [widgets.nth(i).get_attribute("data-course-widget-ready") for i in range(widgets.count())]
    assert states == ["true"] * len(read_page(SITE / opened.name).widgets)


def test_the_first_interactive_of_a_main_page_begins_within_one_screen_and_a_half(opened: Opened) -> None:
    if opened.name not in OPENS_EARLY or opened.width < 1280:
        pytest.skip("asked of main pages on a desk")
    box = opened.page.locator("[data-course-widget]:not([data-course-widget=quiz])").first.bounding_box()
    assert box["y"] + opened.page.evaluate("scrollY") <= MOST_SCREENS * opened.page.viewport_size["height"]


def test_it_does_not_scroll_sideways(opened: Opened) -> None:
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= opened.width
    # (interactives, captions and wide tables reach into the margin, never beyond the window)
    # the theme lets the article scroll in a box of its own, which would hide the same fault from the line above
    wide = opened.page.evaluate("""() => {
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
            .filter((element) => !element.closest(".text_html:has(> table thead th:nth-child(6))"))
            .map((element) => `${element.tagName}.${element.className}: ${element.textContent.trim().slice(0, 60)}`);
    }""")
    assert wide == [], f"wider than {opened.width} px"


# What MathJax draws is hidden from screen readers, who get MathML beside it: half of the elements of many a page.
DRAWN = """() => { window.drawn = [...document.querySelectorAll("mjx-math[aria-hidden=true]")].map((one) => {
  const { width, height } = one.getBoundingClientRect();
  one.style.cssText += `;display: inline-block; width: ${width}px; height: ${height}px`;
  return [one, [...one.childNodes], one.replaceChildren()]; }); }"""
DRAWN_AGAIN = """() => drawn.forEach(([one, children]) => {
  one.replaceChildren(...children);
  for (const name of ["display", "width", "height"]) one.style.removeProperty(name); })"""


def faults_seen_by_axe(page: object, options: dict[str, object]) -> list[str]:
    """What axe finds, one line each; formulas without what MathJax draws, where colours are not asked for."""
    from axe_playwright_python.sync_playwright import Axe

    if options is WITHOUT_COLOURS:
        page.evaluate(DRAWN)
    violations = Axe().run(page, options=options).response["violations"]
    if options is WITHOUT_COLOURS:
        page.evaluate(DRAWN_AGAIN)
    return [f"{rule['impact']}: {rule['id']}: {one['html'][:200]}" for rule in violations for one in rule["nodes"]]


@pytest.mark.seconds
def test_axe_finds_nothing_on_the_page(opened: Opened) -> None:
    """Neither a fault nor what is only not best practice."""
    only_in_the_book(opened)
    one_of_its_kind = opened.name in OF_EACH_KIND
    if opened.name not in TWICE or (opened.theme == "dark" and not one_of_its_kind):
        pytest.skip("among the pipelines")
    assert faults_seen_by_axe(opened.page, AXE if one_of_its_kind else WITHOUT_COLOURS) == []


@pytest.mark.pipeline
def test_axe_finds_nothing_where_the_quick_look_leaves_out(opened: Opened) -> None:
    """All of the narrow page; the colours of the wide one in both themes, and the rest of it, if nobody looked."""
    only_in_the_book(opened)
    if opened.theme == "dark":
        assert faults_seen_by_axe(opened.page, AXE) == []
        return
    try:
        for theme, options in (("light", COLOURS if opened.name in TWICE else AXE), ("dark", COLOURS)):
            opened.page.evaluate(IN_THEME, theme)
            assert faults_seen_by_axe(opened.page, options) == [], theme
    finally:
        opened.page.evaluate(IN_THEME, opened.theme)


def test_a_page_of_each_kind_is_there() -> None:
    assert set(OF_EACH_KIND) <= set(PAGES)


def test_the_keyboard_reaches_what_scrolls(opened: Opened) -> None:
    unreachable = opened.page.evaluate("""() => [...document.querySelectorAll("article *")]
        .filter((element) => ["auto", "scroll"].includes(getComputedStyle(element).overflowX))
        .filter((element) => element.scrollWidth > element.clientWidth + 1 && element.clientWidth)
        .filter((element) => element.tabIndex < 0 && !element.querySelector("a, button, input, select, [tabindex='0']"))
        .map((element) => `${element.tagName}.${element.className}`)""")
    assert unreachable == []


def test_weight_beyond_the_theme_and_mathjax(opened: Opened, capsys) -> None:
    only_in_the_book(opened)
    own = {path: len(gzip.compress(opened.bodies[path], 6)) for path in opened.first_view}
    total = sum(own.values())
    if opened.theme == "light":
        with capsys.disabled():
            print(
                f"\n{opened.name}: {total / 1000:.0f} kB gzipped of {WEIGHT_GOAL / 1000:.0f}, in {len(own)} files",
                end="",
            )
    assert opened.name in own
    assert total <= WEIGHT_GOAL, sorted(own.items(), key=lambda item: -item[1])[:5]
