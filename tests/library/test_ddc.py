"""DDC: directions by brute force, minima against scipy, existence against a linear program, the module by autograd."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import refused
from scipy.optimize import linprog, minimize

from course_lib.backbones import triple_scores
from course_lib.checking import some
from course_lib.correction import (
    RULES,
    Frozen,
    _products,
    bounded_below,
    has_minimiser,
    newton_minima,
    preference_directions,
    solve_user,
    surrogate_user,
    user_gradient,
    user_loss,
)
from course_lib.debiasing import DDC
from course_lib.interactions import Interactions, sample_negatives
from course_lib.losses import bpr
from course_lib.popularity import popularity_direction

seeds = st.integers(0, 10**6)


def world(
    seed: int, m: int = 7, n: int = 12, d: int = 3, share: float = 0.4
) -> tuple[np.ndarray, np.ndarray, Interactions]:
    rng = np.random.default_rng(seed)
    users, items = np.nonzero(rng.random((m, n)) < share * np.linspace(1.8, 0.2, n))
    return rng.normal(size=(m, d)), rng.normal(size=(n, d)), Interactions(users, items, n_users=m, n_items=n)


def one_user(seed: int, p: int = 4, q: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Scores and projections with both signs in a and in b."""
    rng = np.random.default_rng(seed)
    s, t, a, b = rng.normal(size=p), rng.normal(size=q), rng.normal(size=p), rng.normal(size=q)
    a[:2], b[:2] = (0.5, -0.7), (-0.4, 0.9)
    return s, t, a, b


# ------------------------------------------------------------------------------------------------------- the directions
@given(seeds, st.sampled_from([0.1, 0.3, 0.5, 1.0]))
def test_preference_directions_agree_with_a_loop_over_users(seed: int, top: float) -> None:
    users, items, data = world(seed)
    found = preference_directions(users, items, data, top)
    for user in range(data.n_users):
        own = data.items_of(user)
        if not len(own):
            assert (found[user] == 0).all()
            continue
        ranked = sorted(own, key=lambda item, user=user: (-users[user] @ items[item], item))
        best = ranked[: int(np.ceil(round(top * len(own), 9)))]
        total = items[best].sum(axis=0)
        np.testing.assert_allclose(found[user], total / np.linalg.norm(total), rtol=1e-12, atol=1e-15)  # sums, rounded


def test_equal_scores_go_by_the_lower_id_and_at_least_one_item_counts() -> None:
    data = Interactions([0, 0, 0], [0, 1, 2], n_users=1, n_items=3)
    found = preference_directions(np.zeros((1, 2)), np.array([[3.0, 4.0], [1.0, 0.0], [0.0, 1.0]]), data, top=0.1)
    np.testing.assert_allclose(found, [[0.6, 0.8]])
    data = Interactions(np.zeros(25, int), np.arange(25), n_users=1, n_items=25)
    eighth = np.column_stack([np.arange(25.0, 0, -1), np.arange(25) == 7])
    assert preference_directions(np.eye(1, 2), eighth, data, top=0.28)[0, 1] == 0  # .28 of 25 are 7 but for rounding


def test_a_user_without_items_has_no_direction_and_no_scalars() -> None:
    users, items, data = world(0)
    last = Interactions(data.users, data.items, n_users=data.n_users + 1, n_items=data.n_items)
    users = np.vstack([users, users[:1]])
    assert (preference_directions(users, items, last)[-1] == 0).all()
    for how in ({}, {"negatives": 3, "rng": np.random.default_rng(0)}):
        model = DDC(users, items, last)
        model.solve(ridge=0.1, **how)
        assert float(model.alpha[-1]) == float(model.beta[-1]) == 0 and bool(torch.isfinite(model.beta).all())


def test_items_that_cancel_are_an_error_that_names_the_user() -> None:
    data = Interactions([0, 1, 1], [0, 0, 1], n_users=2, n_items=2)
    with pytest.raises(ValueError, match="user 1 sum to zero"):
        preference_directions(np.ones((2, 2)), np.array([[1.0, 0.0], [-1.0, 0.0]]), data, top=1.0)


