"""What interactives share: numbers and lists in words, chance, and the scripts of the site."""

import gzip
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import words

from course_lib.lessons.shared.widgets import bundle, chance
from tests.refused import refused


def test_draws_are_uniform_over_subsets(library: Callable[..., Any]) -> None:
    """Simulation with a seed: 6 of 4 choose 2 subsets, each within four standard deviations."""
    draws = 12000
    question = """(draws) => { const random = lib.randomGenerator(7); const found = {};
      for (let k = 0; k < draws; k += 1) {
        const name = lib.sampleWithoutReplacement([0, 1, 2, 3], 2, random).sort().join("");
        found[name] = (found[name] ?? 0) + 1; }
      return found; }"""
    found = library("random")(question, draws)
    assert sorted(found) == ["01", "02", "03", "12", "13", "23"]
    assert max(abs(count - draws / 6) for count in found.values()) < 4 * np.sqrt(draws * (1 / 6) * (5 / 6))


def test_numbers_are_written_alike(library: Callable[..., Any]) -> None:
    rng = np.random.default_rng(1)
    values = [0.0, -0.0, 0.125, 0.375, 2.5, 9.995, 9.9951, 99.95, 100.5, -0.004, -1.5, 12.05, 1e6, 0.1 + 0.2, 1 / 3]
    values += (rng.normal(size=300) * 10.0 ** rng.integers(-3, 5, size=300)).tolist() + (
        rng.integers(-64, 64, size=60) / 8
    ).tolist()
    assert library("kit")("(values) => values.map(lib.number)", values) == [words.number(value) for value in values]


def test_lists_are_written_alike(library: Callable[..., Any]) -> None:
    lists = [list("abcdefg"[:size]) for size in range(8)]
    assert library("kit")("(lists) => lists.map((words) => lib.list(words))", lists) == [
        words.list_of(some) for some in lists
    ]
    assert words.list_of(list("abcdefg")) == "a, b, c and 4 more"


def test_static_files_are_classic_scripts() -> None:
    sheet, shared, *scripts = bundle.static_files()
    assert (sheet, shared) == ("course-widgets.css", "course-widgets.js")
    assert scripts == [f"course-widget-{name.replace('_', '-')}.js" for name in bundle.interactives()]
    for name in (shared, *scripts):
        script = re.sub(r"^\s*//.*$", "", bundle.static_files()[name], flags=re.MULTILINE)
        assert not re.search(
            r"^\s*(import|export)\b|\beval\(|\bfetch\(|\bimport\(|https?://(?!www\.w3\.org/2000/svg)",
            script,
            re.MULTILINE,
        )
    assert "http" not in bundle.static_files()[sheet]


def test_a_page_loads_the_interactives_that_it_has() -> None:
    """So no page pays for those of the others."""
    first, *_, last = bundle.interactives()
    used = [f'<div class="course-widget" data-course-widget="{name}"></div>' for name in (last, first, last)]
    scripts = [f"course-widget-{name.replace('_', '-')}.js" for name in (first, last)]
    assert bundle.names_for("<p>between</p>".join(used)) == ["course-widgets.css", "course-widgets.js", *scripts]
    assert bundle.names_for("<p>a page without</p>") == []
    sizes = {name: len(gzip.compress(text.encode())) for name, text in bundle.static_files().items()}
    assert max(sizes.values()) < 15_500, sizes


test_nonsense_is_named = refused(
    (lambda: bundle.module("nothing"), r"name='nothing': no such module; there are \['afm_host', "),
    (lambda: chance.uniforms(-1, 3), "seed is -1; expected 0 to"),
)


def test_small_numbers_are_written_alike(library: Callable[..., Any]) -> None:
    rng = np.random.default_rng(7)
    values = [
        float(x)
        for x in ["0", "-0", "0.01", "0.00999", "0.0001", "0.00009", "-0.0034", "1e-300", "0.00995", "0.00005", "3"]
    ]
    values += (rng.normal(size=200) * 10.0 ** rng.integers(-6, 3, size=200)).tolist()
    assert library("kit")("(values) => values.map(lib.fine)", values) == [words.fine(value) for value in values]


def test_a_part_that_is_not_nothing_and_not_all_is_not_written_so(library: Callable[..., Any]) -> None:
    parts = [0, 1e-9, 0.0049, 0.005, 0.125, 0.5, 0.9949, 0.995, 0.999999, 1, 1.004]
    said = library("kit")("(parts) => parts.map(lib.wholePercent)", parts)
    assert said == [words.whole_percent(part) for part in parts]
    assert said[:3] == ["0 %", "under 1 %", "under 1 %"] and said[6:] == [
        "99 %",
        "over 99 %",
        "over 99 %",
        "100 %",
        "100 %",
    ]
    shown = {0.0034: "0.0034", -0.0034: "−0.0034", 2e-5: "less than 0.0001", 0.0: "0", 0.5: "0.5", 0.00999: "0.01"}
    assert {value: words.fine(value) for value in shown} == shown


def test_what_a_lesson_stored_is_no_argument() -> None:
    from course_lib.lessons.serving.map_of_cells import MapOfCells

    assert MapOfCells(1, 3).state() == MapOfCells(power=1, probes=3).state()
    with pytest.raises(TypeError, match=r"got \['map'\]; expected some of power, probes, space"):
        MapOfCells(map={})
