"""Small logs of every tool, in the shape that the tool writes, and the command line."""

from __future__ import annotations

import json
import sys

import pytest
from logs import WRITERS

from haystat.cli import main

collect_ignore_glob = ["with_*.py"]  # run by environments that have the tools


@pytest.fixture(params=sorted(WRITERS))
def log(request, tmp_path):
    """The name of a format, and a log of eight traces in it."""
    return request.param, WRITERS[request.param](tmp_path)


@pytest.fixture
def run(capsys, monkeypatch):
    """Run the command line as the program would; its output, or with a code its error."""

    def run(*arguments, code=0):
        monkeypatch.setattr(sys, "argv", ["haystat", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        out, error = capsys.readouterr()
        assert (end.value.code or 0) == code, error
        if code:
            assert error.count("\n") == 1, error
            return error
        return json.loads(out) if "--json" in arguments else out

    return run
