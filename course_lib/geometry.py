"""Directions and lengths: the cosine, its gradient, and what a step does to a norm.

Every function takes vectors along the last axis, broadcasts over the axes before it, and is written once for NumPy and
torch (with autograd). Integers become float64; float32 stays float32. A vector's squares must be representable: a norm
below about 1e-162 (float64) or 1e-23 (float32) underflows to 0 and is reported as a zero vector.

The one identity behind this module: the cosine does not change when q is stretched, so its gradient at q has no part
along q, `<q, grad_q cos(q, k)> = 0`. Source: P0, Lemma B.1 and Section 2.5.
"""

from __future__ import annotations

import math
from typing import Any

from course_lib import checking
from course_lib.arrays import Array, as_array, first_index, is_exact, is_torch, like, namespace, number, shape_of

TORCH_NORMALISE_EPS = 1e-12  # the default of torch.nn.functional.normalize
TORCH_COSINE_EPS = 1e-8  # the default of torch.nn.functional.cosine_similarity


# ---- lengths and directions


def norm(x: Any) -> Array:
    """Return the length of each vector.

    ``||x|| = sqrt(sum_a x_a^2)``, along the last axis.

    Parameters
    ----------
    x : array_like, shape (..., d)
        The vectors, NumPy array or torch tensor. Zero vectors are allowed.

    Returns
    -------
    array, shape (...)
        The norms, each at least 0. A NaN entry gives NaN.

    Raises
    ------
    ValueError
        For a single number, for Fractions (a norm is irrational in general) and for entries that are no real numbers.

    Examples
    --------
    >>> from course_lib import geometry
    >>> geometry.norm([[3.0, 4.0], [0.0, 0.0]]).tolist()
    [5.0, 0.0]
    """
    x = _vectors(x, "x")
    return namespace(x).linalg.vector_norm(x, axis=-1)


def normalise(x: Any, *, name: str = "x") -> Array:
    """Return the unit vector in the direction of each vector.

    ``x / ||x||``, a point of the unit sphere.

    Parameters
    ----------
    x : array_like, shape (..., d)
        The vectors, none of them zero.
    name : str
        What an error message calls ``x``.

    Returns
    -------
    array, shape (..., d)
        The unit vectors.

    Raises
    ------
    ValueError
        For a zero vector, which has no direction, for NaN or infinite entries, for a norm that overflows, and as in
        :func:`norm`.

    See Also
    --------
    clamped_normalise : What libraries do instead.

    Examples
    --------
    >>> from course_lib import geometry
    >>> geometry.normalise([3.0, 4.0]).round(3).tolist()
    [0.6, 0.8]
    >>> geometry.normalise([0.0, 0.0], name="query")
    Traceback (most recent call last):
    ValueError: query is the zero vector, which has no direction; expected nonzero finite vectors of shape (2,)
    """
    x = _vectors(x, name)
    return x / _positive_norm(x, name)[..., None]


def clamped_normalise(x: Any, eps: float = TORCH_NORMALISE_EPS) -> Array:
    """Return the vectors divided by their norm, or by ``eps`` where the norm is smaller.

    ``x / max(||x||, eps)``, which is what ``torch.nn.functional.normalize`` computes.

    Parameters
    ----------
    x : array_like, shape (..., d)
        The vectors. A zero vector stays zero. Entries are not looked at: NaN gives NaN.
    eps : float
        The smallest divisor, more than 0. The default 1e-12 is that of ``torch.nn.functional.normalize``.

    Returns
    -------
    array, shape (..., d)
        Unit vectors where ``||x|| >= eps``, shorter vectors elsewhere.

    Raises
    ------
    ValueError
        For an ``eps`` that is not a positive finite number, for a single number and for Fractions.

    Notes
    -----
    For ``||x|| >= eps`` the result is that of :func:`normalise`. Below, the function is the linear map ``x / eps``: its
    value is shorter than 1, and a loss of it does have a gradient along ``x``. An ``eps`` that the dtype of ``x`` would
    round to 0, as float16 does with 1e-12, stands for the least number above 0 of that dtype.

    Examples
    --------
    The threshold is raised to 1 here, so that the second vector is below it:

    >>> from course_lib import geometry
    >>> geometry.clamped_normalise([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]], eps=1.0).round(3).tolist()
    [[0.6, 0.8], [0.3, 0.4], [0.0, 0.0]]
    """
    x, eps = _vectors(x, "x"), checking.real(eps, "eps", above=0)
    length, eps = norm(x), _above_zero(eps, x)
    return x / namespace(x).clip(length, eps, None)[..., None]


