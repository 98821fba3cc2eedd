"""A signal from text: hashed words of columns, and how alike the two sides of a pair are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from haystat.core.arguments import brief, is_unicode
from haystat.core.arrays import FloatArray, IntArray
from haystat.errors import BadOption
from haystat.pool.fitted_signals import CHUNK, FittedSignal, on_one_scale, require_sklearn
from haystat.pool.frames import column_reader

N_HASHES = 1 << 16  # words of a column are told apart by that many numbers
#: how the two columns of a pair are named, by their beginning or their end
SIDES = (("_l", "_r"), ("_left", "_right"), ("_1", "_2"), ("_a", "_b"))
FRONT_SIDES = (("left_", "right_"), ("l_", "r_"), ("ltable_", "rtable_"))
#: how values of numpy, pandas and Python that say nothing are written
MISSING = ("nan", "NaN", "sNaN", "NaT", "<NA>")
Texts = NDArray[Any]


def signal_from_text(frame: Any, columns: Sequence[str | tuple[str, str]]) -> FittedSignal:
    """A signal that is fitted to the labels as they come, from columns of text.

    frame: a pandas, Polars or Arrow table, one row an item in the order of the pool. columns:
    those to look at. Words and pairs of words of a column are hashed. Two columns that hold the
    two sides of a pair of records are compared instead: ("name_x", "name_y"), or any two whose
    names differ as in name_l and name_r, left and right, name_1 and name_2. Needs scikit-learn.

    >>> import haystat as hs, pandas as pd
    >>> frame = pd.DataFrame({"name_l": ["ann lee", "bob"], "name_r": ["anne lee", "carl"]})
    >>> signal = hs.signal_from_text(frame, ["name_l", "name_r"])
    >>> pool = hs.Pool([0.9, 0.2], signals={"names": signal}, strata=2)
    """
    return from_columns(column_reader(frame), columns)


def from_columns(column: Callable[[str], NDArray[Any]], columns: Any) -> FittedSignal:
    """The same, of columns that a function gives by name."""
    require_sklearn()
    if isinstance(columns, str) or not isinstance(columns, Sequence) or not columns:
        raise BadOption(f"columns are {brief(columns)}; give a list of names of columns of text")
    try:
        singles, pairs = paired(columns)
    except TypeError:  # a list has no hash
        raise BadOption(f"columns are {brief(columns)}; a pair of columns is a tuple") from None
    named = [*singles, *(name for pair in pairs for name in pair)]
    texts = {name: _texts(column(name)) for name in named}
    parts: list[Callable[[IntArray], Any]] = []
    if pairs:
        parts.append(on_one_scale(similarities([(texts[a], texts[b]) for a, b in pairs])))
    if singles:
        parts.append(_hashed([texts[name] for name in singles]))
    return FittedSignal(len(texts[named[0]]), parts[0] if len(parts) == 1 else _beside(*parts))


def paired(columns: Sequence[Any]) -> tuple[list[str], list[tuple[str, str]]]:
    """Columns on their own, and those that are two sides of a pair.

    >>> paired(["name_l", "name_r", "note", ("a", "b")])
    (['note'], [('a', 'b'), ('name_l', 'name_r')])
    """
    pairs = [(one[0], one[1]) for one in columns if isinstance(one, tuple) and len(one) == 2]
    names: list[Any] = [one for one in columns if not isinstance(one, tuple) or len(one) != 2]
    for name in names:
        other = next((side for side in _other_sides(name) if side in names), None)
        if other is not None:
            pairs.append((name, other))
    used = {name for pair in pairs for name in pair}
    return [name for name in names if name not in used], pairs


def _other_sides(name: Any) -> list[str]:
    """What the right column is called, if this is the left one of a pair."""
    if not isinstance(name, str):
        return []
    found = [name.removesuffix(a) + b for a, b in SIDES if name.endswith(a)]
    found += [b + name.removeprefix(a) for a, b in FRONT_SIDES if name.startswith(a)]
    return [*found, "right"] if name == "left" else found


def similarities(pairs: Sequence[tuple[Texts, Texts]]) -> NDArray[np.float32]:
    """How alike two texts are: by words, by three letters at a time, entirely; five numbers each.

    The others are the share of the shorter one's words that the longer one has, and whether one
    of the two is missing.
    """
    from sklearn.feature_extraction.text import HashingVectorizer

    word = HashingVectorizer(token_pattern=r"\w+", n_features=N_HASHES, alternate_sign=False)
    letters = HashingVectorizer(
        analyzer="char_wb", ngram_range=(3, 3), n_features=N_HASHES, alternate_sign=False
    )
    size = len(pairs[0][0])
    found = np.zeros((size, 5 * len(pairs)), dtype=np.float32)
    for start in range(0, size, CHUNK):
        stop = start + CHUNK
        for number, (left, right) in enumerate(pairs):
            a, b = left[start:stop], right[start:stop]
            words = word.transform(a), word.transform(b)
            columns = [
                _cosine(*words),
                _cosine(letters.transform(a), letters.transform(b)),
                _contained(*words),
                (a == b) & (a != ""),
                (a == "") | (b == ""),
            ]
            found[start:stop, 5 * number : 5 * number + 5] = np.column_stack(columns)
    return found


def _cosine(a: Any, b: Any) -> FloatArray:
    """Of rows whose length is 1, or 0 where a text is empty."""
    return np.asarray(a.multiply(b).sum(axis=1)).ravel()


def _contained(a: Any, b: Any) -> FloatArray:
    """Share of the words of the shorter text that are in the longer one."""
    shared = np.asarray((a > 0).multiply(b > 0).sum(axis=1)).ravel()
    shorter = np.minimum(np.diff(a.indptr), np.diff(b.indptr))
    return np.asarray(shared / np.maximum(shorter, 1))


def _hashed(texts: Sequence[Texts]) -> Callable[[IntArray], Any]:
    """Words and pairs of words of each column, hashed when they are needed."""
    from scipy.sparse import hstack
    from sklearn.feature_extraction.text import HashingVectorizer

    words = HashingVectorizer(
        token_pattern=r"\w+", ngram_range=(1, 2), n_features=N_HASHES, alternate_sign=False
    )

    def rows(index: IntArray) -> Any:
        return hstack([words.transform(column[index]) for column in texts], format="csr")

    return rows


def _beside(*parts: Callable[[IntArray], Any]) -> Callable[[IntArray], Any]:
    from scipy.sparse import csr_matrix, hstack

    def rows(index: IntArray) -> Any:
        return hstack([csr_matrix(part(index)) for part in parts], format="csr")

    return rows


def _texts(values: NDArray[Any]) -> Texts:
    """Texts, "" where one is missing; numbers as they are written."""
    return np.array([_text(value) for value in values.tolist()], dtype=object)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        text = str(value)
        return "" if value is None or text in MISSING else text
    return value if is_unicode(value) else value.encode(errors="replace").decode()
