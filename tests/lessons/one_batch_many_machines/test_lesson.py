"""The chapter on many machines: its proofs, findings, figures and exercises in words."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy as sp
import torch
from matplotlib.patches import Rectangle

from course_lib import in_batch, processes
from course_lib.checking import some
from course_lib.experiments.core.results import Result, load_result
from course_lib.experiments.core.summary import Row, tidy
from course_lib.lessons.one_batch_many_machines import broken, plots, proofs, stops
from course_lib.lessons.one_batch_many_machines import findings as about
from course_lib.lessons.one_batch_many_machines.stops import Stopped
from course_lib.lessons.shared.findings import Finding, FindingError


def times(factor: int) -> Callable[[Any], Any]:
    """A function whose result is multiplied."""
    return lambda right: lambda *args, **kwargs: factor * right(*args, **kwargs)


def other_factors(right: Callable[..., processes.GradientFactors]) -> Callable[..., processes.GradientFactors]:
    """Far pushes also arrive where a machine computes its own rows from constants."""
    return lambda **given: right(**{**given, "gather": "gradients"})


def other_meetings(right: Callable[..., processes.Meetings]) -> Callable[..., processes.Meetings]:
    """Nobody meets a copy."""
    return lambda *args, **given: right(*args, **given)._replace(copies=Fraction(1, 7))


def other_coefficients(right: Callable[..., Any]) -> Callable[..., Any]:
    """The balance of another batch size."""
    return lambda kind, *, a, rho: right(kind, a=a, rho=2 * rho)


P = proofs
WRONG = [
    (processes, "gradient_factors", other_factors, [P.thm_averaged_gradient]),
    (processes, "negatives_ratio", times(2), [P.thm_local_softmax]),
    (processes, "meetings", other_meetings, [P.thm_meetings]),
    (in_batch, "coefficients_from", other_coefficients, [P.thm_corrected_losses]),
    (in_batch, "inclusion_probability", times(2), [P.thm_meetings]),
    # functions of one negative more escape the proof
    (P, "mean_of_local", lambda f: lambda negatives, count: f(negatives, count + 1), [P.prop_no_local_softmax]),
]


def test_a_gather_that_loses_one_machine_is_another_average() -> None:
    """The two ways are not the same by symbols: what constants lose is the far slopes of the items."""
    with_it, without = (proofs.averaged(2, 2, "own", gather, "mean") for gather in ("gradients", "constant"))
    lost = [sp.expand(a - b) for a, b in zip(with_it, without, strict=True)]
    assert lost[:4] == [0, 0, 0, 0] and lost[8] == 0
    assert lost[4] == (sp.Symbol("D2_0") + sp.Symbol("D3_0")) / 4


@pytest.mark.seconds
def test_a_gather_with_gradients_is_a_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the rows of all machines in a film's part both mixed derivatives are there, so the proof of none fails."""

    def whole(p: int, b: int) -> Any:
        q, k, _ = right(p, b)
        loss = sum(sp.log(sum(sp.exp(x * y) for y in k)) - x * k[a] for a, x in enumerate(q)) / (p * b)
        return q, k, [loss.diff(x) for x in (*q, *k)]

    right = proofs.numbers_on
    queries = [field[:2] for *_, field in (right(2, 1), whole(2, 1))]
    assert [sp.simplify(part - other) for part, other in zip(*queries, strict=True)] == [0, 0]
    monkeypatch.setattr(proofs, "numbers_on", whole)
    assert all(residual != 0 for residual in some(proofs.prop_not_a_gradient()[1:]))


def test_the_local_weights_are_those_of_one_small_batch() -> None:
    """Numbers: two positives of three in each batch, a negative of popularity 2."""
    weights = proofs.expected_in_batch(proofs.B)
    numbers = {proofs.B: 2, proofs.M: 3, proofs.m: 2, proofs.n: 2, proofs.pop: 2}
    assert [weight.subs(numbers) * 4 for weight in weights] == [1, 1, sp.Rational(1, 2)]


def test_a_counterexample_shows_both_sides() -> None:
    lone = broken.parts_of_two_lengths()
    assert (lone.claimed, lone.actual) == (Fraction(1, 4), Fraction(1, 2))
    assert broken.factor_on_own_rows(4).actual == 4 and broken.sums_on_own_rows(4).actual == Fraction(1, 4)


