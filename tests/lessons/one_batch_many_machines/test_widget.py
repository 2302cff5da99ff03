"""The interactives: the pages compute what course_lib computes, and their sentences follow the numbers."""

import itertools
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from course_lib import experiments, processes, step_cost
from course_lib.checking import some
from course_lib.experiments.core.data import TRAIN_SHARE
from course_lib.experiments.scale.tables import BATCH
from course_lib.lessons.one_batch_many_machines import one_batch_many_machines_play as play
from course_lib.lessons.one_batch_many_machines import sharded_step
from course_lib.lessons.one_batch_many_machines.sharded_step import ShardedStep
from tests.lessons.every import Script, printed

OneBatchManyMachines = partial(play.OneBatchManyMachines, everything=True)
MATH = "machines_math"
EVALUATE = "(states) => states.map((state) => lib.analyseMachines(state))"


def every_recipe() -> list[dict[str, Any]]:
    """All recipes for P = 1, 2, 4 and 8, at sizes drawn at random."""
    rng = np.random.default_rng(0)
    kinds = itertools.product(
        (1, 2, 4, 8), ("none", "constant", "gradients"), ("own", "all"), ("mean", "sum"), (False, True)
    )
    names = ("processes", "gather", "rows", "reduction", "times_world")
    return [
        {
            **dict(zip(names, kind, strict=True)),
            "batch": int(rng.integers(1, 5000)),
            "d": int(rng.integers(1, 1000)),
            **{name: float(10 ** rng.uniform(-2, 2)) for name in ("bandwidth", "rate", "tower")},
        }
        for kind in kinds
    ]


STATES = every_recipe()


def same(state: dict[str, Any], answer: dict[str, Any]) -> bool:
    one = OneBatchManyMachines(**state)
    factors = [None if factor is None else float(factor) for factor in one.factors().values()]
    gramians = processes.gramian_bytes(processes=one.processes, width=one.d)
    return (
        answer["factors"] == factors
        and answer["sent"] == one.bytes_sent()
        and answer["gramians"] == pytest.approx(float(gramians))
        and answer["seconds"] == pytest.approx(one.seconds())
    )


@pytest.mark.parametrize("recipe", [("local", "own"), *itertools.product(("constant", "gradients"), ("own", "all"))])
def test_the_interactive_computes_the_same_scores_and_sends_the_same_share(recipe: tuple[str, str]) -> None:
    gather, rows = recipe
    named = gather.replace("local", "none")
    picture = OneBatchManyMachines(processes=4, d=32, batch=16, tower=0.001, gather=named, rows=rows)
    _, _, operations, copied = step_cost.amounts(gather, rows, processes=4, batch_size=16, width=32)
    assert operations / (picture.rate * 1e12) == pytest.approx(picture.seconds()["scores"])
    assert copied * 3 / 4 == picture.bytes_sent()


def test_the_sentence_calls_exact_what_is_exact() -> None:
    """On all recipes, by the factors of course_lib.processes."""
    for state in some(STATES[5::5]):
        one = OneBatchManyMachines(**{**state, "batch": 8})
        if one.processes > 1:
            exact = set(one.factors().values()) == {Fraction(1)}
            assert ("The averaged gradient is exactly that of one process" in one.summary()) == exact, state


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        ({"gather": "gradients"}, "The averaged gradient is exactly that of one process with 32 pairs."),
        ({"gather": "gradients", "times_world": True}, "is 4 times that of one process with 32 pairs"),
        ({"gather": "gradients", "reduction": "sum"}, "is 1/4 times that of"),
        ({"gather": "constant"}, "is missing, as nobody tells the process that owns an item. The rest is exact."),
        ({"gather": "constant", "times_world": True}, "The rest is 4 times that of"),
        ({"gather": "constant", "rows": "all"}, "1/4 times that of one process with 32 pairs"),
        (
            {"gather": "constant", "rows": "all", "times_world": True},
            "The gradients of all vectors are exactly those of one process with 32 pairs. That of the temperature is 4 "
            "times as large.",
        ),
        ({"gather": "none"}, "each row’s softmax has 7 negatives instead of 31."),
        ({"gather": "none", "processes": 1}, "There is nothing to gather."),
    ],
)
def test_what_it_says_of_each_recipe(recipe: dict[str, Any], words: str) -> None:
    assert words in OneBatchManyMachines(**{"batch": 8, **recipe}).summary()


