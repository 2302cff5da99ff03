"""Many machines inside one: gradients are those of the theorem, and a training starts as its rivals do."""

import itertools

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from course_lib import losses, processes
from course_lib.checking import some
from course_lib.experiments.scale import lost_pushes
from course_lib.interactions import Interactions
from course_lib.lessons.one_batch_many_machines import machines, stops
from tests.lessons.one_batch_many_machines import make_stops
from tests.refused import refused

SIZE = 6


def tables() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    q, k = (torch.randn(SIZE, 2, generator=generator, dtype=torch.float64).requires_grad_() for _ in range(2))
    return q, k


@pytest.fixture(scope="module")
def films() -> Interactions:
    """Every one of 40 people likes 20 of 40 films."""
    users, items = np.nonzero(np.add.outer(np.arange(40), np.arange(40)) % 2 == 0)
    return Interactions(users, items, n_users=40, n_items=40)


def gradients(gather: str) -> tuple[torch.Tensor, ...]:
    q, k = tables()
    scores = machines.scores_on(q, k, processes=3, gather=gather)
    return torch.autograd.grad(machines.softmax(scores, torch.arange(SIZE)), (q, k))


def test_a_gather_with_gradients_is_one_machine() -> None:
    q, k = tables()
    right = torch.autograd.grad(losses.infonce(q @ k.T, tau=1), (q, k))
    for found, expected in zip(gradients("gradients"), right, strict=True):
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-14)


def test_constants_lose_the_far_pushes_and_nothing_else() -> None:
    q, k = (x.detach() for x in tables())
    chance = (q @ k.T).softmax(1)
    far = torch.arange(SIZE)[:, None] // 2 != torch.arange(SIZE)[None, :] // 2
    (kept_q, kept_k), (whole_q, whole_k) = gradients("constant"), gradients("gradients")
    assert processes.gradient_factors(processes=3, rows="own", gather="constant").far == 0
    torch.testing.assert_close(whole_k - kept_k, (chance * far).T @ q / SIZE, rtol=0, atol=1e-14)
    torch.testing.assert_close(whole_q, kept_q, rtol=0, atol=1e-14)


def test_without_a_gather_the_loss_is_the_mean_of_three_small_ones() -> None:
    q, k = tables()
    parts = [losses.infonce(q[at : at + 2] @ k[at : at + 2].T, tau=1) for at in (0, 2, 4)]
    right = torch.autograd.grad(torch.stack(parts).mean(), (q, k))
    for found, expected in zip(gradients("none"), right, strict=True):
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-14)


def test_an_accidental_hit_is_left_out_whoever_is_gathered() -> None:
    scores = torch.tensor([[1.0, 2.0], [0.5, 3.0]])
    shown = torch.tensor([7, 7])
    assert machines.softmax(scores, shown) == 0
    cut = torch.tensor([[1.0, -torch.inf], [-torch.inf, 3.0]])
    assert machines.softmax(cut, torch.tensor([7, 8]), torch.tensor([0.1, 0.2])) == 0


def test_all_ways_start_alike_and_end_apart(films: Interactions) -> None:
    made = {gather: machines.train(films, gather=gather, steps=3, seed=1) for gather in ("gradients", "constant")}
    one, eight = made.values()
    assert one.first_loss == eight.first_loss
    assert torch.equal(machines.train(films, gather="constant", steps=3, seed=1).items, eight.items)
    assert not torch.allclose(one.items, eight.items)


def test_a_training_passes_through_its_stops(films: Interactions) -> None:
    """And what was yielded is not changed by the steps that follow."""
    first, second = machines.train_to([2, 5], films, gather="gradients", seed=1)
    for steps, found in ((2, first), (5, second)):
        alone = machines.train(films, gather="gradients", steps=steps, seed=1)
        assert torch.equal(found.users, alone.users) and torch.equal(found.items, alone.items)


def test_cosines_have_rows_of_length_one_and_another_loss(films: Interactions) -> None:
    """The loss of the first step, written out: the batch's cosines over the temperature, without accidental hits."""
    made = machines.train(films, gather="gradients", steps=1, seed=1, temperature=0.5)
    torch.testing.assert_close(made.items.norm(dim=1), torch.ones(40))
    generator, rng = torch.Generator().manual_seed(1), np.random.default_rng(1)
    users, items = (0.3 * torch.randn(40, 16, generator=generator) for _ in range(2))
    drawn = rng.choice(len(films), machines.PAIRS, replace=False)
    q, k = users[films.users[drawn]], items[films.items[drawn]]
    cosines = q @ k.T / q.norm(dim=1)[:, None] / k.norm(dim=1)
    shown = torch.from_numpy(films.items[drawn])
    right = losses.in_batch_softmax(cosines, tau=0.5, item_ids=shown)
    assert made.first_loss == pytest.approx(float(right), rel=1e-5)


def test_the_lists_are_measured_on_both_hidden_parts(films: Interactions) -> None:
    """Person 0 likes the even films; the tables rank 39, 38, ... first, and 38 is known."""
    users, items = np.ones((40, 2)), np.stack((np.arange(40.0), np.zeros(40)), 1)
    validation, test = (Interactions([0], [film], n_users=40, n_items=40) for film in (39, 1))
    assert stops.of_tables(users, items, stops.Parts(films, validation, test)) == (100, 0, 20)


