"""Gauges: changes of the embedding tables that no prediction notices.

A model scores a pair by <a, b>. For every invertible matrix R the tables A R and B R^-T give the same scores A B^T, so
a loss of the scores alone cannot tell them apart. A *diagonal gauge* is the case R = diag(d) (P2, Definition 3).
Cosines between rows of one table do change: they see S = R R^T, since (A R)(A R)^T = A S A^T. Rotations have S = I and
are harmless. This room applies gauges, counts those that keep the length of every row (all that is left when the rows
are held on a sphere), builds gauges with a purpose, and measures how far the nearest neighbours move.

Counting. S = diag(1 + delta) keeps the length of a row a iff sum_l a_l^2 delta_l = 0; S = I + E iff a^T E a = 0. Both
are linear in the unknown, so the gauges that keep *one* table's lengths are a slice of an affine space, and rank
decides. When *both* tables are held, the second condition is b^T S^-1 b = ||b||^2. That is not linear: rank then
decides only about gauges near S = I (see `two_sided_linear_dimension`), and a separate gauge may sit far away
(`swap_squares`).

Sources: P2 (Sections 4 and 6); Steck, Ekanadham and Kallus 2024 for the two regularised objectives; claim X9 for the
counts.
"""

from course_lib.gauge.applying import apply_gauge as apply_gauge
from course_lib.gauge.applying import apply_linear_gauge as apply_linear_gauge
from course_lib.gauge.applying import find_gauge as find_gauge
from course_lib.gauge.applying import random_diagonal_gauge as random_diagonal_gauge
from course_lib.gauge.applying import random_linear_gauge as random_linear_gauge
from course_lib.gauge.counting import diagonal_gauge_dimension as diagonal_gauge_dimension
from course_lib.gauge.counting import gauge_directions as gauge_directions
from course_lib.gauge.counting import is_on_sphere as is_on_sphere
from course_lib.gauge.counting import keeps_norms as keeps_norms
from course_lib.gauge.counting import linear_gauge_dimension as linear_gauge_dimension
from course_lib.gauge.counting import linear_gauge_directions as linear_gauge_directions
from course_lib.gauge.counting import linear_stretch_along as linear_stretch_along
from course_lib.gauge.counting import outer_rows as outer_rows
from course_lib.gauge.counting import random_linear_directions as random_linear_directions
from course_lib.gauge.counting import squares as squares
from course_lib.gauge.counting import stretch_along as stretch_along
from course_lib.gauge.counting import visible_diagonal_dimension as visible_diagonal_dimension
from course_lib.gauge.counting import visible_linear_dimension as visible_linear_dimension
from course_lib.gauge.counting import weakest_direction as weakest_direction
from course_lib.gauge.nearest import METRICS as METRICS
from course_lib.gauge.nearest import neighbour_overlap as neighbour_overlap
from course_lib.gauge.nearest import neighbours as neighbours
from course_lib.gauge.purpose import balance_tables as balance_tables
from course_lib.gauge.purpose import gauge_for_neighbours as gauge_for_neighbours
from course_lib.gauge.purpose import score_rows as score_rows
from course_lib.gauge.steck import steck_first as steck_first
from course_lib.gauge.steck import steck_objectives as steck_objectives
from course_lib.gauge.steck import steck_second as steck_second
from course_lib.gauge.two_tables import rigidity_certificate as rigidity_certificate
from course_lib.gauge.two_tables import search_second_gauge as search_second_gauge
from course_lib.gauge.two_tables import second_linear_gauge as second_linear_gauge
from course_lib.gauge.two_tables import second_plane_gauge as second_plane_gauge
from course_lib.gauge.two_tables import swap_squares as swap_squares
from course_lib.gauge.two_tables import two_sided_diagonal_dimension as two_sided_diagonal_dimension
from course_lib.gauge.two_tables import two_sided_linear_dimension as two_sided_linear_dimension
