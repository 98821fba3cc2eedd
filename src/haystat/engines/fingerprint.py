"""What draws from a pool behind an engine depend on, but the seed, as a short text."""

from __future__ import annotations

import hashlib
from typing import Any


def digest_of(pool: Any) -> str:
    """The digest of an EnginePool: of its groups, its strata and its signals; not of its ids."""
    columns, groups = pool.layout.columns, pool.held.sketch.groups
    parts = (pool.classes, columns, pool.summary.id_range, pool.n_strata)
    digest = hashlib.sha256(repr(parts).encode())
    digest.update(pool.summary.score_range.tobytes())
    digest.update((columns.weight or "").encode())
    digest.update(pool.tree.parent.tobytes() + pool.tree.leaf.tobytes())
    digest.update(groups.size.tobytes())
    digest.update(pool.held.sketch.atom_of.tobytes())
    digest.update(repr(groups.key.to_pydict()).encode())
    if groups.signal_sum is not None:
        digest.update(repr([one.name for one in pool.layout.signals]).encode())
        digest.update(groups.signal_sum.tobytes())
    return digest.hexdigest()[:16]
