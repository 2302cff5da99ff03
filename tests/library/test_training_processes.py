"""`fit` in several processes: the same result as by hand in one, no process waits for ever, and errors name who."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import process_scenarios as scenarios
import pytest
import torch
from process_scenarios import COUNTS, Batch, finish, line, numbers, start, stop
from torch import Tensor, nn

from course_lib import gramians, losses
from course_lib import processes as sharing
from course_lib.backbones import make
from course_lib.checking import some
from course_lib.training import FabricProcesses, alike, processes
from course_lib.training.recommenders import _triples

pytestmark = pytest.mark.seconds

WORLD, SEED = 2, 3
Steps = Iterable[list[tuple[Batch, float]]]  # for each step the batches of the processes that have one, with weights


def outcome(scenario: str, folder: Path, world: int = WORLD) -> list[Any]:
    """What the processes of a run returned, by rank."""
    out = folder / "out"
    done = finish(start(scenario, out, world))
    assert [status for status, _ in done] == [0] * world, "\n".join(text[-2000:] for _, text in done)
    return [torch.load(out.with_suffix(f".{rank}"), weights_only=False) for rank in range(world)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("processes")


@pytest.fixture(scope="module")
def works(folder: Path) -> list[dict[str, Any]]:
    """All that ends well, in one run of two processes, whose start takes longer than all they do."""
    return outcome("works", folder)


def squares(module: nn.Module, batches: list[Batch]) -> list[Tensor]:
    return [scenarios.square(module, batch) for batch in batches]


def by_hand(
    steps_of: Callable[[int], Steps], *, clip: float | None = None, epochs: int = 2, losses_of: Any = squares
) -> tuple[dict[str, Tensor], list[float]]:
    """Epochs of Adam in plain torch: (state, mean loss of each epoch)."""
    module, means = line(), []
    optimizer = torch.optim.Adam(module.parameters(), lr=0.05)
    for epoch in range(epochs):
        found = []
        for group in steps_of(epoch):
            values = losses_of(module, [batch for batch, _ in group])
            weights = torch.tensor([weight for _, weight in group], dtype=torch.float64)
            optimizer.zero_grad()
            (torch.stack(values) @ (weights / weights.sum())).backward()
            if clip is not None:
                nn.utils.clip_grad_norm_(module.parameters(), clip)
            optimizer.step()
            found += [value.item() for value in values]
        means.append(float(np.mean(found)))
    return module.state_dict(), means


def dealt(count: int, *, examples: bool = False, drop: bool = False, world: int = WORLD) -> Callable[[int], Steps]:
    """The steps of `count` batches that are dealt out to `world` processes."""

    def of_epoch(epoch: int) -> Steps:
        batches = list(numbers(count, np.random.default_rng([SEED, epoch])))
        for at in range(0, count, world):
            group = batches[at : at + world]
            if len(group) == world or not drop:
                yield [(batch, len(batch[0]) if examples else 1.0) for batch in group]

    return of_epoch


def own(counts: tuple[int, int]) -> Callable[[int], Steps]:
    """The steps of processes that bring their own batches."""

    def of_epoch(epoch: int) -> Steps:
        sides = [numbers(count, np.random.default_rng([epoch, rank])) for rank, count in enumerate(counts)]
        for group in itertools.zip_longest(*sides):
            yield [(batch, 1.0) for batch in group if batch is not None]

    return of_epoch


EXPECTED = {
    **{f"dealt {count}": (dealt(count), None) for count in COUNTS},
    **{f"weighted {count}": (dealt(count, examples=True), None) for count in COUNTS},
    "dropped 7": (dealt(7, drop=True), None),
    **{f"own {counts}": (own(counts), None) for counts in ((3, 0), (0, 3), (7, 2))},
    "clipped": (dealt(3), 0.5),
}


def same_state(found: dict[str, Tensor], expected: dict[str, Tensor], atol: float = 1e-12) -> None:
    assert found.keys() == expected.keys()
    for name, value in some(expected.items()):
        torch.testing.assert_close(found[name], value, rtol=0, atol=atol)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_step_descends_on_the_mean_over_the_processes(works: list[dict[str, Any]], name: str) -> None:
    """1, 2, 3, 7 batches, none in one process, fewer in one than in the other: as by hand, in both."""
    make_steps, clip = EXPECTED[name]
    state, means = by_hand(make_steps, clip=clip)
    for found in some(works):
        same_state(found[name]["state"], state)
        assert [record["loss"] for record in found[name]["epochs"]] == pytest.approx(means, abs=1e-12)


@pytest.mark.pipeline
def test_four_processes(tmp_path: Path) -> None:
    """1, 2, 3 and 7 batches, weighted and not, and with the last step left out."""
    found = outcome("steps", tmp_path, world=4)
    for count in COUNTS:
        for name, examples in (("dealt", False), ("weighted", True)):
            state = by_hand(dealt(count, examples=examples, world=4))[0]
            for one in found:
                same_state(one[f"{name} {count}"]["state"], state)
    same_state(found[3]["dropped 7"]["state"], by_hand(dealt(7, drop=True, world=4))[0])


def test_sparse_gradients_stay_sparse_and_add_up(works: list[dict[str, Any]]) -> None:
    table = nn.Embedding(9, 2, sparse=True, dtype=torch.float64)
    with torch.no_grad():
        table.weight.copy_(torch.arange(18.0).reshape(9, 2))
    optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.1)
    for group in 2 * [([0, 1], [1, 5]), ([7],)]:
        optimizer.zero_grad()
        torch.stack([table(torch.tensor(rows)).square().mean() for rows in group]).mean().backward()
        optimizer.step()
    for found in works:
        same_state(found["sparse"]["state"], table.state_dict())


def test_a_loader_is_dealt_out_too(works: list[dict[str, Any]]) -> None:
    """A shuffled DataLoader: both processes take the same five batches in turn, so three steps an epoch, as alone."""
    first, second = (found["loader"] for found in works)
    same_state(first["state"], second["state"], atol=0)
    assert first["epochs"] == second["epochs"]
    start = line().state_dict()["weight"]
    assert (first["state"]["weight"] - start).abs().max() == pytest.approx(6 * 0.05, rel=0.2)  # six steps of Adam


@pytest.mark.parametrize("name", ["MF", "MF sparse", "LightGCN"])
def test_two_processes_train_a_recommender_as_one_with_batches_twice_as_large(
    works: list[dict[str, Any]], name: str
) -> None:
    """The triples of a batch are weighed, so 2 x 16 are 32, in the short last step too. Both start as process 0."""
    data, _ = scenarios.pairs().split_random(0.8, np.random.default_rng(0))
    model = make(name.split()[0], data, d=4, generator=torch.Generator().manual_seed(0)).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(3):
        triples = list(_triples(data, 16, "uniform", np.random.default_rng([1, epoch]), torch.device("cpu")))
        for at in range(0, len(triples), WORLD):
            together = [torch.cat(ids) for ids in zip(*triples[at : at + WORLD], strict=True)]
            optimizer.zero_grad()
            model.loss(*together).backward()
            optimizer.step()
    for found in works:
        same_state(found[name]["state"], model.state_dict())


def test_a_recommender_is_evaluated_once_for_all(works: list[dict[str, Any]]) -> None:
    first, second = (found["LightCCF"] for found in works)
    assert first["epochs"] == second["epochs"] and all(0 < record["mrr"] < 1 for record in some(first["epochs"]))
    same_state(first["state"], second["state"], atol=0)


def test_the_towers_take_all_their_steps(works: list[dict[str, Any]]) -> None:
    assert [found["towers"]["steps"] for found in works] == [21, 21]
    same_state(works[0]["towers"]["state"], works[1]["towers"]["state"], atol=0)


def test_each_process_draws_its_own_dropout(works: list[dict[str, Any]]) -> None:
    first, second = (found["noise"] for found in works)
    assert first.shape == second.shape == (2, 3) and not torch.equal(first, second)


def test_each_process_draws_its_own_noise_for_a_rival(works: list[dict[str, Any]]) -> None:
    """And both end with the same parameters all the same."""
    first, second = (found["rival"] for found in works)
    assert second["seed"] == first["seed"] + 1
    same_state(first["state"], second["state"], atol=0)


def test_all_stop_when_process_0_says_so(works: list[dict[str, Any]]) -> None:
    """It alone evaluates; the best state is in all."""
    assert [found["asked"] for found in works] == [[0, 0, 0], []]
    for found in some(works):
        assert found["early"]["stopped"] == "no gain in quality for 2 epochs" and len(found["early"]["epochs"]) == 3
    same_state(works[0]["early"]["state"], works[1]["early"]["state"], atol=0)


def test_estimators_take_parts_of_any_length(works: list[dict[str, Any]]) -> None:
    parts = [np.random.default_rng(rank).normal(size=(n, 3)) for rank, n in enumerate((10, 7))]
    whole = torch.from_numpy(np.concatenate(parts))
    ids = torch.cat((torch.arange(10), torch.arange(7) + 20))
    for found in some(works):
        for name, alone in (("BatchGramian", gramians.BatchGramian()), ("SAGram", gramians.SAGram(100, 3, 1))):
            torch.testing.assert_close(found["estimator"][name], alone.update(ids, whole), rtol=0, atol=1e-12)


@pytest.fixture(scope="module")
def estimates_alone() -> dict[str, Tensor]:
    return scenarios.estimates(0, 1, gramians.ALONE, lambda tables: (tables, lambda loss: loss.backward()))


@pytest.mark.parametrize(
    "name", [f"{maker}.{part}" for maker in scenarios.MAKERS for part in ("estimate", "loss", "left")]
)
def test_gramians_of_two_processes_equal_those_of_one(
    works: list[dict[str, Any]], estimates_alone: dict[str, Tensor], name: str
) -> None:
    for found in some(works):
        torch.testing.assert_close(found["gramians"][name], estimates_alone[name], rtol=0, atol=1e-6)


def test_gathered_rows_carry_their_gradients(works: list[dict[str, Any]]) -> None:
    """The loss of the whole batch, computed in both processes and averaged, has the gradient of one process."""
    parts = [torch.from_numpy(np.random.default_rng(rank).normal(size=(n, 4))) for rank, n in enumerate((3, 2))]
    whole = torch.cat(parts).requires_grad_()
    losses.infonce(whole @ whole.flip(1).T, tau=0.5).backward()
    torch.testing.assert_close(torch.cat([found["gathered"] for found in works]), whole.grad, rtol=0, atol=1e-12)


def test_weights_hold_for_gathered_rows_too(works: list[dict[str, Any]]) -> None:
    """Weighed by their numbers, means over the rows of two processes are one mean over all rows; unweighed, not."""

    def gathered(module: nn.Module, batches: list[Batch]) -> list[Tensor]:
        z = [module(x) for x, _ in batches]
        return [(own @ torch.cat(z).T).logsumexp(1).mean() for own in z]

    weighed, not_weighed = (by_hand(dealt(4, examples=one), losses_of=gathered)[0] for one in (True, False))
    for found in some(works):
        same_state(found["weighted rows"]["state"], weighed)
    assert (weighed["weight"] - not_weighed["weight"]).abs().max() > 1e-6


@pytest.mark.parametrize("gather", sharing.GATHERS)
@pytest.mark.parametrize("rows", sharing.ROWS)
def test_gathering_and_averaging_have_the_factors_of_the_theorem(
    works: list[dict[str, Any]], rows: str, gather: str
) -> None:
    """Linear towers under DistributedDataParallel, a temperature that is learned: `gradient_factors`, to 1e-12."""
    factors = sharing.gradient_factors(processes=WORLD, rows=rows, gather=gather)
    towers = scenarios.TwoTowers()
    left, right = towers.inputs(WORLD)
    queries, items, tau = (x.detach() for x in towers(torch.stack((left, right))))
    probability = (queries @ items.T / tau).softmax(1)
    far = torch.block_diag(*[torch.ones(3, 3, dtype=torch.float64)] * WORLD) == 0
    slope = probability - torch.eye(len(left), dtype=torch.float64)
    part = torch.where(far, float(factors.far), float(factors.near)).fill_diagonal_(float(factors.pull))
    scale = 1 / (len(left) * tau)
    expected = [
        float(factors.query) * scale * left.T @ slope @ items,
        scale * right.T @ (part * slope).T @ queries,
        -float(factors.direct) * scale * (slope * (queries @ items.T)).sum() / tau,
    ]
    for found in some(works):
        for value, right_value in some(zip(found["shared rows"][rows, gather], expected, strict=True)):
            torch.testing.assert_close(value, right_value, rtol=1e-12, atol=1e-12)


def test_other_numbers_of_processes_go_on_from_a_checkpoint(works: list[dict[str, Any]], folder: Path) -> None:
    """Two epochs in two processes, the third in one: three steps of a batch each instead of two of two and one."""
    same_state(works[0]["resume"]["state"], works[1]["resume"]["state"], atol=0)
    given: dict[str, Any] = {"batches": lambda e, rng: numbers(3, rng), "checkpoint": folder / "shared.pt"}
    with pytest.warns(UserWarning, match="written by 2 processes and goes on in 1"):
        alone = scenarios.trained(None, epochs=3, **given)
    assert alone["epochs"][:2] == works[0]["resume"]["epochs"] and len(alone["epochs"]) == 3
    same_state(alone["state"], by_hand(lambda epoch: dealt(3, world=2 if epoch < 2 else 1)(epoch), epochs=3)[0])


def test_what_differs_between_processes_is_refused_by_name_in_all(works: list[dict[str, Any]]) -> None:
    said = [found["refusals"] for found in works]
    words = {
        "seed": "seed is 0 in process 0 and 1 in process 1; expected the same in all 2 processes",
        "loss": "step is square with code",
        "setting": "(tau=1.0) with code",
        "tables": "module.weight is a table (1, 4) of torch.float64 in process 0 and a table (1, 5)",
        "rate": "optimizer.param_groups[0]['lr'] is 0.05 in process 0 and 0.1 in process 1",
        "share": "share of the module is 2 of 2 parameters in process 0 and none of 2 parameters in process 1",
        "plan": "plan is Plan(max_epochs=2",
        "data": "the first of all batches is a batch with fingerprint",
        "nothing": "batches gave nothing in epoch 0; expected at least one batch",
        "gradient": "Diverged: the gradient of weight[0, 2] is nan at step 0 of epoch 0, although the loss is finite",
        "partial": "1 of 2 processes have a batch in this step, and its loss asks all of them",
    }
    for name, expected in words.items():
        assert all(expected in found[name] for found in some(said)), (name, [found[name] for found in said])
    for name, who, expected in (
        ("failure", 1, "LookupError: item 77 is not in the table"),
        ("nan", 1, "Diverged: the loss is nan at step 0 of epoch 0"),
        ("argument", 1, "ValueError: plan is 'two epochs'; expected a training.loop.Plan"),
        ("evaluate", 0, "ValueError: what evaluate returned is None; expected a dict of numbers by name"),
    ):
        own, other = said[who][name], said[1 - who][name]
        assert own.startswith(expected) and f"ProcessLost: process {who} of 2 failed: {expected}" in other
    assert [found["afterwards"] for found in said] == ["max_epochs"] * 2


@pytest.mark.pipeline
@pytest.mark.parametrize(
    ("scenario", "who", "words"),
    [
        ("dies 1", 1, "process 1 of 2 died"),
        ("leaves", 1, "ProcessLost: one of the 2 processes ended before all had met"),
        ("dies 0", 0, "process 0 of 2 died"),
        ("stuck", 1, "process 1 of 2 failed: LookupError: item 77"),
        ("frozen", 1, "process 1 of 2 died: no sign of life"),
    ],
)
def test_a_process_that_ends_ends_the_others_by_name(tmp_path: Path, scenario: str, who: int, words: str) -> None:
    """A minute and less after the death, starts apart; the limit here is for a machine with much else to do."""
    started = start(scenario, tmp_path / "out")
    other = started[1 - who]
    try:
        assert other.wait(timeout=300) not in (0, -signal.SIGKILL)
        assert words in other.stderr.read()
    finally:
        stop(started)


@pytest.mark.pipeline
def test_the_program_of_the_page_runs_on_two_cores(tmp_path: Path) -> None:
    """The program of "How to use this course", with two processes on the CPU in place of four GPUs, in few steps."""
    page = (Path(__file__).parents[2] / "book/start/how-to-use.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    for before, after in (('"cuda", devices=4', '"cpu", devices=2'), ("steps=3000", "steps=20")):
        assert before in program
        program = program.replace(before, after)
    (tmp_path / "train.py").write_text(program + "print('done', fabric.global_rank)\n", encoding="utf-8")
    command, root = [sys.executable, str(tmp_path / "train.py")], Path(__file__).parents[2]
    given = os.environ | {"PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, check=False, env=given, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("done") == 2


# ---- what each process does, with this one as the only process of its group


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[FabricProcesses]:
    """This process as one that takes itself for a part of two: sums are its own numbers, and others' rows are none."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # torch puts its own there, and leaves it
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    yield FabricProcesses(SimpleNamespace(world_size=2))
    torch.distributed.destroy_process_group()


