"""What the chapter on Jacobians says of data, and where it holds.

Stored results: P0-E0 to P0-E7, each on our toy in 2, 3 and 16 dimensions and on MovieTweetings, three seeds each. The
pages' own runs: lengths (steps + 1, watched) of people or films, one tensor for each seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from torch import Tensor

from course_lib.lessons.shared.findings import Difference, finding

ROUNDING = 1e-12  # more than float64 loses in one step, far less than a step moves
TANGENT = 1e-6  # |cos(q, dq)| below this counts as a right angle
TABLES = ("P0-E1-laptop", "P0-E6-laptop", "P0-E7-laptop")
TABLE, DOT = "P0-E1-laptop", "P0-E2-laptop"
NETWORKS = ("P0-E3-laptop", "P0-E4-laptop", "P0-E5-laptop")
FILMS = "movietweetings-10core"

stored = partial(finding, case="setting")
# the pages' own runs
on_films = partial(finding, case="data set", cases="MovieTweetings")
on_toy = partial(finding, case="data set", cases="toy")


def _named(data: str, width: int, *more: str) -> str:
    """ "toy, d = 2, users", "MovieTweetings"."""
    return ", ".join(["MovieTweetings" if data == FILMS else f"toy, d = {width}", *more])


def _settings(result: Any) -> list[tuple[str, int]]:
    """(data set, width) of a stored result, in the order of its cells."""
    return list(dict.fromkeys((row["data"], row["d"]) for row in result.rows))


def _by_setting(
    results: Iterable[Any], metric: str, *, sides: Sequence[str] = ("user",)
) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """(name of the case, result, where to look) for each data set, width and side that a metric was stored for."""
    for result in results:
        for data, width in _settings(result):
            for side in sides:
                where = {"data": data, "d": width, "side": side}
                if result.values(metric, **where):
                    yield f"{result.id[3:]}: {_named(data, width, f'{side}s')}", result, where


def _against(
    results: Iterable[Any], other: Any, metric: str, *, sides: Sequence[str] = ("user",)
) -> Iterator[tuple[str, list[float], list[float]]]:
    """(name of the case, values, the other experiment's values on the same data, width and side), by seed."""
    for name, result, where in _by_setting(results, metric, sides=sides):
        yield name, result.values(metric, **where), other.values(metric, **where)


# ---- stored: which towers keep the right angle


@stored("A table or a one-hot layer under cosines moves at right angles, users and items", rests_on=TABLES)
def tables_stay_tangent(*results: Any) -> dict[str, Difference]:
    """1e-6 minus the largest |cos(q, dq)|, over seeds; above 0 in each."""
    return {
        name: Difference.each(TANGENT - np.array(result.values("max |cos|", **where)))
        for name, result, where in _by_setting(results, "max |cos|", sides=("user", "item"))
    }


@stored("There, more of the movements make their vector longer than under dot products", rests_on=(*TABLES, DOT))
def tables_only_lengthen(*results: Any) -> dict[str, Difference]:
    """The share of movements that lengthen, minus that of experiment 2, over seeds."""
    *tables, dot = results
    return {
        name: Difference.paired(ours, theirs)
        for name, ours, theirs in _against(tables, dot, "share outwards", sides=("user", "item"))
    }


@stored("Items in a table move at right angles whatever the users' tower is", rests_on=NETWORKS)
def item_tables_stay_tangent(*results: Any) -> dict[str, Difference]:
    """1e-6 minus the largest |cos(q, dq)| of an item, over seeds; above 0 in each."""
    return {
        name: Difference.each(TANGENT - np.array(result.values("max |cos|", **where)))
        for name, result, where in _by_setting(results, "max |cos|", sides=("item",))
    }


@stored(
    "Users of a network or a linear layer on codes leave the right angle further than users of a table",
    rests_on=(*NETWORKS, TABLE),
)
def network_users_leave_it(*results: Any) -> dict[str, Difference]:
    """The largest |cos(q, dq)| of a user, minus that of experiment 1, over seeds."""
    *networks, table = results
    return {name: Difference.paired(ours, theirs) for name, ours, theirs in _against(networks, table, "max |cos|")}


@stored("Fewer of the movements of such users make their vector longer than in a table", rests_on=(*NETWORKS, TABLE))
def network_users_often_shorten(*results: Any) -> dict[str, Difference]:
    """The share of movements that lengthen in experiment 1, minus that of the network, over seeds."""
    *networks, table = results
    return {name: Difference.paired(theirs, ours) for name, ours, theirs in _against(networks, table, "share outwards")}


# ---- stored: shares near the right angle, against chance


def _against_chance(results: Iterable[Any]) -> dict[str, Difference]:
    """Share of angles within 90 ± 10 degrees minus that of uniform directions, over seeds."""
    return {
        name: Difference.paired(result.values("share within 10", **where), result.values("share by chance", **where))
        for name, result, where in _by_setting(results, "share within 10")
    }


@stored(
    "Linear layers on codes stay nearer to the right angle than uniform directions do",
    rests_on=("P0-E4-laptop", "P0-E5-laptop"),
)
def linear_layers_beat_chance(*results: Any) -> dict[str, Difference]:
    """Share of angles within 90 ± 10 degrees minus that of uniform directions, over seeds."""
    return _against_chance(results)


@stored(
    "The transformer's users are near the right angle less often than uniform directions are",
    rests_on=("P0-E3-laptop",),
    claimed={f"E3: {_named('', d, 'users')}" for d in (3, 16)},
)
def transformer_falls_below_chance(e3: Any) -> dict[str, Difference]:
    """Share of uniform directions within 90 ± 10 degrees minus that of the angles, over seeds."""
    return {name: -nearer for name, nearer in _against_chance([e3]).items()}


# ---- stored: lengths


@stored(
    "Under dot products the median vector ends shorter than it began",
    rests_on=("P0-E2-laptop",),
)
def dot_products_shrink(e2: Any) -> dict[str, Difference]:
    """-log(length at the end / at the start), users and items, over seeds."""
    return {
        name: Difference.below(np.log(e2.values("norm ratio", **where)), 0)
        for name, _, where in _by_setting([e2], "norm ratio", sides=("user", "item"))
    }


@stored("Under momentum no movement makes its vector shorter", rests_on=("P0-E0-laptop",))
def momentum_never_shortens(e0: Any) -> dict[str, Difference]:
    """1e-12 minus the share of moves that do not lengthen, over seeds; above 0 in each."""
    return {
        name: Difference.each(ROUNDING - (1 - np.array(e0.values("share outwards", **where))))
        for name, _, where in _by_setting([e0], "share outwards", sides=("user", "item"))
    }


def _longer_than_plain_table(one: Any, plain: Any, sides: Sequence[str]) -> dict[str, Difference]:
    """log of (length at the end / at the start), minus the same for experiment 1, over seeds."""
    return {
        name: Difference.paired(np.log(one.values("norm ratio", **where)), np.log(plain.values("norm ratio", **where)))
        for name, _, where in _by_setting([one], "norm ratio", sides=sides)
    }


@stored("Momentum makes the vectors longer than plain SGD does", rests_on=("P0-E0-laptop", "P0-E1-laptop"))
def momentum_lengthens_more(e0: Any, e1: Any) -> dict[str, Difference]:
    """Log of the growth in length, minus that with plain SGD, over seeds."""
    return _longer_than_plain_table(e0, e1, ("user", "item"))


@stored(
    "Users of a one-hot layer grow by a larger factor than users of a table", rests_on=("P0-E6-laptop", "P0-E1-laptop")
)
def one_hot_layers_grow_more(e6: Any, e1: Any) -> dict[str, Difference]:
    """Log of the growth in length, minus that of the table, over seeds."""
    return _longer_than_plain_table(e6, e1, ("user",))


# ---- the pages' own runs: films in a table beside people from a network


def shorter(lengths: Tensor) -> Tensor:
    """(steps, watched) booleans: which steps made a vector shorter, beyond rounding; lengths (steps + 1, watched)."""
    return lengths[1:] < lengths[:-1] * (1 - ROUNDING)


@on_films("No movement makes a film's vector shorter, beyond rounding")
def no_film_shortens(films: Sequence[Tensor]) -> Difference:
    """1e-12 minus the largest share of its length that a film loses in a step."""
    return Difference.each([ROUNDING - float((1 - run[1:] / run[:-1]).max()) for run in films])


@on_films("Every watched person's vector is shorter after step 300 than after step 100")
def every_person_ends_shorter(people: Sequence[Tensor]) -> Difference:
    """The smallest share of its length that a person loses from step 100 on; the steps before it are left out."""
    return Difference.each([float((1 - run[-1] / run[0]).min()) for run in people])


@on_films("More than half of the people's movements make their vector shorter", claimed=())
def most_moves_shorten_people(people: Sequence[Tensor]) -> Difference:
    """The share of such movements, minus a half."""
    return Difference.above([float(shorter(run).double().mean()) for run in people], 0.5)


@on_films("The first step makes the median person's vector longer by a larger factor than any later step")
def the_first_step_jumps(people: Sequence[Tensor]) -> Difference:
    """The median factor of the first step, minus the largest of a later step."""
    factors = [(run[1:] / run[:-1]).median(dim=1).values for run in people]
    return Difference.above([float(each[0] - each[1:].max()) for each in factors])


# ---- the main page's own runs: one change at a time, on the toy


@finding("None of the movements under these changes makes its vector shorter", case="setting")
def these_changes_never_shorten(lengths: Mapping[str, Sequence[Tensor]]) -> dict[str, Difference]:
    """1e-12 minus the largest share of its length that a vector loses in a step.

    lengths: of each change, those for each seed.
    """
    return {
        change: Difference.each([ROUNDING - float((1 - run[1:] / run[:-1]).max()) for run in some])
        for change, some in lengths.items()
    }


@finding("Under these changes fewer of the movements make their vector longer than without a change", case="setting")
def these_changes_shorten(shares: Mapping[str, Sequence[float]], unchanged: Sequence[float]) -> dict[str, Difference]:
    """Share of the movements that do not lengthen, minus that of the unchanged run, over seeds; above 0 in each.

    shares: of each change, those for each seed.
    """
    return {change: Difference.each(np.subtract(some, unchanged)) for change, some in shares.items()}


@on_toy("Each movement of an inverted table makes its vector shorter")
def inversion_always_shortens(shares: Sequence[float]) -> Difference:
    """1e-12 minus the share of the movements that do not shorten."""
    return Difference.each([ROUNDING - (1 - share) for share in shares])


# ---- the further page's own runs


@on_films("The median output rises and falls again while no layer ever becomes shorter")
def outputs_fall_while_layers_grow(runs: Sequence[tuple[ArrayLike, Sequence[ArrayLike]]]) -> Difference:
    """How far the output falls from its peak, as a share of the peak; -1 if a layer shrinks.

    runs: of each, the outputs (steps + 1,) and the norms of each layer.
    """
    found = []
    for outputs, layers in runs:
        path = np.asarray(outputs, dtype=float)
        grow = all((np.diff(np.asarray(layer, dtype=float)) > 0).all() for layer in layers)
        rises = path.max() > path[0]
        found.append(1 - path[-1] / path.max() if grow and rises else -1.0)
    return Difference.each(found)


@finding(
    "Linear layers on the toy stay nearer to the right angle than uniform directions do",
    case="setting",
    claimed={"P0-E5, rate 0.1"},
)
def toy_shares_beat_chance(shares: Mapping[str, Sequence[float]], chance: float) -> dict[str, Difference]:
    """Share of angles within 90 ± 10 degrees minus chance.

    shares: of each setting, those for each seed.
    """
    return {name: Difference.above(some, chance) for name, some in shares.items()}


@on_films("Between two people the kernel is not zero")
def people_move_each_other(ratios: Sequence[float]) -> Difference:
    """Mean norm of the blocks off the diagonal over that on it, beyond rounding."""
    return Difference.above(ratios, ROUNDING)


@on_films("Training spreads the people out: the mean cosine between two of them falls", claimed=())
def people_spread_out(before: Sequence[float], after: Sequence[float]) -> Difference:
    """The mean cosine before training minus that after it."""
    return Difference.paired(before, after)


# ---- the lab's own runs


@on_toy("The transformer moves the users of the toy more alike than random directions would be")
def transformer_moves_together(lengths: Sequence[float], users: int) -> Difference:
    """Length of the mean of the users' unit movements, averaged over the steps, minus 1 / sqrt(users).

    That is the root mean square of the length for independent uniform directions.
    """
    return Difference.above(lengths, users**-0.5)


@finding("A larger learning rate, a larger batch and more steps each raise the share", case="dial")
def each_dial_raises_the_share(ends: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> dict[str, Difference]:
    """The share at the high end of the dial minus that at its low end, over seeds.

    ends: of each dial, the shares at its low end and at its high end.
    """
    return {dial: Difference.paired(high, low) for dial, (low, high) in ends.items()}


@finding("A tower other than the table lets a cosine gradient push an embedding outwards", case="tower")
def other_towers_can_be_pushed(fastest: Mapping[str, Sequence[float]], table: Sequence[float]) -> dict[str, Difference]:
    """The largest radial speed for each start, minus that of the table."""
    return {tower: Difference.paired(pushes, table) for tower, pushes in fastest.items()}


@on_films("In the network the worst gradient of another person pushes as well")
def others_push_as_well(ratios: Sequence[float]) -> Difference:
    """Mean entry of the leak beside the diagonal over that on it, beyond rounding."""
    return Difference.above(ratios, ROUNDING)


@finding("A film in a table of its own never becomes shorter, whatever the people's tower is", case="tower")
def own_film_tables_only_lengthen(films: Mapping[str, Sequence[Tensor]]) -> dict[str, Difference]:
    """1e-12 minus the largest share of its length that a film loses in a step, over seeds; above 0 in each."""
    return {
        tower: Difference.each([ROUNDING - float((1 - run[1:] / run[:-1]).max()) for run in runs])
        for tower, runs in films.items()
    }


@on_films("Where both towers share a table, fewer of the films' movements lengthen than in tables of their own")
def shared_tables_shorten_films(outward: Sequence[float], own: Sequence[float]) -> Difference:
    """The share of the movements that lengthen in the films' own tables, minus that in the shared table."""
    return Difference.paired(own, outward)
