"""Exam questions on gauges and cosines."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.random import Generator

from course_lib import gauge, geometry
from course_lib.arrays import exact
from exercises.engine.asking import Exam, Kind, Question, judged, mixed, rational, table
from exercises.engine.variants import pick, whole

EXAM = Exam("gauge-freedom")


@EXAM.asks(Kind.CALCULATION, "Two films at a right angle")
def right_angle(rng: Generator) -> Question:
    stretch, (x, y) = whole(rng, 2, 4), (whole(rng, 1, 4), whole(rng, 1, 4))
    b1, b2 = [stretch * x, y], [stretch * y, -x]
    person = [whole(rng, 1, 3), whole(rng, -3, 3, but=(0,))]
    A, B = gauge.apply_gauge([person], np.array([b1, b2], dtype=float), [stretch, 1.0])
    return Question(
        r"""Two films have the vectors $b_1=«b1»$ and $b_2=«b2»$, a person has $a=«person»$. The score is the inner
product.

(a) Find a diagonal gauge $D=\mathrm{diag}(d,1)$ with $d>0$, which takes $a$ to $aD$ and $b$ to $bD^{-1}$, so that
the two films stand at a right angle. (b) Write down the new vectors and check that both scores are what they were.
(c) What was the sign of the cosine of the two films before?""",
        r"""(a) $\frac{«b1x»\cdot«b2x»}{d^2}+«b1y»\cdot(«b2y»)=0$ gives $d=«stretch»$. (b) $b_1D^{-1}=«new1»$,
$b_2D^{-1}=«new2»$, $aD=«new_a»$. The scores are $«s1»$ and $«s2»$, before and after. (c) The inner product was
$«inner»$, so the cosine was positive.""",
        ((2, "(a) $d=«stretch»$"), (1, "(b) the new vectors and both scores, $«s1»$ and $«s2»$"), (1, "(c) positive")),
        {"b1": b1, "b2": b2, "person": person, "b1x": b1[0], "b2x": b2[0], "b1y": b1[1], "b2y": b2[1]},
        {
            "stretch": stretch,
            "new1": rational(B[0]),
            "new2": rational(B[1]),
            "new_a": rational(A[0]),
            "s1": rational((A @ B.T)[0, 0]),
            "s2": rational((A @ B.T)[0, 1]),
            "inner": int(np.dot(b1, b2)),
            "after": rational(geometry.cosine(B[0], B[1])),
        },
    )


@EXAM.asks(Kind.CALCULATION, "Gauges that keep lengths")
def count(rng: Generator) -> Question | None:
    rows = rng.integers(-1, 2, (3, 3))
    if not rows.any(axis=1).all() or np.linalg.matrix_rank(rows) < 3:
        return None
    A = exact(rows)
    diagonal, linear = gauge.diagonal_gauge_dimension(A), gauge.linear_gauge_dimension(A)
    if diagonal == 0:
        return None
    return Question(
        r"""The table of the films has the rows $«rows»$. A gauge may change the table only if every row keeps its
length. How many dimensions does the set of allowed positive diagonal gauges have? And the set of all allowed
$S=RR^\top$? Name the rule that you use, and an allowed diagonal gauge other than the identity, if there is one.""",
        r"""Diagonal gauges: $k-\mathrm{rank}(A\circ A)=3-«rank»=«diagonal»$. All gauges: $\frac{k(k+1)}2$ minus
