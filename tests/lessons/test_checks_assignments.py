"""All assignments alike: right answers get full marks, wrong ones exactly their part and the message that fits."""

from __future__ import annotations

import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from in_process import ASSIGNMENTS, NEW, functions, marks, marks_of

from course_lib import gauge, gramians
from course_lib.lessons.cosine_orthogonality import checks as cosine_checks
from course_lib.lessons.gauge_freedom import checks as gauge_checks
from course_lib.lessons.gramian_estimators import checks as gramian_checks
from course_lib.lessons.jacobian_conditions import checks as jacobian_checks
from course_lib.lessons.popularity_norm_coupling import checks as norms_checks
from course_lib.lessons.shared import forms, real
from course_lib.maths.arrays import exact
from exercises import simulate
from exercises.grading import judge, notebooks

ROOT = Path(__file__).resolve().parents[2]
WRONG = [(name, kind) for name in ASSIGNMENTS for kind in simulate.wrong_answers(name)]
TASK = re.compile(
    r"\*(\d+) points · (graded by a person · )?difficulty ★(?:★|☆)(?:★|☆) · importance ★(?:★|☆)(?:★|☆) · (\d+) minutes\*"
)
ROW = re.compile(r"^\| (\d+) \| (.+?) \| (\d+) \| [★☆]{3} \| [★☆]{3} \| (\d+) \|$", re.MULTILINE)
WORDS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_the_reference_gets_full_marks(name: str) -> None:
    assert {check: message for check, message in marks_of(name, "reference").items() if message} == {}
    assert set(marks_of(name, "reference")) == set(simulate.points(name))


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_an_empty_notebook_gets_nothing(name: str) -> None:
    assert all(marks_of(name, "empty").values())


@pytest.mark.parametrize(("name", "kind"), WRONG)
def test_a_wrong_answer_loses_its_part_and_is_told_why(name: str, kind: str) -> None:
    wrong, found = simulate.wrong_answers(name)[kind], marks_of(name, kind)
    assert {check for check, message in found.items() if message} == set(wrong.lost)
    assert any(wrong.message in message for message in found.values())


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_every_check_of_an_assignment_is_lost_by_some_wrong_answer(name: str) -> None:
    """A check that no wrong answer fails might test nothing."""
    lost = {check for wrong in simulate.wrong_answers(name).values() for check in wrong.lost}
    unloseable = {
        "test_counterexample",
        "test_shard_negatives",
        "test_gradient_unit",
        "test_inputs_plain",
        "test_slope",
    }
    assert set(simulate.points(name)) - lost <= unloseable


SPOILT: dict[str, dict[str, str]] = {  # one wrong cell for each check that no typical wrong submission loses
    "cosine-orthogonality": {
        "test_gradient_unit": "def cosine_gradient(q, k):\n    return np.array(k) / np.linalg.norm(k)"
    },
    "jacobian-conditions": {"test_inputs_plain": "def dense_inputs(n, bias):\n    return np.eye(n) + 1"},
    "popularity-norm-coupling": {
        "test_slope": "def popularity_slope(counts, norms):\n    return float(np.polyfit(counts, norms, 1)[0])"
    },
    "in-batch-bias": {
        "test_counterexample": "def counterexample():\n    return [[1, 0], [0, 1]], 2, (0, 0), 0",
        "test_shard_negatives": "def shard_weights(r, c, m, shape, d):\n    return [[Fraction(1)] * len(c)] * len(r)",
    },
}


@pytest.mark.parametrize(("name", "check"), [(name, check) for name, spoilt in SPOILT.items() for check in spoilt])
def test_those_checks_are_lost_by_another_wrong_answer(name: str, check: str) -> None:
    code = SPOILT[name][check]
    notebook, function = simulate.reference(name), re.match(r"def (\w+)", code)[1]
    for cell in notebook["cells"]:
        if cell["metadata"]["nbgrader"]["grade_id"] == function:
            cell["source"] = code
    assert marks(notebook, name)[check]


