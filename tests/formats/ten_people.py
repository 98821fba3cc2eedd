"""A study of ten pairs of people, all of them asked about in the first stage."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import haystat as hs

FIRST = ["Ann", "Bob", "Zoë", "<b>Dan</b>", "Eve", 'Fay "F"', "Gil", "Hal & Co", "Ida", "Jon"]
#: the truth about the ten pairs
LABELS = [1, 0, 1, 0, 0, 1, 0, 0, 1, 0]
ITEMS = [f"left|{n}|right|{n + 100}" for n in range(10)]


def make_people_study(path: Path) -> hs.Study:
    """Ten pairs of records; the design draws all of them in the first stage."""
    score = np.array([0.913, 0.217, 0.841, 0.127, 0.329, 0.733, 0.619, 0.053, 0.421, 0.157])
    right = [
        name.upper() if label else f"Not {name}" for name, label in zip(FIRST, LABELS, strict=True)
    ]
    show = {
        "first_l": FIRST,
        "first_r": right,
        "city_l": ["Ulm"] * 10,
        "city_r": ["Ulm"] * 9 + [None],
        "note": ["a text\nof two lines"] + [""] * 9,
    }
    pool = hs.Pool(score, ids=ITEMS, strata=2)
    return hs.Study.create(path, pool, "accuracy", "passive", show=show, random_state=0)
