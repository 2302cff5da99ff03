"""How similar the code of a class is: `make similarity COURSE=folder`, with copydetect (winnowing, as MOSS does).

The answers of each student, without what was handed out, are compared with those of the others, with the public
solutions, with the course's own solutions, and with the modules of course_lib that grade the assignment. In
similarity/ of the classroom's folder: NAME.csv, a line for each student, and NAME.html with the pairs side by side.

The names of variables do not matter to it, rewritten code is not found, and two honest answers to a short task may look
alike. A high share is a reason to read the two, and to ask; it proves nothing.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

try:
    from copydetect import CopyDetector
except ImportError:
    sys.exit("copydetect is missing. `make similarity` installs it, or: pip install '.[classroom]'")

from course_lib.dependencies import dependencies
from course_lib.lessons.shared.grading import notebooks
from course_lib.lessons.shared.grading.reading import python_only
from course_lib.lessons.shared.grading.replay import checks_name
from exercises.engine import chapters, simulate
from exercises.engine.grading.judge import write_whole
from exercises.engine.office.texts import write_table
from exercises.engine.options import Options
from exercises.engine.pages import filled

ROOT = chapters.HERE.parent
LEAST = 0.5  # from this share on a pair stands in the page


def main(arguments: list[str] | None = None) -> None:
    parser = Options(__doc__)
    parser.add_argument("--course", type=Path, default=chapters.HERE, help="the classroom's folder (this one)")
    parser.add_argument("--assignment", choices=chapters.assignments(), help="one of them (without it: all)")
    given = parser.parse_args(arguments)
    course = given.course.resolve()
    names = [given.assignment] if given.assignment else chapters.assignments()
    every = {name: sorted(course.glob(f"counted/*/{name}/{name}.ipynb")) for name in names}
    if not any(every.values()):
        sys.exit(f"similarity: nothing was handed in in {course}: collect first")
    for name, submitted in every.items():
        if submitted:
            rows = report(course, name, submitted)
            high = sum(row["share"] >= LEAST for row in rows)
            print(f"similarity: {name}: {high} to look at, of {len(rows)} with code of their own")
    print(f"similarity: {course / 'similarity'}")


def report(course: Path, name: str, submitted: Iterable[Path]) -> list[dict[str, Any]]:
    """Writes the table and the page of one assignment; returns the table's rows, the highest share first."""
    folder = course / "similarity" / name
    shutil.rmtree(folder, ignore_errors=True)
    for path in submitted:
        if work := _work(path):
            write_whole(folder / "students" / f"{path.parts[-3]}.py", work)
    if not folder.exists():
        return []
    own, public = course / "source" / name / f"{name}.ipynb", chapters.file(name, "assignment.ipynb")
    write_whole(folder / "solutions" / "public.py", _work(public))
    if own.exists() and own.read_bytes() != public.read_bytes():
        write_whole(folder / "solutions" / "own.py", _work(own))
    write_whole(folder / "handed-out" / "handed-out.py", _code(simulate.empty(name)["cells"]))
    students, solutions, handed_out = (str(folder / name) for name in ("students", "solutions", "handed-out"))
    about = {"extensions": ["py"], "display_t": LEAST, "autoopen": False, "silent": True}
    detector = CopyDetector(
        test_dirs=[students], ref_dirs=[students, solutions], boilerplate_dirs=[handed_out], **about
    )
    for path in sorted(dependencies(checks_name(name))):
        if path.suffix == ".py" and path.parent.name != "grading":
            detector.add_file(str(path), type="ref")
    detector.run()
    pairs = [
        (share, _named(Path(first)), _named(Path(second)), left, right)  # copydetect has escaped the code
        for share, _, first, second, left, right, _ in detector.get_copied_code_list()
    ]
    write_whole(folder.with_suffix(".html"), filled("similarity.html.j2", name=name, pairs=pairs))
    rows = sorted(_rows(detector), key=lambda row: -float(row["share"]))
    write_table(folder.with_suffix(".csv"), list(rows[0]), rows)
    return rows


def _work(path: Path) -> str:
    """The code of a notebook's answers and of the student's own cells, without what was left as it was handed out."""
    cells = notebooks.student_cells(notebooks.read_source(path))
    own = [cell for cell in cells if notebooks.is_answer(cell) or notebooks.is_own(cell)]
    return _code(cell for cell in own if not notebooks.is_stub(cell.source))


def _code(cells: Iterable[Any]) -> str:
    code = (cell["source"] for cell in cells if cell["cell_type"] == "code")
    return "\n\n".join(python_only(source) for source in code)


def _rows(detector: Any) -> Iterator[dict[str, Any]]:
    """For each student: whose code theirs is most like among all, and among classmates."""
    students = {Path(file).stem for file in detector.test_files}
    for file, shares in zip(detector.test_files, detector.similarity_matrix[:, :, 0].tolist(), strict=True):
        both = zip(shares, map(Path, detector.ref_files), strict=True)
        found = sorted(((max(0.0, share), _named(path)) for share, path in both if path != Path(file)), reverse=True)
        of_class, classmate = next(((share, one) for share, one in found if one in students), (0.0, ""))
        row = {"student": Path(file).stem, "share": round(found[0][0], 3), "like": found[0][1]}
        yield row | {"share_of_class": round(of_class, 3), "classmate": classmate}


def _named(path: Path) -> str:
    """A student, a solution, or a module of course_lib."""
    if path.is_relative_to(ROOT / "course_lib"):
        return str(path.relative_to(ROOT))
    return f"the {path.stem} solution" if path.parent.name == "solutions" else path.stem


if __name__ == "__main__":
    main()