@pytest.mark.parametrize("name", NEW)
def test_the_public_checks_run_without_nbgrader_and_without_the_exercises(name: str) -> None:
    code = ["import sys", "sys.modules['nbgrader'] = sys.modules['exercises'] = None"]
    for cell in simulate.reference(name)["cells"]:
        if cell["cell_type"] == "code":
            code.append("\n".join(line for line in cell["source"].split("\n") if "%pip" not in line))
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(code)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("not full marks") == len(simulate.points(name))


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_points_minutes_and_tasks_agree_wherever_they_stand(name: str) -> None:
    """The headings, the table and the first sentence of an assignment, and the points of its cells."""
    cells = simulate.source(name)["cells"]
    intro = "".join(cells[0]["source"])
    tasks, current = {}, None
    for cell in cells:
        text, about = "".join(cell["source"]), cell["metadata"]["nbgrader"]
        if text.startswith("## Task"):
            current = int(re.match(r"## Task (\d+)\.", text)[1])
            points, by_hand, minutes = TASK.search(text).groups()
            tasks[current] = [int(points), int(minutes), 0, by_hand]
        if about["grade"]:
            tasks[current][2] += about["points"]
            assert (tasks[current][3] is not None) == about["solution"]
    assert list(tasks) == list(range(1, len(tasks) + 1)) and len(tasks) >= 6
    assert all(stated == of_cells for stated, _, of_cells, _ in tasks.values())
    rows = {int(number): [int(points), int(minutes)] for number, _, points, minutes in ROW.findall(intro)}
    assert rows == {number: task[:2] for number, task in tasks.items()}
    total, machine = sum(task[0] for task in tasks.values()), sum(simulate.points(name).values())
    person = sum(simulate.points(name, by_hand=True).values())
    assert f"{WORDS[len(tasks)].capitalize()} tasks, {total} points" in intro
    assert f"{WORDS[len(tasks) - 1].capitalize()} are graded by machine ({machine} points)" in intro
    assert f"the last by a person ({person} points)" in intro and total == machine + person
    hours = {150: "two and a half", 155: "two and a half", 195: "three", 175: "three", 180: "three", 185: "three"}
    assert f"about {hours[sum(task[1] for task in tasks.values())]} hours" in intro


def test_the_readme_lists_every_assignment() -> None:
    rows = {}
    for name in ASSIGNMENTS:
        texts = ["".join(cell["source"]) for cell in simulate.source(name)["cells"]]
        found = [match for text in texts if (match := TASK.search(text))]
        machine, person = (sum(simulate.points(name, by_hand=hand).values()) for hand in (False, True))
        rows[name] = f"| `{name}` | {len(found)} | {machine} | {person} | {sum(int(match[3]) for match in found)} |"
    readme = (ROOT / "exercises" / "README.md").read_text(encoding="utf-8")
    assert [row for row in rows.values() if row not in readme] == []


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_the_written_task_has_a_rubric_that_adds_up(name: str) -> None:
    (essay,) = [
        cell for cell in simulate.source(name)["cells"] if cell["metadata"]["nbgrader"]["grade_id"] == "criticise"
    ]
    text = "".join(essay["source"])
    rubric = text[text.index("**Rubric.**") :]
    single, each = rubric.count("1 point:"), rubric.count("1 point for each")
    assert single + 2 * each == essay["metadata"]["nbgrader"]["points"]


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_hidden_checks_use_other_inputs_than_the_public_ones(name: str) -> None:
    """Every function is asked, by each hidden check, something that the public check does not ask."""
    for cell in simulate.source(name)["cells"]:
        about = cell["metadata"]["nbgrader"]
        if about["grade"] and not about["solution"]:
            whole = "".join(cell["source"])
            public, both = (_questions(name, code) for code in (simulate.HIDDEN.sub("", whole + "\n"), whole))
            assert public == both[: len(public)]
            new = [question for question in both[len(public) :] if question not in public]
            no_arguments = all(question.endswith("()") for question in both)
            assert new or no_arguments or "condition" in whole or "tower" in whole, about["grade_id"]


def _questions(name: str, code: str) -> list[str]:
    asked: list[str] = []

    def listening(label: str, answer: Any) -> Any:
        def call(*arguments: Any) -> Any:
            asked.append(f"{label}({', '.join(map(repr, arguments))})")
            return answer(*arguments)

        return call

    answers = {
        key: listening(key, thing) for key, thing in functions(simulate.reference(name)).items() if callable(thing)
    }
    exec(code, {**answers, "checks": checks})
    return asked


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_an_assignment_opens_no_room_that_gives_its_answers_away(name: str) -> None:
    from test_rooms import ROOMS

    source = notebooks.read_source(ROOT / "exercises" / "source" / name / f"{name}.ipynb")
    opened = set(notebooks.open_rooms(source))
    reached = set(opened)
    while more := {room for reach in reached for room in ROOMS[reach][0]} - reached:
        reached |= more
    answers = (
        {"in_batch", "proofs", "checks"}
        if name == "in-batch-bias"
        else {
            "geometry",
            "gauge",
            "gramians",
            "in_batch",
            "norms",
            "popularity",
            "correction",
            "debiasing",
            "backbones",
            "jacobians",
            "encoders",
            "losses",
            "checks",
            "proofs",
            "paper_tables",
        }
    )
    assert not reached & answers
    if name in NEW:
        assert all(f"`{room}`" in "".join(simulate.source(name)["cells"][0]["source"]) for room in opened)


