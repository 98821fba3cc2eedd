"""A Spark cluster on loopback, one worker of which is killed in the middle of a pass.

    python bench/scale_spark.py POOL.parquet

A master and two workers are started, the pool is sketched, and while the pass for the smallest u
runs one worker and its executor are killed. The sketch must be that of DuckDB, item for item. The
pool is one that bench/scale.py generates.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

import haystat as hs
from haystat.engines import passes, sketch
from haystat.engines.spark import find_java, session

PORT = 17077
MASTER = f"spark://127.0.0.1:{PORT}"
COLUMNS = {"id": "id", "score": "score", "prediction": "prediction"}


def start(name: str, *arguments: str, folder: Path) -> subprocess.Popen[bytes]:
    """A daemon of Spark in a process group of its own."""
    import pyspark

    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-class"), name, *arguments]
    log = (folder / f"{name}-{time.monotonic_ns()}.log").open("wb")
    environment = {**os.environ, "SPARK_WORKER_DIR": str(folder), "SPARK_LOCAL_IP": "127.0.0.1"}
    return subprocess.Popen(
        command, stdout=log, stderr=log, env=environment, start_new_session=True
    )


def wait_for(port: int) -> None:
    """Until somebody listens."""
    for _ in range(300):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise RuntimeError(f"nobody listens on port {port}")


def main() -> None:
    """Start, sketch, kill, compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("pool")
    parser.add_argument("--after", default=3.0, type=float, help="Seconds into the pass.")
    given = parser.parse_args()
    find_java()
    expected = hs.open_pool(given.pool, **COLUMNS)
    deploy = "org.apache.spark.deploy"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        daemons = [
            start(
                f"{deploy}.master.Master",
                "--host",
                "127.0.0.1",
                "--port",
                str(PORT),
                "--webui-port",
                "0",
                folder=folder,
            )
        ]
        wait_for(PORT)
        for _ in range(2):
            options = ("--host", "127.0.0.1", "-c", "1", "-m", "1500m", "--webui-port", "0", MASTER)
            daemons.append(start(f"{deploy}.worker.Worker", *options, folder=folder))
        try:
            figures = kill_in_the_middle(given.pool, given.after, daemons, expected)
        finally:
            for daemon in daemons:
                if daemon.poll() is None:
                    os.killpg(daemon.pid, signal.SIGKILL)
    print(json.dumps(figures, indent=2))
    results = Path(__file__).parent / "results" / "scale_spark.json"
    results.write_text(json.dumps(figures, indent=2) + "\n")


def kill_in_the_middle(path: str, after: float, daemons: Any, expected: Any) -> dict[str, Any]:
    """Sketch the pool on the cluster; the last worker dies `after` seconds into the last pass."""
    spark = session(MASTER)
    spark.conf.set("spark.sql.files.maxPartitionBytes", "8m")  # many tasks, so that some are lost
    moments: dict[str, float] = {}
    read_smallest = passes.read_smallest

    def executors() -> int:
        return int(spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size()) - 1

    def kill() -> None:
        moments["killed"] = time.perf_counter()
        os.killpg(daemons[-1].pid, signal.SIGKILL)

    def watched(*arguments: Any) -> Any:
        moments["executors before"] = executors()
        moments["began"] = time.perf_counter()
        threading.Timer(after, kill).start()
        found = read_smallest(*arguments)
        moments["ended"] = time.perf_counter()
        moments["executors after"] = executors()
        return found

    sketch.read_smallest = watched  # type: ignore[attr-defined]
    begin = time.perf_counter()
    pool = hs.open_pool(path, engine=spark, **COLUMNS)
    _ = pool.held  # the sketch, which waits until it is wanted
    seconds = time.perf_counter() - begin
    same = all(
        np.array_equal(
            getattr(pool.held.sketch.items, name), getattr(expected.held.sketch.items, name)
        )
        for name in ("atom", "u", "id", "scores")
    )
    same &= np.array_equal(pool.held.sketch.atoms.size, expected.held.sketch.atoms.size)
    spark.stop()
    return {
        "rows": pool.size,
        "seconds": seconds,
        "the pass took": moments["ended"] - moments["began"],
        "the worker died after": moments["killed"] - moments["began"],
        "killed inside the pass": moments["killed"] < moments["ended"],
        "executors before": moments["executors before"],
        "executors after": moments["executors after"],
        "identical to DuckDB": same,
    }


if __name__ == "__main__":
    main()
