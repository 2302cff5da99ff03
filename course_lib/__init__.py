"""The library of the two-tower course.

    checking     checks of arguments
    data         interactions, data sets, metrics
    maths        geometry, gauges, norms, losses, in-batch objectives, Gramians, popularity
    models       encoders and their Jacobians, backbones, debiasing
    training     what trains them
    papers       the numbers that the five papers print
    experiments  the papers' tables and figures, at three scales
    lessons      one folder for each chapter: proofs, counterexamples, figures, interactive, quiz, checks

A module has a short name as well: `from course_lib import geometry`. Nothing is imported before it is asked
for: `import course_lib` takes no time and no torch.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what `__getattr__` gives, for editors and type checkers
    from course_lib.data import datasets as datasets
    from course_lib.data import interactions as interactions
    from course_lib.data import metrics as metrics
    from course_lib.maths import arrays as arrays
    from course_lib.maths import correction as correction
    from course_lib.maths import gauge as gauge
    from course_lib.maths import geometry as geometry
    from course_lib.maths import gramians as gramians
    from course_lib.maths import in_batch as in_batch
    from course_lib.maths import losses as losses
    from course_lib.maths import norms as norms
    from course_lib.maths import popularity as popularity
    from course_lib.models import backbones as backbones
    from course_lib.models import debiasing as debiasing
    from course_lib.models import encoders as encoders
    from course_lib.models import jacobians as jacobians

__version__ = "0.1.0"

# Short name -> where the module lies.
_HOMES = {
    "arrays": "course_lib.maths.arrays",
    "backbones": "course_lib.models.backbones",
    "correction": "course_lib.maths.correction",
    "datasets": "course_lib.data.datasets",
    "debiasing": "course_lib.models.debiasing",
    "encoders": "course_lib.models.encoders",
    "gauge": "course_lib.maths.gauge",
    "geometry": "course_lib.maths.geometry",
    "gramians": "course_lib.maths.gramians",
    "in_batch": "course_lib.maths.in_batch",
    "interactions": "course_lib.data.interactions",
    "jacobians": "course_lib.models.jacobians",
    "losses": "course_lib.maths.losses",
    "metrics": "course_lib.data.metrics",
    "norms": "course_lib.maths.norms",
    "popularity": "course_lib.maths.popularity",
}


class _ShortNames(MetaPathFinder, Loader):
    """Lets `import course_lib.debiasing.ddc` find course_lib.models.debiasing.ddc: the same module, loaded once."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, rest = fullname.partition(".")
        return ModuleSpec(fullname, self) if package == __name__ and rest.partition(".")[0] in _HOMES else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        _, short, *rest = spec.name.split(".")
        module = import_module(".".join([_HOMES[short], *rest]))
        self._spec = module.__spec__  # the import system is about to replace it
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec


sys.meta_path.insert(0, _ShortNames())  # first: the path of a package would find a second copy


def __getattr__(name: str) -> ModuleType:
    if name in _HOMES:
        return import_module(_HOMES[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
