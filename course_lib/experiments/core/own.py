"""Functions of one's own in the papers' tables: a loss, a sampler, an estimator, a method, a backbone.

A file of one's own registers them by a decorator, and `experiments run ID --with my_loss.py` takes it:

    from course_lib.experiments import own

    @own.loss("sigmoid")
    def sigmoid(scores, batch):                    # (s, s) scores of the batch; the diagonal are its positive pairs
        signs = 2 * torch.eye(len(scores)) - 1
        return -F.logsigmoid(signs * scores).sum(1).mean()

Each is tried on a small made set before a run. ValueError names what is wrong with it, and what was expected.
"""

from __future__ import annotations

import hashlib
import importlib.util
import random
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from course_lib import backbones, checking, debiasing
from course_lib.interactions import Interactions

Thing = TypeVar("Thing", bound=Callable[..., Any])
SLOPE, SAME = 1e-4, 1e-12  # relative differences: of a gradient from finite differences, of two equal calls
STEP = 1e-5  # of the finite differences
TOLD = ("users", "items", "row_counts", "col_counts")  # what a loss may read of its batch, and not write


@dataclass(frozen=True)
class Own:
    """Something that a file registered. options: what its decorator was given besides the name."""

    kind: str
    name: str
    make: Callable[..., Any]
    options: Mapping[str, Any] = field(default_factory=dict)

    def refuse(self, found: str, expected: str) -> ValueError:
        """What is to be raised: it names the function, what it did and what was expected."""
        return ValueError(f"{self.kind} {self.name!r}: {found}; expected {expected}")

    def require(self, holds: bool, found: str, expected: str) -> None:
        """Raises that where it does not hold."""
        if not holds:
            raise self.refuse(found, expected)


@dataclass(frozen=True)
class InBatch:
    """What a loss is told of its batch of s pairs. users, items (s,): ids; counts (s,): of their training pairs."""

    users: Tensor
    items: Tensor
    row_counts: Tensor
    col_counts: Tensor
    train: Interactions

    @property
    def known(self) -> Tensor:
        """(s, s) whether the user of a row has the item of a column in training: not the diagonal alone."""
        rows, cols = self.users.cpu().numpy(), self.items.cpu().numpy()
        return torch.as_tensor(self.train.contains(rows[:, None], cols[None, :])).to(self.users.device)


REGISTERED: dict[tuple[str, str], Own] = {}


def _register(kind: str, name: str, **options: Any) -> Callable[[Thing], Thing]:
    if not isinstance(name, str) or not name.strip():
        raise checking.refuse(name, f"the name of a {kind}", f'a text, as in @own.{kind}("mine")')

    def keep(thing: Thing) -> Thing:
        if (kind, name) in REGISTERED:
            raise ValueError(f"{kind} {name!r} is registered twice; expected a name for each")
        REGISTERED[kind, name] = Own(kind, name, thing, options)
        return thing

    return keep


def loss(name: str, *, score: str = "dot", stop_gradient: bool = False) -> Callable[[Thing], Thing]:
    """Registers `loss(scores, batch)` -> scalar, above 0 at the start. It enters P3-T5.

    scores: (s, s), of the users of the batch with its items, the positive pairs on the diagonal; batch: `InBatch`.
    score: "dot" or "cosine", with which the model is also served; stop_gradient: a part is detached on purpose, so that
    the gradient is none of the number. A `torch.nn.Module` class is made anew for each run, and its parameters are
    trained as well.
    """
    return _register(
        "loss", name, score=checking.choice(score, "score", ("dot", "cosine")), stop_gradient=stop_gradient
    )


def sampler(name: str) -> Callable[[Thing], Thing]:
    """Registers `sampler(train, size, rng)` -> (size,) positions among the pairs of `train`. It enters P3-T5."""
    return _register("sampler", name)


def estimator(name: str) -> Callable[[Thing], Thing]:
    """Registers a class: `Estimator(n, d, batch_size)` with `update(ids, rows)` -> (d, d). It enters P4-T2.

    n: the number of pairs; ids: (b,) places of the pairs of a batch; rows: (b, d) their embeddings on one side. The
    matrix is to estimate the mean of the outer products of all n.
    """
    return _register("estimator", name)


def method(name: str, *, tries: Iterable[Mapping[str, Any]] = ({},)) -> Callable[[Thing], Thing]:
    """Registers a subclass of `debiasing.rival.Rival` with a `loss(users, positives, negatives)`. It enters P1-T3.

    tries: the settings that the validation part chooses from, as `tuning.GRID` has them for the rivals.
    """
    tries = tuple(tries) if not isinstance(tries, str | Mapping) else ()
    if not tries or not all(isinstance(one, Mapping) for one in tries):
        raise checking.refuse(tries, f"tries of {name!r}", 'at least one dict of settings, such as ({"margin": 1.0},)')
    return _register("method", name, tries=tuple(dict(one) for one in tries))


