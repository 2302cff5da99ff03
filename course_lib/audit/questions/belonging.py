"""mismatched-rows: do the rows of the tables belong to the pairs? The first question, on which all others rest."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from course_lib.audit.evidence import AnyArray, Evidence, Float, Ids
from course_lib.audit.questions.audiences import STRANGERS, ahead, related, sides, strangers_rows
from course_lib.audit.remedies import SIDES
from course_lib.audit.verdicts import Number, Verdict, cannot_tell
from course_lib.interactions import Interactions

NAME = "mismatched-rows"
USERS, SWAPS = 1_000, 20_000  # users, drawn at random, and swaps of two pairs, in all
FEWEST_USERS = 20  # without whom nothing is said
FAR, MOVED = 3, "are off by"  # rows by which a table is moved, and how that is said
EXCHANGED = "users and items are exchanged, in the tables or in the pairs"
SURE = 5.0  # standard errors by which another pairing must win
NARROW = 3  # dimensions, in which rows of another rotation may agree with the pairs by chance
RENUMBERED = 0.5  # of what training pairs win beyond chance, held-out pairs win in another order: it is theirs
ABOVE = 3.0, 5.0  # standard deviations above the strangers: for these rows, and for rows that would win


@dataclass(frozen=True)
class Swaps:
    """Pairs (u, i) and (v, j) of four different rows, of which neither (u, j) nor (v, i) is a pair: each (s,).

    owner (s,): which of the `users` different users u is.
    """

    u: Ids
    i: Ids
    v: Ids
    j: Ids
    owner: Ids
    users: int


@dataclass(frozen=True)
class Shares:
    """Share of the swaps that a pairing of rows and pairs wins, each (users,): .5 for rows that know nothing of pairs.

    given: the rows as they are; others: {what is wrong with the rows: in that order}; of_file: the same of the order of
    the file, which no figure may depend on where nothing is wrong; items, users: strangers' rows;
    turned: the items turned by a random rotation, as those of another training are: in few dimensions, rows that do not
    belong to the users then agree with them more or less by chance.
    """

    given: Float
    others: dict[str, Float]
    of_file: dict[str, Float]
    items: list[Float]
    users: list[Float]
    turned: list[Float]

    @property
    def strangers(self) -> list[Float]:
        """Rows that do not belong to the pairs, of all three kinds."""
        return [*self.items, *self.users, *self.turned]

    @property
    def knows(self) -> bool:
        """Whether these rows surely win more swaps than strangers'."""
        return self.above(self.given) >= ABOVE[0] and all(ahead(self.given - each, SIDES) for each in self.strangers)

    def above(self, shares: Float) -> float:
        """How far above strangers' rows, in standard deviations over them, of the kind to which it is nearest.

        In log odds, as a share near 1 leaves no room above.
        """
        distances = []
        for kind in (self.items, self.users, self.turned):
            odds = logit(np.clip([each.mean() for each in (shares, *kind)], 1e-6, 1 - 1e-6))
            distance, spread = float(odds[0] - odds[1:].mean()), float(odds[1:].std(ddof=1))
            distances.append(distance / spread if spread else math.copysign(math.inf, distance) if distance else 0.0)
        return min(distances)


