"""Files of every format give the numbers that were written; bad ones give a message that helps, and run nothing."""

import csv
import json
import math
import pickle
import re
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from course_lib.audit import files, pairs
from course_lib.audit.command import cli
from course_lib.audit.schema import Schema
from course_lib.audit.tables import Table, table_of
from course_lib.audit.training import read_training

ROWS = np.random.default_rng(0).standard_normal((40, 3)).astype(np.float32)


class Trap:
    """Unpickled, it would leave a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


# ---- tables


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_tensors_of_every_kind_are_tables(dtype):
    tensor = torch.tensor(ROWS, dtype=dtype, requires_grad=True)
    expected = tensor.detach().double().numpy()
    for values in (tensor, torch.nn.Parameter(tensor.detach()), torch.nn.Embedding.from_pretrained(tensor.detach())):
        np.testing.assert_array_equal(table_of(values, "items").rows, expected)


def test_what_has_to_numpy_is_a_table():
    class OnAGpu:
        """As implicit's tables on a GPU."""

        def to_numpy(self):
            return ROWS

    np.testing.assert_array_equal(table_of(OnAGpu(), "items").rows, ROWS)


def test_a_tiny_row_counts_as_zero_and_tiny_tables_do_not():
    rows = ROWS.astype(np.float64)
    rows[7] = 1e-200
    with pytest.raises(ValueError, match="1 zero rows, the first is row 7"):
        table_of(rows, "items")
    table = table_of(rows, "items", drop_zero_rows=True)
    assert table.zero_rows.tolist() == [7] and len(table.rows) == 39
    assert table.aligned(np.arange(40)).tolist() == [*range(7), *range(8, 40)]
    small = table_of(ROWS * np.float32(1e-20), "items").rows  # squares would vanish in float32
    np.testing.assert_allclose(small, ROWS * 1e-20, rtol=1e-6)


def test_checkpoints_of_torch(tmp_path):
    model = torch.nn.ModuleDict({"films": torch.nn.Embedding(40, 3), "people": torch.nn.Embedding(9, 3)})
    torch.save({"state_dict": model.state_dict(), "epoch": 3}, tmp_path / "model.pt")
    torch.save(model["films"].weight.bfloat16(), tmp_path / "alone.pt")
    table = files.read_table(f"{tmp_path}/model.pt#state_dict.films.weight", "items")
    np.testing.assert_array_equal(table.rows, model["films"].weight.detach().numpy())
    assert files.read_table(f"{tmp_path}/alone.pt", "items").rows.shape == (40, 3)


def test_safetensors(tmp_path):
    torch_files = pytest.importorskip("safetensors.torch")
    torch_files.save_file({"items": torch.tensor(ROWS).bfloat16(), "b": torch.ones(3)}, tmp_path / "a.safetensors")
    table = files.read_table(str(tmp_path / "a.safetensors"), "items")
    np.testing.assert_array_equal(table.rows, torch.tensor(ROWS).bfloat16().float().numpy())


def in_the_file(table):
    """The rows of a table in the order of its file: with ids they stand in the order of these."""
    return table.rows[np.argsort(table.kept)]


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_arrow_tables(tmp_path, ending):
    arrow = pytest.importorskip("pyarrow")
    names = [f"film {row}" for row in range(40)]
    lists = arrow.array(list(ROWS), type=arrow.list_(arrow.float32()))
    fixed = arrow.FixedSizeListArray.from_arrays(arrow.array(ROWS.ravel()), 3)
    wide = {f"x{axis}": ROWS[:, axis] for axis in range(3)}
    for columns in ({"vector": lists}, {"vector": fixed}, wide):
        path = tmp_path / f"a.{ending}"
        write_arrow(arrow.table({"item_id": names} | columns), path)
        table = files.read_table(str(path), "items")
        np.testing.assert_array_equal(in_the_file(table), ROWS)
        assert table.ids is not None and table.ids[5] == "film 5"


@pytest.mark.parametrize(
    "ids", [np.arange(40.0), [str(row).encode() for row in range(40)], [Decimal(row) for row in range(40)]]
)
def test_a_column_of_ids_is_no_dimension_whatever_its_type(tmp_path, ids):
    """Whole floats, as pandas writes integers once there was a gap; bytes; decimals, as data bases write integers."""
    arrow = pytest.importorskip("pyarrow")
    wide = {f"x{axis}": ROWS[:, axis] for axis in range(3)}
    write_arrow(arrow.table({"item_id": ids, **wide, "movieId": np.arange(40.0)}), tmp_path / "a.parquet")
    table = files.read_table(str(tmp_path / "a.parquet"), "items")
    np.testing.assert_array_equal(table.rows, ROWS)
    write_arrow(arrow.table({"user": RIGHT, "item": [ids[at] for at in LEFT]}), tmp_path / "p.parquet")
    found = pairs.read_pairs(f"{tmp_path}/p.parquet", "pairs", people(), table).pairs
    assert found.pairs.tolist() == [[0, 1], [1, 2], [3, 0], [3, 2]]


def write_arrow(table: Any, path: Path) -> None:
    if path.suffix == ".parquet":
        pytest.importorskip("pyarrow.parquet").write_table(table, path)
    else:
        pytest.importorskip("pyarrow.feather").write_feather(table, path)


# ---- pairs

LEFT, RIGHT = np.array([0, 2, 1, 2]), np.array([3, 1, 0, 3])


def people(ids: Any = None, zero: tuple[int, ...] = ()) -> Table:
    """A table of four rows."""
    rows = ROWS[:4].copy()
    rows[list(zero)] = 0
    table = table_of(rows, "table", drop_zero_rows=True)
    return table if ids is None else Table(table.rows, "here", 4, table.zero_rows, np.asarray(ids))


def paired(path: Path | str, users: Any = None, items: Any = None) -> list[list[int]]:
    """The pairs of a file, in order, of two tables of four rows."""
    return pairs.read_pairs(str(path), "pairs", people(users), people(items)).pairs.pairs.tolist()


def write_columns(path: Path, columns: dict[str, Any]) -> Path:
    """A file of the columns as its ending says; in text, NaN is nothing."""
    if path.suffix == ".csv":
        rows = [
            ",".join("" if each != each else str(each) for each in row) for row in zip(*columns.values(), strict=True)
        ]
        path.write_text("\n".join([",".join(columns), *rows]))
    elif path.suffix == ".npz":
        np.savez(path, **columns)
    else:
        write_arrow(pytest.importorskip("pyarrow").table(columns), path)
    return path


LIKED = [[0, 3], [1, 0], [2, 1], [2, 3]]  # LEFT and RIGHT


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('["b", "a", "c"]', ""),
        ("[7, 5, 9]", ""),
        ('{"a": 0}', "no list of whole numbers, or of texts"),
        ('[1, "a", 2]', "no list of whole numbers, or of texts"),
        ("[[1], [2]]", "no list of whole numbers, or of texts"),
        ("a\nb\nc", "it is no JSON"),
    ],
)
def test_ids_may_be_a_list_in_json(text, what, tmp_path):
    np.save(tmp_path / "items.npy", np.eye(3))
    (tmp_path / "item_ids.json").write_text(text)
    if what:
        with pytest.raises(ValueError, match=rf"items ids: .*item_ids.json: .*{what}"):
            files.read_table(str(tmp_path / "items.npy"), "items")
    else:
        assert files.read_table(str(tmp_path / "items.npy"), "items").ids.tolist() == json.loads(text)


def test_a_gap_in_a_file_of_ids_is_refused_in_its_own_name(tmp_path):
    np.save(tmp_path / "a.npy", ROWS)
    (tmp_path / "ids.txt").write_text("".join("\n" if row == 3 else f"film {row}\n" for row in range(40)))
    with pytest.raises(ValueError, match=r"ids\.txt: ids: the id in row 3 is empty"):
        files.read_table(str(tmp_path / "a.npy"), "items", ids=str(tmp_path / "ids.txt"))


