"""A small simulated class, released, collected and graded once by the real nbgrader with real walls."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from classroom_helpers import Graded, classroom, grade_table, needs_nbgrader

from exercises.engine import simulate

# Without nbgrader these are left out; each imports it only where it is asked, for it takes a second.
NEED_NBGRADER = (
    "classroom every_answer exchange hand_in histories kernel marks rosters office people_and_files real_class shell"
)
collect_ignore = [] if find_spec("nbgrader") else [f"test_{name}.py" for name in NEED_NBGRADER.split()]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything that asks for the graded class takes more than seconds."""
    for item in items:
        if "graded" in getattr(item, "fixturenames", ()):
            item.add_marker("slow")


@pytest.fixture(scope="session")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Graded:
    """Every kind of submission once, graded by one command."""
    needs_nbgrader()
    folder = tmp_path_factory.mktemp("classroom")
    simulate.write_class(folder / "handed-in", list(simulate.expected()))
    (folder / "tmp").mkdir()
    before = spoilable()
    classroom("all", "--submissions", folder / "handed-in", "--course", folder, "--workers", 2, TMPDIR=folder / "tmp")
    assert spoilable() == before, "a submission changed what is not its own"
    return Graded(folder, grade_table(folder))


def spoilable() -> dict[str, object]:
    """What a submission has no business to change: the course's files, this process's priority, the machine's name."""
    folders = (simulate.HERE, simulate.HERE.parent / "course_lib")
    files = {str(path): path.read_bytes() for folder in folders for path in folder.rglob("*.py")}
    files |= {str(path): path.read_bytes() for path in simulate.HERE.rglob("*.ipynb")}
    scheduled = os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0), os.sched_getaffinity(0)
    return {**files, "scheduled": scheduled, "name": os.uname().nodename, "temporary": Path("/tmp").stat().st_mode}


@pytest.fixture(scope="session")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classroom with the two released assignments of `planted_class`, to be copied; caches are warm afterwards."""
    needs_nbgrader()
    import nbformat
    import planted_class

    from exercises.engine import classroom as command
    from exercises.engine.grading.judge import fingerprint
    from exercises.engine.office.room import Room

    course = tmp_path_factory.mktemp("planted")
    for assignment in planted_class.ASSIGNMENTS:
        path = Room(course, assignment).notebook("source")
        path.parent.mkdir(parents=True)
        nbformat.write(planted_class.source(assignment), path)
    command.main(["release", "--course", str(course)])
    for assignment in planted_class.ASSIGNMENTS:
        fingerprint(*[Room(course, assignment).notebook("source")] * 2)
    return course
