"""`datasets.load` and `catalogue`, the embedded set, and every loader on files of its original format."""

from __future__ import annotations

import bz2
import dataclasses
import gzip
import hashlib
import io
import lzma
import re
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from refused import refused

from course_lib import datasets
from course_lib.checking import some
from course_lib.datasets import formats
from course_lib.datasets.catalogue import ENTRIES
from course_lib.datasets.embedded import EMBEDDED_FILE
from course_lib.datasets.entries import Log

FIXTURES = Path(__file__).parents[1] / "fixtures" / "data"
ENVELOPES = {".xz": lzma.compress, ".gz": gzip.compress, ".bz2": bz2.compress}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the hand-made files as COURSE_DATA, with a cache of its own."""
    own = tmp_path / "data"
    shutil.copytree(FIXTURES, own)
    monkeypatch.setenv("COURSE_DATA", str(own))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("course_lib.datasets.cache_folder", lambda: tmp_path / "cache")
    return own


def ids(data) -> list[tuple[int, int]]:
    """The pairs under their original ids."""
    users, items = data.user_table["id"][data.users], data.item_table["id"][data.items]
    return list(zip(users.tolist(), items.tolist(), strict=True))


# ------------------------------------------------------------------------------------------------------------ embedded
@pytest.mark.parametrize(
    ("options", "counts"),
    [
        ({"min_rating": None}, (100_000, 16_554, 10_506)),
        ({}, (72_771, 15_213, 8_259)),
        ({"core": 5}, (44_036, 3_452, 1_714)),
        ({"core": 10}, (23_565, 1_311, 682)),
    ],
)
def test_the_embedded_set_has_the_published_counts(
    options: dict, counts: tuple, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COURSE_DATA", "/no/such/folder")  # the embedded set looks nowhere
    data = datasets.load(**options)
    assert (len(data), data.n_users, data.n_items) == counts
    assert (data.row_counts >= options.get("core", 1)).all()
    assert (data.col_counts >= options.get("core", 1)).all()


def test_the_embedded_set_keeps_titles_genres_times_and_ratings() -> None:
    data = datasets.load(min_rating=None)
    assert data.name == "movietweetings"
    film = int(np.flatnonzero(data.item_table["id"] == 1853728)[0])
    assert data.item_names[film] == "Django Unchained (2012)"
    assert data.item_table["genres"][film].split("|") == ["Adventure", "Drama", "Western"]
    assert (data.ratings.min(), data.ratings.max()) == (0, 10)
    assert np.array_equal(data.ratings, data.ratings.round())
    assert np.datetime64(int(data.times.min()), "s").astype(str).startswith("2013-02-28")
    assert "Fantômas - À l'ombre de la guillotine (1913)" in data.item_names


def test_embedded_users_carry_no_id_and_stand_in_order_of_their_first_rating() -> None:
    data = datasets.load(min_rating=None)
    assert data.user_table == {}
    first = np.full(data.n_users, np.iinfo(np.int64).max)
    np.minimum.at(first, data.users, data.times)
    assert (np.diff(first) >= 0).all()


def test_the_embedded_file_is_small_plain_and_has_its_checksum_and_licence() -> None:
    content = EMBEDDED_FILE.read_bytes()
    assert len(content) < 1_500_000
    folder = EMBEDDED_FILE.parent
    assert (folder / "SHA256SUMS").read_text() == f"{hashlib.sha256(content).hexdigest()}  {EMBEDDED_FILE.name}\n"
    assert "Copyright (c) 2013 Simon Dooms" in (folder / "LICENSE").read_text()
    assert "Permission is hereby granted, free of charge" in (folder / "LICENSE").read_text()
    assert ENTRIES["movietweetings"].citation.rstrip(".") in " ".join((folder / "CITATION").read_text().split())
    with np.load(io.BytesIO(content), allow_pickle=False) as columns:
        assert all(columns[key].dtype.kind in "ui" for key in some(columns.files))


# ----------------------------------------------------------------------------------------------------------- catalogue
def test_the_catalogue_is_complete_and_drives_the_loaders() -> None:
    rows = datasets.catalogue()
    assert {"movietweetings", *EXPECTED} <= {row["name"] for row in rows}
    assert (*(row["name"] for row in rows), "synthetic") == datasets.names()
    for row in some(rows):
        assert row["pairs"] > row["users"] > 0
        assert all(row[key] for key in ("title", "licence", "licence_note", "citation", "homepage", "rating_scale"))
        assert row["obtained"] in ("comes with the course", "checked download", "place by hand")
    assert {row["name"] for row in rows if row["may_ship"]} == {"movietweetings", "ml-latest-small"}
    assert {row["name"] for row in rows if row["obtained"] == "place by hand"} == {"ml-latest-small", "eurlex"}


def test_every_download_is_checked_and_encrypted() -> None:
    lengths = {"md5": 32, "sha256": 64, "git": 40}
    for entry in some(ENTRIES.values()):
        assert (entry.read is None) == (entry.name == "movietweetings")
    for remote in some(remote for entry in ENTRIES.values() for remote in entry.remotes):
        assert remote.url.startswith("https://")
        assert len(remote.expected) == lengths[remote.algorithm]
        assert int(remote.expected, 16)
        if entry.remotes and not entry.archives:
            assert {Path(remote.file).name for remote in entry.remotes} == set(entry.forms[0])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("ml1m", r"'ml1m'; did you mean 'ml-1m'\?$"),
        ("Gowala", r"'Gowala'; did you mean 'gowalla'\?$"),
        (["ml-1m"], r"\['ml-1m'\]; did you mean 'ml-1m'"),
        ("xyzzy", "'xyzzy'$"),
    ],
)
def test_an_unknown_name_lists_the_names_and_the_closest_if_any_is_close(wrong: object, said: str) -> None:
    with pytest.raises(datasets.UnknownDataset, match=f"name must be one of movietweetings, .*synthetic, got {said}"):
        datasets.load(wrong)


# ------------------------------------------------------------------------------------------------- the original formats
# name -> pairs under original ids with the default min_rating
EXPECTED = {
    "ml-100k": [(7, 1), (9, 1)],
    "ml-1m": [(1, 10), (2, 10), (2, 30)],
    "ml-10m": [(1, 122), (1, 185), (2, 231)],
    "ml-32m": [(1, 17), (2, 17), (3, 29)],
    "gowalla": [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 0), (1, 1), (1, 2), (1, 3), (2, 0), (2, 4)],
    "yelp2018": [*((0, item) for item in range(5)), *((1, item) for item in range(5)), *((2, i) for i in range(5))],
    "amazon-book": [*((u, i) for u in (0, 1) for i in range(4)), (2, 0), (2, 3), *((3, i) for i in range(4))],
    "amazon-beauty": [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)],
    "citeulike-a": [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)],
    "lastfm-hetrec": [(2, 52), (2, 53), (4, 52), (4, 60)],
    "eurlex": [(0, 3), (0, 7), (1, 7), (3, 0), (3, 3), (3, 9)],
}
ALL_PAIRS = {"ml-100k": 4, "ml-1m": 5, "ml-10m": 4, "ml-32m": 5}


@pytest.mark.parametrize(
    ("text", "pairs", "table"),
    [
        (b"3,7 1:0.5 3:2\n 2:1\n7 3:4\n", [(0, 3), (0, 7), (2, 7)], [[0.5, 0, 2], [0, 1, 0], [0, 0, 4]]),
        (b"3\n7\n", [(0, 3), (1, 7)], [[], []]),
    ],
)
def test_lines_of_libsvm_may_lack_labels_or_features(text: bytes, pairs: list, table: list) -> None:
    """The file counts features from 1: "1:0.5" is the first column."""
    rows, labels, features = formats.read_libsvm(io.BytesIO(text), "x.svm")
    assert list(zip(rows, labels, strict=True)) == pairs and features.toarray().tolist() == table


@pytest.mark.parametrize("name", EXPECTED)
def test_each_format_is_read(name: str, folder: Path) -> None:
    data = datasets.load(name)
    assert ids(data) == EXPECTED[name]
    assert data.name == name
    assert (data.row_counts > 0).all()
    assert (data.col_counts > 0).all()
    assert len(datasets.load(name, min_rating=None)) == ALL_PAIRS.get(name, len(data))


@pytest.mark.parametrize("suffix", ENVELOPES)
@pytest.mark.parametrize("name", ["ml-1m", "ml-32m", "gowalla", "eurlex"])  # one of each reader of lines
def test_each_format_is_read_compressed(name: str, suffix: str, folder: Path) -> None:
    for path in list((folder / name).iterdir()):
        path.with_name(path.name + suffix).write_bytes(ENVELOPES[suffix](path.read_bytes()))
        path.unlink()
    assert ids(datasets.load(name)) == EXPECTED[name]


def zipped(folder: Path, name: str, top: str) -> Path:
    """The folder of a set as its archive, and no longer as a folder."""
    path = folder / f"{name}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{top}/", "")
        for file in sorted((folder / name).iterdir()):
            archive.write(file, f"{top}/{file.name}")
    shutil.rmtree(folder / name)
    return path


def links_in_a_tar(folder: Path, *more: tarfile.TarInfo) -> Path:
    """Wikispeedia's links as the published archive, with these members behind them."""
    path = folder / "wikispeedia_paths-and-graph.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(folder / "wikispeedia" / "links.tsv", "wikispeedia_paths-and-graph/links.tsv")
        for member in more:
            archive.addfile(member)
    shutil.rmtree(folder / "wikispeedia")
    return path


