"""A classroom at work: who stands where with an assignment, and the working copies that nbgrader reads.

The ledger holds what was handed in; `counted/` holds, for nbgrader, the file of each student that counts, in the
assignment's form. It is written anew from the ledger whenever that would change it, and never read back. What lies in
`submitted/` is other people's: nbgrader's own exchange collects there, and nothing of it is ever changed.

Of a student's files the newest one with work in it counts: missing, broken or untouched ones replace none. Where the
newest has the same answers as an earlier one, the earliest of these counts, with its time: saving once more, or laying
code out anew, is no later work.
"""

from __future__ import annotations

import ast
import json
import shutil
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import tzinfo
from functools import cached_property, partial
from pathlib import Path

import nbformat

from course_lib.lessons.shared.grading import notebooks
from course_lib.lessons.shared.grading.reading import tree
from exercises.engine.chapters import graded
from exercises.engine.grading.judge import write_whole

from .hand import answers
from .intake import NO_NOTEBOOK, OF_THE_EXCHANGE, arrivals, numbers
from .late import Deadlines, Lateness, read_deadlines
from .ledger import Ledger, Receipt
from .people import Person, Roster, read_roster
from .room import Room, rooms, text_of
from .texts import Failed, sha256

ASK = "ask the student for the right .ipynb file, saved once more in Jupyter, and collect again"


@dataclass(frozen=True)
class Content:
    """What is in a file, seen as one assignment: whether there is work in it, or why it cannot be read.

    answers: a checksum of all that marks are given for: the same in two files, the same marks.
    receipt: what `hand_in` prints for this work.
    """

    worked_on: bool
    problem: str | None = None
    answers: str = ""
    receipt: str = ""


@dataclass(frozen=True)
class Standing:
    """Where a student stands with an assignment.

    counts: the file that is graded; None where no file can be.
    notes: what a person should look at, each with what to do.
    again: later files with the same answers as the one that counts.
    before: the newest file that came before the one that counts, with other answers.
    """

    student: str
    counts: Receipt | None
    notes: tuple[str, ...] = ()
    again: tuple[Receipt, ...] = ()
    before: Receipt | None = None


Look = Callable[[str], Content]  # a file's checksum -> what is in it


def in_order(receipts: list[Receipt]) -> list[Receipt]:
    """From the oldest to the newest: by the platform's stamps where all have one, else as they were collected.

    Files that came together are in the order of their dates.
    """
    if all(receipt.stamped or receipt.problem for receipt in receipts):
        return sorted(receipts, key=lambda receipt: (receipt.handed_in, receipt.id))
    return sorted(receipts, key=lambda receipt: (receipt.collection, receipt.handed_in, receipt.id))


def _standing(student: str, receipts: list[Receipt], look: Look) -> Standing:
    newest_first = in_order(receipts)[::-1]
    contents = {receipt.id: _kept(receipt, look) for receipt in newest_first}
    worked_on = [receipt for receipt in newest_first if contents[receipt.id].worked_on]
    later = newest_first[: newest_first.index(worked_on[0])] if worked_on else newest_first
    untouched = [receipt for receipt in later if not contents[receipt.id].problem][:1]
    notes = []
    for receipt in later:
        if problem := contents[receipt.id].problem:
            is_beside = worked_on and problem == NO_NOTEBOOK  # a page or a module; an archive may hold the newest work
            told = f"{shown(worked_on[0])} does" if is_beside else receipt.advice or ASK
            notes.append(f"{shown(receipt)} does not count: {problem}; {told}")
        elif receipt in untouched:
            notes.append(f"{shown(receipt)}: nothing is answered in it; {ASK}")
    if not worked_on:
        return Standing(student, next(iter(untouched), None), tuple(notes))
    newest = worked_on[0]
    same = [receipt for receipt in worked_on if contents[receipt.id].answers == contents[newest.id].answers]
    others = [receipt for receipt in worked_on if receipt not in same]
    if beside := ", ".join(shown(receipt) for receipt in others if receipt.collection == newest.collection):
        # the date decided between two files of one collection, and it may be wrong
        notes.append(f"{shown(newest)} counts, as it is newer than {beside}; if the other is meant: {undo(newest)}")
    counts = same.pop()
    before = next((receipt for receipt in others if receipt.handed_in < counts.handed_in), None)
    return Standing(student, counts, tuple(notes), tuple(same), before)


def _kept(receipt: Receipt, look: Look) -> Content:
    if receipt.problem or receipt.sha256 is None:
        return Content(False, receipt.problem or "it was not kept")
    return look(receipt.sha256)


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


