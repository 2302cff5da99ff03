"""What trains the models of `course_lib.models`.

Modules, by autograd, one after the other, through one loop:
    loop          `fit`: any module, with checkpoints, early stopping, seeds (Lightning Fabric)
    recommenders  `train_recommender`: backbones and debiasing methods on triples
    towers        `train_towers`: two towers with an in-batch loss

What is no module, and has a loop of its own:
    bpr           `bpr_epoch`: one pass of BPR over two bare tables by plain SGD, compiled
    free_vectors  `train_tables`, `descend`: vectors that move by their own gradient, with every move on record
    objectives    `minimise`, `closed_form`: minimisers of expected objectives, without batches
    stochastic    `train_stack`: many runs on the same batches side by side, each with its own learning rate
"""

from typing import TYPE_CHECKING, Any

from course_lib.training.loop import Diverged, Evaluate, FabricProcesses, History, Plan, fit

__all__ = ["Diverged", "Evaluate", "Fabric", "FabricProcesses", "History", "Plan", "fit"]

if TYPE_CHECKING:
    from lightning_fabric import Fabric


def __getattr__(name: str) -> Any:
    """Fabric when it is first asked for: it brings torch's compiler, a second and more."""
    if name == "Fabric":
        from lightning_fabric import Fabric

        return Fabric
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
