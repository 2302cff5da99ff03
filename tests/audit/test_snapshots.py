"""Two snapshots: each figure against an independent computation, planted changes, and what is refused."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from audit import planted_changes
from audit.planted_changes import Two

from course_lib import gauge, metrics
from course_lib.audit import (
    CATALOGUE,
    CHANGES,
    Comparison,
    Report,
    Snapshot,
    Table,
    Training,
    audit,
    compare,
    read_table,
    snapshots,
)
from course_lib.audit.command import cli
from course_lib.audit.questions.rules import NOTED
from course_lib.audit.snapshots.change import Change, Lengths, rotation
from course_lib.audit.snapshots.questions import DECIDES, GAIN, SPREAD, _lost_neighbours, centre_moved, new_faults
from course_lib.audit.tables import table_of
from course_lib.audit.verdicts import Answer, Verdict
from course_lib.checking import some
from course_lib.interactions import Interactions

pytestmark = pytest.mark.seconds


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@cache
def two(seed: int = 100) -> Two:
    return planted_changes.clean(seed)


@cache
def clean() -> Comparison:
    return two().audited(0)


# ---- figures


def by_cosine(items: np.ndarray, k: int = 10) -> list[set[int]]:
    unit = items / np.linalg.norm(items, axis=1, keepdims=True)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -np.inf)
    return [set(np.argsort(-row)[:k].tolist()) for row in cosines]


def test_neighbours_kept_are_those_of_a_plain_search_in_each_band() -> None:
    found = clean()["neighbours-changed"].figures
    shares = np.array([len(a & b) / 10 for a, b in zip(by_cosine(two().old[0]), by_cosine(two().new[0]), strict=True)])
    assert found["kept_all"] == pytest.approx(shares.mean())  # 250 items: all of them are asked
    order = np.argsort(-two().pairs.col_counts, kind="stable")
    for band, ids in (("head", order[:25]), ("middle", order[25:125]), ("tail", order[125:])):
        assert found[f"kept_{band}"] == pytest.approx(shares[ids].mean())


def test_the_best_rotation_is_better_than_others_near_it_and_far_from_it() -> None:
    (old, _), (new, _) = two().old, two().new
    Q, scale = rotation(old, new)
    np.testing.assert_allclose(Q @ Q.T, np.eye(len(Q)), atol=1e-12)
    least = np.linalg.norm(scale * old @ Q - new)
    assert clean()["neighbours-changed"].figures["moved_by_rotation"] == pytest.approx(least / np.linalg.norm(new))
    for step in (0.01, 0.3, 3.0):
        other = np.linalg.qr(Q + step * rng(1).standard_normal(Q.shape))[0]
        assert all(np.linalg.norm(c * old @ other - new) >= least for c in (scale, 0.9 * scale, 1.1 * scale))
    matrix = np.linalg.lstsq(old, new, rcond=None)[0]
    linear = np.linalg.norm(old @ matrix - new) / np.linalg.norm(new)
    assert clean()["neighbours-changed"].figures["moved_by_matrix"] == pytest.approx(linear)


def test_lengths_and_centre_by_hand() -> None:
    old, new = two().old[0], two().new[0]
    lengths, centre = clean()["lengths-drifted"].figures, clean()["centre-moved"].figures
    ratio = np.linalg.norm(new, axis=1) / np.linalg.norm(old, axis=1)
    counts = two().pairs.col_counts
    seen = counts > 0
    assert lengths["scale"] == pytest.approx(np.median(ratio))
    assert lengths["spread"] == pytest.approx(np.log(ratio).std())
    assert lengths["slope"] == pytest.approx(np.polyfit(np.log(counts[seen]), np.log(ratio[seen]), 1)[0])
    units = [table / np.linalg.norm(table, axis=1, keepdims=True) for table in (old, new)]
    u, _, v = np.linalg.svd(units[0].T @ units[1])
    assert centre["moved"] == pytest.approx(np.linalg.norm(units[0].mean(0) @ (u @ v) - units[1].mean(0)))


@pytest.mark.parametrize(
    ("old", "new", "said"), [(0.1, 0.4, "has grown"), (0.4, 0.1, "has shrunk"), (0.4, 0.41, "has turned")]
)
def test_a_centre_that_moved_is_said_to_have_moved_as_it_did(old: float, new: float, said: str) -> None:
    moved = Change(np.ones(2), None, None, None, None, 0, 0, Lengths(1, 0, None), None, 0.3, (old, new))
    assert f"all cosines share {said}." in centre_moved(moved, None).advice


def test_quality_is_the_ndcg_of_the_library() -> None:
    figures = clean()["quality-dropped"].figures
    data = two()
    models = (data.old, data.new, data.again)
    tests = (metrics.evaluate(users, items, data.pairs, data.held_out, 10) for items, users in models)
    old, new, again = (test["ndcg@10"] for test in tests)
    assert figures["before"] == pytest.approx((old + again) / 2) and figures["after"] == pytest.approx(new)
    assert figures["moved_again"] == pytest.approx(abs(again - old))


# ---- what it is about


def test_a_rotation_changes_nothing_and_another_gauge_only_the_neighbours() -> None:
    """The same model in another gauge: every score stays; off the sphere the cosines go with the gauge."""
    items, users = two().old
    Q = np.linalg.qr(rng(2).standard_normal((len(items.T),) * 2))[0]
    turned = compare((items, users), (items @ Q, users @ Q), pairs=two().pairs, rng=rng())
    assert turned.ids("fault") == [] and turned["lists-changed"].figures["kept"] == 1
    assert "do not mix the towers" in turned["lists-changed"].support
    apart = compare((items, users), (items, users @ Q), pairs=two().pairs, rng=rng())["lists-changed"]
    assert apart.verdict == "fault" and apart.figures["old_users_with_new_items"] == 1
    assert "do not mix" not in apart.support and "look at the new user table first" in apart.advice
    R = gauge.random_linear_gauge(items.shape[1], spread=1.5, rng=rng(3))
    new_users, new_items = gauge.apply_linear_gauge(users, items, R)
    other = compare((items, users), (new_items, new_users), again=two().again, pairs=two().pairs, rng=rng())
    assert other["lists-changed"].figures["kept"] > 0.999 and other["lists-changed"].verdict == "fine"
    assert other["neighbours-changed"].verdict == "fault" and "the gauge moved" in other["neighbours-changed"].advice
    assert other["neighbours-changed"].figures["moved_by_matrix"] < 1e-6
    lengths = other["lengths-drifted"]
    assert lengths.figures["spread"] > SPREAD and lengths.figures["spread_of_scores"] < 1e-6
    assert lengths.verdict == "fine" and "the gauge changed" in lengths.support and not lengths.advice


def test_lengths_are_judged_by_the_scores_where_there_are_users() -> None:
    """The gauge changed: by itself, off a sphere, and with a drift that the scores see."""
    items, users = two().old
    unit = items / np.linalg.norm(items, axis=1, keepdims=True)
    R = gauge.random_linear_gauge(items.shape[1], spread=1.0, rng=rng(3))
    longer = items * np.maximum(two().pairs.col_counts, 1)[:, None] ** 0.4
    for before, after, verdict in ((unit, unit, "fine"), (items, longer, "fault"), (items, unit, "fault")):
        new_users, new_items = gauge.apply_linear_gauge(users, after, R)
        found = compare((before, users), (new_items, new_users), pairs=two().pairs, rng=rng())["lengths-drifted"]
        assert found.verdict == verdict, found.support
        ratio = np.log(np.linalg.norm(users @ after.T, axis=0) / np.linalg.norm(users @ before.T, axis=0))
        assert found.figures["spread_of_scores"] == pytest.approx(ratio.std(), abs=1e-6)


def gains(after: float, answer: Answer, half: float = 0.002) -> list[Verdict]:
    """A report in which DDC moves NDCG from .1 to `after`."""
    moved = {"before": 0.1, "after": after, "low": after - 0.1 - half, "high": after - 0.1 + half}
    return [Verdict("ddc-gain", answer, "Measured.", dict(moved))]


@pytest.mark.parametrize(
    ("old", "new", "again", "answer"),
    [
        (gains(0.1046, "fine"), gains(0.1055, "fault"), None, "cannot tell"),  # by less than a quarter
        (gains(0.1046, "fine"), gains(0.109, "fault"), None, "fault"),
        (gains(0.1046, "fine"), gains(0.109, "fault", half=0.005), None, "cannot tell"),  # within its interval
        (gains(0.1046, "fine"), gains(0.109, "fault"), gains(0.1020, "fine"), "cannot tell"),  # seeds move it by .0026
        (gains(0.1046, "fine"), gains(0.109, "fault"), gains(0.1040, "fine"), "fault"),
        (gains(0.1046, "fine"), gains(0.2, "fault"), gains(0.1055, "fault"), "fine"),  # the second training has it
        ([Verdict("ddc-gain", "cannot tell", "No users.")], gains(0.1055, "fault"), None, "fault"),
    ],
)
def test_a_fault_that_another_seed_may_have_is_no_new_fault(
    old: list[Verdict], new: list[Verdict], again: list[Verdict] | None, answer: Answer
) -> None:
    found = new_faults(old, new, again)
    assert found.verdict == answer
    assert found.figures["added"] == (answer == "fault") and found.figures["near"] == (answer == "cannot tell")
    assert ("by no more than chance moves: ddc-gain" in found.support) == (answer == "cannot tell")


def test_the_larger_of_two_numbers_decides() -> None:
    """The rows of users are over the threshold, and their share moved by a fifth; that of the items by a third."""
    found = []
    for items, users in ((0.0030, 0.0046), (0.0040, 0.0055), (0.0031, 0.0047)):
        figures = {"share": items, "user_share": users}
        found.append([Verdict("dead-rows", "fault" if users > 0.005 else "fine", "Measured.", figures)])
    assert new_faults(*found).verdict == "cannot tell"


def test_what_decides_a_fault_is_among_its_figures() -> None:
    report = audit(*two().old, pairs=two().pairs, held_out=two().held_out, training=Training("in_batch", 64), rng=rng())
    for name, figures in some(DECIDES.items()):
        for figure in figures:
            assert figure == GAIN or figure in report[name].figures, (name, figure)
    assert {*DECIDES} == {*CATALOGUE} - {"leaked-test-pairs", *NOTED}


def test_neighbours_that_no_matrix_explains_are_not_called_a_gauge() -> None:
    """Of a model with too few epochs lists changed less than neighbours, and no matrix leads to its table."""
    kept: dict[str, Any] = {"lists": np.full(5, 0.42), "neighbours": np.full(5, 0.06)}
    for linear, again, gauge_moved in ((0.87, 0.71, False), (0.70, 0.71, True), (0.87, None, False), (0.1, None, True)):
        second = None if again is None else cast(Change, SimpleNamespace(linear=again))
        said = _lost_neighbours(cast(Change, SimpleNamespace(linear=linear, **kept)), second)
        assert ("the gauge moved" in said) == gauge_moved


def test_without_a_second_training_what_chance_moves_is_not_judged() -> None:
    alone = two().audited(0, again=None)
    assert alone["neighbours-changed"].verdict in ("cannot tell", "fine") and alone["quality-dropped"].verdict == "fine"
    apart = compare(two().old, (two().new[0][rng().permutation(250)], two().new[1]), rng=rng())
    assert apart["neighbours-changed"].verdict == apart["lists-changed"].verdict == "fault"


def test_rows_are_matched_by_ids_in_whatever_order() -> None:
    """The new table lacks ten items, has five others, and another order: the shared rows are compared as they are."""
    (items, users), names = two().old, np.array([f"film {row}" for row in range(250)])
    order = rng(4).permutation(240)
    new = np.concatenate([items[order], rng(5).standard_normal((5, items.shape[1]))])
    new_names = np.concatenate([names[order], [f"new {row}" for row in range(5)]])
    pairs = two().pairs.select(two().pairs.items < 240)
    place = np.empty(240, int)
    place[order] = np.arange(240)
    found = compare(
        Snapshot(Table(items, "here", 250, np.zeros(0, int), names), table_of(users, "users")),
        Snapshot(Table(new, "there", 245, np.zeros(0, int), new_names), table_of(users, "users")),
        pairs=(pairs.users, new_names[place[pairs.items]]),
        rng=rng(),
    )
    assert found.rows["items"] == {"old": 250, "new": 245, "shared": 240}
    assert found["neighbours-changed"].figures["kept_all"] == found["lists-changed"].figures["kept"] == 1
    assert found.ids("fault") == []


def test_a_bar_goes_to_stderr_where_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    for progress in (False, True):
        compare(table(), table(), rng=rng(), progress=progress)
        assert bool(capsys.readouterr().err) is progress


def test_one_table_alone_on_the_sphere_is_a_drift_of_lengths() -> None:
    items = two().old[0]
    unit = items / np.linalg.norm(items, axis=1, keepdims=True)
    verdict = compare(items, unit, rng=rng())["lengths-drifted"]
    assert verdict.verdict == "fault" and "off the sphere, the new one is not so" in verdict.support


# ---- reports


def test_the_json_has_its_schema_and_no_nan() -> None:
    found = json.loads(json.dumps(clean().to_dict(), allow_nan=False))
    assert set(found) == {"schema_version", "tool", "kind", "rows", "options", "faults", "verdicts"}
    assert found["kind"] == "comparison" and [verdict["id"] for verdict in found["verdicts"]] == list(CHANGES)
    assert found["rows"]["items"] == {"old": 250, "new": 250, "again": 250, "shared": 250}


def test_the_faults_of_both_models_are_named() -> None:
    def report(*faults: str) -> list[Verdict]:
        return [Verdict(name, "fault" if name in faults else "fine", "a sentence") for name in ("hubs", "ddc-gain")]

    said = new_faults(report("hubs"), report("hubs", "ddc-gain"), None).support
    assert said.startswith("The audit finds 1 fault in the old model (hubs) and 2 in the new one (hubs, ddc-gain); new")
    assert "0 faults in the old model and 0 in the new one" in new_faults(report(), report(), None).support


def test_a_model_is_judged_here_as_by_an_audit_with_the_same_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    reports: list[dict[str, Any]] = []

    def noted(*args: Any, **options: Any) -> Report:
        reports.append((made := audit(*args, **options)).to_dict())
        return made

    monkeypatch.setattr(snapshots, "audit", noted)
    two().audited(7)
    items, users = two().new
    alone = audit(items, users, pairs=two().pairs, held_out=two().held_out, draws=1, rng=rng(7)).to_dict()
    assert len(reports) == 3 and reports[1]["verdicts"] == alone["verdicts"] and reports[1]["options"]["seed"] == 7


def test_the_page_holds_every_verdict_and_asks_nobody() -> None:
    page = clean().html()
    assert all(f'id="{name}"' in page for name in CHANGES) and "second training" in page
    assert "<script" not in page and "url(http" not in page and "@import" not in page
    assert clean()._repr_html_().startswith("<iframe")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """old/, new/, again/, and broken/, whose users are dealt anew."""
    where = tmp_path_factory.mktemp("snapshots")
    broken = replace(two(), new=(two().new[0], two().new[1][::-1]))
    models = {"old": two().old, "new": two().new, "again": two().again, "broken": broken.new}
    for name, (items, users) in models.items():
        (where / name).mkdir()
        np.save(where / name / "items.npy", items)
        np.savez(where / name / "users.npz", table=users)
        for part in ("pairs", "held_out"):
            np.save(where / name / f"{part}.npy", getattr(two(), part).pairs)
    return where


def test_a_pipeline_stops_on_a_regression(folders: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, numbers = tmp_path / "changes.html", tmp_path / "changes.json"
    given = [str(folders / "old"), str(folders / "new"), "--again", str(folders / "again"), "--fail-on", "fault"]
    assert cli([*given, "--out", str(out), "--json", str(numbers)]) == 0
    assert json.loads(numbers.read_text())["verdicts"][0]["figures"] == clean()["neighbours-changed"].figures
    assert out.read_text().startswith("<!DOCTYPE html>")
    given[1] = str(folders / "broken")
    assert cli(given) == 1
    assert "quality-dropped: FAULT" in capsys.readouterr().out
    assert cli(given[:2]) == 0


def test_a_folder_alone_is_a_model(folders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli([str(folders / "new")]) == 0
    assert "leaked-test-pairs: FINE" in capsys.readouterr().out


# ---- nonsense


def table(rows: int = 60, width: int = 4) -> np.ndarray:
    return rng(7).standard_normal((rows, width))


def with_nan() -> np.ndarray:
    rows = table()
    rows[3, 1] = np.nan
    return rows


def named(ids: list[object], rows: int = 60) -> Snapshot:
    return Snapshot(Table(table(rows), "here", rows, np.zeros(0, int), np.array(ids)))


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"new": table(width=5)}, "the widths differ: the old items 4, the new items 5; expected one width"),
        ({"new": table(61)}, "rows differ: the old items 60, the new items 61; expected the same number, or ids"),
        ({"new": with_nan()}, "new items holds NaN or infinity in 1 rows, the first is row 3"),
        ({"again": with_nan()}, "again items holds NaN"),
        ({"new": (table(), table(9, 3))}, "new users has 3 columns and new items 4|new users.* width"),
        ({"new": (table(), table(), table())}, "new holds 3 tables; expected the items, or .items, users."),
        ({"new": named([*range(60)])}, "the new items have ids, the old items none; expected ids in both"),
        ({"old": named([*range(60)]), "new": named([*range(100, 160)])}, "share 0 items .old has ids such"),
        ({"pairs": np.zeros((4, 2), int)}, "pairs were given, but not every snapshot has users"),
        ({"old": (table(), table(9)), "new": (table(), table(8))}, "old users 9, the new users 8; expected the same"),
        ({"k": 0}, "k is 0"),
        ({"k": 59}, "the snapshots share 60 items .* expected at least 61"),
        ({"counts": np.ones(59)}, "counts has .*59"),
        ({"rng": None}, "rng is None"),
    ],
)
def test_nonsense_is_refused(given: dict[str, object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        compare(**({"old": table(), "new": table(), "rng": rng()} | given))


def test_pairs_of_items_that_the_new_table_lacks_are_refused() -> None:
    tables = (table(), table(9))
    with pytest.raises(ValueError, match="pairs: pair 1 has the item 60"):
        compare(tables, tables, pairs=np.array([[0, 1], [2, 60]]), rng=rng())
    with pytest.raises(ValueError, match="held_out"):
        compare(tables, tables, held_out=np.array([[9, 1]]), rng=rng())


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["{}/old", "{}/nowhere"], "new items: {}/nowhere: there is no file of this name"),
        (["{}/old", "{}/empty"], "new: {}/empty: it holds no file items with one of the endings .npy"),
        (["{}/old", "{}/double"], "new: {}/double: it holds items.npy and items.npz; expected one of them"),
        (["{}/empty"], "items: {}/empty: it holds no file items"),
        (["{}/old", "--again", "{}/new"], "old and new: one snapshot was given; expected two"),
        (["{}/old", "{}/new", "--items", "x.npy"], "--items was given with two snapshots; expected the tables in the"),
        (["{}/old/items.npy", "{}/old/users.npz"], "(of one model, the second table goes after --users)"),
        (["{}/old", "{}/narrow"], "the new items ({}/narrow/items.npy) 3; expected one width"),
    ],
)
def test_a_wrong_call_is_refused_and_names_its_folder(
    arguments: list[str], reason: str, folders: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("empty", "double", "narrow"):
        (folders / name).mkdir(exist_ok=True)
    np.save(folders / "double" / "items.npy", table())
    np.savez(folders / "double" / "items.npz", table())
    np.save(folders / "narrow" / "items.npy", table(250, 3))
    assert cli([part.format(folders) for part in arguments]) == 2
    said = capsys.readouterr().err
    assert reason.format(folders) in said and said.startswith("error: ")


def test_the_pairs_of_shared_rows_are_those_of_both(tmp_path: Path) -> None:
    """A pair of an item that the old table lacks is left out; the other pairs count."""
    (items, users), pairs = two().old, two().pairs
    np.savez(tmp_path / "old.npz", table=items[:200], ids=np.arange(200))
    np.savez(tmp_path / "new.npz", table=items, ids=np.arange(250))
    old, new = (read_table(str(tmp_path / f"{name}.npz"), name) for name in ("old", "new"))
    people = table_of(users, "users")
    found = compare(Snapshot(old, people), Snapshot(new, people), pairs=pairs, rng=rng())
    kept = pairs.select(pairs.items < 200)
    same = Interactions(kept.users, kept.items, n_users=pairs.n_users, n_items=200)
    wanted = compare((items[:200], users), (items[:200], users), pairs=same, rng=rng())
    assert [verdict.figures for verdict in found.verdicts] == [verdict.figures for verdict in wanted.verdicts]
