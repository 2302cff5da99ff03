"""What trains the models of `course_lib.models`.

loop          `fit`: one loop for any module, with checkpoints, early stopping, seeds (Lightning Fabric)
recommenders  `train_recommender`: backbones and debiasing methods on triples, through `fit`
towers        `train_towers`: two towers with an in-batch loss, through `fit`
bpr           `bpr_epoch`: one pass of BPR over two tables by plain SGD, compiled
free_vectors  descent on single vectors and on tables, without batches
objectives    minimisers of the full objectives: closed forms, L-BFGS
stochastic    many runs of SGD on a batch loss at once, stacked
"""

from course_lib.training.loop import Diverged, Evaluate, Fabric, FabricProcesses, History, Plan, fit

__all__ = ["Diverged", "Evaluate", "Fabric", "FabricProcesses", "History", "Plan", "fit"]
