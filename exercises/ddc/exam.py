"""Exam questions on directional decomposition and correction."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.random import Generator

from course_lib import correction, geometry, losses
from exercises.engine.asking import Exam, Kind, Question, judged, rational, table, written
from exercises.engine.variants import pick, whole

EXAM = Exam("ddc")


@EXAM.asks(Kind.CALCULATION, "The first step of two scalars")
def slopes(rng: Generator) -> Question | None:
    score = whole(rng, -2, 3)
    a, b = [whole(rng, -2, 5) for _ in range(2)], [whole(rng, -3, 6) for _ in range(3)]
    if sum(a) == 0 or sum(b) == 0:
        return None
    slope = correction.user_gradient([score] * 2, [score] * 3, a, b, 0.0, 0.0)
    return Question(
        r"""A user has two positives with $a=«a»$ and three negatives with $b=«b»$. All five scores are «score».
Start at $\alpha=\beta=0$.

(a) What are the weights $w_{ij}$ and the loss? (b) Compute both slopes of $L_{DDC}$. (c) In which direction does
gradient descent move $\alpha$ and $\beta$ first? (d) What follows from $\alpha<0$ for the popularity of the
user's list?""",
        r"""(a) All margins are 0, so $w=\frac12$ and the loss is $\ln2$. (b) $\mathbb{E}[wb]=\frac12\bar
b=«alpha»$, $-\mathbb{E}[wa]=-\frac12\bar a=«beta»$. (c) $\alpha$ «down», $\beta$ «up». (d) Not that it falls: $\beta
e_{pref}$ moves the user along $e_{pop}$ too, unless the two directions stand at a right angle.""",
        (
            (1, "(a) $w=\\frac12$, $\\ln2$"),
            (1, "(b) $«alpha»$ and $«beta»$"),
            (1, "(c) $\\alpha$ «down», $\\beta$ «up»"),
            (1, "(d) nothing by itself, because of $\\beta$"),
        ),
        {"a": a, "b": b, "score": score},
        {
            "alpha": rational(slope[0]),
            "beta": rational(slope[1]),
            "down": "falls" if slope[0] > 0 else "rises",
            "up": "rises" if slope[1] < 0 else "falls",
        },
    )


@EXAM.asks(Kind.CALCULATION, "Four equal margins")
def level(rng: Generator) -> Question | None:
    s, t = [whole(rng, -3, 6), whole(rng, -3, 6)], [whole(rng, -6, 3), whole(rng, -6, 3)]
    c, d = whole(rng, 1, 3), whole(rng, 1, 3)
    if s[0] == s[1] or t[0] == t[1] or sum(s) - sum(t) < 2:
        return None
    best = correction.solve_user(s, t, [c, -c], [d, -d])
    if best is None:
        return None
    alpha, beta = (rational(value, denominator=24) for value in best)
    margin = rational(correction_margin(s, t, c, d, alpha, beta), denominator=24)
    return Question(
        r"""A user has two positives with the scores $«s»$ and $a=(«c»,-«c»)$, and two negatives with the scores
$«t»$ and $b=(«d»,-«d»)$. The margin is $x_{ij}=s_i+\beta a_i-t_j-\alpha b_j$.

(a) Find $\alpha$ and $\beta$ that make all four margins equal. (b) Show that both slopes of the DDC loss are zero
there. (c) How large is the common margin? (d) What has happened to the difference of the two positives in the
learned scores $s_i+\beta a_i$?""",
        r"""(a) $\beta=\frac{s_2-s_1}{2\cdot«c»}=«beta»$, $\alpha=\frac{t_2-t_1}{2\cdot«d»}=«alpha»$. (b) All
weights are equal, and $a$ and $b$ have the mean 0. (c) $«margin»$, the difference of the mean scores. (d) It is
gone: DDC has levelled the two films, whichever the user likes more.""",
        (
            (2, "(a) $\\alpha=«alpha»$, $\\beta=«beta»$"),
            (1, "(b) equal weights, means 0"),
            (1, "(c), (d) $«margin»$; levelled"),
        ),
        {"s": s, "t": t, "c": c, "d": d},
        {"alpha": alpha, "beta": beta, "margin": margin},
    )


def correction_margin(s: list[int], t: list[int], c: int, d: int, alpha: Fraction, beta: Fraction) -> float:
    """The margin that the loss at (alpha, beta) stands for, if all margins are equal."""
    value = correction.user_loss(s, t, [c, -c], [d, -d], float(alpha), float(beta))
    return float(-np.log(np.expm1(value)))


