r"""In-batch sampling: the batch losses of P3, their exact expectations, and their exact variances.

Notation. Y is an m x n label matrix with entries 0 and 1; O is its set of M = n_positives ones. A batch O^ holds
s = batch_size distinct pairs of O, drawn uniformly without replacement. Its s x s grid crosses every row of the batch
with every column; the diagonal holds the sampled pairs and in-batch training calls the rest negatives.
row_counts_i = |O_i,:|, col_counts_j = |O_:,j|, pop_ij = row_counts_i * col_counts_j (the popularity of a pair), and
rho = (s - 1) / (M - 1) (the balance between positives and negatives that the batch size sets).

One source of formulas. Every loss here, and every expectation, has the form

    positive * sum_S l+  +  grid * sum_a sum_b pop_ab^power l-_ab  +  sum_S (constant + inverse / pop) l-        (*)

and is one `Coefficients` object. For a batch loss, S is the batch and (a, b) runs over its grid. For an expected
objective, S is O and (a, b) runs over the whole matrix. Lemmas E.4-E.6 of P3 carry the first into the second: the
function `expectation_of`. Weights, values, expectations, variances and the fast Gramian forms all read this object.

Every function takes NumPy float arrays, torch tensors (autograd, any device) or NumPy object arrays of
`fractions.Fraction` (exact results), and leading batch axes on the losses.

Source: P3 = Liu, Lin, Lin, "Examining the Bias of In-Batch Sampling in Similarity Learning with Two-Tower Models".
"""

from course_lib.maths.in_batch.batch import batch_loss, batch_weights, collapsed_batch_loss, sogram_loss
from course_lib.maths.in_batch.cells import (
    count_weight_second_moment,
    horvitz_thompson_weight,
    in_batch_optimum,
    misclassification_threshold,
    observation_probability,
)
from course_lib.maths.in_batch.coefficients import (
    DIVIDED,
    KINDS,
    Coefficients,
    batch_coefficients,
    coefficients_from,
    expectation_of,
    expected_coefficients,
    sogram_coefficients,
)
from course_lib.maths.in_batch.moments import (
    OptimalMix,
    enumerate_batch_losses,
    enumerate_moments,
    exact_moments,
    optimal_mix,
)
from course_lib.maths.in_batch.objectives import (
    change_of_variables,
    expected_objective,
    expected_pair_sum,
    expected_positive_sum,
    expected_weights,
    full_objective,
)
from course_lib.maths.in_batch.sampling import (
    balance,
    batch_size_from_ratio,
    encoder_cost,
    inclusion_probability,
    pair_popularity,
    probability_of_no_positive,
)
from course_lib.maths.in_batch.square import square_batch_loss, square_objective

__all__ = [
    "DIVIDED",
    "KINDS",
    "Coefficients",
    "OptimalMix",
    "balance",
    "batch_coefficients",
    "batch_loss",
    "batch_size_from_ratio",
    "batch_weights",
    "change_of_variables",
    "coefficients_from",
    "collapsed_batch_loss",
    "count_weight_second_moment",
    "encoder_cost",
    "enumerate_batch_losses",
    "enumerate_moments",
    "exact_moments",
    "expectation_of",
    "expected_coefficients",
    "expected_objective",
    "expected_pair_sum",
    "expected_positive_sum",
    "expected_weights",
    "full_objective",
    "horvitz_thompson_weight",
    "in_batch_optimum",
    "inclusion_probability",
    "misclassification_threshold",
    "observation_probability",
    "optimal_mix",
    "pair_popularity",
    "probability_of_no_positive",
    "sogram_coefficients",
    "sogram_loss",
    "square_batch_loss",
    "square_objective",
]
