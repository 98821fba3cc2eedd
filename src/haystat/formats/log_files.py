"""Logs of other tools, read with care: one JSON document, JSON lines, the parts of a ZIP file."""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from haystat.core.disk import existing_file, not_utf8, readable, shown_path
from haystat.errors import FileError, HaystatError, first_line

LARGEST_DOCUMENT = 512 << 20  # bytes of one JSON document, which takes many times that in memory
LARGEST_LINE = 64 << 20
ZSTANDARD = 93  # how newer ZIP files are compressed, which Python knows from 3.14 on
DAMAGE = (
    KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError,
    zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, struct.error,
)  # fmt: skip


@contextmanager
def reading(path: Path, tool: str) -> Iterator[None]:
    """Turn whatever is wrong with a log into one line that says what it should be."""
    try:
        with readable(existing_file(path)):
            yield
    except UnicodeDecodeError:
        raise not_utf8(path) from None
    except HaystatError:
        raise
    except DAMAGE as error:
        why = first_line(error) if isinstance(error, ValueError) else repr(error)
        raise FileError(
            f"{shown_path(path)} is not what {tool} writes, or is cut short or damaged "
            f"({why[:120]})"
        ) from None


def read_document(path: Path, advice: str) -> Any:
    """A file that is one JSON document; one that is too long for memory is refused."""
    size = path.stat().st_size
    if size > LARGEST_DOCUMENT:
        raise FileError(
            f"{shown_path(path)} is one JSON document of {size >> 20:,} MB; at most "
            f"{LARGEST_DOCUMENT >> 20} MB are read at once: {advice}"
        )
    return json.loads(path.read_bytes())


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Objects of a file with one a line, and their line numbers; only one is in memory."""
    with path.open("rb") as file:
        number = 0
        while line := file.readline(LARGEST_LINE + 1):
            number += 1
            if len(line) > LARGEST_LINE:
                raise FileError(
                    f"{shown_path(path)}, line {number} has more than {LARGEST_LINE >> 20} MB"
                )
            if line.strip():
                yield number, _object(path, number, line)


def _object(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except UnicodeDecodeError:
        raise not_utf8(path) from None
    except (ValueError, RecursionError) as error:
        raise FileError(
            f"{shown_path(path)}, line {number} is no JSON, or is cut short ({first_line(error)})"
        ) from None
    if not isinstance(found, dict):
        raise FileError(f"{shown_path(path)}, line {number} is no JSON object")
    return found


def is_json_lines(path: Path) -> bool:
    """Whether a file has one object a line, as far as its ending and its first line tell."""
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        return True
    with path.open("rb") as file:
        first = file.readline(1 << 20).strip()
    return first.startswith(b"{") and first.endswith(b"}")


def check_version(path: Path, tool: str, version: Any, newest: int) -> None:
    """Raise on a log of a later version than is known: what it means could have changed."""
    if isinstance(version, int) and version > newest:
        raise FileError(
            f"{shown_path(path)} is of version {version} of what {tool} writes; this haystat reads "
            f"up to version {newest}: update haystat, or write the log with an older {tool}"
        )


def zip_entry(file: IO[bytes], entry: zipfile.ZipInfo, archive: zipfile.ZipFile) -> bytes:
    """The content of a part of a ZIP file, also where it is compressed with Zstandard."""
    if entry.file_size > LARGEST_DOCUMENT:
        raise ValueError(f"{entry.filename} unpacks to {entry.file_size >> 20:,} MB")
    if entry.compress_type != ZSTANDARD:
        return archive.read(entry)
    try:
        import pyarrow
    except ImportError:
        raise FileError("a log in Zstandard needs pyarrow: pip install 'haystat[frames]'") from None
    file.seek(entry.header_offset)
    head = file.read(30)
    n_name, n_extra = struct.unpack("<HH", head[26:30])
    file.seek(n_name + n_extra, 1)
    packed = file.read(entry.compress_size)
    try:
        content = pyarrow.decompress(packed, entry.file_size, codec="zstd", asbytes=True)
    except (OSError, pyarrow.ArrowException) as error:
        raise zipfile.BadZipFile(f"{entry.filename}: {first_line(error)}") from None
    if len(packed) < entry.compress_size or zlib.crc32(content) != entry.CRC:
        raise zipfile.BadZipFile(f"{entry.filename} is damaged")
    return bytes(content)
