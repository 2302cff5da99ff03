"""The interactive: the page computes what course_lib computes, and its sentences say which recipe is exact."""

from __future__ import annotations

import gzip
import itertools
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from course_lib.checking import some
from course_lib.lessons.one_batch_many_machines.one_batch_many_machines_play import PARTS, OneBatchManyMachines
from course_lib.lessons.shared.widgets import bundle
from course_lib.maths import processes
from tests.widget_pages import SUMMARY, made_in_python, reached_by_tab, replacing, settled, table_rows

MATH = "machines_math"
EVALUATE = "(states) => states.map((state) => lib.analyseMachines(state))"
Library = Callable[..., Any]


def every_recipe() -> list[dict[str, Any]]:
    """All recipes for P = 1, 2, 4 and 8, at sizes drawn at random."""
    rng = np.random.default_rng(0)
    kinds = itertools.product(
        (1, 2, 4, 8), ("none", "constant", "gradients"), ("own", "all"), ("mean", "sum"), (False, True)
    )
    names = ("processes", "gather", "rows", "reduction", "times_world")
    return [
        {
            **dict(zip(names, kind, strict=True)),
            "batch": int(rng.integers(1, 5000)),
            "d": int(rng.integers(1, 1000)),
            **{name: float(10 ** rng.uniform(-2, 2)) for name in ("bandwidth", "rate", "tower")},
        }
        for kind in kinds
    ]


STATES = every_recipe()


def same(state: dict[str, Any], answer: dict[str, Any]) -> bool:
    one = OneBatchManyMachines(**state)
    factors = [None if factor is None else float(factor) for factor in one.factors().values()]
    gramians = processes.gramian_bytes(processes=one.processes, width=one.d)
    return (
        answer["factors"] == factors
        and answer["sent"] == one.bytes_sent()
        and answer["gramians"] == pytest.approx(float(gramians))
        and answer["seconds"] == pytest.approx(one.seconds())
    )


def test_the_page_computes_what_python_computes(library: Library) -> None:
    for state, answer in some(list(zip(STATES, library(MATH)(EVALUATE, STATES), strict=True))):
        assert same(state, answer), state


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("carried ? scale : scale / processes", "scale"),
        ("[vectors, vectors, vectors, scale]", "[vectors, vectors, vectors, vectors]"),
        ('reduction === "sum" ? scale / processes : scale', "scale"),
        ("carried ? own : 0", "own"),
        ("[null, null, 0, null]", "[1, 1, 0, 1]"),
        ("(processes - 1) * state.batch * state.d * 4", "processes * state.batch * state.d * 4"),
        ('(state.gather === "gradients" ? 2 : 1)', "1"),
        ("(4 * (processes - 1) * d * d * 4) / processes", "4 * (processes - 1) * d * d * 4"),
        ("d * rows * columns", "d * batch * columns"),
        ("WORLD.latency * gathersOf(state) * (processes - 1)", "0"),
    ],
)
def test_a_wrong_formula_would_be_found(library: Library, right: str, wrong: str) -> None:
    source = right.replace("(processes - 1) * state.batch", "(state.processes - 1) * state.batch")
    change = wrong.replace("processes * state.batch", "state.processes * state.batch")
    answers = library(MATH, replacing(source, change))(EVALUATE, STATES)
    assert not all(same(state, answer) for state, answer in some(list(zip(STATES, answers, strict=True))))


