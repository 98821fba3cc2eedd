"""What a release needs: one version everywhere, data in the package, a README of one screen."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import haystat

ROOT = Path(__file__).parents[1]


def test_the_version_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.M)
    assert haystat.__version__ == project["version"] == cited[1]


def test_every_extra_that_a_message_names_exists():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    known = set(extras["optional-dependencies"])
    for path in (ROOT / "src").rglob("*.py"):
        for named in re.findall(r"haystat\[([a-z,]+)\]", path.read_text("utf-8")):
            assert set(named.split(",")) <= known, (path, named)
        for named in re.findall(r'needed\("[^"]+", "[^"]+", "(\w+)"\)', path.read_text("utf-8")):
            assert named in known, (path, named)


def test_the_readme_is_short_and_begins_with_a_picture_and_two_commands():
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    assert len(lines) < 120
    first = "\n".join(lines[:14])
    assert "![" in first
    assert len(re.findall(r"^    \S", first, re.M)) == 2
