"""Exam questions on the bias of in-batch sampling."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.random import Generator

from course_lib import in_batch, processes
from course_lib.arrays import exact
from course_lib.interactions import Interactions
from course_lib.training.objectives import closed_form
from exercises.engine.asking import Exam, Kind, Question, judged, mixed, rational, table
from exercises.engine.variants import pick, whole

EXAM = Exam("in-batch-bias")


def labels_of(rng: Generator, m: int, n: int, positives: int) -> np.ndarray | None:
    """A label matrix without empty rows and columns; None for an unlucky draw."""
    labels = (rng.permutation(m * n) < positives).astype(int).reshape(m, n)
    return labels if labels.any(axis=0).all() and labels.any(axis=1).all() else None


def busiest(pop: np.ndarray, where: np.ndarray) -> tuple[int, int]:
    """The cell with the largest popularity among those of `where`."""
    i, j = np.unravel_index(np.argmax(np.where(where, pop, -1)), pop.shape)
    return int(i), int(j)


@EXAM.asks(Kind.CALCULATION, "What the batch minimises")
def weights(rng: Generator) -> Question | None:
    labels = labels_of(rng, 3, 3, whole(rng, 5, 6))
    if labels is None or labels.all():
        return None
    M, s = int(labels.sum()), whole(rng, 2, 4)
    pop = np.outer(labels.sum(1), labels.sum(0))
    liked, other = busiest(pop, labels == 1), busiest(pop, labels == 0)
    _, negative = in_batch.expected_weights("in_batch", labels=exact(labels), batch_size=s)
    if pop[liked] == 1:
        return None
    return Question(
        r"""Rows are people, columns are films, and a 1 is a liked pair: $Y=«Y»$. A batch draws $s=«s»$ liked pairs
uniformly without replacement, and all films of the batch serve as wrong answers.

(a) Compute $\rho$. (b) In the expected in-batch loss, times $mn$, what weight does $\ell^-$ have for the liked pair in
row «li», column «lj», and for the pair in row «oi», column «oj», which is not liked? (c) What weights does $\ell^-$
have for these pairs in the loss over all pairs?""",
        r"""(a) $\rho=\frac{s-1}{M-1}=«rho»$. (b) The liked pair has $\mathrm{pop}=«pop1»$, so the weight is
$\rho(\mathrm{pop}-1)=«w1»$. The other has $\mathrm{pop}=«pop2»$, so the weight is $\rho\,\mathrm{pop}=«w2»$. (c) 0
and 1.""",
        ((1, "(a) $«rho»$"), (2, "(b) $«w1»$ and $«w2»$"), (1, "(c) 0 and 1")),
        {
            "Y": labels.tolist(),
            "s": s,
            "li": liked[0] + 1,
            "lj": liked[1] + 1,
            "oi": other[0] + 1,
            "oj": other[1] + 1,
        },
        {
            "rho": rational(in_batch.balance(s, M)),
            "pop1": int(pop[liked]),
            "pop2": int(pop[other]),
            "w1": 9 * negative[liked],
            "w2": 9 * negative[other],
        },
    )


@EXAM.asks(Kind.CALCULATION, "The weights of one unbiased batch")
def unbiased(rng: Generator) -> Question | None:
    M, shape = whole(rng, 9, 13), (pick(rng, 4, 5), pick(rng, 4, 5))
    labels = labels_of(rng, *shape, M)
    if labels is None:
        return None
    first, second = rng.choice(np.argwhere(labels), 2, replace=False)
    if (first == second).any():
        return None
    rows, cols = labels.sum(1)[[first[0], second[0]]], labels.sum(0)[[first[1], second[1]]]
    positive, negative = in_batch.batch_weights(
        "unbiased", row_counts=exact(rows), col_counts=exact(cols), n_positives=M, shape=shape
    )
    return Question(
        r"""There are «m» people, «n» films and $M=«M»$ liked pairs. A batch holds two liked pairs, of
