"""The interactives: the page computes what course_lib computes, and shows what was trained."""

import gzip
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import words
from contourpy import contour_generator

from course_lib import correction, experiments, metrics, popularity
from course_lib.interactions import Interactions
from course_lib.lessons.ddc import make_over_seeds, make_two_scalars, over_seeds, two_scalars, weight
from course_lib.lessons.ddc.over_seeds import OverSeeds
from course_lib.lessons.ddc.rivals import METHODS, SETS, STORED, TRAININGS, Rivals
from course_lib.lessons.ddc.two_scalars import TwoScalars, User
from course_lib.lessons.shared import film_models
from course_lib.lessons.shared.widgets import tables
from course_lib.lessons.shared.widgets.base import read
from tests.lessons.ddc import make_rivals
from tests.lessons.every import Script, printed
from tests.widget_pages import far_apart, settled

SCALARS = {"person": 0, "alpha": 0.0, "beta": 0.0, "shift": 0.0, "view": "ddc"}
SHOWN = {"two_scalars": SCALARS}
USERS, ITEMS = np.random.default_rng(0).normal(size=(3, 4)), np.random.default_rng(1).normal(size=(30, 4))
GIVEN = {
    "users": USERS,
    "items": ITEMS,
    "train": Interactions([0, 0, 1, 2], [1, 2, 3, 4], n_users=3, n_items=30),
    "test": Interactions([0, 1], [5, 6], n_users=3, n_items=30),
}
REFUSED = [
    ("two_scalars", {"alpha": 99.0}, "alpha is 99.0; expected -50 to 50"),
    ("two_scalars", {**GIVEN, "test": None}, "test is None; expected Interactions of shape (3, 30)"),
    ("two_scalars", {**GIVEN, "users": USERS[:, :2]}, "users has shape (3, 2); expected (n, d)"),
    ("two_scalars", {**GIVEN, "chosen": (7,)}, "chosen is [7]; expected 1 to 8 users, each from 0 to 2"),
    ("two_scalars", {**GIVEN, "chosen": (2,)}, "user 2 has 1 training and 0 test items; expected 1 to 40 and 1 to 6"),
]
POINTS = [
    SCALARS,
    {**SCALARS, "person": 1, "alpha": 0.6, "beta": -0.35, "shift": 1.0},
    {**SCALARS, "person": 3, "alpha": -2.5, "beta": 4.9, "view": "served"},
    {**SCALARS, "person": 4, "alpha": 0.05, "beta": 0.75, "shift": -2.0, "view": "served"},
]


def scalars(**changes: Any) -> TwoScalars:
    return TwoScalars(**{**SCALARS, **changes})


def test_a_mean_count_that_reads_the_same_stays() -> None:
    """262.7 and 263.0 are both written 263."""
    assert "The mean count of the ten items shown stays 263." in scalars(alpha=3.0).summary()


# ---- TwoScalars: the JavaScript computes what course_lib computes

LOOK_AT_SCALARS = """(states) => states.map((state) => {
  const studied = lib.study(state);
  const found = lib.analyse(state, studied);
  const grid = lib.surface(studied.user, state.view);
  const { scores, a, b, tilt } = studied.user;
  return { scores: [...scores], a: [...a], b: [...b], tilt, minimum: studied.minimum ?? [], best: studied.best,
    losses: found.losses, ranks: found.ranks, list: found.list, grid, levels: lib.levels(grid) };
})"""


def loss(user: User, alpha: float, beta: float, view: str = "ddc") -> float:
    """(13) over all pairs of a user; "served": BPR's loss of what is served."""
    pos, neg, a, b = sides(user)
    if view == "ddc":
        return correction.user_loss(pos, neg, a, b, alpha, beta)
    final = user.final(alpha, beta)
    return correction.user_loss(final[user.history], final[user.others], a, b, 0, 0)


