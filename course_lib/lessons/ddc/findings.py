"""What the chapter on DDC says of data, and in which cases it holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from course_lib.lessons.shared.findings import Difference, finding


def _pairs(stored: Any) -> list[tuple[str, str]]:
    """(data set, backbone) of a stored result, as they were run."""
    return list(dict.fromkeys((row["data"], row["backbone"]) for row in stored.rows))


def _named(data: str, backbone: str) -> str:
    return f"{backbone}, {data}"


@finding(
    "After DDC the loss of the vectors that are served is higher than before",
    case="pair of backbone and data set",
    claimed={"LightGCN, lastfm-10core", "LightGCN, ml-1m-10core", "MF, ml-1m-10core"},
    rests_on=["P1-F4-laptop"],
)
def served_loss_rises(f4: Any) -> dict[str, Difference]:
    """log(served loss after / before), over seeds."""
    return {
        _named(data, backbone): Difference.paired(
            np.log(f4.values("loss after", data=data, backbone=backbone)),
            np.log(f4.values("loss before", data=data, backbone=backbone)),
        )
        for data, backbone in _pairs(f4)
    }


@finding(
    "DDC's own loss falls to a thirtieth of what it was, or less",
    case="pair of backbone and data set",
    claimed={"LightGCN, lastfm-10core", "LightGCN, ml-1m-10core"},
    rests_on=["P1-F4-laptop"],
)
def objective_falls(f4: Any) -> dict[str, Difference]:
    """log(1/30) - log(objective ratio), over seeds."""
    return {
        _named(data, backbone): Difference.paired(np.full(len(ratios), np.log(1 / 30)), np.log(ratios))
        for data, backbone in _pairs(f4)
        if (ratios := f4.values("objective ratio", data=data, backbone=backbone))
    }