class Desk:
    """One classroom's submissions."""

    def __init__(self, course: Path) -> None:
        self.course = course
        self.ledger = Ledger(course)
        self._contents: dict[tuple[str, str], Content] = {}

    @cached_property
    def roster(self) -> Roster:
        """The class's roster, read once."""
        return read_roster(self.course)

    @cached_property
    def deadlines(self) -> Deadlines:
        """What is due when, read once; what is wrong in the file keeps nothing from being taken in."""
        found = read_deadlines(self.course)
        students = None if self.roster.open else self.roster.people
        found.check({*(room.assignment for room in rooms(self.course)), *graded()}, students)
        return found

    @property
    def zone(self) -> tzinfo | None:
        """That of the deadlines; while their file is wrong, which `grade` says, this computer's."""
        try:
            return read_deadlines(self.course).zone
        except Failed:
            return None

    def person(self, student: str) -> Person:
        """What the roster says of a student."""
        return self.roster.people.get(student) or Person(student)

    # ---- taking in ----

    def collect(self, folder: Path, only: str | None = None) -> list[Receipt]:
        """Takes in what is new in a folder, or in a platform's zip of a class; returns the receipts of that."""
        if not folder.is_dir() and not (folder.is_file() and zipfile.is_zipfile(folder)):
            raise Failed(f"--submissions {folder}: no such folder, and no zip file")
        known = numbers(one for one in self.ledger.receipts() if not one.withdrawn)
        found = arrivals(folder, self.assignments(), self.roster, only, known, self.zone)
        return self.ledger.collect(found, str(folder))

    def adopt(self, only: str | None = None) -> list[Receipt]:
        """Takes in what nbgrader's exchange, or a person, put into `submitted/`, where it stays.

        What came once comes in again only as somebody else's, or when a doubt is settled: not after `undo`.
        """
        folder = self.course / "submitted"
        if not folder.is_dir():
            return []
        every = arrivals(folder, self.assignments(), self.roster, only, zone=self.zone)
        there = [replace(one, path=f"submitted/{one.path}") for one in every if not one.path.endswith("/")]
        known = {(one.path, one.sha256, one.student, one.problem) for one in self.ledger.receipts()}
        new = [one for one in there if (one.path, one.sha256, one.student, one.problem) not in known]
        return self.ledger.collect(new, str(folder)) if new else []

    def assignments(self) -> dict[str, frozenset[str]]:
        """The names of the answer cells of every assignment that has a source."""
        sources = {room.assignment: notebooks.read_source(room.notebook("source")) for room in rooms(self.course)}
        return {name: notebooks.answer_names(source) for name, source in sources.items()}

    # ---- who stands where ----

    def standings(self, room: Room) -> dict[str, Standing]:
        """Every student who handed anything in for an assignment, sorted by name."""
        files: dict[str, list[Receipt]] = defaultdict(list)
        for receipt in self.ledger.receipts():
            if receipt.student and receipt.assignment == room.assignment and not receipt.withdrawn:
                files[receipt.student].append(receipt)
        return {student: _standing(student, files[student], partial(self.look, room)) for student in sorted(files)}

    def lateness(self, room: Room) -> dict[str, Lateness]:
        """How late each student is with an assignment; free days go to what was due first, whatever it is."""
        files: dict[str, dict[str, Receipt]] = defaultdict(dict)
        for one in rooms(self.course):
            if one.assignment in self.deadlines.due or one.assignment == room.assignment:
                for student, standing in self.standings(one).items():
                    if standing.counts:
                        files[student][one.assignment] = standing.counts
        every = {student: self.deadlines.lateness(student, own) for student, own in files.items()}
        return {student: own[room.assignment] for student, own in every.items() if room.assignment in own}

    def look(self, room: Room, sha256: str) -> Content:
        """What is in a file, seen as an assignment."""
        key = room.assignment, sha256
        if key not in self._contents:
            self._contents[key] = _content(room, self.ledger.content(sha256))
        return self._contents[key]

    # ---- working copies ----

    def lay_out(self, room: Room) -> dict[str, Standing]:
        """Writes the working copy of everybody, where it differs from what lies there; returns where they stand."""
        found, pristine = self.standings(room), notebooks.read_source(room.notebook("release"))
        for student, standing in found.items():
            counts = standing.counts
            content = self.ledger.content(counts.sha256) if counts and counts.sha256 else None
            cells = notebooks.handed_in(content) if content is not None else []
            path, text = room.notebook("counted", student), nbformat.writes(notebooks.rebuilt(pristine, cells))
            if text_of(path) != text:
                write_whole(path, text)
            for name in OF_THE_EXCHANGE:
                if (beside := room.notebook("submitted", student).with_name(name)).is_file():
                    shutil.copyfile(beside, path.with_name(name))
        for path in room.course.glob(f"counted/*/{room.assignment}"):
            if path.parent.name not in found:  # what was taken back with `undo`
                shutil.rmtree(path)
        return found


# ---- what is in a file ----


def _content(room: Room, content: bytes) -> Content:
    try:
        cells = notebooks.handed_in(content)
    except notebooks.Unreadable as error:
        return Content(False, str(error))
    released = room.notebook("release")  # before the first one, the source
    pristine = notebooks.read_source(released if released.exists() else room.notebook("source"))
    rebuilt = notebooks.rebuilt(pristine, cells)
    names = {notebooks.grading(cell).get("grade_id") for cell in pristine.cells}
    if not any(cell.name in names for cell in cells) and not _answered(rebuilt, pristine):
        return Content(False, "none of the assignment's cells is in it")  # notes, or a page: no text of it is an answer
    if not notebooks.is_worked_on(rebuilt, pristine):
        return Content(False)
    same = sha256(json.dumps(answers(_as_written(rebuilt)), sort_keys=True).encode())
    return Content(True, answers=same, receipt=notebooks.receipt(rebuilt))


def _as_written(rebuilt: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Without what a program adds while it saves, and without layout and remarks, for which code gets no marks."""
    copy = deepcopy(rebuilt)
    for cell in copy.cells:
        source = _meaning(cell.source) if cell.cell_type == "code" else cell.source
        cell.source = "\n".join(map(str.rstrip, source.splitlines())).strip()
    copy.cells = [cell for cell in copy.cells if cell.source]
    return copy


def _meaning(source: str) -> str:
    try:
        found = tree(source)
        return source if found is None else ast.dump(found) if found.body else ""
    except RecursionError:  # a sum of thousands
        return source


def _answered(rebuilt: nbformat.NotebookNode, pristine: nbformat.NotebookNode) -> bool:
    """Whether an answer stands in its place, whatever else the student wrote."""
    placed = [cell for cell in rebuilt.cells if not notebooks.is_own(cell)]
    return notebooks.is_worked_on(nbformat.from_dict({**rebuilt, "cells": placed}), pristine)
