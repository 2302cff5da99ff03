"""How the parameters of a tower carry a gradient to its embeddings, for any `torch.nn.Module`.

`per_example_jacobian` gives J_i = dq_i/dtheta, `kernel_blocks` the products K_ij = J_i J_j^T with which one SGD step
moves the embeddings: dq_i = -lr sum_j K_ij g_j (P0, eq. 4). `lookup_equivalent` and `tangent_criterion` are tests of a
tower; `measure_step` takes one real optimiser step and says how every embedding moved.
"""

from course_lib import extras

try:
    import torch  # noqa: F401
except ImportError as error:
    raise extras.missing(error, "course_lib.jacobians") from error

from course_lib.jacobians.criteria import (
    LookupReport,
    TangentReport,
    euler_degree,
    lookup_equivalent,
    parameter_linear,
    tangent_criterion,
)
from course_lib.jacobians.kernels import first_order_motion, kernel_blocks, parameter_names, per_example_jacobian
from course_lib.jacobians.steps import Motion, measure_parameters, measure_step, share_near_tangent
from course_lib.optimisers import LazyDecaySGD, RowWiseAdagrad

__all__ = [
    "LazyDecaySGD",
    "LookupReport",
    "Motion",
    "RowWiseAdagrad",
    "TangentReport",
    "euler_degree",
    "first_order_motion",
    "kernel_blocks",
    "lookup_equivalent",
    "measure_parameters",
    "measure_step",
    "parameter_linear",
    "parameter_names",
    "per_example_jacobian",
    "share_near_tangent",
    "tangent_criterion",
]
