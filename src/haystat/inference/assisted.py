"""The estimator of the default design, also for measures that nothing was drawn for."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from haystat.core.arrays import IntArray
from haystat.core.wording import label_count
from haystat.inference.credible import credible_estimate
from haystat.inference.estimate import Estimate
from haystat.inference.finer_cells import Finer, unseen
from haystat.inference.guarantee import Guarantee, draws_of
from haystat.inference.posterior import Labels, Pools
from haystat.inference.sample import Sample, stage_rng
from haystat.inference.signals import labels_saved, refuse_labels
from haystat.inference.sweep import SURE, judged_tail
from haystat.inference.weighted_draws import unanswered, waiting, weighted
from haystat.inference.worth import variance_in_pools
from haystat.measures.base import Measure
from haystat.measures.by_factor import ByFactor
from haystat.measures.facts import Fact
from haystat.measures.outputs import Outputs
from haystat.measures.within import Within
from haystat.models.label_view import LabelView, series_of
from haystat.models.threads import one_thread
from haystat.pool.base import View
from haystat.pool.blocks import Blocks
from haystat.pool.losses import equal_losses
from haystat.pool.problem import Problem

FEW_STRATA = 32  # below which strata of a score may be too coarse for a curve
LARGE_PART = 0.1  # of the positives, in a cell that a curve cuts
FEW_IN_GROUP = 30  # labels, below which the estimate of a group leans on the others
POSTERIOR = 2**31  # in place of a stage's number, for the randomness of an estimate


def assisted_from(pool: View, sample: Sample, measure: Measure, level: float) -> Estimate:
    """`measure` from all labels of a sample, by draws from the posterior of the others.

    The draws depend on labels and design alone; how they lie inside the cells, where the measure
    sees more than the design, has a randomness of its own.
    """
    if not sample.any_label:
        return unanswered(measure, level)
    refuse_labels(sample.problem.cells.signals, sample.state.labelled)
    if not _model_tells(pool, sample, measure):
        return weighted(pool, sample, measure, level)
    given = pool, sample, measure, level
    if facts := unseen(sample.problem, measure, pool.foreign):
        return _by_finer_cells(*given, facts)
    judged = sample.once("judged", lambda: judged_tail(pool, sample))
    if judged is None:
        view = sample.state.view
        blocks = blocks_of(pool, sample.problem, measure)
        drawn = sample.once("posterior", lambda: draw_pools(sample, view))
        return _by_draws(*given, *drawn, blocks)
    item, swept = sample.once("swept", lambda: draw_pools(sample, judged.swept))
    _, other = sample.once("unswept", lambda: draw_pools(sample, judged.unswept))
    blocks = blocks_of(pool, sample.problem, measure)
    with_judge, without = (_by_draws(*given, item, pools, blocks) for pools in (swept, other))
    return judged.estimate(with_judge, without, swept.hidden(SURE))


def _by_finer_cells(
    pool: View, sample: Sample, measure: Measure, level: float, facts: tuple[Fact, ...]
) -> Estimate:
    """A measure of groups or systems that nothing was drawn for: the model tells them apart."""
    with one_thread():
        finer = Finer.cut(sample, measure, facts, blocks_of(pool, sample.problem, measure))
        draw = partial(draw_finer, pool, sample, measure, finer)
        item, pools = draw() if pool.foreign else sample.once(facts, draw)
    return _by_draws(pool, sample, measure, level, item, pools, finer.blocks)


def _by_draws(
    pool: View,
    sample: Sample,
    measure: Measure,
    level: float,
    item: IntArray,
    pools: Pools,
    blocks: Blocks,
) -> Estimate:
    """`measure` by draws of the labels of all items but those at `item`, which have theirs."""
    outputs = pool.outputs(item)
    with one_thread():
        rng = stage_rng(sample.seed, POSTERIOR + 1)
        inside = pools.within(measure, blocks, outputs, rng)
        risks = inside.risks(measure)
    plain = outputs.predictions.shape[1] == 1 and not isinstance(measure, ByFactor)
    doubts = (*pools.doubts(plain), *few_in_group(measure, outputs), *waiting(sample))
    chosen = sample.state.view.model.settings
    estimate = credible_estimate(
        measure, risks, level, len(item), doubts, chosen.tail_share, chosen.point
    )
    variance = variance_in_pools(inside, measure, estimate.details["risk"])
    details = {**estimate.details, "item_variance": variance, "size": sample.problem.size}
    if sample.problem.cells.signals is not None:
        details["signals"] = labels_saved(sample.problem, sample.state.share, len(item))
    guarantee = None if pool.foreign else guarantee_of(sample, measure)
    return replace(estimate, guarantee=guarantee, details=details)


def few_in_group(measure: Measure, outputs: Outputs) -> tuple[str, ...]:
    """A word about a group of which few items have a label; outputs are those of the labelled."""
    if not isinstance(measure, Within):
        return ()
    n = int(np.count_nonzero(measure.factor(outputs)))
    if n >= FEW_IN_GROUP:
        return ()
    return (
        f"This group has {label_count(n)}: the estimate leans on what other groups are like, and "
        "may lack positives of which the score knows nothing. Draw labels for the group "
        f"(hs.measures.Within as the measure) until it has {FEW_IN_GROUP} or more.",
    )


def draw_pools(sample: Sample, view: LabelView) -> tuple[IntArray, Pools]:
    """The labelled items, and draws of the labels of the others by a view of the problem."""
    state, cells = sample.state, sample.problem.cells
    item, label = sample.told()
    labels = Labels.of(cells.of_item[item].astype(np.int64), label, sample.declined, state.labelled)
    rng = stage_rng(sample.seed, POSTERIOR)
    with one_thread():
        return item, Pools.draw(view, state.modes, cells.size, labels, rng)


def draw_finer(
    pool: View, sample: Sample, measure: Measure, finer: Finer
) -> tuple[IntArray, Pools]:
    """The same by cells of the design cut by what a measure knows."""
    item, label = sample.told()
    coarse = sample.problem.cells.of_item[item].astype(np.int64)
    cell = finer.of_items(coarse, measure, pool.outputs(item))
    counts = np.zeros((len(finer.size), sample.problem.n_classes), dtype=np.int64)
    labels = Labels.of(cell, label, finer.spread(sample.declined), counts)
    rng = stage_rng(sample.seed, POSTERIOR)
    return item, Pools.draw(finer.view, None, finer.size, labels, rng)


def _model_tells(pool: View, sample: Sample, measure: Measure) -> bool:
    """Whether the model can stand in for labels: the loss is the same for items that look alike.

    Of a measure whose loss differs between the items of a cell (Brier) it is not the model's to
    say how the label goes with the loss; such a one is estimated from weighted labels. So is a
    curve of another pool's score, or one that cuts coarse strata, of which the model knows nothing.
    """
    facts = measure.facts()
    if pool.foreign and any(fact.of_score for fact in facts or ()):
        return False
    if measure is sample.problem.measure and facts is not None:
        return True
    if measure.grouping(sample.problem.cells.example) is None:
        return False
    return not _too_coarse(pool, sample, measure)


def _too_coarse(pool: View, sample: Sample, measure: Measure) -> bool:
    """Whether a curve cuts cells that hold a good part of the positives: strata few, or unordered.

    What goes with the score inside a cell the model does not know.
    """
    problem, scored = sample.problem, [fact.of_score for fact in measure.facts() or ()]
    few = len(problem.stratum_size) < FEW_STRATA or len(np.unique(series_of(problem))) > 1
    if problem.n_classes > 2 or not (few and any(scored)):
        return False
    blocks = blocks_of(pool, problem, measure)
    events = problem.cells.size * sample.state.share[:, 1]
    return bool(np.any(events[np.bincount(blocks.cell) > 1] > LARGE_PART * events.sum()))


def guarantee_of(sample: Sample, measure: Measure) -> Guarantee | None:
    """What the draws of the finished stages can promise, for a measure that the cells know."""
    problem, stages = sample.problem, sample.finished()
    if not stages or not same_facts(problem.measure, measure):
        return None
    drawn, inclusion = [], []
    for stage, label in stages:
        new = slice(0, stage.n_new)
        drawn.append((problem.cells.of_item[stage.item[new]].astype(np.int64), label[new]))
        inclusion.append(np.asarray(stage.inclusion))
    draws = draws_of(problem.cells.size, drawn, inclusion)
    return Guarantee(draws, measure, problem.cells.example, problem.n_classes)


def blocks_of(pool: View, problem: Problem, measure: Measure) -> Blocks:
    """The pool cut by the cells of the design and those of the measure."""
    cells = problem.cells
    own = np.arange(len(cells))
    if not pool.foreign and measure == problem.measure:
        return Blocks(own, np.zeros_like(own), cells.size, problem.losses)
    uniform = measure.signature(cells.example) is not None
    if not pool.foreign and uniform and same_facts(problem.measure, measure):
        losses = equal_losses(measure, cells.example, problem.n_classes)
        return Blocks(own, np.zeros_like(own), cells.size, losses)
    found: Blocks = pool.blocks(problem, measure)
    return found


def same_facts(known: Measure, needed: Measure) -> bool:
    """Whether a measure knows no more about an item than the cells of another do."""
    has, wants = known.facts(), needed.facts()
    return has is not None and wants is not None and set(wants) <= set(has)
