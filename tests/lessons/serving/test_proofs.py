"""The chapter on serving: its proofs, its own index beside faiss, its interactive, and sentences that stop the page."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from course_lib import index, metrics
from course_lib.lessons.serving import findings, ivf, make_map_of_cells, map_of_cells, plots, proofs
from course_lib.lessons.serving.map_of_cells import MapOfCells
from course_lib.lessons.shared.findings import FindingError
from tests.lessons.every import printed
from tests.refused import refused


def nearest(centroids: tuple[proofs.Row, ...], row: proofs.Row) -> int:
    """By distance, which depends on lengths."""
    longer = [tuple((k + 1) * x for x in centroid) for k, centroid in enumerate(centroids)]
    return min(range(4), key=lambda k: (sum((a - b) ** 2 for a, b in zip(longer[k], row, strict=True)), k))


def too_small(right: Any) -> Any:
    return lambda u, v, longest: right(u, v, 0) + proofs._dot(v, v)


WRONG = [
    (proofs, "_lifted", too_small, [proofs.enumerate_one_more_coordinate]),
    (proofs, "_best", lambda f: nearest, [proofs.enumerate_cells_of_directions]),
]


@pytest.mark.seconds
def test_faiss_looks_at_the_same_items_at_every_length() -> None:
    """With the centroids kept; and its own centroids have length 1 where inner products are searched."""
    faiss = pytest.importorskip("faiss")
    people, films = ivf.directions(8, passes=2)
    built = index.build(films, "ivf", cells=16, probes=2)
    centroids = built.quantizer.reconstruct_n(0, 16)
    assert np.linalg.norm(centroids, axis=1) == pytest.approx(1, abs=1e-5)

    def looked_at(items: np.ndarray) -> np.ndarray:
        quantizer = faiss.IndexFlatIP(8)
        quantizer.add(centroids)
        other = faiss.IndexIVFFlat(quantizer, 8, 16, faiss.METRIC_INNER_PRODUCT)
        other.train(items)
        other.add(items)
        other.nprobe = 2
        return np.sort(index.nearest(other, people[:50], 300), axis=1)

    longer = ivf.with_lengths(films, 0.5)
    assert (looked_at(films.astype(np.float32)) == looked_at(longer.astype(np.float32))).all()
    lists = ivf.exact(people[:50], films), ivf.exact(people[:50], longer)
    assert (lists[0] != lists[1]).any()


# ==== the chapter on serving: its own index is that of faiss, its interactive shows it, false sentences stop the page


@pytest.mark.parametrize("space", ["inner product", "one more coordinate"])
def test_with_the_same_centroids_faiss_returns_the_same_scores(space: str) -> None:
    faiss = pytest.importorskip("faiss")
    rng = np.random.default_rng(0)
    people, films = rng.normal(size=(40, 6)), rng.normal(size=(300, 6)) * rng.uniform(1, 3, size=(300, 1))
    queries, items = ivf.arranged(people, films, space)
    cells = ivf.k_means(items, 12, space, seed=0)
    ours = ivf.search(queries, items, cells, probes=3)
    metric = faiss.METRIC_INNER_PRODUCT if space == "inner product" else faiss.METRIC_L2
    quantizer = faiss.IndexFlat(items.shape[1], metric)
    quantizer.add(cells.centroids.astype(np.float32))
    theirs = faiss.IndexIVFFlat(quantizer, items.shape[1], 12, metric)
    theirs.train(items.astype(np.float32))
    theirs.add(items.astype(np.float32))
    theirs.nprobe = 3
    found = theirs.search(queries.astype(np.float32), 10)[1]
    assert ((found >= 0) == (ours >= 0)).all()
    scores = np.take_along_axis(people @ films.T, ours, axis=1)
    assert np.take_along_axis(people @ films.T, found, axis=1) == pytest.approx(scores, abs=1e-4)


def test_a_quarter_holds_a_quarter_of_the_pairs() -> None:
    counts = np.array([1, 4, 2, 1])
    assert ivf.quarters(counts).tolist() == [3, 0, 2, 3]


def test_all_cells_find_everything_and_few_cells_less() -> None:
    people, films = (table[:200] for table in ivf.directions(4, passes=2))
    films = ivf.directions(4, passes=2)[1]
    cells = ivf.k_means(films, 16, "inner product", seed=0)
    shares = [metrics.index_recall(ivf.search(people, films, cells, k), ivf.exact(people, films)) for k in (1, 4, 16)]
    assert shares[0] < shares[1] < shares[2] == 1


def test_the_stored_map_holds_what_its_own_films_give() -> None:
    """From the stored vectors, so that no training of another processor is compared."""
    stored = json.loads(map_of_cells.STORED.read_text(encoding="utf-8"))
    films, counts = np.array(stored["films"]), np.array(stored["counts"])
    assert stored["quarter"] == ivf.quarters(counts).tolist() and len(films) == 682
    assert counts.tolist() == ivf.pairs().col_counts.tolist()
    person = np.array([stored["person"]])
    for name, space in make_map_of_cells.SPACES.items():
        for power, search in zip(stored["powers"], stored["searches"][name], strict=True):
            items = ivf.arranged(person, ivf.with_lengths(films, power), space)[1]
            own = ivf.fits(items, np.array(search["centroids"]), space).argmax(axis=1)
            assert (own == np.array(search["of"])).mean() > 0.99  # centroids have four digits
            shares = np.array([[x if x is not None else np.nan for x in row] for row in search["found"]])
            assert (np.diff(shares[:, 0]) >= 0).all()
    ten = ivf.exact(person, ivf.with_lengths(films, 0.25))[0]
    assert all(str(film) in stored["titles"] for film in ten)


class Stored:
    """A result with one number for everything, but for the places that are named; some data sets may be missing."""

    def __init__(self, usual: float, missing: tuple[str, ...] = (), **named: float) -> None:
        self.usual, self.missing, self.named = usual, missing, named

    def values(self, metric: str, **where: Any) -> list[float]:
        if where.get("data") in self.missing:
            return []
        key = next((key for key in self.named if key in " ".join([metric, *map(str, where.values())])), None)
        return [self.named[key] if key else self.usual] * 5


def test_a_sentence_that_is_false_stops_the_page() -> None:
    right = Stored(0.5, **{"one more coordinate": 0.9})
    support = findings.one_more_coordinate_keeps_the_popular.evidence(right).support
    assert support.startswith("all 3 data sets, 5 seeds each")
    with pytest.raises(FindingError, match="MovieTweetings"):
        findings.one_more_coordinate_loses_the_rare.evidence(right)
    with pytest.raises(FindingError, match="ML-1M"):
        findings.one_byte_is_nearly_exact.evidence(Stored(0.96))
    with pytest.raises(FindingError, match="eight numbers"):
        findings.small_tables_serve_as_well.evidence(Stored(0.25, **{"cut to 8": 0.2}))


def test_a_prediction_can_fail_and_one_that_was_not_run_says_so() -> None:
    outcome = {row[0]: row[2] for row in findings.table_of_outcomes(Stored(0.25), dict.fromkeys(range(1, 9), ""))}
    assert (
        outcome["4"] == "failed on MovieTweetings and ML-1M and Gowalla" and outcome["6"] == "failed on MovieTweetings"
    )
    some = Stored(0.35, missing=("gowalla",))
    outcome = {row[0]: row[2] for row in findings.table_of_outcomes(some, dict.fromkeys(range(1, 9), ""))}
    assert outcome["4"] == "held on MovieTweetings and ML-1M; not run on Gowalla yet"
    hits = Stored(0.96, **{"inner product": 0.1, "decayed hits": 0.2})
    outcome = {row[0]: row[2] for row in findings.table_of_outcomes(hits, dict.fromkeys(range(1, 9), ""))}
    assert [outcome["7"], outcome["8"]] == ["held", "held"]
    lost = Stored(0.96, **{"inner product": 0.1, "decayed hits": 0.2, "recall@10 item neighbours": 0.9})
    outcome = {row[0]: row[2] for row in findings.table_of_outcomes(lost, dict.fromkeys(range(1, 9), ""))}
    assert outcome["8"] == "failed on MovieTweetings"


FEW = np.random.default_rng(0).normal(size=(20, 3))
test_nonsense_is_named = refused(
    (lambda: ivf.k_means(FEW, 21, "cosine", seed=0), "count is 21; expected a whole number from 1 to 20"),
    (lambda: ivf.k_means(FEW, 3, "l2", seed=0), "space is 'l2'"),
    (lambda: ivf.search(FEW, FEW, ivf.k_means(FEW, 3, "cosine", seed=0), 0), "probes is 0; expected a whole number"),
    (lambda: ivf.exact(FEW, FEW, -3), "k is -3; expected a whole number from 1 to 20"),
    (lambda: ivf.quarters(np.zeros(4)), "counts are all 0"),
    (lambda: ivf.quarters([1, -5]), r"counts\[1\] is -5.0"),
)


# ==== the figure of the chapter on serving

FIGURES: dict[str, Callable[[], tuple[Figure, Any]]] = {
    "by_quarter": lambda: plots.by_quarter(
        {"films": {"inner product": [0.4, 0.6, 0.8, 1.0], "one more coordinate": [0.9, 0.5, 0.1, float("nan")]}}
    ),
}


# ==== the interactive of the chapter on serving: its words are those of its state, and its Python runs


def test_its_words_are_those_of_its_state() -> None:
    shown = MapOfCells()
    assert "misses 5 of this person’s ten best films: Iron Man 3" in shown.summary()
    shown.power = 0
    assert "misses none of this person’s ten best films" in shown.summary()
    assert "Of the places of the most popular quarter 100 % are found" in shown.summary()


@pytest.mark.parametrize(("space", "power"), [("ip", 2), ("more", 4)])
def test_the_summary_gives_the_stored_numbers(space: str, power: int) -> None:
    shown = MapOfCells(space=space, power=power, probes=3)
    whole, head = shown.map["searches"][space][power]["found"][2][:2]
    assert f"For all people {100 * whole:.0f} % of" in shown.summary()
    assert f"most popular quarter {100 * head:.0f} % are found" in shown.summary()


@pytest.mark.seconds
def test_the_same_in_python_is_python_that_runs() -> None:
    shown = MapOfCells(space="more", power=4)
    said, names = printed(shown.python())
    stored = shown.map["searches"]["more"][4]["found"][1][0]
    assert names["found"] == pytest.approx(stored, abs=0.1)  # kernels differ, and k-means with them
    assert said.strip().endswith("% of the ten best")
