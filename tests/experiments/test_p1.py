"""P1's experiments: the pieces are what they say, and what decides the sign of alpha shows on the embedded films."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from refused import refused

from course_lib import debiasing, experiments, metrics, papers
from course_lib.datasets.catalogue import ENTRIES
from course_lib.experiments.core.results import Result
from course_lib.experiments.p1 import cells, data, measures, models, reading, signs, tables, tuning
from course_lib.lessons.ddc import plots as ddc_plots
from course_lib.lessons.popularity_direction import plots as direction_plots
from course_lib.papers import p1 as paper
from course_lib.training.recommenders import split_811

pytestmark = pytest.mark.seconds

FILMS = "movietweetings-10core"
SHORT = {"epochs": 8, "every": 4, "patience": 4}


@pytest.fixture(scope="module", autouse=True)
def own_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Cells and models of these tests, and none of anyone else's."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("COURSE_CACHE", str(folder))
        yield folder


def cell(**changes) -> dict:
    [found] = cells.base_cells("smoke", (0,), data=FILMS, device="cpu")
    return {**found, **cells.BUDGETS[FILMS], "backbone": "MF", **changes}


def values(rows: list[dict], metric: str, **where) -> list[float]:
    return [
        row["value"]
        for row in rows
        if row["metric"] == metric and all(row.get(key) == wanted for key, wanted in where.items())
    ]


# ------------------------------------------------------------------------------------------------ the same for everyone


def test_popularity_is_counted_in_the_training_part_and_changes_are_of_the_model_without_the_method() -> None:
    split = data.load_split(FILMS, 0)
    assert np.array_equal(split.counts, split.train.col_counts)
    assert measures.gains({"MRR@10": 2.0}, {"MRR@10": 3.0}) == {"MRR@10 change %": 50.0}


def test_every_method_of_table_3_is_there_and_tries_as_many_settings_as_any_other():
    assert paper.methods() == tuning.METHODS and set(tuning.METHODS) == {*debiasing.names(), "DDC"}
    assert {len(tries) for tries in tuning.GRID.values()} == {max(most for _, most in cells.TRIES.values())}
    assert len(tuning.DECAYS) == len(tuning.GRAPH_DECAYS) == max(most for most, _ in cells.TRIES.values())
    for scale in experiments.SCALES:
        for name in data.SETS[scale]:
            plan = tables.rivals_plan(scale, (0, 1), data=name)
            assert {tuple(c["tries"]) for c in plan} == {tuple(plan[0]["tries"])}
            assert {c["tuning seed"] for c in plan} == {0}
            budgets = [{key: c[key] for key in ("batch", "lr", "epochs", "every", "patience")} for c in plan]
            assert all(budget == budgets[0] for budget in budgets) and budgets[0]["epochs"] % budgets[0]["every"] == 0


def test_full_scale_follows_the_protocol_of_the_paper():
    budget = cells.budget("full", "gowalla-10core")
    assert (budget["batch"], budget["patience"]) == (paper.printed("batch_size"), paper.printed("patience"))
    ours = (models.WIDTH, tuning.TOP, measures.RATIO)
    assert tuple(paper.printed(name) for name in ("width", "top_share", "head_ratio")) == ours
    assert all(
        recipe["core"] == paper.printed("core")
        for name, recipe in data.RECIPES.table.items()
        if name.endswith("-10core")
    )


@pytest.mark.parametrize("which", ["P1-T2", "P1-T3"])
@pytest.mark.parametrize("name", ["yelp2018-10core", "amazon-book-10core"])
def test_tables_2_and_3_can_be_run_on_the_sets_that_lightgcn_uses(which: str, name: str):
    """Nobody has them here: a reader with a connection names them. They are no set of a scale, so no plan changes."""
    plan = experiments.cells_of(which, "full", (0,), data=name)
    assert {cell["data"] for cell in plan} == {name} and len(plan) > 4
    assert plan[0]["batch"] == paper.printed("batch_size")
    assert not any(name in sets for sets in data.SETS.values())
    assert data.RECIPES.table[name] == {"name": name.removesuffix("-10core"), "core": 10}


def test_they_are_not_the_papers_own_sets():
    """Of the same name and another size; P1's Table 1 gives the users."""
    rows = {row["dataset"]: row["users"] for row in papers.table("P1", "T1")}
    assert rows["yelp"] > 4 * ENTRIES["yelp2018"].users and rows["amazon-book"] > 2 * ENTRIES["amazon-book"].users


