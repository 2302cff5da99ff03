"""The rules of comparing: every experiment says which it keeps, and its stored results show it."""

import subprocess
from datetime import datetime
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from course_lib import experiments
from course_lib.experiments.core import registry, rules
from course_lib.experiments.core.results import Result
from tools import findings as stored_findings
from tools.results_pages import fewest_seeds, fill, stored

ROOT = Path(__file__).resolve().parents[2]
RESULTS = stored()
LACKING = {  # and why; whoever closes a gap takes it away here
    "P0-E8-full": {"ml-32m-shape"},  # drawn numbers in the shape of data that we do not have
    "P0-E8-laptop": {"gowalla"},  # LISTS-X1 has it at full scale
    "P3-X1-laptop": {  # rows with labels, not people with items
        *(f"made-{fitting}" for fitting in (5, 6, 8, 10, 20, 50)),
        "wikispeedia-nested",
        "wikispeedia-topics",
    },
    "PRACTICE-1-laptop": {"movietweetings"},  # its own is called "popular"
    "PRACTICE-4-laptop": {"gowalla", "movietweetings"},  # an index is compared with exact search
}

FEWER_SEEDS = {"P3-X3-laptop"}  # sixteen minutes a training: two seeds more take two hours
HITS, CHANCE = "most popular", "chance"
BESIDE = ("coverage@10", "mean count@10")  # what a list is besides right


def path_of(result: Result, kept: rules.Rules) -> str:
    """What a stored result shows of its trainings' way."""
    if any("path" in row for row in result.rows):
        return "stored"
    return "no training" if kept.path == "no training" else "end only"


def without_lists(result: Result, lists: Result) -> dict[str, list[str]]:
    """Data set -> the lists that its table lacks: rows of its own, or of LISTS-X1, with coverage and mean count.

    Where the data have times, LISTS-X1 has what was popular lately as well.
    """
    beside: dict[str, set[str]] = {}
    for row in lists.rows:
        if row["metric"] in BESIDE:
            beside.setdefault(row["data"], set()).add(row["list"])
    own = {(row.get("data"), value) for row in result.rows for value in row.values() if value in (HITS, CHANCE)}
    found = {}
    for data in result.distinct("data"):
        there = beside.get(data, set())
        if lacking := [kind for kind in (HITS, CHANCE) if kind not in there and (data, kind) not in own]:
            found[data] = lacking
    return found


def kept(name: str) -> rules.Rules:
    found = registry.get(name).rules
    assert found is not None, f"{name} says nothing of the rules: experiment(..., rules=Rules(path=...))"
    return found


@pytest.mark.parametrize("name", experiments.names())
def test_every_experiment_says_which_rules_it_keeps(name: str) -> None:
    """Only those that are older than the rules store the end of a training alone."""
    assert kept(name).path != "end only" or name in rules.OLDER


def test_no_result_is_called_older_that_is_not_there() -> None:
    assert set(rules.OLDER) <= set(experiments.names())


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: f"{result.id}-{result.scale}")
def test_a_result_shows_the_path_that_its_experiment_declares(result: Result) -> None:
    assert path_of(result, kept(result.id)) == kept(result.id).path


def seeds_wanted(result: Result) -> int:
    """Of a new experiment: five, or three where a training takes more than half an hour."""
    if kept(result.id).path != "stored":
        return 0
    return 5 if result.provenance["seconds"] / result.provenance["cells"]["finished"] < 1800 else 3


def test_a_new_experiment_has_five_seeds() -> None:
    few = {f"{one.id}-{one.scale}" for one in RESULTS if (fewest_seeds(one) or 0) < seeds_wanted(one)}
    assert few == FEWER_SEEDS


def test_canary_a_path_that_is_not_stored_is_seen() -> None:
    result = experiments.load_result("P3-X2", "full")
    bare = [{key: value for key, value in row.items() if key != "path"} for row in result.rows]
    assert path_of(Result(result.id, result.scale, result.title, bare), kept(result.id)) == "end only"


def lacking() -> dict[str, dict[str, list[str]]]:
    lists = experiments.load_result(rules.LISTS, "laptop")
    judged = {f"{one.id}-{one.scale}": without_lists(one, lists) for one in RESULTS if kept(one.id).lists}
    return {name: found for name, found in judged.items() if found}


def test_a_table_of_lists_has_the_list_of_hits_and_chance_beside_it() -> None:
    assert {name: set(found) for name, found in lacking().items()} == LACKING


@pytest.mark.parametrize("name", [name for name, kept in rules.OLDER.items() if kept.predictions])
def test_predictions_were_committed_before_the_run(name: str) -> None:
    commit = kept(name).predictions
    shown = subprocess.run(
        ["git", "show", "-s", "--format=%cI", commit], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if shown.returncode:
        pytest.skip(f"the history here does not reach back to {commit}")
    for result in (one for one in RESULTS if one.id == name):
        began = datetime.fromisoformat(result.provenance["finished"])
        assert datetime.fromisoformat(shown.stdout.strip()) < began


@pytest.mark.parametrize(
    "found",
    [one for some in stored_findings.by_lesson().values() for one in some if one.rests_on],
    ids=lambda found: found.name,
)
def test_an_interval_knows_whether_its_seeds_split_anew(found: stored_findings.findings.Finding) -> None:
    """Two findings on links and ratings widen each case by its own; of TEXT-X2 one has a split of its own."""
    wanted = max(kept(name.rpartition("-")[0]).splits for name in found.rests_on)
    if found.rests_on == ("P4-T2-laptop", "P4-F8-laptop"):
        assert found.splits == 0
    elif found.name == "tables-rank-rated-films":  # on a tenth of the rated films' pairs
        assert found.splits == 1 / 9
    elif any(case.n > 1 and case.half for case in stored_findings.cases(found).values()):
        assert found.splits == wanted


def test_the_page_shows_what_each_result_keeps() -> None:
    shown = fill("<!-- results: rules -->")
    row = ["P3-X2, full", "5", "stored", "yes", "fd51dc46"]
    assert row in [[*one.stripped_strings] for one in BeautifulSoup(shown, "html.parser")("tr")]
    assert shown.count("<tr>") == 1 + len(RESULTS)
