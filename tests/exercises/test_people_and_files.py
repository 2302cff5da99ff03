"""Names in ten scripts, files in any encoding, days of the calendar, archives, and large notebooks: without a class."""

import io
import json
import resource
import stat
import time
import unicodedata
import zipfile
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from course_lib.lessons.shared.grading import notebooks, skim
from exercises.engine.office import intake, late, people
from exercises.engine.office.texts import Failed

MOODLE = "assignsubmission_file_"

# ---- names ----

PEOPLE = {  # identifier -> name, and what platforms and people make of it
    "wang": ("王小明", "王 小明", "小明 王"),
    "petrov": ("Иван Петров", "ПЕТРОВ, Иван", "петров иван", "иванпетров"),
    "alyona": ("Алёна Фёдорова", "Алена Федорова"),
    "nikos": ("Νίκος Παπαδόπουλος", "ΠΑΠΑΔΟΠΟΥΛΟΣ ΝΙΚΟΣ", "Νικος Παπαδοπουλος"),
    "kim": ("김철수", unicodedata.normalize("NFD", "김철수")),
    "ali": ("محمد علي", "علي، محمد", "محمد علی", "مُحَمَّد علي"),
    "david": ("דוד כהן", "כהן, דָּוִד"),
    "somchai": ("สมชาย ใจดี", "ใจดี สมชาย"),
    "sharma": ("हिन्दी शर्मा", "शर्मा, हिन्दी"),
    "suzuki": ("すずき がく", "がく すずき"),
    "dang": ("Đặng Thị Hồng", "Dang Thi Hong", "Ðặng Thị Hồng", "hongdangthi"),
    "isik": ("Işık Yılmaz", "Isik Yilmaz", "IŞIK YILMAZ", "yilmazisik"),
    "lukasz": ("Łukasz Żółć", "Lukasz Zolc"),
    "sorensen": ("Søren Åsen", "Soren Asen", "Soeren Aasen"),
    "weiss": ("Jörg Weiß", "Joerg Weiss", "JÖRG WEISS", "weissjorg"),
    "kamaaina": ("Kūhiō Kamaʻāina", "Kuhio Kama'aina", "kamaainakuhio"),
    "nguyen": ("Nguyễn Thị Minh Khai An", "An Nguyen Thi Minh Khai", "annguyenthiminhkhai"),
}
SPELLINGS = [(student, spelling) for student, spellings in PEOPLE.items() for spelling in spellings]
CLASS = people.Roster([people.Person(student, spellings[0]) for student, spellings in PEOPLE.items()])


@pytest.mark.parametrize(("student", "spelling"), SPELLINGS)
def test_a_roster_knows_a_name_in_its_own_script(student: str, spelling: str) -> None:
    assert CLASS.match(spelling).student == student
    who = people.label(f"{spelling}_103_{MOODLE}")
    assert (who.platform, who.number, CLASS.match(who.name, "moodle", "103").student) == ("moodle", "103", student)


def test_a_roster_knows_an_address_and_what_stands_before_its_sign(tmp_path: Path) -> None:
    two = people.Roster([people.Person("asmith", "Anna Smith", "as.1@example.org"), people.Person("b", "Anna B")])
    assert [two.match(name).student for name in ("as.1@example.org", "AS.1", "Anna")] == ["asmith", "asmith", None]


@pytest.mark.parametrize("name", ["がく", "小明", "Иван", "すすき かく", "Anna"])
def test_another_name_is_nobodys(name: str) -> None:
    """A part of a name is none, and a mark that makes another sound is no accent."""
    assert CLASS.match(name).student is None


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        *((name, name) for name in ("anna", "Anna", "anna.smith@example.org", "a_b-c.d", "王小明", "김철수")),
        ("Anna Smith", "anna-smith"),
        ("Müller, Jörg", "muller-jorg"),
        ("Łukasz Øre", "lukasz-ore"),
        ("Иван Петров", "иван-петров"),
        ("דָּוִד כהן", "דוד-כהן"),
        ("हिन्दी शर्मा", "हिन्दी-शर्मा"),
        ("a/../b", "a-b"),
        ("\u202egpj\u200f", "gpj"),
        ("???", None),
        ("x" * 300, "x" * 64),
    ],
)
def test_without_a_roster_a_name_becomes_an_identifier(name: str, identifier: str | None) -> None:
    assert people.Roster(everybody=True).match(name).student == identifier
    assert identifier is None or people.is_identifier(identifier)


@pytest.mark.parametrize("name", ["王" * 300, "한글" * 100, "हिन्दी" * 60])
def test_an_identifier_fits_into_the_name_of_a_file(name: str) -> None:
    found = people.identifier(name) or ""
    assert 30 <= len(found.encode()) <= people.LONGEST_NAME and people.is_identifier(found)


def test_two_names_of_one_script_are_two() -> None:
    names = ["王小明", "王小红", "Иван Петров", "Иван Петровский", "김철수", "김철호"]
    assert len({people.identifier(name) for name in names}) == len(names)


