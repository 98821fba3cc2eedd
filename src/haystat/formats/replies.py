"""Replies from another tool become answers of a study."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from haystat.core.table_writers import Row
from haystat.errors import (
    AnswerError,
    BadOption,
    ConflictingAnswer,
    FileError,
    HaystatError,
)
from haystat.formats.base import Format, Reply
from haystat.formats.label_studio_api import Server
from haystat.study.answer_files import Taken, take_rows
from haystat.study.study import Study

Labels = Sequence[Reply]


def _refuse(item: Any, votes: Labels) -> Reply:
    raise ConflictingAnswer(
        f"item {item!r} has different answers: {_spelt(votes)}; settle it in the tool, or say how "
        "with --disagreement majority or skip; nothing was recorded"
    )


def _majority(item: Any, votes: Labels) -> Reply:
    (first, n_first), (_, n_second) = Counter(vote.label for vote in votes).most_common(2)
    if n_first == n_second:
        return _skip(item, votes)
    return next(vote for vote in votes if vote.label == first)


def _skip(item: Any, votes: Labels) -> Reply:
    return Reply(item, None, votes[0].annotator, f"answers differ: {_spelt(votes)}")


#: what to do with an item about which annotators disagree
DISAGREEMENT: dict[str, Callable[[Any, Labels], Reply]] = {
    "refuse": _refuse,
    "majority": _majority,
    "skip": _skip,
}


def read_replies(form: Format, path: Path, classes: tuple[Any, ...]) -> list[Reply]:
    """What a tool's file says; anything that is not such a file is one clear error."""
    if form.replies is None:
        raise BadOption(f"there is nothing to read from {form.tool}")
    read = form.replies
    return _checked(lambda: read(path, classes), form, str(path))


def fetch_replies(form: Format, server: Server) -> list[Reply]:
    """What a tool's server says now; raises RemoteError where another try may go well."""
    if form.fetch is None:
        raise BadOption(f"{form.tool} is not asked over the network; give the file it exports")
    fetch = form.fetch
    return _checked(lambda: fetch(server), form, server.address)


def _checked(read: Callable[[], list[Reply]], form: Format, where: str) -> list[Reply]:
    try:
        replies = read()
        for reply in replies:
            hash((reply.item, reply.label, reply.annotator))
        return replies
    except (HaystatError, OSError):
        raise
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise FileError(f"{where} is not what {form.tool} exports ({error!r})") from None


def take_replies(
    study: Study,
    replies: Iterable[Reply],
    *,
    annotator: str | None = None,
    disagreement: str = "refuse",
    correct: bool = False,
    source: str = "",
) -> Taken:
    """Tell a study what people said elsewhere: all of it, or nothing if something is wrong.

    Of several replies of one person about an item the newest counts, and a label counts more than
    a skip. disagreement: "refuse", "majority" (a tie is a skip) or "skip". How long people took,
    and who else answered, goes into a note of the journal.
    """
    if disagreement not in DISAGREEMENT:
        raise BadOption(f"disagreement is {disagreement!r}; it can be {list(DISAGREEMENT)}")
    given = _known(study, replies)
    _check_pool(study, given)
    votes = newest(given)
    settled = [_settle(item, of_item, disagreement) for item, of_item in votes.items()]
    known = {answer.item: answer.label for answer in study.answers}
    taken = take_rows(study, [_row(reply) for reply in settled], annotator, correct=correct)
    if taken.labels or taken.skips or taken.corrections:
        # Only what is new: a note about all answers at every look would grow with its square.
        new = {r.item for r in settled if r.item not in known or known[r.item] != r.label}
        _note(study, {item: votes[item] for item in new}, annotator, source)
    return taken


def _known(study: Study, replies: Iterable[Reply]) -> list[Reply]:
    """The replies, about items as this study calls them."""
    with study.reading() as state:
        asked = state.questions.index_of
        return [
            replace(r, item=r.also) if r.item not in asked and r.also in asked else r
            for r in replies
        ]


def newest(replies: Iterable[Reply]) -> dict[Any, list[Reply]]:
    """The newest reply of each person about each item, by item."""
    found: dict[Any, dict[Any, Reply]] = {}
    for reply in replies:
        # Without a name, different labels may be of different people: they disagree.
        who = reply.annotator if reply.annotator is not None else ("nameless", reply.label)
        of_item = found.setdefault(reply.item, {})
        known = of_item.get(who)
        if known is None or reply.time >= known.time:
            of_item[who] = reply
    return {item: list(of_item.values()) for item, of_item in found.items()}


def _settle(item: Any, votes: Labels, disagreement: str) -> Reply:
    labels = [vote for vote in votes if vote.label is not None]
    if not labels:
        return votes[0]
    if len({vote.label for vote in labels}) == 1:
        return labels[0]
    return DISAGREEMENT[disagreement](item, labels)


def _row(reply: Reply) -> Row:
    skipped = (reply.reason or "yes") if reply.label is None else None
    return {
        "item": reply.item,
        "label": reply.label,
        "annotator": reply.annotator,
        "skipped": skipped,
    }


def _check_pool(study: Study, replies: Iterable[Reply]) -> None:
    """Ids of two pools may look alike, so tasks carry the fingerprint of theirs."""
    other = {reply.pool for reply in replies} - {None, study.pool.fingerprint}
    if other:
        raise AnswerError(
            f"the answers are about another pool ({', '.join(map(str, other))}) than "
            f"{study.path} ({study.pool.fingerprint}); nothing was recorded"
        )


def _note(study: Study, votes: Mapping[Any, Labels], annotator: str | None, source: str) -> None:
    """One remark with what has no place in an answer."""
    seconds = [[i, v.annotator, v.seconds] for i, vs in votes.items() for v in vs if v.seconds]
    several = [
        [item, [[vote.annotator, vote.label] for vote in of_item]]
        for item, of_item in votes.items()
        if len(of_item) > 1
    ]
    if seconds or several:
        text = {"imported": source, "seconds": seconds, "several_answers": several}
        study.note(json.dumps(text, ensure_ascii=False, default=str), annotator)


def _spelt(votes: Labels) -> str:
    return ", ".join(f"{vote.annotator or 'somebody'} {vote.label!r}" for vote in votes)
