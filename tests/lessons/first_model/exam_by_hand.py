"""The answers on the first model once more, with plain arithmetic."""

import math
from fractions import Fraction
from typing import Any


def row(o1: int, o2: int, o3: int, tau: Any, share: Any) -> dict[str, Any]:
    p = [math.exp(math.log(o)) / (o1 + o2 + o3) for o in (o1, o2, o3)]
    return {"p": p, "loss": -math.log(p[0]), "first": p[0]}


def claims(total: int, batch: int, fans: int, case: int) -> dict[str, Any]:
    """Of the other pairs of a pass, batch - 1 are in the batch of a given one, each as likely."""
    beside = Fraction(batch - 1, total - 1)
    return {"truth": case == 1, "once": beside, "often": fans * beside}


def learns(likes: Any, fans: Any) -> dict[str, Any]:
    p, q = [x / sum(likes) for x in likes], [x / sum(fans) for x in fans]
    x = [0.0, 0.0, 0.0]
    for _ in range(3_000):
        mass = [b * math.exp(a) for a, b in zip(x, q, strict=True)]
        x = [a + 0.5 * (want - m / sum(mass)) for a, want, m in zip(x, p, mass, strict=True)]
    weights = [math.exp(a) for a in x]
    ratio = [a / b for a, b in zip(p, q, strict=True)]
    for numbers in (ratio, p):
        assert sorted(numbers)[1] < max(numbers) - 1e-9  # one film leads
    found = [(w * ratio[0] / weights[0], 1e-3) for w in weights]
    assert ratio.index(max(ratio)) != p.index(max(p))
    return {"ratio": found, "top": ratio.index(max(ratio)) + 1, "most": p.index(max(p)) + 1}


def recall(shown: str, popular: str, sets: Any) -> dict[str, Any]:
    hidden, lists, [same] = sets
    own = sum(len([i for i in h if i in s]) / len(h) for h, s in zip(hidden, lists, strict=True)) / 3
    other = sum(len([i for i in h if i in same]) / len(h) for h in hidden) / 3
    return {"model": own, "baseline": other, "better": "The model" if own > other else "The second program"}
