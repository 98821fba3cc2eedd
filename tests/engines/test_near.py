"""Pairs outside the blocks that share something rare: found, cut into strata, looked into."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations, product
from math import log

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import haystat as hs
from haystat.engines import Unblocked, near
from haystat.engines.unblocked import pair_id
from haystat.errors import BadOption, PoolError

N = 70
WORDS = ("ash", "birch", "cedar", "elm", "fir", "larch", "oak", "pine", "rowan", "yew")


def people(rng):
    """Records of which the first 30 of both tables are the same person, some badly written."""
    street = [f"{rng.integers(1, 60)} {rng.choice(WORDS)}-Street" for _ in range(N)]
    phone = [str(rng.integers(10**6)) for _ in range(N)]
    one = {"id": [f"l{i}" for i in range(N)], "street": street, "phone": phone}
    other = {
        "id": [f"r{i}" for i in range(N)],
        "street": [street[i] if i < 30 else f"{i} {rng.choice(WORDS)} lane" for i in range(N)],
        "phone": [phone[i] if i < 20 else None for i in range(N)],
    }
    return one, other


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two tables, and blocked pairs that hold 15 of the 30 matches."""
    folder, rng = tmp_path_factory.mktemp("near"), np.random.default_rng(0)
    for name, rows in zip(("left", "right"), people(rng), strict=True):
        parquet.write_table(pa.table(rows), folder / f"{name}.parquet")
    blocked = {(i, i): 0.9 for i in range(15)}
    for i, j in rng.integers(0, N, (300, 2)).tolist():
        if not (i == j and i < 30):
            blocked[i, j] = 0.2 * rng.random()
    rows = {"left": [f"l{i}" for i, _ in blocked], "right": [f"r{j}" for _, j in blocked]}
    parquet.write_table(
        pa.table({**rows, "score": list(blocked.values())}), folder / "pool.parquet"
    )
    return folder


MATCHES = {f"l{i}|r{i}" for i in range(30)}
FEW = 200  # pairs that share a rare token


@pytest.fixture(autouse=True)
def small_tables(monkeypatch):
    monkeypatch.setattr(near, "MOST", FEW)


def opened(folder, engine="duckdb", **given):
    tables = str(folder / "left.parquet"), str(folder / "right.parquet")
    return hs.open_pool(
        str(folder / "pool.parquet"),
        id=("left", "right"),
        score="score",
        unblocked=Unblocked(*tables, **given),
        strata=8,
        candidates=16,
        engine=engine,
    )


def tokens(record):
    found = set()
    for text in record:
        words = [word for word in re.split(r"\W+", (text or "").lower()) if word]
        found |= {*words, " ".join(words)} - {""}
    if all(record):
        found.add(tuple(re.sub(r"\W+", " ", text.lower()) for text in record))
    return found


def by_hand(left, right, most):
    """Nearness of all pairs that share one of the rarest tokens."""
    one, other = [tokens(r) for r in left], [tokens(r) for r in right]
    counts = [Counter(token for record in side for token in record) for side in (one, other)]
    n = {t: counts[0][t] * counts[1][t] for t in counts[0] if counts[1][t]}
    allowed = [m for m in sorted(set(n.values())) if sum(v for v in n.values() if v <= m) <= most]
    rare = {t for t, m in n.items() if m <= max(allowed)}
    total = len(left) * len(right)
    found = {}
    for i, j in product(range(len(left)), range(len(right))):
        if shared := one[i] & other[j] & rare:
            found[i, j] = sum(-log(n[t] / total) for t in shared)
    return found


def cells_of(pool):
    cells = pool.cells(hs.measures.Recall().bind(pool.schema))
    return cells, pool.candidates(cells)


def in_cells(pool):
    """The ids of all items, by cell."""
    cells, order = cells_of(pool)
    sizes = enumerate(cells.size.tolist())
    return [[pool.id_of(i) for i in order.first(c, n)[0].tolist()] for c, n in sizes]


