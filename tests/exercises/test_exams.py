"""Exam questions: well posed under every seed, answered rightly, marked fully, and silent about their answers."""

import importlib
import re
import tomllib
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drafts import classes

from exercises.engine import asking, exam
from exercises.engine.asking import MINUTES_PER_POINT, POINTS, Exam, Kind, Numbers, Template
from exercises.engine.grading import items

pytestmark = pytest.mark.seconds

ENGINE = Path(asking.__file__).parent
SEEDS = [f"seed number {n}" for n in range(20)]
TEMPLATES = [template for name in exam.with_exam() for template in exam.exam(name).templates]
MIX = {Kind.CALCULATION: 3, Kind.TRUE_OR_FALSE: 2, Kind.PROOF: 2, Kind.READING: 2, Kind.REPLY: 1}
every_template = pytest.mark.parametrize("template", TEMPLATES, ids=lambda one: f"{one.chapter}-{one.name}")


def by_hand(template: Template) -> Any:
    """The function that finds a question's answer in another way; None where nothing is to be found."""
    module = importlib.import_module(f"tests.lessons.{template.chapter.replace('-', '_')}.exam_by_hand")
    return getattr(module, template.name, None)


def agrees(found: Any, other: Any) -> bool:
    """Equal up to rounding, entry by entry; (number, tolerance) is a number found by search."""
    if isinstance(other, tuple) and len(other) == 2 and np.ndim(other[0]) == 0:
        return abs(float(found) - float(other[0])) <= other[1] * max(1.0, abs(float(found)))
    if isinstance(found, str) or isinstance(other, str):
        return bool(found == other)
    if np.ndim(found):
        return len(found) == len(other) and all(agrees(a, b) for a, b in zip(found, other, strict=True))
    return abs(float(found) - float(other)) <= 1e-6 * max(1.0, abs(float(found)))


def numbers(value: Any) -> list[float]:
    """All numbers of what was drawn or found."""
    if isinstance(value, dict):
        return [x for entry in value.values() for x in numbers(entry)]
    if isinstance(value, (list, tuple, np.ndarray)):
        return [x for entry in value for x in numbers(entry)]
    return [] if value is None or isinstance(value, str) else [float(value)]


def test_every_chapter_has_its_ten_questions_in_the_stated_mix() -> None:
    assert set(exam.with_exam()) == classes()
    for name in exam.with_exam():
        kinds = Counter(template.kind for template in exam.exam(name).templates)
        assert kinds == (dict.fromkeys(Kind, 1) if name == "first-model" else MIX), name
    assert len({(template.chapter, template.name) for template in TEMPLATES}) == len(TEMPLATES)


@every_template
def test_a_question_is_well_posed_under_every_seed(template: Template) -> None:
    for seed in SEEDS:
        question = template.draw(seed)
        asked, answered, marks = question.asked(), question.answered(), question.marking()
        for text in (asked, answered, *(what for _, what in marks)):
            assert text and "«" not in text and not re.search(r"\bnan\b|\binf\b", text)
            assert text.count("$") % 2 == 0 and text.count("{") == text.count("}"), text
        assert sum(points for points, _ in marks) == template.points == POINTS[template.kind]
        assert all(points >= 1 for points, _ in marks) and len(marks) >= 2
        assert np.isfinite(numbers(question.given) + numbers(question.found)).all()


@every_template
def test_seeds_draw_different_questions(template: Template) -> None:
    drawn = [template.draw(seed) for seed in SEEDS]
    assert template.draw(SEEDS[0]) == drawn[0] or repr(template.draw(SEEDS[0])) == repr(drawn[0])
    wanted = 6 if template.kind in (Kind.CALCULATION, Kind.READING) else 3
    assert len({question.asked() for question in drawn}) >= wanted
    if template.kind in (Kind.CALCULATION, Kind.READING):
        assert len({question.answered() for question in drawn}) >= 3
    if template.kind is Kind.TRUE_OR_FALSE:
        assert {question.found["truth"] for question in drawn} == {True, False}


@every_template
def test_the_answer_is_found_once_more_without_the_library(template: Template) -> None:
    other = by_hand(template)
    if template.kind is Kind.REPLY:
        assert other is None
        return
    for seed in SEEDS:
        question = template.draw(seed)
        again = other(**question.given)
        assert again and set(again) <= set(question.found)
        for name, value in again.items():
            assert agrees(question.found[name], value), (seed, name, question.found[name], value)


def test_a_wrong_answer_would_be_noticed() -> None:
    assert not agrees(Fraction(1, 3), 0.3334) and not agrees([1, 2], [1, 3]) and not agrees("A: x", "B: x")
    assert not agrees(2.0, (2.1, 0.01)) and agrees(2.0, (2.01, 0.01))


