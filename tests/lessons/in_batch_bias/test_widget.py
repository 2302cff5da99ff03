"""The interactives on in-batch sampling: JavaScript against course_lib, words against words, and pages in a browser."""

import re
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import words

from course_lib import in_batch, losses
from course_lib.experiments import p3
from course_lib.lessons.in_batch_bias import films
from course_lib.lessons.in_batch_bias.hidden_hits import MOMENTS, REPAIRS, STORED, HiddenHits
from course_lib.lessons.in_batch_bias.in_batch_weights import FIG2_LABELS, InBatchWeights
from course_lib.lessons.shared.widgets.base import Folded, read
from tests.lessons.every import Script, printed
from tests.lessons.in_batch_bias import make_hidden_hits
from tests.widget_pages import SMALLER, Elements, differences, open_folds, page_html, settled

REFUSED = [
    ("in_batch_weights", {"labels": [[1, 0]]}, "labels has shape (1, 2); expected"),
    ("in_batch_weights", {"labels": [[1, 2], [0, 1]]}, "labels has values [0, 1, 2]; expected only 0 and 1"),
    ("in_batch_weights", {"labels": [[1, 0], [1]]}, "different lengths"),
    ("in_batch_weights", {"batch_size": 1}, "batch_size is 1; expected 2 to 6"),
    ("in_batch_weights", {"batch_size": 7}, "batch_size is 7; expected 2 to 6"),
    ("in_batch_weights", {"omega": 0.0}, "omega is 0.0; expected a finite number above 0"),
]
CASES = 150
OUT_OF_REACH = "so no batch ever meets the pairs there and no weighting can repair it (P3’s Assumption E.1)."


def random_labels(rng: np.random.Generator, *, gaps: bool = True) -> np.ndarray:
    """A label matrix of 2 to 8 rows and columns with two positives or more; gaps: often with an empty row or column."""
    m, n = (int(size) for size in rng.integers(2, 9, size=2))
    labels = (rng.random((m, n)) < rng.uniform(0.05, 0.9)).astype(int)
    labels[np.arange(m), rng.integers(0, n, size=m)] = 1
    labels[rng.integers(0, m, size=n), np.arange(n)] = 1
    for line in (np.s_[rng.integers(m)], np.s_[:, rng.integers(n)]) if gaps else ():
        emptied = labels.copy()
        emptied[line] = 0
        labels = emptied if rng.random() < 0.4 and emptied.sum() >= 2 else labels
    return labels


def met(labels: np.ndarray) -> tuple[np.ndarray, ...]:
    """The index of the rows and columns that have a positive."""
    return np.ix_(labels.any(axis=1), labels.any(axis=0))


def random_case(rng: np.random.Generator) -> dict[str, Any]:
    labels = random_labels(rng)
    batch_size = int(rng.integers(2, labels.sum() + 1))
    return {
        "labels": labels.tolist(),
        "batchSize": batch_size,
        "scores": rng.normal(scale=3, size=labels.shape).tolist(),
        "omega": float(rng.uniform(0.01, 1)),
        "kind": in_batch.KINDS[int(rng.integers(len(in_batch.KINDS)))],
        "pointwise": ("square", "logistic")[int(rng.integers(2))],
    }


def random_cases() -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    return [random_case(rng) for _ in range(CASES)]


def random_state(rng: np.random.Generator) -> dict[str, Any]:
    """Arguments of InBatchWeights."""
    case = random_case(rng)
    return {
        "labels": case["labels"],
        "batch_size": case["batchSize"],
        "kind": case["kind"],
        "omega": round(case["omega"], 2),
        "pointwise": case["pointwise"],
        "fit": float(rng.choice([0.0, 0.35, 1.0])),
    }


def static(**arguments: Any) -> str:
    return InBatchWeights(**arguments).static_html()


