"""P3's expected objectives on the full data, with gradients, fast enough for L-BFGS on two cores.

Every expected objective is one `course_lib.in_batch.Coefficients` object:

    L = sum_O [ positive l+ + (constant + inverse / pop) l- ] + grid * sum_ij pop_ij^power l-_ij,   power 0 or 1.

For the square loss the double sum is grid/2 <U^T A U, V^T B V> with two k x k Gramians (A, B the diagonal matrices of
row_counts^power and col_counts^power), so that value and gradient cost O(|O| k + (m + n) k^2) instead of O(m n k). For
the logistic loss it is computed in dense blocks of rows.

The objective is `in_batch.expected_objective`. The gradients here are an optimisation: autograd through the square form
with the two Gramians takes 3 to 4 times as long (21,208 pairs of MovieTweetings, k = 32, one thread). `check_gradient`
holds them against autograd on a part of the data; P3's experiments call it before every minimisation.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import svds
from torch import Tensor

from course_lib import checking
from course_lib.arrays import Array
from course_lib.in_batch import Coefficients, expected_coefficients, expected_objective
from course_lib.interactions import Interactions
from course_lib.losses import pair_losses

BLOCK_CELLS = 2**20  # entries of one dense block of scores: stays near the processor's cache
CHECKED_USERS = 32  # whose pairs `check_gradient` looks at
TOLERANCES = {"square": 1e-10, "logistic": 1e-5}  # of the largest entry; the logistic grid is computed in float32
Gradient = tuple[float, Tensor, Tensor]
has_mkl: Callable[[], bool] = torch.backends.mkl.is_available  # which has no types of its own
with warnings.catch_warnings():  # torch says once per process that its CSR tensors are in beta: say it here, unheard
    warnings.simplefilter("ignore")
    torch.eye(2).to_sparse_csr()


@dataclass(frozen=True)
class FullData:
    """Hold the positive set and an objective's weights, as tensors on one device.

    Parameters
    ----------
    rows, cols : Tensor of int64, shape (``|O|``,)
        The positive pairs in CSR order.
    indptr : Tensor of int64, shape (m + 1,)
        Where each row starts.
    own : Tensor, shape (``|O|``,)
        The weight of the l- of each positive.
    row_weight, col_weight : Tensor, shape (m,) and (n,)
        The two factors of the grid's weights.
    positive, grid : float
        The weight of every l+, and that of the grid.
    shape : tuple of int
        The numbers m and n.

    Examples
    --------
    The unbiased objective is the mean over all cells, so each positive weighs 1 / (m n). Its l- leaves the grid again.

    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.objectives import full_data
    >>> data = full_data("unbiased", Interactions([0, 0, 1], [0, 1, 1], n_users=2, n_items=2))
    >>> data.positive, data.grid, data.own.tolist()
    (0.25, 0.25, [-0.25, -0.25, -0.25])
    """

    rows: Tensor
    cols: Tensor
    indptr: Tensor
    own: Tensor
    row_weight: Tensor
    col_weight: Tensor
    positive: float
    grid: float
    shape: tuple[int, int]

    def check_start(self, start: Any, name: str = "start") -> None:
        """ValueError unless these are a table of users and one of items, of one width; they may hold NaN."""
        if not isinstance(start, tuple | list) or len(start) != 2:
            raise checking.refuse(start, name, "a table of users and one of items")
        users, items = (checking.as_numpy(table, name) for table in start)
        (m, n), kinds = self.shape, {users.dtype.kind, items.dtype.kind}
        if users.ndim != 2 or len(users) != m or items.shape != (n, users.shape[1]) or not kinds <= set("fiu"):
            raise ValueError(f"{name} of shape {users.shape}, {items.shape}; expected numbers ({m}, k), ({n}, k)")


def full_data(
    kind: str,
    interactions: Interactions,
    *,
    batch_size: int | None = None,
    omega: float | None = None,
    device: str = "cpu",
) -> FullData:
    """Prepare the expected objective of a batch loss on these positives.

    Parameters
    ----------
    kind : str
        The batch loss, one of ``in_batch.KINDS``.
    interactions : Interactions
        The positives.
    batch_size : int, optional
        Sets ``rho = (s - 1)/(|O| - 1)``, the omega of P3's (36). The kinds that do not depend on it may leave it out.
    omega : float, optional
        For "unbiased_omega" only.
    device : str
        Where the tensors go.

    Returns
    -------
    FullData
        The pairs and the weights, in float64.

    Raises
    ------
    ValueError
        For "in_batch" and "pos_neg" without a batch size, another kind, and an ``omega`` that does not belong to the
        kind or is not one number.

    Examples
    --------
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.objectives import full_data
    >>> data = full_data("popularity", Interactions([0, 0, 1], [0, 1, 1], n_users=2, n_items=2))
    >>> data.row_weight.tolist(), data.col_weight.tolist()  # the counts
    ([2.0, 1.0], [1.0, 2.0])
    """
    checking.instance(interactions, "interactions", Interactions)
    if shape := tuple(getattr(omega, "shape", ())):
        raise ValueError(f"omega has shape {shape}; expected one number")
    if batch_size is None:
        if kind in ("in_batch", "pos_neg"):
            raise ValueError(f"kind={kind!r} needs batch_size: its expected objective depends on (s - 1)/(|O| - 1)")
        batch_size = len(interactions)
    coefficients = expected_coefficients(
        kind, batch_size=batch_size, n_positives=len(interactions), shape=interactions.shape, omega=omega
    )
    return weighted_data(coefficients, interactions, device=device)


def weighted_data(coefficients: Coefficients, interactions: Interactions, *, device: str = "cpu") -> FullData:
    """Prepare the objective of given coefficients on these positives, in float64.

    Parameters
    ----------
    coefficients : Coefficients
        The weights of the objective, without a mask: those of "masked" are ``in_batch.expected_coefficients``.
    interactions : Interactions
        The positives.
    device : str
        Where the tensors go.

    Returns
    -------
    FullData
        The pairs and the weights.

    Raises
    ------
    ValueError
        For arguments of another kind, and for coefficients with a mask, which belong to a batch.

    Examples
    --------
    >>> from course_lib.in_batch import Coefficients
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.objectives import weighted_data
    >>> pairs = Interactions([0, 0, 1], [0, 1, 1], n_users=2, n_items=2)
    >>> weighted_data(Coefficients(positive=1, grid=0, power=0, constant=0, inverse=1), pairs).own.tolist()  # 1 / pop
    [0.5, 0.25, 0.5]
    """
    if checking.instance(coefficients, "coefficients", Coefficients).masked:
        raise ValueError("coefficients are masked; expected those of an objective, such as expected_coefficients gives")
    rows, cols = checking.instance(interactions, "interactions", Interactions).users, interactions.items
    row_counts, col_counts = (np.asarray(x, np.float64) for x in (interactions.row_counts, interactions.col_counts))
    own = float(coefficients.constant) + float(coefficients.inverse) / (row_counts[rows] * col_counts[cols])

    def tensor(array: Array) -> Tensor:
        return torch.tensor(array, device=device)

    def factor(counts: Array) -> Tensor:
        power = coefficients.grid_factor(counts)
        return tensor(np.ones_like(counts) if power is None else power)

    return FullData(
        rows=tensor(rows),
        cols=tensor(cols),
        indptr=tensor(interactions.row_starts),
        own=tensor(own),
        row_weight=factor(row_counts),
        col_weight=factor(col_counts),
        positive=float(coefficients.positive),
        grid=float(coefficients.grid),
        shape=interactions.shape,
    )


def square_gradient(users: Tensor, items: Tensor, data: FullData) -> Gradient:
    """Compute an objective and its gradient for the square loss ``l = (label - score)^2 / 2``, through two Gramians.

    Parameters
    ----------
    users, items : Tensor, shape (m, k) and (n, k)
        The embeddings.
    data : FullData
        The objective.

    Returns
    -------
    tuple of float, Tensor, Tensor
        ``L``, ``dL/dU`` and ``dL/dV``.

    Examples
    --------
    All scores are 1, so the one negative cell, (1, 0), costs 1/2. It is one of four.

    >>> import torch
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.objectives import full_data, square_gradient
    >>> data = full_data("unbiased", Interactions([0, 0, 1], [0, 1, 1], n_users=2, n_items=2))
    >>> ones = torch.ones(2, 1, dtype=torch.float64)
    >>> value, du, dv = square_gradient(ones, ones, data)
    >>> value, du.tolist(), dv.tolist()
    (0.125, [[0.0], [0.25]], [[0.25], [0.0]])
    """
    scores, gram_u, gram_v = _square_parts(users, items, data)
    du, dv = _spread(data.positive * (scores - 1) + data.own * scores, users, items, data)
    du += data.grid * data.row_weight[:, None] * (users @ gram_v)
    dv += data.grid * data.col_weight[:, None] * (items @ gram_u)
    return _square_value(scores, gram_u, gram_v, data), du, dv


def _square_parts(users: Tensor, items: Tensor, data: FullData) -> tuple[Tensor, Tensor, Tensor]:
    """Scores of the pairs (|O|,) and the two weighted Gramians (k, k)."""
    gram_u = users.T @ (data.row_weight[:, None] * users)  # (k, m) @ (m, k)
    gram_v = items.T @ (data.col_weight[:, None] * items)
    return pair_scores(users, items, data), gram_u, gram_v


def _square_value(scores: Tensor, gram_u: Tensor, gram_v: Tensor, data: FullData) -> float:
    own = data.positive * (1 - scores) ** 2 + data.own * scores**2
    return float(own.sum() / 2 + data.grid * (gram_u * gram_v).sum() / 2)


def logistic_gradient(users: Tensor, items: Tensor, data: FullData) -> Gradient:
    """Compute an objective and its gradient for the logistic loss ``l = log(1 + exp(-(2 label - 1) score))``.

    Parameters
    ----------
    users, items : Tensor, shape (m, k) and (n, k)
        The embeddings.
    data : FullData
        The objective.

    Returns
    -------
    tuple of float, Tensor, Tensor
        ``L``, ``dL/dU`` and ``dL/dV``.

    Notes
    -----
    It works in dense blocks of rows in float32. The sums and both gradients are kept in the dtype of ``users``; only
    the m n scores and their sigmoids are float32.

    Examples
    --------
    Scores of 0 cost ln 2 in every cell.

    >>> import torch
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.objectives import full_data, logistic_gradient
    >>> data = full_data("unbiased", Interactions([0, 0, 1], [0, 1, 1], n_users=2, n_items=2))
    >>> value, du, dv = logistic_gradient(torch.zeros(2, 1).double(), torch.ones(2, 1).double(), data)
    >>> round(value, 4), du.round(decimals=4).tolist()  # both positives pull user 0 up; user 1 has one of each kind
    (0.6931, [[-0.25], [0.0]])
    """
    scores = pair_scores(users, items, data)
    softplus = torch.nn.functional.softplus
    value = (data.positive * softplus(-scores) + data.own * softplus(scores)).sum()
    du, dv = _spread(data.own * torch.sigmoid(scores) - data.positive * torch.sigmoid(-scores), users, items, data)
    u32, v32, col_weight = users.float(), items.float(), data.col_weight.float()
    row_weight = data.row_weight / data.row_weight.max()  # near 1, so that float32 does not lose the small ones
    scale = data.grid * float(data.row_weight.max())
    block = max(1, BLOCK_CELLS // data.shape[1])
    grid_value, grid_du, grid_dv = users.new_zeros(()), torch.empty_like(du), torch.zeros_like(dv)
    for start in range(0, data.shape[0], block):
        part = slice(start, start + block)
        dense = u32[part] @ v32.T  # (b, k) @ (k, n) -> (b, n)
        grid_value += ((softplus(dense) @ col_weight).to(users.dtype) * row_weight[part]).sum()
        dense.sigmoid_().mul_(col_weight).mul_(row_weight[part, None].float())
        grid_du[part] = (dense @ v32).to(users.dtype)
        grid_dv += dense.T @ u32[part]
    return float(value + scale * grid_value), du + scale * grid_du, dv + scale * grid_dv


def logistic_value(users: Tensor, items: Tensor, data: FullData) -> float:
    """Compute the value of ``logistic_gradient`` alone, in half the time.

    Parameters
    ----------
    users, items : Tensor, shape (m, k) and (n, k)
        The embeddings.
    data : FullData
        The objective.

    Returns
    -------
    float
        The objective ``L``.

    Examples
    --------
    >>> import torch
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.objectives import full_data, logistic_value
    >>> data = full_data("unbiased", Interactions([0, 0, 1], [0, 1, 1], n_users=2, n_items=2))
    >>> round(logistic_value(torch.zeros(2, 1).double(), torch.ones(2, 1).double(), data), 4)
    0.6931
    """
    scores = pair_scores(users, items, data)
    softplus = torch.nn.functional.softplus
    value = (data.positive * softplus(-scores) + data.own * softplus(scores)).sum()
    u32, v32, col_weight = users.float(), items.float(), data.col_weight.float()
    row_weight = data.row_weight / data.row_weight.max()
    block = max(1, BLOCK_CELLS // data.shape[1])
    grid_value = users.new_zeros(())
    for start in range(0, data.shape[0], block):
        part = slice(start, start + block)
        grid_value += ((softplus(u32[part] @ v32.T) @ col_weight).to(users.dtype) * row_weight[part]).sum()
    return float(value + data.grid * float(data.row_weight.max()) * grid_value)


GRADIENTS: dict[str, Callable[[Tensor, Tensor, FullData], Gradient]] = {
    "square": square_gradient,
    "logistic": logistic_gradient,
}


def check_gradient(
    point_loss: str, kind: str, interactions: Interactions, *, batch_size: int | None = None, k: int = 4
) -> None:
    """Compare value and gradient of an objective with autograd through ``in_batch.expected_objective``.

    Parameters
    ----------
    point_loss : str
        "square" or "logistic".
    kind : str
        The batch loss, one of ``in_batch.KINDS``.
    interactions : Interactions
        The positives. The pairs of the first ``CHECKED_USERS`` users are looked at, with random tables, in float64.
    batch_size : int, optional
        The batch size of the objective, at most the number of those pairs, which is the default.
    k : int
        The width of the random tables.

    Raises
    ------
    FloatingPointError
        Where numbers differ by more than ``TOLERANCES``. It names the kind.

    Examples
    --------
    It says nothing where the gradients agree.

    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.objectives import check_gradient
    >>> check_gradient("square", "popularity", Interactions([0, 0, 1], [0, 1, 1], n_users=2, n_items=2))
    """
    checking.choice(point_loss, "point_loss", GRADIENTS)
    checking.instance(interactions, "interactions", Interactions)
    part = interactions.select(interactions.users < CHECKED_USERS).compact()
    size = len(part) if batch_size is None else min(batch_size, len(part))
    start = random_start(part.shape, k, np.random.default_rng(0), 0.5)
    users, items = (torch.tensor(table, requires_grad=True) for table in start)
    positive, negative = pair_losses(point_loss, users @ items.T)
    labels = torch.tensor(part.labels())
    dense = expected_objective(kind, pos_loss=positive, neg_loss=negative, labels=labels, batch_size=size)
    expected = dense, *torch.autograd.grad(dense, (users, items))
    found = GRADIENTS[point_loss](users.detach(), items.detach(), full_data(kind, part, batch_size=size))
    for ours, theirs in zip(found, expected, strict=True):
        difference, largest = float((ours - theirs).detach().abs().max()), float(theirs.detach().abs().max())
        if not difference <= TOLERANCES[point_loss] * largest:
            raise FloatingPointError(
                f"the {point_loss} objective of {kind} or its gradient differs from autograd through in_batch by "
                f"{difference:.3g}; expected at most {TOLERANCES[point_loss]:g} of {largest:.3g}"
            )


def objective_value(point_loss: str, users: Tensor, items: Tensor, data: FullData) -> float:
    """Compute the value of an objective, in float64 whatever the dtype of the tables.

    Parameters
    ----------
    point_loss : str
        "square" or "logistic". The grid of the logistic loss is computed in float32.
    users, items : Tensor, shape (m, k) and (n, k)
        The embeddings.
    data : FullData
        The objective.

    Returns
    -------
    float
        The objective ``L``.

    Raises
    ------
    ValueError
        For another loss.

    Examples
    --------
    All scores are 0, so each of the three positives costs 1/2, out of four cells.

    >>> import torch
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.objectives import full_data, objective_value
    >>> data = full_data("unbiased", Interactions([0, 0, 1], [0, 1, 1], n_users=2, n_items=2))
    >>> objective_value("square", torch.zeros(2, 1), torch.zeros(2, 1), data)
    0.375
    """
    checking.choice(point_loss, "point_loss", GRADIENTS)
    checking.instance(data, "data", FullData).check_start((users, items), "users and items")
    with torch.no_grad():
        users, items = users.double().contiguous(), items.double().contiguous()
        if point_loss == "square":
            return _square_value(*_square_parts(users, items, data), data)
        return logistic_value(users, items, data)


def pair_scores(users: Tensor, items: Tensor, data: FullData, chunk: int = 8192) -> Tensor:
    """Compute the score ``<u_i, v_j>`` of every positive pair, in CSR order.

    Parameters
    ----------
    users, items : Tensor, shape (m, k) and (n, k)
        The embeddings.
    data : FullData
        The positive pairs.
    chunk : int
        The number of pairs that are gathered at a time.

    Returns
    -------
    Tensor, shape (``|O|``,)
        The scores.

    Notes
    -----
    A sampled product where the backend has one, else in chunks.

    Examples
    --------
    >>> import torch
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.objectives import full_data, pair_scores
    >>> data = full_data("unbiased", Interactions([0, 0, 1], [0, 1, 1], n_users=2, n_items=2))
    >>> pair_scores(torch.tensor([[1.0], [2.0]]), torch.tensor([[3.0], [5.0]]), data).tolist()
    [3.0, 5.0, 10.0]
    """
    if users.is_cuda or has_mkl():
        ones = torch.ones(len(data.cols), dtype=users.dtype, device=users.device)
        sampled: Tensor = torch.sparse.sampled_addmm(_csr(data, ones), users, items.T, beta=0.0)
        return sampled.values()
    return gathered_scores(users, items, data, chunk)


def gathered_scores(users: Tensor, items: Tensor, data: FullData, chunk: int = 8192) -> Tensor:
    """Compute the scores of ``pair_scores`` with nothing but gathers: on every backend, some four times slower.

    Parameters
    ----------
    users, items : Tensor, shape (m, k) and (n, k)
        The embeddings.
    data : FullData
        The positive pairs.
    chunk : int
        The number of pairs that are gathered at a time.

    Returns
    -------
    Tensor, shape (``|O|``,)
        The scores.

    Examples
    --------
    >>> import torch
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.objectives import full_data, gathered_scores
    >>> data = full_data("unbiased", Interactions([0, 0, 1], [0, 1, 1], n_users=2, n_items=2))
    >>> gathered_scores(torch.tensor([[1.0], [2.0]]), torch.tensor([[3.0], [5.0]]), data).tolist()
    [3.0, 5.0, 10.0]
    """
    parts = zip(torch.split(data.rows, chunk), torch.split(data.cols, chunk), strict=True)
    return torch.cat([(users[rows] * items[cols]).sum(1) for rows, cols in parts])


def _csr(data: FullData, values: Tensor) -> Tensor:
    return torch.sparse_csr_tensor(data.indptr, data.cols, values, size=data.shape, check_invariants=False)


def _spread(slope: Tensor, users: Tensor, items: Tensor, data: FullData) -> tuple[Tensor, Tensor]:
    """(S V, S^T U) for the sparse matrix S of slopes on the positives."""
    if users.is_cuda:
        matrix = _csr(data, slope)
        return matrix @ items, matrix.transpose(0, 1).to_sparse_csr() @ users
    matrix = csr_array((slope.numpy(), data.cols.numpy(), data.indptr.numpy()), shape=data.shape)
    return torch.from_numpy(matrix @ items.numpy()), torch.from_numpy(matrix.T @ users.numpy())


@dataclass(frozen=True)
class Fit:
    """Hold the point at which ``minimise`` stopped.

    Parameters
    ----------
    users, items : ndarray, shape (m, k) and (n, k)
        The embeddings.
    value : float
        The objective there.
    gradient_norm : float
        The 2-norm of the gradient there.
    iterations, evaluations : int
        How many it took.
    stopped : str
        Why it stopped.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.objectives import full_data, minimise, random_start
    >>> data = full_data("unbiased", Interactions([0, 0, 1, 1], [0, 1, 0, 1], n_users=2, n_items=2))
    >>> fit = minimise("square", data, random_start((2, 2), 1, np.random.default_rng(0), 0.5))
    >>> fit.stopped, fit.gradient_norm <= 1e-7
    ('gradient norm reached', True)
    """

    users: Array
    items: Array
    value: float
    gradient_norm: float
    iterations: int
    evaluations: int
    stopped: str


def minimise(
    point_loss: str,
    data: FullData,
    start: tuple[Array, Array],
    *,
    gradient_norm: float = 1e-7,
    max_iterations: int = 2_000,
    memory: int = 10,
    progress: Callable[[int, float, float], None] | None = None,
) -> Fit:
    """Minimise an objective by L-BFGS until the 2-norm of the whole gradient ``dL/d(U, V)`` is small.

    Parameters
    ----------
    point_loss : str
        "square" or "logistic".
    data : FullData
        The objective.
    start : tuple of array_like, shape (m, k) and (n, k)
        The embeddings to start from. There is no bias and no regularisation.
    gradient_norm : float
        Stop at a gradient of at most this norm.
    max_iterations : int
        Stop after so many iterations at the latest, at least 1.
    memory : int
        The number of corrections that L-BFGS keeps.
    progress : callable, optional
        ``progress(iteration, value, gradient norm)`` is called each iteration.

    Returns
    -------
    Fit
        The point where it stopped, and why. The objective is not convex in the tables: a small gradient says that the
        point is stationary.

    Raises
    ------
    ValueError
        For another loss, a start of other shapes, and numbers out of range.
    FloatingPointError
        Where the objective is not finite at the end.

    Notes
    -----
    It is SciPy's L-BFGS-B in float64. It works on ``U' = A^(1/2) U`` and ``V' = B^(1/2) V`` with A, B the grid's
    weights: the same function in other coordinates (the identity for unbiased and pos_neg). Without that, the
    popularity weights make the problem so ill-conditioned that thousands of iterations do not finish it. The stopping
    rule looks at the gradient in the original coordinates.

    Examples
    --------
    Where every cell is positive, scores of 1 everywhere cost nothing.

    >>> import numpy as np
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.objectives import full_data, minimise, random_start
    >>> data = full_data("unbiased", Interactions([0, 0, 1, 1], [0, 1, 0, 1], n_users=2, n_items=2))
    >>> fit = minimise("square", data, random_start((2, 2), 1, np.random.default_rng(0), 0.5))
    >>> (fit.users @ fit.items.T).round(4).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    checking.choice(point_loss, "point_loss", GRADIENTS)
    checking.instance(data, "data", FullData).check_start(start)
    checking.real(gradient_norm, "gradient_norm", least=0)
    checking.whole(max_iterations, "max_iterations"), checking.whole(memory, "memory")
    start = checking.as_numpy(start[0]), checking.as_numpy(start[1])
    objective, (m, k) = GRADIENTS[point_loss], start[0].shape
    root = torch.cat([data.row_weight, data.col_weight])[:, None].sqrt()  # (m + n, 1)
    last: dict[str, Any] = {}

    def value_and_gradient(theta: Array) -> tuple[float, Array]:
        table = torch.tensor(theta, device=root.device).reshape(-1, k) / root
        value, du, dv = objective(table[:m], table[m:], data)
        gradient = torch.cat([du, dv])
        last.update(theta=theta.copy(), norm=float(gradient.norm()), value=value)
        return value, (gradient / root).reshape(-1).cpu().numpy()

    def after_step(intermediate_result: Any) -> None:
        last["iteration"] = last.get("iteration", 0) + 1
        if not np.array_equal(last["theta"], intermediate_result.x):
            value_and_gradient(intermediate_result.x)
        if progress is not None:
            progress(last["iteration"], last["value"], last["norm"])
        if last["norm"] <= gradient_norm:
            raise StopIteration

    table = torch.tensor(np.concatenate(start), dtype=torch.float64, device=root.device)
    theta = (table * root).reshape(-1).cpu().numpy()
    options = {"maxcor": memory, "ftol": 0.0, "gtol": 0.0, "maxiter": max_iterations, "maxfun": 2 * max_iterations}
    result = minimize(value_and_gradient, theta, jac=True, method="L-BFGS-B", callback=after_step, options=options)
    value_and_gradient(result.x)
    if not math.isfinite(last["value"] + last["norm"]):
        raise FloatingPointError(f"the objective became {last['value']}; expected a start whose entries are finite")
    stopped = "gradient norm reached" if last["norm"] <= gradient_norm else str(result.message)
    table = result.x.reshape(-1, k) / root.cpu().numpy()
    return Fit(table[:m], table[m:], last["value"], last["norm"], last.get("iteration", 0), int(result.nfev), stopped)


