"""A small class with the real nbgrader: pictures, split answers, texts elsewhere, broken files; and marks by hand."""

import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from classroom_helpers import classroom, grade_table

from exercises.engine import simulate
from exercises.engine.office.room import Room

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
ESSAY = "Weights differ, so nothing was destroyed."


def reference(essay: str, **about: object) -> dict:
    notebook = simulate.reference()
    notebook["cells"][-1] |= {"source": essay, **about}
    return notebook


def students() -> Iterator[tuple[str, dict]]:
    with_picture = {"attachments": {"plot.png": {"image/png": PICTURE}}}
    yield "anna", reference(f"{ESSAY} ![plot.png](attachment:plot.png)", **with_picture)
    yield "ben", reference("One line that was the end of everybody's feedback: ![plot.png](attachment:plot.png)")
    split = reference(ESSAY)
    at = next(n for n, cell in enumerate(split["cells"]) if cell["metadata"]["nbgrader"]["grade_id"] == "best_score")
    split["cells"].insert(at, {**split["cells"][at], "source": "helper = 1"})
    yield "cleo", split
    elsewhere = reference("*Write your answer here.*")
    elsewhere["cells"].insert(1, {"cell_type": "markdown", "metadata": {}, "source": ESSAY})
    yield "dora", elsewhere


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("real")
    for name, notebook in students():
        path = folder / "in" / f"{name}.ipynb"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(notebook), encoding="utf-8")
    (folder / "in" / "emil.ipynb").write_bytes(b"\x00")
    limits = ("--step-seconds=10", "--submission-seconds=40")
    classroom("all", "--submissions", folder / "in", "--course", folder, *limits)
    return folder


def page(course: Path, student: str) -> str:
    return (course / f"feedback/{student}/in-batch-bias/in-batch-bias.html").read_text(encoding="utf-8")


def test_everybody_gets_marks_and_a_page(course: Path) -> None:
    totals = {student: float(row["total"]) for student, row in grade_table(course).items()}
    assert totals == {"anna": 28, "ben": 28, "cleo": 28, "dora": 28, "emil": 0}
    assert all(page(course, student) for student in totals)


def test_a_pasted_picture_stands_in_the_feedback_and_a_missing_one_harms_nobody(course: Path) -> None:
    assert f"data:image/png;base64,{PICTURE}" in page(course, "anna")
    assert "plot.png" in page(course, "ben")


def test_a_text_elsewhere_waits_for_a_person(course: Path) -> None:
    rows = grade_table(course)
    assert {student: row["to_grade_by_hand"] for student, row in rows.items()} == {
        **dict.fromkeys(("anna", "ben", "cleo", "dora"), "1"),
        "emil": "0",
    }
    assert "no notebook in format 4" in rows["emil"]["look_at"]


def test_no_student_sees_the_rubric(course: Path) -> None:
    for path in course.rglob("*"):
        if path.is_file() and path.relative_to(course).parts[0] in ("feedback", "autograded", "release", "counted"):
            text = path.read_text(encoding="utf-8")
            assert "Rubric." not in text and "For graders only" not in text, path


@pytest.fixture(scope="module")
def server(course: Path) -> Iterator[str]:
    """`make grade-by-hand`, without a browser."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--no-browser", f"--port={port}", "--allow-root", "--IdentityProvider.token="]
    process = subprocess.Popen(
        [sys.executable, "-m", "exercises.engine.classroom", "by-hand", "--course", str(course), *options],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address, deadline = f"http://127.0.0.1:{port}", time.monotonic() + 120
    while True:
        try:
            urllib.request.urlopen(f"{address}/formgrader/gradebook").close()
            break
        except OSError:
            assert process.poll() is None and time.monotonic() < deadline, "the server did not start"
            time.sleep(0.2)
    yield address
    process.terminate()
    process.wait()


def submission(course: Path, student: str) -> str:
    with Room(course, "in-batch-bias").gradebook() as book:
        return str(book.find_submission_notebook("in-batch-bias", "in-batch-bias", student).id)


def fetched(address: str) -> str:
    with urllib.request.urlopen(address) as reply:
        return str(reply.read().decode())


def test_whoever_grades_sees_the_rubric_the_reference_and_the_text_wherever_it_stands(
    course: Path, server: str
) -> None:
    html = fetched(f"{server}/formgrader/submissions/{submission(course, 'dora')}/")
    assert "For graders only" in html and "Rubric." in html
    assert html.count(ESSAY) >= 2 and "The answer above is empty" in html
    assert f"data:image/png;base64,{PICTURE}" in fetched(
        f"{server}/formgrader/submissions/{submission(course, 'anna')}/"
    )
    assert fetched(f"{server}/formgrader/gradebook/in-batch-bias/in-batch-bias")


def test_a_mark_entered_there_reaches_table_and_feedback(course: Path, server: str) -> None:
    """Through formgrader's own interface, as its page sends it."""
    with sqlite3.connect(course / "gradebook.db") as database:
        (cell,) = database.execute(
            "select grade.id from grade join base_cell on base_cell.id = grade.cell_id "
            "where base_cell.name = 'criticise' and grade.notebook_id = ?",
            (submission(course, "dora"),),
        ).fetchone()
    fetched(f"{server}/formgrader/submissions/{submission(course, 'dora')}/")
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    reply = opener.open(f"{server}/formgrader/gradebook")
    token = re.search(r"_xsrf=([^;]+)", str(reply.headers)) or ["", ""]
    request = urllib.request.Request(
        f"{server}/formgrader/api/grade/{cell}",
        json.dumps({"id": cell, "manual_score": 5}).encode(),
        {"Content-Type": "application/json", "X-XSRFToken": token[1]},
        method="PUT",
    )
    assert opener.open(request).status == 200
    classroom("feedback", "--course", course)
    row = grade_table(course)["dora"]
    assert (row["total"], row["to_grade_by_hand"]) == ("33.0", "0")
    assert "33.0 / 34.0" in page(course, "dora").replace("\n", " ")


