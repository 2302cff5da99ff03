"""The softmax over many candidates that contrastive terms share, in blocks of bounded memory."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

BLOCK = 2**24  # scores that are held at once


def log_partition(anchors: Tensor, candidates: Tensor, tau: float) -> Tensor:
    """Compute ``log sum_c exp(<anchors_b, candidates_c> / tau)`` of every anchor.

    Parameters
    ----------
    anchors : Tensor, shape (B, d)
        The vectors whose scores are summed over.
    candidates : Tensor, shape (N, d)
        The vectors that they meet.
    tau : float
        The temperature.

    Returns
    -------
    Tensor, shape (B,)
        The logarithm of the sum, for each anchor.

    Notes
    -----
    It works in blocks of anchors, whose scores are computed again for the gradient: the B x N scores never exist at
    once.

    Examples
    --------
    Four candidates with score 0 give log 4.

    >>> import torch
    >>> from course_lib.backbones.contrast import log_partition
    >>> round(log_partition(torch.zeros(1, 2), torch.ones(4, 2), tau=0.1).item(), 4)
    1.3863
    """
    step = max(1, BLOCK // len(candidates))
    if len(anchors) <= step:
        return _block(anchors, candidates, tau)
    parts = (
        checkpoint(_block, part, candidates, tau, use_reentrant=False, preserve_rng_state=False)
        for part in torch.split(anchors, step)
    )
    return torch.cat(list(parts))


def _block(anchors: Tensor, candidates: Tensor, tau: float) -> Tensor:
    return (anchors @ candidates.T / tau).logsumexp(dim=1)


def unit(table: Tensor) -> Tensor:
    """Divide each row by its length.

    Parameters
    ----------
    table : Tensor, shape (n, d)
        The rows.

    Returns
    -------
    Tensor, shape (n, d)
        Rows of length 1. Rows shorter than 1e-12 are divided by 1e-12, so a zero row stays zero.

    Examples
    --------
    >>> import torch
    >>> from course_lib.backbones.contrast import unit
    >>> [[round(x, 4) for x in row] for row in unit(torch.tensor([[3.0, 4.0], [0.0, 0.0]])).tolist()]
    [[0.6, 0.8], [0.0, 0.0]]
    """
    return nn.functional.normalize(table, dim=1)
