import math
from fractions import Fraction


def dot(x, y):
    return sum(a * b for a, b in zip(x, y))


def softplus(x):
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x > 0 else math.exp(x) / (1 + math.exp(x))


def preference_direction(user, items, history, share):
    ranked = sorted(history, key=lambda item: (-dot(user, items[item]), item))
    size = math.ceil(share * len(history))
    total = [sum(items[item][l] for item in ranked[:size]) for l in range(len(user))]
    length = math.sqrt(dot(total, total))
    return [x / length for x in total] if length else None


def user_loss(pos_scores, neg_scores, a, b, alpha, beta):
    total = 0.0
    for s, x in zip(pos_scores, a):
        for t, y in zip(neg_scores, b):
            total += softplus((t + alpha * y) - (s + beta * x))
    return total / (len(pos_scores) * len(neg_scores))


def minimisers(a, b):
    free = 0
    for entries in (a, b):
        if any(x > 0 for x in entries) and any(x < 0 for x in entries):
            continue
        if any(x != 0 for x in entries):
            return "none"
        free += 1
    return "many" if free else "one"


def without_minimiser(users, items, histories, pop, share):
    number = 0
    for user, history in zip(users, histories):
        direction = preference_direction(user, items, history, share)
        a = [dot(items[i], direction) for i in history]
        b = [dot(items[j], pop) for j in range(len(items)) if j not in set(history)]
        number += minimisers(a, b) != "one"
    return number


def surrogate(pos_scores, neg_scores, a, b):
    p, n = len(a), len(b)
    sa, sb = Fraction(sum(a), p), Fraction(sum(b), n)
    saa, sbb = Fraction(sum(x * x for x in a), p), Fraction(sum(y * y for y in b), n)
    s, t = Fraction(sum(pos_scores), p), Fraction(sum(neg_scores), n)
    spa, stb = Fraction(dot(pos_scores, a), p), Fraction(dot(neg_scores, b), n)
    # E[(s + beta a - t - alpha b - 2) a] = 0 and the same with b
    right_a, right_b = 2 * sa + t * sa - spa, 2 * sb + stb - s * sb
    # beta saa - alpha sa sb = right_a; beta sa sb - alpha sbb = right_b
    det = -saa * sbb + (sa * sb) ** 2
    beta = (-right_a * sbb + sa * sb * right_b) / det
    alpha = (saa * right_b - sa * sb * right_a) / det
    return [alpha, beta]


def solve_user(pos_scores, neg_scores, a, b):
    if minimisers(a, b) != "one":
        return None
    pairs = [(s - t, x, y) for s, x in zip(pos_scores, a) for t, y in zip(neg_scores, b)]

    def loss(alpha, beta):
        return sum(softplus(-(s + beta * x - alpha * y)) for s, x, y in pairs) / len(pairs)

    alpha = beta = 0.0
    for _ in range(100):
        ga = gb = haa = hbb = hab = 0.0
        for s, x, y in pairs:
            w = sigmoid(-(s + beta * x - alpha * y))
            v = w * (1 - w)
            ga, gb = ga + w * y, gb - w * x
            haa, hbb, hab = haa + v * y * y, hbb + v * x * x, hab - v * x * y
        det = haa * hbb - hab * hab
        da, db = -(hbb * ga - hab * gb) / det, -(haa * gb - hab * ga) / det
        slope = -(ga * da + gb * db) / len(pairs)
        if slope < 1e-22:
            break
        length, here = 1.0, loss(alpha, beta)
        while slope > 1e-11 and loss(alpha + length * da, beta + length * db) > here - length * slope / 4:
            length /= 2
        alpha, beta = alpha + length * da, beta + length * db
    return alpha, beta


def sign_of_alpha(pos_scores, neg_scores, a, b, beta):
    slope = 0.0
    for s, x in zip(pos_scores, a):
        for t, y in zip(neg_scores, b):
            slope += sigmoid(-(s + beta * x - t)) * y
    return -1.0 if slope > 0 else 1.0


def inflation(margins, fraction):
    def loss(scale):
        return sum(softplus(-scale * m) for m in margins) / len(margins)

    target = fraction * loss(1.0)
    low, high = 1.0, 2.0
    while loss(high) < loss(low) and loss(high) > target and high < 1e9:
        low, high = high, 2 * high
    if loss(high) > target:  # the lowest point lies in between
        left, right = low / 2, high
        for _ in range(300):
            one, two = left + (right - left) / 3, right - (right - left) / 3
            left, right = (left, two) if loss(one) < loss(two) else (one, right)
        high = left
        if high < 1 or loss(high) > target:
            return None
    low = 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if loss(middle) > target else (low, middle)
    return (low + high) / 2


def measure(users, items, histories, held_out, counts, k):
    popularity, ranks = 0.0, []
    for user, history, wanted in zip(users, histories, held_out):
        known = set(history)
        open_items = [j for j in range(len(items)) if j not in known]
        top = sorted(open_items, key=lambda j: (-dot(user, items[j]), j))[:k]
        popularity += sum(counts[j] for j in top) / k
        if wanted:
            places = [place for place, j in enumerate(top, 1) if j in wanted]
            ranks.append(1 / places[0] if places else 0)
    return popularity / len(users), sum(ranks) / len(ranks)