@pytest.fixture
def written(tmp_path: Path) -> dict[str, str]:
    """The files of an exam with everything in it."""
    exam.main(["--seed", SEEDS[0], "--out", str(tmp_path)])
    return {path.name: path.read_text(encoding="utf-8") for path in tmp_path.glob("*/*")}


def test_no_answer_leaks_into_the_questions(written: dict[str, str]) -> None:
    pages = {f"{name}{end}" for name in ("questions", "answers-and-marks") for end in (".md", ".html")}
    assert set(written) == {*pages, "exam.yml"}
    rubric = items.read_items(written["exam.yml"])  # what a grader ticks is what the exam is worth
    assert sum(one.points for one in rubric) == sum(template.points for template in TEMPLATES)
    asked = written["questions.md"]
    assert SEEDS[0] not in asked and SEEDS[0] in written["answers-and-marks.md"]
    for template in TEMPLATES:
        question = template.draw(SEEDS[0])
        assert question.asked() in asked and question.answered() in written["answers-and-marks.md"]
        assert "**True" not in asked and "**False" not in asked
        for sentence in [question.answered(), *(what for _, what in question.marking())]:
            for part in re.split(r"(?<=[.;:])\s+", sentence):
                assert len(part) < 25 or part not in asked, part


WORTH_POINTS: dict[str, dict[str, set[str]]] = {
    "first-model": {r"[Mm]ost popular films": {"reply"}, r"\\ln q": set()},
    "cosine-orthogonality": {r"[Rr]ight angle": set(), r"makes? .{0,30}longer": {"bias"}, r"InfoNCE": set()},
    "jacobian-conditions": {r"BB\^\\top": set(), r"linear in": set()},
    "popularity-norm-coupling": {
        r"fourth root|quartic|\\frac14": set(),
        r"is proportional to": set(),
        r"h\^2/s": set(),
        r"disagree": set(),
    },
    "gauge-freedom": {r"turns and mirrors": set(), r"outer products": set(), r"[Ww]eight decay": {"reply"}},
    "in-batch-bias": {r"\\mathrm\{pop\}-1": set(), r"\bpush": {"claims"}, r"over \*?all\*? batches": set()},
    "gramian-estimators": {r"[Oo]bserved pairs": set(), r"1-\\rho": set(), r"second batch": set()},
    "one-batch-many-machines": {r"B-1": set(), r"[Mm]issing": set(), r"part by part": set()},
    "popularity-direction": {
        r"[Bb]efore (its |and after )?training": set(),
        r"add up to 0": set(),
        r"\\frac12\$": set(),
    },
    "ddc": {r"\\langle e_\{pref\},e_\{pop\}\\rangle": set(), r"one sign": set(), r"ranks of test": set()},
    "practice": {r"person by person": set(), r"hides groups": set(), r"rewards fair": set(), r"2b": set()},
}
"""Of each chapter what earns points in some answer, and the questions that may say it nevertheless."""


@pytest.mark.parametrize("chapter", exam.with_exam())
def test_no_question_says_what_another_one_asks(chapter: str) -> None:
    drawn = [(template.name, template.draw(seed)) for template in exam.exam(chapter).templates for seed in SEEDS]
    for words, may in WORTH_POINTS[chapter].items():
        assert any(re.search(words, question.answered()) for _, question in drawn), words
        assert {name for name, question in drawn if re.search(words, question.asked())} <= may, words


def test_the_pages_need_nothing_else(written: dict[str, str]) -> None:
    for name in ("questions.html", "answers-and-marks.html"):
        page = written[name]
        assert "<math" in page and "<script" not in page and "http" not in re.sub(r'xmlns="[^"]*"', "", page)
        assert page.count("<h3") == len(TEMPLATES)
        assert "$" not in re.sub(r"<[^>]+>", "", page), "a formula that was not understood stands as it was typed"


def test_a_class_counts_the_points_that_an_exam_of_the_syllabus_has() -> None:
    [minutes] = re.findall(r"written exam, (\d+) minutes", (ENGINE / "syllabus.md").read_text(encoding="utf-8"))
    part = tomllib.loads((ENGINE / "marks.toml").read_text(encoding="utf-8"))["parts"]["exam"]
    assert part["out_of"] * MINUTES_PER_POINT == int(minutes)


