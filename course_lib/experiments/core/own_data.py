"""Data of one's own: a CSV, TSV or Parquet file, or RecBole's .inter, as `Interactions` that experiments can split.

    read(Source(Path("my.csv"), user="who", item="what", time="when", min_rating=4, core=5, split="time"))

An experiment draws its test pairs by `split_random`. A set that is to be split by time or by each user's last pair
answers that call in its own way, so that no experiment has to know.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from tqdm.auto import tqdm

from course_lib import checking
from course_lib.interactions import Interactions

ENDINGS = (".csv", ".tsv", ".inter", ".item", ".parquet")
SEPARATORS = ",;\t|"
NAMES = {"user": "user_id", "item": "item_id", "time": "timestamp", "rating": "rating"}  # RecBole's
UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9, "d": 1 / 86_400}
LATEST = 4e9  # seconds since 1970: the year 2096
FIRST = 1e8  # and 1973
LEAST = 50  # pairs


def _flag(default: Any = None, words: str = "", **how: Any) -> Any:
    """A field that `experiments run` takes as a flag."""
    return field(default=default, metadata={"help": words, **how})


@dataclass(frozen=True)
class Source:
    """A file and how it is read; each field but the first is a flag of `experiments run`.

    user, item, time, rating: None for `NAMES` where the file has them; core: as `Interactions.k_core`; items: its
    columns are the id, and `title` and `genres` (several with "|" between) where they are known.
    """

    path: Path
    user: str | None = _flag(None, "its column of users (default user_id)", metavar="COLUMN")
    item: str | None = _flag(None, "its column of items (default item_id)", metavar="COLUMN")
    time: str | None = _flag(None, "its column of times (default timestamp)", metavar="COLUMN")
    rating: str | None = _flag(None, "its column of ratings (default rating)", metavar="COLUMN")
    encoding: str = _flag("utf-8", "of a text, such as cp1252 (default utf-8)")
    time_unit: str = _flag("s", "of times that are numbers", choices=tuple(UNITS))
    min_rating: float | None = _flag(None, "a pair counts from this rating on", type=float)
    core: int | None = _flag(None, "only users and items with so many pairs, among each other", type=int)
    split: str = _flag("random", "time: the latest; last: of each user", choices=("random", "time", "last"))
    items: Path | None = field(default=None, metadata={"help": "a row for each item", "type": Path, "metavar": "FILE"})

    @property
    def name(self) -> str:
        """What the set is called in a table: the name of its file, and how it is split."""
        return self.path.stem + {"time": " in time", "last": " leave last"}.get(self.split, "")

    @cached_property
    def recipe(self) -> dict[str, Any]:
        """What provenance keeps: the file's name and hash, and all that was asked for."""
        said = {key: value for key, value in asdict(self).items() if value not in (None, "utf-8")}
        said |= {"path": self.path.name, "sha256": hashlib.sha256(self.path.read_bytes()).hexdigest()}
        if self.items is not None:
            said |= {"items": self.items.name, "items sha256": hashlib.sha256(self.items.read_bytes()).hexdigest()}
        return said


class ByTime(Interactions):
    """Pairs whose latest ones are split off wherever a random split is asked for."""

    def split_random(self, fraction: float, rng: Generator) -> tuple[Interactions, Interactions]:
        """`split_by_time`; the generator is not used."""
        return self.split_by_time(fraction)


class LeaveLast(Interactions):
    """Pairs of which the last of each user is split off, or the last two where a fifth is asked for (P1's 8:1:1)."""

    def split_random(self, fraction: float, rng: Generator) -> tuple[Interactions, Interactions]:
        """`split_leave_last`; the generator is not used."""
        return self.split_leave_last(2 if 0.75 < fraction < 0.85 else 1)


KINDS: Mapping[str, type[Interactions]] = {"random": Interactions, "time": ByTime, "last": LeaveLast}


