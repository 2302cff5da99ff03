"""A platform's own export is the roster: Canvas, Moodle and Blackboard, in five encodings, and who changes the name."""

import csv
from pathlib import Path

import pytest

from exercises.engine import classroom
from exercises.engine.office import rosters, tables
from exercises.engine.office.people import read_roster
from exercises.engine.office.texts import Failed

CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section,Quiz 1 (77),Quiz 1 (78)
,,,,,Manual Posting,
    Points Possible,,,,,10,10
"Müller, Jörg",4711,S100,jmueller,Tuesday 1,9,
"Léa, Élodie",4712,S101,elea,Tuesday 1,,
"Student, Test",4799,,1a2b3c4d,Tuesday 1,,
"""
MOODLE = """First name,Last name,ID number,Institution,Department,Email address,Course total (Real)
Jörg,Müller,S100,,,joerg@uni.example,12.0
Élodie,Léa,,,,elodie@uni.example,-
"""
WORKSHEET = """Identifier,Full name,Email address,Status,Grade,Maximum grade
Participant 103,Jörg Müller,joerg@uni.example,No submission,,34
Participant 104,Élodie Léa,elodie@uni.example,Submitted,,34
"""
BLACKBOARD = """Last Name\tFirst Name\tUsername\tStudent ID\tLast Access\tAvailability\tWeek 1
Müller\tJörg\tjmueller\tS100\t2026-10-01\tYes\t
Léa\tÉlodie\telea\tS101\t\tYes\t
"""
EXPORTS = {
    "canvas": (CANVAS, ["jmueller", "elea"]),
    "moodle": (MOODLE, ["S100", "elodie@uni.example"]),
    "worksheet": (WORKSHEET, ["joerg@uni.example", "elodie@uni.example"]),
    "blackboard": (BLACKBOARD, ["jmueller", "elea"]),
}
UNICODE = ("utf-8", "utf-8-sig", "utf-16")


@pytest.mark.parametrize("encoding", [*UNICODE, "cp1252", "mac_roman"])
@pytest.mark.parametrize("system", EXPORTS)
def test_an_export_is_the_roster_in_any_encoding(system: str, encoding: str, tmp_path: Path) -> None:
    text, students = EXPORTS[system]
    export = tmp_path / "export.csv"
    export.write_bytes(text.encode(encoding))
    given = None if encoding in UNICODE else encoding
    if given:  # a doubt, with the way out: how the line reads in each
        with pytest.raises(Failed, match=rf"--encoding, by the one in which this line is right: .*{encoding}: .*Jörg"):
            rosters.update(tmp_path, export, {})
    rosters.update(tmp_path, export, {}, given)
    found = read_roster(tmp_path)
    assert list(found.people) == students
    for name in ("Jörg Müller", "Müller, Jörg", "Elodie Lea"):
        assert found.match(name).student in students, name


def test_columns_by_flags_and_a_file_of_no_platform(tmp_path: Path) -> None:
    export = tmp_path / "liste.csv"
    export.write_text("Matrikel;Vorname;Nachname;E-Mail\n17;Jörg;Müller;j@uni.example\n", encoding="utf-8")
    with pytest.raises(Failed, match="expected some of"):
        rosters.people_of(export, {})
    columns = rosters.columns_of(["student=Matrikel", "name=Vorname,Nachname", "email=E-Mail"])
    (person,) = rosters.people_of(export, columns)
    assert (person.student, person.name, person.email) == ("17", "Jörg Müller", "j@uni.example")
    with pytest.raises(Failed, match="no column 'Nummer'; its columns are Matrikel, Vorname"):
        rosters.people_of(export, columns | {"number": ["Nummer"]})
    with pytest.raises(Failed, match="--column login=x: expected one of student, name, email, number"):
        rosters.columns_of(["login=x"])
    with pytest.raises(Failed, match="--encoding klingon: no such encoding"):
        rosters.people_of(export, columns, "klingon")


def test_a_number_identifies_whoever_changes_name_and_login(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export = tmp_path / "export.csv"
    export.write_text(CANVAS, encoding="utf-8")
    rosters.update(tmp_path, export, {})
    later = CANVAS.replace('"Léa, Élodie",4712,S101,elea', '"Martin, Élodie",4712,S101,emartin')
    later = later.replace('"Müller, Jörg",4711,S100,jmueller', '"New, Nora",4713,S102,nnew')
    export.write_text(later, encoding="utf-8")
    capsys.readouterr()
    rosters.update(tmp_path, export, {})
    said = capsys.readouterr().out
    assert "Martin, Élodie (elea): was called Léa, Élodie" in said
    assert "New, Nora (nnew): new" in said and "Müller, Jörg (jmueller): gone from the export; kept" in said
    found = read_roster(tmp_path)
    assert {found.match(name).student for name in ("Élodie Martin", "Élodie Léa", "lea elodie")} == {"elea"}
    rosters.update(tmp_path, export, {})  # the same once more changes nothing
    assert read_roster(tmp_path).people == found.people


def test_a_class_on_two_platforms_is_one_class(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Canvas's SIS User ID is Moodle's ID number; where nothing is shared, the teacher is told."""
    export = tmp_path / "export.csv"
    export.write_text(CANVAS, encoding="utf-8")
    rosters.update(tmp_path, export, {})
    moodle = "First name;Last name;ID number;Email address\nJörg;Müller;S100;j@u.example\nÉlodie;Roy;S101;e@u.example\n"
    export.write_text(moodle, encoding="utf-8")
    capsys.readouterr()
    rosters.update(tmp_path, export, {})
    assert set(read_roster(tmp_path).people) >= {"jmueller", "elea"}
    said = capsys.readouterr().out
    assert "Élodie Roy (elea): was called Léa, Élodie" in said and "Jörg" not in said and "no login" not in said
    export.write_text(moodle.replace("S10", "T10").replace("u.ex", "v.ex"), encoding="utf-8")
    rosters.update(tmp_path, export, {})
    assert "no number and no login of this export was in the roster" in capsys.readouterr().out


