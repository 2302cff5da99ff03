"""mismatched-rows: rows in another order are found, and weak models whose rows are right have no fault.

A seed of each here; 20 with COURSE_EXAMPLES=thorough (`make test-thorough`), where 19 of 20 must be found. Data sets
are MovieTweetings, which comes with the course, and ML-100K where COURSE_SCALE=laptop and the data are there.
"""

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from audit import planted

from course_lib import datasets, geometry
from course_lib.audit import CATALOGUE, Verdict, audit, cli, compare, report_of
from course_lib.audit.evidence import Evidence
from course_lib.audit.questions import belonging
from course_lib.audit.questions.audiences import ALIKE, strangers_rows
from course_lib.audit.questions.belonging import drawn_swaps, mismatched_rows
from course_lib.interactions import Interactions
from course_lib.training.bpr import bpr_epoch

pytestmark = pytest.mark.seconds

THOROUGH = os.environ.get("COURSE_EXAMPLES") == "thorough"
SEEDS = range(20) if THOROUGH else range(1)
NAME = "mismatched-rows"
Rows = np.ndarray


@dataclass(frozen=True)
class Model:
    """Tables and training pairs; held_out: where a question needs them."""

    items: Rows
    users: Rows
    pairs: Interactions
    held_out: Interactions | None = None

    def asked(self, seed: int = 0) -> Verdict:
        """The verdict alone."""
        return mismatched_rows(
            Evidence(self.items, self.users, pairs=self.pairs, held_out=self.held_out, k=10, seed=seed)
        )


# ---- models whose rows are right


def by_bpr(train: Interactions, passes: int, seed: int, width: int = 32) -> Model:
    rng = np.random.default_rng(seed)
    users, items = (rng.normal(0, 0.1, (rows, width)) for rows in train.shape)
    for _ in range(passes):
        bpr_epoch(users, items, train, lr=0.05, decay=0.01, rng=rng, threads=1)
    return Model(items, users, train)


@cache
def loaded(data: str) -> Interactions:
    options = {"movietweetings": {"min_rating": 7, "core": 10}, "ml-100k": {"min_rating": 4, "core": 5}}[data]
    return datasets.load(data, **options)


def trained(data: str, passes: int) -> Callable[[int], Model]:
    return lambda seed: by_bpr(loaded(data).split_random(0.9, np.random.default_rng(seed))[0], passes, seed)


def clean(seed: int, *, sphere: bool = True) -> Model:
    model = planted.clean(seed, sphere=sphere)
    return Model(model.items, model.users, model.pairs)


def noisy(seed: int, noise: float = 2.0) -> Model:
    """As if hardly trained: noise, in units of the standard deviation of the tables."""
    model, rng = clean(seed), np.random.default_rng([seed, 1])
    items, users = (rows + noise * rows.std() * rng.normal(size=rows.shape) for rows in (model.items, model.users))
    return replace(model, items=items, users=users)


def popular(seed: int) -> Model:
    """Most of each score is popularity: it alone gives training pairs an area under the curve of .9."""
    model, rng = clean(seed), np.random.default_rng([seed, 2])
    weights = rng.lognormal(0, 1.5, len(model.items))
    pairs = planted.observed(model.users, model.items, weights, rng)[0]
    users = np.column_stack([model.users, rng.normal(3, 0.5, len(model.users))])
    return Model(np.column_stack([model.items, np.log1p(pairs.col_counts)]), users, pairs)


def by_popularity(model: Model) -> Model:
    """Items numbered by their counts, as vocabularies are: after a move, each has the row of one of like count."""
    order = np.argsort(-model.pairs.col_counts, kind="stable")
    place = np.argsort(order)
    pairs = model.pairs
    return replace(
        model,
        items=model.items[order],
        pairs=Interactions(pairs.users, place[pairs.items], n_users=pairs.n_users, n_items=pairs.n_items),
    )