# ==== the chapter's findings on its trainings: each holds of the stored table, and fails on the opposite

Table = dict[str, dict[str, Stopped]]
PLAIN, LOGQ, COSINES = stops.MODELS
ONE, CONSTANT, LOCAL = stops.MACHINES


def level(recall: float, fans: float = 10.0, count: int = len(stops.STOPS)) -> Stopped:
    """The same at all stops and for both seeds, but for a thousandth."""
    values = np.full((2, count), recall) + np.array([[0.0], [0.001]])
    return Stopped(values, values, np.full((2, count), fans))


def table() -> Table:
    """Everything as the chapter says; the middle model has no cost before 600 steps, and then half."""
    late = np.array(stops.STOPS) >= 600
    middle = replace(level(14.0), recall=level(14.0).recall * np.where(late, 0.5, 1.0))
    return {
        "lists": {"most popular": level(19.0, count=1), "random": level(0.6, count=1)},
        PLAIN: {ONE: level(2.0), CONSTANT: level(5.0, 40.0), LOCAL: level(2.1)},
        LOGQ: {ONE: level(14.0), CONSTANT: middle, LOCAL: level(13.5)},
        COSINES: {ONE: level(20.0), CONSTANT: level(9.0), LOCAL: level(19.5)},
    }


OPPOSITES: list[tuple[Finding, str, str, Stopped]] = [  # a finding, and a training of which it is false
    (about.popular_beats_inner_products, LOGQ, LOCAL, level(19.5)),
    (about.cosines_beat_popular, COSINES, ONE, level(18.5)),
    (about.lost_pushes_find_more, PLAIN, CONSTANT, level(1.9)),
    (about.lost_pushes_show_popular_films, PLAIN, CONSTANT, level(5.0, 14.0)),
    (about.an_early_stop_hides_the_cost, LOGQ, CONSTANT, level(12.5)),
    (about.lost_pushes_cost_recall, LOGQ, CONSTANT, level(14.1)),
    (about.lost_pushes_cost_a_quarter, LOGQ, CONSTANT, level(10.6)),
    (about.lost_pushes_cost_cosines_more, COSINES, CONSTANT, level(12.1)),
    (about.local_negatives_find_as_much, COSINES, LOCAL, level(14.9)),
]


def opposite(model: str, holding: str, found: Stopped) -> Table:
    made = table()
    made[model][holding] = found
    return made


def test_a_finding_that_is_called_undecided_is_not_so_in_this_table() -> None:
    [(undecided, *where)] = [case for case in OPPOSITES if case[0].claimed is not None]
    with pytest.raises(FindingError, match="decide it"):
        undecided.evidence(table())
    assert "the other way" in undecided.evidence(opposite(*where)).support


def test_a_best_stop_that_one_seed_reaches_early_counts() -> None:
    """At its best stop: the largest of all stops, not that of the last."""
    made = table()
    high = level(14.0)
    high.recall[:, 3] = 19.5
    made[LOGQ][LOCAL] = high
    with pytest.raises(FindingError, match="eight, local"):
        about.popular_beats_inner_products.evidence(made)


def test_all_findings_of_the_trainings_have_a_case_here() -> None:
    ours = {name for name, thing in vars(about).items() if isinstance(thing, Finding) and not thing.rests_on}
    of_the_lab = {"gradients_as_predicted", "right_recipes_are_exact", "summed_gramians_are_exact"}
    of_the_lab |= {"sockets_send_the_formula"}
    assert {case[0].name.replace("-", "_") for case in OPPOSITES} == ours - of_the_lab


def test_the_stop_that_validation_chooses_is_read_from_the_test() -> None:
    validation = np.array([[1.0, 3.0, 2.0], [5.0, 4.0, 1.0]])
    found = Stopped(validation, np.array([[10.0, 20.0, 30.0], [40.0, 50.0, 60.0]]), validation)
    assert found.at_best_validation().tolist() == [20.0, 40.0]


# ==== the lab's findings: each holds on numbers that say so, and stops the page on the opposite


