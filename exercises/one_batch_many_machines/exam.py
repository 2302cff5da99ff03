"""Exam questions on a batch that lies on several machines."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.random import Generator

from course_lib import in_batch, losses, processes
from exercises.engine.asking import Exam, Kind, Question, judged, rational, table
from exercises.engine.variants import pick, whole

EXAM = Exam("one-batch-many-machines")
GATHERS = {"constant": "as constants", "gradients": "with gradients"}


@EXAM.asks(Kind.CALCULATION, "Five factors")
def factors(rng: Generator) -> Question | None:
    P, rows, gather = whole(rng, 2, 16), pick(rng, "own", "all"), pick(rng, "constant", "gradients")
    reduction = pick(rng, "mean", "sum") if rows == "own" else "mean"
    if gather == "gradients" and reduction == "mean":
        return None
    made = processes.gradient_factors(processes=P, rows=rows, gather=gather, reduction=reduction)
    return Question(
        r"""A batch lies on $P=«P»$ machines. Each machine computes «rows» rows and takes their «reduction», the
vectors of other machines arrive «gather», and the machines average their gradients. Compare with one machine that
takes the «reduction» of all rows.

(a) Which factor do the pull on an item, a near push, a far push, and the temperature's gradient have? (b) By which
number must the loss be multiplied so that all vectors get the right gradient, if there is one? (c) What
factor does the temperature's gradient have after this change?""",
        r"""(a) Pull $«pull»$, near $«near»$, far $«far»$, temperature $«direct»$. (b) «repair». (c) «then».""",
        (
            (2, "(a) $«pull»$, $«near»$, $«far»$, $«direct»$ (half a point each)"),
            (1, "(b) «repair»"),
            (1, "(c) «then»"),
        ),
        {
            "P": P,
            "rows": "its own" if rows == "own" else "all",
            "reduction": reduction,
            "gather": GATHERS[gather],
            "case": [rows, gather],
        },
        {
            "pull": made.pull,
            "near": made.near,
            "far": made.far,
            "direct": made.direct,
            "repair": "None: a push that is 0 stays 0" if made.far == 0 else f"By {Fraction(1) / made.far}",
            "then": f"Without a factor it is ${made.direct}$" if made.far == 0 else f"${made.direct / made.far}$",
        },
    )


@EXAM.asks(Kind.CALCULATION, "What local negatives weigh")
def local(rng: Generator) -> Question:
    P, B, M, pop = whole(rng, 2, 8), whole(rng, 2, 10), whole(rng, 101, 301), whole(rng, 3, 30)
    ratio = processes.negatives_ratio(processes=P, batch_size=B)
    small, large = rational(in_batch.balance(B, M)), rational(in_batch.balance(P * B, M))
    return Question(
        r"""A step draws «total» of $M=«M»$ liked pairs. With one machine all are one batch. With $P=«P»$ machines
each has $B=«B»$ of them and uses only its own films as wrong answers; the machines take the mean of their in-batch
losses, scaled as in the chapter.

(a) Compute $\rho$ for one machine with the whole batch, and for the local batches. (b) A pair that is not liked
has $\mathrm{pop}=«pop»$. What weight (times $mn$) does its $\ell^-$ have in expectation, on one machine and on «P»? (c)
By which number must every local $\ell^-$ be multiplied to agree?""",
        r"""(a) $«large»$ and $«small»$. (b) $\rho\,\mathrm{pop}$: $«w1»$ and $«w2»$. (c)
$\zeta=\frac{PB-1}{B-1}=«ratio»$.""",
        ((1, "(a) $«large»$, $«small»$"), (2, "(b) $«w1»$, $«w2»$"), (1, "(c) $«ratio»$")),
        {"total": P * B, "M": M, "P": P, "B": B, "pop": pop},
        {"large": large, "small": small, "w1": large * pop, "w2": small * pop, "ratio": ratio},
    )


