"""A fixture for tests of models: fails where a study shows that a requirement does not hold.

def test_model(haystat_gate):
    haystat_gate("study.haystat", "recall>=0.8", "f1>=baseline-0.01")
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from haystat.decisions.gate import Verdict, gate
from haystat.errors import BadOption

OPTION = "haystat_undecided"
STATES = ("fail", "skip", "xfail")


def pytest_addoption(parser: pytest.Parser) -> None:
    """What becomes of a test while its gate is undecided."""
    parser.addini(
        OPTION, "what an undecided haystat gate does: fail, skip or xfail", default="fail"
    )


@pytest.fixture
def haystat_gate(request: pytest.FixtureRequest) -> Callable[..., Verdict]:
    """Call it with a study (a path, a Study or an Evaluation) and requirements, as hs.gate."""
    undecided = str(request.config.getini(OPTION))
    if undecided not in STATES:
        raise BadOption(f"{OPTION} is {undecided!r}; it can be {', '.join(STATES)}")

    def judge(study: Any, *requirements: str, **options: Any) -> Verdict:
        verdict = _verdict(study, requirements, options)
        if verdict.failed:
            pytest.fail(str(verdict), pytrace=False)
        if verdict.undecided:
            getattr(pytest, undecided)(f"{verdict}\nLabel more: haystat label")
        return verdict

    return judge


def _verdict(study: Any, requirements: tuple[str, ...], options: dict[str, Any]) -> Verdict:
    if not isinstance(study, str | Path):
        return gate(study, *requirements, **options)
    from haystat.study import Study

    with Study.open(study) as opened:
        return gate(opened, *requirements, **options)
