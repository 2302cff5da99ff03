"""Exam questions on popularity and length."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.random import Generator

from course_lib import geometry, norms, popularity
from exercises.engine.asking import Exam, Kind, Question, judged, mixed, rational, table
from exercises.engine.variants import pick, whole

EXAM = Exam("popularity-norm-coupling")


@EXAM.asks(Kind.CALCULATION, "The crossover count")
def crossover(rng: Generator) -> Question | None:
    start, rate, h = whole(rng, 1, 2), Fraction(1, pick(rng, 1, 2, 4)), Fraction(1, whole(rng, 1, 2))
    times = pick(rng, 2, 3)
    added = 2 * rate**2 * h**2
    n = Fraction((times * start) ** 4 - start**4) / added
    if start**4 < 8 * added:  # then steps are long against the vector, and their fourth powers count
        return None
    return Question(
        r"""A film's vector starts with the length «start». Each update pulls with $\|h\|=«h»$, the rate is
$\eta=«rate»$, and the fourth powers of the steps may be left out. Compute the crossover count $n^*$, and the
number of updates after which the vector is «times» times as long as at the start. By which factor would the second
number change if the rate were halved?""",
        r"""$n^*=\|q_0\|^4/(2\eta^2h^2)=«star»$. It follows from $\|q_n\|^4=\|q_0\|^4(1+n/n^*)$ that
$n=n^*(«times»^4-1)=«n»$. With half the rate $n^*$, and so this number, is four times as large.""",
        ((1, "$n^*=«star»$"), (2, "$n=«n»$"), (1, "four times as many")),
        {"start": start, "h": h, "rate": rate, "times": times},
        {
            "star": rational(norms.crossover_count(start, lr=rate, h=h)),
            "n": rational(n),
            "reached": rational(norms.predicted_norm(float(start), lr=float(rate), h=float(h), updates=float(n))),
        },
    )


@EXAM.asks(Kind.CALCULATION, "How often a batch moves an item")
def updates(rng: Generator) -> Question:
    p, batch, steps = Fraction(1, whole(rng, 2, 4)), whole(rng, 2, 3), 100 * whole(rng, 1, 9)
    items, extra = 2 * whole(rng, 2, 5), whole(rng, 2, 3)
    plain = norms.update_probability(p, batch)
    more = norms.update_probability(p, batch, negatives=extra, n_items=items)
    return Question(
        r"""Each of the «batch» slots of a batch holds a given item with probability $p=«p»$, independently. There
are «items» items. (a) With which probability does a batch update the item, and how many updates are expected in
«steps» batches? (b) Now each batch also draws «extra» extra negatives, each uniformly from all items. What is
the probability then? (c) Does (b) help the rare items or the popular ones more, in proportion?""",
        r"""(a) $\pi=1-(1-p)^{«batch»}=«plain»$, and $«steps»\,\pi=«expected»$. (b)
$1-(1-p)^{«batch»}\big(1-\frac1{«items»}\big)^{«extra»}=«more»$. (c) The rare ones: an item with $p$ near 0 is
updated almost only by the extra negatives, and they draw all items equally often.""",
        ((1, "(a) $«plain»$"), (1, "(a) $«expected»$"), (1, "(b) $«more»$"), (1, "(c) the rare items, with a reason")),
        {"batch": batch, "p": p, "items": items, "steps": steps, "extra": extra},
        {"plain": plain, "expected": steps * plain, "more": more},
    )


@EXAM.asks(Kind.CALCULATION, "Balance with weight decay")
def decay(rng: Generator) -> Question:
    root, base = pick(rng, Fraction(2), Fraction(3, 2)), Fraction(1, pick(rng, 16, 20, 25, 32))
    often = base * root**4
    rate, weight, h = (
        Fraction(1, 2),
        Fraction(1, 50),
        whole(rng, 1, 3),
    )  # the law asks for shares well above rate * weight
    rare = float(norms.decay_equilibrium(float(base), lr=float(rate), decay=float(weight), h=float(h)))
    popular = float(norms.decay_equilibrium(float(often), lr=float(rate), decay=float(weight), h=float(h)))
    lazy = norms.lazy_decay_equilibrium(lr=float(rate), decay=float(weight), h=float(h))
    return Question(
        r"""Plain gradient descent on cosines has the rate $\eta=«rate»$ and weight decay $\lambda=«weight»$, and
