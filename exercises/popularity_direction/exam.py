"""Exam questions on the direction of popularity."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import torch
from numpy.random import Generator

from course_lib import losses, popularity
from course_lib.arrays import exact
from course_lib.interactions import TripleLaw
from exercises.engine.asking import Exam, Kind, Question, judged, mixed, rational, table
from exercises.engine.variants import pick, whole

EXAM = Exam("popularity-direction")
KEPT = {
    "uniform": ("uniformly from all films", r"Y_{ui}-\frac{n_u}n", r"\mathrm{Pop}(i)-\frac{|O|}n"),
    "popularity": ("with a chance in proportion to its popularity", r"Y_{ui}-\frac{n_u\mathrm{Pop}(i)}{|O|}", "0"),
}


def fans(rng: Generator, m: int, n: int, share: float) -> np.ndarray | None:
    """Who likes what: everybody likes something, but not everything, and counts differ. None for an unlucky draw."""
    labels = (rng.random((m, n)) < share).astype(int)
    rows, cols = labels.sum(1), labels.sum(0)
    return labels if rows.min() >= 1 and rows.max() < n and cols.min() >= 1 and len(set(cols.tolist())) > 1 else None


@EXAM.asks(Kind.CALCULATION, "Pulls and pushes")
def pulls(rng: Generator) -> Question | None:
    labels = fans(rng, 3, 4, 0.5)
    if labels is None:
        return None
    pull = popularity.pull_matrix(exact(labels))
    net = pull.sum(axis=0)
    return Question(
        r"""Three people and four films: $Y=«Y»$. In one pass each person pulls each of their films once, and for
each pull pushes one film drawn uniformly from those that they do not like.

(a) Compute the pull matrix $M$ of expected pulls minus pushes. (b) What are the sums of its rows and columns? (c)
Which films are pulled more often than pushed?""",
        r"""(a) A person with $n_u$ films has $1$ at each of them and $-n_u/(4-n_u)$ elsewhere: $M=«M»$. (b) Rows
add up to 0, columns to $«net»$. (c) «gaining».""",
        ((2, "(a) $M=«M»$"), (1, "(b) 0 for rows, $«net»$ for columns"), (1, "(c) «gaining»")),
        {"Y": labels.tolist()},
        {
            "M": pull.tolist(),
            "net": net.tolist(),
            "gaining": ", ".join(f"film {i + 1}" for i in range(4) if net[i] > 0) or "None",
        },
    )


@EXAM.asks(Kind.CALCULATION, "One triple")
def triple(rng: Generator) -> Question | None:
    user, positive = rng.integers(-2, 4, 2), rng.integers(-2, 4, 2)
    across = np.array([user[1], -user[0]])
    negative, rate = positive + whole(rng, -1, 1, but=(0,)) * across, pick(rng, Fraction(1, 2), 1, 2)
    if not user.any() or not (user @ positive):
        return None
    leaves = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (user, positive, negative)]
    losses.bpr((leaves[0] * leaves[1]).sum()[None], (leaves[0] * leaves[2]).sum()[None]).backward()
    new = [rational((leaf - float(rate) * leaf.grad).detach().numpy()) for leaf in leaves if leaf.grad is not None]
    return Question(
        r"""BPR takes one step with $\eta=«rate»$ on the triple of a user $e_u=«user»$, a positive $e_i=«positive»$
and a negative $e_j=«negative»$.

(a) Compute the margin and the weight $w$. (b) Compute all three vectors after the step, with the gradients taken
before it. (c) Which of these are as before: $e_u$, $e_i+e_j$, $e_u+e_i+e_j$?""",
        r"""(a) $x=\langle e_u,e_i-e_j\rangle=0$, so $w=\frac12$. (b) $e_u+\eta w(e_i-e_j)=«u»$, $e_i+\eta
we_u=«i»$, $e_j-\eta we_u=«j»$. (c) Only $e_i+e_j$: the user's vector moved and has no counterpart.""",
        ((1, "(a) margin 0, $w=\\frac12$"), (2, "(b) $«u»$, $«i»$, $«j»$"), (1, "(c) $e_i+e_j$ only")),
        {"rate": rate, "user": user.tolist(), "positive": positive.tolist(), "negative": negative.tolist()},
        {"u": new[0], "i": new[1], "j": new[2]},
    )


