"""haystat new: a study from a scored pool."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from haystat import designs, formats, measures
from haystat.cli.judged import (
    FAILS,
    JUDGE,
    left_out,
    read_guidelines,
    refuse_columns,
)
from haystat.cli.show import JSON, busy, console, print_json, show_in_use
from haystat.core.arrow_files import text_columns
from haystat.core.wording import label_count
from haystat.decisions.doubts import PoolWarning
from haystat.engines.open import SKETCH
from haystat.errors import BadOption
from haystat.loop.loop import seed_from
from haystat.loop.refits import fitted_later
from haystat.measures.base import Measure
from haystat.pool.base import AnyPool
from haystat.pool.known import read_known
from haystat.study import PoolFile, Study
from haystat.web.options import ONE_OF_SEVERAL, PageOptions, as_note

UNBLOCKED = typer.Option(
    [],
    help="Table whose pairs were blocked, twice for a left and a right one: the pairs that are "
    "not in the pool count too.",
)
KEY = typer.Option(
    None, help="Column with the id in these tables; by default that of --id without _l and _r."
)
NEAR = typer.Option(
    [],
    help="Columns of these tables: pairs outside the blocks that share a rare word or value of "
    "them are looked into first. With commas or again.",
)
NEAR_PAIRS = typer.Option(
    None,
    help="File of pairs outside the blocks to look into first: both ids as in the pool, and "
    "nearness.",
)
#: columns of text that may hold the answer, or what a system thinks of it
GIVES_AWAY = re.compile(r"label|truth|gold|target|class|score|prob|pred|weight|answer|match", re.I)
MOST_SHOWN = 12
KNOWN = typer.Option(
    [],
    help="File of labels that people already have: item, label and, of a random sample, inclusion.",
)
KNOWN_AS = typer.Option(
    None,
    help="How they came: census (of a whole region), sample (with known probabilities), found.",
)
INCLUSION = typer.Option(None, help="Inclusion probability of every item of the known sample.")
MULTI_LABEL = typer.Option(
    False, "--multi-label", help="An item may have several labels: each --score is one of them."
)
LARGE = 1 << 30  # bytes of a file from which it is not read into memory


def new(
    study: Path = typer.Argument(help="File to make, such as cats.haystat."),
    pool: Path = typer.Argument(
        help="Scored items: Parquet, CSV, Feather or JSON lines; a pattern, DuckDB file or sketch; "
        "with --from what a tool wrote."
    ),
    score: list[str] = typer.Option([], help="Column with a score; again for further systems."),
    id: str | None = typer.Option(
        None, help="Column with the id; by default the row number. Two with a comma for pairs."
    ),
    prediction: list[str] = typer.Option([], help="Column with predictions; one a --score."),
    show: list[str] = typer.Option([], help="Columns the labeller sees, with commas or again."),
    after: list[str] = typer.Option(
        [], help="Columns the labeller sees after the answer, such as a judge's reasons."
    ),
    weight: str | None = typer.Option(
        None, help="Column with what an item counts: views, money. All measures are weighted."
    ),
    multi_label: bool = MULTI_LABEL,
    column: list[str] = typer.Option([], help="Columns with sub-populations."),
    signal: list[str] = typer.Option(
        [], help="Columns with other information: an old score, a verdict, a category."
    ),
    signal_text: list[str] = typer.Option(
        [], help="Columns of text to which a signal is fitted, from haystat next on."
    ),
    signal_features: list[str] = typer.Option(
        [], help="Columns of numbers to which a signal is fitted, from haystat next on."
    ),
    measure: str = typer.Option(
        "f1",
        help="What to estimate; several with commas, options after a colon: fbeta:beta=2. "
        "threshold:precision=0.95 draws labels for the cut that haystat threshold certifies.",
    ),
    compare: bool = typer.Option(
        False, "--compare", help="Choose items that tell the systems apart."
    ),
    design: str | None = typer.Option(
        None, help="How items are chosen; by default assisted; adaptive for numbers."
    ),
    option: list[str] = typer.Option([], help="Option of the design, such as delta=0.1."),
    seed: int | None = typer.Option(None, help="Seed of the draws and of the order of items."),
    threshold: float | None = typer.Option(None, help="Score from which a prediction is positive."),
    classes: str = typer.Option("0,1", help="Label values, the negative first, with commas."),
    numbers: bool = typer.Option(False, "--numbers", help="Labels are numbers, not classes."),
    oracle: str = typer.Option(
        "deterministic", help="stochastic: answers to the same question may differ, ask every draw."
    ),
    annotators: str | None = typer.Option(None, help="Who may answer, names with commas."),
    answers_per_item: int = typer.Option(1, help="Answers, of different people, that settle one."),
    disagreement: str = typer.Option(
        "majority", help="What counts when they differ: majority, adjudicator, median."
    ),
    strata: int = typer.Option(256, help="Strata to cut the scores into."),
    candidates: int = typer.Option(100_000, help="Items to keep in the file."),
    engine: str | None = typer.Option(
        None, help="Reads what does not fit into memory: duckdb, spark, spark://host:7077."
    ),
    table: str | None = typer.Option(None, help="Table of a DuckDB file."),
    unblocked: list[str] = UNBLOCKED,
    key: str | None = KEY,
    near: list[str] = NEAR,
    near_pairs: str | None = NEAR_PAIRS,
    tool: str | None = typer.Option(None, "--from", help="The tool that wrote the pool or log."),
    judge: list[str] = JUDGE,
    fails: str | None = FAILS,
    guidelines: Path | None = typer.Option(
        None, help="Markdown that the page shows beside every question."
    ),
    known: list[Path] = KNOWN,
    known_as: str | None = KNOWN_AS,
    inclusion: float | None = INCLUSION,
    question: str = typer.Option("", help="What people are asked, above every item."),
    names: str = typer.Option("", help="The labels as people see them, with commas."),
    keys: str = typer.Option("", help="A key for each label, with commas, such as d,k."),
    image: list[str] = typer.Option([], help="Columns with paths of pictures, beside the pool."),
    as_json: bool = JSON,
) -> None:
    """Make a study: one file that holds the evaluation of a pool from the first question on.

    Example: haystat new cats.haystat pool.parquet --id id --score score --show name,text
    """
    systems = judge if tool is not None else score
    wanted = _measure(split(measure), compare, systems, multi_label)
    question = question or (ONE_OF_SEVERAL if multi_label else "")
    page = _page(question, split(names), split(keys), split(",".join(image)), guidelines)
    options = dict(_option(text) for text in option)
    if design is not None:
        designs.resolve(design, **options)
    number = seed_from(seed)
    reader = engine or own_engine(pool, not multi_label) or ("duckdb" if unblocked else None)
    columns_named = [*score, *prediction, *split(id or ""), *split(",".join([*after, *signal]))]
    classes_of = None if numbers else values(classes)
    given: dict[str, Any] = {"strata": strata, "threshold": threshold, "classes": classes_of}
    given["seed"] = number
    hidden = tuple(split(",".join(after)))
    columns: dict[str, Any] | None = None
    groups = tuple(split(",".join(column)))
    source: Any
    if tool is not None:
        named = {"score": score, "id": id, "prediction": prediction, "weight": weight}
        refuse_columns(**named, show=show, after=after, signal=signal)
        refuse_columns(signal_text=signal_text, signal_features=signal_features)
        refuse_columns(multi_label=multi_label)
        log = formats.read_log(pool, tool, judge, fails)
        source = log.pool(groups, **given)
        columns, hidden = {**log.show, **log.after}, tuple(log.after)
        candidates = max(candidates, source.size)  # the log is not read again
    else:
        source = PoolFile(
            str(pool),
            tuple(score),
            id if reader is None else id_columns(id),
            tuple(prediction),
            groups,
            (*_shown(pool, [*show, *image], reader, columns_named), *hidden),
            given,
            reader,
            table,
            tuple(unblocked),
            key_column(key, id),
            weight,
            tuple(split(",".join(signal))),
            tuple(split(",".join(signal_text))),
            tuple(split(",".join(signal_features))),
            tuple(split(",".join(near))),
            near_pairs,
            multi_label=multi_label,
        )
    labels = [part for path in known for part in read_known(path, known_as, inclusion)]
    with busy(f"reading {pool}"), warnings.catch_warnings():
        warnings.simplefilter("ignore", PoolWarning)  # said below
        made = Study.create(
            study,
            source,
            wanted,
            design,
            oracle=oracle,
            random_state=number,
            show=columns,
            after=hidden,
            candidates=candidates,
            annotators=None if annotators is None else split(annotators),
            answers_per_item=answers_per_item,
            disagreement=disagreement,
            known=labels,
            notes=[] if page == PageOptions() else [as_note(page)],
            **options,
        )
    with made:
        status, in_use, notes = made.status(), made.in_use, made.doubts
    if (signal_text or signal_features) and not known:
        notes.append(fitted_later([*signal_text, *signal_features]))
    if tool is not None and log.n_left_out:
        notes.append(left_out(log))
    plain = tool is None and not unblocked
    if plain and not source.show:
        notes.append(
            "The labeller will see nothing but the id of an item. Make the study again with "
            "--show and the columns that tell what it is."
        )
    elif plain and not show:
        notes.append(
            f"The labeller will see {', '.join(n for n in source.show if n not in hidden)}. If "
            "that is too much or too little, make the study again with --show."
        )
    size = study.stat().st_size
    if as_json:
        about = {"in_use": [asdict(one) for one in in_use], "notes": notes}
        print_json({"study": str(study), "bytes": size, **asdict(status), **about})
        return
    out = console()
    out.print(f"{study}: {status.measure} of {status.size:,} items, design {status.design}")
    show_in_use(out, in_use)
    for part in labels:
        out.print(f"{label_count(len(part.labels))} known before ({part.kind})")
    for note in notes:
        out.print(f"note: {note}", markup=False)
    out.print(f"{size / 1e6:.1f} MB. Next: haystat label {study}, or haystat ask {study}")


def _measure(names: list[str], compare: bool, systems: list[str], multi_label: bool) -> Any:
    """A slip in a name should not wait for a large file to load."""
    wanted = names[0] if len(names) == 1 else names
    one = measures.resolve(wanted)
    if compare and multi_label:
        raise BadOption("--compare is for several systems, and here each --score is a label")
    if multi_label:
        return measures.PerLabel(one, systems)
    if not compare:
        return measures.ForSystems(one, systems) if len(systems) > 1 else wanted
    if len(names) > 1:
        raise BadOption(f"--compare takes one measure, not {len(names)}: {', '.join(names)}")
    return measures.Differences(one)


def _page(
    question: str, names: list[str], keys: list[str], images: list[str], guidelines: Path | None
) -> PageOptions:
    """How people are asked."""
    text = "" if guidelines is None else read_guidelines(guidelines)
    return PageOptions(question, tuple(names), tuple(images), guidelines=text, keys=tuple(keys))


def _shown(
    pool: Path, show: list[str], reader: str | None, named: Sequence[str]
) -> tuple[str, ...]:
    """What the labeller sees, as asked for or by default."""
    return tuple(split(",".join(show))) or default_show(pool, reader, named)


def default_show(pool: Path, reader: str | None, named: Sequence[str]) -> tuple[str, ...]:
    """What the labeller sees if nobody says: columns of text that give no answer away."""
    if reader is not None or not pool.is_file():
        return ()
    told = {*named}
    return tuple(
        name for name in text_columns(pool) if name not in told and not GIVES_AWAY.search(name)
    )[:MOST_SHOWN]


def own_engine(pool: Path, has_id: bool = True) -> str | None:
    """DuckDB for what only it reads, and for files with ids that would fill the memory."""
    several = any(sign in pool.name for sign in "*?[") or pool.is_dir()
    if several or pool.suffix in (".duckdb", ".ddb", ".db", SKETCH):
        return "duckdb"
    large = pool.suffix in (".parquet", ".pq", ".csv") and pool.is_file()
    return "duckdb" if has_id and large and pool.stat().st_size > LARGE else None


def id_columns(text: str | None) -> str | tuple[str, str] | None:
    """The column of the id, or the two of a pair, as hs.open_pool takes them."""
    names = split(text or "")
    return (names[0], names[1]) if len(names) == 2 else text


def key_column(key: str | None, id: str | None) -> str:
    """What tables call the id of a record: as given, or as the two ids of a pair have it.

    >>> key_column(None, "unique_id_l,unique_id_r"), key_column(None, "left,right")
    ('unique_id', 'id')
    """
    names = split(id or "")
    stems = {name.removesuffix(end) for name, end in zip(names, ("_l", "_r"), strict=False)}
    return key or (stems.pop() if len(names) == 2 and len(stems) == 1 else "id")


def of_all_systems(measure: Measure, pool: AnyPool) -> Measure:
    """The measure of every system of a pool."""
    systems = pool.schema.systems
    return measures.ForSystems(measure, systems) if len(systems) > 1 else measure


def values(text: str) -> list[Any]:
    """Label values: numbers where all of them are, else texts."""
    parts = split(text)
    try:
        return [int(part) for part in parts]
    except ValueError:
        return list(parts)


def split(text: str) -> list[str]:
    """Names with commas between them."""
    return [part.strip() for part in text.split(",") if part.strip()]


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError:
        if not equals or not value:
            raise BadOption(f"--option is {text!r}; give name=value, such as delta=0.1") from None
        return name.strip(), value
