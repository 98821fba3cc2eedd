"""haystat reproduce: one folder with everything, from whichever pools are there."""

from __future__ import annotations

import csv
import re

import h5py
import numpy as np
import pytest

from haystat.errors import FileError
from haystat.experiments.reproduce import reproduce
from haystat.experiments.tasks import TASKS, find_pools

DESIGNS = {"f1": 6, "accuracy": 5, "pr": 5}


@pytest.fixture(scope="module")
def pools(data, tmp_path_factory):
    """Two small pools under names of the paper, and a file that is none."""
    folder = tmp_path_factory.mktemp("published")
    for name in ("abt-buy-svm.h5", "tweets100k-svm.h5", "something.h5"):
        with h5py.File(folder / name, "w") as file:
            file["labels"], file["scores"] = data.labels, data.scores
    return folder


@pytest.fixture(scope="module")
def out(haystat, pools, tmp_path_factory):
    """The folder after a run of all experiments."""
    folder = tmp_path_factory.mktemp("results")
    done = haystat("reproduce", "--pools", pools, "--out", folder, "--repeats", 3, "--budget", 120)
    assert done.returncode == 0, done.stderr
    return folder


def test_all_files_are_there(out):
    names = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    for kind in ("pdf", "png"):
        for figure in (
            "f1-summary",
            "f1-convergence-abt-buy",
            "f1-convergence-tweets100k",
            "accuracy-summary",
            "accuracy-convergence-abt-buy",
            "pr-curves-abt-buy",
            "pr-convergence-abt-buy",
        ):
            assert f"figures/{figure}.{kind}" in names
    assert {f"tables/{task}.csv" for task in TASKS} <= names
    assert {f"tables/{task}-coverage.csv" for task in TASKS} <= names
    # The paper shows curves of two pools only, and the third file is not one of its pools.
    assert not any("pr-curves-tweets100k" in name or "something" in name for name in names)


@pytest.mark.parametrize("task", TASKS)
def test_tables_have_every_pool_design_and_budget(out, task):
    with (out / "tables" / f"{task}.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert max(int(row["budget"]) for row in rows) == 120
    assert len({row["design"] for row in rows}) == DESIGNS[task]
    keys = {(row["pool"], row["design"], row["budget"]) for row in rows}
    assert len(keys) == len(rows)


def test_the_page_needs_no_net_and_shows_settings(out):
    page = (out / "index.html").read_text()
    assert not re.search(r'(src|href)="https?:', page)
    assert page.count("data:image/png;base64,") == 8
    for link in re.findall(r'href="([^"]+)"', page):
        assert (out / link).exists()
    for word in ("seed", "numpy", "repeats", "Coverage of the 95% interval", "wall seconds"):
        assert word in page


def test_a_second_run_only_reads_and_keeps_the_other_experiments(out, pools):
    tables = {path.name: path.read_text() for path in (out / "tables").glob("*.csv")}
    sizes = {path: path.stat().st_size for path in (out / "store").iterdir()}
    reproduce(pools, out, ["f1"], repeats=3, budget=120)
    assert {path: path.stat().st_size for path in (out / "store").iterdir()} == sizes
    assert {path.name: path.read_text() for path in (out / "tables").glob("*.csv")} == tables
    assert "Precision-recall" in (out / "index.html").read_text()


def test_strata_of_curves_follow_the_thresholds(pools):
    data = TASKS["pr"].read(pools / "abt-buy-svm.h5")
    grid = np.linspace(*data.pool.schema.score_range[0], 1024)
    reached = np.searchsorted(grid, data.pool.scores[:, 0], side="right")
    block = (reached - 1) // 4
    # Strata that hold nothing are passed over, so the numbers agree up to their order.
    assert np.array_equal(np.unique(block, return_inverse=True)[1], data.pool.stratum)


def test_no_pool_and_no_folder_are_one_clear_line(haystat, tmp_path):
    for folder in (tmp_path, tmp_path / "none"):
        done = haystat("reproduce", "--pools", folder, "--out", tmp_path / "out")
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
    with pytest.raises(FileError, match="abt-buy"):
        find_pools(tmp_path)


def test_an_unknown_experiment_is_refused(haystat, tmp_path):
    done = haystat("reproduce", "--only", "nonsense", "--out", tmp_path)
    assert done.returncode == 2
    assert "f1" in done.stderr
