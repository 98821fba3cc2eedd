"""The report as one HTML page: no scripts, no network, every text of the user escaped."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from haystat.display.records import paired_names, shown_text
from haystat.report import charts, words
from haystat.report.style import STYLE
from haystat.report.thresholds import cuts_section
from haystat.report.versions import versions_section

Data = Mapping[str, Any]

HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title><style>{style}</style></head><body><main>
"""


def html_page(report: Data) -> str:
    """The whole page."""
    measure = report["estimate"]["measure"]
    title = text(f"{measure} of {', '.join(report['systems'])}: {report['study']}")
    sections = [
        _top(report),
        versions_section(report["versions"], measure),
        _convergence(report),
        *(_curve(curve) for curve in report["curves"]),
        *(cuts_section(found) for found in report["cuts"]),
        _regions(report),
        *(_confusion(matrix, report) for matrix in report["confusion"]),
        _mistakes(report),
        _weights(report),
        _settings(report),
    ]
    head = HEAD.format(title=title, style=STYLE)
    short = "".join(f"<p>{text(line)}</p>" for line in report["summary"])
    head += f'<h1>{title}</h1>\n<div class="summary">{short}</div>\n'
    return head + "\n".join(sections) + "\n</main></body></html>\n"


def text(value: Any) -> str:
    """Anything as text that is safe in HTML."""
    return escape("" if value is None else str(value), quote=True)


