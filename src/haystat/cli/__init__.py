"""The command line: parse, call, show.

Exit 0 done, 2 the input is wrong, 130 Ctrl-C, 3 a gate is undecided, 1 anything else: a check
failed (verify, gate), or a disk, a database or a server did.
"""

from __future__ import annotations

import gc
import sys
from contextlib import suppress
from typing import Any

import typer

from haystat import __version__
from haystat.cli import streams
from haystat.cli.commands import LazyGroup
from haystat.core.disk import is_wrong_path
from haystat.errors import EngineError, HaystatError, RemoteError, StorageError

FAILED, WRONG = 1, 2
#: what another try, or another machine, may do well; any other error of ours is about the input
FAILURES = (StorageError, EngineError, RemoteError, MemoryError)

app = typer.Typer(
    help="How good is a classifier when positives are needles in a haystack?",
    cls=LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"haystat {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show the version."
    ),
) -> None:
    """How good is a classifier when positives are needles in a haystack?"""


def main() -> None:
    """Run the command line; whatever is wrong with what it is given is one line."""
    gc.set_threshold(50_000, 20, 20)  # else collections are a twentieth of a short command
    streams.prepare()
    sys.exit(_run())


def _run() -> int:
    """The exit code of the command that was given."""
    try:
        app()
        code: Any = 0
    except SystemExit as end:
        code = end.code
    except (HaystatError, OSError, UnicodeError, RecursionError, MemoryError) as error:
        code = _complain(error)
    why = streams.flush()
    if why is not None and code != FAILED:
        code = _complain(OSError(f"standard output cannot be written: {why}"))
    return code if isinstance(code, int) else 0


def _complain(error: BaseException) -> int:
    """Say what is wrong in one line; the exit code."""
    text = " ".join(str(error).splitlines()) or type(error).__name__
    with suppress(OSError):
        typer.echo(f"error: {text}", err=True)
    of_system = isinstance(error, OSError) and not is_wrong_path(error)
    return FAILED if of_system or isinstance(error, FAILURES) else WRONG