@pytest.mark.parametrize("split", [",", ";"])
def test_a_sign_between_quotes_splits_nothing(split, tmp_path):
    """Neither in a header nor in a line: a title with a comma stands before the ids."""
    lines = (["Heat, The", u, i] for u, i in zip(LEFT, RIGHT, strict=True))
    with (tmp_path / "a.csv").open("w", newline="") as file:
        csv.writer(file, delimiter=split).writerows([["title, original", "user_id", "item_id"], *lines])
    assert paired(tmp_path / "a.csv") == LIKED


def test_the_table_that_the_refusal_names_is_one_of_that_side(tmp_path):
    both = {"user_tower": np.ones((3, 2)), "item_tower": np.ones((4, 2))}
    np.savez(tmp_path / "a.npz", **both)
    for side in ("user", "item"):
        with pytest.raises(ValueError, match=f"such as a.npz#{side}_tower"):
            files.read_table(f"{tmp_path}/a.npz", f"{side}s")
    assert files.read_table(f"{tmp_path}/a.npz#item_tower", "items").source == f"{tmp_path}/a.npz#item_tower"


def test_ids_that_begin_like_a_header_are_ids(tmp_path):
    (tmp_path / "a.csv").write_text("user_1,item_2\nuser_0,item_0\n")
    ids = ([f"{side}_{row}" for row in range(4)] for side in ("user", "item"))
    assert paired(tmp_path / "a.csv", *ids) == [[0, 0], [1, 2]]