def backbone(name: str) -> Callable[[Thing], Thing]:
    """Registers `Backbone(train, d, generator=..., decay=...)`, a subclass of `backbones.Backbone`. It enters P1-T2."""
    return _register("backbone", name)


@dataclass(frozen=True)
class File:
    """A file with functions of one's own: where it is, the hash of its bytes, and what it registered."""

    path: Path
    sha256: str
    found: tuple[Own, ...]

    def of(self, kind: str) -> list[Own]:
        """What it registered of one kind."""
        return [one for one in self.found if one.kind == kind]


@contextmanager
def loaded(path: str | Path) -> Iterator[File]:
    """Runs a file and tries what it registers; afterwards nothing is registered any more.

    ValueError where there is no such file, where it fails, registers nothing, or something that does not pass.
    """
    path = Path(path)
    if path.suffix != ".py" or not path.is_file():
        raise checking.refuse(str(path), "--with", "a file of Python that exists, such as my_loss.py")
    before = dict(REGISTERED)
    try:
        name = f"own_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]}"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:
            line = getattr(error, "lineno", None) or _line(error, path)
            where = f", line {line}" if line else ""
            raise ValueError(f"{path}{where}: {type(error).__name__}: {error}; expected a file that runs") from error
        found = tuple(one for key, one in REGISTERED.items() if key not in before)
        if not found:
            raise ValueError(f'{path} registers nothing; expected a decorator such as @own.loss("mine")')
        for one in found:
            check(one)
        yield File(path, hashlib.sha256(path.read_bytes()).hexdigest(), found)
    finally:
        REGISTERED.clear()
        REGISTERED.update(before)


def _line(error: BaseException, path: Path) -> int | None:
    """The line of a file at which an error began."""
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == str(path)), None)


# ------------------------------------------------------------------------------------------------- tried before a run
def check(one: Own) -> None:
    """Tries something that was registered on a small made set; ValueError says what is wrong with it."""
    try:
        with _no_shared_chance(one) if one.kind != "loss" else nullcontext():
            CHECKS[one.kind](one, _small())
    except (Exception, SystemExit) as error:
        if isinstance(error, ValueError) and str(error).startswith(f"{one.kind} {one.name!r}: "):
            raise
        raise one.refuse(f"{type(error).__name__}: {error}", EXPECTED[one.kind]) from error


@contextmanager
def _no_shared_chance(one: Own) -> Iterator[None]:
    """Refuses what draws from, or seeds, the random states that everybody shares: a run is decided by its seeds."""
    before = _shared_chance()
    yield
    if changed := [name for name, state in _shared_chance().items() if state != before[name]]:
        expected = "that it draws nothing" if one.kind in ("loss", "estimator") else "the generator that it is given"
        raise one.refuse(f"it draws from {changed[0]}, which all share, or seeds it", expected)


def _shared_chance() -> dict[str, Any]:
    numpy = np.random.get_state(legacy=True)  # noqa: NPY002
    return {
        "numpy.random": str(numpy),
        "torch's random state": torch.get_rng_state().tolist(),
        "random": random.getstate(),
    }


def _small() -> Interactions:
    """Nine users and seven items, each user with three of them."""
    users, shift = np.repeat(np.arange(9), 3), np.tile(np.arange(3), 9)
    return Interactions(users, (users + shift * shift) % 7, n_users=9, n_items=7, name="a small made set")


def batch_of(places: NDArray[np.int64], train: Interactions, dtype: torch.dtype, device: str = "cpu") -> InBatch:
    """The batch of the pairs at these places."""
    users, items = train.users[places], train.items[places]
    left, right = (torch.as_tensor(ids.copy(), device=device) for ids in (users, items))
    counts = train.row_counts[users], train.col_counts[items]
    rows, cols = (torch.as_tensor(one, dtype=dtype, device=device) for one in counts)
    return InBatch(left, right, rows, cols, train)


def made_loss(one: Own, dtype: torch.dtype = torch.float32, device: str = "cpu") -> Callable[[Tensor, InBatch], Tensor]:
    """The function of a loss; of a class with parameters a new object."""
    made: Any = one.make
    return made().to(device, dtype) if isinstance(made, type) and issubclass(made, torch.nn.Module) else made


def scores_of(one: Own, left: Tensor, right: Tensor) -> Tensor:
    """(s, s) the scores of a loss."""
    if one.options.get("score") == "cosine":
        left, right = F.normalize(left, dim=1), F.normalize(right, dim=1)
    return left @ right.T