def result(*rows: list[Row]) -> Result:
    return Result("SCALE-X0", "smoke", "made up", [row for some in rows for row in some])


def gradients(*, right: float = 1e-16, prediction: float = 1e-16, gramians: float = 1e-16) -> Result:
    """Two processes: a right recipe, a wrong one that is off by a half, and SOGram."""
    where = {"processes": 2, "loss": "softmax", "rows": "own", "reduction": "mean", "times_world": False}
    good = tidy(
        {**where, "gather": "gradients"},
        {"towers off": right, "temperature off": 1e-16, "off prediction": prediction},
    )
    bad = tidy({**where, "gather": "constant"}, {"towers off": 0.5, "temperature off": 0.5, "off prediction": 1e-16})
    return result(good, bad, tidy({**where, "gather": "d x d sums"}, {"towers off": gramians}))


def traffic(*, counted: float = 1100.0, sums: float = 1.0) -> Result:
    where = {"processes": 2, "batch": 512, "width": 64, "rows": "own"}
    gather = {"bytes": counted, "formula bytes": 1000.0, "step ms": 5.0}
    return result(
        tidy({**where, "gather": "constant"}, gather),
        tidy({**where, "gather": "d x d sums"}, {"bytes": 600.0, "formula bytes": 500.0, "step ms": sums}),
    )


def shards(*, data: str = "films", plain: float = 0.05, logq: float = 0.15) -> Result:
    """Recall with eight shards; with one it is 0.05 without logQ and 0.15 with it."""
    table = {("softmax", 1): 0.05, ("softmax", 8): plain, ("softmax, logQ", 1): 0.15, ("softmax, logQ", 8): logq}
    rows = [
        tidy({"data": data, "objective": objective, "shards": count, "seed": seed}, {"recall@10": value + seed / 1e4})
        for (objective, count), value in table.items()
        for seed in range(3)
    ]
    return result(*rows)


def tables(*, loss: float = 0.5, ndcg: float = 0.06, grown: float = 0.13, sent: float = 0.003) -> Result:
    """A training in three ways, and a size of tables; the numbers are those with shards."""
    where, of_one = {"loss": "softmax", "optimizer": "sgd"}, {"loss, epoch 1": 0.5, "recall@10": 0.1, "ndcg@10": 0.06}
    return result(
        tidy({**where, "way": "one process"}, {**of_one, "sent GB": 0}),
        tidy({**where, "way": "replicated"}, {**of_one, "sent GB": 0.006}),
        tidy({**where, "way": "sharded"}, {**of_one, "loss, epoch 1": loss, "ndcg@10": ndcg, "sent GB": sent}),
        tidy({"rows": 1000, "way": "sharded"}, {"tables GB": 0.2, "grown GB": grown}),
    )


def costs(*, predicted: float = 5.9) -> Result:
    where = {"processes": 4, "batch": 256, "width": 64, "gather": "constant", "rows": "own", "seed": 0}
    return result(tidy(where, {"step ms": 5.0, "predicted ms": predicted}))


def lost(
    *, data: str = "movietweetings", recalls: tuple[float, ...] = (), late: float = 1.0, bar: float = 0.4
) -> Result:
    """Three seeds, two looks, at 10 and 100 steps: one machine finds .2 and .3, the others in proportion to 1 - kappa.

    recalls: at the end, with 2, 4, 8 and 32 machines. late: multiplies what eight machines lack at the last look.
    """
    rows: list[list[Row]] = []
    for seed in range(3):
        for at, count in enumerate((1, 2, 4, 8, 32)):
            end = 0.3 * (0.5 + 0.5 * about._kappa(count)) if at == 0 or not recalls else recalls[at - 1]
            path = [0.2 - (0.3 - end), 0.3 - late * (0.3 - end)]
            where = {"data": data, "model": about.COSINES, "machines": count, "seed": seed}
            rows.append([{**where, "metric": "recall@10", "value": path[-1] + seed / 1e5 * count, "path": path}])
            rows.append([{**where, "metric": "steps", "value": 100.0, "path": [10.0, 100.0]}])
    rows += [
        tidy({"data": data, "model": name, "machines": 1, "seed": 0}, {"recall@10": bar})
        for name in ("most popular", "popular lately")
    ]
    return result(*rows)


