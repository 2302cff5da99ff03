"""Exam questions on the first model; it has five, as it has no assignment."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.random import Generator

from course_lib import losses
from exercises.engine.asking import Exam, Kind, Question, judged, rational, table
from exercises.engine.variants import pick, whole

EXAM = Exam("first-model")


@EXAM.asks(Kind.CALCULATION, "One row of the softmax")
def row(rng: Generator) -> Question | None:
    odds = [whole(rng, 1, 8), whole(rng, 1, 8), whole(rng, 1, 8)]
    if len(set(odds)) == 1:
        return None
    tau = pick(rng, Fraction(1, 2), Fraction(1, 5), 1)
    scores = float(tau) * np.log(odds)
    grid = np.tile(scores, (3, 1))
    loss = float(losses.infonce(grid[:1], tau=float(tau), positives=np.array([0])))
    return Question(
        r"""A person meets three films in a batch. The scores divided by the temperature are $\ln «o1»$, $\ln «o2»$
and $\ln «o3»$; the first film is the person's own.

(a) What probability does each film have? (b) What is the loss of this row? (c) What would it be if all three scores
were equal? (d) What does logQ subtract from the second score if the second film has the share $«share»$ of all
pairs?""",
        r"""(a) $«p»$. (b) $-\ln «first»=«loss:.3f»$. (c) $\ln3=1.099$. (d) $\ln «share»$, a negative number: the
score of a rare film is lifted in training.""",
        ((1, "(a) $«p»$"), (1, "(b) «loss:.3f»"), (1, "(c) $\\ln3$"), (1, "(d) $\\ln «share»$")),
        {"o1": odds[0], "o2": odds[1], "o3": odds[2], "tau": tau, "share": Fraction(1, 10 * whole(rng, 1, 9))},
        {
            "p": [Fraction(value, sum(odds)) for value in odds],
            "first": rational(float(np.exp(-loss))),
            "loss": loss,
        },
    )


CLAIMS = (
    (
        """of two films that a person likes, the popular one is the right answer for this person more often in a pass
than the rare one""",
        False,
        "Once each.",
    ),
    (
        "in a pass, a popular film is on average a wrong answer for a given person more often than a rare film",
        True,
        "It is in more batches.",
    ),
    (
        "the correction logQ is also subtracted when lists are made",
        False,
        "Then it would cancel what training has learned.",
    ),
    (
        "two films that lie close together on a map in the plane are close in 32 dimensions",
        False,
        "A projection can bring far points together.",
    ),
)


@EXAM.asks(Kind.TRUE_OR_FALSE, "Right and wrong answers")
def claims(rng: Generator) -> Question:
    case, fans, batch, total = int(rng.integers(len(CLAIMS))), whole(rng, 50, 400), pick(rng, 128, 256, 512), 20_000
    claim, truth, why = CLAIMS[case]
    return Question(
        f"""In-batch softmax is trained on «total» pairs in batches of «batch». True or false: {claim}. Use a film
with «fans» ratings and a film with one rating where it helps.""",
        f"""**«verdict»** {why} One of the person's pairs shares its batch with each other pair with probability
$\\frac{{«batch»-1}}{{«total»-1}}$. So the popular film is a wrong answer for that pair «often:.2f» times in a pass
on average, the rare one «once:.4f» times.""",
        ((1, "the verdict: «verdict»"), (2, "the reason, with a count where the claim is about counts")),
        {"total": total, "batch": batch, "fans": fans, "case": case},
        {
            **judged(truth),
            "often": fans * (batch - 1) / (total - 1),
            "once": (batch - 1) / (total - 1),
        },
    )


@EXAM.asks(Kind.PROOF, "What the softmax learns")
def learns(rng: Generator) -> Question | None:
    likes = [whole(rng, 1, 5) for _ in range(3)]
    fans = [whole(rng, 1, 9) for _ in range(3)]
    ratio = [Fraction(like, sum(likes)) / Fraction(fan, sum(fans)) for like, fan in zip(likes, fans, strict=True)]
    top, most = ratio.index(max(ratio)), likes.index(max(likes))
    if ratio.count(ratio[top]) > 1 or likes.count(likes[most]) > 1 or top == most:
        return None
    return Question(
        r"""A person chooses film $j$ with probability $p_j$. In the loss, the scores $x_j$ become probabilities
$\pi_j=\frac{q_je^{x_j}}{\sum_lq_le^{x_l}}$, since film $j$ turns up as a wrong answer in proportion to $q_j$.

