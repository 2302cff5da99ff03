"""Every interactive: its HTML is whole, the page says what Python says, fits, can be read and reached without a mouse.

Shown as it opens (a hero with everything), or with the arguments that `SHOWN` of the lesson's own tests names:
interactive -> arguments; its `REFUSED` has what it cannot show: (interactive, arguments, what the error says). That its
numbers, counts and words refuse what lies outside of their bounds is asked of every one here.
"""

import json
import re
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import pytest
from drafts import one_quickly
from traitlets import TraitError

from course_lib.lessons.shared.widgets import bundle, paper
from course_lib.lessons.shared.widgets.base import Count, CourseWidget, Number, Word
from tests.lessons.every import LESSONS, tables
from tests.widget_pages import (
    SUMMARY,
    Elements,
    made_in_python,
    misfits,
    misprints,
    open_folds,
    serious_violations_in_both_themes,
    settled,
    table_rows,
    told,
    unreadable,
)

SHOWN = {name: arguments for _, shown in tables("SHOWN") for name, arguments in shown.items()}
REFUSED = [case for _, cases in tables("REFUSED") for case in cases]


def kinds_of(lesson: str) -> dict[str, type[CourseWidget]]:
    """Name -> class, of the interactives whose JavaScript lies in a lesson."""
    found: dict[str, type[CourseWidget]] = {}
    for name in bundle.interactives():
        if (bundle.LESSONS / lesson / f"{name}.js").exists():
            module = import_module(f"course_lib.lessons.{lesson}.{name}")
            [found[name]] = [one for one in vars(module).values() if getattr(one, "module_name", "") == name]
    return found


KINDS = {name: kind for lesson in LESSONS for name, kind in kinds_of(lesson).items()}
HEROES = [name for name, kind in KINDS.items() if issubclass(kind, paper.Hero)]
INTERACTIVES = {
    name: partial(kind, **SHOWN.get(name, {}) | ({"everything": True} if name in HEROES else {}))
    for name, kind in KINDS.items()
}
every = pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in INTERACTIVES.items()])
two_quickly = pytest.mark.parametrize("make", one_quickly(list(INTERACTIVES.values()), most=2), ids=INTERACTIVES)
BESIDE = [name for name in INTERACTIVES if "beside(" in bundle.sources()[name]]  # controls beside the picture
WITH_PRESETS = [name for name in INTERACTIVES if "presets(" in bundle.sources()[name]]
Make = Callable[[], CourseWidget]


def test_every_interactive_lies_in_a_lesson() -> None:
    assert {*INTERACTIVES, "quiz"} == set(bundle.interactives())
    assert len(FILMS) >= 9 and BESIDE and WITH_PRESETS  # found by a word in their scripts, which may change


@pytest.mark.seconds
@every
def test_the_html_is_whole_and_always_the_same(make: Make) -> None:
    shown = make()
    html = shown.static_html()
    elements = Elements(html).found
    tag, attributes = elements[0]
    assert (tag, attributes["class"], attributes["data-course-widget"]) == ("div", shown.frame, shown.module_name)
    assert json.loads(attributes["data-state"] or "") == shown.state()
    assert shown.summary() in [a["aria-label"] for tag, a in elements if tag == "svg" and a.get("role") == "img"]
    assert [tag for tag, _ in elements].count("tr") == 1 + len(shown.table()[1])
    assert all("id" not in a for _, a in elements)
    assert shown._repr_mimebundle_()[0]["text/plain"] == shown.summary()
    assert repr(shown).startswith(f"{type(shown).__mro__[1].__name__}(")
    assert html == make().static_html() and len(html) - len(attributes["data-state"] or "") < 60_000
    assert not re.search(r"\bnan\b|\binf\b", re.sub(r"<[^>]*>", "", html), re.IGNORECASE)
    assert "tabindex" not in html and 'role="slider"' not in html  # on paper nothing can be moved


@every
def test_nonsense_is_refused_by_the_name_of_its_trait_and_changes_nothing(make: Make) -> None:
    shown = make()
    before = shown.state()
    plain = [name for name, trait in shown.traits(state=True).items() if isinstance(trait, (Number, Count, Word))]
    for name in plain:
        for nonsense in ("nobody", -(10**15), 10**15, float("nan")):
            with pytest.raises((ValueError, TraitError), match=rf"\b{name}\b"):
                setattr(shown, name, nonsense)
    assert plain and shown.state() == before


