"""One HTML page with figures, tables and settings; it needs nothing from the net."""

from __future__ import annotations

import base64
import csv
import json
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from haystat.experiments.figures import LOOKS
from haystat.experiments.tasks import TASKS

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #1a1a1a; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 13px; }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child, td.text, th.text { text-align: left; }
figure { margin: 1.5rem 0; } img { max-width: 100%; height: auto; }
figcaption { color: #555; font-size: 13px; } .wide { overflow-x: auto; }
tr.first td { border-top: 2px solid #999; }
"""


def write_page(out: Path) -> Path:
    """Show all results that lie in the folder `out`."""
    sections = [_section(out, name) for name in TASKS if (out / "tables" / f"{name}.json").exists()]
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>The paper's experiments, reproduced</title><style>{STYLE}</style></head><body>"
        "<h1>The paper's experiments, reproduced</h1>"
        "<p>Marchant and Rubinstein, <cite>Needle in a Haystack: Label-Efficient Evaluation under "
        "Extreme Class Imbalance</cite>, KDD 2021, run with haystat. Bands and bars are 95% "
        "bootstrap intervals over repeats. Repeats whose estimate is 0/0 are counted, left out of "
        "the mean squared error, and count as not covered.</p>"
        + "".join(sections)
        + "</body></html>\n"
    )
    path = out / "index.html"
    path.write_text(page, encoding="utf-8")
    return path


def _section(out: Path, name: str) -> str:
    facts = json.loads((out / "tables" / f"{name}.json").read_text(encoding="utf-8"))
    with (out / "tables" / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    pictures = sorted((out / "figures").glob(f"{name}-*.png"), key=_reading_order)
    parts = [f"<h2>{escape(facts['title'])}</h2>"]
    parts += [_figure(path) for path in pictures]
    parts += [
        "<h3>Mean squared error</h3>",
        _wide_table(rows, "mse", lambda value: f"{value:.2e}"),
        "<h3>Coverage of the 95% interval</h3>",
        _wide_table(rows, "coverage", lambda value: f"{value:.1%}"),
        "<h3>Coverage of the plain interval of the central limit theorem</h3>",
        _wide_table(rows, "coverage_clt", lambda value: f"{value:.1%}"),
        "<h3>Undefined estimates (0/0), of all repeats and components</h3>",
        _wide_table(rows, "undefined", lambda value: f"{value:.0f}"),
        "<h3>Settings</h3>",
        _settings(facts),
        f'<p>All columns: <a href="tables/{name}.csv">tables/{name}.csv</a>.</p>',
    ]
    return "".join(parts)


def _reading_order(path: Path) -> tuple[int, str]:
    kinds = ("summary", "curves", "convergence")
    return next(rank for rank, kind in enumerate(kinds) if f"-{kind}" in path.stem), path.stem


def _figure(path: Path) -> str:
    data = base64.b64encode(path.read_bytes()).decode()
    text = escape(path.stem.replace("-", " "))
    return (
        f'<figure><img alt="{text}" src="data:image/png;base64,{data}">'
        f'<figcaption>{text}; <a href="figures/{path.stem}.pdf">PDF</a></figcaption></figure>'
    )


def _wide_table(rows: Sequence[dict[str, str]], column: str, form: Any) -> str:
    """One line for each pool and design, one column for each number of labels."""
    budgets = sorted({int(row["budget"]) for row in rows})
    heads = "".join(f"<th>{budget:,}</th>" for budget in budgets)
    lines = []
    previous = ""
    for pool, design in dict.fromkeys((row["pool"], row["design"]) for row in rows):
        values = {
            int(row["budget"]): row[column]
            for row in rows
            if (row["pool"], row["design"]) == (pool, design)
        }
        cells = "".join(f"<td>{_cell(values.get(budget), form)}</td>" for budget in budgets)
        shown = LOOKS[design][0] if design in LOOKS else design
        kind = ' class="first"' if pool != previous else ""
        lines.append(
            f'<tr{kind}><td>{escape(pool)}</td><td class="text">{escape(shown)}</td>{cells}</tr>'
        )
        previous = pool
    return (
        '<div class="wide"><table><thead><tr><th>pool</th><th class="text">design</th>'
        f"{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _cell(value: str | None, form: Any) -> str:
    return "–" if value in (None, "") else escape(form(float(str(value))))


def _settings(facts: dict[str, Any]) -> str:
    lines = (
        f'<tr><td>{escape(str(name))}</td><td class="text">{escape(_plain(value))}</td></tr>'
        for name, value in facts.items()
    )
    return f"<table><tbody>{''.join(lines)}</tbody></table>"


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {entry}" for name, entry in value.items())
    is_list = isinstance(value, Iterable) and not isinstance(value, str)
    return ", ".join(map(str, value)) if is_list else str(value)
