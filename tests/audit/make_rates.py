"""Detection and false-alarm rates of the audit: python tests/audit/make_rates.py models|changes [FIRST [LAST]].

Writes rates.json, run by hand, on seeds that settled nothing; the book's page on the audit shows the tables.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from audit import planted, planted_changes

from course_lib.audit import rates

PLANTED: dict[str, Any] = {"models": planted, "changes": planted_changes}


def rates_of(what: str, seeds: Sequence[int]) -> dict[str, object]:
    """In how many of the seeds each plant is found, by strength, and reports with a fault that it does not imply."""
    source = PLANTED[what]
    clean = [source.clean(seed).audited(seed).ids("fault") for seed in seeds]
    print("clean", [faults for faults in clean if faults], flush=True)
    plants = {}
    for name, plant in source.PLANTS.items():
        found = [[set(plant(seed, at).audited(seed).ids("fault")) for seed in seeds] for at in planted.STRENGTHS]
        others = sum(bool(faults - {name} - source.IMPLIED[name]) for each in found for faults in each)
        plants[name] = {"found": [sum(name in faults for faults in each) for each in found], "others": others}
        print(name, plants[name], flush=True)
    return {
        "seeds": [seeds[0], seeds[-1]],
        "models": len(seeds),
        "clean_with_a_fault": sum(map(bool, clean)),
        "plants": plants,
        "implied": {name: sorted(others) for name, others in source.IMPLIED.items()},
    }


def main(what: str, first: int = 100, last: int = 119) -> None:
    """Measures one of PLANTED and writes it; the other stays as it was stored."""
    stored = json.loads(rates.FILE.read_text(encoding="utf-8"))
    found = stored | {what: rates_of(what, range(first, last + 1))}
    rates.FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