def _check_loss(one: Own, train: Interactions) -> None:
    module = isinstance(one.make, torch.nn.Module)
    one.require(not module, f"it is an object of {type(one.make).__name__}", "the class, which each run makes anew")
    for dtype, size in ((torch.float32, 8), (torch.float64, 5), (torch.float64, 8)):
        places, rng = np.arange(0, 27, 3)[:size], np.random.default_rng(0)
        function, batch = made_loss(one, dtype), batch_of(places, train, dtype)
        own_parts = dict(function.named_parameters()) if isinstance(function, torch.nn.Module) else {}
        tables = [torch.tensor(0.5 * rng.standard_normal((size, 4)), dtype=dtype, requires_grad=True) for _ in range(2)]
        scores = scores_of(one, *tables)
        given = {"scores": scores, **{name: getattr(batch, name) for name in TOLD}}
        before = {name: tensor.detach().clone() for name, tensor in given.items()}
        with _no_shared_chance(one):
            value = function(scores, batch)
        number = isinstance(value, Tensor) and value.shape == () and value.is_floating_point()
        one.require(
            number, f"it returns {_kind(value)}", "one number, a torch tensor of shape (): take the mean over the batch"
        )
        for name, tensor in given.items():
            same = torch.equal(tensor.detach(), before[name])
            one.require(same, f"it changes the {name} that it was given", "a new tensor, no operation in place")
        first = float(value.detach())
        one.require(
            0 < first < np.inf,
            f"it is {first:.4g} on scores near 0",
            "a finite number above 0: a loss at a hundred times its first value halves the learning rate",
        )
        expected = "torch operations on `scores`, without .detach(), .item() or NumPy"
        one.require(value.requires_grad, "it has no gradient", expected)
        again = float(function(scores_of(one, *tables), batch).detach())
        close = abs(again - first) <= SAME * abs(first)
        one.require(close, f"two calls on one batch give {first:.8g} and {again:.8g}", "the same number")
        gradients = torch.autograd.grad(value, [*tables, *own_parts.values()], allow_unused=True)
        finite = all(part is not None and bool(torch.isfinite(part).all()) for part in gradients[:2])
        one.require(finite, "its gradient is not finite or does not reach both tables", "finite numbers for both")
        some = any(bool(part.any()) for part in gradients[:2])
        one.require(some, "its gradient is 0 in both tables", "a loss that depends on the scores")
        for name, part in zip(own_parts, gradients[2:], strict=True):
            one.require(part is not None, f"its parameter {name!r} has no gradient", "that each parameter is used")
            bounded = part is None or bool(torch.isfinite(part).all())
            expected = "finite numbers: 0 times infinity, as behind a mask or a root at 0, is none"
            one.require(bounded, f"the gradient of its parameter {name!r} is not finite", expected)
    if not one.options["stop_gradient"]:
        _check_slope(one, function, batch, tables, gradients)


def _kind(value: Any) -> str:
    return f"{value.dtype} of shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__


def _check_slope(one: Own, function: Any, batch: InBatch, tables: list[Tensor], gradients: Any) -> None:
    """Holds the gradient of autograd against finite differences, in float64, along some random directions."""
    rng = np.random.default_rng(1)
    for _ in range(3):
        ways = [torch.tensor(rng.standard_normal(part.shape)) for part in tables]
        ends = []
        with torch.no_grad():
            for sign in (1, -1):
                moved = [part + sign * STEP * way for part, way in zip(tables, ways, strict=True)]
                ends.append(float(function(scores_of(one, *moved), batch)))
        slope = (ends[0] - ends[1]) / (2 * STEP)
        told = float(sum((part * way).sum() for part, way in zip(gradients, ways, strict=False)))
        one.require(
            abs(slope - told) <= SLOPE * max(abs(slope), abs(told), 1e-3),
            f"its gradient says a slope of {told:.6g} along a direction in which the loss has {slope:.6g}",
            "that they agree: a part is detached (on purpose? stop_gradient=True), rounded or its backward() wrong",
        )


def _check_sampler(one: Own, train: Interactions) -> None:
    draws = [drawn(one, train, 5, np.random.default_rng(seed)) for seed in (0, 0, 1, 2, 3)]
    if not np.array_equal(draws[0], draws[1]):
        raise one.refuse("two calls with generators of one seed differ", "that all chance comes from the given `rng`")
    if all(np.array_equal(draws[0], other) for other in draws[2:]):
        raise one.refuse("it gives the same batch for every generator", "that it draws from the given `rng`")