def test_near_pairs_are_those_that_share_a_rare_token(folder):
    pool = opened(folder, near=("street", "phone"))
    tables = [parquet.read_table(folder / f"{n}.parquet").to_pydict() for n in ("left", "right")]
    records = [list(zip(t["street"], t["phone"], strict=True)) for t in tables]
    rows = parquet.read_table(folder / "pool.parquet").to_pydict()
    blocked = set(map(pair_id, zip(rows["left"], rows["right"], strict=True)))
    wanted = {f"l{i}|r{j}": v for (i, j), v in by_hand(*records, FEW).items()}
    wanted = {item: v for item, v in wanted.items() if item not in blocked}
    cells, _ = cells_of(pool)
    ids = in_cells(pool)
    found = {item: cells.stratum[c] for c in np.flatnonzero(cells.apart == 1) for item in ids[c]}
    assert found.keys() == wanted.keys()
    assert len(wanted) > 20
    # A nearer pair is never in a lower stratum.
    for one, other in combinations(wanted, 2):
        if wanted[one] > wanted[other] + 1e-9:
            assert found[one] >= found[other]


def test_all_pairs_are_in_the_pool_once(folder):
    pool = opened(folder, near=("street", "phone"))
    items = [item for cell in in_cells(pool) for item in cell]
    assert len(items) == len(set(items)) == pool.size == N * N
    cells, order = cells_of(pool)
    for cell, size in enumerate(cells.size.tolist()):
        assert np.all(np.diff(order.first(cell, size)[1]) > 0)
    assert cells.far.sum() == 1
    assert np.all(cells.example.predictions[cells.far | (cells.apart == 1)] == 0)
    # Strata are numbered by the share of matches that is expected.
    by_stratum = np.argsort(cells.stratum)
    outside = np.flatnonzero((cells.apart == 1)[by_stratum])
    assert np.all(np.diff(cells.prior[by_stratum[outside], 1]) >= 0)


def test_matches_that_blocking_lost_are_found(folder):
    def lost_found(**given):
        pool = opened(folder, **given)
        evaluation = hs.Evaluation(pool, "recall", random_state=0)
        asked = []

        def oracle(items):
            asked.extend(items)
            return [int(item in MATCHES) for item in items]

        value = evaluation.run(oracle, 250, batch_size=50).value
        return len({f"l{i}|r{i}" for i in range(15, 30)} & set(asked)), value, asked, pool

    evenly, value, _, _ = lost_found()
    assert evenly <= 4
    found, better, asked, pool = lost_found(near=("street", "phone"))
    assert found >= 12
    assert abs(better - 0.5) < abs(value - 0.5)
    cells, _ = cells_of(pool)
    far = cells.far[cells.of_item[np.array([pool.index_of(item) for item in asked])]]
    assert 0 < far.sum() < 0.2 * len(asked)  # though most pairs are far


def test_listed_pairs_have_strata_by_their_nearness(folder, tmp_path):
    rows = {
        "left": [f"l{i}" for i in range(10, 30)] + ["l12"],
        "right": [f"r{i}" for i in range(10, 30)] + ["r12"],
        "nearness": [float(i) for i in range(20)] + [3.0],
    }
    parquet.write_table(pa.table(rows), tmp_path / "pairs.parquet")
    pool = opened(folder, pairs=str(tmp_path / "pairs.parquet"))
    cells, ids = cells_of(pool)[0], in_cells(pool)
    near_ones = [i for c in np.flatnonzero(cells.apart == 1) for i in ids[c]]
    assert sorted(near_ones) == sorted(f"l{i}|r{i}" for i in range(15, 30))  # the rest is blocked
    assert sum(map(len, ids)) == N * N


