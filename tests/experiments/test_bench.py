"""haystat bench: every file format, and one clear line for every wrong input."""

from __future__ import annotations

import json
import subprocess
import sys

import h5py
import numpy as np
import pytest

import haystat as hs
from haystat.core.tables import read_columns
from haystat.errors import FileError, UnknownName
from haystat.experiments.labelled_pool import read_pool

QUICK = ("--budgets", "40,80", "--repeats", "3", "--strata", "16")
COLUMNS = ("--label", "y", "--score", "s")


@pytest.fixture(scope="session")
def files(frame, tmp_path_factory):
    """The same pool in every format."""
    folder = tmp_path_factory.mktemp("pools")
    frame.to_parquet(folder / "pool.parquet")
    frame.to_csv(folder / "pool.csv", index=False)
    frame.to_feather(folder / "pool.feather")
    with h5py.File(folder / "pool.h5", "w") as file:
        file["labels"], file["scores"] = frame.y.to_numpy(), frame.s.to_numpy()
        file["features"] = np.zeros((len(frame), 3))
    return folder


@pytest.mark.parametrize("name", ["pool.parquet", "pool.csv", "pool.feather", "pool.h5"])
def test_every_format_gives_the_same_numbers(haystat, files, data, name, tmp_path):
    columns = () if name == "pool.h5" else COLUMNS
    out = tmp_path / "out.json"
    done = haystat("bench", files / name, *columns, *QUICK, "--json", out)
    assert done.returncode == 0, done.stderr
    assert "adaptive" in done.stdout
    assert "coverage" in json.loads(out.read_text())[0]
    expected = hs.simulate(data.pool, data.labels, budgets=[40, 80], repeats=3)
    assert [row["mse"] for row in json.loads(out.read_text())] == expected.mse.tolist()


def test_json_goes_to_standard_output_alone(haystat, files):
    done = haystat("bench", files / "pool.csv", *COLUMNS, *QUICK, "--json", "-")
    rows = json.loads(done.stdout)
    names = ["assisted", "adaptive", "passive"]
    assert [row["design"] for row in rows] == [name for name in names for _ in range(2)]
    assert "pool" in done.stderr


def test_several_systems_picture_and_store(haystat, files, tmp_path):
    arguments = ["bench", files / "pool.parquet", "--label", "y", "--score", "s", "--score", "t"]
    arguments += ["--prediction", "hard_s", "--prediction", "hard_t", *QUICK, "--json", "-"]
    arguments += ["--picture", tmp_path / "p.png", "--store", tmp_path / "store"]
    first, again = haystat(*arguments), haystat(*arguments)
    assert first.returncode == again.returncode == 0, first.stderr
    assert [row["mse"] for row in json.loads(first.stdout)] == [
        row["mse"] for row in json.loads(again.stdout)
    ]
    assert json.loads(first.stdout)[0]["components"] == 2
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    assert len(list((tmp_path / "store").iterdir())) == 3


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather"])
def test_the_table_can_be_saved(haystat, files, tmp_path, ending):
    target = tmp_path / f"table.{ending}"
    assert haystat("bench", files / "pool.csv", *COLUMNS, *QUICK, "--table", target).returncode == 0
    assert read_columns(target, ["design", "mse"])["design"].tolist()[0] == "assisted"


def test_list_shows_every_design_and_measure(haystat):
    done = haystat("bench", "--list")
    for name in (*hs.designs.DESIGNS, *hs.measures.MEASURES):
        assert name in done.stdout


def cut_short(path, folder):
    target = folder / path.name
    target.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    return target


def text_labels(frame, folder):
    target = folder / "text.csv"
    frame.assign(y="maybe").to_csv(target, index=False)
    return target


