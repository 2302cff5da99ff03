"""Private variants: they fit their assignments, their own solutions solve them, and copied answers do not."""

import csv
import json
import re
from itertools import permutations
from pathlib import Path

import nbformat
import numpy as np
import pytest
from classroom_helpers import classroom, grade_table, needs_nbgrader
from drafts import DRAFTS
from in_process import marks

from exercises.engine import inputs, simulate, variant, variants

ASSIGNMENTS = [name for name in simulate.assignments() if name not in DRAFTS]
SEEDS = ("autumn, and a word", "spring, and another")
QUICK = "one-batch-many-machines"


def cells(notebook: dict) -> dict[str, str]:
    return {cell["metadata"]["nbgrader"]["grade_id"]: "".join(cell["source"]) for cell in notebook["cells"]}


def released(notebook: dict) -> str:
    """What students see, nearly: nbgrader's own release differs in its checksums only."""
    texts = (simulate.SOLUTION.sub("", text + "\n") for text in cells(notebook).values())
    return "\n".join(simulate.HIDDEN.sub("", text) for text in texts)


def differing(first: variants.Variant, second: variants.Variant) -> set[str]:
    """The graded checks for which two variants of an assignment drew different numbers, and so want other answers."""
    decide = {**variants.changes(first.assignment).CHECKS, **getattr(variants.changes(first.assignment), "DECIDE", {})}
    return {
        check
        for check in variants.must_vary(first.assignment)
        if any(first.numbers[name] != second.numbers[name] for name in decide[check])
    }


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_every_number_is_written_into_the_assignment(name: str) -> None:
    made = variants.build(name, SEEDS[0])
    nbformat.validate(nbformat.reads(json.dumps(made.source), as_version=4))
    assert "«" not in json.dumps(made.source, ensure_ascii=False)
    public = simulate.source(name)
    assert [cell["metadata"] for cell in made.source["cells"]] == [cell["metadata"] for cell in public["cells"]]
    for _, code in variants.graded_code(made.source):
        assert len(re.findall(r"^(?:checks|    hidden)\.\w+\(", code, re.MULTILINE)) == 2 and "with seeded(" in code
    assert not re.search("seeded|import hidden", released(made.source))


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_a_task_that_varies_says_so(name: str) -> None:
    """Where a check is given numbers, the words before it differ from the public ones, or those of the symbols do."""
    made, public = cells(variants.build(name, SEEDS[0]).source), cells(simulate.source(name))
    symbols = made["intro"].removesuffix(variants.OWN) != public["intro"]
    task = None
    for key in made:
        task = key if key.startswith("task") else task
        if key in variants.must_vary(name):
            assert made[task] != public[task] or symbols, key


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_half_of_the_points_vary_and_all_tasks_that_ask_for_numbers(name: str) -> None:
    points, varied = simulate.points(name), variants.must_vary(name)
    assert 2 * sum(points[check] for check in varied) >= sum(points.values())
    answers = variants.functions(simulate.reference(name))
    for check, code in variants.graded_code(simulate.source(name)):
        function = answers[re.search(r"^checks\.\w+\((\w+)", code, re.MULTILINE)[1]]
        assert function.__code__.co_argcount or check in varied, f"{check} can be passed by copied numbers"


@pytest.mark.seconds
@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_no_public_answer_and_no_answer_of_another_seed_passes(name: str) -> None:
    made = [variants.build(name, seed) for seed in SEEDS]
    for one in made:
        found = variants.copied_marks(one, simulate.reference(name), variants.must_vary(name))
        assert [check for check, message in found.items() if not message] == []
    for first, second in permutations(made, 2):
        checks = differing(first, second)
        assert checks
        found = variants.copied_marks(first, simulate.solved(second.source), checks)
        assert [check for check, message in found.items() if not message] == []


def test_the_readme_says_how_much_varies() -> None:
    readme = (simulate.HERE / "README.md").read_text(encoding="utf-8")
    for name in ASSIGNMENTS:
        points = simulate.points(name)
        own = sum(points[check] for check in variants.must_vary(name))
        assert re.search(rf"^\| `{name}` \| [^|]+ \| {own} of {sum(points.values())} \|", readme, re.MULTILINE), name


def test_a_seed_draws_the_same_variant_again() -> None:
    first, again, other = (variants.build(QUICK, seed) for seed in (SEEDS[0], SEEDS[0], SEEDS[1]))
    assert first == again != other
    assert variants.build(QUICK, SEEDS[0], attempt=1) != first


def test_a_variant_draws_hidden_inputs_of_its_own() -> None:
    public = inputs.generator(11).normal()
    with inputs.seeded(5):
        own, data = inputs.generator(11).normal(), inputs.drawn(4)
    assert public == np.random.default_rng(11).normal() == inputs.generator(11).normal()  # as before, and after
    assert own != public and data != 4 == inputs.drawn(4)


def test_the_proof_finds_a_solution_that_fits_other_numbers_than_the_text() -> None:
    made = variants.build(QUICK, SEEDS[0])
    for cell in made.source["cells"]:
        if cell["metadata"]["nbgrader"]["grade_id"] == "step_bytes":
            cell["source"] = cell["source"].replace("* tables", "* 2 * tables")
    assert set(variants.faults(made)) == {"test_bytes"}