@pytest.mark.parametrize(
    ("recipe", "words", "faded"),
    [
        ({}, "A film loses 8 of 15 pushes: the gradient ends where a film arrives as a constant", 2),
        ({"gather": "none"}, "A film loses 8 of 15 pushes: a machine knows its own films only", 2),
        ({"gather": "gradients"}, "Every film gets all of its 15 pushes, as on one machine.", 0),
        (
            {"rows": "all"},
            "Every film gets all of its 15 pushes, as on one machine. But the gradient has the right direction",
            0,
        ),
        (
            {"rows": "all", "times_world": True},
            "Every film gets all of its 15 pushes, as on one machine. But the gradient of the temperature is wrong.",
            0,
        ),
        ({"batch": 1}, "A film loses its one push: ", 2),
        ({"processes": 1}, "On one machine every film gets all of its 7 pushes.", 0),
        ({"processes": 1, "batch": 2}, "On one machine every film gets its one push.", 0),
    ],
)
def test_the_grid_loses_the_blocks_whose_pushes_are_lost(recipe: dict[str, Any], words: str, faded: int) -> None:
    """Of P B - 1 pushes on a film, B - 1 are left where the factor of the others' is 0 or there is none."""
    shown = play.OneBatchManyMachines(**{"processes": 2, "batch": 8, **recipe})
    assert shown.summary().startswith(words)
    assert shown.picture().count("opacity:0.") == faded
    lost = shown.factors()["other items"] == 0
    assert lost == bool(faded) and shown.picture().count('class="cw-block') == shown.processes**2


def test_bytes_are_whole_numbers() -> None:
    [sent] = [
        row[1] for row in OneBatchManyMachines(processes=3, d=8).table()[1] if row[0] == "bytes sent for two Gramians"
    ]
    assert sent == "683"


def test_the_same_in_python_computes_what_the_table_shows() -> None:
    for state in some(STATES[::7]):
        one = OneBatchManyMachines(**state)
        _, names = printed(one.python())
        rows = {row[0]: row[1] for row in one.table()[1]}
        assert names["shown"].state() | {"everything": True} == one.state()
        shown = [row[1] for row in one.table()[1][:4]]
        assert shown == ["another loss" if factor is None else str(factor) for factor in names["factors"].values()]
        assert rows["bytes sent for the loss"] == f"{names['sent']:,}"
        value, unit = rows["time of a step"].split()
        size = {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[unit]
        assert float(value) * size == pytest.approx(names["seconds"], rel=0.06)


# ---- the sizes of the further page: tables larger than a machine

SHARDS_MATH = "machines_math"
EVALUATE_SHARDS = "(states) => states.map((state) => lib.analyseShards(state))"
PRICES = [181_100.0, 4.107, 0.01151, 1.484]
SHOWN = {"sharded_step": {"prices": PRICES}}
REFUSED = [
    ("sharded_step", {"prices": PRICES[:3]}, "prices has shape (3,); expected (4,)"),
    ("sharded_step", {"prices": [-1.0, 1, 1, 1]}, "prices is -1.0; expected no negative price"),
]


def some_states() -> list[dict[str, Any]]:
    """Settings drawn at random, over all sizes that the traits allow, and one machine."""
    rng = np.random.default_rng(0)
    most = {"users": 1e9, "items": 1e8, "pairs": 1e11, "width": 1000, "batch": 20_000, "processes": 1000}
    kinds = [(itemsize, optimizer) for itemsize in ("2", "4") for optimizer in ("adam", "row-wise")]
    found = [
        {
            "prices": [float(10 ** rng.uniform(-2, 5)) for _ in PRICES],
            **{name: int(size ** rng.uniform(0.1, 1)) for name, size in most.items()},
            **{name: float(10 ** rng.uniform(-2, 2)) for name in ("bandwidth", "memory", "speed")},
            "itemsize": itemsize,
            "optimizer": optimizer,
        }
        for itemsize, optimizer in kinds * 10
    ]
    return [*found, {**found[0], "processes": 1}]


SHARDS_STATES = some_states()


def same_shards(state: dict[str, Any], answer: dict[str, Any]) -> bool:
    one = ShardedStep(**state)
    epoch = one.epoch()
    sent = {name: float(count) for name, count in one.sent().items()}
    return (
        answer["held"] == one.held()
        and answer["steps"] == epoch["steps"]
        and answer["sent"] == pytest.approx(sent, rel=1e-12)
        and answer["parts"] == pytest.approx(one.seconds(), rel=1e-12)
        and answer["hours"] == pytest.approx({name: epoch[name] for name in ("whole", "sharded")}, rel=1e-12)
    )


def test_bytes_written_out() -> None:
    """Four machines, two pairs each, d = 3 numbers of 4 bytes, a table of 40 rows."""
    sizes = {"processes": 4, "width": 3, "itemsize": 4}
    assert sharded_step.dense_bytes(40, **sizes) == 2 * 3 * 10 * 12  # in a ring: 3 blocks of a quarter, twice
    # 4 rows a machine, 3 of them elsewhere on average: an id and a gradient go out, and 3 rows are asked for here
    assert sharded_step.exchanged_bytes(batch_size=2, **sizes) == 3 * (8 + 12) + 3 * 12
    table = {"width": 3, "itemsize": 2}
    assert sharded_step.state_bytes(40, optimizer="adam", **table) == 3 * 240
    assert sharded_step.state_bytes(40, optimizer="row-wise", **table) == 240 + 40 * 4


def test_seconds_are_those_of_the_cost_model() -> None:
    """With numbers of 4 bytes, on the core of the prices: nothing but `step_cost`."""
    one = ShardedStep(PRICES, itemsize="4", speed=1.0)
    amounts = step_cost.amounts("gradients", "own", processes=16, batch_size=4096, width=128)
    assert one.seconds()["computing"] == pytest.approx(float(amounts @ PRICES) / 1e9)
    assert one.sent()["gathered"] == processes.gathered_bytes(
        processes=16, batch_size=4096, width=128, rows="own", gather="gradients"
    )


@pytest.mark.parametrize(("loss", "negatives"), [("SOGram", "gramians"), ("softmax, logQ", "gathered")])
@pytest.mark.parametrize(("way", "tables"), [("replicated", "dense"), ("sharded", "exchanged")])
def test_two_real_processes_sent_these_bytes(loss: str, negatives: str, way: str, tables: str) -> None:
    """SCALE-X4 on ML-1M, counted by the operating system, whose headers come on top: less than a twelfth."""
    result = experiments.load_result("SCALE-X4", "laptop")
    [data] = [one for one in result.provenance["data"] if "m" in one]
    [found] = result.select(metric="sent GB", loss=loss, optimizer="sgd", way=way, seed=0)
    steps = int(TRAIN_SHARE * data["positives"]) // BATCH
    sizes = {"users": data["m"], "items": data["n"], "width": 32, "batch": BATCH // 2, "processes": 2}
    sent = ShardedStep(PRICES, **sizes, itemsize="4").sent()
    predicted = steps * float(sent[tables] + sent[negatives]) / 1e9
    assert predicted < found["value"] < 13 / 12 * predicted


# ---- what a reader sees


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (
            {},
            "With Adam the whole tables take 92.2 GB, more than the 80 GB of a machine; a shard on each of 16 machines",
        ),
        ({}, "takes 5.76 GB and fits."),
        (
            {"users": 2e7, "items": 1e8, "pairs": 1e8, "width": 256, "batch": 16384, "processes": 64}
            | {"bandwidth": 50.0, "speed": 10.0, "optimizer": "row-wise"},
            "An epoch has 96 steps and takes 1 hour;",
        ),
        ({"optimizer": "row-wise"}, "With row-wise AdaGrad the whole tables take 31.2 GB and fit into the 80 GB"),
        ({"memory": 1.0}, "takes 5.76 GB, which is still too much."),
        ({"processes": 1}, "One machine sends nothing. By the cost model a step takes 2.21 ms, all of it computing."),
        ({"speed": 1.0}, "% of it is computing."),
        ({"speed": 1e5, "batch": 1, "bandwidth": 0.001}, "% of it is sending the batch’s vectors."),
        ({"speed": 1e5, "batch": 64, "bandwidth": 0.001, "processes": 2}, "% of it is sending for the tables."),
    ],
)
def test_what_it_says(state: dict[str, Any], words: str) -> None:
    assert words in ShardedStep(PRICES, **state).summary()


