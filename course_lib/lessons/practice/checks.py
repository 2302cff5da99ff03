"""Public checks of the assignment practice, on all chapters of the part In practice."""

from __future__ import annotations

import math
from fractions import Fraction

from course_lib.lessons.shared.forms import (
    OTHER_VERSION,
    Answer,
    compare,
    compare_list,
    each_case,
    expect,
    is_whole,
    public,
)
from course_lib.lessons.shared.grading.hand_in import hand_in  # noqa: F401 (the last cell of an assignment)

Numbers = list[Fraction]
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


# ---- what the checks are made of; the hidden checks call them with other inputs ----


@each_case
def check_sampled(answer: Answer, rank: int, others: int, m: int, k: int, *, worth: str = "1") -> None:
    """Task 1: `answer(rank, others, m, k)`; a hit counts so much."""
    points, better = Fraction(worth), Fraction(rank - 1, others)
    right = points * _at_most(k - 1, rank - 1, others, m)
    replaced = sum(math.comb(m, j) * better**j * (1 - better) ** (m - j) for j in range(min(k, m + 1)))
    slips = [
        (right / points, OTHER_VERSION),
        (points * _at_most(k - 1, rank, others + 1, m), "the hidden item has rank - 1 better items, among the others"),
        (points * replaced, "the sample is drawn without replacement"),
        (points * _at_most(k, rank - 1, others, m), "k better items in the sample are one too many"),
        (points * (rank <= k), "this is the hit among all items: how many of the better ones are sampled?"),
        (points - right, "this is the chance of a miss"),
    ]
    where = f"rank {rank} of {others + 1}, {m} sampled, lists of {k}"
    compare(answer(rank, others, m, k), right, where, slips, exact=True)


def _at_most(most: int, better: int, others: int, m: int) -> Fraction:
    """The chance of at most so many better items among m that are drawn without replacement."""
    ways = (math.comb(better, j) * math.comb(others - better, m - j) for j in range(min(most, m) + 1))
    return Fraction(sum(ways), math.comb(others, m))


@each_case
def check_holm(answer: Answer, ps: Numbers, *, more: int = 0) -> None:
    """Task 2: `answer(ps)`; so many further comparisons were made, whose p are larger than all of these."""
    right = _holm(ps, more)
    many = len(ps) + more
    order = sorted(range(len(ps)), key=lambda at: ps[at])
    single = [Fraction(0)] * len(ps)
    for place, at in enumerate(order):
        single[at] = min(Fraction(1), ps[at] * (many - place))
    slips = [
        (_holm(ps, 0), OTHER_VERSION),
        (
            [min(Fraction(1), p * many) for p in ps],
            "this is Bonferroni's correction: Holm's factor falls, place by place",
        ),
        (single, "a larger p may not be corrected to a smaller number than a smaller p"),
        ([right[at] for at in order], "answer in the order in which the p were given"),
        (_holm(ps, more, capped=False), "a p is at most 1"),
    ]
    compare_list(answer(ps), right, f"Holm's correction of {', '.join(map(str, ps))}", slips)


def _holm(ps: Numbers, more: int, *, capped: bool = True) -> Numbers:
    found, largest = list(ps), Fraction(0)
    for place, at in enumerate(sorted(range(len(ps)), key=lambda at: ps[at])):
        largest = max(largest, ps[at] * (len(ps) + more - place))
        found[at] = min(largest, Fraction(1)) if capped else largest
    return found


@each_case
def check_mixture(answer: Answer, counts: list[int], uniform: Fraction, *, floor: int = 0) -> None:
    """Task 3a: `answer(counts, uniform)`; each count is raised by `floor` first."""
    right = _mixture(counts, uniform, floor)
    whole = [Fraction(count + floor) for count in counts]
    slips = [
        (_mixture(counts, uniform, 0), OTHER_VERSION),
        (_mixture(counts, 1 - uniform, floor), "uniform is the share of the draws that are uniform"),
        ([uniform / len(counts) + (1 - uniform) * one for one in whole], "turn the counts into shares first"),
        ([uniform + (1 - uniform) * one / sum(whole) for one in whole], "a uniform draw takes each item with 1/n"),
    ]
    compare_list(answer(counts, uniform), right, f"the law of the negatives, {uniform} uniform", slips)


