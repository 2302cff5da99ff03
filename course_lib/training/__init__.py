"""What trains the models of `course_lib.encoders` and `course_lib.backbones`.

Modules, by autograd, one after the other, through one loop:
    loop          `fit`: any module, any number of processes, with checkpoints, early stopping, seeds (Lightning Fabric)
    processes     what the processes of a run share: `FabricProcesses`, and how one that fails ends the others
    alike         what each process was given, in words that can be compared
    recommenders  `train_recommender`: backbones and debiasing methods on triples
    towers        `train_towers`: two towers with an in-batch loss
    on_pairs      `train_on_pairs`: the smallest loop, for the first chapter and the practice part
    on_features   `feature_tables`: the same with a tower that reads features, for items without a pair
    resumable     `steps`, `once`: where a computation that was killed goes on
    finite        `not_finite`: which tensor holds NaN or infinity, for the loops here and below

What is no module, and has a loop of its own:
    bpr           `bpr_epoch`: one pass of BPR over two bare tables by plain SGD, compiled
    free_vectors  `train_tables`, `descend`: vectors that move by their own gradient, with every move on record
    objectives    `minimise`, `closed_form`: minimisers of expected objectives, without batches
    paths         `descend`: L-BFGS on the same objectives, wholly on one device, with looks along the way
    stochastic    `train_stack`: many runs on the same batches side by side, each with its own learning rate
"""

from typing import TYPE_CHECKING, Any

from course_lib import extras

try:
    import torch  # noqa: F401
except ImportError as error:
    raise extras.missing(error, "course_lib.training") from error

from course_lib.training.loop import Diverged, Evaluate, History, Plan, fit
from course_lib.training.processes import Disagreement, FabricProcesses, ProcessLost

if TYPE_CHECKING:
    from lightning_fabric import Fabric

__all__ = [
    "Disagreement",
    "Diverged",
    "Evaluate",
    "Fabric",
    "FabricProcesses",
    "History",
    "Plan",
    "ProcessLost",
    "fit",
]


def __getattr__(name: str) -> Any:
    """`Fabric`, imported when it is asked for: Lightning takes as long as torch, and one CPU needs none of it."""
    if name == "Fabric":
        try:
            from lightning_fabric import Fabric
        except ImportError as error:
            raise extras.missing(error, "training") from error
        return Fabric
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
