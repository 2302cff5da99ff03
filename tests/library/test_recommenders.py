"""`train_recommender` and `measure`: what a run is decided by, what it ends in, and the numbers of P1's tables."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch
from refused import refused
from scipy import stats
from torch import nn

from course_lib import backbones
from course_lib.checking import some
from course_lib.interactions import Interactions
from course_lib.metrics import evaluate
from course_lib.training import recommenders
from course_lib.training.recommenders import measure, split_811, tables_of, train_recommender, union

pytestmark = pytest.mark.seconds


def groups_with_a_taste(rng: np.random.Generator, m: int = 240, n: int = 120, tastes: int = 4) -> Interactions:
    """User i and item j share a taste when i = j modulo `tastes`; within it, the lower half of the ids is seen more."""
    share = np.where(np.arange(m)[:, None] % tastes == np.arange(n)[None, :] % tastes, np.linspace(0.9, 0.2, n), 0.01)
    return Interactions(*np.nonzero(rng.random((m, n)) < share), n_users=m, n_items=n)


DATA = groups_with_a_taste(np.random.default_rng(0))
TRAIN, VALID, TEST = split_811(DATA, np.random.default_rng(0))
OPTIONS = {"DGCF": {"correlation": 0.01}, "NCL": {"warm_up": 1, "clusters": 10}, "LightCCF": {}}


def model(name: str = "MF", d: int = 16, **options: object) -> backbones.Backbone:
    return backbones.make(
        name, TRAIN, d=d, generator=torch.Generator().manual_seed(0), **OPTIONS.get(name, {}) | options
    )


def popular() -> tuple[np.ndarray, np.ndarray]:
    """Tables that rank by count."""
    return np.ones((TRAIN.n_users, 1)), TRAIN.col_counts[:, None].astype(float)


# ------------------------------------------------------------------------------------------------------------- training


def test_the_split_is_eight_to_one_to_one() -> None:
    sizes = [len(part) for part in (TRAIN, VALID, TEST)]
    assert sum(sizes) == len(DATA) and sizes[0] == round(0.8 * len(DATA)) and abs(sizes[1] - sizes[2]) <= 1
    assert union(union(TRAIN, VALID), TEST) == DATA


def test_any_pair_may_be_in_any_part_of_the_split() -> None:
    """Ten pairs: which is for validation and which for testing is one of 90 cases, all equally likely."""
    data = Interactions(np.arange(10), np.arange(10), n_users=10, n_items=10)
    drawn = [
        tuple(int(part.users[0]) for part in split_811(data, np.random.default_rng(seed))[1:]) for seed in range(1350)
    ]
    counts = np.zeros((10, 10))
    for valid, test in some(drawn):
        counts[valid, test] += 1
    off = ~np.eye(10, dtype=bool)
    assert stats.chisquare(counts[off]).pvalue > 1e-3 and not counts[~off].any()


@pytest.mark.parametrize("name", backbones.names())
def test_every_backbone_learns_the_planted_taste(name: str) -> None:
    """Four groups with a taste each: twice as good as the list of popular items."""
    trained = model(name)
    history = train_recommender(trained, TRAIN, VALID, epochs=8, lr=0.04, batch_size=1024, seed=0, evaluate_every=2)
    assert len(history.epochs) == 4 and history.epochs[-1]["loss"] < history.epochs[0]["loss"]
    assert measure(trained, TRAIN, TEST, seen=VALID)["ndcg"] > 2 * measure(popular(), TRAIN, TEST, seen=VALID)["ndcg"]


def test_a_run_is_decided_by_its_seed_and_can_be_resumed(tmp_path: Path) -> None:
    def run(seed: int, epochs: int, checkpoint: Path | None = None) -> backbones.Backbone:
        trained = model("NCL", d=8)
        train_recommender(trained, TRAIN, None, epochs=epochs, lr=0.01, seed=seed, checkpoint=checkpoint)
        return trained

    whole, again, other = run(1, 3), run(1, 3), run(2, 3)
    assert torch.equal(whole.users, again.users) and not torch.equal(whole.users, other.users)
    run(1, 2, tmp_path / "run.pt")
    assert torch.equal(run(1, 3, tmp_path / "run.pt").users, whole.users)


def test_the_models_own_draws_are_of_their_seed_and_epoch_and_apart_from_those_of_the_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def drawn(seed: int) -> list[float]:
        trained, found = model(), []
        monkeypatch.setattr(trained, "begin_epoch", lambda epoch, rng: found.append(rng.random()))
        train_recommender(trained, TRAIN, None, epochs=3, lr=0.01, seed=seed)
        return found

    own = drawn(1) + drawn(2)
    batches = [np.random.default_rng([seed, epoch]).random() for seed in (1, 2) for epoch in range(3)]
    assert len(set(own + batches)) == 12 and drawn(1) + drawn(2) == own


def test_it_stops_early_and_ends_in_the_best_state() -> None:
    trained = model(d=32)
    history = train_recommender(
        trained, TRAIN, VALID, epochs=200, lr=0.05, batch_size=512, seed=0, patience=6, evaluate_every=3
    )
    values = [record["mrr"] for record in history.epochs]
    assert (
        history.stopped.startswith("no gain in mrr") and history.best_epoch == int(np.argmax(values)) == len(values) - 3
    )
    assert len(set(values)) > 2
    assert measure(trained, TRAIN, VALID)["mrr"] == max(values)


def test_watch_sees_the_tables_of_each_evaluation() -> None:
    trained, seen = model(), []

    def watch(users: torch.Tensor, items: torch.Tensor) -> dict[str, float]:
        seen.append((users.clone(), items.clone()))
        return {"length": float(users.norm())}

    options = {"epochs": 4, "lr": 0.05, "seed": 0, "evaluate_every": 2}
    history = train_recommender(trained, TRAIN, VALID, watch=watch, **options)
    assert [entry["length"] for entry in history.epochs] == [float(users.norm()) for users, _ in seen]
    assert [entry["mrr"] for entry in history.epochs] == [measure(tables, TRAIN, VALID)["mrr"] for tables in seen]
    assert len(seen) == 2
    plain = model()
    assert train_recommender(plain, TRAIN, VALID, **options).best_epoch == history.best_epoch
    assert torch.equal(plain.users, trained.users)


@pytest.mark.parametrize(("optimizer", "lr"), [("sgd", 50.0), ("adagrad", 0.1)])
def test_sparse_gradients_give_the_same_run(optimizer: str, lr: float) -> None:
    """With a penalty, several batches and users that a batch meets often: to 1e-12."""
    dense, sparse = model(decay=0.01).double(), model(decay=0.01, sparse=True).double()
    kinds: list[bool] = []
    sparse.items.register_post_accumulate_grad_hook(lambda table: kinds.append(table.grad.is_sparse))
    for trained in (dense, sparse):
        options = {"epochs": 2, "lr": lr, "seed": 0, "batch_size": 1000, "optimizer": optimizer}
        train_recommender(trained, TRAIN, None, **options)
    assert all(some(kinds))
    assert (dense.items - model().items).abs().max() > 0.1
    for name, table in some(dense.named_parameters()):
        torch.testing.assert_close(sparse.get_parameter(name), table, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("optimizer", "moves"), [("lazy_adam", 1), ("adam", 1.67)])
def test_lazy_adam_lets_rows_rest_that_a_step_does_not_meet(optimizer: str, moves: float) -> None:
    """Two steps, one user each: either user moves once, by lr. Adam moves the first again, by what it remembers."""
    data, lr = Interactions([0, 1], [0, 1], n_users=2, n_items=3), 0.01
    generator, sparse = torch.Generator().manual_seed(0), optimizer == "lazy_adam"
    trained = backbones.make("MF", data, d=2, sparse=sparse, generator=generator).double()
    before = trained.users.detach().clone()
    train_recommender(trained, data, None, optimizer=optimizer, batch_size=1, epochs=1, seed=0, lr=lr)
    assert (trained.users.detach() - before).abs().max() == pytest.approx(moves * lr, rel=0.01)


class Listener(backbones.Recommender):
    """Notes what the loop hands over."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.batches, self.epochs = nn.Parameter(torch.zeros(1)), [], []

    def begin_epoch(self, epoch: int, rng: np.random.Generator) -> None:
        self.epochs.append((epoch, rng.random()))

    def loss(self, *batch: torch.Tensor) -> torch.Tensor:
        self.batches.append(np.stack([ids.numpy() for ids in batch], axis=1))
        return self.weight.square().sum()