# ---- the cosine and its gradient


def cosine(q: Any, k: Any) -> Array:
    """Return the cosine of the angle between two vectors.

    ``cos(q, k) = <q, k> / (||q|| ||k||)``, along the last axis.

    Parameters
    ----------
    q, k : array_like, shape (..., d)
        The vectors, both NumPy arrays or both torch tensors. Leading axes broadcast.

    Returns
    -------
    array, shape (...)
        The cosines, in [-1, 1] up to rounding.

    Raises
    ------
    ValueError
        For a zero vector, a NaN or infinite entry, two different widths, and an array beside a tensor.

    Notes
    -----
    Source: P0, Section 1.

    Examples
    --------
    The length of a vector does not matter:

    >>> import numpy as np
    >>> from course_lib import geometry
    >>> q, k = np.array([3.0, 4.0]), np.array([4.0, 3.0])
    >>> round(float(geometry.cosine(q, k)), 4), round(float(geometry.cosine(100 * q, k)), 4)
    (0.96, 0.96)
    """
    q, k = _pair(q, k)
    return _dot(normalise(q, name="q"), normalise(k, name="k"))


def cosine_gradient(q: Any, k: Any) -> Array:
    """Return the gradient of the cosine with respect to its first vector.

    ``grad_q cos(q, k) = (k/||k|| - cos(q, k) q/||q||) / ||q||``.

    Parameters
    ----------
    q, k : array_like, shape (..., d)
        The vectors, both NumPy arrays or both torch tensors. Leading axes broadcast.

    Returns
    -------
    array, shape (..., d)
        The gradients. They are orthogonal to ``q``, and their norms are ``|sin(q, k)| / ||q||``.

    Raises
    ------
    ValueError
        As in :func:`cosine`: for a zero vector, a NaN or infinite entry, two different widths, and an array beside a
        tensor.

    Notes
    -----
    The gradient is the tangential part of the direction of ``k``, divided by ``||q||``. The gradient with respect to
    ``k`` is ``cosine_gradient(k, q)``. Source: P0, equation (27).

    Examples
    --------
    The gradient is orthogonal to ``q``, and a ``q`` of twice the length has half the gradient:

    >>> import numpy as np
    >>> from course_lib import geometry
    >>> q, k = np.array([2.0, 0.0]), np.array([3.0, 4.0])
    >>> geometry.cosine_gradient(q, k).round(3).tolist()
    [0.0, 0.4]
    >>> geometry.cosine_gradient(2 * q, k).round(3).tolist()
    [0.0, 0.2]
    """
    q, k = _pair(q, k)
    length = _positive_norm(q, "q")[..., None]
    unit, target = q / length, normalise(k, name="k")
    return (target - _dot(unit, target)[..., None] * unit) / length


