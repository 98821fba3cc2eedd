"""Each line of what keeps the page safe."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from web_case import calling, make_study, serving

import haystat as hs
from haystat.errors import BadOption
from haystat.web import auth
from haystat.web.options import MARK
from haystat.web.routes.downloads import path_below
from haystat.web.settings import checked_secrets
from haystat.web.uploads import receive

SECRET = "correct-horse-battery"


@pytest.fixture
def locked(study_file):
    """A server that needs a token."""
    with calling(study_file[0], secret=SECRET) as found:
        yield found


# --- who gets in


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])
def test_an_address_that_others_reach_needs_a_secret(host):
    with pytest.raises(BadOption, match="--token auto"):
        checked_secrets(host, None, None)
    checked_secrets(host, SECRET, None)
    checked_secrets("127.0.0.1", None, None)


def test_the_command_refuses_to_start_open_to_others(study_file):
    command = [sys.executable, "-c", "from haystat.cli import main; main()", "serve"]
    done = subprocess.run(
        [*command, str(study_file[0]), "--host", "0.0.0.0"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert "--token auto" in done.stderr


@pytest.mark.parametrize("path", ["/", "/label", "/watch", "/answers.csv", "/study.haystat"])
def test_without_the_secret_there_is_only_the_form(locked, path):
    found = locked.get(path, follow_redirects=False)
    assert found.status_code == 401
    assert "Token or password" in found.text
    assert "pairs" not in found.text


@pytest.mark.parametrize("path", ["/api/status", "/api/estimate", "/api/events", "/api/files"])
def test_without_the_secret_the_api_says_nothing(locked, path):
    assert locked.get(path).status_code == 401
    assert locked.get(path).json() == {"error": "not allowed"}
    wrong = locked.get(path, headers={"authorization": "Bearer wrong"})
    assert (wrong.status_code, wrong.json()) == (401, {"error": "not allowed"})


def test_a_wrong_token_is_401_without_detail(locked):
    found = locked.get("/?token=wrong", follow_redirects=False)
    assert (found.status_code, found.json()) == (401, {"error": "not allowed"})
    assert "set-cookie" not in found.headers


def test_the_token_leaves_the_address_at_the_first_redirect(locked):
    found = locked.get(f"/label?study=pairs&token={SECRET}", follow_redirects=False)
    assert found.status_code == 303
    assert found.headers["location"] == "/label?study=pairs"
    cookie = found.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert SECRET not in cookie
    page = locked.get("/label?study=pairs")
    assert page.status_code == 200
    assert SECRET not in page.text


@pytest.mark.parametrize("path", ["//evil.example/x", "/\\evil.example"])
def test_the_redirect_stays_here(locked, path):
    found = locked.client.get(f"http://localhost{path}?token={SECRET}", follow_redirects=False)
    if found.status_code == 303:
        assert not found.headers["location"].startswith(("//", "/\\", "http"))


def test_the_form_takes_the_secret_and_nothing_else(locked):
    kind = {"content-type": "application/x-www-form-urlencoded"}
    post = locked.client.post
    wrong = post("/login", content="secret=wrong", headers=kind, follow_redirects=False)
    assert wrong.status_code == 401
    right = post("/login", content=f"secret={SECRET}", headers=kind, follow_redirects=False)
    assert right.status_code == 303
    assert locked.get("/label").status_code == 200


def test_secrets_are_compared_in_constant_time(monkeypatch):
    compared, constant_time = [], hmac.compare_digest

    def spy(one, other):
        compared.append((one, other))
        return constant_time(one, other)

    monkeypatch.setattr(auth.hmac, "compare_digest", spy)
    found = auth.Auth(SECRET)
    assert found.role_of("c", "10.0.0.1") is None
    assert found.role_of(SECRET, "10.0.0.1") == auth.MANAGER
    session = found.new_session()
    assert found.session(f"haystat_session={found.cookie(session)}", "") == session
    assert found.may_change(session, found.csrf(session))
    assert len(compared) == 4
    assert len({len(one) for one, _ in compared[:2]}) == 1  # digests: the length does not show


def test_a_forged_cookie_is_none(locked):
    forged = {"cookie": "haystat_session=" + "0" * 32 + "." + "0" * 64}
    assert locked.get("/api/status", headers=forged).status_code == 401


def test_no_secret_in_the_logs(study_file, caplog):
    import httpx2

    caplog.set_level(logging.DEBUG, logger="uvicorn")
    caplog.set_level(logging.DEBUG, logger="uvicorn.access")
    with serving(study_file[0], secret=SECRET) as address, httpx2.Client(timeout=60) as client:
        client.get(f"{address}/?token={SECRET}", follow_redirects=True)
        client.get(f"{address}/?token=nearly-{SECRET}")
        bearer = {"authorization": f"Bearer {SECRET}"}
        assert client.get(f"{address}/api/status", headers=bearer).status_code == 200
    ours = [r.getMessage() for r in caplog.records if not r.name.startswith("http")]
    assert not [line for line in ours if SECRET in line]


def test_another_host_name_is_refused(caller):
    found = caller.get("/api/status", headers={"host": "evil.example"})
    assert found.status_code == 400  # a page elsewhere cannot point its name at this machine


# --- what may change something


@pytest.mark.parametrize("path", ["ask", "tell", "skip", "note", "release", "studies", "upload"])
def test_what_changes_something_needs_the_same_origin_token(caller, path):
    bare = caller.client.post(f"/api/{path}", json={})
    assert bare.status_code == 403
    wrong = caller.post(f"/api/{path}", {}, headers={"x-haystat-csrf": "0" * 64})
    assert wrong.status_code == 403
    assert caller.get("/api/status").json()["status"]["stages"] == 0


@pytest.mark.parametrize(
    "headers", [{"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}]
)
def test_another_site_is_refused_even_with_the_token(caller, headers):
    assert caller.post("/api/ask", {}, headers=headers).status_code == 403
    assert caller.client.post("/login", content="secret=x", headers=headers).status_code == 403


def test_a_program_needs_the_bearer_token_alone(locked):
    bearer = {"authorization": f"Bearer {SECRET}"}
    found = locked.client.post("/api/ask", json={"annotator": "tool"}, headers=bearer)
    assert found.status_code == 200


# --- headers


@pytest.mark.parametrize("path", ["/label", "/api/status", "/static/label.js", "/nothing"])
def test_every_answer_has_the_strict_headers(caller, path):
    headers = caller.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "same-origin"


def test_the_report_may_not_run_anything(caller):
    policy = caller.get("/report").headers["content-security-policy"]
    assert "sandbox" in policy
    assert "script-src" not in policy
    assert "default-src 'none'" in policy


# --- paths


@pytest.mark.parametrize(
    "name",
    ["../secret", "..%2fsecret", "/etc/passwd", "a/b", "..", ".hidden", "a\\b", "x\0y", "link", ""],
)
def test_no_path_leads_out_of_the_folder(tmp_path, name):
    inside = tmp_path / "in"
    inside.mkdir()
    make_study(inside / "pairs.haystat")[0].close()
    make_study(tmp_path / "secret.haystat")[0].close()
    (inside / "link.haystat").symlink_to(tmp_path / "secret.haystat")
    (inside / "link.csv").symlink_to(tmp_path / "secret.csv")
    (tmp_path / "secret.csv").write_text("id,score\n1,0.5\n")
    with calling(inside / "pairs.haystat") as caller:
        assert caller.get("/api/studies").json()["studies"] == ["pairs"]
        if name:
            found = caller.get("/api/study", params={"study": name})
            assert found.status_code == 404
            assert str(tmp_path) not in found.text
        for file in (name, f"{name}.csv"):
            found = caller.get("/api/preview", params={"file": file})
            assert found.status_code == (404 if file else 400)
            assert str(tmp_path) not in found.text
            made = {"name": "new", "file": file, "score": "score"}
            assert caller.post("/api/studies", made).status_code == 404
        ok = {"name": name or "/", "file": "x.csv", "score": "score"}
        assert caller.post("/api/studies", ok).status_code in (404, 422)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in", "secret.csv", "secret.haystat"]


@pytest.mark.parametrize(
    "name", ["../secret.png", "/etc/passwd", "link.png", "x.svg", "x.html", "no.png", "a\0.png"]
)
def test_pictures_stay_below_the_pools_folder(tmp_path, name):
    folder = tmp_path / "in"
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(b"x")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    for good in ("x.svg", "x.html", "ok.png"):
        (folder / good).write_bytes(b"x")
    assert path_below(folder, name) is None
    assert path_below(folder, "ok.png") == folder / "ok.png"


def test_a_picture_is_named_by_its_item_not_by_its_path(tmp_path):
    (tmp_path / "cat.png").write_bytes(b"\x89PNG\r\n")
    pool = hs.Pool([0.1, 0.2, 0.7, 0.9] * 20, strata=2)
    show = {"photo": ["cat.png", "../../etc/passwd"] * 40, "other": ["cat.png"] * 80}
    study = hs.Study.create(tmp_path / "p.haystat", pool, random_state=0, show=show)
    from haystat.web.options import PageOptions, keep_options

    keep_options(study, PageOptions(images=("photo",)))
    study.close()
    with calling(tmp_path / "p.haystat") as caller:
        questions = caller.post("/api/ask", {"n": 40}).json()["questions"]
        for question in questions:
            found = caller.get("/picture", params={"item": question["item"], "column": "photo"})
            good = question["record"]["photo"] == "cat.png"
            assert found.status_code == (200 if good else 404)
            assert not good or found.headers["content-type"] == "image/png"
        item = questions[0]["item"]
        assert caller.get("/picture", params={"item": item, "column": "other"}).status_code == 404
        assert caller.get("/picture", params={"item": 10**6, "column": "photo"}).status_code == 404


# --- uploads


def upload(caller, name, content):
    headers = {"x-haystat-csrf": caller.csrf, "content-type": "application/octet-stream"}
    return caller.client.post(
        "/api/upload", params={"name": name}, content=content, headers=headers
    )


def test_uploads_are_limited_in_size(study_file):
    path, _ = study_file
    with calling(path, upload_limit=1000) as caller:
        assert upload(caller, "ok.csv", b"id,score\n1,0.5\n").status_code == 201
        assert upload(caller, "big.csv", b"id,score\n" + b"1,0.5\n" * 500).status_code == 413

        def parts():  # without a declared length
            for _ in range(100):
                yield b"1,0.5\n" * 10

        assert upload(caller, "big.csv", parts()).status_code == 413
    assert sorted(p.name for p in path.parent.glob("*.csv")) == ["ok.csv"]
    assert not list(path.parent.glob(".*part"))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.html", b"<script>"),
        ("x.haystat", b"SQLite format 3\0"),
        ("x", b"id\n1"),
        ("x.parquet", b"not parquet at all"),
        ("x.csv", b"\x00\x01\x02binary"),
        ("x.csv", b""),
        ("x.csv.exe", b"id\n1"),
    ],
)
def test_uploads_are_limited_in_type(caller, study_file, name, content):
    fits = name in ("x.csv", "x.parquet")
    assert upload(caller, name, content).status_code == (415 if fits else 400)
    assert not [p for p in study_file[0].parent.iterdir() if p.name.startswith(("x", ".x"))]


@pytest.mark.parametrize(
    "name", ["../../evil.csv", "/abs/evil.csv", "..\\evil.csv", "-rf evil.csv"]
)
def test_an_upload_lands_in_the_folder_under_a_plain_name(caller, study_file, name):
    found = upload(caller, name, b"id,score\n1,0.5\n")
    assert found.status_code == 201
    kept = found.json()["file"]
    assert kept in ("evil.csv", "rf-evil.csv")
    assert (study_file[0].parent / kept).is_file()
    again = upload(caller, name, b"id,score\n1,0.5\n").json()["file"]
    assert again != kept  # nothing is overwritten


def test_two_uploads_of_one_name_at_once_are_both_kept(tmp_path):
    async def body(text):
        yield b"id,score\n"
        await asyncio.sleep(0.01)
        yield text

    async def both():
        bodies = body(b"1,0.5\n"), body(b"2,0.7\n")
        return await asyncio.gather(*(receive(tmp_path, "pool.csv", b, 1000) for b in bodies))

    # In a thread of its own: the browser's tests leave a loop running in this one.
    with ThreadPoolExecutor() as thread:
        names = thread.submit(lambda: asyncio.run(both())).result()
    assert sorted(names) == ["pool-2.csv", "pool.csv"]
    lines = {path.read_text().splitlines()[1] for path in tmp_path.iterdir()}
    assert lines == {"1,0.5", "2,0.7"}


# --- people who label


def test_a_remark_cannot_pass_for_options_of_the_page(study_file):
    path, _ = study_file
    wish = {MARK: {"reveal": True, "names": ["match", "no match"], "prompt": "Press j"}}
    with calling(path) as caller:
        assert caller.post("/api/note", {"text": json.dumps(wish)}).status_code == 200
    with calling(path) as caller:
        about = caller.get("/api/study").json()
    assert about["prompt"] == "The same person?"
    assert about["names"] == ["0", "1"]
    assert about["reveal"] is False
