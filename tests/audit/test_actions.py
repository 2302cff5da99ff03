"""What to do: measured by hand, never against the report's own table, with code that runs; and the headline."""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from audit import planted
from bs4 import BeautifulSoup

from course_lib import geometry
from course_lib.audit import CATALOGUE, Report, Training, audit, page
from course_lib.audit import actions as todo
from course_lib.audit.actions import Action, actions, headline
from course_lib.audit.questions import direction, lengths
from course_lib.audit.questions.batch import in_batch_bias
from course_lib.audit.questions.rules import NOTED
from course_lib.audit.remedies import LATELY, POPULAR, RANDOM, RECENT_HITS, REMEDIES, WORDS, Change, Effect, weighed
from course_lib.audit.verdicts import Verdict
from course_lib.interactions import Interactions

pytestmark = pytest.mark.seconds

ROOT = Path(__file__).resolve().parents[2]
HITS = {POPULAR: "the most popular items", LATELY: "the items that were popular lately"}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def report() -> Report:
    return planted.sample()


# ---- what is measured


def test_times_stay_with_their_pairs() -> None:
    """In the order of `Interactions`, without the pairs of a zero row."""
    items, users = rng().standard_normal((30, 4)), rng(1).standard_normal((6, 4))
    items[5] = 0
    pairs = Interactions([3, 0, 1], [4, 1, 5], n_users=6, n_items=30, times=[30, 10, 20])
    found = audit(items, users, pairs=pairs, rng=rng(), drop_zero_rows=True)
    assert found.evidence is not None and found.evidence.pairs is not None
    assert found.evidence.pairs.times is not None and found.evidence.pairs.times.tolist() == [10, 30]


# ---- advice against the table


def drawn(names: list[str], seed: int) -> list[Effect]:
    """Measurements of these remedies, of all kinds: harm, help that is not sure, help that is not personal."""
    made, draw = [], rng(seed)
    for name in names:
        before, change, width = draw.uniform(0.01, 0.3), draw.normal(0, 0.05), draw.uniform(0.001, 0.05)
        shown = dict(zip(("overlap", "coverage", "gini"), draw.uniform(0, 1, (3, 2)).tolist(), strict=True))
        both = {f"{kind}_{when}": two[at] for kind, two in shown.items() for at, when in enumerate(("before", "after"))}
        ends = (before, before + change, change, change - width, change + width, 50.0, 60.0, 400)
        more: dict[str, Any] = {"beyond": {POPULAR: Change(change, change - width, change + width)}}
        if name == RECENT_HITS:
            more |= {"chosen": CHOSEN, "overlap_recent": draw.uniform(0, 1)}
        made.append(Effect(name, *ends, **both, **more))
    return made


def crowds(effect: Effect) -> bool:
    """Whether the table says that its lists are not personal."""
    assert effect.overlap_after is not None and effect.coverage_after is not None and effect.coverage_before is not None
    if effect.remedy == RECENT_HITS and (effect.overlap_recent is None or effect.overlap_recent >= 0.5):
        return True
    return effect.overlap_after >= 0.5 or effect.coverage_after < 0.5 * effect.coverage_before


def contradicts(effect: Effect) -> bool:
    """Whether the table says that it harms, that its gain may be chance, or that its lists are not personal."""
    chance = effect.difference < 2.74 * (effect.high - effect.low) / (2 * 1.96)
    return effect.difference <= 0 or chance or crowds(effect)


def advised_against(effects: list[Effect], advice: str, done: set[str]) -> list[str]:
    """The remedies that are advised, in words or as an action, and that the table contradicts."""
    said = advice.replace("Do not divide", "")
    names = {effect.remedy for effect in effects if WORDS.get(effect.remedy, effect.remedy) in said} | done
    return [effect.remedy for effect in effects if effect.remedy in names and contradicts(effect)]


WITHOUT_TIMES = [*REMEDIES, "shift all users by +0.5 along popularity", "DDC"]
NAMES = [*WITHOUT_TIMES, RECENT_HITS]
CHOSEN = {"half_life": 1.23e-05, "weight": 1.23e-05}  # the longest numbers


