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
from scipy import sparse

from course_lib import arrays, checking, extras
from course_lib.interactions import check_ids

try:
    import torch
    from torch import Tensor, nn
except ImportError as error:
    raise extras.missing(error, "course_lib.encoders") from error

PAD = -1  # fills up a history that is shorter than the others


class Lookup(nn.Module):
    """Give each identifier its own row of parameters, ``q_i = E_i``.

    Parameters
    ----------
    n, d : int
        The number of identifiers and the width of an embedding.
    generator : torch.Generator, optional
        Draws the start of the table. Without it torch's global generator does.
    scale : float
        Standard deviation of the normal entries at the start.

    Raises
    ------
    ValueError
        For an ``n`` or ``d`` that is no whole number of at least 1, and a negative ``scale``. A call refuses
        identifiers that are no integers, or lie outside 0 to n - 1.

    Notes
    -----
    The parameter ``weight`` has shape (n, d). Source: P0, Appendix A.1.

    Examples
    --------
    >>> import torch
    >>> from course_lib import encoders
    >>> tower = encoders.Lookup(5, 3)
    >>> tuple(tower(torch.tensor([4, 0, 0])).shape)
    (3, 3)
    >>> torch.equal(tower(torch.tensor([2]))[0], tower.weight[2])
    True
    """

    def __init__(self, n: int, d: int, *, generator: torch.Generator | None = None, scale: float = 1.0) -> None:
        super().__init__()
        shape = (checking.whole(n, "n"), checking.whole(d, "d"))
        self.weight = nn.Parameter(_normal(shape, scale, generator))

    def forward(self, x: Tensor) -> Tensor:
        """x (B,) identifiers -> their rows (B, d)."""
        return self.weight[_identifiers(x, len(self.weight))]  # (n, d)[(B,)] -> (B, d)


class Features(nn.Module):
    """Look up row ``x`` of a fixed matrix: the first stage of a tower over features, without parameters.

    Parameters
    ----------
    matrix : array_like, shape (n, h)
        The features, one row per identifier. Integers become PyTorch's default dtype, floats keep their own.

    Raises
    ------
    ValueError
        For a matrix that has not two axes, or holds NaN, infinity or no real numbers. A call refuses identifiers that
        are no integers, or lie outside 0 to n - 1.

    Examples
    --------
    >>> import torch
    >>> from course_lib import encoders
    >>> ages = encoders.Features([[31], [27], [45]])
    >>> ages(torch.tensor([2, 0])).tolist()
    [[45.0], [31.0]]
    >>> list(ages.parameters())
    []
    """

    matrix: Tensor

    def __init__(self, matrix: Any) -> None:
        super().__init__()
        arrays.check_finite(arrays.as_array(matrix, "features"), "features")
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
    """Apply one linear layer to the features, ``q_i = W x_i``, or ``W x_i + b`` with a bias.

    Parameters
    ----------
    features : array_like, shape (n, h)
        Row i is ``x_i``, the features of identifier i.
    d : int
        The width of an embedding.
    bias : bool
        Whether the layer has a bias, which starts at zero.
    generator : torch.Generator, optional
        Draws the weight: normal with variance 1 / h. Without it torch's global generator does.

    Raises
    ------
    ValueError
        For features that have not two axes, and for a ``d`` that is no whole number of at least 1.

    Notes
    -----
    The weight has shape (d, h) and the bias (d,), as in ``torch.nn.Linear``. The features are converted to the dtype
    of the parameters. Source: P0, Appendix A.2.

    Examples
    --------
    >>> import torch
    >>> from course_lib import encoders
    >>> tower = encoders.DenseLinear([[1.0, 0.0], [0.0, 2.0]], d=3)
    >>> weight = tower[1].weight
    >>> torch.allclose(tower(torch.tensor([1]))[0], 2 * weight[:, 1])
    True
    """

    def __init__(self, features: Any, d: int, bias: bool = False, *, generator: torch.Generator | None = None) -> None:
        table = Features(features)
        super().__init__(table, _linear(table.matrix.shape[1], d, bias, generator))


