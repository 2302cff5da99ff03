"""The seven rivals of P1's Table 3: each one's defining property on small data with known truth, in plain numpy."""

from __future__ import annotations

import itertools
import math
from functools import partial

import bounds
import numpy as np
import pytest
import torch
from differences import assert_gradient_of_the_whole_loss
from long_tails import long_tailed
from refused import refused
from scipy import stats

from course_lib import backbones, debiasing, losses
from course_lib.backbones.base import Recommender
from course_lib.backbones.lightgcn import LightGCN
from course_lib.backbones.mf import MF
from course_lib.checking import some
from course_lib.debiasing import DCCL, DICE, IPS, MACR, PAAC, PC, TPAB
from course_lib.debiasing.paac import info_nce
from course_lib.debiasing.rival import Rival, pair_keys, pair_positions, sample, twin
from course_lib.debiasing.tpab import coarse, next_counts, stage_counts, stage_of_pairs
from course_lib.interactions import Interactions, sample_negatives
from course_lib.training.recommenders import train_recommender


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def pairs(*rows: tuple[int, int], shape: tuple[int, int], times: list[float] | None = None) -> Interactions:
    users, items = np.array(rows).T
    return Interactions(users, items, n_users=shape[0], n_items=shape[1], times=times)


def fixed(users: object, items: object, decay: float = 0.0) -> MF:
    """Matrix factorisation with these tables, in float64."""
    users, items = (torch.as_tensor(np.asarray(table, dtype=np.float64)) for table in (users, items))
    model = MF(len(users), len(items), users.shape[1], decay=decay, generator=seeded()).double()
    with torch.no_grad():
        model.users.copy_(users)
        model.items.copy_(items)
    return model


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def batch(data: Interactions, size: int = 64, seed: int = 0) -> list[torch.Tensor]:
    rng = np.random.default_rng(seed)
    where = rng.integers(0, len(data), size)
    users = data.users[where]
    return [torch.as_tensor(ids) for ids in (users, data.items[where], sample_negatives(data, users, rng))]


def ids(*values: int) -> torch.Tensor:
    return torch.tensor(values)


def scores(rival: Rival) -> np.ndarray:
    """All m x n scores of `ranking()`."""
    with torch.no_grad():
        users, items = rival.ranking()
    return (users @ items.T).detach().numpy()


def softplus(x: np.ndarray | float) -> np.ndarray:
    return np.logaddexp(0, x)


def sigmoid(x: np.ndarray | float) -> np.ndarray:
    return 1 / (1 + np.exp(-np.asarray(x)))


# ------------------------------------------------------------------------------------------------------- all of them
OTHERS = [kind for kind in backbones.names() if kind != "LightGCN"]


@pytest.mark.parametrize(
    ("name", "kind"), [*((name, "LightGCN") for name in debiasing.names()), *(("DICE", kind) for kind in OTHERS)]
)
def test_a_rival_wraps_a_backbone_trains_and_ranks(name: str, kind: str) -> None:
    """Each rival around LightGCN, and one of them around each other backbone."""
    data = long_tailed(timed=True)
    options = {"NCL": {"clusters": 5}}.get(kind, {})
    model = backbones.make(kind, data, d=8, decay=1e-4, generator=seeded(), **options)
    rival = debiasing.make(name, model, data, generator=seeded(1))
    assert isinstance(rival, Recommender) and (rival.n_users, rival.n_items) == data.shape
    rival.begin_epoch(0, np.random.default_rng(0))
    loss = rival.loss(*batch(data, 512))
    assert loss.ndim == 0
    loss.backward()
    idle = (key for key, table in rival.named_parameters() if table.grad is None or not bool(table.grad.any()))
    assert list(idle) == []
    users, items = rival.ranking()
    assert (len(users), len(items)) == data.shape
    assert users.shape[1] == items.shape[1] and bool(torch.isfinite(users @ items.T).all())


@pytest.mark.parametrize("kind", ["MF", "LightGCN"])
@pytest.mark.parametrize("name", debiasing.names())
def test_the_gradient_is_that_of_the_whole_loss(name: str, kind: str) -> None:
    """Finite differences in every entry of every parameter: no part of any loss is taken for a constant."""
    data = long_tailed(8, 6, timed=True)
    backbone = backbones.make(kind, data, d=2, decay=0.1, generator=seeded())
    options = {"MACR": {"alpha": 0.7, "beta": 0.9}, "DICE": {"weight": 1.0, "apart": 1.0}, "TPAB": {"decay": 0.1}}
    rival = debiasing.make(name, backbone, data, generator=seeded(1), **options.get(name, {})).double()
    triples = batch(data, 12)
    with torch.no_grad():
        for parameter in rival.parameters():
            parameter.mul_(0.5 / parameter.std())

    def loss() -> torch.Tensor:
        rival.draws = seeded(2)  # the same draws each time
        return rival.loss(*triples)

    assert_gradient_of_the_whole_loss(rival, loss)


