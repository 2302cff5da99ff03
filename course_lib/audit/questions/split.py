"""leaked-test-pairs: are the held-out pairs held out?"""

from __future__ import annotations

from course_lib.audit.evidence import Evidence
from course_lib.audit.verdicts import Number, Verdict, cannot_tell, decided


def leaked_test_pairs(evidence: Evidence) -> Verdict:
    """A fault where a held-out pair is a training pair. Exact: every pair is looked up."""
    name = "leaked-test-pairs"
    if evidence.pairs is None or not evidence.offered:
        return cannot_tell(
            name, "Training pairs and held-out pairs were not both given.", "Give --pairs and --held-out."
        )
    share = evidence.shared / evidence.offered
    support = (
        f"{evidence.shared:,} of {evidence.offered:,} held-out pairs ({100 * share:.2f} %) are training pairs"
        f"{', and are left out of every measurement here' if evidence.shared else ''}."
    )
    advice = (
        "A model can be right about a pair that it was trained on without knowing anything, and a list that leaves out "
        "known items can never be. Make the split again, after merging repeated pairs."
    )
    figures: dict[str, Number] = {"shared": evidence.shared, "held_out": evidence.offered, "share": share}
    return decided(name, evidence.shared > 0, support, figures, advice)
