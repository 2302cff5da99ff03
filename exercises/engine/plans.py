"""What students do in each week of a plan, with hours: `make syllabus PLAN=eight-weeks START=2027-01-11`.

Writes the syllabus of exercises/engine/syllabus.md with the weeks of the plan into _build/syllabus, and with START the
deadlines.toml that the classroom reads, with the same due dates and the same rule for late work; into the class's own
folder with COURSE. The plans stand in
plans.yml, the exercises of a chapter in the instructor's guide, and the minutes on the pages and in the assignments.
Reading is counted by the rule of tools/study_time.py.
"""

from __future__ import annotations

import re
import sys
import tomllib
from calendar import day_name
from datetime import date, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from course_lib import outputs
from course_lib.lessons.shared.grading.replay import EXPERIMENT, WARM_UP
from exercises.engine import chapters
from exercises.engine.options import Options
from exercises.engine.pages import filled
from tools import guide, study_time
from tools.conclusions import text_of
from tools.toc import page_of

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
FIRST = "book/start/first-model"
QUIZ, LAB = 15, 45  # minutes that the guide gives for a quiz, and the middle of what it gives for a lab
CLASS_HOURS = 3  # two sessions of 90 minutes
# The rule for late work, and what each part weighs in percent: as the syllabus states them, and the files of a class.
LATE = {"free_days": 4, "percent_per_day": 10, "at_most_percent": 50}
MARKS: dict[str, int] = {
    name: part["weight"] for name, part in tomllib.loads((HERE / "marks.toml").read_text("utf-8"))["parts"].items()
}
BESIDE = {
    "main": ("read the chapter", ""),
    "further": ("read the further page", "-further"),
    "reading": ("read the side page “How to read a paper”", "-reading"),
}
WEDNESDAY, SUNDAY = 2, 6
WEIGHTS = {"first-model-warm-up": 0.5, EXPERIMENT: 0.5, WARM_UP: 0.25}  # beside an assignment, which weighs 1
EXERCISE = re.compile(r":::\{exercise\} (.*?)\n.*?(\d+) minutes\.\*", re.DOTALL)


class Task(NamedTuple):
    """One thing to do in a week, and its minutes."""

    what: str
    minutes: float


class Week(NamedTuple):
    """A week of a plan: its heading, and the tasks outside class."""

    title: str
    tasks: list[Task]

    @property
    def hours(self) -> float:
        """All tasks together, to half an hour."""
        return round(sum(task.minutes for task in self.tasks) / 30) / 2


def plans() -> dict[str, Any]:
    """The plans of plans.yml, by name."""
    return dict(yaml.safe_load((HERE / "plans.yml").read_text(encoding="utf-8")))


def weeks(plan: dict[str, Any]) -> list[Week]:
    """The weeks of a plan with their tasks. KeyError for a page or an exercise that does not exist."""
    return [week(one) for one in plan["weeks"]]


def week(about: dict[str, Any]) -> Week:
    """One week of plans.yml."""
    tasks = []
    if about.get("first"):
        time = study_time.of_name(FIRST)
        tasks.append(Task(f"“{title_of(FIRST)}”, before the first session", time.reading + time.exercises))
    pages = [page_of(name) for name in chapters_of(about)]
    if pages:
        tasks += [reading(pages, beside) for beside in about["pages"]]
        wanted = exercises(pages, about["exercises"])
        tasks.append(Task("exercises: " + ", ".join(f"*{name}*" for name in wanted), sum(wanted.values())))
        if "main" in about["pages"]:
            tasks.append(Task("the quizzes" if pages[1:] else "the quiz", QUIZ * len(pages)))
    tasks += [Task(f"hand in `{name}` by {day_name[day]}", assignment_minutes(name)) for name, day in handed_in(about)]
    if "project" in about:
        tasks.append(Task(about["project"], 60.0 * about.get("hours", 0)))
    return Week("; ".join(map(title_of, pages)) or "Project", tasks)


def chapters_of(about: dict[str, Any]) -> list[str]:
    """The chapters of a week: one, several, or none where it has a project alone."""
    named = about.get("chapter", [])
    return [named] if isinstance(named, str) else list(named)


def handed_in(about: dict[str, Any]) -> list[tuple[str, int]]:
    """What is handed in in a week, each with its day, counted from Monday: warm-ups early, all else at the end."""
    found = [(f"{chapter}{WARM_UP}", WEDNESDAY) for chapter in about.get("warm_up", [])]
    found += [(f"{chapter}{EXPERIMENT}", SUNDAY) for chapter in about.get("experiment", [])]
    asked = about.get("assignment")
    return [*found, (about["chapter"] if asked is True else asked, SUNDAY)] if asked else found


def title_of(page: str) -> str:
    """The heading of a page."""
    return text_of(ROOT / f"{page}.ipynb").split("\n", 1)[0].removeprefix("# ").strip()


def not_due(plan: dict[str, Any]) -> list[str]:
    """The assignments of a plan's chapters that are due in none of its weeks."""
    due = {name for about in plan["weeks"] for name, _ in handed_in(about)}
    taught = {name for about in plan["weeks"] for name in chapters_of(about)}
    return [name for name in chapters.assignments() if name in taught - due]


def reading(pages: list[str], beside: str) -> Task:
    """The main pages, the further pages or the lab of a week's chapters."""
    if beside == "lab":
        return Task("the lab", LAB)
    if beside not in BESIDE:
        raise KeyError(f"pages: got {beside!r}, expected main, further, reading or lab")
    what, end = BESIDE[beside]
    minutes = sum(study_time.of_name(f"{page}{end}").reading for page in pages)
    return Task(what + "s" * (len(pages) > 1), minutes)


