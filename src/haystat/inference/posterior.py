"""From labels to an estimate by the model: what draws of the missing labels make of the measure.

Labelled items count as they are. The labels of the others are drawn, some hundred times, from the
posterior of the model given all labels (models/posterior.py), and each draw gives a value of the
measure. The estimate and its interval are quantiles of these values: a credible interval, which
minds neither how items were chosen nor when one looked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from haystat.core.arrays import FloatArray, IntArray
from haystat.measures.base import Measure
from haystat.measures.outputs import Outputs
from haystat.models.label_view import LabelView
from haystat.models.posterior import THOROUGH, Mixture, draw_shares
from haystat.pool.blocks import Blocks

MOST_EXACT = 10**9  # items from which numpy draws without replacement
RARE = 0.05  # share below which events are rare
ROUNDING = 1e-12  # of a sum, at which it is 0
MUCH_LOWER = 0.8  # of the likely recall, below which it takes a warning


@dataclass(frozen=True)
class Labels:
    """Labelled items: cell and label (n,) of each.

    counts (K, C) are the labels of each cell; nobody (K,) counts items that nobody can label.
    """

    cell: IntArray
    label: IntArray
    counts: IntArray
    nobody: IntArray

    @classmethod
    def of(cls, cell: IntArray, label: IntArray, nobody: IntArray, like: IntArray) -> Labels:
        """Those of items; counts have the shape of `like`."""
        counts = np.zeros_like(like)
        np.add.at(counts, (cell, label), 1)
        return cls(cell, label, counts, nobody)


@dataclass(frozen=True)
class Pools:
    """Draws of the whole pool: of left (K,) unlabelled items, events (S, K) are events.

    classes has, for every way of being predicted, which part of the events is of each class,
    (S, C). Nothing here knows of a measure, so that all are estimated from the same draws.
    """

    view: LabelView
    labels: Labels
    left: IntArray
    events: IntArray
    classes: list[FloatArray]

    @classmethod
    def draw(
        cls,
        view: LabelView,
        start: FloatArray | None,
        size: IntArray,
        labels: Labels,
        rng: np.random.Generator,
    ) -> Pools:
        """Draws from the posterior given the labels; the fit begins at start (G, p), if any."""
        share = posterior_shares(view, start, labels.counts, rng)
        left = unlabelled(size, labels.counts, labels.nobody)
        events = draw_events(left, share, rng)
        others = view.classes_of_events(labels.counts)
        classes = [
            _split(events[:, view.group == code].sum(axis=1).astype(np.float64), others[code], rng)
            for code in range(len(others))
        ]
        return cls(view, labels, left, events, classes)

    def within(
        self, measure: Measure, blocks: Blocks, outputs: Outputs, rng: np.random.Generator
    ) -> PoolsInBlocks:
        """The same by block; outputs are what systems say about the labelled items."""
        label, cell, code = self.labels.label, self.labels.cell, measure.grouping(outputs)
        # The same sums however a pool numbers its items.
        order = np.lexsort((label, cell) if code is None else (code, label, cell))
        block, outputs = cell[order], outputs.take(order)
        left, events = self.left.astype(np.float64), self.events
        if len(blocks.cell) > len(left):
            block = blocks.of_items(block, np.asarray(measure.grouping(outputs)))
            unknown = blocks.size - np.bincount(block, minlength=len(blocks.cell))
            left, events = split_by_block(unknown, blocks.cell, self.left, self.events, rng)
        return PoolsInBlocks(self, blocks, left, events, block, label[order], outputs)

    def hidden(self, quantile: float) -> int:
        """How many events without a label are predicted otherwise by all, at that quantile."""
        low = self.view.model.curve.low[self.view.regions.of_cell]
        return int(np.ceil(np.quantile(self.events[:, low].sum(axis=1), quantile)))

    def doubts(self, plain: bool) -> list[str]:
        """What the interval takes from the prior rather than from labels, in words.

        plain: whether the recall of the pool is the measure's, of one system and without weights or
        groups, so that its lower end can be told.
        """
        model = self.view.model
        if not model.curve.high.any():
            return []
        low = model.curve.low[self.view.regions.of_cell]
        hidden = self.events[:, low].sum(axis=1)
        hidden = hidden + self.labels.counts[low, 1:].sum()
        positives = self.events.sum(axis=1) + self.labels.counts[:, 1:].sum()
        recall, chosen = 1 - hidden / np.maximum(positives, 1), model.settings
        lowest, lower, middle = np.quantile(recall, [0.025 * chosen.tail_share, 0.025, 0.5])
        if lower > MUCH_LOWER * middle:
            return []
        shared = float(model.size[model.mass].sum() / model.size.sum())
        as_low = f"recall may be as low as {lowest:.2g}"
        if shared > 0:
            with_them = f"with the positives that may be among them {as_low}"
            return [
                f"{shared:.0%} of the items share one score, or nearly so, which says nothing "
                f"about them: {with_them if plain else 'positives may be among them'}. Label more "
                "of them, or add a second score."
            ]
        return [
            "The labels cannot rule out further false negatives below the threshold"
            f"{f': {as_low}' if plain else ''}. Label more (haystat plan says how many), or add a "
            "second score."
        ]


@dataclass(frozen=True)
class PoolsInBlocks:
    """Draws of the pool by the blocks of a measure: left (B,) and events (S, B) as in Pools.

    block, label and outputs (n,) are those of the labelled items.
    """

    pools: Pools
    blocks: Blocks
    left: FloatArray
    events: IntArray
    block: IntArray
    label: IntArray
    outputs: Outputs

    def risks(self, measure: Measure) -> FloatArray:
        """The measure's risk in each draw, (S, d)."""
        total = float(len(self.label) + self.pools.left.sum())
        known = measure.risk(self.outputs, self.label, np.full(len(self.label), 1 / total))
        loss, pools = self.mean_loss(measure), self.pools
        lost = _missing(pools.view, self.blocks.cell, loss, self.left, self.events, pools.classes)
        return np.asarray(known + lost / total)

    def mean_loss(self, measure: Measure) -> FloatArray:
        """Mean loss of the items of each block that have no label, under each label, (B, C, d).

        Where items of a block differ, as by their weights, what is left is what labels have not
        taken: when all but the lightest items are labelled, only light ones are left.
        """
        mean, size = self.blocks.mean_loss, self.blocks.size
        if measure.signature(self.outputs) is not None:
            return mean
        left = size - np.bincount(self.block, minlength=len(size))
        total = mean * size[:, None, None]
        rest = total.copy()
        for label in range(mean.shape[1]):
            loss = measure.loss(self.outputs, np.full(len(self.label), label))
            np.subtract.at(rest[:, label], self.block, loss)
        rest[np.abs(rest) <= ROUNDING * np.abs(total)] = 0.0
        return np.asarray(rest / np.maximum(left, 1)[:, None, None])


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
    view: LabelView, start: FloatArray | None, counts: IntArray, rng: np.random.Generator
) -> FloatArray:
    """Draws of the share of events among the unlabelled items of each cell, (S, K)."""
    n, events = view.events(counts)
    mixture = view.model.fitted(n, events, start, THOROUGH)
    share = draw_shares(view.model, mixture, n, events, rng)[:, view.regions.of_cell]
    if view.plain is None:
        return share
    return _or_plain(view.plain, counts, share, _evidence(view, counts, mixture), rng)


