"""How often the audit finds a planted fault, and how often it finds one where there is none: measured, and stored.

`tests/audit/make_rates.py` plants and measures; `tests/audit/planted.py` and `planted_changes.py` say what is planted.
`tests/audit/make_real_rates.py` trains models on real pairs and audits them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from course_lib import checking

FILE = Path(__file__).with_name("rates.json")
REAL = Path(__file__).with_name("real.json")


def rates(what: str = "models") -> dict[str, Any]:
    """What was measured of "models" on the unit sphere, of models "off-sphere", or of "changes" between two snapshots.

    seeds        [first, last], none of which settled a threshold, a strength or an implication
    models       how many models of each kind
    clean_with_a_fault  clean models with any fault in their report
    plants       {id: {found: [weak, middle, strong], others: reports with a fault that the plant does not imply, of all
                 three strengths}}
    implied      {id: the ids that a fault may bring with it}
    """
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    found: dict[str, Any] = stored[checking.choice(what, "what", tuple(stored))]
    return found


def real() -> dict[str, Any]:
    """What was measured of trained models.

    rule         when a model is healthy, and what a threshold must do
    command      what measured it
    models       {data, encoder and loss: {healthy, ndcg: [of its lists, of the most popular items] where there are
                 pairs, faults, noted: ids, figures: those that thresholds ask, seconds: of processor, commit: of the
                 code that measured it}}
    """
    stored: dict[str, Any] = json.loads(REAL.read_text(encoding="utf-8"))
    return stored