def read(source: Source) -> Interactions:
    """The pairs of a file, filtered, with the ids of the file as names. ValueError says what is wrong with it."""
    checking.choice(source.split, "--split", tuple(KINDS))
    checking.choice(source.time_unit, "--time-unit", tuple(UNITS))
    columns = _columns(source)
    table = _table(source, columns)
    if table.empty:
        raise ValueError(f"--data: {source.path.name} has no row below its header; expected at least {LEAST} pairs")
    ids = [_ids(table, columns[side], source.path) for side in ("user", "item")]
    numbers = {side: _numbers(table, columns[side], side, source) for side in ("time", "rating") if side in columns}
    if source.split != "random" and "time" not in numbers:
        raise ValueError(
            f"--split {source.split}: {source.path.name} has no times; expected --time COLUMN, one of "
            f"{', '.join(map(str, table.columns))}, or --split random"
        )
    if source.min_rating is not None and "rating" not in numbers:
        raise ValueError(f"--min-rating: {source.path.name} has no ratings; expected --rating COLUMN, or no threshold")
    kept = np.ones(len(table), dtype=bool)
    if source.min_rating is not None:
        kept = numbers["rating"] >= source.min_rating
        if not kept.any():
            most = numbers["rating"].max()
            raise ValueError(
                f"--min-rating is {source.min_rating:g}; expected at most {most:g}, the highest of the file"
            )
    (users, user_names), (items, item_names) = (np.unique(one[kept], return_inverse=True)[::-1] for one in ids)
    order = np.argsort(numbers["time"][kept], kind="stable") if "time" in numbers else np.arange(len(users))
    if source.split != "random" and np.ptp(numbers["time"][kept]) == 0:
        raise ValueError(f"--split {source.split}: all times of {source.path.name} are equal; expected --split random")
    data = Interactions.merged(
        users[order],
        items[order],
        n_users=len(user_names),
        n_items=len(item_names),
        keep="first",
        name=source.name,
        user_table={"id": user_names, "name": user_names},
        item_table=_about(item_names, source),
        **{f"{side}s": values[kept][order] for side, values in numbers.items()},
    )
    if repeated := int(kept.sum()) - len(data):
        tqdm.write(f"{source.path.name}: {repeated:,} of {int(kept.sum()):,} rows repeat a pair; the first one counts")
    return _as_split(_enough(data, source), source.split)


def _as_split(data: Interactions, split: str) -> Interactions:
    kind = KINDS[split]
    return data if kind is Interactions else kind(**{one.name: getattr(data, one.name) for one in fields(data)})


def _enough(data: Interactions, source: Source) -> Interactions:
    cored = data if source.core is None else data.k_core(checking.whole(source.core, "--core"))
    if len(cored) < LEAST:
        of = "" if source.core is None else f" with --core {source.core} (of {len(data):,} pairs)"
        raise ValueError(f"{source.path.name} has {len(cored):,} pairs{of}; expected at least {LEAST}")
    cored = cored.compact()
    if min(cored.shape) < 2:
        raise ValueError(
            f"{source.path.name} has {cored.n_users} users and {cored.n_items} items; expected two of each"
        )
    if (everything := cored.row_counts == cored.n_items).any():
        name = cored.user_table["name"][int(everything.argmax())]
        raise ValueError(
            f"{source.path.name}: user {str(name)!r} has all {cored.n_items} items; expected one that is left to find"
        )
    return cored


def _columns(source: Source) -> dict[str, str]:
    """Which column holds what: those named by flags, else those of `NAMES` that the file has."""
    if not source.path.is_file():
        raise checking.refuse(source.path.name, "--data", f"a file that exists in {source.path.parent.resolve()}")
    there, found = [*_frame(source.path, source.encoding, nrows=0)], {}
    for side, usual in NAMES.items():
        wanted = getattr(source, side) or usual
        if f"{wanted}.1" in there:  # as pandas calls the second of them
            raise ValueError(f"--{side}: {source.path.name} has two columns {wanted!r}; expected a name for each")
        if wanted in there:
            found[side] = wanted
        elif getattr(source, side) or side in ("user", "item"):
            raise ValueError(
                f"--{side}: {source.path.name} has no column {wanted!r}; expected one of {', '.join(there)}"
            )
    if len(set(found.values())) < len(found):
        raise ValueError(f"--user, --item, --time, --rating are {list(found.values())}; expected a column for each")
    return found