def test_no_advice_contradicts_the_table_over_random_measurements() -> None:
    """Verdicts of a model with all of these faults, as they stand with 200 random tables; each remedy is advised."""
    model = planted.PLANTS["popularity-lengths"](3, 2, sphere=False)
    models = [replace(model, training=Training(loss="in-batch-softmax", temperature=0.5))]
    models += [replace(model, training=Training(loss=loss, batch_size=512)) for loss in ("in_batch", "unbiased")]
    found = [each.audited(3) for each in models]
    advised: set[str] = set()
    words: set[str] = set()
    for seed in range(200):
        effects = drawn([*NAMES[:-2], RECENT_HITS, NAMES[-2]], seed)  # DDC is the last
        one = found[seed % len(found)]
        assert one.evidence is not None
        batch = in_batch_bias(one.evidence, {effect.remedy: effect for effect in effects})
        slope = 0.2 if seed % 2 else -0.2
        advice = batch.advice + lengths._advice(slope, lengths._evened(slope, effects))
        advice += direction._instead(effects[-1], effects[:-1])
        verdicts = [batch if verdict.id == batch.id else verdict for verdict in one.verdicts]
        assert unfounded([batch], effects) == []
        words.add(batch.verdict)
        listed = actions(verdicts, effects, drawn([POPULAR, LATELY], seed), k=10)
        done = {action.of for action in listed} & {*NAMES}
        assert not advised_against(effects, advice, done), (seed, advice, done)
        advised |= done | {effect.remedy for effect in effects if WORDS.get(effect.remedy, "none") in advice}
        gains = [action.gain for action in listed if not action.unmeasured]
        assert gains == sorted(gains, reverse=True) and len(gains) == len(done) + any(e.of in HITS for e in listed)
        assert all(action.unmeasured and action.gain is None for action in listed[len(gains) :])
        first = headline(verdicts, effects, drawn([POPULAR, LATELY], seed), k=10)
        assert not [name for name in NAMES if todo.DOING.get(name, "Moving") in first and name not in done]
    assert advised == {*NAMES} and words == {"fault", "noted", "fine"}


REPAIRED_BY = {  # verdicts that a change of the finished tables would repair, and what the table may not say of it
    "popularity-lengths": ({"normalise the items", "divide by the fourth root of popularity"}, contradicts),
    "ddc-gain": ({"DDC"}, crowds),
    "in-batch-bias": ({"logQ at serving", "multiply back"}, lambda _: False),
}


def unfounded(verdicts: Sequence[Verdict], effects: list[Effect]) -> list[str]:
    """The faults that no such change repairs, by the table: by 5 % of NDCG, with an interval above 0."""
    found = []
    for verdict in verdicts:
        if verdict.verdict == "fault" and verdict.id in REPAIRED_BY:
            names, bad = REPAIRED_BY[verdict.id]
            tried = [effect for effect in effects if effect.remedy in names and not bad(effect)]
            if not any(effect.low > 0 and effect.difference >= 0.05 * effect.before for effect in tried):
                found.append(verdict.id)
    return found


def test_what_changes_repair_is_a_fault_where_one_repairs_it_and_else_noted() -> None:
    """By 200 random tables: the word of all three, in both directions; and without held-out pairs."""
    for seed in range(200):
        (effect,) = drawn(["DDC"], seed)
        large = effect.low > 0 and effect.difference >= 0.05 * effect.before
        assert weighed(True, [effect]) == ("fault" if large else "noted")
        assert weighed(False, [effect]) == "fine" and weighed(True, []) == "noted"
    model = planted.PLANTS["popularity-lengths"](3, 2, sphere=False)
    training = Training(loss="in_batch", batch_size=512)
    blind = audit(model.items, model.users, pairs=model.pairs, training=training, draws=1, rng=rng())
    assert [blind[name].verdict for name in REPAIRED_BY] == ["noted", "cannot tell", "noted"]


# ---- the headline


