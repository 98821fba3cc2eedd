"""Where the real tools are: in this environment, in one that a variable names, or nowhere."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

HERE = Path(__file__).parent
PATIENCE = 600  # seconds for a server or a script, which starts slowly on a busy machine


def folders():
    """Folders with a tool that was installed whole: make tools, or the variable HAYSTAT_TOOLS."""
    root = Path(os.environ.get("HAYSTAT_TOOLS") or HERE.parents[1] / ".tools")
    return sorted(mark.parent for mark in root.glob("*/ready"))


def python_with(package):
    """A Python that can import a package: this one, or one of `make tools`."""
    if importlib.util.find_spec(package) is not None:
        return sys.executable
    look = f"import importlib.util as u; exit(u.find_spec({package!r}) is None)"
    for python in (folder / "bin" / "python" for folder in folders()):
        if python.exists() and subprocess.run([python, "-c", look]).returncode == 0:
            return str(python)
    pytest.skip(f"{package} is not installed: make tools")
    raise AssertionError


def program(name):
    """A program on the path, or one that npm installed for `make tools`."""
    own = [folder / "node_modules" / ".bin" / name for folder in folders()]
    found = shutil.which(name) or next((str(path) for path in own if path.exists()), None)
    if found is None:
        pytest.skip(f"{name} is not installed: make tools")
    return found


def run_script(python, name, folder, *arguments):
    """Run a script of this folder with a tool's Python; what it prints."""
    done = subprocess.run(
        [python, HERE / name, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, **QUIET, "PYTHONPATH": ""},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


QUIET = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "PHOENIX_TELEMETRY_ENABLED": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
    "NO_COLOR": "1",
}


@contextmanager
def server(command, address, folder, **variables):
    """A server of a tool on loopback, until the block ends."""
    log = (folder / "server.log").open("w")
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        env={**os.environ, **QUIET, "PYTHONPATH": "", **variables},
    )
    try:
        end = time.monotonic() + PATIENCE
        while not _answers(address):
            assert process.poll() is None, (folder / "server.log").read_text()[-2000:]
            assert time.monotonic() < end, f"no answer in {PATIENCE} seconds"
            time.sleep(0.2)
        yield
    finally:
        os.killpg(process.pid, 15)
        process.wait(60)
        log.close()


def _answers(address):
    try:
        with urlopen(address, timeout=5) as response:
            return response.status == 200
    except (URLError, OSError):
        return False
