"""A server in a process of its own, the command line beside it, and plain requests to both."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request

COMMAND = [sys.executable, "-c", "from haystat.cli import main; main()"]
SECRET = "a-token-for-the-tests"


class Server:
    """`haystat serve`, with a token so that programs may write."""

    def __init__(self, path, before=()):
        """before: a command that runs the server, such as strace."""
        environment = {**os.environ, "HAYSTAT_TOKEN": SECRET}
        command = [*before, *COMMAND, "serve", str(path), "--port", "0"]
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        assert "http://" in line, self.process.stderr.read()
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
        self.process.kill()
        self._gone()

    def stop(self):
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        self._gone()

    def _gone(self):
        self.process.wait(30)
        self.process.stdout.close()
        self.process.stderr.close()


def haystat(*words, check=True):
    """A command in a process of its own."""
    done = subprocess.run([*COMMAND, *map(str, words)], capture_output=True, text=True, timeout=120)
    assert not check or done.returncode == 0, done.stderr
    return done
