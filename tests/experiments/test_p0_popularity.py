"""P0's experiments 8 to 10: samplers, watching growth, optimisers, histories, judging, and the shape of the results."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from course_lib import experiments, losses, norms, optimisers, popularity
from course_lib.encoders import Lookup, TwoTower
from course_lib.experiments.core.results import Result
from course_lib.experiments.core.summary import half_width
from course_lib.experiments.core.summary import means as means_by_name
from course_lib.experiments.p0 import popularity as p0_popularity
from course_lib.experiments.p0 import tuned as p0_tuned
from course_lib.interactions import Interactions
from course_lib.training import towers as two_towers

pytestmark = pytest.mark.seconds

IDS = ("P0-E8", "P0-E9", "P0-E10", "P0-R")
TAU, B, D = 0.2, 16, 4


@pytest.fixture(scope="module")
def data() -> Interactions:
    """40 users, 12 items, popularity a power law, distinct times; every item and user has a pair."""
    rng = np.random.default_rng(0)
    chance = 1 / np.arange(1, 13)
    pairs = {
        (int(i), int(j)) for i in range(40) for j in rng.choice(12, size=4, replace=False, p=chance / chance.sum())
    }
    pairs |= {(j, j) for j in range(12)}
    users, items = np.array(sorted(pairs)).T
    return Interactions(users, items, n_users=40, n_items=12, times=rng.permutation(len(users)))


def trained(
    data: Interactions,
    *,
    norm: float = 1.0,
    lr: float = 2.0,
    steps: int = 30,
    double: bool = True,
    make=torch.optim.SGD,
    **options,
):
    towers = two_towers.lookup_towers(data, d=D, norm=norm, seed=0)
    towers = towers.double() if double else towers
    optimiser = make(towers.parameters(), lr=lr)
    growth = two_towers.Growth(optimiser, towers.right.weight)
    history = two_towers.train_towers(
        towers, optimiser, data, steps=steps, seed=1, batch_size=B, tau=TAU, epoch=10, **options
    )
    return towers, growth, history


# ------------------------------------------------------------------------------------------------------------- training


def test_training_is_sgd_on_infonce_with_the_batches_of_the_loop(data: Interactions) -> None:
    """Against five steps written out, with the same random numbers."""
    towers, _, history = trained(data, steps=5)
    users, items = (
        table.detach().clone().requires_grad_()
        for table in two_towers.lookup_towers(data, d=D, seed=0).double().parameters()
    )
    rng = np.random.default_rng([1, 0])
    found = []
    for _ in range(5):
        chosen = rng.integers(0, len(data), B)
        loss = losses.infonce(losses.cosine_scores(users[data.users[chosen]], items[data.items[chosen]]), tau=TAU)
        for table, gradient in zip((users, items), torch.autograd.grad(loss, (users, items)), strict=True):
            table.data -= 2.0 * gradient
        found.append(float(loss.detach()))
    torch.testing.assert_close(towers.left.weight.detach(), users.detach())
    torch.testing.assert_close(towers.right.weight.detach(), items.detach())
    assert history.epochs[-1]["loss"] == pytest.approx(np.mean(found))


def test_the_quartic_law_holds_for_every_item(data: Interactions) -> None:
    towers, growth, _ = trained(data)
    np.testing.assert_allclose(growth.predicted(), two_towers.item_norms(towers, 12), rtol=1e-12)
    without = norms.predicted_norm(
        growth.start, lr=1.0, h=np.sqrt(growth.driven / growth.updates), updates=growth.updates
    )
    assert (without < growth.predicted()).all()


def test_the_law_holds_with_a_changing_rate(data: Interactions) -> None:
    """A cyclic rate for the items, Adam for the users."""
    towers = two_towers.lookup_towers(data, d=D, seed=0).double()
    sgd = torch.optim.SGD(towers.right.parameters(), lr=3.0)
    both = optimisers.Together(torch.optim.AdamW(towers.left.parameters(), lr=0.01), sgd, cycle=8)
    growth = two_towers.Growth(sgd, towers.right.weight)
    two_towers.train_towers(towers, both, data, steps=20, seed=0, batch_size=B, tau=TAU, epoch=5)
    np.testing.assert_allclose(growth.predicted(), two_towers.item_norms(towers, 12), rtol=1e-12)


@pytest.mark.parametrize("given", [{"steps": 0}, {"batch_size": 0}, {"epoch": 0}, {"logq": "no"}])
def test_arguments_of_the_training_are_checked(data: Interactions, given: dict[str, Any]) -> None:
    towers = two_towers.lookup_towers(data, d=D, seed=0)
    [(name, value)] = given.items()
    with pytest.raises(ValueError, match=f"{name} is {value!r}; expected"):
        sgd = torch.optim.SGD(towers.parameters(), lr=0.1)
        two_towers.train_towers(towers, sgd, data, **{"steps": 1, "seed": 0} | given)


def test_scale_symmetry_to_the_last_bit(data: Interactions) -> None:
    one, _, _ = trained(data, double=False)
    eight, _, _ = trained(data, norm=8.0, lr=2.0 * 64, double=False)
    assert torch.equal(eight.right.weight, 8 * one.right.weight)
    other, _, _ = trained(data, norm=8.0, lr=2.0 * 8, double=False)
    assert not torch.equal(other.right.weight, 8 * one.right.weight)


def test_logq_subtracts_the_log_probability(data: Interactions) -> None:
    _, _, history = trained(data, steps=1, logq=True)
    fresh = two_towers.lookup_towers(data, d=D, seed=0).double()
    chosen = np.random.default_rng([1, 0]).integers(0, len(data), B)
    scores = (
        losses.cosine_scores(
            *fresh(torch.from_numpy(data.users[chosen].copy()), torch.from_numpy(data.items[chosen].copy()))
        )
        / TAU
    )
    shifted = scores.detach().numpy() - np.log(data.col_counts / len(data))[data.items[chosen]]
    expected = np.mean(np.log(np.exp(shifted).sum(1)) - np.diag(shifted))
    assert history.epochs[0]["loss"] == pytest.approx(expected, rel=1e-6)


def test_any_module_of_the_readers_is_trained(data: Interactions) -> None:
    class Mine(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rows = torch.nn.Embedding(12, D)
            self.head = torch.nn.Linear(D, D)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.tanh(self.head(self.rows(x)))

    torch.manual_seed(0)
    towers = TwoTower(Lookup(40, D), Mine())
    history = two_towers.train_towers(
        towers, torch.optim.Adam(towers.parameters(), lr=0.05), data, steps=60, seed=0, batch_size=B, tau=TAU, epoch=20
    )
    assert history.epochs[-1]["loss"] < history.epochs[0]["loss"]
    assert set(two_towers.judge(towers, data, data_without(data))) >= {"Pearson", "share dot", "NDCG cos"}


def data_without(data: Interactions) -> Interactions:
    """A test set: for every user the first item that he has not."""
    have = [set(data.items[data.users == i]) for i in range(data.n_users)]
    items = [next(j for j in range(data.n_items) if j not in own) for own in have]
    return Interactions(np.arange(data.n_users), items, n_users=data.n_users, n_items=data.n_items)


# ------------------------------------------------------------------------------------------------------------- samplers


def test_uniform_pairs_and_uniform_items_follow_their_laws(data: Interactions) -> None:
    rng = np.random.default_rng(0)
    by_pair = np.bincount(data.items[two_towers.uniform_pairs(data)(rng, 60_000)], minlength=12) / 60_000
    np.testing.assert_allclose(by_pair, data.col_counts / len(data), atol=0.006)
    chosen = two_towers.uniform_items(data)(rng, 60_000)
    by_item = np.bincount(data.items[chosen], minlength=12) / 60_000
    np.testing.assert_allclose(by_item, 1 / 12, atol=0.006)
    pair = np.bincount(chosen, minlength=len(data)) / 60_000  # within an item every pair alike
    np.testing.assert_allclose(pair, 1 / 12 / data.col_counts[data.items], atol=0.006)


def test_uniform_items_refuses_items_without_pairs() -> None:
    empty = Interactions([0], [1], n_users=1, n_items=2)
    with pytest.raises(ValueError, match="1 items have no training pair"):
        two_towers.uniform_items(empty)


# ------------------------------------------------------------------------------------------------------------ histories


def test_previous_items_are_those_before_in_time(data: Interactions) -> None:
    found = two_towers.previous_items(data, 3)
    for row, (user, item, time) in enumerate(zip(data.users, data.items, data.times, strict=True)):
        mine = [(t, j) for i, j, t in zip(data.users, data.items, data.times, strict=True) if i == user and t < time]
        expected = [j for _, j in sorted(mine)][-3:]
        assert found[row].tolist() == expected + [-1] * (3 - len(expected))
        assert item not in found[row]


def test_history_rows_by_hand() -> None:
    """User 0 takes items 0, 1, 2 in this order, user 1 items 0, 3, user 2 items 4, 0; -1 fills up, 0 is an item."""
    data = Interactions([0, 0, 0, 1, 1, 2, 2], [0, 1, 2, 0, 3, 0, 4], n_users=3, n_items=5, times=[0, 1, 2, 0, 1, 1, 0])
    rows, examples = two_towers.history_rows(data, 2)
    of_pairs = [[1, 2], [0, -1], [0, 1], [3, -1], [0, -1], [4, -1], [0, -1]]
    assert rows.tolist() == [*of_pairs, [1, 2], [0, 3], [4, 0]] and examples.tolist() == list(range(7))


def test_growth_counts_a_row_of_which_any_entry_moves() -> None:
    table = torch.nn.Parameter(torch.tensor([[3.0, 4.0], [0.6, 0.8], [1.0, -1.0]]))
    optimiser = torch.optim.SGD([table], lr=0.5)
    growth = two_towers.Growth(optimiser, table)
    table.grad = torch.tensor([[0.5, 0.0], [0.0, 0.0], [0.25, 1.0]])
    optimiser.step()
    growth.stop()
    optimiser.step()
    assert growth.updates.tolist() == [1, 0, 1]
    np.testing.assert_allclose(growth.driven, [0.25 * 25 * 0.25, 0, 0.25 * 2 * 1.0625])


# ------------------------------------------------------------------------------------------------------------- judging


def test_judge_measures_what_it_says(data: Interactions) -> None:
    """Items whose norm is their count: all lists by dot product are by count."""
    towers = two_towers.lookup_towers(data, d=D, seed=0).double()
    with torch.no_grad():
        towers.left.weight.copy_(torch.tensor([[1.0, 0, 0, 0]]).expand(40, 4))
        lengths = torch.tensor(data.col_counts.copy()).double()
        towers.right.weight.copy_(torch.stack([lengths, 0 * lengths, 0 * lengths, 0 * lengths], 1))
    found = two_towers.judge(towers, data, data_without(data), lists=1)
    assert found["Pearson"] == pytest.approx(1) and found["slope"] == pytest.approx(1)
    lists = [
        max((j for j in range(12) if j not in set(data.items[data.users == i])), key=lambda j: data.col_counts[j])
        for i in range(40)
    ]
    assert found["AvgPop dot"] == pytest.approx(data.col_counts[lists].mean())
    assert found["share dot"] == pytest.approx(np.mean(np.array(lists) == popularity.head_items(data.col_counts)[0]))
    assert found["norm"] == pytest.approx(data.col_counts.mean())


def test_equal_norms_have_no_correlation(data: Interactions) -> None:
    towers = two_towers.lookup_towers(data, d=D, seed=0)
    with torch.no_grad():
        towers.right.weight.copy_(torch.nn.functional.normalize(towers.right.weight, dim=1))
    assert "Pearson" not in two_towers.judge(towers, data, data_without(data), lists=2)


def test_many_users_are_sampled(data: Interactions, monkeypatch: pytest.MonkeyPatch) -> None:
    towers = two_towers.lookup_towers(data, d=D, seed=0)
    everybody = two_towers.judge(towers, data, data_without(data), lists=3)
    monkeypatch.setattr(two_towers, "JUDGED_USERS", 25)
    some = two_towers.judge(towers, data, data_without(data), lists=3, seed=5)
    assert len(set(two_towers._judged(data.n_users, 5).tolist())) == 25
    assert some["Pearson"] == everybody["Pearson"] and some["AvgPop dot"] == pytest.approx(
        everybody["AvgPop dot"], rel=0.5
    )
    assert some["NDCG dot"] != everybody["NDCG dot"] or some["AvgPop dot"] != everybody["AvgPop dot"]


# ---------------------------------------------------------------------------------------------------------- experiments


def test_lists_are_as_long_as_the_papers_where_they_can_be_full() -> None:
    assert p0_popularity.list_length(84_432) == 100 and p0_popularity.list_length(3_500) == 10


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list]:
    """The cells of smoke scale with 400 steps of 128, run once."""
    found = {}
    for setting, changes in {"high rate": {}, "low rate": {"lr": 0.01}}.items():
        cell = {
            "data": "movietweetings-5core",
            "setting": setting,
            **p0_popularity.BASE,
            "steps": 400,
            "batch": 128,
            "seed": 0,
            "device": "cpu",
        }
        cell |= changes
        found[setting] = p0_popularity.rows_of(cell, *p0_popularity.run_lookup(cell, curve=True), {})
    return found


def value(rows: list, metric: str) -> float:
    (row,) = [row for row in rows if row["metric"] == metric]
    return row["value"]


def test_bias_at_a_high_rate_and_none_at_a_low_one(quick: dict[str, list]) -> None:
    high, low = quick["high rate"], quick["low rate"]
    assert value(high, "Pearson") > 0.7 and value(high, "slope") > 0.15 and value(high, "p value") < 1e-10
    assert abs(value(low, "Pearson")) < 0.05 and abs(value(low, "slope")) < 0.02
    assert value(high, "share dot") > 5 * value(high, "share cos")
    assert abs(value(low, "share dot") - value(low, "share cos")) < 0.01
    assert value(low, "loss") > math.log(128)  # worse than guessing: nothing learned
    assert value(high, "loss") < math.log(128) - 0.5


def test_the_curve_starts_before_training_and_ends_where_the_result_is(quick: dict[str, list]) -> None:
    curve = {row["step"]: row["value"] for row in quick["high rate"] if row["metric"] == "share dot at step"}
    assert min(curve) == 0 and max(curve) == 400 and len(curve) == 1 + p0_popularity.POINTS
    assert curve[400] == value(quick["high rate"], "share dot") and curve[0] < 0.02


def test_experiment_10_trains_a_transformer_beside_sgd() -> None:
    cell = {
        "data": "movietweetings-5core",
        "setting": "transformer",
        **p0_popularity.BASE,
        "steps": 200,
        "batch": 64,
        "seed": 0,
        "device": "cpu",
    }
    cell |= {"history": 5, "user lr": 3e-3, "user decay": 0.01, "cycles": 2, "points": 2}
    found, history = p0_popularity.run_history(cell)
    assert history[-1]["loss"] < history[1]["loss"] - 0.3 and found["Pearson"] > 0.1
    assert [record["step"] for record in history] == [0, 100, 200]


def test_papers_numbers_stand_beside_ours() -> None:
    assert p0_popularity.paper_numbers(8) == {"Pearson": 0.66, "share dot": 0.72, "share cos": 0.29}
    assert p0_popularity.paper_numbers(9) == {"share dot": 0.007, "share cos": 0.007}
    assert p0_popularity.paper_numbers(10) == {"Pearson": 0.56, "share dot": 0.63, "share cos": 0.32}


def test_summaries_over_seeds() -> None:
    rows = [
        {"data": "x", "setting": "a, b", "metric": metric, "seed": seed, "value": seed * scale, **extra}
        for seed in (1, 2, 3)
        for metric, scale, extra in (("slope", 1.0, {}), ("norm at step", 2.0, {"step": 7}))
    ]
    rows.append({"data": "x", "setting": "c", "metric": "slope", "seed": 1, "value": 9.0})
    assert half_width([1, 2, 3]) == pytest.approx(4.302653 / 3**0.5, rel=1e-6)
    shown = [set(means_by_name(rows[:count], lambda row: row["metric"], intervals=True)) for count in (4, 6)]
    assert [{name for name in one if name.endswith("-pm")} for one in shown] == [set(), {"slope-pm", "norm at step-pm"}]
    found = p0_popularity.scalars(rows)
    assert found["x-a-b-slope"] == 2 and found["x-c-slope"] == 9
    assert found["x-a-b-slope-pm"] == pytest.approx(2.4841, abs=1e-4) and "x-c-slope-pm" not in found
    assert not any("norm" in name for name in found)  # curves are no scalars
    result = Result("P0-E8", "laptop", "", rows)
    assert result.mean("slope", data="x", setting="a, b") == 2
    assert result.interval("slope", data="x", setting="a, b", digits=1) == "2.0 ± 2.5"
    assert result.interval("slope", data="x", setting="c", digits=1) == "9.0"
    assert (
        result.interval("slope", data="x", setting="d") == "–" and result.values("slope", data="x", setting="d") == []
    )
    with pytest.raises(ValueError, match=r"no slope of .*'d'"):
        result.mean("slope", data="x", setting="d")
    steps, means, halves = result.curve("norm at step", "step", data="x", setting="a, b")
    assert steps == [7] and means == [4.0] and halves == [pytest.approx(4.9683, abs=1e-4)]
    with pytest.raises(ValueError, match="expected at least two runs"):
        half_width([1.0])


def test_most_popular_is_the_list_by_count() -> None:
    found = p0_popularity.most_popular({"data": "movietweetings-5core", "seed": 0})
    assert found["share dot"] > 0.95 and 0.05 < found["NDCG dot"] < 0.2


def test_the_tuned_cosine_is_chosen_without_the_test_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best of the grid on pairs of the training part; it is trained anew on all of that part."""
    cell = experiments.cells_of("P0-C", "smoke")[0] | {"taus": [0.3, 1.0], "rates": [10.0, 100.0]}
    train, test = p0_popularity.load_split(cell["data"], cell["seed"])
    calls = []

    def judged(cell, rest, held, tau, rate):
        calls.append((len(rest), held is test, tau, rate))
        return {"NDCG cos": tau * rate if held is not test else 0.5}

    monkeypatch.setattr(p0_tuned, "judged", judged)
    rows = p0_tuned.tuned_cell(cell)
    assert [call[2:] for call in calls] == [(0.3, 10.0), (0.3, 100.0), (1.0, 10.0), (1.0, 100.0), (1.0, 100.0)]
    assert [on_test for _, on_test, *_ in calls] == [False] * 4 + [True]
    assert all(size < len(train) for size, *_ in calls[:4]) and calls[4][0] == len(train)
    found = {row["metric"]: row["value"] for row in rows if "lr" not in row}
    assert found == {"NDCG cos": 0.5, "tau": 1.0, "rate": 100.0, "settings tried": 4.0}
    assert sorted(row["value"] for row in rows if "lr" in row) == [3.0, 10.0, 30.0, 100.0]
    assert set(p0_tuned.scalars([row | {"seed": 0} for row in rows])) == {
        f"movietweetings-5core-tuned-{name}" for name in ("ndcg-cos", "tau", "rate", "settings-tried")
    }
