"""Every kind of tower, small, for tests that none may fail."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import nn

from course_lib import encoders
from course_lib.encoders import PAD

N = 6  # identifiers
HISTORIES = np.array([[0, 1, 2], [3, PAD, PAD], [5, 4, PAD], [1, 1, 1], [2, 0, PAD], [4, PAD, PAD]])


def of_width(d: int, features: torch.Tensor) -> dict[str, Callable[[torch.Generator], nn.Module]]:
    """By name what makes it, with embeddings of width d."""
    return {
        "lookup": lambda g: encoders.Lookup(N, d, generator=g),
        "one-hot": lambda g: encoders.OneHotLinear(N, d, generator=g),
        "one-hot with bias": lambda g: encoders.OneHotLinear(N, d, True, generator=g),
        "dense": lambda g: encoders.DenseLinear(features, d, generator=g),
        "two layers": lambda g: encoders.TwoLayers(features, 4, d, generator=g),
        "embedding, linear": lambda g: encoders.EmbeddingThenLinear(N, 4, d, generator=g),
        "frozen": lambda g: encoders.EmbeddingThenLinear(N, 4, d, frozen=True, generator=g),
        "lookup and bias": lambda g: encoders.BiasedLookup(N, d, generator=g),
        "scaled": lambda g: encoders.ScaledLookup(N, d, generator=g),
        "exponential": lambda g: encoders.ExponentialLookup(N, d, generator=g),
        "inverted": lambda g: encoders.InvertedLookup(N, d, generator=g),
        "mean of history": lambda g: encoders.MeanHistory(encoders.Lookup(N, d, generator=g), HISTORIES),
        "transformer": lambda g: encoders.HistoryTransformer(N, d, histories=HISTORIES, width=4, generator=g),
    }
