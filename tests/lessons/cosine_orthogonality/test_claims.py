"""The statements of P0 in this chapter, each recomputed; the lesson's claims.yml names these tests.

Formulas are written out here as the paper prints them, with torch's own layers and optimisers, and never taken from
`course_lib`: where the library states the same, a test compares the two. Exact arithmetic wherever a statement is
exact.
"""

import numpy as np
import pytest
import sympy
import torch
from torch import nn

from course_lib.checking import some
from tests.torch_steps import COSINE_LOSSES, EXACT, against, cosines, infonce, normal, radial_share

# ---- Section 2.5: tangent gradients


def test_the_cosine_does_not_see_positive_scale():
    d = 3
    q, k = sympy.symbols(f"q:{d}", real=True), sympy.symbols(f"k:{d}", real=True)
    c = sympy.symbols("c", positive=True)
    cosine = (
        sum(a * b for a, b in zip(q, k, strict=True))
        / sympy.sqrt(sum(a * a for a in q))
        / sympy.sqrt(sum(b * b for b in k))
    )
    scaled = cosine.subs({a: c * a for a in q}, simultaneous=True)
    assert sympy.simplify(scaled - cosine) == 0
    flipped = cosine.subs({a: -a for a in q}, simultaneous=True)
    assert sympy.simplify(flipped + cosine) == 0  # a negative scale flips the sign


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


@pytest.mark.parametrize("d", [2, 3, 4])
def test_eq14_eq15_eq16_by_symbols(d):
    """F any function of two cosines: its gradient is the printed sum, and its product with q is zero, term by term."""
    q = sympy.symbols(f"q:{d}", real=True)
    ks = [sympy.symbols(f"k{s}_:{d}", real=True) for s in range(2)]
    norm = sympy.sqrt(sum(a * a for a in q))
    cos = [sum(a * b for a, b in zip(q, k, strict=True)) / norm / sympy.sqrt(sum(b * b for b in k)) for k in ks]
    c0, c1 = sympy.symbols("c0 c1")
    function = sympy.Function("F")(c0, c1)
    loss = function.subs({c0: cos[0], c1: cos[1]})
    weights = [function.diff(c).subs({c0: cos[0], c1: cos[1]}) for c in (c0, c1)]
    for a in some(q):
        printed = sum(weight * one.diff(a) for weight, one in zip(weights, cos, strict=True))  # (14)
        assert sympy.simplify(loss.diff(a).doit() - printed.doit()) == 0
    for one in cos:
        assert sympy.simplify(sum(a * one.diff(a) for a in q)) == 0  # (16), and with it (15)


@pytest.mark.parametrize("name", COSINE_LOSSES)
def test_the_gradient_of_a_cosine_loss_is_tangent_and_that_of_a_dot_product_is_not(name):
    q = normal(5, 3, seed=4)
    loss = against(COSINE_LOSSES[name], 5)
    q.requires_grad_()
    (g,) = torch.autograd.grad(loss(q), q)
    assert radial_share(q.detach(), g).max() < EXACT and g.norm() > 1e-3
    (g,) = torch.autograd.grad(infonce(q, normal(5, 3, seed=5), similarity="dot"), q)
    assert cosines(q.detach(), g).abs().max() > 0.1


# ---- Appendix B: Lemma B.1


@pytest.mark.parametrize("d", [2, 3, 4])
def test_eq25_to_eq28_by_symbols(d):
    q, k = sympy.symbols(f"q:{d}", real=True), sympy.symbols(f"k:{d}", real=True)
    dot = sum(a * b for a, b in zip(q, k, strict=True))
    size_q, size_k = (sympy.sqrt(sum(a * a for a in x)) for x in (q, k))
    u, v = dot, size_q * size_k
    f = u / v  # (25)
    square_q = sum(a * a for a in q)
    for a, b in some(zip(q, k, strict=True)):
        quotient = (v * u.diff(a) - u * v.diff(a)) / v**2
        assert sympy.simplify(f.diff(a) - quotient) == 0  # (26)
        assert sympy.simplify(v.diff(a) - size_k / size_q * a) == 0
        assert sympy.simplify(f.diff(a) - (b - dot / square_q * a) / (size_q * size_k)) == 0  # (27)
    assert sympy.simplify(sum(a * f.diff(a) for a in q)) == 0  # (28)
    length = sum(f.diff(a) ** 2 for a in q)
    assert sympy.simplify(length - (1 - f**2) / square_q) == 0  # |grad|^2 = (1 - cos^2)/|q|^2
