"""A process that dies while it adds a version: the helper of a test.

Run as `python killed.py STUDY MOMENT`: makes the next version of a study and kills itself before
the moment's function, `write` or `_publish`, or once the file is there.
"""

from __future__ import annotations

import os
import signal
import sys

import numpy as np

import haystat as hs
from haystat.study import new_file, store


def die(*given, **options):
    os.kill(os.getpid(), signal.SIGKILL)


def main(path: str, moment: str) -> None:
    for module in (new_file, store):
        if hasattr(module, moment):
            setattr(module, moment, die)
    scores = np.linspace(-4, 2, 400)
    with hs.Study.open(path, pool=hs.Pool(scores, strata=8, threshold=0.0, seed=0)) as study:
        study.next(hs.Pool(scores[::-1].copy(), strata=8, threshold=0.0, seed=0), "v2")
    die()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
