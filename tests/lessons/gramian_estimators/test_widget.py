"""The interactives on Gramians: the page follows what course_lib's estimators follow, and shows what was trained."""

import json
import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
import words

from course_lib import gramians
from course_lib.experiments import p4
from course_lib.lessons.gramian_estimators import folding, gramian_tracker
from course_lib.lessons.gramian_estimators.folding import Folding
from course_lib.lessons.gramian_estimators.gramian_tracker import GramianTracker
from course_lib.lessons.gramian_estimators.two_matrices import MOST, STORED, TwoMatrices
from course_lib.lessons.shared.widgets import bundle
from course_lib.lessons.shared.widgets.base import read
from course_lib.lessons.shared.widgets.tables import unpack
from tests.lessons.every import Script, printed
from tests.lessons.gramian_estimators import make_two_matrices
from tests.refused import refused
from tests.widget_pages import Elements, far_apart, made_in_python, told
from tools import folding_models

NAMES = ("alpha", "batch_size", "drift", "size", "correct_start", "beta", "step", "seed")
SETTINGS = [
    dict(zip(NAMES, values, strict=True))
    for values in [
        (0.05, 16, "straight", 0.005, False, "1", 400, 0),
        (0.2, 4, "random walk", 0.05, False, "b/n", 400, 1),
        (0.01, 64, "settling", 0.05, True, "1", 200, 2),
        (1.0, 1, "straight", 0.0, True, "b/n", 5, 999),
        (0.002, 32, "random walk", 0.001, True, "1", 45, 7),
    ]
]
USUAL = SETTINGS[0]
MATH = "gramian_tracker_math"
EVALUATE = """(states) => states.map((state) => {
  const paths = lib.follow(state);
  const found = lib.analyse(state, paths);
  return { moves: paths.moves, entry: paths.entry, sampling: paths.sampling, sogram: paths.sogram, sagram: paths.sagram,
    off: found.off, square: found.curve.map((one) => one.square), variance: found.curve.map((one) => one.variance),
    now: [found.now.square, found.now.variance],
    best: found.best, bound: found.bound, longRunAlpha: found.longRunAlpha, longRun: lib.RATES.map(found.longRun),
    every: lib.WORLD.every };
})"""


def shown(**changes: Any) -> GramianTracker:
    return GramianTracker(**{**USUAL, **changes})


def random_settings(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "alpha": float(rng.uniform(0.001, 1)) ** float(rng.uniform(0.5, 1)),
        "batch_size": int(rng.integers(1, 65)),
        "drift": str(rng.choice(list(gramian_tracker.DRIFTS))),
        "size": float(rng.choice([0.0, rng.uniform(0, 0.1)])),
        "correct_start": bool(rng.integers(2)),
        "beta": str(rng.choice(gramian_tracker.BETAS)),
        "step": int(rng.integers(1, 81)) * 5,
        "seed": int(rng.integers(2**32)),
    }


LAWS = {"straight": gramians.coherent_error, "random walk": gramians.random_walk_error}
RATES = 0.001 ** (1 - np.arange(97) / 96)  # of the second picture