EVALUATE = """(cases) => cases.map(({ labels, batchSize, scores, omega, kind, pointwise }) => {
  const losses = lib.pairLosses(pointwise, scores);
  return {
    expectedWeights: lib.expectedWeights(kind, { labels, batchSize, omega }),
    expected: lib.objectiveParts(labels, lib.expectedWeights(kind, { labels, batchSize, omega }), losses).total,
    full: lib.objectiveParts(labels, lib.fullWeights(labels), losses).total,
    losses,
    popularity: lib.pairPopularity(labels),
    rho: lib.balance(batchSize, lib.countLabels(labels).total),
    threshold: lib.popularityThreshold("in_batch", { batchSize, positives: lib.countLabels(labels).total }),
    mistaken: lib.mistakenPairs(labels, lib.expectedWeights(kind, { labels, batchSize, omega })),
    best: [2, 3, 12].map((pop) =>
      lib.bestScore(pointwise, 1, lib.balance(batchSize, lib.countLabels(labels).total) * (pop - 1))),
  };
})"""


def python_answer(case: dict[str, Any]) -> dict[str, Any]:
    """What course_lib says to the question that EVALUATE asks."""
    labels = np.array(case["labels"], dtype=float)
    kind, batch_size, n_positives = case["kind"], case["batchSize"], int(labels.sum())
    omega = case["omega"] if kind == "unbiased_omega" else None
    row_counts, col_counts = labels.sum(1), labels.sum(0)
    pos_loss, neg_loss = losses.pair_losses(case["pointwise"], np.array(case["scores"]))
    whole = {"pos_loss": pos_loss, "neg_loss": neg_loss, "labels": labels}
    w_pos, w_neg = np.zeros_like(labels), np.zeros_like(labels)  # what no batch meets weighs nothing
    part = labels[met(labels)]
    found = in_batch.expected_weights(kind, labels=part, batch_size=batch_size, omega=omega)
    w_pos[met(labels)], w_neg[met(labels)] = (weights * part.size / labels.size for weights in found)
    return {
        "expectedWeights": {"positive": w_pos, "negative": w_neg},
        "expected": (w_pos * pos_loss + w_neg * neg_loss).sum(),
        "full": in_batch.full_objective(**whole),
        "losses": {"positive": pos_loss, "negative": neg_loss},
        "popularity": in_batch.pair_popularity(row_counts, col_counts),
        "rho": in_batch.balance(batch_size, n_positives),
        "threshold": in_batch.misclassification_threshold(batch_size, n_positives),
        "mistaken": np.argwhere((labels == 1) & (w_neg > w_pos * (1 + 1e-12))),
        "best": in_batch.in_batch_optimum(
            case["pointwise"], pop=np.array([2, 3, 12]), batch_size=batch_size, n_positives=n_positives
        ),
    }


def mistaken(shown: InBatchWeights) -> list[str]:
    """The pairs that the table calls mistaken."""
    return [row[0] for row in shown.table()[1] if row[-1] == "yes"]


def push(shown: InBatchWeights) -> list[str]:
    """The pushes of the table, row by row."""
    return [row[4] for row in shown.table()[1]]


@pytest.mark.seconds
def test_table_and_picture_have_the_weights_of_course_lib_and_the_sentences_fit() -> None:
    rng = np.random.default_rng(2)
    for _ in range(15):
        shown = InBatchWeights(**random_state(rng))
        pull, weights = shown.weights
        said = [words.number(weight) for weight in weights.ravel()]
        assert push(shown) == re.findall(r'class="cw-number"[^>]*>([^<]*)<', shown.picture()) == said
        wrong = np.argwhere((np.array(shown.labels) == 1) & (weights > pull * (1 + 1e-12)))
        assert mistaken(shown) == [f"R{i + 1}–C{j + 1}" for i, j in wrong]
        assert ("No positive pair is mistaken" in shown.summary()) == (len(wrong) == 0)


def test_the_sentence_on_the_objective_is_that_of_course_lib() -> None:
    rng = np.random.default_rng(4)
    for _ in range(10):
        state = {**random_state(rng), "labels": random_labels(rng, gaps=False).tolist()}
        shown = InBatchWeights(**{**state, "batch_size": 2})
        labels = np.array(shown.labels, dtype=float)
        scores = shown.fit * (labels if shown.pointwise == "square" else 8 * labels - 4)
        pos_loss, neg_loss = losses.pair_losses(shown.pointwise, scores)
        whole = {"pos_loss": pos_loss, "neg_loss": neg_loss, "labels": labels}
        omega = shown.omega if shown.kind == "unbiased_omega" else None
        expected = in_batch.expected_objective(shown.kind, **whole, batch_size=2, omega=omega)
        full = in_batch.full_objective(**whole)
        assert f"objective is {words.number(expected)} and the full objective {words.number(full)}" in shown.summary()


