"""The mark of a term: parts, weights, the lowest that is dropped, void checks, files; and no change unseen."""

import re
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import planted_class
import pytest

from exercises.engine import marks, plans
from exercises.engine.grading import items
from exercises.engine.office.texts import Failed

PLAN = """
[parts.machine]
weight = 20
from = "machine"
drop_lowest = 1

[parts.criticism]
weight = 20
from = "hand"

[parts.exam]
weight = 60
from = "exam.csv"
out_of = 90

[void]
ddc = ["test_answer_ddc_4"]
"""
STUDENTS = [f"student{k}" for k in range(10)]


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """Two graded assignments of ten students, an exam, and a plan; points are drawn, so nothing is round."""
    rng = np.random.default_rng(0)
    (tmp_path / "grades").mkdir()
    for name in planted_class.ASSIGNMENTS:
        notebook = planted_class.source(name)
        path = tmp_path / "source" / name / f"{name}.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)
        cells = {cell.id: cell.metadata.nbgrader for cell in notebook.cells if cell.metadata.nbgrader["grade"]}
        rows = [{name: float(rng.integers(0, about.points + 1)) for name, about in cells.items()} for _ in STUDENTS]
        table = pd.DataFrame(rows, index=pd.Index(STUDENTS, name="student"))
        table["penalty"] = np.round(rng.random(10) * table.sum(axis=1) / 2, 2)
        table.to_csv(tmp_path / "grades" / f"{name}.csv")
    book = pd.DataFrame({"student": STUDENTS, "name": "N", "open": ["", "ddc"] + 8 * [""]})
    book.to_csv(tmp_path / "grades" / "gradebook.csv", index=False)
    exam = pd.DataFrame({"student": STUDENTS[:9], "points": rng.integers(0, 91, 9)})
    exam.to_csv(tmp_path / "exam.csv", index=False)
    (tmp_path / "marks.toml").write_text(PLAN)
    return tmp_path


def by_hand(course: Path, student: str) -> float:
    """The mark of a student from the files, one number after the other."""
    machine, hand = [], []
    for name in planted_class.ASSIGNMENTS:
        row = pd.read_csv(course / "grades" / f"{name}.csv", index_col="student").loc[student]
        cell = f"answer_{name.replace('-', '_')}"
        points = [row[f"test_{cell}_{k}"] for k in planted_class.POINTS]
        essay = row[f"essay_{cell}"]
        whole = sum(points) + essay
        kept = 1 - row["penalty"] / whole if whole else 1
        counted = points[:3] if name == "ddc" else points  # the fourth check of ddc is void
        machine.append(sum(counted) / len(counted) * kept)
        hand.append(essay / 6 * kept)
    exam = dict(pd.read_csv(course / "exam.csv").values.tolist()).get(student, 0)
    return 20 * max(machine) + 20 * sum(hand) / 2 + 60 * exam / 90


def test_ten_students_have_the_marks_that_one_computes_by_hand(course: Path) -> None:
    found = marks.marks(course)
    assert list(found.columns) == ["name", "machine", "criticism", "exam", "percent", "open"]
    for student in STUDENTS:
        assert found.loc[student, "percent"] == pytest.approx(by_hand(course, student), abs=0.011)
    assert found.loc["student9", "exam"] == 0 and found["open"].tolist() == ["", "ddc", *7 * [""], "exam"]


def test_an_empty_cell_of_the_exam_is_a_mark_that_is_still_open(course: Path) -> None:
    (course / "exam.csv").write_text("student,points\nstudent0,\nstudent1,45\n")
    found = marks.marks(course)
    assert found.loc["student0", "open"] == "exam" and found.loc["student1", ["exam", "open"]].tolist() == [50, "ddc"]