def test_the_proof_finds_a_task_that_the_public_answer_solves(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = variants.changes(QUICK).numbers
    monkeypatch.setattr(variants.changes(QUICK), "numbers", lambda rng: {**numbers(rng), "before": 1})
    found = variants.faults(variants.build(QUICK, SEEDS[0]))
    assert found == dict.fromkeys(("test_factors_own", "test_factors_all"), "the public answer passes")


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_a_cell_of_a_variant_is_the_public_one_but_for_what_a_seed_changes(name: str) -> None:
    """Points, minutes and signatures are those of the assignment, whichever of the two was edited last."""
    public = cells(simulate.source(name))
    for key, text in variants.cells(name).items():
        assert text != public[key]
        for kept in (r"^## Task.*$", r"^\*\d+ points · .*$", r"^def .*$", r"^### (?:BEGIN|END).*$", r"^\| \d+ \|.*$"):
            assert re.findall(kept, text, re.MULTILINE) == re.findall(kept, public[key], re.MULTILINE), key


@pytest.mark.parametrize(
    "changed, message", [({"task99": "Words."}, r"no cells \['task99'\]"), ({"task5": "«it»"}, r"names \['it'\]")]
)
def test_a_description_that_does_not_fit_is_refused(
    changed: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(variants, "cells", lambda name: changed)
    with pytest.raises(variants.Misfit, match=message):
        variants.build(QUICK, SEEDS[0])


def test_the_command_writes_a_folder_and_overwrites_no_other_version(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--course", str(tmp_path), "--assignment", QUICK, "--seed"]
    variant.main([*arguments, SEEDS[0]])
    assert "20 of 28 machine points vary" in capsys.readouterr().out
    written = (tmp_path / "source" / QUICK / f"{QUICK}.ipynb").read_bytes()
    solution = json.loads((tmp_path / "solutions" / f"{QUICK}.ipynb").read_text(encoding="utf-8"))
    assert "seeded" not in json.dumps(solution) and not any(marks(solution, QUICK, source=json.loads(written)).values())
    drawn = (tmp_path / "variants" / f"{QUICK}.md").read_text(encoding="utf-8")
    assert f"`{SEEDS[0]}`" in drawn and "| `test_bytes` | 2 | varies | itemsize = " in drawn
    variant.main([*arguments, SEEDS[0]])  # the same again is fine
    with pytest.raises(SystemExit, match="another version"):
        variant.main([*arguments, SEEDS[1]])
    assert (tmp_path / "source" / QUICK / f"{QUICK}.ipynb").read_bytes() == written


def test_one_assignment_a_call_keeps_what_was_drawn_for_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(variants, "proved", variants.build)
    names = dict(zip(("ddc", QUICK), SEEDS, strict=True))
    for name, seed in names.items():
        variant.main(["--course", str(tmp_path), "--assignment", name, "--seed", seed])
    texts = {path.stem: path.read_text(encoding="utf-8") for path in (tmp_path / "variants").iterdir()}
    assert set(texts) == set(names) and all(f"`{seed}`" in texts[name] for name, seed in names.items())


def test_the_folder_is_named_by_whoever_draws(capsys: pytest.CaptureFixture[str]) -> None:
    """A folder of our own choice would have to be told from others, and the seed may stand in no name."""
    with pytest.raises(SystemExit):
        variant.main(["--seed", SEEDS[0]])
    assert "--course" in capsys.readouterr().err


@pytest.mark.parametrize("seed", ["", " "])
def test_without_a_seed_nothing_is_written(tmp_path: Path, seed: str) -> None:
    """`make variant` without SEED passes an empty one."""
    with pytest.raises(SystemExit, match=r"there is no seed; give words .* make variant SEED="):
        variant.main(["--course", str(tmp_path / "course"), "--seed", seed])
    assert not (tmp_path / "course").exists()


@pytest.mark.slow
@pytest.mark.pipeline
@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_the_solutions_of_two_seeds_earn_everything(name: str) -> None:
    for seed in SEEDS:
        assert variants.faults(variants.build(name, seed)) == {}


@pytest.fixture(scope="module")
def term(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A class that works on a variant: ada solves it, pat hands in the public solutions, old those of another seed."""
    needs_nbgrader()
    folder = tmp_path_factory.mktemp("variant")
    variant.main(["--seed", SEEDS[0], "--course", str(folder)])
    for name in ASSIGNMENTS:
        solutions = {
            "ada": json.loads((folder / "solutions" / f"{name}.ipynb").read_text(encoding="utf-8")),
            "pat": simulate.reference(name),
            "old": simulate.solved(variants.build(name, SEEDS[1]).source),
        }
        for student, notebook in solutions.items():
            path = folder / "in" / student / f"{name}.ipynb"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(notebook), encoding="utf-8")
    limits = ("--step-seconds=10", "--submission-seconds=40")
    classroom("all", "--submissions", folder / "in", "--course", folder, "--workers", 2, *limits)
    return folder


@pytest.mark.slow
@pytest.mark.pipeline
@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_a_class_is_graded_by_its_own_variant(term: Path, name: str) -> None:
    rows, points = grade_table(term, name), simulate.points(name)
    assert float(rows["ada"]["total"]) == sum(points.values()) and not rows["ada"]["look_at"]
    assert all(float(rows["pat"][check]) == 0 for check in variants.must_vary(name))
    first, second = (variants.build(name, seed) for seed in SEEDS)
    assert all(float(rows["old"][check]) == 0 for check in differing(first, second))
    text = (term / "release" / name / f"{name}.ipynb").read_text(encoding="utf-8")
    assert not re.search("seeded|import hidden|BEGIN SOLUTION|Rubric", text) and "your course's own" in text


@pytest.mark.slow
@pytest.mark.pipeline
def test_the_gradebook_of_a_variant_holds_every_assignment(term: Path) -> None:
    with (term / "grades" / "gradebook.csv").open(encoding="utf-8") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert set(rows) == {"ada", "pat", "old"} and set(ASSIGNMENTS) <= set(rows["ada"])