@EXAM.asks(Kind.CALCULATION, "The net push")
def push(rng: Generator) -> Question | None:
    pop, scale = np.array(pick(rng, (3, 4), (4, 3))), whole(rng, 1, 3)
    pref = np.array(pick(rng, (1, 0), (0, 1), (5, 12), (12, 5), (-5, 12)))
    alpha, beta = -Fraction(whole(rng, 1, 9), 2), Fraction(whole(rng, 1, 9), 2)
    unit, own = geometry.normalise(pop.astype(float)), geometry.normalise(pref.astype(float))
    moved = float(alpha) * unit + float(beta) * own
    value = rational(float(moved @ (5 * scale * unit)))
    if value == 0:
        return None
    length = rational(geometry.norm(pref))
    return Question(
        r"""The mean of the head items minus the mean of the tail items is $v_{diff}=«v»$. A user has
$e_{pref}=«own»$, and DDC found $\alpha=«alpha»$ and $\beta=«beta»$.

(a) Compute $e_{pop}$. (b) By how much does DDC change the difference between
the user's mean score of the head and of the tail? (c) A report says of users with $\alpha<0$ that DDC has
lowered the head against the tail. Is this right for this user? (d) Which $\alpha$ would leave the difference as it
was?""",
        r"""(a) $e_{pop}=«unit»$. (b) With $\langle e_{pref},e_{pop}\rangle=«cosine»$ it is
$\|v_{diff}\|\,(\alpha+\beta\langle e_{pref},e_{pop}\rangle)=«value»$. (c) «verdict» (d)
$\alpha=-\beta\cdot«cosine»=«even»$.""",
        (
            (1, "(a) $«unit»$"),
            (1, "(b) $«value»$, with the product $«cosine»$"),
            (1, "(c) «verdict»"),
            (1, "(d) $«even»$"),
        ),
        {
            "v": (scale * pop).tolist(),
            "own": pref.tolist() if length == 1 else rf"\frac1{{{length}}}{written(pref.tolist())}",
            "pref": pref.tolist(),
            "length": length,
            "alpha": alpha,
            "beta": beta,
        },
        {
            "unit": rational(unit),
            "cosine": rational(float(unit @ own)),
            "value": value,
            "verdict": "No: the difference grew, although $\\alpha<0$." if value > 0 else "Yes: the difference fell.",
            "even": rational(-float(beta) * float(unit @ own)),
        },
    )


@EXAM.asks(Kind.TRUE_OR_FALSE, "Every user has an optimum")
def optimum(rng: Generator) -> Question:
    a = [whole(rng, 1, 4), whole(rng, 1, 4) * pick(rng, 1, -1)]
    b = [whole(rng, 1, 4) * pick(rng, 1, -1) for _ in range(3)]
    truth = correction.has_minimiser(a, b)
    reasons = ["all $a_i$ have one sign, so $\\beta$ runs to $+\\infty$" if min(a) > 0 else ""]
    reasons.append(
        ""
        if min(b) < 0 < max(b)
        else f"all $b_j$ have one sign, so $\\alpha$ runs to ${'-' if min(b) > 0 else '+'}\\infty$"
    )
    why = "; ".join(reason for reason in reasons if reason)
    return Question(
        r"""A user has the scores 0 for all films, two positives with $a=«a»$ and three negatives with $b=«b»$.
True or false: some $(\alpha,\beta)$ makes the DDC loss (without a ridge) as small as it can be.""",
        r"""**«verdict»** The loss is convex, and it has a minimum if and only if $\min a<0<\max a$ and $\min
b<0<\max b$. Here «why».""",
        ((1, "the verdict: «verdict»"), (2, "the signs of $a$ and $b$, and what runs where")),
        {"a": a, "b": b},
        {
            **judged(truth),
            "why": why or "both have both signs",
        },
    )


ORIGIN = (
    ("the BPR loss of the model before DDC", True, "It sees differences of items only."),
    ("each user's list before DDC", True, "All scores of a user change by one number."),
    ("the direction $e_{pop}$", True, "It is a difference of two means of items."),
    (
        "the sign of each $\\alpha_u$ that DDC finds with a ridge",
        False,
        "The $b_j$ change by one number, and with them $\\mathbb{E}[wb]$.",
    ),
    (
        "the DDC loss at fixed $\\alpha\\ne0$, $\\beta=0$",
        False,
        "Positives meet $e_u$ and negatives $e_u+\\alpha e_{pop}$, so the shift does not cancel.",
    ),
)


