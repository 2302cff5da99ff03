"""The cards of decisions: each line to check runs, each chapter ends in its card, mistakes are named."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from drafts import FIRST, is_draft, main_pages, short_chapters

from course_lib.hits import known_later
from course_lib.interactions import Interactions
from course_lib.lessons.shared import schema
from tools import decisions

CARDS = decisions.cards()
BOOK = Path(__file__).resolve().parents[2] / "book"
# What the lines to check may use, as the page says, beside users, items, train and test
NEEDS = (BOOK / "practice" / "decisions.md").read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
PAGES = [FIRST, *(path for path in main_pages() if not is_draft(path)), *short_chapters()]


def a_team() -> dict[str, object]:
    """What a reader has: vectors of two trainings, and pairs with times, of 40 people and 30 items."""
    rng = np.random.default_rng(0)
    cells = rng.choice(1200, 500, replace=False)
    pairs = Interactions(cells // 30, cells % 30, n_users=40, n_items=30, times=rng.permutation(500) * 9000.0)
    train, test = known_later(pairs, 0.8)
    users, items, *older = (rng.normal(size=(rows, 8)) for rows in (40, 30, 40, 30))
    return {"users": users, "items": items, "older": older, "train": train, "test": test}


@pytest.mark.parametrize("name", CARDS)
def test_the_lines_to_check_run_on_the_readers_arrays(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(NEEDS + CARDS[name].check, a_team())
    printed = capsys.readouterr().out
    assert re.search(r"\d", printed) and "nan" not in printed


def _without_pair(team: dict[str, object]) -> dict[str, object]:
    known = team["train"].items != 3
    return team | {"train": team["train"].select(known)}


AWKWARD = {  # what readers' arrays are like
    "16 bits": lambda team: team | {side: team[side].astype(np.float16) for side in ("users", "items")},
    "tensors that train": lambda team: (
        team | {side: torch.tensor(team[side], requires_grad=True) for side in ("users", "items")}
    ),
    "lists": lambda team: team | {side: team[side].tolist() for side in ("users", "items")},
    "an item without a pair": _without_pair,
    "a width that nothing fills": lambda team: team | {side: team[side][:, [0, 0]] for side in ("users", "items")},
}


@pytest.mark.parametrize("kind", AWKWARD)
@pytest.mark.parametrize("name", CARDS)
def test_the_lines_run_on_awkward_arrays(name: str, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(NEEDS + CARDS[name].check, AWKWARD[kind](a_team()))
    assert "nan" not in capsys.readouterr().out


@pytest.mark.parametrize("name", CARDS)
def test_tables_that_are_exchanged_or_not_finite_are_named(name: str) -> None:
    team = a_team()
    with pytest.raises(ValueError, match=r"users has shape \(30, 8\).* expected numbers of shape \(40, d\)"):
        exec(NEEDS + CARDS[name].check, team | {"users": team["items"], "items": team["users"]})
    team["users"][5] = np.nan
    with pytest.raises(ValueError, match="users holds NaN or infinity in 1 rows, the first is row 5"):
        exec(NEEDS + CARDS[name].check, team)


def test_a_place_that_no_item_fills_is_not_counted(capsys: pytest.CaptureFixture[str]) -> None:
    few = Interactions([0] * 25 + [1], [*range(25), 0], n_users=2, n_items=30, times=np.arange(26.0))
    test = Interactions([0], [29], n_users=2, n_items=30)
    vectors = {"users": np.eye(2), "items": np.ones((30, 2))}
    exec(NEEDS + CARDS["popularity"].check, vectors | {"train": few, "test": test})
    assert "items shown 15\n    ratings of an item shown 0.5\n" in capsys.readouterr().out  # 5 of one, 10 of the other


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_main_page_ends_in_its_cards(page: Path) -> None:
    cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
    prose = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    found = list(re.finditer(r"^:::\{decision\} (.*)$", prose, re.M))
    here = page.relative_to(BOOK).with_suffix("").as_posix()
    assert {one[1] for one in found} == {name for name, card in CARDS.items() if here in card.pages}
    assert found and found[0].start() > prose.index("## What to remember")


def test_every_chapter_that_a_card_names_is_there() -> None:
    assert {page for card in CARDS.values() for page in card.pages} == {
        page.relative_to(BOOK).with_suffix("").as_posix() for page in PAGES
    }


def test_all_cards_have_an_anchor_and_are_linked_at_the_top() -> None:
    text = decisions.questions() + decisions.all_cards()
    for name, card in CARDS.items():
        assert f"[{card.title}](#decision-{name})" in text and f"(decision-{name})=\n## {card.title}" in text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- name: a\n", "missing required field"),
        ("- {name: a, title: b, pages: [], do: c, because: d, check: e, costs: f, useless: g, more: h}", "more"),
        ("{a: b}", "Expected `array`"),
        ("- &a {name: a, title: b, pages: [], do: c, because: d, check: e, costs: f, useless: g}\n- *a", "one name"),
    ],
)
def test_a_wrong_file_is_named(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "decisions.yml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(schema.SchemaError, match=words):
        decisions.cards(path)


def test_a_card_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match="decision: got 'nothing', expected one of evaluation, "):
        decisions.on_a_page("nothing")