def test_what_is_shared_is_a_copy_without_gradients_unless_it_is_gathered(alone: FabricProcesses) -> None:
    rows = torch.arange(6.0).reshape(2, 3).T.requires_grad_()  # not contiguous
    for shared in some([alone.total(rows), alone.concatenated(rows)]):
        assert torch.equal(shared, rows) and not shared.requires_grad and shared.is_contiguous()
        assert shared.data_ptr() != rows.data_ptr()
    gathered = alone.gathered(rows)
    assert torch.equal(gathered, rows)
    (gathered * torch.arange(6.0).reshape(3, 2)).sum().backward()
    assert torch.equal(rows.grad, torch.arange(6.0).reshape(3, 2))


def test_gradients_add_up_by_their_kind(alone: FabricProcesses) -> None:
    dense, idle, sparse, empty = (nn.Parameter(torch.ones(4, 3)) for _ in range(4))
    dense.grad = torch.full((3, 4), 2.0).T
    place = torch.tensor([[1, 1, 3]])  # one place twice
    sparse.grad = torch.sparse_coo_tensor(place, torch.ones(3, 3), (4, 3), check_invariants=True)
    parameters = [dense, idle, sparse, empty]
    assert processes.gradient_kinds(parameters) == [1, 0, 0, 0, 0, 1, 0, 0]
    waited: list[Any] = []
    team = SimpleNamespace(size=2, wait=lambda work: waited.append(work.wait()))
    processes.Team.add_gradients(team, parameters, [2, 0, 0, 0, 0, 1, 0, 1])  # another process has one for the last
    assert torch.equal(dense.grad, torch.full((4, 3), 2.0)) and dense.grad.is_contiguous() and len(waited) == 1
    assert idle.grad is None
    assert sparse.grad.to_dense().tolist() == [[0] * 3, [2] * 3, [0] * 3, [1] * 3] and sparse.grad.is_coalesced()
    assert empty.grad.shape == (4, 3) and not empty.grad.to_dense().any()
    processes.Team.add_gradients(team, [idle], [1, 0])
    assert torch.equal(idle.grad, torch.zeros(4, 3))
    with pytest.raises(ValueError, match=r"shape \(4, 3\) has sparse and dense gradients"):
        processes.Team.add_gradients(team, [dense], [1, 1])


