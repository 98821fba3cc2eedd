"""Known labels of a study: the same numbers as in memory, in the file, and an audit that passes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import haystat as hs
from haystat.cli import app
from haystat.errors import BadOption, StudyError
from haystat.study import PoolFile, verify
from haystat.study.merge import merged_estimate

SIZE = 3000


@pytest.fixture(scope="module")
def scored():
    rng = np.random.default_rng(3)
    scores = rng.beta(0.4, 3, SIZE).round(6)
    return scores, (rng.random(SIZE) < scores**1.5).astype(int)


def parts(scores, truth):
    found = np.flatnonzero((truth == 1) & (scores < 0.3))[:30]
    top = np.flatnonzero(scores >= 0.5)
    return [
        hs.Known.census({int(i): int(truth[i]) for i in top}),
        hs.Known.found({int(i): int(truth[i]) for i in found}),
    ]


@pytest.mark.parametrize("design", ["assisted", "adaptive"])
def test_a_study_gives_what_an_evaluation_gives(scored, tmp_path, design):
    scores, truth = scored
    pool, known = hs.Pool(scores, seed=1), parts(scores, truth)
    given = {"known": known, "random_state": 2, "design": design}
    evaluation = hs.Evaluation(pool, **given)
    expected = evaluation.run(lambda items: truth[np.asarray(items)], 120)
    path = tmp_path / "cats.haystat"
    with hs.Study.create(path, pool, candidates=500, **given) as study:
        found = study.run(lambda items: truth[np.asarray(items)], 120)
    assert (found.value, found.interval) == (expected.value, expected.interval)
    assert found.n_labels == 120
    with hs.Study.open(path) as study:
        again = study.estimate(["precision", "recall"])
        assert np.array_equal(again.values, evaluation.estimate(["precision", "recall"]).values)
        assert study.status().known == len(known[0].labels) + len(known[1].labels)
    verdict = verify(path)
    assert verdict.ok, verdict.findings
    assert verdict.n_labels == 120


def test_a_cell_that_runs_dry_is_filled_from_the_pool_beside_known_labels(scored, tmp_path):
    scores, truth = scored
    pool = hs.Pool(scores, seed=1, strata=4)
    path = tmp_path / "cats.haystat"
    known = parts(scores, truth)
    with hs.Study.create(path, pool, known=known, candidates=1, random_state=2) as study:
        study.run(lambda items: truth[np.asarray(items)], 400)
    assert verify(path).ok


def test_studies_with_known_labels_are_not_taken_together(scored, tmp_path):
    scores, truth = scored
    studies = [
        hs.Study.create(
            tmp_path / f"{seed}.haystat",
            hs.Pool(scores, seed=seed),
            known=parts(scores, truth),
            random_state=seed,
        )
        for seed in (1, 2)
    ]
    with pytest.raises(StudyError, match="known labels cannot be taken together"):
        merged_estimate(studies)
    for study in studies:
        study.close()


def written(tmp_path, scored, name="old.csv", **columns):
    scores, _ = scored
    lines = ["id,score", *(f"a{i},{s}" for i, s in enumerate(scores))]
    (tmp_path / "pool.csv").write_text("\n".join(lines))
    rows = zip(*columns.values(), strict=True)
    (tmp_path / name).write_text(
        "\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)])
    )
    return str(tmp_path / "s.haystat"), str(tmp_path / "pool.csv"), str(tmp_path / name)


def new(study, pool, *options):
    base = ["new", study, pool, "--id", "id", "--score", "score", "--show", "id", "--seed", "1"]
    return CliRunner().invoke(app, [*base, *options])


def test_haystat_new_takes_known_labels_from_a_file(scored, tmp_path):
    scores, truth = scored
    top = np.flatnonzero(scores >= 0.5)
    study, pool, old = written(
        tmp_path, scored, item=[f"a{i}" for i in top], label=truth[top].tolist()
    )
    result = new(study, pool, "--known", old, "--known-as", "census")
    assert result.exit_code == 0, result.output
    assert f"{len(top)} labels known before (census)" in result.output
    status = json.loads(CliRunner().invoke(app, ["status", study, "--json"]).output)
    assert (status["known"], status["labels"]) == (len(top), 0)


def test_haystat_new_reads_inclusion_probabilities(scored, tmp_path):
    _, truth = scored
    drawn = np.random.default_rng(0).choice(SIZE, 90, replace=False)
    columns = {"id": [f"a{i}" for i in drawn], "label": truth[drawn].tolist()}
    study, pool, old = written(tmp_path, scored, **columns, inclusion=[0.03] * 90)
    result = new(study, pool, "--known", old)
    assert "90 labels known before (sample)" in result.output
    study, pool, old = written(tmp_path, scored, **columns)
    result = new(study + "2.haystat", pool, "--known", old, "--inclusion", "0.03")
    assert "90 labels known before (sample)" in result.output
    result = new(study + "3.haystat", pool, "--known", old, "--known-as", "sample")
    assert isinstance(result.exception, BadOption)
    assert "has no inclusion probability" in str(result.exception)


def test_haystat_new_notes_what_is_not_as_claimed(scored, tmp_path):
    scores, truth = scored
    drawn = np.random.default_rng(0).permutation(np.flatnonzero(scores > 0.2))[:90]
    study, pool, old = written(
        tmp_path, scored, item=[f"a{i}" for i in drawn], label=truth[drawn].tolist()
    )
    result = new(study, pool, "--known", old, "--inclusion", "0.03")
    assert "note: The known sample is not spread like one" in " ".join(result.output.split())


def test_ids_that_look_like_numbers_are_read_as_the_pool_has_them(tmp_path, scored):
    scores, truth = scored
    known = {i: int(truth[i]) for i in range(5)}
    pool = hs.Pool(scores, ids=[str(i) for i in range(SIZE)])
    evaluation = hs.Evaluation(pool, known=known, random_state=0)
    assert evaluation.state.ledger.n_known == 5


def test_a_pool_behind_an_engine_takes_no_known_labels(tmp_path, scored):
    pytest.importorskip("duckdb")
    scores, _ = scored
    lines = ["id,score", *(f"{i},{s}" for i, s in enumerate(scores))]
    (tmp_path / "pool.csv").write_text("\n".join(lines))
    source = PoolFile(str(tmp_path / "pool.csv"), ("score",), "id", engine="duckdb")
    with pytest.raises(BadOption, match="known labels are for pools in memory"):
        hs.Study.create(tmp_path / "s.haystat", source, known={0: 0})