the dimension of the span of the $aa^\top$, $6-«span»=«linear»$. An allowed diagonal gauge: $d\circ d=1+t\,\delta$
with a small $t$ and $\delta=«delta»$, since $(A\circ A)\,\delta=0$.""",
        (
            (1, "diagonal: $«diagonal»$, with the rank of the squares"),
            (2, "all: $«linear»$, with the outer products"),
            (1, "a diagonal gauge, for example from $\\delta=«delta»$"),
        ),
        {"rows": rows.tolist()},
        {
            "rank": 3 - diagonal,
            "diagonal": diagonal,
            "span": 6 - linear,
            "linear": linear,
            "delta": [rational(float(entry)) for entry in gauge.gauge_directions(A)[:, 0]],
        },
    )


@EXAM.asks(Kind.CALCULATION, "The least sum of squares")
def decay(rng: Generator) -> Question | None:
    d = np.array([pick(rng, 1, 2, 3), pick(rng, 1, 2, 3)])
    a, sizes = np.array([whole(rng, 1, 3), whole(rng, 1, 3)]), np.array([[1, 1], [1, -1]])
    A, B = sizes * a, sizes * a * d**2
    if (d == 1).all():
        return None
    even_A, even_B = gauge.balance_tables(A.astype(float), B.astype(float))
    return Question(
        r"""The tables are $A=«A»$ for two people and $B=«B»$ for two films. Consider the sum
$\|AD\|^2+\|BD^{-1}\|^2$, where $D$ is a diagonal gauge with positive entries, and $\|\cdot\|^2$ is the sum of the
squared entries.

(a) Which $D$ makes it least? (b) What is the least value? (c) Are the two tables balanced now, $A'^\top A'=B'^\top
B'$?""",
        r"""(a) On axis $l$ the sum is $d_l^2\|A_l\|^2+\|B_l\|^2/d_l^2$ with the columns $A_l$ and $B_l$, least at
$d_l^2=\|B_l\|/\|A_l\|$: $D=\mathrm{diag}«d»$. (b) $2\sum_l\|A_l\|\|B_l\|=«least»$. (c) Yes: the columns of each
table are orthogonal here, and both tables now have columns of the same length.""",
        ((2, "(a) $D=\\mathrm{diag}«d»$"), (1, "(b) $«least»$"), (1, "(c) yes, by the columns")),
        {"A": A.tolist(), "B": B.tolist()},
        {"d": d.tolist(), "least": rational(np.round((even_A**2).sum() + (even_B**2).sum(), 9))},
    )


def maps(a: int, b: int) -> list[tuple[list[list[int]], bool]]:
    """Matrices, and whether each leaves all cosines alone."""
    return [
        ([[a, -b], [b, a]], True),
        ([[a, b], [b, -a]], True),
        ([[-a, 0], [0, a]], True),
        ([[a, 0], [b, a]], False),
        ([[a, b], [0, a]], False),
        ([[a, b], [b, a]], False),
    ]


@EXAM.asks(Kind.TRUE_OR_FALSE, "A map that no cosine feels")
def felt(rng: Generator) -> Question:
    a, b = whole(rng, 1, 4), whole(rng, 1, 4)
    if a == b:
        b += 1
    M, truth = pick(rng, *maps(a, b))
    matrix = np.array(M, dtype=float)
    pairs = np.array([[[1, 0], [0, 1]], [[1, 1], [1, -1]]], dtype=float)
    cosines = [float(geometry.cosine(matrix @ x, matrix @ y)) for x, y in pairs]
    return Question(
        r"""The vectors of all films are written as columns and multiplied by $M=«M»$. True or false: no cosine of
two films changes. If false, give two films whose cosine does change.""",
        r"""**«verdict»** $M^\top M=«square»$, and a matrix keeps all cosines if and only if $M^\top M$ is a
multiple of the identity. The right angle of $(1,0)$ and $(0,1)$ gets the cosine «first:.2f», that of $(1,1)$ and
$(1,-1)$ the cosine «second:.2f».""",
        ((1, "the verdict: «verdict»"), (2, "$M^\\top M$, or two films with both cosines")),
        {"M": M},
        {
            **judged(truth),
            "square": rational(matrix.T @ matrix),
            "first": cosines[0] + 0.0,
            "second": cosines[1] + 0.0,
        },
    )


