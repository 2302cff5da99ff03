"""Each verdict's figures against an independent computation, and what it says where something is missing."""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from audit import planted

from course_lib import in_batch, metrics, popularity
from course_lib.audit import CATALOGUE, Report, Training, Verdict, audit, remedies
from course_lib.audit.evidence import Evidence
from course_lib.audit.questions import batch, rows
from course_lib.audit.questions.direction import popularity_direction
from course_lib.audit.questions.lengths import popularity_lengths
from course_lib.audit.remedies import BACK, CORRECTION, LOGQ, REMEDIES, SHIFTS, Bench, remedied
from course_lib.audit.training import NEGATIVES
from course_lib.audit.verdicts import OF_TRIPLES
from course_lib.interactions import Interactions

pytestmark = pytest.mark.seconds


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_a_table_alone_is_told_what_is_missing() -> None:
    found = audit(rng().standard_normal((200, 8)), rng=rng())
    assert found.ids("fault") == [] and found.ids("fine") == [
        *("shifted-centre", "collapsed-rank", "duplicated-rows", "dead-rows", "hubs")
    ]
    for name in found.ids("cannot tell"):
        assert found[name].support and found[name].advice


def test_few_items_settle_nothing() -> None:
    table = rng().standard_normal((30, 4)) + 5
    found = audit(table, counts=np.arange(1, 31), rng=rng())
    for name in ("popularity-lengths", "popularity-direction", "shifted-centre", "hubs"):
        assert found[name].verdict == "cannot tell", name


def test_what_the_lists_are_made_of_by_hand() -> None:
    """All users are asked, as they are fewer than LISTS."""
    model = planted.PLANTS["popularity-lengths"](3, 1)
    figures = planted.report("popularity-lengths", 3, 1)["popularity-lengths"].figures
    counts, seen = model.pairs.col_counts, model.pairs.labels().astype(bool)
    able = seen.any(axis=1)
    order = np.argsort(-counts, kind="stable")
    direction = model.items[order[:30]].mean(0) - model.items[order[-30:]].mean(0)
    direction /= np.linalg.norm(direction)

    def lists(items: np.ndarray) -> np.ndarray:
        return np.argsort(-np.where(seen, -np.inf, model.users @ items.T), axis=1, kind="stable")[able, :10]

    dot, cosine = lists(model.items), lists(model.items / np.linalg.norm(model.items, axis=1, keepdims=True))
    assert figures["head_by_dot"] == pytest.approx(np.isin(dot, order[:6]).mean())
    assert figures["head_by_cosine"] == pytest.approx(np.isin(cosine, order[:6]).mean())
    rest = lists(model.items - np.outer(model.items @ direction, direction))
    kept = np.mean([len({*a} & {*b}) / 10 for a, b in zip(dot.tolist(), rest.tolist(), strict=True)])
    assert figures["kept_without_direction"] == pytest.approx(kept)
    assert figures["head_by_cosine"] < figures["head_by_dot"] and figures["head_by_chance"] < 0.01


def test_a_slope_beyond_the_quartic_law_is_not_the_size_of_the_training() -> None:
    """Lengths that grow like count^slope: the law allows 0 to 1/4."""
    counts = np.geomspace(1, 1000, 400)
    for slope, word in ((0.1, "can explain"), (0.5, "cannot explain"), (-0.2, "cannot explain")):
        table = rng().standard_normal((400, 8))
        table *= (counts**slope / np.linalg.norm(table, axis=1))[:, None]
        assert word in audit(table, counts=counts, rng=rng())["popularity-lengths"].support, slope


