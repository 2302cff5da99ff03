"""Every assignment: right answers get full marks, wrong ones exactly their part and the message that fits."""

import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pytest
from drafts import DRAFTS, one_quickly
from in_process import ASSIGNMENTS, NEW, functions, marks, marks_of, public_checks

from course_lib.lessons.shared import forms
from course_lib.lessons.shared.grading import notebooks
from exercises.engine import chapters, simulate
from exercises.engine.grading.items import of_answer
from tests.lessons.every import tables
from tools.address import repository
from tools.toc import page_of

ROOT = Path(__file__).resolve().parents[2]


WRONG = [(name, kind) for name in ASSIGNMENTS for kind in simulate.wrong_answers(name)]


TASK = re.compile(
    r"\*(\d+) points · (graded by a person · )?difficulty ★[★☆][★☆] · importance ★[★☆][★☆] · (\d+) minutes\*"
)


ROW = re.compile(r"^\| (\d+) \| (.+?) \| (\d+) \| [★☆]{3} \| [★☆]{3} \| (\d+) \|$", re.MULTILINE)


SPOILT = {lesson.replace("_", "-"): spoilt for lesson, spoilt in tables("SPOILT")}
WORDS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


@pytest.mark.seconds
@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_the_reference_gets_full_marks(name: str) -> None:
    assert {check: message for check, message in marks_of(name, "reference").items() if message} == {}
    assert set(marks_of(name, "reference")) == set(simulate.points(name))


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_an_empty_notebook_gets_nothing(name: str) -> None:
    assert all(marks_of(name, "empty").values())


@pytest.mark.seconds
@pytest.mark.parametrize(("name", "kind"), WRONG)
def test_a_wrong_answer_loses_its_part_and_is_told_why(name: str, kind: str) -> None:
    wrong, found = simulate.wrong_answers(name)[kind], marks_of(name, kind)
    assert {check for check, message in found.items() if message} == set(wrong.lost)
    assert any(wrong.message in message for message in found.values())


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_every_check_of_an_assignment_is_lost_by_some_wrong_answer(name: str) -> None:
    """A check that no wrong answer fails might test nothing."""
    lost = {check for wrong in simulate.wrong_answers(name).values() for check in wrong.lost}
    assert set(simulate.points(name)) - lost == set(SPOILT.get(name, {}))


@pytest.mark.parametrize(("name", "check"), [(name, check) for name, spoilt in SPOILT.items() for check in spoilt])
def test_those_checks_are_lost_by_another_wrong_answer(name: str, check: str) -> None:
    assert marks(spoilt(name, check), name)[check]


def spoilt(name: str, check: str) -> dict:
    """The reference with one wrong cell."""
    code = SPOILT[name][check]
    notebook, function = simulate.reference(name), re.match(r"def (\w+)", code)[1]
    for cell in notebook["cells"]:
        if cell["metadata"]["nbgrader"]["grade_id"] == function:
            cell["source"] = code
    return notebook