def mismatched_rows(evidence: Evidence) -> Verdict:
    """A fault where another pairing of rows and pairs is better; fine where this one is better than all others.

    A pairing is judged by swaps: <u, i> + <v, j> should be above <u, j> + <v, i>, for pairs (u, i) and (v, j). Whatever
    belongs to an item or a user alone, such as popularity, cancels. Other pairings: each table moved by up to FAR rows,
    in reverse, or in the order of its row numbers as text, and both so, in the order of the ids and in that of the
    file; the two tables exchanged; and strangers' rows, those of other items or users of like counts. They are compared
    on the same swaps, user by user. Held-out pairs must not say the opposite: a model of what comes next may prefer the
    item after each that a user knows, but not the one after the next. Where the rows belong to the training pairs,
    held-out pairs are asked the same, as they may be numbered otherwise.

    Also a fault where a part of a table is in another order (`Side.astray`, `Side.drifts`); and where the rows know no
    more of the pairs than strangers' do, although the tables were trained: with each other, or each on such pairs.
    """
    pairs = evidence.held_out if evidence.pairs is None else evidence.pairs
    if evidence.users is None or pairs is None:
        return cannot_tell(NAME, "Users and pairs were not both given.", "Give --users and --pairs.")
    swaps = drawn_swaps(pairs, evidence.rng(NAME))
    if swaps.users < FEWEST_USERS:
        why = f"Only {swaps.users} users have a pair that can be swapped with one of another user."
        return cannot_tell(NAME, why, f"Give the pairs of {FEWEST_USERS} users.")
    found = _shares(evidence, pairs, swaps)
    later = None
    if pairs is evidence.pairs and evidence.held_out is not None:
        known = (pairs.row_counts[evidence.held_out.users] > 0) & (pairs.col_counts[evidence.held_out.items] > 0)
        held_out = evidence.held_out.select(known)  # of the others the tables know nothing
        swaps = drawn_swaps(held_out, evidence.rng("held-out swaps"))
        later = _shares(evidence, held_out, swaps) if swaps.users >= FEWEST_USERS else None
    other = None if later is None or later.knows else _winner(later)
    if later is not None and other is not None and found.knows and _winner(found) is None:
        best = (later.others | later.of_file)[other].mean()
        if best - 0.5 >= RENUMBERED * (found.given.mean() - 0.5):
            return _held_out_otherwise(found, later, other)
    return _judged(found, later, *_partly(evidence, pairs, found))


