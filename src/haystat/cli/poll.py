"""haystat import --url: answers from a server, once or again and again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import sleep

import typer

from haystat.cli.interrupts import INTERRUPTED, Interrupt
from haystat.cli.show import estimate_line, print_json
from haystat.errors import BadOption, HaystatError, RemoteError
from haystat.formats import Format, Reply, Server, fetch_replies, take_replies
from haystat.study import Study
from haystat.study.answer_files import Taken

EVERY = 30.0  # seconds between two looks
LONGEST = 600.0  # seconds to wait after failures, unless looks are further apart


@dataclass(frozen=True)
class Taking:
    """How answers of a tool are taken."""

    annotator: str | None
    disagreement: str
    correct: bool

    def take(self, study: Study, replies: Iterable[Reply], source: str) -> Taken:
        """Tell the study."""
        return take_replies(
            study,
            replies,
            annotator=self.annotator,
            disagreement=self.disagreement,
            correct=self.correct,
            source=source,
        )


@dataclass
class Tally:
    """What became of all looks so far."""

    looks: int = 0
    failures: int = 0
    in_a_row: int = 0
    taken: dict[str, int] = field(
        default_factory=lambda: {"labels": 0, "skips": 0, "corrections": 0}
    )
    said: str = ""

    def add(self, taken: Taken) -> None:
        """A look that went well."""
        self.looks += 1
        self.in_a_row, self.said = 0, ""
        for name in self.taken:
            self.taken[name] += getattr(taken, name)

    def fail(self, error: HaystatError) -> None:
        """A look that did not; what was said already is not said again."""
        self.failures += 1
        self.in_a_row += 1
        if str(error) != self.said:
            typer.echo(f"error: {error}; going on", err=True)
        self.said = str(error)


def interval(given: Sequence[Path], watch: bool) -> float | None:
    """Seconds between looks, None for one look. A number behind --watch arrives as an argument."""
    texts = [str(path) for path in given]
    if texts and not (watch and len(texts) == 1):
        raise BadOption(f"{texts[0]} is given with --url; import files and a server one by one")
    if not watch:
        return None
    try:
        seconds = float(texts[0]) if texts else EVERY
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= 86400:
        raise BadOption(f"--watch is {texts[0]}; give seconds up to 86400, or nothing for 30")
    return seconds


def checked_server(url: str, project: int | None, token: str, timeout: float) -> Server:
    """The server that the options name."""
    if project is None:
        raise BadOption("say which project: --project, the number in the address of its page")
    return Server(url, project, token.strip(), timeout)


def run(
    study: Path,
    form: Format,
    server: Server,
    options: Taking,
    every: float | None,
    as_json: bool,
) -> None:
    """Take the answers of a server: exit 2 if the input is wrong, 1 if it failed at the one look.

    With `every` it looks until Ctrl-C, whatever happens to the server in between.
    """
    tally = Tally()
    with Study.open(study) as opened, Interrupt().caught() as interrupt:
        try:
            while True:
                _look(opened, form, server, options, tally, interrupt, every is not None)
                if every is None:
                    break
                with interrupt.waiting():
                    sleep(pause(every, tally.in_a_row))
        except KeyboardInterrupt:
            _sum_up(opened, tally, as_json)
            raise typer.Exit(INTERRUPTED) from None
        except BadOption:
            if tally.looks:
                _sum_up(opened, tally, as_json)
            raise
        _sum_up(opened, tally, as_json)


def pause(every: float, failures: int) -> float:
    """Seconds to the next look: twice as long after every failure, ten minutes at most.

    >>> pause(30, 0), pause(30, 2), pause(30, 50), pause(3600, 3)
    (30.0, 120.0, 600.0, 3600)
    """
    return min(every * float(2 ** min(failures, 30)), max(every, LONGEST))


def counts(taken: Taken) -> str:
    """What was taken, in words."""
    return ", ".join(f"{count} {name}" for name, count in asdict(taken).items() if count)


def _look(
    study: Study,
    form: Format,
    server: Server,
    options: Taking,
    tally: Tally,
    interrupt: Interrupt,
    goes_on: bool,
) -> None:
    """One look; what may pass is said and counted if there will be another one."""
    try:
        with interrupt.waiting():
            replies = fetch_replies(form, server)
        taken = options.take(study, replies, f"{form.tool}: project {server.project}")
    except RemoteError as error:
        if not goes_on:
            raise
        tally.fail(error)
    except BadOption:
        raise
    except HaystatError as error:
        # After a look that went well it is something that people can put right: a
        # disagreement, a strange task, a full disk. The answers stay where they are.
        if not goes_on or not tally.looks:
            raise
        tally.fail(error)
    else:
        tally.add(taken)
        if goes_on and (taken.labels or taken.skips or taken.corrections):
            typer.echo(f"{counts(taken)}; {estimate_line(study.estimate())}", err=True)


def _sum_up(study: Study, tally: Tally, as_json: bool) -> None:
    n_labels = study.n_labels
    if as_json:
        done = {"looks": tally.looks, "failures": tally.failures}
        print_json({**tally.taken, **done, "total": n_labels})
        return
    parts = [f"{count} {name}" for name, count in tally.taken.items() if count]
    times = f", {tally.looks} looks" if tally.looks + tally.failures > 1 else ""
    failed = f", {tally.failures} failed" if tally.failures else ""
    typer.echo(f"{', '.join(parts) or 'nothing new'} taken{times}{failed}")
    typer.echo(estimate_line(study.estimate()))