# ------------------------------------------------------------------------------------------------------------- one user
@given(seeds)
def test_the_minimiser_is_the_one_that_scipy_finds(seed: int) -> None:
    s, t, a, b = one_user(seed)
    alpha, beta = solve_user(s, t, a, b)
    loss, slope = (lambda x, of=of: np.array(of(s, t, a, b, *x)) for of in (user_loss, user_gradient))
    theirs = minimize(loss, [0.0, 0.0], jac=slope, tol=1e-12)
    assert user_loss(s, t, a, b, alpha, beta) <= theirs.fun + 1e-12
    np.testing.assert_allclose(user_gradient(s, t, a, b, alpha, beta), 0, atol=1e-10)
    np.testing.assert_allclose([alpha, beta], theirs.x, rtol=1e-3, atol=1e-3)


@given(seeds)
def test_the_gradient_is_that_of_the_loss(seed: int) -> None:
    s, t, a, b = one_user(seed)
    at, h = np.random.default_rng(seed).normal(size=2), 1e-5
    numeric = [
        (user_loss(s, t, a, b, *(at + h * e)) - user_loss(s, t, a, b, *(at - h * e))) / (2 * h) for e in np.eye(2)
    ]
    np.testing.assert_allclose(user_gradient(s, t, a, b, *at), numeric, rtol=1e-5, atol=1e-9)


@given(
    st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 2.0]), min_size=1, max_size=4),
    st.lists(st.sampled_from([-2.0, -0.5, 0.0, 1.0]), min_size=1, max_size=4),
)
def test_a_minimiser_exists_exactly_if_no_direction_lowers_nothing(a: list[float], b: list[float]) -> None:
    """The linear program looks for (u, v) != 0 along which no margin falls: v a_i - u b_j >= 0 for all pairs."""
    rows = np.array([[-y, x] for x in a for y in b])
    free = False
    for u, v in ((1, None), (-1, None), (None, 1), (None, -1)):
        bounds = [(u, u) if u else (-1, 1), (v, v) if v else (-1, 1)]
        free |= linprog([0, 0], A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=bounds).status == 0
    assert has_minimiser(a, b) is not free
    assert (solve_user(np.zeros(len(a)), np.zeros(len(b)), a, b) is None) is free


@pytest.mark.parametrize("far", [-30.0, -60.0, -900.0, 60.0])
def test_margins_that_start_far_away_do_not_stop_the_search(far: float) -> None:
    s, t, a, b = one_user(1)
    alpha, beta = solve_user(s + far, t, a, b)
    np.testing.assert_allclose(user_gradient(s + far, t, a, b, alpha, beta), 0, atol=1e-9)


@given(seeds)
@settings(max_examples=25, deadline=None)
def test_the_surrogate_is_the_minimum_of_the_second_order_loss(seed: int) -> None:
    s, t, a, b = one_user(seed)

    def second_order(point: np.ndarray) -> float:
        x = (s + point[1] * a)[:, None] - (t + point[0] * b)
        return float((np.log(2) - x / 2 + x**2 / 8).mean())

    best = np.array(surrogate_user(s, t, a, b))
    for step in (np.array([1e-3, 0]), np.array([0, 1e-3]), np.array([-1e-3, 1e-3])):
        assert second_order(best) < min(second_order(best + step), second_order(best - step))


# ------------------------------------------------------------------------------------------------------------- everyone
def loss_by_hand(
    users: np.ndarray, items: np.ndarray, data: Interactions, rule: str, user: int
) -> Callable[[Sequence[float]], float]:
    """(13) as P1 writes it, of (alpha, beta): two embeddings of one user."""
    pop, pref = popularity_direction(items, data.col_counts), preference_directions(users, items, data)[user]
    own, others = data.items_of(user), np.setdiff1d(np.arange(data.n_items), data.items_of(user))

    def loss(point: Sequence[float]) -> float:
        on_positives, on_negatives = (
            users[user] + point[0] * pop * ("a" in term) + point[1] * pref * ("b" in term) for term in rule.split("_")
        )
        return float(
            np.logaddexp(0, (items[others] @ on_negatives)[None] - (items[own] @ on_positives)[:, None]).mean()
        )

    return loss


