"""A study that goes on from an earlier version, on the page."""

from __future__ import annotations

import pytest
from web_case import calling, make_pool, make_study, serving

pytestmark = [pytest.mark.xdist_group("browser")]


@pytest.fixture
def versions(tmp_path):
    """Studies of two versions, each with answers."""
    first, labels = make_study(tmp_path / "pairs.haystat")
    with first:
        first.tell({question: int(labels[question.item]) for question in first.ask(60)})
        pool, path = make_pool(seed=1)[0], tmp_path / "later.haystat"
        with first.next(pool, "march <1>", path=path) as later:
            later.tell({question: int(labels[question.item]) for question in later.ask(20)})
            return first.path, later.path


def test_the_page_has_a_line_over_the_versions(versions, open_page):
    first, later = versions
    with calling(first) as caller:
        assert "From version to version" not in caller.get("/watch").text
    with serving(later) as address:
        page = open_page(f"{address}/watch")
        page.wait_for_selector("#versions canvas")
        rows = page.locator("#versions ~ table tbody tr").all_text_contents()
        page.goto("about:blank")  # or it would miss its server
    assert [row[:9] for row in rows] == ["v1" + rows[0][2:9], "march <1>"]
    assert "to" in rows[0]
