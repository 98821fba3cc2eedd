"""Weights of labels drawn without replacement, kept from swinging the estimate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haystat.measures.outputs import BoolArray, FloatArray, IntArray

SMALLEST = 1e-12
SMALLEST_CAP = 2.0  # items that a label may always stand for besides itself


@dataclass(frozen=True)
class Sample:
    """Labels drawn without replacement, and a model of the labels that are missing.

    Of K cells and C classes: size (K,) and labelled (K, C) count items, inclusion (K,) is the
    probability that an item was labelled, share (K, C) what the model expects of the others.
    against (K, C) marks labels that contradict all predictions; error (p, K, C) as in
    response.shares.Shares. cap is the most that one such label may move the F1 of its class.
    """

    size: FloatArray
    labelled: IntArray
    inclusion: FloatArray
    share: FloatArray
    against: BoolArray
    error: FloatArray
    cap: float

    @property
    def in_reach(self) -> BoolArray:
        """Cells whose items may be labelled, (K,); others do not matter to the measure."""
        return self.inclusion > 0

    @property
    def expected(self) -> FloatArray:
        """Items of each cell and class: those labelled, and the model's guess of the rest."""
        hidden: FloatArray = self.size - self.labelled.sum(axis=1)
        return self.labelled + hidden[:, None] * self.share


def label_weights(sample: Sample) -> FloatArray:
    """How many items of its kind a label stands for, by cell and class, (K, C).

    1 / inclusion, except that a label against the predictions is capped: the first few found
    among very many items would otherwise be blown up to what the labels cannot know. The more of
    them there are, the higher the cap. Labels that agree with the predictions are never capped:
    they take back what the model expects too much.
    """
    extra = np.broadcast_to(1 / np.maximum(sample.inclusion, SMALLEST) - 1, sample.share.T.shape).T
    cap = np.maximum(caps(sample), SMALLEST_CAP)
    over = sample.against & (extra > cap)
    n_over = np.where(over, sample.labelled, 0).sum(axis=0)
    limit = np.where(sample.against, cap * np.maximum(n_over, 1), np.inf)
    return 1 + kept_possible(sample, np.minimum(extra, limit))


def caps(sample: Sample) -> FloatArray:
    """Largest number of items that a label against the predictions stands for, (C,).

    F1 = 2 TP / D moves by F1 / D for a missed item of the class. A class that no system
    predicts anywhere, or rightly, has no cap.
    """
    mass = sample.expected
    right = np.where(sample.against, 0.0, mass).sum(axis=0)
    n_predicted = np.where(sample.against, 0.0, sample.size[:, None]).sum(axis=0)
    both = n_predicted + mass.sum(axis=0)
    score = 2 * right / np.maximum(both, SMALLEST)
    return np.asarray(sample.cap * both / np.maximum(score, SMALLEST))


def kept_possible(sample: Sample, extra: FloatArray) -> FloatArray:
    """The corrections, shortened where a group of cells predicted alike would get fewer items of
    a class than were labelled."""
    _, group = np.unique(sample.against, axis=0, return_inverse=True)
    group = group.reshape(-1)
    pull = sample.labelled * extra
    correction = pull - pull.sum(axis=1, keepdims=True) * sample.share
    room = sample.expected - sample.labelled
    shortened = extra.copy()
    for code in np.unique(group):
        cells = group == code
        change, have = correction[cells].sum(axis=0), room[cells].sum(axis=0)
        too_much = change < -have
        if too_much.any():
            shortened[cells] *= float(np.min(have[too_much] / -change[too_much]))
    return shortened
