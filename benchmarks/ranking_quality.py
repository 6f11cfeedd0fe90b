"""Compare rankers by NDCG@10 on real queries, each ranked by a model that was fitted without its fold.

Run `python benchmarks/ranking_quality.py DATA`, DATA being a folder with `rank.train` and `rank.test` and their
`.query` files. All rankers see the same folds: 5 of all queries, split differently by each seed. LightGBM is included
if it is installed. Times are for all folds of a seed, the best of 1 and 2 threads; processor times are for 1 thread.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from depthforest.ensemble.ranking import LambdaMART, LambdaRank, RankNet, cross_val_ndcg, group_sizes, read_letor

JOBS = (1, 2)
BOOSTED = ("LambdaMART", "LightGBM")
AIM = 1.0  # of LightGBM's time
FOLDS = 5
CUT_OFF = 10
N_FEATURES = 300

# the same for all boosted rankers
ROUNDS = 100
LEAVES = 31
LEARNING_RATE = 0.1

# of both networks: few epochs and strong decay, because 250 queries are soon memorized
EPOCHS = 30
WEIGHT_DECAY = 1.0


class LightGBM(BaseEstimator):  # type: ignore[misc]
    """LightGBM's ranker with the signature of ours."""

    def __init__(self, random_state: int, n_jobs: int = 1) -> None:
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, qid: Any) -> LightGBM:
        """Fit with the sizes of groups."""
        from lightgbm import LGBMRanker

        self.ranker = LGBMRanker(
            n_estimators=ROUNDS, num_leaves=LEAVES, learning_rate=LEARNING_RATE, random_state=self.random_state,
            n_jobs=self.n_jobs, verbose=-1,
        )  # fmt: skip
        self.ranker.fit(X, y, group=group_sizes(qid))
        return self

    def predict(self, X: Any) -> Any:
        """Return scores."""
        return self.ranker.predict(X)


def lambdamart(seed: int, jobs: int) -> LambdaMART:
    """Return ours, with LightGBM's default settings."""
    return LambdaMART(
        n_estimators=ROUNDS, max_leaf_nodes=LEAVES, learning_rate=LEARNING_RATE, random_state=seed, n_jobs=jobs
    )


RANKERS: dict[str, Callable[[int, int], Any]] = {
    "RankNet": lambda seed, _: RankNet(max_iter=EPOCHS, weight_decay=WEIGHT_DECAY, random_state=seed),
    "LambdaRank": lambda seed, _: LambdaRank(max_iter=EPOCHS, weight_decay=WEIGHT_DECAY, random_state=seed),
    "LambdaMART": lambdamart,
    "LightGBM": LightGBM,
}


def all_queries(folder: Path) -> tuple[Any, Any, Any]:
    """Return (X, y, qid) of both files as one set."""
    train, test = (read_letor(folder / name, n_features=N_FEATURES) for name in ("rank.train", "rank.test"))
    if train.qid is None or test.qid is None:
        raise SystemExit(f"{folder}: rank.train.query and rank.test.query must stand beside the files")
    qid = np.concatenate([train.qid, test.qid + train.qid.max() + 1])
    return np.concatenate([train.X, test.X]), np.concatenate([train.y, test.y]), qid


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each ranker."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path, nargs="?", help="folder of rank.train, rank.test and their .query files")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rankers", nargs="+", choices=list(RANKERS), default=list(RANKERS))
    options = parser.parse_args(arguments)
    if options.data is None:  # make bench
        print("left out: name the folder of LightGBM's example queries")
        return
    x, y, qid = all_queries(options.data)
    print(f"{len(y)} documents of {len(group_sizes(qid))} queries, {FOLDS} folds, {options.seeds} seeds")
    print(f"{'':12}{'NDCG@10':>9}{'by seed':>{9 * options.seeds}}{'seconds':>10}{'processor':>11}")
    best: dict[str, tuple[float, float]] = {}
    for name in options.rankers:
        try:
            RANKERS[name](0, 1).fit(x[:50], y[:50], qid=qid[:50])  # compiles the kernels
        except ImportError:
            print(f"{name:12} is not installed")
            continue
        scores, seconds, processor = [], [], []
        for seed in range(options.seeds):
            for jobs in JOBS if name in BOOSTED else JOBS[:1]:
                ranker = RANKERS[name](seed, jobs)
                began, began_processor = time.perf_counter(), time.process_time()
                values = cross_val_ndcg(ranker, x, y, qid, k=CUT_OFF, n_splits=FOLDS, random_state=seed)
                seconds.append(time.perf_counter() - began)
                if jobs == 1:
                    processor.append(time.process_time() - began_processor)
            scores.append(float(values.mean()))
        shown = "".join(f"{score:9.4f}" for score in scores)
        best[name] = min(seconds), min(processor)
        print(f"{name:12}{np.mean(scores):9.4f}{shown}{min(seconds):10.2f}{min(processor):11.2f}", flush=True)
    if all(name in best for name in BOOSTED):
        wall, own = (best["LambdaMART"][i] / best["LightGBM"][i] for i in range(2))
        print(
            f"aim: LambdaMART, fit and ranking over LightGBM: {wall:.2f}, at most {AIM:.1f} (processor time {own:.2f})"
        )


if __name__ == "__main__":
    main()
