"""The tools themselves write what is read here, and read what is written here."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from datetime import datetime

import numpy as np
import pytest
from real_tools import QUIET, program, python_with, run_script, server

import haystat as hs
from haystat.formats import FORMATS, judged

# Servers of others start slowly on a busy machine.
pytestmark = [pytest.mark.xdist_group("tools"), pytest.mark.slow, pytest.mark.timeout(1200)]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def pool_of(tool, path, judge, **options):
    return judged(FORMATS[tool].traces(path), str(path), [judge], **options)


def last_messages(found):
    return [json.loads(text)[-1]["content"] for text in found.show["conversation"]]


def test_a_log_of_inspect_with_its_mock_model_is_read(tmp_path):
    run_script(python_with("inspect_ai"), "with_inspect.py", tmp_path)
    path = next((tmp_path / "eval").glob("*.eval"))
    found = pool_of("inspect", path, "guard")
    order = np.argsort(found.ids)
    assert found.ids[order].tolist() == ["s0", "s1", "s2", "s3"]
    assert found.predictions["guard"][order].tolist() == [0, 0, 0, 1]
    assert found.show["topic"].tolist() == ["sums"] * 4
    roles = [m["role"] for m in json.loads(found.show["conversation"][order[0]])]
    assert roles == ["system", "user", "assistant", "tool", "assistant"]
    calls = json.loads(found.show["conversation"][order[2]])[2]["tool_calls"]
    assert calls[0]["name"] == "add"
    assert json.loads(calls[0]["arguments"]) == {"x": 2, "y": 1}
    assert all(text.endswith("long long ") for text in last_messages(found))
    graded = pool_of("inspect", path, "model_graded_qa")
    assert graded.predictions["model_graded_qa"].sum() == 1
    assert all("GRADE" in text for text in graded.after["judge_reason"])


def test_results_of_promptfoo_with_its_echo_provider_are_read(tmp_path):
    promptfoo = program("promptfoo")
    config = {
        "prompts": ["Say: {{text}}"],
        "providers": ["echo"],
        "tests": [
            {
                "vars": {"text": text},
                "assert": [{"type": "contains", "value": "good", "metric": "tone"}],
            }
            for text in ("good one", "bad one", "good two")
        ],
    }
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    command = [promptfoo, "eval", "-c", "promptfooconfig.json", "--no-cache", "--no-table"]
    done = subprocess.run(
        [*command, "-o", "out.json", "-o", "out.jsonl"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=180,
        env={**os.environ, **QUIET, "PROMPTFOO_CONFIG_DIR": str(tmp_path / "own")},
    )
    assert (tmp_path / "out.jsonl").exists(), done.stderr[-2000:]
    for name in ("out.json", "out.jsonl"):
        found = pool_of("promptfoo", tmp_path / name, "tone")
        verdict = dict(zip(last_messages(found), found.predictions["tone"].tolist(), strict=True))
        assert verdict == {"Say: good one": 0, "Say: bad one": 1, "Say: good two": 0}


def test_a_run_of_deepeval_is_read(tmp_path):
    run_script(python_with("deepeval"), "with_deepeval.py", tmp_path)
    paths = [*(tmp_path / "results").glob("test_run*.json")]
    paths.append(tmp_path / ".deepeval" / ".latest_test_run.json")
    for path in paths:
        found = pool_of("deepeval", path, "Tone")
        assert sorted(found.predictions["Tone"].tolist()) == [0, 0, 1]
        np.testing.assert_allclose(sorted(found.scores["Tone"]), [0.1, 0.1, 0.8])
    assert len(paths) == 2


def labelled_study(path, found):
    """A study of all items, answered by two people."""
    study = hs.Study.create(
        path, found.pool(strata=4), "prevalence", random_state=0, show=dict(found.show)
    )
    truth = {item: int(k % 2) for k, item in enumerate(found.ids.tolist())}
    for who in ("ann", "bob"):
        study.tell({q.item: truth[q.item] for q in study.ask(4, who)}, who)
    return study


@pytest.fixture
def mlflow(tmp_path):
    python = python_with("mlflow")
    address = f"http://127.0.0.1:{(port := free_port())}"
    command = [python, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--backend-store-uri", "sqlite:///m.db", "--workers", "1"]
    with server(command, f"{address}/health", tmp_path):
        yield python, address


def test_mlflow_receives_metrics_and_labels_that_its_client_reads_back(mlflow, tmp_path, run):
    python, address = mlflow
    run_script(python, "with_mlflow.py", tmp_path, address, "evaluate")
    for name in ("result.json", "traces.json"):
        found = pool_of("mlflow", tmp_path / name, "tone")
        assert found.predictions["tone"].sum() == 4
        assert pool_of("mlflow", tmp_path / name, "guard").predictions["guard"].sum() == 4
        assert set(last_messages(found)) == {"good", "bad"}
    path = tmp_path / "study.haystat"
    with labelled_study(path, found) as study:
        estimate, answers = study.estimate(), {a.item: a for a in study.answers}
    sent = run("export", path, "--to", "mlflow", "--url", address, "--json")
    assert sent["sent"] == 8
    back = json.loads(run_script(python, "with_mlflow.py", tmp_path, address, sent["run"]))
    low, high = estimate.interval
    wanted = {"prevalence": estimate.value, "prevalence_low": low, "prevalence_high": high}
    assert back["metrics"] == pytest.approx({**wanted, "n_labels": 8})
    assert back["tags"]["haystat.measure"] == "prevalence"
    told = {one["trace"]: one for one in back["human"]}
    assert set(told) == set(answers)
    for item, one in told.items():
        answer = answers[item]
        assert (one["name"], one["who"]) == ("human_review", answer.who)
        assert one["value"] == answer.label
        when = datetime.fromisoformat(answer.time).timestamp() * 1000
        assert abs(one["milliseconds"] - when) < 1000
    # The same again sends nothing twice; a correction takes the place of what was sent.
    assert run("export", path, "--to", "mlflow", "--url", address, "--json")["known"] == 8
    item = next(iter(answers))
    with hs.Study.open(path) as study:
        study.correct(item, 1 - answers[item].label, "misread", answers[item].who)
    again = run("export", path, "--to", "mlflow", "--url", address, "--json")
    assert (again["changed"], again["known"]) == (1, 7)
    back = json.loads(run_script(python, "with_mlflow.py", tmp_path, address, again["run"]))
    valid = [one for one in back["human"] if one["trace"] == item and one["valid"] is not False]
    assert [one["value"] for one in valid] == [1 - answers[item].label]


def test_phoenix_receives_labels_that_its_client_reads_back(tmp_path, run):
    python = python_with("phoenix")
    address = f"http://127.0.0.1:{(port := free_port())}"
    variables = {
        "PHOENIX_WORKING_DIR": str(tmp_path),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(free_port()),
    }
    command = [python, "-m", "phoenix.server.main", "serve"]
    with server(command, f"{address}/healthz", tmp_path, **variables):
        run_script(python, "with_phoenix.py", tmp_path, address, "log")
        found = pool_of("phoenix", tmp_path / "phoenix.jsonl", "tone")
        assert found.predictions["tone"].sum() == 4
        assert set(last_messages(found)) == {"good", "bad"}
        path = tmp_path / "study.haystat"
        with labelled_study(path, found) as study:
            answers = {a.item: a for a in study.answers}
        for _ in range(2):  # the second time changes nothing
            sent = run("export", path, "--to", "phoenix", "--url", address, "--json")
            assert sent == {"sent": 8}
        notes = json.loads(run_script(python, "with_phoenix.py", tmp_path, address, "read"))
    assert {note["span_id"] for note in notes} == set(answers)
    assert len(notes) == 8
    for note in notes:
        answer = answers[note["span_id"]]
        assert note["result"]["label"] == str(answer.label)
        assert note["metadata"]["annotator"] == answer.who
        assert note["metadata"]["answered"] == answer.time
