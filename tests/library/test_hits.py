"""Lists of hits by age, served beside a model in one inner product; the loop on pairs; intervals over people."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from refused import refused
from scipy import stats

from course_lib import hits, losses, metrics
from course_lib.interactions import Interactions
from course_lib.intervals import bootstrap_interval
from course_lib.training.on_pairs import cosine_tables, new_tables, train_on_pairs

DAY = 86_400.0


def pairs(seed: int = 0, people: int = 30, films: int = 20, count: int = 200) -> Interactions:
    rng = np.random.default_rng(seed)
    cells = rng.choice(people * films, count, replace=False)
    return Interactions(
        cells // films, cells % films, n_users=people, n_items=films, times=rng.permutation(count) * DAY
    )


def test_a_decayed_count_is_the_sum_over_the_pairs_of_a_film() -> None:
    train = pairs()
    by_hand = np.zeros(train.n_items)
    for item, time in zip(train.items, train.times, strict=True):
        by_hand[item] += 0.5 ** ((199 * DAY - time) / (7 * DAY))
    np.testing.assert_allclose(hits.decayed_counts(train, 7.0), by_hand, rtol=1e-12)
    np.testing.assert_array_equal(hits.decayed_counts(train, np.inf), train.col_counts)
    np.testing.assert_allclose(hits.decayed_counts(train, 7.0, now=206 * DAY), by_hand / 2, rtol=1e-12)
    without_the_last = Interactions([0], [0], n_users=1, n_items=2, times=[5.0])
    assert hits.decayed_counts(without_the_last, 7.0).tolist() == [1, 0]
    assert hits.decayed_counts(at(1e11), 1.0).tolist() == [1]  # seconds, up to the year 5138


def test_later_pairs_are_of_people_whom_the_earlier_pairs_know() -> None:
    earlier, later = hits.known_later(pairs(count=60), 0.5)
    assert len(later) and earlier.times.max() < later.times.min()
    assert (earlier.row_counts[later.users] > 0).all() and len(earlier) + len(later) < 60


def test_one_inner_product_is_the_cosine_and_the_hits() -> None:
    rng = np.random.default_rng(1)
    users, items, counts = rng.normal(size=(4, 3)), rng.normal(size=(5, 3)), rng.integers(0, 9, 5)
    left, right = hits.with_hits(users, torch.tensor(items), counts, tau=0.25, weight=0.5)
    cosines = users @ items.T / np.linalg.norm(users, axis=1)[:, None] / np.linalg.norm(items, axis=1)
    np.testing.assert_allclose(left @ right.T, cosines / 0.25 + 0.5 * np.log(counts + 0.05), rtol=1e-12)


def at(time: float) -> Interactions:
    """One pair."""
    return Interactions([0], [0], n_users=1, n_items=1, times=[time])


LEAF = torch.ones(1, requires_grad=True)


def infinite(users: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
    return (LEAF / 0).sum()


def of_one(users: torch.Tensor, items: torch.Tensor) -> float:
    """A loss that is no tensor."""
    return 1.0


test_nonsense_is_named = refused(
    (lambda: hits.decayed_counts(pairs(), 0.0), "half_life"),
    (lambda: hits.decayed_counts(pairs(), 1.0, now=199 * DAY - 1), "now is .*, and train has a pair at"),
    (lambda: hits.decayed_counts(Interactions([0], [0], n_users=1, n_items=1), 1.0), "train has no times"),
    (lambda: hits.decayed_counts([[0, 1]], 1.0), "train"),
    (lambda: hits.decayed_counts(at(1_400_000_000_000), 1.0), "^train.times has 1400000000000; expected seconds"),
    (lambda: hits.decayed_counts(at(1_400_000_000), 1.0, now=1.4e12), "^now has 1400000000000; .*: divide by 1000"),
    (lambda: hits.with_hits([[0.0, 0.0]], [[1.0, 0.0]], [1], tau=1, weight=1), r"users\[0\] is the zero vector"),
    (lambda: hits.known_later(pairs(), 1.5), "share is 1.5"),
    (lambda: hits.known_later(pairs(), 0.9999), "^share is 0.9999; expected one that leaves a later pair"),
    (lambda: hits.known_later(pairs(), 0.0001), "^share is 0.0001; expected one with a pair before the cut"),
    (lambda: hits.known_later([[0, 1]]), "pairs is .*expected Interactions"),
    (lambda: hits.with_hits([[1.0]], [[1.0]], ["1"], tau=1, weight=1), "hits is .*expected an array of real numbers"),
    (lambda: hits.known_later(Interactions([0], [0], n_users=1, n_items=1)), "pairs has no times"),
    (lambda: hits.with_hits([[1.0]], [[1.0]], [1, 2], tau=1, weight=1), "hits has shape"),
    (lambda: hits.with_hits([[1.0]], [[1.0]], [1], tau=0, weight=1), "tau"),
    (lambda: hits.with_hits([[1.0]], [[1.0]], [1], tau=1, weight=np.nan), "weight"),
    (lambda: cosine_tables(pairs(), log_q=torch.zeros(3)), "log_q has shape"),
    (lambda: cosine_tables(Interactions([0], [0], n_users=1, n_items=1), in_time=True), "train has no times"),
    (lambda: cosine_tables(Interactions([], [], n_users=1, n_items=1)), "train has no pair"),
    (lambda: cosine_tables([[0, 1]]), "train is .*expected Interactions"),
    (lambda: cosine_tables(pairs(), seed=1.5), "seed is 1.5"),
    (lambda: cosine_tables(pairs(), in_time="yes"), "in_time is 'yes'"),
    (lambda: new_tables([[0, 1]], 2, torch.Generator()), "train is .*expected Interactions"),
    (lambda: new_tables(pairs(), 2, None), "generator is None; expected a torch.Generator"),
    (lambda: train_on_pairs(pairs(), None, [LEAF], torch.Generator()), "loss is None; expected a function"),
    (lambda: train_on_pairs(pairs(), of_one, [], torch.Generator()), "parameters is empty"),
    (lambda: train_on_pairs(pairs(), of_one, LEAF, torch.Generator()), "parameters is tensor"),
    (lambda: train_on_pairs(pairs(), of_one, [torch.ones(1)], torch.Generator()), r"parameters\[0\] is tensor"),
    (lambda: train_on_pairs(pairs(), of_one, [LEAF], torch.Generator()), "the value of loss is 1.0; expected"),
    (lambda: train_on_pairs(pairs(), infinite, [LEAF], torch.Generator()), "in pass 1; expected a finite loss"),
    (lambda: train_on_pairs(pairs(), of_one, [LEAF], torch.Generator(), after_pass=3), "after_pass is 3; expected"),
    (lambda: bootstrap_interval([1.0], np.random.default_rng(0)), "values has 1 person"),
    (lambda: bootstrap_interval([1.0, 2.0], 0), "rng"),
)


def batches_of_a_training(train: Interactions, **how: object) -> list[list[tuple[int, int]]]:
    score, seen = torch.zeros(2, requires_grad=True), []

    def loss(users: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
        seen.append(list(zip(users.tolist(), items.tolist(), strict=True)))
        return score.sum()

    train_on_pairs(train, loss, [score], torch.Generator().manual_seed(0), batch=50, **how)
    return seen


def test_batches_in_order_of_time_hold_neighbours_in_time_and_every_pair_once() -> None:
    train = pairs()
    times = {(u, i): t for u, i, t in zip(train.users.tolist(), train.items.tolist(), train.times, strict=True)}
    spans = [[times[pair] for pair in batch] for batch in batches_of_a_training(train, passes=1, in_time=True)]
    assert sorted(len(span) for span in spans) == [50] * 4 and len({t for span in spans for t in span}) == 200
    assert all(max(span) - min(span) == 49 * DAY for span in spans)
    assert sorted(spans, key=min) != spans  # the order of the batches is drawn


def test_every_pass_has_an_order_of_its_own_and_holds_every_pair_once() -> None:
    train = pairs()
    seen = batches_of_a_training(train, passes=2)
    passes = [[pair for batch in part for pair in batch] for part in (seen[:4], seen[4:])]
    assert passes[0] != passes[1]
    assert [sorted(one) for one in passes] == [list(map(tuple, train.pairs.tolist()))] * 2


def test_a_batch_takes_no_gradient_of_the_one_before() -> None:
    """The first batch asks for one number and the second for the other: each is moved once, by Adam's first step."""
    numbers = [torch.zeros(1, requires_grad=True) for _ in range(2)]
    turn = iter(numbers)
    train_on_pairs(
        pairs(count=4), lambda u, i: next(turn).sum(), numbers, torch.Generator(), passes=1, batch=2, rate=0.5
    )
    assert [float(one.detach()) for one in numbers] == [pytest.approx(-0.5), pytest.approx(-0.5)]