@EXAM.asks(Kind.CALCULATION, "A direction from head and tail")
def direction(rng: Generator) -> Question | None:
    step, scale = np.array(pick(rng, (3, 4), (4, 3), (-3, 4), (4, -3))), whole(rng, 1, 2)
    items = rng.integers(-3, 4, (4, 2)) * 5
    counts = np.array(mixed(rng, [whole(rng, 2, 9), whole(rng, 20, 40), whole(rng, 50, 70), whole(rng, 80, 99)]))
    head, tail = int(np.argmax(counts)), int(np.argmin(counts))
    items[head] = items[tail] + 5 * scale * step
    pop = popularity.popularity_direction(items.astype(float), counts, 0.25)
    places = items @ pop
    centre = whole(rng, 1, 5)
    if len(set(np.round(places, 6))) < 4:
        return None
    rows = [
        (name, f"${tuple(int(x) for x in row)}$", count) for name, row, count in zip("ABCD", items, counts, strict=True)
    ]
    return Question(
        r"""Four films have these vectors and numbers of fans. Head and tail are one film each.

«shown»

(a) Compute $e_{pop}$. (b) Compute the place $\langle e_i,e_{pop}\rangle$ of each film. (c) Every film is moved by
the same vector of length «centre». What happens to $e_{pop}$, to the differences of places, and to the order of
each user's list?""",
        r"""(a) The head is «head», the tail «tail»: $e_{pop}=«pop»$. (b) $«places»$ for A to D. (c) Nothing: a
common vector cancels in the difference of means, moves all places by one number, and changes all scores of a user
by one number.""",
        ((2, "(a) $«pop»$"), (1, "(b) $«places»$"), (1, "(c) nothing changes, for all three")),
        {
            "shown": table(["film", "vector", "fans"], rows),
            "items": items.tolist(),
            "counts": counts.tolist(),
            "centre": centre,
        },
        {"head": "ABCD"[head], "tail": "ABCD"[tail], "pop": rational(pop), "places": rational(places)},
    )


CLAIMS = (
    (
        "plain SGD on BPR with negatives drawn uniformly",
        True,
        "Each triple adds $\\eta w e_u$ to one item and takes it from another.",
    ),
    (
        "plain SGD on BPR with negatives drawn by popularity",
        True,
        "No law of triples enters: each triple moves two items oppositely.",
    ),
    (
        "plain SGD on BPR with weight decay on the rows of each triple",
        False,
        "Decay takes a share of the two touched rows away.",
    ),
    (
        "Adam's first step on a batch of two triples with one positive and two negatives",
        False,
        "Adam moves each by its sign.",
    ),
    ("SGD with momentum from rest on BPR", True, "The remembered steps add up to 0 over the items as well."),
)


@EXAM.asks(Kind.TRUE_OR_FALSE, "The mean item stays")
def conserved(rng: Generator) -> Question:
    case = int(rng.integers(len(CLAIMS)))
    how, truth, why = CLAIMS[case]
    rate, decay, user = Fraction(1, whole(rng, 2, 10)), Fraction(1, whole(rng, 4, 10)), whole(rng, 1, 3)
    items = [whole(rng, 1, 4), whole(rng, 1, 4), whole(rng, 1, 4)]
    leaf = torch.tensor([float(x) for x in items], dtype=torch.float64, requires_grad=True)
    kind = ("sgd", "sgd", "decay", "adam", "momentum")[case]
    optimiser: torch.optim.Optimizer = (
        torch.optim.Adam([leaf], lr=float(rate), eps=1e-14)
        if kind == "adam"
        else torch.optim.SGD([leaf], lr=float(rate), momentum=0.9 if kind == "momentum" else 0.0)
    )
    for _ in range(2 if kind == "momentum" else 1):
        optimiser.zero_grad()
        loss = losses.bpr(user * leaf[:1], user * leaf[1:2]) + losses.bpr(user * leaf[:1], user * leaf[2:3])
        if kind == "decay":
            loss = loss + float(decay) * (leaf**2).sum()
        loss.backward()
        optimiser.step()
    change = float(leaf.detach().sum()) - sum(items)
    return Question(
        f"""In matrix factorisation the items are free vectors. True or false: {how} leaves the mean of all items
as it was. Try a user $e_u=(«user»)$ and three items with the numbers $«items»$: the first is the positive, the
others are the negatives of two triples in one batch. Take $\\eta=«rate»$, and the penalty $«decay»\\|e\\|^2$ for
each of the three rows where there is decay.""",
        f"""**«verdict»** {why} In the example the sum of the three items changes by «change:.4f».""",
        ((1, "the verdict: «verdict»"), (2, "the reason: opposite moves of equal length, or what breaks them")),
        {"user": user, "items": items, "rate": rate, "decay": decay, "case": case},
        {**judged(truth), "change": change + 0.0},
    )