different people and different films. Their people like «rows» films, their films have «cols» fans, in this order. In
the unbiased batch loss compute (a) the weight of $\ell^+$ of the first pair, (b) the weight of $\ell^-$ for the first
person and the second film, (c) the weight of $\ell^-$ of the first pair itself. (d) Let $\ell$ be logistic and every
score free. Can the loss of this batch fall without end while only the score of the first pair changes?""",
        r"""With $a=\frac M{s\,mn}=«a»$ and $\rho=«rho»$: (a) $«w»$. (b) $\frac
a\rho\cdot\frac1{\mathrm{pop}}=«cross»$ with $\mathrm{pop}=«pop»$. (c) $\frac
a{\rho\,\mathrm{pop}}-a\big(1+\frac{M-s}{(s-1)\mathrm{pop}}\big)=a\big(\frac1{\mathrm{pop}}-1\big)=«own»$ with
$\mathrm{pop}=«own_pop»$. (d) «falls».""",
        ((1, "(a) $«w»$"), (1, "(b) $«cross»$"), (1, "(c) $«own»$"), (1, "(d) «falls»")),
        {
            "m": shape[0],
            "n": shape[1],
            "M": M,
            "rows": f"{rows[0]} and {rows[1]}",
            "cols": f"{cols[0]} and {cols[1]}",
            "Y": labels.tolist(),
            "pairs": [first.tolist(), second.tolist()],
        },
        {
            "a": Fraction(M, 2 * shape[0] * shape[1]),
            "rho": rational(in_batch.balance(2, M)),
            "w": positive[0],
            "pop": int(rows[0] * cols[1]),
            "cross": negative[0, 1],
            "own_pop": int(rows[0] * cols[0]),
            "own": negative[0, 0],
            "falls": "No: the weight is 0, and $\\ell^+$ is never negative"
            if rows[0] * cols[0] == 1
            else "Yes: the weight is negative, so as the score grows $\\ell^+$ goes to 0 and this term to $-\\infty$",
        },
    )


@EXAM.asks(Kind.CALCULATION, "One liked pair and the size of the batch")
def threshold(rng: Generator) -> Question:
    pop, M = whole(rng, 6, 40), whole(rng, 200, 900)
    largest = max(s for s in range(2, M + 1) if in_batch.misclassification_threshold(s, M) >= pop)
    half = max(2, largest // 2)
    best = in_batch.in_batch_optimum("square", pop=pop, batch_size=half, n_positives=M)
    return Question(
        r"""A data set has $M=«M»$ liked pairs. A liked pair has the popularity $\mathrm{pop}=«pop»$. Each score is
free, and the in-batch loss is logistic.

(a) For which batch sizes $s\ge2$ is the best score of this pair not negative? (b) With the square loss and
$s=«half»$, what is its best score? (c) For which $s\ge2$ is the best score of this pair highest?""",
        r"""(a) The terms are $\ell^++\rho(\mathrm{pop}-1)\ell^-$, and the best logistic score is
$-\log\rho(\mathrm{pop}-1)$. It is not negative while $\rho(\mathrm{pop}-1)\le1$, that is
$s\le1+\frac{M-1}{\mathrm{pop}-1}$: $s\le«largest»$. (b) $\frac1{1+\rho(\mathrm{pop}-1)}=«best:.3f»$. (c) For
$s=2$: a larger batch raises $\rho$, and the pair is pushed apart harder.""",
        ((2, "(a) $s\\le«largest»$"), (1, "(b) $«best:.3f»$"), (1, "(c) $s=2$, because of $\\rho$")),
        {"M": M, "pop": pop, "half": half},
        {"largest": largest, "best": float(best)},
    )


CLAIMS = (
    (
        """In the expected in-batch loss a larger batch brings every weight of $\\ell^-$ closer to its weight in the
loss over all pairs.""",
        False,
        "A liked pair of popularity above 1 should have the weight 0, and its weight grows with $\\rho$.",
    ),
    (
        "A larger batch leaves the expectation of the unbiased batch loss as it is.",
        True,
        "$\\rho$ is divided out, for every $s\\ge2$.",
    ),
    (
        """If every person likes one film and every film has one fan, the in-batch loss of the largest batch is
