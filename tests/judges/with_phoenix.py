"""Run by a Python with Phoenix: log spans with annotations, or read back what a study sent."""

import json
import sys
import time

from phoenix.client import Client

client = Client(base_url=sys.argv[1])
ids = [f"{k + 1:016x}" for k in range(12)]

if sys.argv[2] == "log":
    spans = [
        {
            "name": "chat",
            "context": {"trace_id": f"{k + 1:032x}", "span_id": ids[k]},
            "span_kind": "LLM",
            "start_time": "2026-01-01T00:00:00Z",
            "end_time": "2026-01-01T00:00:01Z",
            "status_code": "OK",
            "attributes": {
                "input.value": f"Question {k}?",
                "output.value": "bad" if k % 3 == 0 else "good",
            },
        }
        for k in range(12)
    ]
    client.spans.log_spans(project_identifier="default", spans=spans)
    for _ in range(100):
        frame = client.spans.get_spans_dataframe(project_identifier="default")
        if len(frame) == 12:
            break
        time.sleep(0.2)
    for k in range(12):
        client.spans.add_span_annotation(
            span_id=ids[k],
            annotation_name="tone",
            annotator_kind="LLM",
            label="rude" if k % 3 == 0 else "kind",
            score=0.1 if k % 3 == 0 else 0.8,
            explanation="by rule",
            sync=True,
        )
    notes = client.spans.get_span_annotations_dataframe(
        spans_dataframe=frame, project_identifier="default"
    )
    frame.to_json("phoenix.jsonl", orient="records", lines=True, date_format="iso")
    with open("phoenix.jsonl", "a") as file:
        file.write(notes.reset_index().to_json(orient="records", lines=True, date_format="iso"))
else:
    notes = client.spans.get_span_annotations(span_ids=ids, project_identifier="default")
    print(json.dumps([note for note in notes if note["annotator_kind"] == "HUMAN"], default=str))
