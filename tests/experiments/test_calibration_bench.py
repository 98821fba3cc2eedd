"""bench/calibration.py: what it counts, and that it goes on where it stopped."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import haystat as hs
from haystat.engines import Unblocked

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def bench(monkeypatch):
    """The modules by name, with two tiny pools as the only kinds."""
    monkeypatch.syspath_prepend(str(BENCH))
    import calibration
    import calibration_generated as generated
    import calibration_pools as pools
    import calibration_runs as runs
    import calibration_summary as summary

    traits = generated.Traits(1500, 0.05, 3.0, 1.0, 0.0, 0.1, 0.001, 0.3, "logistic", 1.5)
    tiny = partial(generated.random_pool, traits, (0, 0))
    three = partial(pools._several, 3, 1200, None, 5)
    monkeypatch.setitem(pools.KINDS, "tiny", lambda places: iter([("two", tiny)]))
    monkeypatch.setitem(pools.KINDS, "several", lambda places: iter([("three", three)]))
    modules = calibration, generated, pools, runs, summary
    return dict(zip(("main", "generated", "pools", "runs", "summary"), modules, strict=True))


def found(low: float, high: float, value: float, n: int = 100) -> dict:
    return {"n": n, "tail": 0, "values": [value], "ends": [[low, high]], "guaranteed": None}


def record(design: str, runs: list[dict], **facts) -> dict:
    key = {"kind": "tiny", "pool": "two", "measure": "f1", "drawn_for": "f1", "design": design}
    pool = {"several": False, "tied": False, "tail_size": 0, "positives": 10}
    return {**key, **pool, "stop": None, "truth": [0.5], "limit": [0.01], "runs": runs, **facts}


def test_rows_count_the_intervals_that_hold_the_truth(bench):
    runs = [
        {"at": [found(0.4, 0.6, 0.5)], "stopped": None, "all_looks": [[0.4, 0.6]]},
        {"at": [found(0.6, 0.9, 0.7)], "stopped": None, "all_looks": [[0.45, 0.55]]},
        {"at": [found(0.5, 0.8, 0.6)], "stopped": None, "all_looks": [[0.51, 0.6]]},
        {"at": [found(np.nan, np.nan, np.nan)], "stopped": None, "all_looks": [[0.0, 1.0]]},
    ]
    (row,) = bench["summary"].rows_of(record("default", runs))
    assert row["coverage"] == 0.5  # an undefined estimate holds nothing
    assert row["undefined"] == 1
    assert row["mse"] == pytest.approx(0.05 / 3)
    assert row["bias"] == pytest.approx(0.1)
    assert row["limit"] == pytest.approx(5 / 3)
    assert row["width_ratio"] == pytest.approx(0.3 / (2 * 1.96 * np.sqrt(0.05 / 3)))
    assert row["all_looks"][0] == 0.75


def test_the_interval_at_the_moment_of_stopping_is_a_cell_of_its_own(bench):
    stopped = [found(0.6, 0.7, 0.65, 50) | {"reached": True}, found(0.4, 0.7, 0.5)]
    runs = [{"at": [found(0.4, 0.6, 0.5)], "stopped": s, "all_looks": None} for s in stopped]
    rows = bench["summary"].rows_of(record("default", runs, stop=0.1))
    assert [row["coverage"] for row in rows] == [1.0, 0.5]
    assert rows[1]["labels"] == "width 0.1"
    assert rows[1]["median_labels"] == 75


def test_errors_are_compared_with_the_better_of_the_other_designs(bench):
    def with_error(design, error):
        at = [found(0.4, 0.6, 0.5 + error)]
        runs = [{"at": at, "stopped": None, "all_looks": None}] * 4
        return bench["summary"].rows_of(record(design, runs))

    designs = {"default": 0.1, "adaptive": 0.2, "passive": 0.05}
    rows = [row for design, error in designs.items() for row in with_error(design, error)]
    bench["summary"].compare(rows)
    assert rows[0]["ratios"]["adaptive"][0] == pytest.approx(4)
    assert rows[0]["over_best"][0] == pytest.approx(4)
    text = "\n".join(bench["summary"].summary(rows))
    assert "better of adaptive and passive: 0.0% (0 of 1)" in text
    assert "all pools: 4.00 over 1 cells" in text


def test_guaranteed_intervals_are_taken_together_over_all_looks(bench):
    class Looked:
        values, intervals = np.array([0.5]), np.array([[0.4, 0.6]])

        def __init__(self, low, high):
            self.guaranteed_interval = (low, high)

    part = bench["runs"].Found(None, True)
    for n, ends in enumerate([(0.0, 1.0), (0.3, np.nan), (0.2, 0.7)]):
        part.add(Looked(*ends), n, 0, n == 2)
    assert part.wants_every_look
    assert part.as_dict()["all_looks"] == [[0.3, 0.7]]


def test_pools_are_made_once_and_are_the_same_again(bench, tmp_path):
    pools = bench["pools"]
    first, again = (next(pools.known_pools(["tiny"], pools.Places(cache=tmp_path))) for _ in "ab")
    assert len(list(tmp_path.rglob("*.npz"))) == 1
    made = pools.KINDS["tiny"](None).__next__()[1]()
    for known in (first, again):
        np.testing.assert_array_equal(known.scores, made[0])
        np.testing.assert_array_equal(known.predictions, made[1])
        np.testing.assert_array_equal(known.labels, made[2])
    hard = (bench["generated"].expit(0) <= first.scores).astype(int)
    np.testing.assert_array_equal(first.predictions, hard)


def test_random_pools_of_other_seeds_differ_and_have_the_share_they_claim(bench):
    generated = bench["generated"]
    traits = [generated.random_traits(np.random.default_rng([s, 0])) for s in range(3)]
    assert len(set(traits)) == 3
    for number, trait in enumerate(traits):
        _, given, labels = generated.random_pool(trait, (number, 0))
        assert len(labels) == trait.size
        assert given.sum() >= 3
        least, most = trait.size * trait.share - 1, trait.size * (trait.share + trait.flipped)
        assert least <= labels.sum() <= most + 5 * np.sqrt(most)


@pytest.mark.parametrize("reuse", [False, True])
def test_a_run_prints_all_lines_and_does_not_run_finished_cells_again(
    bench, tmp_path, capsys, reuse
):
    file = tmp_path / "found.json"
    arguments = "--kinds tiny,several --measures f1,recall,pr_curve,accuracy --budgets 50,100 "
    arguments += f"--repeats 2 --jobs 1 --stop 0.5 --cache {tmp_path} --json {file}"
    arguments += " --reuse" * reuse
    bench["main"].main(arguments.split())
    text = capsys.readouterr().out
    for head in ("1. interval", "2. width", "3. error", "4. guaranteed"):
        assert head in text
    # Components: f1, recall, accuracy and 3 points of precision and recall; accuracy of three.
    # Two budgets, and stopping: with --reuse by F1 alone.
    assert text.count("| tiny: two |") == (3 + 8 * 2 if reuse else 9 * 3)
    assert text.count("| several: three |") == 3
    kept = [json.loads(line) for line in file.read_text().splitlines()]
    n_compared = 4 + 1 if reuse else 1 + 1 + 1  # with draws of their own f1 and accuracy are
    assert len(kept) == 5 + 2 * n_compared
    bench["main"].main(arguments.split())
    assert len(file.read_text().splitlines()) == len(kept)
    assert capsys.readouterr().out == text


def test_pairs_beyond_the_blocks_are_as_an_engine_would_see_them(bench, tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.choice(60 * 50, 400, replace=False)
    scores = rng.beta(1, 4, 400)
    hard = (scores >= 0.5).astype(int)
    frame = pd.DataFrame({"l": rows // 50, "r": rows % 50, "s": scores, "p": hard})
    frame.to_parquet(tmp_path / "pairs.parquet")
    tables = Unblocked(np.arange(60), np.arange(50))
    names = {"id": ("l", "r"), "score": "s", "prediction": "p"}
    opened = hs.open_pool(str(tmp_path / "pairs.parquet"), unblocked=tables, **names)
    made = bench["pools"]._beyond(scores, hard, hard, 60 * 50 - 400, 7)
    known = bench["pools"].Known("unblocked", "small", *made)
    cells = []
    for pool in (opened, hs.Pool(**known.arguments)):
        found = pool.cells(hs.measures.resolve("f1").bind(pool.schema))
        order = np.lexsort((found.example.predictions[:, 0], found.stratum))
        cells.append([part[order] for part in (found.size, found.stratum, found.prior)])
    for theirs, ours in zip(*cells, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
    assert known.labels.sum() == hard.sum() + 7
