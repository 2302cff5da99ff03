"""`bpr_epoch`: plain SGD written out, its laws, and one result for every number of threads."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from refused import refused
from scipy import stats

from course_lib.backbones import MF
from course_lib.checking import some
from course_lib.interactions import Interactions
from course_lib.training import bpr as epoch
from course_lib.training.bpr import bpr_epoch


def random_pairs(m: int, n: int, share: float, seed: int = 0) -> Interactions:
    rng = np.random.default_rng(seed)
    return Interactions(*np.nonzero(rng.random((m, n)) < share * rng.random(n)), n_users=m, n_items=n)


def tables(data: Interactions, d: int = 5, dtype: type = np.float64, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return tuple(rng.normal(size=(rows, d)).astype(dtype) for rows in data.shape)


def in_turn(function, numbers) -> list:
    return [function(number) for number in numbers]


# ------------------------------------------------------------------------------------------------------------- buckets


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_all_groups_have_a_bucket_and_buckets_of_a_round_share_no_row(groups: int) -> None:
    """Two buckets of a round never have the same users or items."""
    numbers = epoch.bucket_numbers(groups)
    assert len(numbers) == groups and (numbers == numbers.transpose(0, 2, 1)).all()
    assert sorted(set(numbers.flat)) == list(range(numbers.max() + 1))
    used: dict[int, tuple[set[int], set[int]]] = {}
    for (u, i, j), number in np.ndenumerate(numbers):
        users, items = used.setdefault(int(number), (set(), set()))
        users.add(u)
        items.update((i, j))
    for start in some(range(0, len(used), groups)):
        for first, second in itertools.combinations(range(start, start + groups), 2):
            assert not used[first][0] & used[second][0] and not used[first][1] & used[second][1]


@pytest.mark.seconds
@pytest.mark.parametrize("law", epoch.LAWS)
@pytest.mark.parametrize(("m", "n", "share"), [(30, 40, 0.5), (7, 900, 0.7)])  # rows shorter and longer than SCAN
def test_every_pair_is_dealt_once_with_a_negative_of_its_user(law: str, m: int, n: int, share: float) -> None:
    data = random_pairs(m, n, share)
    triples, starts, _ = epoch._dealt_triples(data, law, np.random.default_rng(1), in_turn)
    assert starts[0] == 0 and starts[-1] == len(data)
    order = np.lexsort((triples[:, 1], triples[:, 0]))
    assert np.array_equal(triples[order, :2], data.pairs)
    assert not data.contains(triples[:, 0], triples[:, 2]).any()


@pytest.mark.seconds
@pytest.mark.parametrize("law", epoch.LAWS)
def test_the_laws_of_negatives_are_those_of_the_sampler(law: str) -> None:
    """User 0 has items 1 and 4 of 7: the negatives of many passes, against the probabilities written out."""
    counts = np.array([5, 3, 1, 0, 6, 2, 4])
    users = np.concatenate([1 + (np.arange(count) + item) % 8 for item, count in enumerate(counts)])
    data = Interactions(np.r_[0, 0, users], np.r_[1, 4, np.repeat(np.arange(7), counts)], n_users=9, n_items=7)
    rng, drawn = np.random.default_rng(2), []
    for _ in range(1500):
        triples = epoch._dealt_triples(data, law, rng, in_turn)[0]
        drawn.append(triples[triples[:, 0] == 0, 2])
    free = np.array([0, 2, 3, 5, 6])
    weight = np.ones(5) if law == "uniform" else data.col_counts[free]
    seen, kept = np.bincount(np.concatenate(drawn), minlength=7), weight > 0
    assert seen.sum() == seen[free[kept]].sum()
    assert stats.chisquare(seen[free[kept]], weight[kept] / weight.sum() * seen.sum()).pvalue > 1e-4


def test_draws_depend_on_nothing_but_seed_and_position() -> None:
    """Uniform in size, and one draw says nothing about the next."""
    draws = np.array([epoch._below(np.uint64(5), position, 6) for position in range(12_000)])
    assert stats.chisquare(np.bincount(draws, minlength=6)).pvalue > 1e-4
    assert stats.chi2_contingency(np.histogram2d(draws[:-1], draws[1:], bins=6)[0]).pvalue > 1e-4
    assert epoch._below(np.uint64(5), 7, 6) == draws[7]


# ------------------------------------------------------------------------------------------------------------- the pass


def test_negatives_and_order_are_drawn_from_two_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws are hashes of (seed, position): with one seed the order would follow from the negatives."""
    right, seeds = epoch._drawer, []
    monkeypatch.setattr(
        epoch, "_drawer", lambda data, law, seed, out: seeds.append(seed) or right(data, law, seed, out)
    )
    data = random_pairs(20, 15, 0.3)
    orders = [epoch._dealt_triples(data, "uniform", np.random.default_rng(number), in_turn)[2] for number in range(3)]
    assert len({int(seed) for seed in seeds + orders}) == 6


