"""SCALE-X4: tables in one process, whole in two, and in two shards of rows. `make test-scale`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from course_lib.checking import some
from course_lib.experiments.core.registry import cells_of
from course_lib.experiments.scale import tables

Numbers = dict[str, dict[str, float]]


@pytest.fixture(scope="module")
def trained() -> Callable[[str], Numbers]:
    """What the ways to hold the tables gave at smoke scale, each loss run once."""
    found: dict[str, Numbers] = {}

    def of(loss: str) -> Numbers:
        if loss not in found:
            [cell] = cells_of("SCALE-X4", only={"loss": loss, "optimizer": "sgd"})
            found[loss] = tables.start(cell, "one process") | tables.start(cell, "replicated", "sharded")
        return found[loss]

    return of


@pytest.mark.seconds
@pytest.mark.scale
@pytest.mark.parametrize("loss", ["softmax, logQ", "in-batch", "SOGram"])
def test_shards_train_as_one_process(trained: Callable[[str], Numbers], loss: str) -> None:
    """The bars that were stated before."""
    numbers = trained(loss)
    one = numbers["one process"]
    assert one["recall@10"] > 0 and one["sent GB"] == 0
    for way in ("replicated", "sharded"):
        assert numbers[way]["loss, epoch 1"] == pytest.approx(one["loss, epoch 1"], rel=tables.LOSS_BAR)
        for metric in ("recall@10", "ndcg@10"):
            assert numbers[way][metric] == pytest.approx(one[metric], abs=tables.METRIC_BAR)


@pytest.mark.seconds
@pytest.mark.scale
def test_shards_send_less_than_whole_tables_gradients(trained: Callable[[str], Numbers]) -> None:
    numbers = trained("SOGram")
    assert 0 < numbers["sharded"]["sent GB"] < numbers["replicated"]["sent GB"]


@pytest.mark.seconds
@pytest.mark.scale
def test_a_process_grows_by_its_half_of_the_tables() -> None:
    """And a constant, which is the machine's: some 60 to 70 MB here."""

    def measured(rows: int) -> dict[str, float]:
        cell = cells_of("SCALE-X4", only={"rows": 60_000})[0] | {"rows": rows}
        return tables.start(cell, "sharded")["sharded"]

    small, large = measured(240_000), measured(960_000)
    more = large["tables GB"] - small["tables GB"]
    assert large["grown GB"] - small["grown GB"] == pytest.approx(more / 2, rel=0.15)
    assert small["tables GB"] / 2 <= small["grown GB"] <= small["tables GB"] / 2 + 2 * tables.MEMORY_BAR


def test_the_environment_is_found_or_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tables, "find_spec", lambda name: None)
    monkeypatch.setattr(tables, "ROOT", tmp_path)
    with pytest.raises(ValueError, match=r"TorchRec is not installed.*make test-scale"):
        tables.python()
    (tmp_path / ".venv-scale" / "bin").mkdir(parents=True)
    (tmp_path / ".venv-scale" / "bin" / "python").touch()
    assert tables.python() == str(tmp_path / ".venv-scale" / "bin" / "python")


def test_a_process_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "python", lambda: "/bin/false")
    with pytest.raises(RuntimeError, match=r"one process.*a process failed"):
        tables.start(cells_of("SCALE-X4")[0], "one process", seconds=60)


def test_only_sgd_takes_sparse_gradients() -> None:
    cells: list[Any] = cells_of("SCALE-X4")
    ways = {cell.get("optimizer"): [way for run in tables.runs_of(cell) for way in run] for cell in some(cells)}
    assert ways["sgd"] == list(tables.WAYS) and ways[None] == list(tables.WAYS[1:])
    assert ways["row-wise adagrad"] == ["one process", "replicated", "sharded"]
    assert tables.describe(cells[-1])["name"] == "random tables"
