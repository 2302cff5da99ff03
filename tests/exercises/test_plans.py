"""The weeks of the plans: those of the instructor's guide, with the exercises and the hours of the pages."""

import re
import tomllib
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from course_lib.lessons.shared.grading.replay import chapter_of
from exercises.engine import plans
from exercises.engine.chapters import HERE, assignments, experiments, warm_ups
from exercises.engine.office import late
from tools import guide, study_time, toc
from tools.toc import page_of

PLANS = plans.plans()
GUIDE = guide.GUIDE.read_text(encoding="utf-8")
every_plan = pytest.mark.parametrize("name", PLANS)
PARTS = {"in-batch": "book/sampling/in-batch-bias", "Gramian": "book/sampling/gramian-estimators"}


def rows(plan: dict[str, Any]) -> list[str]:
    """What the guide's table says of each week; "8 and 9" and "10 to 12" are several weeks."""
    [section] = [part for part in GUIDE.split("\n### ") if part.startswith(plan["guide"])]
    found: list[str] = []
    for first, joint, last, text in re.findall(r"^\| (\d+)(?: (and|to) (\d+))? \| (.*)$", section, re.MULTILINE):
        assert int(first) == len(found) + 1
        found += [text] * (int(last) - int(first) + 1 if joint else 1)
    return found


def test_every_plan_of_the_guide_is_here() -> None:
    headings = re.findall(r"^### (.*)$", GUIDE.split("## Plans")[1].split("## Chapter")[0], re.MULTILINE)
    assert sorted(plan["guide"] for plan in PLANS.values()) == sorted(headings)


@every_plan
def test_the_weeks_are_those_of_the_guide(name: str) -> None:
    plan = PLANS[name]
    told = rows(plan)
    assert len(told) == len(plan["weeks"])
    for about, text in zip(plan["weeks"], told, strict=True):
        if "chapter" not in about:
            assert text.startswith("project")
            continue
        for page in map(page_of, plans.chapters_of(about)):
            named = plans.title_of(page) in text or f"chapters on {page.split('/')[1]}" in text
            assert named or any(word in text and page == PARTS[word] for word in PARTS) or name == "in-batch"
        if name == "in-batch":
            assert set(about["exercises"]) == set(re.findall(r"\*([^*]+)\*", text.split("|")[-2]))


@every_plan
def test_the_hours_are_those_of_the_pages(name: str) -> None:
    for about, one in zip(PLANS[name]["weeks"], plans.weeks(PLANS[name]), strict=True):
        assert 1 <= one.hours <= 9, (one.title, one.hours)
        if "chapter" in about and "main" in about["pages"]:
            times = [study_time.of_name(page_of(chapter)) for chapter in plans.chapters_of(about)]
            read = next(task for task in one.tasks if task.what.startswith("read the chapter"))
            done = next(task for task in one.tasks if task.what.startswith("exercises"))
            assert read.minutes == sum(time.reading for time in times)
            assert 0 < done.minutes <= sum(time.exercises for time in times)
            assert next(task for task in one.tasks if "quiz" in task.what).minutes == 15 * len(times)


def test_every_second_assignment_is_due_in_eight_weeks() -> None:
    assert [about.get("assignment") is True for about in PLANS["eight-weeks"]["weeks"]] == [False, True] * 4


def test_no_assignment_is_handed_out_before_its_chapter() -> None:
    text = plans.syllabus("eight-weeks")
    early = "a week before" in text
    for plan in PLANS.values():
        first = {name: week for week, about in enumerate(plan["weeks"]) for name in plans.chapters_of(about)}
        first |= {"first-model": -1, "practice": first.get("serving", len(plan["weeks"]))}  # its last chapter
        for week, about in enumerate(plan["weeks"]):
            for name, _ in plans.handed_in(about):
                assert week - early >= first[chapter_of(name)]


def test_twelve_weeks_use_every_part_and_swing_between_three_and_six_hours() -> None:
    """Every chapter is read, every warm-up and experiment due; every assignment is due or named as one to try."""
    plan = PLANS["twelve-weeks"]
    hours = [one.hours for one in plans.weeks(plan)]
    assert min(hours) >= 3 and max(hours) <= 6
    pages = [page_of(name) for about in plan["weeks"] for name in plans.chapters_of(about)]
    assert pages == [one.page for one in toc.entries(toc.tree()) if one.number and not one.depth]
    due = [name for about in plan["weeks"] for name, _ in plans.handed_in(about)]
    assert set(due) >= {*warm_ups(), *experiments()} and len(due) == len(set(due))
    to_try = plans.not_due(plan)
    assert sorted({*due, *to_try} & {*assignments()}) == assignments() and not {*due} & {*to_try}
    parts = {page_of(name).split("/")[1] for name in due if name in assignments()}
    assert parts == {page.split("/")[1] for page in pages}
    assert all(f"`{name}`" in plans.syllabus("twelve-weeks") and f"`{name}`" in GUIDE for name in to_try)
    every, more = (sum(map(plans.assignment_minutes, names)) / 60 for names in (assignments(), to_try))
    free = 6 * len(hours) - sum(task.minutes for one in plans.weeks(plan) for task in one.tasks) / 60
    project = sum(about.get("hours", 0) for about in plan["weeks"])
    text = " ".join(GUIDE.split())
    assert f"{min(hours):g} to {max(hours):g} hours a week outside class" in text
    left = f"{every:.0f} hours and would leave {free + project - more:.0f} for the project, in place of {project:g}"
    assert left in text


