"""When each verdict is a fault, or noted, in a sentence that holds the threshold: for the page and the book's."""

from __future__ import annotations

from course_lib.audit.cosines import BALANCE_TOLERANCE, KEPT
from course_lib.audit.evidence import LEAK
from course_lib.audit.questions import (
    audiences,
    batch,
    belonging,
    direction,
    exposed,
    lengths,
    rows,
    scores,
    searched,
)
from course_lib.audit.remedies import GAIN, SURE

REPAIRED = f"lifts NDCG by {100 * GAIN:g} % of its value or more"
SURELY = f"{REPAIRED}, with an interval above 0"
NOTED = ("popularity-direction", "shifted-centre", "free-gauge")  # never a fault: the rule says when it is noted
RULES: dict[str, str] = {  # for each entry of CATALOGUE: a fault (of NOTED: noted) where ...
    belonging.NAME: (
        f"with other rows (moved by up to {belonging.FAR}, in reverse, or in the order of their numbers as text, by id "
        "or in the file; or with the rows of a file in the order of its ids) more swaps of two pairs lower the score, "
        f"by {belonging.SURE:g} standard errors over users, and by "
        f"{belonging.ABOVE[1]:g} standard deviations more than with strangers' rows; parts of a table are off by more "
        f"and more rows; {100 * audiences.ASTRAY / audiences.BELOW:.0f} % of its rows or more are strangers' while the "
        "others know their pairs; or no row knows its pairs, in tables that were trained with each other, or of which "
        "one alone, or each alone, belongs to such pairs"
    ),
    "popularity-lengths": (
        f"log length and log count correlate by {lengths.CORRELATION:g} or more, the slope is {lengths.SLOPE:g} or "
        f"more, of either sign, with an interval that leaves out 0, and to even the lengths out {REPAIRED}, and by "
        f"{SURE:g} standard errors, in lists that stay personal; noted where this does not, or was not measured"
    ),
    "popularity-direction": (
        f"one of the two correlations is {direction.CORRELATION:g} or more, and {direction.CHANCES:g} times what "
        "chance gives"
    ),
    "shifted-centre": f"the mean direction has a length of {direction.CENTRE:g} or more",
    "free-gauge": (
        "the items have one length, and that leaves a gauge; or the tables differ by more than "
        f"{100 * BALANCE_TOLERANCE:g} %, and the gauge that balances them keeps less than {100 * KEPT:g} % of "
        "the neighbours"
    ),
    "in-batch-bias": (
        f"log(popularity), added to the scores, {SURELY} (softmax without logQ, and BPR with negatives by "
        f"popularity); or it does, or popularity that multiplies them, and {100 * batch.MISLED:g} % of the positive "
        "pairs or more weigh more as negatives (losses of single pairs; noted where neither does, or neither was "
        "measured)"
    ),
    "collapsed-rank": f"fewer than {100 * rows.RANK:g} % of the possible dimensions are filled",
    "duplicated-rows": f"{100 * rows.COPIES:g} % of the rows or more have an equal",
    "dead-rows": (
        f"{100 * rows.DEAD:g} % of the rows of a table or more are zero, or of the items shorter than {rows.SHORT:g} "
        f"of the median; noted where {100 * rows.COLD:g} % of the items or more have no training pair"
    ),
    "hubs": (
        f"the most listed {100 * rows.HEAD:g} % of the items hold {rows.TIMES:g} times the share of the normal cloud, "
        f"and {100 * rows.BEYOND:g} points more"
    ),
    "leaked-test-pairs": "any held-out pair is a training pair",
    "ddc-gain": f"DDC {SURELY}, in lists that stay personal; noted where they do not",
}
FURTHER_RULES: dict[str, str] = {  # for each entry of FURTHER, which never is a fault: noted where ...
    "exposure": (
        f"head items fill {100 * exposed.TILT:g} points more or less of a list than of the user's held-out pairs, "
        "with an interval that leaves out 0"
    ),
    "calibration": (
        f"the temperature of the training costs {scores.COST:g} nats a held-out pair more than the best one, surely"
    ),
    "temperature": f"no table can give the right item a mean probability of {scores.LIKELY:g} over the catalogue",
    "time": f"{100 * LEAK:g} % of the training pairs or more are later than a held-out pair",
    "index": (
        f"one more coordinate lifts the recall of cells or of a graph by {searched.GAIN:g}, surely, and no group of "
        f"items loses as much; or an index of your own finds less than {searched.WELL:g} of the exact lists"
    ),
}
