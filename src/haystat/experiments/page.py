"""One HTML page with figures, tables and settings; it needs nothing from the net."""

from __future__ import annotations

import base64
import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from haystat.display.render import environment
from haystat.experiments.figures import LOOKS
from haystat.experiments.tasks import TASKS


def write_page(out: Path) -> Path:
    """Show all results that lie in the folder `out`."""
    tasks = [_task(out, name) for name in TASKS if (out / "tables" / f"{name}.json").exists()]
    template = environment("haystat.experiments", plain=_plain).get_template("page.html")
    path = out / "index.html"
    path.write_text(template.render(tasks=tasks, table_of=_wide_table), encoding="utf-8")
    return path


def _task(out: Path, name: str) -> dict[str, Any]:
    facts = json.loads((out / "tables" / f"{name}.json").read_text(encoding="utf-8"))
    with (out / "tables" / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    paths = sorted((out / "figures").glob(f"{name}-*.png"), key=_reading_order)
    pictures = [(path.stem, base64.b64encode(path.read_bytes()).decode()) for path in paths]
    return {"name": name, "facts": facts, "rows": rows, "pictures": pictures}


def _reading_order(path: Path) -> tuple[int, str]:
    kinds = ("summary", "curves", "convergence")
    return next(rank for rank, kind in enumerate(kinds) if f"-{kind}" in path.stem), path.stem


def _wide_table(rows: Sequence[dict[str, str]], column: str) -> dict[str, Any]:
    """One line for each pool and design, one column for each number of labels."""
    budgets = sorted({int(row["budget"]) for row in rows})
    found: dict[tuple[str, str], dict[int, float]] = {}
    for row in rows:
        line = found.setdefault((row["pool"], row["design"]), {})
        if row[column]:
            line[int(row["budget"])] = float(row[column])
    lines = [
        (pool, LOOKS[design][0] if design in LOOKS else design, list(map(line.get, budgets)))
        for (pool, design), line in found.items()
    ]
    return {"budgets": budgets, "lines": lines}


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {entry}" for name, entry in value.items())
    is_list = isinstance(value, Iterable) and not isinstance(value, str)
    return ", ".join(map(str, value)) if is_list else str(value)