def test_the_project_of_twelve_weeks_has_the_hours_of_its_page() -> None:
    milestones = [about for about in PLANS["twelve-weeks"]["weeks"] if "project" in about]
    stated = sum(about["hours"] for about in milestones)
    assert f"For pairs, {stated:g} hours for each student" in (HERE / "engine" / "projects.md").read_text("utf-8")


def test_a_longer_plan_names_each_chapter_that_it_leaves_out() -> None:
    [text] = [part for part in GUIDE.split("\n### ") if part.startswith("Eight weeks")]
    read = {page_of(name) for about in PLANS["eight-weeks"]["weeks"] for name in plans.chapters_of(about)}
    for one in toc.entries(toc.tree()):
        if one.number and not one.depth and one.page not in read:
            assert f"*{plans.title_of(one.page)}*" in text or f"*{one.part}*" in text


def test_a_warm_up_is_due_in_the_middle_of_its_week_and_weighs_less() -> None:
    read = tomllib.loads(plans.deadlines(PLANS["twelve-weeks"], date(2027, 1, 11)))["assignments"]
    assert (read["ddc-warm-up"]["due"].date(), read["ddc-warm-up"]["weight"]) == (date(2027, 3, 10), 0.25)
    assert read["first-model-warm-up"] == {"due": datetime(2027, 1, 17, 23, 59), "weight": 0.5}
    assert read["practice"] == {"due": datetime(2027, 3, 28, 23, 59)}
    assert read["cosine-orthogonality-experiment"] == {"due": datetime(2027, 1, 24, 23, 59), "weight": 0.5}
    assert (
        read["jacobian-conditions"]["due"].date() == date(2027, 1, 31) and "weight" not in read["jacobian-conditions"]
    )


@pytest.mark.parametrize(
    ("start", "said"),
    [
        ("soon", "START=soon: expected the Monday of the first week, written as 2027-01-11"),
        ("2027-02-30", "expected the Monday"),
        ("2027-01-13", "is a Wednesday.*expected 2027-01-11 or 2027-01-18"),
    ],
)
def test_a_term_begins_on_a_monday(start: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=said):
        plans.main(["--start", start, "--out", str(tmp_path)])
    assert list(tmp_path.iterdir()) == []


def test_minutes_and_exercises_are_read_from_their_sources() -> None:
    assert plans.assigned("book/debiasing/ddc")[:2] == ["The user with one film", "DDC from scratch"]
    assert plans.assignment_minutes("ddc") == 195
    for wrong in (["No such exercise"], ["By hand"]):
        with pytest.raises(KeyError, match="has no exercise"):
            plans.exercises(["book/debiasing/ddc"], wrong)
    with pytest.raises(KeyError, match="no chapter 'dcd'"):
        page_of("dcd")
    with pytest.raises(KeyError, match="expected main, further, reading or lab"):
        plans.reading(["book/debiasing/ddc"], "appendix")


@every_plan
def test_the_syllabus_is_filled_in(name: str, tmp_path: Path) -> None:
    plans.main(["--plan", name, "--start", "2027-01-11", "--out", str(tmp_path)])
    text = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
    assert "«" not in text and text.count("\n| 1, 11 January | ") == 1
    assert sum(int(share) for share in re.findall(r"\| (\d+) % \|", text)) == 100
    assert text.count("\n| ") >= len(PLANS[name]["weeks"]) + 6


@every_plan
def test_the_classroom_reads_the_same_due_dates_and_the_same_rule_for_late_work(name: str, tmp_path: Path) -> None:
    plans.main(["--plan", name, "--start", "2027-01-11", "--out", str(tmp_path)])
    found = late.read_deadlines(tmp_path)
    handed_in = [one for about in PLANS[name]["weeks"] for one in plans.handed_in(about)]
    assert [(one, due.weekday()) for one, due in found.due.items()] == handed_in
    assert all((due.hour, due.minute) == (23, 59) for due in found.due.values())
    text = " ".join((tmp_path / f"{name}.md").read_text(encoding="utf-8").split())
    assert f"has {found.late.free_days} late days in the term" in text
    assert (
        f"costs {found.late.percent_per_day:g} % of the points earned, at most {found.late.at_most_percent:g} %" in text
    )


def test_an_unknown_plan_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="expected one of in-batch"):
        plans.main(["--plan", "none", "--out", str(tmp_path)])
    assert "| 1 | " in plans.as_table(PLANS["geometry"]) and "| 2, 8 February |" in plans.as_table(
        PLANS["geometry"], date(2027, 2, 1)
    )


def test_a_class_gets_what_its_syllabus_says_and_keeps_what_a_teacher_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    course = tmp_path / "class"
    asked = ["--plan", "two-weeks", "--start", "2027-01-11", "--out", str(tmp_path), "--course", str(course)]
    plans.main(asked)
    assert sorted(path.name for path in course.iterdir()) == ["deadlines.toml", "marks.toml", "project.yml"]
    assert late.read_deadlines(course).due and not (tmp_path / "marks.toml").exists()
    (course / "marks.toml").write_text("mine")
    plans.main(asked)
    assert (course / "marks.toml").read_text() == "mine" and "no file was missing" in capsys.readouterr().out
