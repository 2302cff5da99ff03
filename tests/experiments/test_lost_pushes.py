"""SCALE-X6: parts lie in time, a training ends where it says, and predictions can fail.

That the averaged gradient by hand is that of autograd is a test of the chapter's lesson.
"""

import numpy as np
import pytest

from course_lib.experiments.scale import lost_pushes, predictions


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
