"""What honest students hand in for in-batch-bias: a class holds the answers of one style, one function each."""


class loops:
    """Loops over plain Python numbers."""

    def share_pushed_down(users, items, batch_size):
        of_user, of_item = {}, {}
        for user, item in zip(users, items):
            of_user[user] = of_user.get(user, 0) + 1
            of_item[item] = of_item.get(item, 0) + 1
        below = 0
        for user, item in zip(users, items):
            if (batch_size - 1) * (of_user[user] * of_item[item] - 1) > len(users) - 1:
                below += 1
        return below / len(users)


class vectorised:
    """NumPy, without loops."""

    from fractions import Fraction

    import numpy as np

    def negative_weight(labels, i, j, batch_size):
        Y = np.array(labels)
        pop = np.outer(Y.sum(axis=1), Y.sum(axis=0)) - Y
        return Fraction(int((batch_size - 1) * pop[i, j]), int(Y.sum() - 1))

    def shard_weights(row_counts, col_counts, n_positives, shape, n_devices):
        h = len(row_counts)
        scale = Fraction(n_positives, shape[0] * shape[1] * h)
        pop = np.outer(np.array(row_counts, dtype=object), np.array(col_counts, dtype=object))
        weights = scale * Fraction(n_positives - 1, h - 1) / pop
        np.fill_diagonal(weights, scale * (Fraction(1) / pop.diagonal() - 1))
        return weights

    def share_pushed_down(users, items, batch_size):
        _, user, of_user = np.unique(users, return_inverse=True, return_counts=True)
        _, item, of_item = np.unique(items, return_inverse=True, return_counts=True)
        pop = of_user[user] * of_item[item]
        return np.mean((batch_size - 1) * (pop - 1) > len(pop) - 1, dtype=float)