def test_the_advice_on_lengths_goes_by_the_sign_of_the_slope() -> None:
    """To divide items by a power of their counts makes short popular items shorter still."""
    counts = np.geomspace(1, 1000, 400)
    for slope in (0.2, -0.2):
        table = rng().standard_normal((400, 8))
        table *= (counts**slope / np.linalg.norm(table, axis=1))[:, None]
        found = audit(table, counts=counts, rng=rng())
        verdict = found["popularity-lengths"]
        assert verdict.verdict == "noted"
        assert ("Do not divide" in verdict.advice) == (slope < 0) and "measure on held-out pairs" in verdict.advice
        measured = planted.report("popularity-lengths", 3, 1).remedies
        helps = [replace(each, difference=0.1, low=0.09, overlap_after=0.1, coverage_after=1.0) for each in measured]
        assert found.evidence is not None
        said = popularity_lengths(found.evidence, helps)
        assert said.verdict == "fault" and remedies.WORDS["normalise the items"] in said.advice
        assert (remedies.WORDS["divide by the fourth root of popularity"] in said.advice) == (slope > 0)
        crowds = popularity_lengths(found.evidence, [replace(each, overlap_after=0.9) for each in helps])
        assert crowds.verdict == "noted" and "do not stay personal" in crowds.advice


@pytest.mark.parametrize("power", [0.3, 1.5])
def test_lengths_are_a_fault_where_even_ones_repair_the_lists(power: float) -> None:
    """Items times a power of their counts: a small one ranks better than none, a large one worse."""
    model = planted.clean(3, sphere=False)
    longer = replace(model, items=model.items * np.maximum(model.pairs.col_counts, 1)[:, None] ** power)
    verdict = longer.audited(3)["popularity-lengths"]
    assert verdict.verdict == ("fault" if power > 1 else "noted")
    assert ("which helps on held-out pairs here" in verdict.advice) == (power > 1)


def test_a_bias_of_the_batches_is_a_fault_where_popularity_given_back_repairs_the_lists() -> None:
    """The scores of a clean model leave popularity out, as this loss does; those of the second have it."""
    clean = replace(planted.clean(3), training=Training(loss="in_batch", batch_size=64))
    given = np.log(np.maximum(clean.pairs.col_counts, 1))[:, None]
    whole = replace(clean, items=np.hstack([clean.items, given]), users=np.hstack([clean.users, np.ones((300, 1))]))
    blind = audit(clean.items, clean.users, pairs=clean.pairs, training=clean.training, draws=1, rng=rng())
    for report, answer in ((clean.audited(3), "fault"), (whole.audited(3), "noted"), (blind, "noted")):
        verdict = report["in-batch-bias"]
        assert verdict.verdict == answer and verdict.figures["misled"] > 0.9
        assert ("Divide each negative" in verdict.advice) == (answer == "fault")


def test_a_narrower_table_is_advised_only_where_it_was_measured_to_do() -> None:
    report = planted.report("collapsed-rank", 3)
    assert report["collapsed-rank"].verdict == "fault" and report.evidence is not None
    for low, said in (
        (-0.06, "no narrower table surely ranks as well"),
        (-0.04, "a quarter of the dimensions is enough"),
    ):
        measured = [replace(each, change=replace(each.change, low=low * each.before)) for each in report.smaller]
        advice = rows.collapsed_rank(report.evidence, measured).advice
        assert said in advice and ("is enough" in advice) == (low == -0.04)
    assert "Measure on held-out pairs" in rows.collapsed_rank(report.evidence).advice


@pytest.mark.parametrize("noise", [0.0, 1e-7])
def test_items_of_one_length_but_for_those_without_a_pair(noise: float) -> None:
    """Trained items on a sphere, the others inside it: a correlation is not defined, or is one of rounding."""
    counts = np.maximum(np.arange(300) - 50, 0)
    table = np.eye(8)[np.arange(300) % 8] * (1 + noise * rng().standard_normal((300, 1)))
    table[counts == 0] *= 0.3
    verdict = audit(table, counts=counts, rng=rng())["popularity-lengths"]
    assert verdict.verdict == "fine" and verdict.figures["items"] == 249
    assert "The 249 items with a training pair have one length" in verdict.support and "51 others" in verdict.support


