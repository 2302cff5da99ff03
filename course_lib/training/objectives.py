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
    """The positive set and an objective's weights, as tensors on one device.

    rows, cols (|O|,) int64 in CSR order; indptr (m + 1,); own (|O|,) the weight of each positive's l-;
    row_weight (m,), col_weight (n,) the two factors of the grid's weights; positive, grid: the two scalars.
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


def full_data(
    kind: str,
    interactions: Interactions,
    *,
    batch_size: int | None = None,
    omega: float | None = None,
    device: str = "cpu",
) -> FullData:
    """The expected objective of batch loss `kind` (of `in_batch.KINDS`) at `batch_size` on these positives.

    batch_size sets rho = (s - 1)/(|O| - 1), the omega of P3's (36); the kinds that do not depend on it may leave it
    out.
    omega: for "unbiased_omega" only.
    """
    if batch_size is None:
        if kind in ("in_batch", "pos_neg"):
            raise ValueError(f"kind={kind!r} needs batch_size: its expected objective depends on (s - 1)/(|O| - 1)")
        batch_size = len(interactions)
    coefficients = expected_coefficients(
        kind, batch_size=batch_size, n_positives=len(interactions), shape=interactions.shape, omega=omega
    )
    return weighted_data(coefficients, interactions, device=device)


def weighted_data(coefficients: Coefficients, interactions: Interactions, *, device: str = "cpu") -> FullData:
    """The same for coefficients at hand, in float64."""
    rows, cols = interactions.users, interactions.items
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
    """(L, dL/dU, dL/dV) for l = (label - score)^2 / 2 through two Gramians; users (m, k), items (n, k)."""
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
    """(L, dL/dU, dL/dV) for l = log(1 + exp(-(2 label - 1) score)), dense blocks of rows in float32.

    The sums and both gradients are kept in the dtype of `users`; only the m n scores and their sigmoids are float32.
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
    """L of `logistic_gradient` alone, in half the time."""
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
    """Holds value and gradient of an objective against autograd through `in_batch.expected_objective`.

    On the pairs of the first CHECKED_USERS users and random tables, in float64. FloatingPointError names the kind whose
    numbers differ by more than TOLERANCES.
    """
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
    """The value alone, computed in float64 whatever the dtype of the tables."""
    checking.choice(point_loss, "point_loss", GRADIENTS)
    with torch.no_grad():
        users, items = users.double().contiguous(), items.double().contiguous()
        if point_loss == "square":
            return _square_value(*_square_parts(users, items, data), data)
        return logistic_value(users, items, data)


def pair_scores(users: Tensor, items: Tensor, data: FullData, chunk: int = 8192) -> Tensor:
    """<u_i, v_j> of every positive pair in CSR order: (|O|,).

    Sampled product where the backend has one, else in chunks.
    """
    if users.is_cuda or has_mkl():
        ones = torch.ones(len(data.cols), dtype=users.dtype, device=users.device)
        sampled: Tensor = torch.sparse.sampled_addmm(_csr(data, ones), users, items.T, beta=0.0)
        return sampled.values()
    return gathered_scores(users, items, data, chunk)


def gathered_scores(users: Tensor, items: Tensor, data: FullData, chunk: int = 8192) -> Tensor:
    """The same as `pair_scores` with nothing but gathers: works on every backend, some four times slower."""
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
    """A minimiser found: embeddings, value, 2-norm of the gradient, iterations, evaluations, why it stopped."""

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
    """L-BFGS (SciPy, float64) until the 2-norm of the whole gradient dL/d(U, V) is at most `gradient_norm`.

    start: (users (m, k), items (n, k)), no bias, no regularisation. The method works on U' = A^1/2 U and V' = B^1/2 V
    with A, B the grid's weights: the same function in other coordinates (the identity for unbiased and pos_neg).
    Without that, the popularity weights make the problem so ill-conditioned that thousands of iterations do not finish
    it. The stopping rule looks at the gradient in the original coordinates. progress(iteration, value, gradient norm)
    is called each iteration. FloatingPointError where the objective is not finite at the end.
    """
    objective, (m, k) = GRADIENTS[checking.choice(point_loss, "point_loss", GRADIENTS)], start[0].shape
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
    """(users (m, k), items (n, k)) with independent normal entries of standard deviation `scale`."""
    return scale * rng.standard_normal((shape[0], k)), scale * rng.standard_normal((shape[1], k))


def closed_form(kind: str, interactions: Interactions, k: int) -> tuple[Array, Array]:
    """The global minimiser of the square loss: (users (m, k), items (n, k)); kinds "unbiased" and "popularity".

    unbiased: the truncated SVD of Y. popularity: R^-1/2 SVD_k(R^-1/2 Y C^-1/2) C^-1/2 with R, C the row and column
    counts (claim X18). An empty row or column has no loss there and gets the zero vector.
    """
    if kind not in ("unbiased", "popularity"):
        raise ValueError(f"kind is {kind!r}; a closed form is known for 'unbiased' and 'popularity' only")
    labels = interactions.matrix.astype(np.float64)
    if not 1 <= k < min(labels.shape):
        raise ValueError(f"k is {k}; expected 1 <= k < {min(labels.shape)}")
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