@pytest.mark.parametrize("method", tuning.METHODS[:-1])
def test_every_setting_of_the_grid_builds_its_method(method: str):
    train = data.load_split(FILMS, 0).train
    for options in tuning.GRID[method]:
        own = {key: value for key, value in options.items() if key != "decay factor"}
        model = models.make_model(models.model_cell(cell(), "MF", 0, method=method, decay=0.01, **own), train)
        assert all(getattr(model, key) == value for key, value in own.items() if key in vars(model))
        batch = torch.arange(32)
        model.begin_epoch(0, np.random.default_rng(0))
        assert torch.isfinite(model.loss(batch, batch + 1, batch + 2))


def test_splits_are_those_of_the_protocol_and_the_same_for_everyone():
    split = data.load_split(FILMS, 3)
    sizes = [len(part) for part in (split.train, split.valid, split.test)]
    assert (
        sum(sizes) == len(data.load_data(FILMS))
        and sizes[0] == round(0.8 * sum(sizes))
        and abs(sizes[1] - sizes[2]) <= 1
    )
    again = data.Split(*split_811(data.load_data(FILMS), np.random.default_rng(3)))
    assert split.test == again.test and split.test != data.load_split(FILMS, 4).test


# ----------------------------------------------------------------------------------------------------------- the models


def test_a_model_is_trained_once_and_then_read(monkeypatch: pytest.MonkeyPatch, own_store: Path):
    spec, runs = models.model_cell(cell(**SHORT, batch=2048), "MF", 0, decay=0.02), []
    train = models._train
    monkeypatch.setattr(models, "_train", lambda *arguments: runs.append(1) or train(*arguments))
    first = models.fitted(spec)
    models._fitted.cache_clear()
    again = models.fitted(spec)
    assert len(runs) == 1 and np.array_equal(first.users, again.users) and first.history == again.history
    assert len(list((own_store / "models").glob("*.npz"))) >= 1 and not list((own_store / "models").glob("*.ckpt"))
    models.fitted({**spec, "seed": 1})
    assert len(runs) == 2


def test_of_equal_evaluations_the_first_is_the_best():
    evaluations = [{"epoch": 4.0, "mrr": 0.2}, {"epoch": 8.0, "mrr": 0.3}, {"epoch": 12.0, "mrr": 0.3}]
    found = models.Fitted(np.zeros((1, 1)), np.zeros((1, 1)), evaluations, 0.0)
    assert (found.epochs, found.valid) == (8, 0.3)


def test_a_history_has_epochs_that_were_passed_and_losses_of_what_is_served():
    found = models.fitted(models.model_cell(cell(**SHORT, batch=2048), "MF", 0, decay=0.02))
    assert [entry["epoch"] for entry in found.history] == [4, 8] and found.epochs in (4, 8)
    split = data.load_split(FILMS, 0)
    best = max(found.history, key=lambda entry: entry["mrr"])
    assert models.Watch(split).loss(found.users, found.items) == pytest.approx(best["bpr"], rel=1e-5)
    assert metrics.evaluate(found.users, found.items, split.train, split.valid, 10)["mrr@10"] == pytest.approx(
        found.valid
    )


def test_the_best_setting_is_that_with_the_best_validation_score():
    fake = {value: models.Fitted(None, None, [{"mrr": value}, {"mrr": value / 2}], 0.0) for value in (0.1, 0.3, 0.2)}
    assert tuning.best_of([{"x": value} for value in fake], lambda options: fake[options["x"]]) == {"x": 0.3}
    assert tuning.best_of([{"x": 7}], lambda options: pytest.fail("one setting needs no training")) == {"x": 7}


def test_watched_losses_are_the_mean_over_all_training_pairs():
    split = data.load_split(FILMS, 0)
    watch, rng = models.Watch(split), np.random.default_rng(0)
    users, items = (rng.normal(size=(n, 3)) for n in split.train.shape)
    margins = np.array([users[u] @ (items[i] - items[j]) for u, i, j in zip(*watch.triples, strict=True)])
    assert watch.loss(users, items) == pytest.approx(np.logaddexp(0, -margins).mean(), rel=1e-9)
    assert not split.train.contains(watch.triples[0], watch.triples[2]).any()
    factor, least = watch.best_scaled_loss(10 * users, items)
    assert least < watch.loss(10 * users, items) and least == pytest.approx(
        watch.loss(10 * factor * users, items), rel=1e-9
    )


