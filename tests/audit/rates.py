"""Detection and false-alarm rates of the audit, as a Markdown table: python tests/audit/rates.py [SEEDS].

Run by hand; the book's page on the audit holds what it printed.
"""

from __future__ import annotations

import sys

from audit import planted


def main(seeds: int) -> None:
    """One row a plant: in how many of the seeds it is found, and faults that it does not imply."""
    clean = [planted.clean(seed).audited(seed).ids("fault") for seed in range(seeds)]
    print(f"Clean models with a fault in their report: {sum(map(bool, clean))} of {seeds}.\n")
    print("| planted | weak | middle | strong | other faults that it does not imply |\n|---|---|---|---|---|")
    for name, plant in planted.PLANTS.items():
        found = [[set(plant(seed, at).audited(seed).ids("fault")) for seed in range(seeds)] for at in planted.STRENGTHS]
        hits = [sum(name in faults for faults in each) for each in found]
        strange = sum(bool(faults - {name} - planted.IMPLIED[name]) for each in found for faults in each)
        print(f"| `{name}` | {' | '.join(map(str, hits))} | {strange} of {3 * seeds} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
