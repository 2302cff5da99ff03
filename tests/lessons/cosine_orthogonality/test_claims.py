"""The statements of P0 in this chapter, each recomputed; the lesson's claims.yml names these tests.

Formulas are written out here as the paper prints them, with torch's own layers and optimisers, and never taken from
`course_lib`: where the library states the same, a test compares the two. Exact arithmetic wherever a statement is
exact.
"""

import numpy as np
import pytest
import torch
from torch import nn

from tests.torch_steps import cosines, normal

# ---- Section 2.5: tangent gradients


def test_torch_clamps_the_norm_of_tiny_vectors_and_their_gradient_is_not_tangent():
    k = normal(3, seed=2)
    for size, tangent in ((1e-3, True), (1e-7, True), (5e-9, False)):
        q = (size * nn.functional.normalize(normal(3, seed=1), dim=0)).requires_grad_()
        (gradient,) = torch.autograd.grad(torch.cosine_similarity(q, k, dim=0), q)
        assert (cosines(q.detach(), gradient).abs() < 1e-6) == tangent


def test_eq13_the_derivative_of_a_function_of_cosines_needs_a_nonzero_embedding_and_a_smooth_function():
    k = normal(2, 3, seed=3)
    q = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(((k @ q) / (q.norm() * k.norm(dim=1))).sum(), q)
    assert gradient.isnan().any()
    # |cos| has no derivative where the cosine is 0: the slopes on the two sides differ
    perpendicular, direction = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    slope = [
        abs((perpendicular + h * direction)[1] / np.linalg.norm(perpendicular + h * direction)) / h
        for h in (1e-6, -1e-6)
    ]
    assert slope[0] == pytest.approx(1) and slope[1] == pytest.approx(-1)


# ---- Appendix B: Lemma B.1