def random_start(shape: tuple[int, int], k: int, rng: np.random.Generator, scale: float) -> tuple[Array, Array]:
    """Draw two tables with independent normal entries.

    Parameters
    ----------
    shape : tuple of int
        The numbers m and n of users and items.
    k : int
        The width.
    rng : numpy.random.Generator
        Draws the entries.
    scale : float
        Their standard deviation.

    Returns
    -------
    tuple of ndarray, shape (m, k) and (n, k)
        The tables of users and items.

    Raises
    ------
    ValueError
        For sizes that are no whole numbers of at least 1, a negative ``scale``, and an ``rng`` that is no Generator.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.training.objectives import random_start
    >>> users, items = random_start((2, 3), 4, np.random.default_rng(0), scale=0.1)
    >>> users.shape, items.shape
    ((2, 4), (3, 4))
    """
    m, n = (checking.whole(size, f"shape[{at}]") for at, size in enumerate(shape))
    scale, k = checking.real(scale, "scale", least=0), checking.whole(k, "k")
    checking.generator(rng)
    return scale * rng.standard_normal((m, k)), scale * rng.standard_normal((n, k))


def closed_form(kind: str, interactions: Interactions, k: int) -> tuple[Array, Array]:
    """Compute a global minimiser of the square loss, for the kinds of which one is known.

    Parameters
    ----------
    kind : str
        "unbiased" or "popularity".
    interactions : Interactions
        The positives.
    k : int
        The width, from 1 to min(m, n) - 1.

    Returns
    -------
    tuple of ndarray, shape (m, k) and (n, k)
        The embeddings of users and items.

    Raises
    ------
    ValueError
        For another kind, and for a ``k`` out of range.

    Notes
    -----
    unbiased: the truncated SVD of Y. popularity: ``R^(-1/2) SVD_k(R^(-1/2) Y C^(-1/2)) C^(-1/2)`` with R, C the row
    and column counts (claim X18). An empty row or column has no loss there and gets the zero vector. The scores of
    the other rows and columns are the only best ones where the k-th singular value is above the next; the tables are so
    up to any gauge.

    Examples
    --------
    A matrix of ones has rank 1, so one dimension gives it back.

    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.objectives import closed_form
    >>> users, items = closed_form("unbiased", Interactions([0, 0, 1, 1], [0, 1, 0, 1], n_users=2, n_items=2), 1)
    >>> (users @ items.T).round(6).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    if kind not in ("unbiased", "popularity"):
        raise ValueError(f"kind is {kind!r}; a closed form is known for 'unbiased' and 'popularity' only")
    labels = checking.instance(interactions, "interactions", Interactions).matrix.astype(np.float64)
    checking.whole(k, "k", 1, min(labels.shape) - 1, why="one less than the smaller side")
    left, right = np.ones(labels.shape[0]), np.ones(labels.shape[1])
    if kind == "popularity":
        left, right = (_inverse_root(counts) for counts in (interactions.row_counts, interactions.col_counts))
    start = np.random.default_rng(0)  # no seed: SciPy from 1.15 on cannot use one with NumPy before 2.2 (Colab)
    u, sigma, vt = svds(diags_array(left) @ labels @ diags_array(right), k=k, random_state=start)
    root = np.sqrt(sigma)
    return left[:, None] * u * root, right[:, None] * vt.T * root


def _inverse_root(counts: Array) -> Array:
    counts = np.asarray(counts, dtype=np.float64)
    return np.where(counts > 0, np.maximum(counts, 1) ** -0.5, 0.0)
