"""Findings: a sentence about data that fails where it is claimed stops the build; its support says where it holds."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from course_lib.experiments.core.results import Result
from course_lib.lessons.shared import findings
from course_lib.lessons.shared.findings import Difference, FindingError, finding
from tools import conclusions
from tools import findings as stored_findings
from tools.claims import rows

ALL = [found for some in stored_findings.by_lesson().values() for found in some]
STORED = [found for found in ALL if found.rests_on]


def made(cases: dict[str, Difference], *, case: str = "city", **options: Any) -> findings.Finding:
    @finding("Cats are longer than dogs", case=case, **options)
    def cats_are_longer() -> dict[str, Difference]:
        """Centimetres of the cats minus those of the dogs."""
        return cases

    return cats_are_longer


@pytest.mark.parametrize("found", STORED, ids=lambda found: f"{found.lesson}.{found.name}")
def test_every_finding_holds_where_it_is_claimed_and_its_opposite_does_not(found: findings.Finding) -> None:
    evidence = stored_findings.from_results(found)  # or FindingError
    opposite = {name: -case for name, case in evidence.cases.items()}
    if evidence.support.startswith("undecided"):  # and so it is turned round
        assert found.judged(opposite, evidence.family).support.startswith("undecided")
    else:
        with pytest.raises(FindingError, match=r"fails in|decide it"):
            found.judged(opposite, evidence.family)


@pytest.mark.parametrize(
    ("one", "many"),
    [("city", "cities"), ("play", "plays"), ("loss", "losses"), ("pair of loss and city", "pairs of loss and city")],
)
def test_several_cases_have_the_plural_of_one(one: str, many: str) -> None:
    assert made(dict.fromkeys("ab", Difference(1)), case=one).evidence().support == f"both {many}, one seed each: +1"


def test_an_interval_that_reaches_zero_supports_nothing() -> None:
    assert Difference(1.0, 0.9).holds
    assert not Difference(1.0, 1.0).holds
    assert not Difference(-1.0, 0.1).holds


def test_above_and_below_are_paired_with_the_bound():
    values = [1.0, 2.0, 4.0]
    assert Difference.above(values, 1) == Difference.paired(values, [1.0] * 3)
    assert Difference.below(values, 1, over="users") == Difference.paired([1.0] * 3, values, over="users")
    assert -Difference(2.0, 0.5, 3, "users") == Difference(-2.0, 0.5, 3, "users")


def test_interval_and_p_of_a_paired_difference_are_those_of_the_t_test() -> None:
    rng = np.random.default_rng(0)
    after, before = rng.normal(1, 1, 9), rng.normal(size=9)
    ours, theirs = Difference.paired(after, before), stats.ttest_rel(after, before)
    assert [ours.value - ours.half, ours.value + ours.half] == pytest.approx([*theirs.confidence_interval()])
    assert [ours.p, Difference.paired(before, after).p] == pytest.approx([theirs.pvalue] * 2)
    assert Difference(1.0).p is None
    with pytest.raises(ValueError, match="same length"):
        Difference.paired([1, 2], [1])


def test_support_says_in_how_many_cases_and_how_many_seeds() -> None:
    three, one = Difference(1, 0.1, 3), Difference(1)
    assert made({"Rome": three, "Oslo": replace(three, value=2)}).evidence().support == (
        "both cities, 3 seeds each: +1 to +2"
    )
    some = made({"Rome": three, "Oslo": Difference(-1, 0.1, 3)}, claimed={"Rome"})
    assert some.evidence().support == "1 of 2 cities, 3 seeds each: +1"
    assert made({"Rome": one}).evidence().support == "one city, one seed: +1"
    assert made({"Rome": three, "Oslo": one}).evidence().support == "both cities, 1 to 3 seeds each: +1"
    users = Difference(1, 0.1, 900, "users")
    assert made({"Rome": users}).evidence().support == "one city, one seed, interval over users: +1.00 [+0.90, +1.10]"
    assert made({"Rome": Difference.each([2, 2, 3])}).evidence().support == "one city, in each of 3 seeds"
    wide = Difference(-1, 2, 3)
    assert made({"Rome": wide}, claimed=()).evidence().support == "undecided in one city, 3 seeds: −1.0 [−3.0, +1.0]"


def test_an_effect_stands_before_its_verdict() -> None:
    """In the table the interval, then Holm's p over the family, then whether it is said."""
    evidence = made({"Rome": Difference(1, 0.1, 3), "Oslo": Difference(0, 1, 3)}, claimed={"Rome"}).evidence()
    assert evidence.heads == ["city", "difference [95 % interval]", "p, Holm over 2", "said"]
    assert evidence.rows() == [
        ["Rome", "+1.00 [+0.90, +1.10]", "0.0011", "yes"],
        ["Oslo", "+0.0 [−1.0, +1.0]", "1", "no"],
    ]


