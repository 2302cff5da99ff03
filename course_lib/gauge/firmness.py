"""How large a gauge may be that lengths notice little: what the margin of `gauge.weakest_direction` means."""

from __future__ import annotations

import numpy as np

from course_lib import checking
from course_lib.arrays import Array
from course_lib.gauge.counting import linear_stretch_along

MOST_OF_THE_RANGE = 0.9  # of the t in which I + t E is positive


def stretch_within(weakest: tuple[float, Array], change: float) -> Array:
    """Return the largest gauge along the weakest direction that lengths within a given change allow.

    ``R = (I + t E)^(1/2)`` with ``t = 2 change / margin``: to first order, lengths of unit rows change by ``change`` in
    root mean square.

    Parameters
    ----------
    weakest : tuple (margin, E)
        The result of :func:`course_lib.gauge.weakest_direction`.
    change : float
        The relative change of the lengths that is allowed, above 0.

    Returns
    -------
    array, shape (k, k)
        The matrix ``R``. ``t`` is at most 0.9 of what keeps ``I + t E`` positive.

    Raises
    ------
    ValueError
        By name, where ``E`` is not symmetric and finite, the margin is below 0, or ``change`` is not above 0.

    Examples
    --------
    With the margin 0.1 and a change of 1 percent, ``t = 2 * 0.01 / 0.1 = 0.2``:

    >>> import numpy as np
    >>> from course_lib.gauge import firmness
    >>> R = firmness.stretch_within((0.1, np.array([[0.6, 0.0], [0.0, -0.8]])), 0.01)
    >>> np.diag(R @ R.T).round(3).tolist()  # 1 + 0.2 * 0.6 and 1 - 0.2 * 0.8
    [1.12, 0.84]
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