class OneHotLinear(DenseLinear):
    """Apply one linear layer to one-hot inputs: without a bias a lookup that is done by a matrix product.

    Parameters
    ----------
    n, d : int
        The number of identifiers and the width of an embedding.
    bias : bool
        Whether the layer has a bias. The default is False; the default of ``torch.nn.Linear`` is True.
    generator : torch.Generator, optional
        Draws the weight: normal with variance 1 / n. Without it torch's global generator does.

    Raises
    ------
    ValueError
        For an ``n`` or ``d`` that is no whole number of at least 1.

    Examples
    --------
    >>> import torch
    >>> from course_lib import encoders
    >>> tower = encoders.OneHotLinear(4, 2)
    >>> weight = tower[1].weight
    >>> torch.allclose(tower(torch.tensor([3, 0])), weight[:, [3, 0]].T)
    True
    """

    def __init__(self, n: int, d: int, bias: bool = False, *, generator: torch.Generator | None = None) -> None:
        super().__init__(torch.eye(checking.whole(n, "n")), d, bias, generator=generator)


class TwoLayers(_OverFeatures):
    """Apply two linear layers with nothing between them, ``q_i = B A x_i``.

    Parameters
    ----------
    features : array_like, shape (n, h)
        Row i is ``x_i``, the features of identifier i.
    hidden : int
        The width between the two layers.
    d : int
        The width of an embedding.
    generator : torch.Generator, optional
        Draws both weights: normal with variance 1 / (width of the layer's input).

    Raises
    ------
    ValueError
        For features that have not two axes, and for widths that are no whole numbers of at least 1.

    Notes
    -----
    ``A`` has shape (hidden, h), ``B`` (d, hidden); there are no biases. Source: P0, Appendix A.3.

    Examples
    --------
    >>> import torch
    >>> from course_lib import encoders
    >>> tower = encoders.TwoLayers(torch.eye(4), hidden=5, d=3)
    >>> [tuple(parameter.shape) for parameter in tower.parameters()]
    [(5, 4), (3, 5)]
    """

    def __init__(self, features: Any, hidden: int, d: int, *, generator: torch.Generator | None = None) -> None:
        table = Features(features)
        first = _linear(table.matrix.shape[1], hidden, False, generator)
        super().__init__(table, first, _linear(hidden, d, False, generator))


class EmbeddingThenLinear(nn.Sequential):
    """Put a linear layer on top of an embedding layer, ``q_i = B E_i``.

    Parameters
    ----------
    n, hidden, d : int
        The number of identifiers, the width of ``E``, and the width of an embedding.
    frozen : bool
        Whether ``E`` keeps its start. Then ``E_i`` is a plain feature vector.
    generator : torch.Generator, optional
        Draws ``E``, with deviation 1, and ``B``, with variance 1 / hidden.

    Raises
    ------
    ValueError
        For an ``n``, ``hidden`` or ``d`` that is no whole number of at least 1.

    Notes
    -----
    ``E`` has shape (n, hidden), ``B`` (d, hidden). Source: P0, Table 1, row 4 and, with ``frozen``, row 5.

    Examples
    --------
    >>> from course_lib import encoders
    >>> tower = encoders.EmbeddingThenLinear(10, 4, 2, frozen=True)
    >>> [name for name, parameter in tower.named_parameters() if parameter.requires_grad]
    ['1.weight']
    """

    def __init__(
        self, n: int, hidden: int, d: int, *, frozen: bool = False, generator: torch.Generator | None = None
    ) -> None:
        embedding = Lookup(n, hidden, generator=generator)
        embedding.weight.requires_grad_(not frozen)
        super().__init__(embedding, _linear(hidden, d, False, generator))


class BiasedLookup(nn.Module):
    """Add one bias for all to a lookup, ``q_i = E_i + b``: the smallest parameter-linear tower that is no lookup.

    Parameters
    ----------
    n, d : int
        The number of identifiers and the width of an embedding.
    generator : torch.Generator, optional
        Draws the start of the table.
    scale : float
        Standard deviation of the table's entries at the start. The bias starts at zero.

    Raises
    ------
    ValueError
        For an ``n`` or ``d`` that is no whole number of at least 1, and a negative ``scale``.

    Examples
    --------
    >>> import torch
    >>> from course_lib import encoders
    >>> tower = encoders.BiasedLookup(5, 2)
    >>> tower.rows.weight.data[3] = torch.tensor([1.0, 2.0])
    >>> tower.bias.data += 10
    >>> tower(torch.tensor([3])).tolist()
    [[11.0, 12.0]]
    """

    def __init__(self, n: int, d: int, *, generator: torch.Generator | None = None, scale: float = 1.0) -> None:
        super().__init__()
        self.rows = Lookup(n, d, generator=generator, scale=scale)
        self.bias = nn.Parameter(torch.zeros(d))

    def forward(self, x: Tensor) -> Tensor:
        """x (B,) identifiers -> rows plus the bias (B, d)."""
        rows: Tensor = self.rows(x)
        return rows + self.bias


