"""Public checks of the exercises: a student runs them anywhere, with or without nbgrader.

One module per assignment: `checks.cosine_orthogonality.gradient(my_function)`. Each check calls a student's function on
a few small examples and compares with course_lib. A wrong value is compared with what the usual misconceptions would
give, and the message names the one that fits. Passing is not full marks: the assignment is graded on other inputs.
"""

from . import (
    cosine_orthogonality,
    ddc,
    gauge_freedom,
    gramian_estimators,
    in_batch_bias,
    jacobian_conditions,
    popularity_direction,
    popularity_norm_coupling,
)
from .forms import PASSED, NotYet, compare, expect
from .in_batch_bias import (
    FIG2,
    best_score,
    check_best_score,
    check_share,
    check_weights,
    counterexample,
    counterexample_form,
    shard_matrix,
    shard_weights,
    share_pushed_down,
    weight_of_negatives,
    weight_of_positives,
)

__all__ = [
    "FIG2",
    "PASSED",
    "NotYet",
    "best_score",
    "check_best_score",
    "check_share",
    "check_weights",
    "compare",
    "cosine_orthogonality",
    "counterexample",
    "counterexample_form",
    "ddc",
    "expect",
    "gauge_freedom",
    "gramian_estimators",
    "in_batch_bias",
    "jacobian_conditions",
    "popularity_direction",
    "popularity_norm_coupling",
    "shard_matrix",
    "shard_weights",
    "share_pushed_down",
    "weight_of_negatives",
    "weight_of_positives",
]
