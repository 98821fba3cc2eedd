"""The report as Markdown, for a wiki or a pull request."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from haystat.report import words
from haystat.report.collect import FEW
from haystat.report.words import number, spelt

Data = Mapping[str, Any]


def markdown_page(report: Data) -> str:
    """The whole report."""
    estimate, status = report["estimate"], report["status"]
    title = f"{estimate['measure']} of {', '.join(report['systems'])}: {report['study']}"
    parts = [f"# {text(title)}", *map(text, report["summary"]), *_headline(report)]
    parts += [f"> {text(warning)}" for warning in estimate["warnings"]]
    waiting = words.waiting(status["pending"])
    parts += [waiting] if waiting else []
    parts += _also(report["also"])
    parts += _versions(report["versions"])
    parts += _cuts(report["cuts"])
    parts += _regions(report)
    for matrix in report["confusion"]:
        parts += _confusion(matrix)
    parts += _settings(report)
    return "\n\n".join(parts) + "\n"


def text(value: Any) -> str:
    """Anything as text that means only itself in Markdown and in HTML."""
    plain = re.sub(r"\s+", " ", "" if value is None else str(value))
    return re.sub(r"([\\`*_{}\[\]<>#|&])", r"\\\1", plain).replace("\\<", "&lt;")


def table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table; the first column to the left, numbers to the right."""
    lines = [
        "| " + " | ".join(map(text, heads)) + " |",
        "|" + "|".join([" --- ", *([" ---: "] * (len(heads) - 1))]) + "|",
        *("| " + " | ".join(map(text, row)) + " |" for row in rows),
    ]
    return "\n".join(lines)


def _versions(rows: Sequence[Data]) -> list[str]:
    if not rows:
        return []
    heads = ("version", "estimate", "interval", "labels", "carried over")
    lines = [
        (
            row["name"],
            f"{row['value']:.3f}",
            f"{row['low']:.3f} to {row['high']:.3f}",
            f"{row['labels']:,}",
            f"{row['carried']:,}",
        )
        for row in rows
    ]
    return ["## From version to version", table(heads, lines)]


def _headline(report: Data) -> list[str]:
    estimate = report["estimate"]
    every = estimate["components"]
    if estimate["n_components"] > len(every):
        return [f"{text(estimate['measure'])} has {estimate['n_components']:,} components."]
    if len(every) > FEW:
        ends = ("value", "low", "high")
        rows = [[c["name"], *(words.amount(c["name"], c[end]) for end in ends)] for c in every]
        return [table(["", "estimate", "from", "to"], rows)]
    lines = []
    for component in estimate["components"]:
        sentences = [
            words.headline(component, estimate["level"]),
            words.meaning(component),
            words.effort(
                component, estimate["labels"], estimate.get("signals"), estimate.get("known", 0)
            ),
        ]
        lines.append(" ".join(text(sentence) for sentence in sentences if sentence))
    return lines


def _also(also: Sequence[Data]) -> list[str]:
    rows = [
        [c["name"], "cannot be told", c["reason"]]
        if "reason" in c
        else [
            c["name"],
            words.amount(c["name"], c["value"]),
            f"{words.amount(c['name'], c['low'])} to {words.amount(c['name'], c['high'])}",
        ]
        for c in also
    ]
    heads = ["measure", "estimate", "interval"]
    return ["## What else these labels say", table(heads, rows)] if rows else []


def _cuts(cuts: Sequence[Data]) -> list[str]:
    said = [f"{c['system']}: {c['sentence']}" for c in cuts if c["curve"]]
    return ["## Where to cut", *map(text, said)] if said else []


def _regions(report: Data) -> list[str]:
    two = all("may_hide" in region for region in report["regions"])
    heads = ["score from, to", "items", "labelled", *(["positive", "may hide"] if two else [])]
    rows = [
        [
            f"{r['from']:.2g} – {r['to']:.2g}",
            f"{r['items']:,}",
            f"{r['labelled']:,}",
            *([f"{r['positives']:,}", f"{r['may_hide']:,}"] if two else []),
        ]
        for r in report["regions"]
    ]
    return ["## Where the labels went", table(heads, rows)] if rows else []


def _confusion(matrix: Data) -> list[str]:
    title = f"## Confusion matrix: {text(matrix['system'])}"
    if not matrix["cells"]:
        return [title, f"These labels do not support it: {text(matrix['reason'])}."]
    classes = matrix["classes"]
    cells = {(c["predicted"], c["actual"]): c for c in matrix["cells"]}
    rows = []
    for says in classes:
        of_row = [cells[says, actual] for actual in classes]
        rows.append(
            [says]
            + [f"{number(c['count'])} ({number(c['low'])} to {number(c['high'])})" for c in of_row]
        )
    return [title, table(["predicted", *(f"really {label}" for label in classes)], rows)]


def _settings(report: Data) -> list[str]:
    settings, status = report["settings"], report["status"]
    rows = [
        ("measure", settings["measure"]),
        ("design", settings["design"]),
        ("seeds", f"draws {settings['seed']}, pool {settings['pool']['seed']}"),
        ("pool", f"{settings['pool']['size']:,} items, {settings['pool']['fingerprint']}"),
        ("made with", settings["made_with"]),
        ("reported with", settings["reported_with"]),
        ("journal", f"{status['entries']:,} entries, newest hash {status['head']}"),
        ("check", settings["verify"]),
    ]
    lines = [f"- {name}: {text(spelt(value))}" for name, value in rows]
    return ["## Settings, to get the same numbers again", "\n".join(lines)]
