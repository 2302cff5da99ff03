"""The hero of the chapter: how much of DDC's two scalars everybody's vector carries, in several trainings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import traitlets
from numpy.typing import ArrayLike, NDArray

from course_lib import correction, metrics, popularity
from course_lib.interactions import Interactions
from course_lib.lessons.shared.widgets import tables
from course_lib.lessons.shared.widgets.base import Count, Number, read
from course_lib.lessons.shared.widgets.paper import WrittenOnce

STORED = Path(__file__).with_name("over_seeds.json")  # made by make_over_seeds.py
SHIFTS = (-2, -1, 0, 1, 2)
RATIO = 0.05


class Training(NamedTuple):
    """users (m, d), items (n, d) of a trained model, the items moved; alpha (m,), beta (m,): DDC's scalars for them."""

    users: np.ndarray
    items: np.ndarray
    alpha: np.ndarray
    beta: np.ndarray


class OverSeeds(WrittenOnce):
    """MF on the embedded films, trained with several seeds: popularity and accuracy of the lists of 100 people.

    alpha, beta     how much of their own alpha and beta everybody's vector carries, 0 to 1.5; (1, 0) and (0, 1) are the
                    scalars alone, (1, 1) is DDC
    shift           how far all items are moved along e_pop before DDC is solved, in standard deviations of their
                    projections, -2 to 2

    All three are traits: read, set and observe them. `trainings()` are the models behind the picture, `train`, `known`
    and `tested` the films of the people: in training, never recommended, and to be found. Films are rounded to 8 bits,
    people to four figures, scalars to two decimals.
    """

    module_name: ClassVar[str] = "over_seeds"
    caption: ClassVar[str] = (
        "Change of the lists' popularity (across) and of their accuracy (up) against the model, in percent. Dots: what "
        "is served, one for each training. Triangles: alpha alone. Squares: beta alone. Diamonds: both, DDC. With "
        "JavaScript this picture is interactive."
    )

    models = traitlets.List(traitlets.Dict()).tag(sync=True, state=True)
    counts = traitlets.List(traitlets.Int()).tag(sync=True, state=True)
    history = traitlets.List(traitlets.List(traitlets.Int())).tag(sync=True, state=True)
    seen = traitlets.List(traitlets.List(traitlets.Int())).tag(sync=True, state=True)
    test = traitlets.List(traitlets.List(traitlets.Int())).tag(sync=True, state=True)
    alpha = Number(1.0, 0, 1.5)
    beta = Number(1.0, 0, 1.5)
    shift = Count(0, SHIFTS[0], SHIFTS[-1])

    def __init__(self, **state: Any) -> None:
        super().__init__(**read(STORED), **state)

    def trainings(self) -> Iterator[Training]:
        """The models, in the order of their seeds."""
        place = SHIFTS.index(self.shift)
        for model in self.models:
            items = moved(tables.unpack(model["items"]), self.counts, self.shift)
            yield Training(np.array(model["users"]), items, *(np.array(model[s][place]) for s in ("alpha", "beta")))

    def list_popularity(self) -> NDArray[np.float64]:
        """(trainings,) how many training pairs a film in the served lists has on average."""
        found = []
        for model in self.trainings():
            pop = popularity.popularity_direction(model.items, np.array(self.counts))
            pref = correction.preference_directions(model.users, model.items, self.train)
            served = model.users + self.alpha * model.alpha[:, None] * pop + self.beta * model.beta[:, None] * pref
            found.append(np.array(self.counts)[metrics.top_k(served, model.items, self.known, 10)].mean())
        return np.array(found)

    @property
    def train(self) -> Interactions:
        """(m, n) the films that made the models and the directions of preference."""
        return self._interactions(self.history)

    @property
    def known(self) -> Interactions:
        """(m, n) the films that are never recommended."""
        return self._interactions([[*a, *b] for a, b in zip(self.history, self.seen, strict=True)])

    @property
    def tested(self) -> Interactions:
        """(m, n) the films that the lists should show."""
        return self._interactions(self.test)

    def _interactions(self, of: Sequence[Sequence[int]]) -> Interactions:
        owners = np.repeat(np.arange(len(of)), [len(items) for items in of])
        return Interactions(owners, np.concatenate(of), n_users=len(of), n_items=len(self.counts))

    def __repr__(self) -> str:
        return f"OverSeeds(alpha={self.alpha}, beta={self.beta}, shift={self.shift}; {len(self.models)} trainings)"


def moved(items: np.ndarray, counts: ArrayLike, shift: float) -> np.ndarray:
    """(n, d) all items moved by `shift` standard deviations of their projections on e_pop."""
    direction = popularity.popularity_direction(items, counts, RATIO)
    return np.asarray(items + shift * (items @ direction).std() * direction)
