"""Towers: shapes, values, gradients, and what they refuse."""

from __future__ import annotations

import every_tower
import numpy as np
import pytest
import torch
from every_tower import HISTORIES, N
from refused import refused
from scipy import sparse
from torch import nn

from course_lib import encoders
from course_lib.checking import some
from course_lib.encoders import PAD, HistoryTransformer, Lookup, MeanHistory, TwoTower, recent_histories

D = 4


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def features() -> torch.Tensor:
    return torch.randn(N, 5, generator=generator(9), dtype=torch.float64)


TOWERS = every_tower.of_width(D, features())


@pytest.mark.parametrize("name", TOWERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_tower_gives_embeddings_and_every_parameter_a_gradient(name: str, dtype: torch.dtype) -> None:
    tower = TOWERS[name](generator()).to(dtype)
    q = tower(torch.tensor([0, 3, 3, 5]))
    assert q.shape == (4, D) and q.dtype == dtype and q.isfinite().all()
    torch.testing.assert_close(q[1], q[2])
    q.square().sum().backward()
    frozen = [key for key, value in tower.named_parameters() if not value.requires_grad]
    assert frozen == (["0.weight"] if name == "frozen" else [])
    assert all(value.grad is not None for value in some(tower.parameters()) if value.requires_grad)


@pytest.mark.parametrize("name", TOWERS)
def test_the_generator_decides_and_nothing_else(name: str) -> None:
    torch.manual_seed(1)
    first = TOWERS[name](generator(3))
    torch.manual_seed(2)
    second, third = TOWERS[name](generator(3)), TOWERS[name](generator(4))
    x = torch.arange(N)
    first, second, third = (tower.double()(x) for tower in (first, second, third))
    assert torch.equal(first, second) and not torch.equal(first, third)


@pytest.mark.parametrize("name", TOWERS)
@pytest.mark.parametrize(
    "wrong", [torch.tensor([0, N]), torch.tensor([-1]), torch.tensor([0.0]), [0, 1], torch.tensor([True])]
)
def test_what_is_no_identifier_is_refused(name: str, wrong: object) -> None:
    with pytest.raises(ValueError, match=r"x (holds|must)"):
        TOWERS[name](generator())(wrong)


# ---- values


def test_a_transformer_does_not_see_the_padding_but_the_order() -> None:
    longer = np.concatenate([HISTORIES, np.full((N, 2), PAD)], axis=1)
    towers = [
        HistoryTransformer(N, D, histories=h, width=8, generator=generator(1)).double()
        for h in (HISTORIES, longer, HISTORIES[:, ::-1].copy())
    ]
    with torch.no_grad():
        for other in towers[1:]:
            state = towers[0].state_dict()
            for key, value in other.state_dict().items():
                if key != "histories":
                    value.normal_(generator=generator(2)) if "positions" in key else value.copy_(state[key])
        towers[1].positions.weight[:3] = towers[0].positions.weight
        towers[2].positions.weight.copy_(towers[0].positions.weight)
        x = torch.arange(N)
        torch.testing.assert_close(towers[0](x), towers[1](x))
        same = towers[0](x[:1]), towers[2](x[:1])
    assert not torch.allclose(*same, rtol=1e-6, atol=0)


def test_a_reader_module_may_be_a_tower() -> None:
    own = nn.Sequential(nn.Embedding(N, 8), nn.Tanh(), nn.Linear(8, D))
    users, items = TwoTower(own, Lookup(N, D)).embeddings([0, 1, 1], np.array([5, 4, 5]))
    assert users.shape == items.shape == (3, D) and not users.requires_grad and torch.equal(users[1], users[2])


# ---- histories


@pytest.mark.parametrize("name", ["mean of history", "transformer"])
def test_item_0_counts_in_a_history_as_any_other_item(name: str) -> None:
    """Under other numbers for the items, 0 among them, the embeddings of the users stay."""
    tower = TOWERS[name](generator())
    numbers = torch.tensor([3, 0, 5, 1, 2, 4])
    users = torch.arange(len(HISTORIES))
    before = tower.eval()(users).detach().clone()
    histories = torch.as_tensor(HISTORIES)
    tower.histories.copy_(torch.where(histories == PAD, PAD, numbers[histories.clamp(min=0)]))
    table = next(parameter for parameter in tower.items.parameters() if len(parameter) >= N)
    with torch.no_grad():
        table[numbers] = table[:N].clone()
    torch.testing.assert_close(tower(users), before, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_recent_histories_against_a_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    users, items, times = rng.integers(5, size=40), rng.integers(9, size=40), rng.permutation(40)
    found = recent_histories(users, items, times=times, n_users=5, length=4)
    for user in range(5):
        mine = [int(items[k]) for k in np.argsort(times) if users[k] == user][-4:]
        assert found[user].tolist() == mine + [PAD] * (4 - len(mine))


NAN = float("nan")


def histories_of(**changes: object) -> np.ndarray:
    return recent_histories(**{"users": [0, 1], "items": [2, 3], "n_users": 2, "length": 2} | changes)


test_refusals = refused(
    (lambda: Lookup(0, D), "n is 0"),
    (lambda: Lookup(2, 3.9), "d is 3.9; expected a whole number"),
    (lambda: encoders.OneHotLinear(2.5, D), "n is 2.5"),
    (lambda: encoders.DenseLinear(features(), 3.9), "d is 3.9"),
    (lambda: encoders.TwoLayers(features(), 7.5, D), "d is 7.5|hidden is 7.5"),
    (lambda: HistoryTransformer(N + 0.5, D, histories=HISTORIES), "n_items is 6.5"),
    (lambda: encoders.Bags({}, 2.5), "width is 2.5"),
    (lambda: encoders.Features(torch.ones(3)), r"features has shape \(3,\)"),
    (lambda: HistoryTransformer(N, 3, histories=HISTORIES), "width must be a multiple of heads"),
    (lambda: HistoryTransformer(5, D, histories=HISTORIES), "expected items below 5"),
    (lambda: MeanHistory(Lookup(N, D), HISTORIES[0]), "users, length"),
    (lambda: MeanHistory(Lookup(N, D), HISTORIES.astype(float)), "must be integers"),
    (lambda: MeanHistory(Lookup(N, D), [[0], [PAD]]), "user 1 has no item"),
    (lambda: MeanHistory(Lookup(N, D), [[0], [1, 2]]), "histories is .*whose rows are of one length"),
    (lambda: MeanHistory(Lookup(N, D), HISTORIES > 0), "histories must be integers"),
    (lambda: encoders.DenseLinear([[1.0], [NAN]], D), r"features\[1, 0\] = nan"),
    (lambda: encoders.Features([["a"]]), "features must hold numbers"),
    (lambda: encoders.DenseLinear(features(), D, bias="yes"), "bias is 'yes'; expected one of False, True"),
    (lambda: Lookup(N, D, scale=NAN), "scale is nan"),
    (lambda: Lookup(N, D, generator=0), "generator is 0; expected a torch.Generator"),
    (lambda: Lookup(N, D)(torch.ones(2, dtype=torch.complex64)), "x must be an integer tensor"),
    (lambda: encoders.Renamed([0.5, 1.0]), "table must hold integers"),
    (lambda: encoders.Renamed([[0], [1]]), "table must have one axis"),
    (lambda: HistoryTransformer(N, 3.5, histories=HISTORIES, width=4), "d is 3.5"),
    (lambda: HistoryTransformer(N, D, histories=HISTORIES, heads=0), "heads is 0"),
    (lambda: HistoryTransformer(N, D, histories=HISTORIES, layers="1"), "layers is '1'"),
    (lambda: HistoryTransformer(N, D, histories=HISTORIES, dropout=NAN), "dropout is nan"),
    (lambda: histories_of(users=[0, 2]), "users must lie in 0..1"),
    (lambda: histories_of(users=[0.0, 1.0]), "users must hold integers"),
    (lambda: histories_of(items=[0]), r"items \(1,\), .*expected one entry per pair"),
    (lambda: histories_of(items=[0.5, 1.0]), "items must hold integers"),
    (lambda: histories_of(times=[0.0, NAN]), "times is .*expected a time for each pair"),
    (lambda: histories_of(n_users=1.5), "n_users is 1.5"),
    (lambda: histories_of(length=0), "length is 0"),
)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: encoders.DenseLinear(x, 2),
        lambda x: encoders.TwoLayers(x, 4, 2),
        lambda x: encoders.Perceptron(encoders.Features(x), (3, 4, 2)),
    ],
)
def test_features_of_numpy_meet_parameters_of_the_default_dtype(make) -> None:
    tower, x = make(np.eye(3) / 3), torch.tensor([1])
    assert tower(x).dtype == torch.float32 and tower.double()(x).dtype == torch.float64
    (table,) = (one.matrix for one in tower.modules() if isinstance(one, encoders.Features))
    assert torch.equal(table, torch.from_numpy(np.eye(3) / 3))  # not a bit is lost


DTYPES = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.uint16, torch.uint32, torch.uint64)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", TOWERS)
def test_integers_of_every_kind_are_identifiers(name: str, dtype: torch.dtype) -> None:
    """As many as the table has rows: torch would take 8 bits as a mask."""
    tower, x = TOWERS[name](torch.Generator().manual_seed(0)), torch.tensor([4, 0, 0, 1, 1, 1])
    assert torch.equal(tower(x.to(dtype)), tower(x))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int64])
def test_item_255_of_8_bits_is_no_filling(dtype: type) -> None:
    users = MeanHistory(Lookup(256, 2), np.array([[255, 255], [1, 2]], dtype))
    assert users.histories.tolist() == [[255, 255], [1, 2]]


GENRES = sparse.csr_array([[1, 0], [1, 1]])
test_bags_that_are_none_are_refused_by_name = refused(
    (lambda: encoders.Bags({"genre": np.eye(2)}, 2), r"(?s)^bags\['genre'\] is .*expected a sparse matrix"),
    (lambda: encoders.Bags({"type": GENRES}, 2), "^a name in bags is 'type'"),
    (lambda: encoders.Bags({"film.genre": GENRES}, 2), "^a name in bags is 'film.genre'"),
)