@pytest.mark.parametrize(
    ("name", "top"), [("ml-100k", "ml-100k"), ("ml-1m", "ml-1m"), ("ml-10m", "ml-10M100K"), ("ml-32m", "ml-32m")]
)
def test_movielens_is_read_from_its_archive(
    name: str, top: str, folder: Path, as_published: Callable[[str, Path], None]
) -> None:
    archive = zipped(folder, name, top)
    as_published(name, archive)
    data = datasets.load(name)
    assert ids(data) == EXPECTED[name]
    assert data.item_names is not None
    assert sorted(path.name for path in folder.iterdir() if name in path.name) == [archive.name]  # nothing was unpacked


@pytest.fixture
def as_published(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Path], None]:
    """Makes an archive the published one: the catalogue expects its hash."""

    def publish(name: str, archive: Path) -> None:
        remote = dataclasses.replace(ENTRIES[name].remotes[0], expected=hashlib.md5(archive.read_bytes()).hexdigest())
        monkeypatch.setitem(ENTRIES, name, dataclasses.replace(ENTRIES[name], remotes=(remote,)))

    return publish


def test_titles_and_genres_in_each_encoding(folder: Path) -> None:
    ml_1m = datasets.load("ml-1m")
    assert ml_1m.item_names.tolist() == ["Misérables, Les (1995)", "Bug's Life, A (1998)"]
    assert ml_1m.item_table["genres"].tolist() == ["Drama|Musical", "Animation|Children's|Comedy"]
    ml_10m = datasets.load("ml-10m")
    assert ml_10m.item_names.tolist() == ["Boomerang (1992)", "Amélie (2001)", "Dumb & Dumber (1994)"]
    ml_32m = datasets.load("ml-32m")
    assert ml_32m.item_names.tolist() == [
        "Usual Suspects, The (1995)",
        "City of Lost Children, The (Cité des enfants perdus, La) (1995)",
    ]
    ml_100k = datasets.load("ml-100k", min_rating=None)
    assert ml_100k.item_names.tolist() == ["Toy Story (1995)", "Café Noir (1990)", "unknown"]
    assert ml_100k.item_table["genres"].tolist() == ["Animation|Children's|Comedy", "Drama", "unknown"]


