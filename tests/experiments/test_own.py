"""Data and functions of one's own: twenty mistakes are named, splits are those asked for, tables come out whole."""

import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from shutil import which
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from course_lib import datasets, experiments
from course_lib.experiments.core import out, own, own_data, own_run, registry
from course_lib.experiments.core.own_data import Source, read
from course_lib.experiments.core.provenance import results_folder
from course_lib.interactions import Interactions

HEAD = "import numpy as np, torch\nfrom torch.nn import functional as F\nfrom course_lib.experiments import own\n"
SIGMOID = """
@own.loss("sigmoid")
def sigmoid(scores, batch):
    signs = 2 * torch.eye(len(scores), dtype=scores.dtype) - 1
    return -F.logsigmoid(signs * scores).sum(1).mean()
"""


@pytest.fixture(scope="session")
def shop(tmp_path_factory) -> Path:
    """Four hundred people, each with twelve of sixty things, with times and stars; ids are texts, 007 among them."""
    rng, path = np.random.default_rng(0), tmp_path_factory.mktemp("shop") / "shop.csv"
    weights = 1 / np.arange(1, 61)
    things = np.concatenate([rng.choice(60, 12, replace=False, p=weights / weights.sum()) for _ in range(400)])
    people = np.repeat(np.arange(400), 12)
    table = {"who": [f"{one:03d}" for one in people], "what": [f"thing {one}" for one in things]}
    table |= {"when": 1.6e9 + 86400 * rng.permutation(len(people)), "stars": rng.integers(1, 6, len(people))}
    pd.DataFrame(table).to_csv(path, index=False)
    return path


COLUMNS = {"user": "who", "item": "what", "time": "when", "rating": "stars"}


def asked(shop: Path, name: str = "P3-T5", **more) -> own_run.Request:
    functions, changes = more.pop("functions", None), more.pop("changes", {})
    only, seeds = more.pop("only", None), more.pop("seeds", (0,))
    return own_run.Request(name, "smoke", seeds, Source(shop, **COLUMNS, **more), functions, changes, only)


# ----------------------------------------------------------------------------------------------------------------- data
def test_ids_stay_texts_and_pairs_follow_the_threshold_and_the_core(shop) -> None:
    data = read(Source(shop, **COLUMNS, min_rating=3, core=3))
    table = pd.read_csv(shop, dtype={"who": str})
    assert "007" in data.user_table["id"] and data.ratings.min() == 3
    pairs = zip(data.user_table["id"][data.users], data.item_table["id"][data.items], strict=True)
    told = table.set_index(["who", "what"]).loc[list(pairs)]
    assert np.array_equal(told.when, data.times) and np.array_equal(told.stars, data.ratings)
    assert set(data.user_table["id"]) <= set(table[table.stars >= 3].who)
    assert data.row_counts.min() >= 3 and data.col_counts.min() >= 3


@pytest.mark.parametrize("end", [".csv", ".tsv", ".parquet", ".inter"])
def test_every_kind_of_file_gives_the_same_pairs(shop, tmp_path, end) -> None:
    table, path, names = pd.read_csv(shop, dtype={"who": str}), tmp_path / f"shop{end}", dict(COLUMNS)
    if end == ".parquet":
        table.to_parquet(path)
    elif end == ".inter":
        usual = own_data.NAMES
        kinds = {"who": "user_id:token", "what": "item_id:token", "when": "timestamp:float", "stars": "rating:float"}
        table.rename(columns=kinds).to_csv(path, sep="\t", index=False)
        assert set(usual.values()) == {name.split(":")[0] for name in kinds.values()}
        names = {}
    else:
        table.to_csv(path, sep="\t" if end == ".tsv" else ",", index=False)
    assert read(Source(path, **names)).sha256 == read(Source(shop, **COLUMNS)).sha256


def test_dates_and_milliseconds_are_seconds(shop, tmp_path) -> None:
    table, plain = pd.read_csv(shop, dtype={"who": str}), read(Source(shop, **COLUMNS))
    for name, column, unit in (("dates", pd.to_datetime(table.when, unit="s"), "s"), ("ms", 1000 * table.when, "ms")):
        path = tmp_path / f"{name}.csv"
        table.assign(when=column).to_csv(path, index=False)
        assert np.array_equal(read(Source(path, **COLUMNS, time_unit=unit)).times, plain.times)


