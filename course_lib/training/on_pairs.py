"""The smallest loop that trains two towers: Adam on a loss of batches of pairs, shuffled or in order of time.

`train_on_pairs` knows nothing but the pairs; a loss is a function of the users and items of a batch, so that each loss,
each kind of negatives and each tower of the practice part is a few lines beside it. `cosine_tables` is the model of the
first chapter with its choices as arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib import checking
from course_lib.interactions import Interactions

__all__ = ["BatchLoss", "checked_log_q", "cosine_tables", "new_tables", "train_on_pairs"]

BatchLoss = Callable[[Tensor, Tensor], Tensor]  # (B,) users and (B,) items of a batch -> its loss


def train_on_pairs(
    train: Interactions,
    loss: BatchLoss,
    parameters: Iterable[Tensor],
    generator: torch.Generator,
    *,
    passes: int = 20,
    batch: int = 512,
    rate: float = 0.01,
    in_time: bool = False,
    after_pass: Callable[[int], object] | None = None,
) -> None:
    """Take one step of Adam for each batch of pairs, pass after pass.

    Parameters
    ----------
    train : Interactions
        The pairs.
    loss : callable
        ``loss(users, items)`` of two (B,) tensors of ids; the last batch of a pass may be smaller.
    parameters : iterable of Tensor
        What is trained, in place; each requires a gradient.
    generator : torch.Generator
        Draws the order of the pairs.
    passes : int, optional
        How often all pairs are gone through.
    batch : int, optional
        The number ``B`` of pairs in a batch, at least 2.
    rate : float, optional
        The learning rate of Adam.
    in_time : bool, optional
        Cut the pairs into batches in order of time (equal times by user and item), and shuffle the batches. By default
        the pairs are shuffled, and then cut.
    after_pass : callable, optional
        Called with the number of passes done, 0 before the first.

    Raises
    ------
    ValueError
        Without a pair, for ``in_time`` without times, for numbers out of range, for parameters that require no
        gradient, and where the loss is not one finite number with a gradient: the message names the pass.

    Examples
    --------
    >>> import torch
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.on_pairs import train_on_pairs
    >>> train = Interactions([0, 1], [0, 1], n_users=2, n_items=2)
    >>> score = torch.zeros(2, 2, requires_grad=True)
    >>> train_on_pairs(train, lambda u, i: -score[u, i].sum(), [score], torch.Generator(), passes=3, rate=0.5)
    >>> [[round(value, 3) for value in row] for row in score.tolist()]
    [[1.5, 0.0], [0.0, 1.5]]
    """
    if not len(_interactions(train)):
        raise ValueError("train has no pair; expected at least one")
    if not callable(loss):
        raise checking.refuse(loss, "loss", "a function")
    if not (after_pass is None or callable(after_pass)):
        raise checking.refuse(after_pass, "after_pass", "a function, or None")
    checking.instance(generator, "generator", torch.Generator, checking.TORCH_GENERATOR)
    passes, batch = checking.whole(passes, "passes", 0), checking.whole(batch, "batch", 2)
    in_time = checking.choice(in_time, "in_time", (True, False))
    optimiser = torch.optim.Adam(_trainable(parameters), lr=checking.real(rate, "rate", above=0))
    users, items = torch.tensor(train.users).long(), torch.tensor(train.items).long()
    for done in range(passes):
        if after_pass is not None:
            after_pass(done)
        for rows in _batches(train, batch, generator, in_time=in_time):
            value = loss(users[rows], items[rows])
            if not (isinstance(value, Tensor) and value.ndim == 0 and value.requires_grad):
                raise checking.refuse(value, "the value of loss", "a tensor of one number, with a gradient")
            if not torch.isfinite(value):
                raise ValueError(
                    f"the loss is {value.item()} in pass {done + 1}; expected a finite loss: lower the rate"
                )
            optimiser.zero_grad()
            torch.autograd.backward(value)
            optimiser.step()
    if after_pass is not None:
        after_pass(passes)


def _interactions(train: Interactions) -> Interactions:
    return checking.instance(train, "train", Interactions, "Interactions, the pairs to train on")


def _trainable(parameters: Iterable[Tensor]) -> list[Tensor]:
    """At least one leaf tensor, each with a gradient to come: Adam leaves a tensor without one as it is."""
    if isinstance(parameters, Tensor) or not isinstance(parameters, Iterable):
        raise checking.refuse(parameters, "parameters", "several tensors, such as a list of them")
    found = list(checking.some(parameters, "parameters"))
    for at, one in enumerate(found):
        if not (isinstance(one, Tensor) and one.is_leaf and one.requires_grad):
            raise checking.refuse(
                one, f"parameters[{at}]", "a tensor that requires a gradient, not computed from others"
            )
    return found


def _batches(train: Interactions, size: int, generator: torch.Generator, *, in_time: bool) -> Iterator[Tensor]:
    """The positions of the pairs of one pass, batch by batch."""
    if not in_time:
        yield from torch.split(torch.randperm(len(train), generator=generator), size)
        return
    if train.times is None:
        raise ValueError("train has no times; expected a time for each pair, to cut batches in order of time")
    cut = torch.split(torch.tensor(np.argsort(train.times, kind="stable")), size)
    for at in torch.randperm(len(cut), generator=generator).tolist():
        yield cut[at]


def new_tables(train: Interactions, width: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw an (m, width) and an (n, width) table from a normal law of deviation 0.1, to be trained.

    Parameters
    ----------
    train : Interactions
        Of shape (m, n).
    width : int
        The number of coordinates of a vector.
    generator : torch.Generator
        Draws the tables, the users' first.

    Returns
    -------
    users, items : Tensor
        Both require a gradient.

    Raises
    ------
    ValueError
        For anything but Interactions, a ``width`` below 1, and a generator of another kind.

    Examples
    --------
    >>> import torch
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.on_pairs import new_tables
    >>> users, items = new_tables(Interactions([0], [0], n_users=2, n_items=3), 4, torch.Generator().manual_seed(0))
    >>> users.shape, items.shape, items.requires_grad
    (torch.Size([2, 4]), torch.Size([3, 4]), True)
    """
    _interactions(train)
    checking.instance(generator, "generator", torch.Generator, checking.TORCH_GENERATOR)
    width = checking.whole(width, "width")
    users, items = (
        (0.1 * torch.randn(rows, width, generator=generator)).requires_grad_()
        for rows in (train.n_users, train.n_items)
    )
    return users, items


