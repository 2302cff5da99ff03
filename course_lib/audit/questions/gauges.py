"""free-gauge: does cosine mean anything?"""

from __future__ import annotations

from course_lib.audit.cosines import BALANCE_TOLERANCE, Cosines
from course_lib.audit.verdicts import Number, Verdict, cannot_tell, judged

KEPT = 0.7  # share of cosine neighbours that the balancing gauge must leave: below, a fault


def free_gauge(found: Cosines) -> Verdict:
    """A fault where cosines depend on a gauge that nothing fixed.

    On the sphere: where the lengths leave a gauge. Off it: where the tables are not balanced (as equal weight decay
    makes them in the end), and the gauge that balances them, which keeps every score, leaves less than KEPT of the
    cosine neighbours.
    """
    name = "free-gauge"
    figures: dict[str, Number] = {
        "on_sphere": int(found.items.on_sphere),
        "free_dimensions": found.items.least or None if found.items.linear is None else found.items.linear,
        "imbalance": found.imbalance,
        "balanced_overlap": found.balanced_overlap,
        "score_overlap": found.score_overlap,
    }
    if found.items.on_sphere:
        return Verdict(
            name,
            judged(found.verdict == "partly free"),
            f"All items have one length, which leaves the gauge {found.verdict}. A table that was normalised after "
            "training looks the same: check the training code.",
            figures,
            "Few or patterned rows leave gauges that no score notices: compare items by scores (gauge.score_rows)."
            if found.verdict == "partly free"
            else "",
        )
    if found.users is None or found.imbalance is None:
        why = "Lengths differ, so every invertible matrix is a gauge, unless the training fixed it."
        return cannot_tell(name, why, "Give the user table: balanced tables are in the gauge of weight decay.", figures)
    if found.imbalance <= BALANCE_TOLERANCE:
        support = (
            f"At the best common scale, A^T A and B^T B differ by {100 * found.imbalance:.1f} % of the sum of their "
            "norms: the cosines are those of the gauge that equal weight decay, or a small start, chooses. (The "
            f"lengths alone leave the gauge {found.verdict}.)"
        )
        return Verdict(name, "fine", support, figures)
    if found.balanced_overlap is None:
        why = f"The tables have the ranks {found.users.rank} and {found.items.rank} at width {found.items.width}."
        return cannot_tell(name, why, "A gauge that balances them is not unique.", figures)
    fault = found.balanced_overlap < KEPT
    support = (
        "The tables are not balanced (at the best common scale, A^T A and B^T B differ by "
        f"{100 * found.imbalance:.0f} % of the sum of their norms). The gauge that balances them changes no score and "
        f"keeps {100 * found.balanced_overlap:.0f} % of the top {found.k} by cosine "
        f"(chance {100 * found.chance:.2g} %)."
    )
    advice = (
        "Cosines between items are an accident of the training here. Compare items by scores (gauge.score_rows), or "
        "balance the tables first (gauge.balance_tables), or train on the sphere. If the training compared cosines, "
        "these rows are not what it compared: audit them divided by their lengths."
        if fault
        else ""
    )
    return Verdict(name, judged(fault), support, figures, advice)
