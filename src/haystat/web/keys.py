"""Which key gives which label."""

from __future__ import annotations

from collections.abc import Sequence

from haystat.errors import BadOption

#: keys that do something else: undo, skip, note, history, help
RESERVED = frozenset("usno?hz")
MORE = "123456789abcdefgijklmpqrtvwxy"


def label_keys(n_classes: int, own: Sequence[str] = ()) -> list[str]:
    """One key a class: one's own, those under the index fingers for two classes, else 1, 2, 3 …

    >>> label_keys(2), label_keys(3), label_keys(2, ["d", "k"])
    (['f', 'j'], ['1', '2', '3'], ['d', 'k'])
    """
    if len(own) == n_classes:
        return list(own)
    if n_classes == 2:
        return ["f", "j"]
    return [MORE[position] if position < len(MORE) else "" for position in range(n_classes)]


def checked_keys(keys: Sequence[str]) -> None:
    """Raise unless keys are different single letters or digits that do nothing else."""
    for key in keys:
        if len(key) != 1 or not key.isalnum() or key != key.lower() or key in RESERVED:
            raise BadOption(
                f"key {key!r} cannot be used; give one small letter or digit a label, but none of "
                f"{', '.join(sorted(RESERVED))}, which do something else"
            )
    if len(set(keys)) < len(keys):
        raise BadOption(f"keys are {', '.join(keys)}; give every label a key of its own")
