"""The user-item graph as a sparse matrix, and one step of averaging over it."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from course_lib.interactions import Interactions


def adjacency(interactions: Interactions) -> sparse.csr_array:
    """A = [[0, Y], [Y', 0]] of the m + n nodes, users first: (m + n, m + n) of zeros and ones, float32."""
    matrix = interactions.matrix
    return sparse.csr_array(sparse.block_array([[None, matrix], [matrix.T, None]], format="csr"))


def normalised_adjacency(interactions: Interactions) -> sparse.csr_array:
    """D^(-1/2) A D^(-1/2), so 1 / sqrt(deg u deg i) for each pair; symmetric. Nodes without an edge have rows of zeros.

    Source: P1, equation (2); He et al., LightGCN, SIGIR 2020, equation (8).
    """
    graph = adjacency(interactions)
    degree = np.diff(graph.indptr).astype(np.float64)
    inverse = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    rows = np.repeat(np.arange(len(degree)), np.diff(graph.indptr))
    data = (inverse[rows] * inverse[graph.indices]).astype(np.float32)
    return sparse.csr_array((data, graph.indices, graph.indptr), shape=graph.shape)


class Graph(nn.Module):
    """A constant symmetric sparse matrix A (N, N) that multiplies tables: `Graph(matrix)(table)` is A X, differentiable in X.

    Held as plain buffers (torch can neither copy nor save its CSR tensors), which no state_dict holds: they come from the data.
    """

    def __init__(self, matrix: sparse.csr_array) -> None:
        super().__init__()
        for name, part in (("pointers", matrix.indptr), ("columns", matrix.indices), ("values", matrix.data)):
            self.register_buffer(name, torch.from_numpy(part.copy()), persistent=False)
        self.size = matrix.shape

    def forward(self, table: Tensor) -> Tensor:
        """A X of (N, d) -> (N, d)."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
            values = self.values.to(table.dtype)
            matrix = torch.sparse_csr_tensor(self.pointers, self.columns, values, size=self.size, check_invariants=False)
        return _SymmetricProduct.apply(matrix, table)


class _SymmetricProduct(torch.autograd.Function):
    """X -> A X for a constant symmetric A: its gradient is A G, so that no transposed copy of A is needed."""

    @staticmethod
    def forward(context, matrix: Tensor, table: Tensor) -> Tensor:
        context.matrix = matrix
        return matrix @ table

    @staticmethod
    def backward(context, gradient: Tensor) -> tuple[None, Tensor]:
        return None, context.matrix @ gradient.contiguous()
