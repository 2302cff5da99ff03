"""The benchmarks' way to another library:
one measurement at a time, and left out with a reason where it is not there.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("rivals.client")


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    path = tmp_path / "data.npz"
    np.savez(
        path,
        users=[0, 1],
        items=[1, 0],
        shape=np.array([2, 3]),
        left=np.ones((2, 64), "f4"),
        right=np.ones((3, 64), "f4"),
    )
    return path


def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client, body: str) -> None:
    """A Python of the rivals that runs `body` instead of serve.py."""
    script = tmp_path / "python"
    script.write_text(f"#!{sys.executable}\nimport sys\n{body}\n", encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv(client.VARIABLE, str(script))


def test_a_library_that_is_not_there_is_left_out(client, stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("implicit"):
        pytest.skip("implicit is installed here")
    monkeypatch.delenv(client.VARIABLE, raising=False)
    with client.Rival("implicit-top", stored, 1) as rival:
        assert not rival.available and "No module named 'implicit'" in client.left_out(rival)


def test_answers_are_read_between_other_lines(
    client, stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(
        tmp_path,
        monkeypatch,
        client,
        "print('a word of its own'); print('ready', flush=True)\n"
        "for line in sys.stdin:\n    print('20 Nov says INFO'); print(0.5, 0.25, 7, flush=True)",
    )
    with client.Rival("recbole-epoch", stored, 1) as rival:
        assert rival.available and [rival.measure() for _ in range(2)] == [(0.5, 0.25)] * 2


def test_a_library_that_stops_says_why(client, stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, client, "print('ready', flush=True); input(); sys.exit('out of memory')")
    with (
        client.Rival("recbole-epoch", stored, 1) as rival,
        pytest.raises(RuntimeError, match="recbole-epoch stopped: out of memory"),
    ):
        rival.measure()


def test_without_data_there_are_pairs_of_the_same_size(client, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    def missing(name: str) -> None:
        raise FileNotFoundError(name)

    monkeypatch.setattr(client.datasets, "load", missing)
    data = client.pairs("ml-1m")
    assert (*data.shape, len(data)) == client.SHAPES["ml-1m"] and "synthetic pairs" in capsys.readouterr().out


def test_scale_says_which_bars_were_not_checked(client) -> None:
    """A size without bars, a machine without implicit, and one bar that is missed."""
    scale = importlib.import_module("scale")
    assert scale.summary({}) == ["no bar was checked: they hold at 20 million pairs (--sizes 20)"]
    quick, slow = ({"seconds": seconds, "gigabytes": 1.0} for seconds in (1.0, 1000.0))
    checked = {bar: what for name in [*scale.STEPS][1:] for bar, what in scale.checked_bars(name, quick, None).items()}
    assert scale.summary(checked) == ["16 bars are met; not checked: bpr of implicit"]
    checked |= scale.checked_bars("bpr", quick, 4.0)
    assert scale.summary(checked) == ["every bar is met (17)"]
    checked |= scale.checked_bars("parquet", slow, None)
    assert scale.summary(checked) == ["missed: parquet seconds: 1000.0 s, bar 30.0"]
