"""Estimates of the Gramian G = (1/n) sum_i u_i u_i' of embeddings that move while they are trained (P4, Section 3).

All three have the same use: `update(indices, embeddings)` takes the rows of a batch and returns the new estimate, which
`estimate` keeps. With `partners` p (b, k) they estimate (1/n) sum_i u_i p_i' instead, for low-rank priors (P4, Appendix
C).

| class | estimate | memory | bias |
|---|---|---|---|
| `BatchGramian` | of this batch alone | none | none |
| `SAGram` | of a cache of all examples, corrected by the batch | O(n d) | none for beta = 1 |
| `SOGram` | a running average, old batches decay | O(d^2) | lags behind a moving G |

What they keep is a constant for autograd, in float64 whatever the embeddings are: alpha times a batch is lost beside an
average of 8 bits. Estimates come in the embeddings' dtype, and in float32 for float16 and bfloat16. A batch that holds
NaN or infinity, here or in another process, is refused, and everything stays as it was. `state_dict` and
`load_state_dict` carry an estimator over a restart, bit for bit.

A batch stands for a draw of examples, each with the same probability; it is averaged, not summed (P4's Section 4.1 says
"a sum": with it SOGram would converge to b G; it fits SAGram with beta = 1/n, which is b/n here). Batches that are
spread over processes need `processes`.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Protocol

import numpy as np

from course_lib import arrays, checking
from course_lib.arrays import Array, as_index, is_exact, is_torch, shape_of

GIGABYTE = 2**30


class Processes(Protocol):
    """What an estimator needs of the other processes of a run, each of which has a part of the batch.

    Implement the two methods and pass the object as ``processes`` to an estimator. ``ALONE``, the default, stands for a
    run of one process.

    Examples
    --------
    >>> from course_lib import gramians
    >>> gramians.ALONE.total(3.0)
    3.0
    """

    def total(self, array: Array) -> Array:
        """The sum of the processes' arrays, all of one shape."""

    def concatenated(self, array: Array) -> Array:
        """The processes' arrays one after another, along the first axis; equally many rows each."""


class _Alone:
    """One process: there is nobody else."""

    def __repr__(self) -> str:
        return "ALONE"

    def total(self, array: Array) -> Array:
        return array

    def concatenated(self, array: Array) -> Array:
        return array


ALONE = _Alone()


