"""What P3's printed tables say about P3's sentences: each function recounts from the data of the tables."""

from course_lib.paper_tables import table

METRICS = ("P@1", "P@5", "P@25", "R@1", "R@5", "R@25")


def violations(name: str, *, better: str, worse: str) -> list[tuple[dict, dict]]:
    """Pairs of cells (better, worse) of P3's table `name` where the loss called better has the smaller number.

    Cells are compared for equal data set, pointwise loss, metric and batch ratio; a loss without a ratio is compared
    at every ratio of the other.
    """
    cells = table("P3", name)
    left = [cell for cell in cells if cell["loss"] == better]
    right = [cell for cell in cells if cell["loss"] == worse]
    if not (left and right):
        raise ValueError(f"violations: {name} holds no cell of {better!r} or of {worse!r}")
    pairs = [(a, b) for a in left for b in right if _comparable(a, b)]
    return [(a, b) for a, b in pairs if a["value"] < b["value"]]


def _comparable(a: dict, b: dict) -> bool:
    same = all(a[key] == b[key] for key in ("dataset", "pointwise", "metric"))
    return same and (a["ratio"] == b["ratio"] or None in (a["ratio"], b["ratio"]))


def unbiased_beats_popularity() -> int:
    """Violations of "Unbiased is better than Popularity" in Table 6, of 24 cells."""
    return len(violations("T6", better="unbiased", worse="popularity"))
