"""What the reader says about the training: a table cannot show it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from course_lib import checking
from course_lib.in_batch import KINDS
from course_lib.interactions import NEGATIVE_LAWS, TripleLaw
from course_lib.popularity import LIBRARY_LAWS

SOFTMAX, BPR = "in-batch-softmax", "bpr"
LOSSES = (SOFTMAX, *KINDS, BPR, "als", "other")
# The items of a batch's other pairs are drawn by popularity, and kept: a draw of the pair itself pulls nothing.
NEGATIVES = {**NEGATIVE_LAWS, "in-batch": TripleLaw(negatives="popularity", collision="keep"), **LIBRARY_LAWS}


@dataclass(frozen=True)
class Training:
    """How the tables were trained, as far as it is known.

    loss: "in-batch-softmax", a kind of `course_lib.in_batch.KINDS` (a loss of single pairs, such as the
    logistic one, over the grid of a batch), "bpr", "als" or "other"; batch_size: pairs in a batch; temperature: what
    the scores are divided by in the softmax; logq: whether log(probability of the item in a slot) was subtracted from
    them; negatives: the law of BPR's negatives, one of NEGATIVES: by its name, or by the library that draws so.
    """

    loss: str | None = None
    batch_size: int | None = None
    temperature: float | None = None
    logq: bool = False
    negatives: str | None = None

    def __post_init__(self) -> None:
        if self.loss is not None:
            checking.choice(self.loss, "loss", LOSSES)
        if self.batch_size is not None:
            checking.whole(self.batch_size, "batch_size", 2)
        if self.temperature is not None:
            checking.real(self.temperature, "temperature", above=0)
        checking.choice(self.logq, "logq", (True, False))
        if self.negatives is not None:
            checking.choice(self.negatives, "negatives", NEGATIVES)


def read_training(path: Path) -> dict[str, Any]:
    """The values of a TOML file whose keys are the fields of `Training`, such as `batch_size = 4096`.

    Raises ValueError for a file that is missing or no TOML, and for a key or a value that is none of a field.
    """
    if not path.is_file():
        raise ValueError(f"training: there is no file {path}; expected lines such as batch_size = 4096 in one")
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        for key in found:
            checking.choice(key, "a key", [field.name for field in fields(Training)])
        Training(**found)
    except ValueError as problem:  # no TOML and no UTF-8 are such errors too
        raise ValueError(f"training: {path}: {problem}") from None
    return found