BAD = {
    "missing file": lambda files, frame, folder: [folder / "none.parquet", *COLUMNS],
    "missing column": lambda files, frame, folder: [
        files / "pool.parquet", "--label", "y", "--score", "nope",
    ],
    "missing column, csv": lambda files, frame, folder: [
        files / "pool.csv", "--label", "nope", "--score", "s",
    ],
    "missing column, hdf5": lambda files, frame, folder: [
        files / "pool.h5", "--label", "nope",
    ],
    "no columns named": lambda files, frame, folder: [files / "pool.parquet"],
    "unknown labels": lambda files, frame, folder: [text_labels(frame, folder), *COLUMNS],
    "labels are scores": lambda files, frame, folder: [
        files / "pool.parquet", "--label", "s", "--score", "s",
    ],
    "scores are text": lambda files, frame, folder: [
        files / "pool.parquet", "--label", "y", "--score", "note",
    ],
    "truncated parquet": lambda files, frame, folder: [
        cut_short(files / "pool.parquet", folder), *COLUMNS,
    ],
    "truncated feather": lambda files, frame, folder: [
        cut_short(files / "pool.feather", folder), *COLUMNS,
    ],
    "truncated hdf5": lambda files, frame, folder: [cut_short(files / "pool.h5", folder)],
    "budget too large": lambda files, frame, folder: [
        files / "pool.parquet", *COLUMNS, "--budgets", "601",
    ],
    "budget not a number": lambda files, frame, folder: [
        files / "pool.parquet", *COLUMNS, "--budgets", "many",
    ],
    "unknown design": lambda files, frame, folder: [
        files / "pool.parquet", *COLUMNS, "--designs", "adaptiv",
    ],
    "unknown measure": lambda files, frame, folder: [
        files / "pool.parquet", *COLUMNS, "--measure", "f7",
    ],
    "a design that cannot": lambda files, frame, folder: [
        files / "pool.parquet", *COLUMNS, "--measure", "accuracy", "--designs", "oasis",
    ],
    "too few predictions": lambda files, frame, folder: [
        files / "pool.parquet", *COLUMNS, "--score", "t", "--prediction", "hard_s",
    ],
    "unknown format": lambda files, frame, folder: [__file__, *COLUMNS],
    "unknown picture": lambda files, frame, folder: [
        files / "pool.parquet", *COLUMNS, *QUICK, "--picture", folder / "p.nothing",
    ],
    "unknown table": lambda files, frame, folder: [
        files / "pool.parquet", *COLUMNS, "--table", folder / "t.xyz",
    ],
    "no file": lambda files, frame, folder: [],
}  # fmt: skip


def assert_one_clear_line(status, messages):
    assert status == 2, messages
    assert messages.count("\n") == 1
    assert messages.startswith("error: ")


@pytest.mark.parametrize("case", BAD)
def test_wrong_input_is_one_clear_line(haystat, files, frame, tmp_path, case):
    done = haystat("bench", *BAD[case](files, frame, tmp_path))
    assert_one_clear_line(done.returncode, done.stderr)


def test_a_process_leaves_with_status_2_and_no_traceback(files, frame, tmp_path):
    words = ["bench", *map(str, BAD["truncated parquet"](files, frame, tmp_path))]
    command = [sys.executable, "-m", "haystat", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert_one_clear_line(done.returncode, done.stderr)


def test_only_the_named_columns_are_read(files):
    assert list(read_columns(files / "pool.parquet", ["y", "s"])) == ["y", "s"]
    with pytest.raises(UnknownName, match="note"):
        read_columns(files / "pool.parquet", ["z"])


def test_a_pool_of_the_paper_needs_no_column_names(files, data, tmp_path):
    read = read_pool(files / "pool.h5", strata=16)
    assert read.pool.outputs(np.arange(600)).predictions[:, 0].tolist() == (
        (data.scores >= 0).astype(int).tolist()
    )
    target = tmp_path / "with-predictions.h5"
    with h5py.File(target, "w") as file:
        file["labels"], file["scores"] = data.labels, data.scores
        file["preds"] = np.ones(600, dtype=int)
    assert read_pool(target).pool.outputs(np.arange(600)).predictions.all()


def test_columns_of_different_length_are_refused(tmp_path):
    with h5py.File(tmp_path / "p.h5", "w") as file:
        file["labels"], file["scores"] = np.zeros(3), np.zeros(4)
    with pytest.raises(FileError, match="differ in length"):
        read_pool(tmp_path / "p.h5")


def test_text_classes(haystat, frame, tmp_path):
    frame.assign(y=np.where(frame.y == 1, "match", "other")).to_parquet(tmp_path / "t.parquet")
    done = haystat(
        "bench", tmp_path / "t.parquet", *COLUMNS, *QUICK, "--classes", "other,match", "--json", "-"
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0]["truth"] > 0
