"""Which commands there are: one table, and each is imported when it is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from haystat.cli.interrupts import quiet_exit

#: command -> module of this package and function, in the order in which help lists them
COMMANDS = {
    "demo": "demo:demo",
    "plan": "plan:plan",
    "new": "new:new",
    "label": "label:label",
    "serve": "serve:serve",
    "ask": "ask:ask",
    "tell": "ask:tell",
    "skip": "ask:skip",
    "correct": "ask:correct",
    "status": "status:status",
    "estimate": "status:estimate",
    "report": "report:report",
    "threshold": "threshold:threshold",
    "compare": "compare:compare",
    "gate": "gate:gate",
    "next": "versions:next_version",
    "change": "versions:change",
    "alarm": "alarm:alarm",
    "labels": "versions:labels",
    "export": "bridges:export",
    "import": "bridges:import_answers",
    "merge": "journal:merge",
    "log": "journal:log",
    "verify": "journal:verify",
    "pool": "bridges:pool",
    "sketch": "sketch:sketch",
    "bench": "bench:bench",
    "reproduce": "reproduce:reproduce",
}


class Lazy(Mapping[str, Any]):
    """Commands by name, each imported when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        return typer.main.get_command(_one(name, summary=False))

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class LazyGroup(TyperGroup):
    """Commands by name. Help reads their first lines from the source and imports none of them."""

    summaries = False

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "commands": Lazy()})

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command, imported now; in the help of the whole, its first line alone."""
        if self.summaries:
            return typer.main.get_command(_one(cmd_name, summary=True))
        return self.commands.get(cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The help of the whole."""
        self.summaries = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self.summaries = False


def _one(name: str, summary: bool) -> typer.Typer:
    """An app of one command, which typer takes for the command itself."""
    module, function = COMMANDS[name].split(":")
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    if summary:
        alone.command(name, help=first_line(module, function))(lambda: None)
    else:
        with quiet_exit():
            found = import_module(f"haystat.cli.{module}")
        alone.command(name)(getattr(found, function))
    return alone


def first_line(module: str, function: str) -> str:
    """What the docstring of a command begins with, without importing its module."""
    spec = find_spec(f"haystat.cli.{module}")
    source = Path(str(spec and spec.origin)).read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return (ast.get_docstring(node) or "").partition("\n")[0]
    raise LookupError(f"haystat.cli.{module} has no function {function}")