def test_a_collapsed_model_gets_its_report() -> None:
    """All items equal: no direction of popularity to shift along, said in a note, and all other remedies measured."""
    model = planted.clean(5)
    found = replace(model, items=np.ones_like(model.items)).audited(5)
    assert {"collapsed-rank", "duplicated-rows"} <= set(found.ids("fault"))
    assert found["collapsed-rank"].figures["effective_rank"] == 0
    assert [effect.remedy for effect in found.remedies] == [*REMEDIES]
    assert [note.partition(" could")[0] for note in found.notes] == ["A shift of all users", "DDC"]
    assert all("same mean embedding" in note for note in found.notes)


def test_equal_rows_are_counted_by_groups() -> None:
    table = rng().standard_normal((300, 6))
    table[[7, 9, 250]] = table[3]
    table[100] = table[200]
    figures = audit(table, rng=rng())["duplicated-rows"].figures
    assert (figures["rows"], figures["largest_group"]) == (6, 4)
    table[100] *= 1 + 1e-4
    assert audit(table, rng=rng())["duplicated-rows"].figures["rows"] == 4


@pytest.mark.parametrize("kind", in_batch.KINDS[:1] + in_batch.KINDS[3:5])
def test_weights_of_the_batch_are_those_of_the_whole_matrix(kind: str) -> None:
    """Against `expected_weights`, cell by cell: the share of positives that weigh more as negatives."""
    model = replace(planted.clean(3), training=Training(loss=kind, batch_size=40))
    labels = model.pairs.labels()
    kept = labels[:, labels.any(axis=0)]  # the other kinds divide by the counts
    positive, negative = in_batch.expected_weights(kind, labels=kept, batch_size=40)
    wanted = (negative > positive)[kept == 1].mean()
    assert model.audited(3)["in-batch-bias"].figures["misled"] == pytest.approx(wanted)


@pytest.mark.parametrize("loss", ["unbiased", "masked", "bpr", "als"])
def test_losses_without_the_bias_are_fine(loss: str) -> None:
    model = replace(planted.clean(3), training=Training(loss=loss, batch_size=512, negatives="uniform"))
    assert model.audited(3)["in-batch-bias"].verdict == "fine"


def asked(**training: Any) -> Verdict:
    """Users and items that score log(chance of the pair / popularity), told to come from this training."""
    found = planted.report("clean", 4)
    assert found.evidence is not None
    repairs = {effect.remedy: effect for effect in found.remedies}
    return batch.in_batch_bias(replace(found.evidence, training=Training(**training)), repairs)


def test_bpr_is_judged_by_the_law_of_its_negatives() -> None:
    """Negatives by popularity take it out of the scores, which held-out pairs show; uniform ones do not."""
    for law in ("popularity", "in-batch", "implicit"):
        found = asked(loss="bpr", negatives=law)
        assert found.verdict == "fault" and found.figures["low"] > 0 and found.advice, law
        assert found.question.theorem == "prop-laws-of-negatives"
    for law in ("uniform", "everything", "RecBole"):
        assert asked(loss="bpr", negatives=law).verdict == "fine", law
    unknown = asked(loss="bpr")
    assert unknown.verdict == "cannot tell" and "--negatives" in unknown.advice and unknown.asked == OF_TRIPLES
    model = replace(planted.clean(4), training=Training(loss="bpr", negatives="popularity"))
    unseen = audit(model.items, model.users, pairs=model.pairs, training=model.training, rng=rng())["in-batch-bias"]
    assert unseen.verdict == "cannot tell" and unseen.figures["pushed"] > 0
    assert unseen.asked == OF_TRIPLES and [picture.y for picture in unseen.pictures] == ["times"]


