"""Small logs of every tool, in the shape that the tool writes."""

from __future__ import annotations

import pytest
from logs import WRITERS

collect_ignore_glob = ["with_*.py"]  # run by environments that have the tools


@pytest.fixture(params=sorted(WRITERS))
def log(request, tmp_path):
    """The name of a format, and a log of eight traces in it."""
    return request.param, WRITERS[request.param](tmp_path)
