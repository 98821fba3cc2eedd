"""Coverage, width and error of the default design, on pools whose labels are known.

    python bench/calibration.py --kinds newcomer,ties --measures f1 --repeats 200 --json found.json
    python bench/calibration.py --stop 0.1 --reuse              others from the draws for F1
    python bench/calibration.py --seed 7 --kinds generated      random pools nobody saw before
    python bench/calibration.py --summary found.json            what a file says, without running

A cell is a measure of a pool at a number of labels. Stages of 25 labels until 100, then of 50; the
orders and draws of every repeat are fresh. The file takes a line for each pool, measure and design
as it is finished, and what it holds is not run again: take a new file after a change of the code.
With --reuse all measures of a pool are estimated from the draws for F1, and stopping and the
guaranteed interval are those of F1. The other designs' lines can come from an older file, with
--compare, whatever their repeats.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import haystat as hs
from calibration_pools import CACHE, KINDS, SHARED, Known, Places, known_pools
from calibration_runs import (
    DEFAULT,
    SEVERAL_CLASSES,
    TWO_CLASSES,
    Asked,
    applicable,
    experiment_of,
    key,
    records,
)
from calibration_summary import HEAD, compare, line, rows_of, summary

Record = dict[str, Any]
COMPARED = ("f1", *SEVERAL_CLASSES)  # measures on which the other designs are run too


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kinds", type=_words, default=list(KINDS))
    names = list(dict.fromkeys((*TWO_CLASSES, *SEVERAL_CLASSES)))
    parser.add_argument("--measures", type=_words, default=names)
    parser.add_argument("--budgets", type=_numbers, default=(100, 500, 1000, 2000))
    parser.add_argument("--stop", type=float, help="count the interval when it is this narrow too")
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--designs", type=_words, default=[DEFAULT, "adaptive", "passive"])
    parser.add_argument("--reuse", action="store_true", help="the other measures from F1's draws")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path, help="where to add what is found")
    parser.add_argument("--compare", type=Path, help="a file with the other designs' repeats")
    parser.add_argument("--only", help="pools with this in their name")
    parser.add_argument(
        "--no-guarantees", action="store_true", help="do not look at the guaranteed interval"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random pools")
    parser.add_argument("--shared", type=Path, default=SHARED)
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--summary", type=Path, help="print what this file says, and run nothing")
    return parser


def _words(text: str) -> list[str]:
    return text.split(",")


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(sorted(int(word) for word in text.split(",")))


def read(path: Path | None) -> list[Record]:
    """The records of a file, if it is there."""
    if path is None or not path.exists():
        return []
    return [json.loads(text) for text in path.read_text().splitlines()]


def groups(given: argparse.Namespace, known: Known) -> Iterator[Asked]:
    """The measures of a pool: each with draws of its own, or all with those of the first."""
    names = applicable(given.measures, known)
    rest = (given.budgets, given.stop, given.repeats, given.jobs, not given.no_guarantees)
    if given.reuse and names:
        first = next((name for name in ("f1", "accuracy") if name in names), names[0])
        yield Asked(first, tuple(name for name in names if name != first), *rest)
        return
    for name in names:
        yield Asked(name, (), *rest)


def identity(record: Record) -> tuple[Any, ...]:
    """What tells a record from others: repeats and rules to stop matter for the default alone."""
    names = ["kind", "pool", "measure", "drawn_for", "design"]
    names += ["repeats", "stop"] if record["design"] == DEFAULT else []
    return (*(record[name] for name in names), *record["budgets"])


def wanted(asked: Asked, known: Known, designs: Sequence[str]) -> dict[str, list[tuple[Any, ...]]]:
    """The records of each design; the default alone is run on all measures."""
    names = (asked.measure, *asked.others)
    return {
        design: [identity(key(known, name, design, asked)) for name in names]
        for design in designs
        if design == DEFAULT or asked.measure in COMPARED
    }


def measure(given: argparse.Namespace) -> list[Record]:
    """Run what is asked for, and return it together with what the files hold of it."""
    done = {identity(r): r for r in (*read(given.compare), *read(given.json))}
    found: dict[tuple[Any, ...], Record] = {}
    places = Places(given.shared, given.cache, given.seed)
    for known in known_pools(given.kinds, places, given.only):
        for asked in groups(given, known):
            keys = wanted(asked, known, given.designs)
            lacking = [d for d, names in keys.items() if not all(k in done for k in names)]
            for record in tried(known, asked, lacking):
                done[identity(record)] = record
                if given.json is not None:
                    with given.json.open("a") as file:
                        file.write(json.dumps(record) + "\n")
            ours = {k: done[k] for names in keys.values() for k in names if k in done}
            found |= ours
            show(list(ours.values()))
    return list(found.values())


def tried(known: Known, asked: Asked, designs: Sequence[str]) -> Iterator[Record]:
    """The records of each design; one that fails is reported and left out."""
    if not designs:
        return
    experiment = experiment_of(known, hs.Pool(**known.arguments), asked)
    for design in designs:
        start = time.perf_counter()
        where = f"{known.kind}: {known.name}, {asked.measure}, {design}"
        try:
            yield from records(known, experiment, asked, design)
        except Exception as error:  # the other cells are worth hours
            print(f"FAILED {where}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        print(f"  {where}: {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)


def show(found: Sequence[Record]) -> list[dict[str, Any]]:
    """Print the rows of the default, and return all."""
    rows = [row for record in found for row in rows_of(record)]
    compare(rows)
    for row in rows:
        if row["design"] == DEFAULT:
            print(line(row), flush=True)
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    given = options().parse_args(arguments)
    print(HEAD)
    if given.summary is not None:
        rows = show([*read(given.compare), *read(given.summary)])
    else:
        rows = [row for record in measure(given) for row in rows_of(record)]
        compare(rows)
    print("\n" + "\n".join(summary(rows)))


if __name__ == "__main__":
    main()
