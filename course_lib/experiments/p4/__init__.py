"""P4's experiments: Figures 2, 3, 5, 6, 7 and 8 and Tables 1 and 2, in their shape.

Data. P4's link graphs (Wikipedia simple, fr, en) cannot be had; wikispeedia is the stand-in: 4,592 articles with title
words and categories as features. P4 does not name its optimiser, its loss for observed pairs or how titles were cut
into n-grams: here AdaGrad, the squared distance to the target, and the words of a title. Its MovieLens regression runs
on ml-100k, ml-1m or ml-10m, with ratings divided by 5 as targets; the embedded film set serves at smoke scale.

MAP@10 is exact, over all candidates. P4 scores a validation item against 50,000 random candidates, which at its sizes
leaves out most of those that would come before it: `map@10 of 500` shows what that does to a number.

data      corpora, features and towers;  training: the cells, P4's training, quality
errors    Figures 2, 3 and 7;  quality: Tables 1 and 2, Figures 4 to 6 and 8;  pictures: beside P4's numbers
"""

from course_lib.experiments.p4.data import Task, load_task
from course_lib.experiments.p4.errors import ALPHAS
from course_lib.experiments.p4.quality import BINS, histogram_rows
from course_lib.experiments.p4.training import estimator, make_trainer, map_of_few, shared_plan, train

__all__ = [
    "ALPHAS",
    "BINS",
    "Task",
    "estimator",
    "histogram_rows",
    "load_task",
    "make_trainer",
    "map_of_few",
    "shared_plan",
    "train",
]
