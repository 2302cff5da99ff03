"""Notebooks as assignments: the instructor's source, and what a student handed in, brought into its form."""

from __future__ import annotations

import ast
import base64
import binascii
import hashlib
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from course_lib.lessons.shared.forms import PASSED

from . import skim
from .reading import defined, is_idle, tree

OPEN_ROOMS = ("arrays", "interactions", "datasets")  # rooms that give no answer away, where an assignment names none
MOST_BYTES = 100_000_000  # of a file, outputs and widgets included, which are passed over
MOST_CELLS = 300
MOST_OF_A_FIELD = 10_000_000  # bytes of one cell's source, metadata or pictures
LONGEST_SOURCE = 100_000
MOST_OF_SOURCES = 1_000_000  # characters of all cells together: each is read as Python several times
MOST_OF_IMAGES = 8_000_000  # characters of all attachments of a notebook together
IMAGES = ("image/png", "image/jpeg", "image/gif")
CODE_STUB = "raise NotImplementedError('Write your answer here.')"
TEXT_STUB = "*Write your answer here.*"
PASSED_PUBLICLY = PASSED.partition(";")[0]
"""What a public check prints where an answer passes."""
LONGEST_SAVED = 100  # characters
MOST_OF_OUTPUTS = 20_000  # bytes that are looked at: a public check prints a line
FEWEST_WORDS = 5  # a text of the student's own that is shorter is a heading or a remark
GRADED_WITH = "graded_with"  # the cell that `release` adds: on what the answers run
HAND_IN = "hand_in"  # the last cell, which `release` adds, too
ADDED = (GRADED_WITH, HAND_IN)
SAVED_ORDER = "saved_order"
NEXT_PART = "\n\n# ---- the next part of this answer, from a cell of its own ----\n\n"
EDITED = "*The student wrote this into a text of the assignment:*\n\n"
_ERROR = re.compile(rb'"ename": *"(\w{1,100})"')
_EMBEDDED = re.compile(r"(!\[[^\]]{0,200}\]\()data:(image/\w{1,9});base64,([A-Za-z0-9+/=]+)\)")
_LINK = re.compile(r"\[([^\]]*)\]\([^()\s]*\)")
_TASK = re.compile(r"^#+ *(Task \w+)", re.MULTILINE)
_HIDDEN = re.compile(r"### BEGIN HIDDEN TESTS\n.*?### END HIDDEN TESTS\n?", re.DOTALL)
Attachments = dict[str, dict[str, str]]
Saved = tuple[str | None, str]


class Unreadable(ValueError):
    """What was handed in is no notebook, or too large to be one."""


@dataclass(frozen=True)
class Cell:
    """One cell of a file that was handed in; `name` is nbgrader's grade_id, `id` the notebook format's own.

    `saved` is what its saved outputs say: PASSED_PUBLICLY, the name of an error, or None.
    """

    name: str | None
    kind: str
    source: str
    attachments: Attachments = field(default_factory=dict)
    id: str | None = None
    saved: str | None = None


def read_source(path: Path) -> NotebookNode:
    """An instructor's notebook: trusted."""
    notebook: NotebookNode = nbformat.read(path, as_version=4)
    return notebook


def grading(cell: Any) -> dict[str, Any]:
    """nbgrader's metadata of a cell, or {}."""
    about: dict[str, Any] = cell.get("metadata", {}).get("nbgrader", {})
    return about


def open_rooms(source: NotebookNode) -> list[str]:
    """The rooms of course_lib that a student's code may use: the source notebook's own list, in its metadata."""
    return list(source.metadata.get("course", {}).get("open_rooms", OPEN_ROOMS))


def is_test(cell: NotebookNode) -> bool:
    """Graded by machine: a locked code cell with points."""
    about = grading(cell)
    return cell.cell_type == "code" and bool(about.get("grade")) and not about.get("solution")


def is_answer(cell: NotebookNode) -> bool:
    """Written by the student."""
    return bool(grading(cell).get("solution"))


def is_own(cell: NotebookNode) -> bool:
    """Neither the assignment's nor an answer: a cell that the student added."""
    return "grade_id" not in grading(cell)


