"""The statements of P1 in this chapter, each recomputed; the lesson's claims.yml names these tests.

Formulas are written out here as the paper prints them, and never taken from `course_lib`: where the library states the
same, a test compares the two. Exact arithmetic wherever a statement is exact. `Y` holds the labels of m users and n
items; a step of BPR draws for each positive pair (u, i) one item j that u does not have, uniformly, unless a test says
otherwise.
"""

import itertools
import math
from fractions import Fraction as F

import numpy as np
import pytest
import torch

from course_lib import backbones, datasets, popularity
from course_lib.arrays import exact
from course_lib.backbones import graph
from course_lib.checking import some
from tests.bpr_by_hand import (
    DATA,
    HAS,
    ITEMS,
    M_,
    N_,
    POP,
    USERS,
    Y,
    bpr_gradient,
    cosine,
    e_pop,
    trained,
    whole,
    zipf_labels,
)

# ---- a small world


def half(u, i, j):
    return F(1, 2)


def any_weight(u, i, j):
    """Some weight in (0, 1), another one for each triple: statements that hold with it hold for sigmoids."""
    return F(1 + (7 * u + 3 * i + 5 * j) % 11, 13)


def mean(rows):
    rows = list(rows)
    return sum(rows[1:], rows[0]) / F(len(rows))


def equal(A, B):
    return bool(np.all(np.asarray(A) == np.asarray(B)))


# ---- Section 2: the models


def test_eq2_one_layer_averages_over_neighbours_with_one_over_the_root_of_both_degrees():
    """And where all users have the same degree, an item's first layer is sqrt(degree) times the mean of its users, over
    that constant.
    """
    tables = np.vstack([USERS, ITEMS]).astype(float)
    degrees = np.concatenate([HAS, np.maximum(POP, 1)])
    A = np.block([[np.zeros((M_, M_)), Y], [Y.T, np.zeros((N_, N_))]])
    by_hand = np.zeros_like(tables)
    for a, b in zip(*np.nonzero(A), strict=True):
        by_hand[a] += tables[b] / math.sqrt(degrees[a] * degrees[b])
    assert np.allclose(graph.normalised_adjacency(DATA) @ tables, by_hand, atol=1e-6)
    regular = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]])  # every user has 2
    users = whole(3, 2, 3).astype(float)
    for i, degree in some(enumerate(regular.sum(axis=0))):
        first_layer = sum(users[u] / math.sqrt(2 * degree) for u in range(3) if regular[u, i])
        assert np.allclose(first_layer, math.sqrt(degree / 2) * users[regular[:, i] > 0].mean(axis=0))


def test_def30_the_popularity_of_an_item_is_the_number_of_its_users():
    assert DATA.col_counts.tolist() == [len({u for u in range(M_) if Y[u, i]}) for i in range(N_)] == POP.tolist()


# ---- 3.1: the popularity direction


def untrained_lightgcn(films, *, around, seed):
    """Items of LightGCN before its first step, from numbers drawn around a mean."""
    model = backbones.make("LightGCN", films, d=64, generator=torch.Generator().manual_seed(seed))
    with torch.no_grad():
        for trained_table in (model.users, model.items):
            trained_table.add_(around)
        return model()[1].double().numpy()


def test_figure_1b_what_an_untrained_lightgcn_already_shows():
    """Real films. From a start around 0 more than chance, and far from 1;
    from one with a mean of its own, the graph's degrees are the axis.
    """
    films = datasets.load("movietweetings", core=5, min_rating=7)
    counts = films.col_counts.astype(float)

    def r(around, seed):
        return popularity.projection_correlation(untrained_lightgcn(films, around=around, seed=seed), counts)

    around_zero = [r(0.0, seed) for seed in range(8)]
    error = np.std(around_zero, ddof=1) / math.sqrt(len(around_zero))
    assert (
        popularity.double_dipping_law(counts, 64).mean < np.mean(around_zero) - 3 * error < np.mean(around_zero) < 0.4
    )
    assert r(0.1, 0) > 0.9


def operator(labels):
    """M = Y - (n_u/(n - n_u))(1 - Y), exact."""
    labels = np.asarray(labels).astype(int)
    has, n = labels.sum(axis=1), labels.shape[1]
    return np.array([[F(1) if y else F(-int(k), int(n - k)) for y in row] for row, k in zip(labels, has, strict=True)])


def test_after_training_popular_items_align_with_the_mean_user_where_popularity_leads():
    """3.1.mean: at the start the mean user says nothing of e_pop;
    after training on popular data it does, on two tastes less.
    """
    users, items, labels = trained("zipf")
    start = trained("zipf", steps=0)
    ends = [cosine(u.mean(axis=0), e_pop(i, labels.sum(axis=0))) for u, i in ((users, items), start[:2])]
    assert ends[0] > 0.9 and abs(ends[1]) < 0.5
    users, items, labels = trained("tastes")
    assert abs(cosine(users.mean(axis=0), e_pop(items, labels.sum(axis=0)))) < 0.9


