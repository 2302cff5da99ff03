"""Writes an exam: `make exam SEED=words-that-nobody-guesses CHAPTERS="ddc gauge-freedom" QUESTIONS=4`.

    questions.md, questions.html                    what students get, without the seed
    answers-and-marks.md, answers-and-marks.html    model answers and marking schemes, for graders
    exam.yml                                        these schemes as a rubric, for the class's marks.toml

They lie in a folder whose name does not show the seed. The numbers come from the seed, the answers from course_lib. The
same seed makes the same exam; keep it from students: with it anybody can print the answers. QUESTIONS is how many of
each chapter (without it: all), or their numbers, as in "2,5,9". The HTML files need nothing else and print well.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from course_lib import outputs
from exercises.engine import chapters, inputs
from exercises.engine.asking import MINUTES_PER_POINT, Exam, Template
from exercises.engine.grading.judge import write_whole
from exercises.engine.options import Options
from exercises.engine.pages import filled, html_of
from tools import toc

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str] | None = None) -> None:
    parser = Options(__doc__)
    parser.add_argument("--seed", required=True, help="any words; students must not be able to guess them")
    parser.add_argument("--chapters", nargs="*", help="their names (without it: all)")
    parser.add_argument("--questions", default="", help="how many of each chapter, or their numbers: 2,5,9")
    parser.add_argument("--out", type=Path, default=ROOT / "_build" / "exam", help="a folder outside the site")
    given = parser.parse_args(arguments)
    inputs.usable("exam", given.seed)
    names = given.chapters or with_exam()
    try:
        chosen = {name: asked(exam(name).templates, given.questions, given.seed) for name in names}
        outputs.folder(given.out, "--out")
    except (KeyError, ValueError) as error:
        sys.exit(f"exam: {error.args[0]}")
    for path in write(given.out / folder_of(given.seed), chosen, given.seed):
        print(f"exam: {path}")


def with_exam() -> list[str]:
    """The chapters that have an exam, in the order of the book."""
    order = [Path(page).name for page, _ in toc.pages()]
    found = chapters.with_file("exam.py")
    return sorted(found, key=lambda name: (order.index(name) if name in order else len(order), name))


def exam(chapter: str) -> Exam:
    """The exam of a chapter. KeyError for a chapter that has none."""
    if chapter not in with_exam():
        raise KeyError(f"no exam on {chapter!r}; expected one of {', '.join(with_exam())}")
    made: Exam = chapters.module(chapter, "exam").EXAM
    return made


def folder_of(seed: str) -> str:
    """The name of a seed's folder, of eight letters and digits: a listing of the folder does not give the seed away."""
    return hashlib.sha256(f"folder {seed}".encode()).hexdigest()[:8]


def asked(templates: Sequence[Template], questions: str, seed: str) -> list[Template]:
    """The templates that an exam asks, in their order: all, so many drawn by the seed, or those of these numbers.

    Of a number, one of each kind is drawn first; of one larger than all, all are asked. ValueError for what is neither.
    """
    if not questions.strip():
        return list(templates)
    numbers = [int(number) for number in re.findall(r"[0-9]+", questions)]
    several, most = len(numbers) > 1 or "," in questions, len(templates)
    misread = not numbers or not re.fullmatch(r"[0-9, ]+", questions)
    if misread or min(numbers) < 1 or (several and max(numbers) > most):
        raise ValueError(
            f"QUESTIONS={questions!r}: {templates[0].chapter} has {most} questions; "
            f"expected how many to ask, such as 4, or their numbers from 1 to {most}, such as 2,5"
        )
    if several:
        return [templates[number - 1] for number in sorted(set(numbers))]
    order = [int(place) for place in inputs.of_words(f"{seed} {templates[0].chapter}").permutation(len(templates))]
    first = {templates[place].kind: place for place in reversed(order)}
    chosen = list(first.values())[: numbers[0]]
    chosen += [place for place in order if place not in chosen][: numbers[0] - len(chosen)]
    return [templates[place] for place in sorted(chosen)]


def write(folder: Path, chosen: dict[str, list[Template]], seed: str) -> list[Path]:
    """The files of an exam; returns their paths."""
    drawn = [template.draw(seed) for templates in chosen.values() for template in templates]
    about = {"drawn": drawn, "seed": seed, "minutes": MINUTES_PER_POINT}
    about["points"] = sum(question.template.points for question in drawn)
    marks = [(number, *one) for number, question in enumerate(drawn, start=1) for one in question.marking()]
    items = [{"points": points, "item": f"{number}. {' '.join(what.split())}"} for number, points, what in marks]
    texts = {"exam.yml": yaml.safe_dump(items, allow_unicode=True, sort_keys=False, width=1000)}
    for name, title, answers in (("questions", "Exam", False), ("answers-and-marks", "Answers and marks", True)):
        texts[f"{name}.md"] = filled("exam.md.j2", **about, answers=answers)
        texts[f"{name}.html"] = html_of(title, texts[f"{name}.md"])
    for name, text in texts.items():
        write_whole(folder / name, text)
    return [folder / name for name in texts]


if __name__ == "__main__":
    main()