@pytest.mark.seconds
@pytest.mark.parametrize("name", debiasing.names())
def test_a_rival_fits_what_it_is_trained_on(name: str) -> None:
    """Two groups of users like one half of the items each; by chance half of their top 10 would come from it."""
    rng = np.random.default_rng(3)
    taste = [(u, int(i)) for u in range(60) for i in rng.choice(20, size=8, replace=False) + 20 * (u % 2)]
    data = pairs(*taste, shape=(60, 40), times=list(rng.uniform(0, 1, len(taste))))
    options = {"MACR": {"c": 0.1}, "DICE": {"margin": 2.0}}.get(name, {})
    rival = debiasing.make(name, MF(60, 40, 8, generator=seeded()), data, generator=seeded(1), **options)
    train_recommender(rival, data, None, epochs=40, lr=0.05, batch_size=128, seed=0)
    top = np.argsort(-scores(rival), axis=1)[:, :10]
    side = np.mean(top // 20 == (np.arange(60) % 2)[:, None])
    assert side > 0.85


@pytest.mark.parametrize("name", debiasing.names())
def test_every_epoch_of_a_rival_has_draws_of_its_own(name: str) -> None:
    """They follow from the `rng` of the epoch and from nothing else, and leave it where it was."""
    data = long_tailed(20, 15, timed=True)
    rival = debiasing.make(name, MF(20, 15, 4, generator=seeded()), data, generator=seeded(1))

    def drawn(seed: int) -> tuple[float, ...]:
        rng = np.random.default_rng(seed)
        rival.begin_epoch(0, rng)
        assert rng.random() == np.random.default_rng(seed).random()
        return tuple(torch.rand(3, generator=rival.draws).tolist())

    first = [drawn(seed) for seed in range(4)]
    assert len(set(first)) == 4 and [drawn(seed) for seed in range(4)] == first


def test_a_sample_is_any_subset_of_its_size() -> None:
    generator = seeded()
    drawn = [tuple(sorted(sample(ids(2, 3, 5, 7), 2, generator).tolist())) for _ in range(1200)]
    subsets = list(itertools.combinations((2, 3, 5, 7), 2))
    assert stats.chisquare([drawn.count(subset) for subset in subsets]).pvalue > 1e-3
    assert sample(ids(2, 3), 2, generator).tolist() == [2, 3]


@pytest.mark.parametrize("name", debiasing.names())
def test_a_run_is_decided_by_its_seed(name: str) -> None:
    data = long_tailed(40, 30, timed=True)

    def trained() -> dict[str, torch.Tensor]:
        rival = debiasing.make(name, MF(*data.shape, 4, generator=seeded()), data, generator=seeded(1))
        train_recommender(rival, data, None, epochs=2, lr=0.01, batch_size=64, seed=5)
        return rival.state_dict()

    first, second = trained(), trained()
    assert all(torch.equal(first[key], second[key]) for key in some(first))


def test_a_rival_leaves_the_stream_of_batches_alone() -> None:
    """IPS with equal weights is the backbone, bit for bit: same batches, same loss, same penalty."""
    data = long_tailed(40, 30)
    plain = MF(*data.shape, 4, decay=1e-3, generator=seeded())
    rival = IPS(MF(*data.shape, 4, decay=1e-3, generator=seeded()), data, propensities=np.ones(30), generator=seeded(1))
    for model in (plain, rival):
        train_recommender(model, data, None, epochs=2, lr=0.01, batch_size=64, seed=5)
    assert torch.equal(plain.users, rival.backbone.users) and torch.equal(plain.items, rival.backbone.items)


def test_a_twin_has_the_same_law_and_its_own_parameters() -> None:
    data = long_tailed()
    model = LightGCN(data, 16, scale=0.3, generator=seeded())
    other = twin(model, seeded(1))
    assert [id(buffer) for buffer in other.buffers()] == [id(buffer) for buffer in model.buffers()] != []
    assert other.users is not model.users
    assert abs(other.users.std().item() - 0.3) < 0.03
    assert abs(np.corrcoef(model.users.detach().numpy().ravel(), other.users.detach().numpy().ravel())[0, 1]) < 0.1


def test_a_twin_of_ones_and_minus_ones_has_deviation_1() -> None:
    """Two entries: the deviation of a sample would be the root of 2."""
    model = fixed([[1.0], [-1.0]], [[1.0], [-1.0]])
    squares = [float(twin(model, seeded(seed)).users.detach().square().mean()) for seed in range(400)]
    assert np.mean(squares) == pytest.approx(1, abs=0.25)


def test_pairs_are_found_where_they_stand() -> None:
    data = long_tailed(20, 15)
    every = torch.cartesian_prod(torch.arange(20), torch.arange(15))
    found = pair_positions(pair_keys(data), every[:, 0], every[:, 1], 15).numpy()
    assert (np.flatnonzero(found >= 0) == np.flatnonzero(data.labels().ravel())).all()
    assert (found[found >= 0] == np.arange(len(data))).all()
    large = torch.tensor([3 * 2**32 + 5])  # a cell that int32 has no number for
    assert pair_positions(large, torch.tensor([3 * 2**12]).int(), torch.tensor([5]).int(), 2**20).tolist() == [0]


TWO = pairs((0, 0), (1, 1), shape=(2, 2))


def wrapped(kind: type[Rival], size: int = 2, **options: object) -> Rival:
    """A rival around a table of `size` users and items, on data of two."""
    return kind(MF(size, size, 2, generator=seeded()), TWO, **{"generator": seeded()} | options)


test_wrong_arguments_are_named = refused(
    (lambda: debiasing.make("CausE", wrapped(IPS).backbone, TWO, generator=seeded()), "expected one of"),
    (lambda: IPS("MF", TWO, generator=seeded()), "expected a Backbone"),
    (lambda: wrapped(IPS, 3), r"backbone, \(3, 3\)"),
    (lambda: wrapped(IPS, generator=0), "torch.Generator"),
    (lambda: wrapped(IPS, balanced="no"), "^balanced is 'no'"),
    (lambda: wrapped(IPS, power="x"), "^power is 'x'"),
    (lambda: wrapped(IPS, propensities=["a", "b"]), "^propensities is"),
    (lambda: wrapped(DICE, resample=1.5), "^resample is 1.5"),
    (lambda: IPS(MF(2, 2, 2, generator=seeded()), [[0, 1]], generator=seeded()), "^interactions is .* Interactions"),
    (lambda: wrapped(IPS, propensities=[0.5, 0.0]), r"\(0, 1\]"),
    (lambda: wrapped(IPS, propensities=[0.5]), "propensities has shape .* expected"),
    (lambda: wrapped(IPS, cap="mean"), "'median' or None"),
    (lambda: wrapped(MACR, c=float("nan")), "c is nan"),
    (lambda: wrapped(DICE, independence="hsic"), "distance correlation"),
    (lambda: wrapped(PC, beta=float("nan")), "beta is nan"),
)


DEFAULTS = {  # those that each class takes from its source
    "DICE": {"weight": 0.1, "apart": 0.01, "margin": 0.2, "decay": 0.9, "resample": True},  # a tenth of the mean count
    "MACR": {"alpha": 1e-3, "beta": 1e-3, "c": 40.0},
    "PC": {"alpha": 1.0, "beta": 0.4},
    "PAAC": {"align": 1, "contrast_weight": 0.2, "gamma": 0.5, "beta": 0.5, "tau": 0.2, "noise": 0.2, "limit": 512},
    "DCCL": {"weight_interest": 0.1, "weight_conformity": 0.1, "rate": 1.0, "tau": 1.0, "limit": 512},
    "TPAB": {"bootstrap": 1.0, "decay": 0.0},
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_the_defaults_are_those_of_the_source(name: str) -> None:
    data = pairs((0, 0), (1, 0), (0, 1), (1, 1), shape=(2, 2))
    rival = debiasing.make(name, MF(2, 2, 2, generator=seeded()), data, generator=seeded())
    assert {option: getattr(rival, option) for option in DEFAULTS[name]} == pytest.approx(DEFAULTS[name])


def test_tpab_starts_with_20_groups_in_8_stages_and_follows_a_fifth_of_the_slope() -> None:
    """One item's count goes 1, 2, ..., 8 through the stages: the next is 8 + 0.2, the last of 20 groups."""
    rows = [(u, t) for t in range(8) for u in range(8 * t, 8 * t + t + 1)]
    data = pairs(*((u, 0) for u, _ in rows), shape=(64, 1), times=[float(t) for _, t in rows])
    rival = TPAB(MF(64, 1, 500, generator=seeded()), data, generator=seeded())
    assert rival.groups.shape == (1, 8) and rival.group_popularity.shape == (20, 500) and rival.served.tolist() == [19]
    assert rival.group_popularity.std().item() == pytest.approx(0.1, rel=0.02)  # normal entries of deviation `scale`
    assert rival.user_popularity.std().item() == pytest.approx(0.1, rel=0.02)


TINY = 1e-9
FROM_ZERO = {
    "DICE": ("weight", "apart", "decay", "margin"),
    "MACR": ("alpha", "beta", "c"),
    "PC": ("alpha", "beta"),
    "PAAC": ("align", "contrast", "noise", "gamma", "beta"),
    "DCCL": ("weight_interest", "weight_conformity", "rate"),
    "TPAB": ("bootstrap", "slope", "decay", "scale"),
}
ABOVE_ZERO = {"IPS": ("cap",), "PAAC": ("tau",), "DCCL": ("tau",)}
UP_TO_ONE = {"PAAC": ("gamma", "beta")}
FROM_ONE = {"PAAC": ("limit",), "DCCL": ("limit",), "TPAB": ("stages", "groups")}


@pytest.mark.parametrize(
    ("options", "taken", "refused"),
    [(FROM_ZERO, 0.0, -TINY), (ABOVE_ZERO, TINY, 0.0), (UP_TO_ONE, 1.0, 1 + TINY), (FROM_ONE, 1, 0)],
)
def test_every_option_is_bounded_where_its_formula_is(options: dict, taken: float, refused: float) -> None:
    """A weight may be 0, which leaves its term out, and not less; a temperature may not be 0."""
    data, model = pairs((0, 0), (1, 1), shape=(2, 2)), MF(2, 2, 2, generator=seeded())
    for name, option in some((key, one) for key in options for one in options[key]):
        make = partial(debiasing.make, name, model, data, generator=seeded())
        bounds.ends_at(make, option, taken=taken, refused=refused)


# --------------------------------------------------------------------------------------------------------------- IPS
LIKED = [(0, 0), (0, 1), (1, 0), (1, 2), (2, 3)]
CHANCES = np.array([0.9, 0.5, 0.3, 0.6])


def expected_loss(rival: IPS) -> float:
    """The mean over the 32 sets that may be observed of the summed losses of observed pairs and all other items."""
    total = 0.0
    for seen in itertools.product((False, True), repeat=len(LIKED)):
        chance = math.prod(CHANCES[i] if there else 1 - CHANCES[i] for (_, i), there in zip(LIKED, seen, strict=True))
        for u, i in itertools.compress(LIKED, seen):
            others = [j for j in range(4) if j != i]
            columns = (torch.full((len(others),), value) for value in (u, i))
            total += chance * rival.loss(*columns, torch.tensor(others)).item()  # the mean over the negatives
    return total


def ips_case(**options) -> tuple[IPS, float]:
    """A weighted model and the loss over all liked pairs, each against all other items."""
    users, items = normal(3, 2, seed=1), normal(4, 2, seed=2)
    rival = IPS(fixed(users, items), pairs(*LIKED, shape=(3, 4)), balanced=False, generator=seeded(), **options)
    table = users @ items.T
    full = sum(np.mean([softplus(table[u, j] - table[u, i]) for j in range(4) if j != i]) for u, i in LIKED)
    return rival.double(), float(full)


def test_ips_is_unbiased_with_the_true_propensities() -> None:
    rival, full = ips_case(propensities=CHANCES, cap=None)
    assert expected_loss(rival) == pytest.approx(full, abs=1e-12)


def test_ips_default_weights_by_hand() -> None:
    """Counts 8, 4, 2, 1 -> 1/p = 1, 2, 4, 8 -> capped at the median 3 -> divided by (8 + 8 + 6 + 3) / 15 = 5/3."""
    data = pairs(*[(u, i) for i, count in enumerate((8, 4, 2, 1)) for u in range(count)], shape=(8, 4))
    rival = IPS(MF(8, 4, 2, generator=seeded()), data, generator=seeded())
    assert rival.weights.numpy() == pytest.approx([0.6, 1.2, 1.8, 1.8])
    flat = IPS(MF(8, 4, 2, generator=seeded()), data, power=0.5, cap=None, balanced=False, generator=seeded())
    assert flat.weights.numpy() == pytest.approx(np.sqrt([1, 2, 4, 8]))
    assert (rival.weights * rival.popularity).sum() == pytest.approx(len(data))
    assert rival.weights.dtype == rival.popularity.dtype == torch.float32


def test_ips_serves_the_backbone() -> None:
    rival, _ = ips_case()
    assert scores(rival) == pytest.approx(normal(3, 2, seed=1) @ normal(4, 2, seed=2).T)


# -------------------------------------------------------------------------------------------------------------- DICE
def dice_case(**options) -> DICE:
    """Items of popularity 3, 1, 2 (users 0-2), tables drawn at random."""
    data = pairs((0, 0), (1, 0), (2, 0), (0, 1), (1, 2), (2, 2), shape=(3, 3))
    return DICE(fixed(normal(3, 2), normal(3, 2, seed=1)), data, margin=0.0, generator=seeded(2), **options).double()


def dice_terms(rival: DICE, *triple: int) -> dict[str, torch.Tensor]:
    return rival.terms(rival.backbone(), rival.conformity(), *(ids(value) for value in triple))


MORE_POPULAR, LESS_POPULAR = (0, 1, 0), (1, 2, 1)  # (user, positive, negative): 1 against 3 pairs, and 2 against 1


@pytest.mark.parametrize("triple", [MORE_POPULAR, LESS_POPULAR, (0, 1, 1)])
def test_dice_terms_against_numpy(triple: tuple[int, int, int]) -> None:
    rival = dice_case(independence="l1")
    found = dice_terms(rival, *triple)
    u, i, j = triple
    (p, q), (r, s) = ([table.detach().numpy() for table in half()] for half in (rival.backbone, rival.conformity))
    interest, conformity = p[u] @ (q[i] - q[j]), r[u] @ (s[i] - s[j])
    popularity = np.array([3, 1, 2])
    side = np.sign(popularity[j] - popularity[i])
    items = sorted({i, j})
    assert found["click"].item() == pytest.approx(softplus(-interest - conformity))
    assert found["interest"].item() == pytest.approx(softplus(-interest) * (side > 0))
    assert found["conformity"].item() == pytest.approx(softplus(side * conformity) * (side != 0))
    apart = -np.abs(p[[u]] - r[[u]]).mean() - np.abs(q[items] - s[items]).mean()
    assert found["dependence"].item() == pytest.approx(apart)


def test_dice_terms_of_a_batch_are_means_over_all_its_triples_and_their_margin_ages() -> None:
    """Popularity differs by 2, by 1 and by 0. A margin of 1.5 leaves the first; half of it, the second too."""
    rival, triples = dice_case(decay=0.5), (MORE_POPULAR, LESS_POPULAR, (0, 1, 1))
    rival.margin = 1.5
    alone = dice_case()
    for epoch, beyond in ((0, triples[:1]), (1, triples[:2])):
        rival.begin_epoch(epoch, np.random.default_rng(0))
        found = rival.terms(rival.backbone(), rival.conformity(), *map(torch.tensor, zip(*triples, strict=True)))
        for name in ("interest", "conformity"):
            each = [dice_terms(alone, *triple)[name].item() for triple in beyond]
            assert found[name].item() == pytest.approx(sum(each) / 3)


def test_dice_loss_adds_the_terms_and_ages() -> None:
    rival = dice_case(resample=False, weight=0.3, apart=0.2, decay=0.5)
    triples = (ids(0, 1), ids(1, 2), ids(0, 1))
    for epoch in (0, 2):
        rival.begin_epoch(epoch, np.random.default_rng(0))
        found = rival.terms(rival.backbone(), rival.conformity(), *triples)
        terms = {key: value.item() for key, value in found.items()}
        causes = 0.5**epoch * 0.3 * (terms["interest"] + terms["conformity"])
        wanted = terms["click"] + causes + 0.2 * terms["dependence"]
        assert rival.loss(*triples).item() == pytest.approx(wanted)


def test_dice_serves_interest_plus_conformity() -> None:
    rival = dice_case()
    halves = [half()[0] @ half()[1].T for half in (rival.backbone, rival.conformity)]
    assert rival.ranking()[0].shape == (3, 4)
    assert scores(rival) == pytest.approx(sum(halves).detach().numpy())


def test_dice_draws_negatives_by_popularity_with_a_margin() -> None:
    """Positive of popularity 5, margin 1.5: half of the draws are items above 6.5, half of them items below 3.5.

    Item 7 is the user's own. After five draws of it, chance (1/6)^5, the negative of the batch stays.
    """
    rows = [(u, i) for i in range(10) for u in range(10, 10 + i)]
    data = pairs(*rows, (0, 4), (0, 7), shape=(20, 10))
    popularity = data.col_counts
    assert list(popularity) == [0, 1, 2, 3, 5, 5, 6, 8, 8, 9]
    rival = DICE(MF(20, 10, 2, generator=seeded()), data, margin=1.5, generator=seeded(1))
    users = torch.zeros(20_000, dtype=torch.long)
    drawn = rival.draw_negatives(users, users + 4, users + 5).numpy()
    share = np.bincount(drawn, minlength=10) / len(drawn)
    law = np.array([1 / 8] * 4 + [0] * 4 + [1 / 6] * 2) / (1 - 1 / 6)  # the draws of item 7 are repeated
    assert share[[4, 6, 7]].sum() == 0 and share[5] < 1e-3
    assert np.abs(share - law).max() < 4 * np.sqrt(law.max() / len(drawn))


@pytest.mark.parametrize("pool", [1, 3, 4])
@pytest.mark.parametrize("margin", [0.5, 1.0, 5.0])
@pytest.mark.parametrize("counts", [(1, 1, 2, 3, 5, 5, 6, 7, 8, 9), (1, 2, 3), (1, 1, 1)])
def test_dice_draws_all_that_its_law_allows_and_nothing_else(counts: tuple[int, ...], margin: float, pool: int) -> None:
    """Items exactly on the margin are on neither side. User 0 has item 0. The batch's negative is the positive here."""
    rows = [(u, i) for i, count in enumerate(counts) for u in range(i > 0, count + (i > 0))]
    n = len(counts)
    data = pairs(*rows, shape=(10, n))
    rival = DICE(MF(10, n, 2, generator=seeded()), data, margin=margin, pool=pool, generator=seeded(1))
    assert rival.popularity.tolist() == list(counts)
    positives = torch.arange(n).repeat(500)
    drawn = rival.draw_negatives(0 * positives, positives, positives)
    for positive, centre in enumerate(counts):
        above, below = ({i for i in range(n) if sign * (counts[i] - centre) > margin} for sign in (1, -1))
        sides = [side for side in (above, below) if len(side) >= pool] or [above or below]
        found = set(drawn[positives == positive].tolist())
        assert found - {positive} == set().union(*sides) - {0}, positive


def test_the_pool_of_dice_shrinks_like_the_margin() -> None:
    rows = [(u, i) for i in range(10) for u in range(10, 10 + i)]
    data, users = pairs(*rows, (0, 4), shape=(20, 10)), torch.zeros(500, dtype=torch.long)
    rival = DICE(MF(20, 10, 2, generator=seeded()), data, margin=1.5, pool=5, generator=seeded(1))
    rival.begin_epoch(30, np.random.default_rng(0))
    assert set(rival.draw_negatives(users, users + 4, users + 4).tolist()) >= {0, 9}


@pytest.mark.parametrize("method", [DICE, TPAB])
def test_decay_makes_the_loss_larger_and_the_models_own_generator_draws(method) -> None:
    """The same loss whatever the global generator, and the backbone's penalty is added."""
    found = []
    for decay, other in ((0.0, 0), (0.0, 1), (0.5, 0)):
        torch.manual_seed(other)
        data = pairs(*((u, i) for u in range(8) for i in range(8) if (u + i) % 3), shape=(8, 8))
        rival = method(MF(8, 8, 4, decay=decay, generator=seeded()), data, generator=seeded(1))
        rival.begin_epoch(0, np.random.default_rng(0))
        found.append(float(rival.loss(ids(*range(8)), ids(1, 0, 2, 1, 0, 2, 1, 0), ids(0, 2, 1, 0, 2, 1, 0, 2))))
    assert found[0] == found[1] < found[2]


# -------------------------------------------------------------------------------------------------------------- MACR
def macr_case(c: float = 0.0, **options) -> MACR:
    """One user (1, 0); matches 3, 2 and 1; own scores of the items -1, 0 and 4, of the user 0.5."""
    data = pairs((0, 0), (0, 1), (0, 2), shape=(1, 3))
    rival = MACR(fixed([[1, 0]], [[3, -1], [2, 0], [1, 4]]), data, c=c, generator=seeded(), **options).double()
    with torch.no_grad():
        rival.item_own.copy_(torch.tensor([0.0, 1.0]))
        rival.user_own.copy_(torch.tensor([0.5, 0.0]))
    return rival


MATCHES, OWN = np.array([3.0, 2.0, 1.0]), np.array([-1.0, 0.0, 4.0])


@pytest.mark.parametrize("c", [0.0, 0.5, 2.0, 40.0])
def test_macr_serves_the_counterfactual_score(c: float) -> None:
    assert scores(macr_case(c))[0] == pytest.approx((MATCHES - c) * sigmoid(OWN) * sigmoid(0.5))


def test_macr_loss_against_numpy() -> None:
    rival = macr_case(alpha=0.3, beta=0.2)
    triples = (ids(0, 0), ids(0, 1), ids(2, 0))
    i, j, user = [0, 1], [2, 0], 0.5
    pair = softplus(-MATCHES[i] * sigmoid(OWN[i]) * sigmoid(user)) + softplus(
        MATCHES[j] * sigmoid(OWN[j]) * sigmoid(user)
    )
    item = softplus(-OWN[i]) + softplus(OWN[j])
    wanted = np.mean(pair + 0.3 * item + 0.2 * (softplus(-user) + softplus(user)))
    assert rival.loss(*triples).item() == pytest.approx(wanted)


# ---------------------------------------------------------------------------------------------------------------- PC
def dense_pc(table: np.ndarray, labels: np.ndarray, alpha: float, beta: float) -> np.ndarray:
    """The formula, one user after the other, over all scores."""
    popularity, out = labels.sum(axis=0), np.empty_like(table)
    for u, r in enumerate(table):
        free = labels[u] == 0
        n = np.sqrt(np.mean(r[free] ** 2))
        c = (beta * r / n + 1 - beta) / (popularity + 1)
        out[u] = r + alpha * n / np.sqrt(np.mean(c[free] ** 2)) * c
    return out


def test_pc_by_hand() -> None:
    """One user with scores (3, 4, 0), who has the last item; popularity (1, 3, 4); alpha = 1, beta = 0.

    n = sqrt((9 + 16) / 2) = 5 / sqrt 2. c = (1/2, 1/4, 1/5), m = sqrt((1/4 + 1/16) / 2) = sqrt(5/32), so n / m = 4 sqrt
    5 and r* = (3 + 2 sqrt 5, 4 + sqrt 5, 4/5 sqrt 5) = (7.47, 6.24, 1.79): the rarer item has overtaken.
    """
    data = pairs((1, 0), (1, 1), (2, 1), (3, 1), (0, 2), (1, 2), (2, 2), (3, 2), shape=(4, 3))
    rival = PC(fixed(np.eye(4, 2), [[3, 0], [4, 0], [0, 0]]), data, alpha=1.0, beta=0.0, generator=seeded()).double()
    assert not any("rarity" in name or "pairs" in name for name in rival.state_dict())  # counted again from the data
    root = math.sqrt(5)
    assert scores(rival)[0] == pytest.approx([3 + 2 * root, 4 + root, 0.8 * root])
    rival.alpha = 0.0
    assert scores(rival)[0] == pytest.approx([3, 4, 0])


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.4), (0.4, 1.2), (2.0, 1.0), (0.5, 0.0)])
def test_pc_against_all_scores(alpha: float, beta: float) -> None:
    data = long_tailed(50, 30)
    users, items = normal(50, 4), normal(30, 4, seed=1)
    rival = PC(fixed(users, items), data, alpha=alpha, beta=beta, generator=seeded()).double()
    assert scores(rival) == pytest.approx(dense_pc(users @ items.T, data.labels(), alpha, beta), abs=1e-9)


