"""From labels to an estimate by the model: what draws of the missing labels make of the measure.

Labelled items count as they are. The labels of the others are drawn, some hundred times, from the
posterior of the model given all labels (response/posterior.py), and each draw gives a value of the
measure. The estimate is the median of these values, its interval their quantiles: a credible
interval, which minds neither how items were chosen nor when one looked.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haystat.designs.labels import LabelView
from haystat.estimation.blocks import Blocks
from haystat.measures.base import Measure
from haystat.measures.outputs import FloatArray, IntArray, Outputs
from haystat.response.posterior import THOROUGH, draw_shares

RARE = 0.05  # share below which events are rare
MUCH_LOWER = 0.8  # of the likely recall, below which it takes a warning


@dataclass(frozen=True)
class Labels:
    """Labelled items: cell, label and block (n,) of each, what the systems say about them.

    counts (K, C) are the labels of each cell; nobody (K,) counts items that nobody can label.
    """

    cell: IntArray
    label: IntArray
    block: IntArray
    outputs: Outputs
    counts: IntArray
    nobody: IntArray


@dataclass(frozen=True)
class Pools:
    """Draws of the whole pool: of left (B,) unlabelled items, events (S, B) are events."""

    view: LabelView
    blocks: Blocks
    labels: Labels
    left: IntArray
    events: IntArray

    @classmethod
    def draw(
        cls,
        view: LabelView,
        start: FloatArray,
        blocks: Blocks,
        labels: Labels,
        rng: np.random.Generator,
    ) -> Pools:
        """Draws from the posterior given the labels; the fit begins at start (G, p)."""
        share = posterior_shares(view, start, labels.counts, rng)[:, blocks.cell]
        left = unlabelled(blocks, labels)
        return cls(view, blocks, labels, left, draw_events(left, share, rng))

    def risks(self, measure: Measure, rng: np.random.Generator) -> FloatArray:
        """The measure's risk in each, (S, d)."""
        label = self.labels.label
        total = float(len(label) + self.left.sum())
        known = measure.risk(self.labels.outputs, label, np.full(len(label), 1 / total))
        others = self.view.classes_of_events(self.labels.counts)
        lost = _missing(self.view, self.blocks, self.left, self.events, others, rng)
        return np.asarray(known + lost / total)

    def doubts(self) -> list[str]:
        """What the interval takes from the prior rather than from labels, in words."""
        model = self.view.model
        if not model.curve.high.any():
            return []
        low = model.curve.low[self.view.regions.of_cell]
        hidden = self.events[:, low[self.blocks.cell]].sum(axis=1)
        hidden = hidden + self.labels.counts[low, 1:].sum()
        positives = self.events.sum(axis=1) + self.labels.counts[:, 1:].sum()
        lowest, middle = np.quantile(1 - hidden / np.maximum(positives, 1), [0.025, 0.5])
        if lowest > MUCH_LOWER * middle:
            return []
        shared = float(model.size[model.mass].sum() / model.size.sum())
        if shared > 0:
            return [
                f"{shared:.0%} of the items share one score, which says nothing about them: with "
                f"the positives that may be among them recall may be as low as {lowest:.2g}. Label "
                "more of them, or add a second score."
            ]
        return [
            "The labels cannot rule out further false negatives below the threshold: recall may be "
            f"as low as {lowest:.2g}. Label more (haystat plan says how many), or add a second "
            "score."
        ]


def draw_events(left: IntArray, share: FloatArray, rng: np.random.Generator) -> IntArray:
    """How many of left (B,) unlabelled items are events, (S, B): binomial.

    Where they are rare, Poisson counts are as good and drawn in a third of the time.
    """
    rare = share.max(axis=0) < RARE
    events = np.empty(share.shape, dtype=np.int64)
    events[:, rare] = np.minimum(rng.poisson(left[rare] * share[:, rare]), left[rare])
    events[:, ~rare] = rng.binomial(left[~rare], np.minimum(share[:, ~rare], 1.0))
    return events


def posterior_shares(
    view: LabelView, start: FloatArray, counts: IntArray, rng: np.random.Generator
) -> FloatArray:
    """Draws of the share of events among the unlabelled items of each cell, (S, K)."""
    n, events = view.events(counts)
    mixture = view.model.fitted(n, events, start, THOROUGH)
    return draw_shares(view.model, mixture, n, events, rng)[:, view.regions.of_cell]


def unlabelled(blocks: Blocks, labels: Labels) -> IntArray:
    """Items of each block that have no label, (B,).

    Of items that nobody can label the estimate does not speak: in each cell as large a part of
    those not drawn is left out as of those drawn.
    """
    left = blocks.size - np.bincount(labels.block, minlength=len(blocks.size))
    if not labels.nobody.any():
        return left
    drawn = labels.counts.sum(axis=1) + labels.nobody
    overall = labels.nobody.sum() / drawn.sum()
    lost = (labels.nobody + overall) / (drawn + 1)  # a cell without draws is like the others
    in_cell = np.bincount(blocks.cell, weights=left, minlength=len(drawn))
    part = np.maximum(in_cell - labels.nobody, 0.0) * (1 - lost) / np.maximum(in_cell, 1.0)
    return np.asarray(np.rint(left * part[blocks.cell]), dtype=np.int64)


def _missing(
    view: LabelView,
    blocks: Blocks,
    left: IntArray,
    events: IntArray,
    others: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Summed losses of the unlabelled items if events (S, B) of them are events, (S, d)."""
    loss = blocks.mean_loss
    block = np.arange(len(blocks.cell))
    reference, group = view.reference[blocks.cell], view.group[blocks.cell]
    quiet = loss[block, reference]
    total = left @ quiet + np.zeros((len(events), 1))
    for code in range(len(others)):
        members = np.flatnonzero(group == code)
        found = events[:, members].astype(np.float64)
        n_found = found.sum(axis=1)
        split = _split(n_found, others[code], rng)
        for label in np.flatnonzero(others[code] > 0):
            gain = loss[members, label] - quiet[members]
            total += (found * split[:, label, None]) @ gain
    return np.asarray(total)


def _split(n_found: FloatArray, pseudo_counts: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Which part of n_found (S,) events has each class, (S, C): Dirichlet, then multinomial."""
    possible = np.flatnonzero(pseudo_counts > 0)
    part = np.zeros((len(n_found), len(pseudo_counts)))
    if len(possible) == 1:
        part[:, possible] = 1.0
        return part
    chance = rng.dirichlet(pseudo_counts[possible], len(n_found))
    counts = rng.multinomial(np.maximum(n_found, 1).astype(np.int64), chance)
    part[:, possible] = counts / counts.sum(axis=1, keepdims=True)
    return part
