"""Each interactive in Jupyter, in all its choices, and given what it cannot show: by the tables of the lessons' tests.

In a lesson's test_widget.py stand `IN_JUPYTER`: interactive -> (what Python sets, the control that the reader then
uses, the key, what the model has afterwards), and `REFUSED`: (interactive, arguments, what the error says).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from course_lib.lessons.shared.widgets import bundle
from course_lib.lessons.shared.widgets.base import CourseWidget
from tests.lessons.every import modules
from tests.widget_pages import press, python_says, table_rows

TESTS = modules("test_widget", of="tests.lessons").values()
IN_JUPYTER = {name: use for tests in TESTS for name, use in getattr(tests, "IN_JUPYTER", {}).items()}
REFUSED = [case for tests in TESTS for case in getattr(tests, "REFUSED", [])]
each = pytest.mark.parametrize("name", IN_JUPYTER)


def kind_of(name: str) -> type[CourseWidget]:
    """The class of an interactive."""
    [path] = bundle.LESSONS.glob(f"*/{name}.js")
    module = import_module(f"course_lib.lessons.{path.parent.name}.{name}")
    [kind] = [thing for thing in vars(module).values() if getattr(thing, "module_name", "") == name]
    return kind


@each
def test_in_jupyter_python_is_followed_and_told_what_the_reader_does(in_jupyter: Callable[..., Any], name: str) -> None:
    told, control, key, afterwards = IN_JUPYTER[name]
    page, [trait] = in_jupyter(kind_of(name)()), told
    python_says(page, kind_of(name)(**told), trait)
    press(page, control, key)
    saved, bubbled = page.evaluate("[saved, bubbled]")
    assert saved >= 1 and bubbled == 0  # JupyterLab never sees the key
    for trait, value in afterwards.items():
        assert page.evaluate("(trait) => model.get(trait)", trait) == pytest.approx(value)


@each
def test_the_table_of_the_page_is_that_of_paper(site_page: Callable[..., Any], name: str) -> None:
    shown = kind_of(name)()
    assert table_rows(site_page(shown.static_html())) == shown.table()[1]


@pytest.mark.parametrize(("name", "arguments", "message"), REFUSED)
def test_bad_arguments_are_named(name: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        kind_of(name)(**arguments)


# Presets, and with each of them every radio button, every choice of a list, each slider at both ends and each box.
WALK = """async () => {
  const found = [], root = document.querySelector(".cw");
  const all = (selector) => [...root.querySelectorAll(selector)].filter((e) => !e.disabled && e.checkVisibility());
  const look = async (name) => {
    await new Promise((done) => setTimeout(done));
    if (/NaN|undefined|Infinity|\\[object/.test(root.innerHTML)) found.push(name);
  };
  const set = async (e, value) => {
    e.value = value;
    for (const event of ["input", "change"]) e.dispatchEvent(new Event(event));
    await look(`${e.name} ${value}`);
  };
  const controls = async () => {
    for (const list of all("select")) for (const option of [...list.options].slice(0, 8)) await set(list, option.value);
    for (const slider of all("input[type=range]")) for (const end of [slider.min, slider.max]) await set(slider, end);
    for (const button of all('[data-action="steps"]')) { button.click(); await look("steps"); }
  };
  const clicks = all("[data-preset]");
  for (const preset of clicks.length ? clicks : [root]) {
    preset.click();
    await controls();
    for (const box of all("input[type=radio], input[type=checkbox]")) {
      box.click();
      await look(box.name + box.value);
      await controls();
    }
  }
  return found;
}"""


@pytest.mark.seconds
@each
def test_no_choice_shows_a_number_that_is_none(site_page: Callable[..., Any], name: str) -> None:
    page = site_page(kind_of(name)().static_html())
    page.locator(".cw-data summary").click()
    assert page.evaluate(WALK) == []
