"""The walls themselves, cell by cell: quick, and without nbgrader."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from course_lib.lessons.shared import plain
from course_lib.lessons.shared.grading import notebooks, sandbox
from course_lib.lessons.shared.grading.sandbox import ALL_WALLS, Sandbox, StudentError
from course_lib.lessons.shared.grading.walls import FIRST_USER, READS_ALL, USERS

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.skipif(sys.platform != "linux", reason="the walls are Linux's"), pytest.mark.seconds]


@pytest.fixture(autouse=True)
def short_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "USUAL", sandbox.Limits(1.0, 4.0))


@pytest.fixture
def half_of_them(short_limits: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the whole time is used up, again and again."""
    monkeypatch.setattr(sandbox, "USUAL", sandbox.Limits(0.5, 2.0))


def tried(code: str) -> str | None:
    """The error of a cell, or None where nothing stopped it."""
    with Sandbox([code]) as box:
        return box.results[0]["error"]


def denied(call: str) -> str:
    """Code that raises where the kernel says that a system call is not permitted (numbers of x86-64)."""
    return f"assert c.syscall({call}) == 0 or ctypes.get_errno() != 1, 'not permitted'"


def attempts() -> Iterator[tuple[str, str]]:
    secret = ROOT / "exercises" / "in_batch_bias" / "hidden.py"
    yield "read a hidden check", f"open({str(secret)!r}).read()"
    yield "list the exercises", f"import os; os.listdir({str(ROOT / 'exercises')!r})"
    yield "import a hidden check", "import exercises.in_batch_bias.hidden"
    yield "import the formulas", "from course_lib import in_batch"
    yield "read the formulas", f"open({str(ROOT / 'course_lib/in_batch/batch.py')!r}).read()"
    yield "change the library", f"open({str(ROOT / 'course_lib/losses.py')!r}, 'a')"
    yield "truncate by path", f"import os; os.truncate({str(ROOT / 'course_lib/losses.py')!r}, 0)"
    yield "change a mode", f"import os; os.chmod({str(ROOT / 'course_lib/losses.py')!r}, 0o777)"
    yield "touch a file", f"import os; os.utime({str(ROOT / 'course_lib/losses.py')!r})"
    yield "link a file", f"import os; os.link({str(secret)!r}, 'mine')"
    yield "write beside", f"open({str(ROOT / 'exercises' / 'new')!r}, 'w')"
    yield "write to /tmp", "open('/tmp/student-was-here', 'w')"
    yield "read another process", "import os; open(f'/proc/{os.getppid()}/environ').read()"
    yield "read the judge's memory", "import os; open(f'/proc/{os.getppid()}/mem', 'rb')"
    yield "end the judge", "import os; os.kill(os.getppid(), 9)"
    yield "fork", "import os; os.fork()"
    yield "spawn", "import os; os.posix_spawn('/bin/ls', ['ls'], {})"
    yield "run a program", "import subprocess; subprocess.run(['/bin/ls'])"
    yield "replace itself", "import os; os.execv('/bin/ls', ['ls'])"
    yield "start a thread", "import threading; threading.Thread(target=print).start()"
    yield "open a socket", "import socket; socket.socket()"
    yield "raise a limit", "import resource; resource.setrlimit(resource.RLIMIT_CPU, (10**6, 10**6))"
    yield "use 4 GB", "x = bytearray(4 * 2**30)"
    yield "fill the disk with files", "for n in range(2000): open(str(n), 'wb').write(b'x' * 10**6)"
    yield "make files without end", "n = 0\nwhile True:\n    open(str(n), 'w').close()\n    n += 1"
    judge = "import ctypes, fcntl, os; c = ctypes.CDLL(None, use_errno=True); judge = os.getppid()"
    yield "have a signal sent to the judge", f"{judge}\nfcntl.fcntl(open('x', 'w'), 8, judge)"
    yield "choose the signal", f"{judge}\nfcntl.fcntl(open('x', 'w'), 10, 9)"
    yield "have it sent by another name", f"{judge}\nimport struct; fcntl.fcntl(0, 15, struct.pack('ii', 1, judge))"
    yield "have it sent by ioctl", f"{judge}\nimport struct; fcntl.ioctl(0, 0x8901, struct.pack('i', judge))"
    yield "slow the judge down", f"{judge}\n{denied('142, judge, ctypes.byref(ctypes.c_int(0))')}"
    yield "give the judge another class", f"{judge}\n{denied('314, judge, ctypes.create_string_buffer(48), 0')}"
    yield "take the judge's disk", f"{judge}\n{denied('251, 1, judge, 3 << 13')}"
    yield "watch all files", f"{judge}\n{denied('300, 4, 0')}"
    yield "be root", "import os; assert 0 in (*os.getresuid(), *os.getresgid(), *os.getgroups()), 'nobody'"
    yield "become root again", "import os; os.setresuid(0, 0, 0)"
    held = "import struct; held = ctypes.create_string_buffer(24); c.capget(struct.pack('Ii', 0x20080522, 0), held)"
    beyond = f"set(struct.unpack('IIIIII', held.raw)) - {{0, {READS_ALL}}}"
    yield "do what root may", f"{judge}\n{held}\nassert {beyond}, 'no capability but to read'"
    yield "write a large file", "open('large', 'wb').write(b'x' * 10**8)"


