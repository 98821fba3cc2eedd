"""Traces with what judges say of them, and the pool that one judge makes of them.

The judge is the system, a trace is an item, a failure is a positive: the pool's score rises with
how surely the judge sees a failure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from haystat.core.arguments import brief, checked_text
from haystat.core.spelling import spelt
from haystat.core.table_writers import write_rows
from haystat.errors import BadOption, FileError, UnknownName
from haystat.formats.conversation import Message, conversation
from haystat.pool.memory import Pool

#: what a judge's word is worth, from 0 for a failure to 1
WORDS = {
    **dict.fromkeys("c correct yes y pass passed true good safe 1".split(), 1.0),
    **dict.fromkeys("p partial unsure unknown maybe".split(), 0.5),
    **dict.fromkeys("i n incorrect no fail failed false bad unsafe 0".split(), 0.0),
}
RULE = re.compile(r"\s*(<=|>=|<|>)\s*(\S+)\s*")
COMPARED: dict[str, Callable[[Any, float], Any]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
CONVERSATION, REASON = "conversation", "judge_reason"
SCORE, PREDICTION = "failure_score", "failure_predicted"


@dataclass(frozen=True)
class Verdict:
    """What a judge says of a trace: a number, a word, or both; passed where the log tells it."""

    score: float | None = None
    word: str = ""
    passed: bool | None = None
    reason: str = ""


@dataclass(frozen=True)
class Trace:
    """A conversation, what each judge says of it, and facts that the labeller may see."""

    item: str
    messages: Sequence[Message]
    verdicts: Mapping[str, Verdict]
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Judged:
    """A pool made of the verdicts of judges, and how many traces lack one of them.

    scores, predictions, words: by judge; words are the verdicts as they stand. show: what the
    labeller sees, after: what waits for the answer.
    """

    ids: NDArray[Any]
    scores: Mapping[str, NDArray[np.float64]]
    predictions: Mapping[str, NDArray[np.int64]]
    words: Mapping[str, NDArray[Any]]
    show: Mapping[str, NDArray[Any]]
    after: Mapping[str, NDArray[Any]]
    n_left_out: int

    def pool(
        self, columns: Sequence[str] = (), *, classes: Sequence[Any] | None = (0, 1), **options: Any
    ) -> Pool:
        """The pool, each judge a system; columns: facts with sub-populations.

        Of two classes the second is failure; of more, each verdict names one, such as a grade.
        None: labels are numbers, and so are the verdicts.
        """
        for name in columns:
            if name not in self.show:
                raise UnknownName(f"no column {name!r}; the log has {', '.join(self.show)}")
        facts = {name: self.show[name] for name in columns}
        given = {"ids": self.ids, "columns": facts, "classes": classes, **options}
        if classes is None:
            return Pool({judge: self._numbers(judge) for judge in self.scores}, **given)
        said = {judge: self._classes(judge, tuple(classes)) for judge in self.scores}
        return Pool(self.scores, said, **given)

    def _numbers(self, judge: str) -> NDArray[np.float64]:
        """What the judge says of each trace, as a number, (n,)."""
        try:
            return np.array([float(word) for word in self.words[judge]])
        except ValueError as error:
            raise BadOption(f"judge {judge!r} says no number: {error}; give --classes") from None

    def _classes(self, judge: str, classes: tuple[Any, ...]) -> NDArray[Any]:
        """The class that the judge names for each trace, (n,)."""
        found = np.empty(len(self.ids), dtype=object)
        if len(classes) == 2:
            found[:] = [classes[one] for one in self.predictions[judge]]
            return found
        found[:] = [spelt(word, classes) for word in self.words[judge]]
        strange = next((one for one in found if one not in classes), None)
        if strange is not None:
            raise BadOption(
                f"judge {judge!r} says {brief(strange)}, which is not one of {list(classes)}"
            )
        return found

    @property
    def names(self) -> dict[str, tuple[str, str]]:
        """The columns of a table with the score and the prediction of each judge."""
        one = len(self.scores) == 1
        ends = ["" if one else f"_{judge}" for judge in self.scores]
        return {
            j: (SCORE + end, PREDICTION + end) for j, end in zip(self.scores, ends, strict=True)
        }

    def write(self, path: Path) -> None:
        """Save as a table that `haystat new` reads."""
        columns = {"item": self.ids}
        for judge, (score, prediction) in self.names.items():
            columns |= {score: self.scores[judge], prediction: self.predictions[judge]}
        columns |= {**self.show, **self.after}
        values = [column.tolist() for column in columns.values()]
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]
        write_rows(rows, path, list(columns))


def verdict_of(value: Any, reason: Any = "", passed: Any = None) -> Verdict | None:
    """The verdict in a value of any kind; None where there is none.

    >>> verdict_of("C").word, verdict_of(0.25).score, verdict_of(True).word, verdict_of(None)
    ('C', 0.25, 'true', None)
    """
    why = "" if reason is None or reason != reason else str(reason)
    passed = passed if isinstance(passed, bool) else None
    if isinstance(value, bool):
        return Verdict(None, str(value).lower(), passed, why)
    if isinstance(value, int | float) and np.isfinite(value):
        return Verdict(float(value), "", passed, why)
    if isinstance(value, str) and value.strip():
        return Verdict(None, value.strip(), passed, why)
    return None if passed is None else Verdict(None, "", passed, why)


def judged(
    traces: Iterable[Trace], source: str, judges: Sequence[str] = (), fails: str | None = None
) -> Judged:
    """The pool that judges make of traces; those that lack a verdict are left out, and counted.

    judges: which of them, if there are several. fails: what a failure is, "<0.5", ">=0.7", or
    words with commas; by default what the log says, then words such as no, I, fail, then below 0.5.

    >>> said = [Trace(str(k), [], {"tone": Verdict(k / 4)}) for k in range(5)]
    >>> found = judged(said, "a log", fails="<0.5")
    >>> found.scores["tone"].tolist(), found.predictions["tone"].tolist()
    ([1.0, 0.75, 0.5, 0.25, 0.0], [1, 1, 0, 0, 0])
    """
    # One text a trace, made as it is read: a log may be as large as a part of the memory.
    everything = [(replace(one, messages=[]), conversation(one.messages)) for one in traces]
    if not everything:
        raise FileError(f"{source} holds no traces")
    names = _chosen([trace for trace, _ in everything], judges, source)
    chosen = [pair for pair in everything if all(name in pair[0].verdicts for name in names)]
    kept, said = [trace for trace, _ in chosen], [text for _, text in chosen]
    if not kept:
        raise FileError(f"{source} has no trace with verdicts of {' and '.join(names)}")
    scores, predictions, words, after = {}, {}, {}, {}
    for name in names:
        verdicts = [trace.verdicts[name] for trace in kept]
        failed = _failures(verdicts, fails, name)
        scores[name], predictions[name] = _failure_scores(verdicts, failed), failed.astype(np.int64)
        words[name] = texts([_word(verdict) for verdict in verdicts])
        column = REASON if len(names) == 1 else f"{name}_reason"
        after[column] = texts([_told(verdict) for verdict in verdicts])
    show = {CONVERSATION: texts(said), **_facts(kept)}
    ids = texts(unique([trace.item for trace in kept]))
    return Judged(ids, scores, predictions, words, show, after, len(everything) - len(kept))


def judges_in(traces: Iterable[Trace]) -> dict[str, int]:
    """How many verdicts there are of each judge."""
    return dict(Counter(name for trace in traces for name in trace.verdicts))


def unique(ids: Sequence[str]) -> list[str]:
    """The ids, with a number behind those that came before.

    >>> unique(["a", "b", "a"])
    ['a', 'b', 'a #2']
    """
    seen: Counter[str] = Counter()
    taken = set(ids)
    made = []
    for one in ids:
        seen[one] += 1
        name = one
        while seen[one] > 1 and (name := f"{one} #{seen[one]}") in taken:
            seen[one] += 1
        taken.add(name)
        made.append(name)
    return made


def _chosen(traces: Sequence[Trace], judges: Sequence[str], source: str) -> list[str]:
    known = judges_in(traces)
    listed = ", ".join(sorted(known))
    if not known:
        raise FileError(f"{source} holds {len(traces):,} traces and no verdict of any judge")
    if not judges and len(known) > 1:
        raise BadOption(f"{source} has several judges; name one with --judge: {listed}")
    for judge in judges:
        if judge not in known:
            raise UnknownName(f"no judge {judge!r} in {source}; it has {listed}")
    return list(dict.fromkeys(judges)) or list(known)


def _failures(verdicts: Sequence[Verdict], fails: str | None, judge: str) -> NDArray[np.bool_]:
    """Which verdicts are failures, (n,)."""
    if fails is None:
        return np.array([_fails(verdict, judge) for verdict in verdicts])
    rule = RULE.fullmatch(checked_text("fails", fails))
    if rule is None:
        words = {word.strip().lower() for word in fails.split(",") if word.strip()}
        said = [_word(verdict).lower() for verdict in verdicts]
        if words and words.isdisjoint(said) and all(map(_is_number, words)):
            raise BadOption(
                f"--fails is {fails!r}, and judge {judge!r} never says that; give a comparison "
                f"such as '<{min(words)}' or '>={min(words)}'"
            )
        return np.array([word in words for word in said])
    try:
        limit = float(rule[2])
    except ValueError:
        raise BadOption(
            f"--fails is {fails!r}; give a comparison such as '<0.5' or '>=3', or words"
        ) from None
    values = [_quality(verdict) for verdict in verdicts]
    if None in values:
        word = _word(verdicts[values.index(None)])
        raise BadOption(f"judge {judge!r} says {brief(word)}, no number; give --fails words")
    found: NDArray[np.bool_] = COMPARED[rule[1]](np.array(values, dtype=float), limit)
    return found


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _fails(verdict: Verdict, judge: str) -> bool:
    if verdict.passed is not None:
        return not verdict.passed
    value = _quality(verdict)
    if value is None:
        raise BadOption(
            f"judge {judge!r} says {brief(verdict.word)}; say which words are failures: --fails "
            "no,unsafe"
        )
    if not 0 <= value <= 1:
        raise BadOption(
            f"judge {judge!r} gives {value:g}; say from where on it is a failure: --fails '<3', "
            "or --fails '>=0.7' where a high number is bad"
        )
    return value < 0.5


def _failure_scores(verdicts: Sequence[Verdict], failed: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Numbers from 0 to 1 that rise with how surely the judge sees a failure, (n,)."""
    values = np.array([np.nan if (q := _quality(v)) is None else q for v in verdicts])
    if np.isnan(values).any() or np.ptp(values) == 0:
        return failed.astype(float)
    low, high = min(values.min(), 0.0), max(values.max(), 1.0)
    if low < 0 or high > 1:
        low, high = values.min(), values.max()
    share = (values - low) / (high - low)
    bad_is_low = failed.all() or not failed.any() or share[failed].mean() < share[~failed].mean()
    return np.asarray(1 - share if bad_is_low else share)


def _quality(verdict: Verdict) -> float | None:
    """What the judge says as a number, as it stands."""
    return WORDS.get(verdict.word.lower()) if verdict.score is None else verdict.score


def _word(verdict: Verdict) -> str:
    is_number = not verdict.word and verdict.score is not None
    return f"{verdict.score:g}" if is_number else verdict.word


def _told(verdict: Verdict) -> str:
    """The verdict and the reason, for people who have answered."""
    passed = {None: "", True: "pass", False: "fail"}[verdict.passed]
    said = [text for text in (verdict.word, passed) if text]
    said += [] if verdict.score is None else [f"{verdict.score:g}"]
    return "\n\n".join(text for text in (", ".join(said), verdict.reason) if text)


def _facts(traces: Sequence[Trace]) -> dict[str, NDArray[Any]]:
    names = list(dict.fromkeys(name for trace in traces for name in trace.facts))
    return {name: texts([_plain(trace.facts.get(name)) for trace in traces]) for name in names}


def _plain(value: Any) -> str:
    return "" if value is None else str(value)


def texts(values: Sequence[str]) -> NDArray[Any]:
    """Texts of any length; an array of fixed width would take the longest for each."""
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found
