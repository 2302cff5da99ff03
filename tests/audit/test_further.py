"""What is described and never a fault, against independent code."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from audit import planted

from course_lib.audit import FURTHER, Report, Training, audit, compare
from course_lib.audit.evidence import Evidence
from course_lib.audit.questions import searched
from course_lib.audit.questions.rules import FURTHER_RULES
from course_lib.audit.snapshots.change import change, first_times
from course_lib.interactions import Interactions

pytestmark = pytest.mark.seconds

faiss = pytest.importorskip("faiss")
MODEL = planted.clean(3, sphere=False)
SOFTMAX = Training(loss="in-batch-softmax", temperature=1.0, batch_size=64)


def audited(model: planted.Model = MODEL, index: str | None = None, training: Training = SOFTMAX) -> Report:
    known = {"pairs": model.pairs, "held_out": model.held_out, "training": training, "draws": 1}
    return audit(model.items, model.users, **known, rng=np.random.default_rng(0), index=index)


@pytest.fixture(scope="module")
def report() -> Report:
    return audited(index="")


def test_they_stand_in_json_text_and_page_and_are_never_a_fault(report: Report) -> None:
    found = json.loads(json.dumps(report.to_dict(), allow_nan=False))["further"]
    assert [each["id"] for each in found] == [each.id for each in report.further]
    assert {each.id for each in report.further} == set(FURTHER) == set(FURTHER_RULES)
    page, said = report.html(), report.text()
    for each in report.further:
        assert each.verdict != "fault" and f'id="{each.id}"' in page and f"{each.id}: {each.verdict.upper()}" in said
    assert max(len(line) for line in said.splitlines() if "https://" not in line) <= 76


def test_nothing_is_described_where_the_rows_do_not_belong() -> None:
    model = replace(MODEL, items=np.roll(MODEL.items, 1, axis=0))
    assert audited(model).further == ()


# ---- calibration and temperature


def test_the_temperature_by_which_pairs_were_drawn_is_found_and_another_is_noted() -> None:
    """Pairs are drawn by weight exp(score): at the temperature 1."""
    model = planted.clean(7)
    right, wrong = audited(model), audited(model, training=replace(SOFTMAX, temperature=3.0))
    found = {name: each["calibration"] for name, each in (("right", right), ("wrong", wrong))}
    assert found["right"].verdict == "fine" and found["wrong"].verdict == "noted"
    value = found["right"].figures["best_temperature_value"]
    assert value == found["wrong"].figures["best_temperature_value"] and 0.8 < (value or 0) < 1.25
    assert f"{value:.3g} and not by 3" in found["wrong"].advice
    figures = found["right"].figures
    assert figures["with_log(popularity)"] < figures["best_temperature"] < figures["all_items_alike"]


def test_without_a_temperature_the_costs_are_said_and_nothing_is_judged() -> None:
    verdict = audited(training=Training())["calibration"]
    assert verdict.verdict == "cannot tell" and "--temperature" in verdict.advice
    assert "best_temperature" in verdict.figures


def test_the_bound_of_a_temperature_counts_lengths_in(report: Report) -> None:
    """Users of length 8: the temperature 1 of dot products is 1/8 of cosines."""
    assert report["temperature"].verdict == "cannot tell"
    tau, n = 1 / planted.SHARPNESS, 600
    found = audited(planted.clean(3))["temperature"]
    floor = np.log1p((n - 1) * np.exp(-n / ((n - 1) * tau)))
    assert found.figures["most_probable"] == pytest.approx(np.exp(-floor)) and found.verdict == "fine"
    assert found.figures["loss_floor"] == pytest.approx(np.log1p(63 * np.exp(-64 / (63 * tau))))
    largest = found.figures["largest"]
    at = np.log1p((n - 1) * np.exp(-n * planted.SHARPNESS / ((n - 1) * (largest or 0))))
    assert np.exp(-at) == pytest.approx(0.5)
    assert audited(planted.clean(3), training=replace(SOFTMAX, temperature=2.0))["temperature"].verdict == "noted"


# ---- time


def timed(seed: int = 0) -> Interactions:
    both = MODEL.pairs.pairs.tolist() + MODEL.held_out.pairs.tolist()
    times = np.random.default_rng(seed).permutation(len(both)).astype(float)
    left, right = np.array(both).T
    return Interactions.merged(left, right, n_users=300, n_items=600, times=times, keep="first")


@pytest.mark.parametrize(
    ("kind", "answer", "said"),
    [("time", "fine", "split by time"), ("last", "noted", "each user's last"), ("random", "noted", "in another way")],
)
def test_how_the_pairs_were_split_is_seen(kind: str, answer: str, said: str) -> None:
    pairs = timed()
    train, test = {
        "time": lambda: pairs.split_by_time(0.8),
        "last": lambda: pairs.split_leave_last(1),
        "random": lambda: pairs.split_random(0.8, np.random.default_rng(1)),
    }[kind]()
    found = audited(replace(MODEL, pairs=train, held_out=test))["time"]
    assert found.verdict == answer and said in found.support
    assert train.times is not None and test.times is not None
    later = np.mean([(train.times > each).mean() for each in test.times])
    own = [(train.times[train.users == user] > when).any() for user, when in zip(test.users, test.times, strict=True)]
    assert found.figures["later"] == pytest.approx(later) and found.figures["later_of_own_user"] == np.mean(own)
    quarter = [found.figures[f"tables_quarter_{at}"] for at in (1, 2, 3, 4)]
    assert all(0 < (each or 0) < 1 for each in quarter) and "popular lately" in found.support


def test_without_times_it_cannot_tell(report: Report) -> None:
    assert report["time"].verdict == "cannot tell"


# ---- the index


@pytest.mark.parametrize("more", [0, 1])
def test_an_index_of_ones_own_is_asked(tmp_path: Path, more: int) -> None:
    """By inner product, and by distance with one more coordinate; an index of half of the items finds about half."""
    items = MODEL.items.astype(np.float32)
    if more:
        squares = (items**2).sum(axis=1)
        items = np.c_[items, np.sqrt(squares.max() - squares)].astype(np.float32)
    made = faiss.IndexFlatL2(33) if more else faiss.IndexFlatIP(32)
    made.add(items)
    faiss.write_index(made, f"{tmp_path}/own.faiss")
    found = audited(index=f"{tmp_path}/own.faiss")["index"]
    assert found.figures["your_index_recall"] == pytest.approx(1, abs=2e-3) and "Your index finds" in found.support
    made = faiss.IndexFlatIP(32)
    made.add(np.where(np.arange(600)[:, None] % 2, MODEL.items, -MODEL.items).astype(np.float32))
    faiss.write_index(made, f"{tmp_path}/half.faiss")
    found = audited(index=f"{tmp_path}/half.faiss")["index"]
    assert 0.3 < (found.figures["your_index_recall"] or 0) < 0.7 and found.verdict == "noted"
    assert "hardly more than chance" not in found.support


def test_an_index_of_another_training_is_said_to_be_one(tmp_path: Path) -> None:
    """As many vectors of the same width, which no number of them shows."""
    rows = np.random.default_rng(1).normal(size=MODEL.items.shape).astype(np.float32)
    made = faiss.IndexFlatIP(32)
    made.add(rows)
    faiss.write_index(made, f"{tmp_path}/old.faiss")
    report = audited(index=f"{tmp_path}/old.faiss")
    assert report["index"].verdict == "noted"
    assert "hardly more than chance does, so it seems to hold other vectors" in report["index"].lead


def test_an_index_of_other_items_is_refused(tmp_path: Path) -> None:
    made = faiss.IndexFlatIP(30)
    made.add(MODEL.items[:, :30].astype(np.float32))
    faiss.write_index(made, f"{tmp_path}/own.faiss")
    (tmp_path / "none.faiss").write_text("no index")
    for name, reason in (("own", "600 vectors of width 30; expected 600 of width 32"), ("none", "faiss cannot read")):
        with pytest.raises(ValueError, match=reason):
            audited(index=f"{tmp_path}/{name}.faiss").to_dict()


def test_without_faiss_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    found = audited(index="")["index"]
    assert found.verdict == "cannot tell" and "'.[index]'" in found.support


def test_without_being_asked_no_index_is_built_and_none_is_advised() -> None:
    report = audited()
    assert report["index"].verdict == "cannot tell" and "--index" in report["index"].advice
    assert "index" not in {action.of for action in report.actions}


def test_one_more_coordinate_is_advised_only_where_no_group_loses() -> None:
    rows = {name: {"recall": 0.5, "head": 0.5, "tail": tail} for name, tail in (("HNSW", 0.5), ("IVF", 0.5))}
    shares = {"HNSW": np.full(50, 0.5), "IVF": np.full(50, 0.5), "HNSW with one more coordinate": np.full(50, 0.7)}
    for tail, advised in ((0.5, True), (0.3, False)):
        rows["HNSW with one more coordinate"] = {"recall": 0.7, "head": 0.8, "tail": tail}
        assert bool(searched._better(shares, rows)) is advised
    shares["HNSW with one more coordinate"] = np.full(50, 0.52)
    assert not searched._better(shares, rows)


# ---- two snapshots


def test_lists_are_compared_by_age() -> None:
    pairs = timed(3)
    moved = np.random.default_rng(5).normal(scale=0.1, size=MODEL.items.shape)
    old, new = (
        Evidence(items, MODEL.users, pairs.col_counts.astype(float), pairs)
        for items in (MODEL.items, MODEL.items + moved)
    )
    known = pairs.labels().astype(bool)
    lists = [np.argsort(-np.where(known, -np.inf, MODEL.users @ each.items.T), axis=1)[:, :10] for each in (old, new)]
    held = np.array([np.isin(*both) for both in zip(*lists, strict=True)])
    found = change(old, new).by_group
    place = np.argsort(np.argsort(-first_times(pairs), kind="stable"))[lists[0]]
    assert found["newest"] == pytest.approx(held[place < 60].mean())
    assert found["older"] == pytest.approx(held[place >= 300].mean())
    both = compare(
        (MODEL.items, MODEL.users), (MODEL.items + moved, MODEL.users), pairs=pairs, rng=np.random.default_rng(0)
    )
    figures = both["lists-changed"].figures
    assert {"kept_head", "kept_tail", "kept_newest", "kept_older"} < set(figures)


@pytest.mark.parametrize("index", [3, True, [], {}, b"a.faiss", float("nan"), np.zeros(2)])
def test_what_names_no_index_is_refused(index: object) -> None:
    items = np.random.default_rng(0).normal(size=(30, 4))
    with pytest.raises(ValueError, match=r'index is .*; expected "" for those that are built, or the file of an index'):
        audit(items, rng=np.random.default_rng(0), index=index)  # type: ignore[arg-type]
