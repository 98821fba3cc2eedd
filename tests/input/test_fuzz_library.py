"""Wrong kinds, shapes and values for every public call: only errors of haystat come out."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Hashable

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from wild import WILD, outcome

import haystat as hs
from haystat.demo.traces import write_traces
from haystat.formats import FORMATS, read_log, read_replies
from haystat.study import PoolFile, merged_estimate, verify

EXAMPLES = int(os.environ.get("HAYSTAT_FUZZ", "8"))
# Time spent on making a failure smaller is worth it in a short run only.
PHASES = [phase for phase in Phase if EXAMPLES <= 20 or phase is not Phase.shrink]
SIZE = 12
SCORES = np.linspace(0.05, 0.95, SIZE)
TRUTH = (SCORES > 0.6).astype(int)
NUMBER = itertools.count()


def small_pool(**options):
    return hs.Pool(SCORES, **{"strata": 3, **options})


def asked(**options):
    """An evaluation with some answers and an open stage."""
    ev = hs.Evaluation(small_pool(), **{"random_state": 0, **options})
    ev.tell({query.item: int(TRUTH[query.item]) for query in ev.ask(4)})
    ev.ask(3)
    return ev


def oracle(items):
    return TRUTH[items]


def score_pairs(left, right):
    return np.full((len(left), len(right)), 0.5)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """A folder with one of each kind of file."""
    folder = tmp_path_factory.mktemp("shelf")
    frame = pd.DataFrame({"id": range(SIZE), "score": SCORES, "p": TRUTH, "text": ["é"] * SIZE})
    frame.to_parquet(folder / "pool.parquet")
    frame.to_csv(folder / "pool.csv", index=False)
    hs.open_pool(folder / "pool.parquet", id="id", score="score").save(folder / "pool.sketch")
    with hs.Study.create(folder / "s.haystat", small_pool(), random_state=0) as study:
        study.tell({question.item: int(TRUTH[question.item]) for question in study.ask(4)}, "ann")
        study.ask(3, "bob")
    asked().save(folder / "log.jsonl")
    write_traces(folder / "traces.jsonl", n=SIZE, seed=1)
    (folder / "tasks.json").write_text("[]")
    before = os.getcwd()
    os.chdir(folder)
    yield folder
    os.chdir(before)


def in_study(folder, method):
    """A method of a study of its own."""

    def call(**arguments):
        path = folder / f"{next(NUMBER)}.haystat"
        shutil.copy(folder / "s.haystat", path)
        with hs.Study.open(path) as study:
            result = getattr(study, method)(**arguments)
            study.estimate()
        assert verify(path).ok
        path.unlink()
        return result

    return call


def create(**arguments):
    with hs.Study.create(**arguments) as study:
        study.ask(2)
    study.path.unlink()


def opened(**arguments):
    with hs.Study.open(**arguments) as study:
        study.estimate()


def of(method, **options):
    """A method of an evaluation."""
    return lambda **arguments: getattr(asked(**options), method)(**arguments)


def next_study(folder, method):
    """The next version of a study, which is a file of its own."""
    path = folder / "next.haystat"

    def call(**arguments):
        with hs.Study.open(folder / "s.haystat", pool=small_pool()) as study:
            try:
                with getattr(study, method)(path=path, **arguments) as later:
                    later.ask(2)
                assert verify(path).ok
            finally:
                path.unlink(missing_ok=True)

    return call


class Model:
    """A fitted estimator, as far as a pool needs one."""

    classes_ = np.array([0, 1])

    def predict_proba(self, X):
        return np.stack([1 - SCORES, SCORES], axis=1)

    def predict(self, X):
        return TRUTH


def told(item, label, **options):
    if isinstance(item, Hashable):
        asked(**options).tell({item: label})


def evaluated(**arguments):
    ev = hs.Evaluation(**arguments)
    ev.ask(2)
    ev.estimate()


def signalled(signal):
    """An evaluation whose signal is fitted to known labels."""
    known = dict(zip(range(SIZE), TRUTH.tolist(), strict=True))
    evaluated(pool=small_pool(signals={"other": signal}), known=known)


def calls(folder):
    """name -> a public call, and arguments with which it works."""
    pool, two = small_pool(), hs.Pool({"a": SCORES, "b": SCORES[::-1]}, strata=3)
    many = {"predictions": TRUTH, "probabilities": SCORES, "ids": np.arange(SIZE) + 100}
    table = {"source": folder / "pool.parquet", "id": "id", "score": "score", "prediction": "p"}
    frame = pd.read_parquet(folder / "pool.parquet")
    pending = [query.item for query in asked().pending]
    answered, softly = asked().answers[0].item, asked(oracle="stochastic").pending[0]
    features = np.arange(2.0 * SIZE).reshape(SIZE, 2)
    with hs.Study.open(folder / "s.haystat") as study:
        item, known = study.pending[0].item, study.answers[0].item
    return {
        "Pool": (hs.Pool, {"scores": SCORES, **many, "threshold": 0.5, "strata": 3,
                           "stratify": "csf", "branching": 2, "parents": None, "columns": None,
                           "classes": (0, 1), "deviations": None, "seed": 0,
                           "signals": {"other": SCORES[::-1]}, "weight": SCORES}),
        "Pool of numbers": (hs.Pool, {"scores": SCORES, "classes": None, "deviations": SCORES,
                                      "strata": 3}),
        "from_frame": (hs.Pool.from_frame, {"frame": frame, "score": "score", "id": "id",
                                            "prediction": "p", "columns": ["text"],
                                            "signals": ["p"], "weight": "score", "strata": 3}),
        "multi_label": (hs.Pool.multi_label, {
            "scores": {"cat": SCORES, "dog": SCORES[::-1]}, "predictions": None,
            "threshold": {"cat": 0.5, "dog": 0.6}, "ids": None, "strata": 3}),
        "from_estimator": (hs.from_estimator, {
            "estimator": Model(), "X": features, "ids": None, "threshold": None, "name": "m",
            "strata": 3}),
        "census": (lambda labels: evaluated(pool=pool, known=hs.Known.census(labels)), {
            "labels": {10: 1, 11: 0}}),
        "sample": (lambda **given: evaluated(pool=pool, known=hs.Known.sample(**given)), {
            "labels": {3: 1, 4: 0}, "inclusion": {3: 0.5, 4: 0.5}}),
        "found": (lambda labels: evaluated(pool=pool, known=hs.Known.found(labels)), {
            "labels": {3: 1, 4: 0}}),
        "signal_from_text": (lambda **given: signalled(hs.signal_from_text(**given)), {
            "frame": frame, "columns": ["text", ("id", "p")]}),
        "signal_from_features": (lambda **given: signalled(hs.signal_from_features(**given)), {
            "X": features}),
        "strata_from_features": (hs.strata_from_features, {
            "features": features, "method": "kdtree", "n_strata": 3, "random_state": 0}),
        "Evaluation": (evaluated, {
            "pool": pool, "measure": "f1", "design": "assisted", "oracle": "deterministic",
            "random_state": 0, "annotators": None, "answers_per_item": 1,
            "disagreement": "majority", "known": {3: 1}}),
        "Evaluation with options": (evaluated, {
            "pool": pool, "design": "adaptive", "epsilon": 1e-9, "delta": 0.0, "tolerance": 1e-6}),
        "assisted": (evaluated, {"pool": pool, "slope": 1.5, "slope_sd": 0.4, "uniform": (0.1, 0.3),
                                 "by_region": 0.8, "rare": 0.003, "dense": 0.2, "least": 0.01,
                                 "n_draws": 50}),
        "oasis": (evaluated, {"pool": pool, "design": "oasis", "epsilon": 0.1, "strength": 2.0}),
        "stochastic": (evaluated, {"pool": pool, "oracle": "stochastic", "design": "passive"}),
        "ask": (of("ask"), {"n": 2}),
        "tell": (of("tell"), {"answers": {pending[0]: 1}, "annotator": None}),
        "tell one": (told, {"oracle": "deterministic", "item": pending[0], "label": 1}),
        "tell softly": (told, {"oracle": "stochastic", "item": softly, "label": 0.5}),
        "skip": (of("skip"), {"item": pending[0], "reason": "torn", "annotator": None}),
        "correct": (of("correct"), {"item": answered, "label": 1, "reason": "x",
                                    "annotator": None}),
        "pending_for": (of("pending_for"), {"annotator": "ann"}),
        "estimate": (of("estimate"), {"measure": "recall", "level": 0.9, "pool": None,
                                      "covariance": "sample", "stage_weights": "draws"}),
        "tail": (of("tail"), {"level": 0.9}),
        "threshold": (of("threshold"), {"system": None, "level": 0.9, "precision": 0.5,
                                        "recall": None, "f1": None}),
        "gate": (lambda need, **options: hs.gate(asked(), need, **options), {
            "need": "f1>=0.5", "level": 0.9, "interval": "anytime", "baseline": None}),
        "run": (of("run"), {"oracle": oracle, "budget": 8, "batch_size": 3, "until": None}),
        "an oracle": (lambda answer: asked().run(lambda items: answer, 8), {"answer": [1] * 4}),
        "save": (of("save"), {"path": folder / "saved.jsonl"}),
        "load": (hs.Evaluation.load, {"path": folder / "log.jsonl", "pool": pool,
                                      "measure": None, "design": None}),
        "next": (of("next"), {"pool": two, "name": "v2", "measure": None, "max_age": "9d"}),
        "extend": (of("extend"), {
            "rows": hs.Pool(SCORES, ids=np.arange(SIZE) + SIZE, strata=3), "name": "v2",
            "window": None, "measure": None, "max_age": None, "strata": 3}),
        "change": (lambda **given: hs.change(asked(), **given), {
            "new": asked(random_state=1), "measure": "recall", "level": 0.9, "systems": None}),
        "Alarm": (lambda loop, **given: hs.Alarm(**given).look(loop), {
            "loop": asked(), "measure": "f1", "below": 0.5, "level": 0.9, "days": 3}),
        "Width": (hs.Width, {"width": 0.1}),
        "Decided": (hs.Decided, {"better": "higher", "interval": "anytime"}),
        "simulate": (hs.simulate, {
            "pool": pool, "labels": TRUTH, "measure": "accuracy", "designs": ["passive"],
            "budgets": [6], "repeats": 1, "random_state": 0, "oracle": "deterministic",
            "batch_size": 3, "level": 0.9, "store": None}),
        "plan": (hs.plan, {"pool": pool, "measure": "f1", "width": 0.5, "design": "passive",
                           "level": 0.9, "interval": "fixed", "cap": 50, "worlds": 1,
                           "random_state": 0}),
        "compare": (hs.compare, {"source": two, "measure": "f1", "systems": None, "level": 0.9,
                                 "interval": "anytime", "better": None, "oracle": oracle,
                                 "budget": 6, "batch_size": 3, "design": None, "random_state": 0}),
        "open_pool": (hs.open_pool, {
            **table, "probability": None, "columns": ("text",), "show": ("text",), "sides": None,
            "unblocked": None, "deviation": None, "signals": (), "table": None,
            "engine": None, "threshold": 0.5, "strata": 3, "stratify": "csf", "branching": 2,
            "parents": None, "classes": (0, 1), "seed": 0, "candidates": 10}),
        "open_pool of a sketch": (hs.open_pool, {"source": folder / "pool.sketch"}),
        "EnginePool.save": (hs.open_pool(folder / "pool.sketch").save, {
            "path": folder / "again.sketch"}),
        "cross_pool": (hs.cross_pool, {
            "left": SCORES, "right": SCORES, "score": score_pairs, "score_range": (0, 1),
            "threshold": 0.5, "strata": 3, "branching": 2, "classes": (0, 1), "seed": 0,
            "candidates": 10, "chunk": 64}),
        "PoolFile": (lambda **given: PoolFile(**given).read(), {
            "path": str(folder / "pool.csv"), "score": ("score",), "id": "id",
            "prediction": ("p",), "columns": ("text",), "show": ("text",), "options": {},
            "engine": None, "table": None}),
        "Study.create": (create, {
            "path": folder / "new.haystat", "pool": pool, "measure": "f1", "design": "assisted",
            "oracle": "deterministic", "random_state": 0, "show": {"name": ["x"] * SIZE},
            "candidates": 10, "known": {3: 1}, "after": ("name",)}),
        "Study.open": (opened, {"path": folder / "s.haystat", "pool": None, "show": None,
                                "measure": None, "design": None}),
        "Study.ask": (in_study(folder, "ask"), {"n": 2, "annotator": "ann", "lease": "1h",
                                                "stage": 1}),
        "Study.tell": (in_study(folder, "tell"), {"answers": {item: 1}, "annotator": "ann"}),
        "Study.skip": (in_study(folder, "skip"), {"item": item, "reason": "", "annotator": "a"}),
        "Study.correct": (in_study(folder, "correct"), {"item": known, "label": 1, "reason": "x",
                                                        "annotator": "ann"}),
        "Study.release": (in_study(folder, "release"), {"annotator": "bob", "items": [item]}),
        "Study.note": (in_study(folder, "note"), {"text": "x", "annotator": "ann", "item": item}),
        "Study.estimate": (in_study(folder, "estimate"), {
            "measure": "recall", "level": 0.9, "covariance": "sample", "stage_weights": "draws"}),
        "Study.held_by": (in_study(folder, "held_by"), {"annotator": "bob"}),
        "Study.record_of": (in_study(folder, "record_of"), {"item": item}),
        "Study.copy_to": (in_study(folder, "copy_to"), {"path": folder / "copy.haystat"}),
        "Study.revealed": (in_study(folder, "revealed"), {"item": known}),
        "Study.threshold": (in_study(folder, "threshold"), {
            "system": None, "level": 0.9, "recall": 0.5, "false_positive_rate": None}),
        "Study.next": (next_study(folder, "next"), {
            "pool": pool, "name": "v2", "measure": None, "max_age": "9d",
            "show": {"name": ["x"] * SIZE}, "candidates": 10}),
        "Study.extend": (next_study(folder, "extend"), {
            "rows": hs.Pool(SCORES, ids=np.arange(SIZE) + SIZE, strata=3), "name": "v2",
            "window": None, "measure": None, "max_age": None, "show": None, "candidates": 10,
            "strata": 3}),
        "version_estimates": (in_study(folder, "version_estimates"), {"level": 0.9}),
        "read_log": (lambda **given: read_log(**given).pool(strata=3), {
            "path": folder / "traces.jsonl", "tool": "openai-evals", "judges": ("policy",),
            "fails": None}),
        "read_replies": (lambda path, classes: read_replies(
            FORMATS["label-studio"], path, classes), {
            "path": folder / "tasks.json", "classes": (0, 1)}),
        "verify": (verify, {"path": folder / "s.haystat", "measure": None, "design": None}),
        "merged_estimate": (merged_estimate, {"studies": [], "measure": None, "level": 0.9}),
    }  # fmt: skip


NAMES = (
    "Pool,Pool of numbers,from_frame,multi_label,from_estimator,census,sample,found,"
    "signal_from_text,signal_from_features,strata_from_features,"
    "Evaluation,Evaluation with options,"
    "assisted,oasis,stochastic,ask,tell,tell one,tell softly,skip,correct,pending_for,estimate,"
    "tail,threshold,gate,run,"
    "an oracle,save,load,next,extend,change,Alarm,"
    "Width,Decided,simulate,plan,compare,open_pool,open_pool of a sketch,"
    "EnginePool.save,cross_pool,PoolFile,Study.create,Study.open,Study.ask,Study.tell,Study.skip,"
    "Study.correct,Study.release,Study.note,Study.estimate,Study.held_by,Study.record_of,"
    "Study.copy_to,Study.revealed,Study.threshold,Study.next,Study.extend,version_estimates,"
    "read_log,read_replies,verify,merged_estimate"
).split(",")


@pytest.fixture(scope="module")
def table(shelf):
    return calls(shelf)


def test_every_call_is_in_the_list(table):
    assert list(table) == NAMES


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"merged_estimate"}))
def test_the_calls_that_are_varied_work(table, name):
    call, arguments = table[name]
    call(**arguments)


@pytest.mark.parametrize("name", NAMES)
@settings(
    max_examples=EXAMPLES,
    phases=PHASES,
    derandomize=EXAMPLES <= 20,  # the suite runs the same examples each time
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_only_errors_of_haystat_come_out(table, name, data):
    call, arguments = table[name]
    chosen = data.draw(st.lists(st.sampled_from(sorted(arguments)), min_size=1, max_size=3))
    wild = {argument: data.draw(WILD, label=argument) for argument in chosen}
    assert outcome(lambda: call(**{**arguments, **wild})).strip()
