"""Parts that are imported when they are first used: importing all of them takes half a second."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any, TypeVar

Part = TypeVar("Part")


def lazy_names(
    package: str, names_of: Mapping[str, str], modules: str = ""
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose modules wait until a name of theirs is used.

    names_of has the names that each module of the package gives, with blanks between; modules are
    names of the package themselves.

    >>> get, _ = lazy_names("haystat.measures", {"confusion": "F1 Recall"})
    >>> get("F1")()
    F1(system=None, positive=None)
    """
    module_of = {name: module for module, names in names_of.items() for name in names.split()}

    def get(name: str) -> Any:
        if name in modules.split():
            return import_module(f"{package}.{name}")
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = _part(package, f"{module_of[name]}:{name}")
        vars(import_module(package))[name] = value  # the next look finds it there
        return value

    def names() -> list[str]:
        return sorted({*vars(import_module(package)), *module_of, *modules.split()})

    return get, names


class LazyTable(MutableMapping[str, Part]):
    """Parts by name: a part, or the module of a package and the name there ("confusion:F1").

    >>> LazyTable("haystat.measures", {"f1": "confusion:F1"})["f1"]()
    F1(system=None, positive=None)
    """

    def __init__(self, package: str, parts: Mapping[str, Part | str]) -> None:
        self._package, self._parts = package, dict(parts)

    def __getitem__(self, name: str) -> Part:
        part = self._parts[name]
        if isinstance(part, str):
            part = self._parts[name] = _part(self._package, part)
        return part

    def __setitem__(self, name: str, part: Part) -> None:
        self._parts[name] = part

    def __delitem__(self, name: str) -> None:
        del self._parts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)


def _part(package: str, place: str) -> Any:
    module, name = place.split(":")
    return getattr(import_module(f"{package}.{module}"), name)