class ScaledLookup(nn.Module):
    """Multiply a lookup by one learned number, ``q_i = s E_i``: not parameter-linear, and still tangent.

    Parameters
    ----------
    n, d : int
        The number of identifiers and the width of an embedding.
    generator : torch.Generator, optional
        Draws the start of the table.
    scale : float
        Standard deviation of the table's entries at the start. The factor ``s`` starts at 1.

    Raises
    ------
    ValueError
        For an ``n`` or ``d`` that is no whole number of at least 1, and a negative ``scale``.

    Notes
    -----
    Source: claim X7.

    Examples
    --------
    >>> import torch
    >>> from course_lib import encoders
    >>> tower = encoders.ScaledLookup(5, 2)
    >>> tower.factor.data *= 2
    >>> x = torch.tensor([0, 3])
    >>> torch.equal(tower(x), 2 * tower.rows(x))
    True
    """

    def __init__(self, n: int, d: int, *, generator: torch.Generator | None = None, scale: float = 1.0) -> None:
        super().__init__()
        self.rows = Lookup(n, d, generator=generator, scale=scale)
        self.factor = nn.Parameter(torch.ones(()))

    def forward(self, x: Tensor) -> Tensor:
        """x (B,) identifiers -> scaled rows (B, d)."""
        rows: Tensor = self.rows(x)
        return self.factor * rows


class ExponentialLookup(nn.Module):
    """Multiply each row of a lookup by a learned factor, ``q_i = e^(b_i) E_i``: not parameter-linear, still tangent.

    Parameters
    ----------
    n, d : int
        The number of identifiers and the width of an embedding.
    generator : torch.Generator, optional
        Draws the start of the table.
    scale : float
        Standard deviation of the table's entries at the start. The exponents ``b_i`` start at 0.

    Raises
    ------
    ValueError
        For an ``n`` or ``d`` that is no whole number of at least 1, and a negative ``scale``.

    Notes
    -----
    Source: claim X7.

    Examples
    --------
    >>> import math, torch
    >>> from course_lib import encoders
    >>> tower = encoders.ExponentialLookup(5, 2)
    >>> tower.exponents.data[3] = math.log(2)
    >>> x = torch.tensor([3])
    >>> torch.allclose(tower(x), 2 * tower.rows(x))
    True
    """

    def __init__(self, n: int, d: int, *, generator: torch.Generator | None = None, scale: float = 1.0) -> None:
        super().__init__()
        self.rows = Lookup(n, d, generator=generator, scale=scale)
        self.exponents = nn.Parameter(torch.zeros(n))

    def forward(self, x: Tensor) -> Tensor:
        """x (B,) identifiers -> rows, each with its own factor (B, d)."""
        rows: Tensor = self.rows(x)
        return self.exponents[_identifiers(x, len(self.exponents))].exp()[..., None] * rows


class InvertedLookup(nn.Module):
    """Invert each row of a lookup in the unit sphere, ``q_i = E_i / ||E_i||^2``: non-linear and conformal.

    Parameters
    ----------
    n, d : int
        The number of identifiers and the width of an embedding.
    generator : torch.Generator, optional
        Draws the start of the table.
    scale : float
        Standard deviation of the table's entries at the start.

    Raises
    ------
    ValueError
        For an ``n`` or ``d`` that is no whole number of at least 1, and a negative ``scale``.

    Notes
    -----
    Conformal means that ``J_i J_i^T = I / ||E_i||^4``. A row of zeros has no inverse: it gives NaN.

    Examples
    --------
    >>> import torch
    >>> from course_lib import encoders
    >>> tower = encoders.InvertedLookup(5, 2)
    >>> tower.rows.weight.data[3] = torch.tensor([0.0, 4.0])
    >>> tower(torch.tensor([3])).tolist()
    [[0.0, 0.25]]
    """

    def __init__(self, n: int, d: int, *, generator: torch.Generator | None = None, scale: float = 1.0) -> None:
        super().__init__()
        self.rows = Lookup(n, d, generator=generator, scale=scale)

    def forward(self, x: Tensor) -> Tensor:
        """x (B,) identifiers -> inverted rows (B, d)."""
        rows: Tensor = self.rows(x)
        return rows / (rows * rows).sum(-1, keepdim=True)


