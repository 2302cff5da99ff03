"""Towers: `torch.nn.Module`s that turn identifiers into embeddings, forward(x) -> (B, d).

x is an integer tensor (B,) of identifiers; whatever a tower needs to know about them (features, histories) it holds
itself as a buffer. So every tower can take the place of every other, and of a module that a reader brings.
Parameters have PyTorch's default dtype; `.double()` gives the float64 that claims are checked in.
Source: P0, Sections 2.3-2.4 and Appendix A; the towers of Table 1; claim X7 for those that the paper does not name.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from course_lib import checking, extras

try:
    import torch
    from torch import Tensor, nn
except ImportError as error:
    raise extras.missing(error, "course_lib.encoders") from error

PAD = -1  # fills up a history that is shorter than the others


class Lookup(nn.Module):
    """q_i = E_i: one row of parameters per identifier (P0, Appendix A.1).

    weight (n, d), normal with standard deviation `scale`.
    """

    def __init__(self, n: int, d: int, *, generator: torch.Generator | None = None, scale: float = 1.0) -> None:
        super().__init__()
        shape = (checking.whole(n, "n"), checking.whole(d, "d"))
        self.weight = nn.Parameter(_normal(shape, scale, generator))

    def forward(self, x: Tensor) -> Tensor:
        """x (B,) identifiers -> their rows (B, d)."""
        return self.weight[_identifiers(x, len(self.weight))]  # (n, d)[(B,)] -> (B, d)


class Features(nn.Module):
    """x -> row x of a fixed matrix (n, h): the first stage of a tower over features. It has no parameters."""

    matrix: Tensor

    def __init__(self, matrix: Any) -> None:
        super().__init__()
        matrix = torch.as_tensor(matrix)
        if matrix.ndim != 2:
            raise ValueError(f"features has shape {tuple(matrix.shape)}; expected (n, h), a row per identifier")
        self.register_buffer("matrix", matrix if matrix.is_floating_point() else matrix.to(torch.get_default_dtype()))

    def forward(self, x: Tensor) -> Tensor:
        """x (B,) identifiers -> their features (B, h)."""
        return self.matrix[_identifiers(x, len(self.matrix))]  # (n, h)[(B,)] -> (B, h)


class _OverFeatures(nn.Sequential):
    """Features, then layers, which get the features in their parameters' dtype: NumPy's floats are double."""

    def forward(self, x: Tensor) -> Tensor:
        """x (B,) identifiers -> (B, d)."""
        table, *layers = self
        out: Tensor = table(x)
        out = out.to(next(layers[0].parameters()).dtype)
        for layer in layers:
            out = layer(out)
        return out


class DenseLinear(_OverFeatures):
    """q_i = W x_i, with `bias` W x_i + b (P0, Appendix A.2).

    features (n, h): row i is x_i; weight (d, h), bias (d,) as in torch.nn.Linear.
    """

    def __init__(self, features: Any, d: int, bias: bool = False, *, generator: torch.Generator | None = None) -> None:
        table = Features(features)
        super().__init__(table, _linear(table.matrix.shape[1], d, bias, generator))


class OneHotLinear(DenseLinear):
    """A linear layer on one-hot inputs: with bias=False (PyTorch's default is True) a lookup, done by a product."""

    def __init__(self, n: int, d: int, bias: bool = False, *, generator: torch.Generator | None = None) -> None:
        super().__init__(torch.eye(checking.whole(n, "n")), d, bias, generator=generator)


class TwoLayers(_OverFeatures):
    """q_i = B A x_i: two linear layers with nothing between them (P0, Appendix A.3).

    features (n, h), A (hidden, h), B (d, hidden); without biases.
    """

    def __init__(self, features: Any, hidden: int, d: int, *, generator: torch.Generator | None = None) -> None:
        table = Features(features)
        first = _linear(table.matrix.shape[1], hidden, False, generator)
        super().__init__(table, first, _linear(hidden, d, False, generator))


class EmbeddingThenLinear(nn.Sequential):
    """q_i = B E_i: an embedding layer and a linear layer on top (P0, Table 1, rows 4 and, frozen, 5).

    E (n, hidden), B (d, hidden); frozen=True keeps E at its start, so that E_i is a plain feature vector.
    """

    def __init__(
        self, n: int, hidden: int, d: int, *, frozen: bool = False, generator: torch.Generator | None = None
    ) -> None:
        embedding = Lookup(n, hidden, generator=generator)
        embedding.weight.requires_grad_(not frozen)
        super().__init__(embedding, _linear(hidden, d, False, generator))


class BiasedLookup(nn.Module):
    """q_i = E_i + b with one b for all: the smallest tower that is parameter-linear and no lookup."""

    def __init__(self, n: int, d: int, *, generator: torch.Generator | None = None, scale: float = 1.0) -> None:
        super().__init__()
        self.rows = Lookup(n, d, generator=generator, scale=scale)
        self.bias = nn.Parameter(torch.zeros(d))

    def forward(self, x: Tensor) -> Tensor:
        """x (B,) identifiers -> rows plus the bias (B, d)."""
        rows: Tensor = self.rows(x)
        return rows + self.bias


class ScaledLookup(nn.Module):
    """q_i = s E_i with one learned number s for all: not parameter-linear, and still tangent (claim X7)."""

    def __init__(self, n: int, d: int, *, generator: torch.Generator | None = None, scale: float = 1.0) -> None:
        super().__init__()
        self.rows = Lookup(n, d, generator=generator, scale=scale)
        self.factor = nn.Parameter(torch.ones(()))

    def forward(self, x: Tensor) -> Tensor:
        """x (B,) identifiers -> scaled rows (B, d)."""
        rows: Tensor = self.rows(x)
        return self.factor * rows


class ExponentialLookup(nn.Module):
    """q_i = e^{b_i} E_i with a learned number b_i per identifier: not parameter-linear, still tangent (claim X7)."""

    def __init__(self, n: int, d: int, *, generator: torch.Generator | None = None, scale: float = 1.0) -> None:
        super().__init__()
        self.rows = Lookup(n, d, generator=generator, scale=scale)
        self.exponents = nn.Parameter(torch.zeros(n))

    def forward(self, x: Tensor) -> Tensor:
        """x (B,) identifiers -> rows, each with its own factor (B, d)."""
        rows: Tensor = self.rows(x)
        return self.exponents[x].exp()[..., None] * rows


class InvertedLookup(nn.Module):
    """q_i = E_i / ||E_i||^2, inversion in the unit sphere: non-linear and conformal, J_i J_i^T = I / ||E_i||^4."""

    def __init__(self, n: int, d: int, *, generator: torch.Generator | None = None, scale: float = 1.0) -> None:
        super().__init__()
        self.rows = Lookup(n, d, generator=generator, scale=scale)

    def forward(self, x: Tensor) -> Tensor:
        """x (B,) identifiers -> inverted rows (B, d)."""
        rows: Tensor = self.rows(x)
        return rows / (rows * rows).sum(-1, keepdim=True)


class MeanHistory(nn.Module):
    """A user is the mean of the embeddings of the items in the history, taken from the item tower's own table.

    items: the item tower, shared and not copied; histories (m, L) of item identifiers, filled up with PAD (-1).
    """

    histories: Tensor

    def __init__(self, items: nn.Module, histories: Any) -> None:
        super().__init__()
        self.items = items
        self.register_buffer("histories", _histories(histories))

    def forward(self, x: Tensor) -> Tensor:
        """x (B,) users -> the means of their histories (B, d)."""
        history = self.histories[_identifiers(x, len(self.histories))]  # (B, L)
        present = (history != PAD)[..., None]
        embedded: Tensor = self.items(history.clamp(min=0)) * present  # (B, L, d)
        return embedded.sum(-2) / present.sum(-2)


class HistoryTransformer(nn.Module):
    """A BERT-like user tower over item histories: item and position embeddings, transformer layers, mean, linear.

    histories (m, L) of item identifiers below n_items, filled up with PAD (-1) at the end; weights are normal with
    standard deviation 0.02 as in BERT, biases 0. It has an item table of its own: its parameters and those of the item
    tower are disjoint. `dropout` acts in train mode only. width: inside the transformer (default d), a multiple of
    `heads`.
    Source: P0, Table 1 row 3 and Section 4.3 (left tower), after Sun et al. (2019).
    """

    histories: Tensor

    def __init__(
        self,
        n_items: int,
        d: int,
        *,
        histories: Any,
        width: int | None = None,
        layers: int = 1,
        heads: int = 2,
        dropout: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        n_items, width = checking.whole(n_items, "n_items"), checking.whole(d if width is None else width, "width")
        if width % heads:
            raise ValueError(f"width must be a multiple of heads, but it is {width} and heads is {heads}")
        self.register_buffer("histories", _histories(histories, n_items))
        self.items = nn.Embedding(n_items + 1, width, padding_idx=n_items)
        self.positions = nn.Embedding(self.histories.shape[1], width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.out = nn.Linear(width, d)
        _fill_like_bert(self, generator)

    def forward(self, x: Tensor) -> Tensor:
        """x (B,) users -> embeddings of their histories (B, d)."""
        history = self.histories[_identifiers(x, len(self.histories))]  # (B, L)
        absent = history == PAD
        tokens = self.items(history.masked_fill(absent, self.items.num_embeddings - 1)) + self.positions.weight
        encoded = self.encoder(tokens, src_key_padding_mask=absent)  # (B, L, d)
        kept = (~absent)[..., None]
        embedded: Tensor = self.out((encoded * kept).sum(-2) / kept.sum(-2))
        return embedded


class Bags(nn.Module):
    """x -> for each kind of feature the mean of the embeddings in the bag that x has of it, side by side.

    bags: name -> (n, vocabulary) scipy sparse 0/1 matrix, row i the features of identifier i; an empty bag gives zeros.
    width: of each kind's embedding, so the output is (B, kinds * width). Two towers may share one `Bags`.
    Source: the input layer of P4's networks, Section 4.1.
    """

    def __init__(self, bags: Any, width: int, *, generator: torch.Generator | None = None, scale: float = 0.1) -> None:
        super().__init__()
        checking.whole(width, "width")
        sizes = [bag.shape[0] for bag in bags.values()]
        if len(set(sizes)) != 1:
            raise ValueError(f"bags have {sizes} rows; expected at least one bag, with one row per identifier in each")
        self.names = tuple(bags)
        self.tables = nn.ParameterDict(
            {name: nn.Parameter(_normal((bag.shape[1], width), scale, generator)) for name, bag in bags.items()}
        )
        for name, bag in bags.items():
            rows = bag.tocsr()
            self.register_buffer(f"{name}_starts", torch.as_tensor(rows.indptr, dtype=torch.int64))
            self.register_buffer(f"{name}_features", torch.as_tensor(rows.indices, dtype=torch.int64))

    def forward(self, x: Tensor) -> Tensor:
        """x (B,) identifiers -> the means of their features' embeddings, bag after bag (B, bags * width)."""
        return torch.cat([self._mean(name, x) for name in self.names], dim=1)

    def _mean(self, name: str, x: Tensor) -> Tensor:
        starts, features = getattr(self, f"{name}_starts"), getattr(self, f"{name}_features")
        x = _identifiers(x, len(starts) - 1)
        sizes = starts[x + 1] - starts[x]
        offsets = sizes.cumsum(0) - sizes
        within = torch.arange(int(sizes.sum()), device=x.device) - offsets.repeat_interleave(sizes)
        return nn.functional.embedding_bag(
            features[starts[x].repeat_interleave(sizes) + within], self.tables[name], offsets, mode="mean"
        )


class Perceptron(nn.Sequential):
    """Linear layers with ReLU between them, after an input stage: `Perceptron(bags, (150, 256, 64))`.

    widths: of the input and of each layer's output. The last layer is linear: with a ReLU after it no inner product of
    two embeddings could be negative.
    """

    def __init__(self, first: nn.Module, widths: Sequence[int], *, generator: torch.Generator | None = None) -> None:
        if len(widths) < 2:
            raise ValueError(f"widths is {tuple(widths)}; expected at least the input's width and the output's")
        layers: list[nn.Module] = [first]
        for inputs, outputs in itertools.pairwise(widths):
            layers += [_linear(inputs, outputs, True, generator), nn.ReLU()]
        super().__init__(*layers[:-1])


class Renamed(nn.Module):
    """x -> table[x]: the identifiers of one side in the numbering that the next stage uses. No parameters."""

    table: Tensor

    def __init__(self, table: Any) -> None:
        super().__init__()
        self.register_buffer("table", torch.as_tensor(np.array(table), dtype=torch.int64))

    def forward(self, x: Tensor) -> Tensor:
        """x (B,) identifiers -> what they are called in the other list (B,)."""
        return self.table[_identifiers(x, len(self.table))]


class TwoTower(nn.Module):
    """Two encoders side by side: forward(users, items) -> ((B, d), (B, d)).

    Any module that gives (B, d) may be a tower. P0 assumes that the two share no parameter; `shared_parameters` says.
    """

    def __init__(self, left: nn.Module, right: nn.Module) -> None:
        super().__init__()
        self.left, self.right = left, right

    def forward(self, users: Tensor, items: Tensor) -> tuple[Tensor, Tensor]:
        """users (B,), items (B,) identifiers, or whatever the towers take -> their embeddings, (B, d) each."""
        return self.left(users), self.right(items)

    def embeddings(self, users: Any, items: Any) -> tuple[Tensor, Tensor]:
        """The embeddings of these users and items, without gradients. Identifiers may be tensors, arrays or lists."""
        with torch.no_grad():
            return self.left(_on(users, self.left)), self.right(_on(items, self.right))

    def shared_parameters(self) -> list[str]:
        """Names (in the right tower) of the parameters that the left tower holds too; P0's analysis needs none."""
        held = {id(parameter) for parameter in self.left.parameters()}
        return [name for name, parameter in self.right.named_parameters() if id(parameter) in held]


def recent_histories(users: Any, items: Any, *, n_users: int, length: int, times: Any | None = None) -> np.ndarray:
    """The last `length` items of every user, oldest first, as an (n_users, length) array filled up with PAD (-1).

    users, items (and times, if known) of the pairs; without times the order of the pairs counts.
    """
    users, items = np.asarray(users), np.asarray(items)
    order = np.lexsort((np.arange(len(users)) if times is None else np.asarray(times), users))
    users, items = users[order], items[order]
    counts = np.bincount(users, minlength=n_users)
    starts = np.cumsum(counts) - counts
    rank = np.arange(len(users)) - (starts + np.maximum(counts - length, 0))[users]  # 0 for the first that is kept
    kept = rank >= 0
    histories = np.full((n_users, length), PAD, dtype=np.int64)
    histories[users[kept], rank[kept]] = items[kept]
    return histories


def _normal(shape: tuple[int, ...], scale: float, generator: torch.Generator | None) -> Tensor:
    return torch.randn(shape, generator=generator) * scale


def _linear(inputs: int, d: int, bias: bool, generator: torch.Generator | None) -> nn.Linear:
    """torch.nn.Linear with normal weights of variance 1 / inputs, drawn from `generator`, and a bias of zeros."""
    layer = nn.Linear(checking.whole(inputs, "hidden"), checking.whole(d, "d"), bias=bias)
    with torch.no_grad():
        layer.weight.copy_(_normal((d, inputs), 1 / math.sqrt(inputs), generator))
        if bias:
            layer.bias.zero_()
    return layer


@torch.no_grad()
def _fill_like_bert(module: nn.Module, generator: torch.Generator | None) -> None:
    for name, parameter in module.named_parameters():
        if parameter.ndim > 1:
            parameter.copy_(_normal(tuple(parameter.shape), 0.02, generator))
        elif "norm" not in name:
            parameter.zero_()


def _histories(values: Any, n_items: int | None = None) -> Tensor:
    histories = torch.as_tensor(values)
    if histories.ndim != 2 or histories.is_floating_point():
        found = f"{histories.dtype} of shape {tuple(histories.shape)}"
        raise ValueError(f"histories must be integers of shape (users, length), got {found}")
    if not bool((histories != PAD).any(1).all()):
        empty = int((histories == PAD).all(1).nonzero()[0])
        raise ValueError(f"histories: user {empty} has no item; expected at least one for every user")
    least, most = int(histories.min()), int(histories.max())
    if least < PAD or (n_items is not None and most >= n_items):
        raise ValueError(f"histories hold {least} to {most}; expected items below {n_items}, or {PAD} for none")
    return histories.long()


def _identifiers(x: Tensor, n: int) -> Tensor:
    """x, checked; indices that a negative number or a float would silently misread are refused."""
    if not isinstance(x, Tensor) or x.is_floating_point() or x.dtype == torch.bool:
        kind = x.dtype if isinstance(x, Tensor) else type(x).__name__
        raise ValueError(f"x must be an integer tensor of identifiers, got {kind}")
    if x.numel() and (int(x.min()) < 0 or int(x.max()) >= n):
        raise ValueError(f"x holds {int(x.min())} to {int(x.max())}; expected identifiers from 0 to {n - 1}")
    return x


def _on(identifiers: Any, tower: nn.Module) -> Tensor:
    """Identifiers as a tensor on the tower's device."""
    held = next(iter((*tower.parameters(), *tower.buffers())), None)
    return torch.as_tensor(identifiers, device=None if held is None else held.device)