def clamped_cosine_gradient(q: Any, k: Any, eps: float = TORCH_COSINE_EPS) -> Array:
    """Return the gradient, with respect to ``q``, of the cosine whose norms are clamped from below at ``eps``.

    The function is ``<q, k> / (max(||q||, eps) max(||k||, eps))``, which is what
    ``torch.nn.functional.cosine_similarity`` computes.

    Parameters
    ----------
    q, k : array_like, shape (..., d)
        The vectors, both NumPy arrays or both torch tensors. Leading axes broadcast. Zero vectors are allowed.
    eps : float
        The smallest norm, more than 0. The default 1e-8 is that of ``torch.nn.functional.cosine_similarity``.

    Returns
    -------
    array, shape (..., d)
        The gradients.

    Raises
    ------
    ValueError
        For an ``eps`` that is not a positive finite number, two different widths, and an array beside a tensor.

    Notes
    -----
    Let ``u = q/||q||`` and ``k' = clamped_normalise(k, eps)``.

    - Where ``||q|| > eps`` the gradient is ``(k' - <u, k'> u) / ||q||``, which is orthogonal to ``q``.
    - Where ``||q|| < eps`` it is ``k' / eps``. Its part along ``q`` is ``<u, k'> / eps``, which is zero only if ``q``
      and ``k`` are orthogonal.
    - Where ``||q|| = eps`` the function has a kink. The value returned there is the outer one, of the first case.

    torch hides its clamp from autograd. So below ``eps`` the gradient that autograd finds for ``cosine_similarity`` is
    not this one.

    Examples
    --------
    With the threshold at 1, the long ``q`` has a gradient orthogonal to it, and the short one has not:

    >>> import numpy as np
    >>> from course_lib import geometry
    >>> q, k = np.array([[2.0, 0.0], [0.5, 0.0]]), np.array([3.0, 4.0])
    >>> geometry.clamped_cosine_gradient(q, k, eps=1.0).round(3).tolist()
    [[0.0, 0.4], [0.6, 0.8]]
    """
    q, k = _pair(q, k)
    eps = checking.real(eps, "eps", above=0)
    xp = namespace(q)
    length = norm(q)[..., None]
    target, eps = clamped_normalise(k, eps), _above_zero(eps, q)
    outside = length >= eps
    unit = q / xp.where(outside, length, xp.ones_like(length))
    outer = target - _dot(unit, target)[..., None] * unit
    return xp.where(outside, outer, xp.broadcast_to(target, outer.shape)) / xp.clip(length, eps, None)


# ---- radial and tangential


def split_radial(v: Any, q: Any) -> tuple[Array, Array]:
    """Split a vector into its part along ``q`` and its part orthogonal to ``q``.

    ``v = radial + tangential`` with ``radial = <v, u> u`` and ``u = q/||q||``.

    Parameters
    ----------
    v : array_like, shape (..., d)
        The vectors to split, for example steps or gradients.
    q : array_like, shape (..., d)
        The vectors that give the directions, none of them zero. Leading axes broadcast.

    Returns
    -------
    radial : array, shape (..., d)
        The part along ``q``.
    tangential : array, shape (..., d)
        The part orthogonal to ``q``.

    Raises
    ------
    ValueError
        For ``q = 0``, a NaN or infinite entry of ``q``, two different widths, and an array beside a tensor.

    Notes
    -----
    A step ``v`` from ``q`` changes ``||q||`` at first order through the radial part alone:
    ``||q + v||^2 = ||q||^2 + 2 <q, v> + ||v||^2``.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import geometry
    >>> radial, tangential = geometry.split_radial(np.array([3.0, 4.0]), np.array([10.0, 0.0]))
    >>> radial.tolist(), tangential.tolist()
    ([3.0, 0.0], [0.0, 4.0])
    """
    q, v = _pair(q, v, names=("q", "v"))
    unit = normalise(q, name="q")
    radial = _dot(v, unit)[..., None] * unit
    return radial, v - radial


# ---- distances on the sphere


def cosine_distance(a: Any, b: Any) -> Array:
    """Return one minus the cosine of two vectors.

    ``1 - cos(a, b) = ||a/||a|| - b/||b|| ||^2 / 2``.

    Parameters
    ----------
    a, b : array_like, shape (..., d)
        The vectors, none of them zero, both NumPy arrays or both torch tensors. Leading axes broadcast.

    Returns
    -------
    array, shape (...)
        The distances, in [0, 2]. They are accurate for small angles as well.

    Raises
    ------
    ValueError
        For a zero vector, a NaN or infinite entry, two different widths, and an array beside a tensor.

    Notes
    -----
    The cosine distance is not a metric: it breaks the triangle inequality. :func:`chord` and :func:`geodesic` are
    metrics on the unit sphere.

    Examples
    --------
    The way over the diagonal is shorter than the direct way, which no metric allows:

    >>> from course_lib import geometry
    >>> east, diagonal, north = [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]
    >>> round(float(geometry.cosine_distance(east, north)), 4)
    1.0
    >>> over = geometry.cosine_distance(east, diagonal) + geometry.cosine_distance(diagonal, north)
    >>> round(float(over), 4)
    0.5858
    """
    return chord(a, b) ** 2 / 2