def sides(user: User) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Scores of positives and negatives, projections of positives and negatives."""
    own, others = user.history, user.others
    return user.scores[own], user.scores[others], user.a[own], user.b[others]


def ranks(user: User, alpha: float, beta: float) -> np.ndarray:
    """Of the test items among the candidates, 1 for the best."""
    final = user.final(alpha, beta)
    return 1 + (final[user.candidates] > final[user.test][:, None]).sum(1)


def best(user: User) -> tuple[float, float]:
    """The point of the grid where the first test item stands highest, of several the one nearest to the model."""
    return min(
        two_scalars.grid_points(),
        key=lambda point: (ranks(user, *point).min(), round(point[0] ** 2 + point[1] ** 2, 9)),
    )


def minimum(user: User) -> tuple[float, float]:
    found = correction.solve_user(*sides(user))
    assert found is not None
    return found


def at_minimum(person: int) -> TwoScalars:
    alpha, beta = minimum(scalars(person=person).user)
    return scalars(person=person, alpha=round(alpha, 4), beta=round(beta, 4))


def studied(one: TwoScalars) -> dict[str, Any]:
    user, point = one.user, (one.alpha, one.beta)
    grid = [loss(user, *place, one.view) for place in two_scalars.grid_points()]
    return {
        "scores": user.scores,
        "a": user.a,
        "b": user.b,
        "tilt": user.tilt,
        "minimum": correction.solve_user(*sides(user)) or (),
        "best": best(user),
        "losses": [loss(user, *point, view) for view in two_scalars.VIEWS],
        "ranks": ranks(user, *point),
        "list": user.shown(*point),
        "grid": grid,
        "levels": [sorted(grid)[k * len(grid) // 10] for k in range(1, 10)],
    }


def apart(one: TwoScalars, answer: dict[str, Any]) -> list[str]:
    """Names of what differs; the minimum is found by two programs, each to about 1e-9, and may be far away."""
    ours = {name: np.ravel(value) for name, value in studied(one).items()}
    found = far_apart(
        {k: v for k, v in ours.items() if k != "minimum"}, {name: np.ravel(answer[name]).tolist() for name in ours}
    )
    minima = np.ravel(answer["minimum"])
    same = minima.size == ours["minimum"].size and np.allclose(minima, ours["minimum"], rtol=1e-6, atol=1e-6)
    return found if same else [*found, "minimum"]


def random_model(rng: np.random.Generator, scale: float = 1.0, **changes: Any) -> TwoScalars:
    users, items = scale * rng.normal(size=(4, 5)), rng.normal(size=(60, 5))
    labels = np.argsort(-users @ items.T + 2 * rng.normal(size=(4, 60)), axis=1)
    train, test = (
        Interactions(np.repeat(np.arange(4), k), np.ravel(part), n_users=4, n_items=60)
        for k, part in ((7, labels[:, :7]), (2, labels[:, 7:9]))
    )
    return TwoScalars(
        users,
        items,
        train,
        test,
        chosen=(0, 2),
        **{"alpha": 0.5, "beta": 0.25, "shift": float(rng.normal()), **changes},
    )


def test_isolines_are_those_of_contourpy(library: Callable[..., Any]) -> None:
    """The same points on the sides of the cells, for a smooth and for a rough surface."""
    alphas, betas = (two_scalars.grid_axis(name)[::3] for name in ("alpha", "beta"))
    user = scalars(person=1).user
    smooth = np.array([[loss(user, alpha, beta) for alpha in alphas] for beta in betas])
    for grid in (smooth, np.random.default_rng(0).normal(size=(6, 7))):
        level = float(np.quantile(grid, 0.4)) + 1e-6
        pieces = np.array(
            library("two_scalars_math")("([grid, level]) => lib.isoline(grid, level)", [grid.tolist(), level])
        )
        theirs = np.concatenate(contour_generator(z=grid).lines(level))
        ours = np.unique(pieces.reshape(-1, 2).round(9), axis=0)
        np.testing.assert_allclose(ours, np.unique(theirs.round(9), axis=0), atol=1e-8)
        assert (np.floor(pieces.min(1)) <= pieces.max(1)).all() and (
            pieces.max(1) - np.floor(pieces.min(1)) <= 1 + 1e-9
        ).all()  # within one cell


# ---- TwoScalars: the Python object


def test_moving_all_items_changes_no_ranking_of_the_model_and_the_minimum() -> None:
    """The freedom that DDC does not know: scores of one user move together, b moves by t, and the minimum goes away."""
    before = scalars(person=1).user
    for shift in (-1.0, 0.5, 2.0):
        after = scalars(person=1, shift=shift).user
        assert np.ptp(after.scores - before.scores) < 1e-12 and (ranks(after, 0, 0) == ranks(before, 0, 0)).all()
        assert loss(after, 0, 0) == pytest.approx(loss(before, 0, 0))
        assert np.allclose(after.b - before.b, shift * before.b.std())
    alphas = [minimum(scalars(person=1, shift=shift).user)[0] for shift in (-1.0, 0.0, 1.0)]
    assert alphas[0] > alphas[1] > 0 > alphas[2]
    assert correction.solve_user(*sides(scalars(person=0, shift=1.0).user)) is None


def test_the_people_show_what_they_were_chosen_for() -> None:
    def popular(user: User, point: tuple[float, float]) -> float:
        return float(user.counts[user.shown(*point)].mean())

    ann, ben, cleo, dan, eve = (scalars(person=k).user for k in range(5))
    assert (ranks(ann, *minimum(ann)) < ranks(ann, 0, 0)).all()
    assert loss(ann, *minimum(ann), "served") > loss(ann, 0, 0) > loss(ann, *minimum(ann))
    assert minimum(ben)[0] > 0.3 and popular(ben, minimum(ben)) > 1.8 * popular(ben, (0, 0))
    assert ranks(cleo, 0, 0).min() == 1 and ranks(cleo, *minimum(cleo)).min() > 4
    assert not correction.has_minimiser(dan.a[dan.history], dan.b[dan.others])
    assert loss(dan, 0, 50) < loss(dan, 0, 5) < loss(dan, 0, 0)
    assert popular(eve, (0, 0)) < 80 and popular(eve, minimum(eve)) > 150


@pytest.mark.seconds
def test_the_sentences_say_what_the_numbers_say() -> None:
    """At DDC's minimum the learned loss has fallen and the served one has risen."""
    assert "Both scalars are 0" in scalars().summary() and "higher" not in scalars().summary()
    one = at_minimum(person=0)
    user, text = one.user, one.summary()
    learned, served = (100 * loss(user, one.alpha, one.beta, view) / loss(user, 0, 0) for view in two_scalars.VIEWS)
    assert f"the DDC loss is {learned:.0f} % of the model’s" in text and f"is served is {served:.0f} % of it" in text
    assert "The DDC loss is least here" in text and "3 stand higher and none stands lower" in text


