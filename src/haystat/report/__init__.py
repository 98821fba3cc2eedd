"""A study as a report: one page for people, Markdown, or JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from haystat.core.json_text import json_text
from haystat.report.collect import collect
from haystat.report.markdown import markdown_page
from haystat.report.page import html_page

__all__ = ["FORMATS", "collect", "html_page", "json_page", "markdown_page"]


def json_page(report: Mapping[str, Any]) -> str:
    """All numbers of the report; one that does not exist is null."""
    return json_text(report) + "\n"


#: name -> what writes a report that `collect` made
FORMATS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "html": html_page,
    "md": markdown_page,
    "json": json_page,
}