# the page calls it undecided; here one setting decides it
ON_ML1M = replace(about.shards_cost_some_recall, claimed=frozenset({"ml-1m-5core, softmax, logQ"}))
FINDINGS: list[tuple[Finding, tuple[Any], tuple[Any]]] = [
    *((finding, (table(),), (opposite(*where),)) for finding, *where in OPPOSITES if finding.claimed is None),
    (about.gradients_as_predicted, (gradients(),), (gradients(prediction=1e-08),)),
    (about.right_recipes_are_exact, (gradients(),), (gradients(right=1e-08),)),
    (about.summed_gramians_are_exact, (gradients(),), (gradients(gramians=1e-08),)),
    (about.sockets_send_the_formula, (traffic(),), (traffic(counted=4001.0),)),
    (about.sockets_send_the_formula, (traffic(),), (traffic(counted=999.0),)),
    (about.gramians_are_quicker, (traffic(),), (traffic(sums=5.1),)),
    (about.two_processes_predict_four, (costs(),), (costs(predicted=6.3),)),
    (about.two_processes_predict_four, (costs(predicted=3.8),), (costs(predicted=3.7),)),
    (replace(about.shards_find_nearly_as_much, claimed=None), (shards(),), (shards(plain=0.039),)),
    (ON_ML1M, (shards(data="ml-1m-5core", logq=0.14),), (shards(data="ml-1m-5core"),)),
    (about.logq_outweighs_the_shards, (shards(),), (shards(logq=0.099),)),
    (about.shards_of_tables_train_alike, (tables(),), (tables(loss=0.500001),)),
    (about.shards_of_tables_rank_alike, (tables(),), (tables(ndcg=0.0602),)),
    (about.shards_of_tables_halve_the_memory, (tables(),), (tables(grown=0.2),)),
    (about.shards_of_tables_send_less, (tables(),), (tables(sent=0.007),)),
    (about.more_machines_find_less, (lost(),), (lost(recalls=(0.2, 0.21, 0.1, 0.05)),)),
    (about.loss_is_in_proportion, (lost(),), (lost(recalls=(0.29, 0.25, 0.2, 0.1)),)),
    (about.points_lost_do_not_grow, (lost(),), (lost(late=2.0),)),
    (about.recent_films_find_more_in_time, (lost(),), (lost(bar=0.2),)),
    (about.cosines_beat_popular_in_time, (lost(data="ml-1m", bar=0.2),), (lost(data="ml-1m"),)),
]


# ==== how the chapter's figures are drawn; tests/lessons/test_every_figure.py looks at the result

FIGURES = {
    "recall_by_steps": lambda: plots.recall_by_steps(stops.STOPS, stops.stored()),
    "who_pushes_whom": lambda: plots.who_pushes_whom(2, 3),
    "factors_of_recipes": lambda: plots.factors_of_recipes(load_result("SCALE-X1", "laptop")),
    "recall_lost": lambda: plots.recall_lost(load_result("SCALE-X6", "laptop")),
}


def test_the_dots_of_the_seeds_lie_at_one_minus_kappa() -> None:
    lost = load_result("SCALE-X6", "laptop")
    _, axes = plots.recall_lost(lost)
    data = lost.distinct("data")[0]
    one, eight = (lost.values("recall@10", data=data, model="cosines, logQ", machines=count) for count in (1, 8))
    dots = [line for line in axes[0, 1].lines if line.get_xdata()[0] == 1 - 31 / 255]
    assert dots[0].get_ydata().tolist() == [1 - b / a for a, b in zip(one, eight, strict=True)]


def test_each_panel_has_the_means_of_its_model_and_the_level_line_of_the_list() -> None:
    stored = stops.stored()
    _, axes = plots.recall_by_steps(stops.STOPS, stored)
    popular = stored["lists"]["most popular"].recall.mean()
    for ax, model in some(list(zip(axes, stops.MODELS, strict=True))):
        lines = {line.get_label(): line.get_ydata() for line in ax.lines}
        assert set(lines["most popular"]) == {popular}
        for name, found in some(stored[model].items()):
            assert lines[name].tolist() == found.recall.mean(axis=0).tolist()