pulls have $\|h\|=«h»$. A rare film is updated in a share $«base»$ of the batches, a popular film in a share $«often»$.
Every step multiplies the vector $q$ by $1-\eta\lambda$. An update also subtracts $\eta$ times the gradient that $q$
had before the step.

(a) By which factor is the popular film longer, by the chapter's law for the balance of growth and decay? (b) And if
decay acts only on the vectors that a batch updates? (c) Compute the length of the popular film in the balance of
(b).""",
        r"""(a) $\|q\|^4$ is proportional to $\pi$, so the ratio is $\big(«often»/«base»\big)^{1/4}=«ratio»$. (b)
By the factor 1: the balance does not depend on how often a vector is updated. (c) An update takes $s=\|q\|^2$ to
$(1-\eta\lambda)^2s+\eta^2h^2/s$, which is $s$ where $s^2=\eta^2h^2/(1-(1-\eta\lambda)^2)$. With
$1-\eta\lambda=\frac{99}{100}$ this gives $\|q\|^4=«fourth»$ and $\|q\|=«lazy:.2f»$.""",
        ((1, "(a) proportional to $\\pi^{1/4}$"), (1, "(a) $«ratio»$"), (1, "(b) ratio 1"), (1, "(c) $«lazy:.2f»$")),
        {"weight": weight, "rate": rate, "h": h, "base": base, "often": often},
        {
            "ratio": rational(popular / rare),
            "fourth": rational(float(lazy) ** 4),
            "lazy": float(lazy),
        },
    )


ORDERS = (
    ("P's vector is at least as long as R's after every pass", False, "The pulls differ."),
    (
        "P's vector has at least as many updates in a pass as R's, on average over the draws",
        True,
        "The probability that a batch holds a film rises with the number of its pairs.",
    ),
    (
        "P's vector is at least as long as R's after every pass if $\\|h\\|=1$ at every update of both films",
        False,
        """The length then depends on the number of updates alone, but that number is drawn: all pairs of P can fall
into one batch, which is one update, while those of R fall into several.""",
    ),
    (
        """P's vector is at least as long as R's after every pass in which P has had more updates if $\\|h\\|=1$ at
every update of both films""",
        True,
        r"""Each update takes the squared length $s$ to $s+\eta^2/s$, which is larger. Both films start at the same
$s$ and walk through the same lengths, and P has walked further.""",
    ),
)


@EXAM.asks(Kind.TRUE_OR_FALSE, "More popular, so longer")
def order(rng: Generator) -> Question:
    case, n = int(rng.integers(len(ORDERS))), 10 * whole(rng, 2, 9)
    claim, truth, why = ORDERS[case]
    agree = geometry.norm([1.0, 0.0])
    q = np.array([1.0, 1.0]) / np.sqrt(2)
    for t in range(n):
        q = q + 0.5 * geometry.cosine_gradient(q, np.eye(2)[t % 2])
    return Question(
        f"""Two films start at the length 1, under plain gradient descent on cosines with $\\eta=\\frac12$. Film P
