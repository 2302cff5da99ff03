"""P4's experiments: the pieces are what they say, and the shapes of the paper show at smoke scale."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from refused import refused

from course_lib import encoders, experiments, gramians, metrics
from course_lib.checking import some
from course_lib.experiments import p4
from course_lib.experiments.p4 import data as p4_data
from course_lib.experiments.p4 import errors, quality
from course_lib.experiments.p4.training import Trainer

pytestmark = pytest.mark.seconds

CELL = {**p4.shared_plan("smoke", device="cpu"), "every": 5, "checks": 2, "seed": 0}


def test_bags_are_words_of_titles() -> None:
    matrix = p4_data.bag(p4_data.words(["The_Big_Sleep", "the sleep sleep", ""]))
    assert matrix.shape == (3, 3) and matrix.toarray().tolist() == [[1, 1, 1], [0, 1, 1], [0, 0, 0]]  # big, sleep, the


def test_a_bag_is_the_mean_of_its_features_embeddings() -> None:
    tower = encoders.Bags({"a": sp.csr_array([[1, 1, 0], [0, 0, 0], [0, 0, 1]]), "b": sp.csr_array(np.eye(3))}, 2)
    table = tower.tables["a"]
    found = tower(torch.tensor([2, 0, 1, 0]))
    expected = torch.stack([table[2], (table[0] + table[1]) / 2, torch.zeros(2), (table[0] + table[1]) / 2])
    assert torch.allclose(found[:, :2], expected) and torch.equal(found[:, 2:], tower.tables["b"][[2, 0, 1, 0]])


test_errors_say_what_was_expected = refused(
    (lambda: encoders.Bags({}, 2), "at least one bag"),
    (lambda: encoders.Bags({"a": sp.eye(2), "b": sp.eye(3)}, 2), r"\[2, 3\] rows"),
    (lambda: encoders.Perceptron(encoders.Lookup(2, 3), (3,)), "at least the input's width and the output's"),
    (lambda: p4.estimator("magic", 3, 2, 1), "estimator 'magic'"),
    (lambda: p4.load_task("ml-9m", 0), "no recipe of P4"),
)


def test_towers_share_their_inputs_where_both_sides_are_pages() -> None:
    data = p4_data.load_data("movietweetings-10core")
    bags = {"id": p4_data.one_hot(9)}
    task = p4.Task(data, data, np.ones(len(data)), bags, None, (np.arange(9), np.arange(9)[::-1].copy()))
    towers = task.towers(p4_data.SMALL, 0)
    assert [name for name in towers.shared_parameters() if "tables" in name]
    assert not p4.load_task("movietweetings-10core", 0).towers(p4_data.SMALL, 0).shared_parameters()


def test_the_exact_gramian_counts_every_training_pair() -> None:
    trainer = p4.make_trainer(CELL, "sampling")
    users, items = trainer.tables()
    rows, cols = trainer.pairs
    for found, table in zip(errors.exact_gramians(trainer), (users[rows], items[cols]), strict=True):
        assert torch.allclose(found, gramians.gramian(table), atol=1e-5)


def test_with_few_candidates_the_number_is_larger_and_with_all_it_is_exact() -> None:
    trainer = p4.make_trainer(CELL, "sampling")
    users, items = trainer.tables()
    task = trainer.task
    exact = metrics.evaluate(users, items, task.train, task.test, 10)["map@10"]
    assert p4.map_of_few(users, items, task, np.random.default_rng(0), count=10**9) == pytest.approx(exact, abs=1e-12)
    assert p4.map_of_few(users, items, task, np.random.default_rng(0), count=50) > 2 * exact


def test_histograms_are_shares_of_what_they_count() -> None:
    rows = p4.histogram_rows(p4.make_trainer(CELL, "sampling"), np.random.default_rng(0), 500)
    shares = {row["pairs"]: row["shares"] for row in rows if row["metric"] == "histogram"}
    assert set(shares) == {"observed", "random"} and all(
        sum(share) == pytest.approx(1, abs=1e-3) for share in shares.values()
    )


def test_training_learns_and_repeats() -> None:
    def run() -> list[float]:
        rows = quality.trained_rows({**CELL, "every": 40, "checks": 3}, "sampling")
        return [row["value"] for row in rows if row["metric"] == "train map@10 at step"]

    curve = run()
    assert curve[-1] > 1.3 * curve[0] and curve == run()


def test_the_batch_of_the_gramians_and_that_of_the_gradient_are_drawn_apart() -> None:
    """Footnote 5: two draws from 50 pairs agree in one place of 50, one and the same in all, none in none."""
    given = SimpleNamespace(task=SimpleNamespace(train=range(50)), batch_size=32, device="cpu")
    drawn = list(Trainer.batches(given, 300)(0, np.random.default_rng(0)))
    agree = np.array([int((seen == used).sum()) for seen, used in some(drawn)])
    expected, deviation = 32 / 50, (32 / 50 * 49 / 50) ** 0.5
    assert len(drawn) == 300 and abs(agree.mean() - expected) < 4 * deviation / 300**0.5
    for side in (0, 1):
        assert len({tuple(both[side].tolist()) for both in drawn}) == 300


@pytest.fixture(scope="module")
def late_errors() -> dict[str, dict[str, float]]:
    """Of the cells that the lab has run with the same code, or of new ones."""
    return {which: experiments.run(which, "smoke", progress=False).scalars for which in ("P4-F2", "P4-F3")}


def test_figure_2_in_shape(late_errors: dict[str, dict[str, float]]) -> None:
    """Late in the run: more memory, less error; a larger batch, less error for those without memory."""
    late = {
        name.removeprefix("late "): value for name, value in late_errors["P4-F2"].items() if name.startswith("late ")
    }
    assert late["sagram 1 1024"] < late["sampling 1024"] < late["sampling 128"]
    assert late["sogram 0.01 128"] < late["sampling 128"]


def test_figure_3_curves_cross(late_errors: dict[str, dict[str, float]]) -> None:
    """A high rate is better early, a lower one late; correcting the zero start takes most of the early error away."""
    found = late_errors["P4-F3"]
    assert found["early sogram 1.0 128"] < found["early sogram 0.01 128"]
    assert found["late sogram 0.01 128"] < found["late sogram 1.0 128"]
    assert found["early sogram 0.01 corrected 128"] < 0.6 * found["early sogram 0.01 128"]
