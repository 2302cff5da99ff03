"""The classroom's office: what counts, what is kept, whose a file is, what the tables say; with a planted judge."""

import csv
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import planted_class
import pytest
from planted_class import untouched, work

from exercises.engine import classroom
from exercises.engine.office import late, stages, tables
from exercises.engine.office.ledger import Ledger
from exercises.engine.office.room import HERE, Room, settings

pytestmark = pytest.mark.seconds

WEEK_1, WEEK_2 = planted_class.ASSIGNMENTS
Rows = dict[str, dict[str, str]]


class Class:
    """A classroom whose commands run in this process."""

    def __init__(self, course: Path) -> None:
        self.course = course
        self.folders = 0

    def folder(self, **files: bytes) -> Path:
        """A new folder of submissions; in the names of files `__` is `/` and `_0` a space."""
        return self.files({name.replace("__", "/") + ".ipynb": content for name, content in files.items()})

    def files(self, files: dict[str, bytes]) -> Path:
        self.folders += 1
        folder = self.course / f"in-{self.folders}"
        for number, (name, content) in enumerate(files.items()):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            os.utime(path, (10**9 + number, 10**9 + number))
        return folder

    def run(self, *arguments: object) -> None:
        classroom.main([*map(str, arguments), "--course", str(self.course), "--workers", "1"])

    def all(self, folder: Path, *arguments: str) -> Rows:
        self.run("collect", "--submissions", folder, *arguments)
        self.run("grade", *arguments)
        return self.rows(WEEK_1)

    def table(self, name: str) -> list[dict[str, str]]:
        with (self.course / "grades" / f"{name}.csv").open(encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def rows(self, assignment: str) -> Rows:
        return {row["student"]: row for row in self.table(assignment)}

    def looks(self, assignment: str = WEEK_1) -> str:
        return "\n".join(row["look_at"] for row in self.table(assignment))

    def states(self) -> list[str]:
        """What became of each file."""
        return [row["state"] for row in self.table("files")]

    def totals(self, assignment: str = WEEK_1) -> dict[str, float]:
        return {student: float(row["total"]) for student, row in self.rows(assignment).items() if row["total"]}

    def mark(self, student: str, score: float, assignment: str = WEEK_1) -> None:
        """As formgrader does it."""
        cell = f"essay_answer_{assignment.replace('-', '_')}"
        with Room(self.course, assignment).gradebook() as book:
            grade = book.find_grade(cell, assignment, assignment, student)
            grade.manual_score, grade.needs_manual_grade = score, False
            book.db.commit()


@pytest.fixture
def term(planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Class:
    shutil.copytree(planted, tmp_path / "class")
    monkeypatch.setattr(Room, "judged", planted_class.judged)
    monkeypatch.setattr(stages, "autograde", planted_class.booked)
    return Class(tmp_path / "class")


# ---- what counts ----


def test_a_later_folder_erases_no_marks(term: Class) -> None:
    """The review's first case: week 2 brings other assignments, and a late one of week 1."""
    term.all(term.folder(anna__ddc=work(WEEK_1, 3), ben__ddc=work(WEEK_1, 4)))
    term.mark("anna", 5)
    week_2 = {
        "anna__gauge-freedom": work(WEEK_2, 1),
        "ben__gauge-freedom": work(WEEK_2, 2),
        "cleo__ddc": work(WEEK_1, 1),
    }
    term.all(term.folder(**week_2))
    assert term.totals() == {"anna": 8, "ben": 4, "cleo": 1}
    assert term.totals(WEEK_2) == {"anna": 1, "ben": 2}


@pytest.mark.parametrize("bad", [b"\x00 broken", untouched(WEEK_1, 1), b'{"cells": []}', work(WEEK_2, 1)[:200]])
def test_what_is_no_work_replaces_none(term: Class, bad: bytes) -> None:
    term.all(term.folder(anna__ddc=work(WEEK_1, 3)))
    rows = term.all(term.folder(anna__ddc=bad))
    assert float(rows["anna"]["total"]) == 3
    assert "ask the student" in rows["anna"]["look_at"]


def test_a_broken_file_alone_stands_in_the_table_with_a_reason(term: Class) -> None:
    rows = term.all(term.folder(anna__ddc=work(WEEK_1, 3), ben__ddc=b"\x00"))
    assert float(rows["ben"]["total"]) == 0
    assert "no notebook in format 4" in rows["ben"]["look_at"] and "ask the student" in rows["ben"]["look_at"]


def test_the_newest_counts_whatever_order_the_folders_have_when_the_platform_stamped_them(term: Class) -> None:
    for name, number, when in (("new", 4, "2026-11-20 10:00:00 UTC"), ("old", 3, "2026-11-19 10:00:00 UTC")):
        folder = term.files({"anna/ddc/ddc.ipynb": work(WEEK_1, number), "anna/ddc/timestamp.txt": when.encode()})
        rows = term.all(folder)
        assert float(rows["anna"]["total"]) == 4, name
    assert rows["anna"]["handed_in"].startswith("2026-11-20T10:00")


def formgrader_lists(term: Class) -> set[str]:
    """The students whose work nbgrader's formgrader shows for marks by hand."""
    return {one["student"] for one in Room(term.course, WEEK_1).api().get_submissions(WEEK_1)}


def test_undo_takes_the_last_collection_back_and_collecting_again_brings_it_in(term: Class) -> None:
    term.all(term.folder(anna__ddc=work(WEEK_1, 2)))
    term.mark("anna", 6)
    newer = term.folder(anna__ddc=work(WEEK_1, 4), ben__ddc=work(WEEK_1, 1))
    term.all(newer)
    term.mark("anna", 1)
    assert term.totals()["ben"] == 1
    assert formgrader_lists(term) == {"anna", "ben"}
    term.run("undo")
    assert set(term.rows(WEEK_1)) == {"anna"}
    assert formgrader_lists(term) == {"anna"}, "nobody is asked for marks of what was taken back"
    term.run("grade")
    assert term.totals() == {"anna": 8}, "the mark of the first text is there again"
    term.all(newer)
    assert term.totals() == {"anna": 5, "ben": 1}, "and that of the second"


def test_undo_of_one_student_leaves_the_others(term: Class) -> None:
    folder = term.files(
        {"anna.ipynb": work(WEEK_1, 2), "anna/ddc.ipynb": work(WEEK_1, 3), "ben.ipynb": work(WEEK_1, 4)}
    )
    rows = term.all(folder)
    assert float(rows["anna"]["total"]) == 3
    assert "anna.ipynb" in rows["anna"]["look_at"] and "undo --student anna" in rows["anna"]["look_at"]
    term.run("undo", "--student", "anna", "--assignment", WEEK_1)
    term.run("grade")
    assert term.totals() == {"anna": 2, "ben": 4}


def test_a_mark_belongs_to_its_text(term: Class) -> None:
    """The same text with other code keeps its mark; another text asks for a person again."""
    term.all(term.folder(anna__ddc=work(WEEK_1, 2)))
    term.mark("anna", 4)
    row = term.all(term.folder(anna__ddc=work(WEEK_1, 3)))["anna"]
    assert (float(row["total"]), row["to_grade_by_hand"]) == (7, "0")
    row = term.all(term.folder(anna__ddc=work(WEEK_1, 4)))["anna"]
    assert (float(row["total"]), row["to_grade_by_hand"]) == (4, "1"), "the mark of another text is none of this one"


@pytest.mark.parametrize(("where", "step"), [(stages, "autograde"), (stages.hand, "put")])
def test_a_booking_that_was_cut_short_does_not_pass_for_a_whole_one(
    term: Class, monkeypatch: pytest.MonkeyPatch, where: Any, step: str
) -> None:
    """Booking the second file ends after nbgrader's part, or after the marks by hand; then that file is taken back."""
    term.all(term.folder(anna__ddc=work(WEEK_1, 2)))
    term.mark("anna", 5)
    second, whole = term.folder(anna__ddc=work(WEEK_1, 4)), getattr(where, step)

    def cut_short(*arguments: Any) -> None:
        whole(*arguments)
        raise RuntimeError("the power failed")

    with monkeypatch.context() as patch:
        patch.setattr(where, step, cut_short)
        with pytest.raises(SystemExit, match="anna"):
            term.all(second)
    assert "not graded yet" in term.looks()
    term.run("undo")
    term.run("grade")
    assert term.totals() == {"anna": 7}, "with the mark that was given for it"
    row = term.all(second)["anna"]
    assert (row["total"], row["to_grade_by_hand"]) == ("4.0", "1"), "which is no mark of the other text"


def test_one_failure_stops_no_other_student_and_no_other_assignment_and_is_made_good_alone(
    term: Class, monkeypatch: pytest.MonkeyPatch
) -> None:
    def moody(room: Room, student: str) -> None:
        if (room.assignment, student) == (WEEK_1, "ben"):
            raise OSError("the disk has a hole")
        planted_class.booked(room, student)

    def noted(room: Room, student: str) -> None:
        again.append(student)
        planted_class.booked(room, student)

    again: list[str] = []
    monkeypatch.setattr(stages, "autograde", moody)
    files = {"anna__ddc": work(WEEK_1, 3), "ben__ddc": work(WEEK_1, 4), "anna__gauge": work(WEEK_2, 4)}
    with pytest.raises(SystemExit, match="ben"):
        term.all(term.folder(**files, cleo__ddc=work(WEEK_1, 1)))
    assert term.totals() == {"anna": 3, "cleo": 1} and term.totals(WEEK_2) == {"anna": 4}
    assert "not graded yet" in term.rows(WEEK_1)["ben"]["look_at"]
    totals = {who: row[WEEK_1] for who, row in term.rows("gradebook").items()}
    assert totals == {"anna": "3.0", "ben": "", "cleo": "1.0"} and term.rows("gradebook")["ben"]["open"] == WEEK_1
    monkeypatch.setattr(stages, "autograde", noted)
    term.run("grade")
    assert again == ["ben"] and term.totals() == {"anna": 3, "ben": 4, "cleo": 1}


def test_the_tables_are_written_when_the_collection_fails_and_no_failure_hides_another(
    term: Class, monkeypatch: pytest.MonkeyPatch
) -> None:
    term.all(term.folder(anna__ddc=work(WEEK_1, 3)))
    for name in ("files", "gradebook"):
        (term.course / "grades" / f"{name}.csv").unlink()

    def moody(path: Path, *_: object) -> None:
        if path.stem == WEEK_1:
            raise OSError("the table is open elsewhere")
        write(path, *_)

    write = tables.write_table
    monkeypatch.setattr(tables, "write_table", moody)
    with pytest.raises(SystemExit, match=r"(?s)no such folder.*open elsewhere"):
        term.run("all", "--submissions", term.course / "nowhere")
    assert term.rows("gradebook")["anna"][WEEK_1] == "3.0"
    assert (term.course / "grades" / "files.csv").exists()


# ---- what is kept ----


def test_marks_come_back_after_the_student_was_removed_from_the_gradebook(term: Class) -> None:
    term.all(term.folder(anna__ddc=work(WEEK_1, 3)))
    term.mark("anna", 5)
    term.run("table")  # every command takes new marks into the ledger
    with Room(term.course, WEEK_1).gradebook() as book:
        book.remove_student("anna")
    (term.course / "autograded/anna/ddc/ddc.ipynb").unlink()
    term.run("grade")
    assert term.totals() == {"anna": 8}


def test_a_class_whose_gradebook_is_gone_is_graded_anew(term: Class, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no environment is active, too."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    term.all(term.folder(anna__ddc=work(WEEK_1, 3)))
    term.mark("anna", 5)
    term.run("table")
    rows = term.rows(WEEK_1)
    (term.course / "gradebook.db").unlink()
    term.run("grade")
    assert term.rows(WEEK_1) == rows and float(rows["anna"]["total"]) == 8, (
        "with the marks by hand, which the ledger has"
    )


def test_marks_in_a_gradebook_that_the_ledger_has_never_seen_belong_to_the_text_on_the_page(term: Class) -> None:
    """As in a class that was begun with nbgrader's own commands."""
    term.all(term.folder(anna__ddc=work(WEEK_1, 2)))
    term.mark("anna", 4)
    shutil.rmtree(term.course / "verdicts")
    row = term.all(term.folder(anna__ddc=work(WEEK_1, 3)))["anna"]
    assert (float(row["total"]), row["to_grade_by_hand"]) == (7, "0")


def test_every_version_can_be_had_again(term: Class) -> None:
    versions = [work(WEEK_1, number) for number in range(5)] + [b"\x00 broken"]
    for content in versions:
        term.all(term.folder(anna__ddc=content))
    ledger = Ledger(term.course)
    assert [ledger.content(receipt.sha256 or "") for receipt in ledger.receipts()] == versions
    assert term.states() == ["kept"] * 4 + ["counts", "cannot count"]


def test_what_nbgraders_exchange_collected_is_taken_in(term: Class) -> None:
    path = Room(term.course, WEEK_1).notebook("submitted", "anna")
    path.parent.mkdir(parents=True)
    path.write_bytes(work(WEEK_1, 3))
    (path.parent / "timestamp.txt").write_text("2026-11-20 10:00:00.5 UTC")
    (path.parent / "submission_secret.txt").write_text("d0" * 64)
    term.run("grade")
    assert term.totals() == {"anna": 3} and term.looks() == ""
    (receipt,) = Ledger(term.course).receipts()
    assert (receipt.stamped, receipt.handed_in) == (True, "2026-11-20T10:00:00+00:00")
    term.run("grade")
    assert len(Ledger(term.course).receipts()) == 1, "what came once is no news"
    assert path.read_bytes() == work(WEEK_1, 3), "nor is it written over"


def by_exchange(term: Class, files: dict[str, bytes]) -> None:
    """Files in `submitted/`, as nbgrader's exchange or a person puts them there."""
    for name, content in files.items():
        path = term.course / "submitted" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def test_files_in_submitted_are_taken_in_whatever_they_are_called(term: Class) -> None:
    files = {
        "müller/ddc/ddc.ipynb": work(WEEK_1, 3),
        "anna smith/ddc/ddc.ipynb": work(WEEK_1, 4),
        "ben/ddc/ddc (1).ipynb": work(WEEK_1, 1),
        "cleo/ddc/notes.txt": b"see the second file",
    }
    by_exchange(term, files)
    term.run("grade")
    assert term.totals() == {"anna-smith": 4, "ben": 1, "cleo": 0, "muller": 3}
    assert "submitted/cleo/ddc/notes.txt (" in term.looks() and "it is no notebook; ask the student" in term.looks()
    ledger = Ledger(term.course)
    assert {ledger.content(receipt.sha256 or "") for receipt in ledger.receipts()} == set(files.values())
    term.run("grade")
    assert len(ledger.receipts()) == len(files), "what came once is no news"
    assert all((term.course / "submitted" / name).read_bytes() == content for name, content in files.items())


def test_an_empty_folder_is_no_second_spelling(term: Class) -> None:
    term.all(term.files({"smith, anna/ddc.ipynb": work(WEEK_1, 3)}))
    term.run("undo")
    assert not (term.course / "counted/smith-anna/ddc").exists()
    (term.course / "submitted/smith-anna").mkdir(parents=True)
    by_exchange(term, {"smith, anna/ddc/ddc.ipynb": work(WEEK_1, 4)})
    term.run("grade")
    assert term.totals() == {"smith-anna": 4}


def test_a_stranger_in_submitted_stays_until_the_roster_knows_them(term: Class) -> None:
    (term.course / "roster.csv").write_text(ROSTER, encoding="utf-8")
    by_exchange(term, {"anna smith/ddc/ddc.ipynb": work(WEEK_1, 4), "Bob/ddc/ddc.ipynb": work(WEEK_1, 3)})
    term.run("grade")
    assert term.totals() == {"asmith": 4}
    assert "submitted/Bob/ddc/ddc.ipynb: nobody in roster.csv is called 'Bob'; rename it" in term.looks()
    term.run("undo")
    with pytest.raises(SystemExit, match="nothing to take back"):
        term.run("undo")
    (term.course / "roster.csv").write_text(ROSTER + "bob,Bob Stone,,\n", encoding="utf-8")
    (term.course / "submitted/Bob").rename(term.course / "submitted/Bob Stone")
    term.run("grade")
    assert term.totals() == {"bob": 3} and "nobody" not in term.looks()


@pytest.mark.skipif(os.name == "nt" or sys.platform == "darwin", reason="such names exist on Linux only")
def test_a_name_of_bytes_that_are_no_text_is_a_doubt(term: Class) -> None:
    by_exchange(term, {"anna/ddc/ddc.ipynb": work(WEEK_1, 3), os.fsdecode(b"m\xfcller/ddc/ddc.ipynb"): work(WEEK_1, 4)})
    term.run("grade")
    assert term.totals()["anna"] == 3
    assert r"m\xfcller/ddc/ddc.ipynb (" in term.looks() and "its name holds what is no text; rename it" in term.looks()
    assert work(WEEK_1, 4) in {Ledger(term.course).content(one.sha256 or "") for one in Ledger(term.course).receipts()}


def test_who_was_called_otherwise_before_there_was_a_roster_is_named(term: Class) -> None:
    folder = term.files({"Anna Smith/ddc.ipynb": work(WEEK_1, 4)})
    term.all(folder)
    (term.course / "roster.csv").write_text("student,name\na1,Anna Smith\n", encoding="utf-8")
    rows = term.all(folder)
    assert rows["a1"]["total"] == "4.0" and rows["a1"]["look_at"] == ""
    assert "not in roster.csv" in rows["anna-smith"]["look_at"]
    term.run("undo", "--student", "anna-smith", "--assignment", WEEK_1)
    assert set(term.rows(WEEK_1)) == {"a1"}


@pytest.mark.parametrize("kind", ["notes", "a page"])
def test_notes_beside_the_work_never_count_in_its_place(term: Class, kind: str) -> None:
    name = "ddc" if kind == "a page" else "Untitled"
    text = {"cell_type": "markdown", "metadata": {}, "source": "Enough words to be a text of somebody."}
    notes = json.dumps({"cells": [text, {"cell_type": "code", "source": "x = 1"}], "metadata": {}}).encode()
    term.files({"anna/work.ipynb": work(WEEK_1, 4), f"anna/{name}.ipynb": notes})
    row = term.all(term.course / "in-1", "--assignment", WEEK_1)["anna"]
    assert row["total"] == "4.0" and "none of the assignment's cells is in it" in row["look_at"]


def test_half_a_character_in_the_name_of_a_picture_stops_nobody(term: Class) -> None:
    notebook = json.loads(work(WEEK_1, 4))
    notebook["cells"][-1]["attachments"] = {"\ud83d.png": {"image/png": "AAAA"}}
    files = {"anna/ddc.ipynb": json.dumps(notebook).encode(), "ben/ddc.ipynb": work(WEEK_1, 3)}
    term.all(term.files(files))
    assert term.totals() == {"anna": 4, "ben": 3}


def test_two_spellings_in_submitted_are_settled_by_a_roster(term: Class) -> None:
    spelled = {"Anna Smith/ddc/ddc.ipynb": work(WEEK_1, 4), "anna-smith/ddc/ddc.ipynb": work(WEEK_1, 3)}
    by_exchange(term, spelled)
    term.run("grade")
    assert "are both 'anna-smith' in plain letters" in term.looks() and term.totals() == {"anna-smith": 0}
    (term.course / "roster.csv").write_text("student,name\nanna-smith,\nasmith,Anna B. Smith\n", encoding="utf-8")
    (term.course / "submitted/Anna Smith").rename(term.course / "submitted/Anna B. Smith")
    term.run("grade")
    assert term.totals() == {"anna-smith": 3, "asmith": 4}


def test_links_huge_files_and_strange_names_are_taken_down_and_not_read(
    term: Class, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exercises.engine.office.intake.KEPT_BYTES", 5000)
    folder = term.folder(anna__ddc=work(WEEK_1, 3))
    (folder / "ben").mkdir()
    (folder / "ben" / "ddc.ipynb").symlink_to("/etc/passwd")
    (folder / "cleo.ipynb").write_bytes(b"x" * 6000)
    (folder / "..evil.ipynb").write_bytes(work(WEEK_1, 1))
    assert float(term.all(folder, "--assignment", WEEK_1)["evil"]["total"]) == 1
    assert "no ordinary file" in term.looks() and "none were kept" in term.looks()
    assert {path.name for path in (term.course / "counted").iterdir()} == {"anna", "ben", "cleo", "evil"}
    with sqlite3.connect(term.course / "submissions.db") as database:
        assert not [1 for (content,) in database.execute("SELECT content FROM file") if b"root:" in content]


# ---- whose file is it ----

ROSTER = """student,name,email,canvas_id
asmith,Anna Smith,anna.smith@example.org,4711
jmueller,Jörg Müller,jm@example.org,4712
amiller,Anna Miller,am@example.org,4713
"""


def test_a_roster_goes_by_canvass_number_and_lists_who_is_missing_and_who_is_strange(term: Class) -> None:
    (term.course / "roster.csv").write_text(ROSTER, encoding="utf-8")
    folder = term.files({"somebody_4711_1_ddc.ipynb": work(WEEK_1, 3), "Bob/ddc.ipynb": work(WEEK_1, 4)})
    rows = term.all(folder)
    assert float(rows["asmith"]["total"]) == 3 and rows["asmith"]["name"] == "Anna Smith"
    assert rows["jmueller"]["look_at"] == "nothing handed in" and not rows["jmueller"]["total"]
    assert "Bob/ddc.ipynb: nobody in roster.csv is called 'Bob'" in term.looks()


def test_a_file_that_is_no_assignments_stands_in_the_tables(term: Class) -> None:
    strange = json.dumps({"cells": []}).encode()
    term.all(term.files({"anna/ddc.ipynb": work(WEEK_1, 3), "b/gauge.ipynb": work(WEEK_2, 3), "cleo/x.ipynb": strange}))
    assert term.rows(WEEK_1)["anna"]["look_at"] == ""
    assert "cleo/x.ipynb: it is none of the assignments" in term.looks()


@pytest.mark.parametrize(("content", "reason"), [(b"", "the file is empty"), (b"\x00", "no notebook in format 4")])
def test_a_file_that_nobody_can_read_stands_in_the_line_of_its_student(
    term: Class, content: bytes, reason: str
) -> None:
    (term.course / "roster.csv").write_text(ROSTER, encoding="utf-8")
    files = {"asmith/ddc.ipynb": work(WEEK_1, 3), "asmith/gauge-freedom.ipynb": work(WEEK_2, 3)}
    term.all(term.files({**files, "jmueller.ipynb": content}))
    for assignment in (WEEK_1, WEEK_2):
        rows = term.rows(assignment)
        assert set(rows) == {"asmith", "amiller", "jmueller"}
        assert reason in rows["jmueller"]["look_at"] and "nothing handed in" not in rows["jmueller"]["look_at"]
        assert rows["amiller"]["look_at"] == "nothing handed in"


def test_a_strangers_copy_of_a_classmates_file_stands_in_the_table_until_somebody_is_found(term: Class) -> None:
    (term.course / "roster.csv").write_text(ROSTER, encoding="utf-8")
    folder = term.files({"asmith/ddc.ipynb": work(WEEK_1, 3), "Bob/ddc.ipynb": work(WEEK_1, 3)})
    term.all(folder)
    assert "Bob/ddc.ipynb: nobody in roster.csv is called 'Bob'" in term.looks()
    (folder / "Bob").rename(folder / "jmueller")
    assert term.all(folder)["jmueller"]["total"] and "Bob" not in term.looks()


def test_no_cell_of_a_table_is_a_formula(term: Class) -> None:
    term.all(term.files({"anna/ddc.ipynb": work(WEEK_1, 3), "=HYPERLINK(1)/ddc.pdf": b"%PDF"}))
    text = (term.course / "grades" / "files.csv").read_text(encoding="utf-8")
    assert ",'=HYPERLINK(1)/ddc.pdf," in text


# ---- late work, and the tables of other systems ----

DEADLINES = """
[late]
free_days = 2
percent_per_day = 10
at_most_percent = 50

[assignments.ddc]
due = 2026-11-20T12:00:00+00:00

[assignments.gauge-freedom]
due = 2026-11-10T12:00:00+00:00
weight = 3

[extensions.cleo]
ddc = 1
"""


def stamped(term: Class, *files: tuple[str, str, int, str]) -> Path:
    """(student, assignment, number, day and hour of November) -> a folder as nbgrader's exchange leaves it."""
    found: dict[str, bytes] = {}
    for student, assignment, number, when in files:
        found[f"{student}/{assignment}/{assignment}.ipynb"] = work(assignment, number)
        found[f"{student}/{assignment}/timestamp.txt"] = f"2026-11-{when}:00:00 UTC".encode()
    return term.files(found)


def exported_by_nbgrader(term: Class) -> dict[tuple[str, str], float]:
    """What `nbgrader export` says."""
    from nbgrader.plugins.export import CsvExportPlugin

    plugin = CsvExportPlugin()
    plugin.to = str(term.course / "nbgrader.csv")
    with Room(term.course, WEEK_1).gradebook() as book:
        plugin.export(book)
    with (term.course / "nbgrader.csv").open() as file:
        return {(row["student_id"], row["assignment"]): float(row["score"]) for row in csv.DictReader(file)}


def test_late_days_penalties_and_extensions_are_the_same_in_every_table(term: Class) -> None:
    (term.course / "deadlines.toml").write_text(DEADLINES, encoding="utf-8")
    term.all(
        stamped(
            term,
            ("anna", WEEK_2, 4, "11 10"),  # a day late, free
            ("anna", WEEK_1, 4, "23 10"),  # three days late, one of them free: 20 %
            ("ben", WEEK_1, 4, "20 11"),  # in time
            ("cleo", WEEK_1, 4, "21 11"),  # in time, by an extension
            ("dora", WEEK_1, 4, "30 11"),  # ten days late, two of them free: 50 %, the most
        )
    )
    expected = {"anna": 3.2, "ben": 4, "cleo": 4, "dora": 2}
    assert term.totals() == expected and term.totals(WEEK_2) == {"anna": 4}
    assert term.rows(WEEK_1)["anna"]["penalty"] == "0.8"
    assert "3 days late, 1 of them free: 20 % off" in term.rows(WEEK_1)["anna"]["look_at"]
    assert {who: exported_by_nbgrader(term)[who, WEEK_1] for who in expected} == expected
    (term.course / "deadlines.toml").write_text(DEADLINES.replace("free_days = 2", "free_days = 9"), encoding="utf-8")
    term.run("table")
    assert term.totals() == {**expected, "anna": 4, "dora": 3.6}, "no submission is graded again for it"
    assert exported_by_nbgrader(term)["dora", WEEK_1] == 3.6


def test_a_penalty_follows_the_marks_by_hand(term: Class) -> None:
    (term.course / "deadlines.toml").write_text(DEADLINES, encoding="utf-8")
    term.all(stamped(term, ("anna", WEEK_1, 4, "30 11")))
    term.mark("anna", 6)
    term.run("table")
    assert term.totals() == {"anna": 5}


def test_a_penalty_by_the_files_own_date_is_a_doubt(term: Class) -> None:
    (term.course / "deadlines.toml").write_text(DEADLINES.replace("2026-11-20", "2001-01-01"), encoding="utf-8")
    folder = term.folder(anna__ddc=work(WEEK_1, 4))
    rows = term.all(folder)
    assert "by the file's own date" in rows["anna"]["look_at"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[assignments.dcc]\nweight = 2", "no assignment called 'dcc' (perhaps ddc)"),
        ("[extensions.asmith]\ngauge-freedm = 2", "no assignment called 'gauge-freedm' (perhaps gauge-freedom)"),
        ("[extensions.asmit]\nddc = 2", "no student in roster.csv called 'asmit' (perhaps asmith)"),
        ('[extensions."Anna Smith"]\nddc = 2', "no student called 'Anna Smith' (perhaps anna-smith)"),
    ],
)
def test_a_deadline_for_nothing_or_an_extension_for_nobody_is_refused(term: Class, text: str, message: str) -> None:
    if "roster.csv" in message or "student" not in message:
        (term.course / "roster.csv").write_text(ROSTER, encoding="utf-8")
    (term.course / "deadlines.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit, match=re.escape(message)):
        term.all(term.files({"asmith/ddc.ipynb": work(WEEK_1, 4)}))


def test_a_day_is_one_day() -> None:
    assert late.Lateness(1, 1).note() == "1 day late, 1 of them free: 0 % off"


def test_all_assignments_stand_in_one_table_with_their_weights(term: Class) -> None:
    (term.course / "roster.csv").write_text(ROSTER, encoding="utf-8")
    (term.course / "deadlines.toml").write_text("[assignments.gauge-freedom]\nweight = 3\n", encoding="utf-8")
    term.all(term.files({"asmith/ddc.ipynb": work(WEEK_1, 4), "asmith/gauge-freedom.ipynb": work(WEEK_2, 2)}))
    rows = term.rows("gradebook")
    assert (rows["asmith"][WEEK_1], rows["asmith"][WEEK_2]) == ("4.0", "2.0")
    assert float(rows["asmith"]["percent"]) == 25  # (1 x 4/10 + 3 x 2/10) / 4
    assert rows["asmith"]["open"] == "ddc; gauge-freedom"
    assert float(rows["amiller"]["percent"]) == 0


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        ("canvas", {"Student": "Anna Smith", "ID": "4711", "SIS Login ID": "asmith"}),
        ("moodle", {"Username": "asmith", "Email address": "anna.smith@example.org"}),
        ("blackboard", {"Username": "asmith"}),
    ],
)
def test_exports_have_the_columns_that_a_platform_asks_for(
    term: Class, system: str, expected: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    (term.course / "roster.csv").write_text(ROSTER, encoding="utf-8")
    term.all(term.files({"asmith/ddc.ipynb": work(WEEK_1, 4)}))
    term.run("export", "--to", system)
    missing = {
        "canvas": "SIS User ID, Section",
        "moodle": "ID number",
        "blackboard": "Student ID, Last Name, First Name",
    }
    assert f"export: {missing[system]}: empty for everybody" in capsys.readouterr().out
    rows = term.table(system)
    (row,) = (row for row in rows if expected.items() <= row.items())
    assert float(row[WEEK_1]) == 4
    assert sum(one[WEEK_1] == "" for one in rows) == 2, "who handed nothing in gets no mark, not 0"
    if system == "canvas":
        assert rows[0]["Student"].strip() == "Points Possible" and float(rows[0][WEEK_1]) == 10


def test_marks_that_are_not_complete_are_named(term: Class, capsys: pytest.CaptureFixture[str]) -> None:
    (term.course / "roster.csv").write_text(ROSTER, encoding="utf-8")
    term.all(term.files({f"{who}/ddc.ipynb": work(WEEK_1, 4) for who in ("asmith", "amiller")}))
    said = capsys.readouterr().out
    assert "collect: 2 new files\n" in said
    assert f"make grade-by-hand): {WEEK_1} 2\n" in said and "look_at of the tables): nothing waits\n" in said
    assert classroom.queue(term.course) == {WEEK_1: 2}
    term.mark("asmith", 5)
    term.mark("amiller", 5)
    term.all(term.files({"jmueller/ddc.ipynb": work(WEEK_1, 4), "a stranger/ddc.ipynb": work(WEEK_1, 2)}))
    said = capsys.readouterr().out
    assert f"make grade-by-hand): {WEEK_1} 1\n" in said and f"look_at of the tables): {WEEK_1} 1\n" in said
    term.run("undo")
    assert "make grade-by-hand): nothing waits\n" in capsys.readouterr().out
    assert classroom.queue(term.course) == {WEEK_1: 0}
    term.run("collect", "--submissions", term.files({"jmueller/ddc.ipynb": work(WEEK_1, 3)}))
    assert "collect: 1 new file\n" in capsys.readouterr().out
    term.run("export", "--to", "moodle")
    assert f"export: {WEEK_1}: points must still be given to jmueller\n" in capsys.readouterr().out
    rows = {student: (row[WEEK_1], row["open"]) for student, row in term.rows("gradebook").items()}
    assert rows == {"amiller": ("9.0", ""), "asmith": ("9.0", ""), "jmueller": ("", WEEK_1)}


# ---- marks that change are shown, and the others stay ----


def test_without_its_due_date_an_assignment_has_no_penalty_and_no_trace_of_one(term: Class) -> None:
    path = term.course / "deadlines.toml"
    path.write_text(DEADLINES, encoding="utf-8")
    term.all(stamped(term, ("dora", WEEK_1, 4, "30 11"), ("cleo", WEEK_1, 4, "21 11"), ("dora", WEEK_2, 4, "30 11")))
    assert term.rows(WEEK_1)["dora"]["penalty"] == "2.0" and term.rows("gradebook")["dora"][WEEK_1] == "2.0"
    without = re.sub(r"\[assignments.ddc\]\ndue = .*\n", "", DEADLINES)
    for text in (without, None):
        path.write_text(DEADLINES, encoding="utf-8")
        term.run("table")
        assert exported_by_nbgrader(term)["dora", WEEK_1] == 2
        path.unlink() if text is None else path.write_text(text, encoding="utf-8")
        term.run("table", "--assignment", WEEK_2)  # the gradebook has all assignments, whichever is asked for
        assert term.rows("gradebook")["dora"][WEEK_1] == "4.0" and exported_by_nbgrader(term)["dora", WEEK_1] == 4
        term.run("table")
        row = term.rows(WEEK_1)["dora"]
        assert (row["penalty"], row["total"], row["look_at"]) == ("0.0", "4.0", "")
        with Room(term.course, WEEK_1).gradebook() as book:
            assert book.find_assignment(WEEK_1).duedate is None


def saved_again(number: int, **about: object) -> bytes:
    """The same answers: other metadata, ids, outputs, and a remark of the student's own."""
    notebook = json.loads(work(WEEK_1, number))
    notebook["metadata"]["saved"] = about
    for cell in notebook["cells"]:
        cell["metadata"]["tags"] = ["seen"]
        if cell["cell_type"] == "code":
            cell |= {"execution_count": 7, "outputs": [{"output_type": "stream", "name": "stdout", "text": "seen"}]}
    notebook["cells"].insert(1, {"cell_type": "markdown", "id": "own", "metadata": {}, "source": "A remark."})
    return json.dumps(notebook).encode()


def handed(content: bytes, when: str) -> dict[str, bytes]:
    return {"anna/ddc/ddc.ipynb": content, "anna/ddc/timestamp.txt": f"2026-11-{when}:00:00 UTC".encode()}


def test_the_same_answers_saved_again_count_with_their_first_time(term: Class) -> None:
    (term.course / "deadlines.toml").write_text(DEADLINES, encoding="utf-8")
    term.all(term.files(handed(work(WEEK_1, 4), "20 10")))
    term.mark("anna", 6)
    for content, when in ((saved_again(4), "25 10"), (saved_again(4, more=1), "30 10")):
        row = term.all(term.files(handed(content, when)))["anna"]
        assert (row["total"], row["penalty"], row["look_at"]) == ("10.0", "0.0", "")
        assert row["handed_in"].startswith("2026-11-20T10")
    assert term.states() == ["counts", *["same answers again"] * 2]


def _stripped(cells: list[Any]) -> None:
    for place, cell in enumerate(cells):
        cell |= {"metadata": {}, "id": f"other-{place}"}


def _on_windows(cells: list[Any]) -> None:
    for cell in cells:
        cell["source"] = f"{''.join(cell['source'])}\n".replace("\n", "\r\n")


def _laid_out_anew(cells: list[Any]) -> None:
    cells[1]["source"] = "".join(cells[1]["source"]).replace("\n", "  # the answer\n\n  ")


@pytest.mark.parametrize(
    "change",
    [_stripped, _on_windows, _laid_out_anew, lambda cells: cells.append({"cell_type": "code", "source": []})],
    ids=["stripped", "on Windows", "laid out anew", "an empty cell"],
)
def test_what_a_program_changes_while_it_saves_is_no_other_answer(
    term: Class, change: Callable[[list[Any]], None]
) -> None:
    (term.course / "deadlines.toml").write_text(DEADLINES, encoding="utf-8")
    notebook = json.loads(work(WEEK_1, 4))
    change(notebook["cells"])
    for content, when in ((work(WEEK_1, 4), "20 10"), (json.dumps(notebook).encode(), "30 10")):
        row = term.all(term.files(handed(content, when)))["anna"]
    assert (row["total"], row["penalty"]) == ("4.0", "0.0")


def test_a_sum_of_thousands_is_compared_as_it_is_written(term: Class) -> None:
    notebook = json.loads(work(WEEK_1, 4))
    notebook["cells"].append({"cell_type": "code", "source": "x = 1" + " + 1" * 3000})
    assert term.all(term.files(handed(json.dumps(notebook).encode(), "20 10")))["anna"]["total"] == "4.0"


def test_answers_that_came_back_after_others_count_with_their_first_time(term: Class) -> None:
    (term.course / "deadlines.toml").write_text(DEADLINES, encoding="utf-8")
    for content, when in ((work(WEEK_1, 4), "20 10"), (work(WEEK_1, 3), "20 11"), (saved_again(4), "30 10")):
        row = term.all(term.files(handed(content, when)))["anna"]
    assert (row["total"], row["penalty"], row["look_at"]) == ("4.0", "0.0", "")


def test_other_answers_that_come_late_count_and_the_table_says_what_was_there_before(term: Class) -> None:
    (term.course / "deadlines.toml").write_text(DEADLINES, encoding="utf-8")
    for content, when in ((work(WEEK_1, 4), "20 10"), (work(WEEK_1, 3), "30 10"), (saved_again(3), "30 11")):
        row = term.all(term.files(handed(content, when)))["anna"]
    assert (row["total"], row["penalty"]) == ("1.5", "1.5")
    assert "anna/ddc/ddc.ipynb (2026-11-20 10:00) came before, with other answers" in row["look_at"]
    assert "undo --student anna --assignment ddc" in row["look_at"]
    term.run("undo", "--student", "anna", "--assignment", WEEK_1)
    term.run("grade")
    row = term.rows(WEEK_1)["anna"]
    assert (row["total"], row["penalty"], row["look_at"]) == ("4.0", "0.0", ""), "both files of the late answers went"


def test_code_of_the_students_own_is_a_part_of_the_answers(term: Class) -> None:
    (term.course / "deadlines.toml").write_text(DEADLINES, encoding="utf-8")
    notebook = json.loads(work(WEEK_1, 4))
    notebook["cells"].insert(1, {"cell_type": "code", "id": "own", "metadata": {}, "source": "helper = 1"})
    term.all(term.files(handed(work(WEEK_1, 4), "20 10")))
    row = term.all(term.files(handed(json.dumps(notebook).encode(), "30 10")))["anna"]
    assert row["penalty"] == "2.0" and "came before, with other answers" in row["look_at"]


def change_source(term: Class, change: Callable[[list[Any]], None]) -> None:
    path = Room(term.course, WEEK_1).notebook("source")
    notebook = json.loads(path.read_text(encoding="utf-8"))
    change(notebook["cells"])
    path.write_text(json.dumps(notebook), encoding="utf-8")


def by_hand_in(cells: list[Any]) -> list[dict[str, Any]]:
    """What nbgrader knows of the cells that a person marks; the last of a release is the one that hands in."""
    about = [cell["metadata"].get("nbgrader", {}) for cell in cells]
    return [of for of in about if of.get("grade") and of.get("solution")]


def points_of_the_essay(points: int) -> Callable[[list[Any]], None]:
    return lambda cells: cells[-1]["metadata"]["nbgrader"].update(points=points)


@pytest.mark.parametrize(("points", "word"), [(8, ""), (4, "essay_answer_ddc: 5 of 4 points; give the mark once more")])
def test_points_that_change_count_with_the_next_grading(
    term: Class, points: int, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    term.all(term.folder(anna__ddc=work(WEEK_1, 3), ben__ddc=work(WEEK_1, 4)))
    term.mark("anna", 5)
    change_source(term, points_of_the_essay(points))
    term.run("grade")
    assert f"release: essay_answer_ddc has {points} points; before, it had 6 points" in capsys.readouterr().out
    row = term.rows(WEEK_1)["anna"]
    assert (row["out_of"], row["total"], row["to_grade_by_hand"]) == (f"{4 + points}.0", "8.0", "0")
    assert row["look_at"] == word and float(term.rows(WEEK_1)["ben"]["total"]) == 4
    released = json.loads(Room(term.course, WEEK_1).notebook("release").read_text(encoding="utf-8"))
    assert [(of["grade_id"], of["points"]) for of in by_hand_in(released["cells"])] == [("essay_answer_ddc", points)]
    term.run("grade")
    assert "release" not in capsys.readouterr().out, "once"


def test_checks_that_come_and_go_count_with_the_next_command_and_marks_by_hand_stay(
    term: Class, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = term.folder(anna__ddc=work(WEEK_1, 3))
    term.all(folder)
    term.mark("anna", 5)

    def another(cells: list[Any]) -> None:
        again = json.loads(json.dumps(cells[2]))
        again["metadata"]["nbgrader"]["grade_id"] = again["id"] = "test_answer_ddc_0"
        cells[2]["metadata"]["nbgrader"]["grade_id"] = cells[2]["id"] = "test_answer_ddc_2b_2"
        cells.insert(3, again)

    change_source(term, another)
    term.run("all", "--submissions", folder)
    told = capsys.readouterr().out
    assert "release: test_answer_ddc_1 has no place among the marks; before, it had 1 point\n" in told
    assert "release: test_answer_ddc_0 has 1 point; before, it had no place among the marks\n" in told
    row = term.rows(WEEK_1)["anna"]
    assert (row["out_of"], row["total"], row["to_grade_by_hand"]) == ("11.0", "9.0", "0")
    assert row["test_answer_ddc_0"] == row["test_answer_ddc_2b_2"] == "1.0" and "test_answer_ddc_1" not in row


# ---- whose, and in which form ----


def test_names_of_other_scripts_have_marks_and_files(term: Class) -> None:
    rows = term.all(term.files({"王小明/ddc.ipynb": work(WEEK_1, 3), "Иван Петров.ipynb": work(WEEK_1, 4)}))
    assert {name: float(row["total"]) for name, row in rows.items()} == {"王小明": 3, "иван-петров": 4}
    assert (term.course / "autograded/王小明/ddc/ddc.ipynb").exists()


def test_two_people_of_one_name_are_never_one(term: Class) -> None:
    """Week 1 has one Anna; week 2 has both, and then a roster tells them apart."""
    first, second = (f"Anna Schmidt_{number}_assignsubmission_file_/ddc.ipynb" for number in (101, 102))
    assert term.all(term.files({first: work(WEEK_1, 3)}))["anna-schmidt"]["total"] == "3.0"
    row = term.all(term.files({second: work(WEEK_1, 4)}))["anna-schmidt"]
    assert float(row["total"]) == 3 and "Moodle's numbers 101 and 102 are both called 'Anna Schmidt'" in row["look_at"]
    roster = "student,name,moodle_id\na1,Anna Schmidt,101\na2,Anna Schmidt,102\n"
    (term.course / "roster.csv").write_text(roster, encoding="utf-8")
    rows = term.all(term.files({first: work(WEEK_1, 3), second: work(WEEK_1, 4)}))
    assert {name: float(rows[name]["total"]) for name in ("a1", "a2")} == {"a1": 3, "a2": 4}
    assert rows["a1"]["look_at"] == rows["a2"]["look_at"] == ""


def zipped(files: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return target.getvalue()


def test_zips_are_graded_and_kept_as_they_came(term: Class, tmp_path: Path) -> None:
    own = zipped({"hw/ddc.ipynb": work(WEEK_1, 3), "__MACOSX/hw/._ddc.ipynb": b"Mac", "hw/data.csv": b"1"})
    (tmp_path / "class.zip").write_bytes(
        zipped({"smithanna_4711_1_hw.zip": own, "wolfben_4712_2_ddc.ipynb": work(WEEK_1, 4)})
    )
    rows = term.all(tmp_path / "class.zip")
    assert {name: (row["total"], row["look_at"]) for name, row in rows.items()} == {
        "smithanna": ("3.0", ""),
        "wolfben": ("4.0", ""),
    }
    ledger = Ledger(term.course)
    assert own in [ledger.content(one.sha256 or "") for one in ledger.receipts()]
    before = len(ledger.receipts())
    term.all(tmp_path / "class.zip")
    assert len(ledger.receipts()) == before


def test_a_zip_by_the_exchange_is_opened(term: Class) -> None:
    (term.course / "roster.csv").write_text(ROSTER, encoding="utf-8")
    pack = zipped({"ddc.ipynb": work(WEEK_1, 3)})
    by_exchange(term, {"Anna Smith/ddc/hw.zip": pack, "Bob/ddc/hw.zip": pack + b" "})
    term.run("grade")
    assert term.totals() == {"asmith": 3} and "nobody in roster.csv is called 'Bob'" in term.looks()


@pytest.mark.parametrize("name", ["CS101 [Group A]", "what?", "a*b", "a%41"])
def test_a_path_that_nbgrader_takes_for_a_pattern_is_refused_before_any_work(tmp_path: Path, name: str) -> None:
    for step in ("release", "by-hand"):
        with pytest.raises(SystemExit, match=r"\[ \], \* and \? may not stand in the path of a class"):
            classroom.main([step, "--course", str(tmp_path / name)])
    assert list(tmp_path.iterdir()) == []


def test_by_hand_makes_no_class_of_a_mistyped_folder(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"by-hand: .*nosuch is no folder; expected that of a class"):
        classroom.main(["by-hand", "--course", str(tmp_path / "nosuch")])
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_name_in_the_deadlines_keeps_nothing_from_being_taken_in(term: Class) -> None:
    (term.course / "deadlines.toml").write_text("[extensions.anna]\nddcc = 2\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"deadlines\.toml: there is no assignment called 'ddcc' \(perhaps ddc\)"):
        term.all(term.folder(anna__ddc=work(WEEK_1, 3)))
    assert [one.student for one in Ledger(term.course).receipts()] == ["anna"]
    assert not (term.course / "autograded").exists()  # said before the grading, which takes minutes
    (term.course / "deadlines.toml").unlink()
    term.run("grade")
    assert term.totals() == {"anna": 3}


def test_a_folder_of_submissions_may_be_called_as_it_likes(term: Class) -> None:
    folder = term.folder(anna__ddc=work(WEEK_1, 3))
    for name in ("week [1]", "50% #1 {ü}"):
        folder = folder.rename(folder.with_name(name))
        assert term.all(folder)["anna"]["total"] == "3.0"


# ---- the pages for marks by hand ----

PAGES = """
import os
from nbconvert.exporters import HTMLExporter
from nbgrader.server_extensions.formgrader.formgrader import FormgradeExtension
pages = FormgradeExtension()
pages.root_dir = os.getcwd()
pages.initialize([])
exporter = HTMLExporter(config=pages.config)
print(exporter.template.filename, *(type(one).__name__ for one in exporter._preprocessors))
"""


def test_formgrader_finds_its_page_and_the_rubric_where_the_class_lies_in_the_checkout() -> None:
    """Of a class elsewhere, test_real_class.py asks a server."""
    run = subprocess.run([sys.executable, "-c", PAGES], cwd=HERE, capture_output=True, text=True, check=True)
    assert "formgrade" in Path(run.stdout.split()[0]).parts and "ShowRubric" in run.stdout


def test_settings_of_nbgrader_that_a_teacher_wrote_stay(tmp_path: Path) -> None:
    settings(tmp_path)
    settings(tmp_path)
    file = tmp_path / "nbgrader_config.py"
    assert "load_subconfig" in file.read_text(encoding="utf-8")
    file.write_text("c = get_config()\n", encoding="utf-8")
    settings(tmp_path)
    assert file.read_text(encoding="utf-8") == "c = get_config()\n"
