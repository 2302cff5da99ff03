"""P3's Tables 5 and 6 on data of one's own, and Table 5 with losses and samplers of one's own.

Any torch loss of a batch's scores is trained as P3 trains: AdaGrad, the learning rate found by halving, the checkpoint
chosen on half of the users and measured on the other. Its objective along the way is its mean over PROBES batches.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from tqdm.auto import tqdm

from course_lib.experiments.core import own
from course_lib.experiments.core.data import TRAIN_SHARE
from course_lib.experiments.core.machine import threads_for
from course_lib.experiments.core.own_run import Door, open_door
from course_lib.experiments.core.summary import Row, part
from course_lib.experiments.p3 import setting
from course_lib.experiments.p3.stochastic_gradient import make_stack, table5_cell, train_cell, trained_rows
from course_lib.in_batch import batch_size_from_ratio
from course_lib.interactions import Interactions
from course_lib.training import stochastic

PROBES = 2  # batches whose mean loss stands for the objective
LARGEST = 2048  # pairs of a batch whose (s, s) scores an own loss is given
LIKE = {"smoke": ("movietweetings-10core", 23_565), "laptop": ("ml-1m", 575_281), "full": ("ml-1m", 575_281)}


class OwnStack(stochastic.Stack):
    """One loss of one's own in the place of a `stochastic.Stack`, with its gradients by autograd.

    The tables start as a stack's; parameters of the loss are trained beside them, at the same rate.
    """

    pointwise = "own"

    def __init__(
        self,
        one: own.Own,
        train: Interactions,
        batch_size: int,
        *,
        k: int,
        seed: int,
        schedule: stochastic.Schedule,
        device: str,
        sampler: Any,
    ) -> None:
        self.one, self.train, self.batch_size, self.schedule = one, train, batch_size, schedule
        self.device, self.losses, self.sampler, self.kept = device, (one.name,), sampler, [0]
        self.rng, self.order, self.drawn = np.random.default_rng([seed, 2]), [], 0
        users, items = (schedule.start_scale * self.rng.standard_normal((rows, k)) for rows in train.shape)
        self.start = torch.tensor(users).to(device, torch.float32), torch.tensor(items).to(device, torch.float32)
        draws = np.random.default_rng([seed, 4])
        uniform = lambda rng: rng.choice(len(train), batch_size, replace=False)  # noqa: E731
        self.probes = [self.batch((sampler or uniform)(draws)) for _ in range(PROBES)]
        self.restart(0, schedule.first_lr)

    def batch(self, places: Any, other: Any = None) -> Any:
        """The batch of the pairs at these positions."""
        return own.batch_of(places, self.train, torch.float32, self.device)

    def check_gradients(self, batch: Any) -> None:
        """Done for every own loss before the run (`own.check`)."""

    def keep(self, which: list[int]) -> None:
        """There is one configuration."""

    def state_dict(self) -> dict[str, Any]:
        """Where it is in its passes, tables and parameters, and what AdaGrad knows of them."""
        told = {"order": self.order, "drawn": self.drawn, "rng": self.rng.bit_generator.state}
        return told | {"trained": [part.detach() for part in self.trained], "optimiser": self.optimiser.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Puts a new stack where another was."""
        self.order, self.drawn, self.rng.bit_generator.state = state["order"], state["drawn"], state["rng"]
        self.optimiser.load_state_dict(state["optimiser"])
        with torch.no_grad():
            for part, before in zip(self.trained, state["trained"], strict=True):
                part.copy_(before)

    def value(self, batch: own.InBatch, left: Tensor, right: Tensor) -> Tensor:
        """The loss of a batch whose pairs have these embeddings, (s, k) each."""
        return self.function(own.scores_of(self.one, left, right), batch)

    # not chosen, torch warns; it has no types for this
    @torch.sparse.check_sparse_tensor_invariants(enable=False)  # type: ignore[no-untyped-call, untyped-decorator]
    def step(self, batch: Any) -> None:
        """One AdaGrad step of the rows in the batch, and of the loss's own parameters."""
        self.optimiser.zero_grad()
        left = F.embedding(batch.users, self.trained[0], sparse=True)
        right = F.embedding(batch.items, self.trained[1], sparse=True)
        torch.autograd.backward(self.value(batch, left, right))
        self.optimiser.step()

    def restart(self, at: int, lr: float) -> None:
        """Back to the start with another learning rate."""
        tables = [table.clone().requires_grad_() for table in self.start]
        self.u, self.v = (table.detach()[:, None] for table in tables)  # what is trained is seen in them
        torch.manual_seed(0)  # of what a loss draws for its own parameters
        self.function = own.made_loss(self.one, device=self.device)
        parameters = self.function.parameters() if isinstance(self.function, torch.nn.Module) else ()
        self.trained = [*tables, *parameters]
        self.optimiser = torch.optim.Adagrad(self.trained, lr=lr)

    def objective(self, at: int) -> float:
        """The mean loss of the probes."""
        with torch.no_grad():
            values = [self.value(batch, self.u[batch.users, 0], self.v[batch.items, 0]) for batch in self.probes]
        return float(torch.stack(values).mean())