def test_a_list_of_hits_that_ranks_better_is_in_the_headline_whatever_else_was_measured() -> None:
    verdicts = planted.report("clean", 4).verdicts
    told = 0
    for seed in range(200):
        baselines = drawn([POPULAR, LATELY, "random"], seed)
        ahead = [effect for effect in baselines[:2] if effect.after > effect.before]
        said = headline(verdicts, drawn(NAMES, seed), baselines, k=10)
        told += bool(ahead)
        assert bool(ahead) == ("beats this model" in said or "ranks better than this model" in said), said
        if ahead:
            best = max(ahead, key=lambda effect: effect.after)
            assert said.startswith(f"The list of {HITS[best.remedy]} ") and ("beats" in said) == (best.low > 0)
            assert f"{best.after:.3f} against {best.before:.3f}" in said
    assert 50 < told < 200


def test_models_below_the_most_popular_items_are_told_so() -> None:
    """Scores that leave popularity out, and pairs that are mostly popularity; and tables of strangers."""
    for seed in range(3 if os.environ.get("COURSE_EXAMPLES") == "thorough" else 1):
        model, draw = planted.clean(seed), rng(seed)
        pairs, held_out = planted.observed(model.users / 4, model.items, draw.lognormal(0, 2, 600), draw)
        strange = draw.permutation(model.items), draw.permutation(model.users)
        for items, users in ((model.items, model.users), strange):
            found = audit(items, users, pairs=pairs, held_out=held_out, rng=rng())
            popular = found.baselines[0]
            assert popular.low > 0 and "most popular items beats this model" in found.headline
            assert f"{popular.after:.3f} against {popular.before:.3f}" in found.headline
            assert found["mismatched-rows"].verdict == ("fine" if items is model.items else "cannot tell")
            assert ("cannot be told" in found.headline) == (items is not model.items)
            assert found.headline in found.text().replace("\n", " ") and POPULAR in {each.of for each in found.actions}


def test_a_model_that_does_not_surely_rank_above_random_items_is_told_so() -> None:
    hits, chance = drawn([POPULAR, RANDOM], 0)
    fine = planted.report("clean", 4).verdicts
    for high in (-0.01, 0.01):
        said = headline(fine, [], [hits, replace(chance, before=0.010, after=0.009, high=high)], k=10)
        assert ("not surely above random items (0.009): check the ids" in said) == (high > 0)


@pytest.mark.parametrize(("temperature", "advised"), [(0.2, False), (0.5, False), (1.0, True), (5.0, True)])
def test_a_temperature_at_which_cosines_tell_little_is_the_first_thing_to_mend(
    temperature: float, advised: bool
) -> None:
    model = planted.clean(0)
    items, users = (geometry.normalise(rows[:, :8]) for rows in (model.items, model.users))  # the bound knows no width
    training = Training(loss="in-batch-softmax", temperature=temperature)
    found = audit(items, users, training=training, rng=rng())
    assert [each.of for each in found.actions[:1] if each.of == "temperature"] == ["temperature"] * advised
    if advised:
        exec("\n".join(found.actions[0].code), {"items": items})


def test_each_remedy_after_the_first_is_an_alternative() -> None:
    sure = [replace(each, difference=0.1, low=0.09, overlap_after=0.1, coverage_after=1.0) for each in drawn(NAMES, 1)]
    titles = [each.title for each in actions(planted.report("clean", 4).verdicts, sure, [], k=10)]
    assert len(titles) == 3 and [each.startswith("Or ") for each in titles] == [False, True, True]


def test_what_was_measured_stands_before_the_repairs_and_those_say_what_was_not(report: Report) -> None:
    """Of the repairs first the one of what popularity given back was measured to mend; in all three forms."""
    kinds = [action.of for action in report.actions]
    assert kinds == [POPULAR, "in-batch-bias"]
    assert [action.gain is None for action in report.actions] == [False, True]
    first, second = report.actions[:2]
    flat = report.text().replace("\n   ", " ")
    for said in (flat, report.html(), report.markdown()):
        places = [said.index(each) for each in (first.title, todo.UNMEASURED, second.title, "Not measured: a training")]
        assert places == sorted(places) and said.count(todo.UNMEASURED) == 1
    assert "Both gains are of serving alone." in second.unmeasured and 'start="2"' in report.html()


