"""The cell-level sampler draws exactly what i.i.d. draws of items would."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy import stats

from haystat import designs
from haystat.designs.base import Sheet
from haystat.designs.replacement import Proposal, draw

SIZE = 7
# Two cells of three and two items nobody has asked about, one pending item in the first cell, one
# known item in the second: 7 items.
PROPOSAL = Proposal(np.array([0.11, 0.15]), np.array([[0.05, 0.2], [0.3, 0.26]]))
SHEET = Sheet(np.array([3, 2]), np.array([0]), np.array([1]), np.array([1]))
PROBABILITY = np.array([0.11, 0.11, 0.11, 0.15, 0.15, 0.11, 0.26])  # 3 + 2 new, pending, known


def outcome_of_sampler(n, rng):
    """Counts of new items in order of each cell, of the pending and the known one."""
    choice = draw(PROPOSAL, SIZE, SHEET, n, rng)
    first = tuple(choice.new_count[choice.new_cell == 0].tolist())
    second = tuple(choice.new_count[choice.new_cell == 1].tolist())
    return first, second, int(choice.pending_count[0]), int(choice.known_count[0])


def outcome_of_items(n, rng):
    """The same by drawing items one by one until n that nobody asked about are in."""
    counts: dict[int, int] = {}
    while sum(item < 5 for item in counts) < n:
        item = int(rng.choice(SIZE, p=PROBABILITY))
        counts[item] = counts.get(item, 0) + 1
    first = tuple(count for item, count in counts.items() if item < 3)
    second = tuple(count for item, count in counts.items() if 3 <= item < 5)
    return first, second, counts.get(5, 0), counts.get(6, 0)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_whole_outcomes_have_the_distribution_of_item_level_draws(n):
    repeats = 8000
    rng = np.random.default_rng(n)
    ours = Counter(outcome_of_sampler(n, rng) for _ in range(repeats))
    theirs = Counter(outcome_of_items(n, rng) for _ in range(repeats))
    common = [key for key in ours | theirs if ours[key] + theirs[key] >= 20]
    table = np.array([[counter[key] for key in common] for counter in (ours, theirs)])
    rest = repeats - table.sum(axis=1)
    assert len(common) > 5
    p_value = stats.chi2_contingency(np.column_stack([table, rest])).pvalue
    assert p_value > 1e-3


def test_stage_ends_with_the_draw_of_its_last_new_item():
    rng = np.random.default_rng(0)
    for _ in range(50):
        choice = draw(PROPOSAL, SIZE, SHEET, 3, rng)
        assert choice.new_count[-1] == 1


def test_a_label_at_a_time_weighs_labelled_and_unlabelled_items_alike():
    """Stages of one label: the share of draws of an item tends to its probability."""
    rng = np.random.default_rng(1)
    counts = np.array(
        [[choice.known_count[0], choice.known_count[0] + choice.pending_count[0]
          + choice.new_count.sum()]
         for choice in (draw(PROPOSAL, SIZE, SHEET, 1, rng) for _ in range(20000))]
    )  # fmt: skip
    error = counts[:, 0] - 0.26 * counts[:, 1]
    assert abs(error.mean()) < 4 * error.std() / np.sqrt(len(error))


def test_weights_are_p_over_q():
    choice = draw(PROPOSAL, SIZE, SHEET, 4, np.random.default_rng(2))
    np.testing.assert_allclose(choice.new_weight, 1 / (SIZE * PROPOSAL.unlabelled[choice.new_cell]))
    np.testing.assert_allclose(choice.pending_weight, 1 / (SIZE * 0.11))
    np.testing.assert_allclose(choice.known_weight, 1 / (SIZE * 0.26))


def test_items_without_probability_are_never_drawn():
    proposal = Proposal(np.array([0.0, 0.25]), np.zeros((2, 2)))
    sheet = Sheet(np.array([3, 4]), np.array([0]), np.array([0]), np.array([1]))
    choice = draw(proposal, SIZE, sheet, 6, np.random.default_rng(3))
    assert choice.new_cell.tolist() == [1, 1, 1, 1]
    assert choice.pending_count.tolist() == choice.known_count.tolist() == [0]


def test_every_unasked_item_of_the_pool_can_be_had(tiny):
    pool = tiny("f1")
    design = designs.Adaptive()
    state = design.start(pool.problem, np.random.default_rng(0))
    nothing = np.zeros(0, dtype=np.int64)
    sheet = Sheet(pool.problem.cells.size, nothing, nothing, nothing)
    choice = design.choose(pool.problem, state, sheet, 100, np.random.default_rng(0))
    np.testing.assert_array_equal(np.bincount(choice.new_cell), pool.problem.cells.size)
