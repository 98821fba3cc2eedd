"""Connections that take their time: whoever sends or reads too slowly is let go.

uvicorn closes a connection that idles between two requests; it waits for ever for the first byte,
for the rest of a request, and for somebody who does not read the answer.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

GRACE = 20.0  # seconds in which a request has to be there, the time before its first byte included
SLOWEST = 10_000.0  # bytes a second that a longer request has to keep up with
UNREAD = 60.0  # seconds in which somebody has to read what was sent
LARGEST_HEAD = 64 << 10  # bytes of a request line and its headers


class PatientProtocol(HttpToolsProtocol):
    """HTTP with an end to patience."""

    grace, slowest, unread = GRACE, SLOWEST, UNREAD
    _arriving: asyncio.TimerHandle | None = None
    _leaving: asyncio.TimerHandle | None = None
    _since = 0.0
    _received = 0
    _in_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrived()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        super().data_received(data)
        if self._in_head and self._arriving is not None and self._received > LARGEST_HEAD:
            self.transport.abort()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._expect()

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._arrived()
        super().on_message_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._leaving = self.loop.call_later(self.unread, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None

    def _expect(self) -> None:
        """A request begins, or may begin."""
        self._arrived()
        self._since, self._received, self._in_head = self.loop.time(), 0, True
        self._arriving = self.loop.call_later(self.grace, self._look)

    def _arrived(self) -> None:
        if self._arriving is not None:
            self._arriving.cancel()
            self._arriving = None

    def _look(self) -> None:
        """Let go of a connection whose request is late, unless it is we who do not read."""
        earned = 0.0 if self._in_head else self._received / self.slowest
        late = self.loop.time() - self._since - self.grace - earned
        if late >= 0 and not self.flow.read_paused:
            self.transport.abort()
        else:
            self._arriving = self.loop.call_later(max(-late, 1.0), self._look)