def test_the_numbers_of_two_worksheets_stand_side_by_side(tmp_path: Path) -> None:
    export = tmp_path / "export.csv"
    for text in (WORKSHEET, WORKSHEET.replace("103", "203").replace("104", "204")):
        export.write_text(text, encoding="utf-8")
        rosters.update(tmp_path, export, {})
    found = read_roster(tmp_path)
    assert found.match("anybody", "moodle", "203").student == "joerg@uni.example"
    assert found.match("anybody", "moodle", "104").student == "elodie@uni.example"


def test_two_people_of_one_number_are_refused_with_the_way_out(tmp_path: Path) -> None:
    export = tmp_path / "export.csv"
    export.write_text(CANVAS.replace("elea", "jmueller"), encoding="utf-8")
    with pytest.raises(Failed, match="'jmueller' stands there twice: take another column, --column student="):
        rosters.people_of(export, {})


def test_who_is_in_two_sections_and_a_name_in_two_lines(tmp_path: Path) -> None:
    (tmp_path / "export.csv").write_text(
        'Student,ID,SIS Login ID,Section\n"Müller,\n Jörg",4711,jm,A\n"Müller, Jörg",4711,jm,B\n', encoding="utf-8"
    )
    (one,) = rosters.people_of(tmp_path / "export.csv", {})
    assert (one.student, one.name) == ("jm", "Müller, Jörg")


