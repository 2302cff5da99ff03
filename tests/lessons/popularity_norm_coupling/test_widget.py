"""The interactives on norms: the page trains what Python trains, and shows what is stored."""

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import words

from course_lib import geometry, losses, norms, popularity
from course_lib.experiments.p0 import popularity as p0_popularity
from course_lib.lessons.popularity_norm_coupling import effective_rate, films, make_effective_rate, norm_growth
from course_lib.lessons.popularity_norm_coupling.effective_rate import EffectiveRate
from course_lib.lessons.popularity_norm_coupling.norm_growth import NormGrowth, Run
from course_lib.lessons.shared.widgets import chance
from tests.lessons.every import Script
from tests.widget_pages import Elements, far_apart, run
from tests.widget_pages import run as run_code

SHOWN = {"norm_growth": {"lr": 1.0, "seed": 7, "step": 420}}

SETTINGS = [
    {"lr": 1.0, "start_norm": 1.0, "tau": 0.1, "exponent": 1.0, "step": 800, "seed": 0},
    {"lr": 0.01, "start_norm": 1.0, "tau": 0.1, "exponent": 1.0, "step": 400, "seed": 1},
    {"lr": 4.0, "start_norm": 2.0, "tau": 0.1, "exponent": 1.0, "step": 800, "seed": 0},
    {"lr": 0.5, "start_norm": 0.3, "tau": 0.5, "exponent": 0.0, "step": 200, "seed": 2},
    {"lr": 100.0, "start_norm": 1.0, "tau": 0.2, "exponent": 1.5, "step": 20, "seed": 3},
    {"lr": 5.0, "start_norm": 5.0, "tau": 0.05, "exponent": 0.7, "step": 600, "seed": 999},
    {"lr": 1.0, "start_norm": 1.0, "tau": 0.1, "exponent": 1.0, "step": 0, "seed": 0},
]
EVALUATE = """(states) => states.map((state) => {
  const found = lib.analyse(state, lib.train(state)[state.step / 20]);
  return { counts: found.counts, norms: found.norms, law: found.law, predicted: found.predicted,
    crossover: found.crossover, slope: found.slope, share: [found.cosine.head, found.dot.head],
    taste: [found.cosine.taste, found.dot.taste], stepPart: found.stepPart };
})"""
MATH = "norm_growth_math"


def shown(**changes: Any) -> NormGrowth:
    return NormGrowth(**{**SETTINGS[0], **changes})


def slope(run: Run) -> float:
    """Slope of log norm on log count over the items that were drawn; NaN where their counts do not differ."""
    drawn = run.counts > 0
    return popularity.log_log_slope(run.norms[drawn], run.counts[drawn]) if drawn.any() else np.nan


def step_part(run: Run, lr: float) -> float:
    """The part of the fourth powers of the steps in the growth of all norms to the fourth."""
    steps, sideways = (run.steps**4).sum(), 2 * lr**2 * (run.gradients**2).sum()
    return float(steps / (steps + sideways)) if steps else 0.0


def taste_share(lists: np.ndarray) -> float:
    """The part of the recommended items that has the taste of the user."""
    return float((lists % norm_growth.TASTES == (np.arange(len(lists)) % norm_growth.TASTES)[:, None]).mean())


def top_share(run: Run, *, by_cosine: bool) -> float:
    """The part of all lists that the most popular tenth takes."""
    return popularity.top_share(norm_growth.recommend(run, by_cosine=by_cosine), run.counts, norm_growth.TOP)


def predicted(state: dict[str, Any], run: Run) -> np.ndarray:
    return np.asarray(norms.predicted_norm(state["start_norm"], lr=state["lr"], h=run.h, updates=run.counts))


