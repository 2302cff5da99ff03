"""The figures of the course: one house style, every function returns `(fig, ax)` and none shows.

Every figure reads on white and on the white card that the site puts under it in dark mode, and no figure needs colour:
series differ in marker and line, cells in hatch and sign. Colours are those of Okabe and Ito. A figure draws what it is
given; where it needs a formula it asks the room that owns it.
"""

from .house import (
    GRID,
    INK,
    PULL,
    PULL_TINT,
    PUSH,
    PUSH_FILL,
    PUSHES,
    SERIES,
    SOFT,
    SPARE,
    STYLE,
    WRONG,
    WRONG_TINT,
    series_style,
    style,
)
from .sampling import (
    best_score,
    comparison,
    long_tail,
    metric_against_ratio,
    misclassification_threshold,
    observation_weights,
    popularity_profile,
    quality_and_popularity,
    sampling_strategies,
    training_curves,
    variance_curve,
    weight_heatmap,
)

__all__ = [
    "GRID",
    "INK",
    "PULL",
    "PULL_TINT",
    "PUSH",
    "PUSHES",
    "PUSH_FILL",
    "SERIES",
    "SOFT",
    "SPARE",
    "STYLE",
    "WRONG",
    "WRONG_TINT",
    "best_score",
    "comparison",
    "long_tail",
    "metric_against_ratio",
    "misclassification_threshold",
    "observation_weights",
    "popularity_profile",
    "quality_and_popularity",
    "sampling_strategies",
    "series_style",
    "style",
    "training_curves",
    "variance_curve",
    "weight_heatmap",
]