def test_a_loss_without_a_theorem_is_not_asked_for_again() -> None:
    """`other` was said: the verdict asks for no --loss, and shows what the repairs at serving change."""
    said, unsaid = asked(loss="other", batch_size=64), asked()
    assert (said.verdict, unsaid.verdict) == ("cannot tell", "cannot tell")
    assert "'other'" in said.support and "--loss" not in said.advice and said.figures["after"]
    assert "--loss" in unsaid.advice


@pytest.mark.parametrize("law", NEGATIVES)
def test_roles_are_those_of_the_whole_matrix(law: str) -> None:
    """Against `expected_roles` on the dense labels; the shares that the verdict names follow from them."""
    pairs = planted.clean(4).pairs
    wanted = popularity.expected_roles(pairs.labels()[pairs.row_counts > 0], NEGATIVES[law])
    np.testing.assert_allclose(batch.expected_roles(pairs, NEGATIVES[law]), wanted)
    figures = asked(loss="bpr", negatives=law).figures
    assert figures["pushed"] == np.mean(wanted[1] > wanted[0] + 1e-6)
    spread = np.std(wanted[0] - wanted[1]) / np.std(pairs.col_counts)
    assert figures["spread_of_net_pull"] == pytest.approx(spread, abs=1e-9)


@pytest.mark.parametrize("loss", ["in_batch", "in-batch-softmax", "bpr", "als"])
def test_both_repairs_at_serving_are_named_for_every_loss(loss: str) -> None:
    figures = asked(loss=loss, batch_size=64, temperature=1.0, negatives="uniform").figures
    effects = {effect.remedy: effect for effect in planted.report("clean", 4).remedies}
    for remedy, names in {
        LOGQ: ("after", "low", "high"),
        BACK: ("multiplied", "multiplied_low", "multiplied_high"),
    }.items():
        effect = effects[remedy]
        assert [figures[name] for name in names] == [effect.after, effect.low, effect.high], remedy


def softmax(*, temperature: float | None = 1.0, logq: bool = False, sphere: bool = True) -> Report:
    """Users and items that score log(chance of the pair / popularity of the item), as in-batch softmax leaves them."""
    model = planted.clean(4, sphere=sphere)
    training = Training(loss="in-batch-softmax", batch_size=64, temperature=temperature, logq=logq)
    return replace(model, training=training).audited(4)


def test_softmax_without_logq_is_judged_by_held_out_pairs() -> None:
    verdict = softmax()["in-batch-bias"]
    assert verdict.verdict == "fault" and verdict.figures["low"] > 0
    assert "compared cosines" not in verdict.support
    assert "95 % interval" in verdict.lead and " 1 log" not in verdict.lead  # what was measured stands in the action
    assert "0.5 x log(popularity) is added" in softmax(temperature=0.5)["in-batch-bias"].support
    assert "if the training compared cosines" in softmax(sphere=False)["in-batch-bias"].support  # lengths differ
    assert softmax(logq=True)["in-batch-bias"].verdict == "fine"
    assert softmax(temperature=None)["in-batch-bias"].verdict == "cannot tell"


def test_leaks_are_counted_exactly_and_left_out() -> None:
    model, found = planted.PLANTS["leaked-test-pairs"](3, 2), planted.report("leaked-test-pairs", 3)
    train, test = ({tuple(pair) for pair in data.pairs.tolist()} for data in (model.pairs, model.held_out))
    assert found["leaked-test-pairs"].figures["shared"] == len(train & test) == 150
    assert found["ddc-gain"].verdict != "cannot tell"
    assert planted.report("clean", 0)["leaked-test-pairs"].figures["shared"] == 0
    rest = model.held_out.select(~model.pairs.contains(model.held_out.users, model.held_out.items))
    without = replace(model, held_out=rest).audited(3)
    assert found.evidence is not None and found.evidence.held_out == rest
    assert [*found.remedies, *found.baselines] == [*without.remedies, *without.baselines]