def test_a_report_has_at_most_five_actions() -> None:
    clean = planted.report("clean", 4)
    faults = [replace(each, verdict="fault") for each in clean.verdicts if each.id != "mismatched-rows"]
    assert len(replace(clean, verdicts=tuple(faults)).actions) == todo.MOST


def test_headlines_of_other_kinds() -> None:
    best = replace(drawn([NAMES[1]], 0)[0], before=0.1, after=0.122, difference=0.022, low=0.02, overlap_after=0.1)
    best = replace(best, coverage_before=0.3, coverage_after=0.3)
    worse = {"before": 0.1, "after": 0.05, "difference": -0.05, "high": -0.01}
    below = [replace(each, **worse) for each in drawn([POPULAR, "random"], 0)]
    verdicts = planted.report("clean", 4).verdicts
    said = headline(verdicts, [best], below, k=10)
    assert said == "Serving with logQ gains 22 % and stays personal; nothing to repair."
    mended = Verdict("in-batch-bias", "fault", "A sentence.", {}, f"Train with logQ, or {WORDS[NAMES[1]]}.")
    said = headline([*verdicts, mended], [best], below, k=10)  # a pipeline stops there, so it is named
    assert said == "Serving with logQ gains 22 % and stays personal; 1 fault: in-batch-bias."
    crowd = replace(best, overlap_after=0.9)
    assert headline(verdicts, [crowd], below, k=10).startswith("The model ranks above the most popular items (0.100 ")
    close = [replace(each, low=-0.2, high=0.1) for each in below]
    assert "most popular items, perhaps by chance (0.100 " in headline(verdicts, [crowd], close, k=10)
    above = [replace(each, after=0.2, difference=0.1, low=0.05) for each in below]
    assert "; serving with logQ lifts the model to 0.122, but not above it;" in headline(verdicts, [best], above, k=10)
    assert "; DDC lifts" in headline(verdicts, [replace(best, remedy="DDC")], above, k=10)
    short, lists = todo.passed_over([crowd])
    assert short.endswith(f": {crowd.remedy} (+0.0220).") and "most popular items in a list 90 %" in lists
    assert not any(todo.passed_over([best]))
    leaky = planted.report("leaked-test-pairs", 3)
    assert leaky.headline.endswith("; 1 thing to repair.") and leaky.actions[-1].of == "leaked-test-pairs"
    table = audit(rng().standard_normal((200, 8)), rng=rng())
    assert table.headline == "How well the model ranks was not measured; nothing to repair."
    wrong = planted.report("mismatched-rows", 3)
    assert "do not belong to the pairs" in wrong.headline and [each.of for each in wrong.actions] == ["mismatched-rows"]


# ---- the code


OWN = {  # names of a reader's training, and of their files
    "item_ids": rng().permutation(600),
    "scores": torch.ones(5, 5),
    "batch": torch.arange(5),
    "counts": torch.ones(600),
    "tau": 0.1,
    "torch": torch,
    "terms": {"pos_loss": np.ones(5), "neg_loss": np.ones((5, 5)), "row_counts": np.ones(5), "col_counts": np.ones(5)}
    | {"n_positives": 20, "shape": (300, 600)},
}


def run(code: tuple[str, str], found: Report) -> dict[str, Any]:
    """The names after the two lines, which know no other names than the report explains, as it explains them."""
    said = todo.named([Action("", "", "", code, None, "")]).removeprefix("In the code, ").removesuffix(".")
    explained = dict(each.split(" is ", 1) for each in said.split("; "))
    room: dict[str, Any] = {"report": found}
    for name, what in reversed(explained.items()):  # what an explanation uses is explained after it
        if name != "report":
            module = re.fullmatch(r"numpy|course_lib\.\w+", what)
            room[name] = OWN[name] if name in OWN else import_module(what) if module else eval(what, room)
    assert "report" in explained or not {"users", "items", "train", "test"} & {*explained}
    exec("\n".join(code), room)
    return room


