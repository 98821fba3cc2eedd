"""Bets against "the measure is at most tau" and "at least tau": the compiled kernels.

Symbols. An item of cell k with label c has m = A[k, c] - tau B[k, c], so that the measure exceeds
tau if and only if M = sum of m over the pool is positive. Draw t takes an item of cell k, out of
those not yet drawn, with probability q_t = h_k / sum_l U_l h_l (U_l: undrawn items of cell l, h:
the rates of the stage). With any guess mhat_k fixed before the stage,

    X_t = sum of m over the drawn + sum of mhat over the undrawn + (m(I_t) - mhat(I_t)) / q_t

has the conditional mean M. X_t >= -L_t for every cell and label that could come, so

    W_t = W_{t-1} (1 + f_t X_t / L_t),   0 <= f_t < 1 fixed before the draw,

is nonnegative, and a supermartingale if M <= 0: it ever reaches 1 / alpha with probability at
most alpha (Ville). Waudby-Smith and Ramdas (2024), Waudby-Smith, Stark and Ramdas (2021), Shekhar,
Xu, Lipton, Liang and Ramdas (2023). The other side is the same with -m.

What cannot be drawn in a stage (rate zero or infinite) enters with its worst label, and so does
an item without an answer: both only lower X_t.
"""

from __future__ import annotations

import numba
import numpy as np

#: fixed bets that share half of the wealth at the start; the adaptive bet has the other half
FRACTIONS = np.array([0.9, 0.4, 0.15, 0.05])
#: largest fraction that the adaptive bet puts at stake
LARGEST = 0.999
#: smallest variance that the adaptive bet assumes, in squares of the largest loss
LEAST_VARIANCE = 1e-4
#: taus at which the worst outcome of a stage is worked out
N_NODES = 17


@numba.njit(cache=True)
def trace(  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    size, stage, cell, label, repeated, replacement, rates, hat, numerator, denominator
):
    """X_t = x[t, 0] - tau x[t, 1] and its mean under the guess, `base`, for every draw.

    hat (J, K, 2) is the guess of A and B. Returns x (n, 2), base (n, 2), total (n,) = 1 / (q h),
    zero where there is no bet, and unknown (J, K), the items without a label at the first bet of
    each stage. Items without an answer add nothing here.
    """
    n, n_cells = len(cell), len(size)
    x, base, total = np.zeros((n, 2)), np.zeros((n, 2)), np.zeros(n)
    unknown = np.zeros(rates.shape)
    left = size.astype(np.float64)
    known, guess = np.zeros(2), np.zeros(2)
    mass, current, fresh = 0.0, -1, False
    for t in range(n):
        j, k, c = stage[t], cell[t], label[t]
        rate = rates[j, k]
        if rate > 0 and np.isfinite(rate):
            if current != j:
                current, fresh = j, False
                unknown[j] = left
            if not fresh:
                fresh, mass = True, 0.0
                guess[:] = 0.0
                for i in range(n_cells):
                    if rates[j, i] > 0 and np.isfinite(rates[j, i]):
                        mass += left[i] * rates[j, i]
                        guess += left[i] * hat[j, i]
            total[t] = 1.0 if replacement else mass
            base[t] = known + guess
            x[t] = base[t]
            if not repeated[t]:
                x[t] -= hat[j, k] * total[t] / rate
                if c >= 0:
                    x[t, 0] += numerator[k, c] * total[t] / rate
                    x[t, 1] += denominator[k, c] * total[t] / rate
                guess -= hat[j, k]
                mass -= rate
        if not repeated[t]:
            left[k] -= 1
            # A sum of little, left by subtraction from much, would be rounding.
            fresh = fresh and left[k] > 0
            if c >= 0:
                known[0] += numerator[k, c]
                known[1] += denominator[k, c]
    return x, base, total, unknown