@pytest.mark.seconds
@pytest.mark.parametrize("name", one_quickly(ASSIGNMENTS))
def test_the_public_checks_run_without_nbgrader_and_without_the_exercises(name: str) -> None:
    """In an interpreter of its own, as at a student's."""
    cells = [cell["source"] for cell in simulate.reference(name)["cells"] if cell["cell_type"] == "code"]
    lines = [line for cell in cells for line in cell.split("\n") if "%pip" not in line]
    alone = ["import sys", 'sys.modules["nbgrader"] = sys.modules["exercises"] = None', *lines]
    done = subprocess.run(
        [sys.executable, "-"], input="\n".join(alone), cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    passed = done.stdout.count("not full marks")
    assert passed == (9 if name == simulate.FIRST else len(simulate.points(name)))  # two of its tasks share a check


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_points_minutes_and_tasks_agree_wherever_they_stand(name: str) -> None:
    """The headings, the table and the first sentence of an assignment, and the points of its cells."""
    cells = simulate.source(name)["cells"]
    intro = "".join(cells[0]["source"])
    tasks, current = {}, None
    for cell in cells:
        text, about = "".join(cell["source"]), cell["metadata"]["nbgrader"]
        if text.startswith("## Task"):
            current = int(re.match(r"## Task (\d+)\.", text)[1])
            points, by_hand, minutes = TASK.search(text).groups()
            tasks[current] = [int(points), int(minutes), 0, by_hand]
        if about["grade"]:
            tasks[current][2] += about["points"]
            assert (tasks[current][3] is not None) == about["solution"]
    assert list(tasks) == list(range(1, len(tasks) + 1)) and (len(tasks) >= 6 or name in DRAFTS)
    assert all(stated == of_cells for stated, _, of_cells, _ in tasks.values())
    rows = {int(number): [int(points), int(minutes)] for number, _, points, minutes in ROW.findall(intro)}
    assert rows == {number: task[:2] for number, task in tasks.items()}
    if name in DRAFTS:  # what `make chapter` writes says "about half an hour"
        return
    total, machine = sum(task[0] for task in tasks.values()), sum(simulate.points(name).values())
    person = sum(simulate.points(name, by_hand=True).values())
    assert f"{WORDS[len(tasks)].capitalize()} tasks, {total} points" in intro
    assert f"{WORDS[len(tasks) - 1].capitalize()} are graded by machine ({machine} points)" in intro
    assert f"the last by a person ({person} points)" in intro and total == machine + person


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_an_assignment_names_its_chapters_page_and_links_it(name: str) -> None:
    """The page's title and its path help also where the address leads nowhere."""
    page = ROOT / f"{page_of(name)}.ipynb"
    title = nbformat.read(page, as_version=4).cells[0].source.splitlines()[0].removeprefix("# ")
    path = page.relative_to(ROOT).as_posix()
    link = f"**The chapter** is [{title}]({repository()}/blob/main/{path}), the page `{path}` of the course."
    assert link in "".join(simulate.source(name)["cells"][0]["source"])


def test_the_readme_lists_every_assignment() -> None:
    """And the instructor's guide."""
    rows, of_guide = [], []
    for name in (name for name in ASSIGNMENTS if name not in DRAFTS):
        texts = ["".join(cell["source"]) for cell in simulate.source(name)["cells"]]
        found = [match for text in texts if (match := TASK.search(text))]
        machine, person = (sum(simulate.points(name, by_hand=hand).values()) for hand in (False, True))
        minutes = sum(int(match[3]) for match in found)
        rows.append(f"| `{name}` | {len(found)} | {machine} | {person} | {minutes} |")
        of_guide.append(f"| `{name}` | {len(found)} | {machine + person} | {person} | {minutes} |")
    readme, guide = (
        (ROOT / page).read_text(encoding="utf-8") for page in ("exercises/README.md", "book/teach/instructors-guide.md")
    )
    assert [row for row in rows if row not in readme] == [row for row in of_guide if row not in guide] == []


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_the_written_task_has_a_rubric_that_adds_up(name: str) -> None:
    (essay,) = [
        cell for cell in simulate.source(name)["cells"] if cell["metadata"]["nbgrader"]["grade_id"] == "criticise"
    ]
    items = of_answer("".join(essay["source"]))
    assert sum(one.points for one in items) == essay["metadata"]["nbgrader"]["points"]


@pytest.mark.seconds
@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_hidden_checks_use_other_inputs_than_the_public_ones(name: str) -> None:
    """Every function is asked, by each hidden check, something that the public check does not ask."""
    for cell in simulate.source(name)["cells"]:
        about = cell["metadata"]["nbgrader"]
        if about["grade"] and not about["solution"]:
            whole = "".join(cell["source"]) + "\n"
            public = simulate.HIDDEN.sub("", whole)
            assert whole.startswith(public), "the hidden part stands at the end"
            asked, hidden = _questions(name, public, whole[len(public) :])
            new = [question for question in hidden if question not in asked]
            no_arguments = all(question.endswith("()") for question in (*asked, *hidden))
            assert new or no_arguments or "condition" in whole or "tower" in whole, about["grade_id"]


def _questions(name: str, *parts: str) -> list[list[str]]:
    """What each part of a check asks, one run after the other."""
    asked: list[list[str]] = []

    def listening(label: str, answer: Any) -> Any:
        def call(*arguments: Any) -> Any:
            asked[-1].append(f"{label}({', '.join(map(repr, arguments))})")
            return answer(*arguments)

        return call

    answers = {
        key: listening(key, thing) for key, thing in functions(simulate.reference(name)).items() if callable(thing)
    }
    room = {**answers, "checks": public_checks(name)}
    for part in parts:
        asked.append([])
        exec(part, room)
    return asked


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_the_statement_names_the_rooms_that_are_open(name: str) -> None:
    source = notebooks.read_source(chapters.file(name, "assignment.ipynb"))
    told = re.search(r"Of `course_lib` only (.+?) are open then;", source.cells[0].source)
    assert told and set(re.findall(r"`(\w+)`", told[1])) == set(notebooks.open_rooms(source))


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_an_assignment_opens_no_room_that_gives_its_answers_away(name: str) -> None:
    opened = notebooks.open_rooms(notebooks.read_source(chapters.file(name, "assignment.ipynb")))
    reached = modules_after(f"from course_lib import {', '.join(opened)}")
    if name == simulate.FIRST:
        assert not {one for one in reached if one.startswith(("in_batch", "lessons"))}
    else:
        allowed = {"arrays", "checking", "datasets", "extras", "interactions", "metrics"}
        assert {one.partition(".")[0] for one in reached} <= allowed


@cache
def modules_after(statement: str) -> set[str]:
    """The modules of course_lib that a fresh interpreter holds after a statement, "metrics.ties"."""
    code = f"{statement}\nimport sys\nprint(*(name for name in sys.modules if name.startswith('course_lib.')))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return {name.removeprefix("course_lib.") for name in done.stdout.split()}


def test_the_sources_are_notebooks_that_nbgrader_reads() -> None:
    for name in ASSIGNMENTS:
        notebook = notebooks.read_source(chapters.file(name, "assignment.ipynb"))
        nbformat.validate(notebook)
        ids = [notebooks.grading(cell)["grade_id"] for cell in notebook.cells]
        assert len(ids) == len(set(ids))


NAN, INFINITY = float("nan"), float("inf")
STRANGE: list[Any] = [None, True, -1, 0.5, "x", NAN, INFINITY, 10**400, ["a", "b"], [True, False]]
STRANGE += [[], [[]], [None], [[1.0], [2.0, 3.0]], [[[1.0]]], [[1, 2], 3], [0.0, 0.0], [-1.0, -1.0, -1.0]]
STRANGE += [[[0.0, 0.0]] * 2, [[INFINITY] * 2] * 2]


@pytest.mark.seconds
@pytest.mark.parametrize("name", NEW)
def test_no_check_breaks_at_a_strange_answer_and_the_public_one_refuses_it(name: str) -> None:
    """A check raises NotYet, and nothing else: else an answer would be marked as unreadable.

    Its public part does, so that the hidden one behind it is never reached: a wrong form that it let pass would lose
    points that the student thinks safe.
    """
    asked = [key for key, thing in functions(simulate.reference(name)).items() if callable(thing)]
    for check, source in checks_of(name).items():
        public = compile(simulate.HIDDEN.sub("", source + "\n"), check, "exec")
        for value in STRANGE:
            names = {key: lambda *_, value=value: value for key in asked}
            with pytest.raises(forms.NotYet):
                exec(public, {**names, "checks": public_checks(name)})


def checks_of(name: str) -> dict[str, str]:
    """grade_id -> the code of each check graded by machine."""
    cells = [(cell["metadata"]["nbgrader"], "".join(cell["source"])) for cell in simulate.source(name)["cells"]]
    return {about["grade_id"]: source for about, source in cells if about["grade"] and not about["solution"]}


@pytest.mark.parametrize("name", ASSIGNMENTS)
@pytest.mark.parametrize("handed_out", [True, False])
def test_the_first_cell_installs_the_wheel_that_was_handed_out(
    name: str, handed_out: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the course: the wheel beside the notebook, of the grader's version; else what is published."""
    monkeypatch.chdir(tmp_path)
    if handed_out:
        (tmp_path / "two_tower_course-0.1.0-py3-none-any.whl").touch()
    monkeypatch.setitem(sys.modules, f"course_lib.lessons.{simulate.module_of(name)}", None)
    (cell,) = (cell for cell in simulate.source(name)["cells"] if cell["metadata"]["nbgrader"]["grade_id"] == "setup")
    asked: list[str] = []
    names: dict[str, Any] = {"pip": lambda text: asked.append(text.format(**names))}
    code = re.sub("%pip (.*)", lambda line: f"pip({line[1]!r})", "".join(cell["source"]))
    with pytest.raises(ModuleNotFoundError):
        exec(code, names)
    meant = "two_tower_course-0.1.0-py3-none-any.whl" if handed_out else names["published"]
    assert asked == [f'install --quiet "{meant}"'] and names["published"].startswith("two-tower-course @ git+https://")


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_half_of_each_tasks_points_have_a_public_check_of_substance(name: str) -> None:
    """Of substance: it refuses some wrong answer of the right form that the grader refuses."""
    found = [public_marks(name, kind) for kind in simulate.wrong_answers(name)]
    found += [{check: marks(spoilt(name, check), name, public_only=True)[check]} for check in SPOILT.get(name, {})]
    refused = {check for messages in found for check, message in messages.items() if message}
    points, task, tasks = simulate.points(name), "", defaultdict(dict)
    for cell in simulate.source(name)["cells"]:
        task = re.match(r"(## Task \d+)?", "".join(cell["source"]))[0] or task
        check = cell["metadata"]["nbgrader"]["grade_id"]
        if check in points:
            tasks[task][check] = points[check] if check in refused else 0
    short = {task: own for task, own in tasks.items() if 2 * sum(own.values()) < sum(points[check] for check in own)}
    assert short == {}


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_the_public_check_lets_everything_pass_that_earns_its_points(name: str) -> None:
    for kind in simulate.wrong_answers(name):
        found = {check for check, message in public_marks(name, kind).items() if message}
        assert found <= set(simulate.wrong_answers(name)[kind].lost)


@cache
def public_marks(name: str, kind: str) -> dict[str, str]:
    """The marks of a wrong submission by the public checks alone."""
    return marks(simulate.wrong(kind, name), name, public_only=True)
