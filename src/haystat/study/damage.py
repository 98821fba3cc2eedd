"""What a damaged study file makes of the code that reads it, in one line."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from haystat.errors import HaystatError, StudyError
from haystat.study.sketch_pool import CellDry

#: what code raises that trusts values which no longer are what they were
SYMPTOMS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    sqlite3.Error,
)


@contextmanager
def damage_told(path: Path) -> Iterator[None]:
    """Reading a study: whatever its bytes lead to is an error of ours."""
    try:
        yield
    except HaystatError:
        raise
    except CellDry as dry:
        raise StudyError(
            f"{path} is damaged: candidates of cell {dry.cell} are missing; use a copy"
        ) from None
    except SYMPTOMS as error:
        raise StudyError(f"{path} is damaged ({error!r}); use a copy") from None