@EXAM.asks(Kind.TRUE_OR_FALSE, "The most popular film is pulled more than pushed")
def laws(rng: Generator) -> Question | None:
    labels = fans(rng, 4, 4, 0.5)
    if labels is None or (labels.sum(0) == labels.sum(0).max()).sum() != 1:
        return None
    negatives, collision = pick(rng, "uniform", "popularity"), pick(rng, "keep", "redraw")
    roles = popularity.expected_roles(exact(labels), TripleLaw(negatives=negatives, collision=collision))
    top = int(np.argmax(labels.sum(0)))
    gain, loss = roles[0][top], roles[1][top]
    return Question(
        r"""Four people and four films: $Y=«Y»$. BPR takes each liked pair once in a pass, and draws the other film
«how». A film that the person likes «collision». True or false: film «top», the most popular one, is expected to be
pulled more often than pushed in a pass.""",
        r"""**«verdict»** It is the positive $«gain»$ times and the negative $«loss»$ times. «rule»""",
        ((1, "the verdict: «verdict»"), (2, "both expected numbers, $«gain»$ and $«loss»$ (1 for the method)")),
        {
            "Y": labels.tolist(),
            "how": KEPT[negatives][0],
            "collision": "may be drawn, and is kept"
            if collision == "keep"
            else "is drawn again until it is another one",
            "top": top + 1,
            "case": [negatives, collision],
        },
        {
            **judged(gain > loss),
            "gain": gain,
            "loss": loss,
            "rule": "By popularity and kept, the two are equal for every film."
            if (negatives, collision) == ("popularity", "keep")
            else "",
        },
    )


@EXAM.asks(Kind.PROOF, "The pull matrix of a law")
def matrix(rng: Generator) -> Question | None:
    labels, law = fans(rng, 3, 3, 0.55), pick(rng, "uniform", "popularity")
    if labels is None:
        return None
    pull = popularity.pull_matrix(exact(labels), TripleLaw(negatives=law, collision="keep"))
    return Question(
        r"""In a pass each of the $|O|$ liked pairs is the positive once. The negative is drawn «how», and kept
even if the person likes it. Let $n_u$ be the number of films that person $u$ likes.

(a) Derive $M_{ui}$, the expected pulls minus pushes of $u$ on $i$. (b) What does each row of $M$ add up to? Prove it.
(c) Derive the sums of the columns. (d) Compute $M$ for $Y=«Y»$. (e) What does (c) say about popular films, near
the start of a training?""",
        r"""(a) $u$ pulls $i$ once if $Y_{ui}=1$, and pushes a film $n_u$ times: $M_{ui}=«formula»$. (b) To 0:
$\sum_iY_{ui}=n_u$, and the chances of the negatives add up to 1. (c) $\sum_uM_{ui}=«column»$, since
$\sum_un_u=|O|$. (d) $M=«M»$. (e) «meaning»""",
        (
            (2, "(a) $«formula»$"),
            (1, "(b) 0, with the proof"),
            (1, "(c) $«column»$"),
            (1, "(d) $«M»$"),
            (1, "(e) the meaning of the column sums"),
        ),
        {"how": KEPT[law][0], "Y": labels.tolist(), "law": law},
        {
            "formula": KEPT[law][1],
            "column": KEPT[law][2],
            "M": pull.tolist(),
            "meaning": """A film with more fans than the average film is pulled more than pushed, and the mean
person moves it outwards."""
            if law == "uniform"
            else """Every film is pulled as often as pushed: popularity alone gives no film a drift along the mean
person.""",
        },
    )