NUMBERED = """student,name,moodle_id,canvas_id,section
anna1,Anna Schmidt,101 205,4711,103
anna2,Anna Schmidt,102,4712,103
ben,Ben Wolf,,,103
"""


@pytest.mark.parametrize(
    ("folder", "student"),
    [
        (f"Anna Schmidt_101_{MOODLE}", "anna1"),
        (f"Anna Schmidt_205_{MOODLE}", "anna1"),
        (f"Anna Schmidt_102_{MOODLE}", "anna2"),
        (f"Participant_102_{MOODLE}", "anna2"),
        (f"Anna Schmidt_999_{MOODLE}", None),
        (f"Ben Wolf_103_{MOODLE}", "ben"),
        ("schmidtanna_4712_9_ddc", "anna2"),
        ("schmidtanna_LATE_4711_9_ddc", "anna1"),
        ("schmidtanna_9999_9_ddc", None),
    ],
)
def test_the_number_of_a_platform_decides(tmp_path: Path, folder: str, student: str | None) -> None:
    (tmp_path / "roster.csv").write_text(NUMBERED, encoding="utf-8")
    who = people.label(folder)
    match = people.read_roster(tmp_path).match(who.name, who.platform, who.number)
    assert match.student == student
    assert student or f"column {who.platform}_id" in str(match.advice)


# ---- rosters and deadlines as editors save them ----

ROSTER = "student,name\na1,Jörg Müller\na2,Łukasz 王\n"
DEADLINES = '# Fällig\n[assignments.ddc]\ndue = 2026-11-20T23:59:00+01:00\nweight = 2\n[extensions."jörg"]\nddc = 1\n'
UNICODE = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"]


@pytest.mark.parametrize("encoding", UNICODE)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_every_unicode_encoding_is_read(tmp_path: Path, encoding: str, line_end: str) -> None:
    for name, text in (("roster.csv", ROSTER), ("deadlines.toml", DEADLINES)):
        (tmp_path / name).write_bytes(text.replace("\n", line_end).encode(encoding))
    names = {student: person.name for student, person in people.read_roster(tmp_path).people.items()}
    assert names == {"a1": "Jörg Müller", "a2": "Łukasz 王"}
    found = late.read_deadlines(tmp_path)
    assert found.weight("ddc") == 2 and found.extension("jörg", "ddc") == 1


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "iso-8859-2", "cp1250", "mac_roman"])
def test_an_encoding_of_one_country_is_refused_in_a_line_that_says_what_to_do(tmp_path: Path, encoding: str) -> None:
    """Read wrong, a name would be nobody's; and which of them it is cannot be seen."""
    for name, text in (("roster.csv", ROSTER.replace("Łukasz 王", "x")), ("deadlines.toml", DEADLINES)):
        (tmp_path / name).write_bytes(text.encode(encoding))
    for read, error, name in (
        (people.read_roster, Failed, "roster.csv"),
        (late.read_deadlines, Failed, "deadlines.toml"),
    ):
        with pytest.raises(error, match=rf"{name}: line \d is not in UTF-8: save the file once more as UTF-8") as told:
            read(tmp_path)
        assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    "text",
    [
        "student;name;email\na1;Müller, Jörg;jm@x\n",
        "student\tname\temail\na1\tMüller, Jörg\tjm@x\n",
        'student,name,email\na1,"Müller, Jörg",jm@x\n',
        '"student";"name";"email"\r\n"a1";"Müller, Jörg";"jm@x"\r\n',
        "sep=;\nstudent;name;email\na1;Müller, Jörg;jm@x\n",
        "\n student ; name;email;;\n\n;;;\n a1 ; Müller, Jörg ;jm@x;;\n   \n",
        "student;name;email\ra1;Müller, Jörg;jm@x\r",
    ],
)
def test_a_roster_as_spreadsheets_write_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "roster.csv").write_bytes(text.encode())
    (person,) = people.read_roster(tmp_path).people.values()
    assert person == people.Person("a1", "Müller, Jörg", "jm@x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected one called 'student'"),
        ("student,name,name\na,b,c\n", "the column name stands there twice"),
        (
            "student,name,email\na,Müller, Jörg,x@y\n",
            r"line 2 has 4 cells for 3 columns: put a name with ',' in quotes",
        ),
        ('student,name\na,"Müller\n', "roster.csv: "),
        ("student,name\n\n\n\u200b,x\n", "line 4: student is"),
        ("student\na\nb\na\n", "line 4: student 'a' stands there twice"),
        ("student,name\n" + "a," + "x" * 200_000, "field larger"),
    ],
)
def test_a_roster_that_cannot_be_right_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "roster.csv").write_text(text, encoding="utf-8")
    with pytest.raises(Failed, match=message):
        people.read_roster(tmp_path)


def test_a_roster_that_is_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "roster.csv").mkdir()
    with pytest.raises(Failed, match="cannot be read"):
        people.read_roster(tmp_path)


