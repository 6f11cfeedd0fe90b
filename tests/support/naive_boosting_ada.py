"""Slow, obvious twins of AdaBoost: plain Python over rows, rounds and classes, each form as its textbook prints it."""

import math
from itertools import pairwise


def odds_two(weights, right, rate):
    """Freund and Schapire: z = ln((1-e)/e); rows that are right times e/(1-e), to the power of the learning rate."""
    error = sum(w for w, r in zip(weights, right, strict=True) if not r)
    z = rate * math.log((1 - error) / error)
    changed = [w * (error / (1 - error)) ** rate if r else w for w, r in zip(weights, right, strict=True)]
    return z, [w / sum(changed) for w in changed]


def exponential_two(weights, right, rate):
    """The exponential loss: alpha = 1/2 ln((1-e)/e); rows times exp(-alpha y h)."""
    error = sum(w for w, r in zip(weights, right, strict=True) if not r)
    alpha = rate * 0.5 * math.log((1 - error) / error)
    changed = [w * math.exp(-alpha * (1 if r else -1)) for w, r in zip(weights, right, strict=True)]
    return alpha, [w / sum(changed) for w in changed]


def samme(weights, right, rate, n_classes):
    """Zhu et al., algorithm 2: alpha = ln((1-e)/e) + ln(K-1); rows that are wrong times exp(alpha)."""
    error = sum(w for w, r in zip(weights, right, strict=True) if not r)
    alpha = rate * (math.log((1 - error) / error) + math.log(n_classes - 1))
    changed = [w if r else w * math.exp(alpha) for w, r in zip(weights, right, strict=True)]
    return alpha, [w / sum(changed) for w in changed]


def coded(label, n_classes):
    """Zhu et al., equation 2: 1 in the place of the class, -1/(K-1) elsewhere."""
    return [1.0 if k == label else -1.0 / (n_classes - 1) for k in range(n_classes)]


def exponential_coded(weights, labels, answers, rate, n_classes):
    """Zhu et al., section 2.1: beta = (K-1)^2/K (ln((1-e)/e) + ln(K-1)); rows times exp(-beta y.g / K)."""
    error = sum(w for w, y, a in zip(weights, labels, answers, strict=True) if y != a)
    beta = rate * (n_classes - 1) ** 2 / n_classes * (math.log((1 - error) / error) + math.log(n_classes - 1))
    changed = []
    for w, y, a in zip(weights, labels, answers, strict=True):
        product = sum(p * q for p, q in zip(coded(y, n_classes), coded(a, n_classes), strict=True))
        changed.append(w * math.exp(-beta * product / n_classes))
    return beta, [w / sum(changed) for w in changed]


def run(learn, labels, n_classes, n_rounds, rate=1.0, weights=None):
    """AdaBoost with a learner that takes weights and returns the class of every row.

    Returns a list of (error, weight of the member, weights of the rows in its round, answers).
    """
    weights = weights or [1.0] * len(labels)
    weights = [w / sum(weights) for w in weights]
    books = []
    for _ in range(n_rounds):
        answers = learn(weights)
        error = sum(w for w, y, a in zip(weights, labels, answers, strict=True) if y != a)
        if error == 0:
            books.append((0.0, sum(entry[1] for entry in books) + 1, weights, answers))
            break
        if error >= 1 - 1 / n_classes - 1e-10:
            break
        weight, after = samme(weights, [y == a for y, a in zip(labels, answers, strict=True)], rate, n_classes)
        books.append((error, weight, weights, answers))
        weights = after
    return books


def decision(books, n_classes):
    """For each row the sum of the coded answers, by the members' weights over their sum."""
    total = sum(weight for _, weight, _, _ in books)
    rows = []
    for row in range(len(books[0][3])):
        votes = [0.0] * n_classes
        for _, weight, _, answers in books:
            for k, code in enumerate(coded(answers[row], n_classes)):
                votes[k] += weight * code / total
        rows.append(votes)
    return rows


def stump(rows, labels, weights, n_classes, close=1e-9):
    """The split of least weighted error, the first of equals: (column, threshold, class left, class right)."""
    best, found = math.inf, None
    for column in range(len(rows[0])):
        values = sorted({row[column] for row in rows})
        for low, high in pairwise(values):
            threshold = (low + high) / 2
            sides = [[0.0] * n_classes, [0.0] * n_classes]
            for row, label, weight in zip(rows, labels, weights, strict=True):
                sides[row[column] > threshold][label] += weight
            error = sum(map(sum, sides)) - sum(map(max, sides))
            if error < best - close:
                best, found = error, (column, threshold, *(_first_best(side, close) for side in sides))
    return found


def _first_best(votes, close):
    best = 0
    for k, vote in enumerate(votes):
        if vote > votes[best] + close:
            best = k
    return best


def stump_answers(split, rows):
    """The class of every row by a split."""
    column, threshold, left, right = split
    return [right if row[column] > threshold else left for row in rows]
