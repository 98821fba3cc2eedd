"""How the page asks: the question, the names of the labels, when to stop.

The study file is the only state, so these options are a remark in its journal; the newest counts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

from haystat.errors import BadOption
from haystat.study.page_remarks import MARK, page_remarks
from haystat.study.sqlite_journal import Entry
from haystat.study.study import Study
from haystat.web.keys import checked_keys

ONE_OF_SEVERAL = "Does the item have this label?"  # what is asked where an item may have several
LONGEST_TEXT = 300
LONGEST_GUIDELINES = 50_000


@dataclass(frozen=True)
class PageOptions:
    """What the page of a study needs to know.

    prompt: the question. names: the labels as people see them, one a class. images: columns that
    hold paths of pictures, relative to the pool's file. wanted: width of the interval at which to
    stop. reveal: show score and prediction after the answer. second: share of questions that go
    to a second person, to see how far people agree. blind: annotators see no estimate. guidelines:
    Markdown that stands beside every question. keys: one a class.
    """

    prompt: str = ""
    names: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    wanted: float | None = None
    reveal: bool = False
    second: float = 0.0
    blind: bool = False
    guidelines: str = ""
    keys: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.wanted is not None and not (0 < self.wanted < math.inf):
            raise BadOption(f"wanted is {self.wanted}; give the width of an interval, such as 0.1")
        if not 0 <= self.second <= 0.5:
            raise BadOption(f"second is {self.second}; give a share from 0 to 0.5")
        if len(self.guidelines) > LONGEST_GUIDELINES:
            raise BadOption(
                f"the guidelines have {len(self.guidelines):,} letters; {LONGEST_GUIDELINES:,} are "
                "the most"
            )
        checked_keys(self.keys)
        for text in (self.prompt, *self.names, *self.images):
            if len(text) > LONGEST_TEXT:
                raise BadOption(f"{text[:20]!r}… is too long; {LONGEST_TEXT} letters are the most")

    def shown_names(self, classes: tuple[Any, ...]) -> tuple[str, ...]:
        """One name a class; the class itself where no names were given."""
        fits = len(self.names) == len(classes) and all(self.names)
        return self.names if fits else tuple(str(label) for label in classes)


def keep_options(study: Study, options: PageOptions) -> None:
    """Write the options into the study's journal."""
    study.note(as_note(options))


def as_note(options: PageOptions) -> str:
    """The options as a remark, which a new study may begin with."""
    return json.dumps({MARK: asdict(options)}, ensure_ascii=False)


def kept_options(entries: Iterable[Entry]) -> PageOptions:
    """The newest options in a journal; what cannot be understood is passed over."""
    found = PageOptions()
    for text in page_remarks(entries):
        found = _read(text) or found
    return found


def _read(text: str) -> PageOptions | None:
    try:
        given = json.loads(text)[MARK]
        known = {field.name for field in fields(PageOptions)}
        chosen = {name: given[name] for name in known & given.keys()}
        for name in ("names", "images", "keys"):
            chosen[name] = tuple(str(part) for part in chosen.get(name, ()))
        return PageOptions(**chosen)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