def test_the_two_lines_make_the_tables_that_were_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    model = replace(planted.clean(5), training=Training(loss="unbiased", batch_size=64, temperature=0.5))
    found = model.audited(5)
    shift = next(effect.remedy for effect in found.remedies if effect.remedy.startswith("shift"))
    monkeypatch.setattr("builtins.print", lambda *_: None)
    for remedy in (shift if name.startswith("shift") else name for name in WITHOUT_TIMES):
        made, wanted = run(todo._code(remedy, 10, 0.5, {}), found), found.remedied(remedy)
        users = made.get("users", model.users)
        np.testing.assert_allclose(users @ made["items"].T, wanted[0] @ wanted[1].T, atol=1e-9, err_msg=remedy)


def test_all_other_lines_run_with_the_names_that_are_explained(monkeypatch: pytest.MonkeyPatch, report: Report) -> None:
    """On the sample report, and on a planted one; the temperature's and the index's too."""
    monkeypatch.setattr("builtins.print", lambda *_: None)
    assert {*todo.REPAIRS, *REPAIRED_BY, *NOTED} == {*CATALOGUE}
    for found in (report, planted.report("clean", 5)):
        for title, _, code, unmeasured in (*todo.REPAIRS.values(), *todo.TRAININGS.values()):
            assert run(code, found) and title.endswith(".") and "Not measured: " in unmeasured
    for action in report.actions:
        assert run(action.code, report)
    for effect in report.baselines[:2]:
        lists = run(todo._of_hits(effect, 10).code, report)["lists"]
        assert lists.shape == (len(report.evidence.users), 10)
    others = [Verdict("temperature", "noted", "A sentence.", {"times_chance": 1.0})]
    others += [Verdict(todo.INDEX, "noted", "A sentence.", {}, f"{kind} finds more.") for kind in ("HNSW", "IVF")]
    for action in actions(others, [], [], k=10):
        assert run(action.code, report)


def test_a_new_split_shares_no_pair() -> None:
    leaky = planted.report("leaked-test-pairs", 3)
    made = run(leaky.actions[-1].code, leaky)
    both = np.concatenate([made["train"], made["test"]])
    assert len(np.unique(both, axis=0)) == len(both) == len(leaky.evidence.pairs) + len(leaky.evidence.held_out)
    assert made["test"].shape == leaky.evidence.held_out.pairs.shape


def test_a_remedy_is_another_one_only_just_below_a_remedy() -> None:
    of = {"before": 0.1, "overlap_after": 0.1, "coverage_before": 0.3, "coverage_after": 0.3}
    first, lists, last = (
        replace(one, **of, after=0.1 + gain, difference=gain, low=gain - 0.01, high=gain + 0.01)
        for one, gain in zip(drawn([NAMES[0], POPULAR, NAMES[1]], 0), (0.3, 0.2, 0.1), strict=True)
    )
    titles = [action.title for action in actions([], [first, last], [lists], k=10)]
    assert len(titles) == 3 and not any(title.startswith("Or ") for title in titles)
    assert actions([], [first, last], [], k=10)[1].title.startswith("Or ")


def test_the_first_sentence_of_the_index_is_in_sight_as_its_action_tells_the_advice(report: Report) -> None:
    other = Verdict(todo.INDEX, "noted", "What IVF loses. The rest.", {}, "IVF finds more.")
    action = actions([other], [], [], k=10)
    rules = {todo.INDEX: "it is so"}
    shown: Any = SimpleNamespace(actions=action, rules=rules)
    assert '<span class="lead">What IVF loses.</span>' in page._verdicts(shown, "x", "X", [other])


def test_every_action_has_a_card_and_fits_the_page(report: Report) -> None:
    decisions = yaml.safe_load((ROOT / "book/practice/decisions.yml").read_text(encoding="utf-8"))
    cards = {card["name"] for card in decisions}
    named = {decision for _, decision, *_ in (*todo.REPAIRS.values(), *todo.TRAININGS.values())}
    assert named | {*todo.DECISIONS.values()} | {todo.OTHER_DECISION} <= cards
    codes = [code for _, _, code, _ in (*todo.REPAIRS.values(), *todo.TRAININGS.values())]
    codes += [todo._code(name, 10, 0.123456, CHOSEN) for name in NAMES] + [action.code for action in report.actions]
    assert all(len(code) == 2 and max(map(len, code)) <= 71 for code in codes)


