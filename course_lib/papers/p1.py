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
    """Return a number that P1 prints in its text.

    Parameters
    ----------
    quantity : str
        ``patience``, or of a data set: ``pearson`` (ml-1m), ``lightgcn_loss`` (yelp), and so on.
    dataset : str, optional
        The data set that the number is about.

    Returns
    -------
    float
        The number.

    Raises
    ------
    ValueError
        For a number that the paper does not print.

    Examples
    --------
    >>> from course_lib.papers import p1
    >>> p1.printed("patience"), p1.printed("lightgcn_loss", "yelp")
    (50.0, 1.5055)
    """
    return value("P1", "numbers", dataset=dataset, quantity=quantity)


def sparsity(dataset: str) -> float:
    """Return the percentage of the user-item pairs of Table 1 that are not observed, computed from its sizes.

    Parameters
    ----------
    dataset : str
        ``amazon-book``, ``yelp`` or ``tmall``.

    Returns
    -------
    float
        The sparsity in percent.

    Raises
    ------
    ValueError
        For another data set.

    Examples
    --------
    >>> from course_lib.papers import p1
    >>> round(p1.sparsity("amazon-book"), 3)
    99.979
    """
    [row] = select(table("P1", "T1"), dataset=dataset)
    return float(100 * (1 - row["interactions"] / (row["users"] * row["items"])))


def reference(name: str, cell: Cell) -> Cell:
    """Return the cell that a printed percentage is relative to.

    In T2 and T4 it is the backbone's own cell, in T3 the best of all others.

    Parameters
    ----------
    name : {"T2", "T3", "T4"}
        The table.
    cell : dict
        A cell with a percentage.

    Returns
    -------
    dict
        The other cell.

    Raises
    ------
    ValueError
        For a cell without a percentage.

    Examples
    --------
    MF with DDC on amazon-book is compared with MF in T2, and with TPAB, the best rival, in T3:

    >>> from course_lib.papers import p1
    >>> p1.reference("T2", p1.percentages("T2")[0])["value"], p1.reference("T3", p1.percentages("T3")[0])["method"]
    (0.0557, 'TPAB')
    """
    if cell["percent"] is None:
        raise ValueError(f"reference: the cell of {cell['backbone']} {cell['method']} prints no percentage")
    column = select(table("P1", name), **{key: cell[key] for key in ("backbone", "dataset", "metric")})
    others = [other for other in column if other["method"] != cell["method"]]
    return max(others, key=lambda other: other["value"]) if name == "T3" else select(others, method=None)[0]


def change(name: str, cell: Cell) -> float:
    """Return the relative change of a cell against its ``reference``, in percent.

    It is computed from the two printed numbers.

    Parameters
    ----------
    name : {"T2", "T3", "T4"}
        The table.
    cell : dict
        A cell with a percentage.

    Returns
    -------
    float
        The change in percent.

    Raises
    ------
    ValueError
        For a cell without a percentage.

    Examples
    --------
    >>> from course_lib.papers import p1
    >>> cell = p1.percentages("T2")[0]
    >>> cell["value"], round(p1.change("T2", cell), 2), cell["percent"]
    (0.066, 18.49, 18.5)
    """
    return float(100 * (cell["value"] / reference(name, cell)["value"] - 1))


def change_interval(name: str, cell: Cell) -> tuple[float, float]:
    """Return the least and the greatest change that the roundings of the two printed numbers leave open.

    Parameters
    ----------
    name : {"T2", "T3", "T4"}
        The table.
    cell : dict
        A cell with a percentage.

    Returns
    -------
    least, greatest : float
        The changes in percent.

    Raises
    ------
    ValueError
        For a cell without a percentage.

    Examples
    --------
    The numbers are printed to four digits, so the printed 18.5 % is known to about 0.2 points:

    >>> from course_lib.papers import p1
    >>> [round(change, 1) for change in p1.change_interval("T2", p1.percentages("T2")[0])]
    [18.3, 18.7]
    """
    half, base = HALF[cell["metric"]], reference(name, cell)["value"]
    return 100 * ((cell["value"] - half) / (base + half) - 1), 100 * ((cell["value"] + half) / (base - half) - 1)