# -------------------------------------------------------------------------------------------- moving all items together


def test_moving_all_items_changes_no_ranking_and_moves_the_centroid():
    split, rng = data.load_split(FILMS, 0), np.random.default_rng(1)
    users, items = (rng.normal(size=(n, 5)) for n in split.train.shape)
    items[:, 0] += split.counts / split.counts.std()
    before = metrics.top_k(users, items, split.train, 10)
    for shift in (-1.0, 2.0, "centred"):
        moved = measures.shifted(items, split.counts, shift)
        assert np.array_equal(metrics.top_k(users, moved, split.train, 10), before)
        wanted = 0.0 if shift == "centred" else measures.centroid(items, split.counts) + shift
        assert measures.centroid(moved, split.counts) == pytest.approx(wanted, abs=1e-9)
    assert measures.shifted(items, split.counts, 0.0) is items


@pytest.fixture(scope="module")
def moved() -> list[dict]:
    """One MF model without decay after 24 epochs, its items moved by -1, 1 and 2 standard deviations along e_pop."""
    own = {"decay": 0.0, "negatives": "uniform", "tops": [0.3], "shifts": [-1.0, 1.0, 2.0], "epochs": 24}
    return signs.sign_cell(cell(**own, patience=None))


def test_the_sign_of_alpha_hangs_on_where_the_items_lie_which_the_backbone_does_not_know(moved: list[dict]):
    shifts = (-1.0, 0.0, 1.0, 2.0)
    before = [values(moved, "AvgPop@10 before", shift=shift) for shift in shifts]
    assert all(one == before[0] for one in before)  # the same lists: nothing has happened to the model
    negative = [values(moved, "alpha < 0", shift=shift)[0] for shift in shifts]
    assert negative[0] < 0.3 and 0.5 < negative[1] < 0.95 and negative[2:] == pytest.approx([1.0, 1.0], abs=0.01)
    change = [values(moved, "AvgPop@10 change %", shift=shift)[0] for shift in shifts]
    assert change == sorted(change, reverse=True) and change[0] > 10 and change[-1] < -10


def test_beta_alone_raises_popularity_and_alpha_alone_lowers_it_where_negative(moved: list[dict]):
    [plain], [alpha], [beta] = (
        values(moved, f"AvgPop@10 {name}", shift=1.0) for name in ("before", "alpha alone", "beta alone")
    )
    assert alpha < 0.7 * plain < plain < beta and values(moved, "<e_pref, e_pop>", shift=1.0)[0] > 0.3


# --------------------------------------------------------------------------------------------------- tables and figures


def test_figure_1_an_untrained_model_correlates_until_it_is_cross_fitted():
    rows = tables.figure1_cell(cell())
    [trained], [null] = (values(rows, "Pearson", state=state) for state in ("trained", "untrained"))
    assert 0.1 < null < 0.35 and 0.6 < trained < 0.95 and abs(values(rows, "cross-fitted", state="untrained")[0]) < 0.12
    [points] = [row["points"] for row in rows if row["metric"] == "points" and row["state"] == "trained"]
    assert len(points) == 2 and len(points[0]) == len(points[1]) == 300 and points[0] == sorted(points[0])


def test_table_2_and_4_share_their_models_and_carry_the_changes():
    rows = tables.table4_cell(cell())
    plain, changed = (values(rows, "AvgPop@10", method=method)[0] for method in (None, "DDC"))
    [row] = [row for row in rows if row["metric"] == "AvgPop@10 change %"]
    assert row["value"] == pytest.approx(100 * (changed / plain - 1)) and row["paper"] == -34.3
    assert values(tables.table2_cell(cell()), "MRR@10", method="DDC") == values(rows, "MRR@10", method="DDC")
    assert 0.1 < values(rows, "MRR@10", method=None)[0] < 0.25