def test_pc_trains_the_backbone() -> None:
    data = long_tailed(50, 30)
    model = MF(50, 30, 4, decay=0.1, generator=seeded())
    assert torch.equal(PC(model, data, generator=seeded()).loss(*batch(data)), model.loss(*batch(data)))


def test_pc_user_without_scores_is_served() -> None:
    data = long_tailed(10, 8)
    rival = PC(fixed(np.zeros((10, 2)), normal(8, 2)), data, generator=seeded()).double()
    assert np.isfinite(scores(rival)).all()


# -------------------------------------------------------------------------------------------------------------- PAAC
def paac_case(**options) -> PAAC:
    """User 0 has items 0-3 of popularity 4, 3, 2, 1; user 4 has item 4 alone; items 5 and 6 belong to user 5."""
    rows = [(u, i) for i, count in enumerate((4, 3, 2, 1)) for u in range(count)] + [(4, 4), (5, 5), (5, 6), (6, 5)]
    data = pairs(*rows, shape=(7, 7))
    return PAAC(fixed(normal(7, 3), normal(7, 3, seed=1)), data, generator=seeded(2), **options).double()


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def test_paac_alignment_is_the_mean_over_the_pairs_of_a_users_halves() -> None:
    rival = paac_case()
    f = unit(normal(7, 3, seed=1))
    wanted = np.mean([np.sum((f[i] - f[j]) ** 2) for i in (0, 1) for j in (2, 3)])
    found = rival.alignment(torch.zeros(40_000, dtype=torch.long), rival()).item()
    assert found == pytest.approx(wanted, rel=0.02)
    exact = np.sum((f[5] - f[6]) ** 2)  # one pair only; users with one item are left out
    assert rival.alignment(ids(5, 4, 5), rival()).item() == pytest.approx(exact)
    assert rival.alignment(ids(4), rival()).item() == 0


