"""The demo as a study: pairs of records that people can read, for the labelling page."""

from pathlib import Path

import numpy as np

from haystat.demo.linkage import LinkagePool, make_linkage_pool
from haystat.demo.people import FIELDS
from haystat.pool.memory import Pool
from haystat.study.study import Study

CANDIDATES = 30_000


def make_demo_study(path: Path, seed: int = 3, n_left: int = 1200, n_right: int = 1000) -> Study:
    """A new study of the matcher's precision on the demo's pairs, with both records to show.

    Precision can be told from few labels; a narrow interval of recall among a million pairs takes
    thousands, which is more than somebody wants to answer who tries the page.
    """
    pairs = make_linkage_pool(n_left, n_right, seed=seed)
    pool = Pool(pairs.scores, pairs.predictions, ids=pairs.ids)
    return Study.create(
        path, pool, "precision", random_state=seed, show=side_by_side(pairs), candidates=CANDIDATES
    )


def side_by_side(pairs: LinkagePool) -> dict[str, np.ndarray]:
    """The fields of both records of every pair; a text that occurs often is kept once."""
    rows = np.divmod(pairs.ids, len(pairs.right["first"]))
    shown = {}
    for field in FIELDS:
        for side, table, row in zip("lr", (pairs.left, pairs.right), rows, strict=True):
            shown[f"{field}_{side}"] = table[field].astype(object)[row]
    return shown
