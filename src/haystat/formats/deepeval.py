"""DeepEval: the test run that it keeps as JSON (.deepeval, or DEEPEVAL_RESULTS_FOLDER)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from haystat.formats.base import Format
from haystat.formats.conversation import Message, message, messages_of
from haystat.formats.log_files import read_document, reading
from haystat.formats.traces import Trace, Verdict, verdict_of

TOOL = "DeepEval"
ADVICE = "evaluate fewer test cases at once"


def read_run(path: Path) -> Iterator[Trace]:
    """The test cases of a run, single questions and conversations."""
    with reading(path, TOOL):
        document = read_document(path, ADVICE)
        run = document.get("testRunData") or document
        for case in run["testCases"]:
            yield _trace(case, _asked_and_said(case))
        for case in run.get("conversationalTestCases") or ():
            yield _trace(case, [_turn(turn) for turn in case.get("turns") or ()])


def _trace(case: dict[str, Any], messages: list[Message]) -> Trace:
    verdicts: dict[str, Verdict] = {}
    for metric in case.get("metricsData") or ():
        # An error of the judge is no verdict, though `success` is false.
        failed = metric.get("error") is not None
        given = metric.get("score"), metric.get("reason"), metric.get("success")
        verdict = None if failed else verdict_of(*given)
        if verdict is not None:
            verdicts[str(metric["name"])] = verdict
    wanted = case.get("expectedOutput") or case.get("expectedOutcome")
    facts = {"target": wanted} if wanted else {}
    return Trace(str(case["name"]), messages, verdicts, facts)


def _asked_and_said(case: dict[str, Any]) -> list[Message]:
    found = [message("context", text) for text in case.get("retrievalContext") or ()]
    found += messages_of(case["input"], "user")
    said = case.get("actualOutput")
    return [*found, message("assistant", said, _calls(case))]


def _turn(turn: dict[str, Any]) -> Message:
    return message(turn["role"], turn.get("content"), _calls(turn))


def _calls(given: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"name": call.get("name"), "arguments": call.get("inputParameters")}
        for call in given.get("toolsCalled") or ()
    ]


DEEPEVAL = Format("deepeval", TOOL, traces=read_run)