@EXAM.asks(Kind.TRUE_OR_FALSE, "The origin does not matter")
def origin(rng: Generator) -> Question:
    case = int(rng.integers(len(ORIGIN)))
    what, truth, why = ORIGIN[case]
    b = [-whole(rng, 3, 5), whole(rng, 1, 2)]
    shift = whole(rng, 6, 9)
    slope = [
        correction.user_gradient([0], [0, 0], [1], [value + move for value in b], 0.0, 0.0)[0] for move in (0, shift)
    ]
    return Question(
        f"""All items of a trained model are moved by one vector, «shift» times $e_{{pop}}$. True or false: {what}
stays as it was. Where an example helps, take one positive with $a=1$, two negatives with $b=«b»$ before
the move, all scores 0, and $e_{{pref}}$ at a right angle to $e_{{pop}}$.""",
        f"""**«verdict»** {why} (In the example the slope $\\mathbb{{E}}[wb]$ at $\\alpha=\\beta=0$ goes from
$«before»$ to $«after»$, so gradient descent moves $\\alpha$ the other way.)""",
        ((1, "the verdict: «verdict»"), (2, "what cancels and what does not")),
        {"shift": shift, "b": b, "case": case},
        {
            **judged(truth),
            "before": rational(slope[0]),
            "after": rational(slope[1]),
        },
    )


@EXAM.asks(Kind.PROOF, "Two margins")
def free(rng: Generator) -> Question | None:
    a, b = [whole(rng, -1, 4) for _ in range(2)], [whole(rng, 1, 6) for _ in range(2)]
    a_neg, b_pos = [whole(rng, -1, 4) for _ in range(2)], [whole(rng, 1, 6) for _ in range(2)]
    alpha, beta = -whole(rng, 1, 3), whole(rng, 1, 3)
    mean = [Fraction(sum(values), 2) for values in (a, b, a_neg, b_pos)]
    learned = beta * mean[0] - alpha * mean[1]
    served = beta * (mean[0] - mean[2]) - alpha * (mean[1] - mean[3])
    if learned <= 0 or served == learned:
        return None
    zero = correction.user_loss([0, 0], [0, 0], [float(mean[0])] * 2, [float(mean[1])] * 2, alpha, beta)
    return Question(
        r"""DDC's learned margin is $x_{ij}=s_i+\beta a_i-s_j-\alpha b_j$ with $a_i=\langle e_{pref},e_i\rangle$
for positives and $b_j=\langle e_{pop},e_j\rangle$ for negatives.

(a) Split it into $s_i-s_j$, a part that is the same for all pairs of the user, and a rest with mean 0. (b) Write
the margin that is *served*, and show what is left there of the common part. (c) Compute both common parts for
$\alpha=«alpha»$, $\beta=«beta»$, $a=«a»$, $b=«b»$, where the *negatives* have the projections $«a_neg»$ on
$e_{pref}$ and the *positives* $«b_pos»$ on $e_{pop}$. (d) What does each of the two do to the
DDC loss, and what to the user's list?""",
        r"""(a) $x_{ij}=(s_i-s_j)+(\beta\bar a-\alpha\bar b)+\beta(a_i-\bar a)-\alpha(b_j-\bar b)$. (b) One vector
meets both films, so the served margin is $s_i-s_j+\beta(a_i-a'_j)+\alpha(b'_i-b_j)$ with $a'_j=\langle
e_{pref},e_j\rangle$ and $b'_i=\langle e_{pop},e_i\rangle$. Its common part is $\beta(\bar a-\bar a')-\alpha(\bar
b-\bar b')$. (c) $«learned»$ learned, $«served»$ served. (d) The learned one raises all learned
margins by the same number and so lowers the DDC loss, but it ranks nothing: what all films share cancels when one
vector meets both films. The served one is not in the DDC loss. It compares the user's films with the others, so it can
change the list.""",
        (
            (2, "(a) the split"),
            (2, "(b) the served margin and its common part"),
            (1, "(c) $«learned»$ and $«served»$"),
            (1, "(d) the learned one lowers the loss and ranks nothing"),
        ),
        {"alpha": alpha, "beta": beta, "a": a, "b": b, "a_neg": a_neg, "b_pos": b_pos},
        {"learned": learned, "served": served, "loss": zero},
    )