def test_the_tables_are_drawn_apart() -> None:
    users, items = (table.detach() for table in new_tables(pairs(), 50, torch.Generator().manual_seed(3)))
    assert abs(float(torch.corrcoef(torch.stack([users[:20].flatten(), items.flatten()]))[0, 1])) < 0.1
    assert float(torch.cat([users, items]).std()) == pytest.approx(0.1, rel=0.05)


def test_the_first_step_goes_down_the_in_batch_softmax_with_logq() -> None:
    """Adam's first step is the rate against the sign of each slope."""
    train, how = pairs(count=40), {"width": 3, "seed": 5}
    log_q = torch.log(torch.linspace(0.01, 0.3, train.n_items))
    start = cosine_tables(train, passes=0, **how)
    users, items = (table.double().requires_grad_() for table in start)
    u, i = torch.tensor(train.users), torch.tensor(train.items)
    scores = torch.nn.functional.cosine_similarity(users[u][:, None], items[i][None], dim=2)
    losses.in_batch_softmax(scores, tau=0.3, log_q=log_q.double()[i]).backward()
    found = cosine_tables(train, tau=0.3, log_q=log_q, passes=1, batch=40, rate=0.01, **how)
    for before, after, slope in zip(start, found, (users.grad, items.grad), strict=True):
        clear = slope.abs() > 1e-4
        assert clear.float().mean() > 0.5
        np.testing.assert_allclose((after - before)[clear], -0.01 * slope.sign()[clear], atol=1e-4)


def test_training_finds_two_groups_of_people_and_films() -> None:
    left, right = np.divmod(np.arange(400), 20)
    same = (left < 10) == (right < 10)
    rng = np.random.default_rng(0)
    known = rng.random(400) < 0.7
    train = Interactions(left[same & known], right[same & known], n_users=20, n_items=20)
    test = Interactions(left[same & ~known], right[same & ~known], n_users=20, n_items=20)
    users, items = cosine_tables(train, width=4, passes=60, batch=32, rate=0.05)
    assert metrics.evaluate(users, items, train, test, 5)["recall@5"] > 0.9
    before = new_tables(train, 4, torch.Generator().manual_seed(0))
    assert metrics.evaluate(*(table.detach() for table in before), train, test, 5)["recall@5"] < 0.5


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_the_interval_of_one_person_in_twenty_is_that_of_the_binomial_law(level: float) -> None:
    found = bootstrap_interval([1.0] + [0.0] * 19, np.random.default_rng(2), level=level, draws=20_000)
    law = stats.binom(20, 0.05)  # how often the one person is drawn
    assert found == pytest.approx((0.05, law.ppf((1 - level) / 2) / 20, law.ppf((1 + level) / 2) / 20))
