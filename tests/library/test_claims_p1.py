"""Statements of P1 that several chapters rest on, each recomputed, and the decimals of its errata.

Formulas are written out here as the paper prints them, and never taken from `course_lib`: where the library states the
same, a test compares the two. Exact arithmetic wherever a statement is exact. `Y` holds the labels of m users and n
items; a step of BPR draws for each positive pair (u, i) one item j that u does not have, uniformly, unless a test says
otherwise.
"""

import math

import numpy as np
import pytest
import sympy
import torch

from course_lib import backbones, losses
from course_lib.checking import some
from course_lib.interactions import Interactions
from course_lib.papers import p1, table
from tests import errata_numbers
from tests.bpr_by_hand import cosine, e_pop, rule, sigmoid, trained

# ---- Section 2: the models


def test_eq3_eq8_the_loss_is_the_softplus_of_minus_the_margin():
    s, t = np.array([0.3, -2.0, 5.0]), np.array([1.0, -2.0, -30.0])
    by_hand = np.mean([math.log(1 + math.exp(b - a)) for a, b in zip(s, t, strict=True)])
    assert losses.bpr(s, t) == pytest.approx(by_hand, rel=1e-12)
    x = sympy.symbols("x", real=True)
    assert sympy.simplify(-sympy.log(1 / (1 + sympy.exp(-x))) - sympy.log(1 + sympy.exp(-x))) == 0


def test_eq3_the_sum_over_triples_with_its_regulariser_is_the_loss_of_mf_times_the_triples():
    """Sum of -ln sigma(e_u.e_i - e_u.e_j) + lam |rows of the triple|^2, written out; the library has its mean."""
    lam, triples = 0.3, [(0, 1, 2), (0, 1, 0), (2, 3, 1)]
    data = Interactions([0, 2], [1, 3], n_users=3, n_items=4)
    model = backbones.make("MF", data, d=2, decay=lam, generator=torch.Generator().manual_seed(0))
    users, items = (table.detach().double().numpy() * 10 for table in model())
    with torch.no_grad():
        for table in (model.users, model.items):
            table.mul_(10)
    total = 0.0
    for u, i, j in triples:
        margin = sum(users[u][c] * (items[i][c] - items[j][c]) for c in range(2))
        lengths = sum(x * x for row in (users[u], items[i], items[j]) for x in row)
        total += -math.log(sigmoid(margin)) + lam * lengths
    batch = (torch.tensor(ids) for ids in zip(*triples, strict=True))
    assert model.loss(*batch).item() * len(triples) == pytest.approx(total, rel=1e-5)


# ---- 3.2, 3.3: what a user feels


def alignment_of_negatives(*kind, **more):
    _, items, labels = trained("zipf", *kind, **more)
    axis = e_pop(items, labels.sum(axis=0))
    return np.mean([cosine(items[~row].mean(axis=0), axis) for row in labels]), cosine(items.mean(axis=0) + 1e-30, axis)


@pytest.mark.seconds
def test_whether_negatives_align_with_the_popularity_direction_is_the_architectures_choice():
    """The same data: MF under SGD and under Adam against it, LightGCN along it."""
    assert alignment_of_negatives("sgd")[0] < -0.2
    assert alignment_of_negatives("adam")[0] < -0.5 and alignment_of_negatives("adam")[1] < -0.7
    assert alignment_of_negatives("adam", decay=1e-4)[0] < -0.2
    assert alignment_of_negatives("adam", layers=2)[0] > 0.8


# ---- the prose of the errata


def errata_numbers_of_p1():
    """Each decimal of the errata that no scalar of its row holds, and the number it stands for."""
    known = {
        str(c["percent"]): c["percent"] for name in ("T2", "T3") for c in table("P1", name) if c["percent"] is not None
    }
    known |= {f"{c['value']:.4f}": c["value"] for name in ("T2", "T3", "T5") for c in table("P1", name)}
    known |= {f"{x:.4f}": x for x in (p1.printed("lightgcn_loss", "yelp"), p1.printed("mf_loss", "amazon-book"))}
    known |= {f"{100 * (rule('b_a') / rule('ab_a') - 1):.1f}": 100 * (rule("b_a") / rule("ab_a") - 1)}
    drops = [p1.drop_without("popularity"), p1.drop_without("preference")]
    known |= {f"{x:.1f}": x for x in (*drops, p1.printed("log_first_loss_mf", "amazon-book"))}
    summed = p1.loss_per_triple_if_summed("MF", "amazon-book")
    known |= {f"{summed:.4f}": summed}
    return known | {f"{math.log(2):.2f}": math.log(2), "0.5": float(sigmoid(0))}


def test_every_decimal_in_the_errata_comes_from_a_table_or_a_computation():
    known = errata_numbers_of_p1()
    for text, number in some(known.items()):
        assert float(text) == pytest.approx(number, abs=0.5 * 10.0 ** -len(text.split(".")[1]) + 1e-12), text
    assert errata_numbers.unknown("P1", set(known)) == []
