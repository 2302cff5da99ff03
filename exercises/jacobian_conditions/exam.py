"""Exam questions on towers, their Jacobians, and the movement of their outputs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor, nn

from course_lib import encoders, geometry, jacobians
from exercises.engine.asking import Exam, Kind, Question, judged, mixed, rational, table
from exercises.engine.variants import pick, whole

EXAM = Exam("jacobian-conditions")


def with_weights(tower: nn.Module, *weights: Any) -> nn.Module:
    """The tower in double precision, with these weights in place of its own."""
    tower = tower.double()
    with torch.no_grad():
        for parameter, weight in zip(tower.parameters(), weights, strict=True):
            parameter.copy_(torch.tensor(np.asarray(weight, dtype=float)))
    return tower


def blocks(tower: nn.Module, n: int) -> np.ndarray:
    """The matrix of all blocks K_ij for the inputs 0 to n - 1, (n d, n d)."""
    found = jacobians.kernel_blocks(tower, torch.arange(n)).detach().numpy()
    made: np.ndarray = np.block([list(row) for row in found])
    return made


def whole_numbers(matrix: np.ndarray) -> list[Any]:
    """Entries that are whole up to rounding."""
    return [[round(entry) for entry in row] for row in matrix.tolist()]


@EXAM.asks(Kind.CALCULATION, "Two people on one layer")
def layer(rng: Generator) -> Question | None:
    x, g = rng.integers(-2, 4, (2, 2)), rng.integers(-3, 4, (2, 2))
    bias, rate = bool(rng.integers(2)), pick(rng, Fraction(1, 2), Fraction(1, 10), 1)
    if not (x[0].any() and x[1].any() and g[0].any() and g[1].any() and x[0] @ x[1] + bias):
        return None
    tower = encoders.DenseLinear(x.astype(float), 2, bias=bias).double()
    gradients = torch.tensor(g, dtype=torch.float64)
    motion = jacobians.first_order_motion(tower, torch.arange(2), gradients, lr=float(rate)).detach().numpy()
    return Question(
        r"""A tower is the linear layer $q_i=Wx_i«plus»$ with weights $W$«and_bias» that plain SGD trains. A batch
has two people with the features $x_1=«x1»$ and $x_2=«x2»$. The gradients of the loss at their vectors are
$g_1=«g1»$ and $g_2=«g2»$. The rate is $\eta=«rate»$. Compute $K_{11}$, $K_{12}$ and the movement $\Delta q_1$.
Which part of the movement, if any, is due to person 2?""",
        r"""$K_{ij}=(x_i^\top x_j«one»)\,I$, so $K_{11}=«own»\,I$ and $K_{12}=«other»\,I$. Then $\Delta
q_1=-\eta\,(«own»\,g_1+(«other»)\,g_2)=«motion»$. Person 2 adds $-\eta\cdot(«other»)\,g_2=«theirs»$.""",
        (
            (2, r"both blocks, $«own»\,I$ and $«other»\,I$"),
            (1, r"$\Delta q_1=«motion»$"),
            (1, "the part of person 2, $«theirs»$"),
        ),
        {
            "x1": x[0].tolist(),
            "x2": x[1].tolist(),
            "g1": g[0].tolist(),
            "g2": g[1].tolist(),
            "rate": rate,
            "plus": "+b" if bias else "",
            "and_bias": " and a bias $b$" if bias else ", without a bias,",
        },
        {
            "one": "+1" if bias else "",
            "own": int(x[0] @ x[0]) + bias,
            "other": int(x[0] @ x[1]) + bias,
            "motion": rational(motion[0]),
            "theirs": rational(-float(rate) * (x[0] @ x[1] + bias) * g[1]),
        },
    )


@EXAM.asks(Kind.CALCULATION, "Two linear layers")
def two_layers(rng: Generator) -> Question | None:
    B, z = rng.integers(-2, 3, (2, 2)), rng.integers(-2, 3, 2)
    q = B @ z
    tower = with_weights(encoders.TwoLayers(torch.eye(1), 2, 2), z[:, None], B)
    K = blocks(tower, 1)
    pushed = K @ q
    if not q.any() or abs(q[0] * pushed[1] - q[1] * pushed[0]) < 1e-9:
        return None
    return Question(
        r"""A tower has two linear layers without bias, $q=Bz$ with $z=Ax$. For one person with the one-hot input
