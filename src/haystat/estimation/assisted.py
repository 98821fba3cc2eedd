"""The model-assisted estimator: the model's guess for all items, corrected by the labels.

With W_i the weight of label i, l_i its loss and l(x_i) the loss that the model expects of it,

    R = (1/M) sum over the pool of l(x) + (1/M) sum over the labels of W_i (l_i - l(x_i)).

With W_i = 1 / inclusion this is unbiased for any model and sizes fixed beforehand (the difference
estimator of survey sampling); a good model makes the corrections small.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from haystat.estimation.assisted_result import Agreement, AssistedEstimate, Shape, StrayEffect
from haystat.estimation.strays import Strays
from haystat.estimation.weights import SMALLEST, Sample, caps, label_weights
from haystat.measures.base import Measure
from haystat.measures.outputs import BoolArray, FloatArray, IntArray, Outputs
from haystat.pool.losses import CellLosses

ROUNDING = 1e-13  # of the parts of a sum, below which it is zero
LOOSER = 3.0  # times the cap of the weights, for the error of the estimate
RAREST = 0.02  # labels of a class expected, of the heaviest, that are left out of account


@dataclass(frozen=True)
class Blocks:
    """The pool cut so that design and measure both see uniform parts.

    Block b holds size[b] items of cell[b] of the design and row[b] of the losses; all (B,).
    """

    cell: IntArray
    row: IntArray
    size: FloatArray
    losses: CellLosses
    n_rows: int

    def risk(self, mass: FloatArray) -> FloatArray:
        """Risk of a mass (B, C) of items."""
        of_row = np.zeros((self.n_rows, mass.shape[1]))
        np.add.at(of_row, self.row, mass)
        return self.losses.risk(of_row)

    def influence(self, risk: FloatArray) -> FloatArray:
        """What an item adds to each component, by block and label, (B, C, m)."""
        return self.losses.influence(risk)[self.row]


def estimate_assisted(
    sample: Sample,
    blocks: Blocks,
    measure: Measure,
    labels: tuple[IntArray, IntArray, Outputs],
    level: float,
    strays: Strays | None,
) -> AssistedEstimate:
    """labels: cell, label and outputs of every labelled item, (n,) each."""
    size = float(blocks.size.sum())
    weights = label_weights(sample)
    risk = assisted_risk(sample, blocks, measure, labels, weights)
    effect, guess = None, 0.0
    if strays is not None:
        shift = hidden_shift(sample, blocks, 1) / size
        guess = strays.expected(float(caps(sample)[-1]))
        risk = risk + guess * shift
        effect = StrayEffect(measure, risk, shift, guess + strays.in_estimate(weights))
    with np.errstate(all="ignore"):
        values = np.clip(np.atleast_1d(measure.value(risk)), *measure.bounds)
        why = measure.undefined(risk)
    # Caps hide how far labels could swing the estimate, so the error is judged with looser ones.
    looser = label_weights(replace(sample, cap=LOOSER * sample.cap))
    terms, shape = error_terms(sample, blocks, blocks.influence(risk) / size, looser)
    n = len(labels[0])
    estimate = AssistedEstimate(
        measure.name,
        measure.components,
        values,
        terms,
        level,
        n,
        n,
        measure.bounds,
        (why,) if why else (),
        {"risk": risk},
        shape=shape,
        strays=strays,
        effect=effect,
        agreement=agreement(sample, blocks, measure, weights, risk, guess),
    )
    return estimate if why else replace(estimate, warnings=tuple(estimate.doubts()))


def assisted_risk(
    sample: Sample,
    blocks: Blocks,
    measure: Measure,
    labels: tuple[IntArray, IntArray, Outputs],
    weights: FloatArray,
) -> FloatArray:
    """R of the module's docstring."""
    cell, label, outputs = labels
    size = float(blocks.size.sum())
    weight = weights[cell, label] / size
    parts = [
        blocks.risk(blocks.size[:, None] * sample.share[blocks.cell] / size),
        measure.risk(outputs, label, weight),
    ]
    for c in range(sample.share.shape[1]):
        expected = weight * sample.share[cell, c]
        parts.append(-measure.risk(outputs, np.full(len(label), c), expected))
    risk = np.sum(parts, axis=0)
    # What cancels is zero, not what rounding leaves: a measure may divide by it.
    return np.where(np.abs(risk) < ROUNDING * np.sum(np.abs(parts), axis=0), 0.0, risk)