def test_the_same_in_python_computes_the_table_of_shards() -> None:
    for state in some(SHARDS_STATES[::4]):
        one = ShardedStep(**state)
        _, names = printed(one.python())
        assert names["shown"].state() == one.state()
        rows = {row[0]: row[1:] for row in one.table()[1]}
        assert rows["steps of an epoch"] == [f"{names['epoch']['steps']:,}"] * 2
        hours = [3600 * names["epoch"][way] for way in ("whole", "sharded")]
        assert sizes(rows["time of an epoch"]) == pytest.approx(hours, rel=0.006)
        computing = names["seconds"]["computing"]
        assert sizes(rows["time: computing"]) == pytest.approx([computing] * 2, rel=0.006)
        assert sizes(rows["tables and optimiser"]) == pytest.approx(list(names["held"].values()), rel=0.006)
        tables = [float(names["sent"][name]) for name in ("dense", "exchanged")]
        assert sizes(rows["sent for the tables"]) == pytest.approx(tables, rel=0.006)


UNITS = {"TB": 1e12, "GB": 1e9, "MB": 1e6, "kB": 1e3, "B": 1, "s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
UNITS |= {"minutes": 60, "hours": 3600, "days": 86400, "years": 86400 * 365}


def sizes(cells: list[str]) -> list[float]:
    """Bytes or seconds of cells such as "9.5 GB" and "4.1 days"."""
    return [float(value.replace(",", "")) * UNITS[unit] for value, unit in map(str.split, cells)]


SCRIPTS = [
    Script(
        MATH,
        EVALUATE,
        cases=lambda: STATES,
        off=lambda state, answer: not same(state, answer),
        given=lambda state: state,
        wrong=("carried ? scale : scale / processes", "scale"),
    ),
    Script(
        SHARDS_MATH,
        EVALUATE_SHARDS,
        cases=lambda: SHARDS_STATES,
        off=lambda state, answer: not same_shards(state, answer),
        given=lambda state: state,
        wrong=("3 * rows * width * itemsize", "2 * rows * width * itemsize"),
    ),
]
