"""The command line where something outside is wrong: streams, disks, names, Ctrl-C."""

from __future__ import annotations

import os
import pty
import resource
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import haystat as hs
from haystat.study import verify

HAYSTAT = [sys.executable, "-m", "haystat"]
SHELL = shlex.join(HAYSTAT)


def run(*arguments, **options):
    """A command in a process of its own; nothing it does ends in a traceback."""
    command = [*HAYSTAT, *map(os.fsencode, arguments)]
    done = subprocess.run(command, capture_output=True, timeout=120, **options)
    assert b"Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def shell(script, *places):
    """A line of bash: its standard error, which is free of tracebacks, and the codes it prints."""
    line = script.format(*map(shlex.quote, map(str, places)), haystat=SHELL)
    done = subprocess.run(["bash", "-c", line], capture_output=True, timeout=120)
    assert b"Traceback" not in done.stderr, done.stderr
    assert b"Exception ignored" not in done.stderr, done.stderr
    return done.stdout.decode().split(), done.stderr.decode()


@pytest.fixture(scope="module")
def pool():
    return hs.Pool(np.linspace(0.05, 0.95, 400), strata=8)


@pytest.fixture
def study(tmp_path, pool):
    path = tmp_path / "s.haystat"
    show = {"name": ["café"] * 400}
    with hs.Study.create(path, pool, random_state=0, show=show) as made:
        made.tell({question.item: int(question.item > 250) for question in made.ask(40)})
    return path


@pytest.fixture
def damaged(study):
    content = study.read_bytes()
    place = content.index(b'"labels":[[')
    study.write_bytes(content[:place] + b"?" + content[place + 1 :])
    return study


def test_standard_input_may_be_closed(study):
    script = "{haystat} label {0} <&- >/dev/null; echo $?; {haystat} tell {0} - <&-; echo $?"
    codes, error = shell(script, study)
    assert codes == ["0", "2"]
    assert "no column 'item' in standard input" in error


def test_standard_output_may_be_closed(study):
    script = "{haystat} status {0} >&-; echo $? >&2; {haystat} verify {0} >&- 2>&-; echo $? >&2"
    assert shell(script, study)[1].split() == ["0", "0"]


@pytest.mark.parametrize("command", ["status", "verify", "log --json", "report", "export"])
def test_a_full_standard_output_is_one_line_and_exit_1(study, command):
    codes, error = shell(f"{{haystat}} {command} {{0}} >/dev/full; echo $?", study)
    assert codes == ["1"]
    assert error == "error: standard output cannot be written: No space left on device\n"


def test_a_reader_that_leaves_is_no_error(study):
    script = "{haystat} log {0} --json | true; echo ${{PIPESTATUS[0]}}; {haystat} verify {0} | true"
    codes, error = shell(script + "; echo ${{PIPESTATUS[0]}}", study)
    assert (codes, error) == (["0", "0"], "")


def test_what_verify_found_is_told_by_its_code_even_to_nobody(damaged):
    for output in ("| true", ">/dev/full", ">&-"):
        script = f"{{haystat}} verify {{0}} {output}; echo ${{{{PIPESTATUS[0]}}}} >&2"
        assert shell(script, damaged)[1].split()[-1] == "1"


def test_other_encodings_do_no_harm(study):
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    code, out, _ = run("ask", study, env=ascii_only)
    assert code == 0
    assert "café" in out  # into a pipe goes UTF-8, which haystat tell reads
    code, _, error = run("tell", study, "-", input=b"item,label\ncaf\xe9,1\n")
    assert (code, error) == (2, "error: standard input is not text in UTF-8\n")


def test_a_terminal_that_knows_ascii_alone_shows_the_rest_escaped(study):
    ours, its = pty.openpty()
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "TERM": "dumb", "COLUMNS": "80"}
    command = [*HAYSTAT, "ask", str(study), "-n", "2"]
    done = subprocess.run(command, stdout=its, stderr=subprocess.PIPE, env=env, timeout=120)
    os.close(its)
    shown = os.read(ours, 10_000)
    os.close(ours)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"caf\\xe9" in shown


