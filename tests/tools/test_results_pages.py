"""The page "What reproduced" and the CSV files: they hold what the stored results hold, judged by the one rule."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document

from course_lib.checking import some
from course_lib.experiments.core.results import Result
from course_lib.papers import table
from tools import evidence, printed_picture, results_pages

CSS = Path(__file__).resolve().parents[2] / "book" / "assets" / "course.css"
CELL = {"data": "ml-1m", "loss": "unbiased", "ratio": 0.1, "metric": "P@5"}


def result(*rows: dict) -> Result:
    return Result("P3-T5", "laptop", "a table", list(rows))


def test_experiment_two_stands_before_experiment_ten() -> None:
    names = [stored.id for stored in results_pages.stored()]
    assert names.index("P0-E2") < names.index("P0-E10")


def page_with(folder: Path, *codes: str) -> tuple[nodes.document, SimpleNamespace]:
    """A page whose cells show nothing of their code, and Sphinx while it reads it."""
    path, page = folder / "some-lab.ipynb", new_document("page")
    path.write_text(json.dumps({"cells": [{"source": ["# Text"]}, *({"source": [code]} for code in codes)]}))
    page += [nodes.container(nb_element="cell_code", cell_index=at) for at in range(1, len(codes) + 1)]
    env = SimpleNamespace(docname="book/part/some-lab", doc2path=lambda page: str(path))
    return page, SimpleNamespace(env=env)


def test_each_stored_result_of_a_page_has_a_link_to_its_file_once(tmp_path: Path) -> None:
    shown = ('stored("P3-T6", serving="raw")', "x = 1", 'stored("P3-T6")', 'stored("P0-E8", scale="full")')
    page, app = page_with(tmp_path, *shown)
    evidence.offer_files(app, page)
    links = [re.search(r'href="([^"]*)"', raw.astext())[1] for raw in page.findall(nodes.raw)]
    assert links == ["../../results/P3-T6-laptop.csv", "../../results/P0-E8-full.csv"]
    words = [re.sub("<[^>]*>", "", raw.astext()) for raw in page.findall(nodes.raw)]
    assert words == ["All numbers of P3-T6 as CSV", "All numbers of P0-E8, full scale, as CSV"]
    nothing, app = page_with(tmp_path, 'stored("P9-T1")', "print('stored')")
    evidence.offer_files(app, nothing)
    assert not list(nothing.findall(nodes.raw))


def test_a_file_has_a_line_for_each_number(tmp_path: Path) -> None:
    for stored in some(results_pages.stored()):
        with results_pages.write(stored, tmp_path).open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))
        assert len(lines) == len(stored.rows), stored.id
        assert [float(line["value"]) for line in lines[:50]] == [row["value"] for row in stored.rows[:50]]


def test_the_verdicts_count_every_printed_number() -> None:
    cells = results_pages.compared()
    table = results_pages.verdicts()
    counted = [int(text) for text in re.findall(r'class="number">(\d+)<', table)]
    ticks = [cell for cell in cells if cell.metric == "tangent"]
    beyond = sum(lacking.total() for lacking in results_pages.beyond().values())
    assert sum(counted) == len(cells) - len(ticks) + beyond > 1000
    assert "one run" not in table and "not to be had" in table


@pytest.mark.seconds
def test_the_picture_has_a_dot_for_each_printed_number() -> None:
    cells, drawn = results_pages.measured(), results_pages.picture()
    for verdict in printed_picture.VERDICTS:
        count = sum(cell.judged.verdict == verdict for cell in cells)
        assert len(re.findall(rf'<i class="{verdict.replace(" ", "-")}" style', drawn)) == count
    dots = [tuple(map(float, place)) for place in re.findall(r"--x:([\d.]+);--y:(\d+)", drawn)]
    assert len(dots) == len(cells) and all(0 <= x <= 100 for x, _ in dots)


def test_the_page_opens_with_the_picture_over_the_whole_width_and_names_papers_by_their_authors() -> None:
    """Codes stand in tables and names of files alone."""
    text = (results_pages.ROOT / "book" / "reference" / "reproduced.md").read_text(encoding="utf-8")
    assert text.startswith("# What reproduced\n\n<!-- results: picture -->\n")
    assert results_pages.picture().startswith('<div class="full-width"><figure class="printed-picture">')
    prose = re.sub(r"`p\d`", "", "\n".join(line for line in text.splitlines() if not line.startswith("|")))
    assert re.findall(r"\bP[0-4]\b(?!-)", prose) == []


def test_a_number_that_is_the_papers_stands_on_the_line() -> None:
    by_ratio = {
        factor: printed_picture.column(replace(cell, judged=replace(cell.judged, mean=factor * cell.judged.printed)))
        for cell in results_pages.measured()[:1]
        for factor in (-1.0, 0.01, 0.05, 0.5, 1.0, 2.0, 3.0, 9.0)
    }
    places = list(by_ratio.values())
    assert places == sorted(places) and places[:3] == [0, 0, 0] and places[-2:] == [printed_picture.COLUMNS] * 2
    line = re.search(r"\) ([\d.]+)% 0 / 1px", CSS.read_text(encoding="utf-8"))
    assert line is not None and abs(float(line[1]) - 100 * by_ratio[1.0] / printed_picture.COLUMNS) < 1


def test_a_printed_number_stands_beside_the_result_with_most_runs_of_its_cell() -> None:
    """The full scale of P3's Table 6 has more splits than the laptop's, and the logistic loss besides."""
    few = [{**CELL, "seed": seed, "value": 17.0, "paper": 17.1} for seed in range(2)]
    more = [{**CELL, "seed": seed, "value": 18.0, "paper": 17.1} for seed in range(3)]
    other = {**CELL, "loss": "pos_neg", "seed": 0, "value": 5.0, "paper": 5.1}
    for results in ([result(*few), result(*more, other)], [result(*more, other), result(*few)]):
        found = {dict(cell.cell)["loss"]: cell.judged for [cell] in results_pages.beside_ours(results)}
        assert (found["unbiased"].n, found["unbiased"].mean, found["pos_neg"].n) == (3, 18.0, 1)
    again = [{**row, "value": 19.0} for row in more]
    [[level]] = results_pages.beside_ours([result(*more), result(*again)])
    assert level.judged.mean == 18.0
    elsewhere = [{**row, "data": "made"} for row in again]
    [[full]] = results_pages.beside_ours([replace(result(*more, *elsewhere), scale="full")])
    assert full.data == "ml-1m"


def test_every_printed_number_is_counted_once() -> None:
    """By hand from the papers: ticks and one share of P0's Table 1, its Table 2 and two correlations, and so on."""
    counted = Counter(str(cell.table) for cell in results_pages.compared())
    assert {name: counted[name] for name in ("P0-E8", "P0-E9", "P0-E10")} == {"P0-E8": 3, "P0-E9": 2, "P0-E10": 3}
    assert sum(counted[f"P0-E{n}"] for n in range(1, 8)) == 7 * 2 + 1
    assert (counted["P1-F1"], counted["P1-T4"]) == (1, 5)
    rows = {name: len([cell for cell in table("P3", name) if cell["dataset"] == "ml-1m"]) for name in ("T5", "T6")}
    assert rows == {"T5": 240, "T6": 144}
    square = rows["T5"] // 2  # the logistic loss of Table 5 was not run
    assert counted["P3-T3"] == 4 and counted["P3-T6"] == rows["T6"]
    assert counted["P3-T4"] + counted["P3-T5"] == square + 3  # three of Sogram; three of Unbiased stand in both tables
    assert results_pages.counts()["number"] + 14 == sum(counted.values()) == 15 + 8 + 6 + 4 + 123 + 144


