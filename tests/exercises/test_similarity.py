"""The similarity report: copies stand out, also with other names in them; own solutions do not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("copydetect", reason="copydetect is missing: pip install '.[classroom]'")

from exercises import similarity, simulate, variants

NAME = "one-batch-many-machines"
OWN_WAY = {
    "own_gradient": """
def own_gradient(Q, K, rank, size, tau):
    import math
    B = len(Q) // size
    mine = range(rank * B, rank * B + B)
    to_q, to_k = [], [[0.0] * len(Q[0]) for _ in K]
    for i in mine:
        values = []
        for k in K:
            values.append(sum(x * y for x, y in zip(Q[i], k)) / tau)
        top = max(values)
        total = sum(math.exp(v - top) for v in values)
        row = [0.0] * len(Q[0])
        for j, v in enumerate(values):
            c = (math.exp(v - top) / total - (i == j)) / (B * tau)
            for a in range(len(row)):
                row[a] += c * K[j][a]
                to_k[j][a] += c * Q[i][a]
        to_q.append(row)
    return to_q, to_k
""",
    "expected_weights": """
def expected_weights(labels, processes, batch):
    rows = [sum(r) for r in labels]
    columns = [sum(c) for c in zip(*labels)]
    n = sum(rows)
    together = processes * batch
    one = Fraction(together * (batch - 1), n * (n - 1))
    two = Fraction(together * (together - 1), n * (n - 1))
    table = lambda f: [[(r * c - x) * f for c, x in zip(columns, line)] for r, line in zip(rows, labels)]
    return table(one), table(two)
""",
    "factors": """
def factors(processes, rows, gather, reduction, times_world):
    P = processes
    if P == 1:
        return [1, 1, 1, 1, 1]
    f = {("own", "mean"): Fraction(1), ("own", "sum"): Fraction(1, P)}.get((rows, reduction), Fraction(1))
    f = f * P if times_world else f
    if rows == "own" and gather == "constant":
        return [f, f, f, 0, f]
    if rows == "all" and gather == "constant":
        return [f / P] * 4 + [f]
    return [f] * 5
""",
}


def test_copies_stand_out_and_own_solutions_do_not(tmp_path: Path) -> None:
    own, made = simulate.empty(NAME), variants.build(NAME, "a seed of some words")
    for cell in own["cells"]:
        cell["source"] = OWN_WAY.get(cell["metadata"]["nbgrader"]["grade_id"], cell["source"])
    names = r"\b(logits|shares|slopes|scale|share|pairs|orders)\b"
    renamed = json.loads(re.sub(names, r"my_\1", json.dumps(simulate.reference(NAME))))
    class_of = {
        "own-way": own,
        "renamed": renamed,
        "from-the-solutions": simulate.solved(made.source),
        "nothing": simulate.empty(NAME),
    }
    source = tmp_path / "source" / NAME / f"{NAME}.ipynb"
    source.parent.mkdir(parents=True)
    source.write_text(json.dumps(made.source), encoding="utf-8")
    for student, notebook in class_of.items():
        path = tmp_path / "submitted" / student / NAME / f"{NAME}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(notebook), encoding="utf-8")
    similarity.main(["--course", str(tmp_path), "--assignment", NAME])
    submitted = sorted(tmp_path.glob("submitted/*/*/*.ipynb"))
    rows = {row["student"]: row for row in similarity.report(tmp_path, NAME, submitted)}
    assert rows["renamed"]["like"] == "the public solution" and rows["renamed"]["share"] > 0.9
    assert rows["from-the-solutions"]["like"] == "the own solution" and rows["from-the-solutions"]["share"] > 0.9
    assert rows["own-way"]["share"] < similarity.LEAST and "nothing" not in rows
    page = (tmp_path / "similarity" / f"{NAME}.html").read_text(encoding="utf-8")
    assert "of renamed as in the public solution" in page and "own-way" not in page and "https://" not in page