def test_before_the_exam_the_marks_can_be_seen_and_the_exam_is_open(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (course / "exam.csv").unlink()
    found = marks.marks(course)
    assert "exam.csv is not there yet (its columns are student and points): exam counts 0" in capsys.readouterr().out
    assert (found["exam"] == 0).all() and found["open"].str.startswith("exam").all() and found["machine"].sum() > 0
    assert marks.pages(course) == []


def test_of_two_equal_assignments_one_is_dropped(course: Path) -> None:
    for name in planted_class.ASSIGNMENTS:
        path, cell = course / "grades" / f"{name}.csv", f"answer_{name.replace('-', '_')}"
        table = pd.read_csv(path, index_col="student")
        table.loc["student0", [f"test_{cell}_{k}" for k in planted_class.POINTS]] = 1
        table.loc["student0", "penalty"] = 0
        table.to_csv(path)
    found = marks.marks(course).loc["student0"]
    assert found["machine"] == 100 and found["open"] == ""


def test_who_is_missing_in_one_table_has_0_in_that_assignment(course: Path) -> None:
    path = course / "grades" / "ddc.csv"
    pd.read_csv(path, index_col="student").drop(index="student3").to_csv(path)
    other = marks.shares(course, "gauge-freedom", "hand", [])
    assert other["student3"] > 0
    assert marks.marks(course).loc["student3", "criticism"] == pytest.approx(100 * other["student3"] / 2, abs=0.006)


def test_weights_of_assignments_count_and_nothing_handed_in_is_zero(course: Path) -> None:
    (course / "deadlines.toml").write_text("[assignments.ddc]\nweight = 3\n")
    (course / "marks.toml").write_text('[parts.all]\nweight = 100\nfrom = "hand"\n')
    table = pd.read_csv(course / "grades" / "ddc.csv", index_col="student")
    table.loc["student0"] = np.nan
    table.to_csv(course / "grades" / "ddc.csv")
    every = {name: marks.shares(course, name, "hand", []) for name in planted_class.ASSIGNMENTS}
    found = marks.marks(course)["all"]
    assert every["ddc"]["student0"] == 0
    for student in STUDENTS:
        share = (3 * every["ddc"][student] + every["gauge-freedom"][student]) / 4
        assert found[student] == pytest.approx(100 * share, abs=0.006)


def test_no_mark_changes_unseen(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--course", str(course)]
    marks.main(where)
    assert "student0: new, percent" in capsys.readouterr().out and not (course / "grades" / "marks.csv").exists()
    marks.main([*where, "--confirm"])
    marks.main(where)
    assert "nothing has changed" in capsys.readouterr().out
    kept = (course / "grades" / "marks.csv").read_bytes()
    text = (course / "exam.csv").read_text()
    (course / "exam.csv").write_text(text.replace(text.splitlines()[1], "student0,90"))
    marks.main(where)
    said = capsys.readouterr().out
    assert "student0: exam " in said and "-> 100" in said and "1 would change" in said
    assert (course / "grades" / "marks.csv").read_bytes() == kept
    (course / "marks.toml").write_text(PLAN.replace("ddc =", "gauge-freedom =").replace("ddc_4", "gauge_freedom_1"))
    marks.main([*where, "--confirm"])
    assert "machine" in capsys.readouterr().out and (course / "grades" / "marks.csv").read_bytes() != kept


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (PLAN.replace("= 60", "= 50"), "the weights add up to 90; expected 100"),
        (PLAN.replace('"hand"', '"essays"'), "from is 'essays'; expected machine, hand or a file NAME.csv"),
        (PLAN.replace("out_of = 90", ""), "parts.exam: expected out_of"),
        (PLAN.replace("drop_lowest = 1", "drop_lowest = 2"), "drop_lowest is 2 of 2 assignments; expected fewer"),
        (PLAN.replace("drop_lowest", "drop"), "drop"),
        (PLAN.replace("ddc_4", "ddc_5"), "'test_answer_ddc_5' is no check; expected some of test_answer_ddc_1"),
        (PLAN.replace("\nddc =", "\nnothing ="), "void.nothing: nothing was graded in it; expected some of ddc"),
        ("[parts", "marks.toml"),
    ],
)
def test_a_wrong_plan_is_named(course: Path, wrong: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    (course / "marks.toml").write_text(wrong)
    with pytest.raises(SystemExit, match=words.replace("(", r"\(")):
        marks.main(["--course", str(course)])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("student,points\nstudent0,91\n", "line 2: points is 91; expected x, or 0 to 90"),
        ("student,points\nstudent0,few\n", "line 2: points is 'few'; expected a number"),
        ("student,points\nstudent0,1\nstudent0,2\n", "expected each student once"),
        ("student,points\nstudent0,1\nnobody,2\n", "'nobody' is nobody of grades/gradebook.csv"),
        ("who,points\nstudent0,1\n", "the columns are .'who', 'points'.; expected one called 'student'"),
        ("student,mark\nstudent0,1\n", "exam.csv has no column 'points'; it has student, mark"),
    ],
)
def test_a_wrong_line_of_a_file_is_named(course: Path, wrong: str, words: str) -> None:
    (course / "exam.csv").write_text(wrong)
    with pytest.raises(SystemExit, match=words):
        marks.main(["--course", str(course)])