# ---- 3.2, 3.3: what a user feels


def test_eq6_eq7_lemma_a2_the_gradients_are_those_of_autograd():
    u, i, j = (torch.tensor(x.astype(float), requires_grad=True) for x in (USERS[0], ITEMS[0], ITEMS[3]))
    loss = -torch.nn.functional.logsigmoid(u @ i - u @ j)
    w = torch.sigmoid(-(u @ (i - j)))
    wanted = (-w * (i - j), -w * u, w * u)  # (6), then Lemma A.2
    for got, formula in some(zip(torch.autograd.grad(loss, (u, i, j)), wanted, strict=True)):
        assert torch.allclose(got, formula, atol=1e-12)
    own, others = (ITEMS[Y[0] == k].astype(float) for k in (1, 0))
    user = torch.tensor(USERS[0].astype(float) / 5, requires_grad=True)
    s, t = torch.tensor(own) @ user, torch.tensor(others) @ user
    torch.nn.functional.softplus(t[None, :] - s[:, None]).mean().backward()
    assert np.allclose(user.grad.numpy(), bpr_gradient(user.detach().numpy(), own, others), atol=1e-12)  # (7)


POPULAR_USER = np.array([2.0, 0.0])  # along e_pop = (1, 0)
POSITIVES = np.array([[4.0, 0.0], [0.0, 1.0]])  # one popular item, long and along e_pop; one niche item
NEGATIVES = np.array([[1.0, -1.0], [1.0, 0.5], [-1.0, 0.0]])


def test_a_popular_positive_pulls_the_ideal_direction_more_than_the_gradient():
    """3.2.pos: the popular item is in d* with full weight;
    in the gradient its weight is that of pairs that are right already.
    """
    ideal = POSITIVES.mean(axis=0) - NEGATIVES.mean(axis=0)
    step = -bpr_gradient(POPULAR_USER, POSITIVES, NEGATIVES)
    pop = np.array([1.0, 0.0])
    assert cosine(ideal, pop) > 0.9 and cosine(step, pop) < 0.5
    fresh = -bpr_gradient(0 * POPULAR_USER, POSITIVES, NEGATIVES)  # all weights one half: contaminated exactly as d* is
    assert np.allclose(fresh, ideal / 2)
    without = -bpr_gradient(0 * POPULAR_USER, POSITIVES[1:], NEGATIVES)  # without the popular item: less along e_pop
    assert cosine(without, pop) < cosine(fresh, pop)


# ---- Appendix A


def test_enumerate_the_empirical_mean_of_a_start_is_short():
    """AssA.1: E |v|^2 = sigma^2 d / n exactly, over every start with entries 1 and -1; sometimes v = 0."""
    n, d = 4, 2
    squares = []
    for entries in itertools.product((1, -1), repeat=n * d):
        v = mean(exact(np.array(entries).reshape(n, d)))
        squares.append(v @ v)
    assert mean(squares) == F(d, n) and 0 in squares


def test_the_mean_user_turns_by_about_45_degrees():
    """AssA.1: what grows is the sum of two independent vectors, the top parts of the users' and of the items' start:
    cosine 1/sqrt(2).
    """
    turned = []
    for seed in range(4):
        start, end = (trained("zipf", steps=steps, d=64, seed=seed)[0].mean(axis=0) for steps in (0, 25))
        assert np.linalg.norm(end) > 5 * np.linalg.norm(start)
        turned.append(cosine(start, end))
    assert np.mean(turned) == pytest.approx(math.sqrt(0.5), abs=0.1) and max(turned) < 0.85
    u, _, v = np.linalg.svd(operator(zipf_labels()).astype(float))
    rng, cosines = np.random.default_rng(0), []
    for _ in range(100):  # the linear flow, started from anywhere, ends along u_1'E_U(0) + v_1'E_I(0)
        users, items = rng.normal(size=(len(u), 64)), rng.normal(size=(len(v), 64))
        cosines.append(cosine(u[:, 0] @ users, u[:, 0] @ users + v[0] @ items))
    assert np.mean(cosines) == pytest.approx(math.sqrt(0.5), abs=0.03)


def test_eq20_the_positive_part_splits_into_niche_and_popular():
    own = np.flatnonzero(Y[2])
    others = np.flatnonzero(Y[2] == 0)
    weight = {i: mean(any_weight(2, i, j) for j in others) for i in own}
    whole_part = mean(any_weight(2, i, j) * ITEMS[i] for i in own for j in others)
    niche, popular = ([i for i in own if (POP[i] >= 2) == kind] for kind in (False, True))
    assert niche and popular
    split = [sum((weight[i] * ITEMS[i] / F(len(own)) for i in part), 0 * ITEMS[0]) for part in (niche, popular)]
    assert equal(split[0] + split[1], whole_part)
