"""Losses of pairs, of triples and of batches, and what a batch needs to know of its negatives."""

from course_lib.losses.batch import angular_margin as angular_margin
from course_lib.losses.batch import cosine_margin as cosine_margin
from course_lib.losses.batch import cosine_scores as cosine_scores
from course_lib.losses.batch import dot_scores as dot_scores
from course_lib.losses.batch import in_batch_sigmoid as in_batch_sigmoid
from course_lib.losses.batch import in_batch_softmax as in_batch_softmax
from course_lib.losses.batch import infonce as infonce
from course_lib.losses.batch import one_minus_cosine_squared as one_minus_cosine_squared
from course_lib.losses.batch import triplet_margin as triplet_margin
from course_lib.losses.batch import two_way_softmax as two_way_softmax
from course_lib.losses.chunked import chunked_softmax as chunked_softmax
from course_lib.losses.negatives import StreamFrequencies as StreamFrequencies
from course_lib.losses.negatives import false_negatives as false_negatives
from course_lib.losses.negatives import hardest_law as hardest_law
from course_lib.losses.negatives import mixed_log_q as mixed_log_q
from course_lib.losses.pairs import LOSSES as LOSSES
from course_lib.losses.pairs import bpr as bpr
from course_lib.losses.pairs import bpr_losses as bpr_losses
from course_lib.losses.pairs import logistic as logistic
from course_lib.losses.pairs import logistic_as_printed as logistic_as_printed
from course_lib.losses.pairs import pair_losses as pair_losses
from course_lib.losses.pairs import square as square