@pytest.mark.parametrize("law", ["uniform", "popularity", "everything"])
def test_an_epoch_visits_every_pair_once_with_new_negatives(law: str) -> None:
    listener = Listener()
    train_recommender(listener, TRAIN, None, epochs=4, lr=0.1, batch_size=700, seed=3, evaluate_every=2, negatives=law)
    triples = np.concatenate(listener.batches).reshape(4, len(TRAIN), 3)
    for epoch in some(triples):
        assert np.array_equal(epoch[np.lexsort((epoch[:, 1], epoch[:, 0])), :2], TRAIN.pairs)
    assert TRAIN.contains(triples[..., 0], triples[..., 2]).any() == (law == "everything")
    assert not np.array_equal(triples[0], triples[1])
    mean = TRAIN.col_counts[triples[..., 2]].mean()
    assert mean > 1.1 * TRAIN.col_counts.mean() if law == "popularity" else mean < 1.05 * TRAIN.col_counts.mean()
    assert [epoch for epoch, _ in listener.epochs] == [0, 1, 2, 3] and len({draw for _, draw in listener.epochs}) == 4


@pytest.mark.parametrize("law", ["uniform", "popularity", "everything"])
def test_the_negatives_of_two_batches_are_independent_draws(law: str) -> None:
    """Place by place, two batches of one epoch or of two agree as often as chance: one stream for all would show.

    Each of 2000 users has one of 100 items, each item 20 users, so that equal draws give (nearly) equal negatives.
    """
    m, n, size = 2000, 100, 500
    data, listener = Interactions(np.arange(m), np.arange(m) % n, n_users=m, n_items=n), Listener()
    train_recommender(listener, data, None, epochs=2, lr=0.1, batch_size=size, seed=0, negatives=law)
    negatives = [batch[:, 2] for batch in listener.batches]
    assert len(negatives) == 8
    for one, other in some(itertools.combinations(negatives, 2)):
        assert (one == other).mean() < 5 / n  # 1/n by chance, with a standard deviation of 0.45/n
        assert abs(np.corrcoef(one, other)[0, 1]) < 5 / size**0.5


