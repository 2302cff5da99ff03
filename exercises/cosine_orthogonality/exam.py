"""Exam questions on cosine gradients."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.random import Generator

from course_lib import geometry, losses
from exercises.engine.asking import Exam, Kind, Question, judged, mixed, rational, table
from exercises.engine.variants import pick, whole

EXAM = Exam("cosine-orthogonality")
TRIPLES = ((3, 4), (4, 3), (5, 12), (12, 5), (8, 15), (15, 8))
QUADRUPLES = ((1, 2, 2, 3), (2, 3, 6, 7), (1, 4, 8, 9), (4, 4, 7, 9), (2, 6, 9, 11), (6, 6, 7, 11), (3, 4, 12, 13))


@EXAM.asks(Kind.CALCULATION, "A gradient by hand")
def gradient(rng: Generator) -> Question | None:
    q, k = np.array(pick(rng, *TRIPLES)), np.array(pick(rng, *TRIPLES[:2])) * [1, pick(rng, 1, -1)] * whole(rng, 1, 3)
    found = geometry.cosine_gradient(q, k)
    if not found.any():
        return None
    return Question(
        r"""Let $q=«q»$ and $k=«k»$. Compute $\cos(q,k)$ and $\nabla_q\cos(q,k)$ as fractions. What angle do
the gradient and $q$ make?""",
        r"""The lengths are $\|q\|=«length»$ and $\|k\|=«other»$, so $\cos(q,k)=«cosine»$. The gradient is
$\frac1{\|q\|}\big(\hat k-\cos(q,k)\,\hat q\big)=«gradient»$. Its inner product with $q$ is 0, so they stand at a
right angle.""",
        (
            (1, r"the cosine, $«cosine»$"),
            (2, r"the gradient, $«gradient»$ (1 for a right formula with a slip in the numbers)"),
            (1, "the right angle, from the inner product 0"),
        ),
        {"q": q.tolist(), "k": k.tolist()},
        {
            "length": rational(geometry.norm(q)),
            "other": rational(geometry.norm(k)),
            "cosine": rational(geometry.cosine(q, k)),
            "gradient": rational(found, denominator=100_000),
        },
    )


@EXAM.asks(Kind.CALCULATION, "Two steps and the length")
def two_steps(rng: Generator) -> Question:
    *legs, _ = pick(rng, *QUADRUPLES)
    start, first, second = mixed(rng, legs)
    rate = pick(rng, Fraction(1, 2), Fraction(1, 4), Fraction(2), Fraction(4))
    after = geometry.norm([start, first]), geometry.norm([start, first, second])
    return Question(
        r"""A free vector $q$ of length «start» is trained by plain gradient descent with the rate $\eta=«rate»$ on
a loss of cosines. At the first step the gradient has the length «slope». The second step has the length «second».

(a) How long is $q$ after the first step, and after the second? (b) Would the final length be another one if the
first step had had the length of the second, and the second that of the first?""",
        r"""(a) The first step has the length $«rate»\cdot«slope»=«first»$. Each step is perpendicular to the
vector before it, so $\|q_1\|^2=«start»^2+«first»^2=«one»$ and $\|q_2\|^2=«one»+«second»^2=«two»$. The lengths are
$\sqrt{«one»}$ and «final». (b) No: the squares of the lengths of the steps add up in any order.""",
        (
            (1, "the length of the first step, $«first»$"),
            (1, r"the length after it, $\sqrt{«one»}$"),
            (1, "the length after both, «final»"),
            (1, "(b) no, because squares add up"),
        ),
        {"start": start, "rate": rate, "slope": first / rate, "second": second},
        {
            "first": first,
            "one": rational(after[0] ** 2),
            "two": rational(after[1] ** 2),
            "final": rational(after[1]),
        },
    )


@EXAM.asks(Kind.CALCULATION, "How far a step turns")
def turn(rng: Generator) -> Question:
    r, degrees = whole(rng, 1, 4), pick(rng, 30, 90, 150)
    slope = pick(rng, Fraction(1, 3), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(3))
    rate = slope * r * r * (1 if degrees == 90 else 2)
    q, k = np.array([r, 0.0]), np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])
    new = q + float(rate) * geometry.cosine_gradient(q, k)
    return Question(
        r"""A free vector $q$ has the length «r». The angle between $q$ and a fixed vector $k$ is