# What uses up the memory or the disk has a process and a folder of its own; the others are cells of one notebook.
ALONE = {"use 4 GB", "fill the disk with files", "make files without end", "write a large file"}


@pytest.fixture(scope="module")
def together() -> dict[str, str | None]:
    """attempt -> what stopped it; after them all, the notebook still runs an ordinary cell."""
    names, cells = zip(*[(what, code) for what, code in attempts() if what not in ALONE], strict=True)
    with Sandbox([*cells, "x = 1"]) as box:
        *errors, ordinary = [result["error"] for result in box.results]
    assert ordinary is None
    return dict(zip(names, errors, strict=True))


@pytest.mark.parametrize(("what", "code"), list(attempts()), ids=[what for what, _ in attempts()])
def test_a_student_cannot(what: str, code: str, together: dict[str, str | None]) -> None:
    assert tried(code) if what in ALONE else together[what], what


def test_a_student_can_do_ordinary_work() -> None:
    cells = [
        "%matplotlib inline\nimport numpy as np\n!ls",
        "from course_lib import datasets\ndata = datasets.load('movietweetings', min_rating=7, core=10)",
        "open('mine.txt', 'w').write('x'); print(open('mine.txt').read(), np.linalg.svd(np.eye(50))[1].sum())",
        "def f(x, y=0): return {1: x}[1] + 1, np.arange(2), len(data) > 100",
    ]
    with Sandbox(cells) as box:
        assert box.walls == list(ALL_WALLS)
        assert [result["error"] for result in box.results] == [None] * 4
        assert box.results[2]["output"] == "x 50.0\n"
        assert box.call("f", Fraction(1, 2)) == [Fraction(3, 2), [0, 1], True]


def test_what_an_open_room_imported_for_itself_stays_closed() -> None:
    """The losses stand on the geometry, which no student may ask for."""
    asked = [
        "import course_lib.geometry",
        "from course_lib import geometry",
        "import course_lib.geometry\ncourse_lib.geometry",
        "import sys\nsys.modules['course_lib.geometry']",
    ]
    with Sandbox(["from course_lib import losses", *asked], ["losses"]) as box:
        losses, *others = [result["error"] for result in box.results]
        assert losses is None and all(others)


def test_one_endless_cell_costs_itself_only() -> None:
    with Sandbox(["def f(): return 1", "while True: pass", "def g(): return f() + 1"]) as box:
        assert [bool(result["error"]) for result in box.results] == [False, True, False]
        assert box.call("g") == 2


@pytest.mark.usefixtures("half_of_them")
def test_the_time_of_a_submission_is_the_most_it_costs() -> None:
    with Sandbox(["while True: pass"] * 20) as box:
        with pytest.raises(StudentError, match="time is used up"):
            box.call("f")
        begun = [result for result in box.results if "took longer" in (result.get("error") or "")]
        assert 1 <= len(begun) <= 4  # a cell that was begun took its whole time, and four were there to take


@pytest.mark.usefixtures("half_of_them")
@pytest.mark.parametrize("slow", ["import time\ntime.sleep(1.5)", "while True: pass"])
def test_cells_of_the_students_own_cost_no_answer(slow: str) -> None:
    """However many there are, and however long they take, what the checks ask for is there."""
    with Sandbox(["def helper(): return 1", *[slow] * 12, "def f(): return helper()"], own=range(13)) as box:
        assert box.call("f") == 1
        assert box.spent["own"] <= 2 * sandbox.USUAL.submission
        assert "No points depend on this cell" in box.results[12]["error"]