$x$, $z$ is a column of $A$; here $z=«z»$ and $B=«B»$. The Jacobian of $q$ for the weights of $B$, row by row, and of
this column of $A$ is $J=«J»$. Compute $q$ and the block $K=JJ^\top$. Is the movement of $q$ perpendicular to $q$, to
first order, for *every* gradient $g\perp q$? Decide with $Kq$.""",
        r"""$q=«q»$ and $K=«K»$, which is $(z^\top z)\,I+BB^\top$ with $z^\top z=«square»$. The movement is $-\eta Kg$,
and $\langle q,Kg\rangle=\langle Kq,g\rangle$ because $K$ is symmetric. This is 0 for every $g\perp q$ only if $Kq$ is a
multiple of $q$. Here $Kq=«Kq»$, which is not a multiple of $«q»$. So no: some $g\perp q$ moves $q$ inwards, and
$-g$ outwards.""",
        (
            (1, "$q=«q»$"),
            (1, "$K=«K»$"),
            (1, "$Kq=«Kq»$, not along $q$"),
            (1, "the symmetry of $K$, or a gradient with its inner product"),
        ),
        {"z": z.tolist(), "B": B.tolist(), "J": np.hstack([np.kron(np.eye(2, dtype=int), z), B]).tolist()},
        {
            "q": q.tolist(),
            "square": int(z @ z),
            "K": whole_numbers(K),
            "Kq": [round(entry) for entry in pushed.tolist()],
        },
    )


@EXAM.asks(Kind.CALCULATION, "Adam's first step")
def adam(rng: Generator) -> Question | None:
    q, sign, rate = rng.integers(1, 6, 2), pick(rng, 1, -1), Fraction(1, pick(rng, 1, 2, 10))
    if q[0] == q[1]:
        return None
    g = sign * np.array([q[1], -q[0]])
    tower = with_weights(encoders.Lookup(1, 2), q[None])
    optimiser = torch.optim.Adam(tower.parameters(), lr=float(rate), eps=1e-14)
    motion = jacobians.measure_step(tower, torch.arange(1), lambda out: (out * torch.tensor(g)).sum(), optimiser)
    assert isinstance(motion, jacobians.Motion)
    before, after = motion.before[0].detach().numpy(), motion.after[0].detach().numpy()
    return Question(
        r"""A row of a table is $q=«q»$, and the gradient of a loss of cosines at $q$ is $g=«g»$. The first step of
Adam is $-\eta\,g_a/(|g_a|+\epsilon)$ in each coordinate $a$, with a tiny $\epsilon$. Take $\eta=«rate»$ and
$\epsilon\to0$. Compute the step, its inner product with $q$, and the squared length of $q$ before and after. Which
step would plain SGD with $\eta=«rate»$ take, and what would it do to the length?""",
        r"""The step is $«step»$, the inner product is $«inner»$, and $\|q\|^2$ goes from $«before»$ to $«after»$.
