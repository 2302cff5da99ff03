"""course_lib.in_batch against the definitions of P3, written once more as plain loops."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from refused import refused
from strategies import Case, cases, label_matrices

from course_lib import in_batch, losses
from course_lib.arrays import exact
from course_lib.checking import some
from course_lib.in_batch import KINDS, checks, objectives

few = settings(max_examples=15, deadline=None)
of_arrays = settings(max_examples=5, deadline=None)  # what the kind of array may change is not the formula
FIGURE_2 = np.array([[0, 0, 1, 0], [0, 1, 0, 1], [0, 1, 0, 0], [1, 0, 0, 1]])


# ---- The reference: P3's formulas, term by term, for one batch


def reference(kind: str, case: Case) -> Fraction:
    """(17), (25)-(28) and the masked loss as sums over the batch, straight from the page."""
    y, plus, minus, batch = case.labels, case.pos_loss, case.neg_loss, case.batch
    (m, n), big, s = y.shape, case.n_positives, case.batch_size
    pop = {(i, j): int(y[i].sum() * y[:, j].sum()) for i in range(m) for j in range(n)}
    positive = sum(plus[e] for e in batch)
    double = sum(minus[i, j] for (i, _) in batch for (_, j) in batch)
    double_pop = sum(minus[i, j] / pop[i, j] for (i, _) in batch for (_, j) in batch)
    own = sum(minus[e] for e in batch)
    head = Fraction(big, m * n * s)
    ratio = Fraction(big - 1, s - 1)
    if kind == "in_batch":  # (28) = (|O| s / mn) (11)
        eleven = (positive + (double - own)) / Fraction(s * s)
        return Fraction(big * s, m * n) * eleven
    if kind == "popularity":  # (26)
        return head * (positive + ratio * (double - own))
    if kind == "unbiased":  # (17)
        return head * (
            positive + ratio * double_pop - sum((Fraction(big - s, s - 1) / pop[e] + 1) * minus[e] for e in batch)
        )
    if kind == "unbiased_omega":  # (25)
        w = case.omega
        left_out = sum((Fraction(big - s, s - 1) / pop[e] + 1) * minus[e] for e in batch)
        return head * (positive + w * ratio * double_pop - w * left_out)
    if kind == "pos_neg":  # (27)
        return head * (
            double_pop
            + sum(plus[e] - (Fraction(big - s, big - 1) / pop[e] + Fraction(s - 1, big - 1)) * minus[e] for e in batch)
        )
    if kind == "masked":
        outside = sum(minus[i, j] / pop[i, j] for (i, _) in batch for (_, j) in batch if y[i, j] == 0)
        return head * (positive + ratio * outside)
    raise AssertionError(kind)


def reference_objective(kind: str, case: Case) -> Fraction:
    """(13), (15), (16), (5), (19), each as the paper prints it."""
    y, plus, minus = case.labels, case.pos_loss, case.neg_loss
    m, n = y.shape
    rho = Fraction(case.batch_size - 1, case.n_positives - 1)
    on = [(i, j) for i in range(m) for j in range(n) if y[i, j]]
    off = [(i, j) for i in range(m) for j in range(n) if not y[i, j]]
    popular = sum(int(y[i].sum() * y[:, j].sum()) * minus[i, j] for i in range(m) for j in range(n))
    positive, own = (sum(values[e] for e in on) for values in (plus, minus))
    negative = sum((minus[e] for e in off), Fraction(0))
    return {
        "in_batch": positive - rho * own + rho * popular,
        "popularity": positive - own + popular,
        "pos_neg": positive + rho * negative,
        "unbiased": positive + negative,
        "masked": positive + negative,
        "unbiased_omega": positive + case.omega * negative,
    }[kind] / Fraction(m * n)


@pytest.mark.seconds
@pytest.mark.parametrize("kind", KINDS)
@given(case=cases())
@few
def test_batch_loss_is_the_paper_s_formula(kind: str, case: Case) -> None:
    value = in_batch.batch_loss(kind, **case.batch_arguments(kind))
    assert isinstance(value, Fraction)
    assert value == reference(kind, case)


@pytest.mark.parametrize("kind", KINDS)
@given(case=cases(max_positives=6))
@few
def test_expectation_is_the_paper_s_objective(kind: str, case: Case) -> None:
    """Closed form = library = mean over all batches = mean of exact_moments, in rationals."""
    arguments = case.matrices() | {"batch_size": case.batch_size, "omega": case.omega_of(kind)}
    stated = reference_objective(kind, case)
    assert in_batch.expected_objective(kind, **arguments) == stated
    quick, slow = in_batch.exact_moments(kind, **arguments), in_batch.enumerate_moments(kind, **arguments)
    assert quick == slow
    assert quick[0] == stated
    assert all(isinstance(x, Fraction) for x in (*quick, *slow))


@given(case=cases())
@few
def test_full_objective(case: Case) -> None:
    assert in_batch.full_objective(**case.matrices()) == reference_objective("unbiased", case)
    assert in_batch.full_objective(**case.matrices(), omega=case.omega) == reference_objective("unbiased_omega", case)


@pytest.mark.parametrize("kind", KINDS)
@given(case=cases())
@few
def test_batch_weights_are_the_coefficients_of_the_loss(kind: str, case: Case) -> None:
    arguments = case.batch_arguments(kind)
    pos_loss, neg_loss = arguments.pop("pos_loss"), arguments.pop("neg_loss")
    arguments["row_counts"] = exact(arguments["row_counts"])
    w_pos, w_neg = in_batch.batch_weights(kind, **arguments)
    assert (w_pos * pos_loss).sum() + (w_neg * neg_loss).sum() == reference(kind, case)


# ---- Two batches (34)


@given(case=cases(), data=st.data())
@few
def test_sogram_is_the_paper_s_formula(case: Case, data: st.DataObject) -> None:
    y, plus, minus = case.labels, case.pos_loss, case.neg_loss
    (m, n), big = y.shape, case.n_positives
    second = data.draw(st.lists(st.sampled_from(case.batch), min_size=1, unique=True))
    j2 = [j for _, j in second]
    value = in_batch.sogram_loss(
        pos_loss=plus[case.rows, case.cols],
        neg_diag=minus[case.rows, case.cols],
        neg_cross=minus[np.ix_(case.rows, j2)],
        row_counts=y.sum(axis=1)[case.rows],
        col_counts=y.sum(axis=0)[j2],
        n_positives=big,
        shape=(m, n),
    )
    first = Fraction(big, case.batch_size) * sum(plus[e] - minus[e] for e in case.batch)
    cross = sum(minus[i, j] / int(y[i].sum() * y[:, j].sum()) for (i, _) in case.batch for (_, j) in second)
    assert value == (first + Fraction(big * big, case.batch_size * len(second)) * cross) / (m * n)


# ---- One code path: Fractions, NumPy, torch, float32, leading axes, gradients


def floats(arguments: dict, convert) -> dict:
    return {
        k: convert(v.astype(float)) if isinstance(v, np.ndarray) and v.dtype == object else v
        for k, v in arguments.items()
    }


@pytest.mark.parametrize("kind", KINDS)
@given(case=cases())
@of_arrays
def test_every_kind_of_array_gives_the_same_loss(kind: str, case: Case) -> None:
    arguments = case.batch_arguments(kind)
    truth = float(in_batch.batch_loss(kind, **arguments))
    size = 1 + sum(abs(float(x)) for x in (*arguments["pos_loss"], *arguments["neg_loss"].ravel())) * 8
    for convert, dtype, tolerance in (
        (np.asarray, np.float64, 1e-14),
        (lambda x: x.astype(np.float32), np.float32, 1e-5),
        (torch.as_tensor, torch.float64, 1e-14),
        (lambda x: torch.as_tensor(x, dtype=torch.float32), torch.float32, 1e-5),
    ):
        value = in_batch.batch_loss(kind, **floats(arguments, convert))
        assert value.dtype == dtype
        assert abs(float(value) - truth) <= tolerance * size * case.n_positives


@pytest.mark.seconds
@pytest.mark.parametrize("kind", KINDS)
@given(case=cases(max_positives=6))
@of_arrays
def test_moments_and_expectations_agree_across_arrays(kind: str, case: Case) -> None:
    arguments = case.matrices() | {"batch_size": case.batch_size, "omega": case.omega_of(kind)}
    mean, variance = in_batch.exact_moments(kind, **arguments)
    for convert in (np.asarray, torch.as_tensor):
        same = floats(arguments, convert)
        got = (*in_batch.exact_moments(kind, **same), in_batch.expected_objective(kind, **same))
        assert [float(x) for x in got] == pytest.approx([float(mean), float(variance), float(mean)], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("convert", [np.asarray, torch.as_tensor])
def test_leading_axes(kind: str, convert) -> None:
    rng = np.random.default_rng(3)
    pos_loss, neg_loss = rng.random((2, 5, 3)), rng.random((2, 5, 3, 3))
    common = {"row_counts": [2, 2, 2], "col_counts": [2, 2, 1], "n_positives": 6, "shape": (4, 4)}
    if kind == "masked":
        common["labels"] = FIGURE_2[np.ix_([1, 1, 3], [1, 3, 0])]
    omega = 0.3 if kind == "unbiased_omega" else None
    together = in_batch.batch_loss(kind, pos_loss=convert(pos_loss), neg_loss=convert(neg_loss), omega=omega, **common)
    assert tuple(together.shape) == (2, 5)
    for a, b in np.ndindex(2, 5):
        alone = in_batch.batch_loss(kind, pos_loss=pos_loss[a, b], neg_loss=neg_loss[a, b], omega=omega, **common)
        assert float(together[a, b]) == pytest.approx(float(alone), rel=1e-13)


@pytest.mark.filterwarnings("error")
def test_read_only_counts_are_taken_without_a_word() -> None:
    """The counts of Interactions are read-only; torch must not warn of them (a warning is an error in a notebook)."""
    frozen = {"row_counts": np.array([2.0, 1.0]), "col_counts": np.array([1, 3]), "row_index": np.array([0, 1])}
    for array in frozen.values():
        array.setflags(write=False)
    frozen |= {"pos_loss": torch.ones(2), "neg_loss": torch.ones(2, 2), "col_index": frozen["row_index"]}
    value = in_batch.collapsed_batch_loss("unbiased", n_positives=5, shape=(3, 3), **frozen)
    assert value.isfinite()


def test_a_sweep_of_omegas_and_vmap_over_models_and_omegas() -> None:
    torch.manual_seed(0)
    pos_loss, neg_loss, omegas = torch.rand(4, 2), torch.rand(4, 2, 2), torch.tensor([0.0, 0.5, 0.7, 2.0])
    common = {"row_counts": [2, 1], "col_counts": [1, 3], "n_positives": 5, "shape": (3, 3)}

    def loss(pos, neg, omega, validate=False):
        both = {"pos_loss": pos, "neg_loss": neg}
        return in_batch.batch_loss("unbiased_omega", **both, omega=omega, validate=validate, **common)

    alone = torch.stack([loss(*each) for each in zip(pos_loss, neg_loss, omegas, strict=True)])
    torch.testing.assert_close(torch.func.vmap(loss)(pos_loss, neg_loss, omegas), alone)
    arrays = (part.double().numpy() for part in (pos_loss, neg_loss, omegas))
    assert loss(*arrays, validate=True) == pytest.approx(alone.numpy(), rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_read_back_without_validation(kind: str) -> None:
    """validate=False never looks at a value, so a GPU is never waited for: tensors without memory go through."""
    empty = {"device": "meta"}
    value = in_batch.batch_loss(
        kind,
        pos_loss=torch.ones(3, **empty),
        neg_loss=torch.ones(3, 3, **empty),
        row_counts=torch.ones(3, **empty),
        col_counts=torch.ones(3, **empty),
        n_positives=6,
        shape=(4, 4),
        omega=0.5 if kind == "unbiased_omega" else None,
        labels=torch.ones(3, 3, **empty) if kind == "masked" else None,
        validate=False,
    )
    assert (value.device.type, tuple(value.shape)) == ("meta", ())


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("point", ["square", "logistic"])
def test_derivatives_backward_twice_and_forward(kind: str, point: str) -> None:
    """The hand-written backward pass of the grid sum against finite differences, once more, and its forward mode."""
    generator = torch.Generator().manual_seed(5)
    scores = torch.randn(2, 3, 3, dtype=torch.float64, generator=generator, requires_grad=True)

    def loss(scores: torch.Tensor, validate: bool = False) -> torch.Tensor:
        pos_loss, neg_loss = losses.pair_losses(point, scores)
        omega = 0.7 if kind == "unbiased_omega" else None
        both = {"pos_loss": pos_loss.diagonal(dim1=-2, dim2=-1), "neg_loss": neg_loss}
        return in_batch.batch_loss(kind, **both, omega=omega, validate=validate, **common)

    common = {"row_counts": [2, 2, 2], "col_counts": [2, 2, 1], "n_positives": 6, "shape": (4, 4)}
    common["labels"] = FIGURE_2[np.ix_([1, 1, 3], [1, 3, 0])] if kind == "masked" else None
    assert torch.autograd.gradcheck(loss, (scores, True)) and torch.autograd.gradgradcheck(loss, (scores,))
    direction = torch.randn(2, 3, 3, dtype=torch.float64, generator=generator)
    _, forward = torch.func.jvp(loss, (scores.detach(),), (direction,))
    backward = torch.autograd.functional.jacobian(loss, scores.detach()).flatten(1) @ direction.flatten()
    torch.testing.assert_close(forward, backward)


def test_omega_can_be_learnt() -> None:
    """A gradient flows into omega as well."""
    omega = torch.tensor([0.3, 2.0], dtype=torch.float64, requires_grad=True)
    neg_loss = torch.rand(2, 2, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    common = {"row_counts": [2, 1], "col_counts": [1, 3], "n_positives": 5, "shape": (3, 3)}

    def loss(omega: torch.Tensor) -> torch.Tensor:
        return in_batch.batch_loss("unbiased_omega", pos_loss=neg_loss[:, 0], neg_loss=neg_loss, omega=omega, **common)

    assert torch.autograd.gradcheck(loss, (omega,))
    assert float(torch.autograd.grad(loss(omega).sum(), omega)[0].abs().min()) > 0


# ---- Cheap forms: collapsed grid, Gramians


@pytest.mark.parametrize("kind", KINDS)
@given(case=cases())
@few
def test_collapsed_loss_is_the_loss(kind: str, case: Case) -> None:
    y = case.labels
    distinct_rows, row_index = np.unique(case.rows, return_inverse=True)
    distinct_cols, col_index = np.unique(case.cols, return_inverse=True)
    value = in_batch.collapsed_batch_loss(
        kind,
        pos_loss=case.pos_loss[case.rows, case.cols],
        neg_loss=case.neg_loss[np.ix_(distinct_rows, distinct_cols)],
        row_index=row_index,
        col_index=col_index,
        row_counts=y.sum(axis=1)[distinct_rows],
        col_counts=y.sum(axis=0)[distinct_cols],
        n_positives=case.n_positives,
        shape=y.shape,
        omega=case.omega_of(kind),
        labels=y[np.ix_(distinct_rows, distinct_cols)] if kind == "masked" else None,
    )
    assert value == reference(kind, case)


def embeddings(shape: tuple[int, int], width: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(shape[0], width)), rng.normal(size=(shape[1], width))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "masked"])
@given(case=cases(), seed=st.integers(0, 99))
@few
def test_square_batch_loss_is_the_dense_one(kind: str, case: Case, seed: int) -> None:
    users, items = embeddings(case.labels.shape, 2, seed)
    u = torch.tensor(users[case.rows], requires_grad=True)
    v = torch.tensor(items[case.cols], requires_grad=True)
    arguments = case.batch_arguments(kind)
    for name in ("pos_loss", "neg_loss", "labels"):
        del arguments[name]
    pos_loss, neg_loss = losses.pair_losses("square", u @ v.T)
    dense = in_batch.batch_loss(kind, pos_loss=pos_loss.diagonal(), neg_loss=neg_loss, **arguments)
    quick = in_batch.square_batch_loss(kind, users=u, items=v, **arguments)
    assert quick.item() == pytest.approx(dense.item(), rel=1e-10, abs=1e-10)
    for a, b in some(zip(torch.autograd.grad(quick, (u, v)), torch.autograd.grad(dense, (u, v)), strict=True)):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


# ---- Scalars, costs, X2-X4


def test_balance_and_ratio() -> None:
    assert [in_batch.balance(s, n) for s, n in ((1, 10), (10, 10), (1, 2), (2, 2))] == [0, 1, 0, 1]
    sizes = [in_batch.batch_size_from_ratio(*each) for each in ((1e-5, 517_770), (1e-5, 82_265), (1e-9, 100), (1, 100))]
    assert sizes == [1637, 260, 2, 100]  # of ml1m and EUR-Lex; never less than two, nor more than all


def test_encoder_cost() -> None:
    costs = {name: in_batch.encoder_cost(name, 49, 2, 3) for name in ("naive", "cross", "in_batch", "sogram")}
    assert costs == {"naive": 49 * 5, "cross": 7 * 5, "in_batch": 7 * 5, "sogram": 7 * 2 + 14 * 3}
    # the smallest batch of the paper's ml1m runs holds more pairs than there are entities
    assert in_batch.encoder_cost("naive", 1637**2, 1, 1, shape=(6037, 3513)) == 6037 + 3513


@pytest.mark.parametrize("pairs", [0, 5, 14, 15])
def test_probability_of_no_positive(pairs: int) -> None:
    exactly = Fraction(math.comb(20 - 6, pairs), math.comb(20, pairs))
    found = in_batch.probability_of_no_positive(pairs, n_positives=6, shape=(4, 5))
    assert found == pytest.approx(float(exactly), rel=1e-14)


@given(labels=label_matrices(max_positives=7), data=st.data())
@few
def test_observation_probability_counts_batches(labels: np.ndarray, data: st.DataObject) -> None:
    big = int(labels.sum())
    s = data.draw(st.integers(2, big))
    pairs = [tuple(p) for p in np.argwhere(labels)]
    unobserved = np.argwhere(labels == 0)
    assume(len(unobserved))
    for i, j in some(unobserved):
        subsets = list(itertools.combinations(pairs, s))
        hits = sum(any(a == i for a, _ in b) and any(c == j for _, c in b) for b in subsets)
        a, b = int(labels[i].sum()), int(labels[:, j].sum())
        p = in_batch.observation_probability(a, b, batch_size=s, n_positives=big)
        assert p == Fraction(hits, len(subsets))
        assert in_batch.horvitz_thompson_weight(a, b, batch_size=s, n_positives=big) * p == 1


@pytest.mark.parametrize(("a", "b"), [(1, 1), (1, 3), (40, 2), (1500, 2700)])
def test_observation_probability_is_accurate_at_full_size(a: int, b: int) -> None:
    """ml1m at batch ratio 1e-5: floats keep 10 digits where the textbook formula would cancel to nothing."""
    size = {"batch_size": 1637, "n_positives": 517_770}
    exactly = in_batch.observation_probability(a, b, **size)
    assert isinstance(exactly, Fraction)
    assert in_batch.observation_probability(np.array([a]), b, **size) == pytest.approx([float(exactly)], rel=1e-10)


def test_observation_probability_grid() -> None:
    a, b = np.arange(8)[:, None], np.arange(5)[None, :]
    quick = in_batch.observation_probability(a, b, batch_size=6, n_positives=11)
    for i, j in np.ndindex(8, 5):
        slow = float(in_batch.observation_probability(i, j, batch_size=6, n_positives=11))
        assert quick[i, j] == pytest.approx(slow, abs=1e-14)


@pytest.mark.parametrize(("a", "b"), [(1, 1), (2, 5), (4, 3)])
def test_second_moment_of_the_counting_weight(a: int, b: int) -> None:
    """All batches of 4 out of 11 pairs, of which a lie in the row, b in the column, and none in both."""
    size = {"batch_size": 4, "n_positives": 11}
    p2 = in_batch.inclusion_probability(2, **size)
    subsets = list(itertools.combinations(range(11), 4))
    w = [Fraction(sum(e < a for e in t) * sum(a <= e < a + b for e in t)) / (a * b * p2) for t in subsets]
    second = in_batch.count_weight_second_moment(a, b, **size)
    assert sum(w) / len(w) == 1
    assert second == sum(x * x for x in w) / len(w)
    assert second >= in_batch.horvitz_thompson_weight(a, b, **size)
    assert in_batch.count_weight_second_moment(np.array([a]), b, **size) == pytest.approx([float(second)], rel=1e-13)


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_in_batch_optimum_is_the_minimum(loss: str) -> None:
    for pop in (2, 5, 40):
        best = in_batch.in_batch_optimum(loss, pop=pop, batch_size=4, n_positives=20)
        pull = 3 / 19 * (pop - 1)
        around = best + np.array([-1e-4, 0, 1e-4])
        pos_loss, neg_loss = losses.pair_losses(loss, around)
        value = pos_loss + pull * neg_loss
        assert value[1] < value[0] and value[1] < value[2]
    assert in_batch.in_batch_optimum("logistic", pop=1, batch_size=4, n_positives=20) == math.inf
    assert in_batch.in_batch_optimum("square", pop=3, batch_size=Fraction(3), n_positives=9) == Fraction(2, 3)


def test_threshold() -> None:
    """ml1m at ratio 1e-5: positives above popularity 317 are lost, and the average pair has 12,640.8."""
    s = in_batch.batch_size_from_ratio(1e-5, 517_770)
    assert in_batch.misclassification_threshold(s, 517_770) == pytest.approx(317.48, abs=0.01)
    assert in_batch.misclassification_threshold(Fraction(3), 9) == 5
    at = in_batch.misclassification_threshold(3, 9)
    assert in_batch.in_batch_optimum("square", pop=at, batch_size=3, n_positives=9) == pytest.approx(0.5)
    assert in_batch.in_batch_optimum("logistic", pop=at, batch_size=3, n_positives=9) == pytest.approx(0)
    assert in_batch.in_batch_optimum("square", pop=[1, 5], batch_size=3, n_positives=9).tolist() == [1, 0.5]


@given(case=cases(max_positives=6))
@few
def test_optimal_mix_beats_its_neighbours(case: Case) -> None:
    arguments = case.matrices() | {"batch_size": case.batch_size}
    mix = in_batch.optimal_mix(**arguments)
    masked = in_batch.enumerate_batch_losses("masked", **arguments)
    unbiased = in_batch.enumerate_batch_losses("unbiased", **arguments)
    target = in_batch.full_objective(**case.matrices())

    def variance(c: Fraction) -> Fraction:
        values = [a + c * (b - a) for a, b in zip(masked, unbiased, strict=True)]
        assert sum(values) / len(values) == target  # every mix is unbiased
        return sum((v - target) ** 2 for v in values) / len(values)

    assert variance(mix.c) == mix.variance
    assert all(variance(mix.c + step) >= mix.variance for step in (Fraction(-1, 9), Fraction(1, 9)))
    assert (variance(Fraction(0)), variance(Fraction(1))) == (mix.variance_masked, mix.variance_unbiased)


def test_batch_of_one_is_allowed_where_it_has_a_meaning() -> None:
    """in_batch and pos_neg do not divide by s - 1: with one pair they are M/(mn) l+."""
    of_all = {"pos_loss": exact(FIGURE_2 * 0 + 3), "neg_loss": exact(FIGURE_2 * 0 + 5), "labels": FIGURE_2}
    for kind in ("in_batch", "pos_neg"):
        one = {"pos_loss": exact([3]), "neg_loss": exact([[5]]), "row_counts": [2], "col_counts": [2]}
        value = in_batch.batch_loss(kind, **one, n_positives=6, shape=(4, 4))
        assert value == Fraction(6 * 3, 16)
        assert in_batch.exact_moments(kind, **of_all, batch_size=1) == (Fraction(18, 16), 0)


def test_a_batch_of_all_pairs_has_no_variance() -> None:
    table = exact(np.arange(16).reshape(4, 4))
    for kind in ("in_batch", "unbiased"):
        given = {"pos_loss": table, "neg_loss": table**2, "labels": FIGURE_2, "batch_size": 6}
        assert in_batch.exact_moments(kind, **given) == (in_batch.expected_objective(kind, **given), 0)


# ---- Errors that teach


NAN, SIZES = math.nan, {"batch_size": 2, "n_positives": 3}


def good_batch(**changes) -> dict:
    counts = {"row_counts": [1, 2], "col_counts": [2, 1], "n_positives": 5, "shape": (3, 3)}
    return {"pos_loss": np.ones(2), "neg_loss": np.ones((2, 2))} | counts | changes


def loss(kind: str, **changes: object) -> object:
    return in_batch.batch_loss(kind, **good_batch(**changes))


test_bad_batches_are_refused_with_a_reason = refused(
    (lambda: loss("softmax"), "kind is 'softmax'; expected one of in_batch, unbiased"),
    (lambda: loss("unbiased", pos_loss=[1.0], neg_loss=[[1.0]], row_counts=[1], col_counts=[1]), "no off"),
    (lambda: loss("unbiased", neg_loss=np.ones((2, 3))), r"\(2,\) and \(2, 3\)"),
    (lambda: loss("unbiased", pos_loss=np.ones(())), r"shape \(..., s\)"),
    (lambda: loss("unbiased", row_counts=[1, 2, 3]), r"row_counts must have shape \(2,\)"),
    (lambda: loss("unbiased", row_counts=[1, 0]), r"row_counts\[1\] = 0.*Assumption E.1"),
    (lambda: loss("unbiased", col_counts=[4, 1]), r"col_counts\[0\] = 4.*between 1 and 3"),
    (lambda: loss("unbiased", n_positives=1), "exceeds n_positives=1"),
    (lambda: loss("unbiased", n_positives=10), "cannot hold n_positives=10"),
    (lambda: loss("unbiased", n_positives=4.5), "whole number"),
    (lambda: loss("unbiased", shape=9), "shape=9 must be"),
    (lambda: loss("unbiased", pos_loss=np.array([1.0, np.nan])), r"pos_loss\[1\] = nan"),
    (lambda: loss("unbiased", neg_loss=np.array([[1.0, np.inf], [1, 1]])), r"neg_loss\[0, 1\] = inf"),
    (lambda: loss("unbiased", pos_loss=np.array(["a", "b"])), "must hold numbers"),
    (lambda: loss("unbiased", pos_loss=torch.ones(2)), "same kind of array"),
    (lambda: loss("unbiased", omega=0.5), "has no omega"),
    (lambda: loss("unbiased_omega"), "needs omega"),
    (lambda: loss("unbiased_omega", omega=-1), "omega is -1; expected a finite number of at least 0"),
    (lambda: loss("unbiased_omega", omega=0.1, pos_loss=exact([1, 1]), neg_loss=exact([[1, 1]] * 2)), "Fraction"),
    (lambda: loss("masked"), "labels is missing"),
    (lambda: loss("masked", labels=[[1, 2], [0, 1]]), r"labels\[0, 1\] = 2.* must be 0 or 1"),
    (lambda: loss("masked", labels=[[1, 0], [0, 0]]), "but the diagonal holds"),
    (lambda: loss("masked", labels=[[1, 0]]), r"labels must have shape \(2, 2\)"),
)


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_an_overflow_is_told_from_a_bad_entry() -> None:
    with pytest.raises(ValueError, match="overflowed"):
        in_batch.batch_loss("unbiased", **good_batch(pos_loss=np.full(2, 1e308), neg_loss=np.full((2, 2), -1e308)))


def test_empty_rows_and_columns_are_named() -> None:
    labels = FIGURE_2.copy()
    labels[2] = 0
    for kind in ("unbiased", "pos_neg", "masked"):
        with pytest.raises(ValueError, match=r"row 2 has no positive.*Assumption E.1"):
            in_batch.expected_weights(kind, labels=labels, batch_size=3)
    with pytest.raises(ValueError, match="column 1 has no positive"):
        in_batch.expected_objective(
            "unbiased", pos_loss=np.ones((2, 2)), neg_loss=np.ones((2, 2)), labels=[[1, 0], [1, 0]], batch_size=2
        )
    # the popularity kinds need no assumption: an empty row has weight 0 there, and that is the truth
    assert (in_batch.expected_weights("in_batch", labels=labels, batch_size=3)[1][2] == 0).all()


def in_grid(**changes: object) -> object:
    grid = {"neg_loss": np.ones((2, 1)), "row_index": [0, 1], "col_index": [0, 0], "col_counts": [2]}
    return in_batch.collapsed_batch_loss("pos_neg", **good_batch(**grid | changes))


test_bad_places_in_the_grid_are_refused = refused(
    (lambda: in_grid(row_index=[0, 0]), r"pair \(0, 0\) occurs 2 times.*Assumption E.2"),
    (lambda: in_grid(row_index=[0, 2]), r"row_index\[1\] = 2 lies outside 0..1"),
    (lambda: in_grid(col_index=[0, 1]), r"col_index\[1\] = 1 lies outside 0..0"),
    (lambda: in_grid(row_index=[0.0, 1.0]), "must hold integers"),
    (lambda: in_grid(col_index=[0]), r"col_index must have shape \(2,\)"),
    (lambda: in_grid(row_counts=[3, 0]), "Assumption E.1"),
)


def test_losses_with_leading_axes_are_refused_where_batches_are_visited() -> None:
    one = {"pos_loss": np.ones((2, 2)), "neg_loss": np.ones((2, 2))}
    for name in one:
        for visit in (in_batch.enumerate_batch_losses, in_batch.enumerate_moments, in_batch.exact_moments):
            with pytest.raises(ValueError, match=rf"{name} has shape \(2, 2, 2\); expected \(m, n\)"):
                visit("in_batch", **one | {name: np.ones((2, 2, 2))}, labels=np.eye(2), batch_size=2)


COUNTS = {"row_counts": [1, 2], "col_counts": [2, 3], "n_positives": 9, "shape": (4, 4)}


def objective(**changes: object) -> object:
    arguments = {"pos_loss": np.ones((2, 2)), "neg_loss": np.ones((2, 2)), "labels": np.eye(2), "batch_size": 2}
    return in_batch.expected_objective("unbiased", **arguments | changes)


def of_one_pair(kind: str, **options: object) -> object:
    return in_batch.expected_weights(kind, labels=FIGURE_2, batch_size=1, **options)


def twice_expected(kind: str) -> in_batch.Coefficients:
    once = in_batch.expected_coefficients(kind, batch_size=2, n_positives=9, shape=(4, 4))
    return in_batch.expectation_of(once, p1=Fraction(2, 9), p2=Fraction(1, 36))


SIX_BY_SIX = dict.fromkeys(("pos_loss", "neg_loss", "labels"), np.ones((6, 6)))


def square_loss(kind: str, **changes: object) -> object:
    tables = {"users": np.ones((2, 3)), "items": np.ones((2, 3))}
    sizes = {"row_counts": [1, 1], "col_counts": [1, 1], "n_positives": 3, "shape": (3, 3)}
    return in_batch.square_batch_loss(kind, **tables | sizes | changes)


def no_positive(pairs: float, n_positives: int, shape: tuple[float, float]) -> float:
    return in_batch.probability_of_no_positive(pairs, n_positives=n_positives, shape=shape)


def test_pairs_are_told_apart_wherever_they_stand_and_however_many_cells_there_are() -> None:
    with pytest.raises(ValueError, match=r"the pair \(1, 1\) occurs 2 times"):
        checks.check_distinct_pairs(np.array([0, 1, 1]), np.array([0, 1, 1]), 3)
    narrow = np.array([0, 2**16], dtype=np.int32)  # 2^32 cells, which 32 bits would fold onto each other
    checks.check_distinct_pairs(narrow, np.zeros(2, dtype=np.int32), 2**16)


test_nonsense_is_refused_by_name = refused(
    *((lambda kind=kind: of_one_pair(kind), "batch_size >= 2") for kind in ("unbiased", "popularity", "masked")),
    (lambda: objective(labels=[[1, 0], [0, 2]]), r"labels\[1, 1\] = 2"),
    (lambda: objective(labels=[[1, 0]]), r"shape \(2, 2\)"),
    (lambda: objective(batch_size=3), "exceeds n_positives=2"),
    (lambda: objective(batch_size=0), "at least 1"),
    (lambda: objective(neg_loss=np.full((2, 2), NAN)), r"neg_loss\[0, 0\] = nan"),
    (lambda: objective(neg_loss=np.ones(2)), r"\(..., m, n\)"),
    (lambda: in_batch.observation_probability(np.array([1.5]), 1, **SIZES), "a=1.5, b=1.0 must be >= 0 and whole"),
    (lambda: in_batch.observation_probability(["1"], [1], **SIZES), "a is .*; expected an array of real numbers"),
    (lambda: in_batch.horvitz_thompson_weight(NAN, 1, **SIZES), "a=nan and b=1 must be >= 1"),
    (lambda: in_batch.horvitz_thompson_weight(1, "1", **SIZES), "b is '1'; expected an array of real numbers"),
    (lambda: in_batch.horvitz_thompson_weight(1, 1, batch_size="2", n_positives=5), "batch_size is '2'"),
    (lambda: in_batch.count_weight_second_moment(1.5, 1, **SIZES), "a=1.5 and b=1.0 must be >= 1 and whole"),
    (lambda: in_batch.count_weight_second_moment(1, 1, batch_size="2", n_positives=3), "batch_size is '2'"),
    (lambda: in_batch.in_batch_optimum("square", pop=NAN, **SIZES), "pop=nan must be >= 1"),
    (lambda: in_batch.pair_popularity([1, -1], [1]), "row_counts is .*; expected finite counts of at least 0"),
    (lambda: in_batch.pair_popularity([1], [NAN]), "col_counts is .*; expected finite counts of at least 0"),
    (lambda: in_batch.pair_popularity([1], torch.ones(1)), "row_counts is a ndarray and col_counts a Tensor"),
    (lambda: in_batch.pair_popularity(["1"], [1]), "row_counts is .*; expected an array of real numbers"),
    (lambda: in_batch.balance(True, 5), "batch_size is True; expected a whole number of pairs"),
    (lambda: in_batch.inclusion_probability(-1, **SIZES), "order is -1; expected a whole number"),
    (lambda: in_batch.encoder_cost("naive", 4, 1, 1, shape=(2, -1)), r"shape\[1\] is -1"),
    (lambda: in_batch.balance(1, 1), "at least 2 positives"),
    (lambda: in_batch.balance(5, 4), "exceeds n_positives=4"),
    (lambda: in_batch.batch_size_from_ratio(0, 10), r"ratio is 0; expected a finite number in \(0, 1\]"),
    (lambda: in_batch.misclassification_threshold(1, 9), "no threshold"),
    (lambda: in_batch.misclassification_threshold("2", 9), "batch_size is '2'; expected a whole number of pairs"),
    (lambda: in_batch.encoder_cost("naive", 4, "1", 1), "cost_left is '1'"),
    (lambda: in_batch.in_batch_optimum("hinge", pop=2, batch_size=2, n_positives=5), "loss is 'hinge'"),
    (lambda: in_batch.in_batch_optimum("square", pop=0, batch_size=2, n_positives=5), "pop=0 must be >= 1"),
    (lambda: in_batch.horvitz_thompson_weight(1, 1, batch_size=1, n_positives=5), "two sampled pairs"),
    (lambda: in_batch.observation_probability(4, 3, batch_size=2, n_positives=5), "a=4, b=3"),
    (lambda: in_batch.count_weight_second_moment(1, 1, batch_size=1, n_positives=5), "batch_size >= 2"),
    (lambda: in_batch.count_weight_second_moment(0, 1, **SIZES), "must be >= 1"),
    (lambda: in_batch.encoder_cost("random", 4, 1, 1), "strategy is 'random'"),
    (lambda: in_batch.observation_probability(*np.full((2, 1), 100, np.int8), batch_size=2, n_positives=150), "a=100"),
    (lambda: in_batch.exact_moments("unbiased_omega", **SIX_BY_SIX, batch_size=3, omega=np.ones(36)), "omega has"),
    (lambda: in_batch.batch_weights("unbiased_omega", **COUNTS, omega=np.ones(2)), r"omega has shape \(2,\)"),
    (lambda: twice_expected("in_batch"), "coefficients.power is 1; expected -1 or 0, the power of a batch loss"),
    (lambda: in_batch.encoder_cost("naive", -4, 1, 1), "batch_pairs is -4"),
    (lambda: in_batch.full_objective(pos_loss=[[1.0]], neg_loss=[[1.0]], labels=[[1]], omega=-2), "omega is -2"),
    (lambda: in_batch.full_objective(pos_loss=[[1.0]], neg_loss=[[1.0]], labels=[[2]]), r"labels\[0, 0\] = 2"),
    (lambda: square_loss("masked"), "no Gramian form"),
    (lambda: square_loss("pos_neg", row_counts=[1, 0]), r"Assumption E\.1"),
    (lambda: square_loss("pos_neg", row_counts=["1", "1"]), "row_counts is .*expected an array of real numbers"),
    (lambda: square_loss("pos_neg", items=np.ones((2, 4))), "one width k"),
    (lambda: in_batch.enumerate_moments("unbiased", **SIX_BY_SIX, batch_size=18), "use exact_moments"),
    (lambda: in_batch.expected_weights("in_batch", labels=2 * FIGURE_2, batch_size=3), "must be 0 or 1"),
    (lambda: no_positive(1, 2, (2.7, 3.9)), r"shape\[0\] is 2.7; expected a whole number"),
    (lambda: no_positive(2.5, 2, (3, 3)), "batch_pairs is 2.5"),
    (lambda: no_positive(2, -3, (3, 3)), "n_positives is -3"),
    (lambda: in_batch.horvitz_thompson_weight([0], [1], batch_size=2, n_positives=5), "must be >= 1"),
)


@pytest.mark.parametrize("formula", ["change_of_variables", "expected_positive_sum", "expected_pair_sum"])
def test_sums_over_batches_of_several_matrices_are_those_of_each(formula: str) -> None:
    labels, rng = np.array([[1, 1, 0], [0, 1, 1]]), np.random.default_rng(0)
    stack, size = rng.normal(size=(4, 2, 3)), {} if formula == "change_of_variables" else {"batch_size": 2}
    found = getattr(objectives, formula)(stack, labels, **size)
    assert found == pytest.approx([getattr(objectives, formula)(f, labels, **size) for f in stack], rel=1e-12)
    with pytest.raises(ValueError, match=r"labels\[0, 0\] = 2.0 must be 0 or 1"):
        getattr(objectives, formula)(stack, np.add(labels, [[1, 0, 0], [0, 0, 0]]), **size)


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16, np.float16])
def test_sums_over_cells_of_16_bits_do_not_overflow(half: object) -> None:
    """300^2 positives per row and column are more than float16 holds, and more than bfloat16 can count."""
    ones = np.ones((300, 300))
    given = torch.tensor(ones).to(half) if isinstance(half, torch.dtype) else ones.astype(half)
    found = [
        in_batch.expected_weights("in_batch", labels=given, batch_size=5)[1][0, 0],
        in_batch.change_of_variables(given, ones),
        in_batch.expected_pair_sum(given, ones, batch_size=5),
        in_batch.full_objective(pos_loss=given, neg_loss=given, labels=ones),
        in_batch.expected_objective("in_batch", pos_loss=given, neg_loss=given, labels=ones, batch_size=5),
        in_batch.batch_weights("unbiased", row_counts=given[0] * 300, col_counts=ones[0] * 300, **FULL)[1][0, 1],
    ]
    assert [float(value) for value in found] == pytest.approx([4 / 9e4, 9e4**2, 25, 1, 5, 89_999 / 9e4 / 300 / 299])


FULL = {"n_positives": 90_000, "shape": (300, 300)}


def test_a_power_of_a_readers_own_is_a_power_of_the_counts() -> None:
    weights = {power: in_batch.Coefficients(1, 1, power, 0, 0).grid_factor(np.array([2.0, 3.0])) for power in (-2, 2)}
    assert weights[2].tolist() == [4, 9] and weights[-2].tolist() == [1 / 4, 1 / 9]


def test_whole_numbers_of_few_bits_do_not_wrap_around() -> None:
    assert in_batch.encoder_cost("naive", np.int8(100), np.int8(100), 1) == 10_100
    for counts in (np.array([60_000], np.int32), torch.tensor([60_000], dtype=torch.int32)):
        assert in_batch.pair_popularity(counts, counts).tolist() == [[3_600_000_000]]


def test_the_gradient_of_a_sweep_of_omegas_is_the_sum_of_their_gradients() -> None:
    rng = np.random.default_rng(0)
    own, grid = (torch.tensor(rng.normal(size=shape), requires_grad=True) for shape in ((4,), (4, 4)))
    counts = {"row_counts": [2, 1, 3, 1], "col_counts": [1, 2, 2, 2]}

    def slope(omega) -> torch.Tensor:
        loss = in_batch.batch_loss(
            "unbiased_omega", pos_loss=own, neg_loss=grid, **counts, n_positives=30, shape=(9, 9), omega=omega
        )
        return torch.autograd.grad(loss.sum(), grid)[0]

    assert torch.allclose(slope(np.array([0.1, 0.2])), slope(0.1) + slope(0.2))
