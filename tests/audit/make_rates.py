"""Detection and false-alarm rates of the audit: python tests/audit/make_rates.py models|off-sphere|changes FIRST LAST.

Writes rates.json, run by hand, on seeds that settled nothing; the book's page on the audit shows the tables.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from audit import planted, planted_changes

from course_lib.audit import rates

# what is planted, the options of its makers, and what a fault may bring with it
PLANTED: dict[str, tuple[Any, dict[str, Any], dict[str, set[str]]]] = {
    "models": (planted, {}, planted.IMPLIED),
    "off-sphere": (planted, {"sphere": False}, planted.IMPLIED_OFF_SPHERE),
    "changes": (planted_changes, {}, planted_changes.IMPLIED),
}


def rates_of(what: str, seeds: Sequence[int]) -> dict[str, object]:
    """In how many of the seeds each plant is found, by strength, and reports with a fault that it does not imply."""
    source, options, implied = PLANTED[what]
    clean = [planted.named(source.clean(seed, **options).audited(seed)) for seed in seeds]
    print("clean", [faults for faults in clean if faults], flush=True)
    plants = {}
    for name, plant in source.PLANTS.items():
        found = [
            [planted.named(plant(seed, at, **options).audited(seed)) for seed in seeds] for at in planted.STRENGTHS
        ]
        strange = [faults - {name} - implied[name] for each in found for faults in each]
        others = sum(map(bool, strange))
        plants[name] = {"found": [sum(name in faults for faults in each) for each in found], "others": others}
        print(name, plants[name], [sorted(faults) for faults in strange if faults], flush=True)
    return {
        "seeds": [seeds[0], seeds[-1]],
        "models": len(seeds),
        "clean_with_a_fault": sum(map(bool, clean)),
        "plants": plants,
        "implied": {name: sorted(others) for name, others in implied.items()},
    }


def main(what: str, first: int, last: int) -> None:
    """Measures one of PLANTED and writes it; the others stay as they were stored."""
    stored = json.loads(rates.FILE.read_text(encoding="utf-8"))
    found = stored | {what: rates_of(what, range(first, last + 1))}
    rates.FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