def in_twos(seed: int) -> Model:
    """Items 2 i and 2 i + 1 have equal rows: moved by one, half of the rows are as they were."""
    model = clean(seed)
    return replace(model, items=model.items[np.arange(len(model.items)) // 2 * 2])


def drifting(seed: int) -> Model:
    """Items whose numbers are near are alike, as episodes are."""
    rng = np.random.default_rng(seed)
    walk = np.cumsum(rng.normal(size=(600, 16)), axis=0)
    items = geometry.normalise(walk - walk.mean(axis=0))
    users = 8 * planted.unit(300, 16, rng)
    return Model(items, users, planted.observed(users, items, np.ones(600), rng)[0])


def lengthy(seed: int) -> Model:
    """Trained by cosines; the lengths, which no loss asked for, differ by factors of ten."""
    model, rng = clean(seed), np.random.default_rng([seed, 3])
    items, users = (rows * rng.lognormal(0, 1, (len(rows), 1)) for rows in (model.items, model.users))
    return replace(model, items=items, users=users)


def cold(seed: int) -> Model:
    """Two thirds of the items have no pair, and the rows of the start."""
    model, rng = clean(seed), np.random.default_rng([seed, 4])
    place = np.sort(rng.choice(1800, 600, replace=False))
    items = rng.normal(size=(1800, planted.WIDTH)) * model.items.std()
    items[place] = model.items
    pairs = Interactions(model.pairs.users, place[model.pairs.items], n_users=300, n_items=1800)
    return Model(items, model.users, pairs)


def small(seed: int) -> Model:
    """40 users, 30 items, 5 pairs each."""
    rng = np.random.default_rng(seed)
    users, items = 4 * planted.unit(40, 8, rng), planted.unit(30, 8, rng)
    keys = users @ items.T + rng.gumbel(size=(40, 30))
    chosen = np.argsort(-keys, axis=1)[:, :5]
    return Model(items, users, Interactions(np.repeat(np.arange(40), 5), chosen.ravel(), n_users=40, n_items=30))


def of_content(seed: int) -> Model:
    """Trained for something else: texts of the items, and users by the place where they live."""
    model, rng = clean(seed), np.random.default_rng([seed, 5])
    return replace(model, users=rng.normal(size=(8, planted.WIDTH))[rng.integers(0, 8, len(model.users))])


def of_popularity_alone(seed: int) -> Model:
    model = clean(seed)
    counts = np.log1p(model.pairs.col_counts)[:, None]
    return by_popularity(replace(model, items=counts, users=np.ones((len(model.users), 1))))


def distances(seed: int) -> Model:
    """The users are turned round: the lowest score is the best."""
    model = clean(seed)
    return replace(model, users=-model.users)


def of_what_comes_next(seed: int) -> Model:
    """Courses of lessons, numbered in their order: a user's vector is the next lesson's, which is held out."""
    rng = np.random.default_rng(seed)
    items = geometry.normalise(rng.normal(size=(600, 16)) + 2 * rng.normal(size=(60, 16)).repeat(10, axis=0))
    first = 10 * rng.integers(0, 60, 400) + rng.integers(0, 4, 400)
    users = items[first + 5] + 0.3 * rng.normal(size=(400, 16))
    known = first[:, None] + np.arange(5)
    sets = {"n_users": 400, "n_items": 600}
    return Model(
        items,
        users,
        Interactions(np.repeat(np.arange(400), 5), known.ravel(), **sets),
        Interactions(np.arange(400), first + 5, **sets),
    )


STRONG: dict[str, Callable[[int], Model]] = {
    "on the sphere": clean,
    "off it": lambda seed: clean(seed, sphere=False),
    "hardly trained": noisy,
    "popularity above all": popular,
    "numbered by popularity": lambda seed: by_popularity(popular(seed)),
    "lengths of no meaning": lengthy,
    "cold items": cold,
    "movietweetings": trained("movietweetings", 10),
    "movietweetings, numbered by popularity": lambda seed: by_popularity(trained("movietweetings", 10)(seed)),
    "movietweetings, hardly trained": trained("movietweetings", 3),
}
LARGE: dict[str, Callable[[int], Model]] = {"ml-100k": trained("ml-100k", 3)}
WEAK: dict[str, Callable[[int], Model]] = {
    "equal rows in twos": in_twos,
    "neighbours alike": drifting,
    "small": small,
    "noise four times the tables": lambda seed: noisy(seed, 4.0),
    "of content": of_content,
    "popularity alone": of_popularity_alone,
    "distances": distances,
    "of what comes next": of_what_comes_next,
    "untrained": trained("movietweetings", 0),
}


# ---- rows that are not right


def moved(model: Model, by: int, side: str = "items") -> Model:
    return replace(model, **{side: np.roll(getattr(model, side), by, axis=0)})


def permuted(model: Model, seed: int, side: str = "items") -> Model:
    rows = getattr(model, side)
    return replace(model, **{side: rows[np.random.default_rng([seed, 7]).permutation(len(rows))]})


def within_popularity(model: Model, seed: int) -> Model:
    """Every item has the row of another of like count."""
    rows = next(strangers_rows(model.pairs.col_counts, np.random.default_rng([seed, 8])))
    return replace(model, items=model.items[rows])


def foreign(model: Model, seed: int) -> Model:
    """The item table of another training: its axes are others, each rotation as likely as another.

    LAPACK's Q alone has mostly negative entries on its diagonal, and would turn the users' tastes round.
    """
    rows, turn = model.items, np.random.default_rng([seed, 9]).normal(size=2 * model.items.shape[1:])
    Q, R = np.linalg.qr(turn)
    return replace(model, items=rows @ (Q * np.sign(np.diag(R))))


ORDERS: dict[str, tuple[Callable[[Model, int], Model], str]] = {
    "items by one": (lambda model, _: moved(model, 1), "the item rows are off by one: row r + 1"),
    "items back by two": (lambda model, _: moved(model, -2), "the item rows are off by 2: row r - 2"),
    "users by one": (lambda model, _: moved(model, 1, "users"), "the user rows are off by one: row r + 1"),
    "both by one": (
        lambda model, _: moved(moved(model, 1), 1, "users"),
        "the user rows are off by one: row r + 1 belongs to number r; the item rows are off by one: row r + 1",
    ),
    "items in reverse": (lambda model, _: replace(model, items=model.items[::-1]), "the item rows are in reverse"),
    "items as text": (
        lambda model, _: replace(model, items=model.items[np.argsort(np.arange(len(model.items)).astype(str))]),
        "the item rows are in the order of their numbers as text",
    ),
}
STRANGERS: dict[str, Callable[[Model, int], Model]] = {
    "items permuted": permuted,
    "users permuted": lambda model, seed: permuted(model, seed, "users"),
    "items permuted within groups of popularity": within_popularity,
    "foreign": foreign,
}


@pytest.mark.parametrize(
    "kind",
    [
        *(STRONG if THOROUGH else ["hardly trained", "movietweetings"]),
        *(pytest.param(kind, marks=[pytest.mark.laptop, pytest.mark.data]) for kind in LARGE),
    ],
)
def test_rows_in_another_order_are_found_and_named(kind: str) -> None:
    if kind in LARGE and os.environ.get("COURSE_SCALE", "smoke") == "smoke":
        pytest.skip("a run at laptop scale: COURSE_SCALE=laptop")
    models = [(STRONG | LARGE)[kind](seed) for seed in SEEDS]
    assert [model.asked(seed).verdict for seed, model in enumerate(models)] == ["fine"] * len(SEEDS)
    for name, (change, said) in ORDERS.items():
        found = [change(model, seed).asked(seed) for seed, model in enumerate(models)]
        named = [verdict.verdict == "fault" and said in verdict.support for verdict in found]
        assert sum(named) >= len(SEEDS) - len(SEEDS) // 20, (name, [verdict.support for verdict in found])
    for name, change in STRANGERS.items():
        found = [change(model, seed).asked(seed) for seed, model in enumerate(models)]
        said = "untrained, or of another|trained together|different trainings|those of strangers"
        told = [re.search(said, one.support) for one in found]
        assert sum(map(bool, told)) >= len(SEEDS) - len(SEEDS) // 20, (name, [verdict.support for verdict in found])


def test_exchanged_tables_are_told() -> None:
    model = clean(0)
    size = min(len(model.users), len(model.items))
    kept = (model.pairs.users < size) & (model.pairs.items < size)
    turned = Interactions(model.pairs.items[kept], model.pairs.users[kept], n_users=size, n_items=size)
    found = replace(model, users=model.users[:size], items=model.items[:size], pairs=turned).asked()
    assert found.verdict == "fault" and belonging.EXCHANGED in found.support, found.support


def test_held_out_pairs_that_are_numbered_otherwise_are_a_fault() -> None:
    """Counted from 1; and right ones are none."""
    model = clean(0)
    later = np.random.default_rng(0).random(len(model.pairs)) < 0.3
    held_out, split = model.pairs.select(later), replace(model, pairs=model.pairs.select(~later))
    assert replace(split, held_out=held_out).asked().verdict == "fine"
    shifted = Interactions(
        held_out.users, (held_out.items + 1) % len(model.items), n_users=held_out.n_users, n_items=held_out.n_items
    )
    found = replace(split, held_out=shifted).asked()
    assert found.verdict == "fault" and "not to the held-out pairs" in found.support, found.support


def test_held_out_pairs_next_to_known_ones_are_no_fault_of_a_weak_model() -> None:
    """A tenth of the users take the item after one that they know; the others' held-out items are any."""
    model, rng = clean(0), np.random.default_rng(0)
    users = np.flatnonzero(model.pairs.row_counts)
    items = rng.integers(0, len(model.items), len(users))
    follow = rng.random(len(users)) < 0.4
    items[follow] = [(model.pairs.items_of(user)[0] + 1) % len(model.items) for user in users[follow]]
    held_out = Interactions(users, items, n_users=len(model.users), n_items=len(model.items))
    assert replace(model, held_out=held_out).asked().verdict != "fault"


def test_held_out_pairs_of_untrained_rows_are_not_asked() -> None:
    model = clean(0)
    seen = model.pairs.items < len(model.items) // 2
    train, held_out = model.pairs.select(seen), model.pairs.select(~seen)
    items = model.items.copy()  # cold: each has the row of the item before it
    items[len(items) // 2 :] = np.roll(items, 1, axis=0)[len(items) // 2 :]
    assert replace(model, items=items, pairs=train, held_out=held_out).asked().verdict == "fine"


@pytest.mark.parametrize("kind", WEAK)
def test_a_weak_model_whose_rows_are_right_has_no_fault(kind: str) -> None:
    assert "fault" not in [WEAK[kind](seed).asked(seed).verdict for seed in SEEDS]


def test_rows_put_in_at_two_places_are_told_as_parts() -> None:
    model = clean(0)
    places = [len(model.items) // 3, 2 * len(model.items) // 3]
    items = np.insert(model.items, places, model.items[:2], axis=0)[:-2]
    found = replace(model, items=items).asked()
    assert found.verdict == "fault" and "Parts of the item rows are off by 0, 1, 2 rows" in found.support, found.support


@pytest.mark.parametrize("side", ["items", "users"])
@pytest.mark.parametrize("blocks", [[3, 0, 5, 1, 7, 2, 4, 6], [0, 0, 1, 2, 3, 4, 5, 6], [4, 5, 6, 7, 0, 1, 2, 3]])
def test_parts_of_a_table_in_another_order_are_told(blocks: list[int], side: str) -> None:
    """Parts that were put together in another order, one of them twice, and halves that changed places."""
    model = clean(0)
    rows = getattr(model, side)
    parts = np.array_split(np.arange(len(rows) // 8 * 8), 8)
    order = np.append(np.concatenate([parts[at] for at in blocks]), np.arange(len(rows) // 8 * 8, len(rows)))
    found = replace(model, **{side: rows[order]}).asked()
    assert found.verdict == "fault" and f"{side.removesuffix('s')} rows" in found.support, found.support
    assert re.search("as a part|off by", found.support), found.support


def test_a_narrow_model_whose_rows_are_right_has_no_fault() -> None:
    """In two dimensions, rows of another rotation agree with the pairs by chance."""
    for width in (1, 2, 3):
        rng = np.random.default_rng(width)
        users, items = rng.normal(size=(300, width)), rng.normal(size=(200, width))
        pairs = planted.observed(users, items, np.ones(200), rng)[0]
        assert Model(items, users, pairs).asked().verdict != "fault"


def test_half_of_the_rows_dealt_out_anew_are_told_beside_equal_rows() -> None:
    """A fifth of the items has no known word, and one row: these rows tell nothing, and hide nothing."""
    model, rng = clean(0), np.random.default_rng(4)
    items = model.items.copy()
    items[rng.random(len(items)) < 0.2] = items.mean(axis=0)
    right = replace(model, items=items)
    some = rng.permutation(len(items))[::2]
    items = items.copy()
    items[some] = items[rng.permutation(some)]
    assert right.asked().verdict != "fault"
    wrong = replace(model, items=items).asked()
    assert wrong.verdict == "fault" and "of the item rows are those of strangers" in wrong.support, wrong.support


def test_where_the_rows_belong_to_other_pairs_nothing_else_is_judged(tmp_path: Path) -> None:
    """Neither verdicts nor measurements, in text, page and JSON; with --fail-on fault the command ends with 1."""
    model = planted.PLANTS[NAME](0, 1)
    report = model.audited(0)
    assert report.ids("fault") == [NAME] and set(report.ids("cannot tell")) == set(CATALOGUE) - {NAME}
    assert report.remedies == report.baselines == () and report.cosines is None
    assert "NDCG" not in report.text()
    assert not {'class="quality"', 'id="remedies"', 'id="cosines"'} & set(re.findall(r'\w+="\w+"', report.html()))
    assert "row r + 1 belongs to number r" in report.text().replace("\n  ", " ")
    found = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert found["cosines"] is None and found["remedies"] == found["baselines"] == []
    files = {"items": model.items, "users": model.users}
    files |= {"pairs": model.pairs.pairs, "held_out": model.held_out.pairs}
    for name, values in files.items():
        np.save(tmp_path / f"{name}.npy", values)
    assert cli([str(tmp_path), "--fail-on", "fault"]) == 1
    np.save(tmp_path / "items.npy", planted.clean(0).items)
    assert cli([str(tmp_path), "--fail-on", "fault", "--loss", "unbiased", "--batch-size", "64"]) == 0


SLIPS = {  # (items in a random order) -> whose rows and whose ids the file holds in that order, and what is said of it
    "one on": (lambda order: (order, np.roll(order, 1)), "row r - 1 belongs to the id of row r, in the file"),
    "two back": (lambda order: (order, np.roll(order, -2)), "row r [+] 2 belongs to the id of row r, in the file"),
    "ids alone shuffled": (lambda order: (np.sort(order), order), "in the order of the ids, which the ids in the file"),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_ids_that_slipped_in_the_file_are_found(slip: str, tmp_path: Path) -> None:
    """Rows are read in the order of their ids, in which a slip of the file is no step."""
    model, (held, said) = clean(0), SLIPS[slip]
    rows, ids = held(np.random.default_rng(0).permutation(len(model.items)))
    np.save(tmp_path / "items.npy", model.items[rows])
    np.save(tmp_path / "users.npy", model.users)
    (tmp_path / "item_ids.txt").write_text("".join(f"sku-{each:05}\n" for each in ids))
    lines = [f"{user},sku-{item:05}" for user, item in model.pairs.pairs.tolist()]
    (tmp_path / "pairs.csv").write_text("\n".join(["user_id,item_id", *lines]))
    verdict = report_of([str(tmp_path)])[NAME]
    assert verdict.verdict == "fault" and re.search(said, verdict.support)


def test_what_a_swap_is() -> None:
    """Neither of the swapped pairs is a pair, users have equally many, and pairs come from the pairs."""
    pairs = planted.clean(0).pairs
    swaps = drawn_swaps(pairs, np.random.default_rng(0))
    assert pairs.contains(swaps.u, swaps.i).all() and pairs.contains(swaps.v, swaps.j).all()
    assert not pairs.contains(swaps.u, swaps.j).any() and not pairs.contains(swaps.v, swaps.i).any()
    assert len(swaps.u) > 15_000 and swaps.users == 300
    labels = pairs.labels()
    shares = np.bincount(swaps.j, minlength=600) / len(swaps.j)
    assert np.corrcoef(shares, labels.sum(axis=0))[0, 1] > 0.9


def test_the_share_of_swaps_is_that_of_all_swaps() -> None:
    """On a few users, against every swap written out, equal scores as a half."""
    rng = np.random.default_rng(0)
    labels = rng.random((25, 15)) < 0.3
    users, items = rng.integers(-2, 3, (25, 3)), rng.integers(-2, 3, (15, 3))
    scores = (users @ items.T).astype(float)
    where = [np.flatnonzero(row) for row in labels]
    shares = []
    for u, mine in enumerate(where):
        won = [
            np.sign(scores[u, i] + scores[v, j] - scores[u, j] - scores[v, i]) / 2 + 0.5
            for i in mine
            for v, others in enumerate(where)
            for j in others
            if not labels[u, j] and not labels[v, i]
        ]
        shares += [np.mean(won)] if won else []
    left, right = np.nonzero(labels)
    pairs = Interactions(left, right, n_users=25, n_items=15)
    found = Model(items.astype(float), users.astype(float), pairs).asked()
    assert found.figures["users"] == len(shares)
    assert found.figures["won"] == pytest.approx(np.mean(shares), abs=0.01)


def test_a_mean_is_ahead_by_its_standard_error() -> None:
    """Mean .2, deviation 1, a hundred users: two standard errors."""
    change = np.random.default_rng(0).normal(size=100)
    change = 0.2 + (change - change.mean()) / change.std(ddof=1)
    assert belonging.ahead(change, 1.99) and not belonging.ahead(change, 2.01)


def test_without_users_or_pairs_or_with_few_it_cannot_be_told() -> None:
    model = clean(0)
    few = model.pairs.select(model.pairs.users < 15)
    assert audit(model.items, rng=np.random.default_rng(0))[NAME].support == "Users and pairs were not both given."
    found = replace(model, pairs=few).asked()
    assert found.verdict == "cannot tell" and "Only 15 users" in found.support
    only = mismatched_rows(Evidence(moved(model, 1).items, model.users, held_out=model.pairs))
    assert only.verdict == "fault"  # held-out pairs serve where there are no others


def test_strangers_are_others_of_like_counts() -> None:
    counts = np.random.default_rng(0).integers(0, 1000, 205)
    ranks = np.argsort(np.argsort(counts))
    for rows in strangers_rows(counts, np.random.default_rng(1)):
        assert (rows != np.arange(205)).all() and np.abs(ranks[rows] - ranks).max() < 2 * ALIKE


def test_a_new_snapshot_whose_rows_moved_is_told_even_if_the_old_ones_did_too() -> None:
    model = planted.clean(0)
    right, wrong = (model.items, model.users), (np.roll(model.items, 1, axis=0), model.users)
    known = {"pairs": model.pairs, "held_out": model.held_out}
    found = compare(wrong, wrong, **known, rng=np.random.default_rng(0))
    assert "new-faults" in found.ids("fault") and NAME in found["new-faults"].support
    assert found["quality-dropped"].verdict == "cannot tell" and "new model" in found["quality-dropped"].support
    same = compare(right, right, **known, rng=np.random.default_rng(0))
    assert same.ids("fault") == [] and f"{same['quality-dropped'].figures['most_popular']:.4f}" in same.text()
