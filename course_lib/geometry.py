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
    """||x|| = sqrt(sum_a x_a^2) along the last axis: (..., d) -> (...). Zero vectors are allowed."""
    x = _vectors(x, "x")
    return namespace(x).linalg.vector_norm(x, axis=-1)


def normalise(x: Any, *, name: str = "x") -> Array:
    """x / ||x||, a point of the unit sphere: (..., d) -> (..., d).

    Raises ValueError for a zero vector (it has no direction) and for NaN or infinite entries; `name` is what the error
    calls x. See `clamped_normalise` for what libraries do instead.
    """
    x = _vectors(x, name)
    return x / _positive_norm(x, name)[..., None]


def clamped_normalise(x: Any, eps: float = TORCH_NORMALISE_EPS) -> Array:
    """x / max(||x||, eps): what `torch.nn.functional.normalize` computes. (..., d) -> (..., d).

    For ||x|| >= eps it is `normalise`. Below, it is the linear map x / eps: its value is shorter than 1, and a loss of
    it does have a gradient along x. A zero vector stays zero.
    """
    x, eps = _vectors(x, "x"), checking.real(eps, "eps", above=0)
    length = norm(x)
    return x / namespace(x).clip(length, eps, None)[..., None]


# ---- the cosine and its gradient


def cosine(q: Any, k: Any) -> Array:
    """cos(q, k) = <q, k> / (||q|| ||k||): (..., d), (..., d) -> (...).

    Raises ValueError for zero vectors, NaN or infinite entries, and widths that differ. Source: P0, Section 1.
    """
    q, k = _pair(q, k)
    return _dot(normalise(q, name="q"), normalise(k, name="k"))


def cosine_gradient(q: Any, k: Any) -> Array:
    """The gradient of cos(q, k) with respect to q: (k/||k|| - cos(q, k) q/||q||) / ||q||, (..., d).

    It is the tangential part of k's direction, divided by ||q||. So it is orthogonal to q, and its norm is
    |sin(q, k)| / ||q||. The gradient with respect to k is `cosine_gradient(k, q)`. Errors as in `cosine`.
    Source: P0, equation (27).
    """
    q, k = _pair(q, k)
    length = _positive_norm(q, "q")[..., None]
    unit, target = q / length, normalise(k, name="k")
    return (target - _dot(unit, target)[..., None] * unit) / length


def clamped_cosine_gradient(q: Any, k: Any, eps: float = TORCH_COSINE_EPS) -> Array:
    """The gradient, with respect to q, of <q, k> / (max(||q||, eps) max(||k||, eps)): (..., d).

    That is what `torch.nn.functional.cosine_similarity` computes, which hides its clamp from autograd.
    Where ||q|| > eps it is (k' - <u, k'> u) / ||q|| with u = q/||q||, k' = clamped_normalise(k): orthogonal to q.
    Where ||q|| < eps it is k' / eps: its part along q is <u, k'> / eps, zero only if q and k are orthogonal. (On the
    seam ||q|| = eps the function has a kink; the value returned there is the outer one.)
    """
    q, k = _pair(q, k)
    eps = checking.real(eps, "eps", above=0)
    xp = namespace(q)
    length = norm(q)[..., None]
    target = clamped_normalise(k, eps)
    outside = length >= eps
    unit = q / xp.where(outside, length, xp.ones_like(length))
    outer = target - _dot(unit, target)[..., None] * unit
    return xp.where(outside, outer, xp.broadcast_to(target, outer.shape)) / xp.clip(length, eps, None)


# ---- radial and tangential


def split_radial(v: Any, q: Any) -> tuple[Array, Array]:
    """v = radial + tangential with radial = <v, u> u, u = q/||q||: two arrays (..., d).

    The tangential part is orthogonal to q. A step v from q changes ||q|| at first order through the radial part alone:
    ||q + v||^2 = ||q||^2 + 2 <q, v> + ||v||^2. Raises ValueError for q = 0 and widths that differ.
    """
    q, v = _pair(q, v, names=("q", "v"))
    unit = normalise(q, name="q")
    radial = _dot(v, unit)[..., None] * unit
    return radial, v - radial


# ---- distances on the sphere


def cosine_distance(a: Any, b: Any) -> Array:
    """1 - cos(a, b) = ||a/||a|| - b/||b|| ||^2 / 2, in [0, 2]: (...). Accurate for small angles. Not a metric."""
    return chord(a, b) ** 2 / 2


def chord(a: Any, b: Any) -> Array:
    """||a/||a|| - b/||b|| || = sqrt(2 - 2 cos(a, b)), the straight distance on the unit sphere, in [0, 2]: (...)."""
    a, b = _pair(a, b, names=("a", "b"))
    return norm(normalise(a, name="a") - normalise(b, name="b"))


def geodesic(a: Any, b: Any) -> Array:
    """The angle between a and b in radians, in [0, pi]: the shortest path on the unit sphere. (...).

    Computed as 2 atan2(||u - w||, ||u + w||) with the two unit vectors, which keeps full accuracy near 0 and pi, where
    the arccosine of a rounded cosine loses half the digits.
    """
    a, b = _pair(a, b, names=("a", "b"))
    u, w = normalise(a, name="a"), normalise(b, name="b")
    return 2 * namespace(u).atan2(norm(u - w), norm(u + w))


def angle_degrees(a: Any, b: Any) -> Array:
    """The angle between a and b in degrees, in [0, 180]: (...). See `geodesic`."""
    return geodesic(a, b) * (180 / math.pi)


# ---- the law of growth


def quartic_norm(start_norm: Any, *, lr: float, h: Any, step: Any) -> Array:
    """(||q_0||^4 + 2 lr^2 sum_t ||h_t||^2 + sum_t ||dq_t||^4)^(1/4): the norm after all the steps.

    start_norm (...) = ||q_0||; h (..., T) the lengths ||h_t|| of the scale-free gradients h_t = ||q_t|| grad_t; step
    (..., T) the lengths ||dq_t|| of the steps dq_t = -lr grad_t. Exact for gradient descent on any loss that depends on
    q only through its direction: ||q_(t+1)||^2 = ||q_t||^2 + lr^2 ||h_t||^2 / ||q_t||^2, squared.
    Raises ValueError for a start_norm that is not positive and for shapes of h and step that differ.
    Source: claim X5.
    """
    h, step = _vectors(h, "h"), _vectors(step, "step")
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