def test_whatever_checks_may_use_counts_for_grading_again() -> None:
    from test_rooms import ROOMS

    used = {"checks"}
    while more := {room for name in used for room in ROOMS[name][0]} - used:
        used |= more
    assert used <= set(judge.GRADING_ROOMS)


def test_the_sources_are_notebooks_that_nbgrader_reads() -> None:
    for name in ASSIGNMENTS:
        notebook = notebooks.read_source(ROOT / "exercises" / "source" / name / f"{name}.ipynb")
        nbformat.validate(notebook)
        ids = [notebooks.grading(cell)["grade_id"] for cell in notebook.cells]
        assert len(ids) == len(set(ids))


# ---- messages: wrong numbers that the usual misconceptions give ----

HALF = 0.5


def double_sum(U: list, V: list, w: list, z: list, c: Any) -> Any:
    """The definition: every pair, one after another."""
    score = lambda u, v: sum(a * b for a, b in zip(u, v, strict=True))
    return sum(w[i] * z[j] * (score(u, v) - c) ** 2 for i, u in enumerate(U) for j, v in enumerate(V))


def in_gramians(batches: list, rates: list) -> list:
    """SOGram from zero, without the correction."""
    return gramian_checks._follow([gramians.gramian(exact(batch)) for batch in batches], rates)[0].tolist()


def best_rate(path: list, batches: list, *, power: int = 2, drift: str = "random_walk") -> float:
    steps, errors = np.diff(np.array(path), axis=0), np.array(batches) - np.array(path)
    ratio = np.sqrt((steps**2).sum(axis=(1, 2)).mean() / (errors**2).sum(axis=(1, 2)).mean())
    return gramians.optimal_alpha(float(ratio ** (power / 2)), 1.0, drift)


