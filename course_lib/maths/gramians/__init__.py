"""Gramians of embedding tables, and the sums over all pairs that they make cheap.

sum_ij <u_i, v_j>^2 looks like m n dot products. It is the Frobenius product of two d x d matrices (P4, Section 2.2),
which costs O((m + n) d^2). `exact` computes it; `estimators` follow Gramians of tables that move while they are
trained; `rates` says how fast they may forget.
"""

from course_lib.maths.gramians.estimators import ALONE, BatchGramian, Processes, SAGram, SOGram, nearest_psd
from course_lib.maths.gramians.exact import (
    all_pairs_square,
    cross_gramian,
    gramian,
    gravity,
    gravity_loss,
    gravity_with_prior,
)
from course_lib.maths.gramians.rates import (
    alpha_like_batch,
    coherent_error,
    optimal_alpha,
    optimal_beta,
    random_walk_error,
    sagram_error,
    same_batch_share,
    sogram_bias_bound,
    sogram_variance,
)

__all__ = [
    "ALONE",
    "BatchGramian",
    "Processes",
    "SAGram",
    "SOGram",
    "all_pairs_square",
    "alpha_like_batch",
    "coherent_error",
    "cross_gramian",
    "gramian",
    "gravity",
    "gravity_loss",
    "gravity_with_prior",
    "nearest_psd",
    "optimal_alpha",
    "optimal_beta",
    "random_walk_error",
    "sagram_error",
    "same_batch_share",
    "sogram_bias_bound",
    "sogram_variance",
]