def _frame(path: Path, encoding: str, **how: Any) -> pd.DataFrame:
    """A file as pandas reads it, without the types in RecBole's heads.

    Between semicolons numbers have a decimal comma, as spreadsheets write them.
    """
    if path.suffix.lower() not in ENDINGS:
        raise checking.refuse(path.name, "--data", f"a name that ends in {', '.join(ENDINGS)}")
    texts = path.suffix.lower() != ".parquet"
    try:
        if texts:
            with path.open(encoding=encoding) as file:
                between = max(SEPARATORS, key=file.readline().count)
            how |= {"sep": between, "decimal": "," if between == ";" else ".", "encoding": encoding}
        table = pd.read_csv(path, **how) if texts else pd.read_parquet(path)
    except LookupError:
        raise checking.refuse(encoding, "--encoding", "one that Python knows, such as utf-8 or cp1252") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name} is no {encoding} ({error}); expected --encoding, such as cp1252") from None
    except (ValueError, OSError) as error:  # those of pandas and of pyarrow are of these kinds
        expected = "a table with a header" if texts else "Parquet"
        raise ValueError(f"{path.name}: pandas cannot read it ({error}); expected {expected}") from None
    if texts and len(table) and not isinstance(table.index, pd.RangeIndex):  # pandas takes what is too much as names
        raise ValueError(f"{path.name}: its lines have more columns than its header; expected a name for each column")
    mark = ":" if path.suffix.lower() in (".inter", ".item") else "\0"
    return table.rename(columns=lambda name: str(name).strip().partition(mark)[0])


def _table(source: Source, columns: Mapping[str, str]) -> pd.DataFrame:
    """The file with ids as texts: 007 stays 007. Rows of separators alone, as spreadsheets leave them, are no rows."""
    heads = [*_frame(source.path, source.encoding, nrows=0)]
    ids = {heads.index(columns[side]): str for side in ("user", "item")}
    how: dict[str, Any] = {"dtype": ids, "keep_default_na": False, "na_values": [""]}  # somebody may be called NA
    return _frame(source.path, source.encoding, **how).reset_index(drop=True).dropna(how="all")


def _line(wrong: pd.Series[bool]) -> int:
    """The line of a file in which the first wrong value stands; the header is line 1."""
    return int(wrong.idxmax()) + 2


def _ids(table: pd.DataFrame, column: str, path: Path) -> Any:
    values, where = table[column], f"{path.name}, column {column!r}"
    if (missing := values.isna()).any():
        found = f"{missing.sum()} ids are missing, the first in line {_line(missing)}"
        raise ValueError(f"{where}: {found}; expected none")
    if pd.api.types.is_float_dtype(values):  # of a Parquet file, whose column once had a gap
        if (odd := (values != values.round()) | (values.abs() >= 2**53)).any():
            raise ValueError(f"{where}: {values[odd].iloc[0]!r} is no id; expected whole numbers below 2^53, or texts")
        values = values.astype(np.int64)
    if (several := values.map(lambda one: isinstance(one, list | tuple | dict | np.ndarray))).any():
        raise ValueError(f"{where}: line {_line(several)} holds several values; expected a row for each pair")
    texts = values.astype(str).str.strip()
    if (wrong := texts.eq("") | texts.str.contains("\0", regex=False)).any():
        raise ValueError(f"{where}: line {_line(wrong)} holds {values[wrong].iloc[0]!r}; expected an id")
    return texts.to_numpy(dtype=str)


