"""MLflow: evaluation tables in; estimates to a run and labels as assessments out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from haystat.errors import BadOption
from haystat.formats.base import Format
from haystat.formats.conversation import messages_of
from haystat.formats.http_api import Target
from haystat.formats.log_files import reading
from haystat.formats.results import facts, labels, metrics, write_metrics
from haystat.formats.traces import Trace, Verdict, verdict_of
from haystat.formats.verdict_tables import Row, cell, parsed, read_rows, verdicts_in
from haystat.study.study import Study

TOOL = "MLflow"
VALUES, REASONS = ("/value", "/score"), ("/rationale", "/justification")
ASKED = ("request", "inputs", "input", "question", "messages")
SAID = ("response", "outputs", "output", "prediction", "answer")
TRACES = "/api/3.0/mlflow/traces"
RUNS = "/api/2.0/mlflow/runs"


def read_table(path: Path) -> Iterator[Trace]:
    """Rows of an evaluation: eval_results_table.json, result_df, or mlflow.search_traces()."""
    with reading(path, TOOL):
        for number, row in enumerate(read_rows(path)):
            yield trace_of(row, number)


def trace_of(row: Row, number: int) -> Trace:
    """A row: request, response, and what the scorers say in columns or as assessments."""
    messages = messages_of(parsed(cell(row, ASKED)), "user")
    messages += messages_of(parsed(cell(row, SAID)), "assistant")
    verdicts = verdicts_in(row, VALUES, REASONS) or _assessed(parsed(row.get("assessments")))
    wanted = cell(row, ("targets", "target", "ground_truth"))
    shown = {} if wanted is None else {"target": wanted}
    return Trace(str(cell(row, ("trace_id", "request_id")) or number), messages, verdicts, shown)


def _assessed(assessments: Any) -> dict[str, Verdict]:
    """What judges say, not people: their assessments are labels."""
    found: dict[str, Verdict] = {}
    for one in assessments if isinstance(assessments, list) else ():
        source = one.get("source") or {}
        if source.get("source_type") == "HUMAN" or one.get("valid") is False:
            continue
        verdict = verdict_of((one.get("feedback") or {}).get("value"), one.get("rationale"))
        if verdict is not None:
            found[str(one["assessment_name"])] = verdict
    return found


def send(study: Study, target: Target) -> dict[str, Any]:
    """Estimate to a run, labels to their traces; what is there already is not sent again."""
    run = target.run or _new_run(study, target)
    now = int(time.time() * 1000)
    numbers = metrics(study)
    batch = [{"key": k, "value": v, "timestamp": now, "step": 0} for k, v in numbers.items()]
    tags = [{"key": key, "value": value} for key, value in facts(study).items()]
    target.post(f"{RUNS}/log-batch", {"run_id": run, "metrics": batch, "tags": tags})
    if target.run is None:
        target.post(f"{RUNS}/update", {"run_id": run, "status": "FINISHED", "end_time": now})
    outcomes = [_assess(target, row) for row in labels(study)]
    return {"run": run, "metrics": numbers, **{n: outcomes.count(n) for n in sorted({*outcomes})}}


def _new_run(study: Study, target: Target) -> str:
    name = quote(target.experiment, safe="")
    path = f"/api/2.0/mlflow/experiments/get-by-name?experiment_name={name}"
    found = target.get(path)
    if found is None:
        raise BadOption(f"{target.address} has no experiment {target.experiment!r}")
    body = {
        "experiment_id": found["experiment"]["experiment_id"],
        "run_name": f"haystat {study.path.stem}",
        "start_time": int(time.time() * 1000),
    }
    return str(target.post(f"{RUNS}/create", body)["run"]["info"]["run_id"])


def _assess(target: Target, row: dict[str, Any]) -> str:
    """Send one label: sent, known, changed, or no trace of that id there."""
    path = f"{TRACES}/{quote(str(row['item']), safe='')}"
    trace = target.get(path)
    if trace is None:
        return "without_trace"
    who = row["annotator"] or "somebody"
    old = _own(trace["trace"]["trace_info"].get("assessments") or (), target.name, who)
    if old is not None and old["feedback"].get("value") == row["label"]:
        return "known"
    assessment = {
        "assessment_name": target.name,
        "trace_id": str(row["item"]),
        "source": {"source_type": "HUMAN", "source_id": who},
        "create_time": row["time"],
        "last_update_time": row["time"],
        "feedback": {"value": row["label"]},
        "metadata": {"haystat.answered": row["time"], "haystat.annotator": who},
        "valid": True,
    }
    assessment |= {} if old is None else {"overrides": old["assessment_id"]}
    target.post(f"{path}/assessments", {"assessment": assessment})
    return "sent" if old is None else "changed"


def _own(assessments: Any, name: str, who: str) -> dict[str, Any] | None:
    """Our valid assessment of that name by that person."""
    for one in assessments:
        same = one.get("assessment_name") == name and one.get("valid") is not False
        if same and (one.get("metadata") or {}).get("haystat.annotator") == who:
            return dict(one)
    return None


MLFLOW = Format(
    "mlflow",
    TOOL,
    traces=read_table,
    summary=write_metrics,
    send=send,
    token="MLFLOW_TRACKING_TOKEN",
)