def test_table_3_has_a_cell_for_each_method():
    plan = tables.rivals_plan("smoke", (0, 1, 2))
    assert [c["method"] for c in plan if (c["backbone"], c["seed"]) == ("MF", 2)] == [None, *tuning.METHODS]
    assert {c["seed"] for c in plan if c["backbone"] == "LightGCN"} == {0}
    rows = tables.table3_cell({**plan[1], **SHORT})
    assert plan[1]["method"] == "IPS" and values(rows, "chosen power") == [0.2]
    assert {"MRR@10", "AvgPop@10 change %", "valid", "seconds"} <= {row["metric"] for row in rows}


@pytest.fixture(scope="module")
def rules() -> list[dict]:
    return tables.table5_cell(cell(**SHORT))


def test_table_5_has_all_rules_and_both_ablations(rules: list[dict]):
    found = dict.fromkeys(row["rule"] for row in rules)
    assert set(found) == {"backbone", *paper.RULES, "without popularity", "without preference"}
    assert len({values(rules, "MRR@10", rule=rule)[0] for rule in found}) > 8  # they are not one rule under nine names


def test_figure_3_has_a_point_for_each_k_and_the_backbone_at_none():
    rows = tables.figure3_cell(cell(**SHORT, tops=[0.1, 1.0]))
    assert sorted({row["top"] for row in rows}) == [0.0, 0.1, 1.0]
    assert values(rows, "<e_pref, e_pop>", top=0.1) > values(
        rows, "<e_pref, e_pop>", top=1.0
    )  # here; P1 expects the opposite


def test_figure_4_the_objective_falls_far_more_than_the_loss_of_what_is_served():
    rows = tables.figure4_cell(cell(backbone="MF", start=0.29))
    [served], [objective], [scaled] = (
        values(rows, name) for name in ("loss ratio", "objective ratio", "scaling ratio")
    )
    assert objective < 0.9 < served < 1.1 and 0.05 < scaled < served  # P1: less than 0.05
    assert len(values(rows, "bpr at epoch", phase="DDC")) == 8 and values(rows, "mrr at epoch", phase="training")


def test_sizes_are_counted():
    [users, items, pairs, sparsity] = (row["value"] for row in tables.table1_cell({"data": FILMS}))
    assert sparsity == pytest.approx(100 * (1 - pairs / (users * items))) and (users, items, pairs) == (
        1311,
        682,
        23565,
    )


# ----------------------------------------------------------------------------------------------------- reading a result


def made_up() -> Result:
    rows = [
        {"data": "d", "backbone": "MF", "method": method, "metric": metric, "value": value, "seed": seed, "rule": rule}
        for method, rule in (("DDC", "b_a"), ("IPS", "a_b"))
        for metric, start in (("MRR@10 change %", 1.0), ("AvgPop@10 change %", -5.0))
        for seed, value in enumerate((start, start + 1, start + 2))
    ]
    return Result("P1-T3", "smoke", "made up", rows)


def test_means_intervals_and_points_are_those_of_the_seeds():
    result = made_up()
    half = 4.302653 / 3**0.5  # Student's t at 97.5 % with 2 degrees of freedom, standard deviation 1
    assert reading.accuracy_points(result, "d")["MF"]["DDC"] == pytest.approx((-4.0, 2.0, half, half), rel=1e-6)
    scalars = cells.scalars_by("data", "backbone", "method")(result.rows)
    assert scalars["d-mf-ddc-mrr@10-change-%"] == 2 and scalars["d-mf-ddc-mrr@10-change-%-pm"] == pytest.approx(
        half, rel=1e-6
    )


def test_what_is_read_from_results_can_be_drawn(moved: list[dict]):
    figure_1, signs_found = (
        Result(which, "smoke", "", rows) for which, rows in (("P1-F1", tables.figure1_cell(cell())), ("P1-X1", moved))
    )
    groups, moved_names = reading.sign_groups(signs_found, FILMS)
    assert len(groups[moved_names[0]]["centroid"]) == 4 and len(groups["MF, negatives uniform"]["change"]) == 1
    for fig, _ in (
        direction_plots.projection_panels(reading.projection_panels(figure_1, FILMS)),
        ddc_plots.sign_of_alpha(groups, moved=moved_names),
    ):
        fig.canvas.draw()
        ddc_plots.plt.close(fig)


test_errors_say_what_was_expected = refused(
    (lambda: data.load_data("ml-9m"), "no recipe of P1"),
    (lambda: models.make_model(models.model_cell(cell(), "GRU", 0), data.load_split(FILMS, 0).train), "GRU"),
)
