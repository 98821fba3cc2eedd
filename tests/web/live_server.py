"""A server in a process of its own, the command line beside it, and plain requests to both."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from contextlib import suppress

COMMAND = [sys.executable, "-c", "from haystat.cli import main; main()"]
SECRET = "a-token-for-the-tests"
PATIENCE = 60  # seconds for a process to say that it is ready


def kill_group(process):
    """Sudden death of a process that leads a session, and of its children."""
    with suppress(ProcessLookupError):  # it has ended by itself
        os.killpg(process.pid, signal.SIGKILL)


def first_line(process):
    """The first line that a process prints; empty if it ends, or is killed for taking too long."""
    alarm = threading.Timer(PATIENCE, kill_group, [process])
    alarm.start()
    try:
        return process.stdout.readline()
    finally:
        alarm.cancel()


class Server:
    """`haystat serve`, with a token so that programs may write."""

    def __init__(self, path, before=()):
        """before: a command that runs the server, such as strace."""
        environment = {**os.environ, "HAYSTAT_TOKEN": SECRET}
        command = [*before, *COMMAND, "serve", str(path), "--port", "0"]
        # A file, not a pipe: nobody reads along, and a full pipe would stop the server.
        with tempfile.TemporaryFile("w+") as errors:
            self.process = subprocess.Popen(
                command,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
            line = first_line(self.process)
            if "http://" not in line:
                self.kill()
                errors.seek(0)
                raise AssertionError(f"the server did not start: {errors.read()}")
        self.address = line.split("browser: ")[1].split("?")[0].strip().rstrip("/")

    def call(self, path, given=None, content=None, timeout=60):
        """Status and content of a reply; a connection that breaks is an OSError."""
        data = json.dumps(given).encode() if given is not None else content
        kind = "application/json" if given is not None else "application/octet-stream"
        headers = {"authorization": f"Bearer {SECRET}", "content-type": kind}
        request = urllib.request.Request(self.address + path, data, headers)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as reply:
                return reply.status, reply.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def answer(self, n, who, label_of):
        """Ask and tell, one request each; what was acknowledged."""
        status, content = self.call("/api/ask", {"n": n, "annotator": who})
        assert status == 200, content
        told = {q["item"]: label_of(q["item"]) for q in json.loads(content)["questions"]}
        for item, label in told.items():
            given = {"annotator": who, "answers": [{"item": item, "label": label}]}
            status, content = self.call("/api/tell", given)
            assert status == 200, content
        return told

    def first_event(self):
        """Listen until the first numbers are there, which takes a second look at the file."""
        headers = {"authorization": f"Bearer {SECRET}"}
        request = urllib.request.Request(f"{self.address}/api/events", headers=headers)
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.readline()

    def kill(self):
        """Sudden death."""
        kill_group(self.process)
        self._gone()

    def stop(self):
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        self._gone()

    def _gone(self):
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            kill_group(self.process)
            raise
        finally:
            self.process.stdout.close()


def haystat(*words, check=True):
    """A command in a process of its own."""
    done = subprocess.run([*COMMAND, *map(str, words)], capture_output=True, text=True, timeout=120)
    assert not check or done.returncode == 0, done.stderr
    return done
