"""Smaller vectors: recall of the exact lists by hand, the best scores of their rank, and megabytes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from audit import planted

from course_lib.audit import Report
from course_lib.audit.evidence import reduced
from course_lib.audit.smaller import GROUPS, turned

pytestmark = pytest.mark.seconds


@pytest.fixture(scope="module")
def report() -> Report:
    return planted.report("clean", 5, sphere=False)


def lists_of(scores: np.ndarray, seen: np.ndarray) -> np.ndarray:
    return np.argsort(-np.where(seen, -np.inf, scores), axis=1, kind="stable")[:, :10]


def test_recall_is_that_of_lists_made_by_hand(report: Report) -> None:
    """int8, and half and a quarter of the singular values of the scores; by popularity; and what the items weigh."""
    model = planted.clean(5, sphere=False)
    seen = model.pairs.labels().astype(bool)
    able = (model.held_out.row_counts > 0) & seen.any(axis=1)
    scores = model.users @ model.items.T
    exact = lists_of(scores, seen)[able]
    step = np.abs(model.items).max(axis=0) / 127
    left, sizes, right = np.linalg.svd(scores, full_matrices=False)
    ranked = {"int8": model.users @ (np.round(model.items / step) * step).T}
    for kind, rank in (("half of the dimensions", 16), ("a quarter of the dimensions", 8)):
        ranked[kind] = (left[:, :rank] * sizes[:rank]) @ right[:rank]
    place = np.argsort(np.argsort(-model.pairs.col_counts, kind="stable"))
    bands = dict(zip(GROUPS, ((0, 60), (60, 300), (300, 600)), strict=True))
    assert [each.kind for each in report.smaller] == [*ranked]
    for each in report.smaller:
        mine = lists_of(ranked[each.kind], seen)[able]
        held = np.array([np.isin(wanted, found) for wanted, found in zip(exact, mine, strict=True)])
        assert each.recall == pytest.approx(held.mean(), abs=2e-3), each.kind
        for name, (first, last) in bands.items():
            inside = (place[exact] >= first) & (place[exact] < last)
            assert each.by_group[name] == pytest.approx(held[inside].mean(), abs=5e-3), (each.kind, name)
        share = {"int8": 1 / 8, "half of the dimensions": 1 / 2}.get(each.kind, 1 / 4)
        assert each.exact_megabytes == 600 * 32 * 8 / 1e6
        assert each.megabytes == pytest.approx(share * each.exact_megabytes, rel=0.02)
    assert report.smaller[0].recall > 0.98 > report.smaller[1].recall > report.smaller[2].recall


@pytest.mark.parametrize("rank", [3, 8])
def test_the_axes_give_the_best_scores_of_each_rank(rank: int) -> None:
    """Against the singular values of the whole matrix; also where a table has not full rank."""
    rng = np.random.default_rng(0)
    users, items = rng.standard_normal((50, rank)) @ rng.standard_normal((rank, 8)), rng.standard_normal((70, 8))
    left, right = turned((reduced(users), reduced(items)), users, items)
    np.testing.assert_allclose(left @ right.T, users @ items.T, atol=1e-9)
    sizes = np.linalg.svd(users @ items.T, compute_uv=False)
    for kept in (1, 2, 3):
        rest = np.linalg.norm(users @ items.T - left[:, :kept] @ right[:, :kept].T)
        assert rest == pytest.approx(np.sqrt((sizes[kept:] ** 2).sum()), abs=1e-9)


def test_it_stands_in_json_page_and_text(report: Report) -> None:
    found = json.loads(json.dumps(report.to_dict(), allow_nan=False))["smaller"]
    assert [each["kind"] for each in found] == [each.kind for each in report.smaller] and len(found) == 3
    assert set(found[0]) == {"kind", "megabytes", "exact_megabytes", "recall", "by_group", "change", "by_length"}
    page, said = report.html(), report.text()
    assert 'id="smaller"' in page
    for each in report.smaller:
        assert f"{each.recall:.3f}" in page and " ".join(each.text().split()) in " ".join(said.split())
    assert planted.report("clean", 5).smaller
    assert max(len(line) for line in said.splitlines() if "https://" not in line) <= 76
