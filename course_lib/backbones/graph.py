"""The user-item graph as a sparse matrix, and one step of averaging over it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from course_lib import checking
from course_lib.arrays import full_precision
from course_lib.interactions import Interactions


def adjacency(interactions: Interactions) -> sparse.csr_array:
    """Build the adjacency matrix ``A = [[0, Y], [Y', 0]]`` of the m + n nodes, users first.

    Parameters
    ----------
    interactions : Interactions
        The pairs, which are the edges.

    Returns
    -------
    sparse.csr_array, shape (m + n, m + n)
        Zeros and ones, float32.

    Raises
    ------
    ValueError
        For anything but Interactions.

    Examples
    --------
    One user with two items:

    >>> from course_lib.backbones.graph import adjacency
    >>> from course_lib.interactions import Interactions
    >>> data = Interactions([0, 0], [0, 1], n_users=1, n_items=2)
    >>> adjacency(data).toarray().astype(int).tolist()
    [[0, 1, 1], [1, 0, 0], [1, 0, 0]]
    """
    matrix = checking.instance(interactions, "interactions", Interactions).matrix
    return sparse.csr_array(sparse.block_array([[None, matrix], [matrix.T, None]], format="csr"))


def normalised_adjacency(interactions: Interactions) -> sparse.csr_array:
    """Build ``D^(-1/2) A D^(-1/2)``, which holds ``1 / sqrt(deg u deg i)`` for each pair.

    Parameters
    ----------
    interactions : Interactions
        The pairs, which are the edges.

    Returns
    -------
    sparse.csr_array, shape (m + n, m + n)
        The symmetric matrix in float64, users first. Nodes without an edge have rows of zeros.

    Raises
    ------
    ValueError
        For anything but Interactions.

    Notes
    -----
    Source: P1, equation (2); He et al., LightGCN, SIGIR 2020, equation (8).

    Examples
    --------
    One user with four items:

    >>> from course_lib.backbones.graph import normalised_adjacency
    >>> from course_lib.interactions import Interactions
    >>> data = Interactions([0, 0, 0, 0], [0, 1, 2, 3], n_users=1, n_items=4)
    >>> normalised_adjacency(data).toarray()[0].tolist()
    [0.0, 0.5, 0.5, 0.5, 0.5]
    """
    graph = adjacency(interactions)
    degree = np.diff(graph.indptr).astype(np.float64)
    inverse = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    rows = np.repeat(np.arange(len(degree)), np.diff(graph.indptr))
    return sparse.csr_array((inverse[rows] * inverse[graph.indices], graph.indices, graph.indptr), shape=graph.shape)


class Graph(nn.Module):
    """Multiply a table by a constant symmetric sparse matrix: ``Graph(matrix)(table)`` is ``A X``.

    Parameters
    ----------
    matrix : sparse.csr_array, shape (N, N)
        The matrix ``A``. It must be symmetric: the gradient with respect to ``X`` is computed as ``A G``.

    Notes
    -----
    The matrix is held as plain buffers in its own dtype (torch can neither copy nor save its CSR tensors), which no
    state_dict holds: they come from the data. A call converts the values to the dtype of the table.

    Examples
    --------
    Each node gets the sum of its neighbours:

    >>> import torch
    >>> from course_lib.backbones.graph import Graph, adjacency
    >>> from course_lib.interactions import Interactions
    >>> graph = Graph(adjacency(Interactions([0, 0], [0, 1], n_users=1, n_items=2)))
    >>> graph(torch.tensor([[1.0], [10.0], [20.0]])).tolist()
    [[30.0], [1.0], [1.0]]
    """

    pointers: Tensor
    columns: Tensor
    values: Tensor

    def __init__(self, matrix: sparse.csr_array) -> None:
        super().__init__()
        for name, part in (("pointers", matrix.indptr), ("columns", matrix.indices), ("values", matrix.data)):
            self.register_buffer(name, torch.from_numpy(part.copy()), persistent=False)
        self.nodes = matrix.shape[0]

    def forward(self, table: Tensor) -> Tensor:
        """A X of (N, d) -> (N, d)."""
        matrix = _csr(self.pointers, self.columns, self.values.to(table.dtype), self.nodes)
        return _symmetric_product(matrix, table)


class _SymmetricProduct(torch.autograd.Function):
    """X -> A X for a constant symmetric A: its gradient is A G, so that no transposed copy of A is needed."""

    @staticmethod
    def forward(context: Any, matrix: Tensor, table: Tensor) -> Tensor:
        context.matrix = matrix
        with full_precision(table):  # torch has no sparse products of 16 bits
            return matrix @ table

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[None, Tensor]:
        with full_precision(gradient):
            return None, context.matrix @ gradient.contiguous()


_symmetric_product: Callable[[Tensor, Tensor], Tensor] = _SymmetricProduct.apply


class Edges(nn.Module):
    """Sum over neighbours with weights that are learned, one for each directed edge (h, t) of a symmetric graph.

    The edges are sorted by h and then t. There are two operations, each the other's gradient, without a table of
    (edges x d) numbers::

        sums(w, x)[h] = sum over t of w(h, t) x(t);        products(a, b)(h, t) = <a(h), b(t)>

    Both work for K parts at once: w and products have shape (K, E), and x, a, b and sums (K, N, c).

    Parameters
    ----------
    matrix : sparse.csr_array, shape (N, N)
        The graph. Only where its entries stand counts.

    Examples
    --------
    >>> import torch
    >>> from course_lib.backbones.graph import Edges, adjacency
    >>> from course_lib.interactions import Interactions
    >>> edges = Edges(adjacency(Interactions([0, 0], [0, 1], n_users=1, n_items=2)))
    >>> weights = torch.tensor([[0.5, 2.0, 1.0, 1.0]])  # of the edges (0, 1), (0, 2), (1, 0), (2, 0)
    >>> edges.sums(weights, torch.tensor([[[1.0], [10.0], [20.0]]])).tolist()
    [[[45.0], [1.0], [1.0]]]
    """

    pointers: Tensor
    tails: Tensor
    reverse: Tensor

    def __init__(self, matrix: sparse.csr_array) -> None:
        super().__init__()
        heads = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        reverse = np.lexsort((heads, matrix.indices))  # where (t, h) stands, for each (h, t)
        for name, part in (("pointers", matrix.indptr), ("tails", matrix.indices), ("reverse", reverse)):
            self.register_buffer(name, torch.from_numpy(part.astype(np.int64)), persistent=False)
        self.nodes = matrix.shape[0]

    def __len__(self) -> int:
        """The number of directed edges."""
        return len(self.tails)

    def sums(self, weights: Tensor, table: Tensor) -> Tensor:
        """(K, N, c): for each part and node the weighted sum over its neighbours."""
        return _weighted_sums(self, weights, table)

    def products(self, left: Tensor, right: Tensor) -> Tensor:
        """(K, E): for each part and edge the inner product of its ends."""
        return _inner_products(self, left, right)

    def _sums(self, weights: Tensor, table: Tensor) -> Tensor:
        matrices = (_csr(self.pointers, self.tails, mine, self.nodes) for mine in weights)
        return torch.stack([matrix @ part for matrix, part in zip(matrices, table, strict=True)])

    def _products(self, left: Tensor, right: Tensor) -> Tensor:
        pattern = _csr(self.pointers, self.tails, left.new_zeros(len(self)), self.nodes)
        pairs = zip(left, right, strict=True)
        return torch.stack(
            [torch.sparse.sampled_addmm(pattern, a.contiguous(), b.T, beta=0.0).values() for a, b in pairs]
        )


class _Sums(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, edges: Edges, weights: Tensor, table: Tensor) -> Tensor:
        context.edges = edges
        context.save_for_backward(weights, table)
        return edges._sums(weights, table)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[None, Tensor, Tensor]:
        edges, (weights, table) = context.edges, context.saved_tensors
        of_table = edges._sums(weights.index_select(1, edges.reverse), gradient.contiguous())
        return None, edges._products(gradient, table), of_table


class _Products(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, edges: Edges, left: Tensor, right: Tensor) -> Tensor:
        context.edges = edges
        context.save_for_backward(left, right)
        return edges._products(left, right)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[None, Tensor, Tensor]:
        edges, (left, right) = context.edges, context.saved_tensors
        return None, edges._sums(gradient, right), edges._sums(gradient.index_select(1, edges.reverse), left)


_weighted_sums: Callable[[Edges, Tensor, Tensor], Tensor] = _Sums.apply
_inner_products: Callable[[Edges, Tensor, Tensor], Tensor] = _Products.apply


def _csr(pointers: Tensor, columns: Tensor, values: Tensor, size: int) -> Tensor:
    """A square CSR tensor of torch, without its warning that they are new."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(pointers, columns, values, size=(size, size), check_invariants=False)
