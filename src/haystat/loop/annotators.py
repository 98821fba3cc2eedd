"""Annotators: who answered what, what counts when they disagree, and how far they agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Any

import numpy as np

from haystat.core.arguments import checked_choice, checked_integer, is_unicode, several_names
from haystat.errors import AnswerError, BadOption, UnknownName
from haystat.loop.stages import NO_ANSWER, Label
from haystat.measures.outputs import Schema

ADJUDICATOR = "adjudicator"
LONGEST_NAME = 200  # letters
Votes = Mapping[str | None, Label]  # who -> answer; None is someone without a name


def _majority(votes: Votes, n_wanted: int) -> Label | None:
    """The most frequent answer, once no other can overtake it; a tie waits for one more."""
    (first, n_first), *others = Counter(votes.values()).most_common(2)
    n_second = others[0][1] if others else 0
    return first if n_first > n_second + max(n_wanted - len(votes), 0) else None


def _median(votes: Votes, n_wanted: int) -> Label | None:
    """The middle answer, once all are in."""
    told = [vote for vote in votes.values() if isinstance(vote, float)]
    if len(votes) < n_wanted:
        return None
    return float(median(told)) if told else NO_ANSWER


def _adjudicated(votes: Votes, n_wanted: int) -> Label | None:
    """What all say, or what the adjudicator says."""
    if ADJUDICATOR in votes:
        return votes[ADJUDICATOR]
    agreed = len(set(votes.values())) == 1 and len(votes) >= n_wanted
    return next(iter(votes.values())) if agreed else None


#: name -> the label of an item from the answers so far, None while it is open
DISAGREEMENT: dict[str, Callable[[Votes, int], Label | None]] = {
    "majority": _majority,
    "adjudicator": _adjudicated,
    "median": _median,
}


def checked_name(annotator: Any) -> str | None:
    """The name as it is written down; None is somebody without a name.

    >>> checked_name("ann")
    'ann'
    """
    if annotator is None:
        return None
    if not isinstance(annotator, str):
        raise BadOption(
            f"annotator is {annotator!r:.80}; an annotator's name is text, such as 'ann'"
        )
    name = str.__str__(annotator)  # numpy's texts are a kind of their own
    if not name.strip() or len(name) > LONGEST_NAME or not is_writable(name):
        raise BadOption(
            f"annotator is {name!a:.80}; an annotator's name is text of 1 to {LONGEST_NAME} "
            "letters, without NUL and halves of surrogate pairs"
        )
    return name


def is_writable(text: str) -> bool:
    """Whether a text can be written as UTF-8 and read again by everybody."""
    return "\0" not in text and is_unicode(text)


@dataclass(frozen=True)
class Rules:
    """Who may answer, how many answers a question needs, and what counts when they differ.

    annotators: their names; None takes any name. With more than one answer a question, everyone
        answers under a name.
    disagreement: "majority", "median" of numbers, or "adjudicator": answers that differ wait for
        the one of the annotator called "adjudicator".
    """

    annotators: tuple[str, ...] | None = None
    answers_per_item: int = 1
    disagreement: str = "majority"

    def __post_init__(self) -> None:
        n = checked_integer("answers_per_item", self.answers_per_item, smallest=1)
        checked_choice("disagreement", self.disagreement, DISAGREEMENT)
        for name in self.annotators or ():
            checked_name(name)
        if self.annotators is not None and len(set(self.annotators)) < n:
            raise BadOption(
                f"answers_per_item is {n} and there are {len(set(self.annotators))} annotators; "
                "name at least as many"
            )

    @property
    def single(self) -> bool:
        """Whether one answer settles a question."""
        return self.answers_per_item == 1 and self.disagreement != ADJUDICATOR

    @property
    def nameless(self) -> bool:
        """Whether answers may come without a name."""
        return self.answers_per_item == 1 and self.annotators is None

    def needs(self, votes: Mapping[str | None, Any], annotator: str | None) -> bool:
        """Whether an answer of this annotator would help to settle an open question."""
        if annotator is not None and annotator in votes:
            return False
        if self.disagreement == ADJUDICATOR:
            in_dispute = len(votes) >= self.answers_per_item
            return in_dispute == (annotator == ADJUDICATOR)
        return True

    def check_name(self, annotator: str | None) -> None:
        """Raise unless this annotator may answer."""
        if checked_name(annotator) is None:
            if not self.nameless:
                raise AnswerError("say who answers, with annotator=…; nothing was recorded")
            return
        known = self.annotators
        if self.disagreement == ADJUDICATOR and annotator == ADJUDICATOR:
            return
        if known is not None and annotator not in known:
            raise UnknownName(
                f"no annotator {annotator!r}; the evaluation has {list(known)}: nothing was "
                "recorded"
            )


def checked_rules(
    annotators: Any, answers_per_item: int, disagreement: str, oracle: str, schema: Schema
) -> Rules:
    """The rules that somebody gives, provided that they suit oracle and labels."""
    names = None if annotators is None else several_names("annotators", annotators)
    rules = Rules(names, answers_per_item, disagreement)
    if oracle == "stochastic" and not rules.single:
        raise BadOption(
            "with oracle='stochastic' every answer counts, so a question takes one; leave "
            "answers_per_item at 1, or use oracle='deterministic'"
        )
    if disagreement == "median" and not schema.numeric:
        raise BadOption("disagreement='median' is for labels that are numbers; use 'majority'")
    return rules


@dataclass(frozen=True)
class Agreement:
    """How far answers about the same item agree; only items with two answers or more count.

    share is the mean share of pairs of answers that are equal; kappa is Cohen's coefficient, which
    corrects it for chance, averaged over the pairs of named annotators by the items they share;
    pairs has it for each. The items are those that were asked about, not a sample of the pool.
    """

    share: float
    kappa: float
    pairs: Mapping[tuple[str, str], float]
    n_items: int
    n_answers: int


def agreement(answers: Iterable[tuple[int, str | None, Label]]) -> Agreement:
    """Agreement of (item, annotator, class index) triples; soft answers do not count."""
    by_item: dict[int, list[tuple[str | None, int]]] = {}
    for item, annotator, label in answers:
        if isinstance(label, int):
            by_item.setdefault(item, []).append((annotator, label))
    repeated = [given for given in by_item.values() if len(given) > 1]
    shares = [_equal_pairs([label for _, label in given]) for given in repeated]
    kappas, sizes = _kappas(repeated)
    known = [pair for pair, kappa in kappas.items() if not np.isnan(kappa)]
    return Agreement(
        float(np.mean(shares)) if shares else float("nan"),
        float(np.average([kappas[p] for p in known], weights=[sizes[p] for p in known]))
        if known
        else float("nan"),
        kappas,
        len(repeated),
        sum(len(given) for given in repeated),
    )


def _equal_pairs(labels: Sequence[int]) -> float:
    pairs = list(combinations(labels, 2))
    return sum(one == other for one, other in pairs) / len(pairs)


def _kappas(
    repeated: Sequence[Sequence[tuple[str | None, int]]],
) -> tuple[dict[tuple[str, str], float], dict[tuple[str, str], int]]:
    """Cohen's kappa of every pair of annotators, and how many items they share."""
    shared: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for given in repeated:
        first: dict[str, int] = {}
        for annotator, label in given:
            if annotator is not None:
                first.setdefault(annotator, label)
        for one, other in combinations(sorted(first), 2):
            shared.setdefault((one, other), []).append((first[one], first[other]))
    kappas = {pair: cohen_kappa(labels) for pair, labels in shared.items()}
    return kappas, {pair: len(labels) for pair, labels in shared.items()}


def cohen_kappa(labels: Sequence[tuple[int, int]]) -> float:
    """Cohen's kappa of pairs of labels; NaN where both annotators gave one and the same label."""
    if len({label for pair in labels for label in pair}) < 2:
        return float("nan")
    try:
        from sklearn.metrics import cohen_kappa_score
    except ImportError:
        raise BadOption("agreement needs scikit-learn: pip install 'haystat[features]'") from None
    one, other = zip(*labels, strict=True)
    return float(cohen_kappa_score(one, other))
