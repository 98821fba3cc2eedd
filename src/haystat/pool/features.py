"""Strata from features: where items lie close together, answers tend to be alike.

For pools without useful scores (the paper's appendix "Unsupervised partitioning methods"). Both
methods give a tree of any shape, whose leaves are the strata.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from haystat.core.arguments import brief, checked_integer
from haystat.core.arrays import IntArray
from haystat.errors import BadOption, LengthMismatch, PoolError, UnknownName
from haystat.pool import checks

Features = NDArray[np.float32]
Partition = tuple[NDArray[np.int32], IntArray]

LARGEST = 1e37  # single precision ends a little above
SPREAD_SAMPLE = 4096  # items from which a node's widest dimension is told
CENTRES_PER_STRATUM = 8  # of the clustering that hierarchical clustering starts from
MOST_CENTRES = 2048
FITTED = 50_000  # items that the centres are fitted to
ASSIGNED = 1 << 15  # items whose nearest centre is sought at a time


def strata_from_features(
    features: ArrayLike, method: str = "kdtree", n_strata: int = 256, random_state: int = 0
) -> Partition:
    """The stratum of each item, and the tree over the strata: arguments of a Pool.

    features: (M, F), finite; scale them so that equal distances mean equally much.
    method: "kdtree" cuts at medians of the widest dimension; "hierarchical" is Ward's clustering
        of a few thousand centres (needs scikit-learn).

    >>> import haystat as hs
    >>> strata, parents = strata_from_features([[0.0], [0.1], [5.0], [5.1]], n_strata=2)
    >>> strata.tolist(), parents.tolist()
    ([0, 0, 1, 1], [-1, 0, 0])
    >>> pool = hs.Pool(predictions=[0, 0, 1, 1], strata=strata, parents=parents)
    """
    if not isinstance(method, str) or method not in METHODS:
        raise UnknownName(f"method is {brief(method)}; it can be {list(METHODS)}")
    n_strata = checked_integer("n_strata", n_strata, smallest=1)
    seed = checked_integer("random_state", random_state, smallest=0)
    given = checked_features(features)
    stratum, parents = METHODS[method](given, min(n_strata, len(given)), seed)
    return stratum, parents


def checked_features(features: ArrayLike) -> Features:
    """Features as a matrix of single precision, centred; raises on text, NaN and infinity."""
    given = checks.checked_numbers("features", features)
    if given.ndim != 2 or given.shape[1] == 0:
        raise LengthMismatch(
            f"features have shape {given.shape}; give one row an item and one column a feature"
        )
    if len(given) == 0:
        raise PoolError("there are no items; give at least one row of features")
    # Centred first: single precision would lose what differs between large numbers.
    with np.errstate(invalid="ignore", over="ignore"):
        centred = np.asarray(given - given.mean(axis=0), dtype=np.float32)
    if not np.isfinite(centred).all():
        usable = np.all(np.abs(given) < LARGEST, axis=1)
        raise PoolError(
            f"features are NaN, infinite or beyond {LARGEST:g}, the first at position "
            f"{int(np.argmin(usable))}; drop these items or fill in a number"
        )
    return centred


def kd_tree(features: Features, n_strata: int, seed: int) -> Partition:
    """Cut the largest block at the median of its widest dimension until there are enough.

    A block whose items are all alike is not cut, so there may be fewer strata.
    """
    rng = np.random.default_rng(seed)
    parents = [-1]
    blocks: dict[int, IntArray] = {0: np.arange(len(features))}
    queue = [(-len(features), 0)]
    while queue and len(blocks) < n_strata:
        _, node = heapq.heappop(queue)
        for half in _halves(features, blocks[node], rng):
            child = len(parents)
            parents.append(node)
            blocks[child] = half
            heapq.heappush(queue, (-len(half), child))
            blocks.pop(node, None)
    return _numbered(blocks, np.array(parents), len(features))


def hierarchical(features: Features, n_strata: int, seed: int) -> Partition:
    """Ward's method on the centres of a mini-batch k-means, cut at n_strata clusters."""
    from scipy.cluster.hierarchy import linkage

    centre, of_item = _centres(features, min(CENTRES_PER_STRATUM * n_strata, MOST_CENTRES), seed)
    n_centres = len(centre)
    if n_centres == 1:
        return np.zeros(len(features), dtype=np.int32), np.array([-1])
    merges = linkage(centre, method="ward")
    top = 2 * n_centres - 2
    children = {n_centres + i: (int(a), int(b)) for i, (a, b) in enumerate(merges[:, :2])}
    # Node of the tree for each cluster that is kept; later merges are higher up.
    node_of, parents = {top: 0}, [-1]
    leaves = [top]
    while len(leaves) < min(n_strata, n_centres):
        highest = max(leaves)
        leaves.remove(highest)
        for child in children[highest]:
            node_of[child] = len(parents)
            parents.append(node_of[highest])
            leaves.append(child)
    block_of_centre = np.zeros(n_centres, dtype=np.int64)
    for leaf in leaves:
        block_of_centre[_members(leaf, children)] = node_of[leaf]
    block = block_of_centre[of_item]
    blocks = {node_of[leaf]: np.flatnonzero(block == node_of[leaf]) for leaf in leaves}
    return _numbered(blocks, np.array(parents), len(features))


