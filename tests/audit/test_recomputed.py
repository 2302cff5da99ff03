"""Figures of a report computed again from their definitions, by NumPy, SciPy and faiss alone, on three trained models.

Each remedy, each list of hits, smaller vectors, each index, calibration, exposure, and drift between two trainings.
Draws (halves of the users, who asks an index, the order of ties) are those of the report; nothing else of it is used.
"""

import re
from typing import Any

import faiss
import numpy as np
import pytest
from audit.trained import DISCOUNTS, MODELS, K, Made, Rows, made, shared
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from course_lib.audit import compare
from course_lib.audit.evidence import Evidence
from course_lib.audit.report import drawn_seed

pytestmark = pytest.mark.seconds

PARTS = 16  # of the vectors, in product quantisation


@pytest.fixture(params=[*MODELS])
def model(request: pytest.FixtureRequest) -> Made:
    return made(request.param)


def remedied(model: Made, name: str, chosen: dict[str, float]) -> Rows:
    """The scores after a remedy."""
    counts, scores = np.maximum(model.counts, 1), model.users @ model.items.T
    if name == "recent hits at serving":
        return scores + chosen["weight"] * model.hits(chosen["half_life"])
    lengths = np.sqrt((model.items**2).sum(axis=1))
    if name.startswith("shift all users by"):
        order, size = np.argsort(-model.counts, kind="stable"), round(0.05 * len(counts))
        way = model.items[order[:size]].mean(axis=0) - model.items[order[-size:]].mean(axis=0)
        unit = np.median(np.sqrt((model.users[model.judged] ** 2).sum(axis=1)))
        return scores + float(name.split()[4]) * unit * (model.items @ way) / np.linalg.norm(way)
    if name == "centre, then normalise":
        centred = model.items - model.items.mean(axis=0)
        return model.users @ (centred / np.linalg.norm(centred, axis=1, keepdims=True)).T
    return {
        "multiply back": lambda: scores * counts,
        "logQ at serving": lambda: scores + (model.tau or 1) * np.log(counts / counts.sum()),
        "normalise the items": lambda: scores / lengths,
        "divide by the fourth root of popularity": lambda: scores / counts**0.25,
    }[name]()


def gini(lists: Rows, n: int) -> float:
    """Half the mean difference of two items' places, over their mean."""
    times = np.bincount(lists.ravel(), minlength=n).astype(float)
    return float(np.abs(times[:, None] - times).mean() / (2 * times.mean()))


def test_every_remedy(model: Made) -> None:
    n = len(model.items)
    half = model.half
    names = [effect.remedy for effect in model.report.remedies if effect.remedy != "DDC"]
    assert len(names) == 7
    for effect in model.report.remedies:
        if effect.remedy == "DDC":
            continue  # by L-BFGS in test_real_models
        scores = remedied(model, effect.remedy, effect.chosen)
        lists = model.lists(scores)
        part = ~half if effect.remedy.startswith(("shift", "recent")) else np.ones(len(half), bool)
        before, after = model.before[part], model.ndcg(scores)[part]
        changed(effect, after - before)
        found = {"before": before.mean(), "after": after.mean(), "users": part.sum()}
        for when, each in (("before", model.start[part]), ("after", lists[part])):
            found |= {f"popularity_{when}": model.counts[each].mean(), f"gini_{when}": gini(each, n)}
            found |= {f"coverage_{when}": len(np.unique(each)) / n}
        for name, value in found.items():
            assert getattr(effect, name) == pytest.approx(float(value), rel=1e-4, abs=2e-4), (effect.remedy, name)
        popular = model.lists(model.popular)[part]
        for when, each in (("before", model.start[part]), ("after", lists[part])):
            assert getattr(effect, f"overlap_{when}") == pytest.approx(shared(each, popular), abs=2e-4)