def scalars(model: DDC) -> np.ndarray:
    """(m, 2) alpha and beta of every user."""
    return torch.stack([model.alpha, model.beta], dim=1).detach().numpy()


@pytest.mark.parametrize("rule", RULES)
def test_all_nine_rules_are_solved_to_their_minimum(rule: str) -> None:
    solved = 0
    for seed in range(4):
        users, items, data = world(seed, m=5)
        model = DDC(users, items, data, rule=rule)
        without = model.solve()
        found = scalars(model)
        for user in range(data.n_users):
            if not 0 < len(data.items_of(user)) < data.n_items:
                assert user in without
                continue
            loss = loss_by_hand(users, items, data, rule, user)
            theirs = minimize(loss, [0.0, 0.0], tol=1e-12)
            if user in without:  # the search runs away, or has found almost nothing left to lower
                assert (found[user] == 0).all() and (np.abs(theirs.x).max() > 10 or theirs.fun < 1e-4)
            else:
                assert loss(found[user]) <= theirs.fun + 1e-10
                solved += 1
    assert solved >= 1


@pytest.mark.parametrize("negatives", [None, 3])
def test_a_ridge_gives_everyone_a_minimum(negatives: int | None) -> None:
    users, items, data = world(1)
    model = DDC(users, items, data, rule="ab_ab")
    without = model.solve(negatives, ridge=0.1, rng=np.random.default_rng(0))
    assert set(without) == set(np.flatnonzero((data.row_counts == 0) | (data.row_counts == data.n_items)))
    if negatives is None:
        for user in range(data.n_users):
            point, loss = scalars(model)[user], loss_by_hand(users, items, data, "ab_ab", user)
            near = [point + step for step in np.array([[1e-3, 0], [0, 1e-3], [-1e-3, 0], [0, -1e-3]])]
            assert loss(point) + 0.05 * (point @ point) < min(loss(each) + 0.05 * (each @ each) for each in near)


def test_sampled_triples_come_near_to_all_pairs() -> None:
    users, items, data = world(2, m=5, n=30)
    exact, sampled = DDC(users, items, data), DDC(users, items, data)
    exact.solve(ridge=0.01)
    sampled.solve(400, ridge=0.01, rng=np.random.default_rng(0))
    for mine, theirs in some(zip(sampled.parameters(), exact.parameters(), strict=True)):
        np.testing.assert_allclose(mine.detach(), theirs.detach(), rtol=0.15, atol=0.15)


def test_problems_joined_in_blocks_are_solved_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    users, items, data = world(3)
    found = []
    for block in (10**6, 40):  # all users at once; a user or two at a time
        monkeypatch.setattr("course_lib.correction.BLOCK", block)
        for negatives in (None, 1):
            model = DDC(users, items, data)
            model.solve(negatives, ridge=0.01, rng=np.random.default_rng(0) if negatives else None)
            found.append(torch.stack([*model.parameters()]).detach())
    torch.testing.assert_close(found[0], found[2], rtol=1e-9, atol=1e-9)
    assert all(bool(torch.isfinite(values).all()) for values in some(found))


def some_triples(data: Interactions, size: int) -> list[torch.Tensor]:
    rng = np.random.default_rng(0)
    where = rng.integers(0, len(data), size)
    users = data.users[where]
    return [torch.as_tensor(ids) for ids in (users, data.items[where], sample_negatives(data, users, rng))]


@pytest.mark.parametrize("rule", RULES)
def test_the_loss_of_a_batch_is_the_paper_s(rule: str) -> None:
    users, items, data = world(5)
    model = DDC(users, items, data, rule=rule, start=1.0, generator=torch.Generator().manual_seed(0))
    triples = some_triples(data, 200)
    terms = model.final_users(rule.split("_")[0]), model.final_users(rule.split("_")[1])
    scores = [(term[triples[0]] * model.items[column]).sum(-1) for term, column in zip(terms, triples[1:], strict=True)]
    torch.testing.assert_close(model.loss(*triples), torch.nn.functional.softplus(scores[1] - scores[0]).mean())


