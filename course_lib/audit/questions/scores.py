"""calibration and temperature: what the scores say as log probabilities, and what a temperature can express."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import minimize_scalar

from course_lib.audit.evidence import SPHERE_TOLERANCE, AnyArray, Evidence, Float, Ids, part_of, uneven
from course_lib.audit.remedies import SIDES, SURE, Bench, Change
from course_lib.audit.smaller import GROUPS, groups_of
from course_lib.audit.verdicts import Number, Verdict, cannot_tell, percent
from course_lib.geometry import norm
from course_lib.losses import floors

SCORES, FEWEST = 1e7, 20  # scores held at once: of so many users, but of at least FEWEST
RANGE = math.log(1e3)  # how far from the spread of the scores a temperature is looked for, on either side
CLOSE = 0.02  # of the logarithm of the best temperature
NOTHING = 1e-30  # a scale at which all scores are alike, and a known item stays at -inf
COST = 0.05  # nats a held-out pair, more than at the best temperature: from here on noted
LIKELY = 0.5  # mean probability of the right item that a temperature must allow, or it is noted
HARDLY = 3.0  # times chance: with less, the right item can hardly be told from the others, and training is to change


@dataclass(frozen=True)
class Choices:
    """Softmax over the items that a user does not know, for held-out pairs: row (p,), item (p,) of scores (u, n).

    shift (n,): what is added to the scaled scores: zeros, or log counts.
    """

    scores: AnyArray
    rows: Ids
    items: Ids
    log_counts: Float

    def losses(self, scale: float, shift: Float | float = 0.0) -> Float:
        """(p,) -log probability of each pair under scale x score + shift."""
        logits = self._logits(scale, shift)
        top = logits.max(axis=1)
        log_sums = top + np.log(np.exp(logits - top[:, None]).sum(axis=1, dtype=np.float64))
        found: Float = log_sums[self.rows] - logits[self.rows, self.items]
        return found

    def of_users(self, scale: float, shift: Float | float = 0.0) -> Float:
        """(u,) the mean loss of each user who has a pair: each counts once, however many these are."""
        times = np.bincount(self.rows)
        sums = np.bincount(self.rows, weights=self.losses(scale, shift))
        mean: Float = sums[times > 0] / times[times > 0]
        return mean

    def of(self, part: Ids) -> Choices:
        """Of these pairs only."""
        return Choices(self.scores, self.rows[part], self.items[part], self.log_counts)

    def groups(self, scale: float, group: Ids) -> Float:
        """(G,) the mean probability of each group of items over the pairs."""
        logits = self._logits(scale, 0.0)
        chance = np.exp(logits - logits.max(axis=1)[:, None])
        chance /= chance.sum(axis=1)[:, None]
        of_user = np.stack([chance[:, group == at].sum(axis=1) for at in range(len(GROUPS))], axis=1)
        found: Float = of_user[self.rows].mean(axis=0)
        return found

    def _logits(self, scale: float, shift: Float | float) -> AnyArray:
        logits: AnyArray = self.scores * np.float32(scale)
        return logits if isinstance(shift, float) else logits + shift.astype(np.float32)

    @cached_property
    def spread(self) -> float:
        """Standard deviation of the scores."""
        finite = self.scores[np.isfinite(self.scores)]
        return float(finite.std()) or 1.0

    def best_scale(self, shift: Float | float = 0.0) -> float:
        """The scale with the least mean loss of these pairs' users, up to CLOSE in its logarithm."""
        start = -math.log(self.spread)
        bounds = (start - RANGE, start + RANGE)
        found = minimize_scalar(
            lambda at: float(self.of_users(math.exp(at), shift).mean()),
            bounds=bounds,
            method="bounded",
            options={"xatol": CLOSE},
        )
        return math.exp(found.x)


def choices(bench: Bench) -> Choices:
    """Of the bench's users, or of as many as SCORES allows, at random."""
    n = len(bench.counts)
    size = int(min(len(bench.chosen), max(FEWEST, SCORES / n)))
    some = bench.evidence.rng("calibrated users").permutation(len(bench.chosen))[:size]
    known, test = part_of(bench.pairs, some), part_of(bench.held_out, some)
    scores = (bench.users[some] @ bench.items.T).astype(np.float32)
    scores[known.users, known.items] = -np.inf
    return Choices(scores, test.users, test.items, np.log(np.maximum(bench.counts, 1.0)))


