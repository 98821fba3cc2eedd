"""Tests that share a browser or a Spark session run in one worker."""

from __future__ import annotations

import pytest


@pytest.mark.xdist_group("of this file")
def test_groups_of_tests_are_kept_together(request):
    """A pytest that is newer than its pin lets xdist overlook the groups, without a word."""
    if not hasattr(request.config, "workerinput") or not request.config.option.loadgroup:
        pytest.skip("only where workers share the tests: make test")
    assert request.node.nodeid.endswith("@of this file")
