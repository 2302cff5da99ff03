"""The plans of all experiments: each cell is written as JSON, and stored under its hash, as it always was."""

import hashlib
import json
from pathlib import Path

import pytest

from course_lib import experiments
from course_lib.experiments.core.provenance import digest
from course_lib.experiments.core.registry import options_of

PLANS = json.loads(Path(__file__).with_name("plans.json").read_text(encoding="utf-8"))


@pytest.mark.seconds
def test_every_experiment_has_its_plan_written_down() -> None:
    assert set(PLANS) == set(experiments.names())


@pytest.mark.parametrize("which", PLANS)
def test_cells_are_written_as_they_were(which: str) -> None:
    """The number of cells at each scale, and SHA-256 of their JSON: a changed key would orphan the stored cells."""
    plans = [experiments.cells_of(which, scale, seeds=(1, 0)) for scale in experiments.SCALES]
    text = "\n".join(map(json.dumps, plans))
    assert [[*map(len, plans)], hashlib.sha256(text.encode()).hexdigest()] == PLANS[which]


def test_options_reach_the_cells() -> None:
    assert {cell["device"] for cell in experiments.cells_of("P3-T5", device="cuda")} == {"cuda"}
    assert {cell["max_epochs"] for cell in experiments.cells_of("P3-T4", "laptop", max_epochs=3)} == {3}
    assert {cell["data"] for cell in experiments.cells_of("P1-X1", "laptop", data="ml-1m-10core")} == {"ml-1m-10core"}


@pytest.mark.parametrize("which", [name for name in PLANS if "data" in options_of(name)])
def test_data_that_an_experiment_does_not_run_on_is_refused_with_those_that_it_does(which: str) -> None:
    with pytest.raises(ValueError, match=r"data is .netflix., which .* does not run on; expected one of .*\w"):
        experiments.run(which, data="netflix", progress=False)


def test_the_hash_of_a_cell_does_not_know_the_order_of_its_keys() -> None:
    assert digest({"a": 1, "b": [None, 0.5]}) == digest({"b": [None, 0.5], "a": 1}) != digest({"a": 1, "b": [None, 1]})