@EXAM.asks(Kind.CALCULATION, "What crosses the network")
def network(rng: Generator) -> Question:
    P, d, B = 2 ** whole(rng, 1, 4), 2 ** whole(rng, 5, 8), 2 ** whole(rng, 6, 12)
    sent = processes.gathered_bytes(processes=P, batch_size=B, width=d, rows="own", gather="gradients")
    gramian = processes.gramian_bytes(processes=P, width=d)
    even = Fraction(2 * d, P)
    return Question(
        r"""«P» machines hold $B=«B»$ pairs each, with vectors of $d=«d»$ numbers of 4 bytes. In a ring, a gather
makes each machine send $P-1$ blocks of $B$ vectors; with gradients as many come back, and they are counted too.

(a) How many bytes does a machine send in a step for own rows with gradients? (b) For the two Gramians it sends
$4\frac{P-1}Pd^2$ numbers. How many bytes are these? (c) From which $B$ on does the gather send more?""",
        r"""(a) $2(P-1)B\,d\cdot4=«sent»$. (b) $«gramian»$. (c) $2(P-1)Bd>4\frac{P-1}Pd^2$ means
$B>\frac{2d}P=«even»$.""",
        ((1, "(a) $«sent»$"), (1, "(b) $«gramian»$"), (2, "(c) $B>«even»$")),
        {"P": P, "d": d, "B": B},
        {"sent": sent, "gramian": gramian, "even": even},
    )


@EXAM.asks(Kind.TRUE_OR_FALSE, "Times the number of machines")
def times(rng: Generator) -> Question:
    P, rows, gather = whole(rng, 2, 16), pick(rng, "own", "all"), pick(rng, "constant", "gradients")
    reduction = pick(rng, "mean", "sum") if rows == "own" else "mean"
    made = processes.gradient_factors(processes=P, rows=rows, gather=gather, reduction=reduction)
    truth = made.times(P).query == made.times(P).pull == made.times(P).near == made.times(P).far == 1
    return Question(
        r"""«P» machines average their gradients. Each computes «rows» rows and takes their «reduction»; other
machines' vectors arrive «gather». True or false: if the loss is multiplied by «P», all vectors get the gradient of
one machine that takes the «reduction» of all rows.""",
        r"""**«verdict»** Without a factor the pull has $«pull»$, near pushes $«near»$ and far pushes $«far»$ of
the right gradient. Times «P» the three are $«after»$.""",
        ((1, "the verdict: «verdict»"), (2, "the factors of pull, near and far pushes, and where they come from")),
        {
            "P": P,
            "rows": "its own" if rows == "own" else "all",
            "reduction": reduction,
            "gather": GATHERS[gather],
            "case": [rows, gather],
        },
        {
            **judged(truth),
            "pull": made.pull,
            "near": made.near,
            "far": made.far,
            "after": [made.pull * P, made.near * P, made.far * P],
        },
    )


DRAWS = (
    ("one draw of all pairs is dealt out to the machines", "together", None),
    ("each machine draws from all liked pairs for itself", "apart", None),
    ("each machine has its own shard of the data for good, and the two pairs lie in different shards", "shards", False),
    ("each machine has its own shard of the data for good, and the two pairs lie in one shard", "shards", True),
)


@EXAM.asks(Kind.TRUE_OR_FALSE, "Who meets whom")
def meet(rng: Generator) -> Question:
    words, draw, same = pick(rng, *DRAWS)
    P, B = whole(rng, 2, 4), whole(rng, 2, 5)
    M = P * whole(rng, B + 1, B + 12)
    place = pick(rng, "near", "far")
    made = processes.meetings(draw, processes=P, batch_size=B, n_positives=M, same_shard=same)
    value = made.near if place == "near" else made.far
    return Question(
        f"""There are $M=«M»$ liked pairs and «P» machines, which hold «B» pairs each in a step: {words}. True or
false: two given liked pairs can meet {"on one machine" if place == "near" else "on two different machines"} in a
step.""",
        """**«verdict»** The expected number of such meetings in a step, first pair before second, is $«value»$.""",
        ((1, "the verdict: «verdict»"), (2, "the expected number, or the reason why it is 0 or not")),
        {"M": M, "P": P, "B": B, "draw": draw, "same": same, "place": place},
        {**judged(value > 0), "value": value},
    )


