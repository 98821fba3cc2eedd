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

import heapq
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from haystat.designs.base import Choice, Design, Problem, Sheet
from haystat.measures.outputs import FloatArray, IntArray


@dataclass(frozen=True)
class Proposal:
    """Probability of one item: without a label (K,), and with each label (K, C)."""

    unlabelled: FloatArray
    labelled: FloatArray


class ReplacementDesign(Design):
    """A design that draws i.i.d. from a proposal which is constant on cells."""

    @abstractmethod
    def propose(self, problem: Problem, state: Any) -> Proposal:
        """The proposal of the next stage."""

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
    known_rate = proposal.labelled[sheet.known_cell, sheet.known_label]
    return Choice(
        new_cell,
        1 + rng.poisson(new_rate * (end - hit_time)),
        _weights(new_rate, size),
        rng.poisson(pending_rate * end),
        _weights(pending_rate, size),
        rng.poisson(known_rate * end),
        _weights(known_rate, size),
    )


def first_hits(
    rate: FloatArray, unasked: IntArray, n: int, rng: np.random.Generator
) -> tuple[IntArray, FloatArray, float]:
    """Cells and times of the first n new items, fewer if fewer can be reached; time of the last."""
    open_cells = np.flatnonzero((rate > 0) & (unasked > 0))
    gaps = rng.standard_exponential(len(open_cells) + n)
    first = gaps[: len(open_cells)] / (rate[open_cells] * unasked[open_cells])
    further = iter(gaps[len(open_cells) :].tolist())
    queue = list(zip(first.tolist(), open_cells.tolist(), strict=True))
    if len(queue) > n:  # only the n cells that are hit first can matter
        queue = [queue[i] for i in np.argpartition(first, n - 1)[:n]]
    heapq.heapify(queue)
    left = unasked[open_cells].tolist()
    remaining = dict(zip(open_cells.tolist(), left, strict=True))
    cells: list[int] = []
    times: list[float] = []
    while queue and len(cells) < n:
        time, cell = queue[0]
        cells.append(cell)
        times.append(time)
        remaining[cell] -= 1
        if remaining[cell] > 0:
            gap = next(further) / (float(rate[cell]) * remaining[cell])
            heapq.heapreplace(queue, (time + gap, cell))
        else:
            heapq.heappop(queue)
    end = times[-1] if times else 0.0
    return np.array(cells, dtype=np.int64), np.array(times), end


def _weights(rate: FloatArray, size: int) -> FloatArray:
    """p(x) / q(x); infinite where q is zero, which is never drawn."""
    with np.errstate(divide="ignore"):
        return 1.0 / (size * rate)
