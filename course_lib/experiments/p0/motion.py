"""P0's experiments 0 to 7: in which towers, losses and optimisers does an embedding move at right angles to itself?

Each cell trains a small two-tower model and looks at EVERY step: the angle between an embedding and its movement, of
every watched user and item that moved. P0 does not describe its toy data; ours plants four tastes that can be seen in
the plane. P0 reports ticks and, for experiments 4 and 5, that about 20 % of the user angles lie within 90 +- 10
degrees. Beside every share stands what uniform random directions would give in that dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypedDict

import numpy as np
import torch
from torch import Tensor, nn

from course_lib import checking, encoders, losses, papers
from course_lib.experiments.core.data import Recipes, from_files
from course_lib.experiments.core.registry import Seeds, experiment
from course_lib.experiments.core.results import shown
from course_lib.experiments.core.summary import Row, means, part, tidy
from course_lib.interactions import Interactions
from course_lib.jacobians import Motion, measure_step, share_near_tangent
from course_lib.papers import p0 as printed_p0

TANGENT = 1e-6  # |cos(q, dq)| below this, in float64, is called a right angle
NEGLIGIBLE = 1e-8  # of ||q||: the direction of a shorter step is decided by rounding, so it is left out
BINS = 27  # of the histogram: an odd number, so that 90 degrees is in the middle of one
WATCHED = 256  # users and items whose every movement is looked at
SIDES = ("user", "item")


class MotionCell(TypedDict):
    """One training that is watched: towers, loss, data, width, steps."""

    left: str
    loss: str
    momentum: float
    data: str
    d: int
    steps: int
    batch: int
    lr: float
    tau: float
    seed: int


@dataclass(frozen=True)
class Setup:
    """What distinguishes one row of P0's Table 1: the left tower, the loss, the momentum.

    Items are always a lookup table.
    """

    number: int
    left: str
    loss: str = "infonce cos"
    momentum: float = 0.0


SETUPS = {
    "P0-E0": Setup(0, "embedding", momentum=0.9),
    "P0-E1": Setup(1, "embedding"),
    "P0-E2": Setup(2, "embedding", "infonce dot"),
    "P0-E3": Setup(3, "transformer"),
    "P0-E4": Setup(4, "embedding > linear"),
    "P0-E5": Setup(5, "frozen embedding > linear"),
    "P0-E6": Setup(6, "one-hot > linear"),
    "P0-E7": Setup(7, "embedding", "(1 - cos)^2"),
}

USUAL = {"data": "tastes", "d": 2, "steps": 150, "batch": 16, "lr": 0.5, "tau": 0.2, "seed": 0}

# -------------------------------------------------------------------------------------------------------- the data


def taste_clusters(*, users: int, items: int, tastes: int, stray: float, rng: np.random.Generator) -> Interactions:
    """Users and items in `tastes` equal groups, number modulo `tastes`: a user likes every item of the own group with
    probability 0.8, any other with probability `stray`, and one item of the own group for certain.
    """
    own = (np.arange(users)[:, None] - np.arange(items)) % tastes == 0
    liked = rng.random((users, items)) < np.where(own, 0.8, stray)
    for user in range(users):
        liked[user, rng.choice(np.flatnonzero(own[user]))] = True
    rows, columns = np.nonzero(liked)
    return Interactions(rows, columns, n_users=users, n_items=items, name="tastes")


def from_files_or_planted(**recipe: Any) -> Interactions:
    """A data set, or the toy of P0's shape for a recipe with tastes."""
    return taste_clusters(**recipe, rng=np.random.default_rng(0)) if "tastes" in recipe else from_files(**recipe)


RECIPES = Recipes(
    "P0",
    {
        "tastes": {"users": 24, "items": 16, "tastes": 4, "stray": 0.06},
        "movietweetings-10core": {"name": "movietweetings", "core": 10},
        "ml-1m": {"name": "ml-1m", "min_rating": 4},
    },
    from_files_or_planted,
)
load_data = RECIPES.load


# ------------------------------------------------------------------------------------------------------- the model


def left_tower(kind: str, data: Interactions, d: int, generator: torch.Generator) -> nn.Module:
    """The user tower of a row of Table 1."""
    users, hidden = data.n_users, max(8, d)
    drawn: dict[str, Any] = {"generator": generator}
    makers: dict[str, Callable[[], nn.Module]] = {
        "embedding": lambda: encoders.Lookup(users, d, **drawn),
        "embedding > linear": lambda: encoders.EmbeddingThenLinear(users, hidden, d, **drawn),
        "frozen embedding > linear": lambda: encoders.EmbeddingThenLinear(users, hidden, d, frozen=True, **drawn),
        "one-hot > linear": lambda: encoders.OneHotLinear(users, d, **drawn),
        "transformer": lambda: encoders.HistoryTransformer(
            data.n_items, d, width=2 * hidden, histories=histories(data), generator=generator
        ),
    }
    return makers[checking.choice(kind, "left tower", makers)]()


def histories(data: Interactions, length: int = 20) -> np.ndarray:
    """The last items of every user, (n_users, length)."""
    return encoders.recent_histories(data.users, data.items, times=data.times, n_users=data.n_users, length=length)


