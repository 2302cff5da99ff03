"""SCALE-X6: the averaged gradient by hand is that of autograd, parts lie in time, and predictions can fail."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from course_lib import losses
from course_lib.experiments.scale import lost_pushes, predictions
from course_lib.lessons.one_batch_many_machines import machines


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


def test_nothing_is_learned_from_later_than_its_moment() -> None:
    train, validation, test = lost_pushes.parts_of("movietweetings")
    earlier, later = lost_pushes.RECIPES.load("movietweetings").split_by_time(0.9)
    assert train.times is not None and earlier.times is not None and later.times is not None
    cut = earlier.split_by_time(8 / 9)[1].times
    assert cut is not None and train.times.max() < cut.min() <= earlier.times.max() < later.times.min()
    assert len(validation) <= len(cut) and len(test) <= len(later)
    assert min(train.row_counts.min(), train.col_counts.min()) >= lost_pushes.CORE


def test_the_end_is_the_best_look_of_the_validation_part_and_may_be_none(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = lost_pushes.plan("smoke", (0,))[-1]
    for best, said in ((0, "a doubling of the steps found no more"), (200, "not converged")):

        def looks(cell: object, parts: object, at: list[int], best: int = best) -> list[dict[str, float]]:
            return [{"recall@10": step / 1000, "validation recall@10": float(step == best)} for step in at]

        monkeypatch.setattr(lost_pushes, "trained", looks)
        rows = {row["metric"]: row for row in lost_pushes.push_cell(cell)}
        assert (rows["steps"]["value"], rows["steps"]["stopped"]) == (best, said)
        assert rows["recall@10"]["value"] == best / 1000


def made_rows(recall: dict[tuple[str, int], list[float]]) -> list[dict[str, object]]:
    """Rows of one data set with three looks, at 10, 100 and 1,000 steps; the end is the last."""
    rows: list[dict[str, object]] = []
    for (model, count), path in recall.items():
        where = {"data": "movietweetings", "model": model, "machines": count, "seed": 0}
        for metric, values in (("recall@10", path), ("mean count@10", path), ("coverage@10", path)):
            rows.append({**where, "metric": metric, "value": values[-1], "path": values})
        rows.append({**where, "metric": "steps", "value": 1000.0, "path": [10.0, 100.0, 1000.0]})
    return rows


def test_predictions_hold_and_fail_as_their_numbers_say() -> None:
    cosines, inner = predictions.COSINES, predictions.INNER
    linear = {
        (cosines, count): [part * (0.4 + 0.6 * predictions.kappa(count)) for part in (0.05, 0.1, 0.2)]
        for count in (1, 2, 4, 8, 32)
    }
    lists = {(name, 1): [0.05] * 3 for name in lost_pushes.LISTS}
    rows = made_rows({**linear, **lists, (inner, 1): [0.1, 0.1, 0.2], (inner, 8): [0.1, 0.1, 0.1]})
    told = predictions.scalars(rows)
    assert told["in-proportion-movietweetings"] == pytest.approx(1)
    assert told["more-machines-lose-more-movietweetings-holds"] == told["in-proportion-movietweetings-holds"] == 1
    assert told["share-grows-with-steps-movietweetings"] == pytest.approx(0.5)
    worse = predictions.scalars(
        [*made_rows({(cosines, 32): [0.1, 0.1, 0.3]}), *[r for r in rows if r["machines"] != 32]]
    )
    assert worse["more-machines-lose-more-movietweetings-holds"] == 0
    assert np.isclose(predictions.kappa(8), 31 / 255)