def test_the_same_in_python_computes_the_weights_of_the_table() -> None:
    rng = np.random.default_rng(8)
    for kind in in_batch.KINDS:
        shown = InBatchWeights(**{**random_state(rng), "kind": kind})
        _, names = printed(shown.python())
        assert names["shown"].state() == shown.state()
        theirs = np.array(push(shown)).reshape(np.shape(shown.labels))[names["met"]].ravel()
        assert theirs.tolist() == [words.number(weight) for weight in names["push"].ravel()]
    assert "expected_weights" not in InBatchWeights([[1, 0], [0, 0]], batch_size=2).python()


def test_empty_rows_and_columns_have_numbers_and_a_warning() -> None:
    shown = InBatchWeights([[1, 1, 0], [1, 0, 0], [0, 0, 0]], batch_size=2)
    assert shown.summary() == (
        "In-Batch loss, batches of 2 of 3 positives (balance ρ = 0.5). 1 of 3 positive pairs is mistaken: R1–C1 is "
        "pushed apart harder than pulled together, because the popularity of such a pair, its row count times its "
        "column count, is above 3. Negative pairs weigh from 0 to 0.5; the full objective gives each 1. With all "
        "scores 0 the expected objective is 0.46 and the full objective 0.69. "
        f"R3 and C3 have no positive, {OUT_OF_REACH}"
    )
    assert len(shown.table()[1]) == 9


def test_the_summary_of_the_papers_figure() -> None:
    """Popularity 6 of (R2, C4) and (R4, C4) is above 1 + (6 - 1) / (3 - 1) = 3.5: by hand."""
    shown = InBatchWeights()
    assert mistaken(shown) == ["R2–C4", "R4–C4"]
    assert "2 of 6 positive pairs are mistaken: R2–C4 and R4–C4" in shown.summary()
    assert "above 3.5." in shown.summary()


def test_fig2_labels_fit_what_the_paper_says() -> None:
    labels = np.array(FIG2_LABELS)
    assert labels.shape == (4, 4) and labels.sum(1)[[0, 2]].tolist() == [1, 1] and labels.sum(0).min() == 1
    batch = [(1, 1), (1, 3), (3, 0)]
    crossed = {(i, j) for a, (i, _) in enumerate(batch) for b, (_, j) in enumerate(batch) if a != b}
    assert {pair for pair in crossed if labels[pair]} == {(1, 1), (1, 3), (3, 3)}


def test_labels_may_be_an_array_and_fewer_than_the_batch_size() -> None:
    shown = InBatchWeights(np.eye(4), batch_size=4)
    shown.labels = [[1, 0, 0, 0], [0, 1, 0, 0]]
    assert shown.summary().endswith(f"C3 and C4 have no positive, {OUT_OF_REACH}")
    shown.labels = [[1, 0], [0, 1]]
    assert shown.summary().startswith("In-Batch loss, batches of 2 of 2 positives")
    np.testing.assert_allclose(shown.weights[1], [[0, 1], [1, 0]])


def test_fallback_of_labels_without_weights() -> None:
    html = InBatchWeights([[1, 0], [0, 0]], batch_size=2).static_html()
    Elements(html)
    assert (
        "There is one positive pair." in html
        and "<table" not in html
        and "nan" not in html.lower().replace("finance", "")
    )


def focused(page: Any) -> str:
    return page.evaluate(
        "document.activeElement.dataset.cell ?? document.activeElement.name ?? document.activeElement.tagName"
    )


def test_an_unknown_widget_keeps_its_picture_and_says_why(site_page: Callable[..., Any]) -> None:
    messages: list[str] = []
    page = site_page("", errors=True)
    page.on("console", lambda message: messages.append(message.text))
    broken = static().replace('data-course-widget="in_batch_weights"', 'data-course-widget="nothing"')
    page.goto(page.url)
    Path(page.url.removeprefix("file://")).write_text(page_html(broken, folder="../../"), encoding="utf-8")
    page.reload()
    page.wait_for_selector('.course-widget[data-course-widget-ready="failed"]')
    assert page.locator(".course-widget svg[role=img]").is_visible()
    assert any("unknown widget; known: " in message for message in messages)