def test_cells_of_one_printed_number_print_the_same_and_those_of_two_do_not_share_a_name() -> None:
    groups = results_pages.counterparts()
    assert sum(len(cells) > 1 for cells in groups) > 20
    assert all(len({cell.judged.printed for cell in cells}) == 1 for cells in groups)
    assert all(len({cell.same_data for cell in cells}) == 1 for cells in groups)


def test_a_number_agrees_only_where_no_cell_of_ours_differs() -> None:
    near = [{**CELL, "method": "L-BFGS", "seed": seed, "value": 17 + seed / 10, "paper": 17.1} for seed in range(3)]
    far = [{**row, "method": "closed form", "value": row["value"] + 2} for row in near]
    for rows in (near + far, far + near):
        [cells] = results_pages.beside_ours([replace(result(*rows), id="P3-T6")])
        assert [cell.judged.verdict for cell in cells] == ["differs", "agrees"]
    assert len(results_pages.beside_ours([result(*near, *far)])) == 2  # where the paper prints one for each method


def test_the_numbers_without_a_counterpart_are_counted_once_by_hand() -> None:
    """From the papers: P1 repeats 36 of Table 3, all accuracies of Table 4 and 6 numbers of Table 5 in its Table 2."""
    beyond = {name: dict(lacking) for name, lacking in results_pages.beyond().items()}
    assert {name: found["not to be had"] for name, found in beyond.items() if name.startswith("P1")} == {
        "P1-T2": 5 * 2 * 3 * 3,
        "P1-T3": 18 * 9 - 36,
        "P1-T4": 10,
        "P1-T5": 12 * 3 - 6,
    }
    eurlex = {"P3-T3": 4, "P3-T4": 10, "P3-T5": 240, "P3-T6": 144}  # of Table 4 only Sogram: the rest is in Table 5
    assert {name: found["not to be had"] for name, found in beyond.items() if name.startswith("P3")} == eurlex
    untrained = {name: found.get("not trained", 0) for name, found in beyond.items()}
    assert untrained["P3-T5"] == 120 and untrained["P3-T4"] == 5 + 2  # logistic on ML-1M; two ratios with Sogram
    assert sum(untrained.values()) == 127 and beyond["P4-T2"] == {"not to be had": 15}


