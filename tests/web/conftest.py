"""A study on disk, a client of its page, and Debian's Chromium."""

from __future__ import annotations

import shutil

import pytest

pytest.importorskip("starlette", reason="the page needs pip install 'haystat[web]'")

from web_case import calling, make_study, serving


@pytest.fixture
def study_file(tmp_path):
    """A study on disk, and the truth."""
    study, labels = make_study(tmp_path / "pairs.haystat")
    study.close()
    return tmp_path / "pairs.haystat", labels


@pytest.fixture
def caller(study_file):
    with calling(study_file[0]) as found:
        yield found


#: nothing that needs a network or a graphics card, which a machine may make wait for ever
SWITCHES = """
    --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync
    --disable-background-networking --disable-component-update --disable-domain-reliability
""".split()
LAUNCH = 60_000  # milliseconds


@pytest.fixture(scope="session")
def browser():
    """Debian's Chromium; what it prints to the console as an error fails the test."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("Chromium is not installed: make browser, or apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=SWITCHES, timeout=LAUNCH)
        yield found
        found.close()


@pytest.fixture
def open_page(browser):
    """Open a page in a browser of its own; it complains in its console only where it may."""
    contexts, complaints = [], []

    def open_page(address, **options):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda m: m.type == "error" and complaints.append(m.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(address)
        return page

    open_page.may_complain = False
    yield open_page
    for context in contexts:
        context.close()
    assert open_page.may_complain or complaints == []


@pytest.fixture
def served(study_file):
    path, labels = study_file
    with serving(path) as address:
        yield address, path, labels