def test_how_recent_hits_are_added(model: Made) -> None:
    """Half-life, weight, and share of the recent hits: by all tries on half of the users, from the definitions."""
    effect, times = (
        next(each for each in model.report.remedies if each.remedy == "recent hits at serving"),
        model.train.times,
    )
    some, spread = model.half, np.median(model.scores[model.judged].std(axis=1))
    ages = [(times.max() - np.quantile(times, 1 - share)) / 86_400 for share in (0.01, 0.03, 0.1, 0.3)]
    weights = [float(f"{size * spread:.3g}") for size in (1 / 8, 1 / 4, 1 / 2, 1, 2)]

    def tried(half_life: float, weight: float, part: Rows) -> tuple[float, float, bool]:
        """NDCG, the share of recent hits, and whether the lists stay personal."""
        lists = model.lists(model.scores + weight * model.hits(half_life))[part]
        recent = shared(lists, model.lists(np.tile(model.hits(half_life), (len(model.users), 1)))[part])
        crowd = max(shared(lists, model.lists(model.popular)[part]), recent)
        seen, before = len(np.unique(lists)), len(np.unique(model.start[part]))
        ndcg = model.ndcg(model.scores + weight * model.hits(half_life))[part].mean()
        return ndcg, recent, crowd < 0.5 and seen >= 0.5 * before

    half_life = max((float(f"{age:.3g}") for age in ages), key=lambda days: tried(days, weights[2], some)[0])
    found = {weight: tried(half_life, weight, some) for weight in weights}
    weight = max(weights, key=lambda each: (found[each][2], found[each][0]))
    assert effect.chosen == {"half_life": half_life, "weight": weight}
    _, recent, personal = tried(half_life, weight, ~some)
    assert effect.overlap_recent == pytest.approx(recent, abs=2e-4) and effect.personal == personal


def changed(found: Any, change: Rows) -> None:
    """The mean difference of the users, and its 95 % interval."""
    half = 1.96 * change.std(ddof=1) / np.sqrt(len(change))
    wanted = [change.mean(), change.mean() - half, change.mean() + half]
    assert [found.difference, found.low, found.high] == pytest.approx(wanted, abs=2e-4)


def test_lists_that_need_no_tables(model: Made) -> None:
    """The most popular items of all time, those of the latest tenth of the pairs, and chance."""
    held, times = (model.held & ~model.seen)[model.judged].sum(axis=1), np.asarray(model.train.times)
    late = np.bincount(model.train.items[times >= np.sort(times)[round(0.9 * len(times))]], minlength=len(model.items))
    best = np.cumsum(DISCOUNTS)[np.minimum(held, K) - 1]
    by_hits = {
        "most popular": model.ndcg(model.popular),
        "popular lately": model.ndcg(np.tile(late, (len(model.users), 1))),
    }
    chance = held * DISCOUNTS.sum() / (~model.seen)[model.judged].sum(axis=1) / best
    assert [effect.remedy for effect in model.report.baselines] == [*by_hits, "random"]
    for effect, found in zip(model.report.baselines, [*by_hits.values(), chance], strict=True):
        assert effect.after == pytest.approx(found.mean(), abs=1e-9)
        changed(effect, found - model.before)
    for effect in model.report.remedies:
        if effect.users == len(model.judged) and effect.remedy != "DDC":
            after = model.ndcg(remedied(model, effect.remedy, {}))
            for name, found in by_hits.items():
                changed(effect.beyond[name], after - found)