class MeanHistory(nn.Module):
    """Represent a user by the mean of the embeddings of the items in their history, from the item tower's own table.

    Parameters
    ----------
    items : torch.nn.Module
        The item tower. It is shared, not copied.
    histories : array_like of int, shape (m, L)
        Item identifiers of each user, filled up with ``PAD`` (-1).

    Raises
    ------
    ValueError
        For histories that are no integers of shape (m, L), hold numbers below -1, or leave a user without an item.

    Examples
    --------
    >>> import torch
    >>> from course_lib import encoders
    >>> items = encoders.Lookup(3, 2)
    >>> items.weight.data = torch.tensor([[1.0, 0.0], [0.0, 1.0], [3.0, 3.0]])
    >>> users = encoders.MeanHistory(items, [[0, 1], [2, -1]])
    >>> users(torch.tensor([0, 1])).tolist()
    [[0.5, 0.5], [3.0, 3.0]]
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
    """Encode a user's item history with a BERT-like transformer: item and position embeddings, layers, mean, linear.

    Parameters
    ----------
    n_items : int
        The number of items.
    d : int
        The width of an embedding.
    histories : array_like of int, shape (m, L)
        Item identifiers below ``n_items`` of each user, filled up with ``PAD`` (-1) at the end.
    width : int, optional
        The width inside the transformer, a multiple of ``heads``. The default is ``d``.
    layers, heads : int
        The number of transformer layers and of attention heads.
    dropout : float
        The rate of dropout, in train mode only.
    generator : torch.Generator, optional
        Draws the weights: normal with standard deviation 0.02 as in BERT. Biases start at 0.

    Raises
    ------
    ValueError
        For a width that is no multiple of ``heads``, and for histories that are no integers of shape (m, L), hold
        other numbers than items and -1, or leave a user without an item.

    Notes
    -----
    The tower has an item table of its own: its parameters and those of the item tower are disjoint.
    Source: P0, Table 1, row 3 and Section 4.3 (left tower), after Sun et al. (2019).

    Examples
    --------
    >>> import torch
    >>> from course_lib import encoders
    >>> users = encoders.HistoryTransformer(10, 4, histories=[[3, 1, -1], [2, 5, 7]])
    >>> tuple(users(torch.tensor([1, 0, 0])).shape)
    (3, 4)
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
        n_items, d = checking.whole(n_items, "n_items"), checking.whole(d, "d")
        width, heads = checking.whole(d if width is None else width, "width"), checking.whole(heads, "heads")
        if width % heads:
            raise ValueError(f"width must be a multiple of heads, but it is {width} and heads is {heads}")
        self.register_buffer("histories", _histories(histories, n_items))
        self.items = nn.Embedding(n_items + 1, width, padding_idx=n_items)
        self.positions = nn.Embedding(self.histories.shape[1], width)
        layers, dropout = checking.whole(layers, "layers"), checking.real(dropout, "dropout", least=0, below=1)
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
    """Average the embeddings in each bag of features that an identifier has, and put the means side by side.

    Parameters
    ----------
    bags : dict of str to sparse matrix, shape (n, vocabulary)
        For each kind of feature a SciPy sparse matrix of zeros and ones. Row i holds the features of identifier i. Only
        where entries are stored counts, not their values.
    width : int
        The width of the embedding of each kind. The output has shape (B, kinds * width).
    generator : torch.Generator, optional
        Draws the start of the tables.
    scale : float
        Standard deviation of the tables' entries at the start.

    Raises
    ------
    ValueError
        For no bag, bags that are no sparse matrices, with different numbers of rows or with a name that a module of
        torch has for something else, and a width that is no whole number of at least 1.

    Notes
    -----
    An empty bag gives zeros. Two towers may share one ``Bags``. Source: the input layer of P4's networks, Section 4.1.

    Examples
    --------
    >>> import torch
    >>> from scipy import sparse
    >>> from course_lib import encoders
    >>> bags = encoders.Bags({"genre": sparse.csr_array([[1, 1, 0], [0, 0, 0]])}, width=1)
    >>> bags.tables["genre"].data = torch.tensor([[2.0], [4.0], [9.0]])
    >>> bags(torch.tensor([0, 1])).tolist()
    [[3.0], [0.0]]
    """

    def __init__(self, bags: Any, width: int, *, generator: torch.Generator | None = None, scale: float = 0.1) -> None:
        super().__init__()
        checking.whole(width, "width")
        for name, bag in bags.items():
            if not sparse.issparse(bag):
                raise checking.refuse(bag, f"bags[{name!r}]", "a sparse matrix of SciPy, a row for each identifier")
            if not isinstance(name, str) or "." in name or hasattr(nn.ParameterDict(), name):
                raise checking.refuse(name, "a name in bags", "a word without dots that torch has no use for")
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