def make_towers(left: str, data: Interactions, d: int, seed: int) -> encoders.TwoTower:
    """The two towers in float64, from one seed. They are drawn in float32, whatever the session's default is."""
    generator, default = torch.Generator().manual_seed(seed), torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float32)
        right = encoders.Lookup(data.n_items, d, generator=generator)
        return encoders.TwoTower(left_tower(left, data, d, generator), right).double()
    finally:
        torch.set_default_dtype(default)


def loss_function(name: str, tau: float) -> Callable[[Tensor, Tensor], Tensor]:
    """(users (B, d), items (B, d)) -> the loss of a batch of pairs; a pair's negatives are the batch's other items."""
    functions = {
        "infonce cos": lambda u, v: losses.infonce(losses.cosine_scores(u, v), tau=tau),
        "infonce dot": lambda u, v: losses.infonce(losses.dot_scores(u, v), tau=tau),
        "(1 - cos)^2": lambda u, v: losses.one_minus_cosine_squared(losses.cosine_scores(u, v).diagonal()).mean(),
    }
    return functions[checking.choice(name, "loss", functions)]


# ------------------------------------------------------------------------------------------------------ the motion


@dataclass
class Trace:
    """What was seen of each side, "user" and "item".

    The watched identifiers; the angle of every movement in degrees (one flat tensor), the worst |cos(q, dq)|, the share
    of movements that made an embedding longer; lengths (steps + 1, watched); and, if asked for, positions (steps + 1,
    watched, d).
    """

    watched: dict[str, Tensor]
    angles: dict[str, Tensor] = field(default_factory=dict)
    worst: dict[str, float] = field(default_factory=dict)
    outward: dict[str, float] = field(default_factory=dict)
    lengths: dict[str, Tensor] = field(default_factory=dict)
    positions: dict[str, Tensor] = field(default_factory=dict)


Optimiser = Callable[[list[nn.Parameter]], torch.optim.Optimizer]


def watch(
    towers: nn.Module,
    data: Interactions,
    *,
    optimiser: Optimiser,
    steps: int,
    batch: int = 256,
    loss: str = "infonce cos",
    tau: float = 0.1,
    seed: int = 0,
    positions: bool = False,
) -> Trace:
    """Trains two towers and looks at every step: how up to 256 users and as many items moved.

    towers(users, items) -> two (B, d), any module; optimiser: makes one from the trainable parameters. Movements
    shorter than 1e-8 of their embedding are not counted. The towers are changed.
    """
    seen = _Collector(positions)
    made = optimiser([parameter for parameter in towers.parameters() if parameter.requires_grad])
    rng = np.random.default_rng([seed, 1])
    watched = {side: _watched(size, rng) for side, size in zip(SIDES, data.shape, strict=True)}
    for _ in range(steps):
        pairs = rng.integers(len(data), size=batch)  # uniform over interactions, with replacement
        inputs = torch.as_tensor(data.users[pairs]).long(), torch.as_tensor(data.items[pairs]).long()
        moved = measure_step(towers, inputs, loss_function(loss, tau), made, probe=(watched["user"], watched["item"]))
        for side, motion in zip(SIDES, (moved,) if isinstance(moved, Motion) else moved, strict=True):
            seen.add(side, motion)
    return seen.finish(watched)


class _Collector:
    """Gathers the motions of a run, side by side."""

    def __init__(self, positions: bool) -> None:
        self.keep = positions
        self.parts: dict[str, dict[str, list[Tensor]]] = {
            side: {"angle": [], "cosine": [], "grew": [], "length": [], "at": []} for side in SIDES
        }

    def add(self, side: str, motion: Motion) -> None:
        parts, (before, after) = self.parts[side], motion.norms
        counted = motion.step.norm(dim=-1) > NEGLIGIBLE * before
        parts["angle"].append(motion.angle[counted])
        parts["cosine"].append(motion.cosine[counted].abs())
        parts["grew"].append(motion.growth[counted] > 0)
        parts["length"] += [after] if parts["length"] else [before, after]
        if self.keep:
            parts["at"] += [motion.after] if parts["at"] else [motion.before, motion.after]

    def finish(self, watched: dict[str, Tensor]) -> Trace:
        found = Trace(watched)
        for side, parts in self.parts.items():
            found.angles[side] = torch.cat(parts["angle"])
            found.worst[side] = max(torch.cat(parts["cosine"]).tolist(), default=0.0)
            found.outward[side] = float(torch.cat(parts["grew"]).double().mean())
            found.lengths[side] = torch.stack(parts["length"])
            if self.keep:
                found.positions[side] = torch.stack(parts["at"])
        return found


