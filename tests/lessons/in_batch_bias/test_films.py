"""The four objectives that the chapter trains side by side, and what is said of their lists."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from course_lib import in_batch, losses
from course_lib.interactions import Interactions
from course_lib.lessons.in_batch_bias import films, rates
from course_lib.lessons.in_batch_bias import findings as about
from course_lib.lessons.in_batch_bias.films import Lists
from course_lib.lessons.shared.findings import Finding, FindingError
from tests.lessons.in_batch_bias import make_rates


@pytest.fixture(scope="module")
def train() -> Interactions:
    """Two tastes and one hit: 20 people like the films of their own half, and all like film 0."""
    rng = np.random.default_rng(0)
    labels = np.zeros((40, 12), dtype=bool)
    labels[:20, 1:6] = labels[20:, 6:] = rng.random((20, 1)) < 0.9
    labels[:, 0] = True
    labels &= rng.random(labels.shape) < 0.9
    users, items = np.nonzero(labels)
    return Interactions(users, items, n_users=40, n_items=12)


def pairs(train: Interactions, *places: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.from_numpy(train.users[list(places)]).long(), torch.from_numpy(train.items[list(places)]).long()


def counts(train: Interactions, i: torch.Tensor, j: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor(train.row_counts[i]).double(), torch.tensor(train.col_counts[j]).double()


def test_the_unbiased_and_the_in_batch_loss_have_the_weights_of_the_library(train: Interactions) -> None:
    i, j = pairs(train, 3, 40, 90)
    scores = torch.arange(9, dtype=torch.float64).reshape(3, 3) / 4 - 1
    pos_loss, neg_loss = losses.pair_losses("logistic", scores)
    for kind in ("unbiased", "in_batch"):
        pull, push = in_batch.batch_weights(
            kind,
            row_counts=train.row_counts[i].astype(float),
            col_counts=train.col_counts[j].astype(float),
            n_positives=len(train),
            shape=train.shape,
        )
        by_hand = (torch.as_tensor(pull) * pos_loss.diagonal()).sum() + (torch.as_tensor(push) * neg_loss).sum()
        assert films.batch_loss(kind, scores, train, *counts(train, i, j)) == pytest.approx(float(by_hand))


def test_logq_takes_the_share_of_each_film_from_its_scores(train: Interactions) -> None:
    i, j = pairs(train, 3, 40, 90)
    scores = torch.arange(9, dtype=torch.float64).reshape(3, 3) / 4
    shares = torch.from_numpy(train.col_counts[j] / len(train))
    by_hand = torch.nn.functional.cross_entropy(scores - torch.log(shares), torch.arange(3))
    assert films.batch_loss("logq", scores, train, *counts(train, i, j)) == pytest.approx(float(by_hand))
    assert films.batch_loss("softmax", scores, train, *counts(train, i, j)) != pytest.approx(float(by_hand))


def test_adding_log_popularity_multiplies_exponentials_by_the_counts(train: Interactions) -> None:
    rng = np.random.default_rng(1)
    users, items = rng.normal(size=(40, 3)), rng.normal(size=(12, 3))
    more_users, more_items = films.plus_log_popularity(users, items, train)
    assert np.allclose(np.exp(more_users @ more_items.T), np.exp(users @ items.T) * train.col_counts)


def test_lists_count_hits_fans_and_different_films() -> None:
    """Two people have seen film 0 and one film hidden; the third has seen two films, and four are left to show."""
    seen = Interactions([0, 1, 2, 2], [0, 0, 4, 5], n_users=3, n_items=6)
    hidden = Interactions([0, 1], [1, 5], n_users=3, n_items=6)
    found = films.lists((np.ones((3, 1)), np.arange(6.0)[:, None]), seen, hidden)
    assert (found.precision, found.films) == (pytest.approx(20), 6)
    assert found.fans == np.median([1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 2])


def test_the_most_popular_film_comes_first_for_those_who_have_not_seen_it(train: Interactions) -> None:
    shown = films.best(films.most_popular(train), train)
    newcomers = np.setdiff1d(np.arange(40), train.users[train.items == 0])
    assert len(newcomers) and (shown[newcomers, 0] == 0).all()


def test_training_is_the_same_for_a_seed_and_refuses_what_it_does_not_know(
    train: Interactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(films, "BATCH", 16)
    one, again, other = (films.trained(train, "logq", seed=seed, passes=2)[1] for seed in (0, 0, 1))
    assert np.array_equal(one, again) and not np.array_equal(one, other)
    with pytest.raises(ValueError, match=r"objective.*unbiased, in_batch, softmax, logq"):
        films.trained(train, "bpr", seed=0)
    with pytest.raises(ValueError, match="rate"):
        films.trained(train, "logq", seed=0, rate=0.0)


# ---- the findings of the page's own run


def runs(**shifts: float) -> list[dict[str, Lists]]:
    """Three seeds in which every objective is at 5 %, 100 fans, 50 films, but for a shift of P@5 and of the fans."""
    names = ("unbiased", "in_batch", "softmax", "logq", "most popular")
    served = ("in_batch, plus log popularity", "softmax, plus log popularity")
    return [
        {
            name: Lists(5 + 0.01 * seed + shifts.get(name, 0), 100 + seed + 10 * shifts.get(name, 0), 50)
            for name in (*names, *served)
        }
        for seed in range(3)
    ]


CORRECTED = runs(**{"in_batch": -3, "softmax": -3, "logq": 1, "in_batch, plus log popularity": 1})


@pytest.mark.parametrize(
    "found",
    [
        about.correction_finds_more,
        about.correction_raises_popularity,
        about.log_popularity_at_serving_helps,
        about.some_beat_popularity,
    ],
    ids=lambda found: found.name,
)
def test_the_findings_of_the_table_hold_for_runs_like_ours_and_fail_where_all_are_alike(found: Finding) -> None:
    assert found.evidence(CORRECTED)
    with pytest.raises(FindingError, match=found.name):
        found.evidence(runs())


def test_beating_popularity_is_claimed_of_one_model_and_counted_for_all() -> None:
    assert about.some_beat_popularity.evidence(CORRECTED).support.startswith("2 of 6 models, 3 seeds each")


def test_a_score_that_rises_with_popularity_is_no_lower_score() -> None:
    ranks = [{"in_batch": -0.5, "popularity": -0.4, "unbiased": 0.3 + 0.01 * seed} for seed in range(3)]
    assert about.popular_pairs_score_lower.evidence(ranks).support.startswith("2 of 3 objectives, 3 seeds each")
    with pytest.raises(FindingError, match="in_batch"):
        about.popular_pairs_score_lower.evidence([{**rank, "in_batch": 0.1} for rank in ranks])


def test_the_stored_table_of_rates_is_what_training_gives_and_chose_the_rates() -> None:
    """One of its twenty cells; float32, so another processor may rank a few films otherwise."""
    stored = rates.stored()
    assert rates.precision(*make_rates.parts(), "in_batch", 0.3) == pytest.approx(stored["in_batch"][3], abs=0.2)
    assert {name: rates.TRIED[np.argmax(found)] for name, found in stored.items()} == films.RATES
    assert list(stored) == list(films.RATES) and {len(found) for found in stored.values()} == {len(rates.TRIED)}
