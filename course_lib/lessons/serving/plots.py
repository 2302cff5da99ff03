"""The figure of the chapter on serving: what an index finds, by quarter of popularity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from course_lib.lessons.shared.house import PULL, PUSH, in_style

LOOKS = {"inner product": (PULL, "o", "-"), "one more coordinate": (PUSH, "s", (0, (4, 2)))}


@in_style
def by_quarter(found: Mapping[str, Mapping[str, Sequence[float]]]) -> tuple[Figure, Any]:
    """One panel a data set, one line a space: the share of the exact places that is found, by quarter of popularity.

    found: data set -> space -> four shares, the most popular quarter first; NaN where nobody's list has a place.
    """
    fig, axes = plt.subplots(1, len(found), figsize=(2.7 * len(found) + 0.6, 3.1), sharey=True, squeeze=False)
    for ax, (data, of) in zip(axes[0], found.items(), strict=True):
        for space, shares in of.items():
            colour, mark, line = LOOKS[space]
            ax.plot(range(1, 5), np.asarray(shares, dtype=float), color=colour, marker=mark, ls=line, label=space)
        ax.set(title=data, xlabel="quarter of popularity", xticks=range(1, 5), ylim=(-0.04, 1.06))
    axes[0][0].set_ylabel("share of the exact ten that is found")
    axes[0][-1].legend(loc="lower left")
    return fig, axes[0]
