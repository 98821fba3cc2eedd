"""One script out of several: modules that import each other become functions of one file."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";$', re.M)
EXPORT = re.compile(r"^export ((?:async )?(?:function|class|const|let) ([\w$]+))", re.M)
#: where scripts lie: those of the widget, and those of the page, which it shares
FOLDERS = ("haystat.notebook", "haystat.web")


@cache
def bundled(name: str) -> str:
    """A script with all that it imports; what it exports is exported."""
    parts: dict[str, str] = {}
    exports = _add(name, parts)
    pairs = ", ".join(f"{word}: m_{name}.{word}" for word in exports)
    return "\n".join([*parts.values(), f"export default {{ {pairs} }};"])


def _add(name: str, parts: dict[str, str]) -> list[str]:
    """Put a script behind those that it imports; the names that it exports."""
    source = _source(name)
    for _, other in IMPORT.findall(source):
        if other not in parts:
            _add(other, parts)
    body = IMPORT.sub(lambda found: f"const {{{found[1]}}} = m_{found[2]};", source)
    exports = [word for _, word in EXPORT.findall(body)]
    body = EXPORT.sub(r"\1", body)
    parts[name] = f"const m_{name} = (() => {{\n{body}\nreturn {{ {', '.join(exports)} }};\n}})();"
    return exports


def _source(name: str) -> str:
    for folder in FOLDERS:
        path = files(folder) / "static" / f"{name}.js"
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise FileNotFoundError(f"{name}.js")