def test_a_far_cell_is_hatched_and_a_near_one_is_not() -> None:
    _, ax = plots.who_pushes_whom(2, 2)
    cells = {patch.get_xy(): patch for patch in ax.patches if isinstance(patch, Rectangle) and patch.get_width() == 1}
    assert len(cells) == 16 and cells[2, 0].get_hatch() and not cells[1, 0].get_hatch()


def test_a_recipe_that_loses_pushes_is_hatched_and_one_with_a_wrong_factor_is_not() -> None:
    _, (two, four) = plots.factors_of_recipes(load_result("SCALE-X1", "laptop"))
    names = [label.get_text() for label in two.get_yticklabels()]
    hatched = {names[int(box.get_y())] for box in four.patches if isinstance(box, Rectangle) and box.get_hatch()}
    assert hatched == {"constants, own rows", "constants, own rows, times P", "nothing gathered, own rows"}
    shown = {text.get_position(): text.get_text() for text in four.texts}
    row = names.index("constants, all rows") + 0.5
    assert shown[0.5, row] == "0.25" and shown[0.5, row + 1] == "1"  # a quarter on four processes, mended by P


# ==== the exercises whose solutions are words alone: what they say, in numbers

LENGTHS = (32, 32, 32, 4)


def test_a_rate_makes_up_for_a_factor_and_spoils_the_temperature() -> None:
    """ex-rate-for-factor: four times the rate; the temperature then moves four times too far; Adam sees no factor."""
    found = processes.gradient_factors(processes=4, rows="all", gather="constant")
    steps = [Fraction(4, 10) * part for part in (found.query, found.pull, found.near, found.far, found.direct)]
    assert steps == [Fraction(1, 10)] * 4 + [Fraction(4, 10)]
    moved = []
    for factor in (1.0, 0.25):
        x = torch.ones(3, dtype=torch.float64, requires_grad=True)
        optimiser = torch.optim.Adam([x], lr=0.1, eps=0.0)
        for _ in range(3):
            optimiser.zero_grad()
            (factor * (x**2 @ torch.tensor([1.0, 2.0, -3.0], dtype=torch.float64))).backward()
            optimiser.step()
        moved.append(x.detach())
    torch.testing.assert_close(*moved, rtol=1e-12, atol=0)


def test_the_rows_of_a_short_part_weigh_too_much_and_a_factor_in_the_loss_mends_it() -> None:
    """ex-last-batch: 1/16 and not 1/100; with P B_r / sum B in the loss all rows weigh the same."""
    machines, size = len(LENGTHS), sum(LENGTHS)
    plain = [Fraction(1, machines * length) for length in LENGTHS]
    assert plain[-1] == Fraction(1, 16) and plain[0] == Fraction(1, 128) and plain[-1] * size == Fraction(25, 4)
    mended = [Fraction(machines * length, size) * weight for length, weight in zip(LENGTHS, plain, strict=True)]
    assert mended == [Fraction(1, size)] * machines


def test_gradients_that_are_weighed_after_the_gather_get_the_weight_of_the_wrong_machine() -> None:
    """ex-last-batch: slopes[r, s] of machine r's mean in a vector of machine s, two machines of 1 and 3 rows."""
    slopes, lengths = np.array([[1.0, 10.0], [100.0, 1000.0]]), np.array([1, 3])
    right = lengths / lengths.sum() @ slopes  # the mean over all rows
    in_the_loss = (2 * lengths / lengths.sum() @ slopes) / 2
    afterwards = lengths / lengths.sum() * slopes.sum(axis=0)
    assert np.allclose(in_the_loss, right) and not np.allclose(afterwards, right)


def test_eight_machines_with_constants_lose_seven_of_eight_pushes() -> None:
    """ex-more-machines: at most an eighth of the pushes is left, whatever the batch of a machine."""
    columns = processes.gradient_factors(processes=8, rows="own", gather="constant")
    left = [processes.mean_push(columns, processes=8, batch_size=size) for size in (2, 32, 4096)]
    assert left[0] == Fraction(1, 15) and max(left) < Fraction(1, 8) and left[-1] > Fraction(1249, 10_000)
