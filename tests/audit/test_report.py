"""The report: as text, as JSON with its schema, and as one page of HTML that needs nothing else."""

import html
import json
import re
from pathlib import Path

import numpy as np
import pytest
from audit import planted
from bs4 import BeautifulSoup
from refused import refused

from course_lib.audit import CATALOGUE, CHANGES, Report, Verdict, audit, compare
from course_lib.audit.questions.rules import NOTED, RULES
from course_lib.audit.snapshots import questions
from course_lib.audit.tables import Table
from course_lib.audit.verdicts import ANSWERS, OF_TRIPLES, QUESTIONS
from course_lib.interactions import Interactions

pytestmark = pytest.mark.seconds

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def report() -> Report:
    return planted.report("popularity-direction", 0)


@pytest.fixture(scope="module")
def page(report: Report) -> str:
    return report.html()


def test_the_json_has_its_schema_and_no_nan(report: Report) -> None:
    found = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert set(found) == {
        *("schema_version", "tool", "inputs", "options", "headline", "actions", "cold", "smaller", "further"),
        *("verdicts", "baselines", "remedies", "cosines", "notes"),
    }
    assert found["schema_version"] == "2" and found["headline"] == report.headline
    assert [action["of"] for action in found["actions"]] == [action.of for action in report.actions]
    assert [row["advisable"] for row in found["remedies"]] == [effect.advisable for effect in report.remedies]
    assert [verdict["id"] for verdict in found["verdicts"]] == list(CATALOGUE)
    assert all(verdict["verdict"] in ANSWERS and verdict["support"] for verdict in found["verdicts"])
    items = {"rows": 600, "width": 32, "dtype": "float64", "source": "memory", "zero_rows": 0}
    assert found["inputs"]["items"] == items


def test_the_seed_is_the_one_that_makes_the_report_again_or_none() -> None:
    table = np.random.default_rng(1).standard_normal((60, 4))
    random, used = np.random.default_rng(), np.random.default_rng(0)
    used.random()
    for rng, known in ((np.random.default_rng(5), 5), (random, random.bit_generator.seed_seq.entropy)):
        found = audit(table, rng=rng)
        assert found.options["seed"] == known
        assert audit(table, rng=np.random.default_rng(known)).to_dict() == found.to_dict()
    for rng in (used, np.random.default_rng([1, 2]), np.random.default_rng(0).spawn(1)[0]):
        assert audit(table, rng=rng).options["seed"] is None


def test_the_report_counts_its_answers(report: Report) -> None:
    assert repr(report) == "Report(memory: 1 fault, 1 noted, 10 fine, 0 cannot tell)"
    assert [len(report.ids(answer)) for answer in ("fault", "noted", "fine")] == [1, 1, 10]
    assert re.search(r": 0 faults, \d+ fine", repr(planted.report("clean", 0)))


def test_every_question_leads_to_a_theorem_of_the_book() -> None:
    for question in (*QUESTIONS.values(), OF_TRIPLES):
        source = (ROOT / "book" / f"{question.chapter}.ipynb").read_text(encoding="utf-8")
        assert f":label: {question.theorem}\\n" in source, question


def test_the_text_holds_every_verdict_and_the_cosines(report: Report) -> None:
    said = report.text()
    assert all(f"{verdict.id}: {verdict.verdict.upper()}" in said for verdict in report.verdicts)
    assert all(f"{effect.remedy} " in said and f"{effect.difference:+.4f} (" in said for effect in report.remedies)
    assert report.remedies and report.cosines.text() in said
    assert max(len(line) for line in said.splitlines() if "https://" not in line) <= 76
    above = said.partition(report.cosines.text())[0]
    assert not re.search("[a-z]-$", above, flags=re.MULTILINE)  # held-out stays one word, to be searched for


def test_the_page_asks_nobody_for_anything(page: str) -> None:
    parsed = BeautifulSoup(page, "html.parser")
    assert not parsed(["script", "link", "iframe", "img"]) and not parsed.select("[src], [srcset], [data], [poster]")
    assert "@import" not in page and "url(http" not in page and "<?xml" not in page and "<!DOCTYPE svg" not in page
    assert page.count("prefers-color-scheme: dark") == 1 and "@media print" in page


def test_the_page_has_a_name_for_everything(page: str, report: Report) -> None:
    parsed = BeautifulSoup(page, "html.parser")
    ids = [str(tag["id"]) for tag in parsed(id=True)]
    assert len(set(ids)) == len(ids) and set(CATALOGUE) < set(ids)
    headings = [tag.name for tag in parsed(re.compile(r"^h\d$"))]
    assert headings[0] == "h1" and headings.count("h1") == 1
    drawn = sum(len(verdict.pictures) for verdict in (*report.verdicts, *report.further))
    named = parsed.select('svg[role="img"][aria-label]:not([aria-label=""])')
    assert len(named) == len(parsed("svg")) == drawn >= 6
    assert {str(link["href"])[1:] for link in parsed("a", href=re.compile("^#"))} <= set(ids)
    within = set(re.findall(r"url\(#([^)]+)\)", page))  # clip paths of the drawings
    assert within and within <= set(ids)