@pytest.mark.parametrize(("name", "arguments", "message"), REFUSED)
def test_what_it_cannot_show_is_named(name: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TraitError), match=re.escape(message)):
        KINDS[name](**arguments)


@every
def test_the_page_says_what_python_says_and_the_keyboard_reaches_every_control(
    site_page: Callable[..., Any], make: Make
) -> None:
    """One of a group of radio buttons stands for all: the arrow keys reach the others."""
    shown = make()
    page = site_page(shown.static_html())
    assert told(page) == shown.summary()
    assert page.locator(".course-widget > figure").count() == 0  # the static picture made room
    assert made_in_python(page).state() | {"everything": True} == shown.state() | {"everything": True}
    assert table_rows(page) == shown.table()[1]
    wanted = page.evaluate(
        """[...document.querySelectorAll('.cw :is(button, select, input, summary, [tabindex="0"])')]
          .filter((e) => e.checkVisibility() && !e.disabled && e.tabIndex >= 0 && !(e.type === "radio" && !e.checked))
          .map((e, i) => (e.dataset.number = i) + "")"""
    )
    page.evaluate(
        "() => { window.reached = []; addEventListener('focusin', (e) => reached.push(e.target.dataset.number)); }"
    )
    page.locator("body").focus()
    for _ in range(len(wanted) + 5):
        page.keyboard.press("Tab")
    assert set(wanted) <= {*page.evaluate("reached")} and len(wanted) >= 5


# A group of radio buttons is one control; so is a point that can be moved.
SEEN_CONTROLS = """new Set([...document.querySelectorAll('.cw :is(button, select, input, [tabindex="0"])')]
  .filter((e) => e.checkVisibility()).map((e) => (e.type === "radio" ? e.name : e))).size"""