def test_smaller_vectors(model: Made) -> None:
    exact = model.start
    left, sizes, right = np.linalg.svd(model.scores, full_matrices=False)
    step = np.abs(model.items).max(axis=0) / 127
    width = model.items.shape[1]
    cut = {"half of the dimensions": width // 2, "a quarter of the dimensions": width // 4}
    group = model.groups(model.counts)
    assert [each.kind for each in model.report.smaller] == ["int8", *cut]
    for each in model.report.smaller:
        new = model.users @ (np.round(model.items / step) * step).T
        if each.kind in cut:
            kept = cut[each.kind]
            new = left[:, :kept] * sizes[:kept] @ right[:kept]
        lists = model.lists(new)
        hit = np.array([np.isin(*both) for both in zip(exact, lists, strict=True)])
        assert each.recall == pytest.approx(hit.mean(), abs=1e-3), each.kind
        for at, name in enumerate(("head", "middle", "tail")):
            assert each.by_group[name] == pytest.approx(hit[group[exact] == at].mean(), abs=3e-3), (each.kind, name)
        change = model.ndcg(new) - model.before
        assert each.change.difference == pytest.approx(change.mean(), abs=5e-4)
        bytes_of = {"int8": len(model.items) * width + 8 * width}
        size = bytes_of.get(each.kind, model.items.nbytes * cut.get(each.kind, 0) / width)
        assert each.megabytes == pytest.approx(size / 1e6) and each.exact_megabytes == model.items.nbytes / 1e6


def test_every_index(model: Made) -> None:
    figures = model.report["index"].figures
    asking = np.sort(model.rng("askers").choice(len(model.users), 500, replace=False))
    users, items = (np.ascontiguousarray(rows, np.float32) for rows in (model.users[asking], model.items))
    n, width = items.shape
    exact = np.argsort(-(users @ items.T), axis=1, kind="stable")[:, :K]
    cells, inner = round(np.sqrt(n)), faiss.METRIC_INNER_PRODUCT
    uneven = np.ptp(np.linalg.norm(items, axis=1)) > 1e-3
    largest = (items**2).sum(axis=1).max()
    more = np.c_[items, np.sqrt(np.maximum(largest - (items**2).sum(axis=1), 0))].astype(np.float32)
    asked = np.c_[users, np.zeros(len(users))].astype(np.float32)

    def ivf(rows: Rows, metric: int) -> Any:
        found = faiss.IndexIVFFlat(faiss.IndexFlat(rows.shape[1], metric), rows.shape[1], cells, metric)
        found.nprobe, found.cp.seed = cells // 8, 1
        return found

    def hnsw(rows: Rows, metric: int) -> Any:
        found = faiss.IndexHNSWFlat(rows.shape[1], 32, metric)
        found.hnsw.efSearch = 64
        return found

    pq = faiss.IndexPQ(width, PARTS, 8, inner)
    pq.pq.cp.seed, pq.pq.cp.min_points_per_centroid = 1, 1
    kinds = {"int8": faiss.IndexScalarQuantizer(width, faiss.ScalarQuantizer.QT_8bit, inner), "pq": pq}
    kinds |= {"ivf": ivf(items, inner), "hnsw": hnsw(items, inner)}
    if uneven:
        kinds |= {
            f"{kind}_with_one_more_coordinate": make(more, faiss.METRIC_L2)
            for kind, make in (("ivf", ivf), ("hnsw", hnsw))
        }
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    group, longest = model.groups(model.counts), model.groups(np.linalg.norm(model.items, axis=1))
    equal = len(np.unique(items, axis=0)) < n  # films of equal words stand in an order that is rounding's
    assert figures["exact_recall"] == pytest.approx(1, abs=0.05 if equal else 0)
    for name, one in kinds.items():
        rows, queries = (more, asked) if "more" in name else (items, users)
        one.train(rows)
        one.add(rows)
        lists = one.search(queries, K)[1]
        hit = np.array([np.isin(*both) for both in zip(exact, lists, strict=True)])
        assert figures[f"{name}_recall"] == pytest.approx(hit.mean(), abs=0.03 if equal else 2e-3), name
        for at, part in enumerate(("head", "middle", "tail")):
            assert figures[f"{name}_{part}"] == pytest.approx(
                hit[group[exact] == at].mean(), abs=0.03 if equal else 1e-2
            ), (name, part)
        for at, part in ((0, "long"), (2, "short")):
            if uneven:
                assert figures[f"{name}_{part}"] == pytest.approx(hit[longest[exact] == at].mean(), abs=1e-2)
        assert figures[f"{name}_milliseconds"] > 0
        assert figures[f"{name}_megabytes"] == pytest.approx(faiss.serialize_index(one).nbytes / 1e6)
    faiss.omp_set_num_threads(before)


def test_calibration(model: Made) -> None:
    figures = model.report["calibration"].figures
    some = model.judged[model.rng("calibrated users").permutation(len(model.judged))]
    scores = np.where(model.seen, -np.inf, model.users @ model.items.T)[some]
    logs = np.log(np.maximum(model.counts, 1))
    row, item = np.nonzero(model.held[some] & ~model.seen[some])

    def cost(scale: float, shift: Rows | float, odd: int) -> Rows:
        each = -log_softmax(scores * scale + shift, axis=1)[row, item]
        return each[row % 2 == odd]

    def mean_of_users(each: Rows, odd: int = 1) -> Rows:
        of = row[row % 2 == odd]
        return (np.bincount(of, each) / np.maximum(np.bincount(of), 1))[np.unique(of)]

    laws: dict[str, tuple[float, Rows | float]] = {"popularity_alone": (1e-30, logs), "all_items_alike": (1e-30, 0.0)}
    if model.tau:
        laws["temperature_of_training"] = (1 / model.tau, 0.0)
    for name, shift in (("best_temperature", 0.0), ("with_log(popularity)", logs)):
        found = minimize_scalar(
            lambda at, shift=shift: mean_of_users(cost(np.exp(at), shift, 0), 0).mean(),
            bounds=(-7, 9),
            method="bounded",
        )
        laws[name] = (float(np.exp(found.x)), shift)
    for name, law in laws.items():
        assert figures[name] == pytest.approx(mean_of_users(cost(*law, 1)).mean(), abs=3e-3), name
    scale = 1 / (model.tau or figures["best_temperature_value"] or 1)
    chance, group = np.exp(log_softmax(scores * scale, axis=1)), model.groups(model.counts)
    for at, name in enumerate(("head", "middle", "tail")):
        expected = chance[:, group == at].sum(axis=1)[row].mean()
        assert figures[f"expected_{name}"] == pytest.approx(expected, abs=1e-3)
        assert figures[f"held_out_{name}"] == pytest.approx((group[item] == at).mean(), abs=1e-9)


def test_exposure(model: Made) -> None:
    figures, group, lists = model.report["exposure"].figures, model.groups(model.counts), model.start
    held = (model.held & ~model.seen)[model.judged]
    for at, name in enumerate(("head", "middle", "tail")):
        assert figures[f"places_{name}"] == pytest.approx((group[lists] == at).mean(), abs=1e-6)
        assert figures[f"held_out_{name}"] == pytest.approx((group[np.nonzero(held)[1]] == at).mean())
        assert figures[f"training_{name}"] == pytest.approx(model.counts[group == at].sum() / model.counts.sum())
        assert figures[f"coverage_{name}"] == pytest.approx(np.mean(np.isin(np.flatnonzero(group == at), lists)))
    of_users = (group[lists] == 0).mean(axis=1) - (held & (group == 0)).sum(axis=1) / held.sum(axis=1)
    assert figures["head_less_held_out"] == pytest.approx(of_users.mean(), abs=1e-6)
    assert figures["never_shown"] == len(group) - len(np.unique(lists))
    first, of_a_user, points = re.findall(r"([-+]?[\d.]+) (?:%|points)", model.report["exposure"].support)[:3]
    assert float(first) - float(of_a_user) == pytest.approx(float(points), abs=1.1)  # as a reader subtracts
    assert figures["gini"] == pytest.approx(gini(lists, len(group)), abs=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_drift_between_two_trainings(name: str) -> None:
    one = made(name)
    items, users = MODELS[name](1)
    known: dict[str, Any] = {"pairs": one.train, "held_out": one.test}
    found = compare((one.items, one.users), (items, users), **known, rng=np.random.default_rng(0))
    seed = drawn_seed(np.random.default_rng(0))[0]
    chosen = np.sort(Evidence(items, seed=seed).rng("listed users").choice(len(users), 500, replace=False))
    masked = (
        np.where(one.seen, -np.inf, scores)[chosen] for scores in (one.scores, users @ items.T, one.users @ items.T)
    )
    old, new, mixed = (np.argsort(-scores, axis=1, kind="stable")[:, :K] for scores in masked)
    hit, half = (np.array([np.isin(*both) for both in zip(old, one_of, strict=True)]) for one_of in (new, mixed))
    figures = found["lists-changed"].figures
    tolerance = 0.03 if name == "text" else 1e-9  # films of equal words have equal rows, in an order that is rounding's
    assert figures["users"] == 500 and figures["kept"] == pytest.approx(hit.mean(), abs=tolerance)
    assert figures["old_users_with_new_items"] == pytest.approx(half.mean(), abs=tolerance)
    group = one.groups(one.counts)
    for at, part in enumerate(("head", "middle", "tail")):
        assert figures[f"kept_{part}"] == pytest.approx(hit[group[old] == at].mean(), abs=tolerance)
    change = one.ndcg(users @ items.T) - one.before
    assert found["quality-dropped"].figures["difference"] == pytest.approx(change.mean(), abs=1e-6)