is in more pairs than film R, and the batches of a pass are drawn at random. True or false: whatever the pairs
are, {claim}. Where it helps, think of a film that already points at its only target, and of one whose «n» updates
have two targets at a right angle in turn.""",
        f"""**«verdict»** {why} (A film that already points at its only target has $\\|h\\|=0$ and keeps the length
$«agree»$, however many updates it gets. The film of the two targets ends at the length $«conflict:.2f»$ after «n»
updates.)""",
        (
            (1, "the verdict: «verdict»"),
            (2, "the reason: the pulls, the number of updates, or both together decide"),
        ),
        {"n": n, "case": case},
        {
            **judged(truth),
            "agree": rational(agree),
            "conflict": float(geometry.norm(q)),
        },
    )


@EXAM.asks(Kind.TRUE_OR_FALSE, "The same run at another scale")
def scale(rng: Generator) -> Question:
    c, exponent = pick(rng, 2, 3, 4, 10), pick(rng, 1, 2, 2, 4)
    truth = exponent == 2
    q, k = np.array([1.0, 2.0]), np.array([3.0, -1.0])
    new = q + geometry.cosine_gradient(q, k)
    other = c * q + c**exponent * geometry.cosine_gradient(c * q, k)
    return Question(
        r"""Two trainings use plain gradient descent on a loss of cosines and the same batches. The second starts
with vectors «c» times as long and has a rate $«c»^{«exponent»}=«factor»$ times as large. True or false: whatever the
loss and the batches are, all cosines of the second training agree with those of the first, at every step.""",
        r"""**«verdict»** The gradient at $cq$ is the gradient at $q$ divided by $c$. So $cq-c^e\eta\,\nabla
L(cq)=c\,\big(q-c^{e-2}\eta\,\nabla L(q)\big)$, and the directions agree if and only if $e=2$; here $e=«exponent»$.
For example, one step from $q=(1,2)$ towards $(3,-1)$ with $\eta=1$ leaves the cosine «first:.4f» in the first
training and «second:.4f» in the second.""",
        ((1, "the verdict: «verdict»"), (2, "the gradient is divided by $c$, and what follows for the rate")),
        {"c": c, "exponent": exponent, "factor": c**exponent},
        {
            **judged(truth),
            "first": float(geometry.cosine(new, k)),
            "second": float(geometry.cosine(other, k)),
        },
    )


@EXAM.asks(Kind.PROOF, "Another brake")
def brake(rng: Generator) -> Question:
    a = pick(rng, 2, 3, 4)
    power = 2 + 2 * a
    return Question(
        r"""Suppose that the gradient of a loss is perpendicular to $q$ and has the length $h/\|q\|^{«a»}$ with a
constant $h$. Plain gradient descent has the rate $\eta$.

(a) Write $s=\|q\|^2$ and find what one update adds to $s$. (b) Show that, where steps are short against the
vector, each update adds about a constant to $\|q\|^{«power»}$, and find the constant. (c) How does the length grow
with the number $n$ of updates in the long run? What is the exponent for the cosine, and why does it differ?""",
        r"""(a) By Pythagoras $s$ gains $\eta^2h^2/s^{«a»}$. (b) $\|q\|^{«power»}=s^{«up»}$. To first order in the
gain, $(s+\eta^2h^2s^{-«a»})^{«up»}-s^{«up»}\approx«up»\,s^{«a»}\cdot\eta^2h^2s^{-«a»}=«up»\,\eta^2h^2$. (c) So
$\|q\|^{«power»}\approx«up»\,\eta^2h^2n$ and the length grows like $n^{«exponent»}$. For the cosine $a=1$ and the
exponent is $\frac14$: the brake has another strength.""",
        (
            (1, "(a) $\\eta^2h^2/s^{«a»}$"),
            (2, "(b) the expansion"),
            (1, "(b) the constant $«up»\\,\\eta^2h^2$"),
            (1, "(c) the exponent $«exponent»$"),
            (1, "(c) a quarter for the cosine, where $a=1$"),
        ),
        {"a": a, "power": power},
        {"up": a + 1, "exponent": Fraction(1, power)},
    )


@EXAM.asks(Kind.PROOF, "Copies in a batch")
def copies(rng: Generator) -> Question:
    batch, coherence = whole(rng, 3, 9), Fraction(1, pick(rng, 1, 2, 4))
    p = Fraction(pick(rng, 1, 2), 2 * (batch - 1))
    slope = norms.expected_squared_gradient_slope(p, batch_size=batch, coherence=coherence)
    size = norms.expected_squared_gradient(p, batch_size=batch, coherence=coherence)
    return Question(
        r"""Each of the $B=«batch»$ slots of a batch holds an item with probability $p$, independently. Each copy
