"""What fields of requests may hold: types with their limits."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta

from haystat import designs, measures
from haystat.web.options import LONGEST_TEXT

MOST_QUESTIONS = 200
MOST_ANSWERS = 1000
MOST_COLUMNS = 1000  # of a file
MOST_MEASURES = 20
NOBODY = "somebody"
#: control characters but for line ends and tabs cannot be written down
PLAIN = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f]*$"
VISIBLE = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f]*[^\x00-\x20]"

# Ids and labels are looked up as they are; those of a pool may hold any character.
Item: TypeAlias = int | str
Label: TypeAlias = bool | int | float | str | list[float]
Key: TypeAlias = Annotated[
    str,
    Meta(
        max_length=100,
        description="Which question about the item, where answers to the same one may differ.",
    ),
]
Text: TypeAlias = Annotated[str, Meta(max_length=200, pattern=PLAIN)]
Shown: TypeAlias = Annotated[str, Meta(max_length=LONGEST_TEXT, pattern=PLAIN)]
ColumnName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=200, pattern=PLAIN)]
ColumnNames: TypeAlias = Annotated[list[ColumnName], Meta(max_length=MOST_COLUMNS)]
Who: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=80,
        pattern=VISIBLE,
        description="Who asks or answers; everybody a different name.",
    ),
]
Seat: TypeAlias = Annotated[
    str,
    Meta(
        max_length=80,
        pattern=PLAIN,
        description="Who holds the questions, if not the annotator: a tab of a browser, say.",
    ),
]
MeasureName: TypeAlias = Annotated[str, Meta(extra_json_schema={"enum": list(measures.MEASURES)})]
Share: TypeAlias = Annotated[float, Meta(gt=0, lt=1)]
DesignName: TypeAlias = Annotated[str, Meta(extra_json_schema={"enum": ["", *designs.DESIGNS]})]


def one_line(name: str) -> str:
    """A name without line ends; that of nobody if nothing is left of it."""
    return " ".join(name.split()) or NOBODY