class BatchGramian:
    """The Gramian of the latest batch: unbiased, with variance ``sigma^2 / b`` for ``b`` independent draws.

    ``sigma^2 = E ||u u' - G||_F^2`` is the variance of one draw. Draws without replacement vary less.

    Parameters
    ----------
    processes : Processes, optional
        The other processes of the run, by default none.

    Raises
    ------
    ValueError
        For the estimate before the first update, and in ``update`` for rows that do not fit and for NaN and infinity.

    Notes
    -----
    Source: P4, equation (15).

    Examples
    --------
    >>> from course_lib import gramians
    >>> estimator = gramians.BatchGramian()
    >>> estimator.update(None, [[2, 0], [0, 4]]).tolist()
    [[2.0, 0.0], [0.0, 8.0]]
    """

    _KEPT: ClassVar[tuple[str, ...]] = ("estimate",)  # attributes, without their underscore, that make up a state

    def __init__(self, *, processes: Processes = ALONE) -> None:
        self.processes = processes
        self._estimate: Array | None = None
        self._partnered = False

    @property
    def estimate(self) -> Array:
        """(d, d), or (d, k) with partners. ValueError before the first update."""
        if self._estimate is None:
            raise ValueError("there is no estimate before the first update(indices, embeddings)")
        return self._estimate

    def update(self, indices: Any, embeddings: Any, partners: Any = None) -> Array:
        """indices (b,): which examples (not used here, so None will do); embeddings (b, d); partners (b, k) or None.

        Returns the new estimate.
        """
        rows, others = _rows(indices, embeddings, partners)
        self._estimate = _shown(_mean_outer(rows, others, self.processes), rows)
        return self._estimate

    def state_dict(self) -> dict[str, Any]:
        """What the next estimate depends on, by name: numbers, and arrays of the kind of the embeddings."""
        return {"estimator": type(self).__name__, **{name: getattr(self, f"_{name}") for name in self._KEPT}}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on where `state_dict` was called. ValueError for the state of another kind or size of estimator."""
        ours, theirs = self._sizes(), {name: state_dict.get(name) for name in ("estimator", *self._KEPT)}
        if theirs.pop("estimator") != type(self).__name__ or set(state_dict) != {"estimator", *self._KEPT}:
            raise ValueError(f"state_dict holds {sorted(state_dict)}; expected those of {type(self).__name__}")
        for name, shape in ours.items():
            found = None if theirs[name] is None else shape_of(theirs[name])
            if found is not None and found[: len(shape)] != shape:
                raise ValueError(f"state_dict[{name!r}] has shape {found}; expected {shape}")
        for name, value in theirs.items():
            setattr(self, f"_{name}", arrays.copied(value))

    def _check_partners(self, partners: Any, others: Array, kept: Array | None) -> None:
        """ValueError for partners of another width than before, and for partners that come and go."""
        if kept is None:
            self._partnered = partners is not None
        elif self._partnered != (partners is not None):
            raise ValueError("partners are given in some batches and not in others; expected in all, or in none")
        elif shape_of(others)[1] != shape_of(kept)[1]:
            raise ValueError(f"partners has shape {shape_of(others)}; expected (b, {shape_of(kept)[1]}), as before")

    def _sizes(self) -> dict[str, tuple[int, ...]]:
        """The first axes of the arrays that a state holds, where they are known."""
        return {}


class SOGram(BatchGramian):
    """Stochastic online Gramian: a running average in which old batches decay.

    ``G_hat <- (1 - alpha) G_hat + alpha (mean of u u' over the batch)``, from 0.

    Parameters
    ----------
    d : int
        The width of the embeddings.
    alpha : float or callable
        The rate, with ``0 < alpha <= 1``; 1 is batch sampling. A function of ``t = 1, 2, ...`` gives ``alpha_t``.
    correct_start : bool, optional
        Whether to divide the estimate by the weight that the batches have so far, ``1 - (1 - alpha)^t`` for a constant
        alpha. P4 does not divide; without it the first estimates are too small by that factor.
    processes : Processes, optional
        The other processes of the run, by default none.

    Raises
    ------
    ValueError
        For a rate outside (0, 1], and in ``update`` for rows that do not fit and for NaN and infinity.

    Notes
    -----
    Without partners the estimate is positive semidefinite, as a sum of positive multiples of ``u u'``. Partners of one
    width are given in every update, or in none. Source: P4, equation (11) and Algorithm 2.

    Examples
    --------
    The true Gramian is 4. The plain estimate comes up from 0, the corrected one is right from the first batch on:

    >>> from course_lib import gramians
    >>> plain, corrected = gramians.SOGram(1, 0.5), gramians.SOGram(1, 0.5, correct_start=True)
    >>> [float(plain.update(None, [[2.0]])[0, 0]) for _ in range(3)]
    [2.0, 3.0, 3.5]
    >>> [float(corrected.update(None, [[2.0]])[0, 0]) for _ in range(3)]
    [4.0, 4.0, 4.0]
    """

    _KEPT = ("estimate", "steps", "weight", "average", "partnered")

    def __init__(self, d: int, alpha: Any, *, correct_start: bool = False, processes: Processes = ALONE) -> None:
        super().__init__(processes=processes)
        self.d = checking.whole(d, "d")
        self.alpha = alpha if callable(alpha) else _share(alpha, "alpha")
        self.correct_start = correct_start
        self._steps = 0
        self._weight: Any = 0
        self._average: Array | None = None

    @property
    def steps(self) -> int:
        """How many batches there were."""
        return self._steps

    @property
    def weight(self) -> Any:
        """That of all batches so far, together."""
        return self._weight

    def update(self, indices: Any, embeddings: Any, partners: Any = None) -> Array:
        rows, others = _rows(indices, embeddings, partners, self.d)
        check_kind(rows, self._average)
        self._check_partners(partners, others, self._average)
        batch = _mean_outer(rows, others, self.processes)
        alpha = _share(self.alpha(self._steps + 1), "alpha(t)") if callable(self.alpha) else self.alpha
        alpha = arrays.number(alpha, batch, "alpha")
        self._steps += 1
        self._weight = (1 - alpha) * self._weight + alpha
        self._average = alpha * batch if self._average is None else (1 - alpha) * self._average + alpha * batch
        self._estimate = _shown(self._average / self._weight if self.correct_start else self._average, rows)
        return self._estimate

    def _sizes(self) -> dict[str, tuple[int, ...]]:
        return {"estimate": (self.d,), "average": (self.d,)}


class SAGram(BatchGramian):
    """Stochastic average Gramian: a cache of all ``n`` embeddings, corrected by the batch.

    ``G_hat = S_hat + beta (mean of what changed)``. The cache starts with ``start(embeddings)``, or at zero.

    Parameters
    ----------
    n : int
        The number of examples.
    d : int
        The width of the embeddings.
    beta : float
        In (0, 1]. With ``b/n`` for batches of ``b`` different examples, the estimate is the Gramian of the cache that
        this batch has renewed (P4's ``1/n`` for one example). With 1 it is unbiased. Any other value is allowed. Beyond
        ``b/n``, or with an example drawn twice, the estimate may leave the cone of positive semidefinite matrices.
    project : bool, optional
        Whether to take the nearest matrix of the cone. The estimate is then no longer unbiased. With partners, where
        there is no cone, nothing is projected.
    budget : int, optional
        The most bytes that the cache may take, 2 GiB by default.
    processes : Processes, optional
        The other processes of the run, by default none.

    Raises
    ------
    ValueError
        For a beta outside (0, 1], and in ``update`` for rows that do not fit and for NaN and infinity.
    MemoryError
        For a cache beyond ``budget``, before anything is allocated.

    Notes
    -----
    The sum ``S_hat`` is kept in float64, whatever the embeddings are. Source: P4, equation (9) and Algorithm 1.

    Examples
    --------
    Two examples with embedding 1 are cached. One of them has moved to 3, so that the true Gramian is
    ``(9 + 1) / 2``. With ``beta = b/n`` the estimate is just that; with 1 it assumes that the other example has moved
    as far:

    >>> from course_lib import gramians
    >>> for beta in (0.5, 1):
    ...     estimator = gramians.SAGram(n=2, d=1, beta=beta)
    ...     estimator.start([[1.0], [1.0]])
    ...     float(estimator.update([0], [[3.0]])[0, 0])
    5.0
    9.0
    """

    _KEPT = ("estimate", "cache", "sum", "partnered")

    def __init__(
        self,
        n: int,
        d: int,
        beta: Any,
        *,
        project: bool = False,
        budget: int = 2 * GIGABYTE,
        processes: Processes = ALONE,
    ) -> None:
        super().__init__(processes=processes)
        self.n, self.d = checking.whole(n, "n"), checking.whole(d, "d")
        self.beta, self.project, self.budget = _share(beta, "beta"), project, budget
        self._cache: Array = None  # until the first batch, which says of what kind it is
        self._sum: Array = None
        check_budget(self.n, self.d, itemsize=4, budget=budget)

    def start(self, embeddings: Any, partners: Any = None) -> None:
        """Fills the cache: embeddings (n, d) of all examples, partners (n, k). Source: Algorithm 1, lines 4-5."""
        rows, others = _rows(np.arange(self.n), embeddings, partners, self.d)
        _check_finite(_outer(_accurate(rows), _accurate(others)), rows, others)
        self._check_partners(partners, others, None)
        self._allocate(rows)
        self._cache[...] = rows
        self._sum = _outer(_accurate(rows), _accurate(others))

    def update(self, indices: Any, embeddings: Any, partners: Any = None) -> Array:
        """The estimate from this batch, and then the cache renewed by it: `look`, then `renew`."""
        self.look(indices, embeddings, partners)
        self.renew(indices, embeddings, partners)
        return self.estimate

    def look(self, indices: Any, embeddings: Any, partners: Any = None) -> Array:
        """The estimate from this batch; the cache stays. Source: Algorithm 1, line 8."""
        indices, rows, others = self._gathered(indices, embeddings, partners)
        before, precise = _accurate(self._cache[indices]), _accurate(others)
        changed = _outer(_accurate(rows), precise) - _outer(before, before if partners is None else precise)
        _check_finite(changed, rows, others)
        beta = arrays.number(self.beta, changed, "beta")
        estimate = self._sum / self.n + changed * beta / shape_of(rows)[0]
        self._estimate = _shown(nearest_psd(estimate) if self.project and partners is None else estimate, rows)
        return self._estimate

    def renew(self, indices: Any, embeddings: Any, partners: Any = None) -> None:
        """The cache and its sum with the embeddings of this batch. An example that is drawn twice counts once.

        Source: Algorithm 1, lines 11-12.
        """
        indices, rows, others = self._gathered(indices, embeddings, partners)
        _, first = np.unique(indices, return_index=True)
        indices, rows, others = indices[first], rows[first], others[first]
        before, precise = _accurate(self._cache[indices]), _accurate(others)
        changed = _outer(_accurate(rows), precise) - _outer(before, before if partners is None else precise)
        _check_finite(changed, rows, others)
        self._sum = self._sum + changed
        self._cache[indices] = rows

    def drift(self) -> float:
        """How far rounding has taken the running sum from the sum of the cache: relative, in the Frobenius norm.

        NaN for a cache of zeros. ValueError with partners, which are not kept.
        """
        if self._partnered:
            raise ValueError("there is no drift with partners: they are not kept, so the sum cannot be made anew")
        if self._cache is None:
            raise ValueError("there is no cache before start(embeddings) or the first update(indices, embeddings)")
        exact = _accurate(_outer(_accurate(self._cache), _accurate(self._cache)))
        return float(_norm(self._sum - exact) / _norm(exact))

    def _gathered(self, indices: Any, embeddings: Any, partners: Any) -> tuple[np.ndarray, Array, Array]:
        rows, others = _rows(indices, embeddings, partners, self.d)
        check_kind(rows, self._cache)
        self._check_partners(partners, others, self._sum)
        if self._cache is None:
            self._allocate(rows)
            self._sum = _accurate(_outer(rows[:1] * 0, others[:1] * 0))
        everywhere = self.processes.concatenated(as_index(_places(indices, self.n), rows, "indices"))
        rows = self.processes.concatenated(rows)
        others = rows if partners is None else self.processes.concatenated(others)
        return checking.as_numpy(everywhere), rows, others

    def _allocate(self, rows: Array) -> None:
        itemsize = rows.element_size() if is_torch(rows) else rows.dtype.itemsize
        check_budget(self.n, self.d, itemsize=itemsize, budget=self.budget)
        if is_torch(rows):
            self._cache = rows.new_zeros((self.n, self.d))
        else:
            self._cache = np.zeros((self.n, self.d), dtype=rows.dtype)

    def _sizes(self) -> dict[str, tuple[int, ...]]:
        return {"estimate": (self.d,), "cache": (self.n, self.d), "sum": (self.d,)}


def check_budget(n: int, d: int, *, itemsize: int, budget: int) -> None:
    """Check that a cache of ``n`` embeddings of width ``d`` fits into a budget.

    Parameters
    ----------
    n : int
        The number of embeddings.
    d : int
        Their width.
    itemsize : int
        The bytes of one number.
    budget : int
        The most bytes that the cache may take.

    Raises
    ------
    MemoryError
        For a cache that is larger than ``budget``.

    Examples
    --------
    >>> from course_lib.gramians import estimators
    >>> estimators.check_budget(1000, 8, itemsize=4, budget=1000)
    Traceback (most recent call last):
        ...
    MemoryError: SAGram would cache 1,000 embeddings of width 8: 32,000 bytes, and budget is 1,000. ...
    """
    size = n * d * itemsize
    if budget != math.inf:
        checking.real(budget, "budget")
    if size > budget:
        raise MemoryError(
            f"SAGram would cache {n:,} embeddings of width {d}: {size:,} bytes, and budget is {budget:,}. "
            f"Raise budget, or use SOGram, which keeps {d * d * itemsize:,} bytes"
        )


def nearest_psd(matrix: Any) -> Array:
    """Return the positive semidefinite matrix nearest to a symmetric one in the Frobenius norm.

    Its negative eigenvalues become 0.

    Parameters
    ----------
    matrix : array_like, shape (..., d, d)
        The matrix. Of one that is not symmetric, the symmetric part is taken.

    Returns
    -------
    array, shape (..., d, d)
        The nearest matrix of the cone.

    Raises
    ------
    ValueError
        For a matrix that is not square, for NaN and infinity, and for Fractions: eigenvalues are irrational in general.

    Examples
    --------
    The eigenvalues of this matrix are 1 and -1:

    >>> from course_lib import gramians
    >>> gramians.nearest_psd([[0, 1], [1, 0]]).round(4).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    matrix = arrays.as_real(matrix, "matrix")
    if len(matrix.shape) < 2 or matrix.shape[-1] != matrix.shape[-2]:
        raise ValueError(f"matrix has shape {shape_of(matrix)}; expected (..., d, d)")
    arrays.check_finite(matrix, "matrix")
    linalg = arrays.namespace(matrix).linalg
    values, vectors = linalg.eigh((matrix + matrix.swapaxes(-1, -2)) / 2)
    return (vectors * values.clip(0)[..., None, :]) @ vectors.swapaxes(-1, -2)


def _rows(indices: Any, embeddings: Any, partners: Any, width: int | None = None) -> tuple[Array, Array]:
    """(b, d) and (b, k), as constants."""
    rows = arrays.detached(arrays.as_table(embeddings, "embeddings"))
    if len(rows.shape) != 2 or (width is not None and shape_of(rows)[1] != width):
        raise ValueError(f"embeddings has shape {shape_of(rows)}; expected (b, {'d' if width is None else width})")
    others = (
        rows
        if partners is None
        else arrays.detached(arrays.as_table(arrays.like(partners, rows, "partners"), "partners"))
    )
    lengths = {"embeddings": shape_of(rows)[0], "partners": shape_of(others)[0]}
    if indices is not None:
        lengths["indices"] = len(indices)
    if len(set(lengths.values())) > 1:
        raise ValueError(f"the batch has {lengths}; expected one row for each index")
    return rows, others


def _places(indices: Any, n: int) -> np.ndarray:
    if indices is None:
        raise ValueError(f"indices is None; expected integers from 0 to {n - 1}, which say what to renew in the cache")
    places = checking.as_numpy(indices, "indices")
    if places.ndim != 1 or places.dtype.kind not in "iu":
        raise ValueError(f"indices must be integers from 0 to {n - 1}, shape (b,), but they are {places.dtype}")
    if (places < 0).any() or (places >= n).any():
        raise ValueError(
            f"indices must be integers from 0 to {n - 1}, "
            f"but they are {places.dtype} from {places.min()} to {places.max()}"
        )
    return places


def _outer(left: Array, right: Array) -> Array:
    """sum_i left_i right_i': (b, d), (b, k) -> (d, k)."""
    return left.swapaxes(-1, -2) @ right


def _mean_outer(rows: Array, others: Array, processes: Processes) -> Array:
    """The mean of row_i other_i' over the batch of all processes, in float64; ValueError where it is not finite."""
    total = _outer(_accurate(rows), _accurate(others))
    if processes is ALONE:
        mean = total / shape_of(rows)[0]
    else:
        count = arrays.like(np.array([shape_of(rows)[0]]), total, "count")
        mean = processes.total(total) / processes.total(count)
    _check_finite(mean, rows, others)
    return mean


def _check_finite(product: Array, rows: Array, others: Array) -> None:
    """ValueError where the rows are not finite, which only their product is searched for: d k numbers, not b d."""
    if arrays.all_finite(product):
        return
    arrays.check_finite(rows, "embeddings")
    arrays.check_finite(others, "partners")
    raise ValueError("another process has NaN or infinity in its embeddings; every entry must be finite")


def check_kind(rows: Array, kept: Array | None) -> None:
    """Check that an estimator gets arrays of the library with which it began.

    Parameters
    ----------
    rows : array
        The embeddings of a batch.
    kept : array or None
        What the estimator keeps of the batches before, None before the first.

    Raises
    ------
    ValueError
        For torch tensors after NumPy arrays, and the other way round.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from course_lib.gramians import estimators
    >>> estimators.check_kind(torch.ones(1, 2), np.ones((2, 2)))
    Traceback (most recent call last):
        ...
    ValueError: embeddings are torch tensors, but the batches before were NumPy arrays; expected one kind
    """
    if kept is not None and is_torch(rows) != is_torch(kept):
        was, now = ("torch tensors" if is_torch(array) else "NumPy arrays" for array in (kept, rows))
        raise ValueError(f"embeddings are {now}, but the batches before were {was}; expected one kind")


def _shown(estimate: Array, rows: Array) -> Array:
    """The estimate in the embeddings' dtype; float32 for those of 16 bits, whose rounding would be its error."""
    return arrays.like(estimate, arrays.at_least_single(rows[:1]), "estimate")


def _accurate(array: Array) -> Array:
    """float64 (exact arrays stay). No autocast touches it, and a sum of many small changes does not drift."""
    if is_exact(array):
        return array
    return array.double() if is_torch(array) else array.astype(np.float64)


def _norm(matrix: Array) -> Any:
    return arrays.namespace(matrix).linalg.norm(matrix)


def _share(value: Any, name: str) -> Any:
    checking.share(value, name)
    return value  # as it was given: a Fraction stays exact