def test_paac_contrast_against_loops() -> None:
    x, y = unit(normal(5, 3)), unit(normal(5, 3, seed=1))
    popularity = np.array([5, 1, 4, 2, 3])
    tau, beta, gamma = 0.3, 0.4, 0.7
    groups = ([0, 2, 4], [1, 3])

    def part(own: list[int], other: list[int]) -> float:
        rows = []
        for i in own:
            below = sum(np.exp(x[i] @ y[j] / tau) for j in own) + beta * sum(np.exp(x[i] @ y[j] / tau) for j in other)
            rows.append(-np.log(np.exp(x[i] @ y[i] / tau) / below))
        return float(np.mean(rows))

    rival = paac_case(tau=tau, beta=beta, gamma=gamma)
    found = rival.item_contrast(*(torch.as_tensor(table) for table in (x, y, popularity)))
    assert found.item() == pytest.approx(gamma * part(*groups) + (1 - gamma) * part(*groups[::-1]))


def with_gradients(loss: torch.Tensor, *inputs: torch.Tensor) -> list[torch.Tensor]:
    return [loss.detach(), *torch.autograd.grad(loss, inputs)]


def test_paac_of_one_group_is_infonce_to_the_bit() -> None:
    x, y = (torch.tensor(normal(9, 4, seed=seed), dtype=torch.float32, requires_grad=True) for seed in (0, 1))
    mine = with_gradients(info_nce(x, y, y[:0], 0.2, 0.0), x, y)
    shared = with_gradients(losses.infonce(x @ y.T, tau=0.2), x, y)
    assert all(torch.equal(*pair) for pair in some(zip(mine, shared, strict=True)))


