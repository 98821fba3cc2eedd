"""The command line: parse, call, show. Exit 0 done, 2 the input is wrong, 1 anything else."""

from __future__ import annotations

import sys

import typer

from haystat import __version__
from haystat.cli.ask import ask, correct, skip, tell
from haystat.cli.bench import bench
from haystat.cli.bridges import export, import_answers, pool
from haystat.cli.compare import compare
from haystat.cli.demo import demo
from haystat.cli.label import label
from haystat.cli.new import new
from haystat.cli.plan import plan
from haystat.cli.report import report
from haystat.cli.reproduce import reproduce
from haystat.cli.serve import serve
from haystat.cli.sketch import sketch
from haystat.cli.status import estimate, log, merge, status, verify
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
app.command()(plan)
app.command()(compare)
app.command()(reproduce)

for command in (new, ask, tell, label, status, estimate, skip, correct, log, verify, merge, export):
    app.command()(command)
app.command("import")(import_answers)
app.command()(pool)
app.command()(sketch)
app.command()(report)
app.command()(serve)


def main() -> None:
    """Run the command line; a wrong input is one clear line, not a traceback."""
    try:
        app()
    except (HaystatError, FileNotFoundError, IsADirectoryError, PermissionError) as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
