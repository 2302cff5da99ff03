"""The interactive of the chapter: the two scalars of one user, the loss that learns them, and the ranks they give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import traitlets

from course_lib import correction, popularity
from course_lib.interactions import Interactions
from course_lib.lessons.shared.widgets import tables
from course_lib.lessons.shared.widgets.base import Count, Number, Word, read
from course_lib.lessons.shared.widgets.paper import WrittenOnce

STORED = Path(__file__).with_name("two_scalars.json")  # made by make_two_scalars.py
VIEWS = ("ddc", "served")
WINDOW = {"alpha": (-3.0, 3.0), "beta": (-1.0, 5.0)}  # of the picture
POINTS = 25  # of the grid, in each direction
RATIO, TOP, LIST = 0.05, 0.3, 10
MOST_PEOPLE = 8
FEWEST, MOST_ITEMS, MOST_WIDTH = 20, 1000, 64
MOST_HISTORY, MOST_TEST = 40, 6


@dataclass(frozen=True, eq=False)
class User:
    """One user in front of frozen items, all moved along the axis of popularity by `shift`."""

    history: np.ndarray  # positives
    others: np.ndarray  # negatives: everything else
    candidates: np.ndarray  # what may be recommended
    test: np.ndarray
    scores: np.ndarray  # (n,) s_i = <e_u, e_i>
    a: np.ndarray  # (n,) <e_pref, e_i>
    b: np.ndarray  # (n,) <e_pop, e_i>
    counts: np.ndarray
    tilt: float  # <e_pref, e_pop>

    def final(self, alpha: float, beta: float) -> np.ndarray:
        """(n,) scores of the embedding that is served: (14)."""
        return np.asarray(self.scores + beta * self.a + alpha * self.b)

    def shown(self, alpha: float, beta: float) -> np.ndarray:
        """(10,) the list."""
        final = self.final(alpha, beta)[self.candidates]
        return self.candidates[np.argsort(-final, kind="stable")[:LIST]]


class TwoScalars(WrittenOnce):
    """One user, two scalars: ranks of the test items, what their scores are made of, the loss and its minimum.

    users, items    tables (m, d), (n, d) of a trained model; by default MF on the embedded films
    train, test     its training and test interactions, with the same users and items
    chosen          ids of the users that are offered, at most 8 of at most 40 training and 6 test items
    names           {item id: what it is called}
    seen            further interactions that are never recommended, for example the validation part
    person          which of the chosen users is shown, counted from 0
    alpha, beta     the user's scalars: along e_pop, along e_pref; 0 and 0 are the model
    shift           how far all items are moved along e_pop, in standard deviations of their projections: no ranking of
                    the model changes
    view            the loss that is drawn: "ddc", (13), or "served", BPR's loss of the embedding that is served

    The last five are traits: read, set and observe them. Head and tail are 5 % of the items each, e_pref is made of a
    user's best 30 %. Item tables are rounded to 8 bits. Raises ValueError for tables and values that do not fit.
    """

    module_name: ClassVar[str] = "two_scalars"
    caption: ClassVar[str] = (
        "The loss of one user as a function of their two scalars: lines of equal loss, thicker where it is lower. "
        "Circle: the model. Diamond: the minimum of the DDC loss. Square: the best rank. Cross: the scalars that are "
        "shown. With JavaScript this picture is interactive."
    )

    items = traitlets.Dict().tag(sync=True, state=True)
    counts = traitlets.List(traitlets.Int()).tag(sync=True, state=True)
    people = traitlets.List(traitlets.Dict()).tag(sync=True, state=True)
    names = traitlets.Dict().tag(sync=True, state=True)
    stored = traitlets.Bool().tag(sync=True, state=True)
    person = Count(0, 0, lambda shown: len(shown.people) - 1)
    alpha = Number(0.0, -50, 50)
    beta = Number(0.0, -50, 50)
    shift = Number(0.0, -5, 5)
    view = Word("ddc", VIEWS)

    def __init__(
        self,
        users: Any = None,
        items: Any = None,
        train: Interactions | None = None,
        test: Interactions | None = None,
        *,
        chosen: Sequence[int] = (0,),
        names: Mapping[int, str] | None = None,
        seen: Interactions | None = None,
        **state: Any,
    ) -> None:
        stored = users is None
        data = read(STORED) if stored else packed_data(users, items, train, test, chosen=chosen, names=names, seen=seen)
        super().__init__(**data, stored=stored, **state)

    @property
    def user(self) -> User:
        """The user that is shown, with scores and projections."""
        return user_of({"items": self.items, "counts": self.counts}, self.people[self.person], self.shift)

    def __repr__(self) -> str:
        state = ", ".join(f"{name}={getattr(self, name)!r}" for name in ("person", "alpha", "beta", "shift", "view"))
        return f"TwoScalars({state}; {len(self.people)} people, {len(self.counts)} items)"


def packed_data(
    users: Any,
    items: Any,
    train: Interactions | None,
    test: Interactions | None,
    *,
    chosen: Sequence[int],
    names: Mapping[int, str] | None = None,
    seen: Interactions | None = None,
) -> dict[str, Any]:
    """{"items", "counts", "people", "names"}: what the interactive keeps of a model."""
    items = tables.checked(items, "items", rows=(FEWEST, MOST_ITEMS), width=(2, MOST_WIDTH))
    users = tables.checked(users, "users", rows=(1, 10**9), width=(items.shape[1], items.shape[1]))
    shape = (len(users), len(items))
    train, test = _fitting(train, "train", shape), _fitting(test, "test", shape)
    seen = None if seen is None else _fitting(seen, "seen", shape)
    if not 1 <= len(chosen) <= MOST_PEOPLE or not all(0 <= user < len(users) for user in chosen):
        raise ValueError(
            f"chosen is {list(chosen)}; expected 1 to {MOST_PEOPLE} users, each from 0 to {len(users) - 1}"
        )
    people = []
    for user in map(int, chosen):
        history, wanted = (data.items_of(user).tolist() for data in (train, test))
        if not 1 <= len(history) <= MOST_HISTORY or not 1 <= len(wanted) <= MOST_TEST:
            raise ValueError(
                f"user {user} has {len(history)} training and {len(wanted)} test items; "
                f"expected 1 to {MOST_HISTORY} and 1 to {MOST_TEST}"
            )
        hidden = [] if seen is None else seen.items_of(user).tolist()
        people.append(
            {
                "vector": [float(f"{value:.4g}") for value in users[user]],
                "history": history,
                "test": wanted,
                "seen": hidden,
            }
        )
    return {
        "items": tables.pack(items),
        "counts": train.col_counts.tolist(),
        "people": people,
        "names": {str(k): str(v) for k, v in (names or {}).items()},
    }


def _fitting(data: Any, name: str, shape: tuple[int, int]) -> Interactions:
    if not isinstance(data, Interactions) or data.shape != shape:
        raise ValueError(f"{name} is {data!r}; expected Interactions of shape {shape}")
    return data


def grid_points() -> list[tuple[float, float]]:
    """(alpha, beta) of the grid, alpha fastest."""
    alphas, betas = (grid_axis(name) for name in WINDOW)
    return [(alpha, beta) for beta in betas for alpha in alphas]


def grid_axis(name: str) -> list[float]:
    """The 25 values of one scalar on the grid."""
    low, high = WINDOW[name]
    return [low + k * (high - low) / (POINTS - 1) for k in range(POINTS)]


def user_of(data: Mapping[str, Any], person: Mapping[str, Any], shift: float = 0.0) -> User:
    """A user of `packed_data`, with all items moved by `shift` standard deviations along the axis of popularity."""
    items, counts = tables.unpack(data["items"]), np.array(data["counts"], dtype=np.float64)
    vector, history = np.array(person["vector"]), np.array(person["history"])
    direction = popularity.popularity_direction(items, counts, RATIO)
    items = items + shift * (items @ direction).std() * direction
    alone = Interactions(np.zeros(len(history), int), history, n_users=1, n_items=len(items))
    preference = correction.preference_directions(vector[None], items, alone, TOP)[0]
    return User(
        history=history,
        others=np.setdiff1d(np.arange(len(items)), history),
        candidates=np.setdiff1d(np.arange(len(items)), [*history, *person["seen"]]),
        test=np.array(person["test"]),
        scores=items @ vector,
        a=items @ preference,
        b=items @ direction,
        counts=counts,
        tilt=float(preference @ direction),
    )