def python_answer(state: dict[str, Any]) -> dict[str, Any]:
    run = NormGrowth(**state).run()
    lists = [norm_growth.recommend(run, by_cosine=by_cosine) for by_cosine in (True, False)]
    start, lr = state["start_norm"], state["lr"]
    return {
        "counts": run.counts,
        "norms": run.norms,
        "law": geometry.quartic_norm(run.starts, lr=lr, h=run.gradients.T, step=run.steps.T),
        "predicted": predicted(state, run),
        "crossover": norms.crossover_count(start, lr=lr, h=run.h) if run.h else np.inf,
        "stepPart": step_part(run, lr),
        "slope": slope(run),
        "share": [top_share(run, by_cosine=by_cosine) for by_cosine in (True, False)],
        "taste": [taste_share(some) for some in lists],
    }


# ---- the JavaScript computes what course_lib computes


def test_the_page_draws_the_same_chance(library: Callable[..., Any]) -> None:
    for seed in (0, 1, 999, 2**32 - 1):
        ask = "(seed) => { const random = lib.randomGenerator(seed); return Array.from({ length: 500 }, random); }"
        assert library("random")(ask, seed) == chance.uniforms(seed, 500).tolist()


# ---- the run in Python follows the laws


@pytest.mark.parametrize("tau", [0.05, 0.3, 2.0])
def test_the_gradients_are_those_of_autograd(tau: float) -> None:
    generator = torch.Generator().manual_seed(0)
    users, items = (torch.randn(9, 5, generator=generator, dtype=torch.float64, requires_grad=True) for _ in range(2))
    losses.infonce(losses.cosine_scores(users, items), tau=tau).backward()
    found = norm_growth.batch_gradients(users.detach().numpy(), items.detach().numpy(), tau=tau)
    np.testing.assert_allclose(found[0], users.grad, atol=1e-13)
    np.testing.assert_allclose(found[1], items.grad, atol=1e-13)


@pytest.mark.parametrize("state", SETTINGS, ids=lambda state: f"lr{state['lr']}-step{state['step']}")
def test_the_exact_law_gives_every_norm(state: dict[str, Any]) -> None:
    run = NormGrowth(**state).run()
    law = geometry.quartic_norm(run.starts, lr=state["lr"], h=run.gradients.T, step=run.steps.T)
    np.testing.assert_allclose(law, run.norms, rtol=1e-11)


@pytest.mark.seconds
def test_what_the_line_leaves_out_is_named() -> None:
    """Little at a rate of 1; most of the growth where the first step is far longer than the embedding."""
    parts = {lr: step_part(shown(lr=lr).run(), lr) for lr in (0.01, 1.0, 5.0, 100.0)}
    assert parts[0.01] < 1e-3 and parts[1.0] < 0.1 and parts[100.0] > 0.5
    run = shown(lr=5.0).run()
    grown = (run.norms**4 - run.starts**4).sum()
    assert parts[5.0] == pytest.approx((run.steps**4).sum() / grown)
    assert "leaves out the length of single steps" in shown(lr=100.0).summary()


def test_what_the_chapter_shows_is_there() -> None:
    """High rate: slope near 1/4, and dot product prefers the head; low rate: neither."""
    high, low = shown(lr=0.5).run(), shown(lr=0.01).run()
    assert 0.17 < slope(high) < 0.27 and popularity.norm_correlation(high.norms, high.counts) > 0.7
    assert top_share(high, by_cosine=False) > 2 * top_share(high, by_cosine=True)
    assert abs(slope(low)) < 0.05 and abs(popularity.norm_correlation(low.norms, low.counts)) < 0.3
    assert abs(top_share(low, by_cosine=False) - top_share(low, by_cosine=True)) < 0.05
    bare = np.log(high.norms / predicted({"start_norm": 1.0, "lr": 0.5}, high))
    assert np.sqrt((bare**2).mean()) < 0.15  # one mean gradient for all items: within some percent


# ---- the Python object


@pytest.mark.seconds
def test_before_the_first_step_there_is_nothing_to_say() -> None:
    one = NormGrowth(step=0)
    assert "Before the first step no item has been drawn, and no norm has grown." in one.summary()
    Elements(one.static_html())
    assert "nan" not in one.static_html().lower()


