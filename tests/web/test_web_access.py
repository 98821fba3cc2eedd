"""Who gets in, as what, how often one may guess, and how long one may take."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading

import pytest
from live_server import first_line, kill_group
from typer.testing import CliRunner
from web_case import calling, make_study, serving

from haystat.cli import app
from haystat.errors import BadOption
from haystat.web.app import FOR_ANNOTATORS, make_app
from haystat.web.auth import Auth, TooManyTries
from haystat.web.connection import LARGEST_HEAD, PatientProtocol
from haystat.web.login_limiter import BURST, BURST_OF_ALL, RATE, Limiter
from haystat.web.operations import OPERATIONS
from haystat.web.settings import Settings, checked_secrets

MANAGER, ANNOTATOR = "a secret of managers", "a secret of annotators"
BOTH = {"secret": MANAGER, "annotator_secret": ANNOTATOR}
FORM = {"content-type": "application/x-www-form-urlencoded"}


def bearer(secret):
    return {"authorization": f"Bearer {secret}"}


# --- guessing

WAYS = {
    "bearer": lambda client, secret: client.get("/api/study", headers=bearer(secret)),
    "address": lambda client, secret: client.get(
        "/", params={"token": secret}, follow_redirects=False
    ),
    "form": lambda client, secret: client.post(
        "/login", content=f"secret={secret}", headers=FORM, follow_redirects=False
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_counts_wrong_secrets_of_all_ways(study_file, way):
    with calling(study_file[0], **BOTH) as caller:
        wrong = [WAYS[way](caller.client, f"guess {k}").status_code for k in range(BURST)]
        assert wrong == [401] * BURST
        for other in WAYS.values():
            found = other(caller.client, MANAGER)  # the right one is not looked at either
            assert found.status_code == 429
            assert int(found.headers["retry-after"]) >= 1


def test_who_is_in_stays_in_while_somebody_guesses(study_file):
    with calling(study_file[0], **BOTH) as caller:
        assert caller.get(f"/label?token={ANNOTATOR}").status_code == 200
        for k in range(BURST + 5):
            caller.client.get("/api/study", headers=bearer(f"guess {k}"))
        assert caller.get("/api/study").status_code == 200


def test_wrong_secrets_are_forgiven_with_time_and_other_addresses_are_free():
    now = [0.0]
    found = Limiter(lambda: now[0])
    for _ in range(BURST):
        assert found.wait("10.0.0.1") == 0
        found.failed("10.0.0.1")
    assert found.wait("10.0.0.1") == pytest.approx(1 / RATE)
    assert found.wait("10.0.0.2") == 0
    now[0] += 1 / RATE
    assert found.wait("10.0.0.1") == 0


def test_many_addresses_share_a_limit_and_a_network_is_one_address():
    found = Limiter(lambda: 0.0)
    for k in range(BURST_OF_ALL):
        found.failed(f"10.0.{k}.1")
    assert found.wait("10.1.1.1") > 0
    other = Limiter(lambda: 0.0)
    for k in range(BURST):
        other.failed(f"2001:db8::{k}")
    assert other.wait("2001:db8::ffff") > 0
    assert other.wait("2001:db9::1") == 0


def test_the_limiter_forgets_addresses():
    found = Limiter(lambda: 0.0)
    for k in range(30_000):
        found.failed(f"10.{k >> 16}.{k >> 8 & 255}.{k & 255}")
    assert len(found._level) <= 10_001


def test_a_guess_beyond_the_limit_is_not_even_compared():
    auth = Auth(MANAGER)
    for k in range(BURST):
        assert auth.role_of(f"guess {k}", "10.0.0.1") is None
    with pytest.raises(TooManyTries, match="try again in"):
        auth.role_of(MANAGER, "10.0.0.1")
    assert auth.role_of(MANAGER, "10.0.0.2") == "manager"


@pytest.mark.parametrize(
    "weak", ["password", "12345678901", "aaaaaaaaaaaaaaaa", "abababababababab"]
)
def test_a_weak_secret_is_refused_with_what_a_good_one_is(weak):
    for secrets in ((weak, None), (MANAGER, weak)):
        with pytest.raises(BadOption, match="four or more words at random"):
            checked_secrets("127.0.0.1", *secrets)


@pytest.mark.parametrize(
    ("manager", "annotator", "part"), [(None, ANNOTATOR, "add --token"), (MANAGER, MANAGER, "same")]
)
def test_annotators_alone_or_with_the_managers_secret_are_refused(manager, annotator, part):
    with pytest.raises(BadOption, match=part):
        checked_secrets("127.0.0.1", manager, annotator)


# --- roles


@pytest.fixture
def annotator(study_file):
    """A program with the annotators' secret."""
    (study_file[0].parent / "pool.csv").write_text("id,score\n1,0.5\n2,0.7\n")
    with calling(study_file[0], **BOTH) as caller:
        caller.client.headers.update(bearer(ANNOTATOR))
        yield caller


