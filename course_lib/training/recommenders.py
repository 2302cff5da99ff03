"""Training any backbone or rival on BPR triples, and the numbers of P1's tables for what comes out.

    model = backbones.make("LightGCN", train, d=64, generator=torch.Generator().manual_seed(0))
    train_recommender(model, train, valid, epochs=100, lr=1e-3, patience=50, seed=0)
    measure(model, train, test, seen=valid)     # {"mrr": ..., "ndcg": ..., "avgpop": ...}

Protocol as in P1, Section 5.1: random 8:1:1 split, d = 64, batches of 8192 triples with one negative each, early stop
on the MRR@10 of the validation part over all items. P1 names neither optimiser nor law of negatives; RecBole, in which
it works, has Adam and "uniform".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor, nn

from course_lib import checking, metrics, popularity
from course_lib.backbones import Recommender
from course_lib.interactions import NEGATIVE_LAWS, Interactions, epoch_batches, sample_negatives
from course_lib.training.loop import History, Plan, fit, launched

if TYPE_CHECKING:
    from course_lib.training import Fabric

HEAD = 0.01  # "popular" in top_share: this share of the items
OPTIMIZERS: dict[bool, dict[str, Callable[..., torch.optim.Optimizer]]] = {  # for dense and for sparse gradients
    False: {"adam": torch.optim.Adam, "sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad},
    True: {"sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad, "lazy_adam": torch.optim.SparseAdam},
}

Watch = Callable[[Any, Any], dict[str, float]]  # the tables (m, d) and (n, d) -> more numbers about them
Triple = tuple[Tensor, Tensor, Tensor]  # users, positives, negatives, (B,) each


def split_811(data: Interactions, rng: Generator) -> tuple[Interactions, Interactions, Interactions]:
    """Split the pairs at random 8:1:1 into training, validation and test part.

    Parameters
    ----------
    data : Interactions
        The pairs.
    rng : numpy.random.Generator
        Draws the split.

    Returns
    -------
    tuple of Interactions
        (train, valid, test), all of the shape of ``data``.

    Raises
    ------
    ValueError
        For anything but Interactions, and for an ``rng`` that is no Generator.

    Notes
    -----
    Source: P1, Section 5.1.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.recommenders import split_811
    >>> data = Interactions([0] * 10 + [1] * 10, [*range(10), *range(10)], n_users=2, n_items=10)
    >>> [len(part) for part in split_811(data, np.random.default_rng(0))]
    [16, 2, 2]
    """
    train, rest = checking.instance(data, "data", Interactions).split_random(0.8, rng)
    return train, *rest.split_random(0.5, rng)


def train_recommender(
    model: Recommender,
    train: Interactions,
    valid: Interactions | None,
    *,
    epochs: int,
    lr: float,
    seed: int,
    batch_size: int = 8192,
    optimizer: str = "adam",
    patience: int | None = None,
    evaluate_every: int = 1,
    negatives: str = "uniform",
    checkpoint: Path | str | None = None,
    fabric: Fabric | None = None,
    progress: bool = False,
    watch: Watch | None = None,
) -> History:
    """Train a backbone or a rival in place with ``fit``.

    With ``valid`` the model ends in the state of the best validation MRR@10.

    Parameters
    ----------
    model : Recommender
        Its ``loss`` and ``begin_epoch`` are called, and ``ranking`` where there is a ``valid``.
    train : Interactions
        The training pairs. An epoch is one pass over them in random order, each with a new negative.
    valid : Interactions or None
        The validation pairs.
    epochs : int
        The number of epochs.
    lr : float
        The learning rate.
    seed : int
        Decides the run.
    batch_size : int
        Triples per step and process; at most ``|O|`` are taken.
    optimizer : str
        "adam", "sgd" or "adagrad", with torch's defaults; for a model with sparse gradients "sgd", "adagrad" or
        "lazy_adam".
    patience : int, optional
        Stop after this many epochs without a gain in MRR@10, rounded up to evaluations.
    evaluate_every : int
        Epochs between two evaluations.
    negatives : str
        The law of the negatives, of ``interactions.sample_negatives``.
    checkpoint, fabric, progress
        As for ``fit``.
    watch : callable, optional
        Called at each evaluation with the two tables that the model ranks with. The numbers that it returns join the
        entry.

    Returns
    -------
    History
        One entry for each evaluation: "loss" is the mean over its epochs, "mrr" the validation MRR@10.

    Raises
    ------
    ValueError
        For a model of another shape than ``train``, an optimiser that does not fit, and as ``fit`` does.

    Notes
    -----
    For a model with sparse gradients (``MF``) the run is the same with "sgd" and "adagrad". "adam" moves every row in
    every step; such models have "lazy_adam" (torch.optim.SparseAdam) instead, which leaves the rows that a step does
    not meet, and their averages, as they are: another optimiser.

    With P processes a step descends on the mean over the triples of P batches; ``begin_epoch``, with the same ``rng``,
    is called in each of them, ``watch`` in the first.

    Examples
    --------
    >>> import torch
    >>> from course_lib import backbones
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.recommenders import train_recommender
    >>> train = Interactions([0, 0, 1, 1], [0, 1, 2, 3], n_users=2, n_items=4)
    >>> model = backbones.MF(2, 4, 4, generator=torch.Generator().manual_seed(0))
    >>> losses = [entry["loss"] for entry in train_recommender(model, train, None, epochs=30, lr=0.1, seed=0).epochs]
    >>> len(losses), losses[-1] < losses[0]
    (30, True)
    """
    checking.instance(model, "model", nn.Module)
    for name, part in (("train", train), *([] if valid is None else [("valid", valid)])):
        checking.instance(part, name, Interactions)
    for name, number in (("batch_size", batch_size), ("patience", 1 if patience is None else patience)):
        checking.whole(number, name)
    checking.real(lr, "lr", least=0)
    checking.choice(negatives, "negatives", NEGATIVE_LAWS)
    shape = (getattr(model, "n_users", train.n_users), getattr(model, "n_items", train.n_items))
    if shape != train.shape:
        raise ValueError(f"train has shape {train.shape}; expected {shape}, the model's")
    sparse = model.sparse
    checking.choice(optimizer, "optimizer" + " of sparse gradients" * sparse, OPTIMIZERS[sparse])
    checking.whole(epochs, "epochs")
    checking.whole(evaluate_every, "evaluate_every")
    fabric = launched(fabric)
    device = fabric.device

    def batches(block: int, rng: Generator) -> Iterator[Triple]:
        for epoch in range(block * evaluate_every, min((block + 1) * evaluate_every, epochs)):
            model.begin_epoch(epoch, np.random.default_rng([seed, epoch, 2]))
            _draw_apart(model, fabric.global_rank)
            yield from _triples(train, min(batch_size, len(train)), negatives, rng, device)

    return fit(
        model,
        OPTIMIZERS[sparse][optimizer](model.parameters(), lr=lr),
        batches=batches,
        step=_step,
        plan=Plan(
            max_epochs=-(-epochs // evaluate_every),
            monitor=None if valid is None else "mrr",
            patience=None if patience is None else -(-patience // evaluate_every),
        ),
        seed=seed,
        evaluate=None if valid is None else partial(_evaluated, model, train, valid, watch),
        checkpoint=checkpoint,
        fabric=fabric,
        progress=progress,
    )


def _draw_apart(model: nn.Module, rank: int) -> None:
    """Lets a rival's own draws in this process differ from those in the others, as dropout does."""
    for part in model.modules():
        draws = getattr(part, "draws", None)
        if rank and isinstance(draws, torch.Generator):
            draws.manual_seed(draws.initial_seed() + rank)