def test_pairs_of_one_table_are_near_once(folder, tmp_path):
    table = {"id": list(range(12)), "name": [f"name {i // 2}" for i in range(12)]}
    parquet.write_table(pa.table(table), tmp_path / "people.parquet")
    rows = {"a": [1, 4, 7], "b": [0, 9, 2], "score": [0.9, 0.1, 0.3]}
    parquet.write_table(pa.table(rows), tmp_path / "pool.parquet")
    people = Unblocked(str(tmp_path / "people.parquet"), near="name")
    path = str(tmp_path / "pool.parquet")
    pool = hs.open_pool(path, id=("a", "b"), score="score", unblocked=people, strata=2)
    cells, ids = cells_of(pool)[0], in_cells(pool)
    found = {item for c in np.flatnonzero(cells.apart == 1) for item in ids[c]}
    assert {f"{i}|{i + 1}" for i in range(2, 12, 2)} <= found
    assert "0|1" not in found
    assert len({i for part in ids for i in part}) == sum(map(len, ids)) == pool.size == 66


def test_studies_and_sketches_keep_near_pairs(folder, tmp_path):
    pool = opened(folder, near=("street", "phone"))
    pool.save(tmp_path / "pairs.sketch")
    found = []
    for name, one in (("whole", pool), ("kept", hs.open_pool(tmp_path / "pairs.sketch"))):
        with hs.Study.create(tmp_path / f"{name}.haystat", one, "recall", random_state=2) as made:
            asked = [question.item for question in made.ask(40)]
            made.tell({item: int(item in MATCHES) for item in asked})
            value = made.estimate().value
        with hs.Study.open(tmp_path / f"{name}.haystat") as again:
            assert again.estimate().value == value
        found.append((asked, value))
    assert found[0] == found[1]


def test_the_command_line_looks_into_near_pairs(folder, run, tmp_path):
    columns = ("--id", "left,right", "--score", "score", "--strata", 8)
    tables = [part for n in ("left", "right") for part in ("--unblocked", folder / f"{n}.parquet")]
    options = (*columns, *tables, "--key", "id", "--near", "street,phone")
    run("sketch", folder / "pool.parquet", "-o", tmp_path / "s.sketch", *options)
    for pool, given in ((folder / "pool.parquet", options), (tmp_path / "s.sketch", ())):
        study = tmp_path / f"{pool.suffix[1:]}.haystat"
        run("new", study, pool, *given, "--measure", "recall", "--seed", 1)
        with hs.Study.open(study) as made:
            assert made.pool.size == N * N
            assert made.pool.cells(made.measure).far.any()
    alone = ("new", tmp_path / "u.haystat", folder / "pool.parquet", *columns, "--near", "street")
    assert "--unblocked" in run(*alone, "--engine", "duckdb", code=2)


def test_what_cannot_be_near(folder, tmp_path):
    with pytest.raises(BadOption, match="no column 'city' of the records"):
        opened(folder, near=("city",))
    with pytest.raises(BadOption, match="near or pairs"):
        opened(folder, near=("street",), pairs="x.parquet")
    rows = {"left": ["l1", "l99"], "right": ["r1", "r2"]}
    path = str(tmp_path / "pairs.parquet")
    parquet.write_table(pa.table(rows), path)
    with pytest.raises(BadOption, match="no column 'nearness'"):
        opened(folder, pairs=path)
    parquet.write_table(pa.table({**rows, "nearness": [1.0, 2.0]}), path)
    with pytest.raises(PoolError, match="1 near pairs have an id that is in no table"):
        opened(folder, pairs=path)
    rows = {"left": ["l1"], "right": ["r2"], "nearness": [float("inf")]}
    parquet.write_table(pa.table(rows), path)
    with pytest.raises(BadOption, match="missing or infinite"):
        opened(folder, pairs=path)
    ids = Unblocked([f"l{i}" for i in range(N)], [f"r{i}" for i in range(N)], near=("street",))
    with pytest.raises(BadOption, match="give tables, not ids"):
        hs.open_pool(
            str(folder / "pool.parquet"), id=("left", "right"), score="score", unblocked=ids
        )
