"""Values that were taken in silence, or ended in an error of Python: each is one clear error."""

from __future__ import annotations

import numpy as np
import pytest

import haystat as hs
from haystat.errors import AnswerError, BadOption, BadScore, FileError, HaystatError, PoolError

SCORES = np.linspace(0.05, 0.95, 12)


@pytest.fixture
def pool():
    return hs.Pool(SCORES, strata=3)


@pytest.fixture
def asked(pool):
    ev = hs.Evaluation(pool, random_state=0)
    ev.ask(3)
    return ev


@pytest.fixture
def study(tmp_path, pool):
    with hs.Study.create(tmp_path / "s.haystat", pool, random_state=0) as made:
        yield made


MASKED = np.ma.masked_array(SCORES, mask=np.arange(12) == 3)


@pytest.mark.parametrize(
    ("error", "given"),
    [
        (BadScore, {"scores": MASKED}),
        (PoolError, {"scores": SCORES, "predictions": np.ma.masked_equal(np.arange(12) % 2, 1)}),
        (PoolError, {"scores": SCORES, "ids": np.ma.masked_equal(np.arange(12), 5)}),
        (PoolError, {"scores": SCORES, "probabilities": MASKED}),
        (PoolError, {"scores": SCORES, "columns": {"x": MASKED}}),
    ],
    ids=["scores", "predictions", "ids", "probabilities", "columns"],
)
def test_masked_values_are_refused(error, given):
    with pytest.raises(error, match="are masked; give every item a value"):
        hs.Pool(**given, strata=3)


def test_a_masked_array_without_a_masked_value_is_an_array():
    plain = np.ma.masked_array(SCORES, mask=np.zeros(12, dtype=bool))
    assert hs.Pool(plain, strata=3).fingerprint == hs.Pool(SCORES, strata=3).fingerprint


@pytest.mark.parametrize(
    "classes", ["01", {0, 1}, {0: "no", 1: "yes"}, 5, (0, float("nan")), (0, None), ("a", "\ud800")]
)
def test_classes_are_texts_or_finite_numbers_in_an_order(classes):
    with pytest.raises(BadOption, match=r"class(es)?"):
        hs.Pool(SCORES, classes=classes)


@pytest.mark.parametrize("option", [{"seed": -1}, {"strata": 10**9}, {"strata": 1e9}])
def test_a_pool_refuses_options_outside_their_range(option):
    with pytest.raises(BadOption, match="give a whole number of at"):
        hs.Pool(SCORES, **option)


def test_an_id_that_is_not_unicode_is_refused(asked):
    with pytest.raises(PoolError, match="not Unicode"):
        hs.Pool([0.1, 0.9], ids=["a", "b\ud800"])
    texts = hs.Evaluation(hs.Pool([0.1, 0.9], ids=["a", "b"], strata=1), random_state=0)
    with pytest.raises(HaystatError, match="never asked about"):
        texts.tell({"\ud800": 1})


def test_a_text_to_show_that_is_not_unicode_is_refused(tmp_path, pool):
    show = {"name": ["fine"] * 11 + ["half \ud800"]}
    with pytest.raises(BadOption, match=r"not Unicode, near .*half"):
        hs.Study.create(tmp_path / "a.haystat", pool, show=show)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "given",
    [
        {"budget": -1},
        {"budget": float("nan")},
        {"budget": "10"},
        {"batch_size": "5"},
        {"batch_size": 0},
        {"oracle": None},
        {"until": 5},
    ],
    ids=str,
)
def test_run_refuses_what_it_cannot_use(pool, given):
    ev = hs.Evaluation(pool, random_state=0)
    with pytest.raises(BadOption, match=f"{next(iter(given))} is"):
        ev.run(**{"oracle": lambda items: [0] * len(items), "budget": 4, **given})
    assert ev.n_labels == 0


def test_an_oracle_that_gives_no_list_is_an_error(pool):
    with pytest.raises(AnswerError, match="gave None; give a label for each item"):
        hs.Evaluation(pool, random_state=0).run(lambda items: None, 4)


@pytest.mark.parametrize("answers", [[1, 0], None, "abc", 5])
def test_tell_takes_answers_by_item(asked, study, answers):
    for one in (asked, study):
        with pytest.raises(AnswerError, match=r"give a dict, \{item: label"):
            one.tell(answers)


@pytest.mark.parametrize("level", ["0.9", None, float("nan"), 1, np.array([0.9])])
def test_a_level_is_a_number_between_0_and_1(asked, study, level):
    for one in (asked, study):
        with pytest.raises(BadOption, match="give a number between 0 and 1"):
            one.estimate(level=level)


@pytest.mark.parametrize("lease", ["soon", None, [1], float("nan"), -5])
def test_a_lease_is_a_time(study, lease):
    with pytest.raises(BadOption, match=r"lease is .*; give a time such as"):
        study.ask(1, lease=lease)


@pytest.mark.parametrize("width", ["0.1", None, float("nan"), -1, 10**400])
def test_a_width_is_a_positive_number(pool, width):
    for call in (lambda: hs.Width(width), lambda: hs.plan(pool, width=width)):
        with pytest.raises(BadOption, match="give a positive number, such as"):
            call()


