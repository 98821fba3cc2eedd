"""Agreement with a recorded run of the paper's public implementation on abt-buy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import haystat as hs
from haystat import designs
from haystat.designs.adaptive import AdaptiveState
from haystat.models.dirichlet_tree import DirichletTree, TreeState
from haystat.models.em_loops import run_em
from haystat.pool.problem import pose
from haystat.pool.tree import balanced_tree

TRACE = Path(__file__).resolve().parents[3] / "shared" / "pools" / "reference_trace_abt-buy.npz"
pytestmark = pytest.mark.skipif(not TRACE.exists(), reason=f"no reference trace at {TRACE}")


@pytest.fixture(scope="module")
def trace():
    with np.load(TRACE) as file:
        return {name: file[name] for name in file.files}


@pytest.fixture(scope="module")
def pool(trace):
    return hs.Pool(trace["scores"], trace["preds"], strata=trace["bin_index"])


def by_bin(trace, name):
    """A recorded array of blocks in the order of the bins."""
    result = np.empty_like(trace[name])
    result[trace["block_to_bin"]] = trace[name]
    return result


def node_ranges(tree):
    """First and last stratum under each node."""
    low = np.full(len(tree.parent), tree.n_strata)
    high = np.full(len(tree.parent), -1)
    low[tree.leaf] = high[tree.leaf] = np.arange(tree.n_strata)
    for node in range(len(tree.parent) - 1, 0, -1):
        up = tree.parent[node]
        low[up], high[up] = min(low[up], low[node]), max(high[up], high[node])
    return list(zip(low.tolist(), high.tolist(), strict=True))


def recorded_pseudo(trace, tree):
    """What its M-step adds to the counts of each node of ours, (V, C)."""
    ranges = zip(trace["node_bin_lo"].tolist(), trace["node_bin_hi"].tolist(), strict=True)
    row = {where: number for number, where in enumerate(ranges)}
    pseudo = np.zeros((len(tree.parent), 2))
    for node, where in enumerate(node_ranges(tree)):
        if node > 0:
            pseudo[node] = trace["node_map_pseudocount"][row[where]]
    return pseudo


def labels_until(trace, stage):
    """Items labelled in rounds 1 … stage, and their labels."""
    drawn = [trace[f"ids_{r}"] for r in range(1, stage + 1)]
    item = np.unique(np.concatenate(drawn)) if drawn else np.zeros(0, dtype=np.int64)
    return item, trace["labels"][item]


def observed_until(trace, stage):
    observed = np.zeros((256, 2))
    item, label = labels_until(trace, stage)
    np.add.at(observed, (trace["bin_index"][item], label), 1)
    return observed


def test_hyperparameters_of_inner_nodes_are_the_recorded_ones(trace, pool):
    problem = pose(pool, hs.measures.resolve("f1").bind(pool.schema))
    np.testing.assert_allclose(problem.stratum_prior, by_bin(trace, "s_block"), rtol=3e-6)
    model = DirichletTree(balanced_tree(256, 2), problem.stratum_prior, problem.stratum_size)
    np.testing.assert_allclose(model.class_pseudo, trace["alpha_used"] - 1, rtol=3e-6)
    inner = np.array([low < high for low, high in node_ranges(model.tree)])
    inner[0] = False
    recorded = recorded_pseudo(trace, model.tree)
    # It adds beta to the counts, our M-step adds beta - 1.
    np.testing.assert_allclose(model.branch_pseudo[inner] + 1, recorded[inner], rtol=3e-6)


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_em_from_the_state_before_ends_at_the_recorded_one(trace, stage):
    tree = balanced_tree(256, 2)
    observed = observed_until(trace, stage)
    hidden = by_bin(trace, "block_sizes") - observed.sum(axis=1)
    share, _ = run_em(
        tree.parent,
        tree.leaf,
        recorded_pseudo(trace, tree),
        trace["alpha_used"] - 1,
        observed,
        hidden,
        by_bin(trace, f"predict_block_{stage - 1}"),
        1e-9,
        100_000,
    )
    # Its EM stops when the log posterior hardly moves, a little before the fixed point.
    np.testing.assert_allclose(share, by_bin(trace, f"predict_block_{stage}"), atol=2e-3)


@pytest.mark.parametrize("stage", [0, 1, 2, 3])
def test_proposal_from_the_recorded_model_is_the_recorded_one(trace, pool, stage):
    problem = pose(pool, hs.measures.resolve("f1").bind(pool.schema))
    design = designs.Adaptive(epsilon=float(trace["epsilon"]))
    item, label = labels_until(trace, stage)
    cell = problem.cells.of_item[item]
    labelled = np.zeros((len(problem.cells), 2), dtype=np.int64)
    np.add.at(labelled, (cell, label), 1)
    model = DirichletTree(problem.tree, problem.stratum_prior, problem.stratum_size)
    response = TreeState(observed_until(trace, stage), by_bin(trace, f"predict_block_{stage}"))
    proposal = design.propose(problem, AdaptiveState(model, response, labelled))
    probability = proposal.unlabelled[problem.cells.of_item]
    probability[item] = proposal.labelled[cell, label]
    assert probability.sum() == pytest.approx(1)
    np.testing.assert_allclose(probability, trace[f"pmf_{stage}"], rtol=1e-9, atol=1e-18)


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_estimate_from_the_recorded_draws_is_the_recorded_one(trace, pool, stage):
    rounds = range(1, stage + 1)
    item = np.concatenate([trace[f"ids_{r}"] for r in rounds])
    weight = np.concatenate([trace[f"weights_{r}"] for r in rounds])
    measure = hs.measures.resolve("f1").bind(pool.schema)
    risk = measure.risk(pool.outputs(item), trace["labels"][item], weight / len(item))
    assert measure.value(risk)[0] == pytest.approx(float(trace[f"estimate_{stage}"]))
    before = trace[f"pmf_{stage - 1}"][trace[f"ids_{stage}"]]
    np.testing.assert_allclose(trace[f"weights_{stage}"], 1 / (len(pool) * before), rtol=1e-9)