def test_the_same_in_python_computes_the_numbers_of_the_table() -> None:
    one = scalars(person=1, alpha=0.6, beta=-0.35, shift=1.0)
    lines = one.python()
    names: dict[str, Any] = {}
    exec(lines, names)
    assert names["shown"].state() == one.state()
    heads, rows = one.table()
    tests = [row for row in rows if "(test)" in row[0]]
    assert [row[heads.index("Rank now")] for row in tests] == list(map(str, names["ranks"]))
    assert f"the DDC loss is {100 * names['learned'] / loss(one.user, 0, 0):.0f} %" in one.summary()
    assert f"is served is {100 * names['served'] / loss(one.user, 0, 0):.0f} % of it" in one.summary()


def test_ones_own_model_is_shown_by_its_names() -> None:
    one = TwoScalars(**GIVEN, chosen=(0, 1), names={5: "Heat"}, person=1)
    assert one.table()[1][0][0] == "item 6 (test)" and "Ben has 1 item." in one.summary()
    assert repr(one) == "TwoScalars(person=1, alpha=0.0, beta=0.0, shift=0.0, view='ddc'; 2 people, 30 items)"


@pytest.mark.seconds
def test_both_reasons_for_no_minimum_are_named() -> None:
    text = scalars(person=3, shift=2.0).summary()
    assert (
        "no item of this user has a negative projection on e_pref" in text
        and "no negative has a negative projection on e_pop, so a smaller α only gains" in text
    )
    assert (
        "All items are moved by 2 standard deviations along e_pop" in text
        and "by 1 standard deviation along" in scalars(shift=1.0).summary()
    )
    negative = scalars(person=1, shift=-5.0).summary()
    assert "no negative has a positive projection on e_pop, so a larger α only gains" in negative