def test_the_losses_of_triples_are_softplus_to_the_bit_and_bpr_is_their_mean() -> None:
    """The stored results of P1 were trained with torch's softplus in float32."""
    pos = torch.linspace(-60, 60, 4001, requires_grad=True)
    neg = torch.tensor(normal(4001), dtype=torch.float32, requires_grad=True)
    stored = torch.nn.functional.softplus(neg - pos)
    assert torch.equal(losses.bpr_losses(pos, neg), stored)
    wanted = with_gradients(stored.mean(), pos, neg)
    for mean in (losses.bpr_losses(pos, neg).mean(), losses.bpr(pos, neg)):
        assert all(torch.equal(*pair) for pair in some(zip(with_gradients(mean, pos, neg), wanted, strict=True)))


def test_paac_two_views_are_near_and_of_length_one() -> None:
    rival = paac_case(noise=0.1)
    rows = torch.as_tensor(normal(50, 3))
    first, second = rival._view(rows), rival._view(rows)
    assert bool(torch.allclose(first.norm(dim=1), torch.ones(50).double())) and not torch.equal(first, second)
    assert bool((first.sign() == rows.sign()).all())


def test_paac_contrasts_views_that_are_drawn_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of the users, two of the items; a second batch has others."""
    rival, views = paac_case(noise=0.3), []
    right = rival._view
    monkeypatch.setattr(rival, "_view", lambda embeddings: views.append(right(embeddings)) or views[-1])
    for _ in range(2):
        rival.contrasts(ids(0, 4, 5), ids(0, 4, 5), rival.embeddings())
    assert len(views) == 8
    for at, other in ((0, 1), (2, 3), (0, 4), (2, 6)):
        assert float((views[at] - views[other]).norm(dim=1).min()) > 1e-3


def test_paac_loss_adds_its_parts() -> None:
    triples = (ids(0, 1, 5), ids(0, 1, 6), ids(4, 5, 0))

    def total(align: float, contrast: float) -> float:
        rival = paac_case(align=align, contrast=contrast)
        rival.begin_epoch(0, np.random.default_rng(0))
        return rival.loss(*triples).item()

    plain = total(0, 0)
    assert plain == pytest.approx(paac_case().backbone.loss(*triples).item())
    assert total(2, 3) - plain == pytest.approx(2 * (total(1, 0) - plain) + 3 * (total(0, 1) - plain))


# -------------------------------------------------------------------------------------------------------------- DCCL
def dccl_case(**options) -> DCCL:
    """Popularity 4, 2, 1, 1."""
    data = pairs((0, 0), (1, 0), (2, 0), (3, 0), (1, 1), (2, 1), (3, 2), (0, 3), shape=(4, 4))
    return DCCL(fixed(normal(4, 3), normal(4, 3, seed=1)), data, generator=seeded(2), **options).double()


def test_dccl_weights_by_hand() -> None:
    assert dccl_case(rate=1.0).interest_weights().numpy() == pytest.approx(np.exp([-1, -0.5, -0.25, -0.25]))
    assert dccl_case(rate=2.0).interest_weights().numpy() == pytest.approx(np.exp([-1, -1, -0.5, -0.5]))


def test_dccl_contrasts_against_loops() -> None:
    rival = dccl_case(tau=0.5)
    users, items = [0, 1, 2, 3, 1, 0], [0, 1, 0, 2, 0, 3]  # items 2 and 3 are equally popular: both push
    popularity, weight = [4, 2, 1, 1], np.exp([-1, -0.5, -0.25, -0.25])
    wanted = {"interest": [], "conformity": []}
    for half, name in ((rival.backbone, "interest"), (rival.conformity, "conformity")):
        e, f = (unit(table.detach().numpy()) for table in half())
        for b, (u, i) in enumerate(zip(users, items, strict=True)):
            columns = [c for c in range(len(users)) if c == b or (users[c] != u and items[c] != i)]
            if name == "conformity":
                columns = [c for c in columns if popularity[items[c]] <= popularity[i]]
            share = np.exp(e[u] @ f[i] / 0.5) / sum(np.exp(e[u] @ f[items[c]] / 0.5) for c in columns)
            wanted[name].append(-np.log(share) * (weight[i] if name == "interest" else 1 - weight[i]))
    found = rival.contrasts(rival.backbone(), rival.conformity(), ids(*users), ids(*items))
    means = {key: np.mean(rows) for key, rows in wanted.items()}
    assert {key: value.item() for key, value in found.items()} == pytest.approx(means)


def test_dccl_loss_adds_its_parts_and_serves_the_sum() -> None:
    triples = (ids(0, 1, 3), ids(0, 1, 2), ids(1, 2, 1))
    rival = dccl_case(weight_interest=0.3, weight_conformity=0.7)
    contrasts = rival.contrasts(rival.backbone(), rival.conformity(), *triples[:2])
    table = scores(rival)
    (e, f), (p, q) = ([part.detach().numpy() for part in half()] for half in (rival.backbone, rival.conformity))
    assert table == pytest.approx(e @ f.T + p @ q.T)
    u, i, j = (column.numpy() for column in triples)
    click = softplus(table[u, j] - table[u, i]).mean()
    wanted = click + 0.3 * contrasts["interest"].item() + 0.7 * contrasts["conformity"].item()
    assert rival.loss(*triples).item() == pytest.approx(wanted)


# -------------------------------------------------------------------------------------------------------------- TPAB
def tpab_case(**options) -> TPAB:
    """Four stages (times 0..7). Item 0: 3, 2, 1, 0 pairs; item 1: 0, 1, 2, 3; item 2: 0, 0, 0, 1."""
    counts = enumerate(((3, 2, 1, 0), (0, 1, 2, 3)))
    timed = [(u, i, 2.0 * t) for i, row in counts for t, count in enumerate(row) for u in range(10 * t, 10 * t + count)]
    users, items, times = zip(*timed, (35, 2, 7.0), (36, 2, 8.0), strict=True)
    data = pairs(*zip(users, items, strict=True), shape=(40, 3), times=list(times))
    return TPAB(fixed(normal(40, 2), normal(3, 2, seed=1)), data, stages=4, generator=seeded(2), **options).double()


def test_tpab_coarsens_on_a_logarithmic_scale() -> None:
    """top 16 in 4 groups: edges 2, 4, 8, 16; a count of 0 is in the first group, one above 16 in the last."""
    assert coarse(np.array([0, 1, 2, 3, 4, 5, 8, 9, 16, 40]), 16, 4).tolist() == [0, 0, 0, 1, 1, 2, 2, 3, 3, 3]
    assert coarse(np.array([0, 1, 5]), 0, 3).tolist() == [0, 0, 2]


def test_tpab_stages_and_the_line_into_the_next_one() -> None:
    times = np.array([0.0, 24.9, 25.0, 50.0, 99.0, 100.0])
    assert stage_of_pairs(times, 6, 4).tolist() == [0, 0, 1, 2, 3, 3]
    assert stage_of_pairs(None, 3, 4).tolist() == [0, 0, 0]
    counts = stage_counts(np.array([0, 0, 1, 1, 1, 0]), np.array([0, 1, 0, 1, 1, 1]), 3)
    assert counts.tolist() == [[1, 2], [1, 2], [0, 0]]
    assert next_counts(np.array([[1, 5], [5, 1], [0, 0]]), 0.5).tolist() == [7, -1, 0]
    assert next_counts(np.array([[4], [2]]), 0.5).tolist() == [4, 2]


def test_tpab_reads_popularity_at_the_time_of_the_pair() -> None:
    rival = tpab_case(groups=3)
    early, late = rival.interactions.items_of(0), rival.interactions.items_of(30)
    assert early.tolist() == [0] and late.tolist() == [1]
    q = rival.group_popularity.detach().numpy()
    group = {0: 0, 1: 0, 2: 1, 3: 2}  # the largest count of a stage is 3: edges 1.44, 2.08, 3
    for user, item, other, count, others in ((0, 0, 1, 3, 0), (30, 1, 0, 3, 0), (10, 0, 1, 2, 1)):
        parts = rival.popularity_parts(ids(user), ids(item), ids(other))
        of_user, of_item, of_other = (part.detach().numpy()[0] for part in parts)
        assert of_user == pytest.approx(rival.user_popularity[user].detach().numpy())
        assert of_item == pytest.approx(q[group[count]])
        assert of_other == pytest.approx(q[group[others]])


def test_tpab_serves_tomorrows_popularity() -> None:
    """Items 0, 1: 6 pairs each. Lines lead to 0 - 0.2, to 3 + 0.2 and, from 0 and 2, to 2.4: groups 0, 2, 2."""
    rival = tpab_case(groups=3)
    assert rival.popularity.tolist() == [6, 6, 2] and rival.served.tolist() == [0, 2, 2]
    (e, f), p, q = rival.backbone(), rival.user_popularity, rival.group_popularity
    wanted = e @ f.T + p @ q[rival.served].T
    assert scores(rival) == pytest.approx(wanted.detach().numpy())


def test_tpab_shuffles_every_batch_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three triples: each of the six orders is as likely as any other."""
    rival, orders = tpab_case(), []
    right = rival.shuffled
    monkeypatch.setattr(
        rival, "shuffled", lambda popular, order: orders.append(tuple(order.tolist())) or right(popular, order)
    )
    for _ in range(300):
        rival.loss(ids(0, 10, 11), ids(0, 0, 1), ids(2, 2, 2))
    every = list(itertools.permutations(range(3)))
    assert stats.chisquare([orders.count(order) for order in every]).pvalue > 1e-3


