"""haystat log, verify, merge: what happened in a study, whether it was changed, several as one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from haystat.cli.show import JSON, STUDY, busy, console, estimate_line, print_json, show_estimate
from haystat.cli.status import LEVEL, MEASURE, measure_named
from haystat.core.wording import label_count
from haystat.study import Entry, Study, merged_estimate
from haystat.study import verify as audit


def log(
    study: Path = STUDY,
    last: int | None = typer.Option(None, "--last", "-n", help="Only so many, the newest."),
    as_json: bool = JSON,
) -> None:
    """Everything that ever happened in the study, in order.

    Example: haystat log cats.haystat --last 20
    """
    with Study.open(study) as opened:
        entries = opened.entries
    entries = entries[-last:] if last else entries
    if as_json:
        print_json([_entry(entry) for entry in entries])
        return
    out = console()
    for entry in entries:
        who = entry.who or "-"
        line = f"{entry.seq:>6}  {entry.time[:19]}  {entry.kind:<10}  {who:<10}  {_summary(entry)}"
        out.print(line, markup=False, overflow="ellipsis", no_wrap=True)


def verify(study: Path = STUDY, as_json: bool = JSON) -> None:
    """Audit the study: check the hash chain, draw every stage again, work out the estimate.

    Exit 0 if all is well, 1 if something was changed or is damaged.

    Example: haystat verify cats.haystat
    """
    with busy("replaying the journal"):
        verdict = audit(study)
    if as_json:
        found = None if verdict.estimate is None else verdict.estimate.to_dict()
        counts = {"entries": verdict.n_entries, "stages": verdict.n_stages}
        counts["versions"] = verdict.n_versions
        findings = [{"entry": f.entry, "text": f.text} for f in verdict.findings]
        rest = {"labels": verdict.n_labels, "head": verdict.head, "findings": findings}
        print_json({"ok": verdict.ok, **counts, **rest, "estimate": found})
    else:
        out = console()
        for finding in verdict.findings:
            out.print(str(finding), markup=False)
        if verdict.estimate is not None:
            out.print(
                f"{verdict.n_entries} entries and {verdict.n_stages} stages worked out again, "
                "all as recorded"
            )
            if verdict.n_versions > 1:
                n = verdict.n_versions - 1
                before = "was the version" if n == 1 else f"were the {n} versions"
                out.print(f"so {before} before it")
            out.print(f"newest hash {verdict.head}")
            out.print(estimate_line(verdict.estimate), markup=False)
    if not verdict.ok:
        raise typer.Exit(1)


def merge(
    studies: list[Path] = typer.Argument(help="Studies of one pool, with different seeds."),
    measure: str | None = MEASURE,
    level: float = LEVEL,
    as_json: bool = JSON,
) -> None:
    """The estimate from several studies of one pool taken together.

    Example: haystat merge ann.haystat bob.haystat
    """
    opened: list[Study] = []
    try:
        for path in studies:
            opened.append(Study.open(path))
        found = merged_estimate(opened, measure_named(measure), level)
    finally:
        for study in opened:
            study.close()
    if as_json:
        print_json(found.to_dict())
    else:
        show_estimate(console(), found)


def _entry(entry: Entry) -> dict[str, Any]:
    names = ("seq", "time", "kind", "who")
    return {
        **{name: getattr(entry, name) for name in names},
        "data": entry.data,
        "hash": entry.hash,
    }


def _summary(entry: Entry) -> str:
    """An entry in a few words."""
    data = entry.data
    if entry.kind == "stage":
        drawn = sum(row[-2] for row in data["new"] + data["again"])
        return f"{len(data['new'])} new items, {drawn} draws"
    if entry.kind == "carried":
        return f"{label_count(len(data['new']))} of an earlier version, {data['name']} begins"
    if entry.kind == "answer":
        return ", ".join(f"{item}={label}" for item, label, *_ in data["labels"])
    if entry.kind in ("lease", "release"):
        until = f" until {data['until'][:19]}" if "until" in data else ""
        return ", ".join(map(str, data["items"])) + until
    if entry.kind == "correction":
        return f"{data['item']}: {data['was']} -> {data['label']} {data['reason']}"
    if entry.kind == "created":
        return f"{data['measure']}, {data['design']}, seed {data['seed']}"
    return ", ".join(f"{name} {value}" for name, value in data.items())
