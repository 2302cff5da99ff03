import numpy as np
from scipy.optimize import minimize, minimize_scalar, root_scalar
from scipy.special import expit, log_expit


def user_loss(pos_scores, neg_scores, a, b, alpha, beta):
    positive = np.array(pos_scores) + beta * np.array(a)
    return -log_expit(np.subtract.outer(positive, np.array(neg_scores) + alpha * np.array(b))).mean()


def solve_user(pos_scores, neg_scores, a, b):
    if minimisers(a, b) != "one":
        return None
    s, t, a, b = map(np.array, (pos_scores, neg_scores, a, b))

    def margins(at):
        return np.subtract.outer(s + at[1] * a, t + at[0] * b)

    def slope(at):
        w = expit(-margins(at))
        return np.array([(w @ b).mean() / len(b), -(a @ w).mean() / len(a)])

    def bend(at):
        v = expit(margins(at)) * expit(-margins(at))
        mixed = -(a @ v @ b)
        return np.array([[(v @ b**2).sum(), mixed], [mixed, (a**2 @ v).sum()]]) / v.size

    def loss(at):
        return -log_expit(margins(at)).mean()

    at = minimize(loss, np.zeros(2), jac=slope, hess=bend, method="trust-exact", options={"gtol": 1e-12}).x
    for _ in range(3):  # polish
        at = at - np.linalg.solve(bend(at), slope(at))
    return at


def sign_of_alpha(pos_scores, neg_scores, a, b, beta):
    positive, t, b = np.array(pos_scores) + beta * np.array(a), np.array(neg_scores), np.array(b)
    slope = b @ expit(np.subtract.outer(t, positive)).sum(axis=1)
    return -1 if slope > 0 else 1


def inflation(margins, fraction):
    m = np.array(margins)

    def loss(c):
        return -log_expit(c * m).mean()

    target = fraction * loss(1.0)
    lowest = minimize_scalar(lambda log_c: loss(np.exp(log_c)), bounds=(0, 20), method="bounded", options={"xatol": 1e-9})
    best = np.exp(lowest.x)
    if loss(best) > target:
        return None
    return root_scalar(lambda c: loss(c) - target, bracket=(1.0, best), xtol=1e-14, rtol=1e-13).root