def test_every_figure_has_its_numbers_as_a_table(page: str, report: Report) -> None:
    for verdict in report.verdicts:
        for picture in verdict.pictures:
            table = page.partition(f"<caption>{html.escape(picture.title)}</caption>")[2].partition("</table>")[0]
            assert table.count("<tr>") == 1 + len(next(iter(picture.columns.values()))), picture.title


def test_no_verdict_says_its_first_sentence_twice(page: str, report: Report) -> None:
    for verdict in (*report.verdicts, *report.further):
        section = page.partition(f'<section id="{verdict.id}"')[2].partition("</section>")[0]
        rest = verdict.support.removeprefix(verdict.lead).strip()
        assert section.count(html.escape(verdict.lead)) == 1 and html.escape(rest) in section, verdict.id


def test_every_verdict_says_when_it_is_a_fault(page: str, report: Report) -> None:
    """The page shows the rule of each of its verdicts, for one model and for two snapshots."""
    table = np.random.default_rng(0).standard_normal((150, 8))
    two = compare(table, table + 0.1, rng=np.random.default_rng(0)).html()
    for rules, ids, shown in ((RULES, CATALOGUE, page), (questions.RULES, CHANGES, two)):
        assert set(rules) == set(ids)
        for name in ids:
            answer = "Noted" if name in NOTED else "A fault"
            assert f"{answer} where {html.escape(rules[name])}." in shown


def test_the_report_calls_items_by_their_ids_or_by_their_rows_in_the_file() -> None:
    """Row 0 is zero and left out; rows 3 and 4 are equal."""
    rows = np.random.default_rng(0).standard_normal((150, 8))
    rows[0], rows[4] = 0, rows[3]
    ids = np.array([f"film {row}" for row in range(150)])
    for table, names in (
        (rows, "row 3 and row 4"),
        (Table(rows[1:], "memory", 150, np.array([0]), ids), "film 3 and film 4"),
    ):
        found = audit(table, rng=np.random.default_rng(0), drop_zero_rows=True)
        assert names in found["duplicated-rows"].support
        hub = found["hubs"].figures["most_listed_item"]
        assert (f"{hub}," if str(hub).startswith("film ") else f"row {hub},") in found["hubs"].support
        assert isinstance(hub, str) == ("film" in names)
        listed = found["hubs"].pictures[0].columns
        assert listed["item"][0].split()[-1] == str(hub).split()[-1]
        assert len(listed["item"]) == len(listed["these items"])


def test_names_from_files_cannot_become_markup(tmp_path: Path) -> None:
    from course_lib.audit import read_table

    np.save(tmp_path / "<b>&'_\".npy", np.random.default_rng(0).standard_normal((40, 3)))
    shown = audit(read_table(f"{tmp_path}/<b>&'_\".npy", "items"), rng=np.random.default_rng(0)).html()
    assert "<b>" not in shown and shown.count("&lt;b&gt;&amp;&#x27;_&quot;.npy") == 3  # title, heading, table


def test_a_notebook_shows_the_page_in_a_frame(report: Report, page: str) -> None:
    shown = report._repr_html_()
    assert shown.startswith("<iframe") and "allow-scripts" not in shown
    inside = html.unescape(shown.partition('srcdoc="')[2].removesuffix('"></iframe>'))
    assert inside.replace(' target="_blank" rel="noopener"', "") == page


def test_the_same_model_gives_the_same_page(report: Report, page: str) -> None:
    assert planted.PLANTS["popularity-direction"](0, 2).audited(0).html() == page


test_what_no_report_can_hold_is_refused = refused(
    (lambda: Verdict("hubs", "fine", ""), "no support"),
    (lambda: Verdict("nothing", "fine", "a sentence"), "id is 'nothing'"),
    (
        lambda: audit(np.eye(20, 4) + 1, training="softmax", rng=np.random.default_rng(0)),
        r"training is 'softmax'; expected an audit\.Training",
    ),
)


def test_counts_in_another_order_than_the_pairs_are_noted() -> None:
    model = planted.clean(0)
    counts = model.pairs.col_counts
    pairs = {"pairs": model.pairs, "held_out": model.held_out, "rng": np.random.default_rng(0)}
    for given, noted in ((counts, False), (7 * counts + 1, False), (np.roll(counts, 1), True)):
        found = audit(model.items, model.users, counts=given, **pairs, draws=1)
        assert any("they do not rank the items as the training pairs do" in note for note in found.notes) == noted


def test_pairs_that_all_have_one_time_are_not_called_split_by_time() -> None:
    model = planted.clean(0)
    pairs, held_out = (
        Interactions(part.users, part.items, n_users=part.n_users, n_items=part.n_items, times=np.ones(len(part)))
        for part in (model.pairs, model.held_out)
    )
    found = audit(model.items, model.users, pairs=pairs, held_out=held_out, draws=1, rng=np.random.default_rng(0))
    assert next(each for each in found.further if each.id == "time").verdict == "cannot tell"


def test_tables_of_two_widths_are_refused_with_their_files() -> None:
    tables = [Table(np.ones((30, width)), f"{width}.npy", 30, np.zeros(0, int)) for width in (3, 4)]
    with pytest.raises(ValueError, match=r"users \(4\.npy\) has width 4 but items \(3\.npy\) has width 3"):
        audit(*tables, rng=np.random.default_rng(0))