def _or_plain(
    view: LabelView, counts: IntArray, share: FloatArray, evidence: float, rng: np.random.Generator
) -> FloatArray:
    """Draws (S, K), of which some are by a view without signals, as likely as the labels are by it.

    Beforehand signals are as likely to be worth something as nothing; evidence is theirs.
    """
    n, events = view.events(counts)
    other = view.model.fitted(n, events, None, THOROUGH)
    without = rng.random(len(share)) < expit(_evidence(view, counts, other) - evidence)
    if not without.any():
        return share
    plain = draw_shares(view.model, other, n, events, rng)[:, view.regions.of_cell]
    return np.where(without[:, None], plain, share)


def _evidence(view: LabelView, counts: IntArray, mixture: Mixture) -> float:
    """Log probability of labels that are the same for views with and without signals."""
    labels = view.compared(counts)
    if all(np.array_equal(*pair) for pair in zip(labels, view.events(counts), strict=True)):
        return mixture.evidence
    return view.model.fitted(*labels, mixture.fits.mode, THOROUGH).evidence


def unlabelled(size: IntArray, counts: IntArray, nobody: IntArray) -> IntArray:
    """Items of each cell that have no label, (K,); counts (K, C) and nobody (K,) as in Labels.

    Of items that nobody can label the estimate does not speak: in each cell as large a part of
    those not drawn is left out as of those drawn.
    """
    left = np.asarray(size - counts.sum(axis=1))
    if not nobody.any():
        return left
    drawn = counts.sum(axis=1) + nobody
    overall = nobody.sum() / drawn.sum()
    lost = (nobody + overall) / (drawn + 1)  # a cell without draws is like the others
    return np.asarray(np.rint(np.maximum(left - nobody, 0.0) * (1 - lost)), dtype=np.int64)


