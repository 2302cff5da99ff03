from fractions import Fraction


def negative_weight(labels, i, j, batch_size):
    row, column, total = 0, 0, 0
    for a, entries in enumerate(labels):
        for b, entry in enumerate(entries):
            total += entry
            row += entry * (a == i)
            column += entry * (b == j)
    return Fraction(batch_size - 1, total - 1) * (row * column - labels[i][j])


def shard_weights(row_counts, col_counts, n_positives, shape, n_devices):
    h, (m, n) = len(row_counts), shape
    table = []
    for a in range(h):
        row = []
        for b in range(h):
            pop = row_counts[a] * col_counts[b]
            if a == b:
                row.append(Fraction(n_positives, m * n * h) * (Fraction(1, pop) - 1))
            else:
                row.append(Fraction(n_positives * (n_positives - 1), m * n * h * (h - 1) * pop))
        table.append(row)
    return table


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