@pytest.mark.parametrize(
    ("columns", "places"),
    [
        ("user_id,rating,movie_id", (0, 2)),
        ("rating,userId,movieId", (1, 2)),
        ("customer_id,product_id,stars", (0, 1)),
        ("rating,parent_asin,asin,user_id", (3, 2)),
        ("user_age,user_id,item_name,item_id", (1, 3)),
        ("item,other", (1, 0)),
        ("user_id,rating,what", "user_id, rating, what holds the items"),
        ("who,rating,item_id", "who, rating, item_id holds the users"),
        ("user_id,artist_id,track_id", "artist_id, track_id holds the items"),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_columns_are_known_by_their_names_or_refused(ending, columns, places, tmp_path):
    """A column that happens to stand where items often do, such as the rating, is never taken for them."""
    names, path = columns.split(","), tmp_path / f"a.{ending}"
    table = np.full((4, len(names)), 3)
    if isinstance(places, tuple):
        table[:, places[0]], table[:, places[1]] = LEFT, RIGHT
    write_columns(path, dict(zip(names, table.T, strict=True)))
    if isinstance(places, str):
        with pytest.raises(ValueError, match=f"which of the columns {places} is not clear .* a.{ending}#USERS,ITEMS"):
            paired(path)
        chosen = pairs.read_pairs(f"{path}#{names[1]},{names[2]}", "pairs", people(), people())
        assert chosen.pairs.pairs.tolist() == [[3, 3]] and chosen.repeated == 3
    else:
        assert paired(path) == LIKED


def test_no_column_of_three_is_guessed_in_parquet(tmp_path):
    path = write_columns(tmp_path / "a.parquet", {"when": RIGHT, "who": LEFT, "what": RIGHT})
    with pytest.raises(ValueError, match="when, who, what holds the users and items is not clear"):
        paired(path)
    assert paired(f"{path}#who,what") == LIKED


@pytest.mark.parametrize("header", ["userId,movieId\n", ""])
def test_the_mark_that_excel_writes_before_a_text_is_no_part_of_it(header, tmp_path):
    (tmp_path / "a.csv").write_text(f"\ufeff{header}2,3\n0,1\n", encoding="utf-8")
    assert paired(tmp_path / "a.csv") == [[0, 1], [2, 3]]
    (tmp_path / "counts.csv").write_text("\ufeff3\n4\n", encoding="utf-8")
    assert files.read_counts(f"{tmp_path}/counts.csv", 2).tolist() == [3, 4]
    (tmp_path / "training.toml").write_text("\ufeffbatch_size = 64\n", encoding="utf-8")
    assert read_training(tmp_path / "training.toml") == {"batch_size": 64}


@pytest.mark.parametrize("ids", [None, [0, 1, 2, 3], ["0", "1", "2", "3"]])
def test_whole_numbers_may_have_a_point_in_text_too(ids, tmp_path):
    """As pandas writes them where a column has a gap; other numbers, and those beyond 64 bits, are named."""
    (tmp_path / "a.csv").write_text("user,item\n0.0,1.0\n2.0,3\n")
    assert paired(tmp_path / "a.csv", ids, ids) == [[0, 1], [2, 3]]
    for wrong in ("1.5", "1e0", "100000000000000000075", "-9223372036854775808.0", "9" * 5000):
        (tmp_path / "a.csv").write_text(f"user,item\n0,1\n2,{wrong}\n")
        with pytest.raises(ValueError, match=f"pair 1 has the item {wrong}, which is none of the table's"):
            paired(tmp_path / "a.csv", ids, ids)


def test_an_id_that_reads_with_a_point_stays_that_id():
    items = people(["1.0", "1", "film 2.0", "3"])
    found = pairs.pairs_of((np.arange(4), np.array(["1", "1.0", "film 2.0", "3.0"])), "pairs", people(), items)
    assert found.pairs.items.tolist() == [1, 0, 2, 3]


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_of_pairs_from_arrow_only_what_is_used_is_read(tmp_path, monkeypatch, ending):
    """Ids of CHUNK rows at a time; a bad id is named by its row of the file."""
    arrow = pytest.importorskip("pyarrow")
    sizes: list[tuple[int, list[str]]] = []
    read = files.arrow_ids
    monkeypatch.setattr(pairs, "CHUNK", 3)
    monkeypatch.setattr(
        pairs, "arrow_ids", lambda part, *rest: sizes.append((part.num_rows, part.column_names)) or read(part, *rest)
    )
    path = tmp_path / f"a.{ending}"
    columns = {"time": np.arange(17.0), "user": [at % 4 for at in range(17)], "item": [at // 4 % 4 for at in range(17)]}
    write_arrow(arrow.table(columns | {"price": np.arange(17)}), path)
    found = pairs.read_pairs(str(path), "pairs", people(), people())
    assert len(found.pairs) == 16 and found.repeated == 1
    assert max(rows for rows, _ in sizes) == 3 and all(names == ["user", "item", "time"] for _, names in sizes)
    for wrong, said in ((4, "pair 14 has the user 4"), (None, "column user holds 1 nulls, the first in row 14")):
        columns["user"][14] = wrong
        write_arrow(arrow.table(columns), path)
        with pytest.raises(ValueError, match=said):
            paired(path)


def test_pairs_are_read_in_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(pairs, "CHUNK", 3)
    with (tmp_path / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["user", "item"], *[[str(at % 4), str(at // 4)] for at in range(16)], ["0", "0"]])
    found = pairs.read_pairs(f"{tmp_path}/a.csv", "pairs", people(), people())
    assert len(found.pairs) == 16 and found.repeated == 1 and found.lost == 0


def test_names_lead_to_rows_and_zero_rows_take_their_pairs_along():
    users, items = people(["u", "v", "w", "x"]), people([10, 30, 20, 40], zero=(1,))
    found = pairs.pairs_of((np.array(["w", "u", "u"]), np.array([20, 30, 40])), "pairs", users, items)
    assert found.pairs.pairs.tolist() == [[0, 2], [2, 1]] and found.lost == 1  # rows 2 and 3 are now 1 and 2


def test_numbers_with_a_point_are_rows_where_they_are_whole():
    both = np.array([[0.0, 3.0], [2.0, 1.0]])
    assert pairs.pairs_of(both, "pairs", people(), people()).pairs.pairs.tolist() == [[0, 3], [2, 1]]
    for wrong in (0.5, -1.0, 4.0, math.nan, math.inf):
        with pytest.raises(ValueError, match=f"pair 1 has the item {wrong}, .* expected a row number from 0 to 3"):
            pairs.pairs_of(np.array([[0, 1], [2, wrong]]), "pairs", people(), people())


def test_an_unknown_name_is_refused_and_a_known_one_is_named():
    names = np.array(["u", "q"]), np.array([0, 1])
    with pytest.raises(ValueError, match=r"user q, .* none of the table's .* expected one of the 4 ids, such as"):
        pairs.pairs_of(names, "pairs", people(["u", "v", "w", "x"]), people())


# ---- bad files: each maker writes one, and says what the message must hold


def _npy(values: Any, **options: Any) -> Any:
    return lambda path: np.save(path, values, **options)


def _npz(**arrays: Any) -> Any:
    return lambda path: np.savez(path, **arrays)


def _pt(value: Any) -> Any:
    return lambda path: torch.save(value, path)


def _text(content: str) -> Any:
    return lambda path: path.write_text(content)


def _checkpoint_with_a_trap(path: Path) -> None:
    torch.save({"items": torch.tensor(ROWS), "extra": Trap(path.with_name("sprung"))}, path)


def _pickle(path: Path) -> None:
    path.write_bytes(pickle.dumps(Trap(path.with_name("sprung")), protocol=2))


def _cut(maker: Any, keep: float = 0.5) -> Any:
    def write(path: Path) -> None:
        maker(path)
        path.write_bytes(path.read_bytes()[: int(keep * path.stat().st_size)])

    return write


def _objects(path: Path) -> None:
    np.save(path, np.array([Trap(path.with_name("sprung")), None], dtype=object), allow_pickle=True)


def _nan(path: Path) -> None:
    rows = ROWS.copy()
    rows[5, 1] = np.nan
    np.save(path, rows)


def _zero(path: Path) -> None:
    rows = ROWS.copy()
    rows[[2, 9]] = 0
    np.save(path, rows)


def _arrow(**columns: Any) -> Any:
    """A Parquet file with the columns and with ROWS; columns: values, or (values, the name of an Arrow type)."""

    def write(path: Path) -> None:
        arrow = pytest.importorskip("pyarrow")
        typed = {key: arrow.array(*given) if isinstance(given, tuple) else given for key, given in columns.items()}
        write_arrow(arrow.table(typed | {f"x{axis}": ROWS[:, axis] for axis in range(3)}), path)

    return write


def _instead(row: int, value: Any) -> list[Any]:
    """The ids 0 ... 39, one of them replaced."""
    return [value if at == row else at for at in range(40)]


TEXTS = [str(at) for at in range(40)]
UUIDS = [bytes([200 + at] * 16) for at in range(40)]
WANTED_ID = "expected a whole number or a text in every row"


def _quantized(path: Path) -> None:
    torch.save(torch.quantize_per_tensor(torch.tensor(ROWS), 0.1, 0, torch.qint8), path)


BAD_TABLES: dict[str, tuple[str, Any, str]] = {
    "missing": ("a.npy", lambda path: None, "there is no file of this name"),
    "folder": ("a.npy", Path.mkdir, "this is a folder"),
    "empty": ("a.npy", lambda path: path.touch(), "the file is empty"),
    "pickle": ("a.pkl", _pickle, "a pickle can run any code"),
    "pickle in .npy": ("a.npy", _pickle, "Python objects are never loaded"),
    "pickle in .pt": ("a.pt", _pickle, "nothing was loaded"),
    "objects": ("a.npy", _objects, "Python objects are never loaded"),
    "module in .pt": ("a.pt", _pt(torch.nn.Embedding(40, 3)), "such as a whole module"),
    "checkpoint with objects": ("a.pt", _checkpoint_with_a_trap, "nothing was loaded"),
    "truncated .npy": ("a.npy", _cut(_npy(ROWS)), "cannot be read"),
    "truncated .pt": ("a.pt", _cut(_pt(torch.tensor(ROWS))), "nothing was loaded"),
    "1-D": ("a.npy", _npy(ROWS[:, 0]), r"shape (40,)"),
    "no rows": ("a.npy", _npy(ROWS[:0]), "shape (0, 3)"),
    "complex": ("a.npy", _npy(ROWS + 1j), "dtype complex"),
    "booleans": ("a.npy", _npy(ROWS > 0), "dtype bool"),
    "NaN": ("a.npy", _nan, "NaN or infinity in 1 rows, the first is row 5"),
    "zero rows": ("a.npy", _zero, "2 zero rows, the first is row 2"),
    "zeros": ("a.npy", _npy(0 * ROWS), "zeros alone"),
    "huge": ("a.npy", _npy(ROWS.astype(np.float64) * 1e200), "squares"),
    "too few": ("a.npy", _npy(ROWS[:5]), "5 rows; expected at least 12, as each has 10 neighbours"),
    "no such array": ("a.npy#x", lambda path: np.save(path.with_name("a.npy"), ROWS), "which has no name 'x'"),
    "no ending": ("a", _text("x"), "its name has no ending"),
    "sparse": ("a.pt", _pt(torch.tensor(ROWS).to_sparse()), "its table is torch.sparse_coo"),
    "quantized": ("a.pt", _quantized, "its table is quantized"),
    "without numbers": ("a.pt", _pt(torch.empty(40, 3, device="meta")), "on no device"),
    "several": ("a.npz", _npz(a=ROWS, b=ROWS), "it holds 2 tables: a (40, 3), b (40, 3)"),
    "none": ("a.npz", _npz(a=ROWS[0]), "it holds no table"),
    "ids that repeat": ("a.npz", _npz(a=ROWS, ids=np.arange(40) // 2), "names 2 rows"),
    "too few ids": ("a.npz", _npz(a=ROWS, ids=np.arange(9)), "there are 9 ids for 40 rows"),
    "one id for all": ("a.npz", _npz(a=ROWS, ids=7), "the ids have the shape ()"),
    "ids in .npz that are NaN": ("a.npz", _npz(a=ROWS, ids=np.array(_instead(3, np.nan))), "id in row 3 is nan"),
    "null id": ("a.parquet", _arrow(item_id=_instead(3, None)), "item_id holds 1 nulls, the first in row 3"),
    "empty id": ("a.parquet", _arrow(item_id=[*TEXTS[:39], ""]), "column item_id: the id in row 39 is empty"),
    "id with a fraction": ("a.parquet", _arrow(item_id=_instead(4, 4.5)), f"id in row 4 is 4.5; {WANTED_ID}"),
    "NaN id": ("a.parquet", _arrow(item_id=np.array(_instead(4, np.nan))), "column item_id: the id in row 4 is nan"),
    "float ids that lost digits": ("a.parquet", _arrow(item_id=np.array(_instead(4, 2.0**60))), "row 4 is 1.1529215"),
    "ids that are no text": ("a.parquet", _arrow(item_id=UUIDS), "column item_id: the id in row 0 is b'\\xc8"),
    "dates as ids": ("a.parquet", _arrow(item_id=(range(40), "date32")), "column item_id is of the type date32"),
    "null dimension": ("a.parquet", _arrow(x9=[*map(float, range(39)), None]), "x9 holds 1 nulls, the first in row 39"),
    "csv": ("a.csv", _text("1,2\n3,4\n"), "a .csv holds pairs or counts; pandas turns one into .parquet"),
    "unknown ending": ("a.h5", _text("x"), "'.h5' is no table's"),
    "no tensors": ("a.pt", _pt({"epoch": 3}), "it holds no table"),
    "text in .parquet": ("a.parquet", _text("x"), "pyarrow"),
    "text in .safetensors": ("a.safetensors", _text("x"), "safetensors"),
    "long header": ("a.safetensors", lambda path: path.write_bytes(struct.pack("<Q", 2**60) + b"{}"), "safetensors"),
}


@pytest.mark.parametrize("kind", BAD_TABLES)
def test_a_bad_table_is_refused_with_its_file_and_the_reason(kind, tmp_path, capsys):
    name, maker, reason = BAD_TABLES[kind]
    maker(tmp_path / name)
    assert cli(["--items", str(tmp_path / name)]) == 2
    said = capsys.readouterr().err
    assert reason in said and said.startswith("error: items")
    assert "unsafely" not in said and "\x1b" not in said and said.count("\n") == 1  # in our words
    assert name.removesuffix("#x") in said and "expected" in said.lower()
    assert not (tmp_path / "sprung").exists()


def _csv_with(line: str) -> Any:
    return _text("user,item\n0,1\n" + line + "\n")


FIRST, NAN = f"the first in row 2; {WANTED_ID}", f"row 2 is nan; {WANTED_ID}"
BAD_PAIRS: dict[str, tuple[str, Any, str]] = {
    "missing": ("p.csv", lambda path: None, "there is no file of this name"),
    "a row that is not there": ("p.csv", _csv_with("0,40"), "pair 1 has the item 40"),
    "a negative row": ("p.csv", _csv_with("-1,3"), "pair 1 has the user -1"),
    "words": ("p.csv", _csv_with("anna,3"), "pair 1 has the user anna"),
    "one column": ("p.csv", _csv_with("7"), "1 column; expected at least 2, split by tabs, commas, semicolons or"),
    "another sign": ("p.csv", _text("user|item\n0|1\n"), "line 1 has 1 column; expected at least 2, split by tabs"),
    "no pair": ("p.csv", _text("user,item\n"), "holds no pair"),
    "no text": ("p.csv", lambda path: path.write_bytes(b"\xff\xfe\x00\x81"), "it is no UTF-8 text"),
    "floats": ("p.npy", _npy(ROWS[:, :2]), "float32 numbers"),
    "three columns": ("p.npy", _npy(np.ones((5, 3), int)), "it holds an array (5, 3); expected"),
    "unequal": ("p.npz", _npz(users=[0, 1], items=[0]), "users of shape (2,) and items (1,)"),
    "no user": ("p.csv", _csv_with(",3"), "pair 1 has the user '' (empty)"),
    "null user": ("p.parquet", _arrow(user=_instead(2, None), item=range(40)), f"user holds 1 nulls, {FIRST}"),
    "NaN item": ("p.parquet", _arrow(user=range(40), item=np.array(_instead(2, np.nan))), f"item: the id in {NAN}"),
    "bytes that are no text": ("p.npz", _npz(users=[b"\xff"], items=[1]), "users: the id in row 0"),
    "other ending": ("p.json", _text("[]"), "'.json' is none of pairs"),
}


@pytest.mark.parametrize("kind", BAD_PAIRS)
def test_bad_pairs_are_refused_with_their_file_and_the_reason(kind, tmp_path, capsys):
    name, maker, reason = BAD_PAIRS[kind]
    maker(tmp_path / name)
    np.save(tmp_path / "t.npy", ROWS)
    assert cli([f"{tmp_path}/t.npy", "--users", f"{tmp_path}/t.npy", "--pairs", f"{tmp_path}/{name}"]) == 2
    said = capsys.readouterr().err
    assert reason in said and name in said and "expected" in said and said.startswith("error: pairs")


# ---- which columns are taken as what


def table_file(path: Path, columns: dict[str, Any], index: list[Any] | None = None) -> str:
    """A Parquet file of the columns; index: what pandas says of its index."""
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table(columns)
    if index is not None:
        table = table.replace_schema_metadata({b"pandas": json.dumps({"index_columns": index}).encode()})
    write_arrow(table, path)
    return str(path)


def vectors() -> Any:
    arrow = pytest.importorskip("pyarrow")
    return arrow.array(list(ROWS), arrow.list_(arrow.float32()))


ORDER = np.random.default_rng(1).permutation(40)
TEXT_ORDER = [str(at) for at in ORDER]
NAMES_OF_IDS = ("item_id", "ItemID", "item", "id", "movieId", "asin", "sku", "product_id", "track", "venue_id", "name")


@pytest.mark.parametrize("name", [*NAMES_OF_IDS, "__index_level_0__", "user_id"])
def test_ids_of_a_table_have_any_name_that_a_log_uses(name, tmp_path):
    path = table_file(tmp_path / "a.parquet", {"vector": vectors(), name: ORDER, "year": ORDER // 4})
    table = files.read_table(path, "items")
    assert table.ids is not None and table.ids.tolist() == ORDER.tolist()
    said = f"dimensions: vector, 3 numbers of float32; ids: column {name}; left out: year"
    assert table.read == f"read 40 of 40 rows; {said}"


def test_both_tables_of_one_file_have_their_own_ids(tmp_path):
    np.savez(tmp_path / "a.npz", items=ROWS, users=-ROWS, item_ids=ORDER, user_ids=ORDER + 100)
    for side, first in (("item", ORDER[0]), ("user", ORDER[0] + 100)):
        table = files.read_table(f"{tmp_path}/a.npz#{side}s", f"{side}s")
        assert table.ids is not None and table.ids[0] == first


def test_the_index_of_pandas_names_the_rows_where_nothing_else_does(tmp_path):
    path = tmp_path / "a.parquet"
    for columns, index, expected in (
        ({"film": ORDER}, ["film"], ORDER),
        ({"item_id": ORDER, "__index_level_0__": ORDER[::-1]}, ["__index_level_0__"], ORDER),
        ({}, [{"kind": "range", "start": 100, "stop": 140, "step": 1}], np.arange(100, 140)),
        ({}, [{"kind": "range", "start": 0, "stop": 40, "step": 1}], None),
    ):
        ids = files.read_table(table_file(path, {"vector": vectors(), **columns}, index), "items").ids
        assert ids is None if expected is None else ids is not None and ids.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"item_id": ORDER, "movieId": ORDER[::-1]}, "which of item_id, movieId names the rows"),
        ({"id": np.arange(40), "item_id": ORDER}, "which of item_id, id names the rows"),
        ({"book_id": TEXT_ORDER, "isbn": [*range(40)]}, "which of book_id, isbn names the rows"),
        ({"shop_id": TEXT_ORDER, "venue_id": [*range(40)]}, "which of shop_id, venue_id names the rows"),
        ({"code": ORDER}, "code holds another whole number for each row"),
        ({"code": TEXT_ORDER}, "code holds another whole number for each row"),
        ({"label": ORDER}, "label holds another whole number for each row"),
    ],
)
def test_no_ids_are_guessed_between_two(columns, reason, tmp_path):
    path = table_file(tmp_path / "a.parquet", {"vector": vectors(), **columns})
    with pytest.raises(ValueError, match=rf"a\.parquet: {reason}.* --item-ids a\.parquet#"):
        files.read_table(path, "items")
    chosen = next(iter(columns))
    table = files.read_table(path, "items", ids=f"{path}#{chosen}")
    assert table.ids is not None and [str(each) for each in table.ids] == [str(each) for each in columns[chosen]]
    assert chosen not in table.schema["ignored"]


def test_what_repeats_names_no_row(tmp_path):
    people = {f"{kind}_name": [f"{kind} {at}" for at in ORDER] for kind in ("first", "last")}
    columns = {"vector": vectors(), "brand_id": ORDER // 2, "item": ["the same"] * 40, "rank": np.arange(40), **people}
    table = files.read_table(table_file(tmp_path / "a.parquet", columns), "items")
    assert table.ids is None
    assert table.read.endswith("from 0; left out: brand_id, item, rank, first_name, last_name")
    columns["name"] = people["last_name"]
    table = files.read_table(table_file(tmp_path / "a.parquet", columns), "items")
    assert table.ids is not None and table.ids.tolist() == people["last_name"]


WIDE = np.random.default_rng(2).standard_normal((40, 12)).astype(np.float32)


@pytest.mark.parametrize("form", ["{}", "dim_{}", "{}_emb", "v2_x{:02d}", "emb{}"])
@pytest.mark.parametrize("start", [0, 1])
def test_dimensions_follow_the_numbers_in_their_names(form, start, tmp_path):
    columns = {form.format(at + start): WIDE[:, at] for at in range(12)}
    mixed = {key: columns[key] for key in sorted(columns)}
    extra = {"price": WIDE[:, 0] * 9, "age": ORDER // 3, "item_id": ORDER, "like": ["x"] * 40}
    table = files.read_table(table_file(tmp_path / "a.parquet", {**extra, **mixed}), "items")
    np.testing.assert_array_equal(in_the_file(table), WIDE)
    first, last = form.format(start), form.format(start + 11)
    assert table.read.split("; ", 1)[1] == (
        f"dimensions: {first} to {last}, 12 numbers of float32; ids: column item_id; left out: price, age, like"
    )


def test_a_dimension_that_holds_whole_numbers_stays_one(tmp_path):
    columns: dict[str, Any] = {"x0": WIDE[:, 0], "x1": ORDER, "x2": WIDE[:, 2]}
    table = files.read_table(table_file(tmp_path / "a.parquet", {"item_id": ORDER, **columns}), "items")
    np.testing.assert_array_equal(in_the_file(table)[:, 1], ORDER)


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        (["x", "y"], r"which of its columns are dimensions is not clear from their names \(x, y\)"),
        (["price", "age"], r"is not clear from their names \(price, age\)"),
        (["d0", "d1", "d3"], "between the columns d1 and d3 some are missing"),
        (["d1", "d01"], "the columns d1 and d01 have the same number"),
        ([*(f"d{at}" for at in range(10)), "dbad", "da"], "beside d0 to d9 stands da, which may be a dimension too"),
        (["d0", "d1", "sales_1", "sales_2"], r"is not clear from their names \(d\.\.\., sales_\.\.\.\)"),
    ],
)
def test_no_dimensions_are_guessed(columns, reason, tmp_path):
    path = table_file(tmp_path / "a.parquet", {key: WIDE[:, at] for at, key in enumerate(columns)})
    with pytest.raises(ValueError, match=rf"a\.parquet: .*{reason}"):
        files.read_table(path, "items")
    chosen = files.read_table(f"{path}#{','.join(columns[::-1])}", "items")
    np.testing.assert_array_equal(chosen.rows, WIDE[:, : len(columns)][:, ::-1])


@pytest.mark.parametrize(("form", "word"), [("emb_{}", "emb_decade"), ("pc{}", "pca"), ("f{}", "fee")])
def test_a_word_of_the_letters_a_to_f_is_no_dimension(form, word, tmp_path):
    columns = {form.format(at): WIDE[:, at] for at in range(12)} | {word: WIDE[:, 0]}
    table = files.read_table(table_file(tmp_path / "a.parquet", columns), "items")
    np.testing.assert_array_equal(in_the_file(table), WIDE)
    assert table.read.endswith(f"left out: {word}")


def test_what_the_names_begin_with_picks_a_family(tmp_path):
    columns = {f"{name}{at}": WIDE[:, at] * sign for name, sign in (("d", 1), ("sales_", -1)) for at in range(4)}
    path = table_file(tmp_path / "a.parquet", columns)
    np.testing.assert_array_equal(files.read_table(f"{path}#sales_", "items").rows, -WIDE[:, :4])


def test_lists_of_other_things_are_no_table(tmp_path):
    columns = {"genres": [["a"]] * 40, "history": [[1, 2]] * 40, "vector": vectors(), "item_id": ORDER}
    table = files.read_table(table_file(tmp_path / "a.parquet", columns), "items")
    np.testing.assert_array_equal(in_the_file(table), ROWS)


@pytest.mark.parametrize("dtype", [np.uint16, np.int16, np.uint8, np.int8])
def test_codes_and_bits_are_no_numbers(dtype, tmp_path):
    """bfloat16 and quantised tables; the first also where another tool made wider numbers of the bits."""
    bits = torch.from_numpy(ROWS).bfloat16().view(torch.int16).numpy().view(np.uint16)
    codes = np.round(40 * ROWS + 128).clip(0, 255).astype(np.float32)
    for array in (bits.astype(dtype), bits.astype(np.int64), bits.astype(np.float32), codes, ROWS.view(np.int32)):
        np.save(tmp_path / "a.npy", array)
        with pytest.raises(ValueError, match=rf"a\.npy\) holds whole numbers of the type {array.dtype}"):
            files.read_table(f"{tmp_path}/a.npy", "items")
    counts = np.random.default_rng(0).poisson(3, (40, 5))
    np.save(tmp_path / "a.npy", counts)
    np.testing.assert_array_equal(files.read_table(f"{tmp_path}/a.npy", "items").rows, counts)


def test_objects_are_named_and_stop_only_who_needs_them(tmp_path):
    texts = np.array(["a", None] * 20, dtype=object)
    np.savez(tmp_path / "a.npz", table=ROWS, ids=texts)
    with pytest.raises(ValueError, match=r"a\.npz: its array ids holds Python objects.*ids\.astype\(str\)"):
        files.read_table(f"{tmp_path}/a.npz", "items")
    np.savez(tmp_path / "a.npz", table=ROWS, titles=texts)
    assert files.read_table(f"{tmp_path}/a.npz", "items").read.endswith("left out: titles")


@pytest.mark.parametrize("at", [0, 3])
def test_ids_within_the_vectors_are_no_dimension(at, tmp_path):
    np.save(tmp_path / "a.npy", np.insert(ROWS, at, ORDER, axis=1))
    with pytest.raises(ValueError, match=rf"a\.npy: column {at} holds another whole number in each row, as ids do"):
        files.read_table(f"{tmp_path}/a.npy", "items")
    np.save(tmp_path / "a.npy", np.insert(ROWS, at, 1.0, axis=1))  # a constant, for a bias
    assert files.read_table(f"{tmp_path}/a.npy", "items").rows.shape == (40, 4)


@pytest.mark.parametrize("ids", [torch.tensor(ORDER).double(), tuple(ORDER.tolist()), TEXT_ORDER])
def test_ids_beside_a_tensor_may_be_floats_or_any_list(ids, tmp_path):
    torch.save({"items": torch.tensor(ROWS), "item_ids": ids, "bias": torch.randn(40)}, tmp_path / "a.pt")
    table = files.read_table(f"{tmp_path}/a.pt", "items")
    assert table.ids is not None and [int(each) for each in table.ids] == ORDER.tolist()


def test_ids_that_are_not_read_are_named(tmp_path):
    """A dictionary from ids to rows, metadata of safetensors, and an index of pandas of two columns."""
    rows = {int(each): at for at, each in enumerate(ORDER)}
    torch.save({"items": torch.tensor(ROWS), "index": rows}, tmp_path / "a.pt")
    with pytest.raises(ValueError, match=r"a\.pt: its dictionary index has an entry for each row, and is not read"):
        files.read_table(f"{tmp_path}/a.pt", "items")
    safe = pytest.importorskip("safetensors.torch")
    safe.save_file({"items": torch.tensor(ROWS)}, tmp_path / "a.safetensors", metadata={"item_ids": str([*rows])})
    with pytest.raises(ValueError, match=r"a\.safetensors: its metadata hold item_ids, which is not read"):
        files.read_table(f"{tmp_path}/a.safetensors", "items")
    columns = {"vector": vectors(), "shop": ORDER // 8, "place": ORDER % 8}
    with pytest.raises(
        ValueError, match=r"the index that pandas kept has 2 columns \(shop, place\), none of them an id"
    ):
        files.read_table(table_file(tmp_path / "a.parquet", columns, ["shop", "place"]), "items")


# ---- folders of parts


def parts_folder(path: Path, columns: dict[str, Any], names: list[str]) -> str:
    """The rows in as many parts as there are names."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path.mkdir()
    table = arrow.table(columns)
    size = -(-len(table) // len(names))
    for part, name in enumerate(names):
        parquet.write_table(table.slice(part * size, size), path / name)
    return str(path)


@pytest.mark.parametrize(
    "form", ["part-{:05d}-c000.snappy.parquet", "part.{}.parquet", "{}.parquet", "items{:012d}.parquet"]
)
def test_a_folder_of_parts_is_one_table(form, tmp_path):
    """As Spark, Dask, Ray and BigQuery name them: the parts stand in the order of their numbers."""
    for name, columns in (("items", {"vector": vectors()}), ("pairs", {"user_id": ORDER % 4, "item_id": ORDER})):
        parts_folder(tmp_path / name, columns, [form.format(part) for part in range(12)])
        (tmp_path / name / "_SUCCESS").touch()
        (tmp_path / name / ".part-00000.crc").write_bytes(b"x")
    table = files.read_table(f"{tmp_path}/items", "items")
    np.testing.assert_array_equal(table.rows, ROWS)
    found = pairs.read_pairs(f"{tmp_path}/pairs", "pairs", people(), table)
    assert len(found.pairs) == 40 and found.read == "read 40 of 40 rows; users: user_id; items: item_id"


def test_a_folder_of_parts_may_be_a_file_of_a_model(tmp_path):
    parts_folder(tmp_path / "items", {"vector": vectors()}, ["a-0.parquet", "a-1.parquet"])
    parts_folder(tmp_path / "old.parquet", {"vector": vectors()}, ["0.parquet"])
    for given in ([str(tmp_path)], [f"{tmp_path}/items"], [f"{tmp_path}/old.parquet"]):
        assert cli(given) == 0
    assert cli([f"{tmp_path}/items", f"{tmp_path}/old.parquet"]) == 0


@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        ("_delta_log/0.json", "it holds _delta_log: some of its parts may be out of date"),
        ("day=2026-11-27/0.parquet", "its column day is in the names of folders, such as day=2026-11-27"),
        ("notes.csv", "it also holds notes.csv"),
        ("inner/0.parquet", "it also holds inner"),
    ],
)
def test_a_folder_in_which_not_all_parts_count_is_refused(extra, reason, tmp_path):
    parts_folder(tmp_path / "a.parquet", {"vector": vectors()}, ["0.parquet"])
    (tmp_path / "a.parquet" / extra).parent.mkdir(exist_ok=True)
    (tmp_path / "a.parquet" / extra).write_text("x")
    with pytest.raises(ValueError, match=rf"a\.parquet: {reason}"):
        files.read_table(f"{tmp_path}/a.parquet", "items")


def test_parts_that_do_not_fit_together_are_refused(tmp_path):
    folder = Path(parts_folder(tmp_path / "a.parquet", {"item_id": ORDER, "vector": vectors()}, ["0.parquet"]))
    table_file(folder / "1.parquet", {"item_id": TEXT_ORDER, "vector": vectors()})
    with pytest.raises(ValueError, match=r"a\.parquet: its parts do not fit together"):
        files.read_table(str(folder), "items")
    folder = Path(parts_folder(tmp_path / "p.parquet", {"user": [0], "item": [1]}, ["0.parquet"]))
    table_file(folder / "1.parquet", {"user": [0], "item": [1], "rating": [0]})
    with pytest.raises(ValueError, match=r"p\.parquet: its parts have different columns"):
        pairs.read_pairs(str(folder), "pairs", people(), people())


# ---- lines of text


def read_text(tmp_path: Path, text: str, name: str = "a.csv", users: Any = None, items: Any = None) -> pairs.Found:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return pairs.read_pairs(f"{tmp_path}/{name}", "pairs", people(users), people(items))


def test_lines_of_a_user_and_all_items(tmp_path):
    found = read_text(tmp_path, "0 1 2 3\n1 0 \n2\n3 3 2\n", "a.txt")
    assert found.pairs.pairs.tolist() == [[0, 1], [0, 2], [0, 3], [1, 0], [3, 2], [3, 3]]
    assert found.read == "read 4 of 4 lines, 6 pairs; users: the first field; items: all other fields"
    with pytest.raises(ValueError, match=r"the item 9, .* in line 2"):
        read_text(tmp_path, "0 1 2 3\n1 0 9 2 2\n", "a.txt")


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        ("0\t1\n\t\n", "a.tsv", "pair 1 has the user '' \\(empty\\)"),
        ("0 1 2 3\n1 0 2 1\n2 3 0 1\n", "a.txt", "each user has one line, with 4 columns"),
        ("0 1 2 3\n0 2\n", "a.txt", "line 2 has 2 columns, the first 4"),
        ("0,3,2,1\n1,2\n", "a.csv", "line 2 has 2 columns, the first 4"),
        ("0\t2\t1\n1\t2\n", "a.tsv", "line 2 has 2 columns, the first 3"),
        ("user items\n0 1 2 3\n1 2\n", "a.txt", "line 2 has 4 columns, the first 2"),
        ("0,1,2\n0,3,5\n", "a.csv", "line 1 is 0, 1, 2: pandas numbers columns without names so"),
        ("0 3 1 2 3\n1 1 0\n2 2 0 3\n", "a.txt", "in every line the second number counts those behind it"),
        ('"user" "item"\n"1" 0 3\n', "a.txt", "line 2 has 3 columns, the first 2"),  # R, with the names of rows
    ],
)
def test_lines_of_several_lengths_or_meanings_are_refused(text, name, reason, tmp_path):
    with pytest.raises(ValueError, match=rf"{name}\)?: {reason}"):
        read_text(tmp_path, text, name)


def test_even_lines_of_items_between_tabs_are_refused(tmp_path):
    """One ratings' file holds at most a scale of ratings in the third column; this one holds 40 items."""
    lines = "".join(f"{at}\t{at}\t{39 - at}\n" for at in range(40))
    (tmp_path / "a.tsv").write_text(lines)
    everybody = table_of(ROWS, "table")
    with pytest.raises(ValueError, match="each user has one line, with 3 columns"):
        pairs.read_pairs(f"{tmp_path}/a.tsv", "pairs", everybody, everybody)
    (tmp_path / "a.tsv").write_text("".join(f"{at}\t{at}\t{at % 5}\t97830076{at}\n" for at in range(40)))
    assert len(pairs.read_pairs(f"{tmp_path}/a.tsv", "pairs", everybody, everybody).pairs) == 40


@pytest.mark.parametrize("artist", ['"Heroes', '12" mix', 'a "b" c', '"Weird Al" Y', "it's"])
def test_a_quote_between_tabs_is_a_sign_like_others(artist, tmp_path):
    lines = [f"{user}\t{item}\t{artist}" for user, item in zip(LEFT, RIGHT, strict=True)]
    found = read_text(tmp_path, "\n".join(["user\titem\tartist", *lines]), "a.tsv")
    assert len(found.pairs) == 4 and found.read == "read 4 of 4 lines; users: user; items: item; not used: artist"


def test_a_quote_between_commas_swallows_no_line(tmp_path):
    for stray in ('"Heroes', '"Heroes\n1,1,x\n3,0,Low"', '"a\n1,1,"b"'):
        with pytest.raises(ValueError, match=r"a\.csv: the quotes of line 3 do not close on it"):
            read_text(tmp_path, f"user,item,artist\n0,1,x\n2,3,{stray}\n1,2,y\n")
    harmless = 'user,item,artist\n0,1,"Weird Al" Y\n2,3,12" mix\n1,2,"a, ""b"""\n'
    assert read_text(tmp_path, harmless).pairs.pairs.tolist() == [[0, 1], [1, 2], [2, 3]]
    review = 'user,item,review\n0,1,"fine,\n\nvery fine, or\nnot"\n2,3,"good"\n'
    found = read_text(tmp_path, review)
    assert found.pairs.pairs.tolist() == [[0, 1], [2, 3]] and found.read.startswith("read 4 of 4 lines, 2 pairs")


def test_quotes_around_fields_between_tabs_are_taken_off_where_the_first_line_has_them(tmp_path):
    assert read_text(tmp_path, '"user"\t"item"\n"1"\t"3"\n', "a.tsv").pairs.pairs.tolist() == [[1, 3]]


WRITTEN_OTHERWISE = ("03", "+3", "3_0", "٣", "３", "3e0", " 3", "3 ", "3\u00a0", "3.", "0x3", "-0")


@pytest.mark.parametrize("written", WRITTEN_OTHERWISE)
def test_another_spelling_is_another_id(written, tmp_path):
    text = f"user,item\n0,1\n2,{written}\n"
    for ids in (None, [0, 1, 2, 3], ["0", "1", "2", "3"]):
        with pytest.raises(ValueError, match=rf"item '?{re.escape(written).replace(chr(160), '.*')}'?, .* in line 3"):
            read_text(tmp_path, text, items=ids)
    found = read_text(tmp_path, text, items=["0", "1", "3", written])
    assert found.pairs.pairs.tolist() == [[0, 1], [2, 3]]


def test_a_space_behind_each_comma_is_no_part_of_an_id(tmp_path):
    assert read_text(tmp_path, "user, item\n0, 1\n2, 3\n").pairs.pairs.tolist() == [[0, 1], [2, 3]]


@pytest.mark.parametrize(("dtype", "first"), [(np.float32, 2**24), (np.float64, 2**53), (np.float16, 2**11)])
def test_floats_that_may_be_their_neighbours_are_no_ids(dtype, first, tmp_path):
    for wrong in (first, -first):
        path = table_file(tmp_path / "p.parquet", {"user": [0, 1], "item": np.array([1, wrong], dtype)})
        with pytest.raises(ValueError, match=rf"p\.parquet: column item: the id in row 1 is .*below {first} in"):
            paired(path)
    path = table_file(tmp_path / "p.parquet", {"user": [0, 1], "item": np.array([1, first - 1], dtype)})
    assert paired(path, None, [0, 1, 2, first - 1]) == [[0, 1], [1, 3]]


def test_a_large_number_with_a_point_is_no_id(tmp_path):
    ids = [2**53 - 1, 2**53, 2**53 + 1, 5]
    assert read_text(tmp_path, f"user,item\n0,{2**53 - 1}.0\n", items=ids).pairs.pairs.tolist() == [[0, 0]]
    for items in (ids, [str(each) for each in ids]):
        with pytest.raises(ValueError, match=f"the item {2**53}.0"):
            read_text(tmp_path, f"user,item\n0,{2**53}.0\n", items=items)


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_hashes_of_64_bits_without_a_sign_are_ids(ending, tmp_path):
    """Neighbours of them are one float: they are never compared as such."""
    ids = np.array([2**63 + 1, 2**63, 2**64 - 1, 5], dtype=np.uint64)
    path = write_columns(tmp_path / f"p.{ending}", {"users": np.arange(4), "items": ids})
    assert paired(path, None, ids) == [[0, 0], [1, 1], [2, 2], [3, 3]]
    for known in (np.array([-(2**63) + 1, -(2**63), -1, 5]), None):  # the same bits with a sign
        with pytest.raises(ValueError, match=f"the item {2**63 + 1}"):
            paired(path, None, known)
    with pytest.raises(ValueError, match="the item -1"):
        pairs.pairs_of((np.array([0]), np.array([-1])), "pairs", people(), people(ids))


def test_a_missing_text_is_not_the_id_none():
    with pytest.raises(ValueError, match="the item x"):
        pairs.pairs_of((np.array([0]), np.array(["x"])), "pairs", people(), people(["None", "a", "b", "c"]))


# ---- what was read


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_ratings_of_0_or_below_are_counted_and_named(ending, tmp_path):
    columns = {"user_id": LEFT, "item_id": RIGHT, "rating": np.array([5.0, 0.0, -1.0, np.nan]), "time": LEFT + 9}
    path = write_columns(tmp_path / f"p.{ending}", columns)
    found = pairs.read_pairs(str(path), "pairs", people(), people())
    count = {"csv": "4 of 4 lines", "parquet": "4 of 4 rows", "npz": "4 pairs"}[ending]
    assert found.read == (
        f"read {count}; users: user_id; items: item_id; times: time; every pair counts as positive, whatever its "
        "rating (0 or below: 2, no number: 1)"
    )
    assert found.pairs.times is not None and found.pairs.times.tolist() == sorted((LEFT + 9).tolist())


def test_a_column_without_a_name_is_called_by_its_place(tmp_path):
    """As pandas writes its index."""
    found = read_text(tmp_path, ",user_id,item_id\n0,2,3\n")
    assert found.pairs.pairs.tolist() == [[2, 3]] and found.read.endswith("not used: column 1")


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("20240501,20240502", 86_400),
        ("20240501235959,20240502000001", 2),
        ("20240501,20241301", 800),  # no dates
        ("2024-05-01 10:00:00 UTC,2024-05-01 11:00:00 UTC", 3_600),
        ("2024-05-02T01:00:00Z,2024-05-02T05:00:00+02:00", 7_200),
    ],
)
@pytest.mark.filterwarnings("error")  # of NumPy's, which would stand above the report
def test_dates_may_be_written_as_numbers_and_name_their_zone(written, seconds, tmp_path):
    first, second = written.split(",")
    found = read_text(tmp_path, f"user_id,item_id,timestamp\n0,2,{first}\n1,3,{second}\n")
    assert found.pairs.times is not None and np.ptp(found.pairs.times) == seconds


@pytest.mark.parametrize("missing", ["0", "-1", "1714557600000"])
def test_times_far_below_the_others_are_refused(missing, tmp_path):
    text = f"user_id,item_id,timestamp\n0,2,1714557600\n1,3,{missing}\n"
    with pytest.raises(ValueError, match=r"1 times are .* all in one unit, or --columns time=- for none"):
        read_text(tmp_path, text)
    (tmp_path / "b.csv").write_text(text)
    unused = pairs.read_pairs(f"{tmp_path}/b.csv", "pairs", people(), people(), Schema(time="-"))
    assert unused.pairs.times is None


def test_of_two_times_the_one_in_numbers_counts_and_one_that_is_none_is_named(tmp_path):
    header = "reviewerID,asin,reviewTime,unixReviewTime\n"
    found = read_text(tmp_path, f'{header}0,2,"01 1, 2015",1420070400\n')
    assert found.pairs.times is not None and found.pairs.times.tolist() == [1420070400]
    found = read_text(tmp_path, "user_id,item_id,timestamp\n0,2,5\n1,3,\n")
    assert "; no times, for timestamp does not hold one in each; not used: timestamp" in found.read


def test_a_header_that_is_taken_for_an_id_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"in line 1 \(if it names the columns: --columns user=NAME item=NAME\)"):
        read_text(tmp_path, "who,what,when\n0,2,5\n")
    with pytest.raises(ValueError, match="user 99, which is none of the table's, in line 2 \\(pairs"):
        read_text(tmp_path, "0,2,5\n99,2,5\n")
    np.save(tmp_path / "items.npy", ROWS)
    ids = tmp_path / "names.txt"
    ids.write_text("\n".join(["item_id", *map(str, range(40))]))
    with pytest.raises(ValueError, match=r"there are 41 ids for 40 rows, the first is item_id; expected .* no header"):
        files.read_table(str(tmp_path / "items.npy"), "items", ids=str(ids))


@pytest.mark.parametrize(
    "times", [["9", "8", "9"], ["2024-05-02", "2024-05-01T10:00:00", "2024-05-03"], ["x", "1", "2"]]
)
@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_a_pair_keeps_its_earliest_time_whatever_the_order_of_the_rows(times, ending, tmp_path):
    """Numbers, dates, and what is neither; a pair that comes again."""
    order = [0, 1, 2]
    for turn in (1, -1):
        rows = [np.array(side)[order[::turn]] for side in ([0, 0, 1], [2, 2, 3], times)]
        columns = dict(zip(("user_id", "item_id", "timestamp"), rows, strict=True))
        path = write_columns(tmp_path / f"p{turn}.{ending}", columns)
        found = pairs.read_pairs(str(path), "pairs", people(), people())
        if times[0] == "x":
            assert found.pairs.times is None and "not used: timestamp" in found.read
        else:
            seconds = (np.datetime64(each, "s").astype(int) if "-" in each else each for each in times[1:])
            first, second = map(float, seconds)
            assert found.pairs.times is not None and found.pairs.times.tolist() == [first, second]
            assert "; times: timestamp" in found.read


def test_the_report_says_what_was_read_as_what(tmp_path, capsys):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "users.npy", rng.normal(size=(40, 3)))
    table_file(tmp_path / "items.parquet", {"asin": ORDER, "price": ROWS[:, 0], "vector": vectors()})
    (tmp_path / "pairs.csv").write_text("user,item,stars\n" + "".join(f"{at},{at},{at % 2}\n" for at in range(40)))
    assert cli([str(tmp_path), "--json", f"{tmp_path}/r.json", "--out", f"{tmp_path}/r.html"]) == 0
    lines = {
        "items": "read 40 of 40 rows; dimensions: vector, 3 numbers of float32; ids: column asin; left out: price",
        "users": "read 40 rows; dimensions: 3 numbers a row; ids: none, so a row has its number, from 0",
        "pairs": "read 40 of 40 lines; users: user; items: item; every pair counts as positive, whatever its stars "
        "(0 or below: 20)",
    }
    said, page = " ".join(capsys.readouterr().out.split()), (tmp_path / "r.html").read_text()
    inputs = json.loads((tmp_path / "r.json").read_text())["inputs"]
    for name, line in lines.items():
        assert f"{name}: {line}." in said and line in page and inputs[name]["read"] == line


def test_a_comparison_says_what_was_read_too(tmp_path, capsys):
    for name in ("old", "new"):
        np.save(tmp_path / f"{name}.npy", ROWS)
    assert cli([f"{tmp_path}/old.npy", f"{tmp_path}/new.npy", "--json", f"{tmp_path}/r.json"]) == 0
    read = json.loads((tmp_path / "r.json").read_text())["read"]
    assert list(read) == ["old items", "new items"] and "old items: read 40 rows" in capsys.readouterr().out


def test_ids_and_counts_are_read_as_written(tmp_path):
    np.save(tmp_path / "a.npy", ROWS)
    names = [f"film\u2028{at}\x0b" for at in range(40)]
    (tmp_path / "ids.txt").write_text("\n".join(names) + "\n", encoding="utf-8")
    table = files.read_table(f"{tmp_path}/a.npy", "items", ids=f"{tmp_path}/ids.txt")
    assert table.ids is not None and table.ids.tolist() == names
    for wrong in ("1_0", "٣", "", "ten"):
        (tmp_path / "counts.csv").write_text(f"1\n{wrong}\n2.5e1\n", encoding="utf-8")
        with pytest.raises(ValueError, match=rf"counts\.csv: it holds no numbers \('{wrong}'\)"):
            files.read_counts(f"{tmp_path}/counts.csv", 3)


# ---- what stands where nothing names it


@pytest.mark.parametrize(
    ("columns", "times", "read"),
    [
        ("user item time rating", True, "times: column 3; every pair counts as positive, whatever its column 4"),
        ("user item rating time", True, "times: column 4; every pair counts as positive, whatever its column 3"),
        ("user item time", True, "times: column 3"),
        ("user item rating", False, "whatever its column 3"),
        ("user item rating place", True, "times: column 4; every pair counts as positive, whatever its column 3"),
        ("user item session", False, "whatever its column 3"),
        ("user item hash", False, "whatever its column 3"),
    ],
)
def test_without_a_header_a_time_is_what_looks_like_one(columns, times, read, tmp_path):
    values = {"user": [0, 1], "item": [2, 3], "rating": [5, 4], "time": [1714557600, 1714557700], "place": [7, 9]}
    values |= {"session": [2_000_000_000, 2_900_000_000], "hash": [400638100000000000, 910000000000000000]}
    rows = zip(*(values[column] for column in columns.split()), strict=True)
    found = read_text(tmp_path, "".join(f"{','.join(map(str, row))}\n" for row in rows))
    assert (found.pairs.times is not None) == times and read in found.read, found.read


def test_a_rating_between_user_and_item_is_refused_without_a_header(tmp_path):
    def read(text: str) -> pairs.Found:
        (tmp_path / "a.csv").write_text(text)
        users, items = (np.random.default_rng(0).normal(size=(rows, 3)) for rows in (40, 60))
        return pairs.read_pairs(str(tmp_path / "a.csv"), "pairs", table_of(users, "users"), table_of(items, "items"))

    lines = [f"{at % 40},{1 + at % 5},{at * 7 % 40}\n" for at in range(200)]
    with pytest.raises(ValueError, match=r"a\.csv: column 2 holds 5 values, as ratings do, and column 3 ids of items"):
        read("".join(lines))
    assert read("".join(["user,rating,item\n", *lines])).schema["item"] == "item"
    in_order = [f"{at % 40},{at // 400},{at * 7 % 40}\n" for at in range(16_000)]  # of items: the first lines hold few
    assert read("".join(in_order)).schema["item"] == "column 2"


def test_pandas_names_of_two_columns_are_no_pair_of_both_files(tmp_path, capsys):
    """A file of pairs may begin with 0,1: it is said. Training and held-out pairs cannot share it by chance."""
    for name, first in (("users", ROWS), ("items", ROWS)):
        np.save(tmp_path / f"{name}.npy", first)
    for name, pair in (("pairs", "4,5"), ("held_out", "6,7")):
        (tmp_path / f"{name}.csv").write_text(f"0,1\n{pair}\n")
    assert cli([str(tmp_path)]) == 2
    assert "pairs and held-out both begin with the line 0,1" in capsys.readouterr().err
    assert "line 1 was read as the pair 0, 1" in read_text(tmp_path, "0,1\n2,3\n").read
    for name in ("pairs", "held_out"):  # who buys again
        (tmp_path / f"{name}.csv").write_text("0,1\n4,5\n6,7\n")
    cli([str(tmp_path)])
    assert "both begin with the line 0,1" not in capsys.readouterr().err


def test_a_first_dimension_without_a_number_is_not_left_out(tmp_path):
    names = ["emb", *(f"emb.{at}" for at in range(1, 3))]
    path = table_file(tmp_path / "a.parquet", {key: ROWS[:, at] for at, key in enumerate(names)})
    with pytest.raises(ValueError, match=r"a\.parquet: emb stands beside emb\.1, emb\.2, \.\.\., and may be the first"):
        files.read_table(path, "items")
    np.testing.assert_array_equal(files.read_table(f"{path}#emb,emb.1,emb.2", "items").rows, ROWS)


def test_ids_inside_vectors_are_refused_in_every_format(tmp_path):
    inside = np.column_stack([np.random.default_rng(1).permutation(40), ROWS])
    table_file(tmp_path / "a.parquet", {f"{at}": inside[:, at] for at in range(4)})
    np.savetxt(tmp_path / "a.txt", ROWS)
    lines = [f"{at:05} {' '.join(map(str, row))}" for at, row in enumerate(ROWS)]
    (tmp_path / "b.txt").write_text("\n".join(lines))
    assert files.read_table(str(tmp_path / "b.txt"), "items").schema["id"] == "the first word of each line"
    with pytest.raises(ValueError, match=r"a\.parquet: column 0 holds another whole number in each row, as ids do"):
        files.read_table(str(tmp_path / "a.parquet"), "items")
    with pytest.raises(ValueError, match=r"a\.txt: every line begins with a number such as .*, which is no id"):
        files.read_table(str(tmp_path / "a.txt"), "items")


def test_records_and_single_numbers_are_refused_by_name(tmp_path):
    records = np.zeros(40, dtype=[("item_id", "i8"), ("emb", "f4", (3,))])
    np.save(tmp_path / "a.npy", records)
    np.save(tmp_path / "b.npy", np.float32(3))
    np.savez(tmp_path / "c.npz", emb=ROWS, meta=records)
    for name, what in (("a.npy", "records of item_id, emb"), ("b.npy", "a single number")):
        with pytest.raises(ValueError, match=rf"{name}: it holds {what}; expected a plain array"):
            files.read_table(str(tmp_path / name), "items")
    np.testing.assert_array_equal(files.read_table(str(tmp_path / "c.npz"), "items").rows, ROWS)


@pytest.mark.filterwarnings("error")
def test_a_table_in_half_precision_is_read_without_a_warning():
    np.testing.assert_array_equal(table_of(ROWS.astype(np.float16), "items").rows, ROWS.astype(np.float16))


def test_an_id_that_no_row_has_names_the_columns_that_were_left_out(tmp_path):
    path = table_file(tmp_path / "a.parquet", {"ean": [f"k{at}" for at in range(40)], "emb": [*map(list, ROWS)]})
    (tmp_path / "a.csv").write_text("user_id,item_id\n0,k7\n")
    with pytest.raises(ValueError, match=r"the ids of the rows \(ean was left out: --item-ids FILE#COLUMN"):
        pairs.read_pairs(str(tmp_path / "a.csv"), "pairs", people(), files.read_table(path, "items"))
