"""Milliseconds of the browser's main thread for each input to each interactive.

    python benchmarks/interactives.py [NAME ...]     for example: norm_growth two_scalars

The bar is 16 ms in the median and 50 ms at worst. Chromium counts the processor time of its main thread: script,
style, layout and paint until the frame is drawn. An input is one place of a slider, one option of a list, one press of
a button or one arrow key at a point; the time of a frame without an input is taken away. Every control is used up to 12
times, in an order drawn with a seed. A press of Play starts the film; its frames are the moves of its slider.
"""

import random
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import CDPSession, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from course_lib.lessons.shared.widgets import bundle
from course_lib.lessons.shared.widgets.base import CourseWidget
from tests.widget_pages import page_html
from tools import browsing

MEDIAN, WORST = 16.0, 50.0
EACH = 12  # inputs of one control, at most

# The controls of the page, by their place in it, with the values that each can take; a button has one, "".
CONTROLS = """(most) => {
  const thinned = (values) => values.filter((_, k) => k % Math.ceil(values.length / most) === 0);
  const steps = (input) => { const [low, high, step] = ["min", "max", "step"].map((name) => Number(input[name]));
    return Array.from({ length: Math.round((high - low) / step) + 1 }, (_, k) => String(low + k * step)); };
  const values = (e) => e.matches("select") ? [...e.options].map((o) => o.value)
    : e.type === "range" ? thinned(steps(e))
    : e.matches("[role=slider]") ? ["ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"] : [""];
  const group = (e) => e.name?.replace(/^course-widget-(.+)-[0-9]+$/, "$1");
  const nameOf = (e) => e.dataset.preset ?? e.dataset.action ?? (group(e) || e.getAttribute("aria-label"));
  window.controls = () => [...document.querySelectorAll(
    ".cw :is(button, select, input[type=range], input[type=radio], input[type=checkbox], [role=slider])")];
  return controls().filter((e) => e.checkVisibility())
    .map((e) => [controls().indexOf(e), nameOf(e), values(e)]);
}"""
USE = """async ([place, value]) => {
  const e = place < 0 ? null : controls()[place];
  if (e?.matches("select, input[type=range]")) {
    e.value = value;
    for (const name of ["input", "change"]) e.dispatchEvent(new Event(name, { bubbles: true }));
  } else if (value) e?.dispatchEvent(new KeyboardEvent("keydown", { key: value, bubbles: true }));
  else e?.click?.();
  for (let k = 0; k < 2; k += 1) await new Promise((done) => requestAnimationFrame(done));
}"""


def interactives() -> dict[str, Callable[[], CourseWidget]]:
    """Name -> how to make it as its page does, of every interactive that opens without arguments."""
    found: dict[str, Callable[[], CourseWidget]] = {}
    for name in bundle.interactives():
        [script] = bundle.LESSONS.rglob(f"{name}.js")
        module = import_module(f"course_lib.lessons.{'.'.join(script.relative_to(bundle.LESSONS).parts[:-1])}.{name}")
        [kind] = [kind for kind in vars(module).values() if getattr(kind, "module_name", "") == name]
        if name != "quiz":
            found[name] = kind
    return found


def milliseconds(page: Page, session: CDPSession, place: int, value: str) -> float:
    """Processor time of the main thread from an input to its frame; `place` -1 is no input."""

    def spent() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return 1000 * float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))

    before = spent()
    page.evaluate(USE, [place, value])
    return spent() - before


def measured(page: Page, folder: Path, name: str, make: Callable[[], CourseWidget]) -> dict[str, list[float]]:
    """Control -> milliseconds of each of its inputs."""
    path = folder / f"{name}.html"
    path.write_text(page_html(make().static_html()), encoding="utf-8")
    page.goto(path.as_uri())
    page.wait_for_selector('.course-widget[data-course-widget-ready="true"]')
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    controls: list[tuple[int, str, list[Any]]] = page.evaluate(CONTROLS, EACH)
    inputs = [(place, control, value) for place, control, values in controls for value in values]
    random.Random(0).shuffle(inputs)
    page.wait_for_timeout(500)
    still = median(milliseconds(page, session, -1, "") for _ in range(20))
    times: dict[str, list[float]] = {}
    for place, control, value in inputs:
        times.setdefault(control, []).append(milliseconds(page, session, place, value) - still)
    return times


def main(names: list[str]) -> int:
    missed = False
    found = interactives()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        for name, content in bundle.static_files().items():
            (Path(folder) / name).write_text(content, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=browsing.find(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        for name in names or found:
            times = measured(page, Path(folder), name, found[name])
            every = [time for each in times.values() for time in each]
            slowest = sorted(times, key=lambda control: max(times[control]), reverse=True)[:3]
            missed |= median(every) > MEDIAN or max(every) > WORST
            rated = ", ".join(f"{one} {median(times[one]):.0f} to {max(times[one]):.0f}" for one in slowest)
            most = f"median {median(every):.0f} ms, worst {max(every):.0f} ms of {len(every)} inputs"
            print(f"{name}: {most}; {rated}", flush=True)
        browser.close()
    return int(missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