class Perceptron(_OverFeatures):
    """Stack linear layers with ReLU between them on an input stage, as in ``Perceptron(bags, (150, 256, 64))``.

    Parameters
    ----------
    first : torch.nn.Module
        The input stage, from identifiers (B,) to (B, widths[0]).
    widths : sequence of int
        The width of the input, then of each layer's output.
    generator : torch.Generator, optional
        Draws the weights: normal with variance 1 / (width of the layer's input). Biases start at zero.

    Raises
    ------
    ValueError
        For fewer than two widths, and for widths that are no whole numbers of at least 1.

    Notes
    -----
    The last layer is linear. With a ReLU after it no inner product of two embeddings could be negative.

    Examples
    --------
    >>> import torch
    >>> from course_lib import encoders
    >>> tower = encoders.Perceptron(encoders.Features(torch.eye(5)), (5, 8, 3))
    >>> [type(layer).__name__ for layer in tower]
    ['Features', 'Linear', 'ReLU', 'Linear']
    """

    def __init__(self, first: nn.Module, widths: Sequence[int], *, generator: torch.Generator | None = None) -> None:
        if len(widths) < 2:
            raise ValueError(f"widths is {tuple(widths)}; expected at least the input's width and the output's")
        layers: list[nn.Module] = [first]
        for inputs, outputs in itertools.pairwise(widths):
            layers += [_linear(inputs, outputs, True, generator), nn.ReLU()]
        super().__init__(*layers[:-1])


class Renamed(nn.Module):
    """Translate the identifiers of one side to the numbering that the next stage uses, without parameters.

    Parameters
    ----------
    table : array_like of int, shape (n,)
        Entry x is what identifier x is called in the other list.

    Raises
    ------
    ValueError
        For a table that holds anything but integers of at least 0. A call refuses identifiers that are no integers, or
        lie outside 0 to n - 1.

    Examples
    --------
    >>> import torch
    >>> from course_lib import encoders
    >>> encoders.Renamed([20, 10, 30])(torch.tensor([1, 1, 2])).tolist()
    [10, 10, 30]
    """

    table: Tensor

    def __init__(self, table: Any) -> None:
        super().__init__()
        self.register_buffer("table", torch.as_tensor(check_ids(table, 2**63, "table", "the largest id + 1")))

    def forward(self, x: Tensor) -> Tensor:
        """x (B,) identifiers -> what they are called in the other list (B,)."""
        return self.table[_identifiers(x, len(self.table))]