def _numbers(table: pd.DataFrame, column: str, side: str, source: Source) -> Any:
    """A column of times (in seconds) or of ratings."""
    values = table[column]
    where = f"{source.path.name}, column {column!r}"
    numeric = pd.api.types.is_numeric_dtype(values) or (
        not pd.api.types.is_datetime64_any_dtype(values) and pd.to_numeric(values, errors="coerce").notna().mean() > 0.5
    )
    if side == "time" and not numeric:
        dates = _dates(values, where)
        if dates.isna().any():
            raise ValueError(f"{where}: line {_line(dates.isna())} has no time; expected one in each")
        try:
            return (dates - pd.Timestamp(0, tz="UTC")).dt.total_seconds().to_numpy(dtype=np.float64)
        except (pd.errors.OutOfBoundsDatetime, pd.errors.OutOfBoundsTimedelta, OverflowError) as error:
            raise ValueError(f"{where}: {error}; expected dates from 1678 to 2261") from None
    found = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64)
    if (wrong := pd.Series(~np.isfinite(found), values.index)).any():
        text = str(values[wrong].iloc[0])
        expected = "a decimal point, or semicolons between the columns" if "," in text else "a finite number"
        raise ValueError(f"{where}: line {_line(wrong)} holds {text!r}; expected {expected}")
    if side == "time":
        low, high = found.min(), found.max()
        if low >= 19700101 and high <= 21001231 and ((found % 100 >= 1) & (found % 100 <= 31)).all():
            raise ValueError(f"{where}: {low:.0f} seems to be a date; expected dates with signs, such as 2026-12-31")
        found = found / UNITS[source.time_unit]
        few = found < found.max() / 100
        if found.max() > FIRST and few.any() and (few | (found > found.max() / 3)).all():
            line = _line(pd.Series(few, values.index))
            raise ValueError(
                f"{where}: line {line} holds {values[few].iloc[0]}, far below others; expected times in one unit, and "
                "no 0 or -1 where a time is not known"
            )
        reached = f"{found.max():.4g} seconds since 1970 are in the year {1970 + found.max() / 3.156e7:.0f}"
        if source.time_unit in ("ms", "us", "ns") and found.max() < FIRST:
            raise ValueError(f"{where}: {reached}; expected another --time-unit, such as s")
        if found.max() > LATEST:
            raise ValueError(f"{where}: {reached}; expected --time-unit ms, us or ns")
    return found


def _dates(values: pd.Series[Any], where: str) -> pd.Series[Any]:
    """Dates by ISO 8601, else all in one format, in which a day or a month comes first if the others rule that out."""
    try:
        return pd.to_datetime(values, utc=True, format="ISO8601")
    except (ValueError, TypeError):
        found, read = [], pd.to_datetime(values, utc=True, format="ISO8601", errors="coerce")
    if read.notna().mean() > 0.5:
        odd = read.isna() & values.notna()
        raise ValueError(f"{where}: line {_line(odd)} holds {values[odd].iloc[0]!r}; expected a date in each")
    for day_first in (False, True):
        with warnings.catch_warnings(), suppress(ValueError, TypeError):
            warnings.simplefilter("ignore")  # pandas tells that a format rules out what was asked for
            found.append(pd.to_datetime(values, utc=True, dayfirst=day_first))
    if not found:
        raise ValueError(f"{where}: {values.iloc[0]!r} and others; expected seconds since 1970 or dates in one format")
    if not found[0].equals(found[-1]):
        two = pd.concat(found, axis=1)[found[0].notna() & (found[0] != found[-1])].iloc[0]
        days = " or ".join(f"{one:%Y-%m-%d}" for one in two)
        raise ValueError(f"{where}: {values[two.name]!r} may be {days}; expected dates such as 2026-12-31")
    return found[0]


def _about(names: Any, source: Source) -> dict[str, Any]:
    """The columns of the items: their ids, and titles and genres where a file has them."""
    found: dict[str, Any] = {"id": names}
    if source.items is None:
        return found
    if not source.items.is_file():
        raise checking.refuse(source.items.name, "--items", f"a file that exists in {source.items.parent.resolve()}")
    there = [*_frame(source.items, source.encoding, nrows=0)]
    key = source.item if source.item in there else NAMES["item"]
    if key not in there:
        raise ValueError(f"--items: {source.items.name} has no column {key!r}; expected one of {', '.join(there)}")
    table = _frame(source.items, source.encoding, dtype={there.index(key): str}).astype({key: str})  # 007 stays 007
    table = table.drop_duplicates(key).set_index(key).reindex(names)
    for column in {"title", "genres"} & {*table}:
        found[column] = table[column].fillna("").astype(str).to_numpy(dtype=str)
    return found