# ---- what is stored


def test_the_stored_films_are_those_of_the_data_set() -> None:
    train, _valid, test = film_models.parts()
    names = film_models.film_names(train)
    stored = json.loads(two_scalars.STORED.read_text(encoding="utf-8"))
    assert stored["counts"] == train.col_counts.tolist()
    for person, user in zip(stored["people"], make_two_scalars.PEOPLE, strict=True):
        assert (person["history"], person["test"]) == (train.items_of(user).tolist(), test.items_of(user).tolist())
    assert all(names[int(item)] == name for item, name in stored["names"].items())
    assert len(gzip.compress(json.dumps(scalars().state()).encode())) < 15_000


@pytest.mark.seconds
def test_the_models_can_be_trained_again() -> None:
    """One epoch: what comes out has the form of what is stored."""
    made, stored = make_two_scalars.data(epochs=1), json.loads(two_scalars.STORED.read_text(encoding="utf-8"))
    assert made.keys() == stored.keys() and made["counts"] == stored["counts"]
    assert [person.keys() for person in made["people"]] == [person.keys() for person in stored["people"]]


# ---- in the browser


NEAR = """(point) => ['alpha', 'beta'].every((name, k) =>
  Math.abs(Number(document.querySelector(`input[name=${name}]`).value) - point[k]) < 0.1)"""


@pytest.mark.seconds
def test_the_scalars_by_keyboard_click_and_drag(site_page: Callable[..., Any]) -> None:
    page = site_page(scalars().static_html())
    page.locator('input[value="1"]').check()
    page.locator('[data-action="minimum"]').click()
    settled(page, at_minimum(person=1).summary())
    assert page.locator('[data-action][aria-pressed="true"]').get_attribute("data-action") == "minimum"
    page.locator('input[value="2"]').check()  # from minimum to minimum
    settled(page, at_minimum(person=2).summary())
    page.locator('input[value="1"]').check()
    page.locator('[data-action="model"]').click()
    page.locator(".cw-handle").focus()
    for key in ("ArrowRight", "ArrowUp", "ArrowUp", "Shift+ArrowLeft"):
        page.keyboard.press(key)
    settled(page, scalars(person=1, alpha=0.09, beta=0.2).summary())
    surface = page.locator(".cw-look")
    box = surface.bounding_box()

    def place(alpha: float, beta: float) -> tuple[float, float]:
        return box["width"] * (34 + 300 * (alpha + 3) / 6) / 340, box["height"] * (6 + 296 * (5 - beta) / 6) / 340

    surface.click(position=dict(zip("xy", place(-2, 4), strict=True)))
    page.wait_for_function(NEAR, arg=[-2, 4], timeout=5000)
    page.mouse.move(box["x"] + place(-2, 4)[0], box["y"] + place(-2, 4)[1])
    page.mouse.down()
    page.mouse.move(box["x"] + place(1, 1)[0], box["y"] + place(1, 1)[1], steps=3)
    page.mouse.up()
    page.wait_for_function(NEAR, arg=[1, 1], timeout=5000)
    page.locator('input[value="3"]').check()
    settled(page, scalars(person=3).summary())
    assert page.locator('[data-action="minimum"]').is_disabled()


# ==== the interactive on several trainings: its lists are those of course_lib, and what is stored can be made again

STATES = [(1.0, 0.0, 0), (0.0, 1.0, 2), (0.45, 1.5, -1)]