(a) Show that $-\sum_jp_j\ln\pi_j$ is least where $\pi=p$ (use $\ln z\le z-1$). (b) Conclude that the best scores
are $x_j=\ln\frac{p_j}{q_j}$ up to a constant. (c) Compute $p_j/q_j$ for $p\propto«likes»$ and $q\propto«fans»$.
Which film leads the list by $x$, and which by $p$? (d) How do you rank by $p$ if you know only the scores and $q$?""",
        r"""(a) $\sum_jp_j\ln\frac{\pi_j}{p_j}\le\sum_jp_j\big(\frac{\pi_j}{p_j}-1\big)=0$, so no $\pi$ has a
smaller value than $\pi=p$. (b) $\pi_j=p_j$ means $e^{x_j}\propto p_j/q_j$. (c) $«ratio»$, so film «top» leads by
$x$; by $p$ film «most» leads. (d) By $x_j+\ln q_j$.""",
        (
            (2, "(a) the inequality"),
            (1, "(b)"),
            (2, "(c) $«ratio»$, film «top» and «most»"),
            (1, "(d) by $x_j+\\ln q_j$, or by $q_je^{x_j}$"),
        ),
        {"likes": likes, "fans": fans},
        {
            "ratio": ratio,
            "top": top + 1,
            "most": most + 1,
        },
    )


@EXAM.asks(Kind.READING, "Recall by hand")
def recall(rng: Generator) -> Question | None:
    hidden = [sorted(rng.choice(10, int(rng.integers(1, 4)), replace=False).tolist()) for _ in range(3)]
    lists = [rng.choice(10, 4, replace=False).tolist() for _ in range(3)]
    popular = rng.choice(10, 4, replace=False).tolist()

    def found(shown: list[list[int]]) -> Fraction:
        shares = [Fraction(len(set(h) & set(s)), len(h)) for h, s in zip(hidden, shown, strict=True)]
        return sum(shares, Fraction(0)) / 3

    model, baseline = found(lists), found([popular] * 3)
    if model == baseline or not model:
        return None
    letter = "ABCDEFGHIJ"
    rows = [(u + 1, " ".join(letter[i] for i in hidden[u]), " ".join(letter[i] for i in lists[u])) for u in range(3)]
    return Question(
        """Three people, their hidden films, and the model's list of four films for each:

«shown»

A second program shows everybody the same four films, «popular».

(a) Compute the recall of the model and of the second program: of each person's hidden films the share that the list
holds, and the mean over the people. (b) Which is better? (c) Is the comparison
settled? Name two things that are missing.""",
        """(a) $«model»$ and $«baseline»$. (b) «better». (c) No: three people are few, and one split and one training
are no spread. Several splits and seeds are missing, and a look at what the lists hold.""",
        ((2, "(a) $«model»$"), (1, "(a) $«baseline»$"), (1, "(b) «better»"), (1, "(c) people, splits or seeds")),
        {
            "shown": table(["person", "hidden", "list"], rows),
            "popular": " ".join(letter[i] for i in popular),
            "sets": [hidden, lists, [popular]],
        },
        {"model": model, "baseline": baseline, "better": "The model" if model > baseline else "The second program"},
    )


SAID = (
    (
        "Our lists look excellent: every film is close to what the person liked.",
        "A list that looks right may find nothing. Count hidden films.",
    ),
    (
        "Our model finds «mine» % of the hidden films, and that is a good result.",
        "A recall means nothing alone. The list of the most popular films may find more.",
    ),
    (
        "Our model finds «mine» %, the most popular films find «theirs» %. So two towers are too simple for our data.",
        """In-batch softmax pushes popular films down. Add the logarithm of each film's share to the scores before you
judge the towers.""",
    ),
)


@EXAM.asks(Kind.REPLY, "An engineer on a first model")
def reply(rng: Generator) -> Question:
    case, mine = int(rng.integers(len(SAID))), whole(rng, 5, 12)
    said, core = SAID[case]
    return Question(
        f"""A two-tower model was trained with in-batch softmax. An engineer says: "{said}" What do you reply, and
what would you measure? At most 150 words.""",
        f"""{core} Measure the recall of hidden films beside that of the most popular films, with and without logQ
or with the logarithm of the share added afterwards, over several seeds, and the number of ratings of the films in
the lists. Hide the latest pairs as well as random ones.""",
        ((1, "what is right"), (3, core), (2, "a measurement with a baseline")),
        {"mine": mine, "theirs": mine + whole(rng, 3, 9), "case": case},
    )