def test_tables_are_read_as_a_spreadsheet_saves_them_and_a_strangers_file_stops_nobody(course: Path) -> None:
    wanted = marks.marks(course)
    for path in (course / "grades" / "ddc.csv", course / "exam.csv", course / "grades" / "gradebook.csv"):
        text = path.read_text()
        for saved in (text.encode("utf-16"), text.replace(",", ";").encode("utf-8-sig")):
            path.write_bytes(saved)
            pd.testing.assert_frame_equal(marks.marks(course), wanted)
        path.write_text(text)
    path = course / "grades" / "ddc.csv"
    path.write_text(path.read_text() + 2 * ("," * path.read_text().splitlines()[0].count(",") + "\n"))
    pd.testing.assert_frame_equal(marks.marks(course), wanted)
    for kept in ("grades/ddc.csv", "grades/gauge-freedom.csv", "grades/gradebook.csv", "exam.csv"):
        (course / kept).write_text((course / kept).read_text().replace("student", "000").replace("000,", "student,", 1))
    assert list(marks.marks(course).index) == [f"000{k}" for k in range(10)]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("penalty", "late", "ddc.csv has no column 'penalty'; it has student, test_answer_ddc_1"),
        ("test_answer_ddc_2", "test_answer_ddc_9", "ddc.csv has no column 'test_answer_ddc_2'"),
        ("\nstudent1,", "\nstudent0,", "ddc.csv, line 3: student0; expected each student once"),
        ("\nstudent1,", "\nnobody,", "parts.machine: 'nobody' is nobody of grades/gradebook.csv"),
        ("\nstudent1,", "\nstudent1,many", "line 3: test_answer_ddc_1 is 'many.*'; expected a number"),
    ],
)
def test_a_wrong_table_of_an_assignment_is_named(course: Path, old: str, new: str, words: str) -> None:
    path = course / "grades" / "ddc.csv"
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(SystemExit, match=words):
        marks.main(["--course", str(course)])


def test_a_penalty_above_the_points_leaves_nothing(course: Path) -> None:
    path = course / "grades" / "ddc.csv"
    table = pd.read_csv(path, index_col="student").assign(penalty=1e6)
    table.to_csv(path)
    assert (marks.shares(course, "ddc", "hand", []) == 0)[table.drop(columns="penalty").sum(axis=1) > 0].all()


def test_the_syllabus_and_its_plan_of_marks_say_the_same(tmp_path: Path) -> None:
    assert plans.files(tmp_path, None, {}, keep=False) == ["marks.toml", "project.yml"]
    plan = marks.read_plan(tmp_path)
    assert {name: part.weight for name, part in plan.parts.items()} == plans.MARKS
    text = plans.syllabus("eight-weeks")
    assert all(f"| {weight} % |" in text for weight in plans.MARKS.values()) and "«" not in text


