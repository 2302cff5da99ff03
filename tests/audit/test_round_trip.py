"""Whatever writes a model, in whatever order of rows and with whatever ids: the same tables and pairs come back."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from course_lib import geometry
from course_lib.audit import cli, files, pairs, report_of
from course_lib.audit.schema import declared

pytestmark = pytest.mark.seconds

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
faiss = pytest.importorskip("faiss")
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
    elif kind == "shards.json":
        tensors = {"vectors": torch.from_numpy(rows), column: torch.from_numpy(array)}
        for at, (key, tensor) in enumerate(tensors.items()):
            safetensors.save_file({key: tensor}, folder / f"part-{at}.safetensors")
        weights = {key: f"part-{at}.safetensors" for at, key in enumerate(tensors)}
        Path(f"{path}shards.json").write_text(json.dumps({"metadata": {}, "weight_map": weights}))
    elif kind == ".vec":
        lines = (" ".join(map(str, [each, *row])) for each, row in zip(ids, rows.tolist(), strict=True))
        Path(f"{path}.vec").write_text("\n".join([f"{len(ids)} {D}", *lines]) + "\n", encoding="utf-8")
    elif kind == ".faiss":
        index = faiss.IndexIDMap(faiss.IndexFlatIP(D))
        index.add_with_ids(rows, array.astype(np.int64))
        faiss.write_index(index, f"{path}.faiss")
    elif kind == "beside":
        np.save(f"{path}.npy", rows)
        np.save(folder / f"{'user' if 'user' in folder.name else 'item'}_ids.npy", array)
        return f"{path}.npy", None
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


TABLES = (".npy", ".npz", ".pt", ".safetensors", "lists", "wide", "folder", "beside", ".vec", ".faiss", "shards.json")
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
        (kind in (".safetensors", "shards.json", ".faiss") and any(texts))
        or (kind == ".faiss" and any(isinstance(each, int) and each >= 2**63 for each in (*users, *items)))
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
        ids_back = tables[side].ids
        assert ids_back is not None
        assert [str(each) for each in ids_back] == [str(each) for each in shuffled]
        np.testing.assert_array_equal(tables[side].rows, rows[side][order][tables[side].kept])
    left, right = ([named[side][at] for at in column] for side, column in zip(named, liked.T, strict=True))
    found = pairs.read_pairs(as_pairs(pair_kind, folder, left, right), "pairs", tables["user"], tables["item"])
    back = [tables[side].aligned(tables[side].ids) for side in ("user", "item")]
    read = {(str(back[0][user]), str(back[1][item])) for user, item in found.pairs.pairs}
    assert read == {(str(user), str(item)) for user, item in zip(left, right, strict=True)}
    assert found.repeated == found.lost == 0


SIZES = {"user": 40, "item": 130}  # so many items that every question is asked


def answers(folder: Path) -> dict[str, Any]:
    """The JSON of the command, but for where the numbers come from."""
    given = ["--items", "--users", "--pairs", "--held-out"]
    files_of = [f.read_text() for f in (folder / "items.path", folder / "users.path")]
    ids = [f.read_text() for f in (folder / "items.ids", folder / "users.ids")]
    pairs_of = [f.read_text() for f in (folder / "pairs.path", folder / "held.path")]
    more = [word for side, file in zip(("item", "user"), ids, strict=True) if file for word in (f"--{side}-ids", file)]
    both = [word for pair in zip(given, [*files_of, *pairs_of], strict=True) for word in pair]
    found = report_of([*both, *more, "--temperature", "1"]).to_dict()
    for name in ("items", "users", "pairs", "held_out"):
        for key in ("source", "read", "schema"):
            found["inputs"][name].pop(key, None)
    return found


def write_model(folder: Path, kind: str, pair_kind: str, name: str, rng: np.random.Generator) -> None:
    """One model, the same at every call, in the order and the format of one writer."""
    fixed = np.random.default_rng(7)
    rows = {side: fixed.normal(size=(size, D)).astype(np.float32) for side, size in SIZES.items()}
    keys = rows["user"] @ rows["item"].T + fixed.gumbel(size=(SIZES["user"], SIZES["item"]))
    chosen = np.argsort(-keys, axis=1)[:, :15]
    both = np.c_[np.repeat(np.arange(40), 15), chosen.ravel()]
    held = fixed.permutation(len(both)) < 100
    named = {side: [KINDS[name](at) for at in range(size)] for side, size in SIZES.items()}
    for side, ids in named.items():
        order = rng.permutation(len(ids))
        (folder / side).mkdir()
        file, ids_file = as_table(kind, folder / side, rows[side][order], [ids[at] for at in order], f"{side}_id")
        (folder / f"{side}s.path").write_text(file)
        (folder / f"{side}s.ids").write_text(ids_file or "")
    for stem, part in (("pairs", both[~held]), ("held", both[held])):
        (folder / stem).mkdir()
        left, right = (
            [named[side][at] for at in column] for side, column in zip(named, rng.permutation(part).T, strict=True)
        )
        (folder / f"{stem}.path").write_text(as_pairs(pair_kind, folder / stem, left, right))


@pytest.mark.parametrize("name", ["whole numbers", "text"])
def test_every_writer_and_every_order_give_the_same_json(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    rng = np.random.default_rng([3, len(name)])
    found = {}
    for at, kind in enumerate(TABLES):
        pair_kind = [each for each in PAIRS if possible(kind, each, [KINDS[name](0)], [KINDS[name](0)])]
        if not pair_kind:
            continue
        folder = tmp_path_factory.mktemp("same")
        write_model(folder, kind, pair_kind[at % len(pair_kind)], name, rng)
        found[kind] = answers(folder)
    first = found.pop(".npy")
    assert len(found) >= 6 and first["remedies"] and first["further"][0]["figures"]
    hubs = next(verdict for verdict in first["verdicts"] if verdict["id"] == "hubs")
    assert hubs["figures"]["most_listed_item"] in [KINDS[name](at) for at in range(SIZES["item"])]
    for kind, each in found.items():
        assert each == first, kind


def test_remedies_are_written_in_the_order_of_the_files(tmp_path: Path) -> None:
    write_model(tmp_path, ".npz", ".csv", "text", np.random.default_rng(1))
    given = {
        name: (tmp_path / f"{stem}.path").read_text() for name, stem in {"items": "items", "users": "users"}.items()
    }
    given |= {"pairs": (tmp_path / "pairs.path").read_text(), "held-out": (tmp_path / "held.path").read_text()}
    words = [word for name, path in given.items() for word in (f"--{name}", path)]
    assert cli([*words, "--remedies", f"{tmp_path}/new"]) == 0
    rows = {name: np.load(given[name])["vectors"] for name in ("items", "users")}
    found = tmp_path / "new" / "normalise-the-items"
    np.testing.assert_allclose(np.load(found / "items.npy"), geometry.normalise(rows["items"]), rtol=1e-6)
    np.testing.assert_array_equal(np.load(found / "users.npy"), rows["users"])


@settings(deadline=None, max_examples=8)
@given(
    user=st.sampled_from(["userId", "who", "x"]),
    item=st.sampled_from(["asin", "what", "y"]),
    when=st.sampled_from(["timestamp", "z", "-"]),
    ending=st.sampled_from([".csv", ".npz", ".parquet"]),
)
def test_declared_columns_are_taken_whatever_they_are_called(
    tmp_path_factory: pytest.TempPathFactory, user: str, item: str, when: str, ending: str
) -> None:
    """Beside decoys whose names say more: user_id, item_id, time and rating hold something else, and are ignored."""
    folder = tmp_path_factory.mktemp("declared")
    columns: dict[str, Any] = {
        "user_id": np.arange(9),
        "item_id": np.arange(9),
        "rating": np.zeros(9),
        "time": np.ones(9),
    }
    columns |= {user: np.arange(9) % 4, item: np.arange(9) % 5, "stars": np.full(9, 4)}
    columns |= {} if when == "-" else {when: np.arange(9.0)}
    path = folder / f"pairs{ending}"
    if ending == ".csv":
        lines = zip(*(column.tolist() for column in columns.values()), strict=True)
        path.write_text("\n".join([",".join(columns), *(",".join(map(str, line)) for line in lines)]))
    elif ending == ".npz":
        np.savez(path, **columns)
    else:
        parquet.write_table(arrow.table(columns), path)
    schema = declared(
        [f"user={user}", f"item={item}", f"time={when}", "rating=stars", "ignored=user_id,item_id,time,rating"]
    )
    tables = [files.table_of(np.eye(size), side) for side, size in (("users", 4), ("items", 5))]
    found = pairs.read_pairs(str(path), "pairs", tables[0], tables[1], schema)
    assert found.pairs.pairs.tolist() == sorted([at % 4, at % 5] for at in range(9))
    assert found.schema["user"] == user and found.schema["item"] == item and found.schema["rating"] == "stars"
    assert found.schema["time"] == (None if when == "-" else when) and (found.pairs.times is None) == (when == "-")
    assert {"user_id", "item_id"} <= set(found.schema["ignored"])


def test_declared_ids_and_dimensions_of_a_table(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    columns = {"item_id": range(20), "sku": [f"s{19 - at:02d}" for at in range(20)], "price": rows[:, 0]}
    columns |= {f"{before}{at}": rows[:, at] + (before == "b") for before in "ab" for at in range(3)}
    parquet.write_table(arrow.table(columns), tmp_path / "items.parquet")
    schema = declared(["item=sku", "dimensions=b"])
    table = files.read_table(f"{tmp_path}/items.parquet", "items", schema=schema)
    np.testing.assert_array_equal(table.rows, rows[::-1] + 1)
    assert table.schema["id"] == "column sku" and {"item_id", "price", "a0"} <= set(table.schema["ignored"])
    with pytest.raises(ValueError, match="which of its columns are dimensions is not clear"):
        files.read_table(f"{tmp_path}/items.parquet", "items")
    bare = files.read_table(f"{tmp_path}/items.parquet", "items", schema=declared(["id=-", "dimensions=a"]))
    assert bare.ids is None and bare.schema["id"] is None


@pytest.mark.parametrize("text", ["usr=uid", "user", "user=", "user=a user=b"])
def test_a_wrong_declaration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="--columns: "):
        declared(text.split())


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.vec", b"3 4\nx 1 2 3 4\n", "line 1 says 3 rows, and 1 follow"),
        ("a.vec", b"x 1 2 3\ny 1 2 z\n", "line 2 does not hold an id and 3 numbers"),
        ("a.txt", b"7\n8\n", "line 1 is none"),
        ("a.faiss", b"IwFl" + bytes(60), "it is no flat index"),
        ("a.faiss", b"IxFI\x04", "it ends too early"),
        ("a.json", b"{}", "it has no weight_map"),
        ("a.json", b'{"weight_map": {"w": "../b.safetensors"}}', "there is no file ../b.safetensors beside it"),
    ],
)
def test_broken_files_of_the_new_kinds_are_refused(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=reason):
        files.read_table(f"{tmp_path}/{name}", "items")
