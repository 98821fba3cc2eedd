"""The cell-level sampler draws exactly what i.i.d. draws of items would."""

from __future__ import annotations

import heapq
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from haystat import designs
from haystat.designs.base import Sheet
from haystat.designs.first_hits import merge_hits
from haystat.designs.replacement import Proposal, draw, repeats

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


def test_the_merged_hits_are_those_of_a_plain_heap():
    rng = np.random.default_rng(3)
    for n_cells, n in ((1, 5), (7, 3), (40, 60), (300, 50)):
        time, left = np.sort(rng.exponential(size=n_cells)), rng.integers(1, 4, n_cells)
        rate, gaps = rng.random(n_cells), rng.exponential(size=n)
        position, when = merge_hits(time, rate, left, gaps, n)
        expected = plain_hits(time, rate, left, gaps, n)
        assert list(zip(when.tolist(), position.tolist(), strict=True)) == expected


def plain_hits(time, rate, left, gaps, n):
    """Time and cell of the first n hits, one after the other."""
    queue = list(zip(time.tolist(), range(len(time)), strict=True))
    left, gaps, hits = left.tolist(), iter(gaps.tolist()), []
    while queue and len(hits) < n:
        hits.append(heapq.heappop(queue))
        when, cell = hits[-1]
        left[cell] -= 1
        if left[cell]:
            heapq.heappush(queue, (when + next(gaps) / (rate[cell] * left[cell]), cell))
    return hits


@pytest.mark.parametrize("end", [0.3, 40.0])
def test_repeats_are_independent_and_poisson(end):
    rate = np.array([0.0, 0.5, 0.02, 0.2, 0.0])
    mean = rate * end
    rng = np.random.default_rng(5)
    counts = np.array([repeats(rate, end, rng) for _ in range(20_000)])
    assert np.all(np.abs(counts.mean(axis=0) - mean) <= 4 * np.sqrt(mean / len(counts)))
    of_variance = np.sqrt((mean + 2 * mean**2) / len(counts))
    assert np.all(np.abs(counts.var(axis=0) - mean) <= 4 * of_variance)
    correlation = np.corrcoef(counts[:, 1], counts[:, 3])[0, 1]
    assert abs(correlation) < 4 / np.sqrt(len(counts))