def test_annotators_get_questions_and_answer_them(annotator):
    (question,) = annotator.post("/api/ask", {"annotator": "ann"}).json()["questions"]
    given = {"answers": [{"item": question["item"], "label": 0}], "annotator": "ann"}
    assert annotator.post("/api/tell", given).status_code == 200
    for path in ("/label", "/studies", "/api/study", "/api/studies", "/api/openapi.json"):
        assert annotator.get(path).status_code == 200
    assert annotator.get("/api/session").json()["role"] == "annotator"


@pytest.mark.parametrize(
    "path",
    [
        "/study.haystat",
        "/answers.csv",
        "/report",
        "/report?format=json",
        "/watch",
        "/explain",
        "/new",
        "/api/files",
        "/api/preview?file=pool.csv",
        "/study.haystat/",
    ],
)
def test_annotators_get_no_files_scores_or_answers_of_others(annotator, path):
    for method in ("GET", "HEAD"):
        found = annotator.client.request(method, path, follow_redirects=True)
        assert found.status_code == 403, found.text
    assert annotator.client.get(path, headers=bearer(MANAGER)).status_code in (200, 404)


@pytest.mark.parametrize("path", ["/api/studies", "/api/plan", "/api/upload?name=x.csv"])
def test_annotators_make_nothing(annotator, path):
    assert annotator.post(path, {"file": "pool.csv", "score": "score"}).status_code == 403


def test_what_is_new_is_for_managers_unless_somebody_says_otherwise(study_file):
    served = make_app(Settings(folder=study_file[0].parent))
    paths = {route.path for route in served.routes} - {path for _, path in FOR_ANNOTATORS}
    assert {"/watch", "/explain", "/new", "/report", "/answers.csv", "/study.haystat"} <= paths
    managers = {one.path for one in OPERATIONS.values() if one.managers}
    assert managers == {
        "/api/change",
        "/api/next",
        "/api/decide",
        "/api/differences",
        "/api/disagreements",
        "/api/free",
        "/api/history",
        "/api/open",
        "/api/studies",
        "/api/files",
        "/api/preview",
        "/api/plan",
        "/api/upload",
        "/api/threshold",
        "/api/gate",
    }


def test_a_cookie_has_one_role(study_file):
    with calling(study_file[0], **BOTH) as caller:
        found = caller.get("/", params={"token": ANNOTATOR}, follow_redirects=False)
        cookie = found.headers["set-cookie"].partition(";")[0]
        caller.client.cookies.clear()
        assert caller.get("/answers.csv", headers={"cookie": cookie}).status_code == 403
        assert ".annotator." in cookie
        forged = cookie.replace(".annotator.", ".manager.")
        assert caller.get("/answers.csv", headers={"cookie": forged}).status_code == 401
        assert caller.get("/answers.csv", headers={"cookie": forged + ".x"}).status_code == 401


@pytest.mark.parametrize("part", ["along", "doubts"])
def test_what_tells_of_scores_and_predictions_is_for_managers(annotator, part):
    assert part not in annotator.get("/api/status").json()
    assert part in annotator.get("/api/status", headers=bearer(MANAGER)).json()


def test_a_blind_study_shows_annotators_no_numbers(tmp_path):
    make_study(tmp_path / "s.haystat", blind=True)[0].close()
    with calling(tmp_path / "s.haystat", **BOTH) as caller:
        for path in ("/api/estimate", "/api/status", "/api/events"):
            found = caller.get(path, headers=bearer(ANNOTATOR))
            assert (found.status_code, "blind" in found.json()["error"]) == (403, True)
        assert caller.get("/api/estimate", headers=bearer(MANAGER)).status_code == 200
        assert "hidden" in caller.get("/label", headers=bearer(ANNOTATOR)).text.split("<aside")[1]
        page = caller.get("/label", headers=bearer(MANAGER)).text
        assert "hidden" not in page.split("<aside")[1].partition(">")[0]


def test_without_secrets_everybody_is_a_manager(caller):
    assert caller.get("/api/session").json()["role"] == "manager"
    assert caller.get("/answers.csv").status_code == 200


# --- slow connections


