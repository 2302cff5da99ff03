"""How the chapter's figures are drawn; tests/lessons/test_every_figure.py looks at the result."""

from __future__ import annotations

from matplotlib.patches import Rectangle

from course_lib.checking import some
from course_lib.experiments.core.results import load_result
from course_lib.lessons.one_batch_many_machines import plots, stops

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
