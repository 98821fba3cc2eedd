"""The studies of a folder, opened when they are first needed."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from haystat.errors import BadOption, StudyError
from haystat.study.study import Study
from haystat.web import differences, labelling
from haystat.web.live_updates import LiveUpdates
from haystat.web.options import PageOptions, kept_options
from haystat.web.reader import Reader
from haystat.web.settings import Settings
from haystat.web.write_queue import WriteQueue

ENDING = ".haystat"
NAME = re.compile(r"[^\W_.](?:[\w .+()-]{0,98}[\w+()-])?")


class NoSuchStudy(StudyError):
    """No study of that name."""


@dataclass
class Room:
    """An open study: its writes, those who watch it or only read, and how its page asks."""

    name: str
    queue: WriteQueue
    reader: Reader
    watch: LiveUpdates
    options: PageOptions
    mark: str  # of this study, whatever its name: what a browser kept for another is not sent here
    leaving: dict[str, asyncio.TimerHandle] = field(default_factory=dict)

    def leave(self, seat: str, seconds: float) -> None:
        """Give back what a seat holds, unless it asks again before so many seconds are over."""
        self.stay(seat)
        loop = asyncio.get_running_loop()
        self.leaving[seat] = loop.call_later(seconds, self._gone, seat)

    def stay(self, seat: str) -> None:
        """A seat is heard of again."""
        timer = self.leaving.pop(seat, None)
        if timer is not None:
            timer.cancel()

    async def give_back(self, seat: str) -> None:
        """Give back what a seat holds, now."""
        self.stay(seat)
        await self.queue.write(lambda study: study.release(seat))

    def _gone(self, seat: str) -> None:
        task = asyncio.ensure_future(self.give_back(seat))
        task.add_done_callback(lambda done: done.cancelled() or done.exception())

    @property
    def study(self) -> Study:
        return self.queue.study

    @property
    def names(self) -> tuple[str, ...]:
        """The labels as people see them."""
        return self.options.shown_names(self.study.pool.classes)


class StudyFolder:
    """Studies by name; a name is that of a file in the folder, without its ending."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._rooms: dict[str, Room] = {}
        self._opening = asyncio.Lock()
        self.reading = asyncio.Lock()  # one file at a time is read whole: people label meanwhile
        self.planning = asyncio.Lock()  # one plan at a time, but no study waits for it

    @property
    def names(self) -> list[str]:
        """All studies of the folder, those of the newest files first."""
        found = [p for p in self.settings.folder.glob(f"*{ENDING}") if _is_ours(self, p)]
        found.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        names = [path.name.removesuffix(ENDING) for path in found]
        main = self.settings.main
        return names if main is None or main in names else [main, *names]

    def path_of(self, name: str) -> Path:
        """Where the study of that name lies or will lie: in the folder, nowhere else."""
        if name == self.settings.main and self.settings.main_path is not None:
            return self.settings.main_path
        if not NAME.fullmatch(name):
            raise BadOption(
                "name a study with letters, digits, spaces and - + ( ), at most 100 of them"
            )
        return self.settings.folder / f"{name}{ENDING}"

    async def room(self, name: str | None) -> Room:
        """The study of that name; the main one by default."""
        wanted = name or self.settings.main
        if wanted is None:
            raise NoSuchStudy("say which study: ?study=NAME")
        if wanted in self._rooms:
            return self._rooms[wanted]
        if not NAME.fullmatch(wanted) or not _is_ours(self, self.path_of(wanted)):
            raise NoSuchStudy("no such study; GET /api/studies lists them")
        path = self.path_of(wanted)
        async with self._opening:
            if wanted not in self._rooms:
                self._rooms[wanted] = await asyncio.to_thread(self._open, wanted, path)
        return self._rooms[wanted]

    def add(self, name: str, study: Study) -> None:
        """Open a study that was just made."""
        self._rooms[name] = self._room(name, study)

    async def hush(self) -> None:
        """End all streams of numbers, so that a server can stop."""
        for room in self._rooms.values():
            for seat in list(room.leaving):
                room.stay(seat)
            await room.watch.close()

    async def close(self) -> None:
        """Close all studies."""
        await self.hush()
        for room in self._rooms.values():
            await room.reader.close()
            await room.queue.close()
        self._rooms.clear()

    def _open(self, name: str, path: Path) -> Room:
        return self._room(name, Study.open(path))

    def _room(self, name: str, study: Study) -> Room:
        entries = study.entries
        options = kept_options(entries)
        if options.wanted is None:
            options = replace(options, wanted=self.settings.wanted)
        queue, reader = WriteQueue(study), Reader(study.path)
        watch = LiveUpdates(queue, reader, options.wanted or self.settings.wanted)
        watch.opinions = labelling.second_opinions(entries)
        watch.decided = differences.decisions(entries)
        return Room(name, queue, reader, watch, options, entries[0].hash[:16])


def _is_ours(study_folder: StudyFolder, path: Path) -> bool:
    """Whether a path is a file of the folder itself: no link that leads out of it."""
    if path == study_folder.settings.main_path:
        return path.is_file()
    folder = study_folder.settings.folder.resolve()
    name = path.name.removesuffix(ENDING)
    return path.is_file() and path.resolve().parent == folder and bool(NAME.fullmatch(name))
