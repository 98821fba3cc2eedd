"""The shape of the package: imports point one way, and the public names are the visible ones."""

from __future__ import annotations

import ast
import re
import types
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import haystat

ROOT = Path(haystat.__file__).parent
#: rooms from the ground up; a room may import itself and those below it. Rooms of one line are
#: neighbours and may import each other as long as no module imports itself in a circle.
STOREYS = (
    ("errors",),
    ("core",),
    ("display",),
    ("measures",),
    ("pool",),
    ("engines",),
    ("models",),
    ("inference",),
    ("designs",),
    ("decisions",),
    ("loop", "report", "notebook"),
    ("study",),
    ("planning", "comparison"),
    ("formats",),
    ("experiments",),
    ("cli", "web", "demo", "pytest_plugin"),
)
HEIGHT = {room: height for height, rooms in enumerate(STOREYS) for room in rooms}
MODULES = sorted(path for path in ROOT.rglob("*.py") if path.parent != ROOT or path.stem[0] != "_")


def room_of(path):
    """The folder, or the file directly under the package."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_rooms(path):
    """Rooms of this package that a module imports, wherever in the file, with the line."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports by a relative name"
            whole = node.module == "haystat"
            names = [f"haystat.{a.name}" for a in node.names] if whole else [node.module or ""]
        else:
            continue
        for name in names:
            first, *rest = name.split(".")
            if first == "haystat" and rest:
                yield rest[0], node.lineno


def room_height(room):
    assert room in HEIGHT, f"room {room!r} has no place in the order; add it to STOREYS"
    return HEIGHT[room]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_to_rooms_further_down(path):
    height = room_height(room_of(path))
    for room, line in imported_rooms(path):
        if room == "__version__":
            continue
        assert room_height(room) <= height, f"{path}:{line} imports {room} from above"


def names_imported(node):
    """Modules that the code below a node imports, in functions too, but not for types alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.ImportFrom):
            yield from (f"{child.module}.{alias.name}" for alias in child.names)
            yield child.module
        yield from names_imported(child)


def test_no_module_imports_itself_in_a_circle_not_even_inside_functions():
    name_of = {
        path: ".".join(("haystat", *path.relative_to(ROOT).with_suffix("").parts))
        for path in MODULES
        if path.stem != "__init__"
    }
    graph = {
        name: set(names_imported(ast.parse(path.read_text()))) & set(name_of.values()) - {name}
        for path, name in name_of.items()
    }
    TopologicalSorter(graph).prepare()  # raises CycleError


#: what is told apart by a method that it has, never by its kind
KINDS = {
    node.name
    for path in MODULES
    for node in ast.parse(path.read_text()).body
    if isinstance(node, ast.ClassDef)
    and re.search("(Estimate|SideBySide|Pool|SameItems|Journal|Ledger|Store)$", node.name)
} | {kind.__name__ for kind in haystat.designs.DESIGNS.values()}


def test_kinds_that_are_told_apart_by_methods_are_found():
    assert {"CredibleEstimate", "VersionPool", "SqliteJournal", "StochasticLedger"} <= KINDS


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_kinds_of_parts_are_not_asked_for(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "type"):
            asked = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} & KINDS
            assert not asked, f"{path}:{node.lineno} asks whether it is {asked}; call a method"


def test_the_public_names_are_what_is_visible():
    assert all(getattr(haystat, name) is not None for name in haystat.__all__)
    visible = {name for name in dir(haystat) if not name.startswith("_")}
    visible -= {"TYPE_CHECKING", "lazy_names"}
    # Importing a submodule makes it visible whether it is meant to be public or not.
    rooms = {n for n in visible if isinstance(getattr(haystat, n), types.ModuleType)}
    assert visible - (rooms - set(haystat.__all__)) == set(haystat.__all__)
    assert list(haystat.__all__) == sorted(haystat.__all__)


@pytest.mark.parametrize("room", ["", "measures", "designs", "study"])
def test_what_waits_until_it_is_used_is_what_type_checkers_see(room):
    package = import_module(f"haystat.{room}".rstrip("."))
    tree = ast.parse((ROOT / room / "__init__.py").read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    for node in block.body:
        for alias in node.names:
            seen = (
                import_module(f"{node.module}.{alias.name}")
                if node.module == "haystat"
                else (getattr(import_module(node.module), alias.name))
            )
            assert getattr(package, alias.name) is seen
    assert set(package.__all__) <= set(dir(package))
    assert all(getattr(package, name) is not None for name in package.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = package.Nothing
