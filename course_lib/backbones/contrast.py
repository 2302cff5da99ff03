"""The softmax over many candidates that contrastive terms share, in blocks of bounded memory."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

BLOCK = 2**24  # scores that are held at once


def log_partition(anchors: Tensor, candidates: Tensor, tau: float) -> Tensor:
    """(B,) log sum_c exp(<anchors_b, candidates_c> / tau) of (B, d) and (N, d).

    In blocks of anchors, whose scores are computed again for the gradient: the B x N scores never exist at once.
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
    """Each row divided by its length (rows shorter than 1e-12 by 1e-12)."""
    return nn.functional.normalize(table, dim=1)
