"""Exam questions on Gramians and their estimators."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import torch
from numpy.random import Generator

from course_lib import gramians
from course_lib.arrays import exact
from exercises.engine.asking import Exam, Kind, Question, judged, mixed, rational, table
from exercises.engine.variants import pick, whole

EXAM = Exam("gramian-estimators")


@EXAM.asks(Kind.CALCULATION, "Two matrices for all pairs")
def two_matrices(rng: Generator) -> Question | None:
    u, v = rng.integers(-2, 4, (2, 2)), rng.integers(-2, 4, (3, 2))
    g = gramians.all_pairs_square(exact(u), exact(v)) / Fraction(6)
    G, H = gramians.gramian(exact(u)), gramians.gramian(exact(v))
    if not (u.any(axis=1).all() and v.any(axis=1).all()) or g == 0:
        return None
    pairs, left = int(np.sum((u @ v.T) ** 2)), 1000 * whole(rng, 1, 9)
    return Question(
        r"""The left sides are $u_1=«u1»$, $u_2=«u2»$, the right sides $v_1=«v1»$, $v_2=«v2»$, $v_3=«v3»$.

(a) Compute the Gramians $G_u=\frac12\sum u_iu_i^\top$ and $G_v=\frac13\sum v_jv_j^\top$. (b) Compute the mean of
$\langle u,v\rangle^2$ over all six pairs, from the Gramians. (c) Check it with the six scores. (d) With «left»
left sides, as many right sides and vectors of 16 numbers: how many squares of scores does the long way add up, and
how many products of entries does the inner product of the Gramians add up?""",
        r"""(a) $G_u=«G»$, $G_v=«H»$. (b) The sum of the products of the entries is $«g»$. (c) The squares of the
scores add up to $«pairs»$, and $«pairs»/6=«g»$. (d) $«left»^2$ against $16^2=256$ (the Gramians themselves take
$2\cdot«left»\cdot16^2$ products).""",
        (
            (1, "(a) both Gramians"),
            (1, "(b) $«g»$"),
            (1, "(c) the six squares, $«pairs»$"),
            (1, "(d) $«left»^2$ against 256"),
        ),
        {
            **{f"u{i + 1}": row.tolist() for i, row in enumerate(u)},
            **{f"v{j + 1}": row.tolist() for j, row in enumerate(v)},
            "left": left,
        },
        {"G": G.tolist(), "H": H.tolist(), "g": g, "pairs": pairs},
    )


@EXAM.asks(Kind.CALCULATION, "Late and smooth")
def late(rng: Generator) -> Question:
    alpha, delta = Fraction(1, whole(rng, 4, 25)), Fraction(whole(rng, 1, 8), 1000)
    steps = whole(rng, 2, 3)
    lag = gramians.sogram_bias_bound(alpha, delta=delta, norm=Fraction(0))
    variance = gramians.sogram_variance(alpha, sigma=Fraction(1))
    return Question(
        r"""SOGram with the rate $\alpha=«alpha»$ follows one entry of a Gramian.

(a) The entry rises by «delta» in each step, and batches are exact. How far behind is the estimate in the long run?
(b) The entry stands still, and a batch's value has the variance 1. What variance does the estimate have in the
long run? (c) The entry stands still at 1, and the estimate starts at 0. What is the estimate after «steps» exact
batches, and by what must it be divided to be right?""",
        r"""(a) $\delta\big(\frac1\alpha-1\big)=«lag»$. (b) $\frac{\alpha}{2-\alpha}=«variance»$. (c)
$1-(1-\alpha)^{«steps»}=«weight»$, and this is the divisor.""",
        ((1, "(a) $«lag»$"), (1, "(b) $«variance»$"), (1, "(c) $«weight»$"), (1, "(c) the same number as divisor")),
        {"alpha": alpha, "delta": delta, "steps": steps},
        {"lag": lag, "variance": variance, "weight": weight_of(alpha, steps)},
    )


def weight_of(alpha: Fraction, steps: int) -> Fraction:
    """The estimate of an entry 1 after so many exact batches from 0."""
    running = gramians.SOGram(1, alpha)
    for _ in range(steps):
        running.update([0], exact(np.array([[1]])))
    return Fraction(running.estimate[0, 0])


@EXAM.asks(Kind.CALCULATION, "How strongly to correct a cache")
def cache(rng: Generator) -> Question:
    square, variance = whole(rng, 1, 9), whole(rng, 1, 20)
    best = Fraction(gramians.optimal_beta(mean_square=Fraction(square), variance=Fraction(variance)))
    errors = [
        Fraction(gramians.sagram_error(beta, mean_square=Fraction(square), variance=Fraction(variance)))
        for beta in (best, Fraction(1), Fraction(0))
    ]
    return Question(
        r"""SAGram corrects its cached Gramian by $\beta$ times the change of a batch. The cache is off by a matrix
