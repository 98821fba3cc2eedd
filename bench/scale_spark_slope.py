"""What a sketch costs on Spark a row: two pools of different size on local[2].

    python bench/scale_spark_slope.py POOL-1e7.parquet POOL-1e8.parquet

The processor time of the Java process is what counts; seconds depend on who else is busy. The
pools are those that bench/scale.py generates.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import haystat as hs
from haystat.engines.spark import session


def java_seconds() -> float:
    """Processor time of the children of this process."""
    ticks = os.sysconf("SC_CLK_TCK")
    total = 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().rpartition(")")
        except (FileNotFoundError, ProcessLookupError):
            continue
        fields = rest.split()
        if "(java" in name and int(fields[1]) == os.getpid():
            total += (int(fields[11]) + int(fields[12])) / ticks
    return total


def main() -> None:
    """Sketch each pool, print, and save as JSON."""
    spark = session("local[2]")
    spark.range(10**6).selectExpr("sum(id)").collect()  # the first query is slower than others
    figures: dict[str, dict[str, float]] = {}
    for path in sys.argv[1:]:
        start, before = time.perf_counter(), java_seconds()
        pool = hs.open_pool(path, id="id", score="score", prediction="prediction", engine=spark)
        _ = pool.held  # the sketch, which waits until it is wanted
        figures[f"{pool.size:.0e}"] = {
            "rows": pool.size,
            "seconds": time.perf_counter() - start,
            "processor seconds": java_seconds() - before,
        }
        print(json.dumps(figures, indent=2), flush=True)
    first, *_, last = figures.values()
    more_rows = last["rows"] - first["rows"]
    slope = (last["processor seconds"] - first["processor seconds"]) / more_rows
    result = {**figures, "processor seconds for 1e9 more rows": 1e9 * slope}
    print(json.dumps(result, indent=2))
    results = Path(__file__).parent / "results" / "scale_spark_slope.json"
    results.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