def percentages(name: str) -> list[Cell]:
    """Return the cells of a table that print a percentage.

    Parameters
    ----------
    name : {"T2", "T3", "T4"}
        The table.

    Returns
    -------
    list of dict
        The cells.

    Examples
    --------
    Each of five backbones has a percentage for three metrics on three data sets:

    >>> from course_lib.papers import p1
    >>> len(p1.percentages("T2")), len(p1.percentages("T4"))
    (45, 5)
    """
    return [cell for cell in table("P1", name) if cell["percent"] is not None]


def off_by_a_rounding(name: str) -> list[Cell]:
    """Return the cells whose printed percentage is not that of the printed numbers, rounded to one digit.

    Ties may be rounded either way.

    Parameters
    ----------
    name : {"T2", "T3", "T4"}
        The table.

    Returns
    -------
    list of dict
        The cells.

    Examples
    --------
    Every printed percentage follows from the printed numbers:

    >>> from course_lib.papers import p1
    >>> [len(p1.off_by_a_rounding(name)) for name in ("T2", "T3", "T4")]
    [0, 0, 0]
    """
    return [cell for cell in percentages(name) if abs(change(name, cell) - cell["percent"]) > ROUNDING + 1e-9]


def impossible(name: str) -> list[Cell]:
    """Return the cells whose printed percentage no pair of numbers with the printed roundings could give.

    Parameters
    ----------
    name : {"T2", "T3", "T4"}
        The table.

    Returns
    -------
    list of dict
        The cells.

    Examples
    --------
    No printed percentage contradicts the printed numbers:

    >>> from course_lib.papers import p1
    >>> [len(p1.impossible(name)) for name in ("T2", "T3", "T4")]
    [0, 0, 0]
    """
    found = []
    for cell in percentages(name):
        least, greatest = change_interval(name, cell)
        if not least - ROUNDING <= cell["percent"] <= greatest + ROUNDING:
            found.append(cell)
    return found


def worse_than_backbone(method: str, *, metric: str = "MRR@10") -> list[tuple[str, str]]:
    """Return where a debiasing method of Table 3 is below the backbone that it is applied to.

    Parameters
    ----------
    method : str
        One of ``methods()``.
    metric : str, optional
        The metric that is compared.

    Returns
    -------
    list of tuple of str
        The backbone and the data set of each such cell.

    Raises
    ------
    ValueError
        For a method that Table 3 does not have.

    Examples
    --------
    >>> from course_lib.papers import p1
    >>> p1.worse_than_backbone("TPAB")
    [('MF', 'yelp')]
    """
    cells = select(table("P1", "T3"), metric=metric)
    plain = {(cell["backbone"], cell["dataset"]): cell["value"] for cell in select(cells, method=None)}
    rivals = select(cells, method=method)
    if not rivals:
        raise ValueError(f"{method!r} is no method of Table 3; expected one of {', '.join(methods())}")
    return [(c["backbone"], c["dataset"]) for c in rivals if c["value"] < plain[c["backbone"], c["dataset"]]]


def methods() -> tuple[str, ...]:
    """Return the debiasing methods of Table 3 in its order, DDC last.

    Returns
    -------
    tuple of str
        The methods.

    Examples
    --------
    >>> from course_lib.papers import p1
    >>> p1.methods()
    ('IPS', 'DICE', 'MACR', 'PC', 'PAAC', 'DCCL', 'TPAB', 'DDC')
    """
    return tuple(dict.fromkeys(cell["method"] for cell in table("P1", "T3") if cell["method"]))


def smallest_gain_over_rivals(metric: str = "MRR@10") -> float:
    """Return the least of the changes in Table 3, in percent, computed from the printed numbers.

    Parameters
    ----------
    metric : str, optional
        The metric.

    Returns
    -------
    float
        The change in percent.

    Examples
    --------
    LightGCN on amazon-book: 0.0814 with DDC against 0.0794 with PAAC:

    >>> from course_lib.papers import p1
    >>> round(p1.smallest_gain_over_rivals(), 2)
    2.52
    """
    return min(change("T3", cell) for cell in percentages("T3") if cell["metric"] == metric)