with $\|m\|_F^2=«square»$, and the correction at $\beta=1$ has the variance $V=«variance»$.

(a) Write the mean square error as a function of $\beta$. (b) Which $\beta$ is best, and what is the error there?
(c) What are the errors of the full correction and of no correction? (d) When does the best $\beta$ go to 1?""",
        r"""(a) $(1-\beta)^2\|m\|^2+\beta^2V$. (b) $\beta^*=\frac{\|m\|^2}{\|m\|^2+V}=«beta»$, with the error
$«least»$. (c) $«full»$ and $«none»$. (d) When $V$ is small against $\|m\|^2$, as with large batches.""",
        (
            (1, "(a) the function"),
            (1, "(b) $\\beta^*=«beta»$, error $«least»$"),
            (1, "(c) $«full»$ and $«none»$"),
            (1, "(d)"),
        ),
        {"square": square, "variance": variance},
        {"beta": best, "least": errors[0], "full": errors[1], "none": errors[2]},
    )


CLAIMS = (
    (
        "If a batch is drawn uniformly, the mean of its outer products is right on average.",
        True,
        "Each example is drawn equally often.",
    ),
    (
        "SAGram with $\\beta=\\frac12$ is right on average, whatever its cache holds.",
        False,
        "Half of what the cache is off stays: only $\\beta=1$ corrects all of it.",
    ),
    (
        "SAGram with $\\beta=1$ is right on average, so every one of its estimates is positive semidefinite.",
        False,
        "It can take away an outer product that the mean holds only in part. Here the first estimate is negative.",
    ),
    (
        "Every estimate of SOGram is positive semidefinite if it starts at 0.",
        True,
        "It adds outer products with positive weights, and subtracts none.",
    ),
)


@EXAM.asks(Kind.TRUE_OR_FALSE, "Right on average")
def on_average(rng: Generator) -> Question:
    case, old, still, now = int(rng.integers(len(CLAIMS))), whole(rng, 3, 6), whole(rng, 1, 2), pick(rng, 0, 1)
    claim, truth, why = CLAIMS[case]
    estimates = []
    for i in range(2):
        sagram = gramians.SAGram(2, 1, Fraction(1))
        sagram.start(exact(np.array([[old], [still]])))
        estimates.append(Fraction(sagram.update([i], exact(np.array([[now], [still]]))[[i]])[0, 0]))
    return Question(
        f"""True or false: "{claim}" Use the following example where it helps. Two examples have vectors of one
number, now «now» and «still». The cache of SAGram holds «old» and «still», and its next batch is one of the two.""",
        f"""**«verdict»** {why} (In the example the Gramian is $«gram»$, that of the cache $«cached»$. The two
possible estimates of SAGram with $\\beta=1$ are $«first»$ and $«second»$, with the right mean.)""",
        (
            (1, "the verdict: «verdict»"),
            (2, "the condition that holds or is missing, with the example where it applies"),
        ),
        {"old": old, "still": still, "now": now, "case": case},
        {
            **judged(truth),
            "gram": gramians.gramian(exact(np.array([[now], [still]])))[0, 0],
            "cached": gramians.gramian(exact(np.array([[old], [still]])))[0, 0],
            "first": estimates[0],
            "second": estimates[1],
        },
    )


@EXAM.asks(Kind.TRUE_OR_FALSE, "Gravity makes vectors shorter")
def shorter(rng: Generator) -> Question | None:
    high, u = whole(rng, 2, 5), [whole(rng, 1, 3), whole(rng, 1, 3)]
    rate = pick(rng, Fraction(1, 4 * high), Fraction(1, 2 * high), Fraction(3, 2 * high), Fraction(2, high))
    G = np.diag([high, 1]).astype(float)
    leaf = torch.tensor([u], dtype=torch.float64, requires_grad=True)
    loss = gramians.gravity_loss(leaf, torch.zeros_like(leaf), torch.zeros(2, 2).double(), torch.tensor(G))
    (slope,) = torch.autograd.grad(loss, leaf)
    new = rational((leaf - float(rate) * slope).detach().numpy()[0])
    before, after = Fraction(int(np.dot(u, u))), sum(Fraction(entry) ** 2 for entry in new)
    truth = after < before
    if after == before:
        return None
    return Question(
        r"""The gravity of one person is $\langle u,G_vu\rangle$ with $G_v=\mathrm{diag}(«high»,1)$, and $u=«u»$.