def test_ratings_and_times_stay_with_their_pairs(folder: Path) -> None:
    data = datasets.load("ml-10m", min_rating=0.5)
    assert data.ratings.tolist() == [5, 4.5, 0.5, 4]
    assert data.times.tolist() == [838985046, 838983525, 868245777, 868244562]
    assert ids(datasets.load("ml-10m", min_rating=4.5)) == [(1, 122), (1, 185)]
    assert datasets.load("lastfm-hetrec").ratings.tolist() == [13883, 11690, 1, 7]
    assert ids(datasets.load("lastfm-hetrec", min_rating=100)) == [(2, 52), (2, 53)]
    path = folder / "lastfm-hetrec" / "data1.txt"
    path.write_text(path.read_text(encoding="utf-8") + "4\t1\t9\n", encoding="utf-8")
    assert (4, 1) in ids(datasets.load("lastfm-hetrec"))  # ids begin at 1


def test_ml_100k_is_read_in_the_form_of_recbole(folder: Path) -> None:
    rows = [
        "item_id:token\tmovie_title:token_seq\trelease_year:token\tclass:token_seq",
        "1\tToy Story\t1995\tAnimation Comedy",
        "3\tNameless\t\t",
    ]
    (folder / "ml-100k" / "u.item").unlink()
    (folder / "ml-100k" / "ml-100k.item").write_text("\n".join(rows) + "\n")
    data = datasets.load("ml-100k", min_rating=None)
    assert data.item_names.tolist() == ["Toy Story (1995)", "", "Nameless"]
    assert data.item_table["genres"].tolist() == ["Animation|Comedy", "", ""]


