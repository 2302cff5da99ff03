"""Public checks of the assignment in-batch-bias."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np

from course_lib import in_batch
from course_lib.lessons.shared.forms import (
    OTHER_VERSION,
    PASSED,
    Answer,
    compare,
    each_case,
    expect,
    fraction,
    is_list,
    is_table,
    is_whole,
    plain_check,
    public,
    short,
)
from course_lib.lessons.shared.grading.hand_in import hand_in  # noqa: F401 (the last cell of an assignment)

FIG2 = [[0, 0, 1, 0], [0, 1, 0, 1], [0, 0, 0, 1], [1, 0, 0, 1]]
SEVEN = [[0, 1, 0, 1], [0, 1, 1, 1], [1, 1, 0, 0]]
LARGEST_LABELS = 5
MOST_POSITIVES = 8


@plain_check
def counterexample(answer: Answer, **numbers: int) -> None:
    """Task 3: the form, and that there is a bias at all; how large it is, is not looked at here."""
    check_bias(answer, **numbers)
    print(PASSED.replace("inputs", "grounds: the gap itself is not looked at here"))


@plain_check
def gap(answer: Answer, **numbers: int) -> None:
    """Task 3, second check: which way the loss is biased; by how much, is not looked at here."""
    labels, size, cell, stated = counterexample_form(answer(), **numbers)
    right = local_count_gap(labels, size)[cell]
    expect(right != 0, "no bias at this cell, so there is no gap to state")
    expect(
        stated * right > 0,
        f"at cell {cell} the loss gives l- {'more' if right > 0 else 'less'} weight than is claimed; "
        f"a gap of {short(stated)} says otherwise",
    )
    print(PASSED.replace("inputs", "grounds: how large the gap is, is not looked at here"))


@plain_check
def shard_weights(answer: Answer, negative: str = "1", positive: str = "0") -> None:
    """Task 4 on shards of two of three and of four positives: the negatives only."""
    check_shard_negatives(answer, np.array([[1, 0], [1, 1]]), 2, negative)
    check_shard_negatives(answer, np.array([[1, 0, 1], [1, 1, 0]]), 2, negative)
    print(PASSED.replace("inputs", "inputs, and on the positives"))


@plain_check
def shard_of_everything(answer: Answer, negative: str = "1", positive: str = "0") -> None:
    """Task 4, second check: a shard that holds all positives. Nothing is left to chance, on positives either."""
    for labels in ([[1, 0], [1, 1]], [[1, 1], [1, 1], [0, 1]]):
        check_shard_positives(answer, np.array(labels), int(np.sum(labels)), positive)
    print(PASSED.replace("inputs", "inputs, and with shards that are drawn"))


@plain_check
def share_pushed_down(answer: Answer, odds: int = 1) -> None:
    """Task 5 on the six pairs of Figure 2, and on seven pairs where s/M in place of rho gives another share."""
    for labels, sizes in ((FIG2, [3, 5]), (SEVEN, [2])):
        users, items = np.nonzero(np.array(labels))
        check_share(answer, users.tolist(), items.tolist(), sizes, odds)
    print(PASSED)


@plain_check
def share_of_names(answer: Answer, odds: int = 1) -> None:
    """Task 5, second check: the numbers of users and items are names. Other names, with gaps, change no share."""
    users, items = np.nonzero(np.array(FIG2))
    check_share(answer, (4 * users + 2).tolist(), (3 * items + 7).tolist(), [3, 5], odds)
    print(PASSED)


# ---- what the checks are made of; the hidden checks call them with other inputs ----


def check_weights(
    answer: Answer,
    labels: Any,
    cells: list[tuple[int, int]],
    sizes: list[int],
    *,
    beside: str = "1",
    diagonal: str = "0",
) -> None:
    """m n times the expected weight of l- under in-batch sampling, at some cells and batch sizes.

    Every cell beside the diagonal of the grid has the weight `beside`, every cell on it the weight `diagonal`.
    """
    outer, inner = Fraction(beside), Fraction(diagonal)
    table = np.array(labels)
    rows, cols, total = table.sum(1), table.sum(0), int(table.sum())
    for size in sizes:
        _, weights = in_batch.expected_weights("in_batch", labels=_exact(table), batch_size=size)
        rho = Fraction(size - 1, total - 1)
        for i, j in cells:
            pop, label = int(rows[i] * cols[j]), int(table[i, j])
            plain = weights[i, j] * table.size
            where = f"the weight of l- at cell ({i}, {j}), label {label}, batches of {size} of {total}"
            slips = {
                plain: OTHER_VERSION,
                outer * plain: "the diagonal cells are counted, too: once for each time that the pair is drawn",
                rho * pop: "a positive pair is not its own negative: the diagonal leaves out rho once",
                Fraction(size, total)
                * (pop - int(table[i, j])): "two draws without replacement: (s - 1)/(M - 1), not s/M",
                Fraction(size, total) * pop: "two draws without replacement: (s - 1)/(M - 1), not s/M",
                weights[i, j]: "the weight is asked for times m n",
                Fraction(pop): "the batch size is missing: rho",
                Fraction(pop - label): "the batch size is missing: rho",
                Fraction(1): "1 is the weight in the average over all pairs; in-batch sampling has another one",
                Fraction(0): "a cell that the batch calls negative does have a weight",
            }
            compare(answer(table.tolist(), i, j, size), outer * plain + inner * label, where, slips, exact=True)


@each_case
def check_best_score(
    answer: Answer, pop: int, omega: Any, size: int, total: int, *, high: int = 1, low: int = 0
) -> None:
    """The score that minimises the expected loss of a positive pair, square loss, every l- of the batch times omega.

    l+ is (high - x)^2 / 2 and l- is (low - x)^2 / 2.
    """
    shape = (total, total)
    plain = in_batch.expected_coefficients("in_batch", batch_size=size, n_positives=total, shape=shape)
    weighed = plain.weigh_negatives(Fraction(omega))
    down = weighed.grid * pop**weighed.power + weighed.constant + weighed.inverse / pop
    rho = Fraction(size - 1, total - 1)
    up = weighed.positive / (weighed.positive + down)
    parts = {
        1 / (1 + Fraction(omega) * rho * pop): "a positive pair has the weight rho (pop - 1) on l-, not rho pop",
        1 / (1 + rho * (pop - 1)): "omega multiplies every l-: it must appear",
        1 / (1 + Fraction(omega) * Fraction(size, total) * (pop - 1)): "rho is (s - 1)/(M - 1), not s/M",
        Fraction(1): f"{high} is the label; l- pulls the score away from it",
    }
    where = f"the best score at pop {pop}, omega {omega}, batches of {size} of {total}"
    slips = [
        (up, OTHER_VERSION),
        (high * up, f"l- pulls the score to {low}, and not to 0"),
        *((low + (high - low) * part, hint) for part, hint in parts.items()),
    ]
    compare(answer(pop, omega, size, total), low + (high - low) * up, where, slips, exact=True)


def counterexample_form(value: Any, **asked: int) -> tuple[np.ndarray, int, tuple[int, int], Fraction]:
    """(labels, batch_size, (i, j), gap), checked for form; asked: rows, columns, positives, size where prescribed."""
    form = "return labels, batch_size, (i, j), gap"
    expect(is_list(value, 4), f"four things are asked for: {form}")
    labels, size, cell, gap = value
    rows = [list(row) if is_list(row) else [] for row in labels] if is_list(labels) else []
    expect(0 < len(rows) <= LARGEST_LABELS, f"labels is a matrix of 1 to {LARGEST_LABELS} rows")
    expect(
        0 < len(rows[0]) <= LARGEST_LABELS and len({len(row) for row in rows}) == 1,
        f"labels is a matrix of 1 to {LARGEST_LABELS} columns, the same in every row",
    )
    expect(
        all(is_whole(entry) and entry in (0, 1) for row in rows for entry in row), "labels holds whole numbers 0 and 1"
    )
    table = np.array(rows, dtype=int)
    expect(
        bool(table.any(0).all() and table.any(1).all()),
        "every row and every column needs a positive; an empty one breaks another assumption (a cold film)",
    )
    total = int(table.sum())
    expect(total <= MOST_POSITIVES, f"at most {MOST_POSITIVES} positives, so that all batches can be listed")
    expect(is_whole(size) and 2 <= size <= total, f"batch_size is a whole number from 2 to M = {total}")
    found = {"rows": table.shape[0], "columns": table.shape[1], "positives": total, "size": int(size)}
    for name, number in asked.items():
        expect(
            found[name] == number, f"{number} {name} are asked for (of the labels, or of a batch), not {found[name]}"
        )
    expect(is_list(cell, 2) and all(is_whole(place) for place in cell), "the cell is a pair (i, j), counted from 0")
    expect(0 <= cell[0] < table.shape[0] and 0 <= cell[1] < table.shape[1], "the cell lies outside the matrix")
    return table, int(size), (int(cell[0]), int(cell[1])), fraction(gap, "gap")


def check_bias(answer: Answer, **asked: int) -> None:
    """Task 3: at the cell named, the expectation over all batches differs from the claim."""
    labels, size, cell, _ = counterexample_form(answer(), **asked)
    expect(
        local_count_gap(labels, size)[cell] != 0,
        f"listing all batches of {size}: at cell {cell} the expected weight of l- is right, so nothing is disproved "
        "there. When do the counts inside a batch agree with the true ones?",
    )


def local_count_gap(labels: np.ndarray, size: int) -> np.ndarray:
    """m n times (expected weight of l- under (17) with counts taken inside the batch, minus the claimed 1 - Y)."""
    pairs = list(zip(*np.nonzero(labels), strict=True))
    total = np.array([[Fraction(0)] * labels.shape[1] for _ in labels], dtype=object)
    batches = list(itertools.combinations(pairs, size))
    for batch in batches:
        rows, cols = (np.array(side) for side in zip(*batch, strict=True))
        own_rows, own_cols = ([Fraction(int((side == x).sum())) for x in side] for side in (rows, cols))
        _, weights = in_batch.batch_weights(
            "unbiased",
            row_counts=np.array(own_rows, dtype=object),
            col_counts=np.array(own_cols, dtype=object),
            n_positives=len(pairs),
            shape=labels.shape,
        )
        np.add.at(total, (rows[:, None], cols[None, :]), weights)
    mean: np.ndarray = total * labels.size / len(batches) - (1 - labels)
    return mean


def check_shard_negatives(answer: Answer, labels: np.ndarray, size: int, negative: str = "1") -> None:
    """Task 4: outside O every expected weight of l- is `negative`/(mn)."""
    wrong = (expected_shard(answer, labels, size) * labels.size != Fraction(negative)) & (labels == 0)
    expect(
        not wrong.any(),
        f"shards of {size}: the expected weight of l- on a negative pair is not {negative}/(mn). A shard is a uniform "
        "draw of h positives, whatever the other devices hold: which batch size belongs in rho?",
    )


def check_shard_positives(answer: Answer, labels: np.ndarray, size: int, positive: str = "0") -> None:
    """Task 4: on O every expected weight of l- is `positive`/(mn)."""
    left = "some l-" if positive == "0" else f"another weight of l- than {positive}/(mn)"
    wrong = (expected_shard(answer, labels, size) * labels.size != Fraction(positive)) & (labels == 1)
    expect(
        not wrong.any(),
        f"shards of {size}: a positive pair keeps {left} on average. It appears on the diagonal and, through "
        "two other pairs, off it; the diagonal must settle both.",
    )


def expected_shard(answer: Answer, labels: np.ndarray, size: int) -> np.ndarray:
    """The expected weight of l- of every cell over all shards of `size` pairs."""
    pairs = list(zip(*np.nonzero(labels), strict=True))
    row_counts, col_counts = labels.sum(1).tolist(), labels.sum(0).tolist()
    total = np.array([[Fraction(0)] * labels.shape[1] for _ in labels], dtype=object)
    shards = list(itertools.combinations(pairs, size))
    for shard in shards:
        rows, cols = ([int(place) for place in side] for side in zip(*shard, strict=True))
        counts = [row_counts[i] for i in rows], [col_counts[j] for j in cols]
        weights = shard_matrix(answer, *counts, len(pairs), labels.shape)
        np.add.at(total, (np.array(rows)[:, None], np.array(cols)[None, :]), np.array(weights, dtype=object))
    return total / len(shards)


def shard_matrix(answer: Answer, rows: list[int], cols: list[int], total: int, shape: tuple[int, int]) -> list[Any]:
    """The matrix that a student's `shard_weights` returns, entry by entry a Fraction."""
    h, width = len(rows), len(cols)
    value = answer(rows, cols, total, shape, total // h)  # as many devices as the positives suffice for
    expect(is_table(value, h, width), f"return an h x h matrix of weights of l-, here {h} x {width}")
    return [[fraction(entry, "each weight") for entry in row] for row in value]


def check_share(answer: Answer, users: list[int], items: list[int], sizes: list[int], odds: int = 1) -> None:
    """The share of the pairs whose best logistic score is below -ln(odds)."""
    rows, cols, total = np.bincount(users), np.bincount(items), len(users)
    pop = rows[users] * cols[items]
    for size in sizes:
        even = in_batch.misclassification_threshold(Fraction(size), Fraction(total))
        threshold = 1 + odds * (even - 1)
        where = f"the share of {total} pairs below zero at batches of {size}"
        slips = {
            float((pop > even).mean()): OTHER_VERSION,
            float((pop >= threshold).mean()): "a pair exactly at the threshold has the score 0, which is not negative"
            if odds == 1
            else "a pair exactly at the threshold is not below it",
            float((pop > 1 + odds * total / size).mean()): "rho is (s - 1)/(M - 1), not s/M",
            float((pop > odds * total / size).mean()): "rho is (s - 1)/(M - 1), not s/M, and pop - 1, not pop",
            float(
                (pop > odds * (total - 1) / (size - 1)).mean()
            ): "the weight of l- on a positive is rho (pop - 1), not rho pop",
            float((pop <= threshold).mean()): "this is the share that stays above zero",
            100 * float((pop > threshold).mean()): "a share lies between 0 and 1; this looks like per cent",
        }
        compare(answer(users, items, size), float((pop > threshold).mean()), where, slips, exact=False)


def _exact(table: np.ndarray) -> np.ndarray:
    return np.array([[Fraction(int(entry)) for entry in row] for row in table], dtype=object)


# ---- the public checks

# Task 1, cells outside O on the label matrix of Figure 2
weight_of_negatives = public(check_weights, FIG2, [(1, 0), (3, 1), (0, 0), (2, 0)], [2, 3, 6])
# Task 1, cells of O
weight_of_positives = public(check_weights, FIG2, [(0, 2), (1, 3)], [2, 3])
# Task 2
best_score = public(check_best_score, [(1, 1, 2, 6), (4, 1, 3, 6), (4, Fraction(1, 2), 3, 6)])
