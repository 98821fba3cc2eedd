"""A study gives what an evaluation gives, and survives being closed."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import haystat as hs
from haystat.designs import DESIGNS
from haystat.errors import (
    BadOption,
    BudgetError,
    ConflictingAnswer,
    NoSupport,
    StudyError,
    UnknownItem,
    UnknownLabel,
)
from haystat.study import PoolFile, verify


def both(make_study, make_pool, measure, design, **options):
    pool, label = make_pool(**options)
    case = make_study((pool, label), measure=measure, design=design, random_state=7)
    return case, hs.Evaluation(pool, measure, design, random_state=7)


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("reopen", [False, True])
def test_draws_and_estimates_are_those_of_an_evaluation(
    make_study, make_pool, same, design, reopen
):
    case, ev = both(make_study, make_pool, "f1", design)
    study = case.study
    for n in (20, 1, 35, 20):
        asked, expected = study.ask(n), ev.ask(n)
        assert [(q.item, q.key) for q in asked] == [(q.item, q.key) for q in expected]
        answers = {q.item: case.label[q.item] for q in asked}
        study.tell(answers)
        ev.tell(answers)
        if reopen:
            study.close()
            study = hs.Study.open(case.path)
        for covariance in ("sample", "paper"):
            one = study.estimate(covariance=covariance)
            assert same(one, ev.estimate(covariance=covariance))
    assert study.history == ev.history
    study.close()
    assert verify(case.path).ok


MEASURES = [
    "accuracy",
    "brier",
    "mcc",
    ["precision", "recall"],
    hs.measures.PRCurve(n_thresholds=9),
    hs.measures.RecallAtFPR(n_thresholds=9, rate=0.1),
    hs.measures.Threshold(n_thresholds=9, precision=0.8),
    "calibration_error",
    hs.measures.FBeta(beta=2.0),
    hs.measures.Several([hs.measures.F1(), hs.measures.Accuracy()]),
]


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_measures_survive_in_the_file(make_study, make_pool, same, measure):
    case, ev = both(make_study, make_pool, measure, "adaptive")
    for n in (30, 20):
        items = case.answer(n)
        assert items == [q.item for q in ev.ask(n)]
        ev.tell({item: case.label[item] for item in items})
    case.study.close()
    with hs.Study.open(case.path) as again:
        assert same(again.estimate(), ev.estimate())
        assert [q.item for q in again.ask(10)] == [q.item for q in ev.ask(10)]
    assert verify(case.path).ok


def test_several_systems_sub_populations_and_text_ids(make_study, same):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 400))
    group = np.where(rng.random(400) < 0.5, "north", "south")
    ids = np.array([f"pair-{i}" for i in range(400)])
    pool = hs.Pool(
        {"a": a, "b": b}, ids=ids, strata=6, columns={"where": group}, classes=("n", "y")
    )
    label = {f"pair-{i}": "y" if a[i] + b[i] > 1 else "n" for i in range(400)}
    f1 = hs.measures.F1
    measure = hs.measures.Several(
        [
            hs.measures.Difference(f1(), "a", "b"),
            hs.measures.Within(f1(), column="where", equals="north"),
        ]
    )
    case = make_study((pool, label), measure=measure)
    ev = hs.Evaluation(pool, measure, "adaptive", random_state=1)
    items = case.answer(60)
    ev.ask(60)
    ev.tell({item: label[item] for item in items})
    case.study.close()
    with hs.Study.open(case.path) as again:
        assert same(again.estimate(), ev.estimate())
        assert again.estimate().value.shape == (2,)


def test_a_measure_of_ones_own_is_given_again(make_study, make_pool):
    class Share(hs.measures.Measure):
        name = "share"

        def loss(self, outputs, label):
            return (label == 1).astype(float)

        def value(self, risk):
            return risk[0]

    case = make_study(measure=Share())
    case.answer(20)
    value = case.study.estimate().value
    case.study.close()
    with pytest.raises(StudyError, match="give it again"):
        hs.Study.open(case.path)
    with hs.Study.open(case.path, measure=Share()) as again:
        assert again.estimate().value == value
    with pytest.raises(StudyError, match="was made with measure"):
        hs.Study.open(case.path, measure="f1")
    assert verify(case.path, measure=Share()).ok


def test_another_measure_reuses_the_labels(case, same):
    ev = hs.Evaluation(case.pool, "f1", "adaptive", random_state=1)
    items = case.answer(80)
    ev.ask(80)
    ev.tell({item: case.label[item] for item in items})
    for measure in ("recall", "precision"):
        assert same(case.study.estimate(measure), ev.estimate(measure))


def test_reuse_is_refused_where_the_draws_cannot_speak(make_study):
    case = make_study(measure="precision")
    case.answer(20)
    with pytest.raises(NoSupport, match="mix in uniform draws"):
        case.study.estimate("recall")
    mixed = make_study(name="mixed", measure="precision", delta=0.5)
    mixed.answer(20)
    assert mixed.study.estimate("recall").n_labels == 20


def test_a_study_works_from_its_file_alone_until_a_cell_runs_dry(make_study, make_pool):
    case = make_study(make_pool(3000), design="passive", candidates=300, measure="accuracy")
    case.study.close()
    with hs.Study.open(case.path) as study:
        case.study = study
        case.answer(30)
        with pytest.raises(StudyError, match="open it with the pool"):
            case.answer(900)
    with pytest.raises(StudyError, match="not the one"):
        hs.Study.open(case.path, pool=make_pool(3000, seed=5)[0])
    with hs.Study.open(case.path, pool=case.pool) as study:
        case.study = study
        for _ in range(10):
            case.answer(100)
        assert "candidates" in [entry.kind for entry in study.entries]
        ev = hs.Evaluation(case.pool, "accuracy", "passive", random_state=1)
        for record in study.history:
            ev.tell({q.item: case.label[q.item] for q in ev.ask(record["new_labels"])})
        assert study.estimate().value == ev.estimate().value
    assert verify(case.path).ok


def test_a_pool_file_is_read_again_when_a_cell_runs_dry(tmp_path):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"key": [f"k{i}" for i in range(2000)], "s": rng.random(2000)})
    frame["text"] = "record " + frame.key
    frame.to_parquet(tmp_path / "pool.parquet")
    source = PoolFile(str(tmp_path / "pool.parquet"), ("s",), id="key", show=("text",))
    path = tmp_path / "s.haystat"
    with hs.Study.create(path, source, "accuracy", "passive", random_state=0, candidates=50) as st:
        first = st.ask(20)
        assert first[0].record == {"text": f"record {first[0].item}"}
        st.ask(400)
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    (tmp_path / "pool.parquet").rename(moved / "pool.parquet")
    with hs.Study.open(path) as st, pytest.raises(StudyError, match="put the file back"):
        st.ask(1500)
    path.rename(moved / "s.haystat")
    with hs.Study.open(moved / "s.haystat") as st:
        assert len(st.ask(1500)) == 1500
        assert all(q.record == {"text": f"record {q.item}"} for q in st.pending)
    assert verify(moved / "s.haystat").ok


def test_tell_checks_everything_before_it_records(case):
    items = [question.item for question in case.study.ask(4)]
    case.study.tell({items[0]: 1})
    n_entries = len(case.study.entries)
    with pytest.raises(ConflictingAnswer, match=r"answered 1 and is now 0.*correct"):
        case.study.tell({items[1]: 0, items[0]: 0})
    with pytest.raises(UnknownLabel, match=r"not one of \[0, 1\]"):
        case.study.tell({items[1]: 0, items[2]: "cat"})
    with pytest.raises(UnknownLabel):
        case.study.tell({items[1]: [1]})
    never = next(i for i in range(600) if i not in items)
    for item in (never, "x", 1.0, True, None):
        with pytest.raises(UnknownItem, match="never asked"):
            case.study.tell({items[1]: 0, item: 0})
    case.study.tell({items[0]: np.int64(1)})
    assert len(case.study.entries) == n_entries
    assert case.study.n_labels == 1


def test_bad_questions_are_refused(case):
    for n in (0, -1, 1.5, True, "2"):
        with pytest.raises(BadOption, match="whole number"):
            case.study.ask(n)
    with pytest.raises(BudgetError, match="601 labels wanted"):
        case.study.ask(601)
    for lease in ("soon", "", "1", 0, -5, "0s", "900d"):
        with pytest.raises(BadOption, match="'90s', '30m'"):
            case.study.ask(1, lease=lease)
    assert len(case.study.entries) == 1


def test_what_a_study_cannot_keep_is_refused_before_a_file_appears(tmp_path, make_pool):
    pool, _ = make_pool()
    with pytest.raises(BadOption, match="deterministic"):
        hs.Study.create(tmp_path / "a", pool, oracle="moody")
    with pytest.raises(BadOption, match="asks about an item once"):
        hs.Study.create(tmp_path / "a", pool, design="stratified", oracle="stochastic")
    with pytest.raises(BadOption, match="every answer counts"):
        hs.Study.create(tmp_path / "a", pool, oracle="stochastic", answers_per_item=2)
    with pytest.raises(BadOption, match="labels that are numbers"):
        hs.Study.create(tmp_path / "a", pool, disagreement="median", answers_per_item=2)
    with pytest.raises(BadOption, match="texts or finite numbers"):
        hs.Study.create(tmp_path / "a", hs.Pool([0.1, 0.9], classes=((0,), (1,)), strata=1))
    with pytest.raises(hs.HaystatError, match="no measure"):
        hs.Study.create(tmp_path / "a", pool, "g1")
    with pytest.raises(hs.HaystatError, match="entries"):
        hs.Study.create(tmp_path / "a", pool, show={"text": ["only one"]})
    with pytest.raises(StudyError, match="folder"):
        hs.Study.create(tmp_path / "no" / "a", pool)
    assert list(tmp_path.iterdir()) == []
    hs.Study.create(tmp_path / "a", pool).close()
    with pytest.raises(StudyError, match="exists already"):
        hs.Study.create(tmp_path / "a", pool)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_exhausting_a_small_pool_gives_the_exact_value(make_study, make_pool):
    case = make_study(make_pool(40, seed=3, strata=4), measure="recall")
    while case.answer(7):
        pass
    estimate = case.study.estimate()
    predicted = {case.pool.id_of(i): p for i, p in enumerate(case.pool.scores[:, 0] >= 0.5)}
    hits = sum(predicted[item] and label for item, label in case.label.items())
    assert estimate.value == pytest.approx(hits / sum(case.label.values()))
    assert estimate.interval == (estimate.value, estimate.value)


def test_threads_may_share_a_study(case):
    seen = []

    def work(name):
        for _ in range(5):
            seen.extend(case.answer(3, name))

    threads = [threading.Thread(target=work, args=(f"t{k}",)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == len(set(seen)) == case.study.n_labels == 60
    assert verify(case.path).ok


def test_a_copy_is_a_whole_study(case, tmp_path, same):
    case.answer(20)
    case.study.copy_to(tmp_path / "copy.haystat")
    with hs.Study.open(tmp_path / "copy.haystat") as copy:
        assert same(copy.estimate(), case.study.estimate())
        assert [q.item for q in copy.ask(5)] == [q.item for q in case.study.ask(5)]
    with pytest.raises(StudyError, match="exists already"):
        case.study.copy_to(tmp_path / "copy.haystat")