MESSAGES = [
    (
        "cosine_orthogonality.gradient_at_any_length",
        lambda q, k: (np.array(k) / 2 - 0.8 * np.array(q) / 5) / 5,
        "is not right",
    ),
    (
        "cosine_orthogonality.gradient_at_unit_length",
        lambda q, k: np.array(k) / np.linalg.norm(k),
        "moving outward does not change",
    ),
    ("cosine_orthogonality.gradient_at_unit_length", lambda q, k: q[:1], "a list of numbers"),
    ("cosine_orthogonality.gradient_at_unit_length", lambda q, k: [float("nan")] * len(q), "finite"),
    ("cosine_orthogonality.norm_after", lambda n, c, s, lr: n, "to second order the length does"),
    ("cosine_orthogonality.norm_after", lambda n, c, s, lr: float(n), "no floats"),
    ("cosine_orthogonality.shrinking", lambda: ([0, 0], [1, 0], 1), "not zero"),
    ("cosine_orthogonality.shrinking", lambda: ([1, 0], [1, 0, 0], 1), "of the dimension of q"),
    ("cosine_orthogonality.shrinking", lambda: 7, "three things"),
    ("cosine_orthogonality.longer_than_one", lambda q, keys: [1.0] * len(keys), "must sum to 1"),
    ("jacobian_conditions.tangent", lambda kernel, q: "yes", "True or False"),
    ("jacobian_conditions.tangent", lambda kernel, q: True, "correlated features"),
    ("jacobian_conditions.tower_i", lambda condition: ([[1.5, 1]], [[1], [0]]), "whole numbers"),
    ("jacobian_conditions.tower_ii", lambda condition: ([[0, 1]], [[1], [0]]), "is zero"),
    ("jacobian_conditions.inputs_plain", lambda n, bias: np.eye(n), "at least two entries"),
    ("jacobian_conditions.inputs_bias", lambda n, bias: [[1, 1], [1, -1]], "which adds 1"),
    ("jacobian_conditions.chance", lambda d: 20.0 / 180 if d == 2 else 0.5, "No usual slip"),
    ("popularity_norm_coupling.update_plain", lambda c, t, b, e, n: 1 - (1 - 1 / 4) ** 2, "no floats"),
    ("popularity_norm_coupling.rare", lambda: ([1, 0], 1.0, [[0, 1]] * 3, [[1, 1]] * 29), "ten times as many"),
    ("popularity_norm_coupling.rare", lambda: ([1, 0], 1.0, [[0, 0]], [[1, 1]] * 29), "no direction"),
    ("popularity_norm_coupling.largest", lambda *a: None, "does become larger"),
    ("popularity_norm_coupling.largest", lambda c, b, s, q, h, r: 1.0 if r > 5 else 0.0, "is not right|return None"),
    ("gauge_freedom.feasible_square", lambda k, n: (np.eye(k), [-1.0, 1.0]), "signs change no cosine"),
    ("gauge_freedom.feasible_square", lambda k, n: (np.eye(k), [1.0, 1.0]), "identity"),
    ("gauge_freedom.feasible_square", lambda k, n: ([[1.0, 0.0], [1.0, 0.0]], [1.0, 2.0]), "span all 2"),
    ("gauge_freedom.feasible_square", lambda k, n: ([[1.0, 1.0]] * 2, [1.0, 2.0]), "length 1"),
    ("gauge_freedom.nearest", lambda B, i, j: [0.0, 1.0], "positive numbers"),
    ("gauge_freedom.survives", lambda M: [True, True], "three truth values"),
    ("gauge_freedom.pinning", lambda k: [[1, 0], [0, 1], [0.6, 0.8], [0.8, 0.6]], "fewer do"),
    ("gauge_freedom.decay", lambda A, B: [10**400, 1], "finite"),
    ("gramian_estimators.pairs", lambda U, V, w, z, c: 1.5, "no floats"),
    ("gramian_estimators.pairs", lambda U, V, w, z, c: double_sum(U, V, w, z, 0), "this is the sum for c = 0"),
    ("gramian_estimators.pairs", lambda U, V, w, z, c: double_sum(U, V, w, z, -c), "sign of the middle term"),
    (
        "gramian_estimators.pairs",
        lambda U, V, w, z, c: double_sum(U, V, [1] * len(U), [1] * len(V), c),
        "weights w and z are missing",
    ),
    ("gramian_estimators.gradient", lambda U, V, pairs, x: U[x][:1], "a list of 2 numbers"),
    ("gramian_estimators.gradient", lambda U, V, pairs, x: [5, -5] if x else [0, 0], "No usual slip"),
    ("gramian_estimators.sogram_constant", lambda batches, rates: [[1, 0], [0, 1]], "No usual slip"),
    ("gramian_estimators.sogram_constant", lambda batches, rates: [[1.0, 0], [0, 1]], "no floats"),
    (
        "gramian_estimators.sogram_constant",
        lambda batches, rates: in_gramians(batches, rates),
        "start at zero still has a part",
    ),
    (
        "gramian_estimators.sogram_constant",
        lambda batches, rates: in_gramians(batches[-1:], [1]),
        "the last batch alone",
    ),
    (
        "gramian_estimators.sogram_constant",
        lambda batches, rates: in_gramians([sum(batches, [])], [1]),
        "old batches must fade",
    ),
    (
        "gramian_estimators.sogram_rates",
        lambda batches, rates: in_gramians(batches, [1, *rates[1:]]),
        "start at the first batch",
    ),
    ("gramian_estimators.sagram_one", lambda tables, beta, b: in_gramians(tables[:1], [1]), "this is the cache"),
    ("gramian_estimators.leaving", lambda n, beta: ([[1, 0], [1, 0]], [[0, 0], [1, 0]], 0), "no row of now is zero"),
    ("gramian_estimators.leaving", lambda n, beta: ([[1, 0], [1, 0]], [[1, 0], [1, 0]], 2), "from 0 to 1"),
    ("gramian_estimators.leaving", lambda n, beta: ([[1, 0], [1, 0]], [[1, 0], [1, 0]], 0), "smallest is 0"),
    ("gramian_estimators.leaving", lambda n, beta: ([[1.0, 0], [1, 0]], [[1, 0], [1, 0]], 0), "no floats"),
    ("gramian_estimators.leaving", lambda n, beta: ([[1, 0]], [[1, 0], [1, 0]], 0), "cached has 2 rows of two"),
    ("gramian_estimators.always", lambda n: ([[1, 0], [0, 1]], [[1, 0], [0, 1]]), "no negative eigenvalue"),
    ("gramian_estimators.batch_with", lambda share, n: [2.0, 2], "whole number"),
    ("gramian_estimators.batch_with", lambda share, n: [4, 3] if n == 10 else [11, 7], "one fewer is enough"),
    (
        "gramian_estimators.batch_without",
        lambda share, n: [3, 3] if n == 10 else [10, 10],
        "this is the batch for draws with replacement",
    ),
    ("gramian_estimators.rate_small", lambda path, batches: 2.0, "No usual slip"),
    ("gramian_estimators.rate_small", lambda path, batches: best_rate(path, batches, power=1), "square of delta/sigma"),
    (
        "gramian_estimators.rate_small",
        lambda path, batches: best_rate(path, batches, drift="coherent"),
        "drift straight on",
    ),
]


