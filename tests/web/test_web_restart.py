"""A server that is killed under load, and started again: nothing acknowledged is lost."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path

import pytest
from web_case import in_a_thread

BENCH = Path(__file__).parents[2] / "bench" / "serve.py"


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("bench_serve", BENCH)
    module = sys.modules["bench_serve"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("kill", [False, True])
def test_nothing_acknowledged_is_lost_or_doubled(bench, tmp_path, kill):
    options = argparse.Namespace(people=8, seconds=60.0, answers=200, items=5000, kill=kill)
    figures = in_a_thread(bench.measure, tmp_path, options)
    assert figures["answers acknowledged"] >= 200
    assert figures["acknowledged but lost"] == 0
    assert figures["recorded twice"] == 0
    assert figures["answered by two people"] == 0
    assert figures["errors"] == 0
    assert figures["verify"] == "passes"
    assert (figures["connections lost"] > 0) == kill