$«degrees»^\circ$. One step of gradient descent with the rate $\eta=«rate»$ raises $\cos(q,k)$. Through which angle
does the step turn $q$? How long is $q$ afterwards? You may leave an arc tangent and a root.""",
        r"""The gradient has the length $\sin(«degrees»^\circ)/«r»$, so the step has the length $«step»$. It stands
at a right angle to $q$, so the angle is $\arctan\frac{«step»}{«r»}=\arctan «slope»$, which is $«angle:.1f»^\circ$.
The length is $«r»\sqrt{1+(«slope»)^2}=«longer:.2f»$.""",
        (
            (1, r"the length of the gradient, $|\sin|/\|q\|$"),
            (2, r"the angle, $\arctan «slope»$ or $«angle:.1f»^\circ$"),
            (1, "the length, $«longer:.2f»$"),
        ),
        {"r": r, "degrees": degrees, "rate": rate},
        {
            "slope": slope,
            "step": rational(geometry.norm(new - q)),
            "angle": float(geometry.angle_degrees(q, new)),
            "longer": float(geometry.norm(new)),
        },
    )


BLIND = (
    (
        r"$L(q)=(1-\cos(q,k))^{«n»}$ with $k\neq0$",
        True,
        "It is a function of a cosine, so it does not change along rays.",
    ),
    (
        r"$L(q)=\ln\big(1+e^{-«n»\langle q,k\rangle}\big)$ with $k\neq0$",
        False,
        r"At $q=k=(1,0)$ the inner product of $q$ and the gradient is $-\frac{«n»}{1+e^{«n»}}<0$.",
    ),
    (
        r"$L(q)=\cos(q,k)+\frac1{«n»}\|q\|^2$ with $k\neq0$",
        False,
        r"The second term adds $\frac2{«n»}\|q\|^2>0$ to $\langle q,\nabla L\rangle$.",
    ),
    (
        r"$L(q)=\frac{\langle q,Mq\rangle}{\|q\|^2}$ with $M=\begin{pmatrix}1&0\\0&«n»\end{pmatrix}$",
        True,
        "Numerator and denominator both gain the factor $c^2$ along a ray. No cosine need be seen in the formula.",
    ),
    (
        r"$L(q)=\cos(q,k)$ with $k=q+y$, where $y=(«n»,0)$ is fixed and the gradient goes through $k$ too,",
        False,
        r"""At $q=(0,1)$ the loss is $1/\sqrt{1+«n»^2}$. It grows when $q$ gets longer, since $k$ turns towards $q$.""",
    ),
)


@EXAM.asks(Kind.TRUE_OR_FALSE, "Tangent everywhere")
def tangent(rng: Generator) -> Question:
    case = int(rng.integers(len(BLIND)))
    loss, truth, why = BLIND[case]
    return Question(
        rf"""Training moves the coordinates of $q\neq0$ themselves. True or false: the gradient of {loss} is
perpendicular to $q$ at every $q\neq0$ at which the loss is differentiable. Give a reason if true, a counterexample
with numbers if false.""",
        rf"""**«verdict»** {why} A gradient is perpendicular to $q$ everywhere if and only if the function is
