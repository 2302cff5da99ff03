"""The five backbones: properties that must hold, RecBole 1.2.1's numbers, and in dense NumPy what RecBole lacks."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from differences import assert_gradient_of_the_whole_loss
from fixtures import make_recbole
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import refused

from course_lib import backbones
from course_lib.backbones import MF, NCL, contrast, graph
from course_lib.checking import some
from course_lib.dependence import distance_correlation
from course_lib.interactions import Interactions

STORED = json.loads((Path(__file__).parents[1] / "fixtures" / "recbole.json").read_text(encoding="utf-8"))
EXAMPLE = Interactions(*np.array(make_recbole.PAIRS).T, n_users=6, n_items=7)  # user 0 and item 0 have no pair
BATCH = tuple(torch.tensor(make_recbole.BATCH[name]) for name in ("user_id", "item_id", "neg_item_id"))
OPTIONS = {
    "DGCF": {"intents": 2, "correlation": 0.1},
    "NCL": {"clusters": 2, "warm_up": 0},
    "LightCCF": {"weight": 1.0},
}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def with_tables(model: backbones.Backbone) -> backbones.Backbone:
    """The model in float64 with the embeddings of the stored RecBole numbers."""
    model = model.double()
    with torch.no_grad():
        for table, values in zip((model.users, model.items), make_recbole.tables(), strict=True):
            table.copy_(torch.tensor(values))
    return model


def made(name: str, data: Interactions = EXAMPLE, **options: object) -> backbones.Backbone:
    settings = OPTIONS.get(name, {}) | options
    return backbones.make(name, data, d=8, generator=seeded(), **settings)


def dense(data: Interactions) -> tuple[np.ndarray, np.ndarray]:
    """(A, D^(-1/2) A D^(-1/2)), written out."""
    zeros = [np.zeros((size, size)) for size in data.shape]
    adjacency = np.block([[zeros[0], data.labels()], [data.labels().T, zeros[1]]])
    degree = adjacency.sum(axis=1)
    inverse = np.array([1 / math.sqrt(value) if value else 0.0 for value in degree])
    return adjacency, inverse[:, None] * adjacency * inverse[None, :]


def number(value: torch.Tensor) -> float:
    return value.detach().item()


def arrays(tables: tuple[torch.Tensor, torch.Tensor]) -> np.ndarray:
    return np.concatenate([table.detach().numpy() for table in tables])


def softplus(x: np.ndarray) -> np.ndarray:
    return np.log1p(np.exp(x))


# ------------------------------------------------------------------------------------------------------------- all five


@pytest.mark.parametrize("name", backbones.names())
def test_every_backbone_keeps_the_contract(name: str) -> None:
    model = made(name)
    model.begin_epoch(0, np.random.default_rng(0))
    users, items = model()
    assert users.shape == (6, 8) and items.shape == (7, 8) and users.requires_grad
    assert set(model.state_dict()) == {"users", "items"}
    loss = model.loss(*BATCH)
    loss.backward()
    assert loss.ndim == 0 and torch.isfinite(loss)
    assert all(torch.isfinite(table.grad).all() and table.grad.abs().sum() > 0 for table in (model.users, model.items))
    for mine, other in some(zip(model.ranking(), copy.deepcopy(model).ranking(), strict=True)):
        assert torch.equal(mine, other)
    again, other = made(name), backbones.make(name, EXAMPLE, d=8, generator=seeded(1), **OPTIONS.get(name, {}))
    assert torch.equal(again.users, model.users) and not torch.equal(other.users, model.users)


@pytest.mark.parametrize("name", backbones.names())
def test_the_loss_is_bpr_plus_the_penalty_and_decay_is_lambda(name: str) -> None:
    """P1's (3): decay 0.3 adds 0.3 times the mean of |e0_u|^2 + |e0_i|^2 + |e0_j|^2."""
    plain, decayed = (with_tables(made(name, decay=decay)) for decay in (0.0, 0.3))
    users, items = (table.detach().numpy() for table in plain())
    u, i, j = (ids.numpy() for ids in BATCH)
    margins = (users[u] * (items[i] - items[j])).sum(axis=1)
    contrast = number(plain.contrast(*BATCH[:2], plain()))
    assert number(plain.loss(*BATCH)) == pytest.approx(softplus(-margins).mean() + contrast, rel=1e-12)
    left, right = make_recbole.tables()
    squares = (left[u] ** 2 + right[i] ** 2 + right[j] ** 2).sum(axis=1).mean()
    assert number(decayed.loss(*BATCH) - plain.loss(*BATCH)) == pytest.approx(0.3 * squares, rel=1e-12)


