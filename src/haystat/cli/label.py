"""haystat label: answer in the terminal, one key a label."""

from __future__ import annotations

import getpass
import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from haystat.cli.record import show_record
from haystat.cli.show import JSON, STUDY, console, estimate_line, print_json
from haystat.errors import AnswerError
from haystat.study import Question, Study
from haystat.study.answer_files import label_named

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

    Keys are read as they are pressed; from a pipe, one a line. Numbers and probabilities are typed
    with Enter.

    Example: haystat label cats.haystat --annotator ann
    """
    out = console(as_json)
    who = annotator or getpass.getuser()
    with Study.open(study) as opened:
        session = Session(opened, who, batch, lease, out, _keys(typed(opened)))
        try:
            n_answers = session.run(number)
        finally:
            opened.release(who)
        estimate = opened.estimate()
    if as_json:
        print_json({"answers": n_answers, "estimate": estimate.to_dict()})
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
        self.typed = typed(study)
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
            self._answer(question, None if key == SKIP else self._label(key))
            place += 1
        return len(self.answer_of)

    def _fetch(self, number: int | None) -> bool:
        left = self.batch if number is None else min(self.batch, number - len(self.answer_of))
        held = {question.key for question in self.shown}
        questions = self.study.ask(min(left, self.study.pool.size), self.who, self.lease)
        fresh = [question for question in questions if question.key not in held]
        # The order of the draws tells something about the score; this one does not.
        self.shown += sorted(fresh, key=lambda q: hashlib.sha256(q.key.encode()).digest())
        return bool(fresh)

    def _answer(self, question: Question, chosen: Any) -> None:
        known = self.answer_of.get(question.key)
        if question.key in self.answer_of and (known is not None or chosen is None):
            self.study.correct(question, chosen, "undo", self.who)
        elif chosen is None:
            self.study.skip(question, "cannot tell", self.who)
        else:
            self.study.tell({question: chosen}, self.who)
        self.answer_of[question.key] = chosen
        self.out.print(f"  {chosen if chosen is not None else 'skipped'}", markup=False)
        show_record(self.out, self.study.revealed(question.item))

    def _label(self, key: str) -> Any:
        """The label that a key or a line means; AnswerError if it means none."""
        if not self.typed:
            return self.label_of_key[key]
        with self.study.reading() as state:
            text = self.label_of_key.get(key, key)
            return state.questions.read("", label_named(state, text))

    def _means(self, key: str) -> bool:
        try:
            self._label(key)
        except (AnswerError, KeyError):
            return False
        return True

    def _wanted_key(self, place: int) -> str:
        while True:
            key = self.read_key()
            if key == UNDO and place == 0:
                self.out.print("  nothing to undo")
            elif key in (UNDO, SKIP, QUIT) or self._means(key):
                return key
            else:
                self.out.print(f"  no key {key!r}")
                self._show_keys()

    def _show_keys(self) -> None:
        labels = [f"{key} = {value}" for key, value in self.label_of_key.items()]
        labels += ["a number" if not labels else "probabilities"] if self.typed else []
        rest = [f"{UNDO} = undo", f"{SKIP} = skip", f"{QUIT} = quit"]
        self.out.print("keys: " + ", ".join(labels + rest), markup=False)

    def _show(self, question: Question, place: int) -> None:
        self.out.rule()
        estimate = self.study.estimate()
        self.out.print(
            f"{place + 1}. item {question.item}   ({estimate_line(estimate)})", markup=False
        )
        show_record(self.out, question.record)
        if question.key in self.answer_of:
            known = self.answer_of[question.key]
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


def typed(study: Study) -> bool:
    """Whether answers are typed as lines: numbers, or probabilities of classes."""
    return not study.pool.classes or study.settings["oracle"] == "stochastic"


def _keys(whole: bool) -> Callable[[], str]:
    """Keys as they are pressed; from a pipe, the first letter of each line, then quit.

    whole: lines as they are typed.
    """
    if sys.stdin.isatty() and not whole:
        return lambda: typer.getchar().lower()
    lines = (line.strip().lower() for line in sys.stdin if line.strip())
    return lambda: next(lines, QUIT)[: None if whole else 1]