def test_the_most_popular_list_shows_what_is_liked_most() -> None:
    liked = Interactions(np.arange(30) % 10, np.repeat([3, 5, 12], 10), n_users=11, n_items=40)
    hidden = Interactions([10, 10], [3, 39], n_users=11, n_items=40)
    found = stops.of_list("most popular", stops.Parts(liked, hidden, hidden), seed=0)
    others = 7 / 37  # places of the list for the 37 films that nobody likes, of which one is hidden
    assert found.validation == found.recall == pytest.approx(50 * (1 + others))
    shuffled = stops.of_list("random", stops.Parts(liked, hidden, hidden), seed=0)
    assert shuffled == stops.of_list("random", stops.Parts(liked, hidden, hidden), seed=0)


@pytest.mark.seconds
@pytest.mark.parametrize(
    ("model", "holding"), [("inner products, logQ", "eight, constants"), ("cosines, logQ", "one machine")]
)
def test_the_stored_table_is_what_training_gives(model: str, holding: str) -> None:
    """The first three stops of two of its trainings; float32, so another processor may rank a few films otherwise."""
    stored, first = stops.stored()[model][holding], stops.STOPS[:3]
    made = list(stops.of_training(model, holding, make_stops.parts(1), seed=1, stops=first))
    for at, found in some(list(enumerate(made))):
        assert found.validation == pytest.approx(stored.validation[1, at], abs=0.5)
        assert found.recall == pytest.approx(stored.recall[1, at], abs=0.5)


@pytest.mark.seconds
def test_the_stored_lists_are_those_of_the_splits() -> None:
    stored = stops.stored()["lists"]
    for seed in some(list(make_stops.SEEDS)):
        parts = make_stops.parts(seed)
        for name in some(stops.LISTS):
            found, kept = stops.of_list(name, parts, seed=seed), stored[name]
            assert found == pytest.approx(
                (kept.validation[seed, 0], kept.recall[seed, 0], kept.fans[seed, 0]), abs=0.006
            )


def test_the_stored_table_is_whole() -> None:
    stored = stops.stored()
    assert list(stored) == ["lists", *stops.MODELS] and list(stored["lists"]) == list(stops.LISTS)
    for model in some(stops.MODELS):
        assert list(stored[model]) == list(stops.MACHINES)
        shapes = {found.recall.shape for found in stored[model].values()}
        assert shapes == {(len(make_stops.SEEDS), len(stops.STOPS))}


@pytest.mark.parametrize("steps", [[], [0], [3, 3], [5, 2]])
def test_stops_that_do_not_grow_are_refused(films: Interactions, steps: list[int]) -> None:
    with pytest.raises(ValueError, match=r"stops is .*expected numbers of steps that grow"):
        next(machines.train_to(steps, films, gather="none"))


test_nonsense_is_named = refused(
    (lambda: machines.scores_on(*tables(), processes=2, gather="all"), "gather is 'all'"),
    (lambda: machines.scores_on(*tables(), processes=4, gather="none"), "expected a number that divides the 6 pairs"),
)


# ==== the averaged gradient that SCALE-X6 computes by hand is that of autograd through the lesson's own scores


@pytest.mark.parametrize("count", [1, 2, 4, 8])
@pytest.mark.parametrize("temperature", [None, 0.3])
def test_the_averaged_gradient_is_that_of_autograd(count: int, temperature: float | None) -> None:
    generator = torch.Generator().manual_seed(count)
    users, items = torch.randn(2, 8, 3, generator=generator, dtype=torch.float64)
    films, log_q = torch.tensor([0, 1, 2, 0, 3, 1, 4, 5]), torch.log(torch.arange(1.0, 7.0).double() / 21)
    items = items[films]
    leaves = [users.clone().requires_grad_(), items.clone().requires_grad_()]
    q, k = leaves if temperature is None else [normalize(leaf) for leaf in leaves]
    scores = machines.scores_on(q / (temperature or 1.0), k, processes=count, gather="constant")
    loss = losses.in_batch_softmax(scores, tau=1.0, log_q=log_q[films], item_ids=films)
    right = torch.autograd.grad(loss, leaves)
    found, slopes = lost_pushes.averaged(users, items, films, log_q, machines=count, temperature=temperature)
    assert found == pytest.approx(float(loss.detach()), rel=1e-12)
    for one, other in zip(slopes, right, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)


def test_a_queue_pushes_the_films_of_its_batch_alone() -> None:
    """The in-batch softmax of two pairs beside a queue of three, over all ten choices, against one batch of five."""
    generator = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, 5, 3, generator=generator, dtype=torch.float64)
    batches = [torch.tensor(batch) for batch in itertools.combinations(range(5), 2)]

    def slopes(rows: torch.Tensor, felt: torch.Tensor) -> torch.Tensor:
        """The gradient in the films of the mean over rows; felt (rows, 5): the columns that are no constants."""
        films = k.clone().requires_grad_()
        scores = torch.where(felt, q[rows] @ films.T, q[rows] @ k.T)
        return torch.autograd.grad(torch.nn.functional.cross_entropy(scores, rows), films)[0]

    every = torch.arange(5)
    whole, pull = slopes(every, torch.ones(5, 5, dtype=torch.bool)), slopes(every, torch.eye(5, dtype=torch.bool))
    queued = torch.stack([slopes(batch, torch.isin(every, batch).expand(2, 5)) for batch in batches]).mean(dim=0)
    kappa = 1 / 4
    torch.testing.assert_close(queued, kappa * whole + (1 - kappa) * pull, rtol=1e-12, atol=1e-14)
    assert not torch.allclose(queued, whole, atol=1e-3)
