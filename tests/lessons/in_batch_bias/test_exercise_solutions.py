"""The solutions of the book's exercises:
each piece of code prints what the page says, each formula holds by enumeration.
"""

import itertools
import re
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import nbformat
import numpy as np
import pytest
from drafts import main_pages, short_chapters

from course_lib import in_batch, losses
from course_lib.arrays import exact
from course_lib.lessons.in_batch_bias.enumeration import SMALL_LABELS, batches, labelled_cases, positives
from tests.lessons.every import printed

pytestmark = pytest.mark.seconds

ROOT = Path(__file__).resolve().parents[3]
DIRECTIVE = re.compile(r"^:::\{(exercise|solution)\} *(.*?)\n(.*?)^:::$", re.MULTILINE | re.DOTALL)
LABEL = re.compile(r"^:label: (\S+)$", re.MULTILINE)
CODE = re.compile(r"^```python\n(.*?)^```$(?:\n+^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
ABOUT = re.compile(r"^\*[^*]+\. Difficulty [123], importance [123], \d+ minutes\.\*$", re.MULTILINE)


class Box(NamedTuple):
    """An exercise or a solution of a chapter; argument: the exercise's title, or the label that a solution solves."""

    page: str
    kind: str
    argument: str
    body: str

    @property
    def label(self) -> str:
        return LABEL.search(self.body)[1]


def boxes_of(page: str, text: str) -> list[Box]:
    return [Box(page, *match) for match in DIRECTIVE.findall(text)]


def all_boxes() -> list[Box]:
    found = []
    for path in sorted((ROOT / "book").rglob("*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        found += boxes_of(path.relative_to(ROOT).as_posix(), text)
    return found


BOXES = all_boxes()
TRAINED_ANEW = {"sol-three-tests"}  # twelve models: among the pipelines
SNIPPETS = [
    pytest.param(code, printed, id=f"{box.label}-{n}", marks=[pytest.mark.pipeline] * (box.label in TRAINED_ANEW))
    for box in BOXES
    if box.kind == "solution"
    for n, (code, printed) in enumerate(CODE.findall(box.body), 1)
]


# ---- what the pages hold


@pytest.mark.parametrize(("code", "shown"), SNIPPETS)
def test_the_code_of_a_solution_prints_what_the_page_says(code: str, shown: str) -> None:
    assert shown, "a solution shows what its code prints, in a ```text block right below it"
    assert printed(code)[0].rstrip() == shown.rstrip()


def test_every_exercise_says_what_it_takes_and_has_one_solution() -> None:
    exercises = [box for box in BOXES if box.kind == "exercise"]
    solved = [(box.page, box.argument) for box in BOXES if box.kind == "solution"]
    assert sorted(solved) == sorted((box.page, box.label) for box in exercises)
    assert [box.label for box in exercises if not ABOUT.search(box.body)] == []
    assert [box.label for box in BOXES if box.kind == "solution" and ":class: dropdown" not in box.body] == []


def test_every_chapter_has_exercises() -> None:
    least = {path.relative_to(ROOT).as_posix(): 6 for path in main_pages()}
    least |= {path.relative_to(ROOT).as_posix(): 3 for path in short_chapters()}
    counts = Counter(box.page for box in BOXES if box.kind == "exercise")
    assert {page: counts[page] for page in least if counts[page] < least[page]} == {}


def test_a_solution_in_words_alone_has_a_test_that_names_its_exercise() -> None:
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    words_alone = [box.argument for box in BOXES if box.kind == "solution" and not CODE.search(box.body)]
    assert [label for label in words_alone if f"{label}:" not in tests] == []


def test_the_lines_of_code_fit_the_page() -> None:
    shown = [line for box in BOXES for block in CODE.findall(box.body) for text in block for line in text.split("\n")]
    assert [line for line in shown if len(line) > 76] == []


# ---- the formulas of the solutions


@pytest.mark.parametrize(("labels", "size"), list(labelled_cases()))
def test_the_share_of_false_negatives(labels: np.ndarray, size: int) -> None:
    """ex-false-negatives: sum over O of (pop - 1) / (M (M - 1)), for every batch size, by enumeration."""
    shares = []
    for batch in batches(labels, size):
        rows, cols = zip(*batch, strict=True)
        grid = labels[np.ix_(rows, cols)]
        shares.append(Fraction(int(grid.sum()) - size, size * (size - 1)))
    pop = in_batch.pair_popularity(labels.sum(1), labels.sum(0))
    n_positives = int(labels.sum())
    assert sum(shares) / len(shares) == Fraction(int((labels * (pop - 1)).sum()), n_positives * (n_positives - 1))


@pytest.mark.parametrize("labels", [labels for labels in SMALL_LABELS if labels.sum() <= 6])
def test_a_coin_for_every_pair(labels: np.ndarray) -> None:
    """ex-poisson: q in the place of s/M and of rho, over all 2^M batches and every cell;
    and (17) stays unbiased with it.
    """
    q, pairs = Fraction(2, 5), positives(labels)
    pop = in_batch.pair_popularity(exact(labels.sum(1)), exact(labels.sum(0)))
    grid, own = exact(labels * 0), exact(labels * 0)
    for taken in itertools.product([0, 1], repeat=len(pairs)):
        chance = q ** sum(taken) * (1 - q) ** (len(pairs) - sum(taken))
        batch = [pair for pair, one in zip(pairs, taken, strict=True) if one]
        for (i, _), (_, j) in itertools.product(batch, repeat=2):
            grid[i, j] += chance
        for pair in batch:
            own[pair] += chance
    assert (grid == q * ((1 - q) * exact(labels) + q * pop)).all()
    negative = (grid / pop / q - own * ((1 - q) / q / pop + 1)) / q  # (17): a = 1/q in units of 1/(mn), rho = q
    assert (negative == 1 - exact(labels)).all()


@pytest.mark.parametrize("old", [1, 2, 3, 4])
def test_stale_counts(old: int) -> None:
    """ex-stale-counts: negatives weigh pop/pop', liked pairs pop/pop' - 1; the masked loss has no weight below zero."""
    labels = SMALL_LABELS[5]
    rows, cols = exact(labels.sum(1)), exact(labels.sum(0))
    stale = cols.copy()
    stale[0] = Fraction(old)
    ratio = in_batch.pair_popularity(rows, cols) / in_batch.pair_popularity(rows, stale)
    y, total = exact(labels), {"unbiased": exact(labels * 0), "masked": exact(labels * 0)}
    drawn = batches(labels, 3)
    for batch, kind in itertools.product(drawn, total):
        i, j = (list(side) for side in zip(*batch, strict=True))
        _, push = in_batch.batch_weights(
            kind,
            row_counts=rows[i],
            col_counts=stale[j],
            n_positives=int(labels.sum()),
            shape=labels.shape,
            labels=y[np.ix_(i, j)] if kind == "masked" else None,
        )
        np.add.at(total[kind], np.ix_(i, j), push)
    mean = {kind: weights * labels.size / len(drawn) for kind, weights in total.items()}
    assert (mean["unbiased"] == ratio - y).all()
    assert (mean["masked"] == (1 - y) * ratio).all()


def test_one_walk_through_the_data() -> None:
    """ex-epoch: at the fit, batches that share an epoch are worse than independent ones, by exactly 12/7;
    elsewhere better.
    """
    labels = np.array([[1, 1, 0], [0, 1, 1]])
    y = exact(labels)

    def ratio(scores: np.ndarray) -> Fraction:
        pos_loss, neg_loss = losses.pair_losses("square", scores)
        case = {"pos_loss": pos_loss, "neg_loss": neg_loss, "labels": y, "batch_size": 2}
        values = in_batch.enumerate_batch_losses("unbiased", **case)
        drawn = batches(labels, 2)
        assert all(set(a) | set(b) == set(positives(labels)) for a, b in zip(drawn, drawn[::-1], strict=True))
        mean, single = in_batch.exact_moments("unbiased", **case)
        pairs = [(a + b) / 2 for a, b in zip(values, values[::-1], strict=True)]
        assert sum(pairs) / len(pairs) == mean
        return sum((value - mean) ** 2 for value in pairs) / len(pairs) / (single / 2)

    assert ratio(y) == Fraction(12, 7)
    assert ratio((exact(np.indices(labels.shape)[0]) + 2 * exact(np.indices(labels.shape)[1])) / 7) < Fraction(1, 4)


def test_a_small_batch_can_imitate_a_large_one() -> None:
    """ex-bigger-batches: negatives times rho(large)/rho(small) give the small batch the expectation of the large
    one.
    """
    labels = exact(SMALL_LABELS[5])
    n_positives = int(labels.sum())
    (pull, small), (_, large) = (in_batch.expected_weights("in_batch", labels=labels, batch_size=s) for s in (2, 5))
    factor = in_batch.balance(Fraction(5), n_positives) / in_batch.balance(Fraction(2), n_positives)
    assert (small * factor == large).all() and (pull * labels.size == labels).all()