unbiased.""",
        True,
        "All $\\mathrm{pop}=1$ and $\\rho=1$: the weights are 0 and 1.",
    ),
    (
        "If all people like equally many films and all films have equally many fans, no liked pair is pushed apart.",
        False,
        "Equal popularity above 1 still gives every liked pair the weight $\\rho(\\mathrm{pop}-1)>0$.",
    ),
)


@EXAM.asks(Kind.TRUE_OR_FALSE, "Batches and bias")
def claims(rng: Generator) -> Question:
    case = int(rng.integers(len(CLAIMS)))
    claim, truth, why = CLAIMS[case]
    pop, M = whole(rng, 4, 9), whole(rng, 20, 40)
    sizes = (whole(rng, 2, 4), whole(rng, 6, 10))
    pushed = [rational(in_batch.balance(s, M)) * (pop - 1) for s in sizes]
    return Question(
        f"""True or false: "{claim}" Where an example is needed, take $M=«M»$ liked pairs, one of them of
popularity «pop», and batches of «s1» and of «s2».""",
        f"""**«verdict»** {why} In the in-batch loss the pair of the example has the weight
$\\rho(\\mathrm{{pop}}-1)$, which is $«w1»$ for batches of «s1» and $«w2»$ for batches of «s2»; over all pairs it
is 0.""",
        ((1, "the verdict: «verdict»"), (2, "the weights, or the factor that is divided out")),
        {"pop": pop, "M": M, "s1": sizes[0], "s2": sizes[1], "case": case},
        {**judged(truth), "w1": pushed[0], "w2": pushed[1]},
    )


BROKEN = (
    (
        "is drawn with replacement",
        False,
        "A pair meets its own copy, so a liked pair is counted as a wrong answer of itself.",
    ),
    (
        "is drawn without replacement, with counts $r_i$ and $c_j$ that are all twice the true ones",
        False,
        "The weight of a pair that is not liked is a quarter of what it should be.",
    ),
    (
        "is drawn without replacement, and the loss is the square loss",
        True,
        "The theorem does not ask for a kind of loss.",
    ),
    (
        "is drawn without replacement, with a film that nobody likes in the catalogue",
        False,
        "No batch ever shows that film.",
    ),
    (
        "is drawn without replacement, and one of the people likes a single film",
        True,
        "A count of 1 is a count like any other.",
    ),
)


@EXAM.asks(Kind.TRUE_OR_FALSE, "What the unbiased loss needs")
def needs(rng: Generator) -> Question:
    case, M, s = int(rng.integers(len(BROKEN))), whole(rng, 5, 12), whole(rng, 2, 4)
    how, truth, why = BROKEN[case]
    return Question(
        f"""The unbiased batch loss is used as in the chapter, but the batch of «s» of «M» liked pairs {how}. True
or false: its expectation is still the loss over all pairs.""",
        f"""**«verdict»** {why} With replacement, for instance, two draws are the same pair with probability
$\\frac1M=«copy»$; without replacement never.""",
        ((1, "the verdict: «verdict»"), (2, "the pair or the weight that is wrong, or why nothing is")),
        {"M": M, "s": s, "case": case},
        {**judged(truth), "copy": Fraction(1, M)},
    )


@EXAM.asks(Kind.PROOF, "Counting a cell")
def cell(rng: Generator) -> Question:
    case, M, s, pop = pick(rng, "one", "two"), whole(rng, 8, 12), whole(rng, 2, 4), whole(rng, 2, 6)
    liked = bool(rng.integers(2))
    if case == "one":
        value = in_batch.inclusion_probability(2, batch_size=s, n_positives=M) * (pop - liked)
    else:
        meetings = processes.meetings("apart", processes=2, batch_size=s, n_positives=M)
        value = (meetings.far * (pop - liked) + meetings.copies * liked) / 2
    asked = {
        "one": r"""One batch draws $s$ of the $M$ liked pairs uniformly without replacement. How often, on average,
