"""The hero of the chapter: its hill is that of the batches, its lists are those of the models."""

from __future__ import annotations

import re
from itertools import islice

import numpy as np
import pytest

from course_lib.experiments import p3
from course_lib.lessons.in_batch_bias import films
from course_lib.lessons.in_batch_bias.hidden_hits import MOMENTS, REPAIRS, STORED, HiddenHits
from course_lib.lessons.shared.widgets.base import Folded, read
from tests.lessons.every import printed
from tests.lessons.in_batch_bias import make_hidden_hits

KEPT = read(STORED)


def heights(shown: HiddenHits) -> list[float]:
    """How high the hill stands over each film, in equal shares, read from the picture."""
    path = re.search(r'class="cw-hill" d="M36 264((?:V[\d.]+H[\d.]+)+)', shown.picture())
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
    assert f"the middle one of the five films has {fans['none']:.0f} fans" in HiddenHits().summary()


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