def test_wikispeedia_links_articles_by_name(folder: Path) -> None:
    data = datasets.load("wikispeedia")
    named = {(data.user_names[i], data.item_names[j]) for i, j in data.pairs}
    assert named == {("Åland", "Sweden"), ("Åland", "Finland"), ("Sweden", "Finland"), ("Finland", "Sweden")}
    assert data.shape == (3, 2)


def test_wikispeedia_has_the_categories_of_its_articles(folder: Path) -> None:
    assert "categories" not in datasets.load("wikispeedia").item_table
    text = "# article category\nSweden\tsubject.Geography\nSweden\tsubject.Countries\nNowhere\tsubject.Myths\n"
    (folder / "wikispeedia" / "categories.tsv").write_text(text, encoding="utf-8")
    data = datasets.load("wikispeedia")
    for names, table in ((data.user_names, data.user_table), (data.item_names, data.item_table)):
        categories = dict(zip(names.tolist(), table["categories"].tolist(), strict=True))
        assert categories.pop("Sweden") == "subject.Countries|subject.Geography" and set(categories.values()) == {""}


def test_wikispeedia_is_read_from_its_archive(folder: Path) -> None:
    links_in_a_tar(folder)
    assert len(datasets.load("wikispeedia")) == 4


def test_published_splits(folder: Path) -> None:
    gowalla = datasets.load_split("gowalla")
    assert list(gowalla) == ["train", "valid", "test"]
    assert [ids(part) for part in gowalla.values()] == [
        [(0, 0), (0, 1), (0, 2), (1, 1), (1, 3), (2, 4)],
        [(0, 3), (2, 0)],
        [(0, 4), (1, 0), (1, 2)],
    ]
    assert {part.shape for part in gowalla.values()} == {(3, 5)}
    assert gowalla["train"].ratings is None
    assert list(datasets.load_split("lastfm-hetrec")) == ["train", "test"]
    eurlex = datasets.load_split("eurlex")
    assert ids(eurlex["test"]) == [(4, 7), (4, 11), (5, 3)]


