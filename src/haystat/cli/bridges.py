"""haystat export, import, pool: to other tools and back."""

from __future__ import annotations

import os
import shlex
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import Any

import typer

from haystat import formats
from haystat.cli import answers, judged, poll
from haystat.cli.judged import FAILS, JUDGE
from haystat.cli.poll import Taking, counts
from haystat.cli.show import JSON, STUDY, WHO, console, estimate_line, print_json, say
from haystat.core.disk import write_whole
from haystat.errors import BadOption
from haystat.formats import (
    FORMATS,
    Format,
    Judged,
    PoolTable,
    Target,
    make_tasks,
    read_replies,
)
from haystat.study import Question, Study

Tool = Enum("Tool", {name: name for name in FORMATS}, type=str)  # type: ignore[misc]
PoolTool = Enum(  # type: ignore[misc]
    "PoolTool",
    {name: name for name, form in FORMATS.items() if form.pool or form.traces},
    type=str,
)
Disagreement = Enum(  # type: ignore[misc]
    "Disagreement", {name: name for name in formats.DISAGREEMENT}, type=str
)


def export(
    study: Path = STUDY,
    to: Tool | None = typer.Option(None, "--to", help="The tool; by default a plain table."),
    out: Path | None = typer.Option(None, "--out", "-o", help="File to write."),
    config: Path | None = typer.Option(None, help="Also write the tool's labelling interface."),
    number: int | None = typer.Option(
        None, "--number", "-n", help="Ask for so many questions; by default all that are open."
    ),
    annotator: str | None = WHO,
    lease: str = typer.Option("7d", help="How long nobody else gets them: 90s, 30m, 1h, 2d."),
    names: str | None = typer.Option(None, help="The classes as people see them, with commas."),
    prompt: str = typer.Option("", help="The question that people answer."),
    url: str | None = typer.Option(None, help="Send to a server: http://localhost:5000."),
    run: str | None = typer.Option(None, help="Run of MLflow; by default a new one."),
    experiment: str = typer.Option("Default", help="Experiment of MLflow for a new run."),
    name: str = typer.Option("human_review", help="What the labels are called there."),
    token: str = typer.Option("", help="Secret of the server; by default from the environment."),
    as_json: bool = JSON,
) -> None:
    """Write questions for a labelling tool, or the answers for everything else.

    Tasks for label-studio, argilla and prodigy hold what people need to see and no scores. For
    splink and trec, and without --to (CSV, JSON lines, Parquet, Feather), answers are written.
    mlflow and phoenix get value, interval and number of labels as a JSON file, or with --url the
    labels with who and when, MLflow the numbers too.

    Example: haystat export cats.haystat --to label-studio -n 100 -o tasks.json --config ui.xml
    """
    if to is None:
        answers.export(study, out, as_json)
        return
    form = formats.resolve(to.value)
    if url is not None:
        secret = token or os.environ.get(form.token, "")
        send(study, form, Target(form.tool, url, secret, run, experiment, name), as_json)
        return
    if out is None:
        raise BadOption(f"say which file to write for {form.tool}: --out FILE")
    if config is not None and form.config is None:
        raise BadOption(f"{form.tool} needs no --config")
    with Study.open(study) as opened:
        if form.tasks is not None:
            who = annotator or form.name
            questions = opened.pending if number is None else opened.ask(number, who, lease)
            done = _write_tasks(opened, form, questions, out, config, names, prompt)
        else:
            write = form.answers or form.summary
            if write is None:
                raise BadOption(f"there is nothing to write for {form.tool}")
            done = {"file": str(out), "answers": write(opened, out)}
    count = f"{done['tasks']} tasks" if "tasks" in done else f"{done['answers']} answers"
    count = count if form.tasks or form.answers else f"the estimate from {count}"
    say(as_json, done, f"{count} written to {out}")


def send(study: Path, form: Format, target: Target, as_json: bool) -> None:
    """Give estimate and labels of a study to a server, and say what became of them."""
    if form.send is None:
        raise BadOption(f"{form.tool} is not sent to; write a file with --out")
    with Study.open(study) as opened:
        done = form.send(opened, target)
    counts = [f"{n} labels {what.replace('_', ' ')}" for what, n in done.items() if type(n) is int]
    counts += [f"run {done['run']}"] if "run" in done else []
    say(as_json, done, f"{target.address}: {', '.join(counts) or 'nothing to send'}")