def chord(a: Any, b: Any) -> Array:
    """Return the straight distance between two directions, as points of the unit sphere.

    ``||a/||a|| - b/||b|| || = sqrt(2 - 2 cos(a, b))``.

    Parameters
    ----------
    a, b : array_like, shape (..., d)
        The vectors, none of them zero, both NumPy arrays or both torch tensors. Leading axes broadcast.

    Returns
    -------
    array, shape (...)
        The distances, in [0, 2].

    Raises
    ------
    ValueError
        For a zero vector, a NaN or infinite entry, two different widths, and an array beside a tensor.

    Examples
    --------
    Opposite directions are a diameter apart, orthogonal ones ``sqrt(2)``:

    >>> from course_lib import geometry
    >>> geometry.chord([5.0, 0.0], [[-1.0, 0.0], [0.0, 3.0]]).round(3).tolist()
    [2.0, 1.414]
    """
    a, b = _pair(a, b, names=("a", "b"))
    return norm(normalise(a, name="a") - normalise(b, name="b"))


def geodesic(a: Any, b: Any) -> Array:
    """Return the angle between two vectors in radians, the length of the shortest path on the unit sphere.

    Parameters
    ----------
    a, b : array_like, shape (..., d)
        The vectors, none of them zero, both NumPy arrays or both torch tensors. Leading axes broadcast.

    Returns
    -------
    array, shape (...)
        The angles, in [0, pi].

    Raises
    ------
    ValueError
        For a zero vector, a NaN or infinite entry, two different widths, and an array beside a tensor.

    Notes
    -----
    Computed as ``2 atan2(||u - w||, ||u + w||)`` with the two unit vectors ``u`` and ``w``. This keeps full accuracy
    near 0 and pi, where the arccosine of a rounded cosine loses half the digits.

    Examples
    --------
    The cosine of a small angle is rounded to 1, so its arccosine is 0; the geodesic still knows the angle:

    >>> import numpy as np
    >>> from course_lib import geometry
    >>> a, b = np.array([1.0, 0.0]), np.array([1.0, 1e-9])
    >>> f"{geometry.geodesic(a, b):.3g}"
    '1e-09'
    >>> float(np.arccos(min(1.0, geometry.cosine(a, b))))
    0.0
    """
    a, b = _pair(a, b, names=("a", "b"))
    u, w = normalise(a, name="a"), normalise(b, name="b")
    return 2 * namespace(u).atan2(norm(u - w), norm(u + w))


def angle_degrees(a: Any, b: Any) -> Array:
    """Return the angle between two vectors in degrees.

    Parameters
    ----------
    a, b : array_like, shape (..., d)
        The vectors, none of them zero, both NumPy arrays or both torch tensors. Leading axes broadcast.

    Returns
    -------
    array, shape (...)
        The angles, in [0, 180].

    Raises
    ------
    ValueError
        For a zero vector, a NaN or infinite entry, two different widths, and an array beside a tensor.

    See Also
    --------
    geodesic : The same angle in radians, and how it is computed.

    Examples
    --------
    >>> from course_lib import geometry
    >>> geometry.angle_degrees([1.0, 0.0], [[2.0, 2.0], [0.0, 1.0], [-7.0, 0.0]]).round(3).tolist()
    [45.0, 90.0, 180.0]
    """
    return geodesic(a, b) * (180 / math.pi)


# ---- the law of growth


