"""What the tests of every interactive share: scripts, pages of the site, HTML, axe.

The fixtures `library` and `site_page` are in lessons/conftest.py.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import numpy as np

from course_lib.lessons.shared.widgets import bundle


def script_of(name: str, source: Callable[[str], str] = lambda text: text) -> str:
    """A classic script that hangs the exports of a module (and of what it imports) on `window.lib`."""
    text = source(bundle.module(name))
    exports = re.findall(r"^export (?:const|function|class) (\w+)", "\n".join(bundle.sources().values()), re.MULTILINE)
    present = [export for export in exports if re.search(rf"^(?:const|function|class) {export}\b", text, re.MULTILINE)]
    return f"window.lib = (() => {{\n{text}\nreturn {{ {', '.join(present)} }};\n}})();"


def evaluated(page: Any, expression: str, argument: Any = None) -> Any:
    """What `page.evaluate` gives, as one text: Playwright takes a second for 100,000 numbers one by one."""
    return json.loads(page.evaluate(f"async (given) => {{ const asked = ({expression}); {AS_TEXT} }}", argument))


AS_TEXT = """
  const found = await (typeof asked === "function" ? asked(given) : asked);
  const marked = (_, value) => typeof value === "number" && !Number.isFinite(value) ? `<${value}>` : value;
  return (JSON.stringify(found, marked) ?? "null").replace(/"<(NaN|-?Infinity)>"/g, "$1");
