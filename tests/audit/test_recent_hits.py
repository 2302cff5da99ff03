"""Recent hits added when serving: advised where popularity drifts and not without it; chosen by other users."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from audit import planted

from course_lib import hits, metrics
from course_lib.audit import Report, audit, remedies
from course_lib.audit.evidence import Evidence
from course_lib.audit.pairs import pairs_of
from course_lib.audit.remedies import LOGQ, RECENT_HITS, Bench, Effect, remedied
from course_lib.audit.tables import table_of
from course_lib.interactions import Interactions

pytestmark = pytest.mark.seconds

USERS, ITEMS, DAY, DAYS = 500, 400, 86_400.0, 100.0


@cache
def model(drift: float, seed: int = 0) -> planted.Model:
    """Tables that know the taste alone. Each item is popular for about a month: the more, the larger the drift."""
    draw = np.random.default_rng([seed, 21])
    users, items = 6 * planted.unit(USERS, 16, draw), planted.unit(ITEMS, 16, draw)
    who, when = np.repeat(np.arange(USERS), 25), draw.uniform(0, DAYS, 25 * USERS)
    popularity = drift * np.exp(-(((when[:, None] - draw.uniform(0, 1.3 * DAYS, ITEMS)) / 20) ** 2))
    what = np.argmax((users @ items.T)[who] + popularity + draw.gumbel(size=popularity.shape), axis=1)
    order = np.argsort(when)
    days = when[order] * DAY + 1.6e9
    pairs = Interactions.merged(who[order], what[order], n_users=USERS, n_items=ITEMS, times=days, keep="first")
    return planted.Model(items, users, *pairs.split_by_time(0.9))


@cache
def report(drift: float, seed: int = 0) -> Report:
    return model(drift, seed).audited(seed)


def measured(found: Report) -> Effect:
    return next(effect for effect in found.remedies if effect.remedy == RECENT_HITS)


@pytest.mark.parametrize("seed", range(2))
def test_they_are_advised_where_popularity_drifts_and_not_where_there_is_none(seed: int) -> None:
    found = report(3.0, seed)
    effect, logq = measured(found), next(each for each in found.remedies if each.remedy == LOGQ)
    assert effect.advisable and effect.gain > 0.2 and effect.difference > logq.difference + 0.02
    assert effect.chosen["half_life"] < DAYS / 4
    first = found.actions[0]
    assert first.of == RECENT_HITS and first.decision == "logq" and first.gain == effect.gain
    assert "over the most popular items" in first.why and "; recent hits " in first.why
    assert "adding recent hits when serving" in found.headline.lower()
    assert f"recent hits ({effect.chosen['half_life']:g} days)" in found.html()
    still = report(0.0, seed)
    assert not measured(still).helps and RECENT_HITS not in {action.of for action in still.actions}
    assert "recent hits when serving" not in still.headline


def test_the_two_lines_make_the_tables_that_were_measured() -> None:
    found, given = report(3.0), model(3.0)
    room: dict[str, Any] = {"np": np, "hits": hits, "users": given.users, "items": given.items, "train": given.pairs}
    exec("\n".join(found.actions[0].code), room)
    users, items = found.remedied(RECENT_HITS)
    np.testing.assert_allclose(room["users"] @ room["items"].T, users @ items.T, atol=1e-9)


def test_the_choice_knows_nothing_of_the_users_on_whom_it_is_judged() -> None:
    """Where all that these users want is their best item by the tables alone, the choice stays; of the others, not."""
    given = model(3.0)
    best = metrics.top_k(given.users, given.items, given.pairs, 1)[:, 0]

    def bench(side: int | None) -> Bench:
        held_out = given.held_out
        if side is not None:
            moved = np.isin(held_out.users, first.chosen[first.halves[side]])
            items = np.where(moved, best[held_out.users], held_out.items)
            held_out = Interactions.merged(
                held_out.users, items, n_users=USERS, n_items=ITEMS, times=held_out.times, keep="first"
            )
        counts = given.pairs.col_counts.astype(float)
        return Bench(Evidence(given.items, given.users, counts, given.pairs, held_out))

    first = bench(None)
    assert bench(1).added == first.added != bench(0).added
    chosen = remedies.recent_hits(first)
    assert chosen is not None and chosen.users == len(first.halves[1]) and chosen.chosen == first.added
    assert sorted(np.concatenate(first.halves).tolist()) == [*range(len(first.chosen))]


def test_users_beyond_the_bench_are_served_by_the_same_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remedies, "JUDGED_USERS", 50)
    given = model(3.0)
    counts = given.pairs.col_counts.astype(float)
    sample = Bench(Evidence(given.items, given.users.astype(np.float32), counts, given.pairs, given.held_out))
    part, everybody = remedied(RECENT_HITS, sample, measured=True), remedied(RECENT_HITS, sample)
    assert [len(part[0]), len(everybody[0])] == [50, USERS] and {table.dtype for table in everybody} == {np.dtype("f4")}
    np.testing.assert_array_equal(everybody[0][sample.chosen], part[0])
    np.testing.assert_array_equal(everybody[1], part[1])


def test_without_a_split_by_time_nothing_is_said_of_them() -> None:
    """Hits are recent for what comes later: of a pair held out at random, the training knows what came after."""
    given, kept = model(3.0), np.random.default_rng(0).random(len(model(3.0).pairs)) < 0.9
    at_random = replace(given, pairs=given.pairs.select(kept), held_out=given.pairs.select(~kept)).audited(0)
    of_one_time = replace(given, pairs=replace(given.pairs, times=np.ones(len(given.pairs)))).audited(0)
    for each in (at_random, of_one_time, planted.report("clean", 4)):
        assert RECENT_HITS not in {effect.remedy for effect in each.remedies}
        assert RECENT_HITS not in each.text() and "half-life" not in each.html() and not each.notes
        with pytest.raises(ValueError, match=f"remedy is '{RECENT_HITS}'"):
            remedied(RECENT_HITS, Bench(each.evidence))


def test_lists_full_of_recent_hits_are_not_personal() -> None:
    effect = measured(report(3.0))
    assert effect.overlap_recent is not None and 0 < effect.overlap_recent < 0.5 and effect.personal
    assert not replace(effect, overlap_recent=0.5).personal and not replace(effect, overlap_after=0.5).personal


def test_times_in_finer_units_become_seconds_and_the_report_says_so() -> None:
    given = model(3.0)
    later = replace(given, pairs=replace(given.pairs, times=1000 * given.pairs.times)).audited(0)
    ours, theirs = measured(report(3.0)), measured(later)
    assert theirs.chosen == ours.chosen and theirs.after == pytest.approx(ours.after)
    assert "pairs: the times look like milliseconds since 1970, and were taken as such." in later.notes
    assert not any("since 1970" in note for note in report(3.0).notes)
    rows = table_of(np.eye(3), "items", drop_zero_rows=False)
    for size, unit in ((1, ""), (1e3, "milliseconds"), (1e6, "microseconds"), (1e9, "nanoseconds")):
        times, seconds = [1.6e9 * size, 1.5e9 * size], [1.6e9, 1.5e9]
        found = pairs_of(Interactions([0, 1], [1, 2], n_users=3, n_items=3, times=times), "pairs", rows, rows)
        assert found.pairs.times is not None and found.pairs.times.tolist() == seconds
        assert found.unit == unit


def test_times_that_are_no_seconds_either_leave_a_note() -> None:
    given = model(0.0)
    pairs, held_out = (replace(each, times=1e12 * each.times) for each in (given.pairs, given.held_out))
    found = audit(given.items, given.users, pairs=pairs, held_out=held_out, rng=np.random.default_rng(0))
    assert RECENT_HITS not in {effect.remedy for effect in found.remedies} and len(found.remedies) == 7
    assert any(note.startswith("The sum with recent hits could not be set up: train.times has") for note in found.notes)
