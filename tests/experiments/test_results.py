"""What the stored laptop results say: statements of the lab that no single number carries."""

import numpy as np

from course_lib import experiments


def rows(**where):
    return experiments.load_result("P3-T4", "laptop").select(data="ml-1m", pointwise="square", **where)


SEEDS = (0, 1, 2)


def objective_ratio(ratio, seed):
    """All-pairs objective under (17) over that under Sogram at the same steps, from a tenth of the training on."""
    curves = {}
    for row in rows(metric="objective at step", ratio=ratio, seed=seed):
        curves.setdefault(row["loss"], {})[row["step"]] = row["value"]
    shared = sorted(set(curves["unbiased"]) & set(curves["sogram"]))
    assert len(shared) >= 10
    late = [step for step in shared if step >= shared[-1] / 10]
    return np.array([curves["unbiased"][step] / curves["sogram"][step] for step in late])


def test_the_two_unbiased_losses_converge_alike_only_with_large_batches():
    """At the ratio 0.1 the curves agree to 5 %; at 0.01 and 0.001 Sogram is ahead at every late step, by 5 to 30 %."""
    for seed in SEEDS:
        assert abs(objective_ratio(1e-1, seed) - 1).max() < 0.05
        for ratio in (1e-3, 1e-2):
            ahead = objective_ratio(ratio, seed)
            assert ahead.min() > 1.05 and ahead.max() < 1.3


def test_a_step_of_either_unbiased_loss_costs_about_the_same_with_embedding_tables():
    for ratio in (1e-3, 1e-2, 1e-1):
        one, two = (
            np.median([row["value"] for row in rows(metric="step ms", ratio=ratio, loss=loss)])
            for loss in ("unbiased", "sogram")
        )
        assert 0.8 < two / one < 1.25