class TwoTower(nn.Module):
    """Put two encoders side by side: ``forward(users, items)`` gives two embeddings of shape (B, d).

    Parameters
    ----------
    left, right : torch.nn.Module
        The towers of users and of items. Any module that gives (B, d) may be a tower.

    Notes
    -----
    P0 assumes that the two towers share no parameter. ``shared_parameters`` names those that they do share.

    Examples
    --------
    >>> import torch
    >>> from course_lib import encoders
    >>> towers = encoders.TwoTower(encoders.Lookup(3, 2), encoders.Lookup(4, 2))
    >>> [tuple(rows.shape) for rows in towers(torch.tensor([0, 2]), torch.tensor([3, 1]))]
    [(2, 2), (2, 2)]
    >>> table = encoders.Lookup(3, 2)
    >>> encoders.TwoTower(table, table).shared_parameters()
    ['weight']
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
    """Collect the last ``length`` items of every user, oldest first.

    Parameters
    ----------
    users, items : array_like of int, shape (``|O|``,)
        The user and the item of each pair.
    n_users : int
        The number of users.
    length : int
        How many items to keep of each user.
    times : array_like, shape (``|O|``,), optional
        The time of each pair. Without times, and where times are equal, the order of the pairs counts.

    Returns
    -------
    ndarray of int64, shape (n_users, length)
        The histories, filled up with ``PAD`` (-1) at the end.

    Raises
    ------
    ValueError
        For ids that are no integers or out of range, columns of several lengths, times without an order such as NaN,
        and an `n_users` or `length` below 1.

    Examples
    --------
    >>> from course_lib import encoders
    >>> users, items = [0, 0, 0, 1], [5, 6, 7, 8]
    >>> encoders.recent_histories(users, items, n_users=3, length=2).tolist()
    [[6, 7], [8, -1], [-1, -1]]
    """
    n_users, length = checking.whole(n_users, "n_users"), checking.whole(length, "length")
    users, items = check_ids(users, n_users, "users", "n_users"), check_ids(items, 2**63, "items", "the largest id + 1")
    when = np.arange(len(users)) if times is None else checking.as_numpy(times, "times")
    if not users.shape == items.shape == when.shape:
        raise ValueError(
            f"users {users.shape}, items {items.shape}, times {when.shape}: expected one entry per pair each"
        )
    if when.dtype.kind not in "iufM" or np.isnan(when).any():
        raise checking.refuse(times, "times", "a time for each pair, in numbers or datetime64")
    order = np.lexsort((when, users))
    users, items = users[order], items[order]
    counts = np.bincount(users, minlength=n_users)
    starts = np.cumsum(counts) - counts
    rank = np.arange(len(users)) - (starts + np.maximum(counts - length, 0))[users]  # 0 for the first that is kept
    kept = rank >= 0
    histories = np.full((n_users, length), PAD, dtype=np.int64)
    histories[users[kept], rank[kept]] = items[kept]
    return histories


def _normal(shape: tuple[int, ...], scale: float, generator: torch.Generator | None) -> Tensor:
    if generator is not None:
        checking.instance(generator, "generator", torch.Generator, "a torch.Generator or None")
    return torch.randn(shape, generator=generator) * checking.real(scale, "scale", least=0)


def _linear(inputs: int, d: int, bias: bool, generator: torch.Generator | None) -> nn.Linear:
    """torch.nn.Linear with normal weights of variance 1 / inputs, drawn from `generator`, and a bias of zeros."""
    bias = checking.choice(bias, "bias", (False, True))
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
    array = values if isinstance(values, Tensor) else checking.numeric(values, "histories")
    if array.ndim != 2 or "int" not in str(array.dtype) or 0 in array.shape:
        found = f"{array.dtype} of shape {tuple(array.shape)}"
        raise ValueError(f"histories must be integers of shape (users, length), got {found}")
    histories = torch.as_tensor(array).long()
    if not bool((histories != PAD).any(1).all()):
        empty = int((histories == PAD).all(1).nonzero()[0])
        raise ValueError(f"histories: user {empty} has no item; expected at least one for every user")
    least, most = int(histories.min()), int(histories.max())
    if least < PAD or (n_items is not None and most >= n_items):
        raise ValueError(f"histories hold {least} to {most}; expected items below {n_items}, or {PAD} for none")
    return histories


def _identifiers(x: Tensor, n: int) -> Tensor:
    """x, checked, in 64 bits: torch reads 8 bits as a mask. Negative numbers and floats, it would misread, too."""
    if not isinstance(x, Tensor) or x.is_floating_point() or x.is_complex() or x.dtype == torch.bool:
        kind = x.dtype if isinstance(x, Tensor) else type(x).__name__
        raise ValueError(f"x must be an integer tensor of identifiers, got {kind}")
    x = x.long()
    if x.numel() and (int(x.min()) < 0 or int(x.max()) >= n):
        raise ValueError(f"x holds {int(x.min())} to {int(x.max())}; expected identifiers from 0 to {n - 1}")
    return x


def _on(identifiers: Any, tower: nn.Module) -> Tensor:
    """Identifiers as a tensor on the tower's device."""
    held = next(iter((*tower.parameters(), *tower.buffers())), None)
    return torch.as_tensor(identifiers, device=None if held is None else held.device)
