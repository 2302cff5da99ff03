"""Advice against the report's own table, over random models, from the tables to the page."""

from __future__ import annotations

import numpy as np
import pytest

from course_lib.audit import Report, Training, audit
from course_lib.audit.remedies import WORDS, Effect
from course_lib.interactions import Interactions

LOSSES = (None, "in-batch-softmax", "in_batch", "unbiased", "bpr", "als", "other")


def random_model(seed: int) -> Report:
    """60 to 150 users, 110 to 200 items; popularity, lengths, a common part and noise of any size; any loss."""
    rng = np.random.default_rng([seed, 11])
    m, n, width = (int(rng.integers(*ends)) for ends in ((60, 150), (110, 200), (4, 24)))
    users, items = rng.normal(size=(m, width)), rng.normal(size=(n, width))
    popularity = rng.uniform(0, 3) * rng.normal(size=n)
    keys = users @ items.T * rng.uniform(0, 2) + popularity + rng.gumbel(size=(m, n))
    chosen = np.argsort(-keys, axis=1)[:, : rng.integers(8, 20)]
    rows = np.repeat(np.arange(m), chosen.shape[1])
    train, test = Interactions(rows, chosen.ravel(), n_users=m, n_items=n).split_random(0.8, rng)
    items = items * np.exp(rng.normal(0, 0.3) * popularity[:, None] + rng.uniform(0, 0.5) * rng.normal(size=(n, 1)))
    items += rng.uniform(0, 1) * rng.normal(size=width) + rng.uniform(0, 1) * rng.normal(size=(n, width))
    items += rng.normal(0, 0.3) * popularity[:, None] * rng.normal(size=width)
    loss = LOSSES[seed % len(LOSSES)]
    known = {"loss": loss, "batch_size": 32, "temperature": float(rng.uniform(0.05, 2))}
    negatives = {"negatives": ("uniform", "popularity")[seed % 2]} if loss == "bpr" else {}
    training = Training(**known, **negatives)  # type: ignore[arg-type]
    return audit(items, users, pairs=train, held_out=test, training=training, draws=1, rng=rng)


def contradicts(effect: Effect) -> bool:
    """Whether the table says that it harms, that its gain may be chance, or that its lists are not personal."""
    assert effect.overlap_after is not None and effect.coverage_after is not None and effect.coverage_before is not None
    chance = effect.difference < 2.7 * (effect.high - effect.low) / (2 * 1.96)
    crowd = effect.overlap_after >= 0.5 or effect.coverage_after < 0.5 * effect.coverage_before
    return effect.difference <= 0 or chance or crowd


@pytest.mark.parametrize("seed", range(14))
def test_no_advice_of_a_random_model_contradicts_its_table(seed: int) -> None:
    """What is advised, in words or as an action, helps and stays personal; a list of hits that ranks better is told."""
    report = random_model(seed)
    effects, listed = [*report.remedies], report.actions
    if report["mismatched-rows"].verdict == "fault":
        assert not effects and [action.of for action in listed] == ["mismatched-rows"]
        return
    assert len(effects) == 7 and report["mismatched-rows"].verdict in ("fine", "cannot tell")
    advice = " ".join(each.advice for each in (*report.verdicts, *report.further))
    done = {action.of for action in listed} & {effect.remedy for effect in effects}
    said = advice.replace("Do not divide", "")
    named = done | {effect.remedy for effect in effects if WORDS.get(effect.remedy, effect.remedy) in said}
    assert not [effect for effect in effects if effect.remedy in named and contradicts(effect)], (advice, done)
    best = max(report.baselines[:-1], key=lambda effect: effect.after)
    assert (best.after > best.before) == ("this model" in report.headline)
    if best.after > best.before:
        assert best.remedy in {action.of for action in listed}
    gains = [action.gain for action in listed if action.gain is not None]
    assert gains == sorted(gains, reverse=True) and len(listed) <= 5
