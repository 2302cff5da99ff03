"""The statements of P1, each recomputed; `book/claims/P1.yml` names these tests.

Formulas are written out here as the paper prints them, and never taken from `course_lib`: where the library states the
same, a test compares the two. Exact arithmetic wherever a statement is exact. `Y` holds the labels of m users and n
items; a step of BPR draws for each positive pair (u, i) one item j that u does not have, uniformly, unless a test says
otherwise.
"""

import itertools
import math
from fractions import Fraction as F
from functools import cache

import numpy as np
import pytest
import sympy
import torch
from scipy import optimize

from course_lib import backbones, correction, datasets, debiasing, losses, popularity
from course_lib.data.interactions import Interactions
from course_lib.maths.arrays import exact
from course_lib.models.backbones import graph
from course_lib.papers import p1, select, table, value
from tests import errata_numbers

# ----------------------------------------------------------------------------------------------------------- a small
# world

Y = np.array(
    [[1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0], [1, 1, 0, 1, 0, 0], [1, 0, 0, 0, 1, 0]]
)  # m = 4 users, n = 6 items
M_, N_ = Y.shape
POP, HAS = Y.sum(axis=0), Y.sum(axis=1)


def whole(rows, width, seed):
    """A table of whole numbers from -3 to 3 without 0, as fractions."""
    return exact(np.random.default_rng(seed).choice([-3, -2, -1, 1, 2, 3], size=(rows, width)))


USERS, ITEMS = whole(M_, 3, 1), whole(N_, 3, 2)
TABLES = USERS.astype(float), ITEMS.astype(float)
DATA = Interactions(*np.nonzero(Y), n_users=M_, n_items=N_)


def triples(labels=Y):
    """All (u, i, j) with i a positive of u and j none, and the probability of j given (u, i)."""
    for u, row in enumerate(labels):
        free = np.flatnonzero(row == 0)
        for i, j in itertools.product(np.flatnonzero(row), free):
            yield u, i, j, F(1, len(free))


def expected_negatives(labels=Y):
    """Neg_i: how often each item is expected as the negative of a pass over the pairs, sum over u not in U_i of n_u/(n
    - n_u).
    """
    found = np.full(labels.shape[1], F(0))
    for _, _, j, p in triples(labels):
        found[j] += p
    return found


def expected_moves(users, weight, labels=Y):
    """Minus the expected gradient in every item of one pass: for each triple w e_u to i and -w e_u to j."""
    found = np.full((labels.shape[1], users.shape[1]), F(0))
    for u, i, j, p in triples(labels):
        found[i] = found[i] + p * weight(u, i, j) * users[u]
        found[j] = found[j] - p * weight(u, i, j) * users[u]
    return found


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


def cosine(x, y):
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    return float(x @ y / (np.linalg.norm(x) * np.linalg.norm(y)))


def sigmoid(x):
    return 1 / (1 + np.exp(-np.asarray(x, dtype=float)))


def softplus(x):
    """-ln sigma(-x) = ln(1 + e^x)."""
    return np.logaddexp(0, x)


def margins(user, positives, negatives):
    """(p, q): s_i - s_j."""
    return (positives @ user)[:, None] - (negatives @ user)[None, :]


def bpr(user, positives, negatives):
    """(8), the mean over all pairs of one user."""
    return softplus(-margins(user, positives, negatives)).mean()


def bpr_gradient(user, positives, negatives):
    """(7): the mean over the pairs of w (e_j - e_i)."""
    w = sigmoid(-margins(user, positives, negatives))
    return (w.mean(axis=0) @ negatives) / len(negatives) - (w.mean(axis=1) @ positives) / len(positives)


def ddc(scalars, user, positives, negatives, pref, pop):
    """(13) for one user, the mean over all pairs."""
    alpha, beta = scalars
    return softplus((negatives @ (user + alpha * pop))[None, :] - (positives @ (user + beta * pref))[:, None]).mean()


def auc(user, positives, negatives):
    """The share of the pairs that are ranked right."""
    return (margins(user, positives, negatives) > 0).mean()


def e_pop(items, counts, ratio=0.05):
    """(4)."""
    size = max(1, round(ratio * len(counts)))
    order = np.argsort(-np.asarray(counts), kind="stable")
    difference = items[order[:size]].mean(axis=0) - items[order[-size:]].mean(axis=0)
    return difference / np.linalg.norm(difference)


# --------------------------------------------------------------------------------------------- small models, really
# trained


def zipf_labels(m=40, n=50, seed=0):
    rng = np.random.default_rng(seed)
    p = 1 / np.arange(1, n + 1) ** 0.8
    labels = np.zeros((m, n), dtype=bool)
    for u in range(m):
        labels[u, rng.choice(n, rng.integers(5, 12), replace=False, p=p / p.sum())] = True
    return labels


def two_tastes(m=40, n=50, seed=0):
    """Two halves of the users like two halves of the items;
    within its half each item is as popular as any other, up to chance.
    """
    rng = np.random.default_rng(seed)
    labels = np.zeros((m, n), dtype=bool)
    for u in range(m):
        labels[u, u % 2 * n // 2 + rng.choice(n // 2, 8, replace=False)] = True
    return labels


@cache
def trained(data, optimiser="sgd", layers=0, decay=0.0, steps=150, d=12, seed=0):
    """(users, items, labels) after full-gradient BPR of the expected loss, from a start whose items have mean 0 and
    spread 0.1.
    """
    labels = {"zipf": zipf_labels, "tastes": two_tastes}[data]()
    m, n = labels.shape
    E = torch.randn(m + n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 0.1
    E[m:] -= E[m:].mean(dim=0)
    E.requires_grad_()
    A = np.block([[np.zeros((m, m)), labels], [labels.T, np.zeros((n, n))]])
    scale = np.maximum(A.sum(axis=1), 1) ** -0.5
    A, liked = torch.tensor(scale[:, None] * A * scale), torch.tensor(labels)
    per_triple = (liked[:, :, None] & ~liked[:, None, :]) / (n - liked.sum(dim=1))[:, None, None] / liked.sum()
    optimiser = torch.optim.SGD([E], lr=40.0) if optimiser == "sgd" else torch.optim.Adam([E], lr=0.02)

    def embeddings():
        layer, total = E, E
        for _ in range(layers):
            layer = A @ layer  # (2)
            total = total + layer
        return (total / (layers + 1)).split((m, n))

    for _ in range(steps):
        left, right = embeddings()
        scores = left @ right.T
        loss = (torch.nn.functional.softplus(scores[:, None, :] - scores[:, :, None]) * per_triple).sum()
        optimiser.zero_grad()
        (loss + decay * E.square().sum()).backward()
        optimiser.step()
    with torch.no_grad():
        return *(x.numpy() for x in embeddings()), labels


# ------------------------------------------------------------------------------------------------ Section 2: the models


def test_eq1_the_score_is_the_inner_product_in_every_backbone():
    for name in backbones.names():
        small = {"clusters": 2} if name == "NCL" else {}
        model = backbones.make(name, DATA, d=4, generator=torch.Generator().manual_seed(0), **small)
        users, items = model()
        assert users.shape == (M_, 4) and items.shape == (N_, 4)
        got = sum(users[:, t, None] * items[None, :, t] for t in range(4))
        assert torch.allclose(got, users @ items.T, atol=1e-5)


def test_eq2_one_layer_averages_over_neighbours_with_one_over_the_root_of_both_degrees():
    """And where all users have the same degree, an item's first layer is sqrt(degree) times the mean of its users, over
    that constant.
    """
    tables = np.vstack([USERS, ITEMS]).astype(float)
    degrees = np.concatenate([HAS, np.maximum(POP, 1)])
    A = np.block([[np.zeros((M_, M_)), Y], [Y.T, np.zeros((N_, N_))]])
    by_hand = np.zeros_like(tables)
    for a, b in zip(*np.nonzero(A)):
        by_hand[a] += tables[b] / math.sqrt(degrees[a] * degrees[b])
    assert np.allclose(graph.normalised_adjacency(DATA) @ tables, by_hand, atol=1e-6)
    regular = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]])  # every user has 2
    users = whole(3, 2, 3).astype(float)
    for i, degree in enumerate(regular.sum(axis=0)):
        first_layer = sum(users[u] / math.sqrt(2 * degree) for u in range(3) if regular[u, i])
        assert np.allclose(first_layer, math.sqrt(degree / 2) * users[regular[:, i] > 0].mean(axis=0))


