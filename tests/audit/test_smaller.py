"""Smaller vectors: the best scores of each rank, and where they stand; recall and megabytes: test_recomputed.py."""

import json

import numpy as np
import pytest
from audit import planted

from course_lib.audit import Report
from course_lib.audit.evidence import reduced
from course_lib.audit.smaller import turned

pytestmark = pytest.mark.seconds


@pytest.fixture(scope="module")
def report() -> Report:
    return planted.report("clean", 5, sphere=False)


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
    page, said = report.html(), report.text()
    assert 'id="smaller"' in page
    for each in report.smaller:
        assert f"{each.recall:.3f}" in page and " ".join(each.text().split()) in " ".join(said.split())
    assert planted.report("clean", 5).smaller