def answer_names(notebook: NotebookNode) -> frozenset[str]:
    """The grade_ids of the cells that students write."""
    return frozenset(grading(cell)["grade_id"] for cell in notebook.cells if is_answer(cell))


def titles(notebook: NotebookNode) -> dict[str, str]:
    """grade_id -> what a cell is called for its reader: "Task 3", or "Task 3, check 2 of 2"."""
    task, tasks = "", dict[str, str]()
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and not is_own(cell) and (match := _TASK.search(cell.source)):
            task = match[1]
        if not is_own(cell):
            tasks[grading(cell)["grade_id"]] = task
    checks = [grading(cell)["grade_id"] for cell in notebook.cells if is_test(cell)]
    found = dict(tasks)
    for name in checks:
        same = [other for other in checks if tasks[other] == tasks[name]]
        if len(same) > 1:
            found[name] = f"{tasks[name] or 'this task'}, check {same.index(name) + 1} of {len(same)}"
    return {name: title or name for name, title in found.items()}


def receipt(notebook: NotebookNode) -> str:
    """Sixteen letters for all that a student wrote into a rebuilt notebook; outputs and settings change nothing."""
    own = [cell for cell in notebook.cells if is_answer(cell) or is_own(cell)]
    said = [[grading(cell).get("grade_id"), cell.source.strip(), cell.get("attachments", {})] for cell in own]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]


def last_cell(name: str) -> NotebookNode:
    """The cell with which a student replays the saved notebook of an assignment."""
    text = (
        "# Save the notebook first (Ctrl+S). This replays the saved file as the grader will, which takes\n"
        f'# a minute or two, and prints a receipt.\nchecks.hand_in("{name}.ipynb")'
    )
    cell: NotebookNode = nbformat.v4.new_code_cell(text, metadata={"nbgrader": locked(HAND_IN)}, id=HAND_IN)
    return cell


def locked(name: str) -> dict[str, Any]:
    """nbgrader's metadata of a cell that students read and do not change."""
    about = dict.fromkeys(("grade", "solution", "task"), False)
    return {**about, "grade_id": name, "locked": True, "schema_version": 3}


def packed(notebook: NotebookNode) -> str:
    """A released notebook in a line, which it carries with it: what was handed out, whatever becomes of its cells."""
    return base64.b64encode(zlib.compress(json.dumps(notebook).encode(), 9)).decode()


def handed_out(content: bytes) -> NotebookNode:
    """What a saved notebook was when it was handed out: as it carries it, else its own cells of the assignment.

    Unreadable for a file that holds neither.
    """
    try:
        saved = json.loads(content)
        carried = saved["metadata"].get("course", {}).get("released")
        if carried:
            out: NotebookNode = nbformat.from_dict(json.loads(zlib.decompress(base64.b64decode(carried))))
            return out
        cells = [cell for cell in saved["cells"] if grading(cell).get("grade_id")]
    except (ValueError, TypeError, KeyError, AttributeError, zlib.error) as error:
        raise Unreadable("the file is no notebook in format 4") from error
    if not cells:
        raise Unreadable("none of an assignment's cells is in it")
    texts = [{**cell, "source": _text(cell.get("source"))} for cell in cells]
    found: NotebookNode = nbformat.from_dict({**saved, "cells": texts})
    return found


# ---- reading what was handed in ----


def handed_in(content: bytes, times: int = 1) -> list[Cell]:
    """Every cell of a submitted file; Unreadable for anything else. Outputs and widgets may be large: see `skim`.

    `times` is how many times as much may be in it as a student may hand in.
    """
    if not content:
        raise Unreadable("the file is empty")
    if len(content) > MOST_BYTES:
        raise Unreadable(f"the file has {len(content):,} bytes; at most {MOST_BYTES:,} are read. Clear the outputs")
    try:
        content = skim.in_utf8(content)
        every = {member.name: member for member in skim.members(content, 0)}
        if "cells" not in every or content[every["cells"].begin : every["cells"].begin + 1] != b"[":
            raise skim.NotJson("no list of cells")
        found = list(skim.members(content, every["cells"].begin))
        if len(found) > times * MOST_CELLS:
            raise Unreadable(f"the notebook has {len(found):,} cells; at most {times * MOST_CELLS} are read")
        cells = list(_cells(content, found))
        if (size := sum(len(cell.source) for cell in cells)) > times * MOST_OF_SOURCES:
            raise Unreadable(f"its cells have {size:,} characters; at most {times * MOST_OF_SOURCES:,} are read")
        return cells
    except skim.TooMuch:
        raise Unreadable("the file holds more than can be read. Clear the outputs") from None
    except skim.NotJson as error:
        raise Unreadable("the file is no notebook in format 4") from error