def test_keyboard_alone_edits_the_labels(site_page: Callable[..., Any]) -> None:
    page = site_page(static())
    page.locator('.cw-grid button[tabindex="0"]').focus()
    assert page.locator('.cw-grid button[tabindex="0"]').count() == 1
    assert focused(page) == "1,3"  # the most popular positive
    for key, expected in [
        ("ArrowUp", "0,3"),
        ("ArrowUp", "0,3"),
        ("ArrowLeft", "0,2"),
        ("Home", "0,0"),
        ("End", "0,3"),
        ("ArrowRight", "0,3"),
        ("ArrowDown", "1,3"),
        ("Control+Home", "0,0"),
        ("Control+End", "3,3"),
    ]:
        page.keyboard.press(key)
        assert focused(page) == expected, key
    page.keyboard.press("Control+Home")
    page.keyboard.press("Space")
    settled(page, "of 7 positives")
    assert page.locator('[data-cell="0,0"]').get_attribute("aria-pressed") == "true" and focused(page) == "0,0"
    page.keyboard.press("Enter")
    settled(page, "of 6 positives")
    assert page.locator('[data-cell="0,0"]').get_attribute("aria-pressed") == "false"


def test_too_few_positives_is_a_sentence_and_repairs_itself(site_page: Callable[..., Any]) -> None:
    page = site_page(static(labels=[[1, 0], [0, 1]], batch_size=2))
    page.locator('[data-cell="0,0"]').click()
    message = page.locator(".cw-message")
    assert message.inner_text().startswith("There is one positive pair.")
    assert page.locator('input[name="batch_size"]').is_disabled()
    settled(page, "There is one positive pair.")
    page.locator('[data-cell="0,0"]').click()
    assert message.is_hidden()
    settled(page, InBatchWeights([[1, 0], [0, 1]], batch_size=2).summary())


def test_an_empty_row_is_said_to_be_out_of_reach(site_page: Callable[..., Any]) -> None:
    page = site_page(static(kind="unbiased"))
    page.locator('[data-cell="0,2"]').click()
    assert page.locator(".cw-message").inner_text() == f"R1 and C3 have no positive, {OUT_OF_REACH}"
    page.locator('[data-cell="0,0"]').hover()
    assert "No batch ever meets it." in page.locator(".cw-inspector").inner_text()


def test_the_batch_size_follows_the_positives_down(site_page: Callable[..., Any]) -> None:
    page = site_page(static(batch_size=6))
    page.locator('[data-cell="3,0"]').click()
    settled(page, "batches of 5 of 5 positives")
    assert page.locator('input[name="batch_size"]').get_attribute("max") == "5"


@pytest.mark.parametrize("kind", ["unbiased", "unbiased_omega", "pos_neg", "masked"])
def test_weights_that_cancel_leave_nothing_behind(site_page: Callable[..., Any], kind: str) -> None:
    """Rounding once left 1e-17 on a positive, and with it a best score of 36.7 or of no number at all."""
    rng = np.random.default_rng(6)
    page = site_page(static(labels=random_labels(rng), batch_size=2, kind=kind))
    inspected = page.evaluate("""async () => {
      const found = [];
      for (const cell of document.querySelectorAll('.cw-cell[aria-pressed="true"]')) {
        cell.dispatchEvent(new PointerEvent("pointerenter"));
        await new Promise(requestAnimationFrame);
        found.push(cell.closest(".cw-in-batch").querySelector(".cw-inspector").innerText);
      }
      return found;
    }""")
    assert inspected
    assert all("pushed apart 0 (asked: 1 and 0). Best score alone: ∞." in one for one in inspected)


