"""What the next version of a pool behind an engine costs beside a first sketch: DuckDB.

    python bench/scale_versions.py --rows 1e7 --rounds 3 --folder DIR

The table is generated once, with a second score beside the first, and once more with the second
score alone. Rounds take a first sketch, then the next version from further columns of the same
table, then from the other table, whose rows are looked up by their ids; each in a process of its
own. Compare the ratios of the medians: seconds depend on who else is busy.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import median

from scale import GENERATE, run

FURTHER = """
import sys, duckdb
source, path, columns = sys.argv[1:]
con = duckdb.connect()
con.execute("SET preserve_insertion_order=false")
con.execute("SET memory_limit='1GB'")
noise = "((hash(id * 2 + 7) >> 11)::DOUBLE + 0.5) / 9007199254740992"
con.execute(f'''
    COPY (SELECT {columns}, least(1, score * (0.8 + 0.4 * {noise})) AS later FROM '{source}')
    TO '{path}' (FORMAT parquet, COMPRESSION zstd)
''')
"""

NEXT = """
import json, pathlib, resource, sys, time
import haystat as hs

first, second, labels = sys.argv[1], sys.argv[2], int(sys.argv[3])

def processor():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime

found, started = {}, (time.perf_counter(), processor())
def noted(name):
    global started
    now = time.perf_counter(), processor()
    found[name], found[name + ", processor"] = (b - a for a, b in zip(started, now))
    started = now

old = hs.open_pool(first, id="id", score="score", threshold=0.4)
evaluation = hs.Evaluation(old, "f1", random_state=1)
noted("first")
asked = evaluation.ask(labels)
evaluation.tell({query.item: int(query.item % 3 == 0) for query in asked})
noted("labels")
later = evaluation.next(hs.open_pool(second, id="id", score="later", threshold=0.4))
noted("next")
later.ask(50)
lines = pathlib.Path("/proc/self/status").read_text().splitlines()
found["peak GB"] = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**20
found["carried"] = later.n_carried
print(json.dumps(found))
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default=1e7, type=float)
    parser.add_argument("--rounds", default=3, type=int)
    parser.add_argument("--labels", default=1000, type=int)
    parser.add_argument("--kinds", default="columns,table")
    parser.add_argument("--folder", default="/tmp/haystat-scale", type=Path)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    name = f"{given.rows:.0e}".replace("e+0", "e")
    plain, both, other = (
        given.folder / f"{kind}-{name}.parquet" for kind in ("pool", "both", "later")
    )
    if not plain.exists():
        run(GENERATE, str(int(given.rows)), str(plain))
    for path, columns in ((both, "id, score"), (other, "id")):
        if not path.exists():
            run(FURTHER, str(plain), str(path), columns)
    tables = {"columns": (both, both), "table": (plain, other)}
    for _ in range(given.rounds):
        for kind in given.kinds.split(","):
            found = json.loads(run(NEXT, *map(str, tables[kind]), str(given.labels)))
            results.setdefault(kind, []).append(found)
            print(kind, json.dumps(found), flush=True)
    for kind, runs in results.items():
        for what in ("", ", processor"):
            one, two = (median(run[f"{part}{what}"] for run in runs) for part in ("first", "next"))
            print(f"{kind}{what or ', seconds'}: {one:.3g} first, {two:.3g} next, {two / one:.2f}")


results: dict[str, list[dict[str, float]]] = {}

if __name__ == "__main__":
    main()