LOOK = """(states) => states.map((state) => {
  const found = lib.analyseAll(state, lib.markAll(state.models.map((model) => lib.trainingOf(model, state)), state));
  return found.map(({ now, negative, marks: { model } }) => [now.popular, now.mrr, negative, model.popular, model.mrr]);
})"""


def looked_at(shown: OverSeeds) -> np.ndarray:
    """(seeds, 5) popularity and MRR@10 now, share of negative alphas, popularity and MRR@10 of the model."""
    counts, found = np.array(shown.counts), []
    for users, items, alpha, beta in shown.trainings():
        pop = popularity.popularity_direction(items, counts)
        pref = correction.preference_directions(users, items, shown.train)
        served = users + shown.alpha * alpha[:, None] * pop + shown.beta * beta[:, None] * pref
        lists = []
        for table in (served, users):
            ranked = metrics.top_k(table, items, shown.known, 10)
            lists.append((counts[ranked].mean(), metrics.metrics_from_ranking(ranked, shown.tested, (10,))["mrr@10"]))
        found.append([*lists[0], (alpha < 0).mean(), *lists[1]])
    return np.array(found)


@pytest.mark.seconds
def test_the_same_in_python_computes_the_lists_of_the_table() -> None:
    shown = OverSeeds(alpha=0.9, beta=0.3, shift=-1)
    _, names = printed(shown.python())
    assert names["shown"].state() == shown.state()
    assert shown.list_popularity().tolist() == [popular for popular, _ in names["lists"]]
    heads, rows = shown.table()
    for row, (popular, mrr) in zip(rows, names["lists"], strict=True):
        assert row[heads.index("Popularity now")] == words.number(popular)
        assert row[heads.index("MRR@10 now")] == f"{mrr:.4f}"


@pytest.mark.seconds
def test_a_change_that_counts_as_a_rise_is_not_written_as_0() -> None:
    told = OverSeeds(alpha=0.15, beta=0.15, shift=-2).summary()
    assert "change in popularity by −2 to +0.4 %, more popular in 2 " in told


# ---- what is stored


@pytest.mark.seconds
def test_the_stored_scalars_are_the_minimum_of_ddc() -> None:
    """Solved again for the first training, with the tables as they are stored: people of the sample alone."""
    stored = json.loads(over_seeds.STORED.read_text(encoding="utf-8"))
    model, shift = stored["models"][0], 1
    users, items = np.array(model["users"]), tables.unpack(model["items"])
    shown = OverSeeds(shift=shift)
    moved, train = over_seeds.moved(items, stored["counts"], shift), shown.train
    pop = popularity.popularity_direction(moved, stored["counts"])
    pref = correction.preference_directions(users, moved, train)
    place = over_seeds.SHIFTS.index(shift)
    for person in (0, 7, 70):
        own = train.items_of(person)
        others = np.setdiff1d(np.arange(len(items)), own)
        scores = moved @ users[person]
        a, b = (moved @ pref[person])[own], (moved @ pop)[others]
        alpha, beta = (model[name][place][person] for name in ("alpha", "beta"))

        places = [(alpha, beta), (0.0, 0.0), (alpha + 0.5, beta), (alpha - 0.5, beta), (alpha, beta + 0.5)]
        here, *elsewhere = (
            correction.user_loss(scores[own], scores[others], a, b, *place)
            + make_over_seeds.RIDGE / 2 * (place[0] ** 2 + place[1] ** 2)
            for place in places
        )
        assert min(elsewhere) > here - 1e-4


@pytest.mark.seconds
def test_the_stored_people_are_those_of_the_data_set() -> None:
    stored = json.loads(over_seeds.STORED.read_text(encoding="utf-8"))
    parts, people = film_models.parts(), make_over_seeds.chosen()
    assert stored["counts"] == parts[0].col_counts.tolist()
    for name, part in zip(("history", "seen", "test"), parts, strict=True):
        assert stored[name] == [part.items_of(person).tolist() for person in people]