def calibration(bench: Bench | None) -> Verdict:
    """Noted where the temperature of the training costs COST nats a held-out pair more than the best one.

    The best temperatures are found on half of the users, and everything is judged on the others.
    """
    name = "calibration"
    if bench is None:
        needed = "Give --users, --pairs and --held-out."
        return cannot_tell(name, "Scores were not compared with held-out pairs.", needed)
    found, tau = choices(bench), bench.evidence.training.temperature
    first, judged = (found.of(np.flatnonzero(found.rows % 2 == half)) for half in (0, 1))
    scale, with_counts = first.best_scale(), first.best_scale(found.log_counts)
    laws: dict[str, tuple[float, Float | float]] = {} if tau is None else {"temperature of training": (1 / tau, 0.0)}
    laws |= {"best temperature": (scale, 0.0), "with log(popularity)": (with_counts, found.log_counts)}
    laws |= {"popularity alone": (NOTHING, found.log_counts), "all items alike": (NOTHING, 0.0)}
    cost = {law: judged.of_users(*known) for law, known in laws.items()}
    figures: dict[str, Number] = {law.replace(" ", "_"): float(each.mean()) for law, each in cost.items()}
    figures |= {"best_temperature_value": 1 / scale, "users": len(cost["best temperature"]), "temperature": tau}
    group = groups_of(bench.counts)
    expected = found.groups(scale if tau is None else 1 / tau, group)
    wanted = np.bincount(group[found.items], minlength=len(GROUPS)) / len(found.items)
    for at, each in enumerate(GROUPS):
        figures |= {f"expected_{each}": float(expected[at]), f"held_out_{each}": float(wanted[at])}
    listed = ", ".join(f"{law} {each.mean():.3f}" for law, each in cost.items())
    support = (
        f"Read as log probabilities, the scores cost, in nats a held-out pair on average over {figures['users']:,} "
        f"users: {listed}. The law is over the items that a user does not know, and the best temperature, "
        f"{1 / scale:.3g}, is that of other users. At {'the best' if tau is None else 'the training'} temperature the "
        f"scores expect {percent(expected[0])} of the pairs in the most popular tenth, and {percent(expected[-1])} in "
        f"the less popular half; {percent(wanted[0])} and {percent(wanted[-1])} are there."
    )
    if tau is None:
        needed = "Give --temperature to judge the scores as they were trained."
        return cannot_tell(name, support, needed, figures)
    change = Change.of(cost["temperature of training"] - cost["best temperature"])
    figures |= {"cost": change.difference, "low": change.low, "high": change.high}
    sure = change.difference * SIDES >= SURE * (change.difference - change.low)
    if change.difference < COST or not sure:
        return Verdict(name, "fine", support, figures)
    advice = (
        f"Before a score is read as a log probability, divide it by {1 / scale:.3g} and not by {tau:g}: "
        f"{change.difference:.2f} nats a pair less (95 % interval {change.low:.2f} to {change.high:.2f}). No list "
        "changes."
    )
    return Verdict(name, "noted", support, figures, advice)


def temperature(evidence: Evidence) -> Verdict:
    """Of cosines: the least loss and the largest mean probability over batch and catalogue (`losses.floors`).

    Noted where no table can give the right item a mean probability of LIKELY over the catalogue. Rows of one length
    other than 1 count as a smaller temperature.
    """
    name, tau, n = "temperature", evidence.training.temperature, len(evidence.items)
    if tau is None:
        return cannot_tell(name, "A table does not show its temperature.", "Give --temperature, and --batch-size.")
    if evidence.users is None or not evidence.on_sphere or uneven(norm(evidence.users)) > SPHERE_TOLERANCE:
        why = (
            "The rows have many lengths, or are not all known: scores are not bounded, and no temperature is too high."
        )
        return cannot_tell(name, why, "Of cosines, audit users and items of length 1.")
    size = float(np.median(evidence.norms)) * float(np.linalg.norm(evidence.users[0]))
    own, largest = tau / size, floors.largest_tau(n, LIKELY)
    likely = floors.most_probable(n, own)
    figures: dict[str, Number] = {"temperature": tau, "items": n, "most_probable": likely, "largest": largest * size}
    figures["times_chance"] = likely * n
    support = (
        f"At the temperature {tau:g} no table of cosines of any width gives the right one of {n:,} items a mean "
        f"probability above {likely:.3g}; {LIKELY:g} needs {largest * size:.3g} or less"
    )
    if batch := evidence.training.batch_size:
        floor = floors.loss_floor(batch, own)
        figures |= {"batch_size": batch, "loss_floor": floor, "most_probable_in_batch": math.exp(-floor)}
        support += (
            f". In a batch of {batch:,} the loss of a pair cannot fall below {floor:.3g} nats, and the mean "
            f"probability cannot rise above {math.exp(-floor):.3g}"
        )
    return Verdict(name, "noted" if likely < LIKELY else "fine", f"{support}.", figures)