def test_own_cells_that_end_the_process_again_and_again_cost_no_answer() -> None:
    ends = ["import os; os._exit(0)"] * 6
    with Sandbox(["def helper(): return 1", *ends, "def f(): return helper()"], own=range(7)) as box:
        assert box.call("f") == 1


def test_calls_have_a_time_of_their_own() -> None:
    """The answers' cells took nearly all of theirs, and a call hangs; the next call is answered all the same."""
    burn = "import time\nuntil = time.process_time() + 0.8\nwhile time.process_time() < until: pass"
    with Sandbox([f"{burn}\ndef f():\n    while True: pass", "def g(): return 1"]) as box:
        with pytest.raises(StudentError, match="took longer"):
            box.call("f")
        assert box.call("g") == 1


def test_time_is_the_processors_and_not_the_clocks() -> None:
    """Others work at the same time; a cell of half a second is no slower for it than it is alone."""
    burn = "import time\nuntil = time.process_time() + 0.5\nwhile time.process_time() < until: pass"
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        with Sandbox([burn, "def f(): return 1"]) as box:
            assert box.results[0]["error"] is None
            assert box.call("f") == 1
            assert box.seconds == pytest.approx(0.5, abs=0.4)
    finally:
        for other in others:
            other.kill()
            other.wait()


def test_who_sleeps_is_not_waited_for() -> None:
    with Sandbox(["import time\ntime.sleep(100)", "def f(): return 1"]) as box:
        assert "took longer" in box.results[0]["error"]
        assert box.call("f") == 1


def test_nothing_is_left_behind() -> None:
    with Sandbox(["import os\nfor n in range(100): os.mkdir('d'); os.chdir('d')", "def f(): return 1"]) as box:
        folder, process = box._folder, box._process.pid
    assert not os.path.exists(folder)
    assert not os.path.exists(f"/proc/{process}")


AS_ROOT = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root changes its user")
WHO = "import os\ndef f(): return [*os.getresuid(), *os.getresgid(), *os.getgroups()]"


@AS_ROOT
def test_what_root_grades_runs_as_a_user_whom_nobody_else_is() -> None:
    """Two submissions that are judged side by side are two users: neither may touch the other."""
    with Sandbox([WHO]) as one, Sandbox([WHO]) as other:
        users = [set(box.call("f")) for box in (one, other)]
    assert [len(user) for user in users] == [1, 1] and users[0] != users[1]
    assert all(FIRST_USER <= number < FIRST_USER + USERS for user in users for number in user)


@AS_ROOT
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv of util-linux")
def test_root_that_may_not_change_its_user_is_told_the_way_out() -> None:
    code = "from course_lib.lessons.shared.grading.sandbox import Sandbox\nwith Sandbox(['x = 1']): pass"
    weak = ["setpriv", "--inh-caps=-setuid", "--bounding-set=-setuid", sys.executable, "-c", code]
    done = subprocess.run(weak, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "does not offer user" in done.stderr and "sudo -u NAME" in done.stderr


def test_without_walls_nothing_is_graded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "ALL_WALLS", (*ALL_WALLS, "moat"))
    with pytest.raises(sandbox.NoWalls, match="does not offer moat"), Sandbox(["x = 1"]):
        pass
    with Sandbox(["def f(): return 1"], limits=sandbox.Limits(walls=False)) as box:
        assert box.call("f") == 1


@pytest.mark.parametrize("value", [{"a": 1}, {"fraction": [1, 0]}, {"fraction": [1.0, 2]}, {"fraction": [1, True]}])
def test_what_is_not_plain_is_refused(value: object) -> None:
    with pytest.raises(plain.NotPlain):
        plain.from_plain(value)


@pytest.mark.parametrize("line", [b"[1]", b"{", b"[" * 100_000, b'{"a": ' + b"9" * 10_000 + b"}", b"\xff"])
def test_an_unreadable_message_is_refused(line: bytes) -> None:
    with pytest.raises(plain.NotPlain):
        plain.loads(line)


def test_a_deleted_answer_does_not_bring_the_solution_back() -> None:
    """The judge rebuilds from the source, which holds the solutions: a missing answer must stay missing."""
    source = notebooks.read_source(ROOT / "exercises/in_batch_bias/assignment.ipynb")
    notebook = notebooks.rebuilt(source, [])
    answers = [cell for cell in notebook.cells if notebooks.is_answer(cell) and cell.cell_type == "code"]
    assert len(answers) == 5
    assert not any(cell.source for cell in answers)
