"""Training two towers on cosines, watching norms grow while they train, and judging what comes out.

    towers = lookup_towers(train, d=32, norm=1.0, seed=0)
    growth = Growth(optimiser := torch.optim.SGD(towers.parameters(), lr=10), towers.right.weight)
    train_towers(towers, optimiser, train, steps=3000, seed=0)
    judge(towers, train, test)

Any pair of modules that map identifiers (B,) to embeddings (B, d) may be the towers. The loss is InfoNCE on cosines
with the batch's own items as negatives (P0, Section 4.1), from users to items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import stats
from torch import Tensor, nn

from course_lib import checking, losses, metrics, norms, popularity
from course_lib.encoders import Lookup, TwoTower, recent_histories
from course_lib.interactions import Interactions
from course_lib.training.loop import Evaluate, History, Plan, fit, launched

if TYPE_CHECKING:
    from course_lib.training import Fabric

JUDGED_USERS = 5_000  # lists of more users than these are made for a uniform sample of them
HEAD = 0.01  # "popular": this share of the items

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]
Sampler = Callable[[Generator, int], Ids]  # (rng, batch size) -> positions of training pairs (B,)


# ------------------------------------------------------------------------------------------------------------- towers


def lookup_towers(train: Interactions, *, d: int, norm: float = 1.0, seed: int = 0) -> TwoTower:
    """Make two embedding tables with normal entries of deviation ``norm / sqrt(d)``, so that ``E||q||^2 = norm^2``.

    Parameters
    ----------
    train : Interactions
        Gives the numbers of users and items.
    d : int
        The width of an embedding.
    norm : float
        The root mean square norm, above 0.
    seed : int
        The seed of the tables.

    Returns
    -------
    TwoTower
        The two towers.

    Raises
    ------
    ValueError
        For a width or a norm out of range.

    Notes
    -----
    The entries are drawn with deviation 1 / sqrt(d) and then multiplied by ``norm``: two calls with one seed differ by
    an exact factor.

    Examples
    --------
    >>> import torch
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.towers import lookup_towers
    >>> train = Interactions([0, 1, 1], [0, 0, 1], n_users=2, n_items=2)
    >>> one, four = (lookup_towers(train, d=3, norm=norm, seed=0) for norm in (1.0, 4.0))
    >>> torch.equal(four.right.weight, 4 * one.right.weight)
    True
    """
    checking.instance(train, "train", Interactions)
    checking.whole(d, "d")
    checking.real(norm, "norm", above=0)
    generator = torch.Generator().manual_seed(checking.whole(seed, "seed", 0, 2**64 - 1))
    towers = TwoTower(*(Lookup(n, d, generator=generator, scale=d**-0.5) for n in train.shape))
    with torch.no_grad():
        for table in towers.parameters():
            table.mul_(norm)
    return towers


# ------------------------------------------------------------------------------------------------------------- batches


def uniform_pairs(train: Interactions) -> Sampler:
    """Sample uniform training pairs, so an item with probability ``count / |O|``: P0's sampling.

    Parameters
    ----------
    train : Interactions
        The training pairs.

    Returns
    -------
    callable
        (rng, batch size) -> positions of training pairs (B,), with replacement.

    Raises
    ------
    ValueError
        For anything but Interactions.

    Examples
    --------
    Item 1 has one of the three pairs:

    >>> import numpy as np
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.towers import uniform_pairs
    >>> train = Interactions([0, 1, 1], [0, 0, 1], n_users=2, n_items=2)
    >>> places = uniform_pairs(train)(np.random.default_rng(0), 10_000)
    >>> round(float(np.mean(train.items[places] == 1)), 1)
    0.3
    """
    checking.instance(train, "train", Interactions)
    return lambda rng, size: rng.integers(0, len(train), size)


def uniform_items(train: Interactions) -> Sampler:
    """Sample a uniform item and one of its pairs: this takes the popularity out of the update counts.

    Parameters
    ----------
    train : Interactions
        The training pairs.

    Returns
    -------
    callable
        (rng, batch size) -> positions of training pairs (B,), with replacement.

    Raises
    ------
    ValueError
        If an item has no training pair.

    Examples
    --------
    Item 1 has one of the three pairs, and still half of the places:

    >>> import numpy as np
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.towers import uniform_items
    >>> train = Interactions([0, 1, 1], [0, 0, 1], n_users=2, n_items=2)
    >>> places = uniform_items(train)(np.random.default_rng(0), 10_000)
    >>> round(float(np.mean(train.items[places] == 1)), 1)
    0.5
    """
    checking.instance(train, "train", Interactions)
    by_item = np.argsort(train.items, kind="stable")
    counts = train.col_counts
    if not counts.all():
        raise ValueError(f"{int((counts == 0).sum())} items have no training pair; drop them first")
    starts = np.cumsum(counts) - counts

    def sample(rng: Generator, size: int) -> Ids:
        items = rng.integers(0, train.n_items, size)
        drawn: Ids = by_item[starts[items] + rng.integers(0, counts[items])]
        return drawn

    return sample


SAMPLERS: dict[str, Callable[[Interactions], Sampler]] = {"pairs": uniform_pairs, "items": uniform_items}


def log_probability(train: Interactions) -> Tensor:
    """Compute the logarithm of the probability of each item in one place of ``uniform_pairs``.

    Parameters
    ----------
    train : Interactions
        The training pairs.

    Returns
    -------
    Tensor of float32, shape (n,)
        The logarithms. An item without a pair counts as one with one pair.

    Raises
    ------
    ValueError
        For anything but Interactions.

    Examples
    --------
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.towers import log_probability
    >>> shift = log_probability(Interactions([0, 1, 1], [0, 0, 1], n_users=2, n_items=2))
    >>> [round(probability, 4) for probability in shift.exp().tolist()]
    [0.6667, 0.3333]
    """
    return torch.from_numpy(
        np.log(np.maximum(checking.instance(train, "train", Interactions).col_counts, 1) / len(train))
    ).float()


# ------------------------------------------------------------------------------------------------------------- training


def train_towers(
    towers: nn.Module,
    optimiser: torch.optim.Optimizer,
    train: Interactions,
    *,
    steps: int,
    seed: int,
    batch_size: int = 512,
    tau: float = 0.1,
    logq: bool = False,
    sampler: Sampler | None = None,
    examples: Ids | None = None,
    epoch: int = 500,
    evaluate: Evaluate | None = None,
    fabric: Fabric | None = None,
    progress: bool = False,
) -> History:
    """Train two towers in place with InfoNCE on cosines, by ``course_lib.training.fit``, as many steps as asked for.

    Parameters
    ----------
    towers : torch.nn.Module
        ``towers(users, items)`` gives two embeddings (B, d).
    optimiser : torch.optim.Optimizer
        Of the parameters of the towers.
    train : Interactions
        The training pairs.
    steps : int
        The number of steps.
    seed : int
        Decides the run.
    batch_size : int
        The number B of pairs in a batch.
    tau : float
        The temperature.
    logq : bool
        Whether to subtract log(probability of the item in one place) from the scores over tau (the logQ correction).
    sampler : callable, optional
        (rng, batch size) -> positions of training pairs. The default is ``uniform_pairs``.
    examples : array_like of int, shape (``|O|``,), optional
        What the left tower gets for each training pair. The default is its user.
    epoch : int
        The number of steps of an epoch (fewer at the end), after which ``evaluate`` is called.
    evaluate, fabric, progress
        As for ``fit``.

    Returns
    -------
    History
        What happened in each epoch.

    Raises
    ------
    ValueError
        For numbers of steps or pairs that are no whole numbers of at least 1, for ``examples`` that are not one for
        each training pair, and as ``fit`` does.

    Notes
    -----
    With P processes a step averages the losses of P batches of ``batch_size``, each with its own negatives.

    Examples
    --------
    >>> import torch
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.towers import item_norms, lookup_towers, train_towers
    >>> train = Interactions([0, 1, 2], [0, 1, 2], n_users=3, n_items=3)
    >>> towers = lookup_towers(train, d=4, seed=0)
    >>> before, sgd = item_norms(towers, 3), torch.optim.SGD(towers.parameters(), lr=1.0)
    >>> history = train_towers(towers, sgd, train, steps=20, seed=0, batch_size=4, epoch=10)
    >>> len(history.epochs), bool((item_norms(towers, 3) > before).all())  # a loss on cosines makes norms grow
    (2, True)
    """
    checking.instance(towers, "towers", nn.Module)
    checking.instance(optimiser, "optimiser", torch.optim.Optimizer)
    checking.instance(train, "train", Interactions)
    checking.real(tau, "tau", above=0)
    for name, value in (("steps", steps), ("batch_size", batch_size), ("epoch", epoch)):
        checking.whole(value, name)
    checking.choice(logq, "logq", (True, False))
    if examples is not None:
        examples = _examples(examples, len(train), "training pair")
    fabric = launched(fabric)
    device, processes = fabric.device, fabric.world_size
    left = torch.from_numpy(np.array(train.users if examples is None else examples)).to(device)
    right = torch.from_numpy(np.array(train.items)).to(device)
    sample, shift = sampler or uniform_pairs(train), log_probability(train).to(device) if logq else None

    def batches(at: int, rng: Generator) -> Iterator[tuple[Tensor, Tensor]]:
        for _ in range(processes * min(epoch, steps - at * epoch)):
            chosen = torch.from_numpy(sample(rng, batch_size)).to(device)
            yield left[chosen], right[chosen]

    def step(module: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        scores = losses.cosine_scores(*module(*batch))  # (B, B)
        loss: Tensor = losses.in_batch_softmax(scores, tau=tau, log_q=None if shift is None else shift[batch[1]])
        return loss

    plan = Plan(max_epochs=-(-steps // epoch), diverged_at=None)
    return fit(
        towers,
        optimiser,
        batches=batches,
        step=step,
        plan=plan,
        seed=seed,
        evaluate=evaluate,
        fabric=fabric,
        progress=progress,
    )


class Growth:
    """Watch one table during training: how often each row was updated, and what the quartic law needs to know.

    Parameters
    ----------
    optimiser : torch.optim.Optimizer
        The optimiser that trains the table. Its steps are watched until ``stop``.
    table : torch.nn.Parameter, shape (n, d)
        The table.

    Raises
    ------
    ValueError
        For a table that the optimiser does not train.

    Notes
    -----
    ``updates`` (n,); ``driven`` (n,) = sum of ``lr^2 ||h||^2`` with ``||h|| = ||q|| ||gradient||``; ``fourth`` (n,) =
    sum of ``||dq||^4``; ``start`` (n,) = ``||q_0||``. The law is exact for plain SGD on a loss of cosines (also with a
    changing learning rate). Rows without a gradient in a step count as not updated.

    Examples
    --------
    A tangent step of length 4 takes a row of length 3 to 5, as the law says.

    >>> import torch
    >>> from course_lib.training.towers import Growth
    >>> table = torch.nn.Parameter(torch.tensor([[3.0, 0.0]]))
    >>> growth = Growth(sgd := torch.optim.SGD([table], lr=1.0), table)
    >>> table.grad = torch.tensor([[0.0, 4.0]])
    >>> sgd.step()
    >>> growth.updates.tolist(), growth.predicted().round(6).tolist(), table.norm(dim=1).tolist()
    ([1.0], [5.0], [5.0])
    """

    def __init__(self, optimiser: torch.optim.Optimizer, table: nn.Parameter) -> None:
        self.start = table.detach().double().norm(dim=1).cpu().numpy()
        self.updates, self.driven, self.fourth = (np.zeros(len(table)) for _ in range(3))
        if not any(p is table for group in optimiser.param_groups for p in group["params"]):
            raise ValueError("table is no parameter of the optimiser; expected one that it trains")
        self._table = table
        self._hook = optimiser.register_step_pre_hook(self._note)

    def _note(self, optimiser: torch.optim.Optimizer, *_: Any) -> None:
        rate = next(group["lr"] for group in optimiser.param_groups if any(p is self._table for p in group["params"]))
        table, gradient = self._table.detach(), self._table.grad
        if gradient is None:  # the loss did not reach the table
            return
        moved = torch.any(gradient != 0, dim=1).nonzero()[:, 0]
        squares = [values[moved].double().square().sum(dim=1).cpu().numpy() for values in (table, gradient)]
        where, step2 = moved.cpu().numpy(), rate**2 * squares[1]
        self.updates[where] += 1
        self.driven[where] += step2 * squares[0]
        self.fourth[where] += step2**2

    def stop(self) -> None:
        """Stops watching."""
        self._hook.remove()

    def predicted(self) -> Floats:
        """(n,) the norms that the quartic law gives, with every term: exact up to rounding for tangent steps."""
        n = np.maximum(self.updates, 1)
        h = np.sqrt(self.driven / n)
        found: Floats = norms.predicted_norm(self.start, lr=1.0, h=h, updates=n, fourth_powers=self.fourth)
        return found


# ----------------------------------------------------------------------------------------------------------- histories


def previous_items(data: Interactions, length: int) -> Ids:
    """Collect for every pair the items that its user had before it, oldest first.

    Parameters
    ----------
    data : Interactions
        The pairs. Before: by time where the data has times, else by the order of the pairs.
    length : int
        How many items to keep, the last ones.

    Returns
    -------
    ndarray of int64, shape (``|O|``, length)
        The items, filled up with -1 at the end. The item of the pair itself is never in its row.

    Raises
    ------
    ValueError
        For anything but Interactions, and for a ``length`` below 1.

    Examples
    --------
    The user took item 2, then item 0, then item 1. The pairs are in the order of the items.

    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.towers import previous_items
    >>> data = Interactions([0, 0, 0], [2, 0, 1], n_users=1, n_items=3, times=[10, 20, 30])
    >>> previous_items(data, 2).tolist()
    [[2, -1], [2, 0], [-1, -1]]
    """
    checking.instance(data, "data", Interactions)
    checking.whole(length, "length")
    place_of = np.arange(len(data))
    order = np.lexsort((place_of, place_of if data.times is None else data.times, data.users))
    items, users = data.items[order], data.users[order]
    rank = np.arange(len(items)) - (np.cumsum(data.row_counts) - data.row_counts)[users]
    seen = np.minimum(rank, length)  # how many of the last `length` there are
    found = np.full((len(items), length), -1, dtype=np.int64)
    for place in range(length):
        holds = place < seen
        found[holds, place] = items[np.flatnonzero(holds) - seen[holds] + place]
    result = np.empty_like(found)
    result[order] = found
    return result


def history_rows(train: Interactions, length: int) -> tuple[Ids, Ids]:
    """Build the histories for a ``HistoryTransformer``: one row per training pair, and one per user for serving.

    Parameters
    ----------
    train : Interactions
        The training pairs.
    length : int
        The length of a history.

    Returns
    -------
    histories : ndarray of int64, shape (``|O|`` + m, length)
        Row ``e < |O|`` holds what the user of pair e had before; row ``|O| + i`` holds the last items of user i, for
        serving.
    examples : ndarray of int64, shape (``|O|``,)
        The rows of the training pairs.

    Raises
    ------
    ValueError
        For anything but Interactions, and for a ``length`` below 1.

    Notes
    -----
    The first pair of each user has no history. It borrows the user's serving row, less its own item. A row of that
    item alone keeps it.

    Examples
    --------
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.towers import history_rows
    >>> data = Interactions([0, 0, 0], [2, 0, 1], n_users=1, n_items=3, times=[10, 20, 30])
    >>> histories, examples = history_rows(data, 2)
    >>> histories.tolist(), examples.tolist()
    ([[2, -1], [2, 0], [0, 1], [0, 1]], [0, 1, 2])
    """
    before = previous_items(checking.instance(train, "train", Interactions), length)
    serving = recent_histories(train.users, train.items, n_users=train.n_users, length=length, times=train.times)
    first = np.flatnonzero(before[:, 0] < 0)
    before[first] = _without(serving[train.users[first]], train.items[first])
    return np.concatenate((before, serving)), np.arange(len(train))


def _without(rows: Ids, items: Ids) -> Ids:
    """Each row without one item, moved up; a row of that item alone keeps it (there is nothing else to look at)."""
    gone = (rows == items[:, None]) & ((rows >= 0).sum(axis=1) > 1)[:, None]
    order = np.argsort(gone | (rows < 0), axis=1, kind="stable")
    kept: Ids = np.take_along_axis(np.where(gone, -1, rows), order, axis=1)
    return kept


# ------------------------------------------------------------------------------------------------------------- judging


def item_norms(towers: TwoTower, n_items: int) -> Floats:
    """Compute the lengths of the item embeddings, in float64.

    Parameters
    ----------
    towers : TwoTower
        The towers. The right one is asked in eval mode, without gradients.
    n_items : int
        The number n of items.

    Returns
    -------
    ndarray of float64, shape (n,)
        The lengths.

    Raises
    ------
    ValueError
        For towers that are no module, and an ``n_items`` below 1.

    Examples
    --------
    >>> import torch
    >>> from course_lib.encoders import Lookup, TwoTower
    >>> from course_lib.training.towers import item_norms
    >>> towers = TwoTower(Lookup(1, 2), Lookup(2, 2))
    >>> towers.right.weight.data = torch.tensor([[3.0, 4.0], [0.0, 2.0]])
    >>> item_norms(towers, 2).tolist()
    [5.0, 2.0]
    """
    checking.instance(towers, "towers", nn.Module)
    lengths: Floats = _table(towers.right, np.arange(checking.whole(n_items, "n_items"))).double().norm(dim=1).numpy()
    return lengths


def judge(
    towers: TwoTower,
    train: Interactions,
    test: Interactions,
    *,
    lists: int = 10,
    examples: Ids | None = None,
    quality: bool = True,
    seed: int = 0,
) -> dict[str, float]:
    """Say what popularity did to the items and to the lists, and how good the lists are.

    Parameters
    ----------
    towers : TwoTower
        The trained towers.
    train : Interactions
        The training pairs, which are left out of the lists.
    test : Interactions
        The test pairs.
    lists : int
        The number of items in a list.
    examples : array_like of int, shape (m,), optional
        What the left tower gets for each user. The default is the user.
    quality : bool
        Whether to compute NDCG and recall against ``test``.
    seed : int
        Draws the users whose lists are made, at most ``JUDGED_USERS`` of them.

    Returns
    -------
    dict of str to float
        "norm", the mean norm; "slope", the log-log slope of norm against count, if every item has a pair; "Pearson",
        the correlation of norm and count, and its two-sided "p value", unless all norms are equal. Then for ranking by
        dot product ("dot") and by cosine ("cos"): "share ..." of the top 1 % items, "AvgPop ..." and, with
        ``quality``, "NDCG ..." and "recall ...". "share chance" is what lists drawn at random from the items that are
        not known would show (``popularity.chance_share``, over all users).

    Raises
    ------
    ValueError
        For arguments of another kind, numbers out of range, ``examples`` that are not one for each user, and, with
        ``quality``, where none of the judged users has a test pair.

    Notes
    -----
    The length of a user's embedding changes no ranking, so users are normalised in both.

    Examples
    --------
    The norms are the counts, and the user with three items left is shown the popular one.

    >>> import torch
    >>> from course_lib.encoders import Lookup, TwoTower
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.towers import judge
    >>> train = Interactions([0, 0, 0, 1, 1, 1, 2], [0, 1, 2, 0, 1, 3, 0], n_users=3, n_items=4)
    >>> towers, test = TwoTower(Lookup(3, 1), Lookup(4, 1)), Interactions([2], [1], n_users=3, n_items=4)
    >>> towers.left.weight.data, towers.right.weight.data = torch.ones(3, 1), torch.tensor([[3.0], [2.0], [1.0], [1.0]])
    >>> found = judge(towers, train, test, lists=1)
    >>> [round(found[name], 4) for name in ("Pearson", "slope", "NDCG dot")]
    [1.0, 1.0, 1.0]
    """
    for name, part in (("train", train), ("test", test)):
        checking.instance(part, name, Interactions)
    checking.whole(lists, "lists"), checking.whole(seed, "seed", 0)
    checking.choice(quality, "quality", (True, False))
    if examples is not None:
        examples = _examples(examples, train.n_users, "user")
    counts, lengths = train.col_counts, item_norms(towers, train.n_items)
    found = {"norm": float(lengths.mean()), "share chance": popularity.chance_share(train, HEAD)}
    if counts.min() > 0:
        found["slope"] = popularity.log_log_slope(lengths, counts)
    if np.ptp(lengths) > 1e-6 * lengths.mean():  # norms that are equal up to rounding have no correlation
        found["Pearson"] = popularity.norm_correlation(lengths, counts)
        found["p value"] = float(stats.pearsonr(lengths, counts).pvalue)
    chosen = _judged(train.n_users, seed)
    known, wanted = _users_only(train, chosen), _users_only(test, chosen)
    left = _table(towers.left, chosen if examples is None else np.asarray(examples)[chosen])
    left = nn.functional.normalize(left, dim=1)
    items = _table(towers.right, np.arange(train.n_items))
    for ranking, table in (("dot", items), ("cos", nn.functional.normalize(items, dim=1))):
        ranked = metrics.top_k(left, table, known, lists)
        found[f"share {ranking}"] = popularity.top_share(ranked, counts, HEAD)
        found[f"AvgPop {ranking}"] = popularity.average_popularity(ranked, counts)
        if quality:
            quality_of = metrics.metrics_from_ranking(ranked, wanted, (lists,))
            found[f"NDCG {ranking}"] = quality_of[f"ndcg@{lists}"]
            found[f"recall {ranking}"] = quality_of[f"recall@{lists}"]
    return found


def _examples(examples: Ids, length: int, each: str) -> Ids:
    """What the left tower gets, one for each user or training pair: either may be taken for the other by mistake."""
    found = checking.as_numpy(examples, "examples")
    if found.shape[:1] != (length,):
        raise ValueError(f"examples has shape {found.shape}; expected one for each {each}: ({length},)")
    return found


def _table(tower: nn.Module, identifiers: Ids, block: int = 4096) -> Tensor:
    """The embeddings of all these identifiers on the CPU, made in blocks, without gradients and in eval mode."""
    was, device = tower.training, next((p.device for p in tower.parameters()), torch.device("cpu"))
    tower.eval()
    with torch.no_grad():
        parts = [
            tower(torch.from_numpy(np.array(identifiers[at : at + block])).to(device))
            for at in range(0, len(identifiers), block)
        ]
    tower.train(was)
    return torch.cat(parts).cpu()


def _judged(n_users: int, seed: int) -> Ids:
    if n_users <= JUDGED_USERS:
        return np.arange(n_users)
    return np.sort(np.random.default_rng(seed).choice(n_users, JUDGED_USERS, replace=False))


def _users_only(data: Interactions, users: Ids) -> Interactions:
    """The pairs of these users alone, relabelled 0, 1, ... in their order."""
    place = np.full(data.n_users, -1, dtype=np.int64)
    place[users] = np.arange(len(users))
    kept = place[data.users] >= 0
    return Interactions(place[data.users[kept]], data.items[kept], n_users=len(users), n_items=data.n_items)
