"""A stand-in for processors that nobody can emulate here: random inputs move a little, singular vectors turn.

Another processor sums in another order, which moves results by rounding, and its LAPACK may return other signs of
singular and eigenvectors. `install` does both on purpose, and stronger:

- floating-point draws of `numpy.random.default_rng` and of torch are multiplied by 1 + size or 1 - size, as the last
  bit of each says: so the same draw moves the same way, in whatever portions it is drawn, and a run can be repeated.
  Where a type is coarser than `size` (float32), its own eps takes the place of `size`;
- singular values and eigenvalues move in the same way (not torch's, which may have a gradient), and every second
  singular vector or eigenvector changes its sign.

Integers, permutations and choices stay: they are exact on every processor.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

FLOATS = ("random", "uniform", "standard_normal", "normal", "lognormal", "exponential", "standard_exponential", "gamma")
FLOATS += ("standard_gamma", "beta", "laplace", "logistic", "gumbel", "pareto", "power", "weibull", "rayleigh")
BITS = {2: np.int16, 4: np.int32, 8: np.int64}


def moved(x: Any, size: float) -> Any:
    """x (1 + size) or x (1 - size) by the last bit of each number; a number stays where it would pass an integer.

    Arrays and scalars of any shape; what is not real floating-point is returned as it is.
    """
    values = np.asarray(x)
    if values.dtype.kind != "f" or values.dtype.itemsize not in BITS:
        return x
    signs = 1 - 2 * (np.ascontiguousarray(values).reshape(-1).view(BITS[values.dtype.itemsize]) & 1)
    step = max(size, float(np.finfo(values.dtype).eps))
    new = (values * (1 + step * signs.reshape(values.shape))).astype(values.dtype)
    new = np.where(np.floor(new) == np.floor(values), new, values)
    return new if isinstance(x, np.ndarray) else type(x)(new)


def moved_tensor(x: Any, size: float) -> Any:
    """`moved` for a torch tensor, in place; gradients are not asked."""
    if x.is_floating_point() and x.device.type == "cpu" and x.element_size() in (4, 8):
        x.detach().copy_(x.new_tensor(moved(x.detach().numpy(), size)))
    return x


def install(size: float) -> None:
    """Moves what this process draws and decomposes from now on; torch and SciPy when they are imported."""
    np.random.default_rng = _nudged_default_rng(np.random.default_rng, size)
    _turn_linalg(np.linalg, size)
    later = {
        "scipy.linalg": lambda module: _turn_linalg(module, size),
        "scipy.sparse.linalg": lambda module: _turn_linalg(module, size, svd="svds", eigh="eigsh"),
        "torch": lambda module: _nudge_torch(module, size),
    }
    sys.meta_path.insert(0, _AfterImport(later))


class _AfterImport(importlib.abc.MetaPathFinder):
    """Calls a function on a module when it has been imported for the first time."""

    def __init__(self, later: dict[str, Callable[[ModuleType], None]]) -> None:
        self.later = later

    def find_spec(
        self, name: str, path: Any, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in self.later:
            return None
        change = self.later.pop(name)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            change(module)

        vars(spec.loader)["exec_module"] = exec_module
        return spec


# ---- draws


def _nudged_default_rng(
    original: Callable[..., np.random.Generator], size: float
) -> Callable[..., np.random.Generator]:
    class Nudged(np.random.Generator):
        """A generator whose floating-point draws are moved."""

        def __reduce__(self) -> tuple[Any, ...]:
            return np.random.default_rng, (self.bit_generator,)

    for name in FLOATS:
        setattr(Nudged, name, _moving(getattr(np.random.Generator, name), size))

    def default_rng(seed: Any = None) -> np.random.Generator:
        return seed if isinstance(seed, Nudged) else Nudged(original(seed).bit_generator)

    return default_rng


def _moving(draw: Callable[..., Any], size: float) -> Callable[..., Any]:
    def method(self: np.random.Generator, *args: Any, **named: Any) -> Any:
        drawn = moved(draw(self, *args, **named), size)
        if named.get("out") is None:
            return drawn
        named["out"][...] = drawn
        return named["out"]

    return method


def _nudge_torch(torch: ModuleType, size: float) -> None:
    for name in ("randn", "rand", "normal", "randn_like", "rand_like"):
        setattr(torch, name, _moving_tensors(getattr(torch, name), torch, size))
    for name in ("normal_", "uniform_", "exponential_", "log_normal_"):
        setattr(torch.Tensor, name, _moving_tensors(getattr(torch.Tensor, name), torch, size))
    _turn_linalg(torch.linalg, size)


def _moving_tensors(draw: Callable[..., Any], torch: ModuleType, size: float) -> Callable[..., Any]:
    def drawn(*args: Any, **named: Any) -> Any:
        with torch.no_grad():
            return moved_tensor(draw(*args, **named), size)

    return drawn


# ---- decompositions


def _turn_linalg(linalg: ModuleType, size: float, *, svd: str = "svd", eigh: str = "eigh") -> None:
    setattr(linalg, svd, _turned_svd(getattr(linalg, svd), size))
    setattr(linalg, eigh, _turned_eigh(getattr(linalg, eigh), size))


def _signs(like: Any, number: int) -> Any:
    """(number,) of +1, -1, +1, ... of the kind of `like`: +1 first, so that a lone vector keeps its sign."""
    signs = 1.0 - 2.0 * (np.arange(number) % 2)
    return signs.astype(like.dtype) if isinstance(like, np.ndarray) else like.new_tensor(signs)


def _moved_any(x: Any, size: float) -> Any:
    return moved(x, size) if isinstance(x, np.ndarray) else x


def _turned_svd(svd: Callable[..., Any], size: float) -> Callable[..., Any]:
    def turned(*args: Any, **named: Any) -> Any:
        found = svd(*args, **named)
        if not isinstance(found, tuple) or any(part is None for part in found):
            return found
        u, s, vt = found
        u, vt = u * _signs(u, u.shape[-1]), vt * _signs(vt, vt.shape[-2])[:, None]
        return _like(found, (u, _moved_any(s, size), vt))

    return turned


def _turned_eigh(eigh: Callable[..., Any], size: float) -> Callable[..., Any]:
    def turned(*args: Any, **named: Any) -> Any:
        found = eigh(*args, **named)
        if not isinstance(found, tuple):
            return found
        values, vectors = found
        return _like(found, (_moved_any(values, size), vectors * _signs(vectors, vectors.shape[-1])))

    return turned


def _like(found: tuple[Any, ...], parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """`parts` as the same kind of named tuple."""
    if type(found) is tuple:
        return parts
    return type(found)(*parts) if hasattr(found, "_fields") else type(found)(parts)