def test_patience_is_rounded_up_to_evaluations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patience 4, an evaluation every 3 epochs: after the best one, two evaluations without a gain are waited for."""
    scripted = iter([0.1, 0.3, 0.2, 0.2, 0.2, 0.2])
    monkeypatch.setattr(recommenders, "measure", lambda *_: {"mrr": next(scripted)})
    history = train_recommender(model(), TRAIN, VALID, epochs=18, lr=0.01, seed=0, patience=4, evaluate_every=3)
    assert [entry["mrr"] for entry in history.epochs] == [0.1, 0.3, 0.2, 0.2]


def test_the_last_evaluation_may_come_after_fewer_epochs() -> None:
    listener = Listener()
    history = train_recommender(listener, TRAIN, None, epochs=5, lr=0.1, seed=3, evaluate_every=2)
    assert len(history.epochs) == 3 and [epoch for epoch, _ in listener.epochs] == [0, 1, 2, 3, 4]


# ---- measuring


def test_measure_is_the_metrics_and_the_popularity_of_what_test_users_see() -> None:
    """Three users, two with a test pair. Counts 2, 1, 1, 0; equal scores, so the lists are the lowest unseen ids."""
    train = Interactions([0, 1, 2, 2], [0, 0, 1, 2], n_users=3, n_items=4)
    test = Interactions([0, 2], [2, 3], n_users=3, n_items=4)
    found = measure((np.ones((3, 1)), np.ones((4, 1))), train, test, k=2)
    # user 0 sees items 1, 2 (counts 1, 1), hit at rank 2; user 2 sees 0, 3 (counts 2, 0), hit at rank 2
    assert found["mrr"] == 0.5 and found["recall"] == 1 and found["precision"] == 0.5
    assert found["avgpop"] == 1.0 and found["top_share"] == 0.25
    assert found["ndcg"] == pytest.approx(1 / np.log2(3)) and found["map"] == 0.5


def test_popularity_is_counted_in_train_alone() -> None:
    """`seen` keeps its pairs out of the lists; it adds nothing to the counts of AvgPop and of the popular items."""
    train = Interactions([0, 1, 2, 2], [0, 0, 1, 2], n_users=4, n_items=4)  # counts 2, 1, 1, 0
    valid = Interactions([0, 1, 2, 3], [1, 3, 3, 3], n_users=4, n_items=4)  # with these item 3 would be the first
    test = Interactions([0], [3], n_users=4, n_items=4)
    found = measure((np.ones((4, 1)), np.ones((4, 1))), train, test, k=2, seen=valid)
    assert found["recall"] == 1  # user 0 is shown items 2 and 3
    assert found["avgpop"] == 0.5 and found["top_share"] == 0


def test_measure_agrees_with_evaluate_and_leaves_out_what_was_seen() -> None:
    tables = [np.random.default_rng(0).normal(size=(rows, 4)) for rows in DATA.shape]
    plain = evaluate(*tables, TRAIN, TEST, 10)
    found = measure(tables, TRAIN, TEST)
    assert {name: found[name] for name in ("mrr", "ndcg", "map", "recall", "precision")} == {
        name: plain[f"{name}@10"] for name in ("mrr", "ndcg", "map", "recall", "precision")
    }
    both = union(TRAIN, VALID)
    assert both is union(TRAIN, VALID)  # made once, however often a model is measured
    assert measure(tables, TRAIN, TEST, seen=VALID)["mrr"] == evaluate(*tables, both, TEST, 10)["mrr@10"]
    assert len(both) == len(TRAIN) + len(VALID)
    with pytest.raises(ValueError, match="shares"):
        measure(tables, TRAIN, TEST, seen=TEST)
    other = Interactions([0], [0], n_users=1, n_items=1)
    with pytest.raises(ValueError, match=r"^first has shape .*, second .*; expected the same"):
        union(TRAIN, other)
    with pytest.raises(ValueError, match=r"^train has shape .*, seen .*; expected the same"):
        measure(tables, TRAIN, TEST, seen=other)
    with pytest.raises(ValueError, match=r"^second is .*; expected Interactions"):
        union(TRAIN, [(0, 0)])


def test_tables_come_without_gradient_and_the_mode_of_the_model_stays() -> None:
    trained = model("LightGCN").train()
    users, items = tables_of(trained)
    assert not users.requires_grad and not items.requires_grad and trained.training
    assert tables_of((1, 2)) == (1, 2)


def run(model: object, train: object = TRAIN, valid: object = None, **options: object) -> object:
    return train_recommender(model, train, valid, **{"epochs": 1, "lr": 0.1, "seed": 0} | options)


SMALL, LARGE = (Interactions([0, 1], [1, 2], n_users=m, n_items=n) for m, n in ((3, 5), (300, 200)))
test_bad_arguments_are_named = refused(
    (lambda: split_811([[0, 1]], np.random.default_rng(0)), "^data is .*; expected Interactions"),
    (lambda: tables_of("x"), "^model_or_tables is 'x'"),
    (lambda: run("x"), "^model is 'x'; expected Module"),
    *((lambda data=data: run(model(), data), r"train has shape .*the model's") for data in (SMALL, LARGE)),
    (lambda: run(model(), valid=[0]), r"^valid is \[0\]; expected Interactions"),
    (lambda: run(model(), lr="x"), "^lr is 'x'"),
    (lambda: run(model(), batch_size=0), "^batch_size is 0"),
    (lambda: run(model(), negatives="x"), "^negatives is 'x'"),
    (lambda: run(model(), fabric="x"), "^fabric is 'x'"),
    (lambda: run(model(), epochs=0), "epochs is 0"),
    (lambda: run(model(), evaluate_every=0), "evaluate_every is 0"),
    (lambda: run(model(), optimizer="lbfgs"), "optimizer is 'lbfgs'; expected one of adam, sgd"),
    (lambda: run(model(), optimizer="lazy_adam"), "optimizer is 'lazy_adam'; expected one of adam, sgd, adagrad"),
    (lambda: run(model(sparse=True)), "optimizer of sparse gradients is 'adam'; expected one of sgd, adagrad"),
)