def test_eq3_eq8_the_loss_is_the_softplus_of_minus_the_margin():
    s, t = np.array([0.3, -2.0, 5.0]), np.array([1.0, -2.0, -30.0])
    assert losses.bpr(s, t) == pytest.approx(np.mean([math.log(1 + math.exp(b - a)) for a, b in zip(s, t)]), rel=1e-12)
    x = sympy.symbols("x", real=True)
    assert sympy.simplify(-sympy.log(1 / (1 + sympy.exp(-x))) - sympy.log(1 + sympy.exp(-x))) == 0


def test_def30_the_popularity_of_an_item_is_the_number_of_its_users():
    assert DATA.col_counts.tolist() == [len({u for u in range(M_) if Y[u, i]}) for i in range(N_)] == POP.tolist()


# ------------------------------------------------------------------------------------------ 3.1: the popularity
# direction


def test_eq4_head_minus_tail_and_the_error_of_a_centroid():
    rng = np.random.default_rng(0)
    items, counts = rng.normal(size=(60, 5)), rng.permutation(60)
    direction = popularity.popularity_direction(items, counts, 0.05)
    assert np.allclose(direction, e_pop(items, counts)) and np.linalg.norm(direction) == pytest.approx(1)
    head, tail = np.flatnonzero(counts >= 57), np.flatnonzero(counts < 3)
    assert np.allclose(direction * np.linalg.norm(d := items[head].mean(0) - items[tail].mean(0)), d)


def test_enumerate_the_mean_square_error_of_head_minus_tail():
    """E |v_hat - v|^2 = tr S_h / H + tr S_t / T, over every draw of H = 2 and T = 3 vectors from two populations, in
    fractions.
    """
    head, tail, H, T = whole(3, 2, 5), whole(2, 2, 6), 2, 3

    def trace(rows):
        centre = mean(rows)
        return mean((x - centre) @ (x - centre) for x in rows)

    v, errors = mean(head) - mean(tail), []
    for a in itertools.product(head, repeat=H):
        for b in itertools.product(tail, repeat=T):
            off = mean(a) - mean(b) - v
            errors.append(off @ off)
    assert mean(errors) == trace(head) / H + trace(tail) / T


def test_popularity_is_not_proportional_to_the_projection():
    """Under SGD from items of mean 0 the projections sum to 0 (conservation) and the popularities to |R| > 0. Any
    factor is refuted.

    62 of 100 projections below 0 is what is seen where the correlation is above 0.9: an affine law, not a proportional
    one.
    """
    _, items, labels = trained("zipf")
    counts = labels.sum(axis=0)
    projections = items @ e_pop(items, counts)
    assert abs(projections.sum()) < 1e-9 * np.abs(projections).sum() and counts.sum() > 0
    assert np.corrcoef(projections, counts)[0, 1] > 0.85
    assert 0.5 < (projections < 0).mean() < 0.8
    slope, intercept = np.polyfit(projections, counts, 1)
    assert intercept == pytest.approx(counts.mean()) and slope > 0