@pytest.mark.parametrize("case", ["seed", "pair of data set and seed", "split", "run", "person", "user"])
def test_seeds_and_people_are_never_the_cases(case: str) -> None:
    with pytest.raises(FindingError, match=rf"cats-are-longer: has a case '{case}', but seeds, splits and people"):
        made({"Rome": Difference(1)}, case=case).evidence()


def test_a_seed_in_the_name_of_a_case_is_found() -> None:
    with pytest.raises(FindingError, match="has a case 'Rome, seed 0'"):
        made({"Rome, seed 0": Difference(1), "Rome, seed 1": Difference(1)}).evidence()
    assert made({"Rome, users": Difference(1)}).evidence()  # a side of the model


def test_repetitions_have_an_interval() -> None:
    with pytest.raises(FindingError, match=r"cats-are-longer: \['Oslo'\] have several repetitions and no interval"):
        made({"Rome": Difference(1), "Oslo": Difference(1, n=3)}).evidence()
    assert made({"Rome": Difference(1, n=3, room=True)}).evidence()  # what is left of an interval


def test_a_sentence_about_each_repetition_fails_where_one_fails() -> None:
    most = [1.0] * 20 + [-0.01]
    assert made({"Rome": Difference.above(most)}).evidence()
    with pytest.raises(FindingError, match="fails in Rome"):
        made({"Rome": Difference.each(most)}).evidence()


def test_splits_that_overlap_widen_the_interval_by_nadeau_and_bengios_factor() -> None:
    """By hand: s = 1, n = 3, t = 4.3027, so the half width is 4.3027 sqrt(1/3 + 1/9)."""
    plain = Difference.above([1.0, 2.0, 3.0])
    assert plain.resplit(1 / 9).half == pytest.approx(4.30265 * np.sqrt(1 / 3 + 1 / 9), rel=1e-5)
    assert plain.resplit(0).half == plain.half and Difference(1.0).resplit(1 / 9) == Difference(1.0)
    people = Difference.above([1.0, 2.0, 3.0], over="users")
    assert people.resplit(1 / 9) == people  # one split: its people are not other splits
    [widened] = made({"Rome": plain}, splits=1 / 9, claimed=()).evidence().cases.values()
    assert widened == plain.resplit(1 / 9)


def test_holms_correction_is_that_of_the_textbook() -> None:
    """Worked by hand: 4 x .01, 3 x .02, then 2 x .03 is as large, and 1 x .04 may not be smaller than that."""
    assert findings.holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert findings.holm([0.6, 0.5]) == [1.0, 1.0] and findings.holm([0.2]) == [0.2] and findings.holm([]) == []


def test_what_does_not_survive_its_family_is_not_said() -> None:
    """An interval that just leaves 0 out has p = .046 alone, and .09 beside one that does not hold."""
    just, not_at_all, clear = Difference(1, 0.95, 3), Difference(0.1, 1, 3), Difference(2, 0.05, 3)
    assert made({"Rome": just}).evidence().support == "one city, 3 seeds: +1.00 [+0.05, +1.95]"
    with pytest.raises(FindingError, match=r"fails in Rome .*p 0.091 after Holm's correction for 2 comparisons"):
        made({"Rome": just, "Oslo": not_at_all}, claimed={"Rome"}).evidence()
    assert made({"Rome": just, "Oslo": not_at_all}, claimed=()).evidence().said == []
    assert made({"Rome": just, "Oslo": clear}).evidence().support == "both cities, 3 seeds each: +1 to +2"
    assert made({"Rome": just, "Oslo": Difference(1)}).evidence().said == ["Rome", "Oslo"]  # one seed has no p


def test_what_is_called_undecided_must_be_so() -> None:
    with pytest.raises(FindingError, match=r"is called undecided, but \['Rome'\] decide it"):
        made({"Rome": Difference(1, 0.1, 3)}, claimed=()).evidence()


def test_a_question_that_one_case_answers_the_other_way_is_not_called_undecided() -> None:
    found = made({"Rome": Difference(-1, 0.1, 3), "Oslo": Difference(0, 1, 3)}, claimed=())
    assert found.evidence().support == "1 of 2 the other way, both cities, 3 seeds each: −1 to +0"