def test_tpab_shuffled_term_does_not_know_whose_popularity_is_whose() -> None:
    """Its mean over all orders of the batch stays when popularity changes hands; the plain term's does not."""
    taste = (torch.as_tensor(normal(3)), torch.as_tensor(normal(3, seed=1)))
    of_users = torch.as_tensor(normal(1, 2, seed=2)).repeat(3, 1)
    of_items = [torch.as_tensor(normal(3, 2, seed=seed)) for seed in (3, 4)]
    swapped = [part[[2, 0, 1]] for part in of_items]

    def mean_shuffled(items: list[torch.Tensor]) -> float:
        orders = (torch.tensor(order) for order in itertools.permutations(range(3)))
        shuffled = (TPAB.shuffled((of_users, *items), order) for order in orders)
        return float(np.mean([TPAB.bpr_with(taste, parts).mean().item() for parts in shuffled]))

    assert mean_shuffled(of_items) == pytest.approx(mean_shuffled(swapped), abs=1e-14)
    plain, other = (TPAB.bpr_with(taste, (of_users, *items)).mean().item() for items in (of_items, swapped))
    assert abs(plain - other) > 1e-3


def test_tpab_loss_against_numpy() -> None:
    rival = tpab_case(bootstrap=0.0, decay=0.1)
    triples = (ids(0, 30), ids(0, 1), ids(1, 2))
    (e, f), parts = [table.detach().numpy() for table in rival.backbone()], rival.popularity_parts(*triples)
    p, q, r = (part.detach().numpy() for part in parts)
    u, i, j = (column.numpy() for column in triples)
    margin = (e[u] * (f[i] - f[j])).sum(axis=1) + (p * (q - r)).sum(axis=1)
    wanted = softplus(-margin).mean() + 0.1 * sum((part**2).sum() for part in (p, q, r)) / 2
    assert rival.loss(*triples).item() == pytest.approx(wanted)
    same = tpab_case(bootstrap=2.0, decay=0.1)
    one = tuple(column[:1] for column in triples)  # of one triple the shuffle is the triple itself
    rival.decay = same.decay = 0.0
    assert same.loss(*one).item() == pytest.approx(3 * rival.loss(*one).item())