True or false: one step of gradient descent with the rate $\eta=«rate»$ makes $u$ shorter.""",
        r"""**«verdict»** The gradient is $2G_vu$, so the step multiplies the two parts by $1-2\eta\cdot«high»$ and
$1-2\eta$: $u$ becomes $«new»$. The squared length goes from $«before»$ to $«after»$. A small enough rate shrinks
every part; above $\eta=1/\nu_{\max}=1/«high»$ the part along the largest eigenvalue grows.""",
        ((1, "the verdict: «verdict»"), (2, "the new vector or both factors, and the lengths")),
        {"high": high, "u": u, "rate": rate},
        {**judged(truth), "new": new, "before": before, "after": after},
    )


@EXAM.asks(Kind.PROOF, "One batch for both")
def one_batch(rng: Generator) -> Question:
    b, replaced = whole(rng, 3, 9), bool(rng.integers(2))
    n = b + whole(rng, 5, 30)
    share = rational(gramians.same_batch_share(b) if replaced else gramians.same_batch_share(b, n))
    return Question(
        r"""A batch of $b$ of the $n$ examples, drawn uniformly «how» replacement, gives the estimate $\hat
G_v=\frac1b\sum_jv_jv_j^\top$ and, with this estimate held constant, the mean gradient $\frac1b\sum_i\nabla\langle
u_i,\hat G_vu_i\rangle$.

(a) Write it as a double sum over the batch. (b) Write its expectation as a sum of gradients of mean squares
of scores, each with its weight. (c) Give the weights for $n=«n»$, $b=«b»$. (d) Is it the gradient of the mean over all
pairs? If not, what does the rest do to scores, and what is a repair?""",
        r"""(a) $\frac1{b^2}\sum_{i,j}\nabla_u\langle u_i,v_j\rangle^2$. (b) «why» The diagonal terms are observed
pairs. So it is $(1-\rho)$ times the gradient of the mean over all pairs plus $\rho$ times that of the mean over the
observed pairs, where $\rho$ is «rho_is». (c) $\rho=«share»$, and $1-\rho$ for all pairs. (d) No: observed pairs are
pushed to zero, against the loss. A repair: a second batch for the Gramian, the Gramian of the *other* examples of the
batch, or the average of earlier batches.""",
        (
            (1, "(a) the double sum"),
            (2, "(b) diagonal and rest, with their probabilities"),
            (1, "(b), (c) $\\rho=«share»$"),
            (1, "(d) observed pairs are pushed to zero"),
            (1, "(d) a repair"),
        ),
        {"how": "with" if replaced else "without", "n": n, "b": b, "replaced": replaced},
        {
            "share": share,
            "why": r"""Of the $b^2$ terms $b$ have the same draw twice. Two different draws are independent and
uniform, so each of the other terms has the mean over all pairs."""
            if replaced
            else r"""Of the $b^2$ terms $b$ are diagonal, a mean over observed pairs. The others are uniform over
pairs $i\ne j$, whose mean is that over all $n^2$ pairs less the diagonal: $\frac{n\,g-g_{obs}}{n-1}$.""",
            "rho_is": r"$\frac1b$" if replaced else r"$\frac1b-\frac{b-1}{b}\cdot\frac1{n-1}=\frac{n-b}{b(n-1)}$",
        },
    )


@EXAM.asks(Kind.PROOF, "Without detach")
def detach(rng: Generator) -> Question:
    alpha = pick(rng, Fraction(1, 10), Fraction(1, 5), Fraction(1, 4), Fraction(1, 2), Fraction(1))
    u = torch.tensor([[1.0], [2.0]], dtype=torch.float64, requires_grad=True)
    old = (u.detach() ** 2).mean()
    running = (1 - float(alpha)) * old + float(alpha) * (u**2).mean()
    flowing = torch.autograd.grad((u**2).mean() * running, u)[0]
    factor = rational(float((flowing / (2 * u.detach() * old / 2))[0]))
    return Question(
        r"""An estimate of the Gramian holds a share $\alpha=«alpha»$ of the present embeddings, $\hat