def test_the_column_student_may_be_written_in_any_letters(tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_text("student,name\n王小明,Wang\n", encoding="utf-8")
    assert people.read_roster(tmp_path).match("王小明").student == "王小明"


DDC = "[assignments.ddc]\ndue = "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[late", "deadlines.toml"),
        ("[penalty]\nper_day = 1", "unknown field `penalty`; expected some of zone, late, assignments, extensions"),
        ("[assignments.ddc]\nwieght = 2", "assignments.ddc is .*unknown field `wieght`; expected some of due, weight"),
        ("[late]\nfree_day = 3", "late is .*unknown field `free_day`; expected some of free_days, percent_per_day"),
        ("[late]\nfree_days = -1", "late.free_days is '-1': Expected `int` >= 0"),
        ("late = 3", "late is '3': Expected `object`"),
        ("assignments = []", r"the file.assignments is '\[\]': Expected `object`"),
        ("assignments.ddc = 2026-11-20T23:59:00", "assignments.ddc is"),
        ('[extensions.anna]\nddc = "2"', r"extensions.anna\[...\] is .*'ddc': '2'.*: Expected `float`, got `str`"),
        ("[extensions.anna]\nddc = 1e9", "Expected `float` <= 3660"),
        ("[late]\nfree_days = 1.5", "late.free_days is '1.5': Expected `int`"),
        ("[late]\npercent_per_day = nan", "late.percent_per_day is 'nan'"),
        ("[late]\npercent_per_day = inf", "late.percent_per_day is 'inf': Expected `float` <= 100"),
        ("[late]\nat_most_percent = 500", "late.at_most_percent is '500': Expected `float` <= 100"),
        ("[assignments.ddc]\nweight = true", "assignments.ddc.weight is 'True': Expected `float`"),
        ("[assignments.ddc]\nweight = inf", "assignments.ddc.weight is 'inf'"),
        (f'{DDC}"2026-11-20T23:59:00"', "expected a date with a time"),
        (f"{DDC}2026-11-20", "expected a date with a time"),
        (f"{DDC}9999-12-31T23:59:59", "expected a date of a class"),
        (f"{DDC}0001-01-01T00:00:00+14:00", "expected a date of a class"),
        (f'zone = "Europe/Berlin"\n{DDC}2026-03-29T02:30:00', "which no clock showed"),
        (f'zone = "Australia/Lord_Howe"\n{DDC}2026-10-04T02:15:00', "which no clock showed"),
        ('zone = "Berlin"', "expected a name such as 'Europe/Berlin'"),
        ('zone = "../../etc/passwd"', "expected a name such as"),
        ("zone = 1", "expected a name such as"),
        ("x = " + "[" * 100_000, "deadlines.toml: "),
    ],
)
def test_deadlines_that_cannot_be_meant_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "deadlines.toml").write_text(text, encoding="utf-8")
    with pytest.raises(Failed, match=message):
        late.read_deadlines(tmp_path)


# ---- days of the calendar ----


def days_late(zone: str, due: str, handed_in: str, extension: float = 0) -> int:
    """Times are those of the zone's clocks, or have an offset."""
    clock = ZoneInfo(zone)

    def moment(text: str) -> datetime:
        when = datetime.fromisoformat(text)
        return when if when.tzinfo else when.replace(tzinfo=clock)

    deadlines = late.Deadlines(
        {"ddc": moment(due).astimezone(UTC)}, extensions={"anna": {"ddc": extension}}, zone=clock
    )
    return deadlines.days_late("anna", "ddc", moment(handed_in).astimezone(UTC))