@pytest.mark.seconds
def test_what_has_hardly_begun_to_grow_is_no_growth() -> None:
    alike = NormGrowth(lr=0.01, exponent=0.0).summary()
    assert "On logarithmic axes the slope of norm against count is −0.41;" in alike and "grow" not in alike
    early = NormGrowth(lr=0.01, step=20)
    assert (
        early.run().counts.min() == 0
        and "and of the items drawn so far the one drawn least often (once)" in early.summary()
    )
    assert re.search(r"n\* \(\d,\d{3} draws\)", early.summary())


@pytest.mark.seconds
def test_the_same_in_python_computes_the_first_row(capsys: pytest.CaptureFixture[str]) -> None:
    one = shown(lr=0.05, start_norm=2.0, step=100)
    assert run_code(one.python()).state() == one.state()
    first, line, *shares = capsys.readouterr().out.splitlines()
    mean_line, exact = line.split(" predicted; ")
    found = [first.split()[0], mean_line, exact.split()[0]]
    assert [words.number(float(value)) for value in found] == one.table()[1][0][2:5]
    assert [words.whole_percent(float(share.split()[0])) for share in shares] == one.table()[1][0][5:]


@pytest.mark.seconds
def test_the_table_speaks_of_all_items() -> None:
    heads, rows = NormGrowth().table()
    assert len(heads) == 7 and [row[0] for row in rows][:2] == ["1 to 12", "13 to 24"]
    for column in (5, 6):
        assert sum(int(row[column].removesuffix(" %")) for row in rows) == pytest.approx(100, abs=5)


# ---- in the browser


def test_an_item_can_be_looked_at(site_page: Callable[..., Any]) -> None:
    page = site_page(shown().static_html())
    run = shown().run()
    order = popularity.head_items(run.counts, 1.0)
    page.locator(".cw-item").nth(30).hover(force=True)
    text = page.locator(".cw-inspector").inner_text()
    rank = int(re.search(r"number (\d+) by", page.locator(".cw-look-at .cw-value").inner_text())[1])
    item = order[rank - 1]
    assert text.startswith(f"Drawn {run.counts[item]} times. Norm {words.number(run.norms[item])}; predicted")


# ==== the scrubber of the effective rate: what is stored is what training gives, and what is shown is what is stored

STORED = json.loads(effective_rate.STORED.read_text(encoding="utf-8"))
RATES = STORED["rates"]
HIGH = RATES[-1]  # the training with the fewest steps


def stored(rate: float) -> dict[str, Any]:
    found: dict[str, Any] = STORED["models"][RATES.index(rate)]
    return found


# ---- what is stored


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    """The model of the highest rate, trained here."""
    return make_effective_rate.data(rates=[HIGH])


def test_the_stored_model_is_the_one_that_training_gives(made: dict[str, Any]) -> None:
    ours, theirs = made["models"][0], stored(HIGH)
    np.testing.assert_allclose(ours["lengths"], theirs["lengths"], rtol=0.02)
    np.testing.assert_allclose(ours["law"], theirs["law"], rtol=0.02)
    for name in ("count", "ndcg"):
        np.testing.assert_allclose([*ours[name].values()], [*theirs[name].values()], rtol=0.03, atol=2e-3)
    assert (ours["slope"], ours["median"]) == pytest.approx((theirs["slope"], theirs["median"]), rel=0.03)
    for name, lists in ours["lists"].items():
        for mine, other in zip(lists, theirs["lists"][name], strict=True):
            titles = {made["titles"][i] for i in mine}, {STORED["titles"][i] for i in other}
            assert len(titles[0] & titles[1]) >= 8
    for name in ("time", "named", "shown", "users", "popular"):
        assert made[name] == STORED[name]


def test_all_rates_learn_for_the_same_time_and_the_file_is_small() -> None:
    assert list(make_effective_rate.RATES) == RATES and effective_rate.STORED.stat().st_size < 16_000
    assert all(films.steps_at(rate) * rate == STORED["time"] for rate in RATES)