def working_copy(content: bytes) -> list[Cell]:
    """The cells of a notebook that `rebuilt` wrote: it may have more than a file that is handed in."""
    return handed_in(content, 4)


def _cells(content: bytes, found: Iterable[skim.Member]) -> Iterator[Cell]:
    """The cells at some places of a file; what is no cell is left out, and what is missing in a cell is empty."""
    room = MOST_OF_IMAGES
    for member in found:
        if content[member.begin : member.begin + 1] != b"{":
            continue
        cell = _fields(content, member)
        metadata, kind, identity = (cell.get(key) for key in ("metadata", "cell_type", "id"))
        about = metadata.get("nbgrader") if isinstance(metadata, dict) else None
        name = about.get("grade_id") if isinstance(about, dict) else None
        text, embedded = _with_pictures_apart(_joined(cell.get("source"))) if kind != "code" else (None, {})
        pasted = cell.get("attachments")
        images = _images({**(pasted if isinstance(pasted, dict) else {}), **embedded}, room)
        room -= sum(len(data) for image in images.values() for data in image.values())
        yield Cell(
            name if isinstance(name, str) else None,
            kind if kind in ("code", "markdown") else "markdown",
            _text(cell.get("source") if text is None else text),
            images,
            identity if isinstance(identity, str) else None,
            _saved(cell),
        )


def _fields(content: bytes, cell: skim.Member) -> dict[str | None, Any]:
    """What is read of a cell. A source that nobody can have written makes the file unreadable."""
    found: dict[str | None, Any] = {}
    for field_ in skim.members(content, cell.begin):
        if field_.name == "outputs":
            found["outputs"] = content[field_.begin : min(field_.end, field_.begin + MOST_OF_OUTPUTS)]
        elif field_.name not in ("source", "metadata", "attachments", "cell_type", "id"):
            continue
        elif field_.end - field_.begin <= MOST_OF_A_FIELD:
            found[field_.name] = skim.value(content, field_)
        elif field_.name == "source":
            raise Unreadable(f"a cell has more than {MOST_OF_A_FIELD:,} bytes without its outputs")
    return found


def _saved(cell: dict[str | None, Any]) -> str | None:
    """What the beginning of a cell's outputs says; a working copy has none, and holds it among its metadata."""
    metadata, outputs = cell.get("metadata"), cell.get("outputs", b"")
    own = metadata.get("course") if isinstance(metadata, dict) else None
    if isinstance(own, dict) and isinstance(own.get("saved"), str):
        return str(own["saved"])[:LONGEST_SAVED]
    if error := _ERROR.search(outputs):
        return error[1].decode()
    return PASSED_PUBLICLY if PASSED_PUBLICLY.encode() in outputs else None


def _joined(source: Any) -> str:
    """A cell's source: a text or a list of lines; what is neither is nothing."""
    lines = [source] if isinstance(source, str) else source if isinstance(source, list) else []
    return "".join(line for line in lines if isinstance(line, str))


def _with_pictures_apart(text: str) -> tuple[str, Attachments]:
    """A text whose pictures are attached, as in Jupyter: Colab writes them into the text, which is cut where long."""
    found: Attachments = {}

    def attached(match: re.Match[str]) -> str:
        name = hashlib.sha256(match[3].encode()).hexdigest()[:16]
        found[name] = {match[2]: match[3]}
        return f"{match[1]}attachment:{name})"

    return _EMBEDDED.sub(attached, text), found


def _text(source: Any) -> str:
    """What is kept of a source."""
    text = _joined(source).encode("utf-8", "replace").decode()[:LONGEST_SOURCE]  # half a surrogate pair has no place
    return re.sub(r"[\x00-\x08\x0b\x0e-\x1f]", "?", text)