@pytest.mark.seconds
def test_the_models_over_seeds_can_be_trained_again() -> None:
    """One epoch of one seed: what comes out has the form of what is stored."""
    made = make_over_seeds.data(range(1), epochs=1)
    stored = json.loads(over_seeds.STORED.read_text(encoding="utf-8"))
    assert made.keys() == stored.keys() and len(stored["models"]) == 5
    assert made["models"][0].keys() == stored["models"][0].keys()
    assert np.shape(made["models"][0]["alpha"]) == np.shape(stored["models"][0]["alpha"])


# ==== the hero of the chapter: its marks and its words are those of the stored results

PANELS = read(STORED)


def test_what_is_stored_is_what_the_results_say() -> None:
    assert make_rivals.data() == PANELS


def kept(training: int) -> set[tuple[str, int]]:
    """Method and place of the data and model, wherever lists become less popular and more accurate."""
    found = set()
    for panel, stored in enumerate(PANELS):
        for name, method in stored["methods"].items():
            one = np.mean(method["points"], axis=0) if training == TRAININGS else method["points"][training]
            if one[0] < 0 < one[1]:
                found.add((name, panel))
    return found


def boxes(shown: Rivals) -> list[tuple[str, str, float, float]]:
    """Title, look, and the place of the point within its box (left to right and up, 0 in the middle), by rows."""
    found = re.findall(
        r'<title>([^<]+)</title><rect class="([^"]+)" x="([\d.]+)" y="([\d.]+)" width="(\d+)" height="(\d+)".*?'
        r'class="cw-spot" r="[\d.]+" style="transform:translate\(([\d.]+)px, ([\d.]+)px\)"',
        shown.picture(),
    )
    return [
        (title, look, float(x) - float(left) - float(wide) / 2, float(top) + float(high) / 2 - float(y))
        for title, look, left, top, wide, high, x, y in found
    ]