def trace(cell: MotionCell, data: Interactions, *, positions: bool = False) -> Trace:
    """`watch` with everything taken from a cell: SGD, with its momentum."""
    towers = make_towers(cell["left"], data, cell["d"], cell["seed"])

    def sgd(parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.SGD(parameters, lr=cell["lr"], momentum=cell["momentum"])

    return watch(towers, data, optimiser=sgd, positions=positions, **part(cell, "steps batch loss tau seed"))


def _watched(size: int, rng: np.random.Generator) -> Tensor:
    return torch.as_tensor(np.sort(rng.permutation(size)[:WATCHED]))


# ----------------------------------------------------------------------------------------------------- the results


def cell_of(name: str, **options: Any) -> MotionCell:
    """The cell of an experiment, with everything that its outcome depends on; options: what is not as in USUAL."""
    for option in options:
        checking.choice(option, "option", USUAL)
    setup = SETUPS[name]
    cell: Any = {"left": setup.left, "loss": setup.loss, "momentum": setup.momentum, **USUAL, **options}
    chosen: MotionCell = cell
    return chosen


def plan_of(name: str) -> Callable[..., list[MotionCell]]:
    """Smoke: the toy in the plane. Laptop: in 2, 3 and 16 dimensions, and MovieTweetings. Full: ML-1M besides."""
    real: dict[str, dict[str, Any]] = {
        "movietweetings-10core": {"d": 32, "steps": 200, "batch": 128, "lr": 5.0},
        "ml-1m": {"d": 64, "steps": 1000, "batch": 512, "lr": 5.0},
    }

    def plan(scale: str, seeds: Seeds, **options: Any) -> list[MotionCell]:
        widths, steps = ((2,), 150) if scale == "smoke" else ((2, 3, 16), 600)
        sets = {"smoke": [], "laptop": ["movietweetings-10core"], "full": ["movietweetings-10core", "ml-1m"]}[scale]
        toys: list[dict[str, Any]] = [{"d": d, "steps": steps} for d in widths]
        parts = [*toys, *({"data": data, **real[data]} for data in sets)]
        return [cell_of(name, **{**part, **options}, seed=seed) for part in parts for seed in seeds]

    return plan


def rows_of(name: str, cell: MotionCell) -> list[Row]:
    """The numbers of one cell: for users and for items, with P0's tick or share where it has one."""
    found = trace(cell, load_data(cell["data"]))
    return [row for side in SIDES for row in _side_rows(SETUPS[name], cell, found, side)]


def _side_rows(setup: Setup, cell: MotionCell, found: Trace, side: str) -> Iterator[Row]:
    where = {**part(cell, "left loss momentum data d seed"), "side": side}
    angles, start, end = found.angles[side], found.lengths[side][0], found.lengths[side][-1]
    values = {
        "max |cos|": found.worst[side],
        "tangent": float(found.worst[side] < TANGENT),
        "share within 10": share_near_tangent(angles),
        "share by chance": printed_p0.chance_of_right_angle(cell["d"]),
        "least angle": float(angles.min()),
        "greatest angle": float(angles.max()),
        "share outwards": found.outward[side],
        "norm ratio": float((end / start).median()),
        "movements": float(len(angles)),
    }
    paper = paper_numbers(setup.number, side) if cell["data"] == "tastes" else {}  # P0 used a toy of its own
    yield from ({**row, "paper": paper.get(row["metric"])} for row in tidy(where, values))
    counts = torch.histc(angles, bins=BINS, min=0, max=180) / len(angles)
    for at, share in enumerate(counts.tolist()):
        yield {**where, "metric": "angles", "degrees": (at + 0.5) * 180 / BINS, "value": share}


def paper_numbers(number: int, side: str) -> dict[str, float]:
    """P0's tick (1 or 0), and its share within ten degrees, for the users or the items of an experiment."""
    printed = {}
    for row in papers.select(papers.table("P0", "T1"), experiment=number):
        printed["tangent"] = float(row["left_orthogonal" if side == "user" else "item_orthogonal"])
    if side == "user" and number in (4, 5):
        printed["share within 10"] = printed_p0.printed(number, "share_near_90")
    return printed


def scalars_of(rows: list[Row]) -> dict[str, float]:
    """{data-d-side-metric: mean over seeds}, without the histogram."""

    def name(row: Row) -> str:
        return "-".join((row["data"], str(row["d"]), row["side"], row["metric"].replace("|", "").replace(" ", "-")))

    return means((row for row in rows if row["metric"] != "angles"), name)


def estimate(cell: MotionCell) -> float:
    """Seconds on two cores."""
    one = {"transformer": 12e-3}.get(cell["left"], 2e-3) * (1 if cell["data"] == "tastes" else 8)
    return cell["steps"] * one


def _register(name: str) -> None:
    setup = SETUPS[name]
    extra = f", momentum {setup.momentum:g}" if setup.momentum else ""
    shares = ("share within 10", "share by chance", "least angle", "greatest angle", "share outwards")

    @experiment(
        name,
        f"angles of movement: {setup.left} users, {setup.loss}{extra}",
        plan=plan_of(name),
        estimate=estimate,
        describe=RECIPES.describe,
        finish=scalars_of,
        layout=shown("data", "d", "side", metrics=("tangent", *shares, "norm ratio"), digits=3),
    )
    def cell(cell: MotionCell) -> list[Row]:
        return rows_of(name, cell)


for _name in SETUPS:
    _register(_name)
