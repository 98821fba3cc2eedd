"""haystat alarm: has a measure fallen, looked at every day?"""

from __future__ import annotations

from dataclasses import asdict
from itertools import chain
from pathlib import Path

import typer

from haystat.cli.show import JSON, STUDY, console, plain_table, print_json
from haystat.decisions.alarm import Alarm
from haystat.study import Study
from haystat.study.versions import earlier_versions, version_name


def alarm(
    study: Path = STUDY,
    below: float = typer.Option(help="The level, such as 0.8."),
    measure: str = typer.Option("recall", help="What may have fallen."),
    level: float = typer.Option(0.95, help="1 minus the chance of a false alarm, over all days."),
    days: int = typer.Option(60, help="For how many days you mean to look."),
    as_json: bool = JSON,
) -> None:
    """Whether a measure has fallen below a level: exit 0 no alarm, 1 alarm.

    Every version of the study is a day, and its new items are that day's (haystat next --add). The
    alarm is valid although one looks every day; below, measure, level and days stay the same.

    Example: haystat alarm stream.haystat --below 0.8
    """
    made, names = Alarm(measure, below=below, level=level, days=days), []
    with Study.open(study) as opened:
        for version in chain(earlier_versions(opened, Study), (opened,)):
            made.look(version)
            names.append(version_name(version.settings))
    looks = [{"version": n, **asdict(look)} for n, look in zip(names, made.looks, strict=True)]
    if as_json:
        about = {"measure": made.measure.name, "below": made.below, "level": made.level}
        print_json({**about, "raised": made.raised, "looks": looks})
    else:
        table = plain_table("day", "version", "bets turned 1 into", "evidence", "")
        for look in looks:
            numbers = f"{look['wealth']:.3g}", f"{look['evidence']:.3g}"
            said = "alarm" if look["raised"] else ""
            table.add_row(str(look["day"]), look["version"], *numbers, said)
        console().print(table)
        said = f"{made.measure.name} has fallen below {below:g}"
        evidence = f"the highest evidence is {max(look['evidence'] for look in looks):.3g}"
        said = f"{'Alarm' if made.raised else 'No alarm'} that {said}: {evidence}"
        console().print(f"{said}; an alarm takes {1 / (1 - level):g}.", markup=False)
    raise typer.Exit(int(made.raised))