def test_which_errors_are_those_of_a_broken_connection() -> None:
    broken = [torch.distributed.DistNetworkError("x"), RuntimeError("[gloo/pair.cc] closed by peer")]
    other = [RuntimeError("out of memory"), ValueError("gloo")]
    assert [processes._broken(error) for error in (*broken, *other)] == [True, True, False, False]


def test_who_leaves_when_the_store_is_gone_leaves_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that held the store has ended first: the own error is what is then to be seen."""
    watch = processes._Watch(torch.distributed.HashStore(), 0, 2)
    watch.stop()

    def gone(*_: object) -> None:
        raise torch.distributed.DistNetworkError("Connection reset by peer")

    monkeypatch.setattr(watch, "_store", type("Gone", (), {"set": gone, "add": gone})())
    watch.report("ValueError: no")


def test_a_process_without_a_sign_of_life_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    store = torch.distributed.HashStore()
    watch = processes._Watch(store, 0, 2)
    watch.stop()
    heard = {1: (-1, 0.0)}
    store.add("alive/1", 1)
    watch._look_at(1, heard, 100.0)
    assert heard == {1: (1, 100.0)} and not watch.lost  # it was heard of just now
    watch._look_at(1, heard, 100.0 + processes.SILENCE)
    assert not watch.lost
    watch._look_at(1, heard, 101.0 + processes.SILENCE)
    assert watch.lost == {1: f"died: no sign of life for {1 + processes.SILENCE:.0f} seconds"}
    watch._look_at(1, {}, 0.0)  # who is lost is not looked at again


def test_functions_of_c_and_objects_that_hold_themselves_have_words() -> None:
    class Holder:
        def __init__(self) -> None:
            self.rate, self.step = 0.5, self.act

        def act(self) -> None:
            """Nothing."""

    assert "log_sigmoid" in alike.function_words(partial(print, torch.nn.functional.logsigmoid))
    assert "max" in alike.function_words(lambda x, of=max: of(x))
    assert "rate=0.5" in alike.function_words(Holder().act)


def test_what_processes_were_given_is_told_apart_by_names_order_and_numbers() -> None:
    same = [{"a": np.ones(2), "b": [1, "x"]}, {"a": np.ones(2), "b": [1, "x"]}]
    assert (
        alike._bytes(same[0])
        == alike._bytes(same[1])
        == alike._bytes({"a": np.ones(2)}) + alike._bytes({"b": [1, "x"]})
    )
    others = [{"a": np.ones(3)}, {"a": np.ones(2, np.float32)}, {"b": np.ones(2)}, {"a": torch.zeros(2).double()}]
    assert len({alike._bytes(one) for one in (*others, {"a": torch.ones(2).double()}, {"a": np.ones(2)})}) == 5
    assert alike._bytes([object()]) == alike._bytes([object()])  # of what has no bytes, the kind; not where it lies


def test_a_wait_ends_when_a_process_is_lost_meanwhile() -> None:
    watch = SimpleNamespace(lost={}, words=lambda: "process 1 of 2 died")
    team, looks = SimpleNamespace(_watch=watch, _pending=None), []

    def is_completed() -> bool:
        looks.append(1)
        watch.lost = {1: "died"} if len(looks) == 10 else {}
        return False

    work = SimpleNamespace(is_completed=is_completed)
    with pytest.raises(processes.ProcessLost, match="process 1 of 2 died"):
        processes.Team.wait(team, work)
    assert team._pending is work


def test_a_process_that_cannot_leave_is_ended_and_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = threading.Event()

    def end(status: int) -> None:
        watch._stop.set()
        ended.set()

    monkeypatch.setattr(processes, "BEAT", 0.01)
    monkeypatch.setattr(processes, "GRACE", 0.1)
    monkeypatch.setattr(processes, "os", SimpleNamespace(_exit=end))
    begun = time.monotonic()
    watch = processes._Watch(torch.distributed.HashStore(), 0, 2)
    watch.lost[1] = "died"
    assert ended.wait(5) and time.monotonic() - begun > 0.1
    watch.stop()
    assert capsys.readouterr().err == "process 0 of 2 ends: process 1 of 2 died\n"