def _images(attachments: Any, room: int) -> Attachments:
    """The pictures pasted into a cell, as far as there is room; nothing that is not base64 of a plain picture."""
    found: Attachments = {}
    for name, versions in attachments.items() if isinstance(attachments, dict) else ():
        for kind in IMAGES:
            data = versions.get(kind) if isinstance(versions, dict) else None
            data = "".join(data) if isinstance(data, list) and all(isinstance(x, str) for x in data) else data
            if isinstance(data, str) and len(data) <= room and _is_base64(data):
                found[str(name)] = {kind: data.replace("\n", "")}
                room -= len(data)
                break
    return found


def _is_base64(data: str) -> bool:
    try:
        base64.b64decode(data.replace("\n", ""), validate=True)
    except (ValueError, binascii.Error):
        return False
    return True


# ---- bringing it into the assignment's form ----


def rebuilt(pristine: NotebookNode, submitted: Iterable[Cell]) -> NotebookNode:
    """The released notebook with the student's answers in it, and the student's own cells where they stood.

    Only *sources* of answers and their pictures are taken over. Locked cells, points, ids and the order of the tasks
    are those of the released notebook, so that a deleted, doubled, moved or edited check changes nothing. An answer is
    what stands under its name, the parts of a split or copied cell joined in order; where nothing does, own code that
    defines the name, or own text that stands where the text belongs. All else follows the cell that it followed.
    """
    placing = _Placing(pristine)
    for cell in submitted:
        placing.take(cell)
    placing.fill()
    notebook = placing.notebook()
    if placing.order != _order_of(notebook):
        about = {**notebook.metadata.get("course", {}), SAVED_ORDER: placing.order}
        notebook.metadata = nbformat.from_dict({**notebook.metadata, "course": about})
    return notebook


def saved_order(rebuilt: Mapping[str, Any]) -> list[Saved]:
    """The code in the order in which it was saved, where that is another one than in the rebuilt notebook.

    For each cell its name in the assignment, or None, and what the student wrote in it.
    """
    return [(name, source) for name, source in rebuilt.get("metadata", {}).get("course", {}).get(SAVED_ORDER, [])]


def _order_of(notebook: NotebookNode) -> list[Saved]:
    """The same of a rebuilt notebook as it stands."""
    found: list[Saved] = []
    for cell in notebook.cells:
        name = grading(cell).get("grade_id")
        if cell.cell_type == "code" and name not in ADDED:
            own = name is None or is_answer(cell)
            found += [(name, piece) for piece in (cell.source.split(NEXT_PART) if own else [""])]
    return found


def in_saved_order(pristine: NotebookNode, order: Iterable[Saved]) -> NotebookNode:
    """A notebook that runs as it was saved, with the assignment's own locked cells, and those that are missing.

    Each check stands once, where its first copy stood: more copies would be more tries.
    """
    order = list(order)
    known = {grading(cell)["grade_id"]: cell for cell in pristine.cells if "grade_id" in grading(cell)}
    missing = [cell for name, cell in known.items() if cell.cell_type == "code" and not is_answer(cell)]
    missing = [cell for cell in missing if grading(cell)["grade_id"] not in [name for name, _ in order]]
    cells = [cell for cell in missing if not is_test(cell)]
    for at, (name, source) in enumerate(order):
        if name is None:
            cells.append(_own_cell(Cell(None, "code", source), at))
        elif not is_answer(known[name]):
            if not is_test(known[name]) or name not in [other for other, _ in order[:at]]:  # no second try at a copy
                cells.append(known[name])
        elif cells and at and order[at - 1][0] == name:
            cells[-1].source += NEXT_PART + source
        else:
            cells.append(nbformat.from_dict({**known[name], "source": source}))
    found: NotebookNode = nbformat.from_dict({**pristine, "cells": cells + [cell for cell in missing if is_test(cell)]})
    return found


