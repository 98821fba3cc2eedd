"""Packages that only some people need: a missing one is named with the way to get it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from haystat.errors import BadOption


@contextmanager
def needed(what: str, package: str, extra: str) -> Iterator[None]:
    """Imports of a package that is not there are one line.

    >>> with needed("plot", "nopackage", "plots"):
    ...     import nopackage
    Traceback (most recent call last):
    haystat.errors.BadOption: plot needs nopackage: pip install 'haystat[plots]'
    """
    try:
        yield
    except ImportError as error:
        if (error.name or "").split(".")[0] not in ("", package):
            raise
        raise BadOption(f"{what} needs {package}: pip install 'haystat[{extra}]'") from None
