"""The command line: parse, call, show. Exit 0 done, 2 the input is wrong, 1 anything else."""

from __future__ import annotations

import sys

import click
import typer

from haystat import __version__
from haystat.cli.bench import bench
from haystat.cli.demo import demo
from haystat.errors import HaystatError

app = typer.Typer(
    help="How good is a classifier when positives are needles in a haystack?",
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


app.command()(demo)
app.command()(bench)


def main() -> None:
    """Run the command line; a wrong input is one clear line, not a traceback."""
    try:
        code = app(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except click.Abort:
        code = 1
    except (HaystatError, FileNotFoundError, IsADirectoryError, PermissionError) as error:
        typer.echo(f"error: {error}", err=True)
        code = 2
    sys.exit(code if isinstance(code, int) else 0)
