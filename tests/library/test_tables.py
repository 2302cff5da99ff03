"""Pairs from Parquet: numbers that depend on the ids alone, and errors that name the place."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from course_lib.interactions import Interactions
from course_lib.tables import _without_nulls, read_pairs

WORDS = np.array(["zoë", "ann", "émile", "b", "日本", "", "ann2"])  # an empty string is an id too


def write(path: Path, *, group: int = 50, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path, row_group_size=group)
    return path


def log(rng: np.random.Generator, rows: int = 300) -> dict[str, Any]:
    return {
        "who": WORDS[rng.integers(len(WORDS), size=rows)],
        "what": rng.integers(-5, 40, size=rows) * 1_000_003,
        "stars": rng.integers(1, 6, size=rows).astype(np.float32),
    }


def expected(columns: dict[str, Any], keep: str) -> Interactions:
    names, users = np.unique(columns["who"], return_inverse=True)
    ids, items = np.unique(columns["what"], return_inverse=True)
    sizes = {"n_users": len(names), "n_items": len(ids)}
    return Interactions.merged(users, items, ratings=columns["stars"], keep=keep, **sizes)


@pytest.mark.parametrize("keep", ["first", "last", "highest"])
@pytest.mark.parametrize("chunk", [7, 60, 1000])
def test_pairs_are_those_of_numpys_unique(tmp_path: Path, keep: str, chunk: int) -> None:
    columns = log(np.random.default_rng(0))
    path = write(tmp_path / "log.parquet", **columns)
    found = read_pairs(path, user="who", item="what", rating="stars", keep=keep, chunk=chunk, name="log")
    assert found == expected(columns, keep) and found.name == "log"
    assert found.user_names is not None and found.user_names.tolist() == sorted(WORDS.tolist())
    assert found.item_names is not None and found.item_names.tolist() == np.unique(columns["what"]).tolist()


def test_numbers_depend_on_no_order_of_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    first, second = (write(tmp_path / f"{at}.parquet", group=7, **log(rng)) for at in range(2))
    orders = ([first, second], [second, first])
    there, back = (read_pairs(files, user="who", item="what", keep="first") for files in orders)
    assert there == back and there.user_names is not None and back.user_names is not None
    assert (there.user_names == back.user_names).all()


def test_dictionaries_and_timestamps(tmp_path: Path) -> None:
    who = pa.DictionaryArray.from_arrays(pa.array([2, 0, 2], pa.int8()), ["b", "nobody has it", "a"])
    when = pa.array(np.array(["2020-01-01T00:00:01.9", "1970-01-01", "1969-12-31T23:59:59"], "datetime64[ms]"))
    path = write(tmp_path / "x.parquet", who=who, what=pa.array(["p", "p", "q"], pa.large_string()), when=when)
    found = read_pairs(path, user="who", item="what", time="when", keep="first")
    assert found.user_names is not None and found.user_names.tolist() == ["a", "b"]
    assert found.times is not None and found.times.tolist() == [1_577_836_801, -1, 0]  # (a, p), (a, q), (b, p)


def test_an_error_names_file_row_group_and_column(tmp_path: Path) -> None:
    columns = {key: list(values) for key, values in log(np.random.default_rng(2)).items()}
    columns["what"][120] = None
    with pytest.raises(ValueError, match=r"gap\.parquet, row group 2, column 'what': 1 values are missing"):
        read_pairs(write(tmp_path / "gap.parquet", **columns), user="who", item="what", keep="first")
    columns = log(np.random.default_rng(3))
    columns["stars"][299] = np.nan
    with pytest.raises(ValueError, match=r"nan\.parquet, row group 5, column 'stars': it holds nan; expected finite"):
        read_pairs(write(tmp_path / "nan.parquet", **columns), user="who", item="what", rating="stars", keep="first")


def test_a_dictionary_that_holds_a_null_is_refused() -> None:
    values = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int8()), pa.array(["a", None]))
    with pytest.raises(ValueError, match=r"x\.parquet, row group 3, column 'who': 1 values are missing"):
        _without_nulls(values, Path("x.parquet"), 3, "who")


def test_a_broken_page_is_found(tmp_path: Path) -> None:
    path = write(tmp_path / "broken.parquet", **log(np.random.default_rng(4)))
    at = pq.ParquetFile(path).metadata.row_group(1).column(1).data_page_offset
    content = bytearray(path.read_bytes())
    content[at : at + 40] = b"\xff" * 40
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"broken\.parquet, row group 1, column 'what': pyarrow cannot read it"):
        read_pairs(path, user="who", item="what", keep="first")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"user": "whom"}, r"no column 'whom'; expected one of who, what, stars, more"),
        ({"item": "stars"}, r"column 'stars': it holds float; expected strings or integers"),
        ({"user": "what", "item": "stars", "rating": "who"}, r"column 'stars': it holds float; expected strings"),
        ({"user": "what", "item": "more", "rating": "who"}, r"column 'who': it holds string; expected numbers or time"),
        ({"item": "who"}, r"are the columns \['who', 'who'\]; expected a column for each"),
        ({"chunk": 0}, r"chunk is 0"),
    ],
)
def test_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    columns = log(np.random.default_rng(5))
    path = write(tmp_path / "log.parquet", **columns, more=columns["what"])
    with pytest.raises(ValueError, match=message):
        read_pairs(path, **{"user": "who", "item": "what", "keep": "first"} | change)


@pytest.mark.parametrize("keep", ["any", "highest"])
def test_what_cannot_be_merged_is_refused_before_a_file_is_read(tmp_path: Path, keep: str) -> None:
    with pytest.raises(ValueError, match="keep"):
        read_pairs(tmp_path / "not there.parquet", user="who", item="what", keep=keep)


def test_timestamps_of_all_units_fit_together_and_numbers_do_not(tmp_path: Path) -> None:
    """The same second as timestamp[ms], as timestamp[us] and as a number of milliseconds."""
    second = np.array(["2020-01-01T00:00:01"], "datetime64[ms]")
    moments = (second, second.astype("datetime64[us]"), second.astype(np.int64))
    files = [write(tmp_path / f"{at}.parquet", who=["a"], what=[at], when=when) for at, when in enumerate(moments)]
    found = read_pairs(files[:2], user="who", item="what", time="when", keep="first")
    assert found.times is not None and found.times.tolist() == [1_577_836_801] * 2
    for order, held, first in ((files, "int64", "timestamps"), (files[::-1], r"timestamp\[us\]", "numbers")):
        with pytest.raises(ValueError, match=f"column 'when': it holds {held}; expected {first}, as in the first file"):
            read_pairs(order, user="who", item="what", time="when", keep="first")


def test_without_pyarrow_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"read_pairs needs pyarrow.*pip install '\.\[tables\]'"):
        read_pairs(tmp_path / "log.parquet", user="who", item="what", keep="first")


def test_no_table_and_no_row(tmp_path: Path) -> None:
    (tmp_path / "text.parquet").write_text("user,item\n1,2\n")
    with pytest.raises(ValueError, match=r"text\.parquet: pyarrow cannot read it"):
        read_pairs(tmp_path / "text.parquet", user="user", item="item", keep="first")
    empty = write(tmp_path / "empty.parquet", who=pa.array([], pa.string()), what=pa.array([], pa.int64()))
    with pytest.raises(ValueError, match=r"at least one row"):
        read_pairs(empty, user="who", item="what", keep="first")
    mixed = write(tmp_path / "mixed.parquet", who=[1, 2], what=[1, 2])
    words = write(tmp_path / "words.parquet", who=["a", "b"], what=[1, 2])
    with pytest.raises(ValueError, match=r"words\.parquet, column 'who': it holds string; expected int64"):
        read_pairs([mixed, words], user="who", item="what", keep="first")
