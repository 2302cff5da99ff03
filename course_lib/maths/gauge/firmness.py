"""How large a gauge may be that lengths notice little: what the margin of `gauge.weakest_direction` means."""

from __future__ import annotations

import numpy as np

from course_lib import checking
from course_lib.maths.arrays import Array
from course_lib.maths.gauge.counting import linear_stretch_along

MOST_OF_THE_RANGE = 0.9  # of the t in which I + t E is positive


def stretch_within(weakest: tuple[float, Array], change: float) -> Array:
    """R (k, k), the largest gauge along the weakest direction that lengths within `change` allow.

    weakest: (margin, E) of `weakest_direction`. R = (I + t E)^(1/2) with t = 2 change / margin: to first order, lengths
    of unit rows change by `change` in root mean square. t is at most 0.9 of what keeps I + t E positive. change > 0.
    """
    margin, E = weakest
    checking.real(margin, "margin", least=0)
    checking.real(change, "change", above=0)
    least = float(np.linalg.eigvalsh(checking.as_numpy(E))[0])
    edge = MOST_OF_THE_RANGE / max(-least, 1e-12)
    return linear_stretch_along(E, min(2 * change / margin, edge) if margin > 0 else edge)
