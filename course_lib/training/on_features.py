"""Two towers of which one reads features: an item is ``row * keep + features @ W``, and a new item ``features @ W``.

The loop is that of `course_lib.training.on_pairs`; the table of `cosine_tables` is the case without features.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib import checking
from course_lib.interactions import Interactions
from course_lib.training.on_pairs import checked_log_q, new_tables, train_on_pairs

__all__ = ["Look", "feature_tables", "served_items"]

Look = Callable[[int, tuple[Tensor, Tensor, Tensor], float], object]  # steps done, (users, rows, W), loss of the batch


def feature_tables(
    train: Interactions,
    features: Any,
    *,
    ids: bool = True,
    drop: float = 0.0,
    tau: float = 0.2,
    log_q: Tensor | None = None,
    width: int = 32,
    passes: int = 10,
    batch: int = 512,
    rate: float = 0.01,
    seed: int = 0,
    look: Look | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Train a table of users, one of items and a matrix on the items' features: in-batch softmax on cosines.

    Parameters
    ----------
    train : Interactions
        The pairs, of shape (m, n). Items without a pair, such as new ones, are never in a batch.
    features : array_like, shape (n, h)
        What is known of each item.
    ids : bool, optional
        Whether an item has a row of its own, too. Without, the rows stay as they were drawn: serve every item as new.
    drop : float, optional
        How often the row is left out of an item of a batch, in [0, 1). A row that stays is not scaled up.
    tau : float, optional
        The temperature.
    log_q : Tensor, optional
        (n,) what is subtracted from an item's logit in training. None: 0.
    width, passes, batch, rate, seed
        As in `cosine_tables`.
    look : callable, optional
        ``look(steps, (users, rows, weights), loss)`` before each step; the loss is that of its batch.

    Returns
    -------
    users : Tensor, shape (m, width)
    rows : Tensor, shape (n, width)
    weights : Tensor, shape (h, width)
        See `served_items`.

    Raises
    ------
    ValueError
        As `cosine_tables`; for features of another number of rows or not finite, and a `drop` outside [0, 1).

    Examples
    --------
    Item 4 is new, and has the features of the items that user 0 has. So it is served nearer to user 0 than to user 1:

    >>> from course_lib import losses
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.on_features import feature_tables, served_items
    >>> train = Interactions([0, 0, 1, 1], [0, 1, 2, 3], n_users=2, n_items=5)
    >>> features = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
    >>> users, rows, weights = feature_tables(train, features, width=3, passes=50, batch=4)
    >>> items = served_items(rows, features, weights, new=[False, False, False, False, True])
    >>> cosines = losses.cosine_scores(users, items)
    >>> rows.shape, weights.shape, bool(cosines[0, 4] > cosines[1, 4])
    (torch.Size([5, 3]), torch.Size([2, 3]), True)
    """
    correction = checked_log_q(train, log_q)
    told = torch.tensor(checking.table(features, "features", rows=train.n_items), dtype=torch.float32)
    ids = checking.choice(ids, "ids", (True, False))
    if not (look is None or callable(look)):
        raise checking.refuse(look, "look", "a function, or None")
    tau, drop = checking.real(tau, "tau", above=0), checking.real(drop, "drop", least=0, below=1)
    generator = torch.Generator().manual_seed(checking.whole(seed, "seed", 0, 2**64 - 1))
    users, rows = new_tables(train, width, generator)
    weights = (0.1 * torch.randn(told.shape[1], width, generator=generator)).requires_grad_()
    steps = 0

    def loss(u: Tensor, i: Tensor) -> Tensor:
        nonlocal steps
        keep = (torch.rand(len(i), 1, generator=generator) >= drop).float() * float(ids)
        items = rows[i] * keep + told[i] @ weights  # (B, d)
        logits = F.normalize(users[u], dim=1) @ F.normalize(items, dim=1).T / tau - correction[i]
        value = F.cross_entropy(logits, torch.arange(len(u)))
        if look is not None:
            with torch.no_grad():
                look(steps, (users, rows, weights), value.item())
        steps += 1
        return value

    trained = [users, weights, *([rows] if ids else [])]
    train_on_pairs(train, loss, trained, generator, passes=passes, batch=batch, rate=rate)
    return users.detach(), rows.detach(), weights.detach()


def served_items(rows: Tensor, features: Any, weights: Tensor, new: Any) -> Tensor:
    """Return the vectors that items are served with: ``row + features @ W``, and ``features @ W`` for new items.

    Parameters
    ----------
    rows : Tensor, shape (n, d)
    features : array_like, shape (n, h)
    weights : Tensor, shape (h, d)
        As `feature_tables` trains them.
    new : array_like of bool, shape (n,)
        The items whose row was never in a batch. All True serves every item by its features.

    Returns
    -------
    Tensor, shape (n, d)
        The vectors, of any length.

    Raises
    ------
    ValueError
        For shapes that do not fit.

    Examples
    --------
    >>> import torch
    >>> from course_lib.training.on_features import served_items
    >>> served_items(torch.ones(2, 1), [[1.0], [1.0]], torch.tensor([[2.0]]), [False, True]).tolist()
    [[3.0], [2.0]]
    """
    for name, table in (("rows", rows), ("weights", weights)):
        if not isinstance(table, Tensor) or table.ndim != 2:
            raise checking.refuse(table, name, "a tensor of two axes, as feature_tables trains it")
    checking.same_width(rows, weights, "rows", "weights")
    told = torch.tensor(checking.table(features, "features", rows=len(rows), width=len(weights)), dtype=torch.float32)
    fresh = checking.as_numpy(new, "new")
    if fresh.shape != (len(rows),) or fresh.dtype != bool:
        raise checking.refuse(new, "new", f"True or False for each of the {len(rows)} items")
    return rows * torch.tensor(~fresh).float()[:, None] + told @ weights
