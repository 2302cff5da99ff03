"""What P1's printed numbers say about P1's sentences, and what follows from them.

Data sets are `amazon-book`, `yelp`, `tmall`; backbones `MF`, `LightGCN`, `DGCF`, `NCL`, `LightCCF`; the method None is
the backbone alone. P1 prints no spread over seeds, so that none of these numbers says whether a difference would come
again.
"""

import math

from course_lib.papers import Cell, select, table, value

# What the printed digits leave open.
HALF = {"MRR@10": 0.00005, "NDCG@10": 0.00005, "MAP@10": 0.00005, "AvgPop@10": 0.005}
ROUNDING = 0.05  # printed percentages have one digit
RULES = ("a_a", "a_b", "a_ab", "b_b", "b_ab", "ab_a", "ab_b", "ab_ab", "b_a")


def printed(quantity: str, dataset: str | None = None) -> float:
    """A number that the text prints: `patience`, or of a data set: `pearson` (`ml-1m`), `lightgcn_loss` (`yelp`), ...

    Raises ValueError for a number that the paper does not print.
    """
    return value("P1", "numbers", dataset=dataset, quantity=quantity)


def sparsity(dataset: str) -> float:
    """Percent of the user-item pairs of Table 1 that are not observed, computed from its sizes."""
    [row] = select(table("P1", "T1"), dataset=dataset)
    return float(100 * (1 - row["interactions"] / (row["users"] * row["items"])))


def reference(name: str, cell: Cell) -> Cell:
    """The cell that a printed percentage is relative to: the backbone's own in T2 and T4, the best of all others in T3.

    `name` is the table. Raises ValueError for a cell without a percentage.
    """
    if cell["percent"] is None:
        raise ValueError(f"reference: the cell of {cell['backbone']} {cell['method']} prints no percentage")
    column = select(table("P1", name), **{key: cell[key] for key in ("backbone", "dataset", "metric")})
    others = [other for other in column if other["method"] != cell["method"]]
    return max(others, key=lambda other: other["value"]) if name == "T3" else select(others, method=None)[0]


def change(name: str, cell: Cell) -> float:
    """The relative change of a cell against its `reference` in percent, computed from the two printed numbers."""
    return float(100 * (cell["value"] / reference(name, cell)["value"] - 1))


def change_interval(name: str, cell: Cell) -> tuple[float, float]:
    """The least and the greatest change in percent that the roundings of the two printed numbers leave open."""
    half, base = HALF[cell["metric"]], reference(name, cell)["value"]
    return 100 * ((cell["value"] - half) / (base + half) - 1), 100 * ((cell["value"] + half) / (base - half) - 1)


def percentages(name: str) -> list[Cell]:
    """The cells of T2, T3 or T4 that print a percentage."""
    return [cell for cell in table("P1", name) if cell["percent"] is not None]


def off_by_a_rounding(name: str) -> list[Cell]:
    """Cells whose printed percentage is not that of the printed numbers, rounded to one digit (ties either way)."""
    return [cell for cell in percentages(name) if abs(change(name, cell) - cell["percent"]) > ROUNDING + 1e-9]


def impossible(name: str) -> list[Cell]:
    """Cells whose printed percentage no pair of numbers with the printed roundings could give."""
    found = []
    for cell in percentages(name):
        least, greatest = change_interval(name, cell)
        if not least - ROUNDING <= cell["percent"] <= greatest + ROUNDING:
            found.append(cell)
    return found


def worse_than_backbone(method: str, *, metric: str = "MRR@10") -> list[tuple[str, str]]:
    """(backbone, data set) of Table 3 where a debiasing method is below the backbone that it is applied to."""
    cells = select(table("P1", "T3"), metric=metric)
    plain = {(cell["backbone"], cell["dataset"]): cell["value"] for cell in select(cells, method=None)}
    rivals = select(cells, method=method)
    if not rivals:
        raise ValueError(f"{method!r} is no method of Table 3; expected one of {', '.join(methods())}")
    return [(c["backbone"], c["dataset"]) for c in rivals if c["value"] < plain[c["backbone"], c["dataset"]]]


def methods() -> tuple[str, ...]:
    """The debiasing methods of Table 3 in its order, DDC last."""
    return tuple(dict.fromkeys(cell["method"] for cell in table("P1", "T3") if cell["method"]))


def smallest_gain_over_rivals(metric: str = "MRR@10") -> float:
    """The least of the changes in Table 3, in percent, computed from the printed numbers."""
    return min(change("T3", cell) for cell in percentages("T3") if cell["metric"] == metric)


def rules_by_quality(metric: str = "MRR@10") -> list[str]:
    """The nine update rules of Table 5, best first."""
    cells = [cell for cell in select(table("P1", "T5"), metric=metric) if cell["method"] in RULES]
    return [cell["method"] for cell in sorted(cells, key=lambda cell: -cell["value"])]


def drop_without(part: str, metric: str = "MRR@10") -> float:
    """How much Table 5's metric falls, in percent, when `popularity` or `preference` is left out of (14)."""
    full, less = (value("P1", "T5", method=method, metric=metric) for method in ("b_a", f"without {part}"))
    return 100 * (1 - less / full)


def lead_over_second(metric: str = "MRR@10") -> float:
    """By how many percent the best rule of Table 5 is above the second."""
    best, second = (value("P1", "T5", method=method, metric=metric) for method in rules_by_quality(metric)[:2])
    return 100 * (best / second - 1)


def loss_ratio(backbone: str, dataset: str) -> float:
    """Final BPR loss with DDC over that without, from Section 5.4.2: (`LightGCN`, `yelp`) or (`MF`, `amazon-book`)."""
    name = backbone.lower()
    return printed(f"{name}_ddc_loss", dataset) / printed(f"{name}_loss", dataset)


def loss_per_triple_if_summed(backbone: str, dataset: str, *, train_share: float = 0.8) -> float:
    """Section 5.4.2's final loss of a backbone divided by the batches of an epoch.

    It is the mean loss per triple if what is printed is their sum. The printed losses exceed ln 2 = 0.69, the mean loss
    per triple of a model that says nothing. RecBole, P1's framework, adds the mean losses of the batches of an epoch
    and prints the sum; P1 does not say which it prints. train_share: P1 does not state its split either.
    """
    [row] = select(table("P1", "T1"), dataset=dataset)
    batches: int = math.ceil(train_share * row["interactions"] / printed("batch_size"))
    return printed(f"{backbone.lower()}_loss", dataset) / batches
