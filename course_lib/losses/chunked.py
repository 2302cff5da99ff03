"""The in-batch softmax of two tables, a chunk of rows at a time: exact, in memory that does not grow with the square.

A chunk of rows has all its candidates, so its loss and its gradient are known together. The gradient is therefore made
on the way forward, and nothing is computed twice.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from course_lib import checking, extras

if TYPE_CHECKING:  # `losses` loads without torch
    from torch import Tensor

CHUNK_BYTES = 32 * 2**20  # of one chunk of scores; two are held at a time


def chunked_softmax(
    queries: Tensor,
    candidates: Tensor,
    *,
    tau: Any,
    log_q: Tensor | None = None,
    item_ids: Tensor | None = None,
    rows: int | None = None,
) -> Tensor:
    """Return ``in_batch_softmax`` of the scores of two tables without writing the matrix of scores, in nats.

    The mean over rows ``i`` of ``-log [ exp(z_ii) / sum_j exp(z_ij) ]`` with ``z_ij = <q_i, k_j> / tau - log_q_j``.

    Parameters
    ----------
    queries : Tensor, shape (m, d)
        The queries; normalise them first for cosines.
    candidates : Tensor, shape (n, d)
        The candidates, ``n >= m``. The positive of query ``i`` is candidate ``i``.
    tau : float or tensor
        The temperature, above 0. A tensor () gets its gradient.
    log_q : Tensor, shape (n,), optional
        The logQ correction. It gets no gradient.
    item_ids : Tensor of int, shape (n,), optional
        Which item each candidate is. Copies of a row's positive in other columns are left out.
    rows : int, optional
        How many rows are computed together. By default their scores take 32 MiB, twice: as logits and as probabilities.

    Returns
    -------
    Tensor, shape ()
        The mean loss, in float32 for tables of 16 bits. A second derivative is refused.

    Raises
    ------
    ValueError
        For shapes and values that do not fit, and for NaN and infinity.

    Notes
    -----
    Memory beside the tables: their gradients, two chunks of scores, and for tables of 16 bits a copy in
    float32. Time: three products of the size of the scores with a gradient, one without.

    Examples
    --------
    >>> import torch
    >>> from course_lib import losses
    >>> table = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> round(float(losses.chunked_softmax(table, table, tau=0.5, rows=2)), 4)
    0.5856
    >>> round(float(losses.in_batch_softmax(table @ table.T, tau=0.5)), 4)
    0.5856
    """
    try:
        import torch
    except ImportError as error:
        raise extras.missing(error, "losses.chunked_softmax") from error
    _check_tables(queries, candidates)
    m, n = len(queries), len(candidates)
    if not isinstance(tau, torch.Tensor):
        tau = torch.tensor(checking.real(tau, "tau", above=0), dtype=torch.float64)
    elif tau.numel() != 1 or not 0 < float(tau.detach()) < float("inf"):
        raise checking.refuse(tau, "tau", "a finite number above 0")
    for name, column in (("log_q", log_q), ("item_ids", item_ids)):
        if column is not None and (not isinstance(column, torch.Tensor) or column.shape != (n,)):
            raise checking.refuse(column, name, f"a tensor of shape ({n},), one entry for each candidate")
    if item_ids is not None and (item_ids.is_floating_point() or item_ids.is_complex() or item_ids.dtype == torch.bool):
        raise checking.refuse(item_ids, "item_ids", "whole numbers")
    if log_q is not None and not bool(torch.isfinite(log_q).all()):
        raise checking.refuse(log_q, "log_q", "finite numbers")
    size = max(1, CHUNK_BYTES // (max(4, queries.itemsize) * n)) if rows is None else checking.whole(rows, "rows")
    loss: Tensor = _softmax()(queries, candidates, tau, log_q, item_ids, min(size, m))
    if not bool(loss.isfinite()):
        raise ValueError(f"the loss is {float(loss.detach())}: queries, candidates or log_q hold NaN or infinity")
    return loss


def _check_tables(queries: Any, candidates: Any) -> None:
    from torch import Tensor

    shapes = []
    for name, table in (("queries", queries), ("candidates", candidates)):
        if not isinstance(table, Tensor) or table.ndim != 2 or not table.is_floating_point() or not table.numel():
            raise checking.refuse(table, name, "a tensor of floats, one row a vector")
        shapes.append(tuple(table.shape))
    if shapes[0][1] != shapes[1][1] or shapes[0][0] > shapes[1][0]:
        raise ValueError(
            f"queries has shape {shapes[0]} and candidates {shapes[1]}; expected (m, d) and (n, d), m <= n"
        )
    if queries.dtype != candidates.dtype:
        raise ValueError(f"queries has dtype {queries.dtype} and candidates {candidates.dtype}; expected one dtype")


def _logits(left: Tensor, right: Tensor, inverse: float, log_q: Any, ids: Any, own: Tensor) -> Tensor:
    """(c, n) the logits of the rows `own`, -infinity where a column repeats the item of a row's positive."""
    import torch

    logits = (left[own] @ right.T).mul_(inverse)
    if log_q is not None:
        logits -= log_q.to(logits.dtype)
    if ids is not None:
        repeated = ids[own, None] == ids[None, :]
        repeated[torch.arange(len(own), device=own.device), own] = False
        logits.masked_fill_(repeated, -torch.inf)
    return logits


@cache
def _softmax() -> Any:
    """The autograd function, made when it is first asked for, so that the module loads without torch."""
    import torch
    from torch.autograd.function import once_differentiable

    class Softmax(torch.autograd.Function):
        @staticmethod
        def forward(
            ctx: Any, queries: Tensor, candidates: Tensor, tau: Tensor, log_q: Any, ids: Any, rows: int
        ) -> Tensor:
            wide = queries.dtype if queries.dtype == torch.float64 else torch.float32
            left, right, inverse = queries.to(wide), candidates.to(wide), 1 / float(tau)
            loss, of_tau = torch.zeros(2, dtype=torch.float64, device=left.device)
            wanted = any(ctx.needs_input_grad)
            of_left, of_right = (torch.zeros_like(table if wanted else table[:0]) for table in (left, right))
            for own in torch.split(torch.arange(len(left), device=left.device), rows):
                at = torch.arange(len(own), device=left.device), own
                logits = _logits(left, right, inverse, log_q, ids, own)
                most, slopes = logits.amax(dim=1), logits.softmax(dim=1)
                total = most - slopes.amax(dim=1).log()  # the log of the sum: the largest share is at least 1 / n
                loss += (total - logits[at]).sum(dtype=torch.float64)
                del logits
                if wanted:
                    slopes[at] -= 1
                    of_left[own] = slopes @ right
                    of_right.addmm_(slopes.T, left[own])
                    of_tau -= (of_left[own] * left[own]).sum(dtype=torch.float64)
                del slopes
            share = inverse / len(left)
            ctx.save_for_backward(of_left.mul_(share), of_right.mul_(share), of_tau * inverse * share)
            ctx.kinds = queries.dtype, candidates.dtype, tau
            mean: Tensor = loss / len(left)
            return mean.to(wide)

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, slope: Tensor) -> tuple[Any, ...]:
            of_left, of_right, of_tau = ctx.saved_tensors
            left, right, tau = ctx.kinds
            of_tau = (of_tau * slope).to(tau).reshape(tau.shape)
            return (of_left * slope).to(left), (of_right * slope).to(right), of_tau, None, None, None

    return Softmax.apply