constant on rays.""",
        ((1, "the verdict: «verdict»"), (2, "the reason by rays, or a counterexample with its numbers")),
        {"n": whole(rng, 2, 6), "case": case},
        {**judged(truth)},
    )


SHORTER = (
    (
        "a step that pushes $q$ away from $k$ instead of towards it",
        False,
        "The step is perpendicular to $q$ all the same.",
    ),
    ("a step with a rate $100$ times as large", False, "Pythagoras holds for every rate."),
    (
        r"a step that also has weight decay, $\Delta q=\eta\,(\nabla_q\cos(q,k)-\frac12q)$,",
        True,
        "Decay has the inward part $-\\frac12\\eta q$.",
    ),
    (
        r"a step on the dot product, $\Delta q=-\eta k$,",
        True,
        "The step has an inward part, as $\\langle q,k\\rangle>0$.",
    ),
)


@EXAM.asks(Kind.TRUE_OR_FALSE, "Can this step shorten the vector?")
def shorter(rng: Generator) -> Question:
    case = int(rng.integers(len(SHORTER)))
    change, truth, why = SHORTER[case]
    (a, b), rate = pick(rng, *TRIPLES[:2]), pick(rng, Fraction(1, 2), 1)
    q, k = np.array([a, b]), np.array([1.0, 0.0])
    slope = geometry.cosine_gradient(q, k)
    factor = float(rate)
    step = (-factor * slope, 100 * factor * slope, factor * (slope - q / 2), -factor * k)[case]
    return Question(
        rf"""Let $q=«q»$, $k=(1,0)$ and $\eta=«rate»$. Plain gradient descent that raises $\cos(q,k)$ takes the
step $\Delta q=\eta\nabla_q\cos(q,k)$. True or false: {change} makes this $q$ shorter. Decide by a calculation or by a
theorem.""",
        rf"""**«verdict»** {why} The squared length goes from $«before»$ to $«after:.6g»$.""",
        ((1, "the verdict: «verdict»"), (2, "a calculation of the new length, or the right angle named as the reason")),
        {"q": q.tolist(), "rate": rate, "case": case},
        {
            **judged(truth),
            "before": int(q @ q),
            "after": float(((q + step) ** 2).sum()),
        },
    )


@EXAM.asks(Kind.PROOF, "A function with a degree")
def degree(rng: Generator) -> Question | None:
    m, q, k = whole(rng, 2, 4), rng.integers(-3, 4, 3), rng.integers(-2, 3, 3)
    score = int(losses.dot_scores([q], [k])[0, 0])
    if score in (0, 1, -1):
        return None
    return Question(
        r"""Let $f$ be differentiable at every $q\neq0$, and let $f(cq)=c^{«m»}f(q)$ for all $c>0$.

(a) Prove that $\langle q,\nabla f(q)\rangle=«m»f(q)$. (b) Use (a), and no gradient, to find $\langle q,\nabla
f(q)\rangle$ for $f(q)=\langle q,k\rangle^{«m»}$ at $q=«q»$, $k=«k»$. (c) For which exponent in place of «m» is the
gradient perpendicular to $q$ everywhere, whatever $f$ is? Name a loss of this kind.""",
        r"""(a) Differentiate $f(cq)=c^{«m»}f(q)$ with respect to $c$ at $c=1$. The left side gives $\langle
q,\nabla f(q)\rangle$ by the chain rule, the right side «m»$f(q)$. (b) $\langle q,k\rangle=«score»$, so the inner
product is $«m»\cdot(«score»)^{«m»}=«value»$. (c) For the exponent 0, that is for functions that are constant on
rays: any function of cosines, such as InfoNCE on cosines.""",
        (
            (1, "(a) differentiates with respect to $c$"),
            (2, "(a) chain rule on the left, power on the right, $c=1$"),
            (1, "(b) $«value»$"),
            (1, "(c) exponent 0"),
            (1, "(c) a loss of cosines"),
        ),
        {"m": m, "q": q.tolist(), "k": k.tolist()},
        {"score": score, "value": m * score**m},
    )


@EXAM.asks(Kind.PROOF, "A bias inside the cosine")
def bias(rng: Generator) -> Question | None:
    q, w, k = (rng.integers(-3, 4, 2) for _ in range(3))
    if not (q.any() and k.any() and (q + w).any() and w.any()):
        return None
    slope = geometry.cosine_gradient(q + w, k)
    value = float(q @ slope)
    if abs(value) < 0.02:
        return None
    return Question(
        r"""The score is $f(q)=\cos(q+w,k)$ with fixed vectors $w\neq0$ and $k\neq0$.

