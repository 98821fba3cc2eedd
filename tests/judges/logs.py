"""Logs of eight traces, of which the judge "tone" finds the last three to fail.

What the tools themselves write is read in test_real_tools.py; these have the same parts.
"""

from __future__ import annotations

import json
import zipfile

SCORES = [0.95, 0.9, 0.85, 0.8, 0.7, 0.3, 0.2, 0.1]
FAILED = [int(score < 0.5) for score in SCORES]
REASON = "It is **rude** <script>alert(1)</script>"


def asked(k):
    return f"Question {k}?"


def said(k):
    return f"Answer {k}"


def sample(k):
    return {
        "id": k + 1,
        "epoch": 1,
        "input": asked(k),
        "target": ["Paris"],
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": [{"type": "text", "text": asked(k)}]},
            {
                "role": "assistant",
                "content": "attachment://aa",
                "tool_calls": [{"id": "1", "function": "add", "arguments": {"x": 1}}],
            },
            {"role": "tool", "content": "2", "function": "add"},
            {"role": "assistant", "content": said(k)},
        ],
        "scores": {
            "tone": {"value": SCORES[k], "explanation": REASON},
            "grade": {"value": "I" if FAILED[k] else "C", "explanation": "graded"},
        },
        "metadata": {"topic": "geo" if k % 2 else "law", "nested": {"not": "shown"}},
        "attachments": {"aa": "Let me see."},
    }


def inspect_archive(folder, method=zipfile.ZIP_DEFLATED, version=2):
    path = folder / "run.eval"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("_journal/start.json", json.dumps({"version": version}))
        for k in range(8):
            archive.writestr(f"samples/{k + 1}_epoch_1.json", json.dumps(sample(k)))
        archive.writestr("header.json", json.dumps({"version": version, "status": "success"}))
    return path


def inspect_document(folder):
    path = folder / "run.json"
    path.write_text(json.dumps({"version": 2, "samples": [sample(k) for k in range(8)]}))
    return path


def promptfoo_result(k):
    part = {"pass": not FAILED[k], "score": SCORES[k], "reason": REASON}
    return {
        "id": f"r{k}",
        "prompt": {"raw": json.dumps([{"role": "user", "content": asked(k)}])},
        "response": {"output": said(k)},
        "provider": {"id": "echo"},
        "success": not FAILED[k],
        "score": SCORES[k],
        "gradingResult": {
            "reason": "whole",
            "componentResults": [{**part, "assertion": {"type": "llm-rubric", "metric": "tone"}}],
        },
    }


def promptfoo_document(folder, version=3):
    path = folder / "results.json"
    results = {"version": version, "results": [promptfoo_result(k) for k in range(8)]}
    path.write_text(json.dumps({"evalId": "e", "results": results}, indent=1))
    return path


def promptfoo_lines(folder):
    path = folder / "results.jsonl"
    path.write_text("".join(json.dumps(promptfoo_result(k)) + "\n" for k in range(8)))
    return path


def deepeval_run(folder):
    cases = [
        {
            "name": f"case {k}",
            "input": asked(k),
            "actualOutput": said(k),
            "toolsCalled": [{"name": "add", "inputParameters": {"x": 1}}],
            "metricsData": [
                {"name": "tone", "score": SCORES[k], "success": not FAILED[k], "reason": REASON}
            ],
        }
        for k in range(7)
    ]
    talk = {
        "name": "talk",
        "turns": [{"role": "user", "content": asked(7)}, {"role": "assistant", "content": said(7)}],
        "metricsData": [{"name": "tone", "score": SCORES[7], "success": False, "reason": REASON}],
    }
    path = folder / "test_run.json"
    path.write_text(json.dumps({"testCases": cases, "conversationalTestCases": [talk]}))
    return path


