"""The tasks that a reader does in the page: with the words of the class's checks, and taken in by the class."""

import ast
import io
import json
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pages_that_run import shown

from course_lib.lessons.shared.forms import PASSED, NotYet
from course_lib.lessons.shared.grading import notebooks
from course_lib.lessons.shared.grading.hand_in import replayed
from exercises.engine import chapters, simulate
from exercises.engine.grading import judge
from tools import python_in_page, tasks_in_page, toc

CHAPTERS = [page.rpartition("/")[2] for page in toc.way() if (python_in_page.ROOT / f"{page}.ipynb").is_file()]
WARM_UPS = [chapter for chapter in CHAPTERS if chapter not in tasks_in_page.OF_PRACTICE]
SECTION = '<section id="exercises"><h2>Exercises</h2></section>'


class Answer(NamedTuple):
    """One answer of a chapter: the first cell, what is handed out, its solution, its check."""

    name: str
    setup: str
    stub: str
    right: str
    check: str

    @property
    def wrong(self) -> str:
        [function] = [node for node in ast.parse(self.stub).body if isinstance(node, ast.FunctionDef)]
        return f"def {function.name}(*given):\n    return 0"

    def said(self, code: str) -> str:
        """What CPython prints of this code in the place of the answer."""
        names: dict[str, Any] = {}
        out = io.StringIO()
        with redirect_stdout(out):
            exec(f"{self.setup}\n{code}", names)
            try:
                exec(self.check, names)
            except NotYet as refused:
                print(refused)
        return out.getvalue()


def answers(chapter: str) -> Iterator[Answer]:
    found = tasks_in_page.tasks(chapter)
    solved = simulate.reference("practice" if chapter in tasks_in_page.OF_PRACTICE else f"{chapter}-warm-up")
    right = {cell["metadata"]["nbgrader"]["grade_id"]: cell["source"] for cell in solved["cells"]}
    for task in found["tasks"]:
        runs = [one for one in task["answers"] if not one["text"]]
        for one, check in zip(runs, task["checks"], strict=True):
            yield Answer(one["name"], found["setup"], one["code"], right[one["name"]], check)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_chapter_has_tasks_and_the_page_holds_no_solution(chapter: str) -> None:
    every = list(answers(chapter))
    assert every
    found = json.dumps(tasks_in_page.tasks(chapter))
    assert "BEGIN" not in found and "hidden import" not in found and ".on(" not in found
    for one in every:
        assert one.said(one.right) == f"{PASSED}\n" and PASSED not in one.said(one.wrong)
        with pytest.raises(NotImplementedError):
            one.said(one.stub)
        own = set(one.right.splitlines()) - set(one.stub.splitlines())
        assert own and not [line for line in own if json.dumps(line)[1:-1] in found]


@pytest.mark.parametrize("chapter", WARM_UPS)
def test_the_notebook_to_take_along_is_what_a_class_hands_out(chapter: str) -> None:
    made, empty = tasks_in_page.tasks(chapter)["notebook"], simulate.empty(f"{chapter}-warm-up")
    *own, last = made["cells"]
    assert [cell["source"].rstrip() for cell in own] == [cell["source"].rstrip() for cell in empty["cells"]]
    assert [cell["metadata"] for cell in own] == [cell["metadata"] for cell in empty["cells"]]
    assert f'checks.hand_in("{chapter}-warm-up.ipynb")' in last["source"]
    assert notebooks.handed_out(json.dumps(made).encode()).cells == [*own, last]


def shows(page: Any, chapter: str) -> None:
    page.evaluate(
        "async (chapter) => (await import(new URL('_static/tasks_here.js', location.href)))"
        ".show(document.querySelector('.tasks-here'), chapter)",
        chapter,
    )


def ran(page: Any, place: int, code: str) -> tuple[str, str]:
    """What a cell prints of a code, and how it says that it ended."""
    cell = page.locator(".tasks-here .cell").nth(place)
    cell.locator("textarea").fill(code)
    cell.locator("textarea").press("Control+Enter")
    cell.locator("button:enabled", has_text="Run").wait_for(timeout=120_000)
    return cell.locator("pre").text_content(), cell.locator("output").text_content()


@pytest.mark.pipeline
@pytest.mark.browser
def test_each_check_says_in_the_page_what_it_says_here(browser: Any, tmp_path: Path) -> None:
    first = {"page": CHAPTERS[0], "tasks": "5", "minutes": "60"}
    with shown(browser, tmp_path, SECTION, "run_here.js", **first) as (page, _address, asked):
        page.get_by_role("button", name="Do 5 tasks here").wait_for()
        assert not any("python/" in url or "tasks" in url for url in asked)
        page.get_by_role("button", name="Do 5 tasks here").click()
        page.locator(".tasks-here .cell").first.wait_for()
        for chapter in CHAPTERS:
            shows(page, chapter)
            for place, one in enumerate(answers(chapter)):
                assert ran(page, place, one.wrong) == (one.said(one.wrong), "Not yet."), (chapter, one.name)
                assert ran(page, place, one.right) == (one.said(one.right), "Passed."), (chapter, one.name)
        printed, how = ran(page, 0, "1 / 0")
        assert how == "It ended with an error." and printed.count("File") == 1 and "ZeroDivisionError" in printed


@pytest.mark.pipeline
@pytest.mark.browser
@pytest.mark.slow
def test_a_warm_up_done_in_the_page_is_graded_like_one_from_jupyter(browser: Any, tmp_path: Path) -> None:
    chapter = "in-batch-bias"
    name, every = f"{chapter}-warm-up", list(answers(chapter))
    with shown(browser, tmp_path, SECTION, "run_here.js", page=chapter, tasks="3", minutes="20") as (page, *_):
        page.get_by_role("button", name="Do 3 tasks here").click()
        page.locator(".tasks-here .cell").first.wait_for()
        for place, one in enumerate(every):
            page.locator(".tasks-here textarea").nth(place).fill(one.right)
        page.reload()  # what was written is kept
        page.get_by_role("button", name="Do 3 tasks here").click()
        found = {"right": taken_along(page)}
        page.locator(".tasks-here textarea").first.fill(every[0].wrong)
        found["wrong"] = taken_along(page)
    source = chapters.hand_over(name, tmp_path / "class")
    for kind, lost in (("right", set()), ("wrong", {f"test_{every[0].name}"})):
        path = tmp_path / f"{kind}.ipynb"
        path.write_bytes(found[kind])
        graded = judge.judge(source, path)
        assert {check for check, told in graded["checks"].items() if not told["passed"]} == lost
        assert graded["look_at"] == []
        handed = replayed(found[kind], name)
        assert sum("NOT passed" in line for *_, line in handed["tasks"]) == len(lost) and len(handed["tasks"]) == 3


def taken_along(page: Any) -> bytes:
    with page.expect_download() as kept:
        page.get_by_role("button", name="Download as the notebook").click()
    assert kept.value.suggested_filename == "in-batch-bias-warm-up.ipynb"
    return Path(kept.value.path()).read_bytes()
