"""What blocking lost: recall and F1 of Splink over all pairs of two tables, from few labels.

    python bench/unblocked.py [--records 50000 --matches 20000 --labels 2000 --repeats 20]

Two generated tables are linked by Splink, whose blocking rules lose about a tenth of the matches.
Pairs outside the blocks are drawn evenly, or near ones have strata of their own (Unblocked.near).
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import haystat as hs
from haystat.demo import people
from haystat.engines import Unblocked

FIELDS = ("first", "last", "street", "city", "born", "phone")
CARELESS = 0.1  # records that are full of errors; with them blocking loses a tenth of the matches
IDS = ("unique_id_l", "unique_id_r")


def make_tables(folder: Path, n: int, n_matches: int) -> set[str]:
    """Write clinic.parquet and office.parquet; the ids of the pairs that match."""
    people.CARELESS_SHARE = CARELESS
    left, right, matches = people.two_tables(n, n, n_matches, np.random.default_rng(0))
    for name, table in (("clinic", left), ("office", right)):
        frame = pd.DataFrame(table).astype(object).replace("", None)
        frame.assign(unique_id=np.arange(n)).to_parquet(folder / f"{name}.parquet")
    return {f"{a}|{b}" for a, b in matches.tolist()}


def link(folder: Path) -> None:
    """Write the pairs that Splink compares, with their probability of a match."""
    import splink.comparison_library as compare
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on

    database = DuckDBAPI()
    names = ("clinic", "office")
    frames = [pd.read_parquet(folder / f"{name}.parquet") for name in names]
    tables = [
        database.register(frame, dataset_display_name=name)
        for name, frame in zip(names, frames, strict=True)
    ]
    settings = SettingsCreator(
        link_type="link_only",
        comparisons=[
            compare.JaroWinklerAtThresholds("first"),
            compare.JaroWinklerAtThresholds("last"),
            compare.LevenshteinAtThresholds("street", [1, 2]),
            compare.ExactMatch("city"),
            compare.LevenshteinAtThresholds("born", [1, 2]),
            compare.LevenshteinAtThresholds("phone", [1, 2]),
        ],
        blocking_rules_to_generate_predictions=[block_on("last", "city"), block_on("born")],
    )
    linker = Linker(tables, settings, log_level=None)
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6, seed=1)
    linker.training.estimate_parameters_using_expectation_maximisation(block_on("last", "city"))
    linker.training.estimate_parameters_using_expectation_maximisation(block_on("born"))
    predictions = linker.inference.predict().as_pandas_dataframe()
    predictions[[*IDS, "match_probability"]].to_parquet(folder / "predictions.parquet")


def opened(folder: Path, near: tuple[str, ...]) -> Any:
    """The pool of all pairs."""
    tables = str(folder / "clinic.parquet"), str(folder / "office.parquet")
    return hs.open_pool(
        str(folder / "predictions.parquet"),
        id=IDS,
        score="match_probability",
        unblocked=Unblocked(*tables, key="unique_id", near=near),
    )


def truths(folder: Path, matches: set[str]) -> dict[str, float]:
    """Recall and F1 over all pairs, and the share of matches that blocking lost."""
    frame = pd.read_parquet(folder / "predictions.parquet")
    ids = [f"{a}|{b}" for a, b in zip(*(frame[name] for name in IDS), strict=True)]
    is_match = np.array([item in matches for item in ids])
    found = frame.match_probability.to_numpy() >= 0.5
    hits = int((is_match & found).sum())
    return {
        "recall": hits / len(matches),
        "f1": 2 * hits / (len(matches) + int(found.sum())),
        "lost": 1 - int(is_match.sum()) / len(matches),
    }


def measured(pool: Any, matches: set[str], truth: dict[str, float], given: Any) -> None:
    """Print error, coverage and width of each measure."""
    for measure in given.measures.split(","):
        rows = []
        for seed in range(given.repeats):
            evaluation = hs.Evaluation(
                pool.with_seed(seed), measure, given.design, random_state=seed
            )
            found = evaluation.run(
                lambda items: [int(item in matches) for item in items], given.labels, batch_size=100
            )
            low, high = found.interval
            error = found.value - truth[measure]
            rows.append([error**2, error, low <= truth[measure] <= high, high - low])
        square, bias, covered, width = np.mean(rows, axis=0)
        print(
            f"  {measure}: squared error {square:.1e}, bias {bias:+.4f}, covered {covered:.0%}, "
            f"width {width:.3f}",
            flush=True,
        )


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (
        ("records", 50_000),
        ("matches", 20_000),
        ("labels", 2000),
        ("repeats", 20),
    ):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--measures", default="recall,f1")
    parser.add_argument("--design", default=None)
    parser.add_argument("--folder", default=None, help="keep the tables there")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as other:
        folder = Path(given.folder or other)
        matches = make_tables(folder, given.records, given.matches)
        if not (folder / "predictions.parquet").exists():
            link(folder)
        truth = truths(folder, matches)
        print(", ".join(f"{name} {value:.4f}" for name, value in truth.items()))
        for name, near in (("drawn evenly", ()), ("near pairs in strata", FIELDS)):
            begin = time.perf_counter()
            pool = opened(folder, near)
            print(f"{name}: opened in {time.perf_counter() - begin:.0f} s", flush=True)
            measured(pool, matches, truth, given)


if __name__ == "__main__":
    main()