SGD takes $-\eta g$, which is perpendicular to $q$, and $\|q\|^2$ becomes $«before»+\eta^2\|g\|^2=«plain»$.""",
        (
            (1, "the step $«step»$"),
            (1, "the inner product $«inner»$"),
            (1, "the squared lengths, $«before»$ and $«after»$"),
            (1, "SGD: perpendicular, so longer, $«plain»$"),
        ),
        {"q": q.tolist(), "g": g.tolist(), "rate": rate},
        {
            "step": rational(np.round(after - before, 8)),
            "inner": rational(np.round(before @ (after - before), 8)),
            "before": int(q @ q),
            "after": rational(np.round(after @ after, 8)),
            "plain": Fraction(int(q @ q)) + Fraction(rate) ** 2 * int(g @ g),
        },
    )


@EXAM.asks(Kind.TRUE_OR_FALSE, "Features like a table")
def features(rng: Generator) -> Question:
    bias, good = bool(rng.integers(2)), bool(rng.integers(2))
    c = whole(rng, 1, 3)
    first, second = [c, c, 0], [1, -1, whole(rng, 1, 3)]
    if bias:
        first, second = [1, 0, 0], [-1, whole(rng, 1, 3), 1]
    if not good:
        second = [second[0] + 1, second[1], second[2]]
    tower = encoders.DenseLinear(np.array([first, second], dtype=float), 2, bias=bias).double()
    truth = bool(jacobians.lookup_equivalent(tower, torch.arange(2)))
    return Question(
        r"""A linear layer «kind» has two inputs with the features $x_1=«first»$ and $x_2=«second»$. Plain SGD
trains it on a loss of cosines. True or false: at these inputs the layer moves its outputs like a table, each by a
multiple of its own gradient.""",
        r"""**«verdict»** The blocks are $K_{12}=(x_1^\top x_2«one»)\,I=«mixed»\,I$ and
$K_{ii}=(\|x_i\|^2«one»)\,I$. The second condition always holds; the first holds if and only if $x_1^\top x_2$ is
$«wanted»$.""",
        ((1, "the verdict: «verdict»"), (2, r"$K_{12}=«mixed»\,I$, and what it does to the movement")),
        {"kind": "with a bias" if bias else "without a bias", "first": first, "second": second},
        {
            **judged(truth),
            "one": "+1" if bias else "",
            "mixed": int(np.dot(first, second)) + bias,
            "wanted": -1 if bias else 0,
        },
    )


CHANGES = (
    "clip each entry at $\\pm1$",
    "replace $g$ by $g/\\|g\\|$",
    "keep the signs of the entries only",
    "double $g$",
)


@EXAM.asks(Kind.TRUE_OR_FALSE, "What may be done to a gradient")
def changed(rng: Generator) -> Question:
    case, (a, b) = int(rng.integers(len(CHANGES))), (whole(rng, 1, 3), whole(rng, 4, 6))
    q, g = np.array([a, b]), np.array([b, -a])
    new = (np.clip(g, -1, 1), g / geometry.norm(g), np.sign(g), 2 * g)[case]
    truth = bool(abs(q @ new) < 1e-12)
    return Question(
        r"""A table is trained by SGD on a loss of cosines. Before each step we «change». True or false: every
movement of a row is then perpendicular to the row. Try $q=«q»$ and $g=«g»$.""",
        r"""**«verdict»** The gradient becomes $«new:.3g»$, with the inner product $«inner:.3g»$ with $q$. A change
that multiplies a whole row by a number keeps the row tangent. A change of single entries turns it.""",
        ((1, "the verdict: «verdict»"), (2, "the inner product, and what kind of change is allowed")),
        {"change": CHANGES[case], "q": q.tolist(), "g": g.tolist()},
        {**judged(truth), "new": new.tolist(), "inner": float(q @ new)},
    )


class Power(nn.Module):
    """q_i = E_i^p, where the two numbers of a row are a complex number."""

    def __init__(self, row: tuple[int, int], p: int) -> None:
        super().__init__()
        self.weight, self.p = nn.Parameter(torch.tensor([row], dtype=torch.float64)), p

    def forward(self, x: Tensor) -> Tensor:
        a, b = self.weight[x].unbind(-1)
        length, angle = torch.hypot(a, b) ** self.p, self.p * torch.atan2(b, a)
        return torch.stack([length * torch.cos(angle), length * torch.sin(angle)], dim=-1)


@EXAM.asks(Kind.PROOF, "A power of a complex number")
def power(rng: Generator) -> Question:
    p, row = pick(rng, 2, 3, -1, -2), pick(rng, (1, 1), (3, 4), (2, 1), (1, 2))
    factor = blocks(Power(row, p), 1)[0, 0]
    return Question(
        r"""In the plane, read the row $E_i$ of a table as a complex number. A tower returns the complex power
