"""What the columns of tables and of pairs are: one list of names for both, inferred where it is not declared.

    Schema(user="uid", item="sku", time="when", ignored=("price",))
    --columns user=uid item=sku time=when ignored=price

id: of a table's rows, where it is not called as users or items are in the pairs; user, item: of the pairs, and of the
rows of their own table, where it has such a column; time, rating: of the pairs; dimensions: of a table in columns, as
after a # (a column of lists, what names begin with, or names with commas); ignored: columns that are nothing, whatever
their names. NONE instead of a name says that there is no such column. What is not declared is inferred, as
`course_lib.audit.columns` says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from course_lib.audit import columns

NONE = "-"


@dataclass(frozen=True)
class Schema:
    """The declared names; "" where one is inferred."""

    id: str = ""
    user: str = ""
    item: str = ""
    time: str = ""
    rating: str = ""
    dimensions: str = ""
    ignored: tuple[str, ...] = ()

    def kept(self, names: Iterable[str]) -> list[str]:
        """The names that are not ignored."""
        return [name for name in names if name not in self.ignored]

    def of_rows(self, side: str, names: Iterable[str]) -> str:
        """Which of the names is declared to name the rows of a table of "user" or "item"; "" for none, or NONE."""
        own = {"user": self.user, "item": self.item}.get(side, "")
        return NONE if self.id == NONE else next((each for each in (self.id, own) if each and each in [*names]), "")

    def is_time(self, name: str) -> bool:
        """Whether a column tells when a pair was made."""
        return name == self.time if self.time else name not in self.ignored and columns.is_time(name)

    def is_rating(self, name: str) -> bool:
        """Whether a column tells how much a user liked an item."""
        return name == self.rating if self.rating else name not in self.ignored and columns.is_rating(name)


INFERRED = Schema()


def declared(texts: Sequence[str]) -> Schema:
    """The schema of --columns NAME=COLUMN ... Raises ValueError for another name, and for one that comes twice."""
    known = [field.name for field in fields(Schema)]
    found: dict[str, str] = {}
    for text in texts:
        name, equals, column = text.partition("=")
        if name not in known or not equals or not column or name in found:
            what = "comes twice" if name in found else f"is no NAME=COLUMN with one of {', '.join(known)}"
            raise ValueError(f"--columns: {text} {what}; expected such as user=uid item=sku ignored=price,age")
        found[name] = column
    ignored = tuple(name.strip() for name in found.pop("ignored", "").split(",") if name.strip())
    for column in {*found.values()} - {NONE}:
        twice = [name for name in found if found[name] == column] + ["ignored"] * (column in ignored)
        if len(twice) > 1 and {*twice} != {"id", "user"} and {*twice} != {"id", "item"}:
            raise ValueError(f"--columns: {column} is both {' and '.join(twice)}; expected a column for each")
    return Schema(**found, ignored=ignored)


def refuse_unknown(schema: Schema, taken: Iterable[Mapping[str, Any]]) -> None:
    """Raises ValueError for a declared column that none of the files has.

    taken: which column is what in each file that was read (`Table.schema`, `Found.schema`).
    """
    seen: set[str] = set()
    for one in taken:
        for column in one.values():
            seen |= {column.removeprefix("column ")} if isinstance(column, str) else {*(column or ())}
    asked = [(name, getattr(schema, name)) for name in ("id", "user", "item", "time", "rating")]
    asked += [("ignored", name) for name in schema.ignored]
    for name, column in asked:
        if column not in {"", NONE, *seen}:
            known = ", ".join(sorted(seen)) or "no others"
            raise ValueError(f"--columns: {name}={column}: none of the files has it; expected one of {known}")
