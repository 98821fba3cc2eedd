"""Values that nobody should give, and what callers may see of them: errors of haystat only."""

from __future__ import annotations

import datetime
import decimal
import fractions

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from haystat.errors import HaystatError

#: a missing file is the one error of Python that haystat passes on
ALLOWED = (HaystatError, FileNotFoundError)


def no_text(*given, **named):
    """A function that gives nothing of use. One that raises is passed on: its error is not ours."""
    return b"\xff"


TEXTS = st.text(st.characters(exclude_characters="/"), max_size=12)
HALVES = st.sampled_from(["\ud800", "caf\udce9", "a\0b", "", " ", "x" * 300, "1.0", "nan", "0"])
NUMBERS = st.one_of(
    st.integers(-3, 5),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([-(2**70), 10**400, 1.5, -0.0, 2**63, float("nan"), 5e-324, 1 + 2j]),
    st.sampled_from([decimal.Decimal("NaN"), fractions.Fraction(1, 3), True, False]),
)
SCALARS = st.one_of(
    st.none(),
    NUMBERS,
    TEXTS,
    HALVES,
    st.binary(max_size=4),
    st.sampled_from([np.float32("nan"), np.int8(-1), np.bool_(True), np.datetime64("NaT"), pd.NA]),
    st.sampled_from([datetime.date(2026, 1, 1), datetime.timedelta(1), object(), print, no_text]),
)
LISTS = st.one_of(
    st.lists(SCALARS, max_size=6),
    st.lists(st.lists(NUMBERS, max_size=3), max_size=3),
    st.tuples(SCALARS, SCALARS),
    st.sets(st.integers(-2, 3), max_size=3),
    st.dictionaries(st.one_of(TEXTS, HALVES, NUMBERS), SCALARS, max_size=3),
    st.dictionaries(TEXTS, st.lists(NUMBERS, max_size=12), max_size=2),
)
ARRAYS = st.sampled_from(
    [
        np.zeros(0),
        np.zeros((2, 0)),
        np.zeros((12, 3)),
        np.zeros((2, 2, 2)),
        np.array(0.5),
        np.full(12, np.nan),
        np.full(12, 1e308),
        np.ma.masked_array(np.linspace(0, 1, 12), mask=np.arange(12) == 3),
        np.array(["a"] * 12),
        np.array([b"a"] * 12),
        np.array([None] * 12),
        np.array([1j] * 12),
        np.array(["NaT"] * 12, dtype="M8[s]"),
        np.zeros(12, dtype=[("a", float)]),
        np.arange(12),
        pd.Series([1.0, None] * 6),
        pd.Series([1, None] * 6, dtype="Int64"),
        pd.Series(["a", "b"] * 6, dtype="category"),
        pd.DataFrame({"s": np.linspace(0, 1, 12), "id": range(12)}),
        pd.DataFrame([[0.1, 0.2]] * 12, columns=["s", "s"]),
    ]
)
WILD = st.one_of(SCALARS, LISTS, ARRAYS)


def outcome(call):
    """What a call says: that it is done, or an error that is allowed; all else is raised."""
    try:
        call()
    except ALLOWED as error:
        return str(error)
    return "done"