def sgd_written_out(users: np.ndarray, items: np.ndarray, triples: np.ndarray, lr: float, decay: float) -> float:
    """One triple after the other, with the formulas of the docstring; the share ranked right."""
    right = 0
    for u, i, j in triples:
        e_u, e_i, e_j = users[u].copy(), items[i].copy(), items[j].copy()
        right += e_u @ e_i > e_u @ e_j
        w = 1 / (1 + np.exp(e_u @ e_i - e_u @ e_j))
        users[u] += lr * (w * (e_i - e_j) - 2 * decay * e_u)
        items[i] += lr * (w * e_u - 2 * decay * e_i)
        items[j] += lr * (-w * e_u - 2 * decay * e_j)
    return right / len(triples)


@pytest.mark.parametrize(("law", "decay"), [("uniform", 0.0), ("uniform", 0.01), ("popularity", 0.003)])
def test_a_pass_is_sgd_written_out(law: str, decay: float) -> None:
    data = random_pairs(20, 25, 0.6)
    mine, plain = tables(data), tables(data)
    triples, starts, seed = epoch._dealt_triples(data, law, np.random.default_rng(3), in_turn)
    for bucket, (start, stop) in enumerate(itertools.pairwise(starts)):
        epoch._shuffle(triples[start:stop], seed + np.uint64(bucket))
    expected = sgd_written_out(*plain, triples, 0.1, decay)
    found = bpr_epoch(*mine, data, lr=0.1, decay=decay, rng=np.random.default_rng(3), negatives=law)
    for table, other in some(zip(mine, plain, strict=True)):
        np.testing.assert_allclose(table, other, rtol=1e-11, atol=1e-12)
    assert found == expected


def test_a_step_is_the_gradient_of_mf_s_loss() -> None:
    """One pair, so one triple: the pass is -lr times autograd's gradient of `MF.loss`, decay included."""
    data = Interactions([0], [1], n_users=1, n_items=2)
    model = MF(1, 2, 6, decay=0.2, generator=torch.Generator().manual_seed(0)).double()
    model.loss(torch.tensor([0]), torch.tensor([1]), torch.tensor([0])).backward()
    expected = [table.detach() - 0.3 * table.grad for table in (model.users, model.items)]
    bpr_epoch(model.users, model.items, data, lr=0.3, decay=0.2, rng=np.random.default_rng(0))
    for table, other in zip((model.users, model.items), expected, strict=True):
        torch.testing.assert_close(table.detach(), other)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_change_not_a_bit(monkeypatch: pytest.MonkeyPatch, dtype: type) -> None:
    monkeypatch.setattr(epoch, "SMALL", 0)
    data = random_pairs(300, 200, 0.2)
    found = []
    for threads in (1, 2, 3, 4, 9):
        both = tables(data, 16, dtype)
        rng = np.random.default_rng(4)
        shares = [bpr_epoch(*both, data, lr=0.05, rng=rng, threads=threads) for _ in range(3)]
        found.append((shares, *both))
    for other in some(found[1:]):
        assert other[0] == found[0][0] and all(
            np.array_equal(a, b) for a, b in some(zip(other[1:], found[0][1:], strict=True))
        )
    both = tables(data, 16, dtype)
    bpr_epoch(*both, data, lr=0.05, rng=np.random.default_rng(5))
    assert not np.array_equal(both[0], found[0][1])


# ---- arguments

DATA, EMPTY = (Interactions(pairs, pairs, n_users=2, n_items=3) for pairs in ([0, 1], np.array([], int)))
FULL = Interactions([0, 0, 0], [0, 1, 2], n_users=2, n_items=3)  # user 0 has every item


def one_pass(users: object = None, items: object = None, data: Interactions = DATA, **options: object) -> float:
    users, items = np.ones((2, 2)) if users is None else users, np.eye(3, 2) if items is None else items
    return bpr_epoch(users, items, data, **{"lr": 0.1, "rng": np.random.default_rng(0)} | options)


test_errors_say_what_is_wrong = refused(
    (lambda: one_pass(np.ones((3, 2))), r"users has shape \(3, 2\); expected \(2, d\)"),
    (lambda: one_pass(items=np.ones((3, 4))), "users have width 2"),
    (lambda: one_pass(items=np.ones((3, 2), np.float32)), "float32; expected the same"),
    (lambda: one_pass(items=np.ones((3, 2), int)), "items must be an array or tensor of float32 or float64"),
    (lambda: one_pass(torch.ones(2, 2).bfloat16()), "users must be an array or tensor of float32 or float64"),
    (lambda: one_pass(np.ones((2, 2)).T[:, :1].repeat(2, 1).T), "C-contiguous"),
    (lambda: one_pass(lr=-1), "lr is -1"),
    (lambda: one_pass(decay=float("inf")), "decay is inf"),
    (lambda: one_pass(rng=0), "rng is 0; expected a numpy.random.Generator"),
    (lambda: one_pass(negatives="everything"), "negatives is 'everything'; expected one of uniform, popularity"),
    (lambda: one_pass(threads=0), "threads is 0"),
    (lambda: one_pass(data=EMPTY), "at least one pair"),
    (lambda: one_pass(data=FULL), "user 0 has no item left"),
)


def test_a_pass_that_leaves_the_range_of_numbers_says_so() -> None:
    with pytest.raises(FloatingPointError, match="lower lr"):
        one_pass(np.full((2, 2), 1e300), np.eye(3, 2) * 1e300, lr=1e300)
