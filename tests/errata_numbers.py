"""The decimals in the errata of a paper:
each comes from a row's own scalars, a printed table, or a computation of a test.
"""

import re

from tools.claims import load


def decimals(paper: str) -> list[tuple[str, str, set[str]]]:
    """(claim id, decimal as written, the claim's own scalars at as many digits) of every decimal in a paper's
    errata.
    """
    found = []
    for claim in load():
        if claim.erratum is None or claim.paper != paper:
            continue
        parts = (claim.erratum.claim, claim.erratum.counterexample, claim.erratum.repair, claim.erratum.credit)
        for text in re.findall(r"(?<!Section )(?<![\w.,])\d+\.\d+(?![\w]|\.\d)", " ".join(parts)):
            digits = len(text.split(".")[1])
            rounded = [scalar.expected for scalar in claim.scalars] + [
                100 * scalar.expected for scalar in claim.scalars
            ]
            found.append((claim.id, text, {f"{number:.{digits}f}" for number in rounded}))
    return found


def unknown(paper: str, known: set[str]) -> list[tuple[str, str]]:
    """Decimals of a paper's errata that neither `known` nor the scalars of their row hold."""
    return [(name, text) for name, text, own in decimals(paper) if text not in known | own]