def test_the_served_embedding_is_14_and_its_loss_is_not_the_one_that_is_minimised() -> None:
    users, items, data = world(4)
    model = DDC(users, items, data)
    model.solve(ridge=0.05)
    alpha, beta = scalars(model).T
    served = users + alpha[:, None] * model.pop.numpy() + beta[:, None] * model.pref.numpy()
    np.testing.assert_allclose(model.ranking()[0].detach(), served, rtol=1e-12)
    both = model.final_users("a") + model.final_users("b") - model.users
    np.testing.assert_allclose(both.detach(), served, rtol=1e-12)
    triples = some_triples(data, 500)
    shipped = bpr(*triple_scores(model.ranking(), *triples))  # P1, Section 5.4.2
    assert abs(float((model.loss(*triples) - shipped).detach())) > 0.01


def test_only_the_two_scalars_learn() -> None:
    users, items, data = world(4)
    shapes = {name: tuple(value.shape) for name, value in DDC(users, items, data).named_parameters()}
    assert shapes == {"alpha": (7,), "beta": (7,)}


def preferences(**change: object) -> object:
    users, items, data = world(0)
    return preference_directions(**{"users": users, "items": items, "interactions": data} | change)


RNG, NAN = np.random.default_rng(0), float("nan")


test_bad_arguments_are_named = refused(
    (lambda: preferences(top=0), "top is 0"),
    (lambda: preferences(users=np.ones((3, 2))), "users has shape"),
    (lambda: preferences(items=np.full((12, 3), np.nan)), "NaN"),
    (lambda: surrogate_user([0.0, 1.0], [0.0, 1.0], [1.0, 1.0], [2.0, 2.0]), "no unique minimum"),
    (lambda: user_loss([], [1.0], [], [1.0], 0.0, 0.0), "expected"),
    (lambda: user_loss([1.0], [1.0], [1.0, 2.0], [1.0], 0.0, 0.0), "expected"),
    (lambda: user_loss([NAN], [1.0], [1.0], [1.0], 0.0, 0.0), "expected"),
    *((lambda of=of: of(*one_user(0), NAN, 0.0), "alpha is nan") for of in (user_loss, user_gradient)),
    *((lambda of=of: of(*one_user(0), 0.0, np.inf), "beta is inf") for of in (user_loss, user_gradient)),
    (lambda: DDC(*world(0)[:2], "pairs"), "interactions is 'pairs'"),
    (lambda: DDC(*world(0), rule="b-a"), "rule is 'b-a'"),
    (lambda: DDC(*world(0), final="ba"), "final is 'ba'"),
    (lambda: DDC(*world(0), start=1.0, generator="x"), "^generator is 'x'; expected a torch.Generator"),
    (lambda: DDC(*world(0), start=-1.0), "start is -1"),
    (lambda: DDC(*world(0)).solve(negatives=3), "expected"),
    (lambda: DDC(*world(0)).solve(negatives=True, rng=RNG), "^negatives is True"),
    (lambda: DDC(*world(0)).solve(negatives=0, rng=RNG), "expected"),
    (lambda: DDC(*world(0)).solve(ridge=-1.0), "expected"),
)


def test_newton_computes_in_float64_whatever_it_is_given() -> None:
    rng = np.random.default_rng(3)
    owner, columns = np.repeat(np.arange(4), 9), rng.normal(size=(3, 36)).astype(np.float32)
    given = newton_minima(owner, 4, *columns, ridge=0.1)
    wanted = newton_minima(owner, 4, *columns.astype(np.float64), ridge=0.1)
    assert [found.tolist() for found in given] == [found.tolist() for found in wanted]


