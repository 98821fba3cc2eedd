"""What tests of all rooms share: the command line in this process, and which worker runs what."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout

import pytest

from haystat.cli import main

#: it has no doctests, and as a module its name is that of other files
collect_ignore = ["conftest.py"]


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of one file run in one worker, so that what they share is made once."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest.fixture(scope="session")
def haystat():
    """Run the command line as the program would: code, output and errors."""

    def haystat(*arguments: object) -> subprocess.CompletedProcess[str]:
        out, error = io.StringIO(), io.StringIO()
        command = ["haystat", *map(str, arguments)]
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(error):
            patch.setattr(sys, "argv", command)
            with pytest.raises(SystemExit) as end:
                main()
        return subprocess.CompletedProcess(
            command, end.value.code or 0, out.getvalue(), error.getvalue()
        )

    return haystat


@pytest.fixture(scope="session")
def run(haystat):
    """The output of a command, or with a code its error."""

    def run(*arguments, code=0):
        done = haystat(*arguments)
        assert done.returncode == code, done.stderr
        if code:
            assert done.stderr.count("\n") == 1, done.stderr
            return done.stderr
        return json.loads(done.stdout) if "--json" in arguments else done.stdout

    return run
