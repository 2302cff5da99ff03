"""The similarity report: copies stand out, also with other names in them; honest solutions in three styles do not."""

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("copydetect", reason="copydetect is missing: pip install '.[classroom]'")

from honest_notebooks import written

from exercises.engine import similarity, simulate, variants

pytestmark = pytest.mark.seconds

NAME = "one-batch-many-machines"
STYLES = ("loops", "vectorised", "torch")


def honest(style: str) -> dict:
    """The untouched notebook with the answers of one style, and its helpers in a cell of the student's own."""
    notebook, (answers, rest) = simulate.empty(NAME), written(style, NAME)
    for cell in notebook["cells"]:
        cell["source"] = answers.get(cell["metadata"]["nbgrader"]["grade_id"], cell["source"])
    own = {"cell_type": "code", "id": "own", "metadata": {}, "source": rest, "outputs": [], "execution_count": None}
    notebook["cells"].insert(2, own)
    return notebook


def test_copies_stand_out_and_honest_solutions_do_not(tmp_path: Path) -> None:
    made = variants.build(NAME, "a seed of some words")
    names = r"\b(logits|shares|slopes|scale|share|pairs|orders)\b"
    class_of = {
        "renamed": json.loads(re.sub(names, r"my_\1", json.dumps(simulate.reference(NAME)))),
        "from-the-solutions": simulate.solved(made.source),
        "nothing": simulate.empty(NAME),
        **{style: honest(style) for style in STYLES},
    }
    source = tmp_path / "source" / NAME / f"{NAME}.ipynb"
    source.parent.mkdir(parents=True)
    source.write_text(json.dumps(made.source), encoding="utf-8")
    for student, notebook in class_of.items():
        path = tmp_path / "counted" / student / NAME / f"{NAME}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(notebook), encoding="utf-8")
    rows = {row["student"]: row for row in similarity.report(tmp_path, NAME, sorted(tmp_path.glob("counted/*/*/*")))}
    assert rows["renamed"]["like"] == "the public solution" and rows["renamed"]["share"] > 0.9
    assert rows["from-the-solutions"]["like"] == "the own solution" and rows["from-the-solutions"]["share"] > 0.9
    assert all(rows[style]["share"] < similarity.LEAST for style in STYLES) and "nothing" not in rows
    page = (tmp_path / "similarity" / f"{NAME}.html").read_text(encoding="utf-8")
    assert "of renamed as in the public solution" in page and "of loops" not in page and "https://" not in page


def test_a_class_without_submissions_is_told_to_collect(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="collect first"):
        similarity.main(["--course", str(tmp_path), "--assignment", NAME])
