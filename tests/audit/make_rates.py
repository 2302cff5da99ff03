"""Detection and false-alarm rates of the audit: python tests/audit/make_rates.py [FIRST [LAST]] writes rates.json.

Run by hand, on seeds that settled nothing; the book's page on the audit shows the table.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from audit import planted

from course_lib.audit import rates


def rates_of(seeds: Sequence[int]) -> dict[str, object]:
    """In how many of the seeds each plant is found, by strength, and reports with a fault that it does not imply."""
    clean = [planted.clean(seed).audited(seed).ids("fault") for seed in seeds]
    plants = {}
    for name, plant in planted.PLANTS.items():
        found = [[set(plant(seed, at).audited(seed).ids("fault")) for seed in seeds] for at in planted.STRENGTHS]
        others = sum(bool(faults - {name} - planted.IMPLIED[name]) for each in found for faults in each)
        plants[name] = {"found": [sum(name in faults for faults in each) for each in found], "others": others}
        print(name, plants[name], flush=True)
    return {
        "seeds": [seeds[0], seeds[-1]],
        "models": len(seeds),
        "clean_with_a_fault": sum(map(bool, clean)),
        "plants": plants,
        "implied": {name: sorted(others) for name, others in planted.IMPLIED.items()},
    }


def main(first: int = 100, last: int = 119) -> None:
    """Measures and writes."""
    rates.FILE.write_text(json.dumps(rates_of(range(first, last + 1)), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
