"""A study of ten pairs of people, and the command line."""

from __future__ import annotations

import json
import sys

import pytest
from ten_people import ITEMS, LABELS, make_people_study

from haystat.cli import main


@pytest.fixture
def people(tmp_path):
    with make_people_study(tmp_path / "people.haystat") as study:
        study.ask(10, "tool", "1d")
        yield study


@pytest.fixture
def truth():
    return dict(zip(ITEMS, LABELS, strict=True))


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