def test_the_largest_matrix_fits_every_width(site_page: Callable[..., Any]) -> None:
    page = site_page(static(labels=np.ones((8, 8), dtype=int), batch_size=64), width=320)
    open_folds(page)
    for width in (320, 768, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(SMALLER, 24) == []


def test_dark_follows_the_host(site_page: Callable[..., Any]) -> None:
    """The book's theme, Colab and JupyterLab each say dark in their own way;
    a light host stays light in a dark system.
    """
    background = "getComputedStyle(document.querySelector('.cw')).backgroundColor"
    light, dark = "rgb(255, 255, 255)", "rgb(18, 23, 30)"
    page = site_page(static())
    for where, name, value in [
        ("html", "data-theme", "dark"),
        ("html", "theme", "dark"),
        ("body", "data-jp-theme-light", "false"),
    ]:
        assert page.evaluate(background) == light
        page.evaluate(f"document.querySelector('{where}').setAttribute('{name}', '{value}')")
        assert page.evaluate(background) == dark, name
        page.evaluate(f"document.querySelector('{where}').removeAttribute('{name}')")
    page = site_page(static(), color_scheme="dark")
    assert page.evaluate(background) == dark
    page.evaluate("document.documentElement.setAttribute('data-theme', 'light')")
    assert page.evaluate(background) == light


def test_reduced_motion_means_no_motion(site_page: Callable[..., Any]) -> None:
    moving = "getComputedStyle(document.querySelector('.cw-square')).transitionDuration"
    assert site_page(static()).evaluate(moving) != "0s"
    assert site_page(static(), reduced_motion="reduce").evaluate(moving) == "0s"


# ==== the hero of the chapter: its hill is that of the batches, its lists are those of the models

KEPT = read(STORED)


def heights(shown: HiddenHits) -> list[float]:
    """How high the hill stands over each film, in equal shares, read from the picture."""
    path = re.search(r'class="cw-hill" d="M[\d.]+ 264((?:V[\d.]+H[\d.]+)+)', shown.picture())
    assert path is not None
    return [(264 - float(y)) * 16 / 250 for y in re.findall(r"V([\d.]+)H", path[1])]


def test_without_a_repair_the_hill_is_how_often_each_film_was_drawn() -> None:
    for moment in range(1, len(MOMENTS)):
        draws = np.array(KEPT["draws"][moment])
        wanted = np.minimum(16, draws * len(draws) / draws.sum())
        np.testing.assert_allclose(heights(HiddenHits(moment=moment)), wanted, atol=0.01)
        assert draws.sum() == 256 * MOMENTS[moment]


def test_with_log_q_the_hill_is_flat_after_the_training_and_before_it_there_is_none() -> None:
    np.testing.assert_allclose(heights(HiddenHits(repair="logq")), 1, atol=0.1)
    assert max(heights(HiddenHits())) > 15 and set(heights(HiddenHits(moment=0))) == {0.0}


@pytest.mark.seconds
def test_the_stored_lists_and_draws_are_those_of_the_training() -> None:
    train, _ = p3.load_split("movietweetings-10core", 0)
    order = np.argsort(-train.col_counts, kind="stable")
    assert [np.array(counts)[order].tolist() for counts in make_hidden_hits.draws(train)] == KEPT["draws"]
    *_, model = islice(films.along(train, "softmax", seed=0), MOMENTS[4] + 1)
    five = films.best(model, train)[KEPT["person"]]
    assert len(set(np.argsort(order)[five]) & set(KEPT["lists"]["none"][4])) >= 4  # float32: a processor may swap two


def test_the_repairs_bring_the_hits_back_into_the_list() -> None:
    fans = {repair: np.median([KEPT["counts"][k] for k in KEPT["lists"][repair][-1]]) for repair in REPAIRS}
    assert fans["none"] < 150 < 2 * fans["none"] < min(fans["logq"], fans["serving"])
    assert f"The median film of the five has {fans['none']:.0f} fans" in HiddenHits().summary()


@pytest.mark.seconds
def test_the_same_in_python_prints_the_share_of_the_summary() -> None:
    shown = HiddenHits(moment=4, repair="serving")
    said, names = printed(shown.python())
    assert names["found"].precision == pytest.approx(KEPT["found"]["serving"][4][0], abs=0.1)
    assert f"{names['found'].precision:.1f} %" in said


def test_folded_it_stands_behind_one_button() -> None:
    html = Folded(HiddenHits(), "Everything & more")._repr_mimebundle_()[0]["text/html"]
    assert html.startswith('<details class="cw-folded"><summary>Everything &amp; more</summary>')
    assert HiddenHits().static_html() in html and html.endswith("</details>")


SCRIPTS = [
    Script(
        "in_batch_math",
        EVALUATE,
        cases=random_cases,
        off=lambda case, answer: differences(python_answer(case), answer),
        given=lambda case: case,
        wrong=("diagonal: (pop) => 1 / pop - 1 }", "diagonal: (pop) => 1 / pop }"),
    ),
]
