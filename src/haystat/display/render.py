"""Pages by templates: every text is escaped, and a name that is not there is an error."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any


@cache
def environment(package: str, **filters: Callable[..., Any]) -> Any:
    """What renders the templates of a package, those in its folder `templates`."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"as": format, **filters}
    return found
