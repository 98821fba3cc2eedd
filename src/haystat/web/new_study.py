"""What a manager sends to make a study, with its limits."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from haystat import designs, measures
from haystat.pool.known import KINDS
from haystat.web.fields import (
    PLAIN,
    ColumnName,
    ColumnNames,
    DesignName,
    MeasureName,
    Shown,
    Text,
)
from haystat.web.options import LONGEST_GUIDELINES


class System(Struct):
    """Columns of a system beside the first."""

    score: ColumnName
    prediction: Text = ""


class Wish(Struct, kw_only=True):
    """A study of a file."""

    file: Annotated[str, Meta(max_length=255, description="A file of the server's folder.")]
    score: Annotated[ColumnName, Meta(description="Column with the score.")]
    id: Text = ""
    prediction: Text = ""
    systems: Annotated[
        list[System],
        Meta(max_length=99, description="Further systems, or labels, beside the first."),
    ] = []
    multi_label: Annotated[
        bool, Meta(description="An item may have several labels: each score is that of one.")
    ] = False
    show: Annotated[ColumnNames, Meta(description="Columns that the person who labels sees.")] = []
    images: Annotated[
        list[Shown], Meta(max_length=100, description="Columns with paths of pictures.")
    ] = []
    measure: MeasureName = "f1"
    design: DesignName = ""
    wanted: Annotated[
        Annotated[float, Meta(gt=0, le=1e9)] | None,
        Meta(description="Width of the interval at which to stop."),
    ] = None
    threshold: float | None = None
    classes: Annotated[
        list[Text], Meta(max_length=100, description="Label values, the negative first.")
    ] = []
    names: Annotated[
        list[Shown], Meta(max_length=100, description="The labels as people see them.")
    ] = []
    prompt: Shown = ""
    seed: Annotated[int, Meta(ge=0, le=(1 << 63) - 1)] | None = None
    guidelines: Annotated[
        str,
        Meta(max_length=LONGEST_GUIDELINES, pattern=PLAIN, description="What people read first."),
    ] = ""
    keys: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=1, pattern=r"^[a-z0-9]$")]],
        Meta(max_length=30, description="A key for each label."),
    ] = []
    reveal: Annotated[bool, Meta(description="Show the score after the answer.")] = False
    blind: Annotated[bool, Meta(description="Annotators see no estimate.")] = False
    second: Annotated[
        float, Meta(ge=0, le=0.5, description="Share of questions for a second opinion.")
    ] = 0.0
    weight: Annotated[Text, Meta(description="Column with what an item counts.")] = ""
    signals: Annotated[
        ColumnNames, Meta(description="Columns with other scores, rules or verdicts, which help.")
    ] = []

    def __post_init__(self) -> None:
        measures.resolve(self.measure)
        if self.design:
            designs.resolve(self.design)


class NewStudy(Wish, kw_only=True):
    """A study of a file, with its name."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    known: Annotated[
        str, Meta(max_length=255, description="A file of the server's folder with known labels.")
    ] = ""
    known_as: Annotated[str, Meta(extra_json_schema={"enum": ["", *KINDS]})] = ""
    inclusion: Annotated[float, Meta(gt=0, le=1)] | None = None
