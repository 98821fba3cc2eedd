"""Many people, one study: what they do at the same time is written to disk together."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

from haystat.errors import HaystatError, StorageError, StudyError
from haystat.study.study import Study

T = TypeVar("T")
Action = Callable[[Study], Any]
SLICE = 0.02  # seconds after which a transaction is closed and the rest waits for the next


class WriteQueue:
    """A study that many requests share.

    Requests that arrive while others are being written wait for the next transaction, and all of
    them pay for one wait for the disk. An action is done when its transaction is on disk, not
    before: what was acknowledged survives.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self._waiting: list[tuple[Action, asyncio.Future[Any]]] = []
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="writes")
        self._busy: asyncio.Task[None] | None = None

    async def write(self, action: Callable[[Study], T]) -> T:
        """Carry out an action; it returns once its result is on disk."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((action, future))
        if self._busy is None:
            self._busy = asyncio.create_task(self._work_off())
        return cast(T, await future)

    async def read(self, action: Callable[[Study], T]) -> T:
        """Carry out an action that writes nothing, between two transactions."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, action, self.study)

    async def close(self) -> None:
        """Finish what is waiting, and close the file."""
        if self._busy is not None:
            await self._busy
        self._thread.shutdown(wait=True)
        self.study.close()

    async def _work_off(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                actions = [action for action, _ in batch]
                outcomes = await loop.run_in_executor(self._thread, self._together, actions)
                self._waiting = batch[len(outcomes) :] + self._waiting
                for (_, future), outcome in zip(batch, outcomes, strict=False):
                    _settle(future, outcome)
        finally:
            self._busy = None

    def _together(self, actions: list[Action]) -> list[Any]:
        """Results of the first actions, as many as there is time for, or what went wrong."""
        outcomes: list[Any] = []
        end = time.perf_counter() + SLICE
        try:
            with self.study.together():
                for action in actions:
                    outcomes.append(_attempt(action, self.study))
                    if time.perf_counter() > end:
                        break
            return outcomes
        except StorageError as error:  # the fault of nobody here: all may try again
            return [error] * len(actions)
        except Exception:
            # Something worse than a wrong input: nothing was kept. Find out whose fault it is.
            return [self._alone(action) for action in actions]

    def _alone(self, action: Action) -> Any:
        try:
            with self.study.together():
                return action(self.study)
        except Exception as error:
            return error


def _attempt(action: Action, study: Study) -> Any:
    """The result, or a refusal that leaves the other actions of a transaction standing."""
    try:
        return action(study)
    except (StudyError, StorageError):
        raise
    except HaystatError as error:
        return error


def _settle(future: asyncio.Future[Any], outcome: Any) -> None:
    if future.done():  # the browser has gone
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