@pytest.mark.parametrize(("check", "answer", "hint"), MESSAGES)
def test_a_message_says_what_is_wrong(check: str, answer: Any, hint: str) -> None:
    module, task = check.split(".")
    with pytest.raises(forms.NotYet, match=hint):
        getattr(getattr(checks, module), task)(answer)


STRANGE = [
    None,
    True,
    -1,
    0.5,
    "x",
    [],
    [[]],
    [None],
    [[1.0], [2.0, 3.0]],
    [[[1.0]]],
    float("nan"),
    float("inf"),
    10**400,
    ["a", "b"],
    [[1, 2], 3],
    [True, False],
    [0.0, 0.0],
    [[0.0, 0.0]] * 2,
    [[float("inf")] * 2] * 2,
    [-1.0, -1.0, -1.0],
]


@pytest.mark.parametrize("name", NEW)
def test_no_check_breaks_at_a_strange_answer(name: str) -> None:
    """A check raises NotYet, and nothing else: else an answer would be marked as unreadable."""
    for cell in simulate.source(name)["cells"]:
        about = cell["metadata"]["nbgrader"]
        if about["grade"] and not about["solution"]:
            code = compile("".join(cell["source"]), about["grade_id"], "exec")
            for value in STRANGE:
                answer = lambda *a, value=value: value
                names = dict.fromkeys(
                    (key for key, x in functions(simulate.reference(name)).items() if callable(x)), answer
                )
                with pytest.raises(forms.NotYet):
                    exec(code, {**names, "checks": checks})


# ---- the numbers that the solutions of the written tasks quote ----


def test_the_essay_on_cosines_quotes_the_share_of_radial_gradients() -> None:
    users, items = cosine_checks.films()
    share = functions(simulate.reference("cosine-orthogonality"))["share_radial"]
    assert share(users, items, 1.0, 0.1, "dot") == pytest.approx(0.9, abs=0.05)  # "nine users in ten"
    assert share(users, items, 1.0, 0.1, "cos") == 0


def test_the_essay_on_jacobians_quotes_shares_and_chance() -> None:
    names = functions(simulate.reference("jacobian-conditions"))
    essay = "".join(simulate.source("jacobian-conditions")["cells"][-1]["source"])
    shares = [names["share_near_right_angle"](*jacobian_checks.films(d)) for d in (2, 8, 64)]
    chance = [names["chance_share"](d) for d in (2, 8, 64)]
    assert "shares are {:.2f}, {:.2f} and {:.2f} in 2, 8 and 64 dimensions".format(*shares) in essay
    assert "against {:.2f}, {:.2f} and {:.2f} by chance".format(*chance) in essay
    assert (
        f"{100 * chance[2]:.1f} % of all random directions" in essay
        and f"chance gives {100 * chance[0]:.1f} %" in essay
    )


def test_the_essay_on_norms_quotes_the_slopes() -> None:
    predicted = functions(simulate.reference("popularity-norm-coupling"))["predicted_slope"]
    counts = norms_checks.film_counts()
    assert predicted(counts, 512, 3000, 100, 1, 1e-3) > 0.1
    assert predicted(counts, 512, 3000, 0.01, 1, 1e-3) < 0.001


def test_the_essay_on_gauges_quotes_the_neighbours_left() -> None:
    left = functions(simulate.reference("gauge-freedom"))["neighbours_left"]
    shares = {s: np.mean([left(*gauge_checks.films(s, seed=seed), 10) for seed in range(5)]) for s in (1, 2)}
    assert 0.35 < shares[1] < 0.5  # "less than half"
    assert shares[2] == pytest.approx(0.25, abs=0.05)  # "about a quarter"


