"""Which key gives which label."""

from __future__ import annotations

#: keys that do something else: undo, skip, note, help
RESERVED = frozenset("usn?hz")
MORE = "123456789abcdefgijklmopqrtvwxy"


def label_keys(n_classes: int) -> list[str]:
    """One key a class: for two classes those under the index fingers, else 1, 2, 3 …

    >>> label_keys(2), label_keys(3)
    (['f', 'j'], ['1', '2', '3'])
    """
    if n_classes == 2:
        return ["f", "j"]
    return [MORE[position] if position < len(MORE) else "" for position in range(n_classes)]
