"""Writes a course folder with assignments of your own: `make variant SEED=words-that-nobody-guesses COURSE=folder`.

Numbers and questions are drawn from the seed; the same seed gives the same assignments. In FOLDER:

    source/NAME/NAME.ipynb   statements, solutions and hidden checks, for `make classroom COURSE=FOLDER`
    solutions/NAME.ipynb     the solutions without hidden checks, to read or to hand out afterwards
    variants/NAME.md         its seed and what was drawn, for each check

Each assignment is proved before it is written: its own solution passes every public and hidden check, and the public
answer to each varied task fails it. Keep the folder, and the seed, from students.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from course_lib import outputs
from exercises.engine import chapters, inputs, simulate, variants
from exercises.engine.grading.judge import write_whole
from exercises.engine.options import Options
from exercises.engine.pages import filled
from exercises.engine.variants import Variant, changes, must_vary


def main(arguments: list[str] | None = None) -> None:
    parser = Options(__doc__)
    parser.add_argument("--seed", required=True, help="any words; students must not be able to guess them")
    parser.add_argument("--course", type=Path, required=True, help="the folder to write, which nobody publishes")
    every = chapters.with_file("variant.py")  # all but drafts
    parser.add_argument("--assignment", choices=every, help="one assignment (without it: all)")
    given = parser.parse_args(arguments)
    inputs.usable("variant", given.seed)
    try:
        course = outputs.folder(given.course.resolve(), "--course")
    except ValueError as error:
        sys.exit(f"variant: {error}")
    for name in [given.assignment] if given.assignment else every:
        began = time.monotonic()
        try:
            variant = variants.proved(name, given.seed)
            write(course, variant, given.seed)
        except (variants.Inconsistent, FileExistsError) as error:
            sys.exit(f"variant: {error}")
        print(f"variant: {name}: {share(variant)}, proved in {time.monotonic() - began:.0f} s")
    for name in [] if given.assignment else [*chapters.warm_ups(), *chapters.experiments()]:
        chapters.hand_over(name, course)
    print(f"variant: {course}; next: make classroom COURSE={course}")


def write(course: Path, variant: Variant, seed: str) -> None:
    """The files of a variant. FileExistsError where another version of the assignment lies there already."""
    name, source = variant.assignment, course / "source" / variant.assignment / f"{variant.assignment}.ipynb"
    both = variant.source, simulate.solved(variant.source)
    text, solution = (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n" for notebook in both)
    if source.exists() and source.read_text(encoding="utf-8") != text:
        raise FileExistsError(f"{source} holds another version, which a class may be working on: take another folder")
    write_whole(source, text)
    write_whole(course / "solutions" / f"{name}.ipynb", solution)
    write_whole(course / "variants" / f"{name}.md", described(variant, seed))


def share(variant: Variant) -> str:
    """How many of the points by machine vary."""
    points = simulate.points(variant.assignment)
    own = sum(points[check] for check in must_vary(variant.assignment))
    return f"{own:g} of {sum(points.values()):g} machine points vary"


def described(variant: Variant, seed: str) -> str:
    """The seed and the numbers of each check, in Markdown."""
    every, varied = simulate.points(variant.assignment), must_vary(variant.assignment)
    about = {"assignment": variant.assignment, "seed": seed, "share": share(variant).capitalize()}
    given = changes(variant.assignment).CHECKS
    drawn = {check: {name: variant.numbers[name] for name in given.get(check, ())} for check in every}
    return filled("variant.md.j2", **about, every=every, varied=varied, drawn=drawn)


if __name__ == "__main__":
    main()