adds a vector of mean square 1 to the item's gradient $h$, and two copies have the mean inner product
$\rho_c=«coherence»$.

(a) Show that $\mathbb{E}\|h\|^2=Bp+\rho_cB(B-1)p^2$, counting a batch without the item as 0. (b) Compute it for
$p=«p»$. (c) What is the slope of $\log\mathbb{E}\|h\|^2$ against $\log p$ at this $p$? Between which bounds does it
lie for other $p$, and between which bounds does the slope of $\log\|q\|$ lie far beyond the crossover?""",
        r"""(a) $\|h\|^2$ is the sum over ordered pairs of copies. A slot holds the item with probability $p$: $B$
terms of mean square 1. Two different slots both hold it with probability $p^2$: $B(B-1)$ terms of mean $\rho_c$.
(b) $«size»$. (c) With $x=\rho_c(B-1)p=«x»$ the slope is $\frac{1+2x}{1+x}=«slope»$. It lies between 1, for rare items,
and 2. Far beyond the crossover $\|q\|^4$ is proportional to $\mathbb{E}\|h\|^2$, so the slope of $\log\|q\|$ lies
between $\frac14$ and $\frac12$.""",
        (
            (2, "(a) single slots and pairs of slots"),
            (1, "(b) $«size»$"),
            (2, "(c) the slope, $«slope»$"),
            (1, "(c) between 1 and 2, a quarter of this for $\\log\\|q\\|$"),
        ),
        {"batch": batch, "coherence": coherence, "p": p},
        {"size": size, "x": coherence * (batch - 1) * p, "slope": slope},
    )


@EXAM.asks(Kind.READING, "One film out of line")
def outlier(rng: Generator) -> Question:
    counts, odd, harder = [16, 81, 256, 625, 1296], int(rng.integers(1, 4)), pick(rng, 2, 3)
    scale = whole(rng, 1, 3)
    pulls = [1.0 * (harder**2 if place == odd else 1) for place in range(5)]
    lengths = [
        float(norms.predicted_norm(1e-6, lr=scale / np.sqrt(2), h=pull, updates=count))
        for count, pull in zip(counts, pulls, strict=True)
    ]
    rows = [(name, count, f"{length:.2f}") for name, count, length in zip("ABCDE", counts, lengths, strict=True)]
    kept = [place for place in range(5) if place != odd]
    slope = popularity.log_log_slope([lengths[place] for place in kept], [counts[place] for place in kept])
    return Question(
        r"""Five films were updated $n$ times each, far beyond the crossover, under plain gradient descent on
cosines.

«shown»

(a) What is the slope of the logarithm of the length against the logarithm of $n$, without the film out of line?
(b) Which film is out of line, and by which factor must its pulls $\|h\|$ have been stronger than those of the
others? (c) What would you look at in the data of this film?""",
        r"""(a) «slope:.2f», the fourth root. (b) Film «odd» is «longer:.2f» times as long as the law says. The
length goes with the square root of $\|h\|$, so its pulls were «factor» times as strong. (c) Whether the people who
like it disagree: targets far from the film's own direction have a large sine, and so a large $\|h\|$.""",
        (
            (1, "(a) a quarter"),
            (1, "(b) film «odd»"),
            (2, r"(b) the factor «factor», by $\|q\|\propto\|h\|^{1/2}$"),
            (1, "(c) disagreeing people, or other reasons for large pulls"),
        ),
        {"shown": table(["film", "$n$", "length"], rows), "counts": counts, "lengths": lengths},
        {"slope": float(slope), "odd": "ABCDE"[odd], "longer": float(harder), "factor": harder**2},
    )