PROJECT = '\n[parts.project]\nweight = 60\nfrom = "project.csv"\nrubric = "project.yml"\n'


@pytest.fixture
def with_project(course: Path) -> Path:
    """The same class, with a project in the exam's place."""
    (course / "marks.toml").write_text(PLAN.partition("[parts.exam]")[0] + PROJECT)
    (course / "project.yml").write_text("- {points: 4, item: 'claim, dated'}\n- {points: 2, item: a baseline}\n")
    marks.main(["--course", str(course), "--sheet", "project"])
    return course


def fill(course: Path, **cells: list[str]) -> None:
    table = pd.read_csv(course / "project.csv", index_col="student", dtype=str, keep_default_na=False)
    for student, (claim, baseline, comment) in cells.items():
        table.loc[student, ["claim, dated (4)", "a baseline (2)", "comment"]] = [claim, baseline, comment]
    table.to_csv(course / "project.csv")


def test_a_project_is_graded_by_its_rubric_and_the_student_reads_the_ticks(
    with_project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(with_project, student0=["x", "", "No <b>control</b>."], student1=["2.5", "X", ""], student2=["0", "0", ""])
    found = marks.marks(with_project)
    assert found.loc["student0", "project"] == pytest.approx(100 * 4 / 6, abs=0.01)
    assert found.loc["student1", "project"] == pytest.approx(100 * 4.5 / 6, abs=0.01)
    assert found.loc["student2", "project"] == 0 and "project" not in found.loc["student2", "open"]
    assert found.loc["student3", "project"] == 0 and "project" in found.loc["student3", "open"]
    assert not (with_project / "feedback").exists()
    marks.main(["--course", str(with_project), "--confirm"])
    first, second = ((with_project / "feedback" / f"student{k}" / "project.html").read_text() for k in (0, 1))
    assert "Project: 4 of 6 points" in first and "☑ claim, dated (4)" in first and "☐ a baseline (2)" in first
    assert "No" in first and "☐ claim, dated (4): 2.5" in second and "☑ a baseline (2)" in second
    assert not (with_project / "feedback" / "student3").exists()


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        (["5", "", ""], r"project.csv, line 2: claim, dated \(4\) is 5; expected x, or 0 to 4"),
        (["-1", "", ""], "expected x, or 0 to 4"),
        (["most", "", ""], r"claim, dated \(4\) is 'most'; expected a number, or nothing for 0"),
    ],
)
def test_what_is_no_mark_of_an_item_is_named(with_project: Path, cells: list[str], told: str) -> None:
    fill(with_project, student0=cells)
    with pytest.raises(Failed, match=told):
        marks.marks(with_project)


@pytest.mark.parametrize(
    ("rubric", "told"),
    [
        ("- {points: 0, item: a}", "more than 0 points"),
        ("- {points: 1, item: a}\n- {points: 2, item: a}", "each of another name"),
        ("points: 1", "expected lines such as"),
        ("- {points: 1, name: a}", "expected lines such as"),
        ("[]", "at least one item"),
    ],
)
def test_a_rubric_of_another_form_is_named(with_project: Path, rubric: str, told: str) -> None:
    (with_project / "project.yml").write_text(rubric)
    with pytest.raises(Failed, match=f"project.yml: .*{told}"):
        marks.marks(with_project)


def test_a_sheet_names_the_gradebook_where_a_student_stands_there_twice(with_project: Path) -> None:
    (with_project / "project.csv").unlink()
    book = with_project / "grades" / "gradebook.csv"
    lines = book.read_text(encoding="utf-8").splitlines()
    book.write_text("\n".join([*lines, lines[-1]]) + "\n", encoding="utf-8")
    with pytest.raises(Failed, match=r"gradebook\.csv, line .*expected each student once"):
        marks.sheet(with_project, "project")