does its grid show the cell $(i,j)$ *off the diagonal*?""",
        "two": r"""Two batches of $s$ liked pairs are drawn independently, each without replacement. The grid has
the people of the first batch as rows and the films of the second as columns. How often, on average, does it show
the cell $(i,j)$?""",
    }
    shown = {
        "one": r"""An ordered pair of *different* liked pairs, the first of person $i$, the second of film $j$, is
drawn with probability $\frac{s(s-1)}{M(M-1)}$. There are $r_ic_j$ choices, less one if $(i,j)$ is liked itself,
since one choice takes it twice. So the number is $\frac{s(s-1)}{M(M-1)}(\mathrm{pop}-Y_{ij})$.""",
        "two": r"""A given liked pair is in a batch with probability $\frac sM$, independently for the two batches.
There are $r_ic_j$ choices, and none is left out: the same pair may be drawn in both batches. So the number is
$\frac{s^2}{M^2}\,\mathrm{pop}$, liked or not.""",
    }
    return Question(
        asked[case]
        + r""" Prove your formula in terms of $r_i$, $c_j$, $s$, $M$ and $Y_{ij}$. Then give the number for $M=«M»$,
$s=«s»$ and a cell with $\mathrm{pop}=r_ic_j=«pop»$ that is «liked». What does the answer mean for liked pairs?""",
        shown[case]
        + r""" Here it is $«value»$. The number is positive for liked pairs of popular people and films: they are
pushed apart, although they were liked.""",
        (
            (2, "probability of the two draws"),
            (2, "the number of choices, and the copy treated rightly"),
            (1, "$«value»$"),
            (1, "liked pairs are pushed apart"),
        ),
        {"M": M, "s": s, "pop": pop, "liked": "liked" if liked else "not liked", "case": case},
        {"value": value},
    )


@EXAM.asks(Kind.PROOF, "The best score of one pair")
def best(rng: Generator) -> Question:
    loss, M, s = pick(rng, "square", "logistic"), whole(rng, 21, 41), whole(rng, 2, 6)
    films, rare = whole(rng, 2, 3), whole(rng, 2, 4)
    pops = [films * rare, films * (rare + whole(rng, 2, 6))]
    words = {
        "square": (
            r"$\frac12(1-x)^2+w\,\frac12x^2$",
            r"The slope $-(1-x)+wx$ is 0 at $x=\frac1{1+w}$, and the second derivative is $1+w>0$.",
        ),
        "logistic": (
            r"$\log(1+e^{-x})+w\log(1+e^{x})$",
            r"""The slope $-\frac1{1+e^x}+w\frac{e^x}{1+e^x}$ is 0 at $e^x=\frac1w$, so $x=-\log w$, and the
function is convex.""",
        ),
    }[loss]
    scores = [
        [float(in_batch.in_batch_optimum(loss, pop=pop, batch_size=size, n_positives=M)) + 0.0 for pop in pops]
        for size in (s, M)
    ]
    return Question(
        rf"""Each liked pair has a score $x$ of its own. Its share of the expected in-batch loss is a multiple of
{words[0]}, where $w>0$ is the weight of its $\ell^-$ over that of its $\ell^+$.

(a) Find the best $x$ and prove that it is the only minimum. (b) A person likes a rare film and a popular one. Their
pairs have $\mathrm{{pop}}=«rare»$ and $«popular»$. Compute $w$ and the best score of both for $M=«M»$ and $s=«s»$.
Logarithms may stay. (c) Which of the two films stands higher in the person's list? (d) Compute both best scores for
the largest batch.""",
        rf"""(a) {words[1]} (b) $w=\rho(\mathrm{{pop}}-1)$ is $«w1»$ and $«w2»$, so $x$ is $«x1:.3f»$ and $«x2:.3f»$.
