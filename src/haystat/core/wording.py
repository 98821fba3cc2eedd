"""Numbers in sentences."""

from __future__ import annotations


def label_count(n: int) -> str:
    """A number of labels as a sentence has it.

    >>> label_count(1), label_count(1200)
    ('1 label', '1,200 labels')
    """
    return f"{n:,} label{'' if n == 1 else 's'}"