$q_i=E_i^{«p»}$. Each input stands once in the batch.

(a) Show that $K_{ij}=0$ for $i\ne j$ and that $K_{ii}$ is a multiple of $I$. Which multiple, at $E_i=«row»$? (b)
Plain SGD trains $E$ on a loss of cosines of the $q_i$. Does $\|q_i\|$ grow or shrink at a step that moves it? (c)
Why does (b) not follow from the theorem on orthogonal motion?""",
        r"""(a) Input $i$ has parameters of its own, so the other blocks are 0. The derivative of $z\mapsto
z^{«p»}$ is the complex number $«p»z^{«less»}$, and multiplication by a complex number $c$ is $|c|$ times a
rotation. So $J_iJ_i^\top=|«p»|^2\,|E_i|^{2\cdot(«less»)}\,I$, here $«factor»\,I$. (b) $g\perp q$. The loss ignores
the length of $q$, and $|q|=|E|^{«p»}$, so it ignores the length of $E$ as well, and the gradient in $E$ is
perpendicular to $E$. By Pythagoras $|E|$ grows, so $\|q\|=|E|^{«p»}$ «verdict»s. (c) The theorem needs
parameter-linearity, and $q$ is not linear in $E$. Conditions (i) and (ii) hold here for every power, and they do
not decide between growing and shrinking.""",
        (
            (1, "(a) the other blocks are 0"),
            (2, r"(a) a multiple of a rotation, $«factor»\,I$"),
            (2, "(b) $E$ moves at a right angle and grows, so $q$ «verdict»s"),
            (1, "(c) parameter-linearity is missing"),
        ),
        {"p": p, "row": list(row)},
        {"less": p - 1, "factor": rational(factor, denominator=10**6), "verdict": "grow" if p > 0 else "shrink"},
    )


@EXAM.asks(Kind.PROOF, "A step with memory")
def momentum(rng: Generator) -> Question:
    q, mu, rate = np.array([0.0, whole(rng, 1, 3)]), pick(rng, Fraction(1, 2), Fraction(9, 10)), Fraction(1, 2)
    turns = [whole(rng, 1, 2), whole(rng, -2, 2, but=(0,)), whole(rng, 1, 2)]
    places, memory, inner, lengths = [q], np.zeros(2), [], []
    for turn in turns:
        g = turn * np.array([q[1], -q[0]])
        memory = float(mu) * memory + g
        inner.append(float(q @ (-float(rate) * memory)))
        lengths.append(float(memory @ memory))
        q = q - float(rate) * memory
        places.append(q)
    return Question(
        r"""A free vector moves with momentum: $v_t=\mu v_{t-1}+g_t$, $q_{t+1}=q_t-\eta v_t$, $v_0=0$, with
$\mu=«mu»$ and $\eta=«rate»$. Suppose that $g_t\perp q_t$ at every step.

(a) Prove that $\langle q_t,\Delta q_t\rangle=-\eta\mu\,\langle q_t,v_{t-1}\rangle$ for $\Delta q_t=-\eta v_t$. (b)
Write $q_t=q_{t-1}-\eta v_{t-1}$ and derive $\langle q_2,\Delta q_2\rangle$ and $\langle q_3,\Delta q_3\rangle$
from $\|v_1\|^2=«first»$ and $\|v_2\|^2=«second»$. (c) Can momentum shorten the vector?""",
        r"""(a) $\langle q_t,v_t\rangle=\mu\langle q_t,v_{t-1}\rangle+\langle q_t,g_t\rangle$, and the last term is 0.
