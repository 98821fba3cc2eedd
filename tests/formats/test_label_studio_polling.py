"""Answers from a running Label Studio: a small server on loopback that behaves like it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from ten_people import make_people_study

import haystat as hs
from haystat.cli import poll
from haystat.formats import FORMATS, label_studio_api, make_tasks

LEGACY, PERSONAL, ACCESS = "0123456789abcdef", "eyJh.eyJ0.c2ln", "eyJh.eyJh.YWNj"
VARIABLE = "HAYSTAT_LABEL_STUDIO_TOKEN"


class LabelStudio(ThreadingHTTPServer):
    """Project 3 of a Label Studio; faults are done before it answers as it should."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.tasks: list[dict] = []
        self.faults: list = []
        self.asked = 0
        self.seen: list[str] = []
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: LabelStudio

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        good = self.path == "/api/token/refresh" and body == {"refresh": PERSONAL}
        self.reply(200 if good else 401, {"access": ACCESS} if good else {"detail": "no"})

    def do_GET(self):
        self.server.asked += 1
        self.server.seen.append(self.headers["authorization"])
        if self.server.faults:
            fault = self.server.faults.pop(0)
            if fault is not None:
                fault(self)
                return
        if self.headers["authorization"] not in (f"Token {LEGACY}", f"Bearer {ACCESS}"):
            self.reply(401, {"detail": "Invalid token."})
        elif self.path != "/api/projects/3/export?exportType=JSON":
            self.reply(404, {"detail": "Not found."})
        else:
            self.reply(200, self.server.tasks)

    def reply(self, code, value):
        self.send(code, json.dumps(value).encode())

    def send(self, code, content, length=None, **headers):
        self.send_response(code)
        self.send_header("Content-Length", str(len(content) if length is None else length))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


def status(code):
    return lambda handler: handler.reply(code, {"detail": "no"})


def hang(handler):
    handler.server.released.wait(30)


def drip(handler):
    handler.send(200, b"[", length=1000)
    for _ in range(40):
        if handler.server.released.wait(0.1):
            return
        try:
            handler.wfile.write(b" ")
        except OSError:
            return


