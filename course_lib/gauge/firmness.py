"""How large a gauge may be that lengths notice little: what the margin of `gauge.weakest_direction` means."""

from __future__ import annotations

import numpy as np

from course_lib import checking
from course_lib.arrays import Array
from course_lib.gauge.counting import linear_stretch_along

MOST_OF_THE_RANGE = 0.9  # of the t in which I + t E is positive


def stretch_within(weakest: tuple[float, Array], change: float) -> Array:
    """R (k, k), the largest gauge along the weakest direction that lengths within `change` allow.

    weakest: (margin, E) of `weakest_direction`. R = (I + t E)^(1/2) with t = 2 change / margin: to first order, lengths
    of unit rows change by `change` in root mean square. t is at most 0.9 of what keeps I + t E positive. change > 0.
    Raises ValueError, by name, where E is not symmetric and finite, margin is below 0, or change is not above 0.
    """
    margin, E = weakest
    checking.real(margin, "margin", least=0)
    checking.real(change, "change", above=0)
    E = checking.table(E, "E")
    if E.shape[0] != E.shape[1] or not np.allclose(E, E.T):
        raise checking.refuse(E.tolist(), "E", "a symmetric matrix, as weakest_direction gives it")
    least = float(np.linalg.eigvalsh(E)[0])
    edge = MOST_OF_THE_RANGE / max(-least, 1e-12)
    return linear_stretch_along(E, min(2 * change / margin, edge) if margin > 0 else edge)