def test_each_purpose_has_random_numbers_of_its_own() -> None:
    """So that an answer does not depend on which others were asked, nor two draws on each other."""
    evidence = Evidence(np.ones((5, 2)), seed=3)
    drawn = {purpose: tuple(evidence.rng(purpose).integers(2**32, size=4)) for purpose in ("queries", "axis", "ddc")}
    assert len(set(drawn.values())) == 3 and drawn["axis"] == tuple(evidence.rng("axis").integers(2**32, size=4))
    assert drawn["axis"] != tuple(replace(evidence, seed=4).rng("axis").integers(2**32, size=4))


def test_unevenness_is_against_the_median_length() -> None:
    """One item ten times as long as eight others: nine times the median away from it, and less from the mean."""
    evidence = Evidence(np.diag([1.0] * 8 + [10.0]))
    assert evidence.unevenness == pytest.approx(9.0)


def test_the_chance_of_a_direction_is_a_root_mean_square() -> None:
    """Not a standard deviation: of correlations that are all .5 by chance, it is .5 and not 0."""
    evidence = Evidence(rng().standard_normal((200, 4)), counts=np.arange(200.0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(popularity, "cross_fitted_correlation", lambda *_, **__: 0.5)
        assert evidence.row_axis is not None and evidence.row_axis.chance == pytest.approx(0.5)


def test_pairs_of_zero_rows_and_repeated_pairs_are_counted_apart() -> None:
    """Of seven pairs one comes again and two are of a zero row."""
    items = rng().standard_normal((30, 4))
    items[5] = 0
    users = rng(1).standard_normal((6, 4))
    pairs = np.array([[0, 1], [0, 1], [1, 5], [2, 5], [2, 3], [3, 4], [4, 9]])
    found = audit(items, users, pairs=pairs, rng=rng(), drop_zero_rows=True)
    assert found.inputs["pairs"] == {"pairs": 4, "repeated": 1, "of_zero_rows": 2}
    assert "pairs: pairs that came again, each of which counts once: 1." in found.notes
    assert "pairs: pairs of zero rows that were left out: 2." in found.notes


# ---- beside every NDCG, and what may be advised


def test_most_popular_and_random_stand_beside_every_ndcg() -> None:
    """In text, page and JSON."""
    found = planted.report("clean", 4)
    popular, chance = found.baselines
    value = f"{popular.after:.4f}"
    assert [effect["after"] for effect in found.to_dict()["baselines"]] == [popular.after, chance.after]
    for said in (found.text(), found["ddc-gain"].support, found["in-batch-bias"].support):
        assert value in said
    page = found.html()
    assert page.count(value) >= 4 and "The most popular items have" in page.partition("<main>")[0]


def test_users_are_advised_to_move_only_where_that_was_measured_to_help() -> None:
    found = planted.report("popularity-direction", 0)
    shift = next(effect for effect in found.remedies if effect.remedy in SHIFTS)
    assert found.evidence is not None and shift.high > shift.low
    stays = replace(shift, overlap_after=0.2, coverage_after=shift.coverage_before)
    helps, harms = (replace(stays, difference=at, low=at - 0.01, high=at + 0.01) for at in (0.05, -0.05))
    crowd = replace(helps, overlap_after=0.8)
    assert "do not stay personal" in popularity_direction(found.evidence, [crowd]).advice
    assert "+0.0500" in popularity_direction(found.evidence, [helps]).advice
    assert "does not help" in popularity_direction(found.evidence, [harms]).advice
    assert "measure on held-out pairs" in popularity_direction(found.evidence, []).advice


def test_ids_decide_nothing_where_scores_are_equal() -> None:
    """Constant tables, items numbered by popularity or in reverse: NDCG of chance, and no head in the lists."""
    model = planted.clean(4)
    order = np.argsort(-model.pairs.col_counts, kind="stable")
    for numbers in (np.argsort(order), 599 - np.argsort(order)):
        train, test = (
            Interactions(data.users, numbers[data.items], n_users=data.n_users, n_items=data.n_items)
            for data in (model.pairs, model.held_out)
        )
        found = audit(np.ones((600, 4)), np.ones((300, 4)), pairs=train, held_out=test, rng=rng())
        assert found.baselines[1].before == pytest.approx(found.baselines[1].after) and found.baselines[1].after < 0.02
        assert found.evidence is not None
        lists = found.evidence.lists(np.ones((300, 4)), np.ones((600, 4)), train)
        assert (
            0.2 < np.mean(lists < 300) < 0.8 and not train.contains(np.repeat(np.arange(300), 10), lists.ravel()).any()
        )


# ---- remedies


@pytest.fixture(scope="module")
def bench() -> Bench:
    model = planted.clean(5)
    counts = model.pairs.col_counts.astype(float)
    return Bench(Evidence(model.items, model.users, counts, model.pairs, model.held_out, Training(temperature=0.5)))


def test_what_is_shown_is_counted_over_the_places_that_there_are() -> None:
    """Lists of ten among four items: user 0 lacks items 1 to 3, user 1 items 2 and 3; user 2 has no training pair."""
    pairs = Interactions([0, 1, 1], [0, 0, 1], n_users=3, n_items=4)
    held_out = Interactions([0, 1, 2], [1, 2, 3], n_users=3, n_items=4)
    tables = rng().standard_normal((4, 2)), rng(1).standard_normal((3, 2))
    small = Bench(Evidence(*tables, pairs.col_counts.astype(float), pairs, held_out))
    assert small.chosen.tolist() == [0, 1]
    assert small.start.shown.tolist() == [pytest.approx((1 + 0 + 0) / 3), 0.0]
    assert remedies.baselines(small)[-1].popularity_after == pytest.approx((1 / 3 + 0) / 2)  # of items at random


def test_a_shift_is_chosen_by_users_on_whom_it_is_not_judged(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the judged users find, the choice stays: here every other shift becomes perfect for them."""
    found = {name: rng(at).random(len(bench.chosen)) for at, name in enumerate(SHIFTS)}
    monkeypatch.setattr(remedies, "remedied", lambda name, *_, **__: name)
    monkeypatch.setattr(Bench, "judged", lambda _, name, some: SimpleNamespace(ndcg=found[name][some]))
    monkeypatch.setattr(Bench, "effect", lambda _, name, __, part: (name, part))
    best, judged = remedies.global_shift(bench)
    for name, ndcg in found.items():
        ndcg[judged] = float(name != best)
    assert remedies.global_shift(bench)[0] == best
    assert len(set(judged)) == len(judged) == len(bench.chosen) // 2


def test_a_report_hands_out_the_tables_that_it_judged() -> None:
    """For every remedy: NDCG of its tables, by the library, is the one that the report names."""
    model, found = planted.clean(5), planted.report("clean", 5)
    for effect in found.remedies:
        tables = found.remedied(effect.remedy)
        assert [len(table) for table in tables] == [len(model.users), len(model.items)]
        if effect.users == len(model.users):  # a shift is judged on half of them
            wanted = metrics.evaluate(*tables, model.pairs, model.held_out, 10)["ndcg@10"]
            assert effect.after == pytest.approx(wanted), effect.remedy
    assert {effect.remedy for effect in found.remedies} == {*REMEDIES, CORRECTION, found.remedies[-2].remedy}
    assert found.remedies[-2].remedy in SHIFTS
    with pytest.raises(ValueError, match="remedy is 'nothing'"):
        found.remedied("nothing")


def test_users_beyond_the_bench_are_changed_by_the_rule_that_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bench of 50 users; the last user has no training pair, and items have another type than users."""
    monkeypatch.setattr(remedies, "JUDGED_USERS", 50)
    model = planted.clean(5)
    pairs, users = model.pairs.select(model.pairs.users < len(model.users) - 1), model.users.astype(np.float32)
    counts = pairs.col_counts.astype(float)
    sample = Bench(Evidence(model.items, users, counts, pairs, model.held_out))
    assert len(sample.chosen) == 50 < len(users)
    for name in (*REMEDIES, *SHIFTS, CORRECTION):
        measured, everybody = remedied(name, sample, measured=True), remedied(name, sample)
        assert [table.dtype for table in (*measured, *everybody)] == [np.float32] * 4, name
        np.testing.assert_array_equal(everybody[0][sample.chosen], measured[0], err_msg=name)
        np.testing.assert_array_equal(everybody[1], measured[1], err_msg=name)
        assert len(everybody[0]) == len(users)
        if name in SHIFTS:
            moved = everybody[0] - users
            np.testing.assert_allclose(moved, np.broadcast_to(moved[sample.chosen[0]], moved.shape), atol=1e-5)
        if name == CORRECTION:
            assert (everybody[0][:-1] != users[:-1]).any(axis=1).all() and (everybody[0][-1] == users[-1]).all()


def test_a_handful_of_users_settles_nothing() -> None:
    model = planted.clean(5)
    few = model.held_out.select(model.held_out.users < 3)
    found = replace(model, held_out=few).audited(5)
    assert found["ddc-gain"].verdict == "cannot tell" and found.remedies == ()
    json.dumps(found.to_dict(), allow_nan=False)


# ---- what an answer may depend on


def test_an_answer_does_not_depend_on_what_else_was_given() -> None:
    model = planted.clean(6)
    counts = model.pairs.col_counts
    alone = audit(model.items, counts=counts, rng=rng(1))
    for name in ("popularity-direction", "shifted-centre", "collapsed-rank", "duplicated-rows", "hubs"):
        assert alone[name] == audit(model.items, model.users, pairs=model.pairs, rng=rng(1))[name], name


def test_zero_rows_take_their_counts_and_pairs_along() -> None:
    """The same as without these items from the start, but for the place of an item in the file."""
    model = planted.PLANTS["dead-rows"](6, 2)
    kept = np.flatnonzero(model.items.any(axis=1))
    place = np.full(len(model.items), -1)
    place[kept] = np.arange(len(kept))

    def less(data: Interactions) -> Interactions:
        items = place[data.items]
        return Interactions(data.users[items >= 0], items[items >= 0], n_users=data.n_users, n_items=len(kept))

    smaller = replace(model, items=model.items[kept], pairs=less(model.pairs), held_out=less(model.held_out))
    found, wanted = model.audited(0), smaller.audited(0)
    same = [name for name in CATALOGUE if name not in ("dead-rows", "hubs")]
    assert [found[name] for name in same] == [wanted[name] for name in same]
    hubs, fewer = ({**report["hubs"].figures} for report in (found, wanted))
    hub = hubs.pop("most_listed_item")
    assert hub == kept[fewer.pop("most_listed_item")] and hubs == fewer
    assert f"row {hub}, is in" in found["hubs"].support
    assert found["dead-rows"].figures["zero_items"] == 60 and found.inputs["pairs"]["of_zero_rows"] > 0


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"pairs": np.zeros((4, 2), int)}, "pairs was given without users"),
        ({"users": np.ones((5, 4)), "pairs": np.zeros((4, 3), int)}, "pairs has shape"),
        ({"users": np.ones((5, 4)), "pairs": np.full((4, 2), 9)}, "pairs: pair 0 has the user 9"),
        ({"users": np.ones((5, 4)), "held_out": (np.array([0]), np.array([99]))}, "held_out: pair 0 has the item 99"),
        ({"k": 2.5}, "k is 2.5"),
        ({"draws": 0}, "draws is 0"),
        ({"rng": None}, "rng is None"),
        ({"counts": ["many"] * 40}, "could not convert|counts"),
    ],
)
def test_bad_arguments_are_refused(given: dict, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        audit(**({"items": rng().standard_normal((40, 4)), "rng": rng()} | given))
