"""Whatever writes a model, in whatever order of rows and with whatever ids: the same tables and pairs come back."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from course_lib.audit import files, pairs

pytestmark = pytest.mark.seconds

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
safetensors = pytest.importorskip("safetensors.torch")

N, D = 30, 12  # rows and columns: the text order of the columns is another than that of their numbers
KINDS: dict[str, Callable[[int], Any]] = {
    "whole numbers": lambda at: 10 * at + 7,
    "negative": lambda at: at - 15,
    "hashes": lambda at: 2**63 + 11 * at,
    "large": lambda at: 2**53 + at,
    "text": lambda at: f"id {at}, new",
    "text of digits": lambda at: f"{at:03d}",
    "signs": lambda at: f"+{at}_0" if at % 2 else f"{at}_0",
}
Ids = list[Any]


def lists_of(rows: Any) -> Any:
    return arrow.array(list(rows), arrow.list_(arrow.float32()))


def wide(rows: Any) -> dict[str, Any]:
    """A column for each dimension, in the order of their names as texts."""
    return {key: rows[:, int(key)] for key in sorted(map(str, range(D)))}


def in_parts(path: Path, columns: dict[str, Any]) -> None:
    """A folder as Dask writes it: part.10 stands behind part.9."""
    path.mkdir()
    table = arrow.table(columns)
    size = -(-len(table) // 12)
    for part in range(12):
        parquet.write_table(table.slice(part * size, size), path / f"part.{part}.parquet")
    (path / "_SUCCESS").touch()


def with_ids_in_text(path: Path, rows: Any, ids: Ids) -> str:
    np.save(path.with_suffix(".npy"), rows)
    path.with_suffix(".txt").write_text("".join(f"{each}\n" for each in ids), encoding="utf-8")
    return str(path.with_suffix(".txt"))


def array_of(ids: Ids) -> Any:
    """The ids as int64, uint64 or text: not as ulonglong, as which NumPy takes large ones, and which torch refuses."""
    array = np.array(ids)
    return array.astype(np.uint64) if array.dtype.kind == "u" else array


def as_table(kind: str, folder: Path, rows: Any, ids: Ids, column: str) -> tuple[str, str | None]:
    """(file, file of ids or None) that one writer leaves."""
    path, array = folder / "table", array_of(ids)
    if kind == ".npy":
        return f"{path}.npy", with_ids_in_text(path, rows, ids)
    if kind == ".npz":
        np.savez(f"{path}.npz", vectors=rows, **{column: array})
    elif kind == ".pt":
        held = ids if isinstance(ids[0], str) else torch.from_numpy(array)
        torch.save({"vectors": torch.from_numpy(rows), column: held}, f"{path}.pt")
    elif kind == ".safetensors":
        tensors = {"vectors": torch.from_numpy(rows), column: torch.from_numpy(array)}
        safetensors.save_file(tensors, f"{path}.safetensors")
    elif kind == "lists":
        parquet.write_table(arrow.table({"vector": lists_of(rows), column: array}), f"{path}.parquet")
        return f"{path}.parquet", None
    elif kind == "wide":
        parquet.write_table(arrow.table({column: array, "price": rows[:, 0] + 1, **wide(rows)}), f"{path}.parquet")
        return f"{path}.parquet", None
    else:
        in_parts(Path(f"{path}.parquet"), {column: array, "vector": lists_of(rows)})
        return f"{path}.parquet", None
    return f"{path}{kind}", None


TABLES = (".npy", ".npz", ".pt", ".safetensors", "lists", "wide", "folder")
COLUMNS = {"item": ("item_id", "movieId", "asin", "ids"), "user": ("user_id", "userId", "customer_id", "ids")}
SPLITS = {".csv": ",", ".tsv": "\t", "semicolons.csv": ";", "colons.dat": "::", "spaces.txt": " "}
PAIRS = (*SPLITS, "by user.txt", ".npz", ".npy", ".parquet", "folder.parquet")


def as_pairs(kind: str, folder: Path, left: Ids, right: Ids) -> str:
    """The file of pairs that one writer leaves."""
    path = folder / f"pairs{kind}"
    both = list(zip(left, right, strict=True))
    if kind == "by user.txt":
        own = {user: [item for other, item in both if other == user] for user in dict.fromkeys(left)}
        path.write_text("".join(f"{user} {' '.join(map(str, items))}\n" for user, items in own.items()))
    elif kind in (".csv", "semicolons.csv"):
        with path.open("w", newline="", encoding="utf-8") as file:
            rows = [["when", "userId", "movieId"], *([9, *pair] for pair in both)]
            csv.writer(file, delimiter=SPLITS[kind]).writerows(rows)
    elif kind in SPLITS:
        path.write_text("".join(f"{user}{SPLITS[kind]}{item}\n" for user, item in both), encoding="utf-8")
    elif kind == ".npz":
        np.savez(path, users=array_of(left), items=array_of(right))
    elif kind == ".npy":
        np.save(path, np.array(both))
    elif kind == ".parquet":
        columns = {"item_id": array_of(right), "rating": [1] * len(left), "user_id": array_of(left)}
        parquet.write_table(arrow.table(columns), path)
    else:
        in_parts(path, {"customer_id": array_of(left), "sku": array_of(right)})
    return str(path)


def possible(kind: str, pair_kind: str, users: Ids, items: Ids) -> bool:
    """Whether the formats hold such ids: safetensors no text, spaces no text with spaces, one array one type."""
    texts = [isinstance(ids[0], str) for ids in (users, items)]
    spaced = any(" " in str(each) for each in (*users, *items))
    large = any(isinstance(each, int) and each >= 2**53 for each in (*users, *items))
    return not (
        (kind == ".safetensors" and any(texts))
        or (pair_kind in ("spaces.txt", "by user.txt") and spaced)
        or (pair_kind == ".npy" and (texts[0] != texts[1] or large))
    )


@pytest.mark.parametrize("pair_kind", PAIRS)
@pytest.mark.parametrize("kind", TABLES)
@settings(deadline=None, max_examples=2, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kinds=st.tuples(*[st.sampled_from(sorted(KINDS))] * 2), name=st.integers(0, 3), seed=st.integers(0, 2**32 - 1))
def test_every_writer_and_every_order_give_the_same_model(
    tmp_path_factory: pytest.TempPathFactory, kind: str, pair_kind: str, kinds: tuple[str, str], name: int, seed: int
) -> None:
    rng, folder = np.random.default_rng(seed), tmp_path_factory.mktemp("written")
    named = {side: [KINDS[kind](at) for at in range(N)] for side, kind in zip(("user", "item"), kinds, strict=True)}
    if not possible(kind, pair_kind, named["user"], named["item"]):
        return
    rows = {side: rng.normal(size=(N, D)).astype(np.float32) for side in named}
    liked = rng.permutation(np.argwhere(rng.random((N, N)) < 0.2))
    tables = {}
    for side, ids in named.items():
        order = rng.permutation(N)
        shuffled = [ids[at] for at in order]
        (folder / side).mkdir()
        file, ids_file = as_table(kind, folder / side, rows[side][order], shuffled, COLUMNS[side][name])
        tables[side] = files.read_table(file, f"{side}s", ids=ids_file)
        assert tables[side].ids is not None
        assert [str(each) for each in tables[side].ids] == [str(each) for each in shuffled]
        np.testing.assert_array_equal(tables[side].rows, rows[side][order])
    left, right = ([named[side][at] for at in column] for side, column in zip(named, liked.T, strict=True))
    found = pairs.read_pairs(as_pairs(pair_kind, folder, left, right), "pairs", tables["user"], tables["item"])
    back = [tables[side].ids for side in ("user", "item")]
    assert back[0] is not None and back[1] is not None
    read = {(str(back[0][user]), str(back[1][item])) for user, item in found.pairs.pairs}
    assert read == {(str(user), str(item)) for user, item in zip(left, right, strict=True)}
    assert found.repeated == found.lost == 0