def _triples(train: Interactions, batch_size: int, law: str, rng: Generator, device: torch.device) -> Iterator[Triple]:
    """One pass over the pairs in random order, each with a negative."""
    for where in epoch_batches(train, batch_size, rng):
        users, positives = train.users[where], train.items[where]
        negatives = sample_negatives(train, users, rng, law=law)
        first, second, third = (torch.from_numpy(ids).to(device) for ids in (users, positives, negatives))
        yield first, second, third


def _step(module: Any, batch: Triple) -> tuple[Tensor, float]:
    """(loss, triples); `module` is the model, in Fabric's wrapping if there is one."""
    return module.loss(*batch), len(batch[0])


def _evaluated(
    model: Recommender, train: Interactions, valid: Interactions, watch: Watch | None, _: nn.Module
) -> dict[str, float]:
    tables = tables_of(model)
    return {"mrr": measure(tables, train, valid)["mrr"]} | (watch(*tables) if watch else {})


def tables_of(model_or_tables: Any) -> tuple[Any, Any]:
    """Return the two tables whose inner product ranks: those of a model, without gradients, or two tables as given.

    Parameters
    ----------
    model_or_tables : Recommender or tuple
        A model with ``ranking``, which is asked in eval mode, or (users, items).

    Returns
    -------
    tuple of array, shape (m, d) and (n, d)
        The tables of users and items.

    Raises
    ------
    ValueError
        For anything but a module and two tables.

    Examples
    --------
    >>> import torch
    >>> from course_lib import backbones
    >>> from course_lib.training.recommenders import tables_of
    >>> users, items = tables_of(backbones.MF(2, 4, 3, generator=torch.Generator().manual_seed(0)))
    >>> tuple(users.shape), tuple(items.shape), users.requires_grad
    ((2, 3), (4, 3), False)
    """
    if not isinstance(model_or_tables, nn.Module):
        if not isinstance(model_or_tables, tuple | list) or len(model_or_tables) != 2:
            raise checking.refuse(model_or_tables, "model_or_tables", "a module, or the tables of users and items")
        users, items = model_or_tables
        return users, items
    model: Any = model_or_tables
    was_training = model.training
    model.eval()
    with torch.no_grad():
        users, items = model.ranking()
    model.train(was_training)
    return users.detach(), items.detach()


