"""Files of released versions: they open, pass the audit and give the digits that they gave."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import haystat as hs
from haystat.errors import HaystatError
from haystat.study import sqlite_journal, verify

FIXTURES = Path(__file__).parent / "fixtures"
FOLDERS = sorted(path for path in FIXTURES.iterdir() if (path / "estimates.json").exists())
#: an estimator that may be replaced: the study is then refused, by a line that says the version
MAY_BE_REFUSED = {"default.haystat"}


def fixtures(ending):
    files = [path for folder in FOLDERS for path in sorted(folder.glob(f"*.{ending}"))]
    return [pytest.param(path, id=f"{path.parent.name}-{path.stem}") for path in files]


def given_then(path):
    return json.loads((path.parent / "estimates.json").read_text())["estimates"][path.name]


def same_digits(found, expected):
    """Equal as far as another machine may add in another order."""
    assert found.keys() == expected.keys()
    for measure, given in expected.items():
        assert found[measure]["labels"] == given["labels"]
        for part in ("values", "intervals"):
            np.testing.assert_allclose(found[measure][part], given[part], rtol=1e-9)


@pytest.fixture(scope="module")
def make():
    spec = importlib.util.spec_from_file_location("make_fixtures", FIXTURES / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def audited(path, make):
    """The estimates of a study that passes the audit, and why it does not, if so."""
    try:
        verdict = verify(path)
        if not verdict.ok:
            return None, str(verdict.findings[0])
        with hs.Study.open(path) as study:
            return make.estimates(study), ""
    except HaystatError as error:
        return None, str(error)


@pytest.mark.parametrize("path", fixtures("haystat"))
def test_a_study_of_a_released_version_gives_the_digits_that_it_gave(path, make, tmp_path):
    found, refusal = audited(Path(shutil.copy(path, tmp_path)), make)
    if found is None and path.name in MAY_BE_REFUSED:
        version = re.escape(path.parent.name.removeprefix("v"))
        assert re.fullmatch(rf"[^\n]*\b{version}\b[^\n]*", refusal)
        return
    assert refusal == ""
    same_digits(found, given_then(path))


@pytest.mark.parametrize("path", fixtures("haystat"))
def test_the_journal_of_a_released_version_can_be_read(path, tmp_path):
    with closing(sqlite3.connect(shutil.copy(path, tmp_path))) as connection:
        entries = list(sqlite_journal.entries(connection))
    for last, entry in pairwise([None, *entries]):
        sqlite_journal.check_link(last, entry)
    counts = Counter(entry.kind for entry in entries)
    assert {"stage", "lease", "answer"} <= counts.keys()
    assert (counts["skip"], counts["correction"], counts["note"]) == (1, 1, 1)
    assert sum(len(e.data["labels"]) for e in entries if e.kind == "answer") == 93
    assert {entry.who for entry in entries} == {None, "ann", "béatrice"}


@pytest.mark.parametrize("path", fixtures("sketch"))
def test_a_sketch_of_a_released_version_gives_the_digits_that_it_gave(path, make):
    same_digits(make.sketch_estimates(path), given_then(path))
    pool = hs.open_pool(path)
    assert pool.records(pool.kept_items(pool.cells(hs.measures.resolve("f1").bind(pool.schema))))
