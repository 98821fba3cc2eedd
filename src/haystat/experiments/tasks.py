"""The experiments of the paper: which pools, measures, designs and numbers of labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from haystat.errors import FileError
from haystat.experiments.labelled_pool import PAPER_SUFFIXES, LabelledPool, read_pool
from haystat.measures import PRCurve
from haystat.measures.base import Measure

#: the seven pools of the paper's Table 3; the file's name goes on with the classifier
PUBLISHED = (
    "abt-buy",
    "amzn-goog",
    "dblp-acm",
    "restaurant",
    "safedriver",
    "creditcard",
    "tweets100k",
)
N_STRATA = 256
N_THRESHOLDS = 1024
FINE_GRID = (50, 100, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 4000, 5000)
COARSE_GRID = (250, 500, 1000, 2000, 3500, 5000)
ALL_DESIGNS = ("adaptive", "adaptive_flat", "oasis", "importance", "stratified", "passive")
NOT_OASIS = tuple(name for name in ALL_DESIGNS if name != "oasis")


@dataclass(frozen=True)
class Task:
    """One experiment of the paper.

    budgets ascend; the bar chart is drawn at `summary`, if given. most_repeats caps the repeats
    that are asked for; pools names the pools that the paper shows.
    """

    name: str
    title: str
    measure: str | Measure
    designs: Sequence[str]
    budgets: Sequence[int]
    summary: int | None = None
    most_repeats: int | None = None
    pools: Sequence[str] = PUBLISHED

    def repeats(self, wanted: int) -> int:
        """Repeats to run when so many are wanted."""
        return wanted if self.most_repeats is None else min(wanted, self.most_repeats)

    def budgets_up_to(self, largest: int) -> list[int]:
        """The budgets within reach, `largest` itself if it is below the last."""
        within = [budget for budget in self.budgets if budget < largest]
        return [*within, min(largest, self.budgets[-1])]

    def read(self, path: Path) -> LabelledPool:
        """The pool, partitioned as the paper does for this experiment."""
        data = read_pool(path, strata=N_STRATA)
        if self.name != "pr":
            return data
        options: dict[str, Any] = {"stratify": threshold_strata(data)}
        return read_pool(path, **options)


def threshold_strata(data: LabelledPool) -> Any:
    """Inner edges of 256 strata, four neighbouring steps of the grid of 1,024 thresholds each."""
    low, high = data.pool.schema.score_range[0]
    grid = np.linspace(low, high, N_THRESHOLDS)
    step = N_THRESHOLDS // N_STRATA
    return np.unique(grid[step::step])


TASKS = {
    "f1": Task("f1", "F1 score", "f1", ALL_DESIGNS, FINE_GRID, summary=2000),
    "accuracy": Task("accuracy", "Accuracy", "accuracy", NOT_OASIS, FINE_GRID, summary=1000),
    "pr": Task(
        "pr",
        "Precision-recall curve",
        PRCurve(n_thresholds=N_THRESHOLDS),
        NOT_OASIS,
        COARSE_GRID,
        most_repeats=100,
        pools=("abt-buy", "dblp-acm"),
    ),
}


def find_pools(folder: Path, names: Sequence[str] = PUBLISHED) -> dict[str, Path]:
    """Files of the published pools that lie in the folder, by the paper's name."""
    if not folder.is_dir():
        raise FileNotFoundError(f"no folder {folder}")
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() in PAPER_SUFFIXES)
    found = {}
    for name in names:
        matching = [path for path in files if path.stem.lower().startswith(name)]
        if matching:
            found[name] = matching[0]
    if not found:
        raise FileError(
            f"none of the paper's pools is in {folder}; files are called {names[0]}….h5 and so on"
        )
    return found