def test_a_comparison_turned_round_counts_once() -> None:
    found = made({"Rome": Difference(1, 0.9, 3)})
    assert findings.Evidence(found, found.cases(), (Difference(-1, 0.9, 3),)).comparisons == 1
    assert findings.Evidence(found, found.cases(), (Difference(-1, 0.8, 3),)).comparisons == 2


def test_findings_on_one_stored_result_are_one_family_unless_they_name_theirs() -> None:
    """Of P3-X1's topics two places hold on their own and do not survive its whole table."""
    found = next(one for one in ALL if one.name == "unbiased-can-lose")
    evidence = stored_findings.from_results(found)
    alone = findings.Evidence(found, evidence.cases).said
    assert evidence.comparisons > 20 and "topics, 0.001" in alone and "topics, 0.001" not in evidence.said
    gains, losses = (findings.find(f"ddc.ddc-{name}-accuracy", "") for name in ("raises", "lowers"))
    assert [other.name for other in gains.relatives] == [gains.name, losses.name]
    assert stored_findings.from_results(gains).comparisons == 7


def test_what_is_said_of_accuracy_after_ddc() -> None:
    """By hand for the gain on ML-1M: the second smallest of seven p, times 6."""
    for name in ("ddc.few-methods-gain", "ddc.few-methods-lose"):
        assert stored_findings.from_results(findings.find(name, "")).support.startswith("undecided in all ")
    gain = stored_findings.from_results(findings.find("ddc.ddc-raises-accuracy", ""))
    alone = {case: found.p for case, found in gain.cases.items()}
    assert sorted(alone, key=lambda case: alone[case] or 1)[1] == "MF, ML-1M"
    assert gain.corrected["MF, ML-1M"] == pytest.approx(6 * (alone["MF, ML-1M"] or 1))
    assert gain.corrected["MF, ML-1M"] < 0.05


def test_every_finding_tells_the_reader_what_its_difference_is() -> None:
    assert len(ALL) > 200
    assert [found.name for found in ALL if not found.difference or re.search("->|`", found.difference)] == []


def test_a_claimed_case_that_fails_is_named_with_its_difference() -> None:
    with pytest.raises(FindingError, match=r"cats-are-longer: “Cats are longer than dogs” fails in Oslo \(−2\)"):
        made({"Rome": Difference(1), "Oslo": Difference(-2)}).evidence()


def test_a_finding_that_rests_on_nothing_is_an_error() -> None:
    with pytest.raises(FindingError, match="rests on no case"):
        made({}).evidence()
    with pytest.raises(FindingError, match="claimed of \\['Bern'\\]"):
        made({"Rome": Difference(1)}, claimed={"Bern"}).evidence()


def test_a_finding_reads_the_stored_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stored result that says otherwise stops the build: here the losses before and after change places."""
    found = findings.find("served-loss-rises", "book/debiasing/ddc")
    stored = stored_findings.result(*found.rests_on)
    swap = {"loss before": "loss after", "loss after": "loss before"}
    turned = [{**row, "metric": swap.get(row["metric"], row["metric"])} for row in stored.rows]
    monkeypatch.setattr(stored_findings, "result", lambda name: Result(stored.id, stored.scale, stored.title, turned))
    for kept in ("cases", "from_results"):  # as if nobody had asked before: what others asked for stays
        monkeypatch.setattr(stored_findings, kept, getattr(stored_findings, kept).__wrapped__)
    with pytest.raises(FindingError, match="served-loss-rises"):
        stored_findings.support("served-loss-rises", "book/debiasing/ddc")


def test_the_page_says_of_which_findings_the_bound_was_chosen_after_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a page's own run and of a stored result, each with such a bound and without."""
    gaps = {"films": Difference.above([0.3, 0.2, 0.25])}
    monkeypatch.setattr(stored_findings, "from_results", lambda found: found.judged(gaps))
    for rests_on in ([], ["P1-T5-laptop"]):
        for after in (False, True):
            made = finding("More by a quarter", case="data set", rests_on=rests_on, bound_after=after)

            @made
            def more(*_given: Any) -> dict[str, Difference]:
                """One minus 1.25 times the other."""
                return gaps

            assert ("The bound was chosen after the runs." in stored_findings._entry(more)) == after


def test_a_finding_whose_docstring_says_that_its_bound_came_after_the_runs_is_marked() -> None:
    every = [one for some in stored_findings.by_lesson().values() for one in some]
    told = [one for one in every if re.search("(chosen|set) after", one.difference)]
    assert told and all(one.bound_after for one in told)