@EXAM.asks(Kind.TRUE_OR_FALSE, "Unit length fixes the axes")
def sphere(rng: Generator) -> Question:
    tables = (
        ([[1, 0], [0, 1]], "the two axes"),
        ([[3, 4], [4, 3]], "$(3,4)/5$ and $(4,3)/5$"),
        ([[3, 4], [-3, 4]], "$(3,4)/5$ and $(-3,4)/5$"),
        ([[5, 12], [12, -5]], "$(5,12)/13$ and $(12,-5)/13$"),
        ([[5, 12], [5, -12]], "$(5,12)/13$ and $(5,-12)/13$"),
        ([[1, 1], [1, -1]], "$(1,1)/\\sqrt2$ and $(1,-1)/\\sqrt2$"),
    )
    rows, words = pick(rng, *tables)
    left = gauge.diagonal_gauge_dimension(exact(np.array(rows)))
    return Question(
        f"""A table has two rows, {words}. True or false: the only diagonal gauges that keep both rows at length 1
are the four changes of sign, $\\mathrm{{diag}}(\\pm1,\\pm1)$.""",
        r"""**«verdict»** $D$ keeps the lengths if and only if $(A\circ A)(d\circ d-\mathbf1)=0$. The table of the
squares, up to a factor $«squares»$, has rank $«rank»$ of 2, so a set of «left» dimension(s) is left beside the
signs.""",
        ((1, "the verdict: «verdict»"), (2, "the rank of the table of squares, or an explicit $D$")),
        {"rows": rows, "words": words},
        {
            **judged(left == 0),
            "squares": (np.array(rows) ** 2).tolist(),
            "rank": 2 - left,
            "left": left,
        },
    )


@EXAM.asks(Kind.PROOF, "A similarity that no gauge changes")
def similarity(rng: Generator) -> Question | None:
    A, b1, b2 = rng.integers(-2, 3, (2, 2)), rng.integers(-2, 3, 2), rng.integers(-2, 3, 2)
    weights = pick(rng, (1, 1), (1, 2), (3, 1))
    heavy = A * np.sqrt(weights)[:, None]
    product = b1 @ (heavy.T @ heavy) @ b2
    rows = gauge.score_rows(heavy, np.array([b1, b2], dtype=float)) if np.linalg.matrix_rank(A) == 2 else None
    if rows is None or not b1.any() or not b2.any() or not round(float(product)):
        return None
    return Question(
        r"""The table of the people is $A$, a diagonal matrix $W$ gives each person a positive weight, and $b_i$ is
the vector of film $i$ as a column. A gauge takes $A$ to $AR$ and $b_i$ to $R^{-1}b_i$.

(a) Prove that $b_i^\top(A^\top WA)\,b_j$ is the same in every gauge. (b) Which numbers does it compare, in words?
(c) Compute it for $A=«A»$, $W=\mathrm{diag}«weights»$, $b_1=«b1»$, $b_2=«b2»$, once by the formula and once from
the scores. (d) Is $b_i^\top b_j$ the same in every gauge?""",
        r"""(a) $A^\top WA$ becomes $R^\top A^\top WAR$, and between $R^{-1}$ and its transpose each $R$ cancels.
(b) The scores that the people give to the two films, as a weighted inner product of two columns. (c) The columns
are $«s1»$ and $«s2»$, so it is $«product»$. (d) No: it becomes $b_i^\top(RR^\top)^{-1}b_j$.""",
        (
            (2, "(a) the cancellation, with $W$ untouched"),
            (1, "(b) columns of scores"),
            (2, "(c) $«product»$, both ways"),
            (1, "(d) no, with the formula or an example"),
        ),
        {"A": A.tolist(), "weights": list(weights), "b1": b1.tolist(), "b2": b2.tolist()},
        {
            "s1": (A @ b1).tolist(),
            "s2": (A @ b2).tolist(),
            "product": rational(np.round(product, 9)),
            "again": rational(np.round(rows[0] @ rows[1], 9)),
        },
    )