@EXAM.asks(Kind.PROOF, "Which axis wins")
def axis(rng: Generator) -> Question:
    slow, gap, power = whole(rng, 1, 4), whole(rng, 1, 4), whole(rng, 2, 5)
    fast = slow + gap
    time = Fraction(2 * power, gap)
    return Question(
        r"""Near zero embeddings the users $U$ and items $V$ follow $\frac{d}{dt}U=\frac12MV$ and
$\frac{d}{dt}V=\frac12M^\top U$. Let $M=\sum_k\nu_k\phi_k\psi_k^\top$ be the singular value decomposition.

(a) Derive equations for $y_k=\phi_k^\top U$ and $z_k=\psi_k^\top V$ alone, and solve them. (b) Let $\nu_1=«fast»$,
$\nu_2=«slow»$, and $y_1(0)=z_1(0)=y_2(0)=z_2(0)$. At which time is $z_1$ longer than $z_2$ by the factor
$e^{«power»}$? (c) What does the picture of all items look like then, and what does it say about the lists? (d) Why
does the formula stop being right?""",
        r"""(a) $\frac{d}{dt}y_k=\frac{\nu_k}2z_k$ and $\frac{d}{dt}z_k=\frac{\nu_k}2y_k$, so
$z_k(t)=\cosh(\frac{\nu_kt}2)z_k(0)+\sinh(\frac{\nu_kt}2)y_k(0)$. (b) With equal starts
$z_k(t)=e^{\nu_kt/2}z_k(0)$, so $e^{(\nu_1-\nu_2)t/2}=e^{«power»}$ and $t=«time»$. (c) All items lie close to one
line, at places proportional to $\psi_1$. All users on one side get one list, the others the same list in reverse.
(d) It is the loss to second order around margin 0; when margins grow, the weights are no longer $\frac12$.""",
        (
            (2, "(a) the two equations, by multiplying with $\\phi_k$ and $\\psi_k$"),
            (1, "(a) the solution"),
            (1, "(b) $t=«time»$"),
            (1, "(c) one line, one list and its reverse"),
            (1, "(d) margins near 0"),
        ),
        {"fast": fast, "slow": slow, "power": power},
        {"time": time},
    )


def two(value: float) -> str:
    """Two decimals, without a sign before zero."""
    return f"{round(value, 2) + 0.0:.2f}"


@EXAM.asks(Kind.READING, "Correlations in three tables")
def null(rng: Generator) -> Question | None:
    counts = np.sort(rng.zipf(1.7, 200) % 500 + rng.integers(1, 4, 200))[::-1].copy()
    tables = {
        "random": rng.normal(size=(200, 64)),
        "popular": rng.normal(size=(200, 8)) + 2.5 * np.log(counts)[:, None] * np.eye(8)[0],
        "small": rng.normal(size=(200, 4)),
    }
    order, rows, cross = mixed(rng, list(tables)), [], {}
    for name, label in zip("ABC", order, strict=True):
        items = tables[label]
        width = items.shape[1]
        plain = float(popularity.projection_correlation(items, counts, 0.05))
        cross[label] = float(popularity.cross_fitted_correlation(items, counts, 0.05, rng=np.random.default_rng(0)))
        chance = popularity.double_dipping_law(counts, width, 0.05)
        if label != "popular" and abs(plain - chance.mean) > 1.5 * chance.sd:
            return None  # by accident r would speak against the cross-fitted correlation
        rows.append((name, width, two(plain), f"{two(chance.mean)} ± {two(chance.sd)}", two(cross[label])))
    if cross["popular"] < 0.4 or max(abs(cross["random"]), abs(cross["small"])) > 0.15:
        return None
    found = "ABC"[order.index("popular")]
    wide = "ABC"[order.index("random")]
    return Question(
        r"""Three tables of 200 items. $r$ is the correlation between an item's place along $e_{pop}$ and its
count, over the same items. Beside it stand the mean and the standard deviation of $r$ for random vectors of the
same width, and a correlation that is cross-fitted: the direction comes from one half of the items, and is judged
on the other.

«shown»

(a) Which tables have a direction of popularity? (b) Why is $r$ of random vectors positive, and why does it rise
with the width? (c) Which one number would you report, and why?""",
        """(a) «found» only: its $r$ is far above that of random vectors, and the cross-fitted one is high too. (b)
Head and tail have chosen the direction along which they are then measured, and a wide table has more directions to
choose from; «wide» shows it. (c) The cross-fitted correlation: the items that judge the direction have not chosen
it.""",
        (
            (2, "(a) «found», by both comparisons"),
            (2, "(b) the direction is fitted to the same items; more width, more freedom"),
            (1, "(c) cross-fitted, with the reason"),
        ),
        {"shown": table(["table", "width", "$r$", "random vectors", "cross-fitted"], rows)},
        {"found": found, "wide": wide},
    )


