"""The model that the book's page audits: python tests/audit/make_example.py, run by hand where implicit 0.7.3 is.

BPR with the library's own law of negatives (a random pair's item; the triple is skipped where the user has it). One
thread, so that a seed gives one model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from course_lib.audit import example

VERSION = "0.7.3"
DIGEST = "f8aea116477d7be0a637c262534b08eb5fe48fb7aa4e30ca20605bd339489c8f"
OPTIONS: dict[str, Any] = {"factors": 32, "learning_rate": 0.01, "regularization": 0.01, "iterations": 100}  # defaults


def trained(seed: int) -> dict[str, Any]:
    """{items_SEED, users_SEED}: the model's tables, in half precision."""
    import implicit
    from implicit.bpr import BayesianPersonalizedRanking

    assert implicit.__version__ == VERSION, implicit.__version__
    model = BayesianPersonalizedRanking(**OPTIONS, random_state=seed, num_threads=1)
    model.fit(sparse.csr_matrix(example.pairs()[0].matrix), show_progress=False)
    found = {"items": model.item_factors, "users": model.user_factors}
    return {f"{side}_{seed}": np.asarray(table, np.float16) for side, table in found.items()}


def digest(tables: Mapping[str, Any]) -> str:
    """SHA-256 over names, shapes and numbers."""
    found = hashlib.sha256()
    for name in sorted(tables):
        table = np.ascontiguousarray(tables[name], dtype="<f2")
        found.update(f"{name} {table.shape} ".encode() + table.tobytes())
    return found.hexdigest()


def main() -> None:
    """Writes the file, and prints what DIGEST must be."""
    tables = {name: table for seed in example.SEEDS for name, table in trained(seed).items()}
    np.savez_compressed(example.FILE, **tables)
    print(digest(tables))


if __name__ == "__main__":
    main()
