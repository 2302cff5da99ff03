"""PRACTICE-2: its losses by hand, what it calls known, and that its lists and differences are those of its tables."""

import numpy as np
import pytest
import torch

from course_lib import hits, losses
from course_lib.experiments.practice import negatives, scoreboard
from course_lib.experiments.practice.scoreboard import Window
from course_lib.interactions import Interactions

TRAIN = Interactions([0, 0, 1, 1, 2, 2], [0, 1, 0, 2, 0, 3], n_users=3, n_items=4, times=[10**5 * k for k in range(6)])


def tables() -> tuple[torch.Tensor, torch.Tensor]:
    people, films = (torch.randn(rows, 5, generator=torch.Generator().manual_seed(rows)) for rows in (3, 4))
    return people.requires_grad_(), films.requires_grad_()


@pytest.mark.parametrize("name", negatives.LOSSES)
def test_every_loss_is_a_finite_number_with_a_gradient_in_both_tables(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    people, films = tables()
    monkeypatch.setattr(negatives, "HARDEST_OF", 2)
    loss, more = negatives.loss_of(name, TRAIN, (people, films), 0.5, torch.Generator().manual_seed(0))
    value = loss(torch.tensor([0, 1, 2]), torch.tensor([1, 2, 3]))
    gradients = torch.autograd.grad(value, [people, films, *more])
    assert torch.isfinite(value) and all(torch.isfinite(part).all() and part.abs().sum() > 0 for part in gradients)


def test_plain_and_logq_are_the_librarys() -> None:
    people, films = tables()
    u, i = torch.tensor([0, 1, 2]), torch.tensor([0, 2, 0])
    scores = losses.cosine_scores(people[u], films[i])
    log_q = torch.tensor(np.log([3 / 6, 1 / 6, 1 / 6, 1 / 6]))
    for name, correction in (("plain", None), ("logQ", log_q[i])):
        loss, _ = negatives.loss_of(name, TRAIN, (people, films), 0.5, torch.Generator())
        assert torch.isclose(loss(u, i), losses.in_batch_softmax(scores, tau=0.5, log_q=correction).float())


def test_the_refined_gradient_is_that_of_the_formula() -> None:
    """One row by hand: (1 - p) (softmax of the negatives / q' minus the positive), no copies of the positive."""
    items, log_q = torch.tensor([0, 1, 2, 0]), torch.tensor([0.4, 0.3, 0.2, 0.1], dtype=torch.float64).log()
    logits = torch.randn(4, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64).requires_grad_()
    (slope,) = torch.autograd.grad(negatives.refined_log_q(logits, items, log_q), logits)
    row = logits.detach()[0]
    terms = torch.tensor([0.0, row[1].exp() / (0.3 / 0.6), row[2].exp() / (0.2 / 0.6), 0.0], dtype=torch.float64)
    weight = (terms.sum() / 2) / (terms.sum() / 2 + row[0].exp())
    wanted = weight * (terms / terms.sum() - torch.tensor([1.0, 0, 0, 0], dtype=torch.float64)) / 4
    torch.testing.assert_close(slope[0], wanted)


def test_the_hardest_of_m_comes_with_the_probability_that_the_law_gives_its_rank() -> None:
    scores = torch.arange(6, 0, -1.0).repeat(4000, 1)  # item k has rank k
    chosen, log_p = negatives.hardest_of(scores, 3, torch.Generator().manual_seed(0))
    law = losses.hardest_law(6, 3, 1)
    assert np.abs(np.bincount(chosen, minlength=6) / 4000 - law).max() < 0.03
    torch.testing.assert_close(log_p.exp(), torch.tensor(law, dtype=torch.float32)[chosen])


def test_the_hardest_is_left_out_where_it_is_the_positive_of_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    people, films = tables()
    monkeypatch.setattr(negatives, "HARDEST_OF", 4)  # of all four films
    loss, _ = negatives.loss_of("hardest", TRAIN, (people, films), 0.5, torch.Generator().manual_seed(0))
    order = losses.cosine_scores(people[:1], films)[0].argsort(descending=True)
    values = [float(loss(torch.tensor([0]), film[None]).detach()) for film in order]
    assert values[0] == 0 < min(values[1:])


def test_hits_are_weighed_on_validation_and_models_trained_on_all_that_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    validation, test = negatives.windows("movietweetings-10core")
    weighed, known = [], []

    def made(name: str, train: Interactions, *_: object) -> tuple[torch.Tensor, torch.Tensor]:
        known.append(train)
        return torch.ones(train.n_users, 2), torch.ones(train.n_items, 2)

    monkeypatch.setattr(negatives, "tuned", lambda *given: weighed.append(given[-1]) or ((2.0, 1.0), []))
    monkeypatch.setattr(negatives, "trained", made)
    cell = {**negatives.plan("smoke", (0,))[1], "losses": ["plain"]}
    negatives._model_rows(cell, 0.5, validation, test)
    assert weighed == [validation] and known == [test.train]


def test_validation_and_test_are_later_than_what_is_known() -> None:
    validation, test = negatives.windows("movietweetings-10core")
    for window in (validation, test):
        assert window.train.times.max() == window.now <= window.later.times.min()
        assert (window.train.row_counts[window.later.users] > 0).all()
    assert validation.later.times.max() <= test.later.times.min()
    assert [int((window.later.row_counts > 0).sum()) for window in (validation, test)] == [810, 832]


def test_recall_counts_at_most_ten_hidden_films_on_ml_1m_only() -> None:
    rates = [negatives.rate_of(data) for data in ("ml-1m", "movietweetings-10core")]
    assert rates == [scoreboard.capped_recall, scoreboard.recall]


def test_the_lists_in_hindsight_and_on_validation_are_the_best_by_hand() -> None:
    validation, test = negatives.windows("movietweetings-10core")
    rows = negatives.list_rows("movietweetings-10core", validation, test)
    found = {(row["loss"], row["metric"]): row["value"] for row in rows}

    def by_hand(window: Window, half: float) -> float:
        counts, shares = hits.decayed_counts(window.train, half), []
        order = np.argsort(-counts, kind="stable")
        for person in np.flatnonzero(window.later.row_counts):
            ten = order[~np.isin(order, window.train.items_of(person))][:10]
            shares.append(np.isin(window.later.items_of(person), ten).mean())
        return float(np.mean(shares))

    for window, name in ((test, "hits, chosen in hindsight"), (validation, "hits")):
        every = {half: by_hand(window, half) for half in negatives.HALF_LIVES}
        assert every[found[name, "half life"]] == pytest.approx(max(every.values()))
        if window is test:
            assert found[name, "recall@10"] == pytest.approx(max(every.values()))