def own_cell(cell: Any) -> list[Row]:
    """A cell of Table 5 with a loss or a sampler of one's own: the own losses one by one, P3's together."""
    if "own" not in cell:
        return table5_cell(cell)
    train, test = setting.load_split(cell["data"], cell["seed"])
    sampler = own.REGISTERED.get(("sampler", cell.get("sampler", "")))
    theirs = [name for name in cell["losses"] if ("loss", name) not in own.REGISTERED]
    trained = _theirs({**cell, "losses": theirs}, train, test, sampler) if theirs else []
    rows = trained_rows(cell, trained)
    for name in cell["losses"]:
        if (one := own.REGISTERED.get(("loss", name))) is not None:
            mine: Any = {**cell, "pointwise": "own"}
            rows += trained_rows(mine, [train_own(one, cell, train, test, sampler)])
    return [{**row, "sampler": sampler.name} for row in rows] if sampler else rows


def train_own(
    one: own.Own, cell: Any, train: Interactions, test: Interactions, sampler: own.Own | None = None
) -> stochastic.Trained:
    """Trains one loss by P3's procedure."""
    schedule = stochastic.Schedule(**part(cell, "first_lr max_epochs evaluations_per_epoch"))
    how: dict[str, Any] = {"device": cell.get("device", "cpu"), "sampler": _places(sampler, cell, train)}
    size = batch_size_from_ratio(cell["ratio"], len(train))
    stack = OwnStack(one, train, size, **part(cell, "k seed"), schedule=schedule, **how)

    def served(_: str, __: str, users: Any, items: Any, ___: Interactions) -> dict[str, Any]:
        if one.options["score"] == "cosine":
            users, items = (F.normalize(torch.as_tensor(table), dim=1).numpy() for table in (users, items))
        return {"raw": (users, items)}

    with threads_for(train):
        [found] = stochastic.train_stack(stack, test, **_asked(cell, train), servings=served)
    return found


def _asked(cell: Any, train: Interactions) -> dict[str, Any]:
    """As in `train_cell`: the cutoffs, and which half of the users chooses a checkpoint."""
    halves = np.random.default_rng([cell["seed"], 3]).random(train.n_users) < 0.5
    return {"cutoffs": setting.CUTOFFS, "halves": halves}


def _theirs(cell: Any, train: Interactions, test: Interactions, sampler: own.Own | None) -> list[stochastic.Trained]:
    """P3's losses, on the batches of an own sampler where there is one."""
    if sampler is None:
        return train_cell(cell, train, test)
    stack = make_stack(cell, train, torch.float32)
    stack.sampler = _places(sampler, cell, train)
    with threads_for(train):
        return stochastic.train_stack(stack, test, **_asked(cell, train), servings=setting.servings)


def _places(sampler: own.Own | None, cell: Any, train: Interactions) -> Any:
    """What draws the positions of a batch: an own sampler, or None for passes over all pairs."""
    size = batch_size_from_ratio(cell["ratio"], len(train))
    return None if sampler is None else lambda rng: own.drawn(sampler, train, size, rng)


def enter(cells: list[Any], file: own.File) -> list[Any]:
    """P3's cells as they are, a cell for each own loss, and all losses together for each own sampler."""
    losses, added, large = [one.name for one in file.of("loss")], [], dict[float, None]()
    for cell in cells:
        mine, once = {**cell, "own": file.sha256}, cell["pointwise"] == cells[0]["pointwise"]  # a loss has no such part
        fits = (
            batch_size_from_ratio(cell["ratio"], round(TRAIN_SHARE * len(setting.load_data(cell["data"])))) <= LARGEST
        )
        if losses and not fits:
            large[cell["ratio"]] = None
        own_losses = losses if once and fits else []
        added += [{**mine, "losses": [name]} for name in own_losses]
        both = {**mine, "losses": [*cell["losses"], *own_losses]}
        added += [{**both, "sampler": one.name} for one in file.of("sampler")]
    for ratio in large:
        tqdm.write(f"ratio {ratio:g}: left out for own losses, its batches have more than {LARGEST:,} pairs")
    return [*cells, *added]


SERVED = {"serving": "raw"}
open_door(
    Door(
        "P3-T5",
        setting.RECIPES,
        LIKE,
        setting.load_split,
        main={"metric": "P@5", "selection": "cross-fitted", **SERVED},
        against={"loss": "unbiased", "pointwise": "square"},
        named="loss",
        places=[{**SERVED, "selection": selection} for selection in ("test", "cross-fitted", "last")],
        takes=("loss", "sampler"),
        enter=enter,
        run_cell=own_cell,
    ),
    Door(
        "P3-T6",
        setting.RECIPES,
        LIKE,
        setting.load_split,
        main={"metric": "P@5", **SERVED},
        against={"loss": "unbiased", "ratio": None, "omega": None, "method": "L-BFGS"},
        named="loss",
        places=[{**SERVED, "method": "list"}],
        adapt=lambda cells, data, scale: [cell for cell in cells if cell["method"] != "baseline"],
    ),
)