def test_names_that_are_not_utf8_are_files_like_others(tmp_path, study):
    pool = tmp_path / "pool.csv"
    pool.write_text("id,s\n" + "".join(f"{i},{i / 50}\n" for i in range(50)))
    made = os.fsdecode(bytes(tmp_path) + b"/caf\xe9.haystat")
    code, out, error = run("new", made, pool, "--score", "s", "--id", "id", "--strata", "4")
    assert (code, error) == (0, "")
    assert "caf\\udce9.haystat" in out
    assert run("status", made)[0] == run("verify", made)[0] == 0
    assert run("report", made, "-o", f"{made}.html")[0] == 0
    code, _, error = run("status", f"{made}.none")
    assert code == 2
    assert error.startswith("error: no study")


@pytest.mark.parametrize(
    "command", ["status {0}", "new {0} {1} --score s", "new {1}.x {0} --score s"]
)
def test_a_name_that_is_too_long_is_one_line(tmp_path, study, command):
    pool = tmp_path / "pool.csv"
    pool.write_text("s\n0.1\n0.9\n")
    name = tmp_path / ("x" * 250 + ".haystat")
    code, _, error = run(*command.format(name, pool).split())
    assert code == 2
    assert "File name too long" in error
    assert error.count("\n") == 1


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))  # SQLite needs 32,768 to read


@pytest.mark.parametrize(
    "command",
    ["export {0} -o {1}.csv", "export {0} --to label-studio -o {1}.json",
     "report {0} -o {1}.html --examples 100", "sketch {2} -o {1}.sketch --id id --score s",
     "new {1}.haystat {2} --score s", "pool {3} --from trec -o {1}.csv"],
)  # fmt: skip
def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path, pool, command):
    table, trec, folder = tmp_path / "pool.csv", tmp_path / "run", tmp_path / "out"
    table.write_text("id,s\n" + "".join(f"{i},{i / 3000}\n" for i in range(3000)))
    trec.write_text("".join(f"301 Q0 FT{i} {i} {i / 3000} t\n" for i in range(3000)))
    folder.mkdir()
    show = {"text": ["x" * 1000] * 400}
    with hs.Study.create(tmp_path / "s.haystat", pool, random_state=0, show=show) as study:
        study.tell({question.item: 1 for question in study.ask(250)}, "a" * 200)
        study.ask(50)
    arguments = command.format(tmp_path / "s.haystat", folder / "made", table, trec).split()
    code, _, error = run(*arguments, preexec_fn=small_files)
    assert code == 1, error
    assert error.count("\n") == 1
    assert f"{folder}/made" in error
    assert "cannot be written" in error
    assert not list(folder.iterdir())


def test_a_place_that_cannot_be_written_is_one_line(study):
    for name in ("/proc/a.csv", "/proc/a.html", "/no/such/folder/a.csv"):
        command = "report" if name.endswith("html") else "export"
        code, _, error = run(command, study, "-o", name)
        assert code == 2
        assert error.startswith(f"error: {name} cannot be written: ")


def test_a_file_takes_the_place_of_the_one_that_a_link_leads_to(tmp_path, study):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    assert run("export", study, "-o", tmp_path / "link.csv")[0] == 0
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text().startswith("item,label")
    code, out, _ = run("report", study, "-o", "/dev/stdout", "--format", "md")
    assert code == 0
    assert out.startswith("#")


@pytest.mark.parametrize("after", ["_multiarray_umath", "_fblas", "_ufuncs"])
def test_ctrl_c_while_it_starts_is_exit_130_and_silence(study, after):
    command = subprocess.Popen(
        [*HAYSTAT, "label", str(study)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    maps = Path(f"/proc/{command.pid}/maps")
    if not maps.exists():
        command.kill()
        pytest.skip("no /proc to see how far a process is")
    deadline = time.monotonic() + 60
    while after not in maps.read_text() and command.poll() is None:
        assert time.monotonic() < deadline, f"{after} is never loaded"
        time.sleep(0.002)
    command.send_signal(signal.SIGINT)
    _, error = command.communicate(timeout=60)
    assert (command.returncode, error) == (130, b"")


def test_damaged_bytes_are_findings_of_verify(tmp_path, study):
    content = study.read_bytes()
    filled = np.flatnonzero(np.frombuffer(content, dtype=np.uint8))
    rng = np.random.default_rng(1)
    for position in rng.choice(filled, 120, replace=False).tolist():
        path = tmp_path / "damaged.haystat"
        path.write_bytes(
            content[:position] + bytes([rng.integers(128, 256)]) + content[position + 1 :]
        )
        for call in (verify, lambda path: hs.Study.open(path).close()):
            with suppress(hs.HaystatError):
                call(path)
        for file in tmp_path.glob("damaged.haystat*"):
            file.unlink()
