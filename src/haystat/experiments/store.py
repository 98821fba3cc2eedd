"""Finished repeats on disk, so that an experiment goes on where it was stopped.

One file for each design: a line with the settings, then a line for each finished repeat, in the
order in which they finished. The name of the file is a digest of the settings. A line that was
cut short by a crash is dropped.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from haystat.core.arguments import checked_path
from haystat.core.disk import writable
from haystat.errors import FileError
from haystat.experiments.repeat import Record

FORMAT = 1


class RepeatStore:
    """The finished repeats of one experiment; use it in a `with` block."""

    def __init__(self, folder: str | Path, settings: Mapping[str, Any]) -> None:
        self.settings = {"haystat_experiment": FORMAT, **settings}
        text = json.dumps(self.settings, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        self.path = (
            checked_path("the folder of the store", folder)
            / f"{settings['design_name']}-{digest}.jsonl"
        )
        self.records: dict[int, Record] = {}
        self._file: IO[bytes] | None = None

    def __enter__(self) -> RepeatStore:
        with writable(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("a+b")
        try:
            _lock(self._file, self.path)
            self._recover(self._file)
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def add(self, record: Record) -> None:
        """Append a finished repeat."""
        self.records[record.repeat] = record
        self._write(record.as_dict())

    def _write(self, entry: Mapping[str, Any]) -> None:
        if self._file is None:
            raise FileError(f"{self.path} is not open; use the store in a `with` block")
        self._file.write(json.dumps(entry).encode() + b"\n")
        self._file.flush()

    def _recover(self, file: IO[bytes]) -> None:
        """Read what is there, and cut off a line that was not finished."""
        file.seek(0)
        content = file.read()
        whole = content.rfind(b"\n") + 1
        file.truncate(whole)
        lines = content[:whole].splitlines()
        if not lines:
            self._write(self.settings)
            return
        for number, line in enumerate(lines, start=1):
            entry = self._entry(line, number)
            if number > 1:
                self.records.setdefault(entry["repeat"], Record(**entry))

    def _entry(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            entry = json.loads(line)
            kind = entry == self.settings if number == 1 else "repeat" in entry
        except (json.JSONDecodeError, UnicodeDecodeError, TypeError):
            kind = False
        if not kind:
            raise FileError(f"{self.path}, line {number} is damaged; delete the file to start over")
        return dict(entry)


def _lock(file: IO[bytes], path: Path) -> None:
    """Keep a second process from writing to the same file; where the system has no locks, trust."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise FileError(f"{path} is in use by another run; wait for it or use another") from None
