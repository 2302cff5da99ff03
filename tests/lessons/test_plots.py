"""The figures draw what they are given, in a style that needs no colour and leaves no trace."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from course_lib import in_batch
from course_lib.lessons.cosine_orthogonality import plots as cosine_plots
from course_lib.lessons.ddc import plots as ddc_plots
from course_lib.lessons.gauge_freedom import plots as gauge_plots
from course_lib.lessons.gramian_estimators import plots as gramian_plots
from course_lib.lessons.in_batch_bias import plots as in_batch_plots
from course_lib.lessons.jacobian_conditions import plots as jacobian_plots
from course_lib.lessons.popularity_direction import plots as direction_plots
from course_lib.lessons.popularity_norm_coupling import plots as norms_plots
from course_lib.lessons.shared import house
from course_lib.lessons.shared import plots as shared_plots
from course_lib.training.free_vectors import Moves

LABELS = [[0, 0, 1, 0], [0, 1, 0, 1], [0, 0, 0, 1], [1, 0, 0, 1]]
CELLS = [
    {"loss": loss, "ratio": ratio, "value": value, "metric": "P@5"}
    for loss, ratio, value in [
        ("unbiased", 1e-3, 17.0),
        ("unbiased", 1e-3, 18.0),
        ("unbiased", 1e-1, 18.5),
        ("in_batch", 1e-3, 0.5),
        ("popularity", None, 0.3),
    ]
]

FIGURES: dict[str, Callable[[], tuple[Figure, Any]]] = {
    "decay_and_sign": lambda: ddc_plots.decay_and_sign(["a", "b"], {"share": [0.1, 0.9], "change": [-3.0, 4.0]}),
    "differences": lambda: ddc_plots.differences(
        {"a": (0.01, 0.002, 3.0, 1.0), "b": (-0.01, 0.002, -3.0, 1.0)}, labels=("MRR", "AvgPop")
    ),
    "frontier": lambda: ddc_plots.frontier({"a": ([1, 2], [0.1, 0.2], ["0", ""])}, {"model": (1.5, 0.15)}),
    "loss_and_ranking": lambda: ddc_plots.loss_and_ranking(
        {"a": (0.1, 0.12), "b": (0.01, 0.11)}, {1: 0.1, 3: 0.03}, 0.12, marked=["a"]
    ),
    "missing_minimum": lambda: ddc_plots.missing_minimum(
        [1, 2], [1.0, 0.5], {"one": ([1, 10], [0.0, 1.0], 1.0), "other": ([1, 10], [0.0, 2.0], None)}
    ),
    "net_push": lambda: ddc_plots.net_push(np.linspace(-1, 1, 40), np.linspace(-5, 9, 40), np.linspace(-2, 1, 40)),
    "origin_sweep": lambda: ddc_plots.origin_sweep(
        [-1, 0, 1], {"share": ([0, 0.5, 1], np.nan, None), "popularity": ([3, 2, 1], 2.0, [1, 1, 1])}
    ),
    "turned_user": lambda: ddc_plots.turned_user(
        {"before": [3, 1], "after": [-0.5, 0]}, [[1, 0], [-1, -1]], [[-2, 1], [-2, -1]]
    ),
    "two_users": lambda: ddc_plots.two_users([1.5, 1.1], [0.94, -0.34], [0.17, 0.98], alpha=-1.0, beta=1.5),
    "angle_paths": lambda: cosine_plots.angle_paths(
        {"short": [120.0, 60.0, 20.0], "long": [120.0, 110.0, 101.0]}, label="angle"
    ),
    "circles": lambda: shared_plots.circles({"a": [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.5], [0.1, 1.2]]]}),
    "clamp_reach": lambda: cosine_plots.clamp_reach(
        [0.1, 1.0, 10.0], {"law": [0.6, 0.3, 0.0]}, {"torch": ([0.1, 10.0], [0.6, 0.0])}
    ),
    "gradient_fields": lambda: cosine_plots.gradient_fields([0.9, 0.5]),
    "norm_paths": lambda: cosine_plots.norm_paths(
        {
            "cosine": Moves(
                *map(np.array, ([0, 1, 0], [1, 1, 2], [1.0, 1.0, 1.2], [1.2, 1.1, 1.3], [1.0] * 3, [0.0] * 3))
            )
        },
        [0, 1],
    ),
    "precision": lambda: cosine_plots.precision(
        {"float32": ([1e-3, 1.0], [1e-7, 2e-7]), "float64": ([1e-3, 1.0], [1e-16, 0.0])},
        x_label="x",
        label="y",
        marks={"here": 0.1},
    ),
    "tangent_step": lambda: cosine_plots.tangent_step([1.5, 0.2], [0.75, 1.6], lr=2.2),
    "angle_roses": lambda: jacobian_plots.angle_roses({"a": [90.0, 88.0], "b": [10.0, 120.0, 95.0]}, chance=0.11),
    "kernel_blocks": lambda: jacobian_plots.kernel_blocks(
        {"lookup": np.eye(4).reshape(2, 2, 2, 2).transpose(0, 2, 1, 3) - 0.1}, ["a", "b"]
    ),
    "leak_map": lambda: jacobian_plots.leak_map([[0.0, 0.3], [0.2, 1.0]], ["a", "b"]),
    "over_steps": lambda: shared_plots.over_steps(
        {"a": [1.0, 2.0, 3.0], "b": [1.0, 0.9]}, label="norm", level=1.0, log=True
    ),
    "tower_norms": lambda: jacobian_plots.tower_norms({"users": [[1.0, 2.0], [3.0, 1.0]]}, thick={"users": [0]}),
    "coupled_runs": lambda: norms_plots.coupled_runs(0.2, 0.6, [0.1, 0.5, 0.9, 0.3]),
    "decay_balance": lambda: norms_plots.decay_balance([0.1, 1.0], {"decay": [1.0, 1.8]}, {"decay": [1.0, 1.78]}),
    "growth_law": lambda: norms_plots.growth_law([1.0, 10.0], start_norm=1.0, h=0.02),
    "norms_against_counts": lambda: norms_plots.norms_against_counts(
        [1, 3, 9, 80], {"after": [1.0, 1.2, 1.5, 3.0]}, lines={"after": [1.1, 1.2, 1.6, 2.9]}, start_norm=1.0
    ),
    "remedy_map": lambda: norms_plots.remedy_map(
        {"nothing": (0.3, 0.1), "cosine": (0.01, 0.02)}, baseline=(0.99, 0.12)
    ),
    "saturation_slope": lambda: norms_plots.saturation_slope(512, [0.0, 0.1, 1.0]),
    "shares_over_steps": lambda: norms_plots.shares_over_steps(
        {"dot": ([0, 10], [0.01, 0.3])}, spread={"dot": [0.0, 0.05]}
    ),
    "two_items": lambda: norms_plots.two_items(
        {"a": [[1.0, 1.0], [1.2, 0.9]], "b": [[1.0, 1.0], [0.8, 1.4], [1.4, 1.5]]}
    ),
    "cost_of_forms": lambda: gramian_plots.cost_of_forms(
        [16, 256], {"pairs": [1e-4, 1e-2], "Gramians": [1e-4, 1e-3]}, width=64
    ),
    "double_sum": lambda: gramian_plots.double_sum(
        np.arange(24.0).reshape(8, 3) % 5, np.arange(24.0).reshape(8, 3) % 7
    ),
    "estimation_errors": lambda: gramian_plots.estimation_errors(
        {"SOGram, 128": ([1, 2], [1.0, 0.5]), "SOGram, 1024": ([1, 2], [1.0, 0.3])}
    ),
    "folding": lambda: gramian_plots.folding({"none": {"observed": [0.1, 0.9], "random": [0.5, 0.5]}}, [-1, 0, 2]),
    "gravity_flow": lambda: gramian_plots.gravity_flow(
        [[2.0, 0.1], [-1.5, 0.4], [0.3, 0.6]], [[1.0, 1.0], [-1.0, 0.5]]
    ),
    "memories": lambda: gramian_plots.memories(5, {"batch": [1, 0, 0, 0, 0], "SOGram": [0.5, 0.25, 0.125, 0.06, 0.03]}),
    "rate_tradeoff": lambda: gramian_plots.rate_tradeoff(delta=0.01, sigma=1.0, drift="random_walk"),
    "axis_growth": lambda: direction_plots.axis_growth(
        [1, 2, 3], {"first": [1.0, 2.0, 4.0], "second": [1.0, 1.2, 1.5]}, {"first": [1.0, 2.1, 4.4]}
    ),
    "chance_law": lambda: direction_plots.chance_law([0.1, 0.2, 0.3, 0.2], [0.15, 0.22, 0.3], marks={"shuffled": 0.2}),
    "fan_means": lambda: direction_plots.fan_means(
        [1, 3, 9, 80], {"at the start": [0.1, 0.1, 0.3, 0.9], "trained": [0.5, 0.6, 0.8, 0.9]}, 100
    ),
    "mean_item": lambda: direction_plots.mean_item(
        {"SGD": [0.0, 1e-16], "Adam": [0.1, 0.2]}, {"SGD": [0.0, 0.0], "Adam": [-0.2, -0.4]}
    ),
    "popularity_cloud": lambda: direction_plots.popularity_cloud(
        np.arange(60.0).reshape(20, 3) % 7, np.arange(20), 0.1, groups=np.arange(20) % 2
    ),
    "projections": lambda: direction_plots.projections(
        {"A": [0.1, 0.3, 0.2], "B": [1.0, 0.0, -1.0]}, [1, 5, 9], notes={"A": "a note"}
    ),
    "roles": lambda: direction_plots.roles([1, 5, 9], {"uniform": [5, 5, 5], "popular": [1, 5, 8]}),
    "circle_and_ellipse": lambda: gauge_plots.circle_and_ellipse(
        [[1.0, 0.0], [0.5**0.5, 0.5**0.5]], [1.5**0.5, 0.5**0.5]
    ),
    "free_dimensions": lambda: gauge_plots.free_dimensions({"any": ([0, 1, 2], [2, 1, 0])}, needed={"k": 2}),
    "neighbour_overlap": lambda: gauge_plots.neighbour_overlap(
        {"diagonal": ([0, 1], [1.0, 0.3]), "linear": ([0, 1], [1.0, 0.4])}, chance=0.02
    ),
    "scores_and_cosines": lambda: gauge_plots.scores_and_cosines(([0.0, 1.0], [0.0, 1.0]), ([0.2, -0.4], [0.5, 0.9])),
    "sphere_distances": lambda: gauge_plots.sphere_distances(),
    "stretched_plane": lambda: gauge_plots.stretched_plane(
        [[1, 0.2]], [[0.3, 1]], [2, 0.5], item_names=["Heat"], user_names=["Ann"]
    ),
    "two_starts": lambda: gauge_plots.two_starts(
        {"sphere": {"cosine": 0.3, "scores": 0.4}}, chance=0.02, x_label="share"
    ),
    "accuracy_and_popularity": lambda: ddc_plots.accuracy_and_popularity(
        {"MF": {"DDC": (10.0, 5.0, 3.0, 1.0), "IPS": (-20.0, -9.0, 0.0, 0.0), "new": (-3.0, 1.0, 0.0, 0.0)}}
    ),
    "convergence": lambda: ddc_plots.convergence(
        {
            "MF": {
                "training": ([1, 2], [0.6, 0.3], [0.1, 0.12]),
                "DDC": ([3, 4], [0.2, 0.1], [0.11, 0.13]),
                "scaled": 0.2,
                "objective": [0.3, 0.2],
            }
        }
    ),
    "projection_panels": lambda: direction_plots.projection_panels(
        {"MF": ([1, 2, 9], [0.1, -0.2, 0.8], "r = 0.9"), "null": ([1, 2, 9], [0.0, 0.1, 0.3], "r = 0.3")}
    ),
    "rule_changes": lambda: ddc_plots.rule_changes({"MF": {"b_a": (3.0, 0.5), "a_b": (-20.0, 0.0)}}),
    "sensitivity": lambda: ddc_plots.sensitivity(
        {"MRR@10": {"MF": ([0.1, 0.5], [0.1, 0.12], [0.01, 0.0])}}, levels={"MRR@10": {"MF": 0.09}}
    ),
    "sign_of_alpha": lambda: ddc_plots.sign_of_alpha(
        {
            "MF": {"centroid": [0.2, -0.4], "negative": [0.9, 0.1], "change": [-10.0, 5.0]},
            "moved": {"centroid": [-1.0, 1.0], "negative": [0.0, 1.0], "change": [5.0, -9.0]},
        },
        moved=("moved",),
    ),
    "sampling_strategies": lambda: in_batch_plots.sampling_strategies(
        LABELS, naive=[(0, 0), (1, 2), (2, 2), (3, 1)], cross=([0, 2], [1, 3]), in_batch=[(1, 1), (1, 3), (3, 0)]
    ),
    "weight_heatmap": lambda: plots.weight_heatmap(np.arange(16.0).reshape(4, 4) / 8, LABELS, mistaken=np.ones((4, 4))),
    "misclassification_threshold": lambda: in_batch_plots.misclassification_threshold(1000, popularity=[2, 5, 40]),
    "best_score": lambda: plots.best_score("logistic", 1000, batch_sizes=(10, 100), most_popular=500),
    "variance_curve": lambda: in_batch_plots.variance_curve(
        [2, 3, 4], {"unbiased": [4.0, 1.0, 0.0], "masked": [1.0, 0.5, 0.0]}
    ),
    "observation_weights": lambda: plots.observation_weights([1, 3, 9], batch_size=20, n_positives=200),
    "metric_against_ratio": lambda: in_batch_plots.metric_against_ratio(CELLS, paper=CELLS[:1], title="ML-1M"),
    "comparison": lambda: plots.comparison({"unbiased": 17.1, "in_batch": 0.5}, paper={"unbiased": 17.07}),
    "popularity_profile": lambda: in_batch_plots.popularity_profile(
        np.arange(1, 101), {"in_batch": np.arange(100)}, label="score"
    ),
    "long_tail": lambda: plots.long_tail({"users": [3, 1, 0, 2], "items": [5, 1]}),
    "quality_and_popularity": lambda: in_batch_plots.quality_and_popularity(
        {"naive": 1.5, "in-batch": 0.4}, {"naive": np.arange(1, 102), "in-batch": [[1, 2], [3, 4]]}
    ),
    "training_curves": lambda: shared_plots.training_curves({"unbiased": ([1, 2], [3.0, 2.0])}, label="loss", log=True),
}


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    yield
    plt.close("all")


def line(ax: Any, label: str) -> tuple[np.ndarray, np.ndarray]:
    """x and y of the one line (or error bar) with this label."""
    handles, labels = ax.get_legend_handles_labels()
    (handle,) = [handle for handle, known in zip(handles, labels, strict=True) if known == label]
    return tuple(np.asarray(values, dtype=float) for values in getattr(handle, "lines", [handle])[0].get_data())


def texts(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts]


def contrast(first: str, second: str) -> float:
    """The contrast ratio of WCAG 2."""

    def luminance(color: str) -> float:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    light, dark = sorted([luminance(first), luminance(second)], reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_every_public_figure_is_here() -> None:
    public = {name for name, thing in vars(plots).items() if hasattr(thing, "__wrapped__") and not name.startswith("_")}
    assert public == set(FIGURES)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_returned_drawn_without_warnings_and_never_shown(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plt, "show", lambda *_: pytest.fail("a figure was shown"))
    before = dict(mpl.rcParams)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a glyph that the font lacks, an empty legend, a layout that failed
        fig, ax = FIGURES[name]()
        fig.canvas.draw()
    assert isinstance(fig, Figure) and np.asarray(ax).ravel()[0].figure is fig
    assert to_rgb(fig.get_facecolor()) == (1, 1, 1)
    assert dict(mpl.rcParams) == before


def test_style_is_the_default_after_it_was_asked_for() -> None:
    with mpl.rc_context():
        house.style()
        assert {key: mpl.rcParams[key] for key in ("axes.grid", "axes.edgecolor")} == {
            "axes.grid": True,
            "axes.edgecolor": house.SOFT,
        }


def test_words_are_legible_and_marks_are_visible() -> None:
    assert min(contrast(color, "white") for color in (house.INK, house.SOFT, house.PULL, house.PUSH, house.WRONG)) > 4.5
    assert contrast(house.WRONG, house.WRONG_TINT) > 4.5 and contrast(house.INK, house.PULL_TINT) > 4.5
    assert all(contrast(color, "white") > 2 for _, color, _, _ in house.SERIES.values())


def test_no_two_series_need_colour_to_be_told_apart() -> None:
    assert set(in_batch.KINDS) <= set(house.SERIES)
    for group in ([look[2:] for look in house.SERIES.values()], [look[1:] for look in house.SPARE]):
        for (marker, dashes), (other_marker, other_dashes) in itertools.combinations(group, 2):
            assert marker != other_marker or dashes != other_dashes
    assert len({look[2] for look in house.SERIES.values()}) == len(house.SERIES)


def test_fig2_marks_the_positives_that_the_batch_mistakes() -> None:
    """P3, Section 3.3.1: (R2, C2), (R2, C4) and (R4, C4), and no other."""
    _, axes = FIGURES["sampling_strategies"]()
    crosses = [sum("✕" in text for text in texts(ax)) for ax in axes.ravel()]
    assert crosses == [0, 0, 0, 0, 0, 3]
    hatched = [patch for patch in axes[1, 2].patches if patch.get_hatch()]
    assert sorted((p.get_y() + 0.45, p.get_x() + 0.45) for p in hatched) == [(0, 1), (1, 0), (2, 1)]
    assert [tick.get_text() for tick in axes[1, 2].get_xticklabels()] == ["C2", "C4", "C1"]
    assert [tick.get_text() for tick in axes[1, 2].get_yticklabels()] == ["R2", "R2", "R4"]


def test_fig2_refuses_a_batch_of_negatives() -> None:
    with pytest.raises(ValueError, match=r"in_batch holds \(0, 0\), which is no positive"):
        in_batch_plots.sampling_strategies(LABELS, naive=[], cross=([], []), in_batch=[(0, 0)])


def test_weight_heatmap_shows_numbers_rings_and_crosses() -> None:
    weights = np.arange(16.0).reshape(4, 4) / 8
    _, ax = plots.weight_heatmap(weights, LABELS, mistaken=weights > 1)
    numbers = [text for text in texts(ax) if text != "✕"]
    assert numbers == [f"{weight:.2g}" for weight in weights.ravel()]
    assert len(ax.patches) == 6  # a ring on each positive
    assert texts(ax).count("✕") == int((np.array(LABELS) * (weights > 1)).sum()) == 3
    _, ax = plots.weight_heatmap(weights, LABELS, mistaken=weights > 1, numbers=False)
    assert texts(ax) == [] and len(ax.lines) == 3
    with pytest.raises(ValueError, match=r"weights has shape \(2, 2\) and labels \(4, 4\)"):
        plots.weight_heatmap(np.ones((2, 2)), LABELS)
    with pytest.raises(ValueError, match="zeros and ones"):
        plots.weight_heatmap(np.ones((2, 2)), [[0, 3], [1, 1]])


def test_weights_that_span_much_get_a_logarithmic_scale() -> None:
    for most, scale in ((4, "Normalize"), (400, "LogNorm")):
        _, ax = plots.weight_heatmap([[1.0, 2], [3, most]], np.zeros((2, 2), int))
        assert type(ax.images[0].norm).__name__ == scale


def test_threshold_is_the_one_of_in_batch() -> None:
    _, ax = in_batch_plots.misclassification_threshold(1000, popularity=np.arange(1, 101), quantiles=(0.5,))
    sizes, threshold = line(ax, "threshold 1 + (|O| − 1)/(|Ô| − 1)")
    assert (sizes[0], sizes[-1]) == (2, 1000)
    np.testing.assert_allclose(threshold, 1 + 999 / (sizes - 1))
    assert "50% of positive pairs below" in texts(ax) and 50.5 in [one.get_ydata()[0] for one in ax.lines]


@pytest.mark.parametrize(("loss", "boundary"), [("logistic", 0.0), ("square", 0.5)])
def test_best_score_crosses_its_boundary_at_the_threshold(loss: str, boundary: float) -> None:
    _, ax = plots.best_score(loss, 1000, batch_sizes=(100,), most_popular=500)
    popularity, scores = line(ax, "|Ô| = 100")
    threshold = in_batch.misclassification_threshold(100, 1000)
    assert ((scores < boundary) == (popularity > threshold)).all() and 0 < (scores < boundary).sum() < scores.size
    assert ax.patches[0].get_y() + ax.patches[0].get_height() == pytest.approx(boundary)  # the shaded half


def test_variance_curve_draws_standard_deviations() -> None:
    _, ax = FIGURES["variance_curve"]()
    np.testing.assert_allclose(line(ax, "Unbiased")[1], [2, 1, np.nan])
    _, ax = in_batch_plots.variance_curve([2, 3], {"masked": [4.0, 1.0]}, standard_deviation=False)
    np.testing.assert_allclose(line(ax, "Masked")[1], [4, 1])
    with pytest.raises(
        ValueError, match=r"variances\['masked'\] has shape \(2,\), minimum -1.0; expected 2 values >= 0"
    ):
        in_batch_plots.variance_curve([2, 3], {"masked": [4.0, -1.0]})


def test_observation_weights_add_up_to_one_in_expectation() -> None:
    """(17): weight times expected visits; Horvitz-Thompson: weight times the chance to be seen; both 1."""
    degrees, size, total = np.array([1, 3, 9]), 20, 200
    _, ax = plots.observation_weights(degrees, batch_size=size, n_positives=total)
    visits = size * (size - 1) / (total * (total - 1)) * degrees**2
    np.testing.assert_allclose(line(ax, "(17): every visit")[1] * visits, 1)
    seen = [in_batch.observation_probability(int(a), int(a), batch_size=size, n_positives=total) for a in degrees]
    np.testing.assert_allclose(line(ax, "Horvitz–Thompson: once")[1] * np.array(seen, float), 1)


def test_metric_against_ratio_averages_seeds_and_keeps_the_paper_hollow() -> None:
    _, ax = FIGURES["metric_against_ratio"]()
    ratios, values = line(ax, "Unbiased")
    np.testing.assert_allclose([ratios, values], [[1e-3, 1e-1], [17.5, 18.5]])
    (bars,) = [c for c in ax.containers if c.get_label() == "Unbiased"]
    low, high = bars.lines[2][0].get_segments()[0][:, 1]
    assert (low, high) == (17.0, 18.0)
    (paper,) = [c for c in ax.containers if c.get_label() == "Unbiased, paper"]
    assert paper.lines[0].get_markerfacecolor() == "white" and bars.lines[0].get_markerfacecolor() != "white"
    np.testing.assert_allclose(line(ax, "Popularity")[1], 0.3)  # no ratio: a level
    assert -1 < ax.get_ylim()[0] <= 0  # differences are seen against zero
    with pytest.raises(ValueError, match="no value of metric 'R@5'"):
        in_batch_plots.metric_against_ratio(CELLS, metric="R@5")


def test_comparison_starts_at_zero_and_writes_the_numbers() -> None:
    _, ax = FIGURES["comparison"]()
    assert [(bar.get_x(), bar.get_width()) for bar in ax.patches] == [(0, 17.1), (0, 0.5)]
    assert texts(ax) == ["17.1", "0.5"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["Unbiased", "In-Batch"]


def test_quality_and_popularity_puts_bars_beside_boxes() -> None:
    _, (left, right) = FIGURES["quality_and_popularity"]()
    assert [bar.get_width() for bar in left.patches] == [1.5, 0.4] and texts(left) == ["1.50", "0.40"]
    medians = [one.get_xdata()[0] for one in right.lines if one.get_color() == house.PUSH]
    assert medians == [51, 2.5]
    whiskers = [one.get_xdata() for one in right.lines if len(set(one.get_ydata())) == 1 and len(one.get_xdata()) == 2]
    assert any(np.allclose(sorted(ends), [6, 26]) for ends in whiskers)  # from the 5 % to the 25 % quantile of 1 to 101
    with pytest.raises(ValueError, match=r"quality names \['a'\] but recommended names \['b'\]"):
        in_batch_plots.quality_and_popularity({"a": 1.0}, {"b": [1]})


def test_popularity_profile_averages_within_bins() -> None:
    popularity = np.repeat([1, 10, 100], 40)
    _, ax = in_batch_plots.popularity_profile(
        popularity, {"in_batch": np.repeat([3.0, 2.0, 1.0], 40)}, label="score", bins=6
    )
    x, y = line(ax, "In-Batch")
    assert y.tolist() == sorted(y, reverse=True) and y[0] > 2.9 and y[-1] < 2 and x[0] == pytest.approx(1)
    with pytest.raises(ValueError, match=r"curves\['a'\] has shape \(2,\); expected \(3,\)"):
        in_batch_plots.popularity_profile([1, 2, 3], {"a": [1, 2]}, label="score")
    with pytest.raises(ValueError, match="values above 0"):
        in_batch_plots.popularity_profile([0, 2], {"a": [1, 2]}, label="score")


def test_long_tail_falls_and_leaves_zeros_out() -> None:
    _, ax = FIGURES["long_tail"]()
    np.testing.assert_allclose(line(ax, "users"), [[1, 2, 3], [3, 2, 1]])
