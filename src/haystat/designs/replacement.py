"""Draws with replacement from a proposal over cells, exact and independent of the pool's size.

A sequence of i.i.d. draws is a Poisson process seen without its clock: give every item x its own
process of rate q(x), then the superposition has rate one and its marks are i.i.d. from q. So the
s never-asked items of a cell are first hit at times with gaps Exp(s q), Exp((s - 1) q), …, and an
item first hit at T has been drawn 1 + Poisson(q (end - T)) times by the end of the stage.

A stage for n labels ends with the draw that needs the n-th of them: a stopping time. So by Wald's
identity the sum of w loss - R over its draws has mean zero whatever the stages before it, and the
mean over all draws stays a martingale as in Theorem 1, even if every stage asks for one label. (To
stop just before draw n + 1 would make the mean of one stage unbiased, but not the mean over
several: each stage would throw away a draw of an unlabelled item and none of a labelled one.)
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.designs.base import Choice, Design, Proposal, Sheet
from haystat.pool.problem import Problem


class ReplacementDesign(Design):
    """A design that draws i.i.d. from a proposal which is constant on cells."""

    with_replacement = True

    @abstractmethod
    def propose(self, problem: Problem, state: Any) -> Proposal:
        """The proposal of the next stage."""

    def first_rates(self, problem: Problem, rng: np.random.Generator) -> FloatArray:
        return self.propose(problem, self.start(problem, rng)).unlabelled

    def choose(
        self, problem: Problem, state: Any, sheet: Sheet, n: int, rng: np.random.Generator
    ) -> Choice:
        proposal = self.propose(problem, state)
        return draw(proposal, problem.size, sheet, n, rng)


def normalised(
    unlabelled: FloatArray, labelled: FloatArray, problem: Problem, counts: IntArray
) -> Proposal:
    """Scale item-wise masses so that they sum to one over the pool; counts (K, C) are labelled."""
    n_unlabelled = problem.cells.size - counts.sum(axis=1)
    total = n_unlabelled @ unlabelled + np.sum(counts * labelled)
    if total == 0:  # no item of the pool can have a loss: there is nothing to draw
        return Proposal(np.zeros_like(unlabelled), np.zeros_like(labelled))
    return Proposal(unlabelled / total, labelled / total)


def draw(proposal: Proposal, size: int, sheet: Sheet, n: int, rng: np.random.Generator) -> Choice:
    """One stage of draws that needs n new labels."""
    new_cell, hit_time, end = first_hits(proposal.unlabelled, sheet.unasked, n, rng)
    new_rate = proposal.unlabelled[new_cell]
    pending_rate = proposal.unlabelled[sheet.pending_cell]
    known_rate = proposal.of_known(sheet.known_cell, sheet.known_label)
    return Choice(
        new_cell,
        1 + rng.poisson(new_rate * (end - hit_time)),
        _weights(new_rate, size),
        repeats(pending_rate, end, rng),
        _weights(pending_rate, size),
        repeats(known_rate, end, rng),
        _weights(known_rate, size),
    )


def draw_cells(
    proposal: Proposal, cell_size: IntArray, n: int, rng: np.random.Generator
) -> tuple[IntArray, FloatArray]:
    """Cells and weights of n i.i.d. draws from items whose labels do not matter, (n,) each."""
    mass = cell_size * proposal.unlabelled
    if not mass.any():  # no item of the pool can have a loss
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    cell = rng.choice(len(mass), size=n, p=mass / mass.sum())
    return cell, _weights(proposal.unlabelled[cell], int(cell_size.sum()))


def repeats(rate: FloatArray, end: float, rng: np.random.Generator) -> IntArray:
    """How often each item is drawn by the time `end`: Poisson(rate * end), (n,).

    Where draws are fewer than items their total is drawn first, and then split among the items.
    """
    edges = np.cumsum(rate)
    if len(rate) == 0 or edges[-1] * end > len(rate) or edges[-1] == 0:
        return rng.poisson(rate * end)
    points = edges[-1] * rng.random(rng.poisson(edges[-1] * end))
    item = np.searchsorted(edges, points, side="right")
    # A point may be rounded up to the end of the line, where only items of rate zero follow.
    item = np.minimum(item, np.searchsorted(edges, edges[-1]))
    return np.bincount(item, minlength=len(rate))


def first_hits(
    rate: FloatArray, unasked: IntArray, n: int, rng: np.random.Generator
) -> tuple[IntArray, FloatArray, float]:
    """Cells and times of the first n new items, fewer if fewer can be reached; time of the last."""
    # Here, not above: numba takes a quarter of a second to import.
    from haystat.designs.first_hits import merge_hits

    open_cells = np.flatnonzero((rate > 0) & (unasked > 0))
    gaps = rng.standard_exponential(len(open_cells) + n)
    first = gaps[: len(open_cells)] / (rate[open_cells] * unasked[open_cells])
    order = np.argsort(first, kind="stable")[:n]  # only the n cells that are hit first can matter
    queue = open_cells[order]
    position, time = merge_hits(
        first[order], rate[queue], unasked[queue], gaps[len(open_cells) :], n
    )
    return queue[position], time, float(time[-1]) if len(time) else 0.0


def _weights(rate: FloatArray, size: int) -> FloatArray:
    """p(x) / q(x); infinite where q is zero, which is never drawn."""
    with np.errstate(divide="ignore"):
        return 1.0 / (size * rate)
