import numpy as np
from scipy.special import expit
from scipy.stats import pearsonr, rankdata


def popularity_direction(items, counts, ratio):
    items, places = np.array(items), rankdata(-np.array(counts), method="ordinal")
    size = max(1, round(ratio * len(counts)))
    difference = items[places <= size].mean(axis=0) - items[places > len(counts) - size].mean(axis=0)
    return difference / np.linalg.norm(difference)


def cross_fitted(items, counts, ratio, fold):
    items, counts, fold = np.array(items), np.array(counts), np.array(fold)
    found = []
    for k in np.unique(fold):
        direction = popularity_direction(items[fold != k], counts[fold != k], ratio)
        found.append(pearsonr(items[fold == k] @ direction, counts[fold == k]).statistic)
    return np.mean(found)


def bpr_steps(users, items, triples, lr):
    users, items = np.array(users), np.array(items)
    for u, i, j in triples:
        e, difference = users[u].copy(), items[i] - items[j]
        move = lr * expit(-e @ difference)
        users[u], items[i], items[j] = e + move * difference, items[i] + move * e, items[j] - move * e
    return users, items
