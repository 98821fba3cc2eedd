"""haystat label: answer in the terminal, one key a label."""

from __future__ import annotations

import getpass
import hashlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from haystat.cli.ask import STUDY
from haystat.cli.record import show_record
from haystat.cli.show import JSON, console, estimate_dict, estimate_line, print_json
from haystat.study import Question, Study

UNDO, SKIP, QUIT = "u", "s", "q"


def label(
    study: Path = STUDY,
    annotator: str | None = typer.Option(None, "--annotator", "-a", help="Who answers."),
    batch: int = typer.Option(10, help="Questions of a stage; the design learns between stages."),
    number: int | None = typer.Option(None, "--number", "-n", help="Stop after so many answers."),
    lease: str = typer.Option("1h", help="How long nobody else gets the questions."),
    as_json: bool = JSON,
) -> None:
    """Answer questions in the terminal: one key a label, u undo, s skip, q quit.

    Keys are read as they are pressed; from a pipe, one a line.

    Example: haystat label cats.haystat --annotator ann
    """
    out = console(as_json)
    who = annotator or getpass.getuser()
    with Study.open(study) as opened:
        session = Session(opened, who, batch, lease, out, _keys())
        try:
            n_answers = session.run(number)
        finally:
            opened.release(who)
        estimate = opened.estimate()
    if as_json:
        print_json({"answers": n_answers, "estimate": estimate_dict(estimate)})
    else:
        out.print(f"{n_answers} answers. {estimate_line(estimate)}", markup=False)


class Session:
    """One person at the keyboard."""

    def __init__(
        self,
        study: Study,
        who: str,
        batch: int,
        lease: str,
        out: Console,
        keys: Callable[[], str],
    ) -> None:
        self.study, self.who, self.batch, self.lease = study, who, batch, lease
        self.out, self.read_key = out, keys
        self.label_of_key = label_keys(study.pool.classes)
        self.shown: list[Question] = []
        self.answer_of: dict[Any, Any] = {}

    def run(self, number: int | None) -> int:
        """Ask until somebody quits, or `number` items have an answer; how many have."""
        place = 0
        self._show_keys()
        while number is None or len(self.answer_of) < number or place < len(self.shown):
            if place == len(self.shown) and not self._fetch(number):
                self.out.print("nothing left to ask: every item that matters has its label")
                break
            question = self.shown[place]
            self._show(question, place)
            key = self._wanted_key(place)
            if key == QUIT:
                break
            if key == UNDO:
                place -= 1
                continue
            self._answer(question.item, None if key == SKIP else self.label_of_key[key])
            place += 1
        return len(self.answer_of)

    def _fetch(self, number: int | None) -> bool:
        left = self.batch if number is None else min(self.batch, number - len(self.answer_of))
        held = {question.item for question in self.shown}
        questions = self.study.ask(min(left, self.study.pool.size), self.who, self.lease)
        fresh = [question for question in questions if question.item not in held]
        # The order of the draws tells something about the score; this one does not.
        self.shown += sorted(fresh, key=lambda q: hashlib.sha256(q.key.encode()).digest())
        return bool(fresh)

    def _answer(self, item: Any, chosen: Any) -> None:
        if item in self.answer_of:
            if self.answer_of[item] is None and chosen is not None:
                self.study.tell({item: chosen}, self.who)
            else:
                self.study.correct(item, chosen, "undo", self.who)
        elif chosen is None:
            self.study.skip(item, "cannot tell", self.who)
        else:
            self.study.tell({item: chosen}, self.who)
        self.answer_of[item] = chosen
        self.out.print(f"  {chosen if chosen is not None else 'skipped'}", markup=False)

    def _wanted_key(self, place: int) -> str:
        while True:
            key = self.read_key()
            if key == UNDO and place == 0:
                self.out.print("  nothing to undo")
            elif key in (UNDO, SKIP, QUIT) or key in self.label_of_key:
                return key
            else:
                self.out.print(f"  no key {key!r}")
                self._show_keys()

    def _show_keys(self) -> None:
        labels = [f"{key} = {value}" for key, value in self.label_of_key.items()]
        rest = [f"{UNDO} = undo", f"{SKIP} = skip", f"{QUIT} = quit"]
        self.out.print("keys: " + ", ".join(labels + rest), markup=False)

    def _show(self, question: Question, place: int) -> None:
        self.out.rule()
        estimate = self.study.estimate()
        self.out.print(
            f"{place + 1}. item {question.item}   ({estimate_line(estimate)})", markup=False
        )
        show_record(self.out, question.record)
        if question.item in self.answer_of:
            known = self.answer_of[question.item]
            self.out.print(f"  was {'skipped' if known is None else known}", markup=False)


def label_keys(classes: tuple[Any, ...]) -> dict[str, Any]:
    """A key for each label: its first letter or digit where these differ, else numbers."""
    first = [str(value)[:1].lower() for value in classes]
    reserved = {UNDO, SKIP, QUIT, ""}
    if len(set(first)) == len(first) and not reserved & set(first):
        return dict(zip(first, classes, strict=True))
    # Beyond nine labels the letters of the alphabet follow.
    keys = [k for k in "123456789abcdefghijklmnoprtvwxyz" if k not in reserved]
    return dict(zip(keys, classes, strict=False))


def _keys() -> Callable[[], str]:
    """Keys as they are pressed; from a pipe, the first letter of each line, then quit."""
    if sys.stdin.isatty():
        return lambda: typer.getchar().lower()
    lines = _lines()
    return lambda: next(lines, QUIT)


def _lines() -> Iterator[str]:
    for line in sys.stdin:
        if line.strip():
            yield line.strip()[0].lower()
