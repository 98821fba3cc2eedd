"""Whether intervals hold where labels go with weights, and how wide they are.

    python bench/weight.py [--repeats 40] [--powers=-1,0,1,2] [--sigma 1] [--budget 1500]

Weights are log-normal with `sigma`; 3% of 20,000 items are positive, the chance of one in
proportion to a power of its weight, 0.9 at most; scores are normal, 2.5 higher for positives.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn import metrics

import haystat as hs

SIZE, SHARE, MOST, BATCH = 20_000, 0.03, 0.9, 250
MEASURES = ("f1", "recall", "precision", "prevalence")


def main() -> None:
    """Run the repeats and print a line for each power and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--powers", default="-1,0,1,2")
    parser.add_argument("--sigma", type=float, default=1.0)
    parser.add_argument("--budget", type=int, default=1500)
    wish = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'power':>6} {'measure':10} {'covered':>8} {'width':>7} {'bias':>8} {'rmse':>7}")
    for power in map(float, wish.powers.split(",")):
        runs = [one_run(power, wish.sigma, wish.budget, r) for r in range(wish.repeats)]
        for name, rows in zip(MEASURES, np.moveaxis(np.array(runs), 1, 0), strict=True):
            truth, value, low, high = rows.T
            covered, error = int(np.sum((low <= truth) & (truth <= high))), value - truth
            rmse, width = np.sqrt(np.mean(error**2)), np.median(high - low)
            count = f"{covered}/{wish.repeats}"
            print(f"{power:6g} {name:10} {count:>8} {width:7.4f} {error.mean():8.4f} {rmse:7.4f}")


def generated(power: float, sigma: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, weights and labels of a pool, (M,) each."""
    rng = np.random.default_rng([seed, 41])
    weight = rng.lognormal(0, sigma, SIZE)
    goes = weight**power
    labels = (rng.random(SIZE) < np.minimum(SHARE * goes / goes.mean(), MOST)).astype(int)
    return rng.normal(-3, 1.4, SIZE) + 2.5 * labels, weight, labels


def one_run(power: float, sigma: float, budget: int, seed: int) -> list[tuple[float, ...]]:
    """(truth, value, low, high) of every measure, drawn for recall."""
    scores, weight, labels = generated(power, sigma, seed)
    pool = hs.Pool(scores, threshold=0.0, weight=weight)
    evaluation = hs.Evaluation(pool, "recall", random_state=seed)
    evaluation.run(lambda items: labels[np.asarray(items)], budget, BATCH)
    predicted, weigh = scores >= 0, {"sample_weight": weight}
    truth = {
        "f1": metrics.f1_score(labels, predicted, **weigh),
        "recall": metrics.recall_score(labels, predicted, **weigh),
        "precision": metrics.precision_score(labels, predicted, **weigh),
        "prevalence": np.average(labels, weights=weight),
    }
    found = {name: evaluation.estimate(name) for name in MEASURES}
    return [(truth[name], found[name].value, *found[name].interval) for name in MEASURES]


if __name__ == "__main__":
    main()
