"""What comes in and goes out as JSON: one type a message, with its limits.

Requests are read into these types, replies are written from them, and `openapi.py` describes them:
a limit stands here, in `fields.py` or in `new_study.py`, and nowhere else.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from haystat import measures
from haystat.web.fields import (
    MOST_ANSWERS,
    MOST_MEASURES,
    MOST_QUESTIONS,
    NOBODY,
    PLAIN,
    VISIBLE,
    Item,
    Key,
    Label,
    MeasureName,
    Seat,
    Share,
    Who,
    one_line,
)

# --- what is asked for in an address


class OfStudy(Struct):
    """About a study."""

    study: Annotated[
        str,
        Meta(
            max_length=100,
            description="Name of the study; by default the one the server was started with.",
        ),
    ] = ""


class EstimateQuery(OfStudy):
    """Which estimate."""

    measure: Annotated[
        list[MeasureName],
        Meta(max_length=MOST_MEASURES, description="Other measures than that of the study."),
    ] = []
    level: Annotated[float, Meta(gt=0, lt=1)] = 0.95

    def __post_init__(self) -> None:
        for name in self.measure:
            measures.resolve(name)


class ThresholdQuery(OfStudy):
    """Which cut: one requirement; without any, the best F1."""

    precision: Share | None = None
    recall: Share | None = None
    false_positive_rate: Share | None = None
    f1: Annotated[str, Meta(extra_json_schema={"enum": ["best"]})] | None = None
    system: Annotated[str, Meta(max_length=200, description="Whose score to cut.")] = ""
    level: Share = 0.95

    @property
    def requirement(self) -> dict[str, Any]:
        """As a study takes it."""
        names = ("precision", "recall", "false_positive_rate", "f1")
        given = {name: getattr(self, name) for name in names}
        found = {name: value for name, value in given.items() if value is not None}
        return found or {"f1": "best"}


class GateQuery(OfStudy):
    """What must hold."""

    require: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=200)]],
        Meta(max_length=MOST_MEASURES, description="Such as recall>=0.8, with commas between."),
    ] = []
    level: Share = 0.95


class ChangeQuery(OfStudy):
    """What became of the measure since the version before."""

    level: Share = 0.95


class FileQuery(Struct):
    """A file of the server's folder."""

    file: Annotated[str, Meta(min_length=1, max_length=255)]


class UploadQuery(Struct):
    """How a file is to be called."""

    name: Annotated[
        str, Meta(max_length=255, pattern=r"\.([cC][sS][vV]|[pP][aA][rR][qQ][uU][eE][tT])$")
    ]


# --- what people and tools do with a study


class Asker(Struct):
    """Somebody who gets questions."""

    annotator: Who = NOBODY
    seat: Seat = ""

    def __post_init__(self) -> None:
        self.annotator = one_line(self.annotator)

    @property
    def holder(self) -> str:
        """Who holds a question: a tab of a browser, say, whatever the person in it is called."""
        return self.seat or self.annotator


class Ask(Asker):
    """Questions, please."""

    n: Annotated[int, Meta(ge=1, le=MOST_QUESTIONS)] = 1


class Answer(Struct):
    """The label of an item."""

    item: Item
    label: Label
    key: Key | None = None


class Tell(Asker, kw_only=True):
    """Answers: all of them are taken, or none."""

    answers: Annotated[list[Answer], Meta(max_length=MOST_ANSWERS)]
    correct: Annotated[bool, Meta(description="Replace one's own answers.")] = False
    ask: Annotated[
        int, Meta(ge=0, le=MOST_QUESTIONS, description="Questions to hand out in the same breath.")
    ] = 0


class Skip(Asker, kw_only=True):
    """Nobody can tell."""

    item: Item
    key: Key | None = None
    reason: Annotated[str, Meta(max_length=500, pattern=PLAIN)] = ""


class Note(Asker, kw_only=True):
    """A remark, about an item or the study."""

    text: Annotated[str, Meta(min_length=1, max_length=4000, pattern=VISIBLE)]
    item: Item | None = None


