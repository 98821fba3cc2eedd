"""Our mean squared errors beside those of the public implementation of the paper.

    python bench/compare_reference.py reproduction/tables ../shared/pools/reference_results.json

The tables come from `haystat reproduce`. A line is marked when the two 95% bands do not overlap.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd

METHODS = {
    "Ours-8": "adaptive",
    "Ours-1": "adaptive_flat",
    "OASIS": "oasis",
    "IS": "importance",
    "Stratified": "stratified",
    "Passive": "passive",
}
HEAD = f"{'measure':<9}{'pool':<11}{'method':<11}{'labels':>6}  {'ours':<28}{'public':<34}ratio"


def main(tables: Path, reference: Path) -> None:
    """Print one line for each pool, method and number of labels that both have."""
    known = json.loads(reference.read_text())["mse"]
    lines = []
    for measure, pools in known.items():
        path = tables / f"{measure}.csv"
        if path.exists():
            ours = pd.read_csv(path).set_index(["pool", "design", "budget"])
            lines += compare(measure, ours, pools)
    print(HEAD)
    for line, _ in lines:
        print(line)
    print(f"{sum(apart for _, apart in lines)} of {len(lines)} lines have bands apart")


def compare(measure: str, ours: pd.DataFrame, pools: dict[str, Any]) -> list[tuple[str, bool]]:
    """Lines of the table, and whether the bands are apart."""
    lines = []
    for file, methods in pools.items():
        pool = next(name for name in ours.index.unique("pool") if file.startswith(name))
        for method, design in METHODS.items():
            public = methods.get(method)
            repeats = public["repeats"] if public else 0
            for position, budget in enumerate(public["labels"] if public else ()):
                row = ours.loc[(pool, design, budget)]
                theirs = {name: public[name][position] for name in ("mse", "low", "high")}
                apart = row.mse_low > theirs["high"] or row.mse_high < theirs["low"]
                line = (
                    f"{measure:<9}{pool:<11}{method:<11}{budget:>6}  "
                    f"{band(row.mse, row.mse_low, row.mse_high):<28}"
                    f"{f'{band(**theirs)} ({repeats})':<34}"
                    f"{row.mse / theirs['mse']:5.2f}{'  <-- apart' if apart else ''}"
                )
                lines.append((line, apart))
    return lines


def band(mse: float, low: float, high: float) -> str:
    """A mean squared error with its band."""
    return f"{mse:.2e} [{low:.1e}, {high:.1e}]"


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
