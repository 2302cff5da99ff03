"""A cell that is killed while it trains goes on behind its last state and gives the same rows."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch

from course_lib.checking import some
from course_lib.experiments.core import own, registry, verify
from course_lib.experiments.p1 import models
from course_lib.experiments.p3.own import own_cell
from course_lib.training import resumable

CELLS = {  # of each kind of trainer a short one, made shorter
    "P1-T3": ({"backbone": "MF", "method": "DDC"}, {}),
    "P3-T5": ({"ratio": 1e-1}, {"losses": ["unbiased", "in_batch"], "max_epochs": 2}),
    "P3-X2": ({"loss": "unbiased"}, {"iterations": 12}),
    "P4-F2": ({}, {"checks": 4}),
    "P4-T2": ({"method": "sogram 0.01"}, {"checks": 2}),
    "P2-X2": ({}, {"epochs": 2}),
    "PRACTICE-2": ({}, {"passes": 1}),
}


class Killed(BaseException):
    """In the place of a kill."""


def cell_of(name):
    only, shorter = CELLS[name]
    return registry.cells_of(name, "smoke", only=only)[-1] | shorter


def tries(run, folder, monkeypatch, rng, most=4):
    """The result of a run that is killed up to `most` times, and how many states it read."""
    write, read, states = resumable.Place.write, resumable.Place.read, []

    def write_or_die(place, file, **state):
        nonlocal left
        write(place, file, **state)
        left -= 1
        if left == 0:
            raise Killed

    def read_and_tell(place, file, *fields):
        if (found := read(place, file, *fields)) is not None:
            states.append(file.name)
        return found

    monkeypatch.setattr(resumable, "EVERY", 0)
    monkeypatch.setattr(resumable, "LEAST", 0)
    monkeypatch.setattr(resumable.Place, "write", write_or_die)
    monkeypatch.setattr(resumable.Place, "read", read_and_tell)
    for kill in range(most + 1):
        left = int(rng.integers(1, 5)) if kill < most else -1
        if kill == most:  # nobody reads what the last run writes
            monkeypatch.setattr(resumable, "EVERY", 60)
            monkeypatch.setattr(resumable, "LEAST", 60)
        torch.manual_seed(kill)  # a new process has another state of its own
        with resumable.kept(folder):
            try:
                return run(), states
            except Killed:
                continue
    raise AssertionError("unreachable")


@pytest.mark.seconds
@pytest.mark.parametrize("name", CELLS)
def test_a_killed_cell_gives_the_same_rows(name, tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "usual"))
    cell, chosen = cell_of(name), registry.get(name)
    usual = chosen.run_cell(cell)
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "killed"))
    models._fitted.cache_clear()
    again, states = tries(lambda: chosen.run_cell(cell), tmp_path / "states", monkeypatch, np.random.default_rng(1))
    assert states
    assert len(usual) == len(again)
    for before, now in some(zip(usual, again, strict=True)):
        if not verify.MEASURED.search(before["metric"]):
            assert {**before, "seconds": 0} == {**now, "seconds": 0}


OWN = """
import torch
from torch.nn import functional as F
from course_lib.experiments import own

@own.loss("sigmoid")
class Sigmoid(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.tensor(-2.0))

    def forward(self, scores, batch):
        signs = 2 * torch.eye(len(scores), dtype=scores.dtype) - 1
        return -F.logsigmoid(signs * (scores + self.bias)).sum(1).mean()