def _mixture(counts: list[int], uniform: Fraction, floor: int) -> Numbers:
    total = sum(counts) + floor * len(counts)
    return [uniform / len(counts) + (1 - uniform) * Fraction(count + floor, total) for count in counts]


@each_case
def check_served(
    answer: Answer, p: Numbers, q: Numbers, hits: list[int], weight: int, correction: str, *, more_hits: int = 0
) -> None:
    """Task 3b: `answer(p, q, hits, weight, correction)`; each count of hits is raised by `more_hits` first."""
    right = _served(p, q, hits, weight, correction, more_hits)
    other = {"none": "training", "training": "none", "serving": "none", "both": "training"}[correction]
    hint = {
        "none": "without a correction the optimum is log p - log q",
        "training": "logQ in training makes the optimum log p",
        "serving": "what the plain loss takes out, log q at serving gives back",
        "both": "logQ in training gives log p already, and log q comes on top",
    }[correction]
    flat = _served(p, q, [1] * len(hits), weight, correction, 0)
    linear = [value * (count + more_hits) * weight for value, count in zip(flat, hits, strict=True)]
    slips = [
        (_served(p, q, hits, weight, correction, 0), OTHER_VERSION),
        (_served(p, q, hits, weight, other, more_hits), hint),
        (flat, "the weight times the log of the hits is added to each score"),
        (_shares(linear), "a weight times a logarithm is the logarithm of a power"),
        (_served(p, q, hits, 1, correction, more_hits), "the hits have a weight"),
    ]
    where = f"p = {_said(p)}, q = {_said(q)}, hits {hits} with weight {weight}, correction {correction}"
    compare_list(answer(p, q, hits, weight, correction), right, where, slips)


def _served(p: Numbers, q: Numbers, hits: list[int], weight: int, correction: str, more: int) -> Numbers:
    """e to the served score, scaled so that the films add up to 1."""
    power = {"none": -1, "training": 0, "serving": 0, "both": 1}[correction]
    return _shares([a * b**power * (count + more) ** weight for a, b, count in zip(p, q, hits, strict=True)])


def _shares(values: Numbers) -> Numbers:
    total = sum(values) or 1
    return [Fraction(value) / total for value in values]


def _said(values: Numbers) -> str:
    return f"({', '.join(map(str, values))})"


@each_case
def check_floor(answer: Answer, n: int, tau: float, *, margin: str = "0") -> None:
    """Task 4a: `answer(n, tau)`; the margin is taken from the logit of the right item."""
    taken = float(Fraction(margin))
    right = _floor(n, 1 / tau, taken)
    slips = [
        (_floor(n, 1 / tau, 0.0), OTHER_VERSION),
        (math.log1p((n - 1) * math.exp(taken - 2 / tau)), "not every other cosine can be -1: on average -1/(n - 1)"),
        (math.log1p((n - 1) * math.exp(taken - 1 / tau)), "the others' cosines can be below 0 on average: -1/(n - 1)"),
        (_floor(n, tau, taken), "the cosines are divided by tau"),
        (math.exp(-right), "this is the probability: the loss is minus its logarithm"),
        (right / math.log(2), "the natural logarithm is meant"),
    ]
    compare(answer(n, tau), right, f"the floor for {n} items, tau = {tau:g}", slips, exact=False)


def _floor(n: int, sharpness: float, margin: float) -> float:
    return math.log1p((n - 1) * math.exp(margin - n / (n - 1) * sharpness))