@EXAM.asks(Kind.PROOF, "The mean push")
def push(rng: Generator) -> Question:
    P, B = whole(rng, 2, 8), whole(rng, 2, 12)
    made = processes.gradient_factors(processes=P, rows="own", gather="constant")
    mean = processes.mean_push(made, processes=P, batch_size=B)
    return Question(
        r"""$P$ machines hold $B$ pairs each. Each computes its own rows, the films of others arrive as constants,
and the machines average their gradients.

(a) Let $\Lambda_s$ be the loss of machine $s$. Find the factors that the pulls, the near pushes and the far
pushes on a film have, compared with one machine that computes all rows. (b) The pairs are dealt out at random. What is
the factor of a push on average over the dealing? Prove your formula. (c) Compute it for $P=«P»$, $B=«B»$. (d) Is there
a number by which the loss can be multiplied so that all vectors get the gradient of one machine? Give the reason.""",
        r"""(a) A vector of machine $s$ gets the gradient $\frac1P\frac{\partial\Lambda_s}{\partial x}$, and
$\Lambda_s$ is a mean over the $B$ own rows. One machine with all rows has $\frac1{PB}$ before each
row; here it is $\frac1P\cdot\frac1B$, the same, for each row of machine $s$: pulls and near pushes have the factor 1.
Rows of other machines are not in $\Lambda_s$: far pushes have the factor 0. (b) Of the $PB-1$ other rows $B-1$ lie
on the film's machine, each with equal probability, so a push
has the factor $\frac{B-1}{PB-1}$ on average. (c) $«mean»$. (d) No. A factor multiplies pulls, near and far pushes
alike: it cannot turn 0 into 1, and it would spoil the pulls.""",
        (
            (2, "(a) the weight of each row, and the missing rows"),
            (2, "(b) the count of near rows"),
            (1, "(c) $«mean»$"),
            (1, "(d) no: 0 times a factor is 0"),
        ),
        {"P": P, "B": B},
        {"mean": mean},
    )


@EXAM.asks(Kind.PROOF, "Softmax of a small batch")
def softmax(rng: Generator) -> Question:
    P, B = pick(rng, 2, 4, 8), pick(rng, 4, 8, 16)
    whole_loss, local_loss = (float(losses.in_batch_softmax(np.zeros((size, size)), tau=1.0)) for size in (P * B, B))
    zeta = processes.negatives_ratio(processes=P, batch_size=B)
    return Question(
        r"""The loss of a row is $\log(e^{z_+}+S)-z_+$ with the sum $S$ of $e^z$ over the other items of the batch.
A batch of $PB$ pairs is dealt out to $P$ machines at random; $S_B$ is the sum over the other items of the row's
machine.

(a) Find the number $\zeta$ with $\mathbb{E}\,\zeta S_B=S$ over the dealing. (b) Conclude that
$\mathbb{E}\log(e^{z_+}+\zeta
S_B)\le\log(e^{z_+}+S)$. When is there equality? (c) All scores are 0, $P=«P»$ and $B=«B»$. Compute the loss of a
row on one machine, the local loss without a factor, and the local loss with $\zeta$. Comment on the difference of
the first two.""",
        r"""(a) Each of the $PB-1$ other items is on the row's machine with probability $\frac{B-1}{PB-1}$, so
$\zeta=\frac{PB-1}{B-1}$. (b) The
logarithm is concave, so Jensen's inequality applies. Equality holds if $S_B$ does not depend on the dealing, for
instance if all scores are equal. (c) $\log «total»=«one:.3f»$, $\log «B»=«local:.3f»$, and
$\log(1+«zeta»\cdot«others»)=\log «total»$. The first two differ by $\log P$: the values differ although no ranking
does.""",
        (
            (2, "(a) the probability, and $\\zeta$"),
            (1, "(b) Jensen"),
            (1, "(b) the case of equality"),
            (1, "(c) $\\log «total»$, $\\log «B»$, $\\log «total»$"),
            (1, "(c) the difference is $\\log P$"),
        ),
        {"P": P, "B": B},
        {"total": P * B, "one": whole_loss, "local": local_loss, "zeta": zeta, "others": B - 1},
    )


RECIPES = {
    "own rows, with gradients": ("own", "gradients", 1),
    "own rows, with gradients, times $P$": ("own", "gradients", 0),
    "own rows, constants": ("own", "constant", 1),
    "all rows, constants": ("all", "constant", 1),
    "all rows, constants, times $P$": ("all", "constant", 0),
}


@EXAM.asks(Kind.READING, "Which recipe is this?")
def recipe(rng: Generator) -> Question:
    P = pick(rng, 2, 4, 8)
    chosen = [list(RECIPES)[int(at)] for at in rng.permutation(len(RECIPES))[:3]]
    made = {}
    for name in chosen:
        rows, gather, plain = RECIPES[name]
        made[name] = processes.gradient_factors(processes=P, rows=rows, gather=gather).times(1 if plain else P)
    lines = [
        (label, *(f"{float(value):.3f}" for value in (m.pull, m.near, m.far, m.direct)))
        for label, m in zip("ABC", made.values(), strict=True)
    ]
    right = [label for label, m in zip("ABC", made.values(), strict=True) if m.right]
    lost = [label for label, m in zip("ABC", made.values(), strict=True) if m.far == 0]
    return Question(
        r"""Three programs train on $P=«P»$ machines. The table has the factor of each part of their averaged
gradient, where 1 stands for the gradient of one machine:

«shown»

The recipes are among: own rows with gradients; own rows with gradients, times $P$; own rows with constants; all
rows with constants; all rows with constants, times $P$. (a) Which is which? (b) Which program is right in all
parts? (c) Which of the errors change a training with Adam, and why?""",
        """(a) «order». (b) «right». (c) Adam divides a gradient by its own size, so a common factor before all
gradients changes nothing (unless decay or clipping compares them). A part that is missing does«lost».""",
        ((3, "(a) «order»"), (1, "(b) «right»"), (1, "(c) factors are hidden, missing parts are not")),
        {
            "P": P,
            "shown": table(["program", "pull", "near pushes", "far pushes", "temperature"], lines),
            "chosen": chosen,
        },
        {
            "order": ", ".join(f"{label}: {name}" for label, name in zip("ABC", chosen, strict=True)),
            "right": ", ".join(right) or "None of the three",
            "lost": f" ({', '.join(lost)})" if lost else "",
        },
    )


