"""When signals that are fitted to labels are fitted anew.

An evaluation then goes on as the next version of the same pool (loop/versions.py): cells are cut by
the new signal, and every label counts on with the probability that its item had to be drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from haystat.designs.base import Design
from haystat.designs.continued import continued
from haystat.errors import BadOption
from haystat.loop.state import State
from haystat.pool.base import AnyPool

FIRST = 200  # labels at which signals are fitted for the first time
FACTOR = 3  # by which labels grow until the next time
KEPT_LEVELS = 1 << 12  # of inclusion probabilities: so many that no label is put back


def check_fitted(pool: AnyPool, design: Design) -> None:
    """Raise if signals are to be fitted and the design cannot go on with them."""
    names = list(getattr(pool, "to_fit", ()))
    try:
        if names:
            continued(design)
    except BadOption:
        raise BadOption(
            f"signals {names} are fitted to labels as they come, which design {design} cannot use; "
            "use the default, design='assisted', or leave them out"
        ) from None


def is_due(pool: AnyPool, state: State, settings: Mapping[str, Any]) -> bool:
    """Whether signals are to be fitted now: enough new labels are in, and no question is open.

    To labels that were known before the first question they were fitted at the beginning.
    """
    if not getattr(pool, "to_fit", ()) or state.known.parts or state.ledger.pending:
        return False
    before = int(settings.get("fitted", {}).get("labels", 0))
    return state.ledger.n_told >= max(FIRST, FACTOR * before)


def not_yet_fitted(pool: AnyPool) -> list[str]:
    """What to know about a study whose signals have no labels to be fitted to."""
    signals = getattr(pool, "signals", None)
    told = () if signals is None else signals.names
    late = [name for name in getattr(pool, "to_fit", ()) if name not in told]
    return [fitted_later(late)] if late else []


def fitted_later(names: Sequence[str]) -> str:
    """That a study uses a signal from its next version on."""
    return (
        f"The signal from {', '.join(names)} is fitted to labels, which this study has yet to get. "
        f"From {FIRST} labels on, go on with haystat next (Study.next): it fits the signal."
    )