G=(1-\alpha)C+\alpha\,G(\theta)$, where $C$ is a constant and the value of $\hat G$ equals $G$. Let
$g=\langle G_u,G_v\rangle$ and $T=\langle G_u,\hat G_v\rangle+\langle\hat G_u,G_v\rangle$.

(a) Write the gradient of $T$ with the estimates held constant in terms of $g$. (b) Do it once more for a gradient that
also flows through the estimates. (c) By which factor is (b) longer than (a), here? (d) A training has the weight
$\lambda$ before $T$ and lets the gradient flow. Which weight has the same gradient with the estimates held
constant?""",
        r"""(a) $\langle\nabla G_u,G_v\rangle+\langle G_u,\nabla G_v\rangle=\nabla g$. (b) Each estimate adds
$\alpha$ times the derivative of its own matrix: $\alpha\langle G_u,\nabla G_v\rangle+\alpha\langle\nabla
G_u,G_v\rangle=\alpha\nabla g$ more. (c) $1+\alpha=«factor»$. (d) $«factor»\lambda$.""",
        (
            (2, "(a) the product rule, $\\nabla g$"),
            (2, "(b) $\\alpha\\nabla g$ more"),
            (1, "(c) $«factor»$"),
            (1, "(d) $«factor»\\lambda$"),
        ),
        {"alpha": alpha},
        {"factor": factor},
    )


@EXAM.asks(Kind.READING, "Three estimators in a race")
def race(rng: Generator) -> Question | None:
    n, batch, alpha = 32, 4, 0.1
    rows = np.abs(rng.normal(1, 0.35, size=(n, 1))) + 0.3
    cache = gramians.SAGram(n, 1, 1.0)
    cache.start(rows)
    estimators = {
        "sampling": gramians.BatchGramian(),
        "SOGram": gramians.SOGram(1, alpha, correct_start=True),
        "SAGram": cache,
    }
    lines: list[tuple[float, dict[str, float]]] = []
    for step in range(60):
        rows = rows + 0.02
        drawn = rng.integers(0, n, batch)
        now = {name: float(one.update(drawn, rows[drawn])[0, 0]) for name, one in estimators.items()}
        if step >= 50 and step % 2:
            lines.append((float((rows**2).mean()), now))
    errors = {name: np.array([now[name] - true for true, now in lines]) for name in estimators}
    if not (
        (errors["SOGram"] < -0.05).all()
        and (errors["sampling"] > 0.05).any()
        and (errors["sampling"] < -0.05).any()
        and (errors["SAGram"] > 0.05).any()
        and np.ptp(errors["sampling"]) > 2 * max(np.ptp(errors["SOGram"]), np.ptp(errors["SAGram"]))
    ):
        return None
    order = mixed(rng, list(estimators))
    shown = table(
        ["step", "exact", *"ABC"],
        [
            (50 + 2 * at, f"{true:.2f}", *(f"{now[name]:.2f}" for name in order))
            for at, (true, now) in enumerate(lines, start=1)
        ],
    )
    return Question(
        r"""One entry of a Gramian rises steadily. Three estimators follow it from batches of 4: the Gramian of the
newest batch, SOGram with $\alpha=0.1$ and a corrected start, and SAGram with $\beta=1$. All 32 examples change by
the same amount.

«shown»

(a) Which is which? Give a reason for each. (b) How many steps old is the average batch in SOGram? (c) In a real
training SAGram with small batches was worse than SOGram. What is different there?""",
        r"""(a) «order». SOGram is below the exact value in every line, because it lags. Sampling jumps most, on