@pytest.mark.parametrize("name", backbones.names())
def test_the_gradient_is_that_of_the_whole_loss(name: str) -> None:
    """Finite differences in every entry of both tables; only NCL's centres are constants, found before the epoch."""
    options = {"decay": 0.1, "scale": 0.5, "generator": seeded()} | OPTIONS.get(name, {})
    model = backbones.make(name, EXAMPLE, d=4, **options).double()
    model.begin_epoch(0, np.random.default_rng(0))
    assert_gradient_of_the_whole_loss(model, lambda: model.loss(*BATCH))


test_bad_arguments_are_named = refused(
    (lambda: made("NGCF"), "name is 'NGCF'; expected one of MF, LightGCN"),
    (lambda: MF(0, 3, generator=seeded()), "n_users is 0"),
    (lambda: MF(2, 3, 1.5, generator=seeded()), "d is 1.5"),
    (lambda: MF(2, 3, generator=0), "generator is 0; expected a torch.Generator"),
    (lambda: MF(2, 3, decay=-1, generator=seeded()), "decay is -1"),
    (lambda: MF(2, 3, sparse="no", generator=seeded()), "sparse is 'no'; expected one of True, False"),
    (lambda: backbones.LightGCN([[0, 1]], 2, generator=seeded()), "^interactions is .*; expected Interactions"),
    (lambda: backbones.DGCF([[0, 1]], 2, generator=seeded()), "^interactions is .*; expected Interactions"),
    (lambda: graph.adjacency("x"), "^interactions is 'x'; expected Interactions"),
    (lambda: made("LightGCN", layers=-1), "layers is -1"),
    (lambda: made("DGCF", intents=3), "d is 8 and intents 3"),
    (lambda: made("DGCF", routings=0), "routings is 0"),
    (lambda: made("NCL", steps=3), "steps is 3; expected an even number"),
    (lambda: made("NCL", clusters=7), "clusters is 7; expected at most 6"),
    (lambda: made("LightCCF", tau=0), "tau is 0"),
    (lambda: made("LightCCF", weight=float("nan")), "weight is nan"),
)


# ------------------------------------------------------------------------------------------------------------- graphs


@st.composite
def graphs(draw: st.DrawFn) -> Interactions:
    m, n = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    cells = draw(st.sets(st.tuples(st.integers(0, m - 1), st.integers(0, n - 1)), min_size=1))
    return Interactions(*np.array(sorted(cells)).T, n_users=m, n_items=n)


@pytest.mark.seconds
@settings(max_examples=8, deadline=None)
@given(graphs())
def test_graph_products_and_their_gradients(data: Interactions) -> None:
    adjacency, normalised = dense(data)
    rng = np.random.default_rng(0)
    table = torch.tensor(rng.normal(size=(len(adjacency), 3)), requires_grad=True)
    product = graph.Graph(graph.normalised_adjacency(data))
    np.testing.assert_allclose(product(table).detach(), normalised @ table.detach().numpy(), atol=1e-14)
    assert torch.autograd.gradcheck(product, table)

    edges = graph.Edges(graph.adjacency(data))
    heads, tails = np.nonzero(adjacency)
    left, right = (torch.tensor(rng.normal(size=(2, len(adjacency), 3)), requires_grad=True) for _ in range(2))
    weights = torch.tensor(rng.normal(size=(2, len(heads))), requires_grad=True)
    expected = np.einsum("kec,kec->ke", left.detach().numpy()[:, heads], right.detach().numpy()[:, tails])
    np.testing.assert_allclose(edges.products(left, right).detach(), expected, atol=1e-13)
    for part in range(2):
        matrix = np.zeros_like(adjacency)
        matrix[heads, tails] = weights.detach().numpy()[part]
        wanted = matrix @ left.detach().numpy()[part]
        np.testing.assert_allclose(edges.sums(weights, left)[part].detach(), wanted, atol=1e-13)
    assert torch.autograd.gradcheck(edges.products, (left, right))
    assert torch.autograd.gradcheck(edges.sums, (weights, left))


# ------------------------------------------------------------------------------------------------------------- NCL


def two_centres(model: NCL) -> NCL:
    clusters = [torch.tensor(ids) for ids in make_recbole.CLUSTERS.values()]
    centres = map(torch.tensor, make_recbole.centres())
    model.centres = tuple(zip(centres, clusters, strict=True))
    return model


def test_ncl_without_its_terms_is_lightgcn_and_prototypes_wait_for_the_warm_up() -> None:
    bare = with_tables(made("NCL", structure=0.0, prototypes=0.0))
    assert number(bare.loss(*BATCH)) == number(with_tables(made("LightGCN")).loss(*BATCH))
    waiting = with_tables(made("NCL", structure=0.0, prototypes=1.0, warm_up=3))
    values = []
    for epoch in (2, 3):
        waiting.begin_epoch(epoch, np.random.default_rng(0))
        values.append(number(waiting.contrast(*BATCH[:2], waiting())))
    assert values[0] == 0 < values[1]


