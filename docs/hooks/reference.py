"""The parts of the reference that are made from the package itself."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import typer

import haystat
from haystat.cli import app
from haystat.cli.commands import COMMANDS

#: names that live deeper, and that pages show
DEEPER = {
    "haystat.formats": ("read_log",),
    "haystat.formats.traces": ("judged", "Judged", "Trace", "Verdict"),
    "haystat.formats.conversation": ("conversation", "message"),
    "haystat.demo.traces": ("write_traces",),
}
#: modules whose public names stand in the reference, beside those of haystat itself
MODULES = ("haystat.measures", "haystat.designs", "haystat.study", "haystat.errors")


def commands_page() -> str:
    """Every command with its arguments and options."""
    group: Any = typer.main.get_command(app)
    return "\n".join(_command(name, group.get_command(None, name)) for name in COMMANDS)


def _command(name: str, command: Any) -> str:
    about = inspect.cleandoc(command.help or "")
    text, _, example = about.partition("Example: ")
    lines = [f"## haystat {name}", "", text.strip(), ""]
    if example:
        lines += ["```sh", example.strip(), "```", ""]
    rows = [_row(parameter) for parameter in command.params if parameter.name != "help"]
    return "\n".join([*lines, "| | | default |", "|---|---|---|", *rows, ""])


def _row(parameter: Any) -> str:
    names = parameter.opts + parameter.secondary_opts
    positional = parameter.param_type_name == "argument"
    shown = f"{parameter.name}" if positional else ", ".join(names)
    default = "" if parameter.default in (None, False, [], ()) else f"`{parameter.default}`"
    default = "required" if parameter.required else default
    about = (getattr(parameter, "help", "") or "").replace("|", "\\|")
    return f"| `{shown}` | {about} | {default.replace('|', '')} |"


def public_names() -> dict[str, str]:
    """Every public name, and the object behind it as mkdocstrings finds it."""
    found = {}
    for name in haystat.__all__:
        value = getattr(haystat, name)
        if not inspect.ismodule(value):
            found[f"haystat.{name}"] = f"{value.__module__}.{value.__qualname__}"
    for module in MODULES:
        loaded = import_module(module)
        for name in getattr(loaded, "__all__", None) or _own(loaded):
            value = getattr(loaded, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                found[f"{module}.{name}"] = f"{value.__module__}.{value.__qualname__}"
    for module, names in DEEPER.items():
        for name in names:
            value = getattr(import_module(module), name)
            found[f"{module}.{name}"] = f"{value.__module__}.{value.__qualname__}"
    return found


def _own(module: Any) -> list[str]:
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
    ]


def api_page() -> str:
    """A section a name; mkdocstrings fills them in."""
    lines: list[str] = []
    room = ""
    seen: dict[str, str] = {}
    for name, target in public_names().items():
        here = name.rpartition(".")[0]
        if here != room:
            room = here
            lines += [f"## {room}", ""]
        lines += [f"### {name}", ""]
        if target in seen:
            lines += [f"The same as `{seen[target]}`.", ""]
        else:
            seen[target] = name
            lines += [f"::: {target}", "    options:", "      heading_level: 4", ""]
    return "\n".join(lines)