def error_terms(
    sample: Sample, blocks: Blocks, influence: FloatArray, weights: FloatArray
) -> tuple[FloatArray, Shape]:
    """Terms whose squares add up to the variance of the estimate (n, m), and its Shape.

    An item with inclusion P, whose label has weight W when drawn, errs by W - 1 if drawn and by -1
    if not, times what its label adds beyond the model. What is not corrected, the part 1 - P W,
    errs as the model does as well.
    """
    mean = np.einsum("bc,bcm->bm", sample.share[blocks.cell], influence)
    deviation = influence - mean[:, None]
    number = blocks.size[:, None] * sample.share[blocks.cell]
    inclusion, excess = sample.inclusion[blocks.cell][:, None], (weights - 1)[blocks.cell]
    missed = number * (1 - inclusion)
    drawn = number * inclusion * surprise(sample, blocks, deviation, weights)
    drawn = without_rarest(drawn, excess, sample.against[blocks.cell])
    root = np.sqrt(drawn * excess**2 + missed)
    chance = (root[:, :, None] * deviation).reshape(-1, influence.shape[2])
    open_share = 1 - np.einsum("kc,kc->k", sample.share, sample.inclusion[:, None] * weights)
    left = blocks.size * open_share[blocks.cell]
    model = np.einsum("b,pbc,bcm->pm", left, sample.error[:, blocks.cell], influence)
    second = np.einsum("nm,nm->m", chance, chance)
    third = np.einsum("bc,bcm->m", drawn * excess**3 - missed, deviation**3)
    fourth = np.einsum("bc,bcm->m", drawn * excess**4 + missed, deviation**4)
    return np.vstack([chance, model]), Shape.of(second, third, fourth)


def without_rarest(drawn: FloatArray, excess: FloatArray, against: BoolArray) -> FloatArray:
    """The labels expected (B, C), but for the heaviest against the predictions in each class.

    Of these so few are expected that hardly an evaluation has one, while each would be so heavy
    that the moments of the error were theirs alone. Equal weights go in the order of the cells.
    """
    kept = drawn.copy()
    for c in range(drawn.shape[1]):
        row = np.flatnonzero(against[:, c])
        row = row[np.argsort(-excess[row, c], kind="stable")]
        kept[row[np.cumsum(drawn[row, c]) <= RAREST], c] = 0.0
    return kept


def surprise(
    sample: Sample, blocks: Blocks, deviation: FloatArray, weights: FloatArray
) -> FloatArray:
    """How many more labels against the predictions were found than the model expects, (1, C).

    At least 1; labels count by what they do to the estimate.
    """
    square = np.zeros_like(sample.share)
    np.add.at(
        square, blocks.cell, blocks.size[:, None] * np.einsum("bcm,bcm->bc", deviation, deviation)
    )
    # A cell whose items nobody can label has no size left, and no pull.
    one = square / np.maximum(sample.size, SMALLEST)[:, None]
    pull = np.where(sample.against, (weights - 1) ** 2 * one, 0.0)
    found = np.sum(pull * sample.labelled, axis=0)
    expected = np.sum(
        pull * sample.size[:, None] * sample.share * sample.inclusion[:, None], axis=0
    )
    ratio = np.divide(found, expected, out=np.ones_like(found), where=expected > 0)
    return np.asarray(np.maximum(ratio, 1.0)[None])


def hidden_shift(sample: Sample, blocks: Blocks, label: int) -> FloatArray:
    """Change of the summed losses when one item more, predicted otherwise, hides this label, (d,).

    It is any of the items without a label, with equal probability.
    """
    hidden = sample.size - sample.labelled.sum(axis=1)
    other = sample.against[:, label] & (hidden > 0) & sample.in_reach
    part = np.where(other, hidden, 0) / np.maximum(sample.size, 1)
    mass = (blocks.size * part[blocks.cell])[:, None]
    predicted = ~sample.against[blocks.cell]  # one class, where all systems agree
    turned = np.where(np.arange(predicted.shape[1]) == label, mass, -mass * predicted)
    return blocks.risk(turned / max(float(mass.sum()), 1.0))


def agreement(
    sample: Sample,
    blocks: Blocks,
    measure: Measure,
    weights: FloatArray,
    risk: FloatArray,
    guess: float,
) -> Agreement:
    """What is left of the measure without the labels that the estimate expects to be hidden."""
    size, pull = float(blocks.size.sum()), sample.labelled * weights
    mass = sample.size[:, None] * sample.share + pull - pull.sum(axis=1)[:, None] * sample.share
    hidden = np.where(sample.against, mass - sample.labelled, 0.0).sum(axis=0)
    hidden[-1] += guess
    shifts = [hidden_shift(sample, blocks, label) / size for label in range(len(hidden))]
    with np.errstate(all="ignore"):
        values = np.atleast_1d(measure.value(risk - hidden @ np.array(shifts)))
    return Agreement(values, float(np.maximum(hidden, 0.0).sum()))