def off(paths: gramian_tracker.Paths, steps: int) -> list[float]:
    """Root mean square errors of the three estimates over the second half of the first `steps` steps."""
    half = slice(steps // 2, steps)
    return [
        float(np.sqrt(np.mean((path[half] - paths.entry[half]) ** 2)))
        for path in (paths.sampling, paths.sogram, paths.sagram)
    ]


def expected(one: GramianTracker, alpha: Any = None, step: int | None = None) -> tuple[Any, Any]:
    """Squared bias and variance of SOGram at a step, for the chosen rate or for other ones.

    A move that is i steps old has come through but for q^i of it (with the start corrected: (q^i - q^t)/(1 - q^t)),
    q = 1 - alpha. Moves of one direction add up, those of a walk add their squares; the start at zero leaves q^t of
    the entry.
    """
    moves = one.paths().moves[: one.step if step is None else step]
    alpha = np.asarray(one.alpha if alpha is None else alpha, dtype=float)
    q, steps = (1 - alpha)[..., None], len(moves)
    kept, start = q ** np.arange(steps, 0, -1), (1 - alpha) ** steps
    if one.correct_start:
        kept, start = (kept - start[..., None]) / (1 - start[..., None]), 0 * start
    left = start * gramian_tracker.START
    walk = (kept**2 * moves**2).sum(-1) + left**2
    square = walk if one.drift == "random walk" else ((kept * moves).sum(-1) + left) ** 2
    sigma = one.batch_size**-0.5
    return square, gramians.sogram_variance(alpha, sigma=sigma, steps=steps, corrected=one.correct_start)


def best_alpha(one: GramianTracker) -> float:
    return float(RATES[sum(expected(one, RATES)).argmin()])


def long_run_alpha(one: GramianTracker) -> float:
    law = {"straight": "coherent", "random walk": "random_walk"}.get(one.drift)
    return float(gramians.optimal_alpha(one.size, one.batch_size**-0.5, law)) if law else math.nan


def bound(one: GramianTracker) -> float:
    """What Proposition 5 allows as bias at the step that is shown."""
    steps, entry = None if one.correct_start else one.step, abs(one.paths().entry[one.step - 1])
    return float(gramians.sogram_bias_bound(one.alpha, delta=one.size, norm=entry, steps=steps))


def python_answer(state: dict[str, Any]) -> dict[str, Any]:
    one = GramianTracker(**state)
    square, variance = expected(one, RATES)
    law = LAWS.get(one.drift, lambda rates, **_: np.full(len(rates), math.nan))
    return {
        **vars(one.paths()),
        "every": gramian_tracker.EVERY,
        "off": off(one.paths(), one.step),
        "square": square,
        "variance": variance,
        "now": list(expected(one)),
        "best": best_alpha(one),
        "bound": bound(one),
        "longRunAlpha": long_run_alpha(one),
        "longRun": law(RATES, delta=one.size, sigma=one.batch_size**-0.5),
    }


def test_the_table_has_three_figures_of_small_numbers() -> None:
    rows = shown(alpha=0.1, size=0.0).table()[1]  # the zero of the start: 3 times 0.9 to the number of steps
    assert [row[5] for row in rows[:2]] == [f"{3 * 0.9**step:.3g}" for step in (40, 80)]
    assert rows[-1][5] == "0" and rows[4][5] == "less than 0.0000001"


def test_the_sentences_say_what_the_numbers_say() -> None:
    slow, fast = shown(alpha=0.005, size=0.01), shown(alpha=0.5, size=0.001)
    assert "mostly bias: it lags behind. The error after 400 steps would be least with α = " in slow.summary()
    assert "mostly variance: it trembles with the batches" in fast.summary()
    assert "the zero of the start is still in it" in shown(alpha=0.01, size=0.0, step=100).summary()
    assert (
        "the zero of the start is still in it" in shown(alpha=0.002, size=0.0005, step=5).summary()
    )  # and not the drift
    lowest = shown(alpha=1.0, size=0.0, correct_start=True, step=5)
    assert "would be least with α = 0.001, the smallest rate of the picture: " in lowest.summary()
    best = shown(alpha=best_alpha(shown()))
    assert "No rate has much less." in best.summary()


def test_the_same_in_python_computes_the_last_row_of_the_table() -> None:
    for state in SETTINGS:
        one = GramianTracker(**state)
        _, names = printed(one.python())
        assert names["shown"].state() == one.state()
        row = one.table()[1][-1]
        assert row[1:5] == [words.number(value) for value in names["last"]]
        assert float(row[6]) == pytest.approx(names["variance"] ** 0.5, rel=0.01)


# ---- GramianTracker: what is expected is what comes out


@pytest.mark.seconds
def test_the_bias_stays_within_the_bound_and_reaches_it() -> None:
    rng = np.random.default_rng(11)
    for _ in range(5):
        one = GramianTracker(**random_settings(rng))
        assert math.sqrt(expected(one)[0]) <= bound(one) * (1 + 1e-9) + 1e-12, one
    for one in (shown(alpha=0.2), shown(size=0.0, step=20)):  # straight on, or at rest: attained
        assert math.sqrt(expected(one)[0]) == pytest.approx(bound(one))


@pytest.mark.seconds
@pytest.mark.parametrize("correct_start", [False, True])
def test_errors_of_many_runs_are_those_to_be_expected(correct_start: bool) -> None:
    """Simulation of 30 runs with seeds 0 to 29: SOGram's mean square error after 20 steps, to four standard errors."""
    for drift in ("straight", "random walk", "settling"):
        state = dict(zip(NAMES[:6], (0.1, 4, drift, 0.1, correct_start, "1"), strict=True))
        runs = [gramian_tracker.follow(**state, seed=seed, steps=20) for seed in range(30)]
        squares = [(paths.sogram[19] - paths.entry[19]) ** 2 for paths in runs]
        error = np.std(squares, ddof=1) / math.sqrt(len(squares))
        assert abs(np.mean(squares) - sum(expected(shown(**state, step=20)))) < 4 * error, drift


# ---- Folding: from rows to a state

LAMBDAS, CHECKS = (0.01, 1.0, 10.0, 1000.0), (100, 200, 300)


def made_rows(lambdas: Any = LAMBDAS, steps: Any = CHECKS, seeds: Any = (0,)) -> list[dict[str, Any]]:
    """Rows as P4-F6 has them, of made-up inner products: the more gravity, the nearer to 0 are the random pairs."""
    rows: list[dict[str, Any]] = []

    def add(metric: str, value: float, **columns: Any) -> None:
        rows.append({**columns, "metric": metric, "value": float(value)})

    for seed in seeds:
        rng = np.random.default_rng(seed)
        for lam in lambdas:
            for k, step in enumerate(steps):
                where = {"lambda": lam, "seed": seed, "step": step}
                quality = (0.01 + 0.03 * min(lam, 10) / (1 + lam / 50)) * (k + 1) / 30
                add("map@10 at step", quality, **where)
                for pairs, centre in (("observed", 1 / (1 + lam / 300)), ("random", 0.9 / (1 + lam))):
                    products = rng.normal(centre * (k + 1) / len(steps), 0.2, 5000)
                    shares = np.histogram(np.clip(products, p4.BINS[0], p4.BINS[-1]), p4.BINS)[0] / 5000
                    add("histogram", products.mean(), **where, pairs=pairs, shares=shares.round(5).tolist())
                    add("mean", products.mean(), **where, pairs=pairs)
                    add("spread", products.std(), **where, pairs=pairs)
                    add("share above 1/2", (products > 0.5).mean(), **where, pairs=pairs)
            add("map@10", quality, **{"lambda": lam}, seed=seed)
    return rows


def folded(**changes: Any) -> Folding:
    return Folding(made_rows(), **changes)


def test_the_bins_are_those_of_the_experiment() -> None:
    assert np.allclose(np.linspace(folding.LOW, folding.HIGH, folding.BINS + 1), p4.BINS)
    bins = f"low: {folding.LOW:g}, high: {folding.HIGH:g}, bins: {folding.BINS}, scale: {folding.SCALE} "
    assert bins in bundle.sources()["folding"]


def test_the_experiment_can_be_shown() -> None:
    """Real rows, of two trainings of a few steps on the embedded films."""
    (cell, *_) = p4.quality.lambda_plan("smoke", (0,))
    cells = [{**cell, "lambda": lam, "every": 5, "checks": 2} for lam in (0.01, 10.0)]
    rows = [row for one in cells for row in p4.quality.trained_rows(one, "sogram 0.01", histograms=True)]
    one = Folding(rows, check=0)
    assert [model["lam"] for model in one.models] == [0.01, 10.0]
    assert [moment["step"] for moment in one.models[0]["steps"]] == [5, 10]
    (quality,) = [
        row["value"] for row in rows if row["metric"] == "map@10 at step" and row["lambda"] == 0.01 and row["step"] == 5
    ]
    assert one.moment["map"] == round(quality, 4) and sum(one.moment["observed"]) == pytest.approx(1000, abs=30)
    Elements(one.static_html())


def test_the_stored_models_are_those_that_training_gives() -> None:
    """One of them again, up to its second check: to a few thousandths, as another processor may round otherwise."""
    stored = {model["lam"]: model["steps"] for model in Folding().models}
    assert tuple(stored) == folding_models.LAMBDAS
    assert {tuple(one["step"] for one in steps) for steps in stored.values()} == {folding_models.CHECKS}
    (again,) = folding.models_of(folding_models.train(1.0, folding_models.CHECKS[:2]))
    for new, old in zip(again["steps"], stored[1.0], strict=False):
        assert new["step"] == old["step"]
        np.testing.assert_allclose(new["mean"] + new["above"], old["mean"] + old["above"], atol=0.01)
        np.testing.assert_allclose(new["observed"] + new["random"], old["observed"] + old["random"], atol=8)
        assert new["map"] == pytest.approx(old["map"], abs=0.003)


def test_the_stored_models_fold_without_gravity() -> None:
    """Without the penalty random pairs come to score like observed ones, and the penalty undoes it."""
    none, some = Folding(lam=0.0), Folding(lam=1.0)
    assert none.moment["above"][1] > 0.9 and some.moment["above"][1] < 0.3
    assert overlap(none) > 1.5 * overlap(some) and some.moment["map"] > 5 * none.moment["map"]
    folds = [moment["above"][1] for moment in none.models[0]["steps"]]
    assert folds == sorted(folds) and folds[0] < 0.5


def test_rows_become_models() -> None:
    rows = made_rows(seeds=(0, 1))
    models = folding.models_of(rows)
    assert [model["lam"] for model in models] == list(LAMBDAS)
    assert {tuple(one["step"] for one in model["steps"]) for model in models} == {CHECKS}
    moment, table = models[1]["steps"][2], pd.DataFrame(rows).query("`lambda` == 1 and step == 300")
    for k, pairs in enumerate(("observed", "random")):
        chosen = table[table.pairs == pairs].set_index("metric")
        means = chosen.value.groupby(level=0).mean()
        np.testing.assert_allclose(moment[pairs], 1000 * np.mean(chosen.shares["histogram"].tolist(), axis=0), atol=0.5)
        assert moment["mean"][k] == pytest.approx(means["mean"], abs=6e-4)
        assert moment["above"][k] == pytest.approx(means["share above 1/2"], abs=6e-4)


def test_a_long_training_is_thinned_out() -> None:
    models = folding.models_of(made_rows(steps=range(250, 5250, 250)))
    steps = [moment["step"] for moment in models[0]["steps"]]
    assert len(steps) == 8 and (steps[0], steps[-1]) == (250, 5000) and max(np.diff(steps)) <= 750
    assert len(json.dumps(models, separators=(",", ":"))) < 15_000


def test_rows_without_a_step_or_map_will_do() -> None:
    measured = [row for row in made_rows(steps=(100,)) if "pairs" in row]
    rows = [{name: value for name, value in row.items() if name != "step"} for row in measured]
    one = Folding(rows)
    assert "map" not in one.moment and "steps" not in one.summary() and "MAP" not in one.summary()
    assert [row[-1] for row in one.table()[1]] == ["–"] * 4
    one = Folding([*rows, *({"lambda": lam, "metric": "map@10", "value": 0.02} for lam in LAMBDAS)])
    assert one.moment["map"] == 0.02


ROWS_MADE = made_rows()


def without(wanted: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
    return [row for row in ROWS_MADE if not wanted(row)]


test_nonsense_is_named = refused(
    (partial(Folding, []), "the rows have no histogram; expected those of experiments.p4.histogram_rows"),
    (partial(Folding, [{"metric": "map@10", "value": 1.0}]), "a row has the columns metric, value; expected lambda"),
    (lambda: Folding(without(lambda row: row.get("pairs") == "random")), "there is no row of shares for random pairs"),
    (lambda: Folding(without(lambda row: row["metric"] == "mean")), "there is no row of mean for observed pairs"),
    (partial(Folding, [{**ROWS_MADE[1], "shares": [0.5, 0.5]}]), "2 values with sum 1; expected 60 shares of a whole"),
    (partial(Folding, [{**ROWS_MADE[1], "shares": [1 / 30] * 60}]), "60 values with sum 2; expected 60 shares"),
    (partial(Folding, [{**ROWS_MADE[1], "pairs": "other"}]), "pairs is 'other'; expected one of observed, random"),
    (
        lambda: Folding(without(lambda row: (row["lambda"], row.get("step")) == (1.0, 200))),
        r"the models have \[2, 3\] checks; expected as many for each lambda",
    ),
    (partial(Folding, ROWS_MADE, lam=2.0), "lam is 2.0; expected one of 0.01, 1, 10, 1000"),
)


def test_a_place_that_the_rows_do_not_have_changes_nothing() -> None:
    one = folded()
    for name, value in (("lam", 2.0), ("check", 3)):
        with pytest.raises(ValueError, match=f"{name} is"):
            setattr(one, name, value)
    assert (one.lam, one.check) == (0.01, 2)


def overlap(one: Folding) -> float:
    """The part that the two histograms share: the sum of the smaller share over all bins."""
    now = one.moment
    return float(np.minimum(now["observed"], now["random"]).sum() / 1000)


def test_the_numbers_of_the_sentences() -> None:
    """The part that two histograms have in common; the best model is called so."""
    one = folded(lam=0.01)
    overlaps = [overlap(folded(lam=lam)) for lam in LAMBDAS[:3]]
    assert overlaps == sorted(overlaps, reverse=True) and overlaps[0] > 0.5 > overlaps[2]
    assert f"have {words.whole_percent(overlaps[0])} in common" in one.summary()
    best = max(LAMBDAS, key=lambda lam: folded(lam=lam).moment["map"])
    assert folded(lam=best).summary().endswith("the best of these 4 models.")
    assert f"the best of these 4 models, λ = {best:g}, has {folded(lam=best).moment['map']:.4f}." in one.summary()


def test_coefficients_are_written_as_people_write_them() -> None:
    lams = [0, 0.001, 0.01, 0.5, 1, 10, 1000, 1e6]
    shown = Folding(made_rows(lambdas=lams))
    assert [row[0] for row in shown.table()[1]] == ["0", "0.001", "0.01", "0.5", "1", "10", "1000", "1000000"]
    assert repr(shown) == "Folding(lam=0, check=2; lambdas 0, 0.001, 0.01, 0.5, 1, 10, 1000, 1000000)"


def test_the_nearest_in_the_race_is_named() -> None:
    names = np.array(["batch sampling", "SOGram", "SAGram"])
    for state in SETTINGS:
        one = GramianTracker(**state)
        errors = np.array(off(one.paths(), one.step))
        first, second = names[np.argsort(errors, kind="stable")][:2]
        clear = np.sort(errors)[0] < 0.9 * np.sort(errors)[1]
        assert (f"{first} is nearest" if clear else f"{first} and {second} are nearest") in one.summary()
    alike = shown(alpha=1.0, batch_size=64, size=0.05, beta="b/n", step=5)  # SOGram without memory is batch sampling
    assert "(root mean square): all three are about equally near." in alike.summary()


def test_one_check_without_map_needs_no_film(site_page: Callable[..., Any]) -> None:
    rows = [row for row in made_rows(steps=(100,)) if "pairs" in row]
    page = site_page(Folding(rows).static_html())
    assert page.locator('input[name="check"]').count() == 0 and page.locator(".cw-bar-line").count() == 0
    assert told(page) == Folding(rows).summary()


def test_the_python_line_of_folding_shows_given_rows(site_page: Callable[..., Any]) -> None:
    given = folded(check=0)
    assert made_in_python(site_page(given.static_html()), result=made_rows()).state() == given.state()


def test_the_same_in_python_computes_a_row_of_the_table() -> None:
    one = Folding(lam=0.3, check=1)
    _, names = printed(one.python())
    [row] = [row for row in one.table()[1] if row[0] == "0.3"]
    assert row[1:3] == [words.number(mean) for mean in names["now"]["mean"]]
    assert row[5] == words.whole_percent(names["common"])


# ==== the hero of the chapter: both ways give the number of the library, and the square has a cell for each pair

ROWS = read(STORED)


def sides(size: int) -> list[np.ndarray]:
    """The first rows of both sides."""
    return [unpack(ROWS[side])[:size] for side in ("left", "right")]


@pytest.mark.seconds
def test_the_stored_examples_are_those_of_the_model_of_the_chapter() -> None:
    found = make_two_matrices.data()
    assert found["all"] == ROWS["all"]
    for side in ("left", "right"):  # float32: a processor may round an entry otherwise
        np.testing.assert_allclose(unpack(found[side]), unpack(ROWS[side]), atol=0.05)


@pytest.mark.parametrize("size", [2, 17, MOST])
def test_both_ways_give_the_gravity_of_the_library(size: int) -> None:
    shown = TwoMatrices(size=size)
    left, right = sides(size)
    gravity = words.number(float(gramians.gravity(left, right)))
    digits = f"{float(gramians.gravity(left, right)):#.4g}"
    assert f"the same mean squared score, {digits}." in shown.summary()
    assert all(words in shown.picture() for words in (f"of all pairs: {digits}<", f">{digits}<"))
    [row] = [row for row in shown.table()[1] if row[0] == str(size)]
    assert row[2] == row[3] == gravity


def test_there_is_a_cell_for_each_pair_and_for_each_mean() -> None:
    for size in (5, MOST):
        picture = TwoMatrices(size=size).picture()
        paths = {
            look: re.findall(rf'class="{look}" d="([^"]*)"', picture) for look in ("cw-cells-pairs", "cw-cells-means")
        }
        cells = {look: sum(map(int, re.findall(r"h(\d+)", "".join(found)))) / 5 for look, found in paths.items()}
        assert cells == {"cw-cells-pairs": size**2, "cw-cells-means": 2 * 16**2}


def test_the_same_in_python_prints_one_number_twice() -> None:
    said, names = printed(TwoMatrices(size=30).python())
    first, second = said.split()[:2]
    assert first == second and names["shown"].size == 30


SCRIPTS = [
    Script(
        MATH,
        EVALUATE,
        cases=lambda: [*SETTINGS, *(random_settings(rng) for rng in [np.random.default_rng(4)] for _ in range(20))],
        off=lambda state, answer: far_apart(python_answer(state), answer),
        given=lambda state: state,
        wrong=("average = (1 - alpha) * average + alpha * mean", "average = (1 - alpha) * average + mean"),
    ),
]
