"""What two signals add to a sketch: DuckDB, an old score and a verdict beside the score.

    python bench/scale_signals.py --rows 1e7 --rounds 3 --folder DIR

The file is generated once; sketches with and without signals are made in turn, each in a process
of its own. Compare the ratio of the medians: seconds depend on who else is busy.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import median

from scale import GENERATE, SKETCH, run

FURTHER = """
import sys, duckdb
source, path = sys.argv[1:]
con = duckdb.connect()
con.execute("SET preserve_insertion_order=false")
con.execute("SET memory_limit='1GB'")
noise = "((hash(id * 2 + {}) >> 11)::DOUBLE + 0.5) / 9007199254740992"
con.execute(f'''
    COPY (SELECT *, ln(score / (1 - score)) + 4 * {noise.format(2)} AS old,
        {noise.format(5)} < 0.01 + 0.8 * score AS verdict FROM '{source}'
    ) TO '{path}' (FORMAT parquet, COMPRESSION zstd)
''')
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default=1e7, type=float)
    parser.add_argument("--rounds", default=3, type=int)
    parser.add_argument("--folder", default="/tmp/haystat-scale", type=Path)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    name = f"{given.rows:.0e}".replace("e+0", "e")
    plain, path = (given.folder / f"{kind}-{name}.parquet" for kind in ("pool", "signals"))
    if not plain.exists():
        run(GENERATE, str(int(given.rows)), str(plain))
    if not path.exists():
        run(FURTHER, str(plain), str(path))
    found: dict[str, list[dict[str, float]]] = {"without": [], "with": []}
    sketch = str(path.with_suffix(".sketch"))
    for _ in range(given.rounds):
        found["without"].append(json.loads(run(SKETCH, str(path), sketch)))
        found["with"].append(json.loads(run(SKETCH, str(path), sketch, "old,verdict")))
    keys = [key for key, value in found["with"][0].items() if isinstance(value, int | float)]
    for key in keys:
        one, two = (median(run[key] for run in found[kind]) for kind in ("without", "with"))
        print(f"{key}: {one:.3g} without, {two:.3g} with, ratio {two / max(one, 1e-9):.2f}")


if __name__ == "__main__":
    main()