@each_case
def check_tau(answer: Answer, n: int, probability: float, *, margin: str = "0") -> None:
    """Task 4b: `answer(n, probability)`, with the same margin."""
    taken, odds = float(Fraction(margin)), math.log((n - 1) * probability / (1 - probability))
    right = n / (n - 1) / (odds + taken)
    slips = [
        (n / (n - 1) / odds, OTHER_VERSION),
        (1 / (odds + taken), "n/(n - 1) is missing: the others are below 0 on average"),
        (2 / (odds + taken), "not every other cosine can be -1"),
        (1 / right, "this is one over the temperature"),
        (
            n / (n - 1) / (math.log((n - 1) / (1 - probability)) + taken),
            "solve for the probability, not for its odds' denominator",
        ),
    ]
    compare(
        answer(n, probability), right, f"the largest tau: {n} items, probability {probability:g}", slips, exact=False
    )


@each_case
def check_moves(
    answer: Answer, x: list[Numbers], g: list[Numbers], new: Numbers, lr: Fraction, *, constant: str = "0"
) -> None:
    """Task 5a: `answer(X, G, new, lr)`; all films also read a feature that always has this value."""
    square = Fraction(constant) ** 2
    kernel = [_product(row, new) for row in x]
    right = _moved([value + square for value in kernel], g, lr)
    slips = [
        (_moved(kernel, g, lr), OTHER_VERSION),
        ([-value for value in right], "a step goes against the gradient"),
        ([value / len(x) for value in right], "the gradients are added up, not averaged"),
        (
            _moved([Fraction(1)] * len(x), g, lr),
            "each gradient counts as much as its film's features agree with the new one",
        ),
        (_moved([value + square for value in kernel], g, Fraction(1)), "the learning rate is missing"),
    ]
    compare_list(answer(x, g, new, lr), right, f"the move of a film with the features {_said(new)}", slips)


def _moved(kernel: Numbers, g: list[Numbers], lr: Fraction) -> Numbers:
    rows = [[-lr * value * part for part in row] for value, row in zip(kernel, g, strict=True)]
    return [sum(column, Fraction(0)) for column in zip(*rows, strict=True)]


@each_case
def check_rates(
    answer: Answer, a: Fraction, b: Fraction, counts: list[int], days: list[int], *, rating: str = "1"
) -> None:
    """Task 5b: `answer(a, b, counts, days)`; each rating counts as so much of one."""
    seen = [Fraction(rating) * count for count in counts]
    right = [(a + c) / (b + t) for c, t in zip(seen, days, strict=True)]
    slips = [
        ([(a + c) / (b + t) for c, t in zip(counts, days, strict=True)], OTHER_VERSION),
        (
            [(b + c) / (a + t) for c, t in zip(seen, days, strict=True)],
            "a is the shape, which the ratings add to; b the rate",
        ),
        ([c / t if t else Fraction(0) for c, t in zip(seen, days, strict=True)], "the prior is missing"),
        (
            [a / b + (c / t if t else Fraction(0)) for c, t in zip(seen, days, strict=True)],
            "ratings and days are added to a and b, not their ratio to theirs",
        ),
        (
            [(a + c) * (b + t) for c, t in zip(seen, days, strict=True)],
            "the mean of a Gamma law is its shape over its rate",
        ),
    ]
    compare_list(answer(a, b, counts, days), right, f"ratings a day after {days} days", slips)


@each_case
def check_bound(answer: Answer, u: Numbers, steps: Numbers, *, off: str = "1/2") -> None:
    """Task 6a: `answer(u, steps)`; a coordinate is off by at most so much of its step."""
    share = Fraction(off)
    right, signed = share * _product([abs(a) for a in u], steps), abs(_product(u, steps))
    slips = [
        (right / share / 2, OTHER_VERSION),
        (share * signed, "errors need not cancel: the worst signs are possible, so take |u_k|"),
        (right / share, "a coordinate is off by less than its step"),
        (2 * right, "the 2 belongs to the comparison of two scores"),
        (share * max(abs(a) * b for a, b in zip(u, steps, strict=True)), "all coordinates can be off at the same time"),
        (share * sum(steps), "the error of a coordinate is multiplied by the person's"),
    ]
    compare(answer(u, steps), right, f"the bound for u = {_said(u)}", slips, exact=True)