def test_the_pairs_are_those_of_the_first_training_of_the_page() -> None:
    for ours, theirs in zip(films.split(), p0_popularity.load_split("movietweetings-5core", 0), strict=True):
        assert ours.shape == theirs.shape
        assert (ours.users == theirs.users).all() and (ours.items == theirs.items).all()


def test_the_line_is_the_quartic_law(made: dict[str, Any]) -> None:
    """From the line the mean pull can be read off: it is that of the training."""
    train, _ = films.split()
    tables, growth = films.at_rate(train, HIGH)
    h = np.sqrt(growth.driven.sum() / HIGH**2 / growth.updates.sum())
    counts = np.geomspace(train.col_counts.min(), train.col_counts.max(), len(made["models"][0]["law"]))
    updates = films.steps_at(HIGH) * norms.update_probability(counts / len(train), films.BATCH)
    expected = (films.START**4 + 2 * HIGH**2 * h**2 * updates) ** 0.25
    np.testing.assert_allclose(100 * expected, made["models"][0]["law"], atol=0.51)
    np.testing.assert_allclose(growth.predicted(), tables.right.weight.detach().norm(dim=1), rtol=1e-4)


def test_what_the_page_asks_for_is_there_to_see() -> None:
    """With the rate the vectors of popular films grow, and the lists by dot product fill with popular films."""
    top = [stored(rate)["lengths"][0] for rate in RATES]
    slopes = [stored(rate)["slope"] for rate in RATES]
    dot, cosine = ([stored(rate)["count"][kind] for rate in RATES] for kind in ("dot", "cosine"))
    assert top == sorted(top) and top[-1] > 4 * top[0] and slopes[0] < 0.15 and slopes[RATES.index(10)] > 0.25
    assert dot == sorted(dot) and dot[-1] - dot[0] > 5 * (max(cosine) - min(cosine))


# ---- what is shown


def test_the_words_hold_the_stored_numbers() -> None:
    for rate in (RATES[0], 10.0, HIGH):
        one = stored(rate)
        story = EffectiveRate(rate, person=2, everything=True).summary()
        assert f"ends with length {words.number(one['lengths'][0] / 100)}, " in story
        counts = [words.number(round(one["count"][kind])) for kind in ("dot", "cosine")]
        assert f"people the means are {counts[0]} and {counts[1]}; " in story


@pytest.mark.parametrize("index", ["dot", "cosine"])
def test_the_list_holds_titles_and_their_pairs_and_the_point_both_means(index: str) -> None:
    train, _ = films.split()
    pairs = dict(zip(make_effective_rate.film_names(train), train.col_counts, strict=True))
    shown = EffectiveRate(index=index)
    means = {}
    for kind in ("dot", "cosine"):
        titles = [STORED["titles"][film] for film in stored(10.0)["lists"][kind][0]]
        means[kind] = round(np.mean([pairs[title] for title in titles]))
        for title in titles if kind == index else ():
            listed = rf"{re.escape(title.replace('&', '&amp;'))}<span[^>]*> {pairs[title]}</span>"
            assert re.search(listed, shown.static_html())
    said = f"shows person 1 films with {means['dot']} likes on average, and the cosine films with {means['cosine']}."
    assert said in shown.summary()


def test_the_same_in_python_computes_the_row_of_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    one = EffectiveRate(HIGH, person=3)
    assert run(one.python()).state() == one.state()
    top, median, slope, dot, cosine = (
        float(text) for line in capsys.readouterr().out.splitlines() for text in line.split() if text[0].isdigit()
    )
    row = [float(cell) for cell in one.table()[1][-1]]
    assert row[:6] == pytest.approx([HIGH, top, median, slope, dot, cosine], rel=0.03)


SCRIPTS = [
    Script(
        MATH,
        EVALUATE,
        cases=lambda: SETTINGS,
        off=lambda state, answer: far_apart(
            python_answer(state), answer | {"crossover": np.inf if answer["crossover"] is None else answer["crossover"]}
        ),
        given=lambda state: state,
        wrong=("- Number(j - i === i / BATCH)) /", ") /"),
    ),
]