"""  # a number that is none passes as Python's JSON writes it


def page_html(*bodies: str, folder: str = "", script: bool = True) -> str:
    """A page as the website has it: style sheet, deferred scripts, the output of a cell."""
    sheet, *scripts = bundle.names_for("".join(bodies)) or ["course-widgets.css", "course-widgets.js"]
    tags = "".join(f'<script defer src="{folder}{name}"></script>' for name in scripts) if script else ""
    sheet = f'<link rel="stylesheet" href="{folder}{sheet}">'
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Interactive</title>'
        f'<meta name="viewport" content="width=device-width">{sheet}{tags}</head>'
        f"<body><main><h1>Interactive</h1>{''.join(bodies)}</main></body></html>"
    )


def serious_violations(page: Any, *rules: str) -> list[tuple[str, str]]:
    """What axe, or some of its rules, calls serious or critical: the rule and the first element that breaks it."""
    from axe_playwright_python.sync_playwright import Axe

    options = {"preload": False, "resultTypes": ["violations"], **({"runOnly": rules} if rules else {})}
    found = Axe().run(page, options=options).response["violations"]
    return [(rule["id"], rule["nodes"][0]["html"]) for rule in found if rule["impact"] in {"serious", "critical"}]


def serious_violations_in_both_themes(page: Any) -> dict[str, list[tuple[str, str]]]:
    """Theme -> what axe finds; a theme changes colours and nothing else, so of the dark one only they are measured."""
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(TEXT_COLOUR), serious_violations(page, "color-contrast")
    page.emulate_media(color_scheme="light")
    light = page.evaluate(TEXT_COLOUR), serious_violations(page)
    assert dark[0] != light[0], "the dark theme has colours of its own"
    return {theme: found for theme, (_, found) in {"light": light, "dark": dark}.items() if found}


TEXT_COLOUR = "getComputedStyle(document.querySelector('.course-widget .cw, .course-widget')).color"


MOUNT = """async ([esm, state]) => {
  const url = URL.createObjectURL(new Blob([esm], { type: "text/javascript" }));
  const widget = (await import(url)).default;
  const listeners = {};
  window.saved = 0;
  window.model = {
    get: (name) => state[name],
    set: (name, value) => { state[name] = value; for (const f of listeners[`change:${name}`] ?? []) f(); },
    on: (name, f) => (listeners[name] = [...(listeners[name] ?? []), f]),
    off: (name, f) => (listeners[name] = listeners[name].filter((g) => g !== f)),
    save_changes: () => (window.saved += 1),
  };
  Object.assign(window, { listeners, state });
  const el = document.createElement("div");
  document.body.append(el);
  window.bubbled = 0;
  document.addEventListener("keydown", () => (window.bubbled += 1));
  window.close = widget.render({ model: window.model, el });
}"""


def mount_in_jupyter(page: Any, widget: Any) -> None:
    """Renders the module that anywidget gets, with a model as Jupyter has it, into a page.

    Leaves on `window`: model, listeners (by event), saved (calls of save_changes), bubbled (keys that the page saw),
    close.
    """
    page.evaluate(MOUNT, [widget._esm, widget.state()])


def press(page: Any, selector: str, key: str) -> None:
    """A reader presses a key on what a selector names."""
    page.locator(selector).focus()
    page.keyboard.press(key)


def differences(ours: Any, theirs: Any, where: str = "") -> list[str]:
    """Where two nested answers differ by more than 1e-12, relative to the larger of 1 and the value."""
    if isinstance(ours, dict):
        return [line for key in ours for line in differences(ours[key], theirs[key], f"{where}.{key}")]
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    if ours.size == theirs.size == 0:
        return []
    same = ours.shape == theirs.shape and np.allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    return [] if same else [f"{where}: {ours.tolist()} and {theirs.tolist()}"]


def far_apart(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """Names of what differs by more than 1e-9, relative to the larger of 1 and the value; None of the page is nan.

    For long computations: sums are made in another order, exponentials differ in the last bit, and many steps carry
    that on.
    """
    found = []
    for name, value in ours.items():
        other = list(theirs[name].values()) if isinstance(theirs[name], dict) else theirs[name]
        other = np.array(
            [np.nan if x is None else x for x in np.atleast_1d(np.array(other, dtype=object))], dtype=float
        )
        if not np.allclose(np.atleast_1d(value), other, rtol=1e-9, atol=1e-9, equal_nan=True):
            found.append(name)
    return found


def replacing(right: str, wrong: str) -> Callable[[str], str]:
    """Puts `wrong` in the one place where a source has `right`."""

    def mutate(source: str) -> str:
        assert source.count(right) == 1
        return source.replace(right, wrong)

    return mutate


SUMMARY = ".cw-summary"


def told(page: Any) -> str:
    """The words of an interactive as Python has them: the page keeps a number and its % on one line."""
    return str(page.locator(SUMMARY).inner_text()).replace("\u00a0", " ")


def settled(page: Any, text: str) -> None:
    said = f"document.querySelector('{SUMMARY}').textContent.replaceAll('\u00a0', ' ')"
    page.wait_for_function(f"{said}.includes({json.dumps(text)})", timeout=3000)


def open_folds(page: Any) -> Any:
    """The page with every fold of an interactive open, also those that were before."""
    page.evaluate("document.querySelectorAll('.cw details:not([open]) > summary').forEach((one) => one.click())")
    return page


def table_rows(page: Any) -> list[list[str]]:
    """The cells of the table of all numbers, once its fold has been opened."""
    page.locator(".cw-data summary").click()
    page.locator(".cw-data .cw-table tbody tr").first.wait_for()
    return [row.split("\t") for row in page.locator(".cw-data .cw-table tbody tr").all_inner_texts()]


def run(code: str, **given: Any) -> Any:
    """What lines of Python make: an import, names to be given, a call."""
    tree = ast.parse(code)
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)
    exec(compile(tree, "page", "exec"), given)
    return eval(compile(ast.Expression(last.value), "page", "eval"), given)


def made_in_python(page: Any, **given: Any) -> Any:
    """What the last line of the code makes that the page offers as the same in Python."""
    page.locator(".cw-python summary").click()
    return run(needed_by_the_last(page.locator(".cw-code").inner_text()), **given)


def needed_by_the_last(code: str) -> str:
    """Without the lines, often a training, that a lesson's own tests run for what they print."""
    *lines, last = ast.parse(code).body
    kept, wanted = [last], _names(last, ast.Load)
    for line in reversed(lines):
        if isinstance(line, ast.Import | ast.ImportFrom) or _names(line, ast.Store) & wanted:
            kept.insert(0, line)
            wanted |= _names(line, ast.Load)
    return ast.unparse(ast.Module(kept, []))


