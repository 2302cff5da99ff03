"""A place that a command will write to is tried before the work, and nothing is left in it."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from course_lib import outputs
from exercises.engine import classroom, exam, plans, variant, variants
from tools import export_notebooks


def test_a_folder_is_made_with_those_above_it_and_left_empty(tmp_path: Path) -> None:
    made = outputs.folder(str(tmp_path / "a" / "b"), "--out")
    assert made == tmp_path / "a" / "b" and not [*made.iterdir()]
    (made / "mine").write_text("kept")
    assert outputs.folder(made, "--out") == made and (made / "mine").read_text() == "kept"


def test_what_is_no_folder_to_write_into_is_named_with_its_flag(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(ValueError, match=r"--out is '.*file'; expected a folder, and this is a file"):
        outputs.folder(file, "--out")
    with pytest.raises(ValueError, match=r"--out is '.*x'; expected a folder that can be written \(Not a directory\)"):
        outputs.folder(file / "x", "--out")


def test_a_file_is_left_as_it_is_and_none_is_left_behind(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    assert outputs.file(path, "--out") == path and not path.exists()
    path.write_text("yesterday's")
    assert outputs.file(str(path), "--out").read_text() == "yesterday's"
    with pytest.raises(ValueError, match=r"--out is '.*'; expected a file that can be written \(Not a directory\)"):
        outputs.file(path / "x", "--out")


def test_a_link_stays_and_a_file_that_it_leads_to_is_not_left_behind(tmp_path: Path) -> None:
    link = tmp_path / "link.html"
    link.symlink_to(tmp_path / "yet.html")
    assert outputs.file(link, "--out") == link and link.is_symlink() and not link.exists()
    link.write_text("a report")
    assert link.is_symlink() and (tmp_path / "yet.html").read_text() == "a report"
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    with pytest.raises(ValueError, match=r"--out is '.*circle'; expected a file that can be written"):
        outputs.file(tmp_path / "circle", "--out")


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="a file system that takes no files, whoever asks: /proc")
def test_a_folder_that_is_there_and_takes_no_file_is_refused() -> None:
    for path in ("/proc", "/proc/x"):
        with pytest.raises(ValueError, match=r"--to is '/proc.*expected a folder that can be written"):
            outputs.folder(path, "--to")


@pytest.mark.parametrize(
    ("command", "words", "flag"),
    [
        (plans.main, [], "--out"),
        (plans.main, [], "--course"),
        (exam.main, ["--seed", "words that nobody guesses"], "--out"),
        (variant.main, ["--seed", "words that nobody guesses"], "--course"),
        (classroom.main, ["release"], "--course"),
    ],
)
def test_a_command_for_teachers_names_the_folder_before_it_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[[list[str]], None], words: list[str], flag: str
) -> None:
    for module, work in ((variants, "proved"), (exam, "write"), (classroom, "prepare")):
        monkeypatch.setattr(module, work, lambda *given: pytest.fail("it worked"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit, match=f"{flag} is '.*file/x'; expected a folder that can be written"):
        command([*words, *(["--out", "there"] if flag == "--course" and command is plans.main else []), flag, "file/x"])


def test_the_export_of_the_notebooks_names_its_folder_before_it_works(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(export_notebooks, "write", lambda *given: pytest.fail("it worked"))
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(sys, "argv", ["export_notebooks", str(tmp_path / "file" / "x")])
    assert export_notebooks.main() == 1
    assert "expected a folder that can be written" in capsys.readouterr().err