class HistoryQuery(OfStudy):
    """Whose answers."""

    annotator: Who = NOBODY
    n: Annotated[int, Meta(ge=1, le=MOST_QUESTIONS, description="The newest so many.")] = 60

    def __post_init__(self) -> None:
        self.annotator = one_line(self.annotator)


class Nothing(Struct):
    """There is nothing more to say."""


class Decide(Asker, kw_only=True):
    """What is right, where people differ."""

    item: Item
    label: Label


class Release(Asker):
    """Questions come back."""

    after: Annotated[
        int,
        Meta(ge=0, le=3600, description="Seconds to wait; asking again in that time keeps them."),
    ] = 0


class Next(Struct, kw_only=True):
    """The next version of a study: its items as a file of the same columns has them."""

    file: Annotated[str, Meta(max_length=255, description="A file of the server's folder.")]
    name: Annotated[str, Meta(min_length=1, max_length=60, description="Of the version.")]
    ask_again: Annotated[
        float, Meta(ge=0, le=0.5, description="Share of the labels to ask about again.")
    ] = 0.0


# --- what is answered


class Error(Struct):
    """What is wrong, what is allowed, what to do."""

    error: str


class Session(Struct):
    """The token that requests which change something carry, and what the caller may do."""

    csrf: str
    role: str


class Studies(Struct):
    """The studies that can be opened."""

    studies: list[str]
    main: str | None


class StudyInfo(Struct):
    """A study without its questions and numbers."""

    study: str
    measure: str
    design: str
    items: int
    classes: list[Any]
    oracle: str
    names: list[str]
    prompt: str
    images: list[str]
    wanted: float | None
    reveal: bool
    blind: bool
    guidelines: str
    keys: list[str]
    after: bool


class Question(Struct):
    """An item to label. An id that browsers cannot hold as a number comes as a text."""

    item: Item
    key: str
    record: dict[str, Any]


class Questions(Struct):
    """What somebody holds now; fewer than asked for where they are long."""

    questions: list[Question]


class Answered(Struct):
    """An answer of one's own: None is a skip, with its reason."""

    item: Item
    key: str
    label: Any
    reason: str
    time: str
    record: dict[str, Any]


class History(Struct):
    """One's own answers, the newest first."""

    answers: list[Answered]


class Held(Struct):
    """Open questions in somebody's hands, until when."""

    holder: str
    questions: int
    until: str


class Open(Struct):
    """Questions that wait for an answer, and who holds them."""

    pending: int
    held: list[Held]


class Told(Struct):
    """What became of an answer: recorded, known, corrected or a second opinion."""

    item: Item
    outcome: str


class After(Struct):
    """What was kept back until an item was answered, and what the systems say about it."""

    item: Item
    record: dict[str, Any]
    said: list[dict[str, Any]]


class Disagreement(Struct):
    """An answer that differs from what a system predicts."""

    item: Item
    label: Any
    predicted: str
    score: float
    system: str
    annotator: str
    time: str
    record: dict[str, Any]
    after: dict[str, Any]


class Disagreements(Struct):
    """The newest of them, how many there are, and how many answers."""

    disagreements: list[Disagreement]
    total: int
    answers: int


class Opinion(Struct):
    """What somebody said."""

    annotator: str
    label: Any


class Difference(Struct):
    """An item that people answered differently; the first answer counts until it is decided."""

    item: Item
    opinions: list[Opinion]
    record: dict[str, Any]


class Differences(Struct):
    """Some of them, and how many there are."""

    differences: list[Difference]
    total: int


class Taken(Struct):
    """What became of answers, and the next questions if some were wanted."""

    taken: list[Told]
    questions: list[Question] | UnsetType = UNSET
    problem: str | UnsetType = UNSET
    said: list[dict[str, Any]] | UnsetType = UNSET
    after: After | UnsetType = UNSET


class Noted(Struct):
    """The remark is in the journal."""

    noted: bool = True


class Released(Struct):
    """Whether the questions came back at once."""

    released: bool


class Files(Struct):
    """Files that may hold a pool."""

    files: list[str]


class Uploaded(Struct):
    """The name that a file got."""

    file: str


class Made(Struct):
    """A new study."""

    study: str
    items: int
