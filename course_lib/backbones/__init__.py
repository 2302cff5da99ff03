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
    "OF_A_GRAPH",
    "Backbone",
    "LightCCF",
    "LightGCN",
    "Recommender",
    "Tables",
    "make",
    "names",
    "triple_scores",
]

# What `make` knows besides MF; a backbone of a reader's own joins it.
OF_A_GRAPH: dict[str, Callable[..., Backbone]] = {"LightGCN": LightGCN, "DGCF": DGCF, "NCL": NCL, "LightCCF": LightCCF}


def names() -> tuple[str, ...]:
    """List the names that ``make`` knows, in the order of P1's Table 2.

    Returns
    -------
    tuple of str
        The names.

    Examples
    --------
    >>> from course_lib import backbones
    >>> backbones.names()
    ('MF', 'LightGCN', 'DGCF', 'NCL', 'LightCCF')
    """
    return ("MF", *OF_A_GRAPH)


def make(name: str, interactions: Interactions, *, d: int = 64, generator: torch.Generator, **options: Any) -> Backbone:
    """Make the backbone of this name for a set of training pairs.

    Parameters
    ----------
    name : str
        One of ``names()``.
    interactions : Interactions
        The training pairs. They give the numbers of users and items, and the graph.
    d : int
        The width of an embedding.
    generator : torch.Generator
        Draws the trained tables.
    **options
        The backbone's own arguments.

    Returns
    -------
    Backbone
        The model, not trained.

    Raises
    ------
    ValueError
        For another name, and for ``interactions`` of another kind.

    Examples
    --------
    >>> import torch
    >>> from course_lib import backbones
    >>> from course_lib.interactions import Interactions
    >>> data = Interactions([0, 0, 1], [0, 1, 2], n_users=2, n_items=3)
    >>> model = backbones.make("LightGCN", data, d=4, generator=torch.Generator().manual_seed(0))
    >>> [tuple(table.shape) for table in model()]
    [(2, 4), (3, 4)]
    """
    checking.instance(interactions, "interactions", Interactions, "Interactions, such as datasets.load(...) gives")
    if checking.choice(name, "name", names()) == "MF":
        return MF(*interactions.shape, d, generator=generator, **options)
    return OF_A_GRAPH[name](interactions, d, generator=generator, **options)
