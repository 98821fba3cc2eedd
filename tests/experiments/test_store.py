"""Finished repeats survive: a run that was killed goes on and ends with the same numbers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import haystat as hs
from haystat.errors import FileError
from haystat.experiments import simulate as module
from haystat.experiments.store import RepeatStore

ARGUMENTS = {"designs": ["adaptive", "passive"], "budgets": [40, 80], "repeats": 6}


def numbers(frame):
    return frame.drop(columns="seconds")


def assert_same(first, second):
    pd.testing.assert_frame_equal(numbers(first), numbers(second), check_exact=True)


@pytest.fixture
def whole(data):
    return hs.simulate(data.pool, data.labels, **ARGUMENTS)


def test_stored_repeats_are_not_run_again(data, whole, tmp_path, monkeypatch):
    assert_same(whole, hs.simulate(data.pool, data.labels, store=tmp_path, **ARGUMENTS))

    def refuse(experiments, tasks, jobs):
        assert not tasks
        return iter(())

    monkeypatch.setattr(module, "run_tasks", refuse)
    assert_same(whole, hs.simulate(data.pool, data.labels, store=tmp_path, **ARGUMENTS))


@pytest.mark.parametrize("cut", [0.0, 0.3, 0.6, 0.9])
def test_a_file_cut_anywhere_is_gone_on_from(data, whole, tmp_path, cut):
    hs.simulate(data.pool, data.labels, store=tmp_path, **ARGUMENTS)
    for path in tmp_path.iterdir():
        content = path.read_bytes()
        path.write_bytes(content[: int(cut * len(content))])
    resumed = hs.simulate(data.pool, data.labels, store=tmp_path, jobs=2, **ARGUMENTS)
    assert_same(whole, resumed)


def test_more_repeats_go_on_from_fewer(data, whole, tmp_path):
    fewer = ARGUMENTS | {"repeats": 2}
    hs.simulate(data.pool, data.labels, store=tmp_path, **fewer)
    assert_same(whole, hs.simulate(data.pool, data.labels, store=tmp_path, **ARGUMENTS))


SLOW = """
import numpy as np, sys
import haystat as hs
rng = np.random.default_rng(7)
scores = rng.normal(-2.5, 1.5, 600)
labels = (rng.random(600) < 1 / (1 + np.exp(-2 * scores))).astype(int)
hs.simulate(
    hs.Pool(scores, strata=16), labels, "f1", ["adaptive", "passive"], [100, 300],
    50, jobs=2, batch_size=5, store=sys.argv[1],
)
"""


def test_killed_at_half_and_started_again_is_the_same(data, tmp_path):
    process = subprocess.Popen([sys.executable, "-c", SLOW, str(tmp_path)], start_new_session=True)
    try:
        wait_for(lambda: n_lines(tmp_path) > 20, 60)
        assert process.poll() is None, "the run was over before it could be killed"
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    wait_for(lambda: not group_alive(process.pid), 20)
    done = n_lines(tmp_path)
    assert 20 < done < 100
    arguments = ("f1", ["adaptive", "passive"], [100, 300], 50)
    resumed = hs.simulate(data.pool, data.labels, *arguments, batch_size=5, store=tmp_path, jobs=2)
    assert_same(resumed, hs.simulate(data.pool, data.labels, *arguments, batch_size=5, jobs=2))


def test_an_interrupt_keeps_what_is_finished_and_leaves_no_worker(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(tmp_path)],
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: n_lines(tmp_path) > 20, 60)
    process.send_signal(signal.SIGINT)
    _, messages = process.communicate(timeout=30)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in messages
    wait_for(lambda: not group_alive(process.pid), 10)


def n_lines(folder):
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("*.jsonl"))


def group_alive(group):
    """Whether a process of the group is left, workers included."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def wait_for(condition, seconds):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


@pytest.mark.parametrize(
    "change",
    [
        {"random_state": 1},
        {"batch_size": 20},
        {"budgets": [40, 81]},
        {"level": 0.9},
        {"measure": "precision"},
        {"designs": [hs.designs.Adaptive(delta=0.5)]},
    ],
    ids=lambda change: next(iter(change)),
)
def test_other_settings_do_not_share_a_file(data, tmp_path, change):
    arguments = {"designs": ["adaptive"], "budgets": [40, 80], "repeats": 2}
    hs.simulate(data.pool, data.labels, store=tmp_path, **arguments)
    hs.simulate(data.pool, data.labels, store=tmp_path, **(arguments | change))
    assert len(list(tmp_path.iterdir())) == 2


def test_other_labels_do_not_share_a_file(data, tmp_path):
    for labels in (data.labels, np.roll(data.labels, 1)):
        hs.simulate(data.pool, labels, "f1", ["passive"], [40], 2, store=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_damaged_line_is_named(data, tmp_path):
    hs.simulate(data.pool, data.labels, "f1", ["passive"], [40], 3, store=tmp_path)
    (path,) = tmp_path.iterdir()
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], "{nonsense", *lines[2:]]) + "\n")
    with pytest.raises(FileError, match="line 2"):
        hs.simulate(data.pool, data.labels, "f1", ["passive"], [40], 3, store=tmp_path)


def test_two_runs_do_not_write_to_one_file(tmp_path):
    settings = {"design_name": "passive"}
    with RepeatStore(tmp_path, settings), pytest.raises(FileError, match="another run"):
        RepeatStore(tmp_path, settings).__enter__()


def test_the_settings_are_written_in_the_first_line(data, tmp_path):
    hs.simulate(data.pool, data.labels, "f1", ["passive"], [40], 1, 9, store=tmp_path)
    (path,) = tmp_path.iterdir()
    settings = json.loads(path.read_text().splitlines()[0])
    assert settings["seed"] == 9
    assert settings["budgets"] == [40]
