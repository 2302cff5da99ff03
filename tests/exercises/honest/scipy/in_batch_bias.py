from fractions import Fraction

import numpy as np
from scipy import sparse


def negative_weight(labels, i, j, batch_size):
    Y = sparse.csr_array(np.array(labels))
    rows, cols = Y.sum(axis=1), Y.sum(axis=0)
    return Fraction(batch_size - 1, int(Y.nnz) - 1) * (int(rows[i]) * int(cols[j]) - int(labels[i][j]))


def share_pushed_down(users, items, batch_size):
    Y = sparse.coo_array((np.ones(len(users), dtype=int), (users, items)))
    pop = Y.sum(axis=1)[Y.row] * Y.sum(axis=0)[Y.col]
    return np.count_nonzero((pop - 1) * (batch_size - 1) > len(users) - 1) / len(users)