def rules_by_quality(metric: str = "MRR@10") -> list[str]:
    """Return the nine update rules of Table 5, best first.

    Parameters
    ----------
    metric : str, optional
        The metric that they are ranked by.

    Returns
    -------
    list of str
        The rules.

    Examples
    --------
    >>> from course_lib.papers import p1
    >>> p1.rules_by_quality()[:3]
    ['b_a', 'ab_a', 'b_b']
    """
    cells = [cell for cell in select(table("P1", "T5"), metric=metric) if cell["method"] in RULES]
    return [cell["method"] for cell in sorted(cells, key=lambda cell: -cell["value"])]


def drop_without(part: str, metric: str = "MRR@10") -> float:
    """Return how much Table 5's metric falls when one part of P1's equation (14) is left out, in percent.

    Parameters
    ----------
    part : {"popularity", "preference"}
        The part.
    metric : str, optional
        The metric.

    Returns
    -------
    float
        The drop in percent.

    Raises
    ------
    ValueError
        For another part or metric.

    Examples
    --------
    >>> from course_lib.papers import p1
    >>> round(p1.drop_without("popularity"), 1), round(p1.drop_without("preference"), 1)
    (0.7, 12.7)
    """
    full, less = (value("P1", "T5", method=method, metric=metric) for method in ("b_a", f"without {part}"))
    return 100 * (1 - less / full)


def lead_over_second(metric: str = "MRR@10") -> float:
    """Return by how many percent the best rule of Table 5 is above the second.

    Parameters
    ----------
    metric : str, optional
        The metric.

    Returns
    -------
    float
        The lead in percent.

    Examples
    --------
    0.0677 against 0.0674:

    >>> from course_lib.papers import p1
    >>> round(p1.lead_over_second(), 2)
    0.45
    """
    best, second = (value("P1", "T5", method=method, metric=metric) for method in rules_by_quality(metric)[:2])
    return 100 * (best / second - 1)


def loss_ratio(backbone: str, dataset: str) -> float:
    """Return the final BPR loss with DDC divided by that without, from Section 5.4.2.

    Parameters
    ----------
    backbone, dataset : str
        ``LightGCN`` and ``yelp``, or ``MF`` and ``amazon-book``.

    Returns
    -------
    float
        The ratio.

    Raises
    ------
    ValueError
        For losses that the paper does not print.

    Examples
    --------
    >>> from course_lib.papers import p1
    >>> round(p1.loss_ratio("LightGCN", "yelp"), 4)
    0.0177
    """
    name = backbone.lower()
    return printed(f"{name}_ddc_loss", dataset) / printed(f"{name}_loss", dataset)


def loss_per_triple_if_summed(backbone: str, dataset: str, *, train_share: float = 0.8) -> float:
    """Return Section 5.4.2's final loss of a backbone divided by the batches of an epoch.

    It is the mean loss of a triple if what is printed is the sum over batches.

    Parameters
    ----------
    backbone, dataset : str
        ``LightGCN`` and ``yelp``, or ``MF`` and ``amazon-book``.
    train_share : float, optional
        The share of the interactions that is trained on. P1 does not state its split.

    Returns
    -------
    float
        The loss, in nats.

    Raises
    ------
    ValueError
        For losses that the paper does not print.

    Notes
    -----
    The printed losses exceed ``ln 2 = 0.69``, the mean loss of a triple of a model whose scores are all equal. RecBole,
    P1's framework, adds the mean losses of the batches of an epoch and prints the sum; P1 does not say which it prints.

    Examples
    --------
    An epoch has 327 batches, and the printed loss is 1.2922:

    >>> from course_lib.papers import p1
    >>> round(p1.loss_per_triple_if_summed("MF", "amazon-book"), 4)
    0.004
    """
    [row] = select(table("P1", "T1"), dataset=dataset)
    batches: int = math.ceil(train_share * row["interactions"] / printed("batch_size"))
    return printed(f"{backbone.lower()}_loss", dataset) / batches
