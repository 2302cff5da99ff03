"""Proofs that a machine repeats: one function per theorem of the book, named after the theorem's label.

A function named after a label (`thm_unbiased_loss` for `thm-unbiased-loss`) returns a residual, or a list of
residuals, that must be exactly 0: a sympy expression simplified to zero. A function `enumerate_*` visits every batch of
a family of small label matrices in rational arithmetic and returns the largest absolute discrepancy, a Fraction that
must be 0.

`broken` holds the counterexamples: what happens when an assumption is dropped, or a formula is taken as printed.
"""

from . import broken
from .enumeration import (
    enumerate_batch_variance,
    enumerate_change_of_variables,
    enumerate_expected_weights,
    enumerate_fit_gradient,
    enumerate_horvitz_thompson,
    enumerate_inclusion,
    enumerate_naive_and_cross,
    enumerate_optimal_mix,
    enumerate_pair_sum,
    enumerate_positive_sum,
    enumerate_sogram,
    enumerate_square_closed_form,
)
from .in_batch import (
    lem_change_of_variables,
    lem_pair_sum,
    lem_positive_sum,
    prop_gravity_is_popularity,
    prop_logq,
    prop_sampling_cost,
    softmax_mixed_derivative,
    thm_batch_variance,
    thm_cost_sensitive_loss,
    thm_horvitz_thompson,
    thm_in_batch_expectation,
    thm_masked_loss,
    thm_misclassification,
    thm_multiply_back,
    thm_no_softmax,
    thm_popularity_loss,
    thm_pos_neg_loss,
    thm_sogram_loss,
    thm_square_closed_form,
    thm_unbiased_loss,
    thm_unbiased_structure,
)

__all__ = [
    "broken",
    "enumerate_batch_variance",
    "enumerate_change_of_variables",
    "enumerate_expected_weights",
    "enumerate_fit_gradient",
    "enumerate_horvitz_thompson",
    "enumerate_inclusion",
    "enumerate_naive_and_cross",
    "enumerate_optimal_mix",
    "enumerate_pair_sum",
    "enumerate_positive_sum",
    "enumerate_sogram",
    "enumerate_square_closed_form",
    "lem_change_of_variables",
    "lem_pair_sum",
    "lem_positive_sum",
    "prop_gravity_is_popularity",
    "prop_logq",
    "prop_sampling_cost",
    "softmax_mixed_derivative",
    "thm_batch_variance",
    "thm_cost_sensitive_loss",
    "thm_horvitz_thompson",
    "thm_in_batch_expectation",
    "thm_masked_loss",
    "thm_misclassification",
    "thm_multiply_back",
    "thm_no_softmax",
    "thm_popularity_loss",
    "thm_pos_neg_loss",
    "thm_sogram_loss",
    "thm_square_closed_form",
    "thm_unbiased_loss",
    "thm_unbiased_structure",
]