both sides. SAGram corrects its cache and jumps less, without a steady lag. (b) $\frac1\alpha-1=9$. (c) There the
vectors move in different directions, so the change of a few examples says little about the others, and the full
correction is noisy.""",
        ((3, "(a) «order», with reasons"), (1, "(b) 9"), (1, "(c) changes differ between examples")),
        {"shown": shown},
        {"order": ", ".join(f"{name}: {label}" for name, label in zip("ABC", order, strict=True))},
    )


@EXAM.asks(Kind.READING, "Which rate is best?")
def best_rate(rng: Generator) -> Question | None:
    sigma, delta = 1.0, whole(rng, 2, 40) / 1000
    rates = (0.005, 0.02, 0.06, 0.12, 0.3)  # none that `late` draws
    parts = [
        (
            float(gramians.sogram_variance(a, sigma=sigma)),
            float(gramians.sogram_bias_bound(a, delta=delta, norm=0.0)) ** 2,
        )
        for a in rates
    ]
    errors = [float(gramians.coherent_error(a, delta=delta, sigma=sigma)) for a in rates]
    best = int(np.argmin(errors))
    if best in (0, len(rates) - 1) or sorted(errors)[1] < 1.1 * errors[best]:
        return None
    rows = [(a, f"{v:.4f}", f"{b:.4f}") for a, (v, b) in zip(rates, parts, strict=True)]
    return Question(
        r"""A Gramian moves straight on by $\delta=«delta»$ a step, and a batch's Gramian has the variance
$\sigma^2=1$. The table has the variance and the squared lag of SOGram in the long run.

«shown»

(a) Which of these rates has the least mean square error, and what is it? (b) Explain both columns' direction. (c)
Use $\alpha^*\approx(2\delta/\sigma)^{2/3}$: what happens to the best rate if the training moves eight times as
fast? (d) And if batches are eight times as large? (The variance of a batch's Gramian goes like one over its size.)""",
        r"""(a) The sum is least at $\alpha=«best»$, with «error:.4f». (b) A larger rate averages over fewer
batches, so the variance rises; the average is younger, so the lag falls. (c) $8^{2/3}=4$: four times as large. (d)
$\sigma$ falls by $\sqrt8$, so the best rate doubles.""",
        (
            (2, "(a) the sum of the columns, $\\alpha=«best»$"),
            (1, "(b) both directions"),
            (1, "(c) four times"),
            (1, "(d) twice"),
        ),
        {"delta": delta, "shown": table([r"$\alpha$", "variance", "squared lag"], rows)},
        {"best": rates[best], "error": errors[best]},
    )


SAID = (
    (
        """Our penalty on all pairs logs a value twice as large as the mean squared score that we compute offline, at
$\\lambda=«n»$. There must be a bug, so we halve the term.""",
        r"""The estimated term has two parts, one for each factor of the product rule. Its value is $2g$ on
average, its gradient $\nabla g$. Halving the term halves the gradient, that is, $\lambda$.""",
    ),
    (
        """The Gramian of a batch of «batch» is right on average. So we take it from the batch of the gradient and
save one pass over the towers.""",
        r"""Right on average is one condition, independent of the examples is another. With one batch for both, a
share $1/b$ of the gravity falls on the observed pairs.""",
    ),
    (
        """We sum the outer products over the batch of «batch», since a sum and a mean differ only by a constant,
which Adam does not feel.""",
        r"""The constant multiplies the gravity term alone, not the whole loss. The estimate is multiplied by the
batch size, so $\lambda$ acts like $b\lambda$, and Adam feels the new balance.""",
    ),
)


@EXAM.asks(Kind.REPLY, "An engineer on the penalty")
def reply(rng: Generator) -> Question:
    case = int(rng.integers(len(SAID)))
    said, core = SAID[case]
    return Question(
        f"""An engineer says: "{said}" What do you reply? Say what is right, what is wrong, and how to check the
gradient. At most 150 words.""",
        f"""{core} A check: on a small data set in double precision compute the gradient of the exact gravity by
autograd, average the estimated gradient over all batches (or over many), and compare direction and length. Do it
for gravity alone, without the loss of the observed pairs.""",
        (
            (1, "what is right"),
            (3, "what is wrong: " + core),
            (2, "a check of the mean gradient, with what is compared"),
        ),
        {"n": whole(rng, 2, 20), "batch": 2 ** whole(rng, 4, 10), "case": case},
    )