@EXAM.asks(Kind.READING, "Ranked by which score?")
def served(rng: Generator) -> Question | None:
    people, films = rng.normal(size=(200, 8)), rng.normal(size=(100, 8))
    counts = (3000 / np.arange(1, 101)).astype(int)
    unit = geometry.normalise(films)
    runs = {
        "high rate, dot product": unit * norms.predicted_norm(1.0, lr=3.0, h=0.5, updates=counts)[:, None],
        "high rate, cosine": unit,
        "low rate, dot product": unit * norms.predicted_norm(1.0, lr=0.003, h=0.5, updates=counts)[:, None],
    }
    shares = {
        label: 100 * popularity.top_share(np.argsort(-people @ rows.T, axis=1)[:, :10], counts, 0.05)
        for label, rows in runs.items()
    }
    labels = mixed(rng, list(runs))
    if shares["high rate, dot product"] < 2 * max(shares["high rate, cosine"], shares["low rate, dot product"]):
        return None
    shown = table(
        ["lists", "share of the places"],
        [(name, f"{shares[label]:.0f} %") for name, label in zip("ABC", labels, strict=True)],
    )
    first = "ABC"[labels.index("high rate, dot product")]
    return Question(
        """Films have directions drawn at random, and the lengths that the chapter's law gives for their numbers of
updates. Lists of ten are ranked in three ways: a training at a high rate ranked by dot product, the same training
ranked by cosine, and a training at a very low rate ranked by dot product. The table has the share of the places that
the 5 most popular of the 100 films fill.

«shown»

(a) Which lists can you name, and which two can you not tell apart? (b) Which share is that of chance? (c) A report
says of one of these two: "no popularity bias". What must it also show?""",
        """(a) «first» is the high rate by dot product: long vectors come forward. The other two are alike: the cosine
divides the lengths away, and at the low rate all lengths are still nearly those of the start. (b) 5 of 100 films, 5
%. (c) That the lists find anything: their accuracy, beside that of a random model, which has no popularity bias
either.""",
        (
            (2, "(a) «first», with the reason"),
            (1, "(a) why the other two are alike"),
            (1, "(b) 5 %"),
            (1, "(c) the accuracy"),
        ),
        {"shown": shown},
        {"first": first},
    )


SAID = (
    (
        """Length and popularity have a correlation of «r» over «n» films, with $p<10^{-20}$. So training stores
popularity in the lengths, and the effect is strong.""",
        """A tiny $p$ over thousands of films says that the correlation is not exactly 0. It says nothing about its
size, and nothing about the cause: the untrained model of the same start must stand beside it.""",
    ),
    (
        """Our correlation of length and popularity is only «r» over «n» films. So the chapter's law for lengths does
not hold for our training.""",
        r"""The law is about the number of updates and the pulls, and it is exact. A low correlation can mean that
the crossover count is large: with a low rate or long starting vectors the growth has hardly begun.""",
    ),
    (
        """The correlation of length and popularity is «r» over «n» films. We divide all vectors by their length after
training, and the popularity bias is gone.""",
        """Dividing removes what the lengths hold. The popularity in the directions stays, and in-batch negatives put
some there. Lists by cosine can also get worse, since lengths partly make up for the pushes on popular films.""",
    ),
)


@EXAM.asks(Kind.REPLY, "An engineer on a correlation")
def reply(rng: Generator) -> Question:
    case = int(rng.integers(len(SAID)))
    said, core = SAID[case]
    return Question(
        f"""An engineer says: "{said}" What do you reply? Say what follows, what does not, and which numbers you
would ask for. At most 150 words.""",
        f"""{core} Numbers to ask for: the rate over the squared starting length, or the crossover count; the slope
of log length against log count before and after training; the sum of $\\|h\\|^2$ for each film. For lists: the
share of the most popular films in the lists by cosine and by dot product, beside the accuracy of both.""",
        (
            (1, "what follows"),
            (3, "what does not follow: " + core),
            (2, "two numbers that would decide, each with what it would mean"),
        ),
        {
            "r": f"0.{whole(rng, 11, 18) if case == 1 else whole(rng, 41, 78)}",
            "n": 1000 * whole(rng, 3, 20),
            "case": case,
        },
    )