def test_a_pair_of_two_parts_counts_in_the_later_one(folder: Path) -> None:
    parts = datasets.load_split("citeulike-a")
    assert ids(parts["train"]) == [(0, 0), (1, 1)]
    assert ids(parts["test"]) == [(0, 1), (1, 0)]


def test_duplicates_are_refused_where_the_original_has_none(folder: Path) -> None:
    with (folder / "ml-1m" / "ratings.dat").open("a") as file:
        file.write("1::10::4::978300999\n")
    with pytest.raises(ValueError, match="duplicate pairs: 1 rows repeat an earlier pair"):
        datasets.load("ml-1m")


def test_cores(folder: Path) -> None:
    data = datasets.load("gowalla", core=2)
    assert (data.row_counts >= 2).all()
    assert (data.col_counts >= 2).all()
    assert ids(data) == list(EXPECTED["gowalla"])
    with pytest.raises(ValueError, match=r"no pair is left .* with core=50"):
        datasets.load("gowalla", core=50)


# ------------------------------------------------------------------------------------------ ml-1m without the low stars
@pytest.fixture
def partial_ml_1m(folder: Path) -> Path:
    """The form of the course's own data folder: stars and times of the pairs below 4 are mostly unknown, so 0."""
    path = folder / "ml-1m" / "ml1m_pairs_order.npz"
    np.savez(
        path,
        user=np.array([1, 1, 2, 2, 3], dtype=np.uint16),
        item=np.array([10, 20, 10, 30, 30], dtype=np.uint16),
        rating=np.array([5, 0, 4, 5, 1], dtype=np.uint8),
        timestamp=np.array([978300760, 0, 978301968, 978300275, 978824291], dtype=np.uint32),
    )
    (folder / "ml-1m" / "ratings.dat").unlink()
    return path


def test_ml_1m_without_low_stars_answers_what_it_can(partial_ml_1m: Path) -> None:
    liked = datasets.load("ml-1m")
    assert ids(liked) == EXPECTED["ml-1m"]
    assert liked == datasets.load("ml-1m", min_rating=4)
    assert liked.times.tolist() == [978300760, 978301968, 978300275]
    assert ids(datasets.load("ml-1m", min_rating=5)) == [(1, 10), (2, 30)]
    everything = datasets.load("ml-1m", min_rating=None)
    assert len(everything) == 5
    assert everything.times is None
    assert everything.ratings is None


@pytest.mark.parametrize("threshold", [3, 3.0, 2, 1, 0])
def test_ml_1m_without_low_stars_says_why_not(threshold: float, partial_ml_1m: Path) -> None:
    message = "min_rating must be above 3 or None .* it knows which pairs were rated, but the value only"
    with pytest.raises(ValueError, match=message):
        datasets.load("ml-1m", min_rating=threshold)


def test_the_original_is_preferred_and_has_all_stars(partial_ml_1m: Path) -> None:
    shutil.copy(FIXTURES / "ml-1m" / "ratings.dat", partial_ml_1m.parent)
    assert ids(datasets.load("ml-1m", min_rating=3)) == [(1, 10), (1, 20), (2, 10), (2, 30)]


ONE_TO_THREE = np.arange(3)


def log(users: object = ONE_TO_THREE, **columns: object) -> Log:
    return Log(**{"users": users, "items": ONE_TO_THREE} | columns)


test_a_log_of_ones_own_has_columns_of_one_length = refused(
    (lambda: log(items=np.array([0, 1])), r"^items is \(2,\); expected an array of shape \(3,\), one entry for each"),
    (lambda: log(times=[1, 2, 3]), "^times is list"),
    (lambda: log(users=[0, 1, 2]), r"^users is \[0, 1, 2\]; expected an array of ids"),
)