def test_a_sheet_with_marks_in_it_is_not_written_over(with_project: Path) -> None:
    with pytest.raises(SystemExit, match="is there already"):
        marks.main(["--course", str(with_project), "--sheet", "project"])
    with pytest.raises(SystemExit, match=r"parts.machine: expected a part with a rubric"):
        marks.main(["--course", str(with_project), "--sheet", "machine"])


def test_the_rubric_of_the_projects_is_that_of_their_page() -> None:
    text = (plans.HERE / "projects.md").read_text(encoding="utf-8")
    stated = {name: float(points) for name, points in re.findall(r"^\| ([^|]+) \| (\d+) \| ", text, re.MULTILINE)}
    found = items.read_items((plans.HERE / "project.yml").read_text(encoding="utf-8"))
    added: dict[str, float] = {}
    for one in found:
        name = one.item.partition(":")[0]
        added[name] = added.get(name, 0) + one.points
    assert added == {name: points for name, points in stated.items() if name in added} and sum(added.values()) == 40


def test_confirmed_marks_go_to_the_platforms(course: Path) -> None:
    assert marks.confirmed(course).empty
    marks.main(["--course", str(course), "--confirm"])
    assert marks.confirmed(course)["percent"].to_dict() == marks.marks(course)["percent"].to_dict()


def test_a_mark_that_does_not_follow_from_its_ticks_is_named() -> None:
    rubric = items.read_items("- {points: 1, item: a}\n- {points: 2, item: b}")
    both, one = "- ☑ a (1)\n- ☑ b (2)\n\nGood.", "- ☑ a (1)\n- ☐ b (2)"
    assert items.doubt(rubric, both, 3.0) is items.doubt(rubric, one, 1.0) is items.doubt(rubric, "Good.", 2.0) is None
    assert items.doubt(rubric, both, None) is None
    assert items.doubt(rubric, one, 3.0) == "has a mark of 3, and its ticks add up to 1"
    assert items.doubt(rubric, one, 0.0) == "has a mark of 0, and its ticks add up to 1"
    tenths = [items.Item(points=points, item=name) for points, name in ((0.1, "a"), (0.2, "b"))]
    assert items.doubt(tenths, "- ☑ a (0.1)\n- ☑ b (0.2)", 0.3) is None
    assert items.doubt(rubric[:1], one, 1.0) == "was ticked by another rubric; tick it once more"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- {points: .inf, item: a}", "more than 0 points, a finite number"),
        ('- {points: 1, item: " "}', "an item is ' '; expected its text in one line"),
        ('- {points: 1, item: "a\\nb"}', r"an item is 'a\\nb'; expected its text in one line"),
        ("[" * 3000, "expected lines such as"),
    ],
)
def test_a_rubric_that_is_none_is_refused(text: str, message: str) -> None:
    with pytest.raises(items.BadRubric, match=message):
        items.read_items(text)


def test_a_sheet_without_a_name_and_an_open_quote_are_refused(tmp_path: Path) -> None:
    (tmp_path / marks.FILE).write_text('[parts.exam]\nweight = 100\nfrom = "exam.csv"\nout_of = 9\n')
    with pytest.raises(SystemExit, match=r"parts\.: expected a part with a rubric"):
        marks.main(["--course", str(tmp_path), "--sheet", ""])
    (tmp_path / "exam.csv").write_text('student,points\n"ann,3\n')
    with pytest.raises(Failed, match="unexpected end of data; expected every quote closed"):
        marks.read_table(tmp_path / "exam.csv", ["points"])


def test_a_plan_or_a_table_that_is_missing_says_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(Failed, match=r"marks\.toml: .*its form stands in exercises/engine/marks\.py"):
        marks.read_plan(tmp_path)
    with pytest.raises(Failed, match=r"exam\.csv is missing; expected columns student and points"):
        marks.read_table(tmp_path / "exam.csv", ["points"])
