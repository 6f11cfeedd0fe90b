"""Slow, obvious twins of the combination rules: plain Python over rows, members and classes."""

from itertools import product


def shares(answers, weights, n_classes, voting):
    """Share of the votes for each class, row by row; `answers[member][row]` is a label or a list of probabilities."""
    out = []
    for row in range(len(answers[0])):
        votes = [0.0] * n_classes
        for answer, weight in zip(answers, weights, strict=True):
            said = answer[row]
            if voting == "hard":
                votes[said] += weight
            elif voting == "soft":
                for label in range(n_classes):
                    votes[label] += weight * said[label]
            else:
                purity = max(said)
                votes[list(said).index(purity)] += weight * purity
        out.append([vote / sum(votes) for vote in votes])
    return out


def labels(rows, classes, reject_label=None, majority=0.5, close=1e-9):
    """Winner of each row of shares, the first of equal ones; `reject_label` where it has no more than `majority`."""
    out = []
    for row in rows:
        best = 0
        for label in range(1, len(row)):
            if row[label] > row[best] + close:
                best = label
        rejected = reject_label is not None and not row[best] > majority + close
        out.append(reject_label if rejected else classes[best])
    return out


def reject_point(share, right, weight, majority):
    """Share of rows rejected at a majority and accuracy of the rest."""
    kept = [i for i in range(len(share)) if share[i] > majority]
    total = sum(weight)
    kept_weight = sum(weight[i] for i in kept)
    return 1 - kept_weight / total, sum(weight[i] for i in kept if right[i]) / kept_weight


def best_weights_on_grid(errors, sample_weight, steps):
    """Of all weights in steps of 1/steps that sum to one, those of the least weighted squared error."""
    best, found = None, None
    for parts in product(range(steps + 1), repeat=len(errors[0])):
        if sum(parts) != steps:
            continue
        w = [part / steps for part in parts]
        loss = 0.0
        for row, weight in zip(errors, sample_weight, strict=True):
            loss += weight * sum(a * e for a, e in zip(w, row, strict=True)) ** 2
        if best is None or loss < best:
            best, found = loss, w
    return found, best
