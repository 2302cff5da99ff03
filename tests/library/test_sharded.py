"""Tables in shards of rows, on two processes: what one process computes, and refusals by name. `make test-scale`."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from process_scenarios import finish, start, stop
from refused import refused

from course_lib.checking import some
from course_lib.training.sharded import BLOCK, ShardedTables, start_rows

SCRIPT = Path(__file__).parents[1] / "sharded_scenarios.py"


@pytest.fixture(scope="module")
def works(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """All that ends well, by rank, in one run of two processes."""
    return ran("works", tmp_path_factory.mktemp("sharded") / "out", 2)


def ran(scenario: str, out: Path, world: int) -> list[dict[str, Any]]:
    """What each process of a run found, and where its files lie."""
    done = finish(start(scenario, out, world, script=SCRIPT))
    assert [status for status, _ in done] == [0] * world, "\n".join(text[-2000:] for _, text in done)
    found = [torch.load(out.with_suffix(f".{rank}"), weights_only=False) for rank in range(world)]
    return [one | {"folder": out.parent} for one in found]


@pytest.mark.scale
@pytest.mark.parametrize("optimizer", ["sgd", "row-wise adagrad"])
def test_shards_train_as_whole_tables_in_one_process(works: list[dict[str, Any]], optimizer: str) -> None:
    """Losses, temperature and every row, after ten steps in which items repeat. SGD again after the refusals, and with
    8 and 4 pairs in the processes, whose losses are means over their own and weighed by their number.
    """
    import sharded_scenarios as scenarios

    expected = scenarios.alone(optimizer)
    moved = expected["items"] - start_rows("items", 0, 8, d=scenarios.D, seed=scenarios.SEED)
    assert moved.abs().min() > 1e-3  # it can fail
    for case in (optimizer, *(["afterwards", "uneven"] if optimizer == "sgd" else [])):
        for rank in range(2):
            same_as_alone(works[rank][case], expected, losses=case != "uneven")


def same_as_alone(one: dict[str, Any], expected: dict[str, Any], *, losses: bool) -> None:
    """losses: those that are reported too, which are the plain mean over the processes."""
    if losses:
        assert one["losses"] == pytest.approx(expected["losses"], rel=1e-6)
    assert one["log_tau"] == pytest.approx(expected["log_tau"], rel=1e-5)
    for name in ("users", "items"):
        torch.testing.assert_close(one[name], expected[name], rtol=1e-5, atol=1e-6)


@pytest.mark.scale
def test_each_process_holds_its_rows_alone(works: list[dict[str, Any]]) -> None:
    """13 rows are 7 and 6, 8 rows are 4 and 4; put together they are the tables."""
    for name, counts in (("users", [7, 6]), ("items", [4, 4])):
        shards = [one["sgd"][f"shard of {name}"] for one in works]
        assert [first for first, _ in shards] == [0, counts[0]] and [len(rows) for _, rows in shards] == counts
        torch.testing.assert_close(torch.cat([rows for _, rows in shards]), works[0]["sgd"][name], rtol=0, atol=0)


@pytest.mark.scale
@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("shapes", "Disagreement: table items is (8, 4) in process 0 and (9, 4) in process 1; expected the same"),
        ("tables", "Disagreement: table items is (8, 4) in process 0 and missing in process 1"),
        ("start", "Disagreement: seed is 3 in process 0 and 4 in process 1"),
        ("rate", "Disagreement: lr is 1.0 in process 0 and 0.5 in process 1"),
        ("optimizer", "Disagreement: optimizer is sgd in process 0 and row-wise adagrad in process 1"),
        ("seed", "Disagreement: seed is 0 in process 0 and 1 in process 1"),
        ("loss", "Disagreement: step is "),
        ("outside", "ValueError: process 1: items holds 8; expected row numbers from 0 to 7"),
        ("negative", "ValueError: process 1: users holds -1; expected row numbers from 0 to 12"),
        ("kind", "ValueError: process 1: users has shape (1,) and dtype torch.float32; expected (B,) of torch.int64"),
        ("names", "ValueError: process 1: ids are of the tables ['films', 'items', 'users']"),
        ("no batch", "ValueError: batches gave nothing in epoch 0; expected at least one batch for each process"),
    ],
)
def test_what_differs_or_is_wrong_in_one_process_is_refused_by_name_in_both(
    works: list[dict[str, Any]], case: str, words: str
) -> None:
    for found in some(works):
        assert found["refusals"][case].startswith(words)


@pytest.mark.scale
@pytest.mark.parametrize("optimizer", ["sgd", "row-wise adagrad"])
def test_a_training_that_was_stopped_goes_on_to_the_same_bits(works: list[dict[str, Any]], optimizer: str) -> None:
    """And of the parts of its checkpoint only the newest are left."""
    for one in some(works):
        for name in ("users", "items"):
            torch.testing.assert_close(one[f"{optimizer} again"][name], one[optimizer][name], rtol=0, atol=0)
        assert one[f"{optimizer} again"]["losses"] == one[optimizer]["losses"]
    files = sorted(file.name for file in works[0]["folder"].glob(f"{optimizer} here*"))
    assert files == [f"{optimizer} here.pt{part}" for part in ("", ".epoch2.0-of-2", ".epoch2.1-of-2")]


@pytest.mark.scale
def test_other_numbers_of_processes_go_on_from_the_shards(works: list[dict[str, Any]], tmp_path: Path) -> None:
    """Three and one, from a stop after one of two epochs in two processes: as one process. The rest is refused."""
    import sharded_scenarios as scenarios

    for world in (3, 1):
        folder = tmp_path / str(world)
        shutil.copytree(works[0]["folder"], folder)
        for part in ("", ".epoch1.0-of-2"):
            shutil.copy(folder / f"sgd elsewhere.pt{part}", folder / f"torn.pt{part}")
        for one in some(ran("goes on", folder / "out", world)):
            refused = one["refusals"]
            assert (
                "the checkpoint is of {'table users': '(13, 4)', 'table items': '(8, 4)'" in refused["of other tables"]
            )
            assert "'optimizer': 'sgd'}; expected {" in refused["of another optimiser"]
            assert (
                "torn.pt lies in parts of 2 processes; expected torn.pt.epoch1.1-of-2 beside it"
                in refused["without a part"]
            )
            for optimizer in ("sgd", "row-wise adagrad"):
                same_as_alone(one[optimizer], scenarios.alone(optimizer), losses=True)


@pytest.mark.seconds
@pytest.mark.scale
@pytest.mark.parametrize(("who", "when"), [(1, "before"), (0, "asking"), (0, "after"), (1, "sending")])
def test_a_process_that_dies_ends_the_other(tmp_path: Path, who: int, when: str) -> None:
    """Also where the other is in a wait of TorchRec, for rows or for their gradients."""
    started = start(f"dies {who} {when}", tmp_path / "out", script=SCRIPT)
    other = started[1 - who]
    try:
        assert other.wait(timeout=300) not in (0, -signal.SIGKILL)
        assert f"process {who} of 2 died" in other.stderr.read()
    finally:
        stop(started)


class Held(ShardedTables):
    """The shard of one process, rows `first` to `last` - 1 of 5, without TorchRec and other processes."""

    def __init__(self, first: int, last: int) -> None:
        self.sizes, self._words, self.first = {"items": 5}, {"table items": "(5, 2)"}, first
        self.held = {"rows": torch.arange(10.0).view(5, 2)[first:last].clone(), "sum": torch.arange(5.0)[first:last]}

    def shard(self, name: str) -> tuple[int, torch.Tensor]:
        return self.first, self.held["rows"]

    def _of_rows(self, name: str) -> dict[str, torch.Tensor]:
        return self.held


def test_parts_of_other_processes_give_all_rows_in_any_order() -> None:
    parts = [Held(*bounds).part() for bounds in ((4, 5), (0, 3), (3, 4), (5, 5))]
    own, expected = Held(2, 5), Held(2, 5).held
    own.held = {key: torch.full_like(one, -1) for key, one in expected.items()}
    own.load_parts(parts)
    assert all(torch.equal(own.held[key], one) for key, one in some(expected.items()))


def without(part: dict[str, Any], key: str) -> dict[str, Any]:
    table = part["tables"]["items"]
    return part | {"tables": {"items": {name: one for name, one in table.items() if name != key}}}


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([], "parts is empty"),
        ([Held(0, 3).part()], "parts hold of table items the rows 0 to 2; expected 0 to 4, each once"),
        ([Held(3, 5).part()], "the rows 3 to 4; expected"),
        ([Held(0, 2).part(), Held(3, 5).part()], "the rows 0 to 1, 3 to 4; expected"),
        ([Held(0, 3).part(), Held(0, 3).part(), Held(3, 5).part()], "the rows 0 to 2, 0 to 2, 3 to 4; expected"),
        ([Held(0, 5).part() | {"words": {"table items": "(5, 3)"}}], r"parts\[0\]: the checkpoint is of .* expected"),
        ([Held(0, 3).part(), {"tables": {}}], r"parts\[1\]: the checkpoint is of None; expected {'table items'"),
        ([Held(0, 5).part() | {"tables": {}}], "the rows none; expected 0 to 4"),
        ([without(Held(0, 5).part(), "sum")], r"from row 0 on 'sum' of shape None; expected \(5,\)"),
    ],
)
def test_parts_that_lack_something_are_refused_before_a_row_is_changed(parts: list[Any], words: str) -> None:
    own = Held(2, 5)
    own.held["rows"].fill_(-1)
    with pytest.raises(ValueError, match=words):
        own.load_parts(parts)
    assert (own.held["rows"] == -1).all()


def test_a_row_starts_the_same_in_any_shard() -> None:
    whole = start_rows("users", 0, 2 * BLOCK + 5, d=3, seed=1)
    parts = [
        start_rows("users", first, last, d=3, seed=1)
        for first, last in ((0, 7), (7, BLOCK + 1), (BLOCK + 1, len(whole)))
    ]
    torch.testing.assert_close(torch.cat(parts), whole, rtol=0, atol=0)
    assert whole.std() == pytest.approx(3**-0.5, rel=0.02) and len(whole.unique(dim=0)) == len(whole)
    assert not torch.equal(start_rows("items", 0, 7, d=3, seed=1), whole[:7])
    assert not torch.equal(start_rows("users", 0, 7, d=3, seed=2), whole[:7])


def tables(**given: Any) -> ShardedTables:
    right: dict[str, Any] = {"rows": {"users": 3}, "d": 2, "fabric": None, "optimizer": "sgd", "lr": 1.0, "seed": 0}
    return ShardedTables(**right | given)


test_nonsense_is_refused = refused(
    (lambda: tables(rows={}), "rows is empty"),
    (lambda: tables(rows={"users": 0}), r"rows\['users'\] is 0"),
    (lambda: tables(d=0), "d is 0"),
    (lambda: tables(optimizer="adam"), "optimizer is 'adam'; expected one of sgd, row-wise adagrad"),
    (lambda: tables(lr=-1.0), "lr is -1.0"),
    (tables, 'expected one of strategy="ddp" that has been launched'),
)