(a) Prove that $\langle q,\nabla f(q)\rangle=-\langle w,\nabla f(q)\rangle$ wherever $q+w\neq0$. (b) Let $q=«q»$,
$w=«w»$, $k=«k»$. Does a small step of gradient descent that raises $f$ make $q$ longer or shorter? (c) A colleague
adds the bias outside instead, $\cos(q,k)+b$ with a number $b$. What changes?""",
        r"""(a) As a function of $p=q+w$ the score is a cosine, so its gradient is perpendicular to $p$: $0=\langle
q+w,\nabla f\rangle$. (b) $\nabla f=«slope:.3f»$, so $\langle q,\nabla f\rangle=«value:.3f»$. The step $\eta\nabla
f$ changes $\|q\|^2$ by $2\eta\cdot(«value:.3f»)$ to first order: $q$ becomes «outcome». (c) A number outside does
not enter the direction of the gradient. The score is a function of a cosine of $q$ again, so the gradient is
perpendicular to $q$.""",
        (
            (2, "(a) the gradient is perpendicular to $q+w$, with the reason"),
            (2, "(b) the sign of $\\langle q,\\nabla f\\rangle$, by a calculation"),
            (1, "(b) «outcome»"),
            (1, "(c) perpendicular to $q$ again"),
        ),
        {"q": q.tolist(), "w": w.tolist(), "k": k.tolist()},
        {"slope": slope.tolist(), "value": value, "outcome": "longer" if value > 0 else "shorter"},
    )


@EXAM.asks(Kind.READING, "Three optimisers")
def optimisers(rng: Generator) -> Question:
    labels = mixed(rng, ("plain gradient descent", "momentum", "weight decay"))
    start, keys = rng.normal(size=8), rng.normal(size=(5, 8))
    runs = {label: outward(start, keys, label) for label in labels}
    rows = [(name, *(f"{value:+.2f}" for value in runs[label])) for name, label in zip("ABC", labels, strict=True)]
    return Question(
        """One free vector was trained three times on the same loss of cosines, at the same rate: once by plain gradient
descent, once with momentum, once with weight decay. The table has the cosine between the vector and its step.

«shown»

Which run is which? Which runs can have made the vector shorter at one of these steps? Give a reason for each.""",
        """«order». Under plain gradient descent each step is perpendicular to the vector, so all entries are 0.
Weight decay adds a part along $-q$, so each entry is negative. The first step with momentum is plain; later steps
repeat old ones, which by then point outwards. Only weight decay can shorten the vector: a step that is perpendicular
or points outwards makes it longer.""",
        (
            (3, "«order»: 1 for each run with its reason"),
            (1, "weight decay alone can shorten"),
            (1, "why the others cannot: the squared length grows by $2\\langle q,\\Delta q\\rangle+\\|\\Delta q\\|^2$"),
        ),
        {
            "shown": table(["run", *(f"step {n}" for n in range(1, 6))], rows),
            "start": start.tolist(),
            "keys": keys.tolist(),
        },
        {"order": ", ".join(f"{name}: {label}" for name, label in zip("ABC", labels, strict=True))},
    )


def outward(start: np.ndarray, keys: np.ndarray, label: str) -> list[float]:
    """The cosine between the vector and its step, for each key in turn."""
    q, memory, found = start, np.zeros_like(start), []
    for key in keys:
        slope = geometry.cosine_gradient(q, key) - (0.2 * q if label == "weight decay" else 0)
        memory = slope + (0.9 * memory if label == "momentum" else 0)
        step = 2 * memory
        found.append(float(geometry.cosine(q, step)) + 0.0)
        q = q + step
    return [0.0 if abs(value) < 1e-9 else value for value in found]


@EXAM.asks(Kind.READING, "Gradients of four films")
def films(rng: Generator) -> Question | None:
    lengths, angles = rng.choice([1, 2, 3, 4, 5, 6], 4, replace=False), rng.choice([30, 90, 150, 180], 4)
    q = np.array([[length, 0.0] for length in lengths])
    k = np.array([[np.cos(np.radians(angle)), np.sin(np.radians(angle))] for angle in angles])
    k[angles == 180] = [-1.0, 0.0]
    slopes = geometry.norm(geometry.cosine_gradient(q, k))
    moved = slopes / lengths  # the turn at the rate 1, before the arc tangent
    if (angles == 180).sum() != 1 or len(set(np.round(moved, 6))) < 4:
        return None
    rows = [(name, f"{angle}°", f"{slope:.3f}") for name, angle, slope in zip("ABCD", angles, slopes, strict=True)]
    stuck = int(np.argmax(angles == 180))
    return Question(
        r"""The loss of each of four films is $-\cos(q,k)$ with a key $k$ of its own. The table has the angle