@EXAM.asks(Kind.PROOF, "Stretches of the axes")
def every_other(rng: Generator) -> Question:
    d = pick(rng, (2, 1), (3, 1), (1, 2), (3, 2), (1, 3))
    M = np.diag([float(entry) for entry in d])
    after = geometry.cosine(M @ [1.0, 1.0], M @ [1.0, -1.0])
    factor = pick(rng, 2, 3, 5)
    return Question(
        r"""A diagonal matrix $M=\mathrm{diag}(m_1,\dots,m_k)$ without zeros changes all films' vectors.

(a) Find the cosine of $e_1+e_2$ and $e_1-e_2$ before and after, as a formula and for $m_1=«m1»$, $m_2=«m2»$. (b) For
which $M$ does no cosine of two films change? Prove your answer in both directions. (c) Which gauges $R=«factor»Q$
with an orthogonal $Q$ change a cosine of two films, and which change one of two people? Remember $R^{-\top}$.""",
        r"""(a) The two vectors stand at a right angle. Afterwards their inner product is $m_1^2-m_2^2$ and
both have the squared length $m_1^2+m_2^2$, so the cosine is $\frac{m_1^2-m_2^2}{m_1^2+m_2^2}=«after»$. (b)
Where all $|m_l|$ are equal: then $M=c\,\mathrm{diag}(\pm1)$, so $M^\top M=c^2I$ and $c$ cancels. Where two of them
differ,
(a) with these two axes gives films whose cosine changes. (c) None: $R^{-\top}=\frac1{«factor»}Q$ is a
multiple of an orthogonal matrix as well.""",
        (
            (2, "(a) the new inner product and lengths"),
            (1, "(a) $«after»$"),
            (2, "(b) all $|m_l|$ equal: $M^\\top M=c^2I$ one way, (a) the other way"),
            (1, "(c) none, on either side"),
        ),
        {"m1": d[0], "m2": d[1], "factor": factor},
        {"after": rational(after)},
    )


@EXAM.asks(Kind.READING, "Two tables of cosines")
def tables(rng: Generator) -> Question | None:
    A, B = rng.normal(size=(30, 2)), rng.normal(size=(4, 2))
    _, new_B = gauge.apply_gauge(A, B, np.array([pick(rng, 3.0, 4.0), 0.5]))
    looks = {"model 1": B, "model 2": new_B, "predictions": gauge.score_rows(A, B)}
    pairs = list(combinations(range(4), 2))
    cosines = {name: [float(geometry.cosine(rows[i], rows[j])) for i, j in pairs] for name, rows in looks.items()}
    nearest = {name: int(gauge.neighbours(rows, 1)[0, 0]) for name, rows in looks.items()}
    close = any(abs(np.diff(sorted(values[:3])[-2:])[0]) < 0.03 for values in cosines.values())
    if nearest["model 1"] == nearest["model 2"] or close:
        return None
    shown = table(
        ["films", "cosine in model 1", "cosine in model 2", "cosine of the columns of scores in model 1"],
        [
            ("-".join("PQRS"[place] for place in pair), *(f"{cosines[name][at]:.2f}" for name in looks))
            for at, pair in enumerate(pairs)
        ],
    )
    return Question(
        """Two models have the same score for every person and every film. The table compares the films P, Q, R and S.

«shown»

(a) Which film is nearest to P in each model? (b) What can you say about the last column for model 2? (c) A page shows
"films like P". Which of the three columns would you use, and what would a training have to do to the gauge for the
first column to mean something?""",
        """(a) «first» in model 1, «second» in model 2. (b) It is the same in both models, because the scores are
the same: there «third» is nearest. (c) The last column, since no gauge changes it. The first means something if
the training fixes the gauge up to turns and mirrors, as weight decay does, or unit length during training with enough
rows.""",
        (
            (1, "(a) «first» and «second»"),
            (2, "(b) the same, with the reason"),
            (1, "(c) the last column"),
            (1, "(c) fix it up to turns and mirrors, or a training that does this"),
        ),
        {"shown": shown},
        {f"{place}": "PQRS"[nearest[name]] for place, name in zip(("first", "second", "third"), looks, strict=True)},
    )


