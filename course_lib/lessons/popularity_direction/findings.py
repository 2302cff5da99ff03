"""What the chapter on the popularity direction says of data, and in which cases it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from course_lib.lessons.shared.findings import Difference, finding

SETS = {"ml-1m-10core": "MovieLens-1M", "lastfm-10core": "LastFM"}  # those of the experiment P1-F1
BACKBONES = ("MF", "LightGCN")


# ---- the page's own runs: a correlation of each seed


@finding("Training raises the correlation of projection and popularity", case="data set")
def training_raises_r_of_films(trained: Sequence[float], untrained: Sequence[float]) -> dict[str, Difference]:
    """r of LightGCN trained minus r of the same start before its first step, both cross-fitted."""
    return {"films": Difference.paired(trained, untrained)}


@finding(
    "Started around 0.1, LightGCN has a higher correlation before training than started around 0 and trained",
    case="data set",
)
def shifted_start_beats_training(shifted: Sequence[float], trained: Sequence[float]) -> dict[str, Difference]:
    """r of the untrained model with numbers around 0.1 minus r of the trained one, both cross-fitted."""
    return {"films": Difference.paired(shifted, trained)}


@finding("A trained user's gradient has less than a tenth of the length of the ideal step", case="model")
def gradient_has_vanished(lengths: Mapping[str, float]) -> dict[str, Difference]:
    """1/10 minus the median of |gradient| over |mean positive minus mean negative|."""
    return {model: Difference(0.1 - length) for model, length in lengths.items()}


@finding(
    "With half of the user's vector, the gradient points along the ideal direction, at a cosine above 0.9", case="model"
)
def half_way_it_is_aligned(cosines: Mapping[str, float]) -> dict[str, Difference]:
    """Median cosine of minus the gradient at e_u/2 and d*, minus 0.9."""
    return {model: Difference(cosine - 0.9) for model, cosine in cosines.items()}


# ---- stored: Figure 1, and the axis before training


@finding(
    "Training raises the correlation of projection and popularity",
    case="pair of backbone and data set",
    rests_on=["P1-F1-laptop"],
)
def training_raises_r(f1: Any) -> dict[str, Difference]:
    """r trained minus r before the first step, both cross-fitted, over seeds."""
    return {
        f"{backbone}, {name}": Difference.paired(
            f1.values("cross-fitted", data=data, backbone=backbone, state="trained"),
            f1.values("cross-fitted", data=data, backbone=backbone, state="untrained"),
        )
        for data, name in SETS.items()
        for backbone in BACKBONES
    }


@finding(
    "The first axis of the pull matrix follows popularity more closely than the trained model's projection",
    case="pair of backbone and data set",
    claimed={"MF, MovieLens-1M", "LightGCN, MovieLens-1M"},
    rests_on=["P1-F1-laptop", "P1-X2-laptop"],
)
def formula_beats_training(f1: Any, x2: Any) -> dict[str, Difference]:
    """r of the first axis under uniform negatives minus r of the trained model as in P1's Figure 1, over seeds."""
    return {
        f"{backbone}, {name}": Difference.paired([axis] * len(trained), trained)
        for data, name in SETS.items()
        for axis in x2.values("first axis", data=data, law="RecBole")
        for backbone in BACKBONES
        if (trained := f1.values("Pearson", data=data, backbone=backbone, state="trained"))
    }


@finding(
    "Fewer of LightGCN's items than of MF's lie on the negative side of the axis",
    case="data set",
    rests_on=["P1-F1-laptop"],
)
def few_are_negative_in_lightgcn(f1: Any) -> dict[str, Difference]:
    """Share of MF's items with a negative projection minus that of LightGCN's, over seeds."""
    return {
        name: Difference.paired(f1.values("negative", data=data, backbone="MF", state="trained")[: len(found)], found)
        for data, name in SETS.items()
        if (found := f1.values("negative", data=data, backbone="LightGCN", state="trained"))
    }