def exercises(pages: list[str], wanted: int | list[str]) -> dict[str, int]:
    """Title -> minutes of the exercises to do: the first so many that the guide names, or these titles."""
    texts = "\n".join(text_of(ROOT / f"{page}.ipynb") for page in pages)
    minutes = {title.strip('"'): int(time) for title, time in EXERCISE.findall(texts)}
    names = assigned(pages[0])[:wanted] if isinstance(wanted, int) else wanted
    if missing := set(names) - set(minutes):
        raise KeyError(f"{', '.join(pages)} has no exercise {sorted(missing)}")
    return {name: minutes[name] for name in names}


def assigned(page: str) -> list[str]:
    """The exercises that the guide assigns before class, then those at home, with a chapter or with its part."""
    _, part, name = page.split("/")
    handed_out = guide.homework(name) or guide.homework(part)
    if not handed_out:
        raise KeyError(f"the guide hands out no exercises of {page}; expected titles of exercises in plans.yml")
    return re.findall(r"\*([^*]+)\*", handed_out["Before class"] + handed_out["At home"])


def assignment_minutes(name: str) -> int:
    """The minutes that an assignment, a warm-up or an experiment states, task by task."""
    text = text_of(chapters.notebook_of(name))
    return sum(int(time) for time in re.findall(r"^\*\d+ points · .*?(\d+) minutes\*$", text, re.MULTILINE))


def as_table(plan: dict[str, Any], start: date | None = None) -> str:
    """The weeks of a plan in Markdown; with the first Monday, dates."""
    lines = ["| week | chapter | to do outside class | hours |", "|---|---|---|---|"]
    for number, one in enumerate(weeks(plan), start=1):
        first = start + timedelta(weeks=number - 1) if start else None
        day = f"{number}, {first.day} {first:%B}" if first else str(number)
        lines.append(f"| {day} | {one.title} | {'; '.join(task.what for task in one.tasks)} | {one.hours:g} |")
    return "\n".join(lines)


def syllabus(name: str, start: date | None = None) -> str:
    """The syllabus with the weeks of a plan. KeyError for an unknown plan."""
    if name not in plans():
        raise KeyError(f"no plan {name!r}; expected one of {', '.join(plans())}")
    plan = plans()[name]
    hours = [one.hours for one in weeks(plan)]
    numbers = {"least": min(hours), "most": max(hours), "total": sum(hours) + CLASS_HOURS * len(hours)}
    about = {"plan": plan["title"], "count": len(hours), **{name: f"{one:g}" for name, one in numbers.items()}}
    return filled("syllabus.md", **about, weeks=as_table(plan, start), not_due=not_due(plan), **LATE, **MARKS)


def deadlines(plan: dict[str, Any], start: date) -> str:
    """The deadlines.toml of a plan: assignments and experiments are due on Sundays, warm-ups on Wednesdays."""
    named = [(number, name, day) for number, one in enumerate(plan["weeks"]) for name, day in handed_in(one)]
    due = {name: start + timedelta(weeks=number, days=day) for number, name, day in named}
    weights = {name: next((weight for end, weight in WEIGHTS.items() if name.endswith(end)), 1) for name in due}
    return filled("deadlines.toml.j2", late=LATE, due=due, weights=weights)


def files(folder: Path, start: date | None, plan: dict[str, Any], *, keep: bool) -> list[str]:
    """Writes what a class is told by its syllabus; with `keep` only what is not there yet. Returns the names."""
    texts = {name: (HERE / name).read_text(encoding="utf-8") for name in ("marks.toml", "project.yml")}
    texts |= {"deadlines.toml": deadlines(plan, start)} if start else {}
    new = [name for name in texts if not (keep and (folder / name).exists())]
    for name in new:
        (folder / name).write_text(texts[name], encoding="utf-8")
    return new


def monday(text: str) -> date:
    """The first day of a term, from START. SystemExit for what is no date, and for a date that is no Monday."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        sys.exit(f"syllabus: START={text}: expected the Monday of the first week, written as 2027-01-11")
    if day.weekday():
        before = day - timedelta(days=day.weekday())
        told = f"is a {day:%A}, and the weeks begin on Mondays"
        sys.exit(f"syllabus: START={text} {told}; expected {before} or {before + timedelta(weeks=1)}")
    return day


def main(arguments: list[str] | None = None) -> None:
    parser = Options(__doc__)
    parser.add_argument("--plan", default="eight-weeks", help=f"one of {', '.join(plans())}")
    parser.add_argument("--start", type=monday, help="the first Monday, 2027-01-11")
    parser.add_argument("--out", type=Path, default=ROOT / "_build" / "syllabus", help="where the syllabus is written")
    parser.add_argument("--course", type=Path, help="the class's folder: gets the other files, where it has none yet")
    given = parser.parse_args(arguments)
    try:
        text = syllabus(given.plan, given.start)
        for flag, folder in (("--out", given.out), ("--course", given.course)):
            if folder is not None:
                outputs.folder(folder, flag)
    except (KeyError, ValueError) as error:
        sys.exit(f"syllabus: {error.args[0]}")
    path = given.out / f"{given.plan}.md"
    path.write_text(text, encoding="utf-8")
    print(f"syllabus: {path}")
    if given.start:
        folder = given.course or given.out
        written = files(folder, given.start, plans()[given.plan], keep=given.course is not None)
        print(f"syllabus: {', '.join(written) or 'no file was missing'} in {folder}")


if __name__ == "__main__":
    main()