def drawn_swaps(pairs: Interactions, rng: np.random.Generator) -> Swaps:
    """SWAPS swaps of USERS users, as many for each, less those whose swapped pairs are pairs too."""
    counts = pairs.row_counts
    able = np.flatnonzero(counts)
    chosen = rng.choice(able, min(USERS, len(able)), replace=False)
    u = np.repeat(chosen, -(-SWAPS // max(1, len(chosen))))
    first = np.cumsum(counts) - counts  # pairs lie user by user
    i = pairs.items[first[u] + rng.integers(0, counts[u])]
    other = rng.integers(0, max(1, len(pairs)), len(u))
    v, j = pairs.users[other], pairs.items[other]
    kept = ~pairs.contains(u, j) & ~pairs.contains(v, i)  # so u is not v, and i is not j
    u, i, v, j = u[kept], i[kept], v[kept], j[kept]
    users, owner = np.unique(u, return_inverse=True)
    return Swaps(u, i, v, j, owner, len(users))


# ---- pairings: which row of a table belongs to an id


def other_orders(n: int) -> dict[str, Ids]:
    """{what is wrong with the rows: (n,) the row of each id}, without those that leave n rows where they are."""
    rows = np.arange(n)
    found = {}
    for step in range(1, FAR + 1):
        by = "one" if step == 1 else str(step)
        found[f"{MOVED} {by}: row r + {step} belongs to number r"] = (rows + step) % n
        found[f"{MOVED} {by}: row r - {step} belongs to number r"] = (rows - step) % n
    found["are in reverse"] = rows[::-1]
    found["are in the order of their numbers as text (0, 1, 10, 100, ...)"] = np.argsort(
        np.argsort(rows.astype(str), kind="stable")
    )
    return {name: order for name, order in found.items() if (order != rows).any()}


def orders_of_file(places: Ids | None) -> dict[str, Ids]:
    """The same for rows that stand in the order of their ids, and in the file at these places: ids that slipped there.

    Also for a file whose rows, and not whose ids, were in the order of the ids. Empty where both are in one order.
    """
    if places is None:
        return {}
    n, row_at = len(places), np.argsort(places)  # the row here of each row that is left of the file
    if (row_at == np.arange(n)).all():
        return {}
    rank = np.empty(n, dtype=np.int64)
    rank[row_at] = np.arange(n)
    found = {
        f"{name.replace('number r', 'the id of row r')}, in the file": row_at[order[rank]]
        for name, order in other_orders(n).items()
    }
    return found | {"are in the order of the ids, which the ids in the file are not": row_at}


def rotations(width: int, rng: np.random.Generator) -> Iterator[AnyArray]:
    """STRANGERS random rotations or reflections (d, d)."""
    for _ in range(STRANGERS):
        Q, R = np.linalg.qr(rng.standard_normal((width, width)))
        yield (Q * np.sign(np.diag(R))).astype(np.float32)


def _shares(evidence: Evidence, pairs: Interactions, swaps: Swaps) -> Shares:
    assert evidence.users is not None
    users, items = evidence.users, evidence.items
    times = np.bincount(swaps.owner)

    def apart(table: Float, left: Ids, right: Ids, rows: Ids | None = None) -> Float:
        return table[left] - table[right] if rows is None else table[rows[left]] - table[rows[right]]

    def share(left: Float, right: Float) -> Float:  # <u - v, i - j> > 0; equal scores count a half
        gain = np.einsum("sd,sd->s", left, right)
        won: Float = np.bincount(swaps.owner, weights=(gain > 0) + 0.5 * (gain == 0)) / times
        return won

    of_users, of_items = apart(users, swaps.u, swaps.v), apart(items, swaps.i, swaps.j)

    def in_orders(of_the_users: dict[str, Ids], of_the_items: dict[str, Ids]) -> dict[str, Float]:
        moved = {name: apart(items, swaps.i, swaps.j, rows) for name, rows in of_the_items.items()}
        shares = {f"the item rows {name}": share(of_users, right) for name, right in moved.items()}
        for name, rows in of_the_users.items():
            left, said = apart(users, swaps.u, swaps.v, rows), f"the user rows {name}"
            shares[said] = share(left, of_items)
            shares |= {f"{said}; the item rows {other}": share(left, right) for other, right in moved.items()}
        return shares

    others = in_orders(other_orders(len(users)), other_orders(len(items)))
    least = min(len(users), len(items))
    if max(map(int, (swaps.u.max(), swaps.v.max(), swaps.i.max(), swaps.j.max()))) < least:
        others[EXCHANGED] = share(apart(items, swaps.u, swaps.v), apart(users, swaps.i, swaps.j))
    rng = evidence.rng("strangers")
    strange_items, strange_users = (strangers_rows(counts, rng) for counts in (pairs.col_counts, pairs.row_counts))
    return Shares(
        share(of_users, of_items),
        others,
        in_orders(orders_of_file(evidence.user_places), orders_of_file(evidence.places)),
        [share(of_users, apart(items, swaps.i, swaps.j, rows)) for rows in strange_items],
        [share(apart(users, swaps.u, swaps.v, rows), of_items) for rows in strange_users],
        [share(of_users, of_items @ turn) for turn in rotations(items.shape[1], rng)],
    )


def _partly(evidence: Evidence, pairs: Interactions, found: Shares) -> tuple[str, str]:
    """(what is wrong with a part of the rows, why rows that know nothing were trained all the same); "" for nothing."""
    users, items, winner = evidence.users, evidence.items, _winner(found)
    assert users is not None
    both = sides(users, items, pairs, evidence.rng("audiences"))
    moved = winner is None or all(MOVED in part for part in winner.split("; "))  # as it seems where parts are
    for name, side in both.items():
        if moved and side.drifts() and not _later(evidence, name):
            return f"Parts of the {name} rows {MOVED} {_listed(side.steps())} rows, in this order.", ""
    if winner is not None:
        return "", ""
    for name, side in both.items():
        step, agreed, looked = side.elsewhere()
        if step:
            return (
                f"Of {looked} {name} rows {agreed} stand {abs(step)} rows {'on' if step > 0 else 'back'}, as a part.",
                "",
            )
    for name, side in both.items():
        if share := side.astray():
            return (
                f"About {100 * share:.0f} % of the {name} rows are those of strangers; the others know their own.",
                "",
            )
    if found.knows or users.shape[1] <= NARROW:
        return "", ""
    if related(users, items, [*rotations(items.shape[1], evidence.rng("turns"))]):
        return "", "Yet the two tables were trained together: the pairs, or the order of the rows, are those of others."
    sure = {name: side.coherence() for name, side in both.items()}
    if min(sure.values()) > ABOVE[1]:
        return "", "Yet each table alone belongs to such pairs: the two are of different trainings."
    best, other = sorted(sure, key=lambda name: -sure[name])
    if sure[best] > ABOVE[1] and sure[other] < SIDES and both[other].copied.mean() < 0.5:
        return (
            "",
            f"Yet the {best} rows alone belong to such pairs: the {other} rows are those of strangers, or untrained.",
        )
    return "", ""


def _later(evidence: Evidence, name: str) -> bool:
    """Whether the rows of a table are not off for held-out pairs: then the model is one of what comes next."""
    if evidence.held_out is None or evidence.pairs is None or evidence.users is None:
        return False
    both = sides(evidence.users, evidence.items, evidence.held_out, evidence.rng("held-out audiences"))
    return bool(steps := both[name].steps()) and not any(steps)


# ---- the verdict


def _held_out_otherwise(found: Shares, later: Shares, other: str) -> Verdict:
    """The fault of held-out pairs that name other rows than the training pairs do."""
    won, held_out, best = (
        float(shares.mean()) for shares in (found.given, later.given, (later.others | later.of_file)[other])
    )
    figures: dict[str, Number] = {"won": won, "won_held_out": held_out, "won_held_out_by_the_best_other": best}
    support = (
        f"The tables belong to the training pairs, where the score falls in {100 * won:.1f} % of the swaps of two "
        f"pairs, but not to the held-out pairs: {100 * held_out:.1f} %, and {100 * best:.1f} % in another order: "
        f"{other}. Nothing else is judged."
    )
    advice = "Number the held-out pairs as the training pairs are: look for ids counted from 1, or columns exchanged."
    return Verdict(NAME, "fault", support, figures, advice)


def _best(found: Shares) -> str:
    return max(found.others, key=lambda name: float(found.others[name].mean()))


def _winner(found: Shares) -> str | None:
    """The order of the rows, or of the file, that is surely better than the given one, and than strangers' rows."""
    orders = found.others | found.of_file
    best = max(orders, key=lambda name: float(orders[name].mean()))
    wins = ahead(orders[best] - found.given, SURE) and found.above(orders[best]) >= ABOVE[1]
    return best if wins else None


def _judged(found: Shares, later: Shares | None, partly: str, trained: str) -> Verdict:
    """later: the same on held-out pairs, where another order wins and there are any; partly, trained: `_partly`."""
    best = _winner(found) or _best(found)
    winner = (found.others | found.of_file)[best]
    chance = float(np.mean(found.strangers))
    figures: dict[str, Number] = {
        "won": float(found.given.mean()),
        "won_by_strangers": chance,
        "won_by_the_best_other": float(winner.mean()),
        "users": len(found.given),
    }
    support = (
        f"In {100 * found.given.mean():.1f} % of the swaps of two pairs the score falls, for {len(found.given):,} "
        f"users, and with strangers' rows in {100 * chance:.1f} %. Two pairs (u, i) and (v, j) should score more "
        "together than (u, j) and (v, i), whatever the popularity of the items; strangers' rows are those of items or "
        "users of like counts, or of another rotation."
    )
    turned = found.above(1 - found.given) >= ABOVE[1]
    if partly or (trained and not turned):
        advice = (
            "Look for ids that were left out, put in or renumbered, and for a table of another training or other data."
        )
        return Verdict(NAME, "fault", f"{support} {partly or trained} Nothing else is judged.", figures, advice)
    if _winner(found) and later is not None and later.given.mean() >= (later.others | later.of_file)[best].mean():
        support += f" With other rows it falls in {100 * winner.mean():.1f} % ({best}), but not on held-out pairs."
        return cannot_tell(NAME, support, "Check the order of the rows against the ids.", figures)
    if _winner(found):
        support += f" With other rows it falls in {100 * winner.mean():.1f} %: {best}. Nothing else is judged."
        advice = (
            "Mend the order first: look for a padding row, for ids that were counted from 1, and for tables that were "
            "written in another order than the ids of the pairs; or give the ids of the rows (--item-ids, --user-ids)."
        )
        return Verdict(NAME, "fault", support, figures, advice)
    if not found.knows:
        support += (
            " The signs of the scores seem to be the other way round: are these distances?"
            if turned
            else " So these tables are untrained, or of another model or other data, or in an order that was not tried."
        )
        needed = "Check where the tables come from. If they are not those of the pairs, no figure here means anything."
        return cannot_tell(NAME, support, needed, figures)
    near = [name for name, other in found.others.items() if not ahead(found.given - other, SIDES)]
    if near:
        support += f" Other orders cannot be told from this one, such as this: {near[0]}."
        return cannot_tell(NAME, support, "Check the order of the rows against the ids of the pairs.", figures)
    support += f" The best of {len(found.others)} other orders of the rows: {100 * winner.mean():.1f} %."
    return Verdict(NAME, "fine", support, figures)


def _listed(steps: list[int]) -> str:
    return ", ".join(str(step) for at, step in enumerate(steps) if at == 0 or step != steps[at - 1])
