"""Standard input, output and error as a command finds them: closed, full, of any encoding."""

from __future__ import annotations

import io
import os
import sys
from typing import Any


class _Output(io.FileIO):
    """Standard output whose reader may leave: `haystat log s.haystat | head` is no error.

    Any other trouble is told at the end, so that the exit code is that of the command.
    """

    trouble: OSError | None = None

    def write(self, content: Any) -> int:
        try:
            return super().write(content)
        except OSError as error:
            if not isinstance(error, BrokenPipeError):
                self.trouble = error
            return memoryview(content).nbytes


def prepare() -> None:
    """Make the streams of this process usable, whatever they are.

    One that is closed is an empty one. Into a pipe or a file goes UTF-8, to a terminal what it
    can show; all else is escaped.
    """
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    elif isinstance(sys.stdin, io.TextIOWrapper) and not sys.stdin.isatty():
        sys.stdin.reconfigure(encoding="utf-8-sig")
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper) and stream is getattr(sys, f"__{name}__"):
            setattr(sys, name, _wrapped(stream, number))


def flush() -> str | None:
    """Write what is still held back; why it cannot be written, if so."""
    sys.stdout.flush()
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return raw.trouble.strerror if isinstance(raw, _Output) and raw.trouble else None


def _wrapped(stream: io.TextIOWrapper, number: int) -> io.TextIOWrapper:
    is_terminal = stream.isatty()
    return io.TextIOWrapper(
        io.BufferedWriter(_Output(number, "w", closefd=False)),
        encoding=stream.encoding if is_terminal else "utf-8",
        errors="backslashreplace",
        line_buffering=is_terminal or number == 2,
    )