(b) $\langle q_t,v_{t-1}\rangle=\langle q_{t-1},v_{t-1}\rangle-\eta\|v_{t-1}\|^2$. With $\langle q_1,v_1\rangle=0$
this is $-\eta\|v_1\|^2$ at $t=2$, so $\langle q_2,\Delta q_2\rangle=\eta^2\mu\|v_1\|^2=«two»$. At $t=3$, $\langle
q_2,v_2\rangle=-\eta\mu\|v_1\|^2$, so $\langle q_3,\Delta
q_3\rangle=\eta^2\big(\mu^2\|v_1\|^2+\mu\|v_2\|^2\big)=«three»$. (c) No: the same induction gives a sum of squares
with factors $\mu^s\ge0$ at every step, so no step points inwards, and $\|q+\Delta q\|^2=\|q\|^2+2\langle q,\Delta
q\rangle+\|\Delta q\|^2$ never falls.""",
        (
            (1, "(a)"),
            (2, "(b) the second step, $«two»$"),
            (2, "(b) the third step, $«three»$"),
            (1, "(c) no, with the induction or the squares"),
        ),
        {"mu": mu, "rate": rate, "first": rational(lengths[0]), "second": rational(lengths[1])},
        {"two": rational(inner[1], denominator=10**6), "three": rational(inner[2], denominator=10**6)},
    )


@EXAM.asks(Kind.READING, "Four kernels without names")
def kernels(rng: Generator) -> Question | None:
    x = rng.integers(0, 4, (2, 2))
    B, rows = rng.integers(-2, 3, (2, 2)), rng.integers(-2, 3, (2, 2))
    if not (x @ x.T).all() or x[0] @ x[0] == x[1] @ x[1] or not (B @ B.T)[0, 1] or not rows[0] @ rows[1]:
        return None  # orthogonal rows would not move each other, like those of a table
    towers = {
        "table": encoders.Lookup(2, 2),
        "table with a shared bias": encoders.BiasedLookup(2, 2),
        "linear layer on features": encoders.DenseLinear(x.astype(float), 2),
        "linear layer on top of a table": with_weights(encoders.EmbeddingThenLinear(2, 2, 2), rows, B),
    }
    labels = mixed(rng, list(towers))
    shown = {name: whole_numbers(blocks(towers[label].double(), 2)) for name, label in zip("ABCD", labels, strict=True)}
    order = dict(zip(labels, "ABCD", strict=True))
    return Question(
        r"""Here are the matrices of all blocks $K_{ij}$ of four towers, for two different inputs and vectors of
two numbers:

$$A=«A»,\quad B=«B»$$

$$C=«C»,\quad D=«D»$$

The towers are a table, a table with a shared bias, a linear layer on features without bias, and a linear layer on
top of a table. (a) Which is which? (b) In which towers does the gradient of input 1 move the vector of input 2?
(c) In which is a gradient turned?""",
        """(a) «order». (b) In «moved», all but the table: their blocks off the diagonal are not 0. (c) Only in the
linear layer on top of a table, «turned»: its blocks are not multiples of $I$.""",
        (
            (3, "(a) «order» (2 for one exchange)"),
            (1, "(b) «moved»"),
            (1, "(c) «turned» only"),
        ),
        dict(shown),
        {
            "order": ", ".join(f"{name}: {label}" for name, label in zip("ABCD", labels, strict=True)),
            "moved": ", ".join(name for name in "ABCD" if name != order["table"]),
            "turned": order["linear layer on top of a table"],
        },
    )


def share_within(h: int, d: int, rng: Generator) -> float:
    """The share of moves within 90 +- 10 degrees for h normal features, a batch of 16, tangent random gradients."""
    x = rng.normal(size=(60, 16, h))
    q, g = rng.normal(size=(2, 60, 16, d))
    tangent = geometry.split_radial(g, q)[1]
    step = -(x @ np.swapaxes(x, 1, 2)) @ tangent
    return jacobians.share_near_tangent(torch.tensor(geometry.angle_degrees(q, step)))


@EXAM.asks(Kind.READING, "More than chance?")
def chance(rng: Generator) -> Question:
    d = pick(rng, 2, 3)
    widths = mixed(rng, (1, 16, 400))
    shares = [100 * share_within(h, d, rng) for h in widths]
    rows = [(name, f"{share:.0f} %") for name, share in zip("ABC", shares, strict=True)]
    by_chance = 100 * (20 / 180 if d == 2 else np.sin(np.radians(10)))
    return Question(
        r"""Three linear layers have features that are not trained: 1, 16 and 400 normal random numbers for each
