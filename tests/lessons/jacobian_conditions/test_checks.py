"""The checks of the assignment on Jacobians: messages that fit, and the numbers that its solutions quote."""

import numpy as np
from in_process import functions
from sample_essays import printed, unaccounted

from course_lib.lessons.jacobian_conditions import checks
from exercises.engine import simulate

# One wrong cell for each check that no typical wrong submission loses.
SPOILT = {"test_inputs_plain": "def dense_inputs(n, bias):\n    return np.eye(n) + 1"}


MESSAGES = [
    ("tangent", lambda kernel, q: "yes", "True or False"),
    ("tangent", lambda kernel, q: True, "correlated features"),
    ("tower_i", lambda condition: ([[1.5, 1]], [[1], [0]]), "whole numbers"),
    ("tower_ii", lambda condition: ([[0, 1]], [[1], [0]]), "is zero"),
    ("inputs_plain", lambda n, bias: np.eye(n), "at least two entries"),
    ("inputs_bias", lambda n, bias: [[1, 1], [1, -1]], "which adds 1"),
    ("chance", lambda d: 20.0 / 180 if d == 2 else 0.5, "No usual slip"),
]


def test_the_essay_on_jacobians_quotes_shares_and_chance() -> None:
    names = functions(simulate.reference("jacobian-conditions"))
    essay = "".join(simulate.source("jacobian-conditions")["cells"][-1]["source"])
    shares = [names["share_near_right_angle"](*checks.films(d)) for d in (2, 8, 64)]
    chance = [names["chance_share"](d) for d in (2, 8, 64)]
    assert "shares are {:.2f}, {:.2f} and {:.2f} in 2, 8 and 64 dimensions".format(*shares) in essay
    assert "against {:.2f}, {:.2f} and {:.2f} by chance".format(*chance) in essay
    assert (
        f"{100 * chance[2]:.1f} % of all random directions" in essay
        and f"chance gives {100 * chance[0]:.1f} %" in essay
    )
    page = printed("jacobian-conditions")
    assert not unaccounted(
        "jacobian-conditions",
        "{:.2f}, {:.2f} and {:.2f} in 2, 8 and 64 dimensions".format(*shares),
        "{:.2f}, {:.2f} and {:.2f} by chance".format(*chance),
        "{:.2f} for $d=2$, {:.2f} for $d=8$ and {:.2f} for $d=64$".format(*chance),
        *(f"{share:.2f}" for share in (shares[2], chance[2], chance[0])),
        f'At width 2 my report would have read "{100 * shares[0]:.0f} %"',
        "what the report would have said at width 2",
        "the sentence on width 2",
        f"{page['chance-64']} % of *all* directions",  # against what the weak essay says:
        "20 of 180 degrees",
        "11 %",
        f"Chance is {float(page['chance-2']):.0f} % there",
        "an output of 2 dimensions",
        f"{page['surprise-people-shorter']} % of the moves",
        f"{page['break-decay']} % of the moves",
        f"{100 - 83} %",
        "Orthogonal moves give exactly 1",
        "Exactly 1 for orthogonal moves",
    )