def import_answers(
    study: Path = STUDY,
    given: list[Path] | None = typer.Argument(
        None, metavar="[FILES]...", help="Files with answers; none with --url."
    ),
    source: Tool | None = typer.Option(None, "--from", help="The tool; by default plain tables."),
    url: str | None = typer.Option(None, help="Ask the tool itself: http://localhost:8080."),
    project: int | None = typer.Option(None, help="Number of the project there."),
    token: str = typer.Option(
        "", envvar="HAYSTAT_LABEL_STUDIO_TOKEN", help="Token of somebody who may see the project."
    ),
    watch: bool = typer.Option(
        False, "--watch", help="Go on asking every 30 seconds, or --watch SECONDS, until Ctrl-C."
    ),
    timeout: float = typer.Option(60.0, help="Seconds that the tool may take to answer."),
    annotator: str | None = WHO,
    disagreement: Disagreement = typer.Option(
        "refuse", help="What to do with an item about which annotators disagree."
    ),
    correct: bool = typer.Option(False, help="Take answers that differ as corrections."),
    as_json: bool = JSON,
) -> None:
    """Take answers from a tool's export, or from CSV, JSON lines, Parquet or Feather.

    Plain tables have the columns item, label and, if there are, annotator and skipped. Only items
    that were asked about can be taken, because the label of another could not be weighted.
    With --url answers come from a running Label Studio, which needs no webhook for it.

    Example: haystat import cats.haystat export.json --from label-studio
    """
    paths = given or []
    options = Taking(annotator, disagreement.value, correct)
    if url is not None:
        form = formats.resolve("label-studio" if source is None else source.value)
        every = poll.interval(paths, watch)
        server = poll.checked_server(url, project, token, timeout)
        poll.run(study, form, server, options, every, as_json)
        return
    if watch or project is not None:
        raise BadOption("--watch and --project need the address of the tool: --url")
    if not paths:
        raise BadOption("name the files with answers, or the tool's address: --url")
    if source is None:
        answers.import_answers(study, paths, annotator, correct, as_json)
    else:
        _import_exports(study, formats.resolve(source.value), paths, options, as_json)


def _import_exports(
    study: Path, form: Format, paths: list[Path], options: Taking, as_json: bool
) -> None:
    with Study.open(study) as opened:
        classes = opened.pool.classes
        replies = [reply for path in paths for reply in read_replies(form, path, classes)]
        names = ", ".join(path.name for path in paths)
        taken = options.take(opened, replies, f"{form.tool}: {names}")
        n_labels, estimate = opened.n_labels, opened.estimate()
    if as_json:
        print_json({**asdict(taken), "total": n_labels})
        return
    out = console()
    out.print(counts(taken) or "nothing taken")
    out.print(estimate_line(estimate), markup=False)


def pool(
    source: Path = typer.Argument(help="What the tool wrote: predictions, a run, or a log."),
    tool: PoolTool = typer.Option(..., "--from", help="The tool."),
    out: Path = typer.Option(..., "--out", "-o", help="A .parquet, .csv, .feather or .jsonl file."),
    judge: list[str] = JUDGE,
    fails: str | None = FAILS,
    as_json: bool = JSON,
) -> None:
    """Turn what another tool scored into a pool that haystat new reads.

    Example: haystat pool run.eval --from inspect --judge model_graded_qa -o pool.parquet
    """
    form = formats.resolve(tool.value)
    about: dict[str, Any] = {"file": str(out), "id": "item"}
    found: Judged | PoolTable
    if form.traces is not None:
        found = log = formats.read_log(source, form.name, judge, fails)
        scores = [score for score, _ in log.names.values()]
        about |= {"score": scores if len(scores) > 1 else scores[0], "judges": list(log.scores)}
        about |= {"after": list(log.after), "left_out": log.n_left_out}
    else:
        if judge or fails is not None:
            raise BadOption(f"{form.tool} has no judges; leave out --judge and --fails")
        found = table = judged.read_table(source, form)
        about["score"] = table.score_name
    found.write(out)
    if as_json:
        print_json({**about, "items": len(found.ids), "show": list(found.show)})
        return
    if about.get("left_out"):
        console().print(f"note: {judged.left_out(log)}", markup=False)
    console().print(f"{len(found.ids):,} items written to {out}. Next:", markup=False)
    typer.echo(shlex.join(judged.new_command(out, found)))


def _write_tasks(
    study: Study,
    form: Format,
    questions: list[Question],
    out: Path,
    config: Path | None,
    names: str | None,
    prompt: str,
) -> dict[str, Any]:
    given = None if names is None else [name.strip() for name in names.split(",")]
    tasks = make_tasks(study, questions, given, prompt)
    done: dict[str, Any] = {"file": str(out), "tasks": len(questions)}
    assert form.tasks is not None
    write_whole(out, form.tasks(tasks))
    if config is not None and form.config is not None:
        write_whole(config, form.config(tasks))
        done["config"] = str(config)
    return done
