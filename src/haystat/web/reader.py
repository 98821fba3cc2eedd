"""A second look at a study, for reading that nobody's answer has to wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from haystat.errors import StorageError, StudyError
from haystat.study.study import Study

T = TypeVar("T")


class Reader:
    """The file of a study, opened to read when somebody first does; one reads at a time.

    It catches up with the journal before every use, so it knows whatever was acknowledged.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._study: Study | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="reader")

    async def read(self, action: Callable[[Study], T]) -> T:
        """The result of an action that writes nothing."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._carry_out, action)

    async def close(self) -> None:
        """Finish what is being read, and close the file."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=True)

    def _carry_out(self, action: Callable[[Study], T]) -> T:
        if self._study is None:
            self._study = Study.open(self._path, read_only=True)
        try:
            return action(self._study)
        except (StudyError, StorageError):
            self._close()  # the next one gets a fresh look
            raise

    def _close(self) -> None:
        if self._study is not None:
            self._study.close()
            self._study = None
