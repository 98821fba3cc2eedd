"""Commands start quickly: nothing is imported that a command does not use."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import haystat as hs
from haystat.cli import app
from haystat.cli.commands import COMMANDS, first_line

PROGRAM = """
import sys
from haystat.cli import app
try:
    app({arguments!r})
except SystemExit as end:
    assert not end.code, end.code
print("loaded:", *sorted(name for name in {heavy!r} if name in sys.modules))
"""


def loaded(arguments, heavy):
    """Those of the heavy modules that a command imported."""
    program = PROGRAM.format(arguments=[str(a) for a in arguments], heavy=heavy)
    run = [sys.executable, "-c", program]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()[1:]


def test_help_imports_no_statistics():
    assert loaded(["--help"], ["scipy", "numba", "narwhals", "sqlite3", "pandas"]) == []


def test_status_imports_only_the_measure_and_the_design_of_the_study(tmp_path):
    scores = np.random.default_rng(0).normal(-2, 1.5, 2000)
    path = tmp_path / "s.haystat"
    with hs.Study.create(path, hs.Pool(scores), random_state=0) as study:
        study.tell({question.item: int(scores[question.item] > 0) for question in study.ask(40)})
    heavy = ["numba", "scipy.stats", "scipy.optimize", "narwhals", "pandas", "pyarrow"]
    heavy += ["haystat.formats", "haystat.measures.curves", "haystat.measures.combine"]
    heavy += ["haystat.pool.memory", "haystat.study.versions", "haystat.pool.text_signals"]
    heavy += ["haystat.designs.adaptive", "haystat.decisions.threshold", "urllib.request"]
    assert loaded(["status", path], heavy) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_has_its_help(name):
    found = CliRunner().invoke(app, [name, "--help"])
    assert found.exit_code == 0, found.output
    words = first_line(*COMMANDS[name].split(":")).split()
    assert words[0] in found.output
    assert words


def test_an_unknown_command_is_named_with_a_suggestion():
    found = CliRunner().invoke(app, ["estimat"])
    assert found.exit_code == 2
    assert "estimate" in found.output