@pytest.mark.parametrize("training", range(TRAININGS + 1))
def test_a_box_is_green_where_both_numbers_keep_the_promise(training: int) -> None:
    shown, green = Rivals(training=training), kept(training)
    *methods, a, b, c, d = boxes(shown)
    assert len(methods) == len(METHODS) * len(PANELS)
    for k, (title, look, across, up) in enumerate(methods):
        name, panel = list(METHODS)[k // len(PANELS)], k % len(PANELS)
        assert title.startswith(f"{name}, {PANELS[panel]['name']}: ")
        assert ("cw-yes" in look) == ((name, panel) in green) == (across < 0 < up)
    assert all(across > 50 and up < -10 and "cw-yes" not in look for _, look, across, up in (a, b, c, d))  # the hits
    counts = [int(count) for count in re.findall(r">(\d) of 4</text>", shown.picture())]
    assert counts == [sum(name == one for one, _ in green) for name in METHODS]


def test_points_stand_in_the_order_of_their_numbers() -> None:
    places = boxes(Rivals())[: len(METHODS) * len(PANELS)]
    means = [np.mean(PANELS[panel]["methods"][name]["points"], axis=0) for name in METHODS for panel in range(4)]
    for axis in (0, 1):
        steps = np.diff(np.array([place[2 + axis] for place in places])[np.argsort([mean[axis] for mean in means])])
        assert (steps >= -0.1).all()


def test_the_words_count_what_is_green() -> None:
    for training in range(TRAININGS + 1):
        green, words = kept(training), Rivals(training=training).summary()
        assert not [name for name in METHODS if sum(name == one for one, _ in green) == len(PANELS)]
        assert "no method makes lists less popular and more accurate with every" in words
        assert f"{len(green)} " in words
        nowhere = [PANELS[panel]["name"] for panel in range(4) if panel not in {place for _, place in green}]
        assert f"with {' and '.join(nowhere)}, no method does" in words


def test_an_interval_above_0_is_said_of_green_boxes_and_of_no_other() -> None:
    above = [
        f"{name} on {PANELS[panel]['name']}"
        for name, panel in sorted(kept(TRAININGS), key=lambda one: list(METHODS).index(one[0]))
        if np.mean(PANELS[panel]["methods"][name]["points"], axis=0)[1] > PANELS[panel]["methods"][name]["halves"][1]
    ]
    only = f"only {' and '.join(above)}" if above else "none"
    assert f"Of the {len(kept(TRAININGS))} green boxes, {only} has an interval above 0." in Rivals().summary()
    assert sum("cw-sure" in look for _, look, *_ in boxes(Rivals())) == len(above)
    assert not any("cw-sure" in look for _, look, *_ in boxes(Rivals(training=0)))


@pytest.mark.parametrize("training", range(TRAININGS + 1))
def test_the_line_of_the_weight_goes_through_its_points_within_the_box(training: int) -> None:
    lines = re.findall(r'class="cw-weight-line" d="M([^"]+)"', Rivals(training=training).picture())
    for line, stored in zip(lines[: len(PANELS)], PANELS, strict=True):
        curve = np.mean(stored["curves"], axis=0) if training == TRAININGS else np.array(stored["curves"][training])
        places = np.array([[float(number) for number in place.split()] for place in line.split("L")])
        inside = curve[(abs(curve) <= [30, 20]).all(axis=1)]
        assert len(places) == len(inside) > 10
        assert (np.diff(places[:, 0])[np.diff(inside[:, 0]) > 0] >= 0).all()
        assert (np.sign(np.diff(places[:, 1])) * np.sign(np.diff(inside[:, 1])) <= 0).all()


@pytest.mark.parametrize("training", range(TRAININGS + 1))
def test_the_table_says_how_far_beyond_the_line_a_point_lies(training: int) -> None:
    t3, x3 = (experiments.load_result(name, "laptop") for name in ("P1-T3", "P1-X3"))
    heads, rows = Rivals(training=training).table()
    for data, name in SETS.items():
        for backbone in ("MF", "LightGCN"):
            said = {
                row[1]: row[heads.index("MRR@10 beyond the line")] for row in rows if row[0] == f"{name}, {backbone}"
            }
            assert list(said) == [*METHODS, "list of hits"] and not said["list of hits"]
            for method in METHODS:
                each = weight.beyond(t3, x3, method, data=data, backbone=backbone)
                wanted = np.mean(each) if training == TRAININGS else each[training]
                assert float(said[method].replace("−", "-")) == pytest.approx(
                    wanted, abs=0.05
                )  # stored with two digits


def test_each_row_says_what_its_method_changes() -> None:
    assert re.findall(r'cw-strong">(\w+)</text><text [^>]*>([^<]+)<', Rivals().picture()) == list(METHODS.items())


def test_the_same_in_python_prints_the_stored_numbers() -> None:
    said, _ = printed(Rivals(training=1).python())
    assert len(said.splitlines()) == len(METHODS) * len(PANELS)
    popularity, accuracy = PANELS[2]["methods"]["DDC"]["points"][1]
    line = next(line for line in said.splitlines() if line.startswith("MovieLens-1M MF DDC"))
    assert f"{popularity:+.1f}" in line and f"{accuracy:+.1f}" in line


SCRIPTS = [
    Script(
        "two_scalars_math",
        LOOK_AT_SCALARS,
        # models without any structure, too: minima far away, losses beyond what an exponential holds
        cases=lambda: [
            *(TwoScalars(**state) for state in POINTS),
            *(random_model(np.random.default_rng(seed), scale) for seed, scale in enumerate((0.3, 1, 3, 30))),
        ],
        off=apart,
        wrong=("scale(direction, shift * unit)", "scale(direction, shift)"),
    ),
    Script(
        "two_scalars_math",
        LOOK,
        cases=lambda: [OverSeeds(alpha=alpha, beta=beta, shift=shift) for alpha, beta, shift in STATES],
        off=lambda one, answer: not np.allclose(answer, looked_at(one), rtol=1e-12),
        wrong=("+ y * a[item] + x * b[item]", "+ x * a[item] + y * b[item]"),
    ),
]
