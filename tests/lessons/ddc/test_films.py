"""What the pages measure on the films: checkpoints, changes in percent, losses of triples."""

from __future__ import annotations

import numpy as np
import pytest

from course_lib.lessons.ddc import films, findings
from course_lib.lessons.shared.findings import FindingError


def test_a_checkpoint_is_the_model_of_so_many_passes() -> None:
    """Training on changes what comes later, and not what was kept."""
    kept = list(films.checkpoints(0.01, [1, 2], seed=3))
    for passes, tables in zip((1, 2), kept, strict=True):
        for ours, theirs in zip(tables, films.factorise(0.01, passes=passes, seed=3), strict=True):
            assert np.array_equal(ours, theirs)
    assert not np.array_equal(kept[0][0], kept[1][0])


def test_a_change_is_in_percent_of_the_mean_before() -> None:
    rng = np.random.default_rng(0)
    before, after = rng.uniform(1, 2, size=(2, 400))
    found = films.change(after, before)
    assert found.percent == pytest.approx(100 * (after.mean() / before.mean() - 1))
    halves = [films.change(np.tile(after, n), np.tile(before, n)).half for n in (1, 4)]
    assert halves[0] == pytest.approx(2 * halves[1], rel=0.01)  # four times as many people, half the interval


def test_the_margin_is_the_score_of_the_own_film_minus_that_of_the_other() -> None:
    users, items = films.factorise(0.01, passes=1)
    train, (owners, own, others) = films.parts()[0], films.triples()
    at = [0, 1, 500, len(owners) - 1]
    found = films.margins(users, items)
    assert found[at] == pytest.approx([users[owners[k]] @ (items[own[k]] - items[others[k]]) for k in at])
    have = set(zip(train.users.tolist(), train.items.tolist(), strict=True))
    assert all((owners[k], own[k]) in have and (owners[k], others[k]) not in have for k in at)
    assert films.bpr_loss(np.zeros(5)) == pytest.approx(np.log(2))


def test_without_scalars_ddc_has_the_loss_and_the_lists_of_the_model() -> None:
    users, items = films.factorise(0.01, passes=1)
    model = films.DDC(users, items, films.parts()[0])
    assert films.own_loss(model) == pytest.approx(films.bpr_loss(films.margins(users, items)))
    assert np.array_equal(films.lists(*films.served(model)).ranks, films.lists(users, items).ranks)
    assert films.share_below_zero(model) == 0


def test_lists_show_nothing_that_a_person_has() -> None:
    """The popularity of a list is that of films which are in neither of the two parts that are known."""
    users, items = films.factorise(0.01, passes=1)
    train, valid, test = films.parts()
    person = int(np.unique(test.users)[0])
    scores = items @ users[person]
    scores[np.concatenate([train.items_of(person), valid.items_of(person)])] = -np.inf
    ten = np.argsort(-scores)[:10]
    assert films.lists(users, items).popularity[0] == pytest.approx(train.col_counts[ten].mean())


# ---- the findings of the page's own run


def test_one_number_for_each_person_whose_mean_is_the_correlation() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=4000)
    y = 0.6 * x + 0.8 * rng.normal(size=4000)
    each = findings.correlation(x, y)
    assert each.mean() == pytest.approx(np.corrcoef(x, y)[0, 1])
    r = each.mean()
    assert each.std() == pytest.approx(1 - r**2, rel=0.05)  # the variance of r, for normal x and y, is (1 - r^2)^2 / n


def test_the_better_guide_is_found_and_the_worse_one_stops_the_page() -> None:
    rng = np.random.default_rng(2)
    alpha, push = rng.normal(size=(2, 900))
    change = push + 0.5 * rng.normal(size=900)
    shifts = dict.fromkeys(("0", "+1", "+2", "+3"), (alpha, push, change))
    assert findings.lists_follow_the_push.evidence(shifts).support.startswith(
        "all 4 shifts, one seed each, interval over users"
    )
    with pytest.raises(FindingError, match="fails in 0"):
        findings.lists_follow_the_push.evidence({**shifts, "0": (push, alpha, change)})


def test_a_gain_that_is_the_same_when_stopped_supports_nothing() -> None:
    assert findings.training_on_makes_the_gain.evidence([15, 14, 14], [3, 4, 4]).support.startswith(
        "one model, 3 seeds"
    )
    with pytest.raises(FindingError, match="training-on-makes-the-gain"):
        findings.training_on_makes_the_gain.evidence([5, 3, 4], [4, 5, 3])
