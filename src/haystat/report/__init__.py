"""A study as a report: one page for people, Markdown, or JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from haystat.report.collect import collect
from haystat.report.markdown import markdown_page
from haystat.report.page import html_page

__all__ = ["FORMATS", "collect", "html_page", "json_page", "markdown_page"]


def json_page(report: Mapping[str, Any]) -> str:
    """All numbers of the report; one that does not exist is null."""
    return json.dumps(_finite(report), indent=2, ensure_ascii=False, default=str) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


#: name -> what writes a report that `collect` made
FORMATS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "html": html_page,
    "md": markdown_page,
    "json": json_page,
}
