"""An option that is given twice is refused by every command, and not decided silently."""

from types import ModuleType

import pytest

from exercises.engine import classroom, exam, marks, plans, similarity, variant

CASES = {
    classroom: ["release", "--assignment", "ddc", "--assignment", "practice"],
    exam: ["--seed", "any words", "--chapters", "ddc", "--chapters", "judging"],
    marks: ["--course", "a", "--course", "b"],
    plans: ["--start", "2027-01-11", "--start", "2027-01-18"],
    similarity: ["--assignment", "ddc", "--assignment", "practice"],
    variant: ["--seed", "any words", "--course", "a", "--course", "b"],
}


@pytest.mark.parametrize("command", CASES, ids=lambda command: command.__name__.rpartition(".")[2])
def test_an_option_that_is_given_twice_is_refused(command: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(CASES[command])
    assert f"{CASES[command][-2]} is given twice: say it once" in capsys.readouterr().err


def test_a_column_of_a_roster_may_be_given_often() -> None:
    given = classroom.parsed(["roster", "--from", "f.csv", "--column", "student=A", "--column", "name=B"])
    assert given.column == ["student=A", "name=B"]
