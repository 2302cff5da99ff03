"""Our experiments on one batch that lies on many processes. No paper prints them.

gradients  SCALE-X1: the averaged gradient of real processes against that of one process, recipe by recipe
shards     SCALE-X2: negatives from a shard of the batch only: what they do to a model and its lists (simulated)
traffic    SCALE-X3: bytes that the sockets of real processes sent, and milliseconds of a step
tables     SCALE-X4: the same training with tables in one process, whole in each of two, and in shards of rows
calibration  SCALE-X5: the cost of a step, fitted to two processes and predicted for four;  pictures: of X3 and X5
lost_pushes  SCALE-X6: recall along a training without the far pushes, tested later in time;  predictions: its bounds
team       starts the processes, and is what they run; two_towers is what those of SCALE-X4 run
"""

from course_lib.experiments.scale import calibration, gradients, lost_pushes, shards, tables, traffic

__all__ = ["calibration", "gradients", "lost_pushes", "shards", "tables", "traffic"]
