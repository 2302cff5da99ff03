"""What the chapter says of its own runs, on runs a tenth as long: rows X7k, X7l and X7m of the claims."""

import numpy as np
import pytest
import torch

from course_lib import datasets, encoders, jacobians, losses
from course_lib.experiments.p0 import motion
from course_lib.interactions import Interactions
from course_lib.lessons.jacobian_conditions import findings as about
from course_lib.lessons.jacobian_conditions import people, small_towers


@pytest.fixture(scope="module")
def films() -> Interactions:
    return datasets.load("movietweetings", min_rating=7, core=10)


def shortened(*, tower: str = "lookup", optimiser: str = "sgd", loss: str = "infonce") -> int:
    """How often a vector of the small training gets shorter, beyond rounding."""
    run = small_towers.train(tower=tower, optimiser=optimiser, loss=loss, batch_size=16, lr=0.2, steps=40, seed=1)
    return int(about.shorter(torch.tensor(run.norms)).sum())


@pytest.mark.parametrize("choice", [{}, {"tower": "scale"}, {"optimiser": "momentum"}, {"optimiser": "row_adagrad"}])
def test_these_changes_of_a_table_never_shorten(choice: dict[str, str]) -> None:
    assert shortened(**choice) == 0


@pytest.mark.parametrize(
    "choice",
    [
        {"tower": "bias"},
        {"tower": "dense"},
        {"tower": "two_layers"},
        {"optimiser": "adam"},
        {"optimiser": "decay"},
        {"loss": "infonce_dot"},
    ],
)
def test_these_changes_of_a_table_shorten_some_vectors(choice: dict[str, str]) -> None:
    assert shortened(**choice) > 0


def test_an_inverted_table_shortens_every_vector_that_moves() -> None:
    tower = encoders.InvertedLookup(6, 2, generator=torch.Generator().manual_seed(0)).double()
    liked = torch.randn(6, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    everyone = torch.arange(6)
    step = jacobians.measure_step(
        tower,
        everyone,
        lambda q: losses.infonce(losses.cosine_scores(q, liked), tau=0.2),
        torch.optim.SGD(tower.parameters(), lr=0.1),
    )
    before, after = step.norms
    assert (after < before).all()


def test_films_in_a_table_never_shorten_beside_a_network_whose_people_jump_and_then_shrink(
    films: Interactions,
) -> None:
    run = motion.watch(
        people.towers(films, seed=0),
        films,
        optimiser=lambda theta: torch.optim.SGD(theta, lr=1.0),
        steps=30,
        seed=0,
    )
    assert about.no_film_shortens.evidence([run.lengths["item"]])
    assert about.the_first_step_jumps.evidence([run.lengths["user"]])
    assert about.shorter(run.lengths["user"][10:]).double().mean() > 0.5


def test_people_move_each_other_and_layers_grow_while_outputs_fall(films: Interactions) -> None:
    some = torch.arange(3)
    assert jacobians.lookup_equivalent(people.network(films, seed=0), some).leak > 0
    towers = people.towers(films, seed=0, bias=False)
    bare, rng = towers.left, np.random.default_rng(0)
    sgd = torch.optim.SGD(towers.parameters(), lr=3.0)
    outputs, layers = [], []
    for _ in range(60):
        with torch.no_grad():
            layers.append([float(bare[1].weight.norm()), float(bare[3].weight.norm())])
            outputs.append(float(bare(torch.arange(0, films.n_users, 50)).norm(dim=1).median()))
        rows = rng.integers(len(films), size=256)
        q, k = towers(torch.as_tensor(films.users[rows]).long(), torch.as_tensor(films.items[rows]).long())
        sgd.zero_grad()
        losses.infonce(losses.cosine_scores(q, k), tau=0.1).backward()
        sgd.step()
    assert about.outputs_fall_while_layers_grow.evidence([(outputs, np.transpose(layers))])
