"""The real data sets: the counts that are published, and the script behind the embedded set."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from course_lib import datasets
from course_lib.checking import some
from course_lib.datasets.catalogue import ENTRIES
from course_lib.datasets.embedded import EMBEDDED_FILE
from tools import make_movietweetings

pytestmark = pytest.mark.data


@pytest.fixture
def real(course_data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of the original data sets as COURSE_DATA, and an empty cache."""
    monkeypatch.setenv("COURSE_DATA", str(course_data))
    monkeypatch.setattr("course_lib.datasets.cache_folder", lambda: tmp_path)
    return course_data


def need(folder: Path, name: str) -> None:
    if not (folder / name).is_dir():
        pytest.skip(f"{folder} has no {name}")


@pytest.mark.seconds
@pytest.mark.parametrize("name", [name for name, entry in ENTRIES.items() if entry.read is not None])
def test_the_whole_set_has_the_counts_of_the_catalogue(name: str, real: Path) -> None:
    need(real, name)
    data, entry = datasets.load(name, min_rating=None), ENTRIES[name]
    assert (len(data), data.n_users, data.n_items) == (entry.pairs, entry.users, entry.items)


@pytest.mark.parametrize(
    ("name", "counts"),
    [("ml-1m", (575_281, 6_038, 3_533)), ("ml-100k", (55_375, 942, 1_447)), ("ml-latest-small", (48_580, 609, 6_298))],
)
def test_movielens_from_four_stars_on(name: str, counts: tuple[int, int, int], real: Path) -> None:
    need(real, name)
    data = datasets.load(name)
    assert (len(data), data.n_users, data.n_items) == counts
    assert data.ratings.min() == 4
    assert all(some(data.item_names))


@pytest.mark.seconds
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("gowalla", (719_081, 91_047, 217_242)),
        ("yelp2018", (1_093_508, 143_751, 324_147)),  # where somebody has placed the files
        ("amazon-book", (2_142_202, 238_528, 603_378)),
        ("amazon-beauty", (284_530, 29_796, 80_582)),
        ("citeulike-a", (151_895, 18_727, 39_882)),  # 24 equal pairs: 23 leave train, 1 stood twice in test
        ("lastfm-hetrec", (42_135, 10_533)),
    ],
)
def test_published_splits_have_their_sizes(name: str, sizes: tuple[int, ...], real: Path) -> None:
    need(real, name)
    parts = datasets.load_split(name)
    assert tuple(len(part) for part in parts.values()) == sizes
    assert sum(sizes) == len(datasets.load(name))


def test_wikispeedia_has_the_published_articles(real: Path) -> None:
    need(real, "wikispeedia")
    data = datasets.load("wikispeedia")
    assert len({*data.user_names, *data.item_names}) == 4_592
    table = data.item_table["categories"].tolist()
    assert (
        len({category for row in table for category in row.split("|")} - {""}) <= 129 and sum(map(bool, table)) > 4_000
    )


# ------------------------------------------------------------------------------------------------------------ embedded
def test_the_script_makes_the_embedded_file_again_byte_for_byte(real: Path, tmp_path: Path) -> None:
    need(real, "movietweetings-100k")
    digest = make_movietweetings.make(real / "movietweetings-100k", tmp_path / "out")
    content = (tmp_path / "out" / EMBEDDED_FILE.name).read_bytes()
    assert hashlib.sha256(content).hexdigest() == digest
    assert content == EMBEDDED_FILE.read_bytes()
    for name in ("LICENSE", "SHA256SUMS"):
        assert (tmp_path / "out" / name).read_bytes() == (EMBEDDED_FILE.parent / name).read_bytes()


def test_the_embedded_set_is_the_original_with_other_user_numbers(real: Path) -> None:
    need(real, "movietweetings-100k")
    original = make_movietweetings.read_ratings(real / "movietweetings-100k")
    data = datasets.load(min_rating=None)
    mine = np.stack((data.item_table["id"][data.items], data.ratings.astype(int), data.times), axis=1)
    theirs = original[:, 1:]
    assert np.array_equal(mine[np.lexsort(mine.T)], theirs[np.lexsort(theirs.T)])
    counts = np.bincount(original[:, 0])
    assert sorted(data.row_counts) == sorted(counts[counts > 0])
    assert not np.array_equal(data.row_counts, counts[1:])  # relabelled