@EXAM.asks(Kind.READING, "The first lists")
def first_lists(rng: Generator) -> Question | None:
    labels = fans(rng, 6, 5, 0.45)
    if labels is None:
        return None
    left, speeds, right = np.linalg.svd(np.asarray(popularity.pull_matrix(labels), dtype=float))
    film, person = right[0], left[:, 0]
    if person.sum() < 0:
        film, person = -film, -person
    gaps = np.diff(np.sort(film))
    if speeds[0] < 1.3 * speeds[1] or gaps.min() < 0.05 or np.abs(person).min() < 0.05 or (person > 0).all():
        return None
    r = float(popularity.pearson(film, labels.sum(0)))
    if not (abs(r) < 0.3 or r > 0.85):  # neither would be a plain answer to (b)
        return None
    order = ["PQRST"[place] for place in np.argsort(-film)]
    back = [str(u + 1) for u in range(6) if person[u] < 0]
    shown = (
        table(
            ["film", "fans", r"$\psi_1$"],
            [(n, c, f"{x:+.2f}") for n, c, x in zip("PQRST", labels.sum(0), film, strict=True)],
        )
        + "\n\n"
        + table(["person", r"$\phi_1$"], [(u + 1, f"{x:+.2f}") for u, x in enumerate(person)])
    )
    return Question(
        r"""The pull matrix of six people and five films has the singular values $\nu_1=«fast:.2f»$,
$\nu_2=«slow:.2f»$, …, and the first singular vectors

«shown»

(a) A training by BPR starts with very small vectors. Which list of all five films does each person
have soon? (b) Does this order follow the numbers of fans? Give a reason. (c) After a while the part along the second
axis has grown by a factor $f$. Which power of $f$ is the factor of the part along the first axis, roughly?""",
        r"""(a) «order» for people with $\phi_1>0$, and the same in reverse for «back». (b) «follows»: the correlation
of $\psi_1$ with the fans is «r:.2f». (c) Lengths grow like $e^{\nu t/2}$, so the factor is $f$ to the power
$\nu_1/\nu_2=«ratio:.2f»$.""",
        (
            (2, "(a) «order», reversed for «back»"),
            (2, "(b) «follows», by a comparison with the fans ($r=«r:.2f»$)"),
            (1, "(c) $«ratio:.2f»$"),
        ),
        {
            "Y": labels.tolist(),
            "shown": shown,
            "fast": float(speeds[0]),
            "slow": float(speeds[1]),
            "one": int(np.argmax(person)) + 1,
        },
        {
            "order": ", ".join(order),
            "back": ("person " if len(back) == 1 else "people ") + ", ".join(back),
            "follows": "Yes" if r > 0.85 else "No",
            "r": r,
            "ratio": float(speeds[0] / speeds[1]),
        },
    )


SAID = (
    (
        """We trained by BPR from five starts, and each time the correlation along $e_{pop}$ came near «high». So BPR
creates the popularity direction, inevitably, in every catalogue.""",
        """Five starts on one catalogue are still one catalogue. The axis that comes first is a singular vector of the
pull matrix: it depends on who liked what and on the law of negatives, and on some data it is a taste instead.""",
    ),
    (
        """We subtract the mean item from every item of our factorisation, since a mean over all films points along
$e_{pop}$. The correlation of «high» will be gone from the lists.""",
        """One vector taken from all items lowers all scores of a user by one number, so no list changes. BPR
conserves the mean item, so it is left over from the start and need not point along $e_{pop}$.""",
    ),
    (
        """After twenty passes the correlation was «high», after two hundred «low». So longer training removes
popularity bias.""",
        """Other axes grow more slowly and come later, so the places follow popularity less. That says that the table
has more than one axis now, not that popular films are recommended less: count what the lists show.""",
    ),
)


@EXAM.asks(Kind.REPLY, "An engineer on a direction")
def reply(rng: Generator) -> Question:
    case = int(rng.integers(len(SAID)))
    said, core = SAID[case]
    return Question(
        f"""An engineer says: "{said}" What do you reply? Say what is right, what does not follow, and which two
numbers you want to see. At most 150 words.""",
        f"""{core} Two numbers: the cross-fitted correlation before and after training, several seeds; the
correlation of the first singular vector of the pull matrix with the counts, which needs no training. For lists:
the mean number of fans of what is recommended, beside the hidden films found.""",
        (
            (1, "what is right"),
            (3, "what does not follow: " + core),
            (2, "two numbers, each with what it would decide"),
        ),
        {"low": f"0.{whole(rng, 21, 39)}", "high": f"0.{whole(rng, 71, 95)}", "case": case},
    )