"""


@pytest.mark.seconds
def test_a_killed_training_of_an_own_loss_goes_on_with_its_parameters(tmp_path, monkeypatch):
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    with own.loaded(file):
        losses = {"losses": ["sigmoid"], "own": "", "ratio": 1e-3, "first_lr": 1.0, "max_epochs": 2}
        cell = cell_of("P3-T5") | losses
        usual = own_cell(cell)
        again, states = tries(lambda: own_cell(cell), tmp_path / "states", monkeypatch, np.random.default_rng(3))
    assert states and usual == again


def test_a_state_of_another_start_is_not_read(tmp_path, monkeypatch):
    def total(first):
        table, noted = torch.full((2,), float(first)), []
        for number in resumable.steps(range(3), table, noted):
            table += number
            noted.append(number)
        return table.tolist(), noted

    rng = np.random.default_rng(0)
    assert tries(lambda: total(1), tmp_path, monkeypatch, rng, most=1)[0] == ([4.0, 4.0], [0, 1, 2])
    found, states = tries(lambda: total(5), tmp_path, monkeypatch, rng, most=0)
    assert (found, states) == (([8.0, 8.0], [0, 1, 2]), [])


def test_a_loop_inside_a_loop_is_part_of_its_step(tmp_path, monkeypatch):
    def pairs():
        seen = []
        for one in resumable.steps(range(3), seen):
            seen.extend((one, other) for other in resumable.steps(range(2)))
        return seen

    found, states = tries(pairs, tmp_path, monkeypatch, np.random.default_rng(0), most=2)
    assert found == [(one, other) for one in range(3) for other in range(2)]
    assert states


def test_once_keeps_what_was_computed_and_the_order_of_what_lies_inside(tmp_path, monkeypatch):
    calls = []

    @resumable.once
    def part(at, rng_state):
        calls.append(at)
        total = [rng_state]
        for number in resumable.steps(range(4), total):
            total[0] += number
        return torch.tensor(total)

    def run():
        return [float(part(at, 10 * at)) for at in range(3)]

    found, states = tries(run, tmp_path, monkeypatch, np.random.default_rng(2), most=4)
    assert found == [6.0, 16.0, 26.0]
    assert len(calls) < 3 * 5
    assert states


def test_a_loop_that_another_process_skips_is_not_taken_for_the_next_one(tmp_path, monkeypatch):
    """Two trainings start alike and go on otherwise; the first is stored elsewhere when the second is resumed."""
    stored = {}

    @resumable.once
    def trained(rate):
        total = [0.0]
        for _ in resumable.steps(range(6), total):
            total[0] += rate
        return total[0]

    def run():
        for rate in (1.0, 2.0):
            if rate not in stored:
                stored[rate] = trained(rate)
        return dict(stored)

    for seed in range(6):
        stored.clear()
        found, _ = tries(run, tmp_path / str(seed), monkeypatch, np.random.default_rng(seed), most=4)
        assert found == {1.0: 6.0, 2.0: 12.0}


def counted(folder, until=None):
    """0 + 1 + ... + 9 by a loop that is killed at a number."""
    total = torch.zeros(1)
    with resumable.kept(folder):
        for number in resumable.steps(range(10), total):
            if number == until:
                raise Killed
            total += number
    return float(total)


BROKEN = {
    "empty": lambda state: b"",
    "cut in the middle": lambda state: state[: len(state) // 2],
    "other bytes": lambda state: b"\x00 not a pickle",
    "no dictionary": lambda state: pickle.dumps([1, 2]),
    "without a field": lambda state: pickle.dumps({"seconds": 1.0}),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_state_is_removed_and_the_loop_starts_again(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(resumable, "EVERY", 0)
    with pytest.raises(Killed):
        counted(tmp_path, until=7)
    (file,) = tmp_path.glob("*.state")
    file.write_bytes(BROKEN[kind](file.read_bytes()))
    with pytest.warns(UserWarning, match=f"{file.name} cannot be read .*done again"):
        assert counted(tmp_path) == 45


def test_a_broken_result_is_computed_again(tmp_path, monkeypatch):
    monkeypatch.setattr(resumable, "LEAST", 0)

    @resumable.once
    def square(number):
        return number**2

    def run():
        with resumable.kept(tmp_path):
            return square(3)

    assert run() == 9
    (file,) = tmp_path.glob("*.state")
    file.write_bytes(file.read_bytes()[:-3])
    with pytest.warns(UserWarning, match="cannot be read"):
        assert run() == 9


def test_a_state_of_another_shape_says_what_to_delete(tmp_path, monkeypatch):
    monkeypatch.setattr(resumable, "EVERY", 0)
    with pytest.raises(Killed):
        counted(tmp_path, until=7)
    (file,) = tmp_path.glob("*.state")
    file.write_bytes(pickle.dumps({**pickle.loads(file.read_bytes()), "held": [torch.zeros(3)]}))
    with pytest.raises(ValueError, match=f"{file.name} holds a state of another shape .*delete it"):
        counted(tmp_path)


COUNTING = """
import sys, time
from pathlib import Path
import numpy as np
from course_lib.training import resumable
resumable.EVERY = resumable.LEAST = 0
rng, drawn, begun = np.random.default_rng(0), [], []
with resumable.kept(Path(sys.argv[1])):
    for number in resumable.steps(range(6), rng, drawn):
        begun.append(number)
        if number == int(sys.argv[2]):
            print("killed here", flush=True)
            time.sleep(600)
        drawn.append(rng.random())
print(begun, drawn)
"""


@pytest.mark.seconds
def test_a_process_goes_on_where_sigkill_ended_another(tmp_path):
    def begin(kill_at):
        command = [sys.executable, "-c", COUNTING, str(tmp_path), str(kill_at)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    with begin(kill_at=4) as killed:
        assert killed.stdout.readline() == "killed here\n"
        killed.kill()
    with begin(kill_at=-1) as again:
        said = again.communicate()[0]
    rng = np.random.default_rng(0)
    assert said == f"{[4, 5]} {[rng.random() for _ in range(6)]}\n"
