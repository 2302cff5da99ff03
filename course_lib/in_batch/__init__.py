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

from course_lib.in_batch.batch import batch_loss as batch_loss
from course_lib.in_batch.batch import batch_weights as batch_weights
from course_lib.in_batch.batch import collapsed_batch_loss as collapsed_batch_loss
from course_lib.in_batch.batch import sogram_loss as sogram_loss
from course_lib.in_batch.cells import count_weight_second_moment as count_weight_second_moment
from course_lib.in_batch.cells import horvitz_thompson_weight as horvitz_thompson_weight
from course_lib.in_batch.cells import in_batch_optimum as in_batch_optimum
from course_lib.in_batch.cells import misclassification_threshold as misclassification_threshold
from course_lib.in_batch.cells import observation_probability as observation_probability
from course_lib.in_batch.coefficients import DIVIDED as DIVIDED
from course_lib.in_batch.coefficients import KINDS as KINDS
from course_lib.in_batch.coefficients import Coefficients as Coefficients
from course_lib.in_batch.coefficients import batch_coefficients as batch_coefficients
from course_lib.in_batch.coefficients import coefficients_from as coefficients_from
from course_lib.in_batch.coefficients import expectation_of as expectation_of
from course_lib.in_batch.coefficients import expected_coefficients as expected_coefficients
from course_lib.in_batch.coefficients import sogram_coefficients as sogram_coefficients
from course_lib.in_batch.moments import OptimalMix as OptimalMix
from course_lib.in_batch.moments import enumerate_batch_losses as enumerate_batch_losses
from course_lib.in_batch.moments import enumerate_moments as enumerate_moments
from course_lib.in_batch.moments import exact_moments as exact_moments
from course_lib.in_batch.moments import optimal_mix as optimal_mix
from course_lib.in_batch.objectives import change_of_variables as change_of_variables
from course_lib.in_batch.objectives import expected_objective as expected_objective
from course_lib.in_batch.objectives import expected_pair_sum as expected_pair_sum
from course_lib.in_batch.objectives import expected_positive_sum as expected_positive_sum
from course_lib.in_batch.objectives import expected_weights as expected_weights
from course_lib.in_batch.objectives import full_objective as full_objective
from course_lib.in_batch.sampling import balance as balance
from course_lib.in_batch.sampling import batch_size_from_ratio as batch_size_from_ratio
from course_lib.in_batch.sampling import encoder_cost as encoder_cost
from course_lib.in_batch.sampling import inclusion_probability as inclusion_probability
from course_lib.in_batch.sampling import pair_popularity as pair_popularity
from course_lib.in_batch.sampling import probability_of_no_positive as probability_of_no_positive
from course_lib.in_batch.square import square_batch_loss as square_batch_loss
