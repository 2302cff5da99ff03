"""Which of a student's files counts: the newest one with work in it. Missing, broken or untouched ones replace none.

Where the newest has the same answers as an earlier one, the earliest of these counts, with its time: saving once more,
or laying code out anew, is no later work.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .ledger import Receipt

ASK = "ask the student for the right .ipynb file, saved once more in Jupyter, and collect again"


@dataclass(frozen=True)
class Content:
    """What is in a file, seen as one assignment: whether there is work in it, or why it cannot be read."""

    worked_on: bool
    problem: str | None = None
    answers: str = ""
    """A checksum of all that marks are given for: the same in two files, the same marks."""
    receipt: str = ""
    """What `hand_in` prints for this work."""


@dataclass(frozen=True)
class Standing:
    """Where a student stands with an assignment."""

    student: str
    counts: Receipt | None
    """The file that is graded; None where no file can be."""
    notes: tuple[str, ...] = ()
    """What a person should look at, each with what to do."""
    again: tuple[Receipt, ...] = ()
    """Later files with the same answers as the one that counts."""
    before: Receipt | None = None
    """The newest file that came before the one that counts, with other answers."""


Look = Callable[[str], Content]
"""A file's checksum -> what is in it."""


def standings(receipts: Iterable[Receipt], assignment: str, look: Look) -> dict[str, Standing]:
    """Every student who handed anything in for an assignment, sorted by name."""
    files: dict[str, list[Receipt]] = defaultdict(list)
    for receipt in receipts:
        if receipt.student and receipt.assignment == assignment and not receipt.withdrawn:
            files[receipt.student].append(receipt)
    return {student: _standing(student, files[student], look) for student in sorted(files)}


def in_order(receipts: list[Receipt]) -> list[Receipt]:
    """From the oldest to the newest: by the platform's stamps where all have one, else as they were collected.

    Files that came together are in the order of their dates.
    """
    if all(receipt.stamped or receipt.problem for receipt in receipts):
        return sorted(receipts, key=lambda receipt: (receipt.handed_in, receipt.id))
    return sorted(receipts, key=lambda receipt: (receipt.collection, receipt.handed_in, receipt.id))


def _standing(student: str, receipts: list[Receipt], look: Look) -> Standing:
    later: list[str] = []
    untouched: Receipt | None = None
    newest_first = in_order(receipts)[::-1]
    for place, receipt in enumerate(newest_first):
        content = _content(receipt, look)
        if content.worked_on:
            older = [one for one in newest_first[place + 1 :] if _content(one, look).worked_on]
            same = [receipt, *(one for one in older if _content(one, look).answers == content.answers)]
            others = [one for one in older if one not in same]
            counts = same.pop()
            before = next((one for one in others if one.handed_in < counts.handed_in), None)
            return Standing(student, counts, (*later, *_together(receipt, others)), tuple(same), before)
        if content.problem:
            later.append(f"{shown(receipt)} does not count: {content.problem}; {receipt.advice or ASK}")
        elif untouched is None:
            untouched = receipt
            later.append(f"{shown(receipt)}: nothing is answered in it; {ASK}")
    return Standing(student, untouched, tuple(later))


def _content(receipt: Receipt, look: Look) -> Content:
    if receipt.problem or receipt.sha256 is None:
        return Content(False, receipt.problem or "it was not kept")
    return look(receipt.sha256)


def _together(newest: Receipt, others: Iterable[Receipt]) -> list[str]:
    """A word where two files with work came in one collection: the date decided, and the date may be wrong."""
    beside = [one for one in others if one.collection == newest.collection]
    if not beside:
        return []
    older = ", ".join(shown(one) for one in beside)
    return [f"{shown(newest)} counts, as it is newer than {older}; if the other is meant: {undo(newest)}"]


def undo(counting: Receipt) -> str:
    """What takes a student's file back."""
    return f"undo --student {counting.student} --assignment {counting.assignment}"


def shown(receipt: Receipt) -> str:
    """A file, for a person who looks for it: where it lay, and when it was handed in."""
    return f"{receipt.path} ({receipt.handed_in[:16].replace('T', ' ')})"


def nobodys(receipts: Iterable[Receipt], assignment: str | None) -> list[Receipt]:
    """Files of an assignment (or of none) that nobody could be given, and that did not come in properly since.

    The same bytes in the same collection are another student's.
    """
    every = [receipt for receipt in receipts if not receipt.withdrawn]
    placed = [receipt for receipt in every if receipt.student and receipt.assignment and not receipt.problem]
    settled = {receipt.sha256: receipt.collection for receipt in placed}  # the last one that it came in with
    return [
        receipt
        for receipt in every
        if receipt.assignment == assignment
        and settled.get(receipt.sha256, 0) <= receipt.collection
        and (receipt.student is None or (receipt.assignment is None and receipt.problem))
    ]
