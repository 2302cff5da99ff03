"""The interactive of the chapter on Jacobians: choose tower, optimiser and loss, and watch the vectors move."""

from __future__ import annotations

from typing import Any, ClassVar

from course_lib.lessons.jacobian_conditions import small_towers
from course_lib.lessons.shared.widgets.base import MOST_SEED, Count, Number, Word
from course_lib.lessons.shared.widgets.paper import Hero

MOST_STEPS = 300
SMALLEST_BATCH = 4


class TowerMotion(Hero):
    """A small training of 24 people in the plane, and the angle at which every vector moved.

    tower       one of small_towers.TOWERS: "lookup", "one_hot", "dense", "mlp", "two_layers", "bias", "scale",
                "normalised"
    optimiser   one of small_towers.OPTIMISERS: "sgd", "momentum", "decay", "lazy_decay", "row_adagrad", "adagrad",
                "adam" (all rows), "lazy_adam" (rows of the batch)
    loss        one of small_towers.LOSSES: "infonce", "cosine_squared", "infonce_dot"
    batch_size  pairs in a batch, 4 to 24
    lr          learning rate, 0.01 to 10
    steps       steps of training, 0 to 300
    follow      the person whose path is drawn thick, 1 to 24
    seed        of the start and of the batches

    All eight are traits: read, set and observe them. Raises ValueError for values out of range.
    """

    module_name: ClassVar[str] = "tower_motion"
    caption: ClassVar[str] = (
        "The vectors of 24 people (dots). One of them (thick arrow) is pushed at a right angle; thin arrows show who "
        "else moves. Columns: how each length changes, downwards where a vector becomes shorter. With JavaScript this "
        "picture is interactive."
    )

    tower = Word("lookup", small_towers.TOWERS)
    optimiser = Word("sgd", small_towers.OPTIMISERS)
    loss = Word("infonce", small_towers.LOSSES)
    batch_size = Count(8, SMALLEST_BATCH, small_towers.USERS)
    lr = Number(0.5, 0.01, 10)
    steps = Count(60, 0, MOST_STEPS)
    follow = Count(1, 1, small_towers.USERS)
    seed = Count(0, 0, MOST_SEED)

    def run(self) -> small_towers.Run:
        """The whole training: path, norms, losses, and the angle of every move."""
        shown = {"follow", "everything"}  # and not trained
        state: dict[str, Any] = {name: value for name, value in self.state().items() if name not in shown}
        return small_towers.train(**state)