@EXAM.asks(Kind.READING, "Four changes and the neighbours")
def changes(rng: Generator) -> Question | None:
    B = rng.normal(size=(40, 6))
    turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    looks = {
        "a rotation": B @ turn,
        "a division of each row by its length": geometry.normalise(B),
        "a small random stretch of the axes": B * np.exp(0.3 * rng.normal(size=6)),
        "a large random stretch of the axes": B * np.exp(2.0 * rng.normal(size=6)),
    }
    before = gauge.neighbours(B, 5)
    kept = {
        name: 100 * gauge.neighbour_overlap(before, gauge.neighbours(rows, 5)).mean() for name, rows in looks.items()
    }
    little, much = kept["a small random stretch of the axes"], kept["a large random stretch of the axes"]
    if little - much < 15 or little > 97:
        return None
    labels = mixed(rng, list(looks))
    rows = [(name, f"{kept[label]:.0f} %") for name, label in zip("ABCD", labels, strict=True)]
    place = dict(zip(labels, "ABCD", strict=True))
    alike = sorted((place["a rotation"], place["a division of each row by its length"]))
    return Question(
        """A table of 40 films is changed in four ways, A to D: by a rotation, by a division of each row by its
length, by a small random stretch of the axes, and by a large one. For each, the table has the share of a film's five
nearest films by cosine that stay.

«shown»

(a) Name the changes as far as the table allows, with a reason for each. (b) For which of them can the table of the
people be changed so that every score stays as it was? (c) Two lists of five of 39 films at random share how
many films on average?""",
        """(a) «alike» are the rotation and the division, which no cosine feels; the table cannot tell them apart.
«little» is the small stretch, «much» the large one. (b) For the rotation and both stretches: the people's table takes
the inverse (transposed). The division has a factor of its own for each row and changes scores. (c) Each of the five is
in the other list with probability 5/39, so $25/39\\approx0.64$ films.""",
        (
            (2, "(a) «alike» cannot be told apart; «little» small, «much» large"),
            (2, "(b) rotation and stretches; not the division"),
            (1, "(c) 25/39"),
        ),
        {"shown": table(["change", "neighbours that stay"], rows)},
        {
            "alike": " and ".join(alike),
            "little": place["a small random stretch of the axes"],
            "much": place["a large random stretch of the axes"],
        },
    )


SAID = (
    (
        """Two runs agreed in all scores to «n» decimals, but not in their similar films, because nothing fixed the
gauge. Now we divide all vectors by their length after training, so the similar films by cosine will agree.""",
        """The cosine divides by the lengths anyway, so dividing once more after training changes no cosine and fixes
nothing. The gauge has to be fixed in training, or the films compared by their columns of scores.""",
    ),
    (
        """Cosines of factor models are arbitrary, as the paper on cosine similarity shows. So we throw away our
model, which was trained with weight decay on both tables and «n» dimensions, and use counts instead.""",
        """Weight decay on both tables fixes the gauge up to turns and mirrors, and these change no cosine. So the
cosines are determined. Whether they are the similarity that is wanted is another question, which counts do not answer
by themselves.""",
    ),
    (
        """Our film vectors have length 1 during training, in «n» dimensions. On the sphere no gauge is left, so with
40 films the neighbours are determined.""",
        """Unit length leaves no gauge only if the outer products of the rows span all symmetric matrices. That takes
at least k(k+1)/2 rows, many more than 40 films here unless the people's rows count as well, and a pattern in the rows
can leave more.""",
    ),
)


@EXAM.asks(Kind.REPLY, "An engineer on similar films")
def reply(rng: Generator) -> Question:
    case = int(rng.integers(len(SAID)))
    said, core = SAID[case]
    return Question(
        f"""An engineer says: "{said}" What do you reply? Say what is right, what does not follow, and propose one
test. At most 150 words.""",
        f"""{core} A test: multiply the trained tables by a random gauge and its inverse transpose, check that no
score moves, and count how many of the ten nearest films stay. Or train again from another start and compare the
neighbours by cosine and by columns of scores.""",
        (
            (1, "what is right"),
            (3, "what does not follow: " + core),
            (2, "a test that could come out either way"),
        ),
        {"n": whole(rng, 16, 64) if case else whole(rng, 6, 12), "case": case},
    )
