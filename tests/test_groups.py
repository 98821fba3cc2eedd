"""Tests that share a browser or a Spark session run in one worker, and so do those of one file."""

from __future__ import annotations

import pytest


@pytest.fixture
def name(request):
    """The name of the test, as xdist has it."""
    if not hasattr(request.config, "workerinput") or not request.config.option.loadgroup:
        pytest.skip("only where workers share the tests: make test")
    return request.node.nodeid


@pytest.mark.xdist_group("of this file")
def test_groups_of_tests_are_kept_together(name):
    """A pytest that is newer than its pin lets xdist overlook the groups, without a word."""
    assert name.endswith("@of this file")


def test_tests_of_one_file_are_kept_together(name):
    assert name.endswith("@test_groups")