def test_the_ticks_are_counted_apart_and_all_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = results_pages.counts()
    ticks = [cell for cell in results_pages.compared() if cell.metric == "tangent"]
    assert counts["ticks"] == 14 == len(ticks) and {cell.judged.verdict for cell in ticks} == {"agrees"}
    judged = (counts[name] for name in ("agreeing", "differing", "undecided", "unconverged"))
    assert sum(judged) == counts["number"] and 0 < counts["agreeing"] < counts["undecided"] + counts["differing"]
    monkeypatch.setattr(results_pages, "listed", lambda: "files")
    page = results_pages.fill(
        "<!-- results: number -->, <!-- results: agreeing -->, <!-- results: ticks --> <!-- results: list -->"
    )
    assert page.startswith("{number}, {agreeing}, {ticks} ".format(**counts)) and "files" in page


def test_how_many_cells_our_own_caps_cut_off_without_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The 96 of P3's Table 6 have the paths of P3-X2. With no path stored all 167 would have none."""
    found = results_pages.cut_off()
    assert found["cut"] >= 167 and found["cells"] >= 363
    without = [cell for cells in results_pages.counterparts() for cell in cells if not results_pages._has_path(cell)]
    cut = [cell for cell in without if cell.judged.verdict == "not converged"]
    assert len(cut) == found["pathless"] <= 40 and {cell.table for cell in cut} <= {"P3-T4", "P3-T5"}
    monkeypatch.setattr(results_pages, "_paths_of", lambda table: frozenset())
    assert results_pages.cut_off()["pathless"] == found["cut"]


def test_where_the_numbers_that_agree_stand() -> None:
    """As the page says: four sizes of a data set, and numbers of P3's Tables 5 and 6."""
    found = Counter(cell.table for cell in results_pages.measured() if cell.judged.verdict == "agrees")
    assert set(found) == {"P3-T3", "P3-T5", "P3-T6"} and found["P3-T3"] == 4


def test_a_narrower_margin_lets_fewer_numbers_agree() -> None:
    narrow, wide = (int(number) for number in re.findall(r"%, (\d+) numbers agree", results_pages.margins()))
    assert narrow < results_pages.counts()["agreeing"] < wide


def test_a_run_with_our_cap_lifted_is_the_printed_number_of_table_5() -> None:
    capped = [{**CELL, "seed": seed, "value": 17.0, "paper": 17.1} for seed in range(3)]
    end = {key: value for key, value in capped[1].items() if key not in ("metric", "value", "paper")}
    capped.append({**end, "metric": "epochs", "value": 60, "stopped": "epoch cap"})
    longer = replace(result({**CELL, "seed": 0, "value": 18.0, "paper": 17.1}), id="P3-X3")
    [cells] = results_pages.beside_ours([result(*capped), longer])
    assert [(cell.experiment, cell.judged.verdict) for cell in cells] == [
        ("P3-X3", "undecided"),
        ("P3-T5", "not converged"),
    ]
    assert {cell.table for cell in cells} == {"P3-T5"}