def test_the_sentence_calls_exact_what_is_exact() -> None:
    """On all recipes, by the factors of course_lib.maths.processes."""
    for state in some(STATES[5::5]):
        one = OneBatchManyMachines(**{**state, "batch": 8})
        if one.processes > 1:
            exact = set(one.factors().values()) == {Fraction(1)}
            assert ("The averaged gradient is exactly that of one process" in one.summary()) == exact, state


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        ({"gather": "gradients"}, "The averaged gradient is exactly that of one process with 32 pairs."),
        ({"gather": "gradients", "times_world": True}, "is 4 times that of one process with 32 pairs"),
        ({"gather": "gradients", "reduction": "sum"}, "is 1/4 times that of"),
        ({"gather": "constant"}, "is missing, as nobody tells the process that owns an item. The rest is exact."),
        ({"gather": "constant", "times_world": True}, "The rest is 4 times that of"),
        ({"gather": "constant", "rows": "all"}, "1/4 times that of one process with 32 pairs"),
        (
            {"gather": "constant", "rows": "all", "times_world": True},
            "The gradients of all vectors are exactly those of one process with 32 pairs. That of the temperature is 4 "
            "times as large.",
        ),
        ({"gather": "none"}, "each row’s softmax has 7 negatives instead of 31."),
        ({"gather": "none", "processes": 1}, "There is nothing to gather."),
    ],
)
def test_what_it_says_of_each_recipe(recipe: dict[str, Any], words: str) -> None:
    assert words in OneBatchManyMachines(**{"batch": 8, **recipe}).summary()


def test_the_same_in_python_computes_what_the_table_shows() -> None:
    for state in some(STATES[::7]):
        one, names = OneBatchManyMachines(**state), {}
        exec(one.python(), names)
        rows = {row[0]: row[1] for row in one.table()[1]}
        assert names["shown"].state() == one.state()
        shown = [row[1] for row in one.table()[1][:4]]
        assert shown == ["another loss" if factor is None else str(factor) for factor in names["factors"].values()]
        assert rows["bytes sent for the loss"] == f"{names['sent']:,}"
        value, unit = rows["time of a step"].split()
        size = {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[unit]
        assert float(value) * size == pytest.approx(names["seconds"], rel=0.06)


def test_the_parts_have_names() -> None:
    assert tuple(OneBatchManyMachines().factors()) == PARTS


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"processes": 9}, "processes is 9; expected 1 to 8"),
        ({"batch": 0}, "batch is 0; expected 1 to 16384"),
        ({"gather": "all"}, "gather is 'all'; expected one of none, constant, gradients"),
        ({"rows": "mine"}, "rows is 'mine'"),
        ({"reduction": "max"}, "reduction is 'max'"),
        ({"bandwidth": 0.0}, "bandwidth is 0.0"),
    ],
)
def test_nonsense_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        OneBatchManyMachines(**arguments)


def test_the_script_is_small() -> None:
    own = "".join(bundle.sources()[name] for name in ("one_batch_many_machines_play", MATH))
    assert len(gzip.compress(own.encode())) < 12_000


# ---- in the browser


def test_keyboard_alone_changes_everything(site_page: Library) -> None:
    page = site_page(OneBatchManyMachines().static_html())
    assert {"processes", "batch", "d", "bandwidth", "rate", "tower"} <= reached_by_tab(page, 20)
    page.locator('[data-preset="carried"]').focus()
    page.keyboard.press("Enter")
    settled(page, OneBatchManyMachines(gather="gradients").summary())
    page.locator('input[name="processes"]').focus()
    page.keyboard.press("ArrowRight")
    settled(page, OneBatchManyMachines(gather="gradients", processes=5).summary())
    page.locator(".cw-option input[value=all]").focus()
    page.keyboard.press("Space")
    state = {"gather": "gradients", "processes": 5, "rows": "all"}
    settled(page, OneBatchManyMachines(**state).summary())
    assert table_rows(page) == OneBatchManyMachines(**state).table()[1]
    assert made_in_python(page).state() == OneBatchManyMachines(**state).state()


def test_it_is_no_higher_than_a_screen(site_page: Library) -> None:
    """In the 936 px that a window of 1280 x 800 leaves."""
    page = site_page(OneBatchManyMachines().static_html(), width=952)
    assert page.locator(".cw").bounding_box()["height"] <= 720
    assert page.locator(SUMMARY).is_visible()