@pytest.mark.parametrize(
    ("zone", "due", "handed_in", "extension", "days"),
    [
        ("Europe/Berlin", "2026-11-14T23:59:00", "2026-11-14T23:59:00", 0, 0),
        ("Europe/Berlin", "2026-11-14T23:59:00", "2026-11-14T23:59:01", 0, 1),
        # the end of summer time: that day has 25 hours
        ("Europe/Berlin", "2026-10-24T23:59:00", "2026-10-25T23:58:00", 1, 0),
        ("Europe/Berlin", "2026-10-24T23:59:00", "2026-10-26T00:01:00", 1, 1),
        ("Europe/Berlin", "2026-10-24T23:59:00+02:00", "2026-10-25T22:58:00+00:00", 1, 0),
        ("Europe/Berlin", "2026-10-20T23:59:00", "2026-10-29T23:58:00", 7, 2),
        # its beginning: that day has 23
        ("Europe/Berlin", "2026-03-28T23:59:00", "2026-03-30T00:01:00", 1, 1),
        ("Europe/Berlin", "2026-03-28T23:59:00", "2026-03-29T23:58:00", 1, 0),
        # a day that ends at a time that no clock shows ends after the gap; at one that is shown twice, the second time
        ("Europe/Berlin", "2026-03-28T02:30:00", "2026-03-29T01:29:00+00:00", 1, 0),
        ("Europe/Berlin", "2026-10-24T02:30:00", "2026-10-25T01:29:00+00:00", 1, 0),
        ("Europe/Berlin", "2026-10-25T02:30:00+02:00", "2026-10-25T01:00:00+00:00", 0, 1),
        # half an hour; the other half of the world; a zone without summer time
        ("Australia/Lord_Howe", "2026-10-03T23:59:00", "2026-10-05T00:01:00", 1, 1),
        ("Australia/Lord_Howe", "2026-04-04T23:59:00", "2026-04-05T23:58:00", 1, 0),
        ("America/New_York", "2026-10-31T23:59:00", "2026-11-01T23:58:00", 1, 0),
        ("Asia/Kolkata", "2026-10-24T23:59:00", "2026-10-25T23:58:00", 1, 0),
        ("UTC", "2026-10-24T23:59:00", "2026-10-26T12:00:00", 1.5, 1),
        ("UTC", "2026-10-24T23:59:00", "2026-10-26T11:58:00", 1.5, 0),
    ],
)
def test_days_are_those_of_the_calendar(zone: str, due: str, handed_in: str, extension: float, days: int) -> None:
    assert days_late(zone, due, handed_in, extension) == days


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Australia/Lord_Howe", "America/Santiago", "UTC"])
def test_every_day_of_a_year_begins_where_the_calendar_has_it(zone: str) -> None:
    """Due every day of the year at 23:59; handed in a minute before and after the same time some days later."""
    clock = ZoneInfo(zone)
    for first in range(0, 366, 3):
        due = datetime(2026, 1, 1, 23, 59) + timedelta(days=first)
        for more in (1, 2, 30):
            then = due + timedelta(days=more)
            for minute, days in ((-1, more), (1, more + 1)):
                handed_in = (then + timedelta(minutes=minute)).replace(tzinfo=clock)
                assert days_late(zone, due.isoformat(), handed_in.isoformat()) == days, (due, handed_in)


def test_a_due_time_without_an_offset_is_one_of_the_zone_that_the_file_names(tmp_path: Path) -> None:
    (tmp_path / "deadlines.toml").write_text(f'zone = "Asia/Tokyo"\n{DDC}2026-11-20T23:59:00\n', encoding="utf-8")
    assert late.read_deadlines(tmp_path).due["ddc"] == datetime(2026, 11, 20, 14, 59, tzinfo=UTC)


# ---- notebooks whose sources are small ----


def file(cells: Iterable[object], **more: object) -> bytes:
    return json.dumps({"metadata": {}, "nbformat": 4, **more, "cells": [*cells]}).encode()


ANSWER = {"cell_type": "code", "metadata": {"nbgrader": {"grade_id": "a"}}, "source": ["x = 1\n", "y"], "outputs": []}
PLAIN = notebooks.Cell("a", "code", "x = 1\ny")


@pytest.mark.parametrize(
    "strange",
    [
        {"cell_type": "raw", "source": None, "id": None, "metadata": None},
        {"cell_type": "code", "source": 3},
        {"cell_type": "code", "source": {"a": ["b"]}},
        {"cell_type": "code", "source": [None, 3, ["x"]]},
        {"cell_type": None, "metadata": []},
        {"metadata": {"nbgrader": {"grade_id": ["a"]}}, "attachments": 3, "id": 7},
        {},
        None,
        "cell",
        ["source"],
        1.5,
    ],
)
def test_one_strange_cell_refuses_no_file(strange: object) -> None:
    found = notebooks.handed_in(file([strange, ANSWER, strange]))
    assert [cell for cell in found if cell.source] == [PLAIN]
    assert all(cell.name is None and cell.id is None for cell in found if cell != PLAIN)


