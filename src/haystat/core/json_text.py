"""Results as JSON, which has no NaN and no infinity: null stands for them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np


def json_text(value: Any) -> str:
    """A result as indented JSON.

    >>> print(json_text({"value": np.float64("nan")}))
    {
      "value": null
    }
    """
    return json.dumps(_finite(value), indent=2, ensure_ascii=False, default=str)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value
