"""Signals as users give them: numbers, verdicts, categories, missing values, and bad ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import haystat as hs
from haystat.errors import BadOption, BadSignal, LengthMismatch, UnknownName

SIZE = 400
RNG = np.random.default_rng(5)
SCORES = RNG.normal(-2, 2, SIZE)
OTHER = SCORES + RNG.normal(0, 1, SIZE)


def pool_with(**signals):
    return hs.Pool(SCORES, threshold=0.0, signals=signals)


def bands_of(values):
    return pool_with(signal=values).signals.band[:, 0]


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        (OTHER[:-1], LengthMismatch, "signal 'judge' has 399 entries; the pool has 400"),
        (OTHER[:, None], LengthMismatch, "shape"),
        (np.full(SIZE, np.nan), BadSignal, "missing for every item"),
        ([None] * SIZE, BadSignal, "missing for every item"),
        ([""] * SIZE, BadSignal, "missing for every item"),
        (np.full(SIZE, 3.0), BadSignal, "3.0 for every item and tells nothing"),
        (["a"] * SIZE, BadSignal, "a for every item and tells nothing"),
        (np.where(np.arange(SIZE) == 7, np.inf, OTHER), BadSignal, "inf at position 7"),
        (np.arange(SIZE).astype("M8[D]"), BadSignal, "must be numbers"),
        ([[1], [2, 3]] * (SIZE // 2), BadSignal, "signal 'judge'"),
    ],
)
def test_a_useless_signal_is_refused_with_the_reason(values, error, words):
    with pytest.raises(error, match=words):
        pool_with(judge=values)


@pytest.mark.parametrize("given", [OTHER, [OTHER], "judge", 3])
def test_signals_are_a_dict(given):
    with pytest.raises(BadOption, match="signals are"):
        hs.Pool(SCORES, signals=given)


def test_signals_need_two_classes():
    three = RNG.dirichlet(np.ones(3), SIZE)
    with pytest.raises(BadOption, match="3 classes"):
        hs.Pool(three, classes=("a", "b", "c"), signals={"judge": OTHER})
    with pytest.raises(BadOption, match="numbers"):
        hs.Pool(SCORES, classes=None, signals={"judge": OTHER})


def test_the_scale_of_a_signal_does_not_matter():
    assert pool_with(a=OTHER).fingerprint == pool_with(a=np.exp(OTHER)).fingerprint
    assert pool_with(a=OTHER).fingerprint == pool_with(a=-OTHER).fingerprint
    assert pool_with(a=OTHER).fingerprint != pool_with(a=OTHER**2).fingerprint
    assert pool_with(a=OTHER).fingerprint != hs.Pool(SCORES, threshold=0.0).fingerprint


def test_no_signals_are_none():
    assert pool_with().signals is None
    assert pool_with().fingerprint == hs.Pool(SCORES, threshold=0.0).fingerprint


@pytest.mark.parametrize(
    "missing",
    [
        np.where(np.arange(SIZE) < 50, np.nan, OTHER),
        [None if i < 50 else value for i, value in enumerate(OTHER)],
        pd.array([None if i < 50 else value for i, value in enumerate(OTHER)], dtype="Float64"),
        np.ma.masked_array(OTHER, np.arange(SIZE) < 50),
    ],
    ids=["NaN", "None", "pandas", "mask"],
)
def test_missing_values_have_a_band_of_their_own(missing):
    band = bands_of(missing)
    np.testing.assert_array_equal(band == 0, np.arange(SIZE) < 50)
    assert len(np.unique(band)) > 2


def test_bands_fall_with_the_signal_and_begin_above_the_threshold():
    band = bands_of(OTHER)
    highest = [OTHER[band == number].max() for number in np.unique(band)]
    assert highest == sorted(highest, reverse=True)
    n_predicted = int(np.sum(SCORES >= 0))
    above = np.argsort(-OTHER)[: n_predicted // 2]
    assert set(band[above]).isdisjoint(band[np.argsort(-OTHER)[2 * n_predicted :]])


@pytest.mark.parametrize("rare", [1, 3, 200])
def test_both_values_of_a_verdict_are_kept_apart_however_rare(rare):
    verdict = np.arange(SIZE) < rare
    np.testing.assert_array_equal(bands_of(verdict), np.where(verdict, 1, 2))
    assert pool_with(v=verdict).signals.two_valued == (True,)


def test_categories_are_ordered_as_the_system_predicts_them():
    kind = np.where(SCORES > 0.5, "often", np.where(SCORES > -2, "seldom", "never"))
    band = bands_of(kind)
    assert [int(band[kind == name][0]) for name in ("often", "seldom", "never")] == [1, 2, 3]
    with_gaps = kind.astype(object)
    with_gaps[:9] = None
    assert np.all(bands_of(with_gaps)[:9] == 0)


def test_of_many_signals_those_that_go_with_the_predictions_are_kept():
    noise = {f"noise {k}": RNG.normal(size=SIZE) for k in range(5)}
    signals = pool_with(**noise, good=OTHER).signals
    assert len(signals.names) == 6
    assert len(signals.coordinates) == 3
    assert "good" in signals.coordinates
    assert "others" in signals.coordinates


def test_cells_do_not_mix_patterns_and_know_their_places():
    pool = pool_with(a=OTHER, b=OTHER > 1)
    cells = pool.cells(hs.measures.resolve("f1").bind(pool.schema))
    signals = cells.signals
    np.testing.assert_array_equal(signals.band[cells.of_item], pool.signals.band)
    for cell in range(len(cells)):
        mean = pool.signals.place[cells.of_item == cell].mean(axis=0)
        np.testing.assert_allclose(signals.place[cell], mean, rtol=1e-5, atol=1e-5)


def test_columns_of_a_frame_are_signals():
    frame = pd.DataFrame({"s": SCORES, "old": OTHER, "kind": np.where(OTHER > 0, "x", "y")})
    pool = hs.Pool.from_frame(frame, score="s", signals=["old", "kind"], threshold=0.0)
    same = hs.Pool(
        {"s": SCORES}, threshold=0.0, signals={"old": OTHER, "kind": frame.kind.to_numpy()}
    )
    assert pool.fingerprint == same.fingerprint
    with pytest.raises(UnknownName, match="no column 'judge'"):
        hs.Pool.from_frame(frame, score="s", signals=["judge"])
