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

#: share of the wealth that the adaptive bet starts with; fixed bets have the rest, in equal parts
ADAPTIVE = 0.8
FRACTIONS = np.array([0.9, 0.4, 0.15, 0.05])
#: the adaptive bet is the best one if tau is so many standard errors of t + HORIZON draws away
#: from the truth: about where it is refuted at a level of 95%
AIM, HORIZON = 2.7, 200
#: smallest variance that the adaptive bet assumes, in squares of the largest loss
LEAST_VARIANCE = 1e-4
#: what is smaller than this share of the sums it comes from may be rounding
ROUNDING = 1e-9
#: taus at which the worst outcome of a stage is worked out
N_NODES = 17


@numba.njit(cache=True, error_model="numpy")
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
    known_a, known_b, guess_a, guess_b, mass = 0.0, 0.0, 0.0, 0.0, 0.0
    current, fresh = -1, False
    for t in range(n):
        j, k, c = stage[t], cell[t], label[t]
        rate = rates[j, k]
        a, b = (numerator[k, c], denominator[k, c]) if c >= 0 else (0.0, 0.0)
        if rate > 0 and np.isfinite(rate):
            if current != j:
                current, fresh = j, False
                unknown[j] = left
            if not fresh:
                fresh, mass, guess_a, guess_b = True, 0.0, 0.0, 0.0
                for i in range(n_cells):
                    if rates[j, i] > 0 and np.isfinite(rates[j, i]):
                        mass += left[i] * rates[j, i]
                        guess_a += left[i] * hat[j, i, 0]
                        guess_b += left[i] * hat[j, i, 1]
            total[t] = 1.0 if replacement else mass
            base[t, 0], base[t, 1] = known_a + guess_a, known_b + guess_b
            new = 0.0 if repeated[t] else 1.0
            x[t, 0] = base[t, 0] + new * (a - hat[j, k, 0]) * total[t] / rate
            x[t, 1] = base[t, 1] + new * (b - hat[j, k, 1]) * total[t] / rate
            mass -= new * rate
            guess_a -= new * hat[j, k, 0]
            guess_b -= new * hat[j, k, 1]
        if not repeated[t]:
            left[k] -= 1
            # A sum of little, left by subtraction from much, would be rounding.
            fresh = fresh and left[k] > 0
            known_a += a
            known_b += b
    return x, base, total, unknown


@numba.njit(cache=True, error_model="numpy")
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
    least = np.full((n_cells, len(nodes)), np.inf)  # m under the worst label
    for k in range(n_cells):
        for v in range(len(nodes)):
            for c in range(n_classes):
                m = sign * (numerator[k, c] - nodes[v] * denominator[k, c])
                least[k, v] = min(least[k, v], m)
    lowest, worst = np.zeros((n_stages, len(nodes))), np.zeros((n_stages, len(nodes)))
    spread = np.zeros((n_stages, 3))
    for j in range(n_stages):
        for k in range(n_cells):
            if unknown[j, k] <= 0:
                continue
            rate = rates[j, k]
            drawn = rate > 0 and np.isfinite(rate)
            if not drawn:
                worst[j] += unknown[j, k] * least[k]
            else:
                inverse, a, b = 1 / rate, sign * hat[j, k, 0], sign * hat[j, k, 1]
                for v in range(len(nodes)):
                    gap = (least[k, v] - a + nodes[v] * b) * inverse
                    lowest[j, v] = min(lowest[j, v], gap)
                for c in range(n_classes):
                    weight = unknown[j, k] / rate * shares[j, k, c]
                    a = numerator[k, c] - hat[j, k, 0]
                    b = denominator[k, c] - hat[j, k, 1]
                    spread[j, 0] += weight * a * a
                    spread[j, 1] += weight * a * b
                    spread[j, 2] += weight * b * b
    return lowest, worst, spread


@numba.njit(cache=True, error_model="numpy")
def wager(  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    tau, sign, enough, stage, cell, label, repeated, rates, numerator, denominator,
    x, base, total, nodes, lowest, worst, spread, fractions,
):  # fmt: skip
    """Largest and last wealth of the bets on sign * M(tau) > 0; they stop once it is `enough`."""
    wealth = np.full(len(fractions), (1 - ADAPTIVE) / len(fractions))
    adaptive, best, mixture, lost = ADAPTIVE, 1.0, 1.0, 0.0
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
        # -L is the smallest value that could come; below the floor it would be rounding.
        scale = abs(base[t, 0]) + abs(tau * base[t, 1]) + abs(other) + abs(lost)
        loss = max(span - mean, ROUNDING * (span + scale))
        if loss == 0:
            continue
        expected = max(total[t] * variance, LEAST_VARIANCE * span * span) + (ROUNDING * loss) ** 2
        precision, won = 1 / expected, value / loss
        adaptive *= 1 + _bet(expected * (squares + 1) / (n_bets + 1), n_bets, loss) * won
        mixture = adaptive
        for d in range(len(fractions)):
            wealth[d] *= 1 + fractions[d] * won
            mixture += wealth[d]
        best = max(best, mixture)
        if best >= enough:
            break
        weight += precision
        weighted += value * precision
        n_bets += 1
        squares += (value - weighted / weight) ** 2 * precision
    return best, mixture


@numba.njit(cache=True, error_model="numpy")
def _bet(variance, n_bets, loss):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Kelly's fraction of the wealth for the least favourable X with a mean and a variance.

    That is the X with all its mass at -L and at one other point.
    """
    mean = AIM * np.sqrt(variance / (n_bets + HORIZON))
    gain = mean * (mean + loss)
    return gain / (gain + variance)


@numba.njit(cache=True, error_model="numpy")
def _chord(tau, nodes, values):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Linear interpolation between equally spaced nodes."""
    place = (tau - nodes[0]) / (nodes[-1] - nodes[0]) * (len(nodes) - 1)
    i = min(max(int(place), 0), len(nodes) - 2)
    return values[i] + (place - i) * (values[i + 1] - values[i])