between film and key, and the length of the gradient.

«shown»

(a) Find the lengths of the films, where the table tells them. (b) All take one step with the same rate. Which film
turns through the largest angle? (c) One film does not move, although its cosine is as low as it can be. Which one,
and would you expect it to stay there in a real training?""",
        r"""(a) $\|\nabla\|=\sin\varphi/\|q\|$ gives $\|q\|=\sin\varphi/\|\nabla\|$: «told». At $180^\circ$ the
gradient is 0 for every length. (b) The turn is $\arctan(\eta\|\nabla\|/\|q\|)$, largest for film «most». (c) Film
«stuck» points away from its key, where the gradient is 0. Any other key in a batch, or rounding, moves it off this
line, and then the gradient turns it towards the key.""",
        (
            (2, "(a) the formula and the lengths: «told»"),
            (1, "(b) film «most», with the second division by the length"),
            (1, "(c) film «stuck»"),
            (1, "(c) the place is not stable"),
        ),
        {"shown": table(["film", "angle", "length of the gradient"], rows)},
        {
            "told": ", ".join(
                f"{name} {length}" for name, length, angle in zip("ABCD", lengths, angles, strict=True) if angle < 180
            ),
            "most": "ABCD"[int(np.argmax(moved))],
            "stuck": "ABCD"[stuck],
        },
    )


SAID = (
    (
        """We normalise every vector before the score, so lengths cannot matter in our model. After «n» epochs some
films have vectors «ratio» times as long as others. That must be a bug in the optimiser.""",
        "The score ignores the length. Training does not: a tangent step makes the vector longer.",
    ),
    (
        """After «n» epochs our films' vectors are up to «ratio» times as long as at the start. So the loss must reward
long vectors, and we should add a penalty on the length to the loss.""",
        "The loss is constant along rays and rewards no length. The growth comes from finite perpendicular steps.",
    ),
    (
        """Our vectors grew by a factor of «ratio» in «n» epochs. With a rate a hundred times smaller and a hundred
times as many steps they will grow just as much, since the path is the same.""",
        """The growth adds up squares of steps. A hundred steps, each a hundredth as long, add a hundredth of the
squared length. Lengths are a matter of finite steps.""",
    ),
)


@EXAM.asks(Kind.REPLY, "An engineer on lengths")
def reply(rng: Generator) -> Question:
    case = int(rng.integers(len(SAID)))
    said, core = SAID[case]
    return Question(
        f"""The model has cosine scores, free item vectors and plain gradient descent. An engineer says: "{said}"
What do you reply? Say what is right, what is wrong, and name one measurement that would convince the engineer. At
most 150 words.""",
        f"""{core} Right is what was measured: under plain gradient descent the length of a free vector never
falls. The growth is Pythagoras, $\\|q'\\|^2=\\|q\\|^2+\\|\\Delta q\\|^2$. A measurement: record the cosine between
each vector and its step, which is 0 up to rounding, and compare $\\|q_T\\|^2$ with $\\|q_0\\|^2+\\sum\\|\\Delta
q_t\\|^2$. Or train again with a rate ten times smaller, for as long in rate times steps, and see the growth
shrink.""",
        (
            (1, "what is right"),
            (2, "what is wrong, with the reason: " + core),
            (1, "Pythagoras or the right angle stated for a free vector and plain gradient descent"),
            (2, "a measurement that could come out against the writer of the answer"),
        ),
        {"n": whole(rng, 5, 40), "ratio": whole(rng, 3, 9), "case": case},
    )
