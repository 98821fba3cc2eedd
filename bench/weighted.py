"""What a stage costs where items have weights, relative to one where they count alike.

    python bench/weighted.py

A stage draws 50 items and folds in their labels; the quickest of several runs counts.
"""

from __future__ import annotations

import time

import numpy as np

import haystat as hs

SIZE, RUNS, BATCH, LAST = 100_000, 6, 50, 1000


def main() -> None:
    """Measure and print."""
    rng = np.random.default_rng(0)
    scores = rng.normal(-4, 2, SIZE)
    labels = (rng.random(SIZE) < 1 / (1 + np.exp(-1.3 * scores))).astype(int)
    plain = hs.Pool(scores, threshold=0.0)
    print("{:>6} {:9} {:>6} {:>6} {:>6}".format("sigma", "design", "cells", "ms", "ratio"))
    for sigma in (1.0, 1.5, 2.5):
        weighted = hs.Pool(scores, threshold=0.0, weight=rng.lognormal(0, sigma, SIZE))
        for design in ("assisted", "adaptive"):
            pairs = [[_stages(p, labels, design) for p in (plain, weighted)] for _ in range(RUNS)]
            alone, with_weights = (np.min([pair[k][1] for pair in pairs], axis=0) for k in (0, 1))
            cells, ms = pairs[0][1][0], 1e3 * with_weights.mean()
            ratio = with_weights.mean() / alone.mean()
            print(f"{sigma:6} {design:9} {cells:6} {ms:6.2f} {ratio:6.2f}", flush=True)


def _stages(pool: hs.Pool, labels: np.ndarray, design: str) -> tuple[int, np.ndarray]:
    """Number of cells, and processor time of every stage after the first."""
    evaluation = hs.Evaluation(pool, "f1", design, random_state=1)
    seconds = []
    for _ in range(0, LAST, BATCH):
        start = time.process_time()
        queries = evaluation.ask(BATCH)
        evaluation.tell({query: int(labels[query.item]) for query in queries})
        seconds.append(time.process_time() - start)
    return len(evaluation.state.ledger.problem.cells), np.array(seconds[1:])


if __name__ == "__main__":
    main()
