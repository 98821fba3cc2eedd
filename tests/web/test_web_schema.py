"""Whatever is sent to the interface, the server never fails: schemathesis on our own document."""

from __future__ import annotations

import os
from urllib.parse import parse_qsl

import pytest
from hypothesis import HealthCheck, settings
from web_case import make_study, serving, settings_for

from haystat.web import login_limiter
from haystat.web.app import make_app
from haystat.web.openapi import document

schemathesis = pytest.importorskip("schemathesis")

SECRET = "a-token-for-schemathesis"


@pytest.fixture(scope="module")
def application(tmp_path_factory):
    folder = tmp_path_factory.mktemp("schema")
    make_study(folder / "pairs.haystat", size=200)[0].close()
    (folder / "pool.csv").write_text("id,score\n" + "\n".join(f"{i},0.{i}" for i in range(10, 60)))
    return make_app(settings_for(folder / "pairs.haystat", secret=SECRET, upload_limit=10_000))


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Wrong secrets are part of what is tried here, and must not keep out the right one."""
    monkeypatch.setattr(login_limiter, "BURST", 10**9)
    monkeypatch.setattr(login_limiter, "BURST_OF_ALL", 10**9)


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A server as people start it."""
    folder = tmp_path_factory.mktemp("agree")
    make_study(folder / "pairs.haystat", size=200)[0].close()
    (folder / "pool.csv").write_text("id,score\n1,0.2\n2,0.9\n")
    with serving(folder / "pairs.haystat", secret=SECRET, upload_limit=10_000) as found:
        yield found


@pytest.fixture(scope="module")
def client(application):
    from starlette.testclient import TestClient

    with TestClient(application, base_url="http://localhost") as c:
        yield c


schema = schemathesis.openapi.from_dict(document()).exclude(path="/api/events")  # it never ends
schema.config.request_timeout = 240  # seconds; the machine may be busy
# The suite sends the same requests each time; HAYSTAT_FUZZ=1 tries others.
SETTINGS = {
    "deadline": None,
    "derandomize": "HAYSTAT_FUZZ" not in os.environ,
    "suppress_health_check": list(HealthCheck),
}
# A file or label that fits the document need not fit this folder or study.
accepted = schema.config.checks.positive_data_acceptance
accepted.expected_statuses = [*accepted.expected_statuses, "415", "422"]


@schema.auth()
class Bearer:
    """The right token; schemathesis tries without it and with others too."""

    def get(self, case, context):
        return SECRET

    def set(self, case, data, context):
        case.headers = {**(case.headers or {}), "Authorization": f"Bearer {data}"}


def likely(given, items):
    """The same, with names that exist, so that half of the inputs get past the first check."""
    if isinstance(given, dict):
        found = {name: likely(value, items) for name, value in given.items()}
        real = {"item": items[0], "label": 1, "file": "pool.csv", "score": "score", "id": "id"}
        real |= {"name": f"study {len(str(given))}"}
        return found | {name: value for name, value in real.items() if name in found}
    return [likely(part, items) for part in given] if isinstance(given, list) else given


@schema.parametrize()
@settings(max_examples=6, **SETTINGS)
def test_no_input_makes_the_server_fail(case, client):
    given = case.as_transport_kwargs(base_url="http://localhost")
    headers = dict(given.get("headers") or {})
    headers = {name: text for name, text in headers.items() if name.lower() != "authorization"}
    headers["authorization"] = f"Bearer {SECRET}"
    names = ("params", "json", "data", "content")
    sent = {name: given[name] for name in names if given.get(name) is not None}
    if "data" in sent and not isinstance(sent["data"], dict):
        sent["content"] = sent.pop("data")
    about = {"json": {"annotator": "ann"}, "headers": {"authorization": f"Bearer {SECRET}"}}
    items = [q["item"] for q in client.post("/api/ask", **about).json()["questions"]] or [0]
    params = sent.get("params") or {}
    params = dict(parse_qsl(params)) if isinstance(params, str) else params
    params = {name: value for name, value in params.items() if name != "study"}
    closer = {**sent, "params": {**params, **({"file": "pool.csv"} if "file" in params else {})}}
    closer |= {"json": likely(sent["json"], items)} if "json" in sent else {}
    for options in (sent, closer):
        found = client.request(case.method, given["url"], headers=headers, **options)
        assert found.status_code < 500, found.text
        if found.status_code >= 400:
            assert set(found.json()) == {"error"}


@schema.parametrize()
@settings(max_examples=10, **SETTINGS)
def test_the_document_and_the_server_agree(case, address):
    """Statuses, headers, schemas, methods, secrets: all checks that there are."""
    case.call_and_validate(base_url=address)


def test_no_check_of_schemathesis_is_left_out():
    from schemathesis.checks import CHECKS, load_all_checks

    load_all_checks()
    names = CHECKS.get_all_names()
    assert {"status_code_conformance", "negative_data_rejection", "ignored_auth"} <= set(names)
    for operation in schema.get_all_operations():
        checks = schema.config.checks_config_for(operation=operation.ok())
        assert all(checks.get_by_name(name=name).enabled for name in names)


def test_every_address_under_api_is_described(application):
    served = {route.path for route in application.routes if route.path.startswith("/api/")}
    assert served - {"/api/openapi.json"} == set(document()["paths"])
    assert {"/api/session", "/api/events"} <= served


def test_events_are_of_the_kind_that_is_described(address):
    import httpx2

    described = document()["paths"]["/api/events"]["get"]["responses"]["200"]["content"]
    bearer = {"authorization": f"Bearer {SECRET}"}
    with httpx2.stream("GET", f"{address}/api/events", headers=bearer, timeout=60) as found:
        assert found.headers["content-type"].partition(";")[0] in described
        assert next(found.iter_lines()) == "event: snapshot"


@pytest.mark.parametrize("path", document()["paths"])
def test_a_wrong_method_is_told_the_right_ones(client, path):
    found = client.delete(path, headers={"authorization": f"Bearer {SECRET}"})
    right = {method.upper() for method in document()["paths"][path]}
    assert found.status_code == 405
    assert set(found.headers["allow"].split(", ")) - {"HEAD"} == right