def test_an_exam_asks_as_many_as_are_wanted() -> None:
    templates = exam.exam("ddc").templates
    assert exam.asked(templates, "", "x") == templates
    assert exam.asked(templates, "2,9", "x") == [templates[1], templates[8]]
    five = exam.asked(templates, "5", "x")
    assert {template.kind for template in five} == set(Kind) and five == exam.asked(templates, "5", "x")
    assert len({tuple(t.name for t in exam.asked(templates, "3", str(n))) for n in range(10)}) > 1
    assert exam.asked(templates, "99", "x") == templates
    for wrong in ("eleven", "0,3", "11,", "0", ",", "²"):
        with pytest.raises(ValueError, match=r"ddc has 10 questions; expected how many .* numbers from 1 to 10"):
            exam.asked(templates, wrong, "x")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--seed", " "], "no seed"),
        (["--seed", SEEDS[0], "--chapters", "dcd"], "no exam on 'dcd'"),
        (["--seed", SEEDS[0], "--questions", "x"], "expected how many to ask"),
        (["--seed", "no text \udcff"], "bytes that are no text"),
    ],
)
def test_what_cannot_be_is_said(arguments: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=message):
        exam.main([*arguments, "--out", str(tmp_path / "new")])
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("seed", ["autumn leaves fall", "ü" * 300, "秘密の言葉がある", "../../up and away"])
def test_a_listing_of_the_folder_does_not_show_the_seed(seed: str, tmp_path: Path) -> None:
    exam.main(["--seed", seed, "--chapters", "first-model", "--out", str(tmp_path)])
    [folder] = tmp_path.iterdir()
    assert re.fullmatch(r"[0-9a-f]{8}", folder.name) and len(list(folder.iterdir())) == 5
    assert folder.name != exam.folder_of(seed + "!") and seed in (folder / "answers-and-marks.md").read_text("utf-8")


def test_a_guessable_seed_is_warned_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exam.main(["--seed", "abc", "--chapters", "first-model", "--out", str(tmp_path)])
    assert "can be guessed" in capsys.readouterr().out


def test_numbers_are_written_as_they_are_on_paper() -> None:
    given = {"x": Fraction(-1, 3), "v": [1, Fraction(2)], "M": [[1, 2], [3, 4]], "f": 0.12345, "n": 4}
    assert asking.filled("«x» and $«x»$, $«v»$\nin «f», «f:.1f», «n:+»", given) == (
        r"$-\tfrac{1}{3}$ and $-\tfrac{1}{3}$, $(1, 2)$ in 0.123, 0.1, +4"
    )
    assert asking.filled("$«M»$", given) == r"$\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}$"
    assert asking.rational([0.5, 2.0, -1 / 3]) == [Fraction(1, 2), 2, Fraction(-1, 3)]
    with pytest.raises(ValueError, match="expected a fraction"):
        asking.rational(np.pi)


def test_a_question_that_no_draw_suits_says_so() -> None:
    made = Exam("none", "## never (prove): Never\n\nProve.\n\n### answer\n\nNo.\n\n### marks\n\n- 6: nothing\n")

    @made.asks
    def never(rng: np.random.Generator) -> Numbers:
        asking.redraw_if("always")
        raise AssertionError

    with pytest.raises(RuntimeError, match="never: none of 1000 draws"):
        made.templates[0].draw("x")


QUESTION = (
    "## total (calculate): A sum\n\nAdd «a»\n«what».\n\n### answer\n\n«b:.1f»\n\n### marks\n\n- 4: the\n  sum «b»\n"
)
CASES = "\n### case\n- what: to «a»\n- truth: yes\n\n### case last\n- what: more\n"


def test_the_words_of_a_question_are_those_of_its_markdown() -> None:
    made = Exam("none", QUESTION + CASES)

    @made.asks
    def total(rng: np.random.Generator) -> Numbers:
        return Numbers({"a": 2}, {"b": 4}, made.cases("total")[0].words)

    question = made.templates[0].draw("x")
    assert (question.asked(), question.answered(), question.marking()) == ("Add 2 to 2.", "4.0", [(4, "the sum 4")])
    assert [(case.number, case.name) for case in made.cases("total")] == [(0, ""), (1, "last")]
    assert made.cases("total")[0].truth


@pytest.mark.parametrize(
    "text, message",
    [
        (QUESTION.replace(" (calculate)", ""), "got the heading 'total: A sum', expected ## name"),
        (QUESTION.replace("### answer", "### answers"), "total .calculate.: A sum: expected ### answer, ### marks"),
        (QUESTION.replace("calculate", "guess"), "'guess' is not a valid Kind"),
    ],
)
def test_what_an_exam_may_not_hold_is_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Exam("none", text)


def test_a_function_without_words_is_refused() -> None:
    with pytest.raises(KeyError, match="no question 'product', only total"):

        @Exam("none", QUESTION).asks
        def product(rng: np.random.Generator) -> None:
            return None