def test_what_the_platforms_import_is_made_of_what_they_exported(tmp_path: Path) -> None:
    """Each column that a platform asks for comes back as it went out."""
    assert tables.systems() == ["blackboard", "canvas", "moodle"]
    for system in tables.systems():
        text, _ = EXPORTS[system]
        folder = tmp_path / system
        folder.mkdir()
        (folder / "export.csv").write_text(text, encoding="utf-8")
        rosters.update(folder, folder / "export.csv", {})
        asked = rosters.platforms()[system].export
        sign = "\t" if "\t" in text else ","
        before = {
            tuple(line[name] for name in asked if name in line)
            for line in csv.DictReader(text.splitlines(), delimiter=sign)
        }
        for person in read_roster(folder).people.values():
            known = {"student": person.student, "name": person.name, "email": person.email, **person.numbers}
            line = [
                next((known[key] for key in keys if known.get(key)), "") for name, keys in asked.items() if name in text
            ]
            assert tuple(line) in before, (system, line)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "export.csv").write_text(CANVAS, encoding="utf-8")
    classroom.main(["roster", "--from", str(tmp_path / "export.csv"), "--course", str(tmp_path)])
    assert "roster: 2 people" in capsys.readouterr().out and not (tmp_path / "source").exists()
    (tmp_path / "export.csv").write_bytes(CANVAS.encode("cp1252"))
    with pytest.raises(SystemExit, match=r"roster: .*line 4 is not in UTF-8.*cp1252: \"Müller, Jörg\""):
        classroom.main(["roster", "--from", str(tmp_path / "export.csv"), "--course", str(tmp_path)])


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ('"A,B\n1,2\n', ["student=A"], "unexpected end of data; expected every quote closed"),
        ("A,B\n", ["student=A"], "nobody stands below the names of the columns; expected a line for each person"),
        ("A,B\n1,2\n", [], r"the columns are \['A', 'B'\].*Say which they are: --column student="),
        ("A,B\n1,2\n", ["student=,"], "--column student=,: expected one of student, name"),
        ("A,B\n1,2\n", ["student=A", "student=B"], "--column student=B: student is A already; expected each once"),
    ],
)
def test_an_export_that_is_none_is_refused_with_the_way_out(
    tmp_path: Path, text: str, columns: list[str], message: str
) -> None:
    (tmp_path / "export.csv").write_text(text, encoding="utf-8")
    arguments = ["roster", "--from", str(tmp_path / "export.csv"), "--course", str(tmp_path)]
    with pytest.raises(SystemExit, match=message):
        classroom.main([*arguments, *(part for one in columns for part in ("--column", one))])


@pytest.mark.parametrize(
    ("before", "after", "known"),
    [
        (
            "Bo,Li,hidden,bl,n/a Anna,Li,hidden,al,7",
            "Cy,Ng,hidden,cn,n/a Di,Oh,hidden,do, Anna,Ray,hidden,ar,7",
            {"bl": "Bo Li", "al": "Anna Ray", "cn": "Cy Ng", "do": "Di Oh"},
        ),
        ("Bo,Li,hidden,bl,7", "Bo,Li,hidden,bl,8 Cy,Ng,hidden,cn,7", {"bl": "Bo Li", "cn": "Cy Ng"}),
    ],
    ids=["what two share, or nobody has", "two who reach one by two numbers"],
)
def test_what_does_not_identify_one_person_identifies_nobody(
    before: str, after: str, known: dict[str, str], tmp_path: Path
) -> None:
    export = tmp_path / "export.csv"
    for lines in (before, after):
        export.write_text("\n".join(["First name,Last name,Email address,Username,ID number", *lines.split(" ")]))
        rosters.update(tmp_path, export, {})
    assert {student: person.name for student, person in read_roster(tmp_path).people.items()} == known


@pytest.mark.parametrize("number", ["1.07E+16", "1,01E+05"])
def test_a_number_that_a_spreadsheet_has_rounded_is_refused(number: str, tmp_path: Path) -> None:
    export = tmp_path / "export.csv"
    export.write_text(f'Student;ID;SIS Login ID\n"Li, Bo";{number};bl\n', encoding="utf-8")
    with pytest.raises(Failed, match=r"line 2: the number 1.*E\+.* take the platform's own file"):
        rosters.update(tmp_path, export, {})


def test_the_number_of_a_platform_without_a_preset_is_found(tmp_path: Path) -> None:
    export = tmp_path / "w.csv"
    export.write_text(
        "Identifikator,Vollständiger Name,E-Mail-Adresse\nTeilnehmer/in 101,Anna Schmidt,a@x\n"
        "Teilnehmer/in 102,Anna Schmidt,b@x\n",
        encoding="utf-8",
    )
    columns = {"student": ["E-Mail-Adresse"], "name": ["Vollständiger Name"], "number": ["Identifikator"]}
    rosters.update(tmp_path, export, columns)
    assert read_roster(tmp_path).match("Anna Schmidt", "moodle", "102").student == "b@x"


@pytest.mark.parametrize("login", ["21e045", "21E045"])
def test_a_login_that_looks_like_a_number_is_one(login: str, tmp_path: Path) -> None:
    export = tmp_path / "export.csv"
    export.write_text(f'Student;ID;SIS Login ID\n"Li, Bo";17;{login}\n', encoding="utf-8")
    rosters.update(tmp_path, export, {})
    assert list(read_roster(tmp_path).people) == [login]