def drawn(one: Own, train: Interactions, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """A batch of an own sampler, or ValueError for one that is no batch."""
    places = np.asarray(one.make(train, size, rng))
    if places.shape != (size,) or not np.issubdtype(places.dtype, np.integer):
        raise one.refuse(f"it returns {places.dtype} of shape {places.shape}", f"{size} integers, shape ({size},)")
    if places.min() < 0 or places.max() >= len(train):
        wrong = places[(places < 0) | (places >= len(train))][0]
        raise one.refuse(
            f"it returns the position {wrong}", f"positions from 0 to {len(train) - 1}, of the pairs of train"
        )
    return places.astype(np.int64)


def _check_estimator(one: Own, train: Interactions) -> None:
    n, d, size = len(train), 3, 6
    found = []
    for _ in range(2):
        rng, side = np.random.default_rng(0), one.make(n, d, size)
        if not callable(getattr(side, "update", None)):
            raise one.refuse(f"{type(side).__name__} has no update", "a method update(ids, rows)")
        for _ in range(2):
            ids, rows = torch.as_tensor(rng.integers(n, size=size)), torch.as_tensor(rng.standard_normal((size, d)))
            before = (rows := rows.float()).clone()
            gram = side.update(ids, rows)
            right = isinstance(gram, Tensor) and gram.shape == (d, d) and gram.dtype == rows.dtype
            expected = f"a tensor of shape (d, d), here ({d}, {d}), of the type of the rows"
            one.require(right, f"update returns {_kind(gram)}", expected)
            same = torch.equal(rows, before)
            one.require(same, "update changes the rows that it was given", "a new tensor, no operation in place")
            right = bool(torch.isfinite(gram).all()) and torch.allclose(gram, gram.T, atol=1e-5)
            one.require(right, "update returns a matrix that is not finite or not symmetric", "a Gramian")
        found.append(gram)
    one.require(torch.equal(*found), "two estimators that saw the same differ", "that they agree")


def _check_model(one: Own, train: Interactions) -> None:
    for setting in one.options.get("tries", ({},))[::-1]:
        _check_setting(one, train, {key: value for key, value in setting.items() if key != "decay factor"})


def _check_setting(one: Own, train: Interactions, setting: dict[str, Any]) -> None:
    given = (torch.tensor([0, 1, 2, 3]), torch.as_tensor(train.items[[0, 3, 6, 9]]), torch.tensor([6, 6, 1, 1]))
    values = []
    for _ in range(2):
        generator = torch.Generator().manual_seed(0)
        model = _model(one, train, generator, setting)
        model.begin_epoch(0, np.random.default_rng(0))
        value = model.loss(*given)
        number = isinstance(value, Tensor) and value.shape == () and bool(torch.isfinite(value))
        one.require(number, f"its loss is {value!r}", "one finite number, a tensor of shape ()")
        found = torch.autograd.grad(value, list(model.parameters()), allow_unused=True) if value.requires_grad else ()
        some = any(part is not None for part in found)
        one.require(some, "its loss has no gradient in any parameter", "trained parameters")
        with torch.no_grad():
            tables = model.ranking()
        shapes = [tuple(table.shape) for table in tables]
        right = len(shapes) == 2 and [shape[0] for shape in shapes] == [9, 7] and shapes[0][1] == shapes[1][1]
        one.require(right, f"ranking() gives shapes {shapes}", "two tables, a row for each user and for each item")
        finite = all(bool(torch.isfinite(table).all()) for table in tables)
        one.require(finite, "ranking() gives numbers that are not finite", "two tables of finite numbers")
        values.append(float(value.detach()))
    said = f"two models of one seed have the losses {values[0]:.8g} and {values[1]:.8g}"
    one.require(values[0] == values[1], said, "the same number")


def _model(one: Own, train: Interactions, generator: torch.Generator, setting: dict[str, Any]) -> Any:
    if not isinstance(one.make, type):
        raise one.refuse(f"it is {type(one.make).__name__}", "a class")
    if one.kind == "method":
        inner = backbones.make("MF", train, d=4, generator=generator, decay=0.01)
        wanted: type[Any] = debiasing.rival.Rival
        model = one.make(inner, train, generator=generator, **setting)
    else:
        wanted, model = backbones.Backbone, one.make(train, 4, generator=generator, decay=0.01)
    if not isinstance(model, wanted):
        raise one.refuse(f"it is no {wanted.__name__}", f"a subclass of {wanted.__module__}.{wanted.__name__}")
    return model


CHECKS: dict[str, Callable[[Own, Interactions], None]] = {
    "loss": _check_loss,
    "sampler": _check_sampler,
    "estimator": _check_estimator,
    "method": _check_model,
    "backbone": _check_model,
}
EXPECTED = {
    "loss": "loss(scores, batch) that runs on (8, 8) and (5, 5) scores, in float32 and float64, on their device",
    "sampler": "sampler(train, size, rng) that runs on 27 pairs",
    "estimator": "Estimator(n, d, batch_size) with update(ids, rows) that runs",
    "method": "Method(backbone, train, generator=..., **setting) that trains on four triples",
    "backbone": "Backbone(train, d, generator=..., decay=...) that trains on four triples",
}
