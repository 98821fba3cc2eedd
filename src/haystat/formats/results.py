"""What a study found: numbers by name that other tools keep, and labels with their authors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from haystat import __version__
from haystat.core.disk import write_whole
from haystat.study.answer_files import answer_rows
from haystat.study.study import Study


def metrics(study: Study) -> dict[str, float]:
    """Value, ends of the interval and number of labels; what is not known yet is left out.

    Names are those of the measure's components, with _low and _high behind.
    """
    estimate = study.estimate()
    found: dict[str, float] = {}
    rows = zip(estimate.components, estimate.values, estimate.intervals, strict=True)
    for name, value, (low, high) in rows:
        ends = {name: value, f"{name}_low": low, f"{name}_high": high}
        found |= {key: float(number) for key, number in ends.items() if np.isfinite(number)}
    return found | {"n_labels": float(estimate.n_labels)}


def facts(study: Study) -> dict[str, str]:
    """What the numbers were made with."""
    return {
        "haystat.version": __version__,
        "haystat.measure": study.measure.name,
        "haystat.design": str(study.design),
        "haystat.pool": study.pool.fingerprint,
        "haystat.items": str(study.pool.size),
    }


def labels(study: Study) -> list[dict[str, Any]]:
    """Every label with its item, who gave it and when."""
    return [row for row in answer_rows(study) if row["label"] is not None]


def write_metrics(study: Study, path: Path) -> int:
    """The numbers as a JSON object, and what they were made with; how many labels."""
    found = {"metrics": metrics(study), "level": study.estimate().level, **facts(study)}
    write_whole(path, json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    return len(labels(study))