@pytest.mark.parametrize(
    ("degrees", "bounded"),
    [
        ((0, 120, 240), True),
        ((0, 90, 179), False),
        ((0, 90, 180), False),  # along 270 degrees nothing falls, and one margin rises
        ((-179, 179, 0), True),
        ((120, 240), False),
        ((10, 100, 189, 190.5), True),
        ((), False),
    ],
)
def test_directions_bound_a_plane_when_no_gap_between_them_is_a_half_turn(degrees: tuple, bounded: bool) -> None:
    """A vector of length 0 has no direction: it closes no gap."""
    angles = np.deg2rad(degrees)
    vectors = np.vstack((np.stack((np.cos(angles), np.sin(angles)), axis=1), np.zeros((2, 2)), np.eye(2)))
    owner = np.repeat([0, 1], (len(degrees) + 2, 2))  # another user's two directions bound nothing
    assert bounded_below(owner, 2, *vectors.T).tolist() == [bounded, False]


@pytest.mark.parametrize("negatives", [None, 3])
def test_scalars_of_float32_tables_are_those_of_the_same_numbers_in_float64(negatives: int | None) -> None:
    users, items, data = world(0)
    single = Frozen.of(users.astype("f4"), items.astype("f4"), data, ratio=0.1)
    wide = (table.astype("f8") for table in (single.users, single.items, single.pop, single.pref))
    found = [
        one.solve(negatives, ridge=0.1, rng=np.random.default_rng(0))[:2]
        for one in (single, Frozen(*wide, interactions=data))
    ]
    np.testing.assert_allclose(*found, rtol=1e-12)


def test_one_direction_alone_bounds_nothing_from_one_side() -> None:
    slopes = np.array([1.0, 0.0, -1.0, 2.0, 0.0, -3.0])
    owner = np.array([0, 0, 1, 1, 2, 2])  # rises and a flat one; both; falls and a flat one
    for columns in ((slopes, 0 * slopes), (0 * slopes, slopes)):
        assert bounded_below(owner, 3, *columns).tolist() == [False, True, False]


def test_products_of_triples_are_the_same_with_and_without_the_table_of_all() -> None:
    """Read off the table of all products where triples are many, computed one by one where they are few."""
    rng = np.random.default_rng(0)
    table, items = rng.normal(size=(30, 4)), rng.normal(size=(40, 4))
    owners, first, second = rng.integers(0, (30, 40, 40), (200, 3)).T
    many = _products(table, items, owners, first, second)
    parts = (slice(at, at + 5) for at in range(0, 200, 5))
    few = [_products(table, items, owners[part], first[part], second[part]) for part in parts]
    for side, ids in enumerate((first, second)):
        assert many[side] == pytest.approx((table[owners] * items[ids]).sum(axis=1))
        assert np.concatenate([part[side] for part in few]) == pytest.approx(many[side])


def test_tables_too_large_for_a_direction_and_scalars_of_too_few_users_are_refused() -> None:
    pairs = Interactions([0, 0, 1], [0, 1, 0], n_users=2, n_items=4)
    users, items = np.eye(2), np.array([[1.0, 0.0], [0.5, 1.0], [0.0, -1.0], [-1.0, 0.5]])
    with pytest.raises(ValueError, match="items: those chosen of user 0 sum to a vector of length inf"):
        preference_directions(users, items * 1e200, pairs)
    tables = Frozen.of(users, items, pairs, ratio=0.25)
    assert np.array_equal(tables.served([0.1, 0.2], [0, 1]), tables.served(np.array([0.1, 0.2]), np.array([0.0, 1.0])))
    with pytest.raises(ValueError, match=r"alpha has shape \(1,\); expected \(2,\)"):
        tables.served(np.array([0.1]), np.array([0.1]))


def test_large_scores_of_few_pairs_have_their_minimiser_too() -> None:
    """Their loss is nearly straight between its kinks: curvature is lost in rounding, and Newton's steps were NaN."""
    rng, found = np.random.default_rng(5), 0
    for scale in [100.0, 1000.0] * 150:
        case = (*(rng.normal(size=n) * scale for n in (3, 4)), rng.normal(size=3), rng.normal(size=4))
        if has_minimiser(*case[2:]):
            found += 1
            assert user_gradient(*case, *solve_user(*case)) == pytest.approx((0, 0), abs=1e-6)
    assert found > 150