class _Placing:
    """The student's cells on their way into the assignment's form."""

    def __init__(self, pristine: NotebookNode) -> None:
        self.pristine = pristine
        self.known = {grading(cell)["grade_id"]: cell for cell in pristine.cells if "grade_id" in grading(cell)}
        self.names: dict[str, str] = {name: name for name in self.known} | {
            cell.id: name for name, cell in self.known.items() if cell.get("id")
        }
        self.texts: dict[str, str] = {
            _squeezed(cell.source): name for name, cell in self.known.items() if not is_answer(cell) and cell.source
        }
        self.parts: dict[str, list[Cell]] = {name: [] for name, cell in self.known.items() if is_answer(cell)}
        self.seen: set[str] = set()
        self.own: dict[str | None, list[Cell]] = {}
        self.saved: dict[str, str | None] = {}
        self.place: str | None = None
        self.order: list[Saved] = []

    def take(self, cell: Cell) -> None:
        """An answer's part, a mark of where we are, or a cell of the student's own."""
        name = self._name_of(cell)
        if name is None and cell.name in ADDED:  # `pristine` is the source, which has neither
            return
        if name is None:
            self.own.setdefault(self.place, []).append(cell)
            self._note(None, cell)
            return
        self._note(name, cell)
        self.place = name
        self.seen.add(name)
        self.saved[name] = self.saved.get(name) or cell.saved
        if name in self.parts:
            self.parts[name].append(cell)
        elif name not in ADDED and _squeezed(cell.source) not in (
            "",
            _released(self.known[name].source),
        ):
            text = cell.source if cell.kind == "code" else EDITED + cell.source
            self.own.setdefault(name, []).append(replace(cell, name=None, source=text))
            self._note(None, cell)

    def _note(self, name: str | None, cell: Cell) -> None:
        """Keeps the order of the code; of a locked cell the name says all."""
        if cell.kind == "code" and name not in ADDED:
            self.order.append((name, cell.source if name is None or name in self.parts else ""))

    def _name_of(self, cell: Cell) -> str | None:
        """By its grade_id; where that was lost, by the cell's id or by the text of a locked cell."""
        if cell.name in self.known:
            return str(cell.name)
        if cell.name is None and cell.id in self.names and cell.id not in self.seen:
            return str(self.names[cell.id])
        return self.texts.get(_squeezed(cell.source))

    def fill(self) -> None:
        """Answers that are missing or untouched are looked for among the student's own cells."""
        for name in self.parts:
            self.parts[name] = _worked_on(self.parts[name])
            if all(is_stub(part.source) for part in self.parts[name]):
                moved = self._defining(name) if self.known[name].cell_type == "code" else self._standing_at(name)
                if moved:
                    self.parts[name] = moved
                    self.own = {
                        place: [cell for cell in cells if not any(cell is one for one in moved)]
                        for place, cells in self.own.items()
                    }

    def _defining(self, name: str) -> list[Cell]:
        cells = [cell for cells in self.own.values() for cell in cells if cell.kind == "code"]
        return [cell for cell in cells if name in defined(cell.source)]

    def _standing_at(self, name: str) -> list[Cell]:
        """Text between the cell before the answer and the next cell of the assignment."""
        order = [grading(cell).get("grade_id") for cell in self.pristine.cells]
        before = order[order.index(name) - 1] if order.index(name) else None
        cells = [*self.own.get(before, []), *self.own.get(name, [])]
        return [cell for cell in cells if cell.kind == "markdown" and cell.source.strip()]

    def notebook(self) -> NotebookNode:
        """All put together."""
        numbers = iter(range(1, 1 + sum(map(len, self.own.values()))))
        own = {place: [_own_cell(cell, next(numbers)) for cell in cells] for place, cells in self.own.items()}
        notebook: NotebookNode = nbformat.from_dict({**self.pristine, "cells": list(own.get(None, []))})
        for cell in self.pristine.cells:
            copy = nbformat.from_dict(json.loads(json.dumps(cell)))
            name = grading(copy).get("grade_id")
            if name in self.parts:
                self._fill_in(copy, self.parts[name])
            _note_saved(copy, self.saved.get(name or ""))
            notebook.cells += [copy, *own.get(name, [])]
        return notebook

    def _fill_in(self, copy: NotebookNode, parts: list[Cell]) -> None:
        if parts:
            copy.source = (NEXT_PART if copy.cell_type == "code" else "\n\n").join(part.source for part in parts)
            images: Attachments = {}
            for part in parts:
                images.update(part.attachments)
            if images and copy.cell_type == "markdown":
                copy.attachments = images
        elif copy.cell_type == "code":
            copy.source = ""  # deleted by the student; `pristine` may be the source, which holds the solution
        else:
            copy.source = TEXT_STUB