@EXAM.asks(Kind.PROOF, "The least loss of a user")
def endless(rng: Generator) -> Question:
    case, size = pick(rng, "b>0", "b<0", "a>0"), whole(rng, 1, 3)
    sign = {"b>0": "-", "b<0": "+", "a>0": "+"}[case]
    which = "\\alpha" if case[0] == "b" else "\\beta"
    a, b = ([1, -1], [2, 1, 3]) if case == "b>0" else ([1, -1], [-2, -1, -3]) if case == "b<0" else ([2, 1], [1, -1, 2])
    far = (-30.0, 0.0) if case == "b>0" else (30.0, 0.0) if case == "b<0" else (0.0, 30.0)
    near = tuple(value / 30 * size for value in far)
    values = [correction.user_loss([0, 0], [0, 0, 0], a, b, *at) for at in ((0.0, 0.0), near, far)]
    return Question(
        r"""A user has scores 0 for all films, $a=«a»$ for the positives and $b=«b»$ for the negatives.

(a) Has $L_{DDC}$ (without a ridge) a minimum? Prove your answer, and find the largest number that the loss never
falls below. (b) Compute the loss at $\alpha=\beta=0$. At which of the four points $(\alpha,\beta)=(\pm«size»,0)$ and
$(0,\pm«size»)$ is it least? Write it there as a mean of six terms. (c) Gradient descent runs for a very long time. By
which vector does the served embedding rank then, and is the user's list better? (d) What would a ridge change, and
what an early stop?""",
        r"""(a) No. «why» The loss falls towards 0 as $«which»\to«sign»\infty$ and never reaches it. (b) $\ln2$. It is
least at $«which»=«near»$, where it is «value:.4f». (c) By $«vector»$ alone: the direction that ran away outweighs
$e_u$. The loss says nothing about the order, so the list may be worse. (d) The scalar stays finite, and its size is
then decided by the ridge or by the moment of the stop, not by the data.""",
        (
            (2, "(a) $«which»\\to«sign»\\infty$, with the sign of every margin's slope"),
            (1, "(a) the loss goes to 0"),
            (1, "(b) $\\ln2$, and the terms at $«which»=«near»$ (their mean is «value:.4f»)"),
            (1, "(c) the order of one direction"),
            (1, "(d) ridge or stop decide the size"),
        ),
        {"a": a, "b": b, "size": size},
        {
            "which": which,
            "near": int(near[0] or near[1]),
            "sign": sign,
            "value": values[1],
            "limit": values[2],
            "vector": ("-" if sign == "-" else "") + ("e_{pop}" if case[0] == "b" else "e_{pref}"),
            "why": {
                "b>0": r"All $b_j>0$, so every margin $x_{ij}$ grows when $\alpha$ falls.",
                "b<0": r"All $b_j<0$, so every margin $x_{ij}$ grows when $\alpha$ rises.",
                "a>0": r"All $a_i>0$, so every margin $x_{ij}$ grows when $\beta$ rises.",
            }[case],
        },
    )


@EXAM.asks(Kind.READING, "Three losses of each user")
def users(rng: Generator) -> Question | None:
    rows, rises = [], []
    for name in "PQR":
        for _ in range(100):
            s, a, b_pos = rng.normal(0.5, 1, 3), rng.normal(0.4, 1, 3), rng.normal(0.5, 1, 3)
            t, b, a_neg = rng.normal(-0.5, 1, 4), rng.normal(0.6, 1, 4), rng.normal(0.3, 1, 4)
            best = correction.solve_user(s, t, a, b)
            if best is not None and max(map(abs, best)) < 3:
                break
        else:
            return None
        alpha, beta = best
        before = correction.user_loss(s, t, a, b, 0.0, 0.0)
        learned = correction.user_loss(s, t, a, b, alpha, beta)
        served = correction.user_loss(s + alpha * b_pos + beta * a, t + alpha * b + beta * a_neg, a, b, 0.0, 0.0)
        rows.append((name, f"{before:.3f}", f"{learned:.3f}", f"{served:.3f}"))
        rises.append(served > before + 0.02)
        if abs(served - before) <= 0.02 or before - learned < 0.02:
            return None
    if not 0 < sum(rises) < 3:
        return None
    return Question(
        """For three users the table has the BPR loss of the model, the DDC loss at its minimum, and the BPR loss of
the served embedding.

«shown»

(a) One column can never be larger than another. Which, and why? (b) For which users does serving raise the loss? (c)
A report gives the mean of the second column beside that of the first and writes "direct evidence of better user
vectors". Which column belongs there? (d) Which measurement settles whether the lists are better?""",
        """(a) The DDC loss at its minimum is never larger than the model's, because $\\alpha=\\beta=0$ is allowed and
gives the model's. (b) «raised». (c) The third: the second belongs to two vectors that are never served. (d) The
ranks of test items. One factor on all scores changes the served loss and no list.""",
        (
            (2, "(a) the second and the first, because of $(0,0)$"),
            (1, "(b) «raised»"),
            (1, "(c) the third"),
            (1, "(d) ranks of test items, or what the lists find"),
        ),
        {"shown": table(["user", "model", "DDC at its minimum", "served"], rows)},
        {"raised": " and ".join(name for name, up in zip("PQR", rises, strict=True) if up)},
    )


