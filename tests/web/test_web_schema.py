"""Whatever is sent to the interface, the server never fails: schemathesis on our own document."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from web_case import make_study, settings_for

from haystat.web.app import make_app
from haystat.web.openapi import document

schemathesis = pytest.importorskip("schemathesis")

SECRET = "a-token-for-schemathesis"


@pytest.fixture(scope="module")
def application(tmp_path_factory):
    folder = tmp_path_factory.mktemp("schema")
    make_study(folder / "pairs.haystat")[0].close()
    (folder / "pool.csv").write_text("id,score\n" + "\n".join(f"{i},0.{i}" for i in range(10, 60)))
    return make_app(settings_for(folder / "pairs.haystat", secret=SECRET, upload_limit=10_000))


@pytest.fixture(scope="module")
def client(application):
    from starlette.testclient import TestClient

    with TestClient(application, base_url="http://localhost") as c:
        yield c


schema = schemathesis.openapi.from_dict(document())


def likely(given, items):
    """The same, with names that exist, so that half of the inputs get past the first check."""
    if isinstance(given, dict):
        found = {name: likely(value, items) for name, value in given.items()}
        real = {"item": items[0], "label": 1, "file": "pool.csv", "score": "score", "id": "id"}
        real |= {"name": f"study {len(str(given))}"}
        return found | {name: value for name, value in real.items() if name in found}
    return [likely(part, items) for part in given] if isinstance(given, list) else given


@schema.parametrize()
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
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
    params = {n: v for n, v in (sent.get("params") or {}).items() if n != "study"}
    closer = {**sent, "params": {**params, **({"file": "pool.csv"} if "file" in params else {})}}
    closer |= {"json": likely(sent["json"], items)} if "json" in sent else {}
    for options in (sent, closer):
        found = client.request(case.method, given["url"], headers=headers, **options)
        assert found.status_code < 500, found.text
        if found.status_code >= 400:
            assert set(found.json()) == {"error"}
