"""The five models that P1 starts from: MF, LightGCN, DGCF, NCL and LightCCF, each as its paper's equations.

All are a `Backbone`: two trained tables, from which `forward` makes user and item embeddings whose inner product is the
score, and a BPR loss on triples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from course_lib import checking, extras

try:
    import torch
except ImportError as error:
    raise extras.missing(error, "course_lib.backbones") from error

from course_lib.backbones.base import Backbone, Recommender, Tables, triple_scores
from course_lib.backbones.dgcf import DGCF
from course_lib.backbones.lightccf import LightCCF
from course_lib.backbones.lightgcn import LightGCN
from course_lib.backbones.mf import MF
from course_lib.backbones.ncl import NCL
from course_lib.interactions import Interactions

__all__ = [
    "DGCF",
    "MF",
    "NCL",
    "Backbone",
    "LightCCF",
    "LightGCN",
    "Recommender",
    "Tables",
    "make",
    "names",
    "triple_scores",
]

_OF_A_GRAPH: dict[str, Callable[..., Backbone]] = {"LightGCN": LightGCN, "DGCF": DGCF, "NCL": NCL, "LightCCF": LightCCF}


def names() -> tuple[str, ...]:
    """The names that `make` knows, in the order of P1's Table 2."""
    return ("MF", *_OF_A_GRAPH)


def make(name: str, interactions: Interactions, *, d: int = 64, generator: torch.Generator, **options: Any) -> Backbone:
    """A backbone for the training pairs `interactions`; options: its own arguments. Tables come from `generator`."""
    if not isinstance(interactions, Interactions):
        raise checking.refuse(interactions, "interactions", "Interactions, such as datasets.load(...) gives")
    if checking.choice(name, "name", names()) == "MF":
        return MF(*interactions.shape, d, generator=generator, **options)
    return _OF_A_GRAPH[name](interactions, d, generator=generator, **options)