def table(heads: Sequence[tuple[str, str]], rows: Sequence[Sequence[Any]]) -> str:
    """A table that scrolls on its own when it is too wide; heads are (title, class)."""
    top = "".join(f'<th class="{kind}">{text(title)}</th>' for title, kind in heads)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td class="{kind}">{text(value)}</td>'
            for (_, kind), value in zip(heads, row, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    inside = f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="table"><table>{inside}</table></div>'


def number(value: float) -> str:
    """A number of items or draws, with fewer digits where they mean little."""
    if not math.isfinite(value):
        return "unknown"
    return f"{value:,.0f}" if value == 0 or abs(value) >= 10 else f"{value:.2g}"


def _top(report: Data) -> str:
    estimate, status = report["estimate"], report["status"]
    shown = estimate["components"] if estimate["n_components"] <= 6 else []
    cards = "".join(_card(component, estimate) for component in shown)
    many = estimate["n_components"]
    facts = f"<div>{_counts(report)}{_sentence(words.waiting(status['pending']))}</div>"
    parts = [
        "" if cards else f"<p>{text(estimate['measure'])} has {many:,} components.</p>",
        f'<div class="cards">{cards}{facts}</div>',
        "".join(f'<p class="warn">{text(warning)}</p>' for warning in estimate["warnings"]),
        _also(report["also"]),
    ]
    return "\n".join(part for part in parts if part)


def _card(component: Data, estimate: Data) -> str:
    name, value = component["name"], component["value"]
    ends = [words.amount(name, component[end]) for end in ("low", "high")]
    bounds = tuple(estimate["bounds"])
    known = math.isfinite(value)
    bar = ""
    if known and all(map(math.isfinite, (*bounds, component["low"], component["high"]))):
        bar = charts.interval_bar(value, component["low"], component["high"], bounds)
    lines = [
        words.meaning(component),
        words.effort(component, estimate["labels"], estimate.get("signals")),
    ]
    if not known or estimate["n_components"] > 1:  # of a single number the summary has said it
        lines = [words.headline(component, estimate["level"]), *lines]
    return (
        f'<div class="card"><div>{text(name)}</div><div class="big">'
        f"{text(words.amount(name, value))}</div>"
        + (f'<div class="range">{ends[0]} to {ends[1]}</div>' if known else "")
        + bar
        + "".join(map(_sentence, lines))
        + "</div>"
    )


def _sentence(line: str) -> str:
    return f"<p>{text(line)}</p>" if line else ""


def _counts(report: Data) -> str:
    status = report["status"]
    by_class = ", ".join(f"{n:,} × {label}" for label, n in status["labels_of"].items())
    people = ", ".join(f"{who or 'nameless'} {n:,}" for who, n in status["annotators"].items())
    return definitions(
        [
            ("items in the pool", f"{status['size']:,}"),
            ("labels", f"{status['labels']:,} ({by_class})"),
            ("cannot be told", f"{status['skipped']:,}"),
            ("answered by", people or "nobody yet"),
            ("agreement", _agreement(report["agreement"])),
            *((f"threshold of {one['system']}", _in_use(one)) for one in report["in_use"]),
            ("from, to", " to ".join(t[:10] for t in _times(status) if t)),
        ]
    )


def _times(status: Data) -> tuple[str, str]:
    return status["started"], status["last_change"]


def _agreement(agreed: Data | None) -> str:
    if agreed is None:
        return "not known: nobody saw the same item as somebody else"
    kappa = f", Cohen's kappa {agreed['kappa']:.2f}" if math.isfinite(agreed["kappa"]) else ""
    return f"{agreed['share']:.0%} of {agreed['items']:,} items{kappa}"


def _in_use(one: Data) -> str:
    cut = "none" if one["threshold"] is None else f"{one['threshold']:.4g}"
    return f"{cut}; {one['n_predicted']:,} items predicted positive"


def definitions(rows: Sequence[tuple[str, Any]]) -> str:
    """Names and what they stand for."""
    return (
        "<dl>"
        + "".join(f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in rows)
        + "</dl>"
    )


def _also(also: Sequence[Data]) -> str:
    if not also:
        return ""
    rows = [
        (c["name"], "cannot be told", "", c["reason"])
        if "reason" in c
        else (
            c["name"],
            words.amount(c["name"], c["value"]),
            f"{words.amount(c['name'], c['low'])} to {words.amount(c['name'], c['high'])}",
            words.meaning(c),
        )
        for c in also
    ]
    heads = [("", "name"), ("estimate", "n"), ("interval", "n"), ("in words", "long")]
    return f"<h2>What else these labels say</h2>{table(heads, rows)}"


def _convergence(report: Data) -> str:
    points, estimate = report["convergence"], report["estimate"]
    if len(points) < 2 or estimate["n_components"] > 6:
        return ""
    pictures = []
    for index, component in enumerate(estimate["components"]):
        of_it = [(p["labels"], *_triple(p["components"][index])) for p in points]
        ends = [v for point in of_it for v in point[1:] if math.isfinite(v)]
        if not ends:
            continue
        y_range = (min(ends), max(ends))
        x_range = (0.0, float(of_it[-1][0]))
        name = component["name"]
        picture = charts.line_with_band(
            of_it, f"{name} by labels", "labels", name, x_range, y_range
        )
        pictures.append(f"<figure>{picture}</figure>")
    return (
        f"<h2>How the estimate settled</h2><p>After each batch of labels: the estimate as it "
        f"stood then, with its {estimate['level']:.0%} interval. It should come to rest, and the "
        f'band should narrow.</p><div class="cards">{"".join(pictures)}</div>'
    )


def _triple(component: Data) -> tuple[float, float, float]:
    return component["value"], component["low"], component["high"]


def _curve(curve: Data) -> str:
    title = f"<h2>Precision and recall: {text(curve['system'])}</h2>"
    points = curve["points"]
    if not points:
        return f"{title}<p>These labels do not support a curve: {text(curve['reason'])}.</p>"
    pr = [(p["recall"], p["precision"], p["precision_low"], p["precision_high"]) for p in points]
    cut = curve.get("operating")
    own = min(points, key=lambda p: abs(p["threshold"] - cut)) if cut is not None else None
    mark = None if own is None else (own["recall"], own["precision"], f"in use: {cut:.4g}")
    by_recall = charts.line_with_band(
        pr[::-1], "precision by recall", "recall", "precision", (0, 1), (0, 1), mark=mark
    )
    span = (points[0]["threshold"], points[-1]["threshold"])
    both = []
    for name, colour in (("precision", "a"), ("recall", "b")):
        of_it = [(p["threshold"], p[name], p[f"{name}_low"], p[f"{name}_high"]) for p in points]
        both.append(
            charts.line_with_band(
                of_it, f"{name} by threshold", "threshold", name, span, (0, 1), colour
            )
        )
    start = (
        f" It begins at a score of {curve['from']:.3g}, from which on everything is predicted "
        "positive; these labels cannot speak about lower thresholds (to reach them, make a study "
        "with --measure pr_curve)."
        if curve.get("from") is not None
        else ""
    )
    figures = "".join(f"<figure>{picture}</figure>" for picture in (by_recall, *both))
    return (
        f"{title}<p>What would happen at other thresholds, from the same labels. Bands are "
        f"{curve['level']:.0%} intervals, point by point.{start}</p>"
        f'<div class="cards">{figures}</div>'
    )


def _regions(report: Data) -> str:
    regions = report["regions"]
    size = sum(region["items"] for region in regions) or 1
    labelled = sum(region["labelled"] for region in regions) or 1
    names = [f"{region['from']:.2g} – {region['to']:.2g}" for region in regions]
    picture = charts.two_bars(
        names,
        [region["items"] / size for region in regions],
        [region["labelled"] / labelled for region in regions],
        "share of the pool and of the labels along the score",
        ("share of the items", "share of the labels"),
    )
    two = all("may_hide" in region for region in regions)
    heads = [("score from, to", "name"), ("items", "n"), ("labelled", "n")]
    heads += [("positive", "n"), ("may hide", "n")] if two else [("labels", "")]
    rows = [
        [name, f"{r['items']:,}", f"{r['labelled']:,}", *_last_columns(r)]
        for name, r in zip(names, regions, strict=True)
    ]
    words_ = (
        "The last column is the largest number of further positives that each region could hold "
        f"without contradicting its labels at {report['estimate']['level']:.0%} (exact, one region "
        "at a time, the labels of a region taken as a simple random sample of it; that is "
        "cautious as long as higher scores are likelier positive). Where nothing was labelled, "
        "everything may hide."
        if two
        else ""
    )
    return (
        "<h2>Where the labels went</h2><p>Labels go where they tell most about the measure, which "
        "is seldom where most items are. Scores are those of "
        f"{text(report['systems'][0])}.</p>"
        f'<div class="cards"><figure>{picture}</figure>{table(heads, rows)}</div>'
        f'<p class="soft">{words_}</p>'
    )


def _last_columns(region: Data) -> list[str]:
    if "may_hide" in region:
        return [f"{region['positives']:,}", f"{region['may_hide']:,}"]
    return [", ".join(f"{n:,} × {label}" for label, n in region["by_class"].items() if n)]


def _confusion(matrix: Data, report: Data) -> str:
    title = f"<h2>Confusion matrix: {text(matrix['system'])}</h2>"
    if not matrix["cells"]:
        return f"{title}<p>These labels do not support it: {text(matrix['reason'])}.</p>"
    classes = matrix["classes"]
    cells = {(c["predicted"], c["actual"]): c for c in matrix["cells"]}
    heads = [("predicted", ""), *((f"really {label}", "n") for label in classes)]
    rows = [[says, *(_cell(cells[says, actual]) for actual in classes)] for says in classes]
    return (
        f"{title}<p>Estimated numbers of items among all {report['status']['size']:,}, with "
        f"{report['estimate']['level']:.0%} intervals.</p>{table(heads, rows)}"
    )


def _cell(cell: Data) -> str:
    return f"{number(cell['count'])} ({number(cell['low'])} to {number(cell['high'])})"


def _mistakes(report: Data) -> str:
    mistakes = report["mistakes"]
    if not mistakes:
        return ""
    records = [_paired(m["record"]) for m in mistakes]
    names = list(dict.fromkeys(name for record in records for name in record))
    heads = [("item", ""), ("predicted", ""), ("really", ""), ("score", "n"), ("stands for", "n")]
    heads += [(name, "long") for name in names]
    rows = [
        [m["item"], m["predicted"], m["actual"], f"{m['score']:.3g}", number(m["stands_for"])]
        + [record.get(name) for name in names]
        for m, record in zip(mistakes, records, strict=True)
    ]
    return (
        f"<h2>Mistakes of {text(report['systems'][0])}</h2><p>Labelled items that it got wrong, of "
        "each kind those first that stand for most items of the pool.</p>" + table(heads, rows)
    )


def _paired(record: Data) -> dict[str, Any]:
    """A record with the two sides of a pair in one column."""
    pairs = paired_names(list(record))
    both = {
        name: " / ".join(shown_text(record[f"{name}_{side}"]) or "–" for side in "lr")
        for name in pairs
    }
    sides = {f"{name}_{side}" for name in pairs for side in "lr"}
    return both | {name: value for name, value in record.items() if name not in sides}


def _weights(report: Data) -> str:
    weights = report["weights"]
    if weights is None:
        return ""
    bars = [(bar["from"], bar["to"], bar["draws"]) for bar in weights["histogram"]]
    picture = charts.columns(bars, "draws by weight", "weight", "draws")
    rows = [
        ("draws", f"{weights['draws']:,} from {weights['labels']:,} labels"),
        ("effective draws", number(weights["effective_sample_size"])),
        ("largest weight", number(weights["largest_weight"])),
        ("heaviest item", f"{weights['largest_share']:.1%} of all weight"),
    ]
    return (
        "<h2>How the draws weigh</h2><p>A draw counts for as many items as its weight says, times "
        "the size of the pool over the number of draws. Small weights are draws that were sought "
        "out, large ones stand for the many items that nobody looked at. If one item holds a "
        f"large part of all weight, the interval rests on it.</p>"
        f'<div class="cards"><figure>{picture}</figure><div>{definitions(rows)}</div></div>'
    )


def _settings(report: Data) -> str:
    settings, status = report["settings"], report["status"]
    rows = [
        ("measure", spelt(settings["measure"])),
        ("design", spelt(settings["design"].get("name", settings["design"]))),
        ("its options", spelt(settings["design"].get("options", {}))),
        ("oracle", settings["oracle"]),
        ("seed of the draws", settings["seed"]),
        ("seed of the pool", settings["pool"]["seed"]),
        ("fingerprint of the pool", settings["pool"]["fingerprint"]),
        ("digest of the sketch", settings["sketch"]),
        ("made with", spelt(settings["made_with"])),
        ("reported with", spelt(settings["reported_with"])),
        ("stages", f"{status['stages']:,}, {status['finished_stages']:,} finished"),
        ("journal", f"{status['entries']:,} entries"),
        ("newest hash", status["head"]),
    ]
    return (
        f"<h2>Settings, to get the same numbers again</h2>{_verify(settings['verify'])}"
        + definitions([(name, value) for name, value in rows if value not in (None, "")])
    )


def _verify(command: str | None) -> str:
    if command is None:
        return "<p>An evaluation in memory: the same seeds and answers give the same numbers.</p>"
    return (
        "<p>Every draw and answer is in the journal of the study. "
        f"<code>{text(command)}</code> draws every stage again and compares; the newest hash "
        "covers all that happened, so whoever has it can tell whether the study was changed "
        "since.</p>"
    )


def spelt(value: Any) -> str:
    """A setting in one line."""
    if isinstance(value, Mapping):
        given = {name: part for name, part in value.items() if part not in ({}, None)}
        return ", ".join(f"{name} {spelt(part)}" for name, part in given.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(spelt, value))
    return str(value)
