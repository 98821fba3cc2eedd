"""A score that tells nothing: one share of positives for all items, instead of a curve along it.

Labels go where positives are thought to be. With a score that tells nothing they were found there
by chance; the parts that happened to show none would be asked about less, and keep too low a share.
So the curve is held against the flat one: as likely beforehand, by the probability of the labels
afterwards. What the curve says about where to ask counts for the probability that is left to it.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_expit, logsumexp

from haystat.core.arrays import FloatArray
from haystat.models.posterior import LabelModel, Mixture

REACH = 6.0  # standard deviations of the logit on either side
N_GRID = 1201


def share_to_ask_by(
    model: LabelModel, mixture: Mixture, share: FloatArray, n: FloatArray, x: FloatArray
) -> FloatArray:
    """Shares (R,) by the curve or the flat one, whichever it is, as squares of mean roots.

    share is that of the curve by the mixture. A mass is in neither, and keeps its own.
    Before the first label nothing speaks for the flat one.
    """
    used = ~model.mass
    n_labels, n_positive = float(n[used].sum()), float(x[used].sum())
    if n_labels == 0:
        return share
    evidence, flat = flat_share(n_labels, n_positive, model.settings.intercept_sd)
    chance = float(expit(evidence - mixture.evidence))
    root = chance * flat + (1 - chance) * np.sqrt(share)
    return np.asarray(np.where(used, root**2, share))


def flat_share(n: float, n_positive: float, deviation: float) -> tuple[float, float]:
    """Log probability of n labels in their order, n_positive of them positive; mean root of p.

    The logit of p is normal with mean 0 and this deviation, as that of the curve at the threshold.
    """
    logit = deviation * np.linspace(-REACH, REACH, N_GRID)
    prior = -((logit / deviation) ** 2) / 2
    height = prior + n_positive * log_expit(logit) + (n - n_positive) * log_expit(-logit)
    total = float(logsumexp(height))
    root = float(np.exp(height - total) @ np.sqrt(expit(logit)))
    return total - float(logsumexp(prior)), root