LARGE = 25_000_000
OUTPUTS: dict[str, Callable[[], dict[str, object]]] = {
    "picture": lambda: {"data": {"image/png": "A" * LARGE}},
    "lines": lambda: {"text": ["x" * 99 + "\n"] * (LARGE // 100)},
    "one text": lambda: {"text": 'xxxxxxxx\n\\"' * (LARGE // 12)},
    "table": lambda: {"data": {"application/json": [[0.25, 1.5] * 20] * (LARGE // 220)}},
}


@pytest.mark.seconds
@pytest.mark.parametrize("kind", OUTPUTS)
def test_outputs_may_be_large(kind: str) -> None:
    own = {"cell_type": "code", "source": "", "outputs": [OUTPUTS[kind]()]}
    assert notebooks.handed_in(file([own, ANSWER]))[-1] == PLAIN


@pytest.mark.seconds
def test_the_state_of_widgets_may_be_large() -> None:
    state = OUTPUTS["picture"]()
    own = {"cell_type": "code", "source": "", "metadata": state}
    assert notebooks.handed_in(file([own, ANSWER], metadata={"widgets": {"state": state}}))[-1] == PLAIN


@pytest.mark.parametrize("encoding", UNICODE)
def test_a_notebook_in_any_unicode_encoding_is_read(encoding: str) -> None:
    text = json.dumps({"cells": [{"source": "Jörg, 王 and 🎓"}]}, ensure_ascii=False)
    (cell,) = notebooks.handed_in(text.encode(encoding))
    assert cell.source == "Jörg, 王 and 🎓"


def test_a_notebook_in_windows_1252_is_read_too() -> None:
    (cell,) = notebooks.handed_in('{"cells": [{"source": "# Jörg"}]}'.encode("cp1252"))
    assert cell.source == "# Jörg"


NO_NOTEBOOKS: dict[str, tuple[Callable[[], bytes], str]] = {
    "large": (lambda: b"x" * (notebooks.MOST_BYTES + 1), "at most 100,000,000 are read"),
    "open brackets": (lambda: b"[" * 20_000_000, "more than can be read"),
    "empty lists": (lambda: b'{"cells": [{"outputs": [' + b"[]," * 9_000_000, "more than can be read"),
    "members": (lambda: b"{" + b'"a": 1, ' * 5_000_000, "more than can be read"),
    "quotes": (lambda: b'{"cells": ["' + b'\\"' * 20_000_000, "no notebook"),
    "a text without an end": (lambda: b'{"cells": ["' + b"a" * 20_000_000, "no notebook"),
    "a source": (lambda: b'{"cells": [{"source": "' + b"a" * 11_000_000 + b'"}]}', "without its outputs"),
    "sources": (lambda: file([{"cell_type": "code", "source": "x=1\n" * 20_000}] * 20), "at most 1,000,000 are read"),
    "a deep source": (lambda: b'{"cells": [{"source": ' + b"[" * 100_000 + b"]" * 100_000 + b"}]}", "no notebook"),
    "space": (lambda: b" " * 50_000_000, "no notebook"),
    "no list": (lambda: b'{"cells": {"a": 1}}', "no notebook"),
    "format 3": (lambda: b'{"worksheets": [{"cells": []}]}', "no notebook"),
    "cut off": (lambda: b'{"cells": [{"source": "x"}', "no notebook"),
    "no comma": (lambda: b'{"cells": [{"source": "x" "y"}]}', "no notebook"),
    "no value": (lambda: b'{"cells": [{"source": tru}]}', "no notebook"),
    "no quotes": (lambda: b"{cells: []}", "no notebook"),
    "an array": (lambda: b'["cells"]', "no notebook"),
    "a PDF": (lambda: b"%PDF-1.7", "no notebook"),
}


@pytest.mark.seconds
@pytest.mark.parametrize("kind", NO_NOTEBOOKS)
def test_what_is_no_notebook_is_refused_soon_and_with_little_memory(kind: str) -> None:
    make, message = NO_NOTEBOOKS[kind]
    content = make()
    before, began = resource.getrusage(resource.RUSAGE_SELF), time.process_time()
    with pytest.raises(notebooks.Unreadable, match=message):
        notebooks.handed_in(content)
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert time.process_time() - began < 20
    assert after.ru_maxrss - before.ru_maxrss < 200_000, "kB"


def test_members_are_those_of_json() -> None:
    text = b' {"a" : [1, -2.5e3,true , null,"x\\"]}", {"b":[]}, []], "\\u00e4": {} } '
    first, second = skim.members(text, 0)
    assert (first.name, second.name) == ("a", "ä")
    values = [skim.value(text, member) for member in skim.members(text, first.begin)]
    assert values == [1, -2500.0, True, None, 'x"]}', {"b": []}, []]
    assert skim.value(text, first) == values and list(skim.members(text, second.begin)) == []


# ---- archives ----


def packed(files: dict[str, bytes], **about: int) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, (name, content) in enumerate(files.items()):
            info = zipfile.ZipInfo(name, (2026, 11, 10, 12, number % 60, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = about.get(name.replace(".", "_"), 0o644) << 16
            archive.writestr(info, content)
    return target.getvalue()


ASSIGNMENTS = {"ddc": frozenset({"a"}), "gauge": frozenset({"b"})}
WORK = file([ANSWER])


def came(folder: Path, roster: people.Roster | None = None) -> dict[str, tuple[str | None, str | None, str | None]]:
    """path -> (student, assignment, problem) of all that came and is no archive that was opened."""
    found = intake.arrivals(folder, ASSIGNMENTS, roster or people.Roster(everybody=True))
    return {one.path: (one.student, one.assignment, one.problem) for one in found if not one.opened}


def put(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


LOOSE = {
    "Müller Jörg/ddc.ipynb": "muller-jorg",
    "Anna Smith/ddc/ddc.ipynb": "anna-smith",
    "Anna Smith.ipynb": "anna-smith",
    "smith, anna - ddc.ipynb": "smith-anna",
    "alice/ddc (1).ipynb": "alice",
    "alice/homework final.ipynb": "alice",
    "alice/ddc.ipynb.json": "alice",
    "alice/notebooks/week 1/ddc.ipynb": "alice",
    "ddc - alice (2).ipynb": "alice",
    "Anna Smith_12345_assignsubmission_file_/ddc.ipynb": "anna-smith",
    "Anna Smith_12345_assignsubmission_file_ddc.ipynb": "anna-smith",
    "smithanna_4711_815_ddc.ipynb": "smithanna",
    "smithanna_LATE_4711_815_ddc-1.ipynb": "smithanna",
    "Week 1_asmith_attempt_2026-11-20-10-11-12_ddc.ipynb": "asmith",
}


@pytest.mark.parametrize(("path", "student"), LOOSE.items())
def test_names_as_people_and_platforms_write_them(tmp_path: Path, path: str, student: str) -> None:
    assert came(put(tmp_path, {path: WORK})) == {path: (student, "ddc", None)}


def test_blackboards_note_on_an_attempt_is_its_students(tmp_path: Path) -> None:
    attempt = "Week 1_asmith_attempt_2026-11-20-10-11-12"
    found = came(put(tmp_path, {f"{attempt}.txt": b"Name: Anna", f"{attempt}_ddc.ipynb": WORK}))
    assert {who for who, _, _ in found.values()} == {"asmith"}
    assert [problem for _, _, problem in found.values()] == ["it is no notebook", None]


def test_a_name_with_a_date_of_no_calendar_is_a_name(tmp_path: Path) -> None:
    files = {"W_asmith_attempt_2026-99-45-10-11-12_ddc.ipynb": WORK, "ben/ddc.ipynb": WORK + b" "}
    assert len(came(put(tmp_path, files))) == 2


@pytest.mark.parametrize("name", ["\x1b[2Janna/ddc.ipynb", "anna/\x1b]0;x\x07ddc.ipynb", "anna/\x9b31mddc.ipynb"])
def test_no_name_steers_the_terminal_in_which_it_is_printed(tmp_path: Path, name: str) -> None:
    put(tmp_path / "loose", {name: WORK})
    ((path, (_, _, problem)),) = came(tmp_path / "loose").items()
    assert path.isprintable() and problem == "its name holds what is no text"
    put(tmp_path / "zipped", {"class.zip": packed({f"smithanna_4711_1_{name}": WORK})})
    assert all(path.isprintable() for path in came(tmp_path / "zipped"))


@pytest.mark.parametrize("name", ["anna/homework.zip", "anna/ddc.ipynb", "anna.zip", "anna.ZIP", "ddc - anna.zip"])
def test_a_students_zip_is_opened(tmp_path: Path, name: str) -> None:
    mac = {"__MACOSX/._ddc.ipynb": b"Mac", ".DS_Store": b"x", "ddc/.ipynb_checkpoints/ddc.ipynb": WORK}
    content = packed({"ddc/ddc.ipynb": WORK, "ddc/data.csv": b"1", **mac})
    assert came(put(tmp_path, {name: content})) == {f"{name}/ddc/ddc.ipynb": ("anna", "ddc", None)}
    every = intake.arrivals(tmp_path, ASSIGNMENTS, people.Roster(everybody=True))
    assert [one.content for one in every if one.opened] == [content], "what was handed in is kept as it came"


def test_a_zip_with_several_notebooks(tmp_path: Path) -> None:
    other = file([{**ANSWER, "metadata": {"nbgrader": {"grade_id": "b"}}}])
    content = packed({"one.ipynb": WORK, "two.ipynb": other, "two (1).ipynb": other + b" "})
    put(tmp_path, {"anna/all.zip": content})
    kinds = {path.rsplit("/", 1)[1]: assignment for path, (_, assignment, _) in came(tmp_path).items()}
    assert kinds == {"one.ipynb": "ddc", "two.ipynb": "gauge", "two (1).ipynb": "gauge"}
    assert list(kinds)[-1] == "two (1).ipynb", "the one that was written last comes last, and counts"


@pytest.mark.parametrize("where", ["in the folder", "as the folder"])
@pytest.mark.parametrize(
    ("files", "people_"),
    [
        ({"smithanna_4711_815_ddc.ipynb": "smithanna", "王小明_LATE_4712_816_x.ipynb": "王小明"}, None),
        ({f"Anna Smith_101_{MOODLE}/x.ipynb": "anna-smith", f"Иван_102_{MOODLE}/x.ipynb": "иван"}, None),
        ({"Week 1_asmith_attempt_2026-11-20-10-11-12_x.ipynb": "asmith"}, None),
        ({"Anna Smith/x.ipynb": "a1", "Jörg Weiß/ddc/x.ipynb": "j1"}, [("a1", "Anna Smith"), ("j1", "Jörg Weiss")]),
    ],
)
def test_a_platforms_zip_of_a_class_is_as_if_it_were_unpacked(
    tmp_path: Path, files: dict[str, str], people_: list[tuple[str, str]] | None, where: str
) -> None:
    content = packed(dict.fromkeys(files, WORK) | {"__MACOSX/._x": b"", "index.html": b"x"})
    put(tmp_path, {"in/submissions.zip": content})
    roster = people.Roster([people.Person(*one) for one in people_]) if people_ else None
    found = came(tmp_path / ("in" if where == "in the folder" else "in/submissions.zip"), roster)
    assert {path: who for path, (who, assignment, problem) in found.items() if assignment and not problem} == files


@pytest.mark.parametrize(
    ("name", "files", "students"),
    [
        ("week 1.zip", ["week 1/anna/x.ipynb", "week 1/ben/ddc/x.ipynb", "week 1/cleo.ipynb"], {"anna", "ben", "cleo"}),
        ("week 1.zip", ["week 1/anna/x.ipynb"], {"anna"}),
        ("w.zip", ["in/smithanna_4711_815_ddc.ipynb", "in/wolfben_4712_816_ddc.ipynb"], {"smithanna", "wolfben"}),
        ("w.zip", ["anna/x.ipynb"], {"anna"}),
        ("w.zip", ["anna/x.ipynb", "ben/x.ipynb"], {"anna", "ben"}),
    ],
)
def test_a_folder_of_a_class_that_was_packed_whole(
    tmp_path: Path, name: str, files: list[str], students: set[str]
) -> None:
    put(tmp_path, {name: packed(dict.fromkeys(files, WORK))})
    assert {who for who, _, problem in came(tmp_path / name).values() if not problem} == students


@pytest.mark.parametrize("name", ["smithanna_4711_1_hw.zip", "Week 1_a1_attempt_2026-11-20-10-11-12_hw.zip", "a1.zip"])
def test_nobody_hands_in_for_another_by_a_name_in_a_zip(tmp_path: Path, name: str) -> None:
    put(tmp_path, {name: packed({"wolfben_4712_2_ddc.ipynb": WORK, f"Ben Wolf_102_{MOODLE}/ddc.ipynb": WORK})})
    roster = people.Roster(
        [people.Person("a1", "Anna Smith", numbers={"canvas_id": "4711"}), people.Person("b1", "Ben Wolf")]
    )
    assert {who for who, _, _ in came(tmp_path, roster).values()} == {"a1"}
    if name != "a1.zip":  # without a roster a loose file may be called as it likes
        assert {who for who, _, _ in came(tmp_path).values()} <= {"smithanna", "a1"}


def test_the_zip_of_a_class_may_be_larger_than_a_file_of_a_student(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        for who in ("annasmith_4711_1_a.ipynb", "benwolf_4712_2_b.ipynb"):
            archive.writestr(who, WORK + b" " * 60_000_000)
    assert {who for who, _, problem in came(tmp_path).values() if not problem} == {"annasmith", "benwolf"}


def test_a_students_zip_in_the_zip_of_a_class_is_opened(tmp_path: Path) -> None:
    inner = packed({"work/ddc.ipynb": WORK})
    put(
        tmp_path, {"class.zip": packed({f"Anna_101_{MOODLE}/hw.zip": inner, f"Ben_102_{MOODLE}/hw.zip": b"PK\x03\x04"})}
    )
    found = came(tmp_path)
    assert found[f"Anna_101_{MOODLE}/hw.zip/work/ddc.ipynb"] == ("Anna", "ddc", None)
    assert "the archive is broken" in str(found[f"Ben_102_{MOODLE}/hw.zip"]) and len(found) == 2


def test_a_name_in_a_zip_leads_nowhere(tmp_path: Path) -> None:
    names = ["/etc/passwd.ipynb", "../../../up.ipynb", "C:\\Users\\anna\\win.ipynb", "a/./b/../x.ipynb"]
    put(tmp_path, {"anna/x.zip": packed(dict.fromkeys(names, WORK))})
    inside = {path.removeprefix("anna/x.zip/") for path in came(tmp_path)}
    assert inside == {"etc/passwd.ipynb", "up.ipynb", "Users/anna/win.ipynb", "a/b/x.ipynb"}
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["anna", "x.zip"], "nothing was written"


def understated() -> bytes:
    """A file of which the archive states fewer bytes than unpacking would give."""
    content = bytearray(packed({"ddc.ipynb": b" " * 50_000_000}))
    place = content.index(b"PK\x01\x02") + 24
    content[place : place + 4] = b"\x05\0\0\0"
    return bytes(content)


def locked() -> bytes:
    """The bit that says so, in both places where it stands."""
    content = bytearray(packed({"ddc.ipynb": WORK}))
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


UNOPENED: dict[str, tuple[Callable[[], bytes], str]] = {
    "broken": (lambda: b"PK\x03\x04 broken", "the archive is broken"),
    "cut off": (lambda: packed({"ddc.ipynb": WORK})[:-30], "the archive is broken"),
    "text": (lambda: packed({"notes.txt": b"x"}), "no notebook is in it"),
    "locked": (locked, "the archive is locked with a password"),
    "link": (lambda: packed({"ddc.ipynb": b"/etc"}, ddc_ipynb=stat.S_IFLNK | 0o777), "it is no ordinary file"),
    "bomb": (lambda: packed({"ddc.ipynb": b" " * (notebooks.MOST_BYTES + 1)}), "has more than 100,000,000 bytes"),
    "bombs": (lambda: packed({f"{n}.ipynb": b" " * 90_000_000 for n in range(3)}), "has more than 200,000,000 bytes"),
    "understated": (understated, "the archive is broken"),
    "many": (lambda: packed(dict.fromkeys(map(str, range(intake.MOST_FILES + 1)), b"")), "more than 10,000 files"),
    "nested": (lambda: packed({"inner.zip": packed({"ddc.ipynb": WORK})}), "it is an archive in an archive"),
    "rar": (lambda: b"Rar!\x1a\x07", "it is an archive, and no zip file"),
    "7z": (lambda: b"7z\xbc\xaf\x27\x1c", "it is an archive, and no zip file"),
}


@pytest.mark.seconds
@pytest.mark.parametrize("kind", UNOPENED)
def test_an_archive_that_is_not_opened_is_a_doubt_that_says_what_to_do(tmp_path: Path, kind: str) -> None:
    make, problem = UNOPENED[kind]
    put(tmp_path, {"anna/hw.zip": make(), "ben/ddc.ipynb": WORK})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = intake.arrivals(tmp_path, ASSIGNMENTS, people.Roster(everybody=True))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_000_000, "kB"
    assert ("ben", None) in {(one.student, one.problem) for one in found}
    (told,) = (one for one in found if one.student == "anna" and one.assignment == "ddc" and one.problem)
    assert problem in str(told.problem) and "unpack it and collect again" in str(told.advice)


def test_what_an_archive_of_a_class_lists_is_counted_before_the_list_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "MOST_FILES", 2)
    for many, name in ((20, "fits.zip"), (21, "many.zip")):
        (tmp_path / name).write_bytes(packed({f"{n}.txt": b"" for n in range(many)}))
    assert len(intake.packed_in(tmp_path / "fits.zip")) == 20
    with pytest.raises(intake.Unopened, match="more than 20 files are in the archive"):
        intake.packed_in(tmp_path / "many.zip")
    with zipfile.ZipFile(tmp_path / "of archives.zip", "w") as archive:  # stored: their lists stand in it as they are
        for n in range(3):
            archive.writestr(f"{n}.zip", packed({f"{at}.txt": b"" for at in range(20)}))
        archive.comment = b"of a platform"
    assert len(intake.packed_in(tmp_path / "of archives.zip")) == 3


def test_a_number_of_two_people_is_a_doubt_and_given_to_nobody_else() -> None:
    roster = people.Roster(
        [
            people.Person("a", "Ann Axe", numbers={"ID": "123"}),
            people.Person("b", "Ben Bow", numbers={"SIS User ID": "123"}),
            people.Person("c", "Cy Cee"),
        ]
    )
    assert roster.match("axeann", "canvas", "123").student == "a"
    doubt = roster.match("ceecy", "canvas", "123")
    assert doubt.student is None and "could be a and b" in str(doubt.problem)


@pytest.mark.parametrize("encoding", UNICODE)
def test_a_time_stamp_in_any_unicode_encoding_is_read(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "timestamp.txt").write_bytes("2026-11-20 10:00:00 UTC\r\n".encode(encoding))
    assert intake.stamp_of(tmp_path / "timestamp.txt") == datetime(2026, 11, 20, 10, tzinfo=UTC)
    assert intake.stamp_of(tmp_path / "no.txt") is None


# ---- two people of one name ----


def test_two_numbers_under_one_name_are_a_doubt(tmp_path: Path) -> None:
    put(tmp_path, {f"Anna_101_{MOODLE}/ddc.ipynb": WORK, f"Anna_102_{MOODLE}/ddc.ipynb": WORK + b" "})
    assert {problem for _, _, problem in came(tmp_path).values()} == {
        "Moodle's numbers 101 and 102 are both called 'Anna'"
    }
    both = people.Roster([people.Person("anna", "Anna", numbers={"moodle_id": "101; 102"})])
    assert {who for who, _, problem in came(tmp_path, both).values() if not problem} == {"anna"}
    one = people.Roster([people.Person("anna", "Anna")])
    assert all(problem for _, _, problem in came(tmp_path, one).values())


@pytest.mark.parametrize(("zone", "hour"), [("Asia/Tokyo", 14), ("America/New_York", 4), ("UTC", 23)])
def test_a_platforms_times_are_those_of_the_classs_zone(tmp_path: Path, zone: str, hour: int) -> None:
    day = 21 if zone == "America/New_York" else 20
    blackboard = "Week 1_asmith_attempt_2026-11-20-23-10-12_ddc.ipynb"
    put(tmp_path / "loose", {blackboard: WORK})
    (tmp_path / "class.zip").write_bytes(packed({f"all/{blackboard}": WORK}))
    for place in ("loose", "class.zip"):
        (one,) = intake.arrivals(tmp_path / place, ASSIGNMENTS, people.Roster(everybody=True), zone=ZoneInfo(zone))
        assert one.stamped and one.handed_in == f"2026-11-{day}T{hour:02}:10:12+00:00"


def test_windows_ending_behind_a_notebooks_is_none(tmp_path: Path) -> None:
    assert came(put(tmp_path, {"Anna Smith.ipynb.txt": WORK})) == {"Anna Smith.ipynb.txt": ("anna-smith", "ddc", None)}