@EXAM.asks(Kind.READING, "Machines with unequal batches")
def uneven(rng: Generator) -> Question | None:
    sizes = [int(size) for size in rng.integers(1, 7, 3)]
    if len(set(sizes)) < 3:
        return None
    rows = list(zip("ABC", sizes, strict=True))
    weights = [Fraction(1, 3 * size) for size in sizes]
    heaviest = int(np.argmin(sizes))
    repair = [Fraction(3 * size, sum(sizes)) for size in sizes]
    return Question(
        """In the last step of an epoch three machines hold unequal numbers of pairs. Each takes the mean of its own
rows, all films are gathered with gradients, and the machines average their gradients.

«shown»

(a) What weight does each row of each machine have in the average? What weight would it have on one machine? (b) Which
machine's rows count most, and by which factor more than on one machine? (c) By which number must each machine
multiply its loss to be
right?""",
        """(a) A row of a machine with $B_r$ pairs has $\\frac1{3B_r}$: $«weights»$ for A, B, C. On one machine it has
$«one»$. (b) The rows of «heavy», by the factor $«factor»$. (c) By $\\frac{3B_r}{\\sum B}$: $«repair»$.""",
        (
            (2, "(a) $«weights»$ against $«one»$"),
            (1, "(b) «heavy», by $«factor»$"),
            (2, "(c) $«repair»$"),
        ),
        {"shown": table(["machine", "pairs"], rows), "sizes": sizes},
        {
            "weights": weights,
            "one": Fraction(1, sum(sizes)),
            "heavy": "ABC"[heaviest],
            "factor": weights[heaviest] * sum(sizes),
            "repair": repair,
        },
    )


SAID = (
    (
        """We moved from one machine to «P», gather the films as constants and compute own rows. Recall rose by «gain»
%, so the gather is right and more machines are better.""",
        """A higher recall does not show that the gradient is right. With own rows and constants all far pushes are
lost. Popular films lose most pushes, which partly offsets the in-batch bias, so recall can rise because of the
error.""",
    ),
    (
        """DDP averages over «P» machines, so we multiply our loss by «P». We compute own rows and gather with
gradients. The training is stable with Adam, so the factor is right.""",
        """With own rows, a mean and gradients, the average is already the gradient of one machine, and the factor
makes it too large. Adam divides by the size of the gradient, so a stable training proves nothing.""",
    ),
    (
        """We keep the total batch and use «P» machines with local negatives. The number of pairs in a step is the
same, so it is the same training.""",
        """The total batch is the same, the number of wrong answers for each row is not: it has $B-1$ instead of
$PB-1$. In expectation each wrong answer has $\\frac{B-1}{PB-1}$ of its weight, unless the loss divides by its own
$\\rho$.""",
    ),
)


@EXAM.asks(Kind.REPLY, "An engineer on many machines")
def reply(rng: Generator) -> Question:
    case = int(rng.integers(len(SAID)))
    said, core = SAID[case]
    return Question(
        f"""An engineer says: "{said}" What do you reply? Say what is right, what does not follow, and how to
check. At most 150 words.""",
        f"""{core} A check: freeze the weights, compute one batch in double precision on one machine and on two,
and compare the averaged gradients of both towers and of the temperature, part by part. For the effect on lists:
the same total batch, several seeds, with and without logQ, several stops of the training, and the list of the
most popular films beside the recall.""",
        (
            (1, "what is right"),
            (3, "what does not follow: " + core),
            (2, "a comparison of gradients, with both towers and the temperature"),
        ),
        {"P": pick(rng, 4, 8, 16), "gain": whole(rng, 3, 19), "case": case},
    )