(c) The rare one: $w$ grows with the number of fans and $x$ falls with $w$. (d) With $s=M$ we have $\rho=1$ and
$w=\mathrm{{pop}}-1$, so $x$ is $«y1:.3f»$ and $«y2:.3f»$.""",
        (
            (2, "(a) the stationary point"),
            (1, "(a) convexity"),
            (1, "(b) $«x1:.3f»$ and $«x2:.3f»$"),
            (1, "(c) the rare film, with the reason"),
            (1, "(d) $«y1:.3f»$ and $«y2:.3f»$"),
        ),
        {"loss": loss, "M": M, "s": s, "rare": pops[0], "popular": pops[1]},
        {
            "w1": rational(in_batch.balance(s, M)) * (pops[0] - 1),
            "w2": rational(in_batch.balance(s, M)) * (pops[1] - 1),
            **dict(zip(("x1", "x2", "y1", "y2"), scores[0] + scores[1], strict=True)),
        },
    )


KINDS = {
    "in_batch": "the in-batch loss",
    "popularity": "the popularity loss ($\\ell^-$ divided by $\\rho$)",
    "pos_neg": "the pos-neg loss (the unbiased loss with $\\ell^-$ times $\\rho$)",
    "unbiased": "the unbiased loss",
}


@EXAM.asks(Kind.READING, "Four losses by their weights")
def losses(rng: Generator) -> Question | None:
    labels = labels_of(rng, 4, 4, 8)
    if labels is None:
        return None
    s = whole(rng, 3, 4)
    pop = np.outer(labels.sum(1), labels.sum(0))
    liked, other = busiest(pop, labels == 1), busiest(pop, labels == 0)
    if pop[liked] < 4 or pop[other] < 2:
        return None
    found = {kind: in_batch.expected_weights(kind, labels=exact(labels), batch_size=s)[1] for kind in KINDS}
    order = mixed(rng, list(KINDS))
    rows = [
        (name, *(str(16 * found[kind][place]) for place in (liked, other)))
        for name, kind in zip("ABCD", order, strict=True)
    ]
    return Question(
        r"""Four losses use batches of «s» of the 8 liked pairs, drawn without replacement. The table has the weight
of $\ell^-$ in expectation, times $mn$, for a liked pair of popularity «pop1» and for a pair of popularity «pop2» that
is not liked.

«shown»

The losses are the in-batch loss, the popularity loss ($\ell^-$ divided by $\rho$ only), the unbiased loss, and the
pos-neg loss (the unbiased loss with $\ell^-$ times $\rho$). (a) Which is which? (b) What is $\rho$? (c) For which
losses does the batch size matter in the table?""",
        r"""(a) «order». The two that spare liked pairs are the unbiased loss, with 1, and the pos-neg loss, with
$\rho$. The two that push them are the in-batch loss and the popularity loss, larger by $\frac1\rho$. (b)
$\rho=\frac{s-1}{M-1}=«rho»$. (c) For the in-batch and the pos-neg loss.""",
        ((3, "(a) «order» (1 for one right)"), (1, "(b) $«rho»$"), (1, "(c) in-batch and pos-neg")),
        {
            "s": s,
            "pop1": int(pop[liked]),
            "pop2": int(pop[other]),
            "labels": labels.tolist(),
            "shown": table(["loss", "liked pair", "other pair"], rows),
        },
        {
            "order": ", ".join(
                f"{name}: {KINDS[kind].split(' (')[0]}" for name, kind in zip("ABCD", order, strict=True)
            ),
            "rho": rational(in_batch.balance(s, 8)),
        },
    )


@EXAM.asks(Kind.READING, "Whose lists are these?")
def lists(rng: Generator) -> Question | None:
    taste = 1 / (1 + np.arange(30))
    chance = np.clip(1.6 * taste * np.exp(0.8 * rng.normal(size=(80, 30))), 0, 0.85)
    data = Interactions(*np.nonzero(rng.random((80, 30)) < chance), n_users=80, n_items=30)
    if not (data.row_counts.all() and data.col_counts.all()):
        return None
    users, rare = closed_form("popularity", data, 4)
    counts = data.col_counts.astype(float)
    plain = closed_form("unbiased", data, 4)
    scores = {
        "all pairs": plain[0] @ plain[1].T,
        "in-batch, largest batch": users @ rare.T,
        "in-batch, times popularity": users @ rare.T * counts,
    }
    fans = {
        name: float(np.median(counts[np.argsort(-np.where(data.labels() == 1, -np.inf, value), axis=1)[:, :3]]))
        for name, value in scores.items()
    }
    low, high = fans["in-batch, largest batch"], min(fans["all pairs"], fans["in-batch, times popularity"])
    if high < 2 * low:
        return None
    order = mixed(rng, list(scores))
    rows = [(name, f"{fans[label]:.0f}") for name, label in zip("ABC", order, strict=True)]
    which = "ABC"[order.index("in-batch, largest batch")]
    return Question(
        """Three models of a small catalogue with «films» films recommend three films to each person: the best model
