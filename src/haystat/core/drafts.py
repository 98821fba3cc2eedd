"""Files that are being written: they appear under their name whole, or not at all.

A draft carries the number of its process, so that what a killed one left behind can be told from
what another process is writing now.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from hashlib import md5
from pathlib import Path
from uuid import uuid4

STARTED = time.time()
LONGEST = 150  # bytes of a name that a draft repeats; file systems allow 255
DRAFT = re.compile(r"\.(.+)\.(\d+)(-[0-9a-f]+)?\.part(-wal|-shm|-journal)?", re.DOTALL)


def draft_of(path: Path) -> Path:
    """Where to write a file first, one place a call; drafts whose process is dead are removed."""
    name = path.name if len(os.fsencode(path.name)) <= LONGEST else _digest(path.name)
    remove_dead_drafts(path.parent, re.escape(name))
    return path.with_name(f".{name}.{os.getpid()}-{uuid4().hex[:8]}.part")


def remove_dead_drafts(folder: Path, names: str) -> None:
    """Remove what killed processes left in a folder. names: a pattern of what it was to become."""
    for name in _names_in(folder):
        found, path = DRAFT.fullmatch(name), folder / name
        if found and re.fullmatch(names, found[1]) and not _is_alive(int(found[2]), path):
            with suppress(OSError):  # of somebody else
                path.unlink()


def _names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:  # one may be written to, but not read
        return []


def _digest(name: str) -> str:
    return md5(os.fsencode(name), usedforsecurity=False).hexdigest()


def _is_alive(process: int, path: Path) -> bool:
    """Whether a draft may still be written to; in containers new processes have old numbers."""
    if process == os.getpid():
        return _changed(path) >= STARTED
    if os.name == "nt":  # there is no harmless signal; a day is long enough for any draft
        return _changed(path) > time.time() - 86400
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