def checked_log_q(train: Interactions, log_q: Tensor | None) -> Tensor:
    """Return what is subtracted from the logit of each item, in float32; zeros for None.

    Parameters
    ----------
    train : Interactions
        Of n items.
    log_q : Tensor, optional
        (n,) finite numbers.

    Returns
    -------
    Tensor, shape (n,)
        ``log_q``.

    Raises
    ------
    ValueError
        For another shape, and for a number that is not finite.

    Examples
    --------
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.on_pairs import checked_log_q
    >>> checked_log_q(Interactions([0], [0], n_users=1, n_items=2), None)
    tensor([0., 0.])
    """
    n = _interactions(train).n_items
    return torch.zeros(n) if log_q is None else torch.tensor(checking.vector(log_q, "log_q", n), dtype=torch.float32)


def cosine_tables(
    train: Interactions,
    *,
    tau: float = 0.2,
    log_q: Tensor | None = None,
    width: int = 32,
    passes: int = 20,
    batch: int = 512,
    rate: float = 0.01,
    in_time: bool = False,
    seed: int = 0,
) -> tuple[Tensor, Tensor]:
    """Train two tables on cosines with the in-batch softmax: the model of the first chapter.

    Parameters
    ----------
    train : Interactions
        The pairs.
    tau : float, optional
        The temperature.
    log_q : Tensor, optional
        (n,) what is subtracted from an item's logit in training, the positive's too: the logQ correction. None: 0.
    width : int, optional
        The number of coordinates of a vector.
    passes, batch, rate, in_time
        See `train_on_pairs`.
    seed : int, optional
        Of the tables and of the order of the pairs.

    Returns
    -------
    users : Tensor, shape (m, width)
        The vectors of the users, of any length.
    items : Tensor, shape (n, width)
        The vectors of the items.

    Raises
    ------
    ValueError
        As `train_on_pairs`; for a temperature of 0 or less, and for ``log_q`` of another shape or not finite.

    Notes
    -----
    Nothing is masked: another pair's copy of a row's item, and other items that the row's user has, count as negatives.

    Examples
    --------
    User 0 has the items 0 and 1, and ends nearer to them than to the items of user 1:

    >>> from course_lib import losses
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.on_pairs import cosine_tables
    >>> train = Interactions([0, 0, 1, 1], [0, 1, 2, 3], n_users=2, n_items=4)
    >>> users, items = cosine_tables(train, width=2, passes=50, batch=4)
    >>> cosines = losses.cosine_scores(users, items)
    >>> users.shape, items.shape, bool(cosines[0, :2].min() > cosines[0, 2:].max())
    (torch.Size([2, 2]), torch.Size([4, 2]), True)
    """
    tau = checking.real(tau, "tau", above=0)
    correction = checked_log_q(train, log_q)
    generator = torch.Generator().manual_seed(checking.whole(seed, "seed", 0, 2**64 - 1))
    users, items = new_tables(train, width, generator)

    def loss(u: Tensor, i: Tensor) -> Tensor:
        cosines = F.normalize(users[u], dim=1) @ F.normalize(items[i], dim=1).T  # (B, d) @ (d, B)
        return F.cross_entropy(cosines / tau - correction[i], torch.arange(len(u)))

    train_on_pairs(train, loss, (users, items), generator, passes=passes, batch=batch, rate=rate, in_time=in_time)
    return users.detach(), items.detach()
