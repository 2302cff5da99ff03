"""P3's experiments: Tables 3, 4, 5 and 6 and Figure 4, at smoke, laptop and full scale.

Data. ML-1M is P3's own. P3's second set, EUR-Lex, tests on documents that were not trained on, through their words:
that needs towers on features, which these experiments do not have. Its role, the sparse set (a mean pair popularity of
115 against 12,641), is played by the 5-core of amazon-beauty (118 on its training part). P3's Table 3 counts rows and
columns of the training part, so each training split is compacted: users and items without a training pair leave both
parts (Assumption E.1).

setting        data, batch ratios, the numbers that are shown;  statistics: Table 3
full_gradient  Table 6;  stochastic_gradient: Tables 4 and 5, Figure 4;  chapter: a small Table 5
paths          X2: the paths of Table 6 with the logistic loss, on one device, and what was predicted of them
longer         X3: the paths of Table 5 with the square loss beyond 60 epochs, and what was predicted of them
reversal       X1: data on which the in-batch loss finds more than the unbiased one;  pictures: of stored results
"""

from course_lib.experiments.core.data import drop_untrained
from course_lib.experiments.p3 import full_gradient, longer, paths, reversal, statistics
from course_lib.experiments.p3.chapter import batch_ratio_sweep
from course_lib.experiments.p3.setting import load_split
from course_lib.experiments.p3.stochastic_gradient import BATCH_LOSSES

__all__ = [
    "BATCH_LOSSES",
    "batch_ratio_sweep",
    "drop_untrained",
    "full_gradient",
    "load_split",
    "longer",
    "paths",
    "reversal",
    "statistics",
]