# ------------------------------------------------------------------------------------------------------------- LightCCF


def test_lightccf_is_its_equation() -> None:
    model = with_tables(made("LightCCF", layers=1, tau=0.3, weight=0.6))
    users, items = (table.detach().numpy() for table in model())
    left, right = (table / np.linalg.norm(table, axis=1, keepdims=True) for table in (users[BATCH[0]], items[BATCH[1]]))
    terms = []
    for b in range(len(left)):
        others = sum(math.exp((left[b] @ right[c] + left[b] @ left[c]) / 0.3) for c in range(len(left)))
        terms.append(-math.log(math.exp(left[b] @ right[b] / 0.3) / others))
    assert number(model.contrast(*BATCH[:2], model())) == pytest.approx(0.6 * np.mean(terms), rel=1e-12)
    assert made("LightCCF", weight=0.0).contrast(*BATCH[:2], model()) == 0


def test_blocks_of_anchors_give_the_same_value_and_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for block in (2**24, 20):
        monkeypatch.setattr(contrast, "BLOCK", block)
        anchors, candidates = (torch.tensor(table, requires_grad=True) for table in make_recbole.tables())
        value = contrast.log_partition(anchors, candidates, 0.5)
        found.append([value, *torch.autograd.grad(value.square().sum(), (anchors, candidates))])
    for whole, parts in some(zip(*found, strict=True)):
        torch.testing.assert_close(whole, parts, rtol=1e-12, atol=1e-12)


# ------------------------------------------------------------------------------------------------------------- RecBole


def test_recbole_mf_and_lightgcn() -> None:
    assert number(with_tables(made("MF")).loss(*BATCH)) == pytest.approx(STORED["BPR loss"], rel=1e-8)
    for layers in (1, 3):
        model = with_tables(made("LightGCN", layers=layers))
        np.testing.assert_allclose(arrays(model()), np.concatenate(STORED[f"LightGCN {layers}"]), atol=1e-6)
        assert number(model.loss(*BATCH)) == pytest.approx(STORED[f"LightGCN {layers} loss"], rel=1e-6)


@pytest.mark.parametrize("layers", [1, 2])
def test_recbole_dgcf(layers: int) -> None:
    """A node without a pair passes on nothing: of all layers its start alone is left, which RecBole has otherwise."""
    found = arrays(with_tables(made("DGCF", intents=2, layers=layers))())
    linked = np.r_[EXAMPLE.row_counts, EXAMPLE.col_counts] > 0
    np.testing.assert_allclose(found[linked], np.concatenate(STORED[f"DGCF {layers}"])[linked], atol=1e-6)
    start = np.concatenate(make_recbole.tables())[~linked]
    np.testing.assert_allclose(found[~linked], start / (layers + 1), rtol=1e-12)


def test_recbole_distance_correlation() -> None:
    """RecBole adds 1e-8 under every square root; with that it is its number, without it is `distance_correlation`."""

    def softened(left: torch.Tensor, right: torch.Tensor, tiny: float) -> float:
        centred = []
        for table in (left, right):
            distance = ((table[:, None] - table).square().sum(dim=2) + tiny).sqrt()
            centred.append(distance - distance.mean(0) - distance.mean(1)[:, None] + distance.mean())
        pairs = ((0, 1), (0, 0), (1, 1))
        both, one, other = (((centred[a] * centred[b]).mean() + tiny).sqrt() for a, b in pairs)
        return number(both / (one * other).sqrt())

    left, right = (torch.tensor(table) for table in make_recbole.tables())
    assert softened(left, right[:6, :5], 1e-8) == pytest.approx(STORED["distance correlation"], abs=1e-8)
    plain = number(distance_correlation(left, right[:6, :5]))
    assert softened(left, right[:6, :5], 0.0) == pytest.approx(plain, rel=1e-12)


def test_recbole_ncl() -> None:
    """RecBole sums over the batch, here it is a mean."""
    size = len(BATCH[0])
    loss, *contrasts = STORED["NCL"]
    assert number(with_tables(made("NCL", structure=0.0, prototypes=0.0)).loss(*BATCH)) == pytest.approx(loss, rel=1e-6)
    for structure, prototypes in ((0.3, 0.0), (0.0, 0.2), (0.3, 0.2)):
        model = two_centres(with_tables(made("NCL", structure=structure, prototypes=prototypes, alpha=0.7, tau=0.1)))
        wanted = (structure * contrasts[0] + prototypes * contrasts[1]) / size
        assert number(model.contrast(*BATCH[:2], model())) == pytest.approx(wanted, rel=1e-6)
