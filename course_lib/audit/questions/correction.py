"""ddc-gain: would a correction of each user along the popularity direction help?"""

from __future__ import annotations

from collections.abc import Sequence

from course_lib.audit.evidence import Evidence
from course_lib.audit.remedies import CORRECTION, RIDGE, WORDS, Correction, Effect, beside, drawn, weighed
from course_lib.audit.verdicts import Number, Verdict, cannot_tell


def ddc_gain(
    evidence: Evidence, found: Correction | None, controls: Sequence[Effect], baselines: Sequence[Effect]
) -> Verdict:
    """A fault where DDC, two numbers for each user, repairs the lists (`remedies.weighed`), and they stay personal.

    Noted where they do not. controls: the other remedies; found: None where it could not be measured; baselines: lists
    that need no tables.
    """
    name = "ddc-gain"
    if found is None:
        why = "Users, training and held-out pairs were not all given, or few users have both, or no correction exists."
        return cannot_tell(name, why, "Give --users, --pairs and --held-out.")
    effect = found.effect
    best = max(controls, key=lambda control: control.difference)
    answer = weighed(effect.repairs, [effect] if effect.personal else [])
    figures: dict[str, Number] = {name: getattr(effect, name) for name in ("before", "after", "low", "high", "users")}
    figures |= {name: getattr(found, name) for name in ("with_minimiser", "pushed_up", "alpha", "beta")}
    figures["best_control"] = best.difference
    support = (
        f"DDC moves NDCG@{evidence.k} on held-out pairs from {effect.before:.4f} to {effect.after:.4f} (difference "
        f"{effect.difference:+.4f}, 95 % interval {effect.low:+.4f} to {effect.high:+.4f}, {effect.users:,} users). "
        f"Its loss has a minimiser for {100 * found.with_minimiser:.0f} % of them (with a ridge of {RIDGE:g}, as here, "
        f"for all); it pushes popular items up for {100 * found.pushed_up:.0f} %. The best simple control "
        f"({best.remedy}): {best.difference:+.4f}. {beside(baselines)}"
    )
    title = "What each remedy changes on held-out pairs, with 95 % intervals"
    picture = drawn(title, evidence.k, [effect, *controls, *baselines])
    advice = _advice(effect, controls) if effect.repairs else ""
    return Verdict(name, answer, support, figures, advice, (picture,))


def _advice(effect: Effect, controls: Sequence[Effect]) -> str:
    """DDC is advised only where it stays personal, and no simpler remedy that does gains as much."""
    reason = "Look for the reason in the training."
    best = max((each for each in controls if each.advisable), key=lambda each: each.difference, default=None)
    if best is not None and best.difference >= effect.difference:
        return f"A simpler remedy gains as much: {WORDS.get(best.remedy, best.remedy)}. {reason}"
    if effect.advisable:
        return f"Two numbers for each user make the tables rank better: {WORDS[CORRECTION]}. {reason}"
    return f"The lists of DDC do not stay personal, or do not gain enough. {reason}"
