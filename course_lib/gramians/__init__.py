"""Gramians of embedding tables, and the sums over all pairs that they make cheap.

sum_ij <u_i, v_j>^2 looks like m n dot products. It is the Frobenius product of two d x d matrices (P4, Section 2.2),
which costs O((m + n) d^2). `exact` computes it; `estimators` follow Gramians of tables that move while they are
trained; `rates` says how fast they may forget.
"""

from course_lib.gramians.estimators import ALONE as ALONE
from course_lib.gramians.estimators import BatchGramian as BatchGramian
from course_lib.gramians.estimators import Processes as Processes
from course_lib.gramians.estimators import SAGram as SAGram
from course_lib.gramians.estimators import SOGram as SOGram
from course_lib.gramians.estimators import nearest_psd as nearest_psd
from course_lib.gramians.exact import all_pairs_square as all_pairs_square
from course_lib.gramians.exact import cross_gramian as cross_gramian
from course_lib.gramians.exact import gramian as gramian
from course_lib.gramians.exact import gravity as gravity
from course_lib.gramians.exact import gravity_loss as gravity_loss
from course_lib.gramians.exact import gravity_with_prior as gravity_with_prior
from course_lib.gramians.rates import alpha_like_batch as alpha_like_batch
from course_lib.gramians.rates import coherent_error as coherent_error
from course_lib.gramians.rates import optimal_alpha as optimal_alpha
from course_lib.gramians.rates import optimal_beta as optimal_beta
from course_lib.gramians.rates import random_walk_error as random_walk_error
from course_lib.gramians.rates import sagram_error as sagram_error
from course_lib.gramians.rates import same_batch_share as same_batch_share
from course_lib.gramians.rates import sogram_bias_bound as sogram_bias_bound
from course_lib.gramians.rates import sogram_variance as sogram_variance