def feedback(course: Path, student: str) -> str:
    return (course / f"feedback/{student}/in-batch-bias/in-batch-bias.html").as_uri()


def test_a_person_grades_in_the_browser_and_the_student_reads_it_there(course: Path, server: str, browser: Any) -> None:
    """From the queue of `make grade-by-hand` to the page of feedback, with the mouse and the keyboard."""
    page = browser.new_page()
    page.goto(f"{server}/formgrader/gradebook/in-batch-bias/in-batch-bias")
    page.locator(f'a[href*="{submission(course, "anna")}"]').first.click()
    page.get_by_text("For graders only").wait_for()
    assert ESSAY in page.content() and "Rubric." in page.content()
    with page.expect_response(lambda reply: "/api/grade/" in reply.url and reply.request.method == "PUT"):
        page.locator(".rubric input").nth(0).check()
    for place in (1, 2, 5):
        with page.expect_response(lambda reply: "/api/grade/" in reply.url and reply.request.method == "PUT"):
            page.locator(".rubric input").nth(place).check()
    assert page.locator("input.score#criticise").input_value() == "4"
    with page.expect_response(lambda reply: "/api/comment/" in reply.url and reply.request.method == "PUT"):
        ticked = page.locator("textarea#criticise-comment").input_value()
        page.locator("textarea#criticise-comment").fill(f"{ticked}\n\nThe second experiment cannot fail.")
        page.keyboard.press("Tab")
    with page.expect_response(lambda reply: "/api/comment/" in reply.url and reply.request.method == "PUT"):
        page.locator(".rubric input").nth(3).check()  # a fifth, and a change of mind
    with page.expect_response(lambda reply: "/api/grade/" in reply.url and reply.request.method == "PUT"):
        page.locator(".rubric input").nth(3).uncheck()
    page.reload()
    page.locator(".rubric input:enabled").first.wait_for()
    assert [box.is_checked() for box in page.locator(".rubric input").all()] == [True, True, True, False, False, True]
    assert page.locator(".rubric output").inner_text() == "4"
    page.close()
    classroom("feedback", "--course", course)
    page = browser.new_page()
    page.goto(feedback(course, "anna"))
    assert "32.0 / 34.0" in page.locator("#top").inner_text()
    assert "4.0 of 6.0" in page.locator("section#criticise").inner_text()
    said = page.locator("section#criticise").inner_text()
    assert "The second experiment cannot fail." in said
    assert said.count("☑") == 4 and said.count("☐") == 2 and '☑ "destroyed" is refuted (1)' in said
    assert "ticks" not in grade_table(course)["anna"]["look_at"] and "test_" not in page.locator("#top").inner_text()
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_feedback_is_read_on_a_phone_in_the_dark_and_without_a_network(
    course: Path, browser: Any, scheme: str, width: int
) -> None:
    page, asked = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 800}), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(feedback(course, "ben"))
    assert asked == [feedback(course, "ben")], "one file, and nothing from elsewhere"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = "[...document.querySelectorAll('main *')].filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth)"
    hidden = f"{wide}.filter(e => getComputedStyle(e).overflowX === 'hidden').map(e => e.outerHTML.slice(0, 80))"
    assert page.evaluate(hidden) == [], "what is wider than the page scrolls in its own box, and is not cut off"
    light = "s => { const c = getComputedStyle(document.body)[s].match(/[0-9]+/g); return +c[0] + +c[1] + +c[2]; }"
    difference = page.evaluate(light, "color") - page.evaluate(light, "backgroundColor")
    assert difference > 500 if scheme == "dark" else difference < -500
    assert "not graded yet" in page.locator("#top").inner_text()
    assert "not graded yet" in page.locator("section#criticise header").inner_text()
    assert "not graded yet" not in page.locator("section#test_gap header").inner_text()
    page.close()


@pytest.mark.skipif(find_spec("latex2mathml") is None, reason="needs latex2mathml: pip install '.[classroom]'")
def test_the_formulas_of_feedback_need_no_script(course: Path, browser: Any) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(feedback(course, "ben"))
    assert page.locator("math").count() > 30 and page.locator("math mfrac").first.bounding_box()["height"] > 10
    assert "\\frac" not in page.locator("main").inner_text()
    page.close()


def test_make_runs_the_command_for_grading_by_hand() -> None:
    done = subprocess.run(
        ["make", "--dry-run", "grade-by-hand", "COURSE=/srv/class", "ASSIGNMENT=ddc"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert 'exercises.engine.classroom by-hand --course "/srv/class" --assignment "ddc"' in done.stdout


def test_without_a_class_it_says_what_to_do_first(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "exercises.engine.classroom", "by-hand", "--course", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0 and "nothing was graded" in done.stderr