# ------------------------------------------------------------------------------------------------------- bad thresholds
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: datasets.load("gowalla", min_rating=4), "min_rating must be left out for gowalla, .* ratings, got 4"),
        (lambda: datasets.load("synthetic", min_rating=4), "min_rating must be left out for synthetic"),
        (lambda: datasets.load(min_rating=[7.0]), r"min_rating must be a number, None or 'default', got \[7.0\]"),
        *((lambda t=t: datasets.load(min_rating=t), "must be a number, None") for t in ("four", float("nan"), True)),
        (lambda: datasets.load(core=0), "^core is 0; expected a whole number of at least 1"),
        (lambda: datasets.load("synthetic", seed=None), "^seed is None; expected a whole number of at least 0"),
        (lambda: datasets.load_entry("movietweetings"), "^entry is 'movietweetings'; expected Entry"),
        *(
            (lambda name=name: datasets.load_split(name), f"{name} has no published split")
            for name in ("ml-1m", "movietweetings", "synthetic")
        ),
    ],
)
def test_thresholds_and_splits_that_a_set_cannot_have_are_refused(
    call: Callable[[], object], message: str, folder: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        call()


# ---------------------------------------------------------------------------------------------------------- broken rows
SVM = "eurlex/eurlex_tfidf_train.svm"
BAD_ROWS = [
    ("ml-100k/u.data", 2, "7\t3\t2", r"expected user\titem\trating\ttimestamp .*, got '7\\t3\\t2'"),
    ("ml-100k/u.item", 3, "3|unknown|", "expected 24 fields"),
    ("ml-1m/ratings.dat", 4, "2::30::five::978300275", ".*got '2::30::five::978300275'"),
    ("ml-1m/ratings.dat", 1, "1::10::9::978300760", r".*rating in 1\.\.5.*got '1::10::9::978300760'"),
    ("ml-1m/ratings.dat", 5, "3:30::1::978824291", "expected UserID::MovieID::rating::timestamp"),
    ("ml-1m/ratings.dat", 5, "-3::30::1::978824291", ".*UserID in 1"),
    ("ml-1m/ratings.dat", 3, "", ".*got ''"),
    ("ml-1m/ratings.dat", 3, "2::10::nan::978301968", ".*got '2::10::nan"),
    ("ml-1m/ratings.dat", 3, "99999999999999999999::10::4::978301968", ".*got '99999999999999999999::"),
    ("ml-1m/movies.dat", 2, "20::Fargo (1996)", r"expected 3 fields \(MovieID, Title, Genres\)"),
    ("ml-1m/movies.dat", None, "x::Fargo (1996)::Crime", "expected a film id .*got 'x'"),
    ("ml-10m/ratings.dat", 2, "1::185::4.5::838983525::1", ""),
    ("ml-32m/ratings.csv", 1, "user,movie,rating,time", "expected the header 'userId,movieId,rating,timestamp'"),
    ("ml-32m/ratings.csv", 4, "2,17,5.0", r".*got '2,17,5\.0'"),
    ("ml-32m/movies.csv", 1, "movieId,title", "expected the header"),
    ("ml-32m/movies.csv", 3, "25,Leaving, Las Vegas (1995),Drama", "expected 3 fields"),
    ("gowalla/train.txt", 2, "1 one 3", r"expected user item item \.\.\. \(integers from 0\), got '1 one 3'"),
    ("gowalla/test.txt", 1, "", ""),
    ("gowalla/test.txt", 1, "0 -4", ""),
    ("amazon-beauty/train.txt", 3, "1 1 2", r".*1 in 1\.\.1, got '1 1 2'"),
    ("citeulike-a/test.txt", 2, "1,0,1", ""),
    ("lastfm-hetrec/data1.txt", 2, "2\t53", ""),
    ("wikispeedia/links.tsv", 5, "Sweden", r"expected 2 fields \(source, target\)"),
    *((SVM, 2, broken, "expected label,label index:value") for broken in ("100000001 2:1.0", "7 2=1.0")),
    (SVM, 1, "1:0.5 2:1", ""),
    (SVM, 4, "3 0:0.5", ""),
]


@pytest.mark.parametrize(("file", "line", "broken", "message"), BAD_ROWS)
def test_a_row_that_does_not_parse_is_shown(
    file: str, line: int | None, broken: str, message: str, folder: Path
) -> None:
    path = folder / file
    end = b"\r\n" if b"\r\n" in path.read_bytes() else b"\n"
    lines = path.read_bytes().split(end)
    lines[(line or 2) - 1] = broken.encode()
    path.write_bytes(end.join(lines))
    place = f", line {line}" if line else ""
    with pytest.raises(datasets.BadRow, match=f"{re.escape(str(path))}{place}: {message}"):
        datasets.load(path.parent.name, min_rating=None)


@pytest.mark.parametrize("name", ["ml-1m", "gowalla", "amazon-beauty", "eurlex", "wikispeedia"])
def test_an_empty_file_is_an_error(name: str, folder: Path) -> None:
    for path in (folder / name).iterdir():
        path.write_bytes(b"")
    with pytest.raises(datasets.BadRow, match="expected"):
        datasets.load(name)


def test_the_bad_row_is_found_beyond_the_first_block(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("course_lib.datasets.formats.BLOCK", 64)
    rows = [f"{user}::{user % 7 + 1}::4::978300760" for user in range(1, 101)]
    path = folder / "ml-1m" / "ratings.dat"
    path.write_text("\n".join(rows))  # and no line end at the end
    assert len(datasets.load("ml-1m")) == 100
    rows[76] = "77::1::4"
    path.write_text("\n".join(rows))
    with pytest.raises(datasets.BadRow, match=r"line 77: .*got '77::1::4'"):
        datasets.load("ml-1m")


@pytest.mark.parametrize("file", ["ml-10m/movies.dat", "ml-32m/movies.csv", "wikispeedia/links.tsv"])
def test_text_of_another_encoding_is_refused(file: str, folder: Path) -> None:
    path = folder / file
    path.write_bytes(path.read_bytes() + "Amélie\n".encode("latin-1"))
    with pytest.raises(datasets.BadRow, match=rf"{path.name}: expected utf-8 text, got the bytes b'\\xe9'"):
        datasets.load(path.parent.name)


def test_a_long_bad_row_is_shortened(folder: Path) -> None:
    (folder / "gowalla" / "train.txt").write_text("0 " + "x" * 5000)
    with pytest.raises(datasets.BadRow) as caught:
        datasets.load("gowalla")
    assert len(str(caught.value)) < 400


# ----------------------------------------------------------------------------------------------------- damaged archives
@pytest.mark.parametrize("suffix", ENVELOPES)
def test_a_truncated_file_is_named(suffix: str, folder: Path) -> None:
    path = folder / "ml-1m" / "ratings.dat"
    packed = ENVELOPES[suffix](path.read_bytes() * 50)
    path.with_name(f"ratings.dat{suffix}").write_bytes(packed[: len(packed) // 2])
    path.unlink()
    message = rf"ratings\.dat\{suffix} ends too early or is damaged.*delete the file"
    with pytest.raises(datasets.TruncatedFile, match=message):
        datasets.load("ml-1m")


def test_a_truncated_archive_is_named(folder: Path, as_published: Callable) -> None:
    archive = zipped(folder, "ml-1m", "ml-1m")
    archive.write_bytes(archive.read_bytes()[:200])
    as_published("ml-1m", archive)
    with pytest.raises(datasets.TruncatedFile, match=r"ml-1m\.zip ends too early or is damaged"):
        datasets.load("ml-1m")


def test_a_truncated_tar_is_named(folder: Path) -> None:
    path = links_in_a_tar(folder)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(datasets.TruncatedFile, match=r"tar\.gz"):
        datasets.load("wikispeedia")


@pytest.mark.parametrize(
    ("member", "words"),
    [
        *((name, "points outside the archive") for name in ("../ratings.dat", "/etc/ratings.dat", "C:/ratings.dat")),
        *((name, "points outside the archive") for name in ("ml-1m/../../ratings.dat", "..\\ratings.dat")),
        ("ml-1m/users.dat", "is a link or a device"),
    ],
)
def test_an_archive_that_points_outside_is_refused(
    member: str, words: str, folder: Path, as_published: Callable
) -> None:
    archive = zipped(folder, "ml-1m", "ml-1m")
    with zipfile.ZipFile(archive, "a") as file:
        added = zipfile.ZipInfo(member)
        added.external_attr = 0o120777 << 16 if "link" in words else 0
        file.writestr(added, "/etc/passwd")
    as_published("ml-1m", archive)
    with pytest.raises(datasets.UnsafeArchive, match=f"was refused: its member .* {words}"):
        datasets.load("ml-1m")


@pytest.mark.parametrize("kind", ["outside", "link"])
def test_a_tar_that_points_outside_is_refused(kind: str, folder: Path) -> None:
    extra = tarfile.TarInfo("../links.tsv" if kind == "outside" else "link")
    if kind == "link":
        extra.type, extra.linkname = tarfile.SYMTYPE, "/etc/passwd"
    links_in_a_tar(folder, extra)
    with pytest.raises(datasets.UnsafeArchive, match="points outside" if kind == "outside" else "link"):
        datasets.load("wikispeedia")


# -------------------------------------------------------------------------------------------------------- nothing there
def test_a_course_data_that_is_no_folder_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_DATA", str(tmp_path / "missing"))
    with pytest.raises(datasets.DataMissing, match=r"COURSE_DATA names '.*missing', which is not a folder"):
        datasets.load("ml-1m")


def test_a_set_without_a_checked_download_says_how_to_place_it(folder: Path) -> None:
    shutil.rmtree(folder / "eurlex")
    message = r"no download with a published checksum.*libsvmtools.*eurlex_tfidf_train\.svm into \$COURSE_DATA/eurlex/"
    with pytest.raises(datasets.DataMissing, match=message):
        datasets.load("eurlex")


def test_an_incomplete_folder_is_passed_over_with_a_warning(folder: Path) -> None:
    (folder / "eurlex" / "eurlex_tfidf_train.svm").unlink()
    lacking = r"eurlex is not used: it lacks eurlex_tfidf_train\.svm$"
    with pytest.warns(UserWarning, match=lacking), pytest.raises(datasets.DataMissing):
        datasets.load("eurlex")
    (folder / "ml-1m" / "ratings.dat").unlink()
    lacking = r"it lacks ratings\.dat or else ml1m_pairs_order\.npz$"
    with pytest.warns(UserWarning, match=lacking), pytest.raises(FileNotFoundError):
        datasets.load_entry(dataclasses.replace(ENTRIES["ml-1m"], remotes=()))


def test_an_archive_unpacked_one_folder_too_deep_is_found(folder: Path) -> None:
    shutil.move(folder / "ml-10m", folder / "ml-10M100K")
    (folder / "ml-10m").mkdir()
    shutil.move(folder / "ml-10M100K", folder / "ml-10m" / "ml-10M100K")
    assert ids(datasets.load("ml-10m")) == EXPECTED["ml-10m"]


def test_the_cache_is_used_where_course_data_has_nothing(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "gowalla", tmp_path / "cache" / "gowalla")
    (tmp_path / "cache" / "gowalla" / "train.txt").write_text("0 1\n")
    assert ids(datasets.load("gowalla")) == EXPECTED["gowalla"]
    shutil.rmtree(folder / "gowalla")
    assert ids(datasets.load_split("gowalla")["train"]) == [(0, 1)]


def test_synthetic_by_name_depends_on_the_seed_alone() -> None:
    assert datasets.load("synthetic", seed=1) == datasets.load("synthetic", seed=1)
    assert datasets.load("synthetic", seed=1) != datasets.load("synthetic", seed=2)
    assert datasets.load("synthetic") == datasets.load("synthetic", seed=0)
    assert (datasets.load("synthetic", core=3).row_counts >= 3).all()
