"""Files on disk: whether they are there, and writing them whole or not at all."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from haystat.core.arguments import checked_path
from haystat.core.drafts import draft_of
from haystat.errors import FileError, StorageError, StorageFull

LONGEST_PATH = 300  # characters that a message repeats
WRONG_PATH = (
    errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP,
    errno.EINVAL,
)  # fmt: skip
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def existing_file(path: str | Path) -> Path:
    """The path of a file that is there."""
    path = checked_path("the file to read", path)
    with readable(path):
        if not path.is_file():
            raise FileNotFoundError
    return path


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what the system says about a file that it cannot read into one line."""
    try:
        yield
    except FileNotFoundError as error:
        if error.args and error.errno is None:
            raise  # it says what to do
        raise FileNotFoundError(f"no file {shown_path(path)}") from None
    except OSError as error:
        raise FileError(f"{shown_path(path)} cannot be read: {_reason(error)}") from None


@contextmanager
def writable(path: Path) -> Iterator[None]:
    """Turn what the system says about a file that it cannot write into one line."""
    try:
        yield
    except OSError as error:
        why = f"{shown_path(path)} cannot be written: {_reason(error)}"
        if is_wrong_path(error):
            raise FileError(why) from None
        raise (StorageFull if error.errno in NO_ROOM else StorageError)(why) from None


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """Where to write a file that then takes the place of `path`, whole or not at all.

    A device or pipe, such as /dev/stdout, is written to as it is.
    """
    path = checked_path("the file to write", path)
    with writable(path):
        if path.exists() and not path.is_file() and not path.is_dir():
            yield path
            return
        target = path.resolve()
        draft = draft_of(target)
    try:
        with writable(path):
            yield draft
            draft.replace(target)
    finally:
        with suppress(OSError):
            draft.unlink()


def write_whole(path: str | Path, text: str) -> None:
    """Write a text file in UTF-8, whole or not at all."""
    with whole_file(path) as draft:
        draft.write_bytes(text.encode(errors="backslashreplace"))


def shown_path(path: Path) -> str:
    """A path as a message shows it: what is not UTF-8 in it is escaped, and the end of it told."""
    text = str(path).encode(errors="backslashreplace").decode()
    return text if len(text) <= LONGEST_PATH else f"{text[:LONGEST_PATH]}…"


def is_wrong_path(error: OSError) -> bool:
    """Whether the system says that no file can be there; all else is about the disk."""
    return isinstance(error, FileNotFoundError) or error.errno in WRONG_PATH


def _reason(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__


def not_utf8(path: Path, column: str | None = None) -> FileError:
    """What to say about a text in another encoding."""
    where = shown_path(path) if column is None else f"column {column!r} of {shown_path(path)}"
    return FileError(
        f"{where} is not text in UTF-8; save it as UTF-8, such as by iconv -f LATIN1 -t UTF-8"
    )
