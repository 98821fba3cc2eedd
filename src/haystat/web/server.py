"""Start the server, and say where it is."""

from __future__ import annotations

import logging
import os
import socket
import sys
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from haystat.errors import BadOption, FileError
from haystat.web.app import make_app
from haystat.web.connection import PatientProtocol
from haystat.web.settings import Settings
from haystat.web.study_folder import StudyFolder

Say = Callable[[str], None]
PORT = 8321


def listen(host: str, port: int | None) -> socket.socket:
    """A socket that waits for browsers; without a port the usual one, or any if that is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for wanted in (PORT, 0) if port is None else (port,):
        found = socket.socket(family, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((host.strip("[]"), wanted))
            return found
        except (OSError, OverflowError) as error:
            found.close()
            reason = error.strerror if isinstance(error, OSError) else "no such port"
    raise BadOption(f"{host}:{port or PORT} cannot be used ({reason}); try another with --port")


def address(host: str, port: int) -> str:
    """The address as a browser takes it."""
    name = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, host)
    return f"http://{f'[{name}]' if ':' in name else name}:{port}/"


def configured(app: Starlette) -> uvicorn.Config:
    """How uvicorn runs the application; addresses may carry a token, so they are not logged."""
    return uvicorn.Config(
        app,
        http=PatientProtocol,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=3,
        timeout_keep_alive=30,
        lifespan="on",
    )


def serve(
    settings: Settings,
    waiting: socket.socket,
    tokens: Sequence[tuple[str, str | None]],
    say: Say,
    open_browser: bool,
) -> None:
    """Serve until somebody presses Ctrl-C. tokens: what each link is for, and the token in it."""
    host, port = waiting.getsockname()[:2]
    link = address(host, port)
    app = make_app(settings)
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    sys.setswitchinterval(0.001)  # requests are short; none should wait 5 ms for its turn
    study_folder: StudyFolder = app.state.study_folder
    links = [(what, f"{link}?token={token}" if token else link) for what, token in tokens]
    server = _Server(configured(app), lambda: _ready(links, say, open_browser), study_folder)
    server.run(sockets=[waiting])
    if not server.started:
        raise FileError("the server did not start; the lines above say why")


class _Server(uvicorn.Server):
    """A server that says when it is ready, and ends its streams before it stops."""

    def __init__(
        self, config: uvicorn.Config, ready: Callable[[], None], study_folder: StudyFolder
    ) -> None:
        super().__init__(config)
        self._ready = ready
        self._study_folder = study_folder

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._study_folder.hush()
        await super().shutdown(sockets)


def _ready(links: Sequence[tuple[str, str]], say: Say, open_browser: bool) -> None:
    for what, link in links:
        say(f"{what}: {link}")
    say("Stop with Ctrl-C; everything answered is on disk.")
    if open_browser and _has_browser():
        webbrowser.open(links[-1][1])


def _has_browser() -> bool:
    """Whether there is a screen: a browser in the terminal would be in the way."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def study_and_folder(given: Path) -> tuple[Path | None, Path]:
    """A study and its folder, or a folder of studies."""
    if given.is_dir():
        return None, given
    if not given.is_file():
        raise FileNotFoundError(f"no study {given}; make one with haystat new, or on the page")
    return given, given.absolute().parent