def measure(
    model_or_tables: Any, train: Interactions, test: Interactions, k: int = 10, *, seen: Interactions | None = None
) -> dict[str, float]:
    """Compute the numbers of P1's tables at K, over all items, as means over the users with a test pair.

    Parameters
    ----------
    model_or_tables : Recommender or tuple
        What ranks, as for ``tables_of``.
    train : Interactions
        The training pairs, none of which is ever shown.
    test : Interactions
        The test pairs.
    k : int
        The length K of a list.
    seen : Interactions, optional
        More pairs that are not shown: give the validation part there when testing, as RecBole does.

    Returns
    -------
    dict of str to float
        precision, recall, ndcg, mrr, map (``metrics.metrics_from_ranking`` of the lists of ``metrics.top_k``), avgpop,
        the mean count in ``train`` of the items shown (``popularity.average_popularity``, P1's Table 4), and top_share,
        the part of what is shown that belongs to the most popular 1 %.

    Raises
    ------
    ValueError
        For parts of different shapes or with a pair in common, and for tables that do not fit.

    Notes
    -----
    Equal scores go by the lower id, as in the lists themselves. ``metrics.evaluate`` takes the mean over their orders
    instead, so the two differ for models with ties.

    Examples
    --------
    Both users have their test item first:

    >>> import numpy as np
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.recommenders import measure
    >>> train = Interactions([0, 1], [0, 1], n_users=2, n_items=3)
    >>> test = Interactions([0, 1], [1, 0], n_users=2, n_items=3)
    >>> found = measure((np.ones((2, 1)), np.array([[2.0], [2.0], [1.0]])), train, test, k=2)
    >>> found["mrr"], found["precision"], found["avgpop"]  # one of the two items shown has no training pair
    (1.0, 0.5, 0.5)
    """
    known = train if seen is None else _joined(train=train, seen=seen)
    metrics.check_split(known, test)
    users, items = tables_of(model_or_tables)
    ranked = metrics.top_k(users, items, known, k)
    found = metrics.metrics_from_ranking(ranked, test, (k,))
    shown = ranked[found["users"]]
    return {name: found[f"{name}@{k}"] for name in metrics.METRICS} | {
        "avgpop": popularity.average_popularity(shown, train.col_counts),
        "top_share": popularity.top_share(shown, train.col_counts, HEAD),
    }


def union(first: Interactions, second: Interactions) -> Interactions:
    """Join the pairs of two parts of one shape; times and ratings are left out.

    Parameters
    ----------
    first, second : Interactions
        The two parts.

    Returns
    -------
    Interactions
        The distinct pairs of both, with the name of the first.

    Raises
    ------
    ValueError
        For parts of different shapes.

    Examples
    --------
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.recommenders import union
    >>> first = Interactions([0, 1], [0, 1], n_users=2, n_items=2)
    >>> union(first, Interactions([0, 1], [1, 1], n_users=2, n_items=2)).pairs.tolist()
    [[0, 0], [0, 1], [1, 1]]
    """
    return _joined(first=first, second=second)


def _joined(**given: Interactions) -> Interactions:
    (name, first), (other, second) = given.items()
    for key, part in given.items():
        checking.instance(part, key, Interactions)
    if first.shape != second.shape:
        raise ValueError(f"{name} has shape {first.shape}, {other} {second.shape}; expected the same")
    return _merged(first, second)


@lru_cache(maxsize=2)  # `measure` asks for the same two parts again and again
def _merged(first: Interactions, second: Interactions) -> Interactions:
    pairs = (np.concatenate((getattr(first, side), getattr(second, side))) for side in ("users", "items"))
    return Interactions.merged(*pairs, n_users=first.n_users, n_items=first.n_items, keep="first", name=first.name)