person. Their vectors have «d» numbers, a batch has 16 people, the gradients are random and perpendicular to their
vectors. The table has the share of moves within $90\pm10$ degrees of the vector.

«shown»

(a) Which share would moves in uniformly random directions have in «d» dimensions? (b) How many features
does each layer have? Give the reason. (c) A paper calls a share of 20 % "about a fifth
of the moves are tangent". Comment.""",
        r"""(a) «how», so «by_chance:.0f» %. (b) «order». The own gradient has the weight $\|x_i\|^2\approx h$,
each of the others the weight $x_i^\top x_j$ of size $\sqrt h$. All 15 together have about $\sqrt{15h}$, which is
small against $h$ once $h$ is well above 15. (c) A share says little before it is compared with that of chance,
here «by_chance:.0f» %.""",
        (
            (2, "(a) «by_chance:.0f» %, with its reason"),
            (1, "(b) «order»"),
            (1, r"(b) $h$ against $\sqrt{15h}$"),
            (1, "(c) the comparison with chance"),
        ),
        {"d": d, "shown": table(["layer", "share"], rows)},
        {
            "by_chance": by_chance,
            "how": "An angle in the plane is uniform, and 20 of 180 degrees are meant"
            if d == 2
            else r"By Archimedes the zone of the sphere within $10^\circ$ of its equator has the share $\sin10^\circ$",
            "order": ", ".join(f"{name}: {h}" for name, h in zip("ABC", widths, strict=True)),
        },
    )


SAID = (
    (
        """Our tower for people is a network with «n» layers. Its last layer is linear and has no bias. Since a linear
layer without bias is lookup-equivalent, no step of SGD shortens a person's vector.""",
        r"""A linear layer is a table only on one-hot or orthogonal inputs. Here its inputs are the outputs of the
layers below, which overlap and are trained themselves: the blocks are neither 0 off the diagonal nor multiples of
$I$.""",
    ),
    (
        """The films have a table, the people a network of «n» layers. Because the people's vectors can shrink, the
theorem is of no use for our films either.""",
        """The theorem looks at one tower at a time. The films' table shares no parameter with the network, so its
rows never get shorter under plain SGD on cosines, whatever the other tower does.""",
    ),
    (
        """We trained our tower by plain SGD, and in «n» of a hundred steps a person's vector got longer. So the tower
is nearly lookup-equivalent.""",
        """The theorem goes one way: a tower that is linear in its parameters and lookup-equivalent shortens no vector.
Towers that mix gradients lengthen many vectors too, so a share of steps says nothing about the blocks, and each step
that shortened a vector shows that the theorem does not cover this tower.""",
    ),
)


@EXAM.asks(Kind.REPLY, "An engineer on towers")
def reply(rng: Generator) -> Question:
    case = int(rng.integers(len(SAID)))
    said, core = SAID[case]
    return Question(
        f"""An engineer says: "{said}" What do you reply? Say what is right, what does not follow, and how the
engineer can test a tower. At most 150 words.""",
        f"""{core} What is right: under plain SGD on a loss of cosines the *gradient* at every output is
perpendicular to it. What moves the output is $-\\eta\\sum_jK_{{ij}}g_j$. A test: `jacobians.lookup_equivalent` on
a batch says whether the blocks are those of a table; or take one real step in double precision and record the
lengths before and after.""",
        (
            (1, "gradient against movement"),
            (3, "what does not follow: " + core),
            (2, "a test by blocks or by one measured step, with what would count as failure"),
        ),
        {"n": whole(rng, 60, 95) if case == 2 else whole(rng, 2, 6), "case": case},
    )