def quartic_norm(start_norm: Any, *, lr: float, h: Any, step: Any) -> Array:
    """Return the norm of an embedding after all steps of gradient descent on a loss of its direction.

    ``(||q_0||^4 + 2 lr^2 sum_t ||h_t||^2 + sum_t ||dq_t||^4)^(1/4)``.

    Parameters
    ----------
    start_norm : array_like, shape (...)
        The norm ``||q_0||`` before the first step, more than 0.
    lr : float
        The learning rate.
    h : array_like, shape (..., T)
        The lengths ``||h_t||`` of the scale-free gradients ``h_t = ||q_t|| grad_t``, one for each step.
    step : array_like, shape (..., T)
        The lengths ``||dq_t||`` of the steps ``dq_t = -lr grad_t``.

    Returns
    -------
    array, shape (...)
        The norm ``||q_T||``.

    Raises
    ------
    ValueError
        For a ``start_norm`` that is not positive, for shapes of ``h`` and ``step`` that differ, and for an array beside
        a tensor.

    Notes
    -----
    Lengths are not looked at: NaN gives NaN, and a negative one counts as its size. Exact for gradient descent on any
    loss that depends on ``q`` only through its direction. Such a step obeys
    ``||q_(t+1)||^2 = ||q_t||^2 + lr^2 ||h_t||^2 / ||q_t||^2``; the formula is the square of this line, summed over the
    steps. Source: claim X5.

    Examples
    --------
    One step of length 1, orthogonal to an embedding of length 1, gives the diagonal of the unit square:

    >>> from course_lib import geometry
    >>> round(float(geometry.quartic_norm(1.0, lr=1.0, h=[1.0], step=[1.0])), 4)
    1.4142
    """
    h, step = _vectors(h, "h"), _vectors(step, "step")
    if is_torch(h) != is_torch(step):
        raise ValueError("h and step must both be torch tensors or both NumPy arrays")
    if shape_of(h) != shape_of(step):
        raise ValueError(f"h has shape {shape_of(h)} but step has {shape_of(step)}; expected one number per step")
    start = like(start_norm, h, "start_norm")
    if not bool((start > 0).all()):
        raise ValueError("start_norm must be positive: a zero vector has no direction and no cosine")
    xp = namespace(h, step)
    added = 2 * number(lr, h, "lr") ** 2 * xp.sum(h**2, axis=-1) + xp.sum(step**4, axis=-1)
    return (start**4 + added) ** 0.25


# ---- checks


def _dot(a: Array, b: Array) -> Array:
    return namespace(a, b).sum(a * b, axis=-1)


def _above_zero(eps: float, x: Array) -> float:
    """`eps`, or the least number above 0 of the dtype of `x` if that is larger."""
    kind = namespace(x).finfo(x.dtype)
    return max(eps, float(kind.tiny) * float(kind.eps))


def _vectors(x: Any, name: str) -> Array:
    """`x` as a float array with at least one axis."""
    x = as_array(x, name)
    if is_exact(x):
        raise ValueError(f"{name} holds Fractions, but norms and angles are irrational; convert it to float64")
    if x.ndim == 0:
        raise ValueError(f"{name} is a single number; expected vectors along the last axis, shape (..., d)")
    return x


def _pair(q: Any, k: Any, names: tuple[str, str] = ("q", "k")) -> tuple[Array, Array]:
    """Both arguments as float arrays of one kind that broadcast against each other and have the same width."""
    q, k = _vectors(q, names[0]), _vectors(k, names[1])
    if is_torch(q) != is_torch(k):
        raise ValueError(f"{names[0]} and {names[1]} must both be torch tensors or both NumPy arrays")
    checking.same_width(q, k, *names)
    if any(m != n and 1 not in (m, n) for m, n in zip(q.shape[-2::-1], k.shape[-2::-1], strict=False)):
        shapes = f"{names[0]} has shape {shape_of(q)} and {names[1]} {shape_of(k)}"
        raise ValueError(f"{shapes}; expected leading axes that broadcast against each other")
    return q, k


def _positive_norm(x: Array, name: str) -> Array:
    """||x||, or a ValueError that says where x is zero or not finite."""
    length = norm(x)
    good = (length > 0) & (length < float("inf"))  # NaN fails both
    if bool(good.all()):
        return length
    where = first_index(~good)
    place = f"{name}[{', '.join(map(str, where))}]" if where else name
    found = float(length[where] if where else length)
    what = "is the zero vector, which has no direction" if found == 0 else f"has norm {found}, which is not finite"
    raise ValueError(f"{place} {what}; expected nonzero finite vectors of shape {shape_of(x)}")