def test_a_large_correlation_is_not_inevitable():
    """The same training on two tastes: its axis of most variance is the taste, and the projection knows little of the
    popularity.
    """
    _, items, labels = trained("tastes")
    counts, taste = labels.sum(axis=0), np.repeat([1.0, -1.0], labels.shape[1] // 2)
    first = np.linalg.svd(items - items.mean(axis=0), full_matrices=False)[0][:, 0]
    assert abs(cosine(first, taste)) > 0.95
    crossed = popularity.cross_fitted_correlation(
        items, counts.astype(float), 0.1, rng=np.random.default_rng(0), folds=5
    )
    assert abs(crossed) < 0.5
    *_, zipf = trained("zipf")
    m = operator(zipf), operator(labels)
    tops = [np.linalg.svd(x.astype(float))[2][0] for x in m]
    assert (
        abs(np.corrcoef(tops[0], zipf.sum(axis=0))[0, 1]) > 0.95
    )  # popularity is the top right singular vector here ...
    assert abs(np.corrcoef(tops[1], counts)[0, 1]) < 0.5 and abs(cosine(tops[1], taste)) > 0.95  # ... and taste here


def test_figure_1b_the_null_of_the_correlation_is_not_zero():
    """Random embeddings that know nothing of the counts:
    the head items choose the direction that they are then measured along.
    """
    rng = np.random.default_rng(1)
    n, d, rho = 300, 64, 0.05
    counts = np.sort(rng.zipf(1.6, n).clip(max=2000))[::-1].astype(float)
    size = round(rho * n)
    gap = counts[:size].mean() - counts[-size:].mean()
    delta = math.sqrt(d / (2 * rho * n))
    predicted = rho * delta * gap / (counts.std() * math.sqrt(1 + 2 * rho * delta**2))
    found = []
    for _ in range(300):
        items = rng.normal(size=(n, d))
        found.append(np.corrcoef(items @ e_pop(items, counts), counts)[0, 1])
    error = np.std(found) / math.sqrt(len(found))
    assert np.mean(found) == pytest.approx(predicted, abs=4 * error + 0.01) and predicted > 0.2 > 20 * error
    fair = [popularity.cross_fitted_correlation(rng.normal(size=(n, d)), counts, rho, rng=rng) for _ in range(300)]
    assert abs(np.mean(fair)) < 4 * np.std(fair) / math.sqrt(len(fair)) < 0.05


@pytest.mark.parametrize(("start", "least", "most"), [(0.0, 0.1, 0.4), (0.1, 0.9, 1.0)])
def test_figure_1b_what_an_untrained_lightgcn_already_shows(start, least, most):
    """Real films. From a start of mean 0 not much more than chance;
    from one with a mean of its own, the graph's degrees are the axis.
    """
    films = datasets.load("movietweetings", core=5, min_rating=7)
    model = backbones.make("LightGCN", films, d=64, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        for trained_table in (model.users, model.items):
            trained_table += start
        items = model()[1].double().numpy()
    assert least < popularity.projection_correlation(items, films.col_counts.astype(float)) < most


def operator(labels):
    """M = Y - (n_u/(n - n_u))(1 - Y), exact."""
    labels = np.asarray(labels).astype(int)
    has, n = labels.sum(axis=1), labels.shape[1]
    return np.array([[F(1) if y else F(-int(k), int(n - k)) for y in row] for row, k in zip(labels, has)])


def test_eq5_needs_the_negative_role():
    """(5) is the sum over an item's users. The expected move at margin 0 is half the sum with M:
    another one for each item that somebody lacks.
    """
    moves = expected_moves(USERS, half)
    assert equal(moves, operator(Y).T @ USERS / F(2))
    for i in range(N_):
        liked = USERS[Y[:, i] > 0]
        identity = POP[i] * mean(liked) if len(liked) else 0 * USERS[0]
        assert equal(identity, Y[:, i] @ USERS)
        assert equal(2 * moves[i], identity) == (POP[i] == M_)
    nobody = int(np.flatnonzero(POP == 0)[0])  # an item without a user: (5) says that it stays
    assert np.any(moves[nobody] != 0)


def test_the_operator_has_rows_that_sum_to_zero():
    """M1 = 0: what the positives of a step give, its negatives take, for any weights."""
    assert equal(operator(Y).sum(axis=1), np.zeros(M_))
    assert equal(expected_moves(USERS, any_weight).sum(axis=0), np.zeros(3))


def test_a_popular_item_may_keep_a_taste_of_its_own():
    """PropA.1 and the Law of Large Numbers: users at +v in one cluster, at -v in the other; an item that only the first
    likes.

    However popular it becomes, the mean of its users is +v and the mean of all is 0.
    """
    v = exact(np.array([2, -1]))
    for size in (1, 10, 1000):
        users = np.array([v] * size + [-v] * size)
        liked = mean(users[:size])
        assert equal(liked, v) and equal(mean(users), 0 * v)


@pytest.mark.parametrize("size", [1, 2, 4, 5, 6])
def test_enumerate_the_mean_of_a_random_audience(size):
    """If U_i is a uniformly random set of P users:
    no bias, and variance sigma^2 (n - P)/(P (n - 1)), over every such set.
    """
    users = whole(6, 2, 9)
    v = mean(users)
    sigma2 = mean((x - v) @ (x - v) for x in users)
    audiences = [mean(users[list(chosen)]) for chosen in itertools.combinations(range(6), size)]
    assert equal(mean(audiences), v)
    assert mean((x - v) @ (x - v) for x in audiences) == sigma2 * F(6 - size, size * 5)


def test_at_the_start_an_audience_points_along_the_mean_user_only_if_it_is_most_of_them():
    """cos(mean of P users, mean of all) is about sqrt(P/n): 0.1 for one percent of the users.

    The signal is the noise at P = n/2.
    """
    rng = np.random.default_rng(0)
    n, d = 2000, 64
    for share in (0.01, 0.25, 0.5, 0.9):
        size = round(share * n)
        found = []
        for _ in range(30):
            users = rng.normal(size=(n, d))
            found.append(cosine(users[:size].mean(axis=0), users.mean(axis=0)))
        assert np.mean(found) == pytest.approx(math.sqrt(share), abs=0.05)
    assert F(1000, 2000 - 1000) == 1  # |v|^2 over the noise is P/(n - P)


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


# --------------------------------------------------------------------------------------------- 3.2, 3.3: what a user
# feels


def test_eq6_eq7_lemma_a2_the_gradients_are_those_of_autograd():
    u, i, j = (torch.tensor(x.astype(float), requires_grad=True) for x in (USERS[0], ITEMS[0], ITEMS[3]))
    loss = -torch.nn.functional.logsigmoid(u @ i - u @ j)
    w = torch.sigmoid(-(u @ (i - j)))
    wanted = (-w * (i - j), -w * u, w * u)  # (6), then Lemma A.2
    for got, formula in zip(torch.autograd.grad(loss, (u, i, j)), wanted):
        assert torch.allclose(got, formula, atol=1e-12)
    own, others = (ITEMS[Y[0] == k].astype(float) for k in (1, 0))
    user = torch.tensor(USERS[0].astype(float) / 5, requires_grad=True)
    s, t = torch.tensor(own) @ user, torch.tensor(others) @ user
    torch.nn.functional.softplus(t[None, :] - s[:, None]).mean().backward()
    assert np.allclose(user.grad.numpy(), bpr_gradient(user.detach().numpy(), own, others), atol=1e-12)  # (7)


def test_the_mean_of_a_users_negatives_points_away_from_his_positives():
    """3.2.neg. One exact SGD step for each triple, any weights: the sum of the items stays, so g_neg = (n e_bar - n_u
    g_pos)/(n - n_u).

    With items of mean 0 the negatives of every user point against his own positives, whatever e_pop is.
    """
    items = ITEMS - mean(ITEMS)
    for u, i, j, _ in triples():
        step = F(1, 3) * any_weight(u, i, j) * USERS[u]
        items[i], items[j] = items[i] + step, items[j] - step
    assert equal(items.sum(axis=0), 0 * items[0]) and np.any(items != ITEMS - mean(ITEMS))
    for u in range(M_):
        pos, neg = mean(items[Y[u] > 0]), mean(items[Y[u] == 0])
        assert equal(neg, -F(int(HAS[u]), int(N_ - HAS[u])) * pos)


def alignment_of_negatives(*kind, **more):
    _, items, labels = trained("zipf", *kind, **more)
    axis = e_pop(items, labels.sum(axis=0))
    return np.mean([cosine(items[~row].mean(axis=0), axis) for row in labels]), cosine(items.mean(axis=0) + 1e-30, axis)


def test_whether_negatives_align_with_the_popularity_direction_is_the_architectures_choice():
    """The same data: MF under SGD and under Adam against it, LightGCN along it."""
    assert alignment_of_negatives("sgd")[0] < -0.2
    assert alignment_of_negatives("adam")[0] < -0.5 and alignment_of_negatives("adam")[1] < -0.7
    assert alignment_of_negatives("adam", decay=1e-4)[0] < -0.2
    assert alignment_of_negatives("adam", layers=2)[0] > 0.8


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


def test_eq19_no_unit_vector_has_a_larger_mean_margin_than_d_star():
    difference = mean(ITEMS[Y[0] > 0]) - mean(ITEMS[Y[0] == 0])
    for x in itertools.product(range(-4, 5), repeat=3):  # exact: (x'g)^2 <= |x|^2 |g|^2, equal only for parallel x
        x = exact(np.array(x))
        cross = np.array([x[a] * difference[b] - x[b] * difference[a] for a, b in ((0, 1), (0, 2), (1, 2))])
        assert (x @ difference) ** 2 + cross @ cross == (x @ x) * (difference @ difference)
    every_pair = mean(ITEMS[i] - ITEMS[j] for i in np.flatnonzero(Y[0]) for j in np.flatnonzero(Y[0] == 0))
    assert equal(every_pair, difference)


def test_the_loss_is_convex_in_the_user_while_items_stand_still():
    """3.3: the Hessian is the mean of sigma(x) sigma(-x) z z' over the pairs, z = e_i - e_j: never negative.

    No local minimum traps.
    """
    z = sympy.Matrix(sympy.symbols("z0:3", real=True))
    e = sympy.Matrix(sympy.symbols("e0:3", real=True))
    loss = sympy.log(1 + sympy.exp(-(z.T * e)[0]))
    w = 1 / (1 + sympy.exp((z.T * e)[0]))
    assert (sympy.hessian(loss, list(e)) - w * (1 - w) * z * z.T).applyfunc(lambda x: sympy.simplify(x)) == sympy.zeros(
        3
    )
    starts = np.random.default_rng(0).normal(size=(6, 2)) * 5
    ends = [optimize.minimize(bpr, x, args=(TRADE[0], TRADE[1]), jac=bpr_gradient, tol=1e-12).x for x in starts]
    assert np.ptp(ends, axis=0).max() < 1e-5  # from anywhere to the same user


TRADE = (
    np.array([[-1.0, -2.0], [0.0, 1.0]]),
    np.array([[1.0, -2.0], [-2.0, -1.0], [1.0, -1.0]]),
)  # positives, negatives of one user


@cache
def traded():
    """A user at the minimum of his BPR loss, and the same user after DDC at its own minimum:
    (before, after, (alpha, beta), pref, pop).
    """
    positives, negatives = TRADE
    before = optimize.minimize(bpr, np.zeros(2), args=TRADE, jac=bpr_gradient, tol=1e-13).x
    top = positives[np.argmax(positives @ before)]
    pref, pop = top / np.linalg.norm(top), np.array([1.0, 0.0])
    scalars = correction.solve_user(positives @ before, negatives @ before, positives @ pref, negatives @ pop)
    return before, before + scalars[0] * pop + scalars[1] * pref, scalars, pref, pop


def test_the_optimum_of_ddc_may_rank_worse_than_the_model_it_repairs():
    """3.3 and A.5: the minimum of (13) is below the BPR loss, and the embedding of (14) has a higher one and ranks 1
    pair of 6 right, not 5.
    """
    before, after, scalars, pref, pop = traded()
    assert np.abs(bpr_gradient(before, *TRADE)).max() < 1e-7
    slope = optimize.approx_fprime(np.array(scalars), ddc, 1e-7, before, *TRADE, pref, pop)
    assert np.abs(slope).max() < 1e-5
    assert ddc(scalars, before, *TRADE, pref, pop) < bpr(before, *TRADE) - 0.2
    assert bpr(after, *TRADE) > bpr(before, *TRADE) + 0.2
    assert (auc(before, *TRADE), auc(after, *TRADE)) == (5 / 6, 1 / 6)
    assert ddc((0, 0), before, *TRADE, pref, pop) == pytest.approx(bpr(before, *TRADE), rel=1e-12)  # (0, 0) is allowed


def test_at_the_minimum_of_bpr_no_scalars_lower_the_loss_that_counts():
    before, _, _, pref, pop = traded()
    grid = itertools.product(np.linspace(-3, 3, 13), repeat=2)
    worse = [bpr(before + a * pop + b * pref, *TRADE) - bpr(before, *TRADE) for a, b in grid if (a, b) != (0, 0)]
    assert min(worse) > 1e-6


def test_a_larger_step_along_a_preference_may_lift_a_negative_more():
    """ThmA.5, by hand: one positive (1, 0, 0), and a negative that is longer along the same axis.

    beta = 4 is still short of the optimum.
    """
    user, positives = np.array([0.5, 1.0, 0.0]), np.array([[1.0, 0.0, 0.0]])
    negatives = np.array([[2.0, -2.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -1.0]])
    pref, pop = positives[0], np.array([0.0, 0.0, 1.0])
    values = [ddc((0, beta), user, positives, negatives, pref, pop) for beta in (0, 1, 4, 8)]
    assert values == sorted(values, reverse=True) and values[2] == pytest.approx(0.0087, abs=5e-5)
    final = user + 4 * pref
    assert (bpr(user, positives, negatives), bpr(final, positives, negatives)) == pytest.approx(
        (0.383, 0.867), abs=5e-4
    )
    assert auc(user, positives, negatives) == 1 and auc(final, positives, negatives) == pytest.approx(2 / 3)


# ------------------------------------------------------------------------------------------------------ Section 4: DDC


def test_eq9_two_copies_of_a_user_give_the_same_loss():
    u, i, j = TABLES[0][0], TABLES[1][0], TABLES[1][3]
    assert softplus(-(u.copy() @ i - u.copy() @ j)) == softplus(-(u @ (i - j)))
    other = u + np.array([1.0, 0.0, 0.0])
    assert softplus(-(u @ i - other @ j)) != softplus(-(u @ (i - j)))


def test_eq10_the_preference_direction_is_the_normed_sum_of_the_best_own_items():
    """And it may not exist: two own items that cancel.

    It is made of training positives, so that their projections are mostly positive.
    """
    users, items = TABLES
    for top in (0.3, 0.5, 1.0):
        found = correction.preference_directions(users, items, DATA, top)
        for u in range(M_):
            own = np.flatnonzero(Y[u])
            best = sorted(own, key=lambda i: (-(users[u] @ items[i]), i))[: math.ceil(top * len(own))]
            total = items[best].sum(axis=0)
            assert np.allclose(found[u], total / np.linalg.norm(total))
            assert items[best].sum(axis=0) @ found[u] > 0
    opposite = items.copy()
    opposite[1] = -opposite[0]
    with pytest.raises(ValueError, match="sum to zero"):
        correction.preference_directions(users, opposite, DATA, 1.0)


def corrected():
    model = debiasing.DDC(*TABLES, DATA, top=0.5, ratio=0.2)
    with torch.no_grad():
        model.alpha += torch.tensor([0.5, -1.0, 0.25, 2.0])
        model.beta += torch.tensor([-0.5, 1.0, 0.75, 0.1])
    return model


def test_eq11_eq12_eq13_eq23_the_positive_and_the_negative_item_meet_two_users():
    """(23), which A.3 calls itself "precisely Equation 23", is (13); (21) and (22) are (11) and (12)."""
    model, (users, items) = corrected(), TABLES
    pop, pref = e_pop(items, POP, 0.2), correction.preference_directions(users, items, DATA, 0.5)
    alpha, beta = model.alpha.detach().numpy(), model.beta.detach().numpy()
    rows = np.array([(u, i, j) for u, i, j, _ in triples()])
    u, i, j = rows.T
    on_positive, on_negative = users + beta[:, None] * pref, users + alpha[:, None] * pop
    wanted = softplus((on_negative[u] * items[j]).sum(1) - (on_positive[u] * items[i]).sum(1)).mean()
    got = model.loss(*(torch.from_numpy(x) for x in (u, i, j)))
    assert got.item() == pytest.approx(wanted, rel=1e-6)
    swapped = softplus((on_positive[u] * items[j]).sum(1) - (on_negative[u] * items[i]).sum(1)).mean()
    assert got.item() != pytest.approx(swapped, rel=1e-3)


def test_eq14_eq24_the_final_user_carries_both_corrections_in_the_same_dimension():
    model, (users, items) = corrected(), TABLES
    final, same = model()
    pop, pref = e_pop(items, POP, 0.2), correction.preference_directions(users, items, DATA, 0.5)
    wanted = users + model.alpha.detach().numpy()[:, None] * pop + model.beta.detach().numpy()[:, None] * pref
    assert np.allclose(final.detach().numpy(), wanted) and np.allclose(same.numpy(), items)
    assert final.shape == users.shape and sum(p.numel() for p in model.parameters()) == 2 * M_


def test_alpha_may_become_positive():
    """4.1.alpha: sign alpha* = -sign of the sum over pairs of sigma(-(s_i + beta* a_i - s_j)) b_j.

    Two negatives at b = 1 and b = -1, and a user who prefers what is unpopular: for every beta the sum is negative, so
    that alpha* > 0.
    """
    user, pop, pref = np.array([-0.7, 0.2]), np.array([1.0, 0.0]), np.array([0.0, 1.0])
    positives, negatives = np.array([[0.0, 1.0], [0.0, -0.5]]), np.array([[1.0, 0.0], [-1.0, 0.0]])
    x, c = sympy.symbols("x c", real=True)
    slope = 1 / (1 + sympy.exp(x + c)) - 1 / (
        1 + sympy.exp(x - c)
    )  # at alpha = 0: sigma(-(x + c)) b_1 + sigma(-(x - c)) b_2
    assert all(slope.subs({x: k, c: sympy.Rational(7, 10)}) < 0 for k in range(-5, 6))
    assert (
        sympy.simplify(sympy.diff(slope, c) + sum(sympy.exp(y) / (1 + sympy.exp(y)) ** 2 for y in (x + c, x - c))) == 0
    )  # falls from 0
    alpha, beta = correction.solve_user(positives @ user, negatives @ user, positives @ pref, negatives @ pop)
    grid = [
        ddc((alpha + s, beta + t), user, positives, negatives, pref, pop)
        for s in (-0.01, 0, 0.01)
        for t in (-0.01, 0, 0.01)
    ]
    assert alpha > 0.5 and min(grid) == grid[4]
    mirrored = correction.solve_user(positives @ -user, negatives @ -user, positives @ pref, negatives @ pop)
    assert mirrored[0] < -0.5


@pytest.mark.parametrize("seed", range(8))
def test_the_sign_rule_of_alpha(seed):
    rng = np.random.default_rng(seed)
    s, t, a, b = rng.normal(size=3), rng.normal(size=5) + 1, np.array([1.2, 0.4, -0.3]), rng.normal(size=5) * 2
    if not correction.has_minimiser(a, b):
        b = b - b.mean()
    alpha, beta = correction.solve_user(s, t, a, b)
    slope = (sigmoid(t[None, :] - (s + beta * a)[:, None]) * b).sum()
    assert np.sign(alpha) == -np.sign(slope)


def test_moving_the_origin_of_the_items_changes_no_list_and_flips_alpha():
    """4.1.alpha: add one vector to every item. No margin, no e_pop and no ranking changes;
    b_j does, and with it the sign of alpha.
    """
    users, items, labels = trained("zipf", "adam")
    counts = labels.sum(axis=0)
    axis = e_pop(items, counts)
    data = Interactions(*np.nonzero(labels), n_users=len(labels), n_items=len(counts))
    share, scale = {}, (items @ axis).std()
    for shift in (-2.0, 0.0, 2.0):
        moved = items + shift * scale * axis
        assert np.allclose(e_pop(moved, counts), axis)
        scores, before = users @ moved.T, users @ items.T
        assert np.allclose(scores - scores[:, :1], before - before[:, :1], atol=1e-9)
        model = debiasing.DDC(users, moved, data)
        model.solve(ridge=1e-3)
        share[shift] = (model.alpha < 0).double().mean().item()
    assert share[-2.0] < 0.2 and share[2.0] > 0.9


def test_the_surrogate_minimises_the_loss_to_second_order():
    """ln 2 - x/2 + x^2/8 in place of ln(1 + e^-x): no other point is lower;
    and with b of mean 0, alpha is -E[s_j b_j]/E[b^2].
    """
    s, t, a, b = np.array([0.2, -0.1, 0.4]), np.array([0.3, -0.2]), np.array([1.0, -0.4, 0.6]), np.array([0.8, -0.8])

    def quadratic(scalars, b):
        x = (s + scalars[1] * a)[:, None] - (t + scalars[0] * b)[None, :]
        return (math.log(2) - x / 2 + x**2 / 8).mean()

    for b_here in (b, b + 0.3):
        found = correction.surrogate_user(s, t, a, b_here)
        assert np.abs(optimize.approx_fprime(np.array(found), quadratic, 1e-6, b_here)).max() < 1e-5
    assert correction.surrogate_user(s, t, a, b)[0] == pytest.approx(-(t * b).mean() / (b * b).mean(), rel=1e-12)


def test_eq13_has_a_minimiser_only_if_both_projections_change_sign():
    """Both do: the loss grows along every ray. One has a strict sign: a ray along which it falls to 0. A weak sign:
    it falls for ever.
    """
    s, t = np.array([0.5, -0.2]), np.array([0.1, 0.3, -0.4])

    def loss(alpha, beta, a, b):
        return softplus((t + alpha * np.array(b))[None, :] - (s + beta * np.array(a))[:, None]).mean()

    mixed_a, mixed_b = (1.0, -0.5), (1.0, -1.0, 0.2)
    for angle in np.linspace(0, 2 * np.pi, 60):
        ray = [loss(r * np.cos(angle), r * np.sin(angle), mixed_a, mixed_b) for r in (0, 50, 100)]
        assert ray[2] > ray[1] > ray[0]
    assert correction.has_minimiser(mixed_a, mixed_b)
    assert loss(0, 800, (1.0, 0.5), mixed_b) < 1e-100 and loss(-800, 0, mixed_a, (1.0, 2.0, 0.5)) < 1e-100
    falling = [loss(0, r, (1.0, 0.0), mixed_b) for r in (0, 5, 10, 15)]  # a_i of 0 and above
    assert falling == sorted(falling, reverse=True) and falling[-1] > 0.1
    for a, b in (((1.0, 0.5), mixed_b), (mixed_a, (1.0, 2.0, 0.5)), ((1.0, 0.0), mixed_b)):
        assert not correction.has_minimiser(a, b) and correction.solve_user(s, t, a, b) is None


def test_the_gradient_in_beta_depends_on_the_negatives():
    """4.2.grad: the same positives, two sets of negatives."""
    s, a = [0.5, -0.2], [1.0, 0.3]
    easy = correction.user_gradient(s, [-2.0, -1.0], a, [1.0, -1.0], 0.0, 0.0)[1]
    hard = correction.user_gradient(s, [2.0, 1.0], a, [1.0, -1.0], 0.0, 0.0)[1]
    for negatives, found in (([-2.0, -1.0], easy), ([2.0, 1.0], hard)):
        by_hand = -np.mean([sigmoid(y - x) * p for x, p in zip(s, a) for y in negatives])
        assert found == pytest.approx(by_hand, rel=1e-12)
    assert abs(hard) > 2 * abs(easy) > 0


# -------------------------------------------------------------------------------------------------- Section 5: the
# tables


def test_table1_the_sparsity_follows_from_the_sizes():
    for row in table("P1", "T1"):
        exact_share = 100 - F(100 * row["interactions"], row["users"] * row["items"])
        assert float(exact_share) == pytest.approx(row["sparsity_percent"], abs=5e-4)
        assert row["interactions"] >= 10 * max(row["users"], row["items"])  # a 10-core has at least 10 of each


def test_recall_is_named_and_map_is_printed():
    printed = {cell["metric"] for name in ("T2", "T3", "T5") for cell in table("P1", name)}
    assert printed == {"MRR@10", "NDCG@10", "MAP@10"}  # Section 5.1.3 names Recall@10, NDCG@10 and MRR@10


def recomputed(name):
    """(printed percent, exact percent of the printed numbers) of every printed percentage of a table."""
    cells = table("P1", name)
    for cell in (cell for cell in cells if cell["percent"] is not None):
        column = [x for x in cells if all(x[k] == cell[k] for k in ("backbone", "dataset", "metric")) and x is not cell]
        base = (
            max(x["value"] for x in column) if name == "T3" else next(x["value"] for x in column if x["method"] is None)
        )
        yield cell["percent"], 100 * (F(str(cell["value"])) / F(str(base)) - 1)


@pytest.mark.parametrize(("name", "count"), [("T2", 45), ("T3", 18), ("T4", 5)])
def test_the_percentages_follow_from_the_printed_numbers(name, count):
    pairs = list(recomputed(name))
    assert len(pairs) == count and all(
        abs(exact_percent - F(str(percent))) <= F(5, 100) for percent, exact_percent in pairs
    )
    ties = [pair for pair in pairs if abs(pair[1] - F(str(pair[0]))) == F(5, 100)]
    assert len(ties) == (1 if name == "T3" else 0)  # 6.25 -> 6.3
    assert all((percent > 0) == (name != "T4") for percent, _ in pairs)


def test_the_lead_over_the_strongest_rival_is_below_three_percent_on_amazon_book():
    """5.2.2: "decisively", "far surpassed". Of the six columns of MRR@10 one is at 2.5 %, another at 4.2 %, without a
    spread.
    """
    leads = {
        (c["backbone"], c["dataset"]): c["percent"]
        for c in table("P1", "T3")
        if c["percent"] is not None and c["metric"] == "MRR@10"
    }
    assert (
        leads["LightGCN", "amazon-book"] == 2.5
        and leads["LightGCN", "tmall"] == 4.2
        and leads["LightGCN", "yelp"] == 10.0
    )
    plain = {(c["backbone"], c["dataset"]): c["value"] for c in select(table("P1", "T3"), method=None, metric="MRR@10")}
    best_rival = select(table("P1", "T3"), backbone="LightGCN", method="PAAC", metric="MRR@10", dataset="amazon-book")[
        0
    ]["value"]
    gain_of_rival = best_rival / plain["LightGCN", "amazon-book"] - 1
    gain_of_ddc = (
        value("P1", "T3", backbone="LightGCN", method="DDC", metric="MRR@10", dataset="amazon-book")
        / plain["LightGCN", "amazon-book"]
        - 1
    )
    assert 0.8 < gain_of_rival / gain_of_ddc < 0.85  # PAAC brings four fifths of what DDC brings
    assert p1.worse_than_backbone("IPS") == p1.worse_than_backbone("MACR") and len(p1.worse_than_backbone("IPS")) == 6


def test_average_popularity_is_the_mean_over_users_of_the_mean_over_their_lists():
    counts = np.array([10, 4, 1, 0])
    lists = np.array([[0, 1, 2], [0, 3, -1]])  # the second user is shown two items only
    assert popularity.average_popularity(lists, counts) == pytest.approx(float((F(15, 3) + F(10, 2)) / 2))
    assert popularity.average_popularity(lists, counts) != pytest.approx((15 + 10) / 5 + 1)


def rule(name, metric="MRR@10"):
    return value("P1", "T5", method=name, metric=metric)


def test_table5_the_best_rule_leads_by_less_than_half_a_percent():
    order = sorted(p1.RULES, key=lambda name: -rule(name))
    assert order[:2] == ["b_a", "ab_a"] == p1.rules_by_quality()[:2]
    assert 0.003 < rule("b_a") / rule("ab_a") - 1 < 0.005
    for metric in ("MRR@10", "NDCG@10", "MAP@10"):
        assert 0 < rule("b_a", metric) - rule("ab_a", metric) <= 0.00031


def test_table5_a_star_does_not_fail_as_one_and_ab_star_is_not_inferior():
    baseline = value("P1", "T5", method=None, metric="MRR@10")
    stars = {
        first: sorted(rule(name) for name in p1.RULES if name.split("_")[0] == first) for first in ("a", "b", "ab")
    }
    assert stars["a"][-1] > 0.98 * baseline > 1.3 * stars["a"][0]  # a_a is at the baseline, a_b and a_ab far below
    assert (
        max(stars["ab"]) > max(rule(name) for name in ("b_b", "b_ab")) > baseline
    )  # ab_a is above two of the three b_*
    assert rule("ab_ab") > baseline > rule("ab_b")


def test_table5_leaving_the_popularity_out_costs_less_than_one_percent():
    drop = 1 - F(str(rule("without popularity"))) / F(str(rule("b_a")))
    assert F(7, 1000) < drop < F(8, 1000)
    other = 1 - F(str(rule("without preference"))) / F(str(rule("b_a")))
    assert F(12, 100) < other < F(13, 100) and rule("without preference") < value(
        "P1", "T5", method=None, metric="MRR@10"
    )


def test_the_printed_losses_and_their_ratios():
    """5.4.2a: both ratios are right. Both starting losses exceed ln 2, which no fitted model's mean loss per triple
    does.
    """
    for backbone, dataset, percent in (("lightgcn", "yelp", F(18, 10)), ("mf", "amazon-book", F(15, 10))):
        after, before = (F(str(p1.printed(f"{backbone}{kind}", dataset))) for kind in ("_ddc_loss", "_loss"))
        assert abs(100 * after / before - percent) < F(5, 100) and after / before < F(5, 100)
        assert before > math.log(2)
    for kind in (("zipf",), ("tastes",), ("zipf", "adam", 2)):
        users, items, labels = trained(*kind)
        each = [bpr(user, items[row], items[~row]) for user, row in zip(users, labels)]
        assert np.average(each, weights=labels.sum(axis=1)) < math.log(2)
    assert bpr(np.zeros(3), TABLES[1][:2], TABLES[1][2:]) == pytest.approx(
        math.log(2), rel=1e-12
    )  # a model that says nothing


def test_the_released_logs_add_the_losses_of_the_batches():
    """Epoch 0 of the three logs of MF: just below ln 2 for each batch of 8192.

    The number that the text prints is a line of the first.
    """
    for row in table("P1", "T1"):
        batches = math.ceil(0.8 * row["interactions"] / p1.printed("batch_size"))
        assert 0.9 < p1.printed("log_first_loss_mf", row["dataset"]) / (batches * math.log(2)) < 1
    assert p1.printed("log_loss_mf", "amazon-book") == p1.printed("mf_loss", "amazon-book")
    assert p1.loss_per_triple_if_summed("MF", "amazon-book") < 0.01


def test_the_released_logs_have_avgpop_falling_on_all_three_sets_most_where_it_is_printed():
    change = {
        name: p1.printed("log_avgpop_mf_ddc", name) / p1.printed("log_avgpop_mf", name) - 1
        for name in ("amazon-book", "yelp", "tmall")
    }
    assert change["tmall"] < change["amazon-book"] < change["yelp"] < 0
    assert (round(100 * change["amazon-book"], 1), round(100 * change["yelp"], 1)) == (-18.4, -4.2)
    for method, quantity in ((None, "log_avgpop_mf"), ("DDC", "log_avgpop_mf_ddc")):
        printed = value("P1", "T4", backbone="MF", method=method, metric="AvgPop@10")
        assert p1.printed(quantity, "tmall") == pytest.approx(printed, abs=0.006)


def test_a_loss_below_five_percent_without_any_other_ranking():
    """5.4.2b: multiply all scores by c. No list changes; the loss of separable triples goes to 0."""
    users, items, labels = trained("zipf")
    scores = users @ items.T
    order = np.argsort(-scores, axis=1, kind="stable")

    def loss(c):
        return np.mean([softplus(-c * (s[row][:, None] - s[~row][None, :])).mean() for s, row in zip(scores, labels)])

    assert loss(8) < 0.05 * loss(1)
    for c in (2, 4, 8):  # powers of two: no rounding
        assert np.array_equal(np.argsort(-c * scores, axis=1, kind="stable"), order)
    margin = sympy.Symbol("x", positive=True)
    c = sympy.Symbol("c", positive=True)
    assert sympy.limit(sympy.log(1 + sympy.exp(-c * margin)), c, sympy.oo) == 0


# ----------------------------------------------------------------------------------------------------------- Appendix A


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


def test_lemma_a2_positives_and_negatives_are_equally_many():
    """The sum of Pop equals the sum of Neg: below-average items are negatives more often than positives."""
    negatives = expected_negatives()
    assert negatives.sum() == POP.sum()
    labels = zipf_labels()
    counts, negatives = labels.sum(axis=0), expected_negatives(labels)
    assert negatives.sum() == counts.sum()
    below = counts < negatives
    assert 0.5 < below.mean() < 0.8
    assert np.argmax(counts) == np.argmin(negatives)  # who is liked by many can be the negative of few
    rare = counts <= 5
    assert float(negatives[rare].max()) < 1.25 * float(
        negatives[rare].min()
    )  # "roughly constant" is right for the others


def test_eq16_the_gradient_of_an_item_is_its_positive_and_its_negative_role():
    users, items = (torch.tensor(x.astype(float) / 4, requires_grad=True) for x in (USERS, ITEMS))
    loss = sum(float(p) * torch.nn.functional.softplus(users[u] @ (items[j] - items[i])) for u, i, j, p in triples())
    [found] = torch.autograd.grad(loss, items)

    def w(u, i, j):
        return float(sigmoid(-(TABLES[0][u] / 4) @ (TABLES[1][i] - TABLES[1][j]) / 4))

    for item in range(N_):
        own = np.zeros(3)
        for u, i, j, p in triples():
            own = own - float(p) * w(u, i, j) * TABLES[0][u] / 4 * ((i == item) - (j == item) * 1.0)
        assert np.allclose(found[item].numpy(), own, atol=1e-12)


def test_eq17_holds_for_items_that_are_hardly_ever_negatives():
    """The relative gap between the expected move and (17) is the part of the negative role:
    small for Pop far above Neg, above 1 below.
    """
    labels = np.array([[1, 0, 0, 0] + [0] * 40] * 20)  # everyone likes item 0 ...
    for u, row in enumerate(labels):
        row[1 + u % 3] = 1  # ... and one more
    users = whole(20, 3, 11) + exact(np.array([4, 0, 0]))
    moves, counts, negatives = expected_moves(users, half, labels), labels.sum(axis=0), expected_negatives(labels)
    for item in range(4):
        printed = F(1, 2) * labels[:, item] @ users
        away = users[labels[:, item] == 0]
        gap = moves[item] - printed
        assert equal(gap, -F(1, 2) * sum((F(2, 42) * x for x in away), 0 * users[0]))
    assert negatives[0] == 0 and equal(moves[0], F(1, 2) * users.sum(axis=0))
    assert float(negatives[5]) > counts[5] == 0 and np.any(moves[5] != 0)  # (17) says that it stays


def test_eq18_along_the_mean_user_the_sign_is_that_of_pop_minus_neg():
    """Averaged over which users like what, the move along v is half (Pop - Neg) |v|^2:
    exact, over every assignment of users to rows.
    """
    v = mean(USERS)
    total = np.full((N_, 3), F(0))
    orders = list(itertools.permutations(range(M_)))
    for order in orders:
        total = total + expected_moves(USERS[list(order)], half)
    negatives = expected_negatives()
    for i in range(N_):
        assert (total[i] / F(len(orders))) @ v == F(1, 2) * (int(POP[i]) - negatives[i]) * (v @ v)
    assert any(POP[i] < negatives[i] and POP[i] > 0 for i in range(N_))  # a liked item that is pushed against v


def test_theorem_a4_the_gradient_is_aligned_with_the_ideal_direction_at_zero_and_for_one_pair():
    """Three cases. At e_u = 0 all weights are one half; one positive and one negative: one vector;
    else it is the covariance that decides.
    """
    own, others = TABLES[1][Y[0] > 0], TABLES[1][Y[0] == 0]
    ideal = own.mean(axis=0) - others.mean(axis=0)
    assert np.allclose(-bpr_gradient(np.zeros(3), own, others), ideal / 2, atol=1e-15)
    user = np.array([0.3, -0.2, 0.1])
    one = -bpr_gradient(user, own[:1], others[:1])
    assert cosine(one, own[0] - others[0]) == pytest.approx(1, abs=1e-12)
    step = -bpr_gradient(user, own, others)
    assert cosine(step, ideal) < 1 - 1e-4
    z = (own[:, None, :] - others[None, :, :]).reshape(-1, 3)
    w = sigmoid(-z @ user)
    covariance = ((w - w.mean())[:, None] * (z - z.mean(axis=0))).mean(axis=0)
    assert np.allclose(step, w.mean() * ideal + covariance, atol=1e-12)
    assert cosine(-step, ideal) < 0  # the gradient itself points the other way: compare its negative


def test_theorem_a4_alignment_away_from_zero_when_the_covariance_is_parallel():
    """A user along the ideal direction of items that are symmetric around it: different weights, and aligned."""
    own, others = np.array([[2.0, 1.0], [2.0, -1.0]]), np.array([[0.0, 0.0], [-1.0, 0.0]])
    user = np.array([1.0, 0.0])
    w = sigmoid(-margins(user, own, others))
    assert w.std() > 0.01
    assert cosine(-bpr_gradient(user, own, others), own.mean(axis=0) - others.mean(axis=0)) == pytest.approx(
        1, abs=1e-12
    )


def test_eq20_the_positive_part_splits_into_niche_and_popular():
    own = np.flatnonzero(Y[2])
    others = np.flatnonzero(Y[2] == 0)
    weight = {i: mean(any_weight(2, i, j) for j in others) for i in own}
    whole_part = mean(any_weight(2, i, j) * ITEMS[i] for i in own for j in others)
    niche, popular = ([i for i in own if (POP[i] >= 2) == kind] for kind in (False, True))
    assert niche and popular
    split = [sum((weight[i] * ITEMS[i] / F(len(own)) for i in part), 0 * ITEMS[0]) for part in (niche, popular)]
    assert equal(split[0] + split[1], whole_part)


SECTIONS = {
    "2.1",
    "2.2",
    "2.2.1",
    "2.2.2",
    "2.3",
    "3.1",
    "3.2",
    "3.3",
    "3.4",
    "4.1",
    "4.2",
}  # of P1's Sections 2 to 4, by their headings


def test_the_appendix_refers_to_sections_that_are_not_the_ones_it_means():
    """A.2 names 2.2, which introduces MF and LightGCN; A.3 names 2.4, which does not exist.

    3.2 and 3.4 treat what they formalise.
    """
    assert "2.4" not in SECTIONS and {"3.2", "3.4"} <= SECTIONS


# ---------------------------------------------------------------------------------------------- the prose of the errata


def errata_numbers_of_p1():
    """Each decimal of the errata that no scalar of its row holds, and the number it stands for."""
    known = {
        str(c["percent"]): c["percent"] for name in ("T2", "T3") for c in table("P1", name) if c["percent"] is not None
    }
    known |= {f"{c['value']:.4f}": c["value"] for name in ("T2", "T3", "T5") for c in table("P1", name)}
    known |= {f"{x:.4f}": x for x in (p1.printed("lightgcn_loss", "yelp"), p1.printed("mf_loss", "amazon-book"))}
    known |= {f"{100 * (rule('b_a') / rule('ab_a') - 1):.1f}": 100 * (rule("b_a") / rule("ab_a") - 1)}
    known |= {
        f"{x:.1f}": x
        for x in (
            p1.drop_without("popularity"),
            p1.drop_without("preference"),
            p1.printed("log_first_loss_mf", "amazon-book"),
        )
    }
    known |= {
        f"{p1.loss_per_triple_if_summed('MF', 'amazon-book'):.4f}": p1.loss_per_triple_if_summed("MF", "amazon-book")
    }
    return known | {f"{math.log(2):.2f}": math.log(2), "0.5": float(sigmoid(0))}


def test_every_decimal_in_the_errata_comes_from_a_table_or_a_computation():
    known = errata_numbers_of_p1()
    for text, number in known.items():
        assert float(text) == pytest.approx(number, abs=0.5 * 10.0 ** -len(text.split(".")[1]) + 1e-12), text
    assert errata_numbers.unknown("P1", set(known)) == []