def cut_short(handler):
    whole = json.dumps(handler.server.tasks).encode()
    handler.send(200, whole[: len(whole) // 2], length=len(whole))


def cut_unnoticed(handler):
    handler.send(200, json.dumps(handler.server.tasks).encode()[:-9])


def hang_up(handler):
    handler.connection.close()


def nested(handler):
    handler.send(200, b"[" * 100_000)


def web_page(handler):
    handler.send(200, b"<html>Welcome to nginx</html>")


def elsewhere(handler):
    handler.send(302, b"", Location="http://127.0.0.1:9/steal")


@pytest.fixture
def label_studio(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv(VARIABLE, raising=False)
    with LabelStudio() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield server
        server.released.set()
        server.shutdown()


@pytest.fixture
def study(tmp_path, label_studio, truth):
    """Ten questions, exported as tasks and annotated in Label Studio."""
    path = tmp_path / "people.haystat"
    with make_people_study(path) as made:
        questions = made.ask(10, "label-studio", "1d")
        tasks = json.loads(FORMATS["label-studio"].tasks(make_tasks(made, questions)))
    for number, task in enumerate(tasks, start=1):
        task["id"] = number
        annotate(task, truth[task["meta"]["haystat"]["item"]])
    label_studio.tasks = tasks
    return path


def annotate(task, label, who=1):
    result = [{"from_name": "haystat_label", "type": "choices", "value": {"choices": [str(label)]}}]
    note = {"completed_by": who, "updated_at": "2030-01-01T00:00:00Z", "lead_time": 2.5}
    task["annotations"] = [{**note, "result": result}]


def options(server, *more, token=LEGACY):
    return "--from", "label-studio", "--url", server.url, "--project", 3, "--token", token, *more


def n_answers(path):
    with hs.Study.open(path) as opened:
        return len(opened.answers)


@pytest.mark.parametrize("token", [LEGACY, PERSONAL])
def test_one_look_takes_what_is_annotated_and_again_nothing(study, label_studio, run, truth, token):
    asked = options(label_studio, "--json", token=token)
    found = run("import", study, *asked)
    assert (found["labels"], found["total"], found["looks"]) == (10, 10, 1)
    with hs.Study.open(study) as opened:
        assert {answer.item: answer.label for answer in opened.answers} == truth
        n_entries = len(opened.entries)
    again = run("import", study, *asked)
    assert (again["labels"], again["total"]) == (0, 10)
    with hs.Study.open(study) as opened:
        assert len(opened.entries) == n_entries


def test_the_token_may_stand_in_the_environment(study, label_studio, run, monkeypatch):
    monkeypatch.setenv(VARIABLE, LEGACY)
    asked = ("--url", label_studio.url + "/", "--project", 3)
    assert "10 labels taken" in run("import", study, *asked)
    monkeypatch.delenv(VARIABLE)
    assert VARIABLE in run("import", study, *asked, code=2)


@pytest.mark.parametrize(
    ("fault", "words", "code"),
    [
        (status(401), "refuses the token", 2),
        (status(403), "refuses the token", 2),
        (status(404), "no project 3", 2),
        (status(400), "refuses the request", 2),
        (elsewhere, "leads on to http://127.0.0.1:9/steal", 2),
        (status(429), "failed (429", 1),
        (status(500), "failed (500", 1),
        (status(503), "failed (503", 1),
        (hang, "took longer than 0.3 seconds", 1),
        (drip, "took longer than 0.3 seconds", 1),
        (hang_up, "cannot be reached, or hung up", 1),
        (cut_short, "too early", 1),
        (cut_unnoticed, "not whole JSON", 1),
        (nested, "not whole JSON", 1),
        (web_page, "is it Label Studio", 1),
    ],
)
def test_what_goes_wrong_is_one_line_and_nothing_is_recorded(
    study, label_studio, run, fault, words, code
):
    label_studio.faults = [fault]
    asked = options(label_studio, "--timeout", 0.3)
    assert words in run("import", study, *asked, code=code)
    assert n_answers(study) == 0
    assert "10 labels taken" in run("import", study, *options(label_studio))


def test_a_token_that_is_refused_is_no_project_that_is_missing(study, label_studio, run):
    assert "token" in run("import", study, *options(label_studio, token="wrong"), code=2)
    assert "token" in run("import", study, *options(label_studio, token="a.b.c"), code=2)
    other = ("--url", label_studio.url, "--project", 4, "--token", LEGACY)
    assert "no project 4" in run("import", study, *other, code=2)


def test_nobody_listening_is_one_line(study, label_studio, run):
    asked = ("--url", "http://127.0.0.1:1", "--project", 3, "--token", LEGACY)
    assert "is Label Studio running there?" in run("import", study, *asked, code=1)


def test_answers_without_end_are_refused(study, label_studio, run, monkeypatch):
    monkeypatch.setattr(label_studio_api, "LARGEST", 100)
    assert "sent more than" in run("import", study, *options(label_studio), code=2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--url", "ftp://x", "--project", 1, "--token", "t"), "such as http://localhost:8080"),
        (("--url", "localhost:8080", "--project", 1, "--token", "t"), "such as http://localhost"),
        (("--url", "http://x:99999", "--project", 1, "--token", "t"), "such as http://localhost"),
        (("--url", "http://x", "--token", "t"), "--project"),
        (("--url", "http://x", "--project", 0, "--token", "t"), "1 or more"),
        (("--url", "http://x", "--project", 1, "--token", "a\nb"), "copy it again"),
        (("--url", "http://x", "--project", 1, "--token", "t", "--timeout", -1), "positive number"),
        (("--url", "http://x", "--project", 1, "--token", "t", "--watch", "0"), "--watch is 0"),
        (("--url", "http://x", "--project", 1, "--token", "t", "--watch", "x"), "--watch is x"),
        (("--url", "http://x", "--project", 1, "--token", "t", "a.json"), "one by one"),
        (("--from", "prodigy", "--url", "http://x", "--project", 1, "--token", "t"), "Prodigy"),
        (("--watch",), "--url"),
        (("--project", 3), "--url"),
        ((), "name the files"),
    ],
)
def test_options_that_do_not_fit(study, run, monkeypatch, arguments, words):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert words in run("import", study, *arguments, code=2)


def watched(study, label_studio, run_main, monkeypatch, looks, between=None, more=()):
    """--watch, with Ctrl-C after some looks; the pauses it made."""
    pauses = []

    def sleep(seconds):
        pauses.append(seconds)
        if between is not None:
            between(len(pauses))
        if len(pauses) >= looks:
            raise KeyboardInterrupt

    monkeypatch.setattr(poll, "sleep", sleep)  # of this module alone: other threads sleep too
    code, out, error = run_main("import", study, *options(label_studio, "--watch", 5, *more))
    return code, out, error, pauses


@pytest.fixture
def run_main(capsys, monkeypatch):
    from haystat.cli import main

    def run_main(*arguments):
        monkeypatch.setattr(sys, "argv", ["haystat", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code or 0, *capsys.readouterr()

    return run_main


def test_watching_takes_answers_as_they_come(study, label_studio, run_main, monkeypatch):
    later = label_studio.tasks[4:]
    label_studio.tasks = label_studio.tasks[:4]

    def between(n):
        label_studio.tasks = label_studio.tasks + (later if n == 2 else [])

    code, out, error, pauses = watched(study, label_studio, run_main, monkeypatch, 4, between)
    assert code == 130
    assert "10 labels taken, 4 looks" in out
    assert error.splitlines()[0].startswith("4 labels; ")
    assert error.splitlines()[1].startswith("6 labels, 4 known; ")
    assert pauses == [5.0] * 4
    assert n_answers(study) == 10
    with hs.Study.open(study) as opened:
        notes = [e.data["text"] for e in opened.entries if e.kind == "note"]
        assert [len(json.loads(text)["seconds"]) for text in notes] == [4, 6]


def test_watching_goes_on_after_failures_and_waits_longer(
    study, label_studio, run_main, monkeypatch
):
    label_studio.faults = [status(502), cut_short, cut_short, hang_up]
    code, out, error, pauses = watched(study, label_studio, run_main, monkeypatch, 6)
    assert code == 130
    assert "10 labels taken, 2 looks, 4 failed" in out
    lines = error.splitlines()
    assert [line.startswith("error: ") for line in lines] == [True, True, True, False]
    assert "failed (502" in lines[0]
    assert pauses == [10.0, 20.0, 40.0, 80.0, 5.0, 5.0]
    assert n_answers(study) == 10


def test_watching_ends_with_a_summary_when_the_token_is_refused(
    study, label_studio, run_main, monkeypatch
):
    label_studio.faults = [None, status(401)]
    code, out, error, _ = watched(study, label_studio, run_main, monkeypatch, 9)
    assert code == 2
    assert "10 labels taken" in out
    assert "error: " in error
    assert "refuses the token" in error


def test_watching_goes_on_until_a_disagreement_is_settled(
    study, label_studio, run_main, monkeypatch
):
    first = label_studio.tasks[0]
    label = first["annotations"][0]["result"][0]["value"]["choices"]
    given = list(label)

    def between(n):
        label[:] = [str(1 - int(given[0]))] if n == 1 else given

    code, out, error, _ = watched(
        study, label_studio, run_main, monkeypatch, 3, between, ("--json",)
    )
    assert code == 130
    assert "was answered" in error
    found = json.loads(out)
    assert (found["labels"], found["looks"], found["failures"]) == (10, 2, 1)


def test_changed_annotations_are_corrections_if_so_wanted(
    study, label_studio, run_main, monkeypatch
):
    label = label_studio.tasks[0]["annotations"][0]["result"][0]["value"]["choices"]
    item = label_studio.tasks[0]["meta"]["haystat"]["item"]
    changed = 1 - int(label[0])

    def between(n):
        label[:] = [str(changed)]

    _, out, _, _ = watched(study, label_studio, run_main, monkeypatch, 2, between, ("--correct",))
    assert "10 labels, 1 corrections taken" in out
    with hs.Study.open(study) as opened:
        assert {answer.item: answer.label for answer in opened.answers}[item] == changed


def test_answers_about_another_pool_end_the_watch_at_the_first_look(
    study, label_studio, run_main, monkeypatch
):
    for task in label_studio.tasks:
        task["meta"]["haystat"]["pool"] = "another"
    code, _, error, _ = watched(study, label_studio, run_main, monkeypatch, 3)
    assert code == 2
    assert "another pool" in error


def test_ctrl_c_ends_a_running_watch_with_a_summary(study, label_studio):
    arguments = [str(part) for part in options(label_studio, "--watch", "0.05")]
    program = "from haystat.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, "import", str(study), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    deadline = time.monotonic() + 200
    while label_studio.asked < 3 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert label_studio.asked >= 3, error
    assert process.returncode == 130, error
    assert "10 labels taken" in out
    assert "Traceback" not in error


@pytest.fixture
def own_interrupts():
    """Python's own handling of Ctrl-C: a Spark session, once there was one, leaves another."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)


@pytest.mark.usefixtures("own_interrupts")
def test_ctrl_c_while_answers_are_taken_lets_them_be_taken(
    study, label_studio, run_main, monkeypatch
):
    take = poll.Taking.take

    def interrupted(*given):
        os.kill(os.getpid(), signal.SIGINT)
        return take(*given)

    monkeypatch.setattr(poll.Taking, "take", interrupted)
    code, out, _ = run_main("import", study, *options(label_studio, "--watch", "60"))
    assert (code, label_studio.asked) == (130, 1)
    assert "10 labels taken" in out
    with hs.Study.open(study) as opened:
        assert opened.n_labels == 10


def test_the_token_is_in_no_message(study, label_studio, run_main):
    label_studio.faults = [status(500), status(401)]
    for _ in range(2):
        _, out, error = run_main("import", study, *options(label_studio))
        assert LEGACY not in out + error
