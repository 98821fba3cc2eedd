"""What a sketch costs: DuckDB on pools of 1e7, 1e8 and 1e9 rows, and a stage after it.

    python bench/scale.py --rows 1e7,1e8 --folder DIR

Every size is generated once into DIR (about 9 bytes a row), scanned with a plain sum(score), and
sketched, each in a process of its own. Compare the ratios: seconds depend on who else is busy.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import haystat as hs

BYTES_PER_ROW = 20  # room asked for; a row takes about 9
STAGES = 40
SMALL = 54_000

GENERATE = """
import sys, duckdb
n, path = int(sys.argv[1]), sys.argv[2]
con = duckdb.connect()
con.execute("SET preserve_insertion_order=false")
con.execute("SET memory_limit='1GB'")
uniform = "((hash(range * 2 + {}) >> 11)::DOUBLE + 0.5) / 9007199254740992"
normal = f"sqrt(-2 * ln({uniform.format(0)})) * cos(6.283185307179586 * {uniform.format(1)})"
con.execute(f'''
    COPY (SELECT id, score, (score > 0.4)::TINYINT AS prediction FROM (
        SELECT range AS id, 1 / (1 + exp(6.0 - 2 * {normal})) AS score FROM range({n})
    )) TO '{path}' (FORMAT parquet, COMPRESSION zstd)
''')
"""

SCAN = """
import sys, time, duckdb
con = duckdb.connect()
start = time.perf_counter()
con.execute(f"SELECT sum(score) FROM '{sys.argv[1]}'").fetchall()
print(time.perf_counter() - start)
"""

SKETCH = """
import pathlib, resource, sys, time
import haystat as hs
import haystat.engines.build as make, haystat.engines.pool as pool, haystat.engines.sketch as sketch

def timed(module, name):
    function = getattr(module, name)
    def run(*arguments):
        start = time.perf_counter()
        result = function(*arguments)
        seconds[name] = seconds.get(name, 0) + time.perf_counter() - start
        return result
    setattr(module, name, run)

seconds = {}
for module, name in ((make, "read_summary"), (make, "check_duplicates"), (pool, "read_groups"),
                     (sketch, "read_smallest")):
    timed(module, name)
start = time.perf_counter()
signals = sys.argv[3].split(",") if len(sys.argv) > 3 else ()
opened = hs.open_pool(
    sys.argv[1], id="id", score="score", prediction="prediction", signals=signals
)
opened.held  # the sketch, which waits until it is wanted
whole = time.perf_counter() - start
if len(sys.argv) > 2:
    opened.save(sys.argv[2])
lines = pathlib.Path("/proc/self/status").read_text().splitlines()
peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**20
processor = resource.getrusage(resource.RUSAGE_SELF)
import json
print(json.dumps({"seconds": whole, "processor seconds": processor.ru_utime + processor.ru_stime,
                  "peak GB": peak * 2**30 / 1e9, **seconds}))
"""


def main() -> None:
    """Measure, print, and save as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", default="1e7,1e8")
    parser.add_argument("--folder", default="/tmp/haystat-scale", type=Path)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    results = Path(__file__).parent / "results" / "scale.json"
    figures: dict[str, Any] = json.loads(results.read_text()) if results.exists() else {}
    for rows in (float(part) for part in given.rows.split(",")):
        name = f"{rows:.0e}".replace("e+0", "e")
        figures[name] = measure(int(rows), given.folder / f"pool-{name}.parquet")
        print(name, json.dumps(figures[name], indent=2), flush=True)
        results.write_text(json.dumps(figures, indent=2) + "\n")
    if "seconds" in figures.get("1e7", {}) and "seconds" in figures.get("1e8", {}):
        figures["1e8 over 1e7"] = figures["1e8"]["seconds"] / figures["1e7"]["seconds"]
    sketches = sorted(given.folder.glob("*.sketch"), key=lambda path: path.stat().st_mtime)
    figures["stage"] = stages(sketches[-1])
    print(
        json.dumps({k: v for k, v in figures.items() if k in ("1e8 over 1e7", "stage")}, indent=2)
    )
    results.write_text(json.dumps(figures, indent=2) + "\n")


def measure(rows: int, path: Path) -> dict[str, Any]:
    """Scan and sketch a pool of so many rows."""
    if not path.exists():
        free = shutil.disk_usage(path.parent).free
        if free < rows * BYTES_PER_ROW:
            return {"skipped": f"{free / 1e9:.0f} GB free, {rows * BYTES_PER_ROW / 1e9:.0f} wanted"}
        draft = path.with_suffix(".part")
        run(GENERATE, str(rows), str(draft))
        draft.replace(path)
    scans = sorted(float(run(SCAN, str(path))) for _ in range(3 if rows < 1e9 else 1))
    found: dict[str, Any] = json.loads(run(SKETCH, str(path), str(path.with_suffix(".sketch"))))
    return {
        "file GB": path.stat().st_size / 1e9,
        "scan seconds": scans[len(scans) // 2],
        **found,
        "sketch over scan": found["seconds"] / scans[len(scans) // 2],
    }


def stages(sketch: Path) -> dict[str, float]:
    """Median processor milliseconds of a stage, on a large pool's sketch and on a small pool."""
    rng = np.random.default_rng(0)
    scores = 1 / (1 + np.exp(6 - 2 * rng.normal(size=SMALL)))
    large = hs.open_pool(sketch)
    small = hs.Pool(scores, (scores > 0.4).astype(int))
    times: dict[str, list[float]] = {"large": [], "small": []}
    runs = {
        "large": hs.Evaluation(large, "f1", "adaptive", random_state=0),
        "small": hs.Evaluation(small, "f1", "adaptive", random_state=0),
    }
    for _ in range(STAGES):  # in turn, so that a busy machine slows both alike
        for name, evaluation in runs.items():
            start = time.process_time()
            queries = evaluation.ask(50)
            evaluation.tell({query.item: int(rng.random() < 0.3) for query in queries})
            times[name].append(time.process_time() - start)
    milliseconds = {name: 1e3 * float(np.median(values[2:])) for name, values in times.items()}
    return {
        f"{large.size:.0e} rows, ms": milliseconds["large"],
        f"{SMALL} rows, ms": milliseconds["small"],
        "large over small": milliseconds["large"] / milliseconds["small"],
    }


def run(script: str, *arguments: str) -> str:
    """The last line that a script prints in a fresh interpreter."""
    command = [sys.executable, "-c", script, *arguments]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    return found.stdout.strip().splitlines()[-1] if found.stdout else ""


if __name__ == "__main__":
    main()