def test_a_spreadsheet_of_another_country_gives_the_same_pairs(shop, tmp_path) -> None:
    table, path = pd.read_csv(shop, dtype={"who": str}), tmp_path / "shop.csv"
    table["when"] = pd.to_datetime(table.when // 86400, unit="D")
    table.to_csv(tmp_path / "plain.csv", index=False)
    words = {"when": table.when.dt.strftime("%d.%m.%Y"), "stars": table.stars.map("{:.1f}".format)}
    words["stars"], words["what"] = words["stars"].str.replace(".", ","), table.what.str.replace("thing", "Stück")
    table.assign(**words).to_csv(path, sep=";", index=False, encoding="cp1252")
    path.write_bytes(path.read_bytes() + b";;;\n")  # as a spreadsheet leaves an emptied row
    plain = read(Source(tmp_path / "plain.csv", **COLUMNS, min_rating=2))
    found = read(Source(path, **COLUMNS, min_rating=2, encoding="cp1252"))
    assert np.array_equal(found.times, plain.times) and np.array_equal(found.ratings, plain.ratings)
    names = found.item_table["id"][found.items[0]], plain.item_table["id"][plain.items[0]]
    assert names[0] == names[1].replace("thing", "Stück")


def test_of_a_pair_that_repeats_the_earliest_row_counts(shop, tmp_path) -> None:
    table = pd.read_csv(shop, dtype={"who": str})
    again = table[:1].assign(when=table.when.min() - 86400)
    data = read(Source(saved(pd.concat([table, again]), tmp_path / "s.csv"), **COLUMNS))
    assert len(data) == len(table) and data.times.min() == again.when[0]


def test_titles_of_another_file_stand_beside_their_items_and_count_in_the_recipe(shop, tmp_path) -> None:
    names = pd.read_csv(shop).what.unique()
    told = pd.DataFrame({"what": names[::-1], "title": [f"the {name}" for name in names[::-1]]})
    found = []
    for rows in (told, told[:-1]):
        source = Source(shop, **COLUMNS, items=saved(rows, tmp_path / "items.csv"))
        table, recipe = read(source).item_table, dict(source.recipe)
        found.append(recipe)
        known = np.isin(table["id"], rows.what)
        assert (table["title"] == np.where(known, np.char.add("the ", table["id"]), "")).all()
    assert found[0] != found[1]


def test_a_split_in_time_and_by_last_pair_is_the_one_that_experiments_get(shop) -> None:
    rng = np.random.default_rng(0)
    train, test = read(Source(shop, **COLUMNS, split="time")).split_random(0.9, rng)
    assert train.times.max() < test.times.min()
    whole = read(Source(shop, **COLUMNS, split="last"))
    train, rest = whole.split_random(0.8, rng)  # P1's 8:1:1: two of each, then one of them
    valid, test = rest.split_random(0.5, rng)
    assert (valid.row_counts == 1).all() and (test.row_counts == 1).all()
    last = {user: whole.items_of(user)[whole.times[whole.users == user].argmax()] for user in range(9)}
    assert all(test.items_of(user)[0] == item for user, item in last.items())


@pytest.mark.seconds
def test_lists_of_an_own_set_are_those_of_the_library(shop, apart) -> None:
    """The rows beside the own table, found by hand: the five items with most training pairs that a user has not."""
    from course_lib.experiments.p3 import setting

    with own_run.ready(asked(shop, "P3-T6", only={"pointwise": "square"})) as ready:
        train, test = ready.door.parts(ready.name, 0)
        hits = 0
        for user in np.flatnonzero(test.row_counts):
            order = np.argsort(-train.col_counts, kind="stable")
            five = [item for item in order if item not in train.items_of(user)][:5]
            hits += len(set(five) & set(test.items_of(user)))
        result = own_run.run(replace(ready, cells=ready.cells[:1]), progress=False)
    found = result.values("P@5", loss="most popular")[0]
    assert found == pytest.approx(100 * hits / 5 / (test.row_counts > 0).sum())
    assert result.provenance["data"][0]["recipe"]["sha256"] == own_data.Source(shop).recipe["sha256"]
    assert ready.name not in setting.RECIPES.table  # the door is closed again


def test_a_file_called_like_a_set_of_the_paper_does_not_take_its_place(shop, tmp_path) -> None:
    from course_lib.experiments.p3 import setting

    path = tmp_path / "ml-1m.csv"
    path.write_bytes(shop.read_bytes())
    before = dict(setting.RECIPES.table)
    with own_run.ready(asked(path)) as ready:
        assert ready.name.startswith("ml-1m ") and setting.RECIPES.table["ml-1m"] == before["ml-1m"]
        assert {cell["data"] for cell in ready.cells} == {ready.name}
    assert setting.RECIPES.table == before


# ------------------------------------------------------------------------------------------------- many mistakes
def saved(table: pd.DataFrame, path: Path, **how) -> Path:
    table.to_csv(path, index=False, **how)
    return path


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def one_cell(column: str, at: int, value: object) -> Callable[[pd.DataFrame, Path], pd.DataFrame]:
    """The table with one cell replaced."""
    return lambda t, p: t.assign(**{column: t[column].astype(object).where(t.index != at, value)})


DATA = {  # what is wrong -> the table or the file, flags, what the message must say
    "no file": (lambda t, p: p / "none.csv", {}, "--data is .none.csv.; expected a file that exists in"),
    "another ending": (lambda t, p: saved(t, p / "s.xls"), {}, r"s\.xls.*expected a name that ends in \.csv"),
    "an empty file": (lambda t, p: written(p / "e.csv", ""), {}, "pandas cannot read it.*expected a table"),
    "a wrong column": (lambda t, p: t, {"user": "person"}, "no column 'person'.*who, what"),
    "one column twice": (lambda t, p: t, {"item": "who"}, "expected a column for each"),
    "a missing id": (one_cell("who", 3, np.nan), {}, "line 5"),
    "a rating in words": (one_cell("stars", 1, "good"), {}, "line 3 holds 'good'; expected a finite number"),
    "a rating in words below an emptied row": (
        lambda t, p: t.assign(stars=["1", "1", "1", "good"] * (len(t) // 4)).reindex([0, -1, 2, 3]),
        {},
        "line 5 holds 'good'",
    ),
    "decimal commas between tabs": (
        lambda t, p: saved(t.assign(stars="4,5"), p / "s.tsv", sep="\t"),
        {},
        "line 2 holds '4,5'; expected a decimal point, or semicolons between the columns",
    ),
    "milliseconds": (lambda t, p: t.assign(when=1000 * t.when), {}, "expected --time-unit ms"),
    "no times to split by": (
        lambda t, p: t.drop(columns="when"),
        {"time": None, "split": "time"},
        "--split time: s.csv has no times; expected --time COLUMN",
    ),
    "no ratings to cut": (
        lambda t, p: t.drop(columns="stars"),
        {"rating": None, "min_rating": 4},
        "--min-rating: s.csv has no ratings; expected --rating COLUMN",
    ),
    "a threshold above all": (lambda t, p: t, {"min_rating": 9}, "expected at most 5"),
    "a core that empties": (lambda t, p: t, {"core": 50}, "0 pairs with --core 50"),
    "a time that is missing": (one_cell("when", 5, np.nan), {}, "'when': line 7 holds 'nan'; expected a finite number"),
    "another encoding": (
        lambda t, p: saved(t.assign(who="Zoë " + t.who.astype(str)), p / "s.csv", encoding="cp1252"),
        {},
        "s.csv is no utf-8 .*; expected --encoding, such as cp1252",
    ),
    "an unknown encoding": (lambda t, p: t, {"encoding": "klingon"}, "is 'klingon'; expected one that Python knows"),
    "dates of two formats": (
        lambda t, p: t.assign(when=["31.12.2020", "12/31/2020"] * (len(t) // 2)),
        {},
        "'31.12.2020' and others; expected seconds since 1970 or dates in one format",
    ),
    "days that may be months": (
        lambda t, p: t.assign(when=["01.02.2020", "05.06.2020"] * (len(t) // 2)),
        {},
        "'01.02.2020' may be 2020-01-02 or 2020-02-01; expected dates such as 2026-12-31",
    ),
    "one user": (lambda t, p: t.assign(who="me", what=t.index), {}, "1 users and .* expected two of each"),
    "one item": (lambda t, p: t.assign(what="it", who=t.index), {}, "and 1 items; expected two of each"),
    "nothing left to find": (lambda t, p: t.assign(who=t.index // 5, what=t.index % 5), {}, "user '0' has all 5 items"),
    "equal times": (lambda t, p: t.assign(when=9), {"split": "time"}, "are equal; expected --spl"),
    "dates as numbers": (
        lambda t, p: t.assign(when=20240101 + t.index % 28),
        {},
        "20240101 seems to be a date; expected dates with signs",
    ),
    "no time as 0": (one_cell("when", 5, 0.0), {}, "line 7 holds 0.0, far below others"),
    "seconds taken for milliseconds": (
        lambda t, p: t,
        {"time_unit": "ms"},
        "in the year 1970; expected another --time-unit, such as s",
    ),
    "a date beyond reach": (
        lambda t, p: t.assign(when=["2020-01-01", "9999-12-31"] * (len(t) // 2)),
        {},
        "'when': .*; expected dates from 1678 to 2261",
    ),
    "a word among dates": (
        lambda t, p: one_cell("when", 5, "soon")(t.assign(when="2020-01-01"), p),
        {},
        "line 7 holds 'soon'; expected a date in each",
    ),
    "a header once more": (
        lambda t, p: written(p / "s.csv", 2 * t.to_csv(index=False)),
        {},
        "'when': line 4802 holds 'when'; expected a finite number",
    ),
    "an id of spaces": (one_cell("who", 3, "  "), {}, "line 5 holds '  '; expected an id"),
    "a zero byte": (
        lambda t, p: written(p / "s.csv", t.to_csv(index=False).replace("thing", "th\0ing", 1)),
        {},
        "line 2 holds .*; expected an id",
    ),
    "a column of this name twice": (
        lambda t, p: written(p / "s.csv", t.to_csv(index=False).replace("stars", "who", 1)),
        {"rating": None},
        "--user: s.csv has two columns 'who'; expected a name for each",
    ),
    "lines longer than the header": (
        lambda t, p: written(p / "s.csv", t.to_csv(index=False).replace("\n", ",x\n").replace(",x", "", 1)),
        {},
        "its lines have more columns than its header",
    ),
    "lists of items": (
        lambda t, p: (t.assign(what=[[1, 2]] * len(t)).to_parquet(p / "s.parquet"), p / "s.parquet")[1],
        {},
        "line 2 holds several values; expected a row for each pair",
    ),
    "another split": (lambda t, p: t, {"split": "users"}, "--split is 'users'; expected one of"),
}


def loss(body: str) -> str:
    return f'@own.loss("mine")\ndef f(s, b): {body}'


def sampler(body: str) -> str:
    return f'@own.sampler("mine")\ndef f(t, n, r): {body}'


def estimator(body: str) -> str:
    return f'@own.estimator("mine")\nclass E:\n  def __init__(self, *a): pass\n  def update(self, i, r): {body}'


RIVAL = "from course_lib.debiasing.rival import Rival\n"
FUNCTIONS = {  # what is wrong with the file of functions -> its text, what the message must say
    "no decorator": ("def f(scores, batch): pass", "registers nothing; expected a decorator"),
    "a file that fails": ("import nothing_of_this_name", "line 4: ModuleNotFoundError.*expected a file that runs"),
    "a vector": (loss("return s.sum(1).exp()"), r"it returns torch.float32 of shape \(8,\); expected one number"),
    "a float": (loss("return s.exp().mean().item()"), "it returns float; expected one number"),
    "a detached part": (
        loss("return (s.detach().exp() * s.exp()).mean()"),
        "says a slope of .* in which the loss has .*; expected that they agree",
    ),
    "no gradient": (loss("return s.detach().exp().mean()"), "no gradient; expected torch"),
    "a loss below 0": (loss("return -s.exp().mean()"), "expected a finite number above 0"),
    "chance of its own": (
        loss("return (s * torch.rand(8, 8)).exp().mean()"),
        "draws from torch's random state, which all share.*expected that it draws nothing",
    ),
    "scores in place": (loss("return s.detach().mul_(2).sum() + s.exp().mean()"), "in place"),
    "a sampler out of range": (
        sampler("return np.arange(n) + len(t) - n + 1"),
        "the position 27; expected positions from 0 to 26",
    ),
    "a sampler without rng": (sampler("return np.arange(n)"), "that it draws from the given"),
    "an estimator of a side": (
        estimator("return r.mean(0)"),
        r"update returns torch.float32 of shape \(3,\); expected a tensor of shape \(d, d\)",
    ),
    "a method that is none": (
        '@own.method("mine")\nclass M(torch.nn.Module):\n  def __init__(self, *a, **k): super().__init__()',
        "it is no Rival; expected a subclass",
    ),
    "a fixed size": (
        loss("return (torch.eye(8) * s).exp().mean()"),
        r"RuntimeError: .*expected loss\(scores, batch\) that runs on \(8, 8\) and \(5, 5\)",
    ),
    "a batch in place": (
        loss("return s.exp().mean() / b.col_counts.add_(1).sum()"),
        "it changes the col_counts that it was given",
    ),
    "a constant": (loss("return (0 * s).sum() + 1"), "its gradient is 0 in both tables"),
    "an unused parameter": (
        '@own.loss("mine")\nclass L(torch.nn.Linear):\n  def __init__(self): super().__init__(1, 1)\n'
        "  def forward(self, s, b): return s.exp().mean()",
        "its parameter 'weight' has no gradient",
    ),
    "another device": (loss('return (s.to("meta")).exp().mean()'), "on meta tensors; expected .* on their device"),
    "a seeded sampler": (
        sampler("np.random.seed(r.integers(9)); return np.random.randint(9, size=n)"),
        "draws from numpy.random, which all share, or seeds it; expected the generator",
    ),
    "rows in place": (estimator("return r.mul_(2).T @ r"), "update changes the rows"),
    "a matrix that is no Gramian": (
        estimator("return torch.triu(r.T @ r)"),
        "update returns a matrix that is not finite or not symmetric",
    ),
    "an estimator with a memory of others": (
        "seen = []\n" + estimator("seen.append(0); return len(seen) * (r.T @ r)"),
        "two estimators that saw the same differ",
    ),
    "a slope of the other side": (
        "class Flip(torch.autograd.Function):\n  @staticmethod\n  def forward(ctx, x): return x.clone()\n"
        "  @staticmethod\n  def backward(ctx, slope): return -slope\n"
        '@own.loss("mine")\ndef f(s, b): return Flip.apply(s.exp().mean())',
        "says a slope of .* in which the loss has",
    ),
    "a Gramian of another type": (
        estimator("return (r.T @ r).double()"),
        r"update returns torch.float64 of shape \(3, 3\); expected .* of the type of the rows",
    ),
    "a second setting": (
        RIVAL + '@own.method("mine", tries=({}, {"gap": 1}))\nclass M(Rival): pass',
        "unexpected keyword argument 'gap'",
    ),
    "lists of NaN": (
        RIVAL + '@own.method("mine")\nclass M(Rival):\n'
        '  def ranking(self): return [float("nan") * t for t in self.embeddings()]',
        "numbers that are not finite; expected two tables",
    ),
    "a parameter whose gradient is NaN": (
        '@own.loss("mine")\nclass L(torch.nn.Module):\n  def __init__(self):\n    super().__init__()\n'
        "    self.tau = torch.nn.Parameter(torch.tensor(1.0))\n  def forward(self, s, b):\n"
        "    mask = b.known & ~torch.eye(len(s), dtype=torch.bool)\n"
        "    return F.cross_entropy(s.masked_fill(mask, -torch.inf) / self.tau, torch.arange(len(s)))",
        "the gradient of its parameter 'tau' is not finite; expected .* behind a mask",
    ),
    "an exit within": ('@own.loss("mine")\ndef f(s, b): raise SystemExit(3)', "SystemExit: 3; expected loss"),
    "an object": (
        "class L(torch.nn.Module):\n  def forward(self, s, b): return s.exp().mean()\nown.loss('mine')(L())",
        "it is an object of L; expected the class, which each run makes anew",
    ),
    "no setting": (
        RIVAL + '@own.method("mine", tries=())\nclass M(Rival): pass',
        "tries of 'mine' is .*; expected at least one dict of settings",
    ),
    "one setting alone": (
        RIVAL + '@own.method("mine", tries={"gap": 1})\nclass M(Rival): pass',
        "tries of 'mine' is .*; expected at least one dict of settings",
    ),
    "two of one name": (SIGMOID + SIGMOID, "is registered twice; expected a name for each"),
}


def test_whole_floats_of_parquet_and_padded_ids_of_items_are_the_ids_that_they_were(shop, tmp_path) -> None:
    table = pd.read_csv(shop)
    numbers = table.what.str[6:]
    for name, ids, texts in (
        ("padded", numbers.str.zfill(3), numbers.str.zfill(3)),
        ("floats", numbers.astype(float), numbers),
    ):
        table.assign(what=ids).to_parquet(tmp_path / f"{name}.parquet")
        told = pd.DataFrame({"what": texts.unique(), "title": "the " + texts.unique()})
        data = read(Source(tmp_path / f"{name}.parquet", **COLUMNS, items=saved(told, tmp_path / f"{name} items.csv")))
        assert data.item_table["title"].tolist() == [f"the {one}" for one in data.item_table["id"]]


@pytest.mark.parametrize("mistake", DATA)
def test_a_mistake_in_the_data_is_named(shop, tmp_path, mistake) -> None:
    make, changed, says = DATA[mistake]
    made = make(pd.read_csv(shop, dtype={"who": str}), tmp_path)
    path = made if isinstance(made, Path) else saved(made, tmp_path / "s.csv")
    with pytest.raises(ValueError, match=says):
        read(Source(path, **{**COLUMNS, **changed}))


@pytest.mark.parametrize("mistake", FUNCTIONS)
def test_a_mistake_in_a_function_is_named(tmp_path, mistake) -> None:
    text, says = FUNCTIONS[mistake]
    path = written(tmp_path / "mine.py", HEAD + text)
    with pytest.raises(ValueError, match=re.compile(says, re.S)), own.loaded(path):
        pass
    assert not own.REGISTERED


def test_what_an_experiment_cannot_take_is_said_by_name(shop, tmp_path) -> None:
    file = written(tmp_path / "mine.py", HEAD + SIGMOID)
    for request, says in (
        (asked(shop, "P4-T2", functions=file), "P4-T2 does not take it; expected estimator; a loss enters P3-T5"),
        (
            asked(shop, functions=written(tmp_path / "theirs.py", HEAD + SIGMOID.replace("sigmoid", "unbiased", 1))),
            "loss 'unbiased': P3-T5 has something of this name",
        ),
        (asked(shop, "P2-X1"), "P2-X1 takes no data .* expected one of .*P3-T5"),
        (asked(shop, changes={"widht": 3}), "--option widht: no cell of P3-T5 has it; expected one of"),
    ):
        with pytest.raises(ValueError, match=says), own_run.ready(request):
            pass
    timeless = saved(pd.read_csv(shop).drop(columns="when"), tmp_path / "timeless.csv")
    source = Source(timeless, user="who", item="what")
    with (
        pytest.raises(ValueError, match="PRACTICE-1 needs times, and timeless has none; expected --time COLUMN"),
        own_run.ready(own_run.Request("PRACTICE-1", "smoke", (0,), source)),
    ):
        pass


def test_what_a_row_knows_of_a_column_stands_in_the_row() -> None:
    train = Interactions([0, 0, 1], [0, 1, 2], n_users=2, n_items=3)
    batch = own.InBatch(torch.tensor([0, 1]), torch.tensor([0, 1]), torch.ones(2), torch.ones(2), train)
    assert batch.known.tolist() == [[True, True], [False, False]]


# --------------------------------------------------------------------------------------------------------------- tables
@pytest.fixture
def apart(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "cache"))


@pytest.mark.seconds
def test_an_own_loss_written_as_ours_trains_as_ours(shop, tmp_path, apart) -> None:
    """P3's unbiased square loss, written by autograd, from the same start on the same batches: the same model."""
    text = """
@own.loss("again")
def again(scores, batch):
    from course_lib import in_batch
    from course_lib.losses import pair_losses
    good, bad = pair_losses("square", scores)
    counts = {"row_counts": batch.row_counts, "col_counts": batch.col_counts}
    return in_batch.batch_loss("unbiased", pos_loss=good.diagonal(), neg_loss=bad, **counts,
                               n_positives=len(batch.train), shape=batch.train.shape)
"""
    request = asked(
        shop, functions=written(tmp_path / "mine.py", HEAD + text), changes={"first_lr": 0.5, "max_epochs": 2}
    )
    with own_run.ready(request) as ready:
        from course_lib.experiments.p3 import own as door

        cell = next(cell for cell in ready.cells if cell["losses"] == ["again"] and cell["ratio"] == 1e-3)
        train, test = ready.door.parts(ready.name, 0)
        mine = door.train_own(own.REGISTERED["loss", "again"], cell, train, test)
        [theirs] = door.train_cell({**cell, "losses": ["unbiased"]}, train, test)
    assert mine.steps == theirs.steps > 10 and mine.lr == theirs.lr
    np.testing.assert_allclose(mine.users, theirs.users, atol=2e-3)
    np.testing.assert_allclose(mine.items, theirs.items, atol=2e-3)


@pytest.mark.seconds
def test_one_command_gives_a_table_with_an_own_loss_and_sampler(shop, tmp_path, apart, capsys) -> None:
    text = SIGMOID + '@own.sampler("twice")\ndef twice(train, size, rng): return rng.integers(len(train), size=size)\n'
    file, folder = written(tmp_path / "mine.py", HEAD + text), tmp_path / "out"
    command = f"run P3-T5 --data {shop} --user who --item what --time when --rating stars --core 3 --with {file}"
    more = f"--out {folder} --seeds 0 1 --only pointwise=square ratio=0.001 --option first_lr=1 max_epochs=2"
    assert experiments.cli([*command.split(), *more.split()]) == 0
    said = capsys.readouterr().out
    assert "passed: loss 'sigmoid', sampler 'twice'" in said and "GB at most" in said
    frame = pd.read_csv(folder / "P3-T5-smoke.csv")
    assert {"sigmoid", "unbiased", "most popular", "popular lately", "chance"} <= set(frame.loss)
    assert {*frame.sampler.dropna()} == {"twice"}
    between = pd.read_csv(folder / "P3-T5-smoke-intervals.csv")
    one = between[
        (between.loss == "sigmoid") & between.against.str.startswith("unbiased") & between.sampler.isna()
    ].iloc[0]
    values = {}
    for loss in ("sigmoid", "unbiased"):
        kept = frame[(frame.loss == loss) & (frame.metric == "P@5") & (frame.selection == "cross-fitted")]
        values[loss] = kept[kept.serving.eq("raw") & kept.sampler.isna()].sort_values("seed").value.to_numpy()
    gains = values["sigmoid"] - values["unbiased"]
    assert one.difference == pytest.approx(gains.mean()) and one.low < one.difference < one.high
    made_by = json.loads((folder / "P3-T5-smoke.json").read_text())["provenance"]["own"]
    assert made_by["functions"] == ["loss sigmoid", "sampler twice"] and len(made_by["sha256"]) == 64
    assert not list(results_folder().glob("*shop*"))


@pytest.mark.seconds
@pytest.mark.parametrize(
    "name, only, changes",
    [
        ("P1-T2", {"backbone": "MF"}, {"epochs": 4}),
        ("P4-T2", {"method": "sampling"}, {"every": 5, "checks": 1}),
        ("P0-E8", {}, {"steps": 50}),
    ],
)
def test_every_paper_has_a_door(shop, apart, name, only, changes) -> None:
    with own_run.ready(asked(shop, name, only=only, changes=changes, split="time")) as ready:
        result = own_run.run(ready, progress=False)
        assert {row["data"] for row in result.rows} == {"shop in time"}
        assert not any("paper" in row for row in result.rows)  # no paper prints a number for these data
        assert all(np.isfinite(row["value"]) for row in result.select(**ready.door.main))
        assert result.provenance["own"]["split"] == "time" and result.provenance["own"]["changes"] == changes


@pytest.mark.seconds
def test_the_scoreboard_takes_own_data(shop, tmp_path, apart) -> None:
    with pytest.raises(ValueError, match="needs 200 items, and shop has 60"), own_run.ready(asked(shop, "PRACTICE-1")):
        pass
    films = datasets.load(core=10)
    table = pd.DataFrame({"user_id": films.users, "item_id": films.items, "timestamp": films.times})
    source = Source(saved(table, tmp_path / "films.csv"))
    with own_run.ready(own_run.Request("PRACTICE-1", "smoke", (0,), source, None, {"passes": 1})) as ready:
        result = own_run.run(ready, progress=False)
    assert {"chosen list", "logQ", "logQ + hits"} <= set(result.distinct("row"))


@pytest.mark.seconds
def test_an_own_method_and_an_own_estimator_stand_in_their_tables(shop, tmp_path, apart) -> None:
    method = """
from course_lib.debiasing.rival import Rival
from course_lib.backbones.base import triple_scores

@own.method("Hinge", tries=({"margin": 1.0},))
class Hinge(Rival):
    def __init__(self, backbone, train, *, margin, generator):
        super().__init__(backbone, train, generator=generator)
        self.margin = margin

    def loss(self, users, positives, negatives):
        good, bad = triple_scores(self.embeddings(), users, positives, negatives)
        return F.relu(self.margin - good + bad).mean()
"""
    estimator = """
from course_lib import gramians

@own.estimator("tenth")
class Tenth(gramians.SOGram):
    def __init__(self, n, d, batch_size):
        super().__init__(d, 0.1)
"""
    file, only = written(tmp_path / "m.py", HEAD + method), {"backbone": "MF", "method": [None, "Hinge"]}
    with own_run.ready(asked(shop, "P1-T3", functions=file, only=only, changes={"epochs": 4})) as ready:
        found = own_run.run(ready, progress=False)
    assert found.values("MRR@10", method="Hinge") and ready.cells[-1]["own"] == ready.file.sha256
    file, only, short = written(tmp_path / "e.py", HEAD + estimator), {"method": ["tenth", "sogram 0.1"]}, {"every": 5}
    with own_run.ready(asked(shop, "P4-T2", functions=file, only=only, changes=short)) as ready:
        found = own_run.run(ready, progress=False)
    assert found.values("map@10", method="tenth") == found.values("map@10", method="sogram 0.1")


# ----------------------------------------------------------------------------------------------------------- intervals
def test_intervals_are_paired_corrected_and_wider_where_splits_overlap() -> None:
    rng = np.random.default_rng(0)
    base, rows = rng.normal(10, 5, 4), []
    values = {"plain": base, "better": base + 1 + 0.01 * rng.normal(size=4), "same": base + rng.normal(size=4)}
    for name, numbers in values.items():
        rows += [{"data": "d", "loss": name, "metric": "P@5", "seed": at, "value": v} for at, v in enumerate(numbers)]
    result = experiments.Result("T", "smoke", "a table", rows)
    table = own_run.intervals(result, {"metric": "P@5"}, {"loss": "plain"}).set_index("loss")
    assert table.said.to_dict() == {"better": True, "same": False}
    gains = values["better"] - base
    half = stats.t.ppf(1 - 0.05 / 4, 3) * gains.std(ddof=1) / 2  # two comparisons, two sides
    assert table.high["better"] == pytest.approx(gains.mean() + half)
    p = stats.ttest_1samp(gains, 0).pvalue
    assert table["Holm p"]["better"] == pytest.approx(2 * p)
    wider = own_run.intervals(result, {"metric": "P@5"}, {"loss": "plain"}, splits=1 / 4).set_index("loss")
    assert wider.high["better"] - gains.mean() == pytest.approx(half * np.sqrt(2))
    door = SimpleNamespace(id="P3-T5", main={"metric": "P@5"}, against={"loss": "plain"})
    for source, wide in (
        (None, 1 + 4 / 9),
        (Source(Path("a.csv")), 1 + 4 / 9),
        (Source(Path("a.csv"), split="time"), 1),
    ):
        asked = SimpleNamespace(request=SimpleNamespace(source=source))
        by_door = own_run.of_door(result, door, asked).set_index("loss")  # splits overlap where each seed draws one
        assert by_door.high["better"] - gains.mean() == pytest.approx(half * np.sqrt(wide))


def test_each_baseline_is_a_family_of_its_own_and_holm_goes_by_rising_p() -> None:
    told = {"first": [0.03, 0.01, np.nan, 0.02], "second": [0.04]}  # NaN: of a line without an interval
    lines = [{"against": name, "p": p, "error": 0.1, "seeds": 5} for name, family in told.items() for p in family]
    found = own_run._family(pd.DataFrame(lines).assign(difference=1.0))
    assert found["Holm p"].tolist() == pytest.approx([0.04, 0.03, np.nan, 0.04, 0.04], nan_ok=True)
    assert found.said.tolist() == [True, True, False, True, True]
    half = 0.1 * stats.t.ppf(1 - 0.05 / np.array([6, 6, 6, 6, 2]), 4)
    np.testing.assert_allclose([found.low, found.high], [1 - half, 1 + half])


def test_differences_are_of_the_seeds_that_both_have() -> None:
    found = own_run._paired({0: 1.0, 1: 5.0, 2: 2.0}, {2: 1.5, 7: 0.0, 0: 0.0}, 0.0)
    assert (found["difference"], found["seeds"]) == (0.75, 2)
    assert found["p"] == pytest.approx(stats.ttest_rel([1.0, 2.0], [0.0, 1.5]).pvalue)


def test_the_rows_of_the_lists_know_what_lies_between_training_and_test() -> None:
    """Person 0 has item 2 in the validation part, and is to find item 3; the others are not asked."""
    both = {"n_users": 4, "n_items": 5}
    train = Interactions([0, 1, 1, 1, 2, 2, 3], [0, 0, 2, 3, 0, 2, 0], **both)
    known, test = Interactions([*train.users, 0], [*train.items, 2], **both), Interactions([0], [3], **both)
    door = SimpleNamespace(parts=lambda name, seed: (train, known, test), places=({"k": 1},), named="model")
    asked = SimpleNamespace(name="mine", door=door, request=SimpleNamespace(seeds=(0, 1)))
    result = SimpleNamespace(rows=[{"metric": name} for name in ("MRR@10", "AvgPop@10", "loss")])
    rows = [row for row in own_run.list_rows(asked, result) if row["model"] == "most popular"]
    assert [(row["seed"], row["metric"], row["value"]) for row in rows] == [
        (seed, name, value) for seed in (0, 1) for name, value in (("MRR@10", 1.0), ("AvgPop@10", 1 / 3))
    ]
    chance = [list(own_run._lists(train, seed))[-1][1][1] for seed in (0, 0, 1)]
    assert np.array_equal(chance[0], chance[1]) and not np.array_equal(chance[0], chance[2])


@pytest.mark.seconds
def test_one_seed_says_that_it_has_no_interval(tmp_path) -> None:
    losses = {"plain": 1.0, "better": 2.0, "popularity": 0.5}
    rows = [{"data": "d", "loss": name, "metric": "P@5", "seed": 0, "value": v} for name, v in losses.items()]
    result = experiments.Result("P3-T5", "smoke", "A table", rows, layout={"rows": ("data", "loss")})
    table = own_run.intervals(result, {"metric": "P@5"}, {"loss": "plain"})
    shown, same = own_run.telling(table)
    assert [*shown] == ["loss", "mean", "against", "difference"] and same == {"data": "d", "seeds": 1}
    assert [*own_run.telling(table[:1])[0]] == ["mean", "against", "difference"]  # a line alone, too, is shown
    files = {path.name: path for path in out.write(result, tmp_path, table, metric="P@5")}
    text = files["P3-T5-smoke-intervals.tex"].read_text()
    assert "of one seed, without intervals" in text and "data d" in text and "Popularity & 0.5" in text
    assert out.figure(result, metric="P@5").axes[-1].get_xlabel() == "P@5; a single run each"


# ----------------------------------------------------------------------------------------------------------------- out
@pytest.mark.seconds
@pytest.mark.parametrize("name, scale", [("P3-T6", "laptop"), ("P1-T3", "laptop"), ("PRACTICE-1", "laptop")])
def test_stored_results_go_out_and_latex_takes_them(tmp_path, name, scale) -> None:
    door = own_run.door_of(name)
    files = {path.suffix: path for path in out.write(experiments.load_result(name, scale), tmp_path, **door.main)}
    assert {".csv", ".tex", ".bib", ".json"} <= {*files} and (not door.main or {".pdf", ".png"} <= {*files})
    frame, stored = pd.read_csv(files[".csv"]), experiments.load_result(name, scale)
    assert len(frame) == len(stored.rows) and frame.value.tolist() == pytest.approx([r["value"] for r in stored.rows])
    assert len(pd.read_parquet(files[".parquet"])) == len(frame)
    assert "\\toprule" in files[".tex"].read_text()
    from pybtex.database import parse_file

    keys = set(parse_file(files[".bib"]).entries)
    assert "twotowercourse" in keys and (name[:2].lower() in keys or name.startswith("PRACTICE"))
    if name == "P1-T3":
        assert {"he2020", "joachims2017", "wei2021"} <= keys
    if which("pdflatex"):
        text = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\\input{%s}\\end{document}"
        (tmp_path / "t.tex").write_text(text % files[".tex"].name)
        done = subprocess.run(["pdflatex", "-halt-on-error", "t.tex"], cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:]


def test_a_course_set_takes_an_own_loss_without_own_data(tmp_path) -> None:
    file = written(tmp_path / "mine.py", HEAD + SIGMOID)
    with own_run.ready(own_run.Request("P3-T5", "smoke", (0,), None, file)) as ready:
        mine = [cell for cell in ready.cells if cell["losses"] == ["sigmoid"]]
        assert {cell["data"] for cell in mine} == {"movietweetings-10core"} and len(mine) == 2  # not at ratio 0.1
    assert datasets.names() and registry.get("P3-T5").module.endswith("stochastic_gradient")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("run P3-T5 --user who", "--user is 'who', and there is no --data; expected --data FILE with it"),
        ("run P3-T5 --split time --dry-run", "--split is 'time', and there is no --data"),
        ("run P3-T5 --min-rating 3", "--min-rating is '3.0', and there is no --data"),
        ("run P3-T5 --dry-run --out FILE", "expected a folder, and this is a file"),
        ("run P3-T5 --out FILE/x", "--out is .*; expected a folder that can be written"),
        ("run P3-T5 --dry-run --devices 0", "--devices: a run of one's own does not take it"),
        ("run P3-T5 --dry-run --only foo=bar", "only: no cell of P3-T5 has 'foo'; expected one of"),
        ("run P3-T5 --data EMPTY", "--data: empty.csv has no row below its header; expected at least 50 pairs"),
        ("run P3-T5 --data BROKEN", "broken.parquet: pandas cannot read it .*; expected Parquet"),
        ("run P3-T5 --with EXIT --dry-run", "line 2: SystemExit: 3; expected a file that runs"),
        ("out P3-T6 --to FILE", "--to is .*; expected a folder, and this is a file"),
        ("out P3-T6 --to FILE/x", "--to is .*; expected a folder that can be written"),
        ("queue FILE/x", "the queue is .*; expected a file with a run a line"),
        ("out P3-T6 --to FOLDER --only metric=Q@5", "--only: no row has metric=Q@5; expected one of .*P@5"),
        ("verify P3-T6 --share 2", r"--share is 2.0; expected a finite number in \[0, 1\]"),
        ("verify P3-T6 --beyond -1", "--beyond is -1.0; expected a finite number .*0"),
        ("verify P3-T6 --seconds nan", "--seconds is nan; expected a finite number .*0"),
        ("verify P3-T6 --cells 0", "--cells is 0; expected a whole number of at least 1"),
        ("verify P3-T6 --results -1", "--results is -1; expected a whole number of at least 1"),
        ("verify P3-T6 --seed -1", "--seed is -1; expected a whole number of at least 0"),
        ("verify P3-T6 --tolerance 3", r"--tolerance is 3.0; expected a finite number in \(0, 1\)"),
        ("verify P3-T6 --against FOLDER", "--against is .*; expected the folder of a checkout"),
    ],
)
def test_flags_that_would_be_ignored_and_files_that_are_none_are_refused(
    tmp_path, apart, capsys, monkeypatch, command, message
):
    monkeypatch.setattr(registry, "run", lambda *given, **more: pytest.fail("it ran"))
    (tmp_path / "a file").write_text("")
    (tmp_path / "empty.csv").write_text("user_id,item_id\n")
    (tmp_path / "broken.parquet").write_text("x")
    (tmp_path / "exit.py").write_text("import sys\nsys.exit(3)\n")
    files = {
        "FILE": "a file",
        "FILE/x": "a file/x",
        "FOLDER": "results",
        "EMPTY": "empty.csv",
        "BROKEN": "broken.parquet",
        "EXIT": "exit.py",
    }
    words = [str(tmp_path / files[word]) if word in files else word for word in command.split()]
    assert experiments.cli(words) == 2
    assert re.search(message, capsys.readouterr().out)


def test_a_dry_run_of_a_course_set_runs_and_stores_nothing(apart, capsys, monkeypatch) -> None:
    monkeypatch.setattr(registry, "run", lambda *given, **more: pytest.fail("it ran"))
    assert experiments.cli(["run", "P3-T5", "--dry-run"]) == 0
    assert "P3-T5: 6 cells" in capsys.readouterr().out