def _worked_on(parts: list[Cell]) -> list[Cell]:
    """Without exact doubles, and without parts left as they were where another part holds work."""
    different = [part for place, part in enumerate(parts) if part.source not in [p.source for p in parts[:place]]]
    worked = [part for part in different if part.source.strip() and not is_stub(part.source)]
    return worked or different[:1]


def is_stub(source: str) -> bool:
    """Whether an answer was left as it was handed out: it raises, or says, that an answer belongs here."""
    text = source.strip()
    return not text or text == TEXT_STUB or (CODE_STUB in text and is_idle(text))


def _own_cell(cell: Cell, number: int) -> NotebookNode:
    make: Callable[..., NotebookNode] = (
        nbformat.v4.new_code_cell if cell.kind == "code" else nbformat.v4.new_markdown_cell
    )
    made = make(cell.source, id=f"student-{number}")
    if cell.attachments and cell.kind == "markdown":
        made.attachments = cell.attachments
    _note_saved(made, cell.saved)
    return made


def _note_saved(cell: NotebookNode, saved: str | None) -> None:
    if saved is not None and cell.cell_type == "code":
        cell.metadata["course"] = {"saved": saved}


def saved(cell: NotebookNode) -> str | None:
    """What the outputs of a cell said when the notebook was saved: PASSED_PUBLICLY, the name of an error, or None."""
    told: str | None = cell.metadata.get("course", {}).get("saved")
    return told


def parts_of_check(source: str) -> tuple[str, str]:
    """The public part of a graded cell, which students have, and the hidden one."""
    return _HIDDEN.sub("", source + "\n"), "".join(_HIDDEN.findall(source + "\n"))


def _released(source: str) -> str:
    """A locked cell as students have it: the source without its hidden checks, white space squeezed."""
    return _squeezed(parts_of_check(source)[0])


def _squeezed(text: str) -> str:
    """A text without its line ends, and without addresses of links: a release leaves out those that lead nowhere."""
    return " ".join(_LINK.sub(r"\1", text).split())


# ---- what a person should see, and what runs ----


def is_worked_on(notebook: NotebookNode, pristine: NotebookNode) -> bool:
    """Whether a rebuilt notebook holds any work: an answer that is not as it was handed out, or text to be placed."""
    out = {grading(cell)["grade_id"]: cell.source for cell in pristine.cells if is_answer(cell)}
    answers = [cell for cell in notebook.cells if is_answer(cell)]
    worked = any(not is_stub(cell.source) and cell.source != out[grading(cell)["grade_id"]] for cell in answers)
    return worked or bool(text_to_place(notebook))


def text_to_place(notebook: NotebookNode) -> list[str]:
    """Names of written answers left empty where the student wrote text elsewhere: a person should look."""
    if not any(is_own(cell) and holds_text(cell) for cell in notebook.cells):
        return []
    answers = [cell for cell in notebook.cells if is_answer(cell) and cell.cell_type == "markdown"]
    return [grading(cell)["grade_id"] for cell in answers if is_stub(cell.source)]


def holds_text(cell: NotebookNode) -> bool:
    """A sentence or a picture, also where it was typed into a code cell, as a comment or as it is."""
    text = cell.source
    if cell.cell_type == "code":
        found = tree(text)
        text = "" if (CODE_STUB in text if found is None else found.body) else text
    return len(text.split()) >= FEWEST_WORDS or "attachment:" in text


def student_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """The code cells that run in the student's process: everything but the graded checks."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and not is_test(cell)]


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _outside_functions(child)


def parts(source: str) -> list[str]:
    """The pieces of an answer that ran as cells of their own: an error in one does not stop the next.

    A function that was split in its middle is whole only when it is put together again.
    """
    pieces = source.split(NEXT_PART)
    found = [tree(piece) for piece in pieces]  # IPython takes an indented rest of a function alone, too
    rests = any(isinstance(one, ast.Return) for piece in found if piece for one in _outside_functions(piece))
    if (all(found) and not rests) or tree(source) is None:
        return pieces
    return [source]