@EXAM.asks(Kind.READING, "How many triples can be wrong?")
def wrong(rng: Generator) -> Question | None:
    margins = [rng.normal(mean, 1.5, 400) for mean in rng.permutation([0.6, 2.0, 3.5])]
    means = [float(losses.bpr(x, np.zeros_like(x))) for x in margins]
    shares = [float((x < 0).mean()) for x in margins]
    bounds = [value / np.log(2) for value in means]
    liar = int(rng.integers(3))
    claimed = [share if at != liar else bounds[at] * 1.2 + 0.02 for at, share in enumerate(shares)]
    if claimed[liar] > 0.9:  # more than all triples would be wrong without any bound
        return None
    rows = [(n, f"{value:.3f}", f"{100 * share:.0f} %") for n, value, share in zip("PQR", means, claimed, strict=True)]
    factor = whole(rng, 2, 5)
    return Question(
        r"""Three models report the mean BPR loss of their training triples, and the share of triples in the wrong
order. One of the shares cannot be right.

«shown»

(a) Prove that the share of triples in the wrong order is at most $L/\ln2$. (b) Which share is impossible? (c) A
model multiplies all its user vectors by «factor», and its loss changes. Has any list changed? In which direction
can the loss go? (d) What follows for comparing models by their loss?""",
        r"""(a) A triple in the wrong order has $x\le0$ and so a loss of at least $\ln2$; the others have a
positive loss. (b) «liar»: at most «bound:.0f» % are possible. (c) No list has changed. Triples in the right order
lose loss, the others gain it, so it can go either way. (d) A smaller loss may be a matter of scale; compare ranks
of test items.""",
        (
            (2, "(a) the bound"),
            (1, "(b) «liar»"),
            (1, "(c) no list, either way"),
            (1, "(d) compare ranks"),
        ),
        {
            "shown": table(["model", "mean loss", "wrong order"], rows),
            "factor": factor,
            "means": means,
            "claimed": claimed,
        },
        {"liar": "PQR"[liar], "bound": 100 * bounds[liar]},
    )


SAID = (
    (
        """With DDC our recall rose by «times» %. So the direction of popularity was what had spoiled our lists.""",
        """A higher recall does not say which part of DDC raised it. The part along $e_{pref}$ moves each user towards
films like their own, and the two scalars may have had trials of tuning that the model did not get.""",
    ),
    (
        """For «share» % of our users $\\alpha$ is negative, so DDC takes popularity out of their lists. The loss fell
from «high» to «low» besides.""",
        """The net push is $\\alpha+\\beta\\langle e_{pref},e_{pop}\\rangle$, and $e_{pref}$ tends to be popular. The
sign of $\\alpha$ also depends on the origin, which no list sees: one vector added to all items turns it.""",
    ),
    (
        """We trained the two scalars until the loss stood still at «low» (from «high»), so every one of our users has
the best $\\alpha$ and $\\beta$.""",
        """Users whose $a_i$ or $b_j$ all have one sign have no best scalars: their loss falls for ever. What stood
still is the mean, and the moment of the stop chose their values.""",
    ),
)


@EXAM.asks(Kind.REPLY, "An engineer on DDC")
def reply(rng: Generator) -> Question:
    case = int(rng.integers(len(SAID)))
    said, core = SAID[case]
    times, low = whole(rng, 3, 9), whole(rng, 11, 19)
    return Question(
        f"""An engineer says: "{said}" What do you reply? Say what is right, what does not follow, and name two
controls. At most 150 words.""",
        f"""{core} Right is what was measured, and that each user's problem is convex. Controls: one number $c$ for all
users with $e_u+c\\,e_{{pref}}$; DDC after centring the items; a random direction in place of $e_{{pop}}$; the
model with as many trials of tuning. Judge all by the ranks of test items and by the popularity of the lists, over
several seeds.""",
        (
            (1, "what is right"),
            (3, "what does not follow: " + core),
            (2, "two controls, each with what it rules out"),
        ),
        {
            "high": f"{low * times / 100:.2f}",
            "low": f"{low / 100:.2f}",
            "times": times,
            "share": whole(rng, 81, 97),
            "case": case,
        },
    )