@each_case
def check_candidates(answer: Answer, scores: Numbers, bound: Fraction, k: int, *, further: str = "0") -> None:
    """Task 6b: `answer(scores, bound, k)`; the exact score is off by `further` beyond the bound."""
    right = _candidates(scores, 2 * (bound + Fraction(further)), k)
    got = answer(scores, bound, k)
    expect(is_whole(got), "a number of candidates is a whole number")
    slips = [
        (_candidates(scores, 2 * bound, k), OTHER_VERSION),
        (_candidates(scores, bound + Fraction(further), k), "both scores can be off: one up and one down"),
        (k, "rounding can move other items into the first k"),
        (right - 1, "count the candidates: the item after the last one is the first that may be left out"),
        (right + 1, "one fewer is enough: compare with the first item that is left out"),
        (
            _candidates(scores, 2 * (bound + Fraction(further)), k, strict=False),
            "a gap of exactly twice the bound proves nothing",
        ),
        (len(scores), "fewer are enough"),
    ]
    compare(int(got), right, f"candidates for the best {k} of {len(scores)}, bound {bound}", slips, exact=True)


def _candidates(scores: Numbers, gap: Fraction, k: int, *, strict: bool = True) -> int:
    """The least N with a gap between the k-th and the (N + 1)-th best score; all, where there is none."""
    best = sorted(scores, reverse=True)
    for count in range(k, len(best)):
        found = best[k - 1] - best[count]
        if found > gap or (not strict and found == gap):
            return count
    return len(best)


def _product(one: Numbers, other: Numbers) -> Fraction:
    return sum((a * b for a, b in zip(one, other, strict=True)), Fraction(0))


def _row(numbers: str) -> Numbers:
    """ "1/2 3" as two Fractions."""
    return [Fraction(number) for number in numbers.split()]


# ---- the public checks
P, Q = _row("1/2 3/10 1/5"), _row("3/5 3/10 1/10")
X, G = [_row("1 0 1"), _row("0 2 1")], [_row("1 -2"), _row("3 4")]
U, STEPS = _row("1 -2 1/2"), _row("1/4 1/2 1")
SCORES = _row("3 9 8 5 7 1")

# Task 1: few films
sampled = public(check_sampled, [(2, 3, 1, 1), (4, 6, 3, 2), (3, 5, 5, 2)])
# Task 2: three and four comparisons
holm = public(
    check_holm,
    [
        [Fraction(1, 50), Fraction(1, 100), Fraction(3, 5)],
        [Fraction(1, 40)] * 2,
        [Fraction(1, 30), Fraction(1, 31), Fraction(1, 200)],
    ],
)
# Task 3a: three items
mixture = public(check_mixture, [([6, 3, 1], HALF), ([6, 3, 1], Fraction(0)), ([1, 1, 4], Fraction(1, 4))])
# Task 3b: one person and three films
served = public(check_served, [(P, Q, [4, 1, 2], 1, word) for word in ("none", "training", "serving")])
# Task 4a: a batch and a catalogue
floor = public(check_floor, [(512, 0.2), (10_000, 0.1), (2, 1.0)])
# Task 4b: the same
largest_tau = public(check_tau, [(512, 0.5), (10_000, 0.9)])
# Task 5a: two films of a batch
moves = public(
    check_moves,
    [
        (X, G, [Fraction(1), Fraction(1), Fraction(0)], HALF),
        (X, G, [Fraction(1), Fraction(0), Fraction(-1)], Fraction(1)),
    ],
)
# Task 5b: three new films
rates = public(check_rates, [(HALF, Fraction(3), [0, 2, 5], [0, 1, 2]), (THIRD, Fraction(1), [4], [3])])
# Task 6a: three coordinates
bound = public(check_bound, [(U, STEPS), (STEPS, STEPS)])
# Task 6b: six scores
candidates = public(check_candidates, [(SCORES, HALF, 2), (SCORES, Fraction(1), 1), (SCORES, Fraction(2), 2)])