@pytest.fixture
def hasty(study_file, monkeypatch):
    """A server that waits a tenth of a second, and a way to connect to it."""
    monkeypatch.setattr(PatientProtocol, "grace", 0.1)
    monkeypatch.setattr(PatientProtocol, "unread", 0.1)
    open_ones = []

    def connect():
        found = socket.create_connection(("127.0.0.1", port), timeout=20)
        open_ones.append(found)
        return found

    with serving(study_file[0]) as address:
        port = int(address.rpartition(":")[2])
        yield connect
        for one in open_ones:
            one.close()


HEAD = b"POST /api/ask HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"


@pytest.mark.parametrize(
    "begin",
    [
        b"",
        b"GET /api/st",
        b"GET /api/study HTTP/1.1\r\nhost: local",
        HEAD + b"content-length: 100\r\n\r\n{",
        HEAD + b"transfer-encoding: chunked\r\n\r\n1\r\n{\r\n",
        b"GET /api/study HTTP/1.1\r\nhost: localhost\r\n\r\nGET /api/st",
    ],
)
def test_a_request_that_does_not_come_is_not_waited_for(hasty, begin):
    connection = hasty()
    connection.sendall(begin)
    read_to_end(connection)


def read_to_end(connection):
    """Everything until the server hangs up; a timeout is an error."""
    found = b""
    try:
        while part := connection.recv(65536):
            found += part
    except ConnectionResetError:
        pass
    return found


def test_a_slow_sender_is_let_go_although_bytes_keep_coming(hasty):
    connection = hasty()
    connection.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\n")
    assert hangs_up_on(connection, b"x-more: yes\r\n")


def hangs_up_on(connection, part):
    """Whether the server ends a connection over which a part comes a thousand times."""
    connection.settimeout(0.02)
    for _ in range(1000):
        try:
            connection.sendall(part)
            if connection.recv(1) == b"":
                return True
        except TimeoutError:
            continue
        except (BrokenPipeError, ConnectionResetError):
            return True
    return False


def test_headers_have_an_end(hasty, monkeypatch):
    monkeypatch.setattr(PatientProtocol, "grace", 60.0)
    connection = hasty()
    connection.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\n")
    assert hangs_up_on(connection, b"x-more: yes\r\n" * (LARGEST_HEAD // 100))


def test_somebody_who_does_not_read_is_let_go(hasty, monkeypatch):
    gone = threading.Event()
    lost = PatientProtocol.connection_lost
    monkeypatch.setattr(
        PatientProtocol, "connection_lost", lambda self, why: (lost(self, why), gone.set())
    )
    connection = hasty()
    ask = b"GET /static/vega.js HTTP/1.1\r\nhost: localhost\r\n\r\n"
    connection.sendall(ask * 40)  # far more than fits between us
    assert gone.wait(20)


def test_a_client_is_served_request_after_request(hasty, monkeypatch):
    """Nobody's patience is still running out once a request is there."""
    monkeypatch.setattr(PatientProtocol, "grace", 60.0)  # the machine may be busy, and we too
    served = []
    complete = PatientProtocol.on_message_complete
    monkeypatch.setattr(
        PatientProtocol,
        "on_message_complete",
        lambda self: (complete(self), served.append(self._arriving)),
    )
    connection = hasty()
    for _ in range(3):
        connection.sendall(b"GET /api/study HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
    assert served == [None] * 3


# --- the command


def test_a_token_for_each_role_is_made_and_printed(study_file):
    import httpx2

    command = [sys.executable, "-c", "from haystat.cli import main; main()", "serve"]
    options = [str(study_file[0]), "--port", "0", "--token", "auto"]
    process = subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        lines = [first_line(process), process.stdout.readline()]
        assert [line.partition(":")[0] for line in lines] == ["Label in the browser", "Manage"]
        roles = []
        for line in lines:
            link = line.partition(": ")[2].strip()
            with httpx2.Client(timeout=60) as client:
                client.get(link, follow_redirects=True)
                roles.append(client.get(link.partition("?")[0] + "api/session").json()["role"])
        assert roles == ["annotator", "manager"]
    finally:
        kill_group(process)
        process.wait(30)
        process.stdout.close()


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--annotator-token", ANNOTATOR], "add --token"),
        (["--token", MANAGER, "--annotator-token", MANAGER], "same secret"),
        (["--token", "short"], "12 characters"),
        (["--token", MANAGER, "--password"], "both given"),
        (
            ["--token", MANAGER, "--annotator-token", ANNOTATOR, "--annotator-password"],
            "both given",
        ),
    ],
)
def test_the_command_refuses_secrets_that_keep_nobody_out(study_file, options, part):
    found = CliRunner().invoke(app, ["serve", str(study_file[0]), *options])
    assert found.exit_code != 0
    assert part in str(found.exception)