# ---- the page


def seen(page: str) -> list[str]:
    """The words of a page that are seen before anything is unfolded."""
    parsed = BeautifulSoup(page, "html.parser")
    for hidden in parsed(["head", "style"]):
        hidden.decompose()
    while fold := parsed.find("details"):
        fold.replace_with(fold.summary.extract())
    return parsed.get_text(" ").split()


def test_the_page_says_at_most_900_words_before_anything_is_unfolded(report: Report) -> None:
    """Of implicit's model, with an index, times and files, and of models of which each fault was planted."""
    assert report.options and report["index"].figures and report["time"].figures
    for each in (report, *(planted.report(name, 0, sphere=False) for name in ("hubs", "ddc-gain"))):
        page = each.html()
        assert 300 < len(seen(page)) <= 900
        for fold in re.findall(r"<details>(?:(?!</?details>).)*</details>", page, flags=re.DOTALL)[:1]:
            assert fold.count("<summary>") == 1


def test_the_order_of_the_page_and_of_the_text(report: Report) -> None:
    """What was read, whether it belongs together, the headline, the actions, the verdicts, the appendix."""
    page, said = report.html(), report.text()
    shown = [report.read()[0], "Do the rows belong", report.headline.partition("(")[0], 'id="actions"', 'id="verdicts"']
    ends = ["1. ", "Verdicts", "popularity-lengths: ", "What each change", "The lengths of the rows alone"]
    for where, order in (
        (page, [*shown, 'id="popularity-lengths"', 'id="remedies"', 'id="cosines"', 'id="inputs"']),
        (said.replace("\n  ", " ").replace("\n", " "), [*shown[:3], *ends]),
    ):
        places = [where.index(each) for each in order]
        assert places == sorted(places)
    for action in report.actions:
        assert f"practice/decisions.html#decision-{action.decision}" in page and action.title in page
        assert all(line in said for line in action.code)
    json.dumps(report.to_dict(), allow_nan=False)


# ---- what a verdict means


def test_the_gauge_is_called_by_one_word(report: Report) -> None:
    """Off the sphere with balanced tables: fine, and the lengths alone leave it free; no second verdict says FREE."""
    found = planted.report("clean", 0, sphere=False)
    assert found["free-gauge"].verdict == "fine" and "alone leave the gauge free" in found["free-gauge"].support
    for each in (found, report):
        assert "FREE" not in each.text() and "Verdict:" not in each.text()


def test_cold_rows_are_counted_and_said() -> None:
    """By hand: a tenth of the items without a pair, and users whom only held-out pairs know."""
    model = planted.clean(4)
    train = model.pairs.select((model.pairs.items >= 60) & (model.pairs.users >= 20))
    found = replace(model, pairs=train).audited(4)
    test = model.held_out
    cold = {
        "items_without_pair": 600 - len({*train.items.tolist()}),
        "held_out_users_without_training": len({*test.users.tolist()} - {*train.users.tolist()}),
        "held_out_pairs_of_such_users": int((~np.isin(test.users, train.users)).sum()),
        "held_out_pairs_of_items_without_pair": int((~np.isin(test.items, train.items)).sum()),
    }
    assert found.to_dict()["cold"] == cold and min(cold.values()) > 0
    assert found["dead-rows"].verdict == "noted" and found["dead-rows"].figures["items_without_a_pair"] >= 60
    for said in (found.text().replace("\n  ", " "), found.html()):
        assert f"Items without a training pair: {cold['items_without_pair']}" in said
        users, pairs = cold["held_out_users_without_training"], cold["held_out_pairs_of_such_users"]
        assert f"on whom nothing is measured: {users} (held-out pairs: {pairs})" in said
    assert planted.report("clean", 4)["dead-rows"].verdict == "fine"