def openai_events(folder):
    lines = [{"spec": {"eval_name": "tone"}}]
    for k in range(8):
        event = {"run_id": "r", "sample_id": f"tone.{k}"}
        prompt = [{"role": "user", "content": asked(k)}]
        lines += [
            {**event, "type": "sampling", "data": {"prompt": prompt, "sampled": [said(k)]}},
            {**event, "type": "sampling", "data": {"prompt": "Grade it", "sampled": [REASON]}},
            {**event, "type": "metrics", "data": {"tone": SCORES[k]}},
        ]
    lines.append({"final_report": {"score": 0.6}})
    path = folder / "record.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def openai_items(folder):
    items = [
        {
            "object": "eval.run.output_item",
            "id": f"item {k}",
            "results": [
                {
                    "name": "tone",
                    "score": SCORES[k],
                    "passed": not FAILED[k],
                    "sample": {"output": [{"role": "assistant", "content": REASON}]},
                }
            ],
            "sample": {
                "input": [{"role": "user", "content": asked(k)}],
                "output": [{"role": "assistant", "content": said(k)}],
            },
        }
        for k in range(8)
    ]
    path = folder / "items.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return path


def mlflow_table(folder):
    """eval_results_table.json of mlflow.evaluate."""
    columns = ["inputs", "outputs", "tone/v1/score", "tone/v1/justification"]
    data = [[asked(k), said(k), SCORES[k], REASON] for k in range(8)]
    path = folder / "eval_results_table.json"
    path.write_text(json.dumps({"columns": columns, "data": data}))
    return path


def mlflow_traces(folder):
    """mlflow.search_traces().to_json(orient="records"): what people said is not a judge's."""
    person = {
        "assessment_name": "tone",
        "source": {"source_type": "HUMAN", "source_id": "ann"},
        "feedback": {"value": 0.0},
    }
    rows = [
        {
            "trace_id": f"tr-{k}",
            "request": {"messages": [{"role": "user", "content": asked(k)}]},
            "response": {"choices": [{"message": {"role": "assistant", "content": said(k)}}]},
            "assessments": [
                {
                    "assessment_name": "tone",
                    "source": {"source_type": "LLM_JUDGE"},
                    "feedback": {"value": SCORES[k]},
                    "rationale": REASON,
                },
                person,
            ],
        }
        for k in range(8)
    ]
    path = folder / "traces.json"
    path.write_text(json.dumps(rows))
    return path


def phoenix_rows(folder):
    """Spans and annotations as the client's data frames, one after the other in a file."""
    spans = [
        {
            "context.span_id": f"s{k}",
            "attributes.llm.input_messages": [
                {"message.role": "user", "message.content": asked(k)}
            ],
            "attributes.input.value": asked(k),
            "attributes.output.value": said(k),
        }
        for k in range(8)
    ]
    notes = [
        {
            "span_id": f"s{k}",
            "annotation_name": "tone",
            "annotator_kind": "LLM",
            "result.label": None,
            "result.score": SCORES[k],
            "result.explanation": REASON,
        }
        for k in range(8)
    ]
    notes.append({**notes[0], "annotator_kind": "HUMAN", "result.score": 0.0})
    path = folder / "phoenix.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in spans + notes))
    return path


def phoenix_api(folder):
    """Spans and annotations as the server sends them."""
    rows = []
    for k in range(8):
        attributes = {"input.value": asked(k), "output.value": said(k)}
        result = {"label": "rude" if FAILED[k] else "kind", "score": SCORES[k]}
        note = {"span_id": f"s{k}", "name": "tone", "annotator_kind": "LLM"}
        rows += [
            {"name": "chat", "context": {"span_id": f"s{k}"}, "attributes": attributes},
            {**note, "result": {**result, "explanation": REASON}},
        ]
    path = folder / "spans.json"
    path.write_text(json.dumps({"data": rows}, indent=1))
    return path


#: "format: what it writes" -> writes a log of it
WRITERS = {
    "inspect: eval": inspect_archive,
    "inspect: json": inspect_document,
    "promptfoo: json": promptfoo_document,
    "promptfoo: jsonl": promptfoo_lines,
    "deepeval: run": deepeval_run,
    "openai-evals: events": openai_events,
    "openai-evals: items": openai_items,
    "mlflow: table": mlflow_table,
    "mlflow: traces": mlflow_traces,
    "phoenix: frames": phoenix_rows,
    "phoenix: api": phoenix_api,
}