by the loss over all pairs, the best model by the in-batch loss at $\\rho=1$, and the latter with every score
multiplied by the film's fans. The median film of all has «median» fans. The table has the number of fans of the
median film in the lists.

«shown»

(a) Which lists are the in-batch model's? (b) Why do they look as they do? (c) Which number would you report to
choose among the three models, and why is it not the number in the table?""",
        """(a) «which», which recommends rare films. (b) In this in-batch loss $\\ell^-$ of a pair is weighed with
its popularity, so the best scores are divided by it: the model has learned how much a film is liked in proportion to
its popularity. (c) More popular lists are not yet better lists. Report how many hidden films the lists find, beside the
list of the most popular films.""",
        (
            (1, "(a) «which»"),
            (2, "(b) the weight is the popularity, so scores are divided by it"),
            (1, "(c) popularity is not accuracy"),
            (1, "(c) hidden films found, with a baseline"),
        ),
        {"films": 30, "median": int(np.median(counts)), "shown": table(["lists", "fans of the median film"], rows)},
        {"which": which},
    )


SAID = (
    (
        """We went from batches of «small» to batches of «large», and the in-batch bias is gone: our loss now sees
nearly all pairs.""",
        """A larger batch raises $\\rho$, and with it the weight of every wrong answer, on liked pairs too. The bias
is in the weights.""",
    ),
    (
        """We remove the liked pairs from the wrong answers of each batch of «small» by a mask. So our in-batch loss
is unbiased.""",
        """The mask gives liked pairs the weight 0, which is right. But a pair that is not liked still has the weight
$\\rho\\,\\mathrm{pop}$ instead of 1, so popular films are pushed more. The masked loss of the chapter divides by
these weights.""",
    ),
    (
        """We use softmax with logQ and batches of «large». LogQ makes the in-batch softmax unbiased, so there is
nothing to measure.""",
        """No average over batches that miss a film equals the logarithm of the full sum. LogQ moves the optimum of
the scores close to where it should be and often finds more, but the loss stays biased.""",
    ),
)


@EXAM.asks(Kind.REPLY, "An engineer on batches")
def reply(rng: Generator) -> Question:
    case = int(rng.integers(len(SAID)))
    said, core = SAID[case]
    return Question(
        f"""An engineer says: "{said}" What do you reply? Say what is right, what is wrong and why, and name one
experiment. At most 150 words.""",
        f"""{core} What is right: a larger batch, a mask or a correction changes the weights, and lists can get
better. An experiment: on a small label matrix average the loss over *all* batches and compare with the loss over
all pairs. On real data compare hidden films found, with several seeds, beside the list of the most popular films
and the model with its scores multiplied back.""",
        (
            (1, "what is right"),
            (3, "what is wrong: " + core),
            (2, "an experiment with a comparison that could go either way"),
        ),
        {"small": 2 ** whole(rng, 5, 8), "large": 2 ** whole(rng, 11, 14), "case": case},
    )
