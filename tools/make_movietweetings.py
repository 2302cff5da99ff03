"""Make the embedded data set from the original MovieTweetings 100K snapshot, always the same bytes.

    python tools/make_movietweetings.py FOLDER_WITH_THE_ORIGINAL [OUTPUT_FOLDER]

The folder holds ratings.dat and movies.dat (or .xz, .gz, .bz2) of snapshots/100K of github.com/sidooms/MovieTweetings,
and LICENSE. The file of that repository that maps users to Twitter accounts is never read. Users are relabelled 0..m-1
in the order of their first rating, so not even the original's internal numbers remain. (Film, rating and time are
public tweets: whoever has the original can still line the rows up. The relabelling keeps accounts out of this project;
it is no anonymity proof.)

Written are movietweetings-100k.npz (plain columns, no pickles), a copy of the licence, and SHA256SUMS. The columns are
packed by meaning and stored, not deflated: deflate gives other bytes with every version of zlib, and then the checksum
of the file would depend on the machine. Git, wheels and web servers compress it on the way anyway.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.datasets.formats import open_text

OUTPUT = Path(__file__).resolve().parent.parent / "course_lib" / "datasets" / "movietweetings"
FILE_NAME = "movietweetings-100k.npz"


def read_ratings(folder: Path) -> NDArray[np.int64]:
    """(|O|, 4) user, imdb id, rating, unix time."""
    with open_text(folder, "ratings.dat") as lines:
        return np.array([line.rstrip("\n").split("::") for line in lines], dtype=np.int64)


def read_movies(folder: Path) -> list[tuple[int, str, list[str]]]:
    """(imdb id, title with year, genres) of each film, by imdb id."""
    with open_text(folder, "movies.dat") as lines:
        rows = [line.rstrip("\n").split("::") for line in lines]
    return sorted((int(imdb), title, [word for word in genres.split("|") if word]) for imdb, title, genres in rows)


def relabel_by_first_time(ratings: NDArray[np.int64]) -> NDArray[np.int64]:
    """Users numbered 0..m-1 in the order of their first rating; at equal times, of the first film and its rating."""
    order = np.lexsort((ratings[:, 2], ratings[:, 1], ratings[:, 3]))
    users, first = np.unique(ratings[order, 0], return_index=True)
    label = np.empty(users.max() + 1, dtype=np.int64)
    label[users[np.argsort(first)]] = np.arange(len(users))
    return label[ratings[:, 0]]


def pack_text(words: list[str]) -> NDArray[np.uint8]:
    """The words as UTF-8, one per line, in one array of bytes."""
    return np.frombuffer("\n".join(words).encode("utf-8"), dtype=np.uint8)


def pack_columns(ratings: NDArray[np.int64], movies: list[tuple[int, str, list[str]]]) -> dict[str, NDArray[Any]]:
    """The columns of the file: rows by user and film, users as counts, times as seconds after the first rating."""
    films = np.array([imdb for imdb, _, _ in movies])
    users, items = relabel_by_first_time(ratings), np.searchsorted(films, ratings[:, 1])
    if not np.array_equal(films[items], ratings[:, 1]):
        raise ValueError("ratings.dat names a film that movies.dat does not have")
    order = np.lexsort((items, users))
    stars = ratings[order, 2].astype(np.uint8)
    stars = np.append(stars, np.zeros(len(stars) % 2, dtype=np.uint8))
    genres = sorted({word for _, _, words in movies for word in words})
    first_time = ratings[:, 3].min()
    return {
        "user_counts": np.bincount(users).astype("<u2"),
        "items": items[order].astype("<u2"),
        "ratings": stars[0::2] << 4 | stars[1::2],  # 0..10 in four bits each
        "first_time": np.array(first_time, dtype="<i8"),
        "times": (ratings[order, 3] - first_time).astype("<u4"),
        "imdb": films.astype("<u4"),
        "titles": pack_text([title for _, title, _ in movies]),
        "genre_names": pack_text(genres),
        "genres": np.array([sum(1 << genres.index(word) for word in words) for _, _, words in movies], dtype="<u4"),
    }


def npz_bytes(columns: dict[str, NDArray[Any]]) -> bytes:
    """An .npz whose bytes depend on the columns alone: fixed date and system, members stored."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, column in columns.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, column, version=(1, 0), allow_pickle=False)
            info = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            info.create_system = 3
            info.external_attr = 0o644 << 16
            archive.writestr(info, member.getvalue())
    return buffer.getvalue()


def make(folder: Path, output: Path) -> str:
    """Write the data file, LICENSE and SHA256SUMS to `output`; returns the SHA256 of the data file."""
    data = npz_bytes(pack_columns(read_ratings(folder), read_movies(folder)))
    output.mkdir(parents=True, exist_ok=True)
    (output / FILE_NAME).write_bytes(data)
    with open_text(folder, "LICENSE") as lines:
        (output / "LICENSE").write_text("".join(lines), encoding="utf-8", newline="\n")
    digest = hashlib.sha256(data).hexdigest()
    (output / "SHA256SUMS").write_text(f"{digest}  {FILE_NAME}\n", encoding="utf-8", newline="\n")
    return digest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="the original: ratings.dat, movies.dat, LICENSE")
    parser.add_argument("output", type=Path, nargs="?", default=OUTPUT)
    arguments = parser.parse_args()
    digest = make(arguments.folder, arguments.output)
    size = (arguments.output / FILE_NAME).stat().st_size
    print(f"{arguments.output / FILE_NAME}: {size:,} bytes, sha256 {digest}")


if __name__ == "__main__":
    main()