def split_by_block(
    unknown: IntArray,
    cell: IntArray,
    left: IntArray,
    events: IntArray,
    rng: np.random.Generator,
) -> tuple[FloatArray, IntArray]:
    """What is left in each block (B,) and which events lie in it (S, B).

    unknown (B,) are the items of each block, of cell[b], without a label; left (K,) of those of a
    cell count, and events (S, K) of them are events: any as likely as any other, hypergeometric.
    """
    in_cell = np.bincount(cell, unknown, minlength=len(left)).astype(np.int64)
    part = left / np.maximum(in_cell, 1)
    found = np.zeros((len(events), len(cell)), dtype=np.int64)
    to_place, room = events.copy(), in_cell.copy()
    rank = np.arange(len(cell)) - np.searchsorted(cell, cell)
    for step in range(int(rank.max()) + 1):
        block = np.flatnonzero(rank == step)
        of_cell = cell[block]
        others = room[of_cell] - unknown[block]
        placed = _without_replacement(unknown[block], others, to_place[:, of_cell], rng)
        found[:, block] = placed
        to_place[:, of_cell] -= placed
        room[of_cell] = others
    return unknown * part[cell], found


def _without_replacement(
    good: IntArray, bad: IntArray, n: IntArray, rng: np.random.Generator
) -> IntArray:
    """How many of n (S, B) items, drawn from good (B,) and bad (B,) ones, are good."""
    drawn = np.where(bad == 0, n, 0)
    few = (n > 0) & (good > 0) & (bad > 0) & (good + bad <= MOST_EXACT)
    wide = np.broadcast_to(good, n.shape)[few], np.broadcast_to(bad, n.shape)[few]
    drawn[few] = rng.hypergeometric(wide[0], wide[1], n[few])
    many = (n > 0) & (good > 0) & (bad > 0) & (good + bad > MOST_EXACT)
    share = np.broadcast_to(good / np.maximum(good + bad, 1), n.shape)
    drawn[many] = rng.binomial(n[many], share[many])
    # Of so many items nobody sees that one may have been taken twice; but no more than there are.
    return np.clip(drawn, np.maximum(n - bad, 0), np.minimum(n, good))


def _missing(
    view: LabelView,
    cell: IntArray,
    loss: FloatArray,
    left: FloatArray,
    events: IntArray,
    classes: Sequence[FloatArray],
) -> FloatArray:
    """Summed losses of the unlabelled items if events (S, B) of them are events, (S, d).

    cell (B,) is that of each block, loss (B, C, d) the mean of an item of it under each label.
    """
    block = np.arange(len(cell))
    reference, group = view.reference[cell], view.group[cell]
    quiet = loss[block, reference]
    total = left @ quiet + np.zeros((len(events), 1))
    for code, split in enumerate(classes):
        members = np.flatnonzero(group == code)
        found = events[:, members].astype(np.float64)
        for label in np.flatnonzero(split.any(axis=0)):
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
