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
