"""Pairs that blocking never produced: counted, drawn at random, and part of recall."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import stats

import haystat as hs
from haystat.engines import Side, Unblocked
from haystat.engines.unblocked import PairSpace, pair_id, places, shuffled
from haystat.errors import BadOption, PoolError

N_LEFT, N_RIGHT = 60, 50


@pytest.fixture(scope="module")
def pairs():
    """Blocked pairs with scores; of 75 matches 25 were not blocked."""
    rng = np.random.default_rng(0)
    number = rng.permutation(N_LEFT * N_RIGHT)
    blocked, rest = number[:400], number[400:]
    score = np.where(np.arange(400) < 50, rng.beta(5, 2, 400), rng.beta(1, 6, 400))
    matches = np.concatenate([blocked[:50], rest[:25]])
    names = [f"l{n // N_RIGHT}|r{n % N_RIGHT}" for n in range(N_LEFT * N_RIGHT)]
    return {
        "left": [f"l{n // N_RIGHT}" for n in blocked],
        "right": [f"r{n % N_RIGHT}" for n in blocked],
        "score": score,
    }, {names[n] for n in matches}


@pytest.fixture
def path(pairs, tmp_path):
    parquet.write_table(pa.table(pairs[0]), tmp_path / "pairs.parquet")
    return str(tmp_path / "pairs.parquet")


def tables():
    return Unblocked([f"l{i}" for i in range(N_LEFT)], [f"r{i}" for i in range(N_RIGHT)])


def opened(path, **options):
    options = {"unblocked": tables(), "strata": 8, "candidates": 64, **options}
    return hs.open_pool(path, id=("left", "right"), score="score", **options)


def recall_of(pairs):
    rows, matches = pairs
    names = [pair_id(p) for p in zip(rows["left"], rows["right"], strict=True)]
    found = {n for n, s in zip(names, rows["score"], strict=True) if s >= 0.5}
    return len(found & matches) / len(matches)


@pytest.mark.parametrize("size", [1, 2, 7, 1000, 4097])
def test_the_order_is_a_permutation(size):
    for seed in (0, 5):
        assert sorted(shuffled(np.arange(size), size, seed)) == list(range(size))


def test_every_pair_is_first_equally_often():
    first = np.array([shuffled(np.arange(1), 21, seed)[0] for seed in range(4200)])
    assert stats.chisquare(np.bincount(first, minlength=21)).pvalue > 1e-4


@pytest.mark.parametrize("right", [None, np.arange(7) * 10])
def test_pairs_are_numbered_without_gaps(right):
    space = PairSpace(np.arange(9), right)
    found = space.pairs(np.arange(space.size))
    assert len(set(found)) == len(found) == space.size
    if right is None:
        assert all(a < b for a, b in found)
    large = PairSpace(np.arange(3_000_000), None)
    last = large.pairs(np.array([0, large.size - 1]))
    assert last == [(0, 1), (2_999_998, 2_999_999)]


def test_places_are_shares_of_the_order():
    np.testing.assert_allclose(places(np.arange(10), 10) / 2.0**63, (np.arange(10) + 0.5) / 10)


def test_all_pairs_are_in_the_pool_once(path):
    pool = opened(path)
    assert pool.size == N_LEFT * N_RIGHT
    cells = pool.cells(hs.measures.Recall().bind(pool.schema))
    assert cells.size.sum() == pool.size
    assert cells.size[0] == pool.size - 400
    order = pool.candidates(cells)
    found = [
        pool.id_of(item)
        for cell, size in enumerate(cells.size.tolist())
        for item in order.first(cell, size)[0].tolist()
    ]
    assert len(set(found)) == len(found) == pool.size
    item, u = order.first(0, 50)
    assert np.all(np.diff(u) > 0)
    assert np.all(pool.outputs(item).predictions == 0)


def test_recall_with_unblocked_pairs_is_unbiased(pairs, path):
    _, matches = pairs
    truth, base = recall_of(pairs), opened(path, candidates=1000)

    def estimate(pool, state, budget):
        evaluation = hs.Evaluation(pool, "recall", "adaptive", random_state=state)
        evaluation.run(lambda items: [int(i in matches) for i in items], budget, batch_size=100)
        return evaluation.estimate().value

    # Evaluations of one pool share its order of items, so that only pools are independent.
    found = np.array(
        [
            np.mean([estimate(pool, 10 * seed + state, 500) for state in range(2)])
            for seed, pool in ((seed, base.with_seed(seed)) for seed in range(20))
        ]
    )
    assert abs(found.mean() - truth) < 4 * found.std() / np.sqrt(len(found))
    blocked = hs.open_pool(path, id=("left", "right"), score="score", strata=8)
    # What blocking missed is missed by an estimate on the blocked pairs alone.
    assert estimate(blocked, 0, 400) > truth + 0.1


def test_curves_studies_and_sketches_know_unblocked_pairs(pairs, path, tmp_path):
    _, matches = pairs
    pool = opened(path)
    hs.Evaluation(pool, hs.measures.PRCurve(n_thresholds=16), random_state=0).ask(20)
    pool.save(tmp_path / "pairs.sketch")
    kept = hs.open_pool(tmp_path / "pairs.sketch")
    found = []
    for name, one in (("whole", pool), ("kept", kept)):
        study = tmp_path / f"{name}.haystat"
        with hs.Study.create(study, one, "recall", random_state=2, candidates=200) as made:
            asked = [question.item for question in made.ask(60)]
            made.tell({item: int(item in matches) for item in asked})
            found.append((asked, made.estimate().value))
            cell = made.pool.cells(made.measure)
            u = made.pool.candidates(cell).first(0, 20)[1]
        np.testing.assert_array_equal(u, pool.candidates(cell_of(pool)).first(0, 20)[1])
    assert found[0] == found[1]


def cell_of(pool):
    return pool.cells(hs.measures.Recall().bind(pool.schema))


def test_records_of_unblocked_pairs_come_from_the_side_tables(path, tmp_path):
    for side, n in (("l", N_LEFT), ("r", N_RIGHT)):
        ids = [f"{side}{i}" for i in range(n)]
        names = [f"name of {i}" for i in ids]
        parquet.write_table(pa.table({"id": ids, "name": names}), tmp_path / f"{side}.parquet")
    left, right = str(tmp_path / "l.parquet"), str(tmp_path / "r.parquet")
    pool = opened(
        path,
        unblocked=Unblocked(left, right),
        sides={"left": Side(left, ("name",)), "right": Side(right, ("name",))},
        show=["score"],
    )
    order = pool.candidates(cell_of(pool))
    index = np.array([order.take(0, 0), order.take(1, 0)])
    shown = pool.records(index)
    for row, item in enumerate(index.tolist()):
        one, other = pool.id_of(item).split("|")
        assert shown["left.name"][row] == f"name of {one}"
        assert shown["right.name"][row] == f"name of {other}"
    assert shown["score"][0] is None
    assert shown["score"][1] is not None


def test_pairs_of_one_table_count_once(tmp_path):
    rows = {"left": [1, 5, 3], "right": [2, 4, 0], "score": [0.1, 0.7, 0.4]}
    parquet.write_table(pa.table(rows), tmp_path / "pairs.parquet")
    pool = opened(str(tmp_path / "pairs.parquet"), unblocked=Unblocked(list(range(6))), strata=2)
    assert pool.size == 15
    cells = cell_of(pool)
    free = [pool.id_of(i) for i in pool.candidates(cells).first(0, 12)[0].tolist()]
    assert {"1|2", "4|5", "0|3"}.isdisjoint(free)
    assert len(set(free)) == 12


def test_what_cannot_be_unblocked(path):
    with pytest.raises(BadOption, match="two ids"):
        hs.open_pool(path, id="left", score="score", unblocked=tables())
    with pytest.raises(PoolError, match="are the tables whole"):
        opened(path, unblocked=Unblocked(["l1"], ["r1"]))
    with pytest.raises(PoolError, match="repeat"):
        opened(path, unblocked=Unblocked(["l1", "l1"], ["r1"]))
    with pytest.raises(BadOption, match="missed"):
        opened(path, unblocked=Unblocked(["l1"], ["r1"], missed=0))


def test_where_all_pairs_were_blocked_every_record_is_that_of_the_pool(tmp_path):
    rows = {"left": [1, 1, 2], "right": [2, 3, 3], "score": [0.1, 0.7, 0.4]}
    parquet.write_table(pa.table(rows), tmp_path / "pairs.parquet")
    pairs = str(tmp_path / "pairs.parquet")
    pool = opened(pairs, unblocked=Unblocked([1, 2, 3]), strata=2, show=["score"])
    assert pool.size == 3
    shown = pool.records(np.array([pool.index_of(item) for item in ("1|2", "1|3", "2|3")]))
    assert shown["score"] == rows["score"]
    assert (shown["left"], shown["right"]) == (rows["left"], rows["right"])


def test_a_record_that_is_in_no_table_is_noticed(tmp_path):
    rows = {"left": [1, 5], "right": [2, 4], "score": [0.1, 0.7]}
    parquet.write_table(pa.table(rows), tmp_path / "pairs.parquet")
    with pytest.raises(PoolError, match="left '5' of a blocked pair is not in its table"):
        opened(str(tmp_path / "pairs.parquet"), unblocked=Unblocked([1, 2, 3, 4, 6, 7]))


def test_a_sketch_without_its_source_gives_a_study_what_it_has(path, tmp_path):
    opened(path, candidates=5).save(tmp_path / "pairs.sketch")
    kept = hs.open_pool(tmp_path / "pairs.sketch")
    with hs.Study.create(tmp_path / "s.haystat", kept, "recall", random_state=0) as made:
        assert made.pool.size == N_LEFT * N_RIGHT
        assert len(made.ask(3)) == 3
        with pytest.raises(PoolError, match="source is not here"):
            made.ask(2000)