@numba.njit(cache=True)
def stage_tables(  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    sign, nodes, rates, shares, hat, unknown, numerator, denominator
):
    """What the bets of a stage need to know, at a few values of tau.

    lowest (J, nodes): smallest (m - mhat) / h of what can be drawn; worst (J, nodes): sum of m of
    what cannot, with its worst labels. Both are concave in tau: a chord between two nodes lies
    below them, which is the safe side. spread (J, 3): sums of U / h times the variances of A, of
    A and B, of B under the shares.
    """
    n_stages, n_cells, n_classes = shares.shape
    lowest, worst = np.zeros((n_stages, len(nodes))), np.zeros((n_stages, len(nodes)))
    spread = np.zeros((n_stages, 3))
    for j in range(n_stages):
        for k in range(n_cells):
            if unknown[j, k] <= 0:
                continue
            rate = rates[j, k]
            drawn = rate > 0 and np.isfinite(rate)
            for v in range(len(nodes)):
                m = np.inf
                for c in range(n_classes):
                    m = min(m, sign * (numerator[k, c] - nodes[v] * denominator[k, c]))
                if drawn:
                    guess = sign * (hat[j, k, 0] - nodes[v] * hat[j, k, 1])
                    lowest[j, v] = min(lowest[j, v], (m - guess) / rate)
                else:
                    worst[j, v] += unknown[j, k] * m
            if drawn:
                for c in range(n_classes):
                    weight = unknown[j, k] / rate * shares[j, k, c]
                    a = numerator[k, c] - hat[j, k, 0]
                    b = denominator[k, c] - hat[j, k, 1]
                    spread[j, 0] += weight * a * a
                    spread[j, 1] += weight * a * b
                    spread[j, 2] += weight * b * b
    return lowest, worst, spread


@numba.njit(cache=True)
def largest_wealth(  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    tau, sign, enough, stage, cell, label, repeated, rates, numerator, denominator,
    x, base, total, nodes, lowest, worst, spread, fractions,
):  # fmt: skip
    """Largest wealth so far of the bets on sign * M(tau) > 0; it stops where it is `enough`.

    The adaptive bet is Kelly's for the least favourable X with the mean and the variance that
    past draws suggest: all its mass at -L and at one other point.
    """
    wealth = np.full(len(fractions), 0.5 / len(fractions))
    adaptive, best, lost = 0.5, 1.0, 0.0
    weight, weighted, squares, n_bets = 0.0, 0.0, 0.0, 0
    current, low, other, variance = -1, 0.0, 0.0, 0.0
    for t in range(len(cell)):
        j, k = stage[t], cell[t]
        silent = 0.0  # worst m of an item without an answer
        if label[t] < 0 and not repeated[t]:
            silent = np.min(sign * (numerator[k] - tau * denominator[k]))
        if total[t] == 0:  # taken for certain: nothing to bet on
            lost += silent
            continue
        if current != j:
            current = j
            low, other = _chord(tau, nodes, lowest[j]), _chord(tau, nodes, worst[j])
            variance = spread[j, 0] - 2 * tau * spread[j, 1] + tau * tau * spread[j, 2]
        mean = sign * (base[t, 0] - tau * base[t, 1]) + other + lost
        value = sign * (x[t, 0] - tau * x[t, 1]) + other + lost
        if silent != 0:
            value += silent * total[t] / rates[j, k]
        lost += silent
        span = -total[t] * low
        # -L is the smallest value that could come; the floor guards the division.
        loss = max(span - mean, 1e-9 * (span + abs(mean)))
        if loss == 0:
            continue
        expected = max(total[t] * variance, LEAST_VARIANCE * span * span) + 1e-12 * mean * mean
        guess = (weighted + mean / expected) / (weight + 1 / expected)
        bet = 0.0
        if guess > 0:
            gain = guess * (guess + loss)
            bet = min(gain / (gain + expected * (squares + 1) / (n_bets + 1)), LARGEST)
        adaptive *= 1 + bet * value / loss
        mixture = adaptive
        for d in range(len(fractions)):
            wealth[d] *= 1 + fractions[d] * value / loss
            mixture += wealth[d]
        best = max(best, mixture)
        if best >= enough:
            return best
        weight += 1 / expected
        weighted += value / expected
        n_bets += 1
        squares += (value - weighted / weight) ** 2 / expected
    return best


@numba.njit(cache=True)
def _chord(tau, nodes, values):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Linear interpolation between equally spaced nodes."""
    place = (tau - nodes[0]) / (nodes[-1] - nodes[0]) * (len(nodes) - 1)
    i = min(max(int(place), 0), len(nodes) - 2)
    return values[i] + (place - i) * (values[i + 1] - values[i])