def test_pages_find_their_lesson() -> None:
    for page in ("book/debiasing/ddc", "book/debiasing/ddc-lab", "book/debiasing/ddc-further"):
        assert findings.lesson_of(page) == "ddc"
    assert findings.find("ddc.served-loss-rises", "book/reference/errata").lesson == "ddc"
    with pytest.raises(KeyError, match="served-loss-rises"):
        findings.find("no-such", "book/debiasing/ddc")


# ------------------------------------------------------------------------------------------------ conclusions

BOX = ":::{admonition} What to remember\n:class: remember\n\n- Cats sleep more than dogs. Dogs bark.\n:::\n"


def test_a_comparison_of_the_box_without_support_is_found() -> None:
    assert conclusions.unsupported(BOX) == ["Cats sleep more than dogs."]
    assert conclusions.unsupported(BOX.replace("bark", "always bark"))[1] == "Dogs always bark."


@pytest.mark.parametrize(
    "support", ["{finding}`x`", "{prf:ref}`thm-x`", "({eq}`eq-x`)", "by {glue:text}`x` %", "[X1](#claim-x1)"]
)
def test_each_kind_of_support_counts(support: str) -> None:
    assert conclusions.unsupported(BOX.replace("than dogs.", f"than dogs {support}.")) == []


@pytest.mark.parametrize("said", ["loses 3.5 points", "wins in 4 of 5 seeds", "needs 12 %", "is longer than the other"])
def test_a_number_at_the_end_of_a_section_needs_support(said: str) -> None:
    page = f"## One\n\nThe first {said}.\n\nThe model {said}. And more.\n\n$$\nx\n$$\n\n## Exercises\n\nIt {said}.\n"
    assert conclusions.unsupported(page) == [f"The model {said}."]


@pytest.mark.parametrize(
    "said",
    ["learns all films", "has $1.5$ `or 2.5 of 3`", "is in PyTorch 2.13", "is it 3 %?", "draws rather than sorts"],
)
def test_what_is_no_number_of_ours_needs_none(said: str) -> None:
    assert conclusions.unsupported(f"## One\n\nThe model {said}\n") == []


def test_no_paragraph_opens_with_a_comment() -> None:
    """CommonMark takes a paragraph that opens with a comment for HTML, and shows its markup."""
    pages = [path for path in (stored_findings.ROOT / "book").rglob("*") if path.suffix in (".md", ".ipynb")]
    opening = re.compile(r"^\s*(?:[-*]\s+)?<!--.*?-->[ \t]*\S", re.MULTILINE)
    ours = (path for path in pages if ".ipynb_checkpoints" not in path.parts)
    found = {path.name: opening.findall(conclusions.text_of(path)) for path in ours}
    assert len(found) > 20 and {name: lines for name, lines in found.items() if lines} == {}


def roles() -> list[tuple[str, str]]:
    """(page, name) of every {finding} role in the book, and of the claims, which stand on the page of claims."""
    pages = [path for path in (stored_findings.ROOT / "book").rglob("*") if path.suffix in (".md", ".ipynb")]
    found = [
        (path.relative_to(stored_findings.ROOT).with_suffix("").as_posix(), name)
        for path in pages
        if ".ipynb_checkpoints" not in path.parts
        for name in re.findall(r"\{finding\}`([\w.-]+)`", conclusions.text_of(path))
    ]
    return found + [("book/reference/claims", name) for claim in rows.load() for name in claim.findings]


@pytest.mark.seconds
def test_every_finding_that_a_page_names_is_computed_somewhere() -> None:
    known = {
        path.relative_to(stored_findings.ROOT).with_suffix("").as_posix()
        for path in (stored_findings.ROOT / "book").rglob("*.ipynb")
    }
    named = roles()
    assert len(named) > 50
    for page, name in named:
        assert stored_findings.support(name, page) or stored_findings.cell_of(name, page, known)


def test_what_is_no_finding_is_refused_with_what_was_expected() -> None:
    with pytest.raises(ValueError, match="claimed: got 'Rome', expected several names"):
        made({"Rome": Difference(1)}, claimed="Rome")
    with pytest.raises(TypeError, match=r"\['Rome'\] are no Difference"):
        made({"Rome": 1.0}).evidence()
    with pytest.raises(ValueError, match="n is 0"):
        Difference(1.0, n=0)
    with pytest.raises(ValueError, match="got no docstring, expected one that tells what the difference is"):

        @finding("Cats are longer than dogs", case="city")
        def says_nothing() -> dict[str, Difference]:
            return {}
