"""Studies of readable pairs, a client and a server for them."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import uvicorn
from starlette.testclient import TestClient

import haystat as hs
from haystat.web.app import make_app
from haystat.web.options import PageOptions, keep_options
from haystat.web.server import configured, listen
from haystat.web.settings import Settings

SIZE = 4000
PATIENCE = 60  # seconds for a server to start or to stop
NASTY = [
    "<script>window.hacked = 1</script>",
    '<img src=x onerror="window.hacked = 1">',
    "javascript:window.hacked=1",
    "{{ 7 * 7 }} {% raw %}",
    "${7*7} `x` '\"><svg onload=window.hacked=1>",
    "\u202etxt.exe & &lt;b&gt;",
]


def make_pool(size=SIZE, seed=0):
    """A pool with rare positives, and its labels."""
    rng = np.random.default_rng(seed)
    scores = 1 / (1 + np.exp(-rng.normal(-3, 2, size)))
    return hs.Pool(scores, threshold=0.5, strata=32), (rng.random(size) < scores).astype(int)


def make_study(path, size=SIZE, seed=0, nasty=False, measure="f1", **options):
    """A study of pairs of records; the truth is a fixed function of the item."""
    pool, labels = make_pool(size, seed)
    texts = NASTY if nasty else [f"person {k}" for k in range(50)]
    show = {
        "name_l": [texts[i % len(texts)] for i in range(size)],
        "name_r": [f"{texts[i % len(texts)]}{'' if labels[i] else ' jr'}" for i in range(size)],
        "remark": [f"about {texts[(i + 1) % len(texts)]}" for i in range(size)],
    }
    study = hs.Study.create(path, pool, measure, random_state=1, show=show)
    keep_options(study, PageOptions(**{"prompt": "The same person?", **options}))
    return study, labels


def settings_for(path, **options):
    return Settings(folder=path.parent, main=path.stem, main_path=path, **options)


def press(page, key):
    """Press a key and wait until another question is there."""
    before = page.text_content("#record")
    page.keyboard.press(key)
    page.wait_for_function(
        "before => document.getElementById('record').textContent !== before", arg=before
    )


def saved(page):
    """Wait until the server has acknowledged everything."""
    page.wait_for_function(
        "() => !Object.keys(localStorage).some(key => key.startsWith('haystat outbox'))"
    )


class Caller:
    """A client that sends the same-origin token with what changes something."""

    def __init__(self, client):
        self.client = client
        self.csrf = client.get("/api/session").json().get("csrf", "")

    def get(self, path, **options):
        return self.client.get(path, **options)

    def post(self, path, given, **options):
        headers = {"x-haystat-csrf": self.csrf, **options.pop("headers", {})}
        return self.client.post(path, json=given, headers=headers, **options)


@contextmanager
def calling(path, **options):
    """A client of the application, without a network."""
    app = make_app(settings_for(path, **options))
    with TestClient(app, base_url="http://localhost") as client:
        yield Caller(client)


@contextmanager
def serving(path, port=0, **options):
    """A server on loopback in a thread; its address."""
    app = make_app(settings_for(path, **options))
    waiting = listen("127.0.0.1", port)
    config = configured(app)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: server.run(sockets=[waiting]), daemon=True)
    thread.start()
    end = time.monotonic() + PATIENCE
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        assert time.monotonic() < end, f"the server did not start in {PATIENCE} seconds"
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{waiting.getsockname()[1]}"
    finally:
        loop = server.servers[0].get_loop() if server.servers else None
        if loop is not None:
            asyncio.run_coroutine_threadsafe(app.state.study_folder.hush(), loop).result(PATIENCE)
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive(), f"the server did not stop in {PATIENCE} seconds"


def in_a_thread(action, *given):
    """The result of an action in a thread of its own: playwright keeps a loop in the main one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(action, *given).result()