@pytest.mark.parametrize("candidates", [0, -5, 1.5])
def test_a_study_keeps_at_least_one_candidate(tmp_path, pool, candidates):
    with pytest.raises(BadOption, match=r"candidates is .* whole number of at least 1"):
        hs.Study.create(tmp_path / "a.haystat", pool, candidates=candidates)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("given", [None, 5, "pool.csv", [0.1, 0.9]])
def test_something_that_is_no_pool_is_refused(tmp_path, given):
    calls = (
        lambda: hs.Evaluation(given),
        lambda: hs.plan(given),
        lambda: hs.simulate(given, [0, 1]),
        lambda: hs.Study.create(tmp_path / "a.haystat", given),
    )
    for call in calls:
        with pytest.raises(BadOption, match=r"make one with hs.Pool"):
            call()


@pytest.mark.parametrize("path", [5, None, b"a", "", "a\0b", "\ud800"])
def test_a_path_of_the_wrong_kind_is_refused(asked, pool, path):
    calls = (
        lambda: hs.Study.open(path),
        lambda: hs.Study.create(path, pool),
        lambda: asked.save(path),
        lambda: hs.Evaluation.load(path, pool),
    )
    for call in calls:
        with pytest.raises(BadOption, match="give a path"):
            call()


def test_a_name_that_is_too_long_for_a_file_is_one_error(tmp_path, asked, pool):
    path = tmp_path / ("x" * 300)
    calls = (
        lambda: hs.Study.open(path),
        lambda: hs.Study.create(path, pool),
        lambda: asked.save(path),
        lambda: hs.Evaluation.load(path, pool),
        lambda: hs.open_pool(f"{path}.parquet", id="i", score="s"),
    )
    for call in calls:
        with pytest.raises(FileError, match="File name too long"):
            call()
    longest = tmp_path / ("x" * 255)
    asked.save(longest)
    assert hs.Evaluation.load(longest, pool).pending == asked.pending


def test_what_is_wrong_is_repeated_in_short(asked):
    with pytest.raises(HaystatError) as caught:
        asked.tell({asked.pending[0].item: "x" * 10_000_000})
    assert len(str(caught.value)) < 500


def scored(value):
    return lambda left, right: np.full((len(left), len(right)), value)


def test_pairs_whose_scores_are_no_probabilities_need_a_range():
    for value in (7.5, -0.1):
        with pytest.raises(BadScore, match=r"scores reach from .* give score_range"):
            hs.cross_pool(SCORES, SCORES, scored(value))
    assert hs.cross_pool(SCORES, SCORES, scored(7.5), score_range=(-10, 5)).size == 144


@pytest.mark.parametrize(
    "given",
    [{"seed": -1}, {"score_range": (0, 1, 2)}, {"score_range": (0, float("nan"))}, {"score": None}],
    ids=str,
)
def test_cross_pool_refuses_options_outside_their_range(given):
    with pytest.raises(BadOption, match=f"{next(iter(given))} is"):
        hs.cross_pool(**{"left": SCORES, "right": SCORES, "score": scored(0.5), **given})


@pytest.mark.parametrize("value", [float("nan"), "much", 1e300])
def test_an_option_of_a_design_is_a_number(pool, value):
    with pytest.raises(BadOption, match=r"delta is .*; give a number"):
        hs.Evaluation(pool, design="adaptive", delta=value)


def test_an_array_without_a_dimension_is_no_list(pool, study):
    nothing = np.array(0.5)
    with pytest.raises(BadOption, match="classes are"):
        hs.Pool(SCORES, classes=nothing)
    with pytest.raises(AnswerError, match="the oracle gave"):
        hs.Evaluation(pool, random_state=0).run(lambda items: nothing, 3)
    with pytest.raises(BadOption, match="designs are"):
        hs.simulate(pool, [0, 1] * 6, designs=nothing, budgets=[3])
    with pytest.raises(BadOption, match="a budget is"):
        hs.simulate(pool, [0, 1] * 6, budgets=nothing)
    with pytest.raises(BadOption, match="items are"):
        study.release("ann", nothing)


def test_more_candidates_than_pairs_are_all_pairs():
    left, right = np.array([0.1, 0.9]), np.array([0.5])
    pool = hs.cross_pool(left, right, np.multiply.outer, candidates=10**30)
    assert pool.size == 2
    assert len(hs.Evaluation(pool, random_state=0).ask(2)) == 2


def test_more_candidates_or_pairs_at_a_time_than_there_are_is_all_of_them(tmp_path):
    pool = hs.Pool(np.linspace(0, 1, 40), ids=[f"i{k}" for k in range(40)])
    with hs.Study.create(tmp_path / "a.haystat", pool, candidates=10**200) as study:
        assert study.status().size == 40
    left = np.linspace(0, 1, 3)
    crossed = hs.cross_pool(left, left, lambda a, b: np.abs(a[:, None] - b), chunk=10**200)
    assert crossed.size == 9


def test_a_later_pool_that_is_none_and_a_chance_too_small_to_invert_are_refused():
    pool = hs.Pool(np.linspace(0, 1, 40))
    with pytest.raises(PoolError, match=r"give an hs\.Pool"):
        hs.Evaluation(pool, random_state=0).estimate("f1", pool=np.ma.masked_array([0.5, 0.1]))
    with pytest.raises(BadOption, match="inclusion probability"):
        hs.Known.sample({1: 0}, inclusion=5e-324)