@pytest.mark.parametrize("name", HEROES)
def test_a_hero_has_three_controls_fits_one_screen_stands_still_and_one_button_opens_the_rest(
    site_page: Callable[..., Any], name: str
) -> None:
    shown = KINDS[name]()
    page = site_page(shown.static_html(), width=390, reduced_motion="reduce")
    for width, height in ((1280, 800), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(50)
        assert 1 <= page.evaluate(SEEN_CONTROLS) <= 3
        assert page.locator(".cw").bounding_box()["height"] <= height, (width, height)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert unreadable(page) == [], width
    assert told(page) == shown.summary()
    before = page.locator(".cw-hero-picture").inner_html()
    page.evaluate(
        """(e) => { if (e.type === "range") e.value = e.value === e.max ? e.min : e.max;
          else if (e.options) e.selectedIndex = e.options.length - 1;
          else return e.click();
          for (const name of ["input", "change"]) e.dispatchEvent(new Event(name)); }""",
        page.query_selector(".cw-hero-controls :is(select, button, input:not(:checked))"),
    )
    page.wait_for_function("(was) => document.querySelector('.cw-hero-picture').innerHTML !== was", arg=before)
    assert page.evaluate("document.getAnimations().length") == 0
    page.locator(".cw-everything > summary").press("Enter")
    page.locator(".cw-main-area, .cw-view-area").first.wait_for()
    page.wait_for_function("location.hash.includes('everything=true')")


# With the last control at the middle of the screen: whether it is seen, and the picture of the hero above it.
BELOW = """() => {
  const picture = document.querySelector(".cw-hero-picture"), { position, backgroundColor } = getComputedStyle(picture);
  const last = [...document.querySelectorAll(".cw-everything :is(button, select, input, summary)")]
    .filter((e) => e.checkVisibility() && !e.disabled).at(-1);
  last.scrollIntoView({ block: "start", behavior: "instant" });
  const { left, top, width, height } = last.getBoundingClientRect();
  const { bottom, height: tall } = picture.getBoundingClientRect();
  const seen = last.contains(document.elementFromPoint(left + width / 2, top + height / 2));
  return { seen, bottom, tall, position, colour: backgroundColor };
}"""
PAPER = {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 23, 30)"}


@pytest.mark.parametrize("name", HEROES)
def test_on_a_phone_the_picture_stays_above_the_controls_on_half_of_the_screen_at_most(
    site_page: Callable[..., Any], name: str
) -> None:
    page = site_page(KINDS[name](everything=True).static_html(), '<p style="height: 2000px"></p>', width=390)
    for height, (scheme, colour) in zip((844, 664), PAPER.items(), strict=True):
        page.set_viewport_size({"width": 390, "height": height})
        page.emulate_media(color_scheme=scheme)
        page.wait_for_timeout(100)
        below = page.evaluate(BELOW)
        assert below["seen"] and below["colour"] == colour
        assert below["bottom"] == pytest.approx(min(below["tall"], height / 2), abs=1)
    page.evaluate("scrollTo({ top: 1e6, behavior: 'instant' })")
    gone = page.locator(".cw-hero-picture").bounding_box()
    assert gone["y"] + gone["height"] < 0, "no trap"
    page.set_viewport_size({"width": 768, "height": 844})
    assert page.evaluate(BELOW)["position"] == "static"


@pytest.mark.parametrize("name", WITH_PRESETS)
def test_a_preset_shows_that_it_is_on_until_a_control_is_moved(site_page: Callable[..., Any], name: str) -> None:
    page = site_page(INTERACTIVES[name]().static_html())
    page.locator("[data-preset]").first.click()
    assert page.locator('[data-preset][aria-pressed="true"]').count() == 1
    page.evaluate(
        """document.querySelectorAll(".cw :is([class$=-area], .cw-hero-controls) input[type=range]").forEach((e) => {
          e.value === e.max ? e.stepDown() : e.stepUp();
          e.dispatchEvent(new Event("input")); })"""
    )
    page.wait_for_function("document.querySelectorAll('[data-preset][aria-pressed=true]').length === 0")


@two_quickly
def test_without_javascript_the_picture_stays(site_page: Callable[..., Any], make: Make) -> None:
    shown = make()
    page = site_page(shown.static_html(), java_script_enabled=False, script=False, width=360)
    assert all(picture.is_visible() for picture in page.locator(".course-widget svg[role=img]").all())
    assert told(page) == shown.summary()
    page.locator("summary").click()
    assert page.locator(".cw-static-table tbody tr").count() == len(shown.table()[1])
    assert page.locator("main").evaluate("main => main.scrollWidth <= 360")


def on_one_screen(page: Any) -> None:
    """In the 936 px that a window of 1280 x 800 leaves: controls beside the picture; the folds may lie below."""
    page.set_viewport_size({"width": 952, "height": 800})
    main, view, words = (page.locator(f".cw-{area}-area").bounding_box() for area in ("main", "view", "words"))
    assert main["x"] + main["width"] <= view["x"] and main["y"] < view["y"] + view["height"]
    top = page.locator(".cw").bounding_box()["y"]
    assert max(area["y"] + area["height"] for area in (main, view, words)) - top <= 780


def words_below_the_first_picture(page: Any) -> None:
    """On a phone."""
    page.set_viewport_size({"width": 360, "height": 900})
    words = page.locator(".cw-words-area").bounding_box()
    pictures = [one.bounding_box()["y"] for one in page.locator(".cw-view-area :is(svg[role=img], [data-paper])").all()]
    assert min(pictures) < words["y"] and words["y"] - min(pictures) < 500


@two_quickly
def test_it_fits_every_width_axe_finds_nothing_serious_and_paper_has_all(
    site_page: Callable[..., Any], make: Make
) -> None:
    shown = make()
    page = site_page(shown.static_html(), width=320, reduced_motion="reduce")
    if shown.module_name in BESIDE:
        on_one_screen(page)
        words_below_the_first_picture(page)
    for width in (320, 360, 390, 768, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(50)  # a hero that is drawn anew for a phone
        assert misfits(page, width) == [], width
    assert serious_violations_in_both_themes(page) == {}
    assert misprints(page, 1280) == [] and page.locator(SUMMARY).is_visible()


@two_quickly
def test_two_on_one_page_do_not_disturb_each_other(site_page: Callable[..., Any], make: Make) -> None:
    page = site_page(make().static_html(), make().static_html())
    words = page.locator(SUMMARY).first.inner_text()
    page.evaluate(
        """[...document.querySelectorAll(".cw")].at(-1).querySelectorAll("input[type=range]").forEach((input) => {
          input.value = input.min;
          for (const name of ["input", "change"]) input.dispatchEvent(new Event(name)); })"""
    )
    page.wait_for_function(
        f"(words) => [...document.querySelectorAll('{SUMMARY}')].at(-1).textContent !== words", arg=words
    )
    assert page.locator(SUMMARY).first.inner_text() == words
    used = page.evaluate("[...document.querySelectorAll('[id]')].map((element) => element.id)")
    assert len(used) == len(set(used)) > 0


CONTROLS = ".cw :is(input[type=range], input[type=radio], input[type=checkbox], select, [data-preset])"


@pytest.mark.seconds
@every
def test_every_control_changes_the_state_and_the_words_follow(in_jupyter: Callable[..., Any], make: Make) -> None:
    """By keyboard, in Jupyter. The words are those of a new picture of the state; JupyterLab never sees a key."""
    shown = make()
    page = open_folds(in_jupyter(shown))
    changed = [use(page, control) for control in range(page.locator(CONTROLS).count())]
    assert any(changed) and page.evaluate("[saved > 0, bubbled]") == [True, 0]
    settled(page, page.evaluate(NEW_STORY, shown._esm))
    first = shown.state()
    page.evaluate("(first) => Object.entries(first).forEach(([name, value]) => model.set(name, value))", first)
    settled(page, shown.summary())  # Python says, and the page follows


# What a control changes: the part of the state that has its name; else the state, or the view alone.
SEEN = """(name) => name in state ? JSON.stringify(state[name])
  : JSON.stringify(state) + document.querySelector(".cw").innerHTML"""
# Focuses a control where it can be used; its kind, whether it stands at its end, its name, and what is seen before.
FOCUSED = r"""([controls, place]) => {
  const e = document.querySelectorAll(controls)[place], { width, height } = e.getBoundingClientRect();
  if (!width || !height || !e.checkVisibility({ visibilityProperty: true }) || e.disabled) return null;
  const most = e.max ?? [...e.options ?? []].at(-1)?.value;
  const on = e.type === "radio" ? e.checked : e.type === "range" ? e.min === most : e.ariaPressed === "true";
  if (on) return null;
  e.focus();
  const name = (e.getAttribute("name") ?? "").replace(/^course-widget-(.*)-\d+$/, "$1");
  return [e.type, e.value === most, name, (SEEN)(name)];
}""".replace("SEEN", SEEN)


def use(page: Any, place: int) -> bool:
    """A key on one control, where it can be used: whether it was: then what it is there for must be another."""
    if (found := page.evaluate(FOCUSED, [CONTROLS, place])) is None:
        return False
    kind, at_its_end, name, before = found
    back, on = {"range": ("ArrowLeft", "ArrowRight"), "select-one": ("ArrowUp", "ArrowDown")}.get(kind, ("Space",) * 2)
    page.keyboard.press(back if at_its_end else on)
    assert page.evaluate(SEEN, name) != before, page.evaluate("document.activeElement.outerHTML")
    return True


# The words of a new picture of the state; the engine of `paper` would take seconds.
NEW_STORY = """async (esm) => {
  const { default: widget } = await import(URL.createObjectURL(new Blob([esm], { type: "text/javascript" })));
  const el = document.createElement("div"), nothing = () => {};
  document.body.append(el);
  const close = widget.render({ el, model: { get: (name) => state[name], set: nothing, on: nothing, off: nothing } });
  const { textContent } = el.querySelector(".cw-summary");
  close();
  el.remove();
  return textContent.replaceAll("\\u00a0", " ");
}"""


# Interactive -> the slider that its film moves.
FILMS = [(name, film) for name in INTERACTIVES for film in re.findall(r'filmOf\("(\w+)"', bundle.sources()[name])]
# Slower than the quarter of a second after which a voice speaks, and no slower.
FASTER = "() => { const every = setInterval; window.setInterval = (act, time) => every(act, Math.min(time, 300)); }"
PLAY = """() => new Promise((done) => {
  const play = document.querySelector("[data-action=play]");
  const seen = new Set([JSON.stringify(state)]), words = document.querySelector(".cw-summary").textContent;
  play.click();
  const running = play.textContent;
  const watch = setInterval(() => {
    if (seen.add(JSON.stringify(state)).size < 3) return;
    clearInterval(watch);
    const silent = document.querySelector(".cw-summary").textContent === words;
    play.click();
    done([running, silent, play.textContent]);
  }, 10);
})"""


@pytest.mark.parametrize(("name", "film"), FILMS)
def test_a_film_runs_stops_ends_and_ends_with_its_view(in_jupyter: Callable[..., Any], name: str, film: str) -> None:
    shown = INTERACTIVES[name]()
    page = in_jupyter(shown)
    page.evaluate(FASTER)
    assert page.evaluate(PLAY) == ["Stop", True, "Play"]  # no voice is made to follow the film
    state = page.evaluate("state")
    settled(page, page.evaluate(NEW_STORY, shown._esm))
    assert page.evaluate("state") == state
    slider, play = page.locator(f'input[name="{film}"]'), page.locator('[data-action="play"]')
    slider.focus()
    page.keyboard.press("End")
    last = slider.input_value()
    page.keyboard.press("ArrowLeft")
    play.click()
    page.wait_for_function("document.querySelector('[data-action=play]').textContent === 'Play'")
    assert slider.input_value() == last
    play.click()
    page.evaluate("close()")
    assert page.evaluate("""() => new Promise((done) => {
      const at = JSON.stringify(state); setTimeout(() => done(at === JSON.stringify(state)), 400); })""")


CHANGE = """root => {
  for (const slider of root.querySelectorAll("input[type=range]:not(:disabled)")) {
    const step = Number(slider.step) || 1;
    slider.value = Number(slider.value) + step > Number(slider.max) ? slider.min : Number(slider.value) + step;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
  }
  root.querySelector("input[type=radio]:not(:checked):not(:disabled), button[aria-pressed=false]")?.click();
}"""
SAID = """root => [...root.querySelectorAll(".cw-summary, [aria-valuetext]")]
  .map(one => one.textContent + (one.getAttribute("aria-valuetext") ?? ""))
  .filter(text => !text.endsWith("by popularity"))"""  # the item that a pointer looks at is no part of the state


@every
def test_a_link_shows_the_same_picture(site_page: Callable[..., Any], make: Make) -> None:
    page = site_page(make().static_html())
    root = page.locator("[data-course-widget]")
    before = root.evaluate(SAID)
    root.evaluate(CHANGE)
    page.wait_for_function(
        "() => location.hash.startsWith('#w=')"
    )  # half a second after the last change, which is said
    address, shown = page.url, root.evaluate(SAID)
    assert shown != before
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector('[data-course-widget-ready="true"]')
    assert root.evaluate(SAID) == shown


# Every slider at both ends and every choice of a list, after each preset; before them every button, cell by cell.
WALK = r"""async () => {
  const found = [], root = document.querySelector("main .cw");
  const all = (selector) => [...root.querySelectorAll(selector)].filter((e) => !e.disabled && e.checkVisibility());
  const look = async (name) => {
    await new Promise((done) => setTimeout(done));
    if (/NaN|undefined|Infinity|\[object/.test(root.innerHTML)) found.push(name);
  };
  const some = (options) => options.filter((_, k) => k % Math.ceil(options.length / 12) === 0); // a dozen
  const send = (e, value, event) => { e.value = value; e.dispatchEvent(new Event(event)); };
  for (const preset of ["", ...all("[data-preset]").map((e) => e.dataset.preset)]) {
    if (preset) root.querySelector(`[data-preset="${preset}"]`).click();
    await look(preset);
    for (const select of all("select")) for (const option of some([...select.options])) {
      send(select, option.value, "change");
      await look(`${preset} ${option.value}`);
    }
    for (const range of all("input[type=range]")) for (const end of ["max", "min"]) {
      send(range, range[end], "input");
      await look(`${preset} ${range.name} ${end}`);
    }
    const buttons = ":is(input[type=radio], input[type=checkbox], button:not([data-preset], [data-action=play]))";
    for (const button of preset ? [] : all(buttons)) {
      button.click();
      await look(`${preset} ${button.outerHTML}`);
    }
  }
  return found;
}"""


@pytest.mark.seconds
@two_quickly
def test_no_state_shows_a_number_that_is_none(site_page: Callable[..., Any], make: Make) -> None:
    assert open_folds(site_page(make().static_html())).evaluate(WALK) == []
