"""What repeats tell about a design: one row for each measure of a pool and budget, and totals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.stats import beta

from calibration_pools import OLD
from calibration_runs import DEFAULT, holds

Row = dict[str, Any]
Z = 1.96
EXACT = 1e-20  # squared error below which an estimate is the truth
LARGEST_RATIO = 10.0
LEVEL, WANTED, FLOOR = 0.95, 0.92, 0.80  # nominal, in 95 of 100 cells, in every cell
WIDE, WORSE = 1.5, 1.25
NARROW = ("dblp-acm", "restaurant", "abt-buy")  # where intervals must stay as narrow as they were
HIDDEN = 0.05  # labels reach the tail if they would show so large a share of the positives there


def rows_of(record: dict[str, Any]) -> list[Row]:
    """One row for each component of the measure and budget, and one for stopping by width."""
    moments = [[at[i] for at in (run["at"] for run in record["runs"])] for i in range(_n(record))]
    if record["runs"][0]["stopped"] is not None:
        moments.append([run["stopped"] for run in record["runs"]])
    rows = []
    for number, truth in enumerate(record["truth"]):
        if not np.isfinite(truth):
            continue
        for position, found in enumerate(moments):
            stopped = position == _n(record)
            row = _row(record, number, truth, found)
            row["labels"] = f"width {record['stop']:g}" if stopped else found[0]["n"]
            limit = None if stopped or record["limit"] is None else record["limit"][position]
            row["limit"] = None if limit is None else row["mse"] / limit
            row["all_looks"] = _all_looks(record, number, truth) if position == 0 else None
            rows.append(row)
    return rows


def _n(record: dict[str, Any]) -> int:
    return len(record["runs"][0]["at"])


def _row(record: dict[str, Any], number: int, truth: float, found: list[dict[str, Any]]) -> Row:
    value = np.array([at["values"][number] for at in found])
    ends = np.array([at["ends"][number] for at in found])
    error = value - truth
    square = np.maximum(error**2, EXACT)
    mse = float(np.nanmean(square)) if np.isfinite(square).any() else float("nan")
    inside = holds(ends, np.array(truth))
    width = float(np.nanmedian(ends[:, 1] - ends[:, 0])) if np.isfinite(ends).any() else np.nan
    name = record["measure"] if len(record["truth"]) == 1 else f"{record['measure']}[{number}]"
    names = ("kind", "pool", "design", "drawn_for", "several", "tied")
    return {
        **{field: record[field] for field in names},
        "measure": name,
        "truth": truth,
        "mse": mse,
        "squares": square,
        "bias": float(np.nanmean(error)) if np.isfinite(error).any() else np.nan,
        "coverage": float(inside.mean()),
        "band": band(int(inside.sum()), len(inside)),
        "width": width,
        "width_ratio": width / (2 * Z * np.sqrt(mse)) if mse > 10 * EXACT else None,
        "undefined": int(np.sum(~np.isfinite(value))),
        "median_labels": float(np.median([at["n"] for at in found])),
        "reached": float(np.mean([at.get("reached", True) for at in found])),
        "in_reach": _in_reach(record, found),
    }


def _in_reach(record: dict[str, Any], found: list[dict[str, Any]]) -> bool:
    """Whether the labels in the tail would hold a positive if HIDDEN of them were there."""
    if record["several"] or not record["tail_size"]:
        return True
    labels = np.median([at["tail"] for at in found])
    return bool(labels * HIDDEN * record["positives"] >= record["tail_size"])


def _all_looks(record: dict[str, Any], number: int, truth: float) -> tuple[float, float] | None:
    """Share of repeats whose guaranteed intervals all hold the truth, and its upper band."""
    ends = [run["all_looks"] for run in record["runs"]]
    if any(part is None for part in ends):
        return None
    inside = holds(np.array([part[number] for part in ends]), np.array(truth))
    return float(inside.mean()), band(int(inside.sum()), len(inside))[1]


def band(n_inside: int, n: int) -> tuple[float, float]:
    """95% band of a share (Clopper and Pearson)."""
    low = 0.0 if n_inside == 0 else beta.ppf(0.025, n_inside, n - n_inside + 1)
    high = 1.0 if n_inside == n else beta.ppf(0.975, n_inside + 1, n - n_inside)
    return float(low), float(high)


def compare(rows: Sequence[Row]) -> None:
    """Give the rows of the default its error against those of the other designs, with a band."""
    place = {(*_cell(row), row["design"]): row for row in rows}
    for row in rows:
        if row["design"] != DEFAULT:
            continue
        others = {d: place[c] for d in ("adaptive", "passive") if (c := (*_cell(row), d)) in place}
        row["ratios"] = {d: ratio(other, row) for d, other in others.items()}
        if others:
            best = min(others.values(), key=lambda other: other["mse"])
            row["over_best"] = ratio(row, best)


def _cell(row: Row) -> tuple[Any, ...]:
    return row["kind"], row["pool"], row["measure"], row["drawn_for"], row["labels"]


def ratio(above: Row, below: Row) -> tuple[float, float, float]:
    """One mean squared error over another, and its 95% bootstrap band."""
    rng = np.random.default_rng(0)
    means = []
    for row in (above, below):
        defined = row["squares"][np.isfinite(row["squares"])]
        if not len(defined):
            return float("nan"), float("nan"), float("nan")
        means.append(defined[rng.integers(0, len(defined), (1000, len(defined)))].mean(axis=1))
    low, high = np.quantile(means[0] / means[1], [0.025, 0.975])
    return above["mse"] / below["mse"], float(low), float(high)


HEAD = (
    "| pool | measure | labels | truth | MSE | over the limit | bias | coverage | width | "
    "width / error | guaranteed, all looks | adaptive / it | passive / it |\n" + "|---" * 13 + "|"
)


def line(row: Row) -> str:
    """A row in Markdown."""
    limit = "" if row["limit"] is None else f"{row['limit']:.1f}"
    wide = "exact" if row["width_ratio"] is None else f"{row['width_ratio']:.2f}"
    wide += "" if row["in_reach"] else " (tail not reached)"
    low, high = row["band"]
    stopped = isinstance(row["labels"], str)
    labels = f"{row['labels']}: {row['median_labels']:.0f}, {row['reached']:.0%}" * stopped
    looks = "" if row["all_looks"] is None else f"{row['all_looks'][0]:.1%}"
    ratios = [row.get("ratios", {}).get(design) for design in ("adaptive", "passive")]
    shown = ["" if r is None else f"{r[0]:.2f} [{r[1]:.2f}, {r[2]:.2f}]" for r in ratios]
    return (
        f"| {row['kind']}: {row['pool']} | {row['measure']} | {labels or row['labels']} | "
        f"{row['truth']:.3f} | {row['mse']:.2e} | {limit} | {row['bias']:+.4f} | "
        f"{row['coverage']:.1%} [{low:.0%}, {high:.0%}] | {row['width']:.4f} | {wide} | {looks} | "
        f"{shown[0]} | {shown[1]} |"
    )


def summary(rows: Sequence[Row]) -> list[str]:
    """What lines 1 to 4 of the requirements ask, of the default."""
    ours = [row for row in rows if row["design"] == DEFAULT]
    if not ours:
        return ["no cell of the default"]
    return [*_coverage(ours), *_widths(ours), *_errors(ours), *_guarantees(ours)]


def _named(row: Row) -> str:
    note = " (most positives share one score with 9 of 10 items)" if row["tied"] else ""
    return f"{row['kind']}: {row['pool']}, {row['measure']}, {row['labels']}{note}"


def _share(hits: Iterable[bool]) -> str:
    found = list(hits)
    return f"{np.mean(found):.1%} ({sum(found)} of {len(found)})" if found else "none"


def _covered(rows: list[Row], least: float) -> str:
    within = _share(row["band"][1] >= least for row in rows)
    return f"{_share(row['coverage'] >= least for row in rows)}; within the band: {within}"


def _coverage(rows: list[Row]) -> list[str]:
    by_pool = defaultdict(list)
    for row in rows:
        by_pool[row["kind"], row["pool"]].append(row["coverage"])
    mean = np.mean([np.mean(found) for found in by_pool.values()])
    worst = sorted(rows, key=lambda row: row["coverage"])[:5]
    kinds = {kind for kind, _ in by_pool}
    of_kind = {k: [r["coverage"] for r in rows if r["kind"] == k] for k in sorted(kinds)}
    return [
        "1. interval, 95%",
        f"   covered >= {WANTED:.0%} (wanted in 95.0%): {_covered(rows, WANTED)}",
        f"   covered >= {FLOOR:.0%} (wanted in all): {_covered(rows, FLOOR)}",
        f"   mean over {len(by_pool)} pools (wanted 94 to 98%): {mean:.1%}",
        "   by kind, mean and worst: "
        + "; ".join(f"{k} {np.mean(c):.1%}, {min(c):.1%}" for k, c in of_kind.items()),
        "   worst five:",
        *(f"     {row['coverage']:.1%}  {_named(row)}" for row in worst),
    ]


def _widths(rows: list[Row]) -> list[str]:
    told = [row for row in rows if row["width_ratio"] is not None]
    near = [row for row in told if row["in_reach"]]
    narrow = [r for r in rows if r["pool"] in NARROW and r["measure"] == "f1"]
    return [
        "2. width over what the error justifies",
        f"   <= {WIDE} where labels reach the tail (wanted in 80.0%): "
        f"{_share(row['width_ratio'] <= WIDE for row in near)}; anywhere: "
        f"{_share(row['width_ratio'] <= WIDE for row in told)}",
        f"   median: {np.median([row['width_ratio'] for row in told] or [np.nan]):.2f}",
        *(f"   {r['pool']}, {r['labels']}: median width {r['width']:.4f}" for r in narrow),
    ]


def _errors(rows: list[Row]) -> list[str]:
    f1 = [r for r in rows if r["measure"] == "f1" and "adaptive" in r.get("ratios", {})]
    shared = [row for row in f1 if row["kind"] == "shared"]
    old = [row for row in shared if row["pool"] in OLD]
    best = [row for row in rows if "over_best" in row and np.isfinite(row["over_best"][0])]
    best = [row for row in best if row["several"] or row["measure"] == "f1"]
    two = [row for row in best if not row["several"]]
    many = [r for r in rows if r["several"] and "passive" in r.get("ratios", {})]
    worst = sorted(best, key=lambda row: -row["over_best"][0])[:5]
    return [
        "3. error",
        f"   adaptive over the default, F1, old systems (wanted 4): {_geometric(old)}",
        f"   all shared systems (wanted 2.5): {_geometric(shared)}; all pools: {_geometric(f1)}",
        f"   <= {WORSE} times the better of adaptive and passive: "
        f"{_share(row['over_best'][0] <= WORSE for row in two)}; "
        f"beyond the band (wanted in 95.0%): {_share(r['over_best'][1] <= WORSE for r in two)}",
        "   several classes, no worse than passive: "
        f"{_share(row['ratios']['passive'][0] >= 1 for row in many)}; "
        f"within the band: {_share(row['ratios']['passive'][2] >= 1 for row in many)}",
        "   worst five:",
        *(f"     {row['over_best'][0]:.2f} times  {_named(row)}" for row in worst),
    ]


def _geometric(rows: list[Row]) -> str:
    found = [row["ratios"]["adaptive"][0] for row in rows]
    logs = np.log([min(value, LARGEST_RATIO) for value in found if np.isfinite(value)])
    return f"{np.exp(np.mean(logs)):.2f} over {len(logs)} cells" if len(logs) else "no cells"


def _guarantees(rows: list[Row]) -> list[str]:
    told = [row for row in rows if row["all_looks"] is not None]
    worst = sorted(told, key=lambda row: row["all_looks"][0])[:5]
    return [
        "4. guaranteed_interval at all looks together",
        f"   covered >= {LEVEL:.0%}: {_share(r['all_looks'][0] >= LEVEL for r in told)}; within "
        f"the band (wanted in all): {_share(r['all_looks'][1] >= LEVEL for r in told)}",
        *(f"     {row['all_looks'][0]:.1%}  {_named(row)}" for row in worst),
    ]
