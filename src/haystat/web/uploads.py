"""Files of the server's folder: which there are, what is in them, and those that people upload."""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException

from haystat.core.arrow_files import ARROW, first_rows
from haystat.core.disk import writable
from haystat.core.drafts import draft_of
from haystat.errors import FileError
from haystat.study.open_files import is_open_here
from haystat.web.upload_limits import check_table, unreadable

#: pictures that cannot hold a script
PICTURES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
}
#: what people may upload
UPLOADS = (".csv", ".parquet")
#: names of columns in which systems say something
SCORES = r"score|prob|p_match|match_probability|logit|similarity|confidence"
PREDICTIONS = r"pred|prediction|decision|decided"
PREVIEWED = 6
MOST_FILES = 500
LONGEST_VALUE = 80


class NoSuchFile(FileError):
    """No file of that name that may hold a pool."""


def pool_files(folder: Path) -> list[str]:
    """Names of the files in the folder that may hold a pool."""
    found = [path.name for path in folder.iterdir() if _fits(folder, path)]
    return sorted(found, key=str.lower)[:MOST_FILES]


def checked_file(folder: Path, name: str) -> Path:
    """The file of that name: one of the folder itself, and of a kind that can be read."""
    path = folder / name
    if "\0" in name or Path(name).name != name or not _fits(folder, path):
        raise NoSuchFile("no such file in the server's folder; GET /api/files lists them")
    return path


def _fits(folder: Path, path: Path) -> bool:
    try:
        inside = path.resolve().parent == folder.resolve()
        fits = inside and path.suffix.lower() in ARROW and path.is_file()
        return fits and not is_open_here(path)
    except (OSError, ValueError):  # a name that is too long for the file system
        return False


def preview(path: Path) -> dict[str, Any]:
    """Columns of a file with their first values, and a guess at what they hold."""
    check_table(path)
    try:
        head = first_rows(path, PREVIEWED)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    columns = [
        {
            "name": field.name,
            "type": _type_name(str(field.type)),
            "values": [_short(value) for value in head.column(position).to_pylist()],
        }
        for position, field in enumerate(head.schema)
    ]
    return {"file": path.name, "columns": columns, "guess": guess(columns)}


def guess(columns: list[dict[str, Any]]) -> dict[str, Any]:
    """Which column is the id, the score, the prediction; the others are shown.

    >>> names = ("id", "score", "pred", "text")
    >>> guess([{"name": n, "type": "number" if n == "score" else "text"} for n in names])
    {'id': 'id', 'score': 'score', 'prediction': 'pred', 'show': ['text'], 'images': []}
    """
    names = [column["name"] for column in columns]
    numbers = [column["name"] for column in columns if column["type"] == "number"]
    score = _first(numbers, SCORES)
    prediction = _first(names, PREDICTIONS)
    id_ = _first(names, r"id|key|pair|item|unique_id")
    truth = _all(names, r"labels?|truth|true_label|gold|target|class|is_match|y_true|y")
    # The truth would give the answer away, and what any system says would sway it.
    taken = {score, prediction, id_, *truth, *_all(numbers, SCORES), *_all(names, PREDICTIONS)}
    shown = [name for name in names if name not in taken]
    images = [c["name"] for c in columns if c["name"] in shown and _holds_pictures(c)]
    chosen = {"id": id_, "score": score, "prediction": prediction}
    return {**chosen, "show": shown, "images": images}


def _holds_pictures(column: dict[str, Any]) -> bool:
    values = [value for value in column.get("values", ()) if value is not None]
    return bool(values) and all(
        isinstance(value, str) and value.lower().endswith(tuple(PICTURES)) for value in values
    )


def _first(names: list[str], pattern: str) -> str | None:
    begins = [n for n in names if re.match(f"({pattern})", n, re.IGNORECASE)]
    return next(iter(_all(names, pattern) + begins), None)


def _all(names: list[str], pattern: str) -> list[str]:
    """Names that are such a word, then those that begin or end with one."""
    exact = [name for name in names if re.fullmatch(pattern, name, re.IGNORECASE)]
    words = [n for n in names if re.match(rf"({pattern})(_|\b)|.*_({pattern})$", n, re.IGNORECASE)]
    return exact + words


async def receive(folder: Path, name: str, parts: AsyncIterator[bytes], most: int) -> str:
    """Write an upload into the folder, whole or not at all; the name it got."""
    plain = clean_name(name)
    draft = draft_of(folder / f"upload-{secrets.token_hex(8)}")  # one name may come twice at once
    try:
        size, first = 0, b""
        with writable(folder / plain), draft.open("xb") as file:
            async for part in parts:
                size += len(part)
                if size > most:
                    raise HTTPException(413, f"the file is larger than {most / 1e6:.0f} MB")
                first = first if len(first) >= 4096 else first + part[:4096]
                file.write(part)
        _check_content(plain, first)
        path = _free(folder, plain)
        draft.rename(path)
    finally:
        draft.unlink(missing_ok=True)
    return path.name


def clean_name(name: str) -> str:
    """A file name without a folder and without letters that mean something to a shell.

    >>> clean_name("../../etc/my pool (1).CSV")
    'my-pool-1.csv'
    """
    last = re.split(r"[/\\]", name)[-1]
    stem, dot, ending = last.rpartition(".")
    suffix = f".{ending.lower()}"
    if not dot or suffix not in UPLOADS:
        raise HTTPException(415, f"upload a file that ends in {' or '.join(UPLOADS)}")
    stem = re.sub(r"[^\w]+", "-", stem).strip("-_")[:80]
    return f"{stem or 'pool'}{suffix}"


def _free(folder: Path, name: str) -> Path:
    path, number = folder / name, 2
    while path.exists():
        stem, _, ending = name.rpartition(".")
        path, number = folder / f"{stem}-{number}.{ending}", number + 1
    return path


def _check_content(name: str, first: bytes) -> None:
    """Raise unless the first bytes are those of such a file."""
    if name.endswith(".parquet"):
        fits = first.startswith(b"PAR1")
    else:
        fits = b"\0" not in first and bool(first.strip())
    if not fits:
        raise HTTPException(415, f"{name} is not what its ending says")


def _type_name(arrow: str) -> str:
    if re.match("u?int|float|double|decimal|halffloat", arrow):
        return "number"
    return "yes or no" if arrow == "bool" else "text"


def _short(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    spelt = str(value)
    return spelt if len(spelt) <= LONGEST_VALUE else spelt[:LONGEST_VALUE] + "…"
