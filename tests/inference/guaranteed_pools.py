"""Small pools that an interval could fail on, and ways to draw from them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from haystat.inference.guaranteed_interval import StageDraws

PER_STAGE = 10


@dataclass(frozen=True)
class World:
    """Items with cell and label (N,); predicted (K,) says which cells are predicted positive."""

    cell: np.ndarray
    label: np.ndarray
    predicted: np.ndarray

    @property
    def size(self):
        return np.bincount(self.cell, minlength=len(self.predicted))

    def losses(self, measure):
        """Numerator and denominator by cell and label, (K, 2) each."""
        y = np.array([[0.0, 1.0]]) + 0 * self.predicted[:, None]
        f = self.predicted[:, None] + 0 * y
        return {
            "f1": (2 * y * f, y + f),
            "recall": (y * f, y),
            "precision": (y * f, f),
            "accuracy": ((y == f).astype(float), 1 + 0 * y),
        }[measure]

    def truth(self, measure):
        above, below = self.losses(measure)
        return above[self.cell, self.label].sum() / below[self.cell, self.label].sum()


def strata(n_items, n_cells, n_predicted):
    """Cells of equal size; the last ones are predicted positive."""
    cell = np.arange(n_items) * n_cells // n_items
    return cell, (np.arange(n_cells) >= n_cells - n_predicted).astype(float)


def empty_tail(rng):
    cell, predicted = strata(300, 10, 1)
    return World(cell, (rng.random(300) < 0.8 * predicted[cell]).astype(int), predicted)


def rare_positives(rng):
    """As many positives in the tail as at the top."""
    cell, predicted = strata(300, 10, 1)
    label = (rng.random(300) < 0.6 * predicted[cell]).astype(int)
    label[rng.choice(250, 12, replace=False)] = 1
    return World(cell, label, predicted)


def all_predicted(rng):
    cell, predicted = strata(200, 4, 4)
    label = np.ones(200, int)
    label[rng.choice(200, 3, replace=False)] = 0
    return World(cell, label, predicted)


def noise(rng):
    cell, predicted = strata(200, 8, 3)
    return World(cell, rng.integers(2, size=200), predicted)


def one_cell(rng):
    """The labels of a stratum stand in an order; the draws must not care."""
    return World(np.zeros(60, int), (np.arange(60) < 20).astype(int), np.ones(1))


def uniform(world, label, drawn):
    return np.ones(len(world.predicted))


def top_heavy(world, label, drawn):
    return np.where(world.predicted > 0, 20.0, 1.0)


def chasing(world, label, drawn):
    """Draws where positives were found and hardly anywhere else."""
    found = np.bincount(world.cell[drawn], label[drawn], len(world.predicted))
    return 0.05 + found


def with_census(world, label, drawn):
    """Takes a cell for certain, skips another, draws from the rest."""
    rates = np.ones(len(world.predicted))
    rates[0] = 0.0
    if len(drawn) == PER_STAGE:
        rates[-1] = np.inf
    return rates


def guessing(world, rng):
    """Guesses of the label shares that are confident and wrong."""
    positive = np.where(rng.random(len(world.predicted)) < 0.5, 0.999, 0.001)
    return np.stack([1 - positive, positive], axis=1)


def sample(world, rates_of, n_draws, rng, guess=None, silent=0.0):
    """Draws without replacement, in stages; `silent` of the items have no answer."""
    shown = np.where(rng.random(len(world.label)) < silent, -1, world.label)
    drawn, stage, rates = np.array([], int), [], []
    while len(drawn) < n_draws:
        rate = rates_of(world, np.maximum(shown, 0), drawn)
        left = np.setdiff1d(np.arange(len(world.label)), drawn)
        certain = left[np.isinf(rate[world.cell[left]])]
        left = left[(rate[world.cell[left]] > 0) & np.isfinite(rate[world.cell[left]])]
        # Successive sampling: the first to ring of exponential clocks.
        clock = rng.exponential(size=len(left)) / rate[world.cell[left]]
        new = np.concatenate([certain, left[np.argsort(clock)][:PER_STAGE]])
        drawn = np.concatenate([drawn, new])
        stage += [len(rates)] * len(new)
        rates.append(rate)
    shares = None if guess is None else np.array([guess] * len(rates))
    stages = np.array(stage)
    return StageDraws(world.size, stages, world.cell[drawn], shown[drawn], np.array(rates), shares)


def sample_with_replacement(world, n_draws, rng):
    """Passive draws."""
    n_items = len(world.label)
    item = rng.integers(n_items, size=n_draws)
    first = np.zeros(n_draws, bool)
    first[np.unique(item, return_index=True)[1]] = True
    rates = np.full((1, len(world.predicted)), 1 / n_items)
    cell, label = world.cell[item], world.label[item]
    return StageDraws(world.size, np.zeros(n_draws, int), cell, label, rates, repeated=~first)


def first_draws(draws, n):
    """The draws as they were after n of them."""
    repeated = None if draws.repeated is None else draws.repeated[:n]
    return replace(
        draws,
        stage=draws.stage[:n],
        cell=draws.cell[:n],
        label=draws.label[:n],
        repeated=repeated,
    )
