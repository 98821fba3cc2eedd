"""Where hidden positives lie if a judge has read the tail: among what it flags, but for a few.

A judge that flags a share r of the hidden positives leaves 1 - r of them among the items that it
does not flag. r is not known. It is about the share of known positives that the judge flags,

    logit r = logit s - |d|,  s ~ Beta(flagged + 1/2, not flagged + 1/2),  d ~ N(0, SLACK^2):

hidden ones may be somewhat harder to see than known ones. A few equally likely values stand for it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import betaincinv, expit, logit, ndtri

from haystat.core.arrays import BoolArray, FloatArray
from haystat.models.label_view import LabelView

SLACK = 1.0
N_SHARES = 6  # values that stand for r
N_KNOWN, N_SLACK = 64, 64  # of the grid that they are found on


def shares_seen(n_known: float, n_flagged: float) -> FloatArray:
    """Equally likely values of the share of hidden positives that the judge flags, (N_SHARES,)."""
    known = betaincinv(n_flagged + 0.5, n_known - n_flagged + 0.5, _middles(N_KNOWN))
    slack = SLACK * ndtri((1 + _middles(N_SLACK)) / 2)
    grid = expit(logit(known)[:, None] - slack)
    return np.asarray(np.quantile(grid, _middles(N_SHARES)))


def _middles(n: int) -> FloatArray:
    return np.asarray((np.arange(n) + 0.5) / n)


def swept_view(view: LabelView, flagged: BoolArray, read: BoolArray, seen: FloatArray) -> LabelView:
    """The view in which hidden positives lie as a judge says; seen (Q,) are values of r.

    flagged and read (R,): regions that the judge flags, and those that it has read at all. What it
    has not read has as many as there are on average.
    """
    model = view.model
    inside = model.curve.low & ~model.mass & read
    total = float(model.size[inside].sum())
    tilts = np.ones((len(seen), len(flagged)))
    for side, share in ((flagged, seen), (~flagged, 1 - seen)):
        n_side = float(model.size[inside & side].sum())
        tilts[:, inside & side] = (share * total / max(n_side, 1.0))[:, None]
    return _tilted(view, tilts)


def flat_view(view: LabelView) -> LabelView:
    """The view in which hidden positives lie anywhere, whatever signals say."""
    return _tilted(view, np.ones((1, len(view.model.size))))


def _tilted(view: LabelView, tilts: FloatArray) -> LabelView:
    """The view with other ways (Q, R), equally likely, in which hidden positives may lie.

    As many are hidden as without signals: a judge says where, not how many.
    """
    model, hints = view.model, view.model.curve.hints
    assert hints is not None  # a verdict is a signal
    chance = np.full(len(tilts), 1 / len(tilts))
    curve = replace(model.curve, hints=replace(hints, tilts=tilts, chance=chance))
    settings = replace(model.settings, signal_hidden=1.0)
    return replace(view, model=replace(model, curve=curve, settings=settings), plain=None)
