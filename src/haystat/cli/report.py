"""haystat report: a study as a page."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

import typer

from haystat.cli.show import JSON, STUDY, say
from haystat.cli.status import LEVEL
from haystat.core.disk import write_whole
from haystat.errors import BadOption
from haystat.report import FORMATS, collect
from haystat.study import Study

Form = Enum("Form", {name: name for name in FORMATS}, type=str)  # type: ignore[misc]
ENDINGS = {".html": "html", ".htm": "html", ".md": "md", ".markdown": "md", ".json": "json"}


def report(
    study: Path = STUDY,
    out: Path | None = typer.Option(
        None, "--out", "-o", help="File to write; by default standard output."
    ),
    form: Form | None = typer.Option(
        None, "--format", help="By default what the ending of --out says, else md."
    ),
    level: float = LEVEL,
    examples: int = typer.Option(5, help="Mistakes of each kind to show; 0 leaves records out."),
    as_json: bool = JSON,
) -> None:
    """Write a report: the estimate in words and pictures, and all that is needed to check it.

    The HTML page is one file that needs no network.

    Example: haystat report cats.haystat -o report.html
    """
    if examples < 0:
        raise BadOption(f"--examples is {examples}; give 0 or more")
    name = _format(out, form, as_json)
    if out is not None and out.exists() and study.exists() and out.samefile(study):
        raise BadOption(f"--out is the study itself, {out}; name another file")
    with Study.open(study) as opened:
        text = FORMATS[name](collect(opened, level, examples))
    if out is None:
        typer.echo(text, nl=False)
        return
    write_whole(out, text)
    size = out.stat().st_size
    done = {"file": str(out), "format": name, "bytes": size}
    say(as_json, done, f"{out} written, {size / 1e3:.0f} kB")


def _format(out: Path | None, form: Form | None, as_json: bool) -> str:
    if form is not None:
        return str(form.value)
    if out is None:
        return "json" if as_json else "md"
    if out.suffix.lower() not in ENDINGS:
        raise BadOption(f"--out is {out}; end it in {', '.join(ENDINGS)}, or give --format")
    return ENDINGS[out.suffix.lower()]
