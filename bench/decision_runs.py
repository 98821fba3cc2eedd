"""What the benches of decisions share: pools of two classes, arguments, repeats in parallel."""

from __future__ import annotations

import argparse
import multiprocessing
import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from calibration_pools import KINDS, Known, Places, known_pools


def texts(text: str) -> list[str]:
    """The parts of an argument, with commas between them."""
    return text.split(",")


def parser_of(doc: str) -> argparse.ArgumentParser:
    """The arguments that all of them take."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--kinds", type=texts, default=list(KINDS))
    parser.add_argument("--only", help="pools with this in their name")
    parser.add_argument("--largest", type=int, default=10**8, help="items of a pool")
    parser.add_argument("--seed", type=int, default=0, help="of the random kinds of pools")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    return parser


def two_class_pools(args: argparse.Namespace) -> Iterator[Known]:
    """The pools of two classes that the arguments name."""
    for known in known_pools(args.kinds, Places(seed=args.seed), args.only):
        if known.scores.ndim == 1 and len(known.labels) <= args.largest:
            yield known


def repeated(run: Callable[[Any, int], Any], task: Any, args: argparse.Namespace) -> list[Any]:
    """What every repeat of a task finds."""
    with multiprocessing.get_context("fork").Pool(args.jobs) as workers:
        return workers.map(partial(run, task), range(args.repeats))
