"""Run by a Python with MLflow: evaluate into a server, or read back what a study sent there."""

import json
import sys

import mlflow
from mlflow import MlflowClient
from mlflow.entities import Feedback
from mlflow.genai import scorer

address, what = sys.argv[1], sys.argv[2]
mlflow.set_tracking_uri(address)

if what == "evaluate":

    @scorer
    def tone(inputs, outputs):
        return Feedback(value="no" if "bad" in outputs else "yes", rationale="by rule")

    @scorer
    def guard(inputs, outputs):
        return Feedback(value=0.1 if "bad" in outputs else 0.8, rationale="by rule")

    data = [
        {"inputs": {"question": f"Question {k}?"}, "outputs": "bad" if k % 3 == 0 else "good"}
        for k in range(12)
    ]
    found = mlflow.genai.evaluate(data=data, scorers=[tone, guard])
    found.result_df.to_json("result.json", orient="records")
    mlflow.search_traces().to_json("traces.json", orient="records", default_handler=str)
else:
    run = MlflowClient().get_run(what)
    human = [
        {
            "trace": trace.info.trace_id,
            "name": one.name,
            "who": one.source.source_id,
            "value": one.feedback.value,
            "milliseconds": one.create_time_ms,
            "valid": one.valid,
        }
        for trace in mlflow.search_traces(return_type="list")
        for one in trace.info.assessments
        if one.source.source_type == "HUMAN"
    ]
    print(json.dumps({"metrics": run.data.metrics, "tags": run.data.tags, "human": human}))
