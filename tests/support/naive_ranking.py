"""Slow, obvious twins of depthforest.ensemble.ranking: metrics of one order, means over orders, pairs one by one."""

import math
from itertools import pairwise, permutations


def ranking_of(score):
    """Return the documents by falling score; equal ones in the order of rows."""
    return sorted(range(len(score)), key=lambda i: -score[i])


def orders_of(score):
    """Return all orders of documents by falling score."""
    return [o for o in permutations(range(len(score))) if all(score[a] >= score[b] for a, b in pairwise(o))]


def gain_of(grade, gain):
    return 2**grade - 1 if gain == "exponential" else grade


def dcg(grades, k, gain="exponential", discount="usual"):
    """Return the DCG of grades in ranked order."""
    total = 0.0
    for rank, grade in enumerate(grades[:k], 1):
        if discount == "usual":
            total += gain_of(grade, gain) / math.log2(rank + 1)
        else:
            total += gain_of(grade, gain) / (1 if rank == 1 else math.log2(rank))
    return total


def ndcg(grades, k, gain="exponential", discount="usual"):
    return dcg(grades, k, gain, discount) / dcg(sorted(grades, reverse=True), k, gain, discount)


def err(grades, k, max_grade):
    total, looks = 0.0, 1.0
    for rank, grade in enumerate(grades[:k], 1):
        stops = (2**grade - 1) / 2**max_grade
        total += looks * stops / rank
        looks *= 1 - stops
    return total


def average_precision(grades, k):
    hits, total = 0, 0.0
    for rank, grade in enumerate(grades[:k], 1):
        if grade > 0:
            hits += 1
            total += hits / rank
    return total / min(sum(g > 0 for g in grades), k)


def mean_over_orders(metric, grades, score):
    """Return the mean of a metric of ranked grades over all orders of documents with equal scores."""
    orders = orders_of(score)
    return sum(metric([grades[i] for i in order]) for order in orders) / len(orders)


def change(metric, grades, ranked, a, b, k, max_grade, gain):
    """Return how much the metric of the whole list changes when the documents at ranks a and b swap."""
    if metric == "ranknet":
        return 1.0
    before = [grades[i] for i in ranked]
    after = list(before)
    after[a], after[b] = after[b], after[a]
    n = len(before)
    if metric == "ndcg":  # the ideal list is cut at k, the discounts are not
        ideal = dcg(sorted(before, reverse=True), k, gain)
        return abs(dcg(before, n, gain) - dcg(after, n, gain)) / ideal
    if metric == "err":
        return abs(err(before, n, max_grade) - err(after, n, max_grade))
    return abs(average_precision(before, n) - average_precision(after, n)) if max(before) > 0 else 0.0


def lambdas(metric, grades, score, k, sigma, normalize, max_grade, gain="exponential"):
    """Return gradients and hessians of the documents of one query."""
    n = len(grades)
    ranked = ranking_of(score)
    gradient, hessian, total = [0.0] * n, [0.0] * n, 0.0
    for a in range(n):
        for b in range(n):
            i, j = ranked[a], ranked[b]
            if grades[i] <= grades[j] or min(a, b) >= k:
                continue
            weight = change(metric, grades, ranked, a, b, k, max_grade, gain)
            if normalize and max(score) != min(score):
                weight /= 0.01 + abs(score[i] - score[j])
            rho = 1 / (1 + math.exp(sigma * (score[i] - score[j])))
            gradient[i] -= sigma * rho * weight
            gradient[j] += sigma * rho * weight
            for document in (i, j):
                hessian[document] += sigma**2 * rho * (1 - rho) * weight
                total += sigma * rho * weight
    if normalize and total > 0:
        factor = math.log2(1 + total) / total
        gradient, hessian = [g * factor for g in gradient], [h * factor for h in hessian]
    return gradient, hessian


# -- LambdaMART --------------------------------------------------------------------------------------------------------


def all_lambdas(metric, grades, sizes, score, **options):
    """Return gradients and hessians of the documents of all queries."""
    gradient, hessian, begin = [], [], 0
    for size in sizes:
        own = slice(begin, begin + size)
        found = lambdas(metric, grades[own], score[own], max_grade=max(grades), **options)
        gradient, hessian, begin = gradient + found[0], hessian + found[1], begin + size
    return gradient, [max(h, 1e-16) for h in hessian]  # so that no leaf divides by 0


def worth(rows, gradient, hessian, l2):
    return sum(gradient[i] for i in rows) ** 2 / (sum(hessian[i] for i in rows) + l2)


def best_split(x, rows, gradient, hessian, l2, min_rows, min_weight):
    """Return (gain, left, right) of the best split of some rows; gain 0 where none is allowed."""
    best = (0.0, [], [])
    total = sum(hessian[i] for i in rows)
    for column in range(len(x[0])):
        for cut in sorted({x[i][column] for i in rows})[:-1]:
            left = [i for i in rows if x[i][column] <= cut]
            right = [i for i in rows if x[i][column] > cut]
            least = min(sum(hessian[i] for i in side) for side in (left, right))
            # rows are counted by their share of the hessians
            if least < min_weight or least * len(rows) / total < min_rows:
                continue
            gain = sum(worth(side, gradient, hessian, l2) for side in (left, right))
            gain -= worth(rows, gradient, hessian, l2)
            if gain > best[0] + 1e-9:
                best = (gain, left, right)
    return best


def leaves_of(x, gradient, hessian, n_leaves, l2, min_rows, min_weight):
    """Return the rows of each leaf of a tree: of the splits of all leaves, the one that gains most comes next."""
    leaves = [list(range(len(x)))]
    while len(leaves) < n_leaves:
        splits = [best_split(x, rows, gradient, hessian, l2, min_rows, min_weight) for rows in leaves]
        chosen = max(range(len(leaves)), key=lambda i: splits[i][0])
        gain, left, right = splits[chosen]
        if gain <= 0:
            break
        leaves[chosen : chosen + 1] = [left, right]
    return leaves


def lambdamart(x, grades, sizes, score, *, rounds, rate, n_leaves, l2, min_rows, min_weight, metric, **options):
    """Return the scores of all documents after some rounds, and the leaves of each."""
    score, grown = list(score), []
    for _ in range(rounds):
        gradient, hessian = all_lambdas(metric, grades, sizes, score, **options)
        leaves = leaves_of(x, gradient, hessian, n_leaves, l2, min_rows, min_weight)
        for rows in leaves:
            step = -sum(gradient[i] for i in rows) / (sum(hessian[i] for i in rows) + l2)
            for i in rows:
                score[i] += rate * step
        grown.append({frozenset(rows) for rows in leaves})
    return score, grown