def _names(line: ast.AST, use: type[ast.expr_context]) -> set[str]:
    return {one.id for one in ast.walk(line) if isinstance(one, ast.Name) and isinstance(one.ctx, use)}


class Elements(HTMLParser):
    """Names and attributes of all elements; complains about a tag that is closed in the wrong place."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


# ---- what holds for every interactive


SMALLER = """(size) => [...document.querySelectorAll(
  ".cw :is(button, select, input[type=range], input[type=number], .cw-option, .cw-answer, .cw-touch)")]
  .filter((e) => e.checkVisibility()).filter((e) => {
    const box = e.getBoundingClientRect(); return Math.min(box.width, box.height) < size; }).map((e) => e.outerHTML)"""


# Words may cover the empty quarter above or below the letters of others.
WORDS = """(least) => [...document.querySelectorAll(".cw svg")].flatMap((picture) => {
  const frame = picture.getBoundingClientRect();
  const words = [...picture.querySelectorAll("text")]
    .filter((one) => one.textContent.trim() && one.checkVisibility({ visibilityProperty: true }))
    .map((one) => [one, one.getBoundingClientRect()])
    .filter(([, box]) => box.left < frame.right && box.top < frame.bottom);
  const common = (a, b, low, high) => Math.min(a[high], b[high]) - Math.max(a[low], b[low]);
  return words.flatMap(([one, box]) => {
    const { b, d } = one.getScreenCTM();
    const size = parseFloat(getComputedStyle(one).fontSize) * Math.hypot(b, d);
    const over = words.find(([other, at]) => other !== one && common(at, box, "left", "right") > 1
      && common(at, box, "top", "bottom") > Math.min(at.height, box.height) / 4);
    return [size < least - 0.05 && `${size.toFixed(1)} px: ${one.textContent}`,
      (box.left < frame.left - 1 || box.right > frame.right + 1) && `cut: ${one.textContent}`,
      over && `${one.textContent} covers ${over[0].textContent}`].filter(Boolean);
  });
})"""


def unreadable(page: Any) -> list[str]:
    """Words of the pictures of an interactive that are smaller than 11 px on the screen, cut, or cover each other."""
    return page.evaluate(WORDS, 11)


def misfits(page: Any, width: int) -> list[str]:
    """What is wider than the page, too small for a finger (WCAG 2.5.8, target size) or unreadable, every fold open."""
    open_folds(page)
    wide = page.evaluate("document.documentElement.scrollWidth")
    return [*([f"the page is {wide} wide"] if wide > width else []), *page.evaluate(SMALLER, 24), *unreadable(page)]


def misprints(page: Any, width: int) -> list[str]:
    """What is wrong on paper: a control that is printed, a picture that is not, a page too wide."""
    page.emulate_media(media="print")
    shown = [
        one.evaluate("e => e.outerHTML")
        for one in page.locator(".cw button:not(.cw-cell), .cw input[type=range]").all()
        if one.is_visible()
    ]
    pictures = [(one.get_attribute("aria-label"), one.is_visible()) for one in page.locator(".cw svg[role=img]").all()]
    seen = {label for label, visible in pictures if visible}  # one may stand twice, for a phone and for a wide page
    lost = [f"not printed: {label}" for label, visible in pictures if not visible and label not in seen]
    wide = page.evaluate("document.documentElement.scrollWidth")
    return [*shown, *lost, *([f"the page is {wide} wide"] if wide > width else [])]