#: name -> partition of (features, n_strata, seed)
METHODS: dict[str, Callable[[Features, int, int], Partition]] = {
    "kdtree": kd_tree,
    "hierarchical": hierarchical,
}


def _halves(features: Features, items: IntArray, rng: np.random.Generator) -> list[IntArray]:
    """The items below and above the median of the dimension that varies most; none if none does."""
    sample = items if len(items) <= SPREAD_SAMPLE else rng.choice(items, SPREAD_SAMPLE)
    for some in (sample, items):  # a sample may miss the few items that differ
        spread = features[some].std(axis=0)
        dimension = int(np.argmax(spread))
        values = features[items, dimension]
        lowest = values.min()
        if values.max() > lowest:
            median = np.partition(values, len(values) // 2)[len(values) // 2]
            # Ties with the median go up, unless that leaves nothing below.
            below = values < median if median > lowest else values <= median
            return [items[below], items[~below]]
    return []


def _centres(features: Features, n_centres: int, seed: int) -> tuple[Features, IntArray]:
    """Centres of clusters, none of them empty, and the nearest one of each item."""
    if len(features) <= MOST_CENTRES:  # few enough to be clustered one by one
        centre, of_item = np.unique(features, axis=0, return_inverse=True)
        return centre, of_item.ravel()
    try:
        from sklearn.cluster import MiniBatchKMeans
        from threadpoolctl import threadpool_limits
    except ImportError:
        raise BadOption(
            "hierarchical clustering needs scikit-learn: pip install 'haystat[features]'; "
            "method='kdtree' does not"
        ) from None
    rng = np.random.default_rng(seed)
    n_fitted = min(len(features), FITTED)
    fitted = features[rng.choice(len(features), n_fitted, replace=False)]
    n_centres = min(n_centres, len(np.unique(fitted, axis=0)))
    means = MiniBatchKMeans(
        n_centres, init="random", n_init=1, max_iter=20, batch_size=4096, random_state=seed
    )
    # Steps are so short that threads which wait for each other cost more than they save.
    with threadpool_limits(1):
        centre = means.fit(fitted).cluster_centers_.astype(np.float32)
        nearest = _nearest(features, centre)
    used, of_item = np.unique(nearest, return_inverse=True)
    return centre[used], of_item


def _nearest(features: Features, centre: Features) -> IntArray:
    """The centre with the smallest distance to each item, (M,)."""
    half_square = np.einsum("cf,cf->c", centre, centre) / 2
    result = np.zeros(len(features), dtype=np.int64)
    for start in range(0, len(features), ASSIGNED):
        part = features[start : start + ASSIGNED]
        result[start : start + ASSIGNED] = np.argmax(part @ centre.T - half_square, axis=1)
    return result


def _members(cluster: int, children: dict[int, tuple[int, int]]) -> list[int]:
    """The centres that a cluster was merged from."""
    found, waiting = [], [cluster]
    while waiting:
        node = waiting.pop()
        if node in children:
            waiting += children[node]
        else:
            found.append(node)
    return found


def _numbered(blocks: dict[int, IntArray], parents: IntArray, size: int) -> Partition:
    """Strata in the order of their nodes, as `parents` of a Pool wants its leaves."""
    stratum = np.zeros(size, dtype=np.int32)
    for position, node in enumerate(sorted(blocks)):
        stratum[blocks[node]] = position
    return stratum, parents