def test_the_essay_on_gramians_quotes_the_best_rates() -> None:
    best, films = functions(simulate.reference("gramian-estimators"))["best_rate"], gramian_checks.films
    slow, fast = best(*films(64, 5)), best(*films(1024, 50))
    assert slow == pytest.approx(0.01, abs=0.005)  # "about 0.01"
    assert fast == pytest.approx(0.4, abs=0.03) and 1 - fast == pytest.approx(
        0.6, abs=0.03
    )  # "about 60 per cent of it"


def test_the_films_of_a_path_do_not_depend_on_the_batch_that_is_measured() -> None:
    first, second = (np.array(gramian_checks.films(b, 5.0, steps=3)) for b in (8, 900))
    assert (first[0] == second[0]).all() and (first[1] != second[1]).any()
    assert np.linalg.norm(second[1] - second[0]) < np.linalg.norm(first[1] - first[0])


@pytest.mark.parametrize(("beta", "b", "steps"), [(Fraction(1, 3), 1, 3), (Fraction(1), 2, 2), (Fraction(1, 5), 2, 2)])
def test_the_mean_of_sagram_is_that_of_every_sequence_of_batches(beta: Fraction, b: int, steps: int) -> None:
    """The recursion of the solution, against the estimator itself."""
    tables = np.random.default_rng(1).integers(-3, 4, size=(steps + 1, 3, 2)).tolist()
    mean = functions(simulate.reference("gramian-estimators"))["sagram_mean"](tables, beta, b)
    assert (mean == gramian_checks.enumerated([exact(table) for table in tables], beta, b)).all()


def test_the_sum_over_pairs_and_its_gradient_are_what_their_definitions_say() -> None:
    names, rng = functions(simulate.reference("gramian-estimators")), np.random.default_rng(2)
    U, V = rng.integers(-3, 4, size=(3, 2)).tolist(), rng.integers(-3, 4, size=(2, 2)).tolist()
    w, z, c = [1, 2, Fraction(1, 3)], [2, 5], Fraction(1, 2)
    assert names["all_pairs"](U, V, w, z, c) == double_sum(U, V, w, z, c)
    pairs = [(0, 0), (0, 1), (2, 1), (0, 1)]

    def gravity(rows: list) -> Fraction:
        lefts, rights = [rows[x] for x, _ in pairs], [V[y] for _, y in pairs]
        return double_sum(lefts, rights, [1] * 4, [1] * 4, 0) / Fraction(16)

    for x, axis in ((0, 0), (0, 1), (1, 0), (2, 1)):  # g is quadratic in u_x: the central difference is exact
        up, down = ([[*row] for row in U] for _ in range(2))
        up[x][axis] += 1
        down[x][axis] -= 1
        assert names["gravity_gradient"](U, V, pairs, x)[axis] == (gravity(up) - gravity(down)) / 2


@pytest.mark.parametrize(("n", "share"), [(7, Fraction(1, 5)), (12, Fraction(2, 7)), (2, Fraction(1, 2))])
def test_the_smallest_batch_is_that_of_a_search(n: int, share: Fraction) -> None:
    found = functions(simulate.reference("gramian-estimators"))["smallest_batches"](share, n)
    assert found[0] == next(b for b in range(1, 1000) if gramians.same_batch_share(Fraction(b)) <= share)
    assert found[1] == next(b for b in range(1, n + 1) if gramians.same_batch_share(Fraction(b), n) <= share)


def test_the_films_of_two_checks_have_equal_scores() -> None:
    """A gauge changes neighbours and no score: what the task on films claims."""
    users, items, _, _ = real.film_factors(16)
    d = gauge.random_diagonal_gauge(16, spread=2.0, rng=np.random.default_rng(0))
    first, second = gauge.apply_gauge(users, items, d)
    assert np.abs(first @ second.T - users @ items.T).max() < 1e-10


def test_forms_say_what_they_expect() -> None:
    with pytest.raises(forms.NotYet, match="3 x any"):
        forms.floats([[1.0]], (3, None), "rows")
    with pytest.raises(forms.NotYet, match="all rows of the same length"):
        forms.floats([[1.0], [1.0, 2.0]], (2, None), "rows")
    assert forms.floats([[1, 2]], (1, 2), "rows").dtype == np.float64
